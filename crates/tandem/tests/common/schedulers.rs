// SPDX-License-Identifier: GPL-2.0-only
//! Schedulers that are opened once in this process, as what they compile stays with them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tandem_simulator::simulation::SchedExt;

use crate::command::program;

/// Schedulers by what is asked for: `PATH[,NAME=VALUE]...`.
#[derive(Default)]
pub struct Opened(Mutex<BTreeMap<String, Arc<SchedExt>>>);

impl Opened {
    pub const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// The scheduler of this text.
    #[track_caller]
    pub fn get(&self, text: &str) -> Arc<SchedExt> {
        // A test that panicked has left the map as it was, or with a scheduler more.
        let mut opened = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let open = || Arc::new(SchedExt::open(text).unwrap_or_else(|error| panic!("{error}")));
        Arc::clone(opened.entry(text.to_owned()).or_insert_with(open))
    }
}

/// The scheduler of this text, the same each time.
#[track_caller]
pub fn opened(text: &str) -> Arc<SchedExt> {
    static ALL: Opened = Opened::new();
    ALL.get(text)
}

/// The file of an object that the command carries, with what its loader does beside it; both are written once.
pub fn carried(name: &'static str) -> PathBuf {
    static WRITTEN: OnceLock<Mutex<BTreeMap<&str, PathBuf>>> = OnceLock::new();
    let mut written = WRITTEN.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    written.entry(name).or_insert_with(|| export(name)).clone()
}

fn export(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("combinations");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{name}.bpf.o"));
    // The command does not write over what is there.
    for old in [format!("{name}.bpf.o"), format!("{name}.toml")] {
        let _ = std::fs::remove_file(folder.join(old));
    }
    let output = program().args(["scheduler", "export", name, "--output"]).arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    path
}
