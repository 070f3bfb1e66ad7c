// SPDX-License-Identifier: GPL-2.0-only
//! Tandem's scheduler compiled once more with something changed, and what it does with a workload.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::schedulers::{Opened, carried};
use crate::simulated;

/// `bpf/tandem.bpf.c` with lines of C before it.
pub struct Variant {
    _folder: Option<tempfile::TempDir>,
    object: PathBuf,
    opened: Opened,
}

impl Variant {
    /// Compiles it as the build script does.
    pub fn new(before: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (source, object) = (folder.path().join("variant.bpf.c"), folder.path().join("variant.bpf.o"));
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        fs::write(&source, format!("{before}\n#include \"bpf/tandem.bpf.c\"\n")).unwrap();
        fs::copy(root.join("bpf/tandem.toml"), folder.path().join("variant.toml")).unwrap();
        let clang = std::env::var("CLANG").unwrap_or_else(|_| "clang-19".to_owned());
        let include = std::env::var("LIBBPF_INCLUDE").unwrap_or_else(|_| "/usr/include".to_owned());
        let mut command = Command::new(clang);
        command.current_dir(&root).args(["@bpf/flags", "-I", ".", "-idirafter", &include, "-c"]);
        let output = command.arg(&source).arg("-o").arg(&object).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self { _folder: Some(folder), object, opened: Opened::new() }
    }

    /// The object that the command carries.
    pub fn carried() -> Self {
        Self { _folder: None, object: carried("tandem"), opened: Opened::new() }
    }

    /// The object's file.
    pub fn object(&self) -> &Path {
        &self.object
    }

    /// The report of a run with settings: `all=true`. A run whose scheduler is ejected has one, too.
    pub fn report(&self, workload: &Value, machine: &str, settings: &str) -> Value {
        self.run(workload, machine, settings, &[])
    }

    /// The same of a run that ends after this time: `500ms`.
    pub fn report_after(&self, time: &str, workload: &Value, machine: &str, settings: &str) -> Value {
        self.run(workload, machine, settings, &["--duration", time])
    }

    fn run(&self, workload: &Value, machine: &str, settings: &str, options: &[&str]) -> Value {
        let scheduler = format!("{},{settings}", self.object.display());
        let workload = simulated::workload(&workload.to_string());
        simulated::report(&self.opened, &workload, machine, scheduler.trim_end_matches(','), 0, options)
    }
}

/// What the scheduler counted.
pub fn count(report: &Value, name: &str) -> u64 {
    report["sched_ext"]["statistics"][name].as_u64().unwrap_or_else(|| panic!("{name}: {report}"))
}

/// Why the scheduler was ejected; `None`: it was not.
pub fn ejection(report: &Value) -> Option<&str> {
    report["sched_ext"]["exit"]["message"].as_str()
}
