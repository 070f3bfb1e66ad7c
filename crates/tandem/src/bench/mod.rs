// SPDX-License-Identifier: GPL-2.0-only
//! `tandem bench`: how fast the simulator is on this computer. [`matrix`]: what many runs cost beside their simulations.

mod matrix;

use std::fs;
use std::panic::resume_unwind;
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::RangedI64ValueParser;
use indicatif::ProgressBar;
use tandem_simulator::generated;
use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Options, Scheduler};
use tandem_simulator::units::{MSEC, Nanos, SEC};
use tandem_simulator::workload::Workload;

use crate::arguments::{BpfOption, Choice, Pair, choice};
use crate::context::Context;
use crate::failure::Failure;
use crate::quantity::{PER_SECOND, SECONDS, count, quantity};
use crate::table::{Align, Table, paragraph};

use matrix::{Cost, Size};

/// Threads per CPU: enough that queues are not empty, as on a busy server.
const TASKS_PER_CPU: u32 = 2;
/// Number of threads in the measurement of memory.
const MANY_TASKS: u32 = 100_000;
const CPUS_FOR_MANY_TASKS: u32 = 256;
/// Simulated time of a first run, from which the length of the measured run follows.
const FIRST_LIMIT: Nanos = 20 * MSEC;
/// A run of this simulated time is timed, however short it was.
const LONGEST_LIMIT: Nanos = 1_000 * SEC;
/// Most by which a run grows in one step on its way to the measured length, as a factor.
const MOST_GROWTH: f64 = 20.0;

const EXAMPLES: &str = "\
Examples:
  tandem bench
  tandem bench --quick --cpus 8,64
  tandem bench --machine hikey960
  tandem bench --cpus 8 --scheduler ./scx_simple.bpf.o --threads 2

An event is one processed entry of the event queue, whatever the scheduler; a callback is one call
of a sched_ext scheduler's. A run uses one core; what else runs on this computer slows it down.
The matrix is `tandem compare` on 10 bundled machines, all bundled workloads, 4 schedulers and 3
seeds; its CPU time is compared with that of the same simulations, one after another.";

/// Measure events and context switches per second, memory, and the cost of a matrix beside its simulations
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Bench {
    /// Measure on this machine instead of generated ones
    #[arg(short, long, value_name = "M", conflicts_with = "cpus")]
    machine: Option<String>,

    /// CPUs of the generated machines, for example `8,256`
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [8, 256, 1024],
          value_parser = RangedI64ValueParser::<u32>::new().range(1..=8192))]
    cpus: Vec<u32>,

    /// Scheduler, or scheduler and governor as in `fair+schedutil`
    #[arg(short, long, value_name = "S", default_value = "fair", value_parser = choice)]
    scheduler: Choice,

    /// Run this many simulations at once, each on a core of its own; rates are those of all together
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = RangedI64ValueParser::<u32>::new().range(1..=1024))]
    threads: u32,

    /// Take a tenth of the time, with a smaller matrix, for a first impression
    #[arg(long)]
    quick: bool,

    #[command(flatten)]
    pub bpf: BpfOption,
}

/// Results of one measurement.
struct Measurement {
    cpus: usize,
    tasks: usize,
    /// One report per thread.
    reports: Vec<Report>,
    wall_s: f64,
}

impl Bench {
    /// Runs the command.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let bar = spinner(context.progress);
        bar.set_message(format!("{} tasks", count(MANY_TASKS.into())));
        // First, while the process is small: the system remembers only the largest size that the process ever had.
        let memory = if self.machine.is_none() { Some(self.memory(context)?) } else { None };
        let mut table = self.speed_table();
        let mut first = None;
        for machine in self.machines()? {
            bar.set_message(format!("{} CPUs", machine.online().count()));
            let measurement = self.measure(context, &machine)?;
            let base = *first.get_or_insert(measurement.seconds_per_event());
            table.row(measurement.cells(base, self.is_sched_ext()));
        }
        bar.finish_and_clear();
        let mut text = table.render();
        if let Some(memory) = memory {
            let size = if self.quick { Size::QUICK } else { Size::WHOLE };
            let matrix = Cost::measure(context, size, self.threads)?;
            text += &format!("\n{}", paragraph(&memory, context.width));
            text += &paragraph(&matrix.to_string(), context.width);
        }
        Ok(context.out.write_all(text.as_bytes())?)
    }

    fn machines(&self) -> Result<Vec<Machine>, Failure> {
        match &self.machine {
            Some(spec) => Ok(vec![Machine::load(spec)?]),
            None => Ok(self.cpus.iter().map(|&cpus| generated::machine(cpus)).collect::<Result<_, _>>()?),
        }
    }

    /// Runs for longer and longer simulated times until a run takes long enough to be timed.
    fn measure(&self, context: &Context<'_>, machine: &Machine) -> Result<Measurement, Failure> {
        let wanted = Duration::from_millis(if self.quick { 200 } else { 2_000 }).as_secs_f64();
        let cpus = machine.online().count();
        let tasks = cpus as u32 * TASKS_PER_CPU;
        let workload = generated::busy(tasks);
        let mut limit = FIRST_LIMIT;
        loop {
            let (reports, wall_s) = self.timed(context, machine, &workload, limit)?;
            if wall_s >= wanted / 2.0 || limit >= LONGEST_LIMIT {
                return Ok(Measurement { cpus, tasks: tasks as usize, reports, wall_s });
            }
            limit = (limit as f64 * (wanted / wall_s).min(MOST_GROWTH)) as Nanos;
        }
    }

    /// Memory that simulations of very many threads take, as a sentence.
    fn memory(&self, context: &Context<'_>) -> Result<String, Failure> {
        let machine = generated::machine(CPUS_FOR_MANY_TASKS)?;
        let workload = generated::mostly_asleep(MANY_TASKS);
        let limit = if self.quick { 100 * MSEC } else { 1_000 * MSEC };
        let (reports, wall_s) = self.timed(context, &machine, &workload, limit)?;
        let runs = if self.threads == 1 { String::new() } else { format!(" in each of {} runs", self.threads) };
        Ok(format!(
            "{} tasks on {CPUS_FOR_MANY_TASKS} CPUs{runs}: peak memory {} MiB of the process, {} events in {}",
            count(MANY_TASKS.into()),
            peak_memory_kib()? / 1024,
            count(reports.iter().map(|report| report.events).sum()),
            quantity(wall_s, SECONDS)
        ))
    }

    /// Runs `workload` in all threads at once; returns how many seconds that took.
    fn timed(
        &self,
        context: &Context<'_>,
        machine: &Machine,
        workload: &Workload,
        limit: Nanos,
    ) -> Result<(Vec<Report>, f64), Failure> {
        let asked = self.scheduler.pair();
        let Pair { scheduler, governor, .. } = asked.on(machine).unwrap_or(asked);
        let options = Options { scheduler, governor, seed: 0, time_limit: Some(limit), ..Options::default() };
        let simulator = context.simulator;
        let one = || simulator.simulate(machine, workload, &options, &mut NoObserver);
        let start = Instant::now();
        let results: Vec<_> = thread::scope(|scope| {
            let others: Vec<_> = (1..self.threads).map(|_| scope.spawn(one)).collect();
            let first = one();
            let join = |other: ScopedJoinHandle<'_, _>| other.join().unwrap_or_else(|panic| resume_unwind(panic));
            [first].into_iter().chain(others.into_iter().map(join)).collect()
        });
        let wall_s = start.elapsed().as_secs_f64();
        let reports = results.into_iter().collect::<Result<Vec<_>, _>>()?;
        reports.first().into_iter().flat_map(ejection).for_each(|warning| context.warn(&warning));
        Ok((reports, wall_s))
    }

    fn is_sched_ext(&self) -> bool {
        matches!(self.scheduler.scheduler, Scheduler::SchedExt(_))
    }

    fn speed_table(&self) -> Table {
        let callbacks = self.is_sched_ext().then_some("callbacks");
        let titles = ["CPUs", "tasks", "simulated", "took", "events", "switches"];
        let titles = titles.into_iter().chain(callbacks).chain(["per event", "to the first"]);
        Table::with_columns(titles.map(|title| (title.to_owned(), Align::Right)))
    }
}

/// Says if a scheduler was ejected: then the numbers are not its own.
fn ejection(report: &Report) -> Option<String> {
    let exit = report.sched_ext.as_ref()?.exit.as_ref()?;
    Some(format!("ejected at {}, the rest ran under fair: {}", quantity(exit.at_s, SECONDS), exit.message))
}

/// Shows on standard error what is being measured, if a person watches it.
fn spinner(shown: bool) -> ProgressBar {
    let bar = if shown { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

impl Measurement {
    fn sum(&self, of: impl Fn(&Report) -> u64) -> f64 {
        self.reports.iter().map(of).sum::<u64>() as f64
    }

    fn seconds_per_event(&self) -> f64 {
        self.wall_s / self.sum(|report| report.events)
    }

    fn cells(&self, base: f64, sched_ext: bool) -> impl Iterator<Item = String> {
        let per_second = |of: fn(&Report) -> u64| quantity(self.sum(of) / self.wall_s, PER_SECOND);
        let simulated = self.reports.first().map_or(0.0, |report| report.time_s);
        let numbers = [
            count(self.cpus as u64),
            count(self.tasks as u64),
            quantity(simulated, SECONDS),
            quantity(self.wall_s, SECONDS),
            per_second(|report| report.events),
            per_second(|report| report.switches),
        ];
        let costs = [quantity(self.seconds_per_event(), SECONDS), format!("×{:.2}", self.seconds_per_event() / base)];
        numbers.into_iter().chain(sched_ext.then(|| per_second(callbacks))).chain(costs)
    }
}

/// Number of calls of a sched_ext scheduler's callbacks.
fn callbacks(report: &Report) -> u64 {
    report.sched_ext.iter().flat_map(|report| report.callbacks.values()).map(|callback| callback.calls).sum()
}

/// The largest resident size that this process ever had, in KiB (`VmHWM`).
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
