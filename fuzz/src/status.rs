// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a session answers to `tandem status`, from any bytes: what is read of it says the same when it is written.

use tandem_live::session::status::SessionStatus;

/// Reads bytes as an answer.
pub fn run(bytes: &[u8]) {
    let Ok(status) = serde_json::from_slice::<SessionStatus>(bytes) else { return };
    let written = serde_json::to_string(&status).unwrap_or_default();
    let Ok(again) = serde_json::from_str::<SessionStatus>(&written) else { panic!("{written} is no status") };
    // The last digit of a number may change: it is read fast, not exactly.
    let near = |one: f64, other: f64| (one - other).abs() <= one.abs() * 1e-12;
    assert!(near(status.time_s, again.time_s), "{} {}", status.time_s, again.time_s);
    assert_eq!(status.energy_j.is_some(), again.energy_j.is_some());
    let (time_s, energy_j) = (status.time_s, status.energy_j);
    assert_eq!(SessionStatus { time_s, energy_j, ..again }, status);
}
