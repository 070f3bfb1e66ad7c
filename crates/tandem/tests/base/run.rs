// SPDX-License-Identifier: GPL-2.0-only
//! Threads, machines and runs under the base, in a few words. Times are in milliseconds.

use std::sync::{Arc, OnceLock};

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::{Report, TaskReport};
use tandem_simulator::simulation::{Governor, Options, SchedExt, Scheduler};
use tandem_simulator::units::MSEC;
use tandem_simulator::workload::{Op, TaskSpec, Workload};

use crate::long::combinations::scheduler::{audited_run, tandem};
use crate::long::combinations::support::machine::{Cache, Cluster, Spec};
use crate::long::combinations::support::workload::{thread, timer, work, workload};

/// The scheduler with settings behind it; none: the base, without a mode. Opened once, as compiled code is kept.
pub fn with(settings: &[(&str, &str)]) -> SchedExt {
    static OPENED: OnceLock<Arc<SchedExt>> = OnceLock::new();
    let opened = OPENED.get_or_init(|| match tandem("") {
        Scheduler::SchedExt(opened) => opened,
        other => panic!("{other:?}"),
    });
    let without_mode = [("mode", "none")].into_iter().filter(|_| settings.iter().all(|(name, _)| *name != "mode"));
    let settings = without_mode.chain(settings.iter().copied());
    let settings = settings.map(|(name, value)| (name.into(), value.into())).collect();
    opened.with_settings(settings).unwrap_or_else(|error| panic!("{error}"))
}

/// Options with a scheduler, at the highest clocks.
pub fn options(scheduler: SchedExt) -> Options {
    let scheduler = Scheduler::SchedExt(Arc::new(scheduler));
    Options { scheduler, governor: Governor::Performance, ..Options::default() }
}

/// These threads until all have ended.
pub fn of(tasks: impl Into<Vec<TaskSpec>>) -> Workload {
    Workload { tasks: tasks.into(), ..workload(1) }
}

/// These threads for `ms`.
pub fn for_ms(ms: u64, tasks: impl Into<Vec<TaskSpec>>) -> Workload {
    Workload { duration: Some(ms * MSEC), ..of(tasks) }
}

/// An audited run under the base, which lives to the end.
#[track_caller]
pub fn run(machine: &Machine, workload: &Workload) -> Report {
    audited_run(machine, workload, &options(with(&[])))
}

/// `body`, for ever.
pub fn forever(body: impl Into<Vec<Op>>) -> Vec<Op> {
    then_forever([], body)
}

/// `first`, then `body` for ever.
pub fn then_forever<const N: usize>(first: [Op; N], body: impl Into<Vec<Op>>) -> Vec<Op> {
    let body = body.into();
    let (start, mut program) = (N as u32, Vec::from(first));
    program.push(Op::LoopStart { counter: 0, count: None, end: start + body.len() as u32 + 1 });
    program.extend(body);
    program.push(Op::LoopEnd { start });
    program
}

/// A thread that computes for ever.
pub fn hog(name: &str) -> TaskSpec {
    thread(name, forever([work(1000)]))
}

/// A thread that computes for `ms` in each `period`.
pub fn periodic(name: &str, ms: u64, period: u64) -> TaskSpec {
    thread(name, forever([work(ms), timer(period)]))
}

/// CPUs in pairs that share a cache.
pub fn pairs(cpus: u32) -> Machine {
    sharing(cpus, 2)
}

/// CPUs of which each has a cache of its own.
pub fn alone(cpus: u32) -> Machine {
    sharing(cpus, 1)
}

fn sharing(cpus: u32, share: u32) -> Machine {
    let cache = Cache { kib: 8192, per: format!("cores:{share}"), hit_cost: 0.1, link: None };
    Spec::clusters([Cluster { cores: cpus, cache: Some(cache), ..Cluster::default() }]).build()
}

/// Fast CPUs, then slow ones of half the speed.
pub fn unequal(fast: u32, slow: u32) -> Machine {
    let kind = |cores, ipc| Cluster { cores, ipc, ..Cluster::default() };
    Spec::clusters([kind(fast, 2.0), kind(slow, 1.0)]).build()
}

/// The threads of a name, in the order of their instances.
#[track_caller]
pub fn threads<'r>(report: &'r Report, name: &str) -> Vec<&'r TaskReport> {
    let is =
        |task: &&TaskReport| task.name.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    let found: Vec<_> = report.tasks.iter().filter(is).collect();
    assert!(!found.is_empty(), "no thread {name}");
    found
}

/// What a counter of the scheduler says.
#[track_caller]
pub fn counted(report: &Report, name: &str) -> u64 {
    let statistics = &report.sched_ext.as_ref().unwrap().statistics;
    statistics.iter().find(|(other, _)| *other == name).unwrap_or_else(|| panic!("{name}")).1
}

/// CPU time of the threads of a name, in milliseconds.
#[track_caller]
pub fn time(report: &Report, name: &str) -> f64 {
    threads(report, name).iter().map(|task| task.cpu_time_s * 1e3).sum()
}

/// What the threads of a name have of all CPU time, in percent.
#[track_caller]
pub fn share(report: &Report, name: &str) -> f64 {
    let all: f64 = report.tasks.iter().map(|task| task.cpu_time_s * 1e3).sum();
    100.0 * time(report, name) / all
}

/// The longest that a thread of a name has waited after a wakeup, in microseconds.
#[track_caller]
pub fn longest_wakeup_us(report: &Report, name: &str) -> f64 {
    let latencies = threads(report, name).into_iter().map(|task| task.timing.wakeup_latency_ns);
    latencies.map(|latency| latency.expect("it was woken").max).max().unwrap_or(0) as f64 / 1e3
}

/// Asserts that a number is within `slack` of another.
#[track_caller]
pub fn within(measured: f64, expected: f64, slack: f64) {
    assert!((measured - expected).abs() <= slack, "measured {measured}, expected {expected} ± {slack}");
}
