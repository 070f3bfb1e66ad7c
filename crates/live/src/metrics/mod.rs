// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a resident scheduler does, for monitoring systems: OpenMetrics text ([`Snapshot`]), and an HTTP endpoint on this
//! machine's own addresses that hands it out ([`Endpoint`]).
//!
//! | metric | what |
//! | --- | --- |
//! | `tandem_info{backend,scheduler}` | what acts |
//! | `tandem_running_seconds` | since when it counts |
//! | `tandem_mechanism_state{mechanism,state}` | 1 for the state that each mechanism is in |
//! | `tandem_events_total{mechanism,event}` | what the mechanisms did: the scheduler's counters |
//! | `tandem_energy_joules_total{source,part,package,die,method}` | what each meter counted |
//! | `tandem_machine_energy_joules_total{covers}` | as much of the machine as can be summed |
//! | `tandem_meter_missing{source,why}` | 1 for a meter that has no number |
//! | `tandem_applications`, `tandem_hinted_threads` | how many there are |

mod clients;
mod endpoint;
mod http;
#[cfg(test)]
mod tests;
mod text;

use crate::meter::Measured;

pub(crate) use endpoint::PATIENCE;
pub use endpoint::{Endpoint, MetricsError};
pub use http::{MOST_BYTES as MOST_REQUEST_BYTES, answer as answer_request};

/// What is known at a time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    /// What acts: `sched_ext`, `affinity`.
    pub backend: String,
    /// The name of the scheduler in the kernel, if there is one.
    pub scheduler: Option<String>,
    /// Energy, and the time in which it was counted.
    pub measured: Measured,
    /// Names of states, and theirs: `isolate_state`, `active`.
    pub states: Vec<(String, String)>,
    /// What was counted. The first word of a name is the mechanism: `serial_phases`.
    pub counters: Vec<(String, u64)>,
    /// Applications that are known.
    pub applications: usize,
    /// Threads of which somebody said how long they are.
    pub hinted_threads: usize,
}
