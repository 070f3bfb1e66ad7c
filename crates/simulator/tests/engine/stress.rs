// SPDX-License-Identifier: MIT OR Apache-2.0
//! However threads interact, all work is done once, and all CPU time belongs to a thread.

use proptest::prelude::*;
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::simulate;

use super::support::{machine_from, options, text, workload};

/// A step of a round, by its number, with a length in microseconds. A step that waits for the semaphore has posted it
/// first, so that no wait needs another thread's post.
fn step(index: usize, kind: u8, length: u32) -> String {
    let lock = kind % 2;
    match kind {
        0 | 1 => format!(
            r#""lock{index}": "m{lock}", "run{index}": {length}, "unlock{index}": "m{lock}", "run{index}x": {length}"#
        ),
        2 => format!(r#""run{index}": {length}"#),
        3 => format!(r#""sleep{index}": {length}"#),
        4 => format!(r#""yield{index}": "", "run{index}": {length}"#),
        5 => format!(r#""mem{index}": {}, "run{index}": {length}"#, length * 100),
        6 => format!(r#""timer{index}": {{ "ref": "unique", "period": {length} }}"#),
        _ => format!(r#""sem_post{index}": "s", "run{index}": {length}, "sem_wait{index}": "s""#),
    }
}

/// Work in microseconds of the same step.
fn work(kind: u8, length: u32) -> u32 {
    match kind {
        3 | 6 => 0,
        0 | 1 => 2 * length,
        _ => length,
    }
}

/// The properties in which threads differ: priority (0: fair), CPU (3: all), spin, and steps.
type Kind = (u8, u8, u32, Vec<(u8, u32)>);

fn kinds() -> impl Strategy<Value = Vec<Kind>> {
    let spin = prop_oneof![Just(0u32), 1u32..2000];
    let steps = prop::collection::vec((0u8..8, 1u32..3000), 1..5);
    prop::collection::vec((0u8..4, 0u8..4, spin, steps), 1..7)
}

fn file(kinds: &[Kind], rounds: u32) -> String {
    let task = |(index, (priority, cpu, spin, steps)): (usize, &Kind)| {
        let policy = match priority {
            0 | 1 => String::new(),
            _ => format!(r#""policy": "{}", "priority": {priority},"#, ["SCHED_FIFO", "SCHED_RR"][index % 2]),
        };
        let cpus = if *cpu < 3 { format!(r#""cpus": [{cpu}],"#) } else { String::new() };
        let steps: Vec<String> =
            steps.iter().enumerate().map(|(at, (kind, length))| step(at, *kind, *length)).collect();
        format!(
            r#""t{index}": {{ "loop": {rounds}, {policy} {cpus} "tandem": {{ "spin": {spin}, "memory_bound": 0.5,
            "bytes_per_work": 3000, "footprint": "64KiB" }}, {}, "barrier": "all" }}"#,
            steps.join(", ")
        )
    };
    let tasks: Vec<String> = kinds.iter().enumerate().map(task).collect();
    format!(r#"{{ "tasks": {{ {} }} }}"#, tasks.join(", "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn all_work_is_done_and_all_time_is_booked(kinds in kinds(), rounds in 1u32..6, costly: bool) {
        let costs = |text: String| {
            text.replace("_switch_us = 0", "_switch_us = 3")
                .replace("tick_us = 0", "tick_us = 5")
                .replace("entry_us = 0, exit_us = 0", "entry_us = 50, exit_us = 100")
                .replace("latency_us = 0", "latency_us = 30")
        };
        let text = if costly { costs(text(3)) } else { text(3) };
        let report = simulate(&machine_from(&text), &workload(&file(&kinds, rounds)), &options(), &mut NoObserver);
        let report = report.map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert!(report.warnings.is_empty(), "{:?}", report.warnings);
        for (task, (.., steps)) in report.tasks.iter().zip(&kinds) {
            let expected = f64::from(rounds * steps.iter().map(|(kind, length)| work(*kind, *length)).sum::<u32>()) * 1e-6;
            prop_assert!((task.work_s - expected).abs() < 1e-9, "{} did {} of {expected}", task.name, task.work_s);
        }
        let used: f64 = report.tasks.iter().map(|task| task.cpu_time_s).sum();
        let busy: f64 = report.cpus.iter().map(|cpu| cpu.busy_s).sum();
        prop_assert!((used - busy).abs() < 1e-9, "threads used {used} s, CPUs were busy for {busy} s");
    }
}
