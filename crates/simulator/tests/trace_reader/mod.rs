// SPDX-License-Identifier: MIT OR Apache-2.0
//! Wake-up latency and response as somebody computes them from the Perfetto trace of a run, against the report of that run.
//!
//! `reader` knows the trace alone. A trace does not say that a round was late to begin (the thread never sleeps then) nor
//! what a waiting thread waits for, nor whether what a thread did on a CPU was work. So the threads here work as they begin and
//! after each wait, sleep between their rounds, and miss no deadline.

mod reader;

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::{Latency, Report};
use tandem_simulator::simulation::{Governor, Options, simulate};
use tandem_simulator::trace::TraceWriter;
use tandem_simulator::units::{Nanos, SEC};
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
