// SPDX-License-Identifier: MIT OR Apache-2.0
//! Performance counters as programs at tracepoints read them. The machine runs at 2 GHz with one instruction per cycle, and
//! its memory energy is a joule for each billion bytes.

use std::collections::BTreeMap;
use std::sync::Arc;

use tandem_simulator::metrics::Report;
use tandem_simulator::simulation::{Governor, KernelParameters, Options, SchedExt};

use super::support::{Turns, ms, open_with, options, survived, tasks_of};
use crate::common::{run_with, watch};
use crate::equal::machine;

const PERF: &str = "[perf]\ncycles = \"cycles\"\ninstructions = \"instructions\"\nmisses = \"cache_misses\"\nstalled = \"stalled_cycles\"\n";

fn counters(settings: &str) -> Arc<SchedExt> {
    open_with("counters", settings, PERF)
}

/// What was booked for each task, by name: run time, cycles, instructions, misses, stalled cycles.
fn booked(report: &Report) -> BTreeMap<String, [u64; 5]> {
    let parse = |line: &String| {
        let mut words = line.split(' ');
        let name = words.next().unwrap_or_default().to_owned();
        let numbers: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
        (name, numbers.try_into().unwrap_or_else(|_| panic!("{line}")))
    };
    survived(report).output.iter().map(parse).collect()
}

/// A task of `work` microseconds that waits for memory half of its time, and moves one byte per nanosecond of work.
fn memory_bound(name: &str, work: u64) -> String {
    format!(
        r#""{name}" : {{ "loop" : 1, "run" : {work}, "tandem" : {{ "memory_bound" : 0.5, "bytes_per_work" : 1000 }} }}"#
    )
}

#[track_caller]
fn near(counted: u64, expected: f64) {
    let tolerance = 2.0 + 1e-4 * expected;
    assert!((counted as f64 - expected).abs() <= tolerance, "{counted}, not {expected}");
}

#[test]
fn a_compute_bound_thread_has_an_instruction_in_each_cycle_and_never_waits() {
    let tasks = [r#""hog" : { "loop" : 1, "run" : 100000 }"#];
    let report = run_with(&machine(1), &tasks_of(&tasks), &options(&counters(""), ms(500)));
    let [runtime, cycles, instructions, misses, stalled] = booked(&report)["hog"];
    assert_eq!((runtime, misses, stalled), (ms(100), 0, 0));
    near(cycles, 2e8);
    near(instructions, 2e8);
}

#[test]
fn cycles_follow_the_clock_and_instructions_the_work() {
    let tasks = [r#""hog" : { "loop" : 1, "run" : 100000 }"#];
    let slow = Options { governor: Governor::Powersave, ..options(&counters(""), ms(500)) };
    let report = run_with(&machine(1), &tasks_of(&tasks), &slow);
    let [runtime, cycles, instructions, ..] = booked(&report)["hog"];
    // 500 MHz, not 2 GHz: four times the time, and the same number of cycles.
    near(runtime, 4e8);
    near(cycles, 2e8);
    near(instructions, 2e8);
}

#[test]
fn a_thread_that_waits_half_of_its_time_has_half_its_cycles_stalled() {
    let report = run_with(&machine(1), &tasks_of(&[&memory_bound("half", 100_000)]), &options(&counters(""), ms(500)));
    let [runtime, cycles, instructions, misses, stalled] = booked(&report)["half"];
    near(runtime, 1e8);
    near(cycles, 2e8);
    near(stalled, 1e8);
    near(instructions, 2e8);
    // 1e8 bytes in lines of 64.
    near(misses, 1e8 / 64.0);
}

#[test]
fn contention_adds_stalled_cycles_and_no_instructions() {
    let streams: Vec<String> = (0..4).map(stream).collect();
    let streams: Vec<&str> = streams.iter().map(String::as_str).collect();
    let report = run_with(&machine(4), &tasks_of(&streams), &options(&counters(""), ms(500)));
    for [runtime, cycles, instructions, misses, stalled] in booked(&report).into_values() {
        // Four times 5 GB/s on a bus of 10: each takes twice as long, and waits all the time.
        near(runtime, 4e7);
        near(cycles, 8e7);
        near(stalled, 8e7);
        near(instructions, 4e7);
        near(misses, 1e8 / 64.0);
    }
}

fn stream(thread: usize) -> String {
    let tandem = r#""tandem" : { "memory_bound" : 1, "bytes_per_work" : 5000 }"#;
    format!(r#""stream{thread}" : {{ "loop" : 1, "run" : 20000, {tandem} }}"#)
}

#[test]
fn all_counted_misses_are_all_the_bytes_that_memory_moved() {
    let tasks = [
        memory_bound("a", 30_000),
        memory_bound("b", 40_000),
        memory_bound("c", 50_000),
        r#""d" : { "loop" : 5, "mem" : 1000000, "sleep" : 1000 }"#.to_owned(),
        r#""e" : { "loop" : 20, "run" : 1000, "sleep" : 500, "tandem" : { "memory_bound" : 0.9, "bytes_per_work" : 3000 } }"#
            .to_owned(),
        r#""f" : { "loop" : 1, "runtime" : 7000, "tandem" : { "memory_bound" : 0.2, "bytes_per_work" : 500 } }"#.to_owned(),
    ];
    let tasks: Vec<&str> = tasks.iter().map(String::as_str).collect();
    let report = run_with(&machine(2), &tasks_of(&tasks), &options(&counters(""), ms(900)));
    let misses: u64 = booked(&report).values().map(|counts| counts[3]).sum();
    near(misses, report.energy_j.memory * 1e9 / 64.0);
    assert!(misses > 1_000_000, "{misses}");
}

#[test]
fn counters_are_read_on_their_own_cpu_and_only_where_a_loader_opened_them() {
    let errors = |sidecar: &str, kernel: KernelParameters| {
        let scheduler = open_with("counters", "", &format!("{sidecar}[run.syscall]\ncounters_errors = [[]]\n"));
        let tasks = [r#""hog" : { "loop" : 1, "run" : 1000 }"#];
        let options = Options { kernel, ..options(&scheduler, ms(500)) };
        let report = run_with(&machine(2), &tasks_of(&tasks), &options);
        survived(&report).output[0].clone()
    };
    // ENOENT is 2, E2BIG 7, EINVAL 22.
    let all = errors(PERF, KernelParameters::default());
    assert_eq!(all, "here 0, as current 0, other CPU -22, no such CPU -2, beyond the map -7, not opened -2");
    let none = "here -2, as current -2, other CPU -2, no such CPU -2, beyond the map -7, not opened -2";
    assert_eq!(errors("", KernelParameters::default()), none);
    assert_eq!(errors(PERF, KernelParameters { perf_counters: false, ..KernelParameters::default() }), none);
}

#[test]
fn a_callback_that_reads_a_counter_is_refused() {
    let tasks = [r#""hog" : { "loop" : 3, "run" : 1000, "sleep" : 1000 }"#];
    let report = run_with(&machine(1), &tasks_of(&tasks), &options(&counters("misuse=1"), ms(500)));
    let exit = report.sched_ext.and_then(|scx| scx.exit).expect("it is ejected");
    assert!(exit.message.contains("performance counters"), "{}", exit.message);
    assert_eq!(exit.callback.as_deref(), Some("stopping"));
}

#[test]
fn a_map_that_holds_no_counters_cannot_be_opened() {
    let scheduler = open_with("counters", "", "[perf]\ntasks = \"cycles\"\n");
    let result = tandem_simulator::simulation::simulate(
        &machine(1),
        &tasks_of(&[r#""hog" : { "loop" : 1, "run" : 1000 }"#]),
        &options(&scheduler, ms(500)),
        &mut Turns::default(),
    );
    let message = result.expect_err("it is refused").to_string();
    assert!(message.contains("no map `tasks` of type PERF_EVENT_ARRAY"), "{message}");
}

#[test]
fn the_tracepoint_of_switches_sees_who_leaves_who_comes_and_why() {
    let tasks = [
        r#""a" : { "loop" : 1, "run" : 1000, "sleep" : 2000, "runtime" : 1000 }"#,
        r#""b" : { "loop" : 1, "delay" : 500, "run" : 1000 }"#,
    ];
    let mut turns = Turns::default();
    let options = options(&counters("print_switch=true"), ms(500));
    let report = watch(&machine(1), &tasks_of(&tasks), &options, &mut turns);
    let lines = &survived(&report).output;
    let switches: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix("switch ")).collect();
    // TASK_INTERRUPTIBLE is 1, TASK_DEAD 0x80; a task that leaves is current until it has left.
    let expected = [
        "0 swapper/0 a 0 swapper/0",
        "0 a b 1 a",
        "0 b swapper/0 128 b",
        "0 swapper/0 a 0 swapper/0",
        "0 a swapper/0 128 a",
    ];
    assert_eq!(switches, expected);
    assert!(!lines.iter().any(|line| line.contains("optional")));
    let traced = &survived(&report).callbacks["tp_btf/sched_switch"];
    assert_eq!(traced.calls, 5);
    assert!(traced.instructions > 5 * 20, "{traced:?}");
}
