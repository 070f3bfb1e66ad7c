// SPDX-License-Identifier: MIT OR Apache-2.0
//! A report as a file: a line with the SHA-256 of the rest, then the report as JSON.

use tandem_simulator::metrics::Report;

use super::Digest;

/// What an entry begins with; the digest stands behind it.
const MARK: &str = "tandem run 1 ";

/// The entry of `report`; `None` where reading it would give another report, as JSON has no infinities.
pub fn encode(report: &Report) -> Option<Vec<u8>> {
    let json = serde_json::to_vec(report).ok()?;
    let read_again: Report = serde_json::from_slice(&json).ok()?;
    let entry = [format!("{MARK}{}\n", Digest::of(&json)).into_bytes(), json].concat();
    (read_again == *report).then_some(entry)
}

/// The report of an entry; `None` if the entry is damaged.
pub fn decode(entry: &[u8]) -> Option<Report> {
    let line = entry.iter().position(|byte| *byte == b'\n')?;
    let (head, json) = (&entry[..line], &entry[line + 1..]);
    let sound = head == format!("{MARK}{}", Digest::of(json)).as_bytes();
    if sound { serde_json::from_slice(json).ok() } else { None }
}
