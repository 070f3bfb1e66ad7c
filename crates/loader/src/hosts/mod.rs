// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines as files, some of which lie: a table for tests of whatever reads machines.
//!
//! Each host has its files, and what is to be concluded from them: who is believed, which kinds of CPU there are, what is to be
//! doubted. What no source of a machine's description says (levels of performance, clocks) is made up of what does, and
//! said.

mod files;
mod intel;
mod others;

use std::io;
use std::path::Path;

pub use files::Files;

use crate::machine::{CoreType, Source};

/// A kind of CPU as it should be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// Capacity, 1..=1024.
    pub capacity: u64,
    /// How many CPUs that are online are of this kind.
    pub cpus: usize,
    /// Type of these CPUs.
    pub core_type: CoreType,
    /// The highest clock that one of them reaches, kHz; 0 where no file says.
    pub khz: u64,
}

/// A machine.
#[derive(Debug, Clone)]
pub struct Host {
    /// What it is, and what is wrong with it, as a name.
    pub name: &'static str,
    /// Files below /proc and /sys.
    pub files: Files,
    /// Who is to be believed about its capacities.
    pub source: Source,
    /// Kinds of CPU, the fastest first.
    pub kinds: Vec<Expected>,
    /// What is to be doubted, in words.
    pub doubts: Vec<String>,
}

impl Host {
    /// All hosts.
    pub fn all() -> Vec<Self> {
        [intel::hosts(), others::hosts()].concat()
    }

    /// Writes the host's files below `root`.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, root: &Path) -> io::Result<()> {
        self.files.write(root)
    }

    fn new(name: &'static str, files: Files, source: Source, kinds: &[Expected]) -> Self {
        Self { name, files, source, kinds: kinds.to_vec(), doubts: Vec::new() }
    }

    fn doubting(self, doubts: &[&str]) -> Self {
        Self { doubts: doubts.iter().map(|doubt| (*doubt).to_owned()).collect(), ..self }
    }
}

/// CPUs of the only type.
const fn only(capacity: u64, cpus: usize, khz: u64) -> Expected {
    Expected { capacity, cpus, core_type: CoreType::Only, khz }
}
