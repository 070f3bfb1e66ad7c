// SPDX-License-Identifier: GPL-2.0-only
//! `tandem bench`: how fast the simulator is on this computer.

use std::fs;
use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::RangedU64ValueParser;
use indicatif::ProgressBar;
use tandem_simulator::generated;
use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Governor, KernelParameters, Options, Scheduler};
use tandem_simulator::units::{MSEC, Nanos, SEC};
use tandem_simulator::workload::Workload;

use crate::context::Context;
use crate::failure::Failure;
use crate::quantity::{PER_SECOND, SECONDS, count, quantity};
use crate::table::{Align, Table, paragraph};

/// Threads per CPU: enough that queues are not empty, as on a busy server.
const TASKS_PER_CPU: u32 = 2;
/// The memory measurement: so many threads on so many CPUs.
const MANY_TASKS: u32 = 100_000;
const CPUS_FOR_MANY_TASKS: u32 = 256;
/// Simulated time of a first run, from which the length of the measured run follows.
const FIRST_LIMIT: Nanos = 20 * MSEC;
/// Simulated time after which a run is timed however short it took.
const LONGEST_LIMIT: Nanos = 1_000 * SEC;
/// A run that is growing towards its measured length grows at most so much at a time.
const MOST_GROWTH: f64 = 20.0;

const EXAMPLES: &str = "\
Examples:
  tandem bench
  tandem bench --quick --cpus 8,64
  tandem bench --machine hikey960

An event is one processed entry of the event queue. Runs use one core; what else runs on this
computer slows them down.";

/// Measure events and context switches per second, and memory
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Bench {
    /// Measure on this machine instead of generated ones
    #[arg(short, long, value_name = "M", conflicts_with = "cpus")]
    machine: Option<String>,

    /// CPUs of the generated machines, for example `8,256`
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [8, 256, 1024],
          value_parser = RangedU64ValueParser::<u32>::new().range(1..=8192))]
    cpus: Vec<u32>,

    /// Take a tenth of the time, for a first impression
    #[arg(long)]
    quick: bool,
}

/// What one measurement gave.
struct Measurement {
    cpus: usize,
    tasks: usize,
    report: Report,
    wall_s: f64,
}

impl Bench {
    /// Runs the command.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let bar = spinner(context.progress);
        bar.set_message(format!("{} tasks", count(MANY_TASKS.into())));
        // First, while the process is small: the system remembers only the largest size it ever had.
        let memory = if self.machine.is_none() { Some(self.memory(context)?) } else { None };
        let mut table = speed_table();
        let mut first = None;
        for machine in self.machines()? {
            bar.set_message(format!("{} CPUs", machine.online().count()));
            let measurement = self.measure(context, &machine)?;
            let base = *first.get_or_insert(measurement.seconds_per_event());
            table.row(measurement.cells(base));
        }
        bar.finish_and_clear();
        let mut text = table.render();
        if let Some(memory) = memory {
            text += &format!("\n{}", paragraph(&memory, context.width));
        }
        Ok(context.out.write_all(text.as_bytes())?)
    }

    fn machines(&self) -> Result<Vec<Machine>, Failure> {
        match &self.machine {
            Some(spec) => Ok(vec![Machine::load(spec)?]),
            None => Ok(self.cpus.iter().map(|&cpus| generated::machine(cpus)).collect::<Result<_, _>>()?),
        }
    }

    /// Runs for longer and longer simulated times until one takes long enough to be timed.
    fn measure(&self, context: &Context<'_>, machine: &Machine) -> Result<Measurement, Failure> {
        let wanted = Duration::from_millis(if self.quick { 200 } else { 2_000 }).as_secs_f64();
        let cpus = machine.online().count();
        let tasks = cpus as u32 * TASKS_PER_CPU;
        let workload = generated::busy(tasks);
        let mut limit = FIRST_LIMIT;
        loop {
            let (report, wall_s) = timed(context, machine, &workload, limit)?;
            if wall_s >= wanted / 2.0 || limit >= LONGEST_LIMIT {
                return Ok(Measurement { cpus, tasks: tasks as usize, report, wall_s });
            }
            limit = (limit as f64 * (wanted / wall_s).min(MOST_GROWTH)) as Nanos;
        }
    }

    /// Memory that a simulation of very many threads takes, in words.
    fn memory(&self, context: &Context<'_>) -> Result<String, Failure> {
        let machine = generated::machine(CPUS_FOR_MANY_TASKS)?;
        let workload = generated::mostly_asleep(MANY_TASKS);
        let limit = if self.quick { 100 * MSEC } else { 1_000 * MSEC };
        let (report, wall_s) = timed(context, &machine, &workload, limit)?;
        Ok(format!(
            "{} tasks on {CPUS_FOR_MANY_TASKS} CPUs: peak memory {} MiB of the process, {} events in {}",
            count(MANY_TASKS.into()),
            peak_memory_kib()? / 1024,
            count(report.events),
            quantity(wall_s, SECONDS)
        ))
    }
}

/// Runs `workload` under the fair class and schedutil, and says how many seconds that took.
fn timed(
    context: &Context<'_>,
    machine: &Machine,
    workload: &Workload,
    limit: Nanos,
) -> Result<(Report, f64), Failure> {
    let options = Options {
        scheduler: Scheduler::Fair,
        governor: Governor::Schedutil(Default::default()),
        seed: 0,
        time_limit: Some(limit),
        kernel: KernelParameters::default(),
        hotplug: Vec::new(),
    };
    let start = Instant::now();
    let report = context.simulator.simulate(machine, workload, &options, &mut NoObserver)?;
    Ok((report, start.elapsed().as_secs_f64()))
}

/// Says on a watched standard error what is being measured.
fn spinner(shown: bool) -> ProgressBar {
    let bar = if shown { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

fn speed_table() -> Table {
    Table::new([
        ("CPUs", Align::Right),
        ("tasks", Align::Right),
        ("simulated", Align::Right),
        ("took", Align::Right),
        ("events", Align::Right),
        ("switches", Align::Right),
        ("per event", Align::Right),
        ("to the first", Align::Right),
    ])
}

impl Measurement {
    fn seconds_per_event(&self) -> f64 {
        self.wall_s / self.report.events as f64
    }

    fn cells(&self, base: f64) -> [String; 8] {
        [
            count(self.cpus as u64),
            count(self.tasks as u64),
            quantity(self.report.time_s, SECONDS),
            quantity(self.wall_s, SECONDS),
            quantity(self.report.events as f64 / self.wall_s, PER_SECOND),
            quantity(self.report.switches as f64 / self.wall_s, PER_SECOND),
            quantity(self.seconds_per_event(), SECONDS),
            format!("×{:.2}", self.seconds_per_event() / base),
        ]
    }
}

/// The largest resident size this process ever had (`VmHWM`).
fn peak_memory_kib() -> Result<u64, Failure> {
    let path = "/proc/self/status";
    let status = fs::read_to_string(path).map_err(|error| Failure::System(format!("{path}: {error}")))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next())
        .and_then(|kib| kib.parse().ok())
        .ok_or_else(|| Failure::System(format!("{path}: no VmHWM")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_a_size() {
        assert!(peak_memory_kib().unwrap() > 100);
    }
}
