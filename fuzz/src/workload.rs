// SPDX-License-Identifier: MIT OR Apache-2.0
//! A workload from any text: read, listed, and its applications taken apart.

use std::path::Path;

use tandem_simulator::workload::Workload;
use tandem_simulator::workload::traits::Traits;

use super::mistake;

/// Applications that are looked at alone.
const APPLICATIONS: usize = 4;

/// Reads bytes as an rt-app file.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let path = Path::new("fuzz.json");
    match Workload::parse(path, text) {
        Ok(workload) => check(&workload, text),
        Err(error) => mistake::check(&error, path, text),
    }
}

fn check(workload: &Workload, text: &str) {
    for task in &workload.tasks {
        assert!(task.system || task.application < workload.applications.len(), "{}", task.name);
    }
    let listing = workload.listing().to_string();
    assert!(listing.len() < 1 << 24, "{} bytes of {}", listing.len(), text.len());
    let _ = Traits::of(workload);
    for application in workload.applications.iter().take(APPLICATIONS) {
        let Some(alone) = workload.alone(application) else { panic!("{application} is not in its workload") };
        assert!(
            alone
                .tasks
                .iter()
                .all(|task| task.system || task.instances == 0 || &alone.applications[task.application] == application)
        );
    }
}
