// SPDX-License-Identifier: MIT OR Apache-2.0
//! Wake-up latency and response as somebody computes them from the Perfetto trace of a run, against the report of that run.
//!
//! `reader` knows the trace alone. A trace does not say that a round was late to begin (the thread never sleeps then) nor
//! what a waiting thread waits for, nor whether what a thread did on a CPU was work. So the threads here work as they begin and
//! after each wait, sleep between their rounds, and miss no deadline.
//!
//! `places` follows threads from CPU to CPU: what the trace says of wakeups and migrations, against what the report counts.

mod places;
mod reader;

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::{Latency, Report};
use tandem_simulator::simulation::{Governor, Hotplug, Options, simulate};
use tandem_simulator::trace::TraceWriter;
use tandem_simulator::units::{CpuId, Nanos, SEC};
use tandem_simulator::workload::Workload;

use crate::common::workload;
use crate::equal;
use crate::sched_ext::support::{open, options as under};

/// Periodic threads of coprime periods, sleepers at random, a thread that is woken by another, and load in their way.
fn tasks() -> Workload {
    let periodic = |name: &str, run: u32, period: u32| {
        format!(r#""{name}": {{ "run": {run}, "timer": {{ "ref": "unique-{name}", "period": {period} }} }}"#)
    };
    let random = r#""sleeper": { "instance": 3, "run": 400, "sleep": 3000,
        "tandem": { "sleep_spread": "exponential", "run_spread": { "log_normal": 0.7 } } }"#;
    // It begins when "woken" waits for it.
    let waker =
        r#""waker": { "delay": 50000, "run": 300, "sem_post": "s", "timer": { "ref": "unique-w", "period": 17000 } }"#;
    let woken = r#""woken": { "run": 700, "sem_wait": "s" }"#;
    let load = r#""load": { "priority": 10, "run": 900, "sleep": 1100 }"#;
    let tasks = [periodic("five", 900, 5003), periodic("seven", 1300, 7001), periodic("eleven", 2100, 11_003)];
    workload(&format!(r#"{{ "tasks": {{ {}, {random}, {waker}, {woken}, {load} }} }}"#, tasks.join(", ")))
}

/// The report of a run, and what the reader finds in its trace.
fn traced(machine: &Machine, options: &Options) -> (Report, Vec<reader::Thread>) {
    let workload = tasks();
    let mut trace = TraceWriter::new(Vec::new(), machine, &workload.applications);
    let report = simulate(machine, &workload, options, &mut trace).unwrap_or_else(|error| panic!("{error}"));
    (report, reader::threads(&trace.finish().unwrap()))
}

/// Asserts that `told` summarises `times`: the maximum exactly, quantiles within the 1/64 that the report promises.
#[track_caller]
fn assert_summary(what: &str, told: Option<Latency>, times: &[Nanos]) {
    let told = told.unwrap_or_else(|| panic!("no {what}"));
    let mut times = times.to_vec();
    times.sort_unstable();
    assert_eq!(told.max, times[times.len() - 1], "{what}");
    for (share, value) in [(0.5, told.p50), (0.95, told.p95), (0.99, told.p99)] {
        let exact = times[(share * times.len() as f64).ceil() as usize - 1];
        assert!(value >= exact && value - exact <= exact / 64, "{what}, quantile {share}: {value} for {exact}");
    }
}

/// Compares responses, and latencies where the machine has no costs: the trace's switch comes before them.
#[track_caller]
fn assert_agreement(machine: &Machine, options: &Options, latencies: bool) {
    let (report, threads) = traced(machine, options);
    assert_eq!(threads.len(), report.tasks.len());
    assert_eq!(report.timing.deadlines.expect("timers").missed, 0, "a round that does not sleep is not in the trace");
    for task in &report.tasks {
        let thread = threads.iter().find(|thread| thread.name == task.name).expect("the thread is in the trace");
        assert!(task.timing.rounds > 20, "{} has {} rounds", task.name, task.timing.rounds);
        assert_eq!(thread.responses.len() as u64, task.timing.rounds, "rounds of {}", task.name);
        assert_summary(&format!("response of {}", task.name), task.timing.response_ns, &thread.responses);
        if latencies {
            assert_summary(&format!("latency of {}", task.name), task.timing.wakeup_latency_ns, &thread.latencies);
        }
    }
    let all = |of: fn(&reader::Thread) -> &[Nanos]| threads.iter().flat_map(of).copied().collect::<Vec<_>>();
    assert_summary("response of the run", report.timing.response_ns, &all(|thread| &thread.responses));
    if latencies {
        assert_summary("latency of the run", report.timing.wakeup_latency_ns, &all(|thread| &thread.latencies));
    }
}

fn fair(seed: u64) -> Options {
    Options { governor: Governor::Performance, time_limit: Some(SEC), seed, ..Options::default() }
}

#[test]
fn the_trace_of_fair_threads_says_the_same() {
    for seed in 0..3 {
        assert_agreement(&equal::machine(2), &fair(seed), true);
    }
}

#[test]
fn the_trace_of_scx_simple_says_the_same() {
    for settings in ["", "fifo_sched=true"] {
        assert_agreement(&equal::machine(2), &under(&open("scx_simple", settings), SEC), true);
    }
}

#[test]
fn on_a_machine_with_costs_responses_are_the_same() {
    assert_agreement(&Machine::load("hikey960").unwrap(), &fair(1), false);
}

/// Threads of all classes, more than CPUs, of which one changes where it may run and some end.
fn crowd() -> Workload {
    let thread = |name: &str, count: u32, more: &str, run: u32, sleep: u32| {
        format!(r#""{name}": {{ "instance": {count}, "loop": -1, {more} "run": {run}, "sleep": {sleep} }}"#)
    };
    let bound = r#""bound": { "loop": -1, "phases": { "here": { "cpus": [0], "loop": 3, "run": 2000, "sleep": 300 },
        "there": { "cpus": [1, 2], "loop": 3, "run": 2000, "sleep": 300 } } }"#;
    let short = r#""short": { "instance": 4, "delay": 20000, "loop": 20, "run": 700, "sleep": 200 }"#;
    let tasks = [
        thread("often", 6, "", 300, 500),
        thread("busy", 9, "", 9000, 1000),
        thread("urgent", 3, r#""policy": "SCHED_FIFO", "priority": 10,"#, 600, 1700),
        bound.to_owned(),
        short.to_owned(),
    ];
    workload(&format!(r#"{{ "tasks": {{ {} }} }}"#, tasks.join(", ")))
}

/// The trace and the report of a run must say the same of each thread's migrations; how many there were by wakeups, and else.
#[track_caller]
fn assert_places(machine: &Machine, workload: &Workload, options: &Options) -> (u64, u64) {
    let mut trace = TraceWriter::new(Vec::new(), machine, &workload.applications);
    let report = simulate(machine, workload, options, &mut trace).unwrap_or_else(|error| panic!("{error}"));
    let ways = places::ways(&trace.finish().unwrap());
    assert_eq!(ways.values().map(|ways| ways.migrations).sum::<u64>(), report.migrations);
    let mut counted: Vec<u64> = report.tasks.iter().map(|task| task.migrations).filter(|count| *count > 0).collect();
    let mut told: Vec<u64> = ways.values().map(|ways| ways.migrations).filter(|count| *count > 0).collect();
    counted.sort_unstable();
    told.sort_unstable();
    assert_eq!(told, counted);
    assert!(ways.values().all(|ways| ways.begins <= 1));
    let by_wakeups = ways.values().map(|ways| ways.by_wakeups).sum();
    (by_wakeups, report.migrations - by_wakeups)
}

#[test]
fn a_trace_tells_each_migration_that_the_report_counts() {
    for (machine, seed) in [("hikey960", 0), ("smp-8", 1), ("epyc-9554-2s", 2)] {
        let (by_wakeups, others) = assert_places(&Machine::load(machine).unwrap(), &crowd(), &fair(seed));
        assert!(by_wakeups > 0 && others > 10, "{machine}: {by_wakeups} {others}");
    }
    let machine = equal::machine(3);
    for (object, settings) in [("scx_simple", ""), ("scx_central", ""), ("scx_flatcg", "")] {
        let (by_wakeups, others) = assert_places(&machine, &crowd(), &under(&open(object, settings), SEC));
        assert!(by_wakeups + others > 100, "{object}: {by_wakeups} {others}");
    }
}

#[test]
fn a_trace_tells_what_moves_when_a_cpu_goes_offline() {
    let hotplug = |at: Nanos, online| Hotplug { at, cpu: CpuId(2), online };
    let hotplug = vec![hotplug(SEC / 4, false), hotplug(SEC / 2, true), hotplug(SEC / 4 * 3, false)];
    let options = Options { hotplug, ..fair(3) };
    let (_, others) = assert_places(&equal::machine(4), &crowd(), &options);
    assert!(others > 10, "{others}");
}
