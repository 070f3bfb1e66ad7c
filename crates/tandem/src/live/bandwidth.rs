// SPDX-License-Identifier: GPL-2.0-only
//! What a description of this machine says that no file of its kernel does: what the memory can move.

use tandem_simulator::machine::traits::Traits;
use tandem_simulator::machine::{Machine, Provenance};

use crate::failure::Failure;

/// The setting of the scheduler that says what a node's memory can move, MB/s.
const SETTING: &str = "memory_mbps";
/// The key of a description that does.
const KEY: &str = "gb_per_s";

/// The scheduler's setting from a description: a bundled name or a file.
///
/// # Errors
/// [`Failure::Input`]: there is no such description. [`Failure::Options`]: it has a number that nobody has measured.
pub fn setting(machine: &str) -> Result<(String, String), Failure> {
    of_machine(&Machine::load(machine)?)
}

fn of_machine(machine: &Machine) -> Result<(String, String), Failure> {
    if let Some(source) = source(machine).filter(|source| source.starts_with("assumed")) {
        return Err(Failure::Options(format!(
            "the bandwidth of {} is {source}\nmeasure it: tandem machine detect --measure --output FILE, then --machine ./FILE; \
             or say it: --set {SETTING}=N",
            machine.name
        )));
    }
    let memory =
        Traits::of(machine).memory.ok_or_else(|| Failure::Options(format!("{} has no memory", machine.name)))?;
    let megabytes = (memory.bytes_per_s / 1e6).round().max(1.0);
    Ok((SETTING.to_owned(), megabytes.to_string()))
}

/// Where the bandwidths of a description come from: what is assumed of any of them is said first.
fn source(machine: &Machine) -> Option<&str> {
    let of_memory = |entry: &&Provenance| entry.table.starts_with("memory.");
    let sources = |table: &str| {
        let mut mine = machine.provenance.iter().filter(|entry| entry.table == table);
        let whole = mine.clone().find(|entry| entry.key == "*");
        mine.find(|entry| entry.key == KEY).or(whole).map(|entry| entry.source.trim_start())
    };
    let mut all: Vec<&str> =
        machine.provenance.iter().filter(of_memory).filter_map(|entry| sources(&entry.table)).collect();
    all.sort_by_key(|source| !source.starts_with("assumed"));
    all.first().copied()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// A machine whose memory carries 12.5 GB/s, from this source.
    fn described(source: &str) -> Result<(String, String), String> {
        let bundled = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machines/smp-8.toml");
        let text = fs::read_to_string(bundled).unwrap();
        let (before, table) = text.split_once("[memory.").unwrap();
        let (name, behind) = table.split_once("]\n").unwrap();
        let rest: Vec<&str> = behind
            .lines()
            .filter(|line| !line.starts_with("gb_per_s") && !line.starts_with("sources.gb_per_s"))
            .collect();
        let table = format!("[memory.{name}]\ngb_per_s = 12.5\nsources.gb_per_s = \"{source}\"\n{}", rest.join("\n"));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("this.toml");
        fs::write(&file, format!("{before}{table}\n")).unwrap();
        setting(file.to_str().unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn what_was_measured_is_said_and_what_is_assumed_is_refused() {
        let said = described("measured by hand").unwrap();
        assert_eq!(said, ("memory_mbps".to_owned(), "12500".to_owned()));
        let refused = described("assumed: 4 GB/s per core").unwrap_err();
        assert!(refused.starts_with("the bandwidth of this is assumed: 4 GB/s per core\nmeasure it: "), "{refused}");
        assert!(setting("no-such-machine").is_err());
    }
}
