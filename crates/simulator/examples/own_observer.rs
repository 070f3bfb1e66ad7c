// SPDX-License-Identifier: MIT OR Apache-2.0
//! Simulates a bundled workload on a bundled machine and watches it with an observer of one's own: how long each CPU was busy.
//!
//! ```sh
//! cargo run --example own_observer
//! ```

use std::error::Error;
use std::path::Path;

use tandem_simulator::units::{CpuId, Nanos, TaskId, seconds};
use tandem_simulator::{Machine, Observer, Options, PrevState, Workload, simulate};

/// Adds up each CPU's busy time from its context switches.
struct BusyTime {
    busy: Vec<Nanos>,
    /// Since when a thread runs on the CPU; `None` while it is idle.
    since: Vec<Option<Nanos>>,
}

impl Observer for BusyTime {
    fn sched_switch(&mut self, now: Nanos, cpu: CpuId, _prev: Option<(TaskId, PrevState)>, next: Option<TaskId>) {
        if let Some(since) = self.since[cpu.index()].take() {
            self.busy[cpu.index()] += now - since;
        }
        self.since[cpu.index()] = next.map(|_| now);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let machine = Machine::load("hikey960")?;
    let workload = Workload::load(Path::new("forkjoin"))?;
    let mut observer = BusyTime { busy: vec![0; machine.cpus.len()], since: vec![None; machine.cpus.len()] };

    let report = simulate(&machine, &workload, &Options::default(), &mut observer)?;

    println!("{:.3} s, {:.3} J", report.time_s, report.energy_j.total);
    for (cpu, busy) in observer.busy.iter().enumerate() {
        println!("CPU {cpu}: busy for {:.3} s", seconds(*busy));
    }
    Ok(())
}
