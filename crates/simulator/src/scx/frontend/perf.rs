// SPDX-License-Identifier: MIT OR Apache-2.0
//! Performance counters that a loader opens for an object: `[perf]` of the file beside it.
//!
//! ```toml
//! [perf]
//! misses = "cache_misses"    # the PERF_EVENT_ARRAY `misses`: at index N, the counter of CPU N
//! ```

use tandem_bpf_vm::instance::Instance;
use tandem_bpf_vm::map::kind;
use tandem_loader::file::Event;

use super::SchedulerError;
use crate::kernel::pmu::PerfEvent;

/// A map of counters, by name, and what they count.
pub type PerfMap = (String, PerfEvent);

/// The maps of counters of the loaded object, as its file has them.
///
/// # Errors
/// [`SchedulerError::NoPerfMap`].
pub(super) fn maps(vm: &Instance, counters: &[(String, Event)]) -> Result<Vec<PerfMap>, SchedulerError> {
    let is_array = |name: &str| vm.map(name).and_then(|map| vm.map_spec(map)).map(|spec| spec.kind);
    let map = |(name, event): &(String, Event)| match is_array(name) {
        Some(kind::PERF_EVENT_ARRAY) => Ok((name.clone(), counted(*event))),
        _ => Err(SchedulerError::NoPerfMap(name.clone())),
    };
    counters.iter().map(map).collect()
}

fn counted(event: Event) -> PerfEvent {
    match event {
        Event::Cycles => PerfEvent::Cycles,
        Event::Instructions => PerfEvent::Instructions,
        Event::CacheMisses => PerfEvent::CacheMisses,
        Event::StalledCycles => PerfEvent::StalledCycles,
    }
}
