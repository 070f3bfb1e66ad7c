// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs that were finished before: a [`Store`] keeps their reports in a folder, [`Stored`] is a simulator that looks there
//! first.
//!
//! `key` says what makes two runs the same, `entry` how a report is written, `room` keeps the folder from growing.

mod entry;
mod key;
mod room;

use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use tandem_simulator::bounded::Limit;
use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::observer::Observer;
use tandem_simulator::simulation::{Options, SimulationError};
use tandem_simulator::workload::Workload;
use tempfile::NamedTempFile;

pub use key::{Digest, Keys};

use crate::simulator::Simulator;
use room::Room;

/// What the names of files begin with that are being written.
const TEMPORARY: &str = ".tandem-";

/// Reports of finished runs, in a folder that many processes may use at once.
///
/// A report is known by the SHA-256 of all that it follows from: the program, the machine, the workload, the scheduler with its
/// object, and the options. An entry appears whole or not at all, and says itself which run it is of; one that is damaged, or that of
/// another run, is not taken. Nothing that goes wrong with the folder is an error: the run is made again.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    keys: Keys,
    room: Room,
}

impl Store {
    /// The store in `folder`, which is made if it is not there, for runs of the program whose file has the SHA-256 `program`.
    /// It keeps up to `limit` bytes; of more, the reports go first whose last use is longest ago.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn open(folder: &Path, limit: u64, program: Digest) -> io::Result<Self> {
        // Only the user: what is known of workloads may be nobody else's business, and reports are believed.
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        Ok(Self { folder: folder.to_owned(), keys: Keys::new(program), room: Room::new(limit) })
    }

    /// Where the report with this key is, or would be.
    fn place(&self, key: &Digest) -> PathBuf {
        let name = key.to_string();
        let (first, rest) = name.split_at(2);
        self.folder.join(first).join(rest)
    }

    /// The report of the run with this key, if there is one.
    fn read(&self, key: &Digest) -> Found {
        let place = self.place(key);
        let entry = match Limit::REPORT.read(&place) {
            Ok(entry) => entry,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Found::Nothing,
            Err(_) => return Found::Unsound(place),
        };
        let Some(report) = entry::decode(key, &entry) else { return Found::Unsound(place) };
        // The time of the last use: see `room`.
        let _ = File::open(place).and_then(|file| file.set_modified(SystemTime::now()));
        Found::Report(Box::new(report))
    }

    /// Keeps the report of the run with this key, unless it could not be read again as it is.
    fn write(&self, key: &Digest, report: &Report) -> io::Result<()> {
        let place = self.place(key);
        let Some(bytes) = entry::encode(key, report) else { return Ok(()) };
        let folder = place.parent().unwrap_or(&self.folder);
        let mut file = match temporary(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
                temporary(folder)
            }
            opened => opened,
        }?;
        file.write_all(&bytes)?;
        file.persist(&place)?;
        self.room.wrote(&self.folder, bytes.len() as u64);
        Ok(())
    }
}

/// What a store has of a run.
#[derive(Debug, PartialEq)]
enum Found {
    Nothing,
    Report(Box<Report>),
    /// An entry that cannot be read, is damaged, or is that of another run; its place.
    Unsound(PathBuf),
}

/// A file in `folder` that is being written.
fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(folder)
}

/// A simulator that runs only what its store does not have, and keeps what it runs.
pub struct Stored<'a> {
    simulator: &'a dyn Simulator,
    store: Option<&'a Store>,
    fresh: bool,
    found: AtomicUsize,
    unsound: Mutex<Vec<PathBuf>>,
}

impl<'a> Stored<'a> {
    /// `simulator` with the reports in `store`; without one, `simulator` as it is. A `fresh` one reads no report, but keeps those
    /// that it makes.
    pub fn new(simulator: &'a dyn Simulator, store: Option<&'a Store>, fresh: bool) -> Self {
        Self { simulator, store, fresh, found: AtomicUsize::new(0), unsound: Mutex::default() }
    }

    /// The report of a run that was finished before.
    fn known(&self, store: &Store, key: &Digest) -> Option<Report> {
        match store.read(key) {
            Found::Nothing => None,
            Found::Report(report) => {
                self.found.fetch_add(1, Ordering::Relaxed);
                Some(*report)
            }
            Found::Unsound(place) => {
                self.unsound.lock().unwrap_or_else(PoisonError::into_inner).push(place);
                None
            }
        }
    }

    /// How many runs were in the store.
    pub fn found(&self) -> usize {
        self.found.load(Ordering::Relaxed)
    }

    /// The entries, by name, that were damaged or of another run than their names say: these runs were made again.
    pub fn unsound(&self) -> Vec<PathBuf> {
        let mut places = self.unsound.lock().unwrap_or_else(PoisonError::into_inner).clone();
        places.sort();
        places
    }
}

impl Simulator for Stored<'_> {
    /// A report from before only goes to an `observer` that does not watch.
    fn simulate(
        &self,
        machine: &Machine,
        workload: &Workload,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Result<Report, SimulationError> {
        let Some(store) = self.store else {
            return self.simulator.simulate(machine, workload, options, observer);
        };
        let key = store.keys.of(machine, workload, options);
        if !self.fresh
            && !observer.watches()
            && let Some(report) = self.known(store, &key)
        {
            return Ok(report);
        }
        let report = self.simulator.simulate(machine, workload, options, observer)?;
        // A full disk, say, loses nothing but time.
        let _ = store.write(&key, &report);
        Ok(report)
    }
}

#[cfg(test)]
mod tests;
