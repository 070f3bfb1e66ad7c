// SPDX-License-Identifier: MIT OR Apache-2.0
//! One run on a generated machine, of a length that does not depend on how fast this computer is: what `scripts/count` counts
//! instructions of. Prints how many events the run had.
//!
//! `cargo run --release --example events -- CPUS compute|memory|groups|asleep MILLISECONDS [THREADS|- [SCHEDULER]]`
//!
//! SCHEDULER is the path of a sched_ext object, with settings behind it: `./tandem.bpf.o,all=true`. Its programs are compiled when
//! they first run, whatever the length.

use std::env::args;
use std::error::Error;

use tandem_bpf_vm::compile::AVAILABLE;
use tandem_simulator::generated;
use tandem_simulator::machine::Machine;
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Bpf, Options, Scheduler, simulate};
use tandem_simulator::units::MSEC;
use tandem_simulator::workload::Workload;

fn workload(kind: &str, tasks: u32) -> Result<Workload, Box<dyn Error>> {
    Ok(match kind {
        "compute" => generated::busy(tasks),
        "memory" => generated::memory_bound(tasks),
        "groups" => generated::in_groups(tasks),
        "asleep" => generated::mostly_asleep(tasks),
        _ => return Err(format!("no workload is called {kind}: compute, memory, groups, asleep").into()),
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = args().skip(1).collect();
    let [cpus, kind, milliseconds, rest @ ..] = &arguments[..] else {
        return Err("usage: events CPUS compute|memory|groups|asleep MILLISECONDS [THREADS|- [SCHEDULER]]".into());
    };
    let cpus: u32 = cpus.parse()?;
    let tasks = rest.first().filter(|threads| *threads != "-").map_or(Ok(2 * cpus), |threads| threads.parse())?;
    let scheduler: Scheduler = rest.get(1).map_or("fair", String::as_str).parse()?;
    let bpf = if AVAILABLE { Bpf::Compiled } else { Bpf::Interpreter };
    let machine: Machine = generated::machine(cpus)?;
    let time_limit = Some(milliseconds.parse::<u64>()? * MSEC);
    let options = Options { time_limit, scheduler, bpf, ..Options::default() };
    let report = simulate(&machine, &workload(kind, tasks)?, &options, &mut NoObserver)?;
    if let Some(exit) = report.sched_ext.as_ref().and_then(|report| report.exit.as_ref()) {
        return Err(format!("the scheduler was ejected: {}", exit.message).into());
    }
    println!("{} events, {} switches, {:.6} J", report.events, report.switches, report.energy_j.total);
    Ok(())
}
