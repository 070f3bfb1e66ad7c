// SPDX-License-Identifier: MIT OR Apache-2.0
//! A report as a file: a line with the key of its run and a SHA-256 of that and of the rest, then the report as JSON.

use tandem_simulator::metrics::Report;

use super::Digest;

/// What an entry begins with; the key and the digest stand behind it.
const MARK: &str = "tandem run 2 ";

/// The entry of `report`, of the run with this key; `None` where reading it would give another report, as JSON has no infinities.
pub fn encode(key: &Digest, report: &Report) -> Option<Vec<u8>> {
    let json = serde_json::to_vec(report).ok()?;
    let read_again: Report = serde_json::from_slice(&json).ok()?;
    let entry = [format!("{}\n", head(key, &json)).into_bytes(), json].concat();
    (read_again == *report).then_some(entry)
}

/// The report of an entry; `None` if the entry is damaged, or is that of another run.
pub fn decode(key: &Digest, entry: &[u8]) -> Option<Report> {
    let line = entry.iter().position(|byte| *byte == b'\n')?;
    let (found, json) = (&entry[..line], &entry[line + 1..]);
    let sound = found == head(key, json).as_bytes();
    if sound { serde_json::from_slice(json).ok() } else { None }
}

/// The first line of the entry with this JSON.
fn head(key: &Digest, json: &[u8]) -> String {
    let bound = [format!("{key}\n").as_bytes(), json].concat();
    format!("{MARK}{key} {}", Digest::of(&bound))
}
