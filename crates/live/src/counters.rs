// SPDX-License-Identifier: MIT OR Apache-2.0
//! Performance counters for an object's programs: one of each kind on each CPU, for whatever runs there.
//!
//! Not every machine counts everything, and virtual ones often nothing: what is not there is left out, and the object finds
//! its map empty. Where cores are of several kinds, each event is asked of the unit of its own ([`Pmus`]).

use std::io;
use std::os::fd::AsRawFd;

use perf_event::events::{Hardware, Software};
use perf_event::{Builder, Counter};
use tandem_loader::file::Event;

use crate::pmus::Pmus;

/// Where counters come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CounterSource {
    /// The processor.
    #[default]
    Processor,
    /// The kernel itself, for machines whose processor counts nothing, as virtual ones: page faults stand for what goes to
    /// memory, and nothing for what waits for it. They tell programs that take and give back memory all the time from those
    /// that compute; what goes through memory that it has had for long looks like computing.
    Software,
    /// What the kernel counts itself stands in, for tests on machines that count nothing: its programs can be tried with
    /// it, and what they make of the numbers means nothing. Cycles are nanoseconds; stalled ones and instructions are so,
    /// too; cache misses are context switches.
    StandIn,
}

impl CounterSource {
    /// What a transaction with memory moves that it counts: a line of a cache, or a page.
    pub(crate) fn transaction_bytes(self) -> i128 {
        match self {
            Self::Processor | Self::StandIn => 64,
            Self::Software => 4096,
        }
    }
}

/// Opens the counter of an event on a CPU; it counts, kernel code too, until it is dropped.
///
/// # Errors
/// The machine has none, or it is not allowed.
pub(crate) fn open_counter(event: Event, cpu: usize, source: CounterSource, pmus: &Pmus) -> io::Result<OpenCounter> {
    let mut builder = match source {
        CounterSource::Processor => Builder::new(of_processor(event)),
        CounterSource::Software => Builder::new(of_kernel(event).ok_or(io::ErrorKind::Unsupported)?),
        CounterSource::StandIn => Builder::new(stand_in(event)),
    };
    builder.any_pid().one_cpu(cpu).include_kernel();
    if source == CounterSource::Processor {
        let attributes = builder.attrs_mut();
        attributes.config = pmus.config(cpu, attributes.config);
    }
    let mut counter = builder.build()?;
    counter.enable()?;
    Ok(OpenCounter(counter))
}

fn of_processor(event: Event) -> Hardware {
    match event {
        Event::Cycles => Hardware::CPU_CYCLES,
        Event::Instructions => Hardware::INSTRUCTIONS,
        Event::CacheMisses => Hardware::CACHE_MISSES,
        Event::StalledCycles => Hardware::STALLED_CYCLES_BACKEND,
    }
}

/// What the kernel counts that means something like an event.
fn of_kernel(event: Event) -> Option<Software> {
    match event {
        Event::Cycles => Some(Software::CPU_CLOCK),
        Event::CacheMisses => Some(Software::PAGE_FAULTS),
        Event::Instructions | Event::StalledCycles => None,
    }
}

fn stand_in(event: Event) -> Software {
    match event {
        Event::Cycles | Event::Instructions | Event::StalledCycles => Software::CPU_CLOCK,
        Event::CacheMisses => Software::CONTEXT_SWITCHES,
    }
}

/// A counter that counts. Its descriptor is closed where this process becomes another program: who has it may stop the counter
/// and set it to 0, and it counts what everybody does.
#[derive(Debug)]
pub(crate) struct OpenCounter(Counter);

impl OpenCounter {
    /// What maps of counters have for it.
    pub(crate) fn value(&self) -> [u8; 4] {
        self.0.as_raw_fd().to_ne_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::descriptors::reaching_commands;

    /// Where the kernel lets nobody but root count, as in many containers, there is nothing to see.
    #[test]
    fn a_counter_reaches_no_command() {
        let mut builder = Builder::new(Software::CPU_CLOCK);
        let Ok(counter) = builder.observe_self().any_cpu().build() else { return };
        let open = OpenCounter(counter);
        let descriptor = i32::from_ne_bytes(open.value());
        assert!(!reaching_commands().unwrap().contains(&descriptor));
    }
}
