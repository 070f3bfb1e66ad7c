// SPDX-License-Identifier: MIT OR Apache-2.0
//! Performance counters that a loader opens for an object: `[perf]` of the file beside it.
//!
//! ```toml
//! [perf]
//! misses = "cache_misses"    # the PERF_EVENT_ARRAY `misses`: at index N, the counter of CPU N
//! ```

use tandem_bpf_vm::instance::Instance;
use tandem_bpf_vm::map::kind;

use super::SchedulerError;
use super::sidecar::{File, Item};
use crate::input::InputError;
use crate::kernel::pmu::PerfEvent;

/// A map of counters, by name, and what they count.
pub type PerfMap = (String, PerfEvent);

/// Reads `[perf]`.
pub(super) fn read(file: &File<'_>, item: Item<'_>) -> Result<Vec<PerfMap>, InputError> {
    let words = PerfEvent::WORDS.map(|(word, _)| format!("\"{word}\"")).join(", ");
    let mut maps = Vec::new();
    for (map, _, item) in file.entries(file.table(item, "`perf`")?) {
        let event = item.get_ref().as_str().and_then(PerfEvent::of);
        let wrong = || file.wrong(item, &format!("`{map}`"), &format!("one of {words}"));
        maps.push((map.to_owned(), event.ok_or_else(wrong)?));
    }
    Ok(maps)
}

/// Whether the loaded object has these maps.
pub(super) fn check(vm: &Instance, maps: &[PerfMap]) -> Result<(), SchedulerError> {
    let is_array = |name: &str| vm.map(name).and_then(|map| vm.map_spec(map)).map(|spec| spec.kind);
    match maps.iter().find(|(name, _)| is_array(name) != Some(kind::PERF_EVENT_ARRAY)) {
        Some((name, _)) => Err(SchedulerError::NoPerfMap(name.clone())),
        None => Ok(()),
    }
}
