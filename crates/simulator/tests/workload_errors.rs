// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mistakes in workloads: their place, their message, and what is only a warning.

use std::path::Path;

use tandem_simulator::workload::Workload;

/// Line, column and message of the mistake in a file whose second line is the `tasks` entry `line`.
fn mistake(line: &str) -> (usize, usize, String, String) {
    let text = format!("{{\"global\": {{\"duration\": 1}}, \"tasks\": {{\n{line}\n}}}}");
    let error = Workload::parse(Path::new("w.json"), &text).expect_err(line);
    let position = error.position.unwrap();
    (position.line, position.column, error.message, error.help.unwrap_or_default())
}

/// A task with a mistake, the column of the mistake, and the message.
const MISTAKES: &[(&str, usize, &str)] = &[
    (r#""t": {"run": "x"}"#, 14, r#"`run` must be an integer from 0 to 2147483647, not "x""#),
    (r#""t": {"run": -5}"#, 14, "`run` must be an integer from 0 to 2147483647, not -5"),
    (r#""t": {"run": 1.5}"#, 14, "`run` must be an integer from 0 to 2147483647, not 1.5"),
    (r#""t": {"run"}"#, 7, "`run` must be an integer from 0 to 2147483647, not nothing"),
    (r#""t": {"lock": 5}"#, 15, "`lock` must be a string, not 5"),
    (r#""t": {"lock": ""}"#, 15, r#"`lock` must be a name, not """#),
    (r#""t": {"timer": "tick"}"#, 16, "`timer` must be an object, not a string"),
    (r#""t": {"wait": {"ref": "c"}}"#, 15, "`wait` has no `mutex`, the mutex to release while it waits"),
    (r#""t": {"sync": {"mutex": "c"}}"#, 15, "`sync` has no `ref`, the condition to wait for"),
    (r#""t": {"policy": "SCHED_FIF", "run": 1}"#, 17, "`SCHED_FIF` is no policy"),
    (
        r#""t": {"policy": "SCHED_FIFO", "priority": 0, "run": 1}"#,
        7,
        "`priority` 0 is no real-time priority: expected 1 to 99",
    ),
    (r#""t": {"priority": 20, "run": 1}"#, 7, "`priority` 20 is no nice value: expected -20 to 19"),
    (
        r#""t": {"policy": "SCHED_DEADLINE", "run": 1}"#,
        7,
        "SCHED_DEADLINE needs 2 ≤ runtime ≤ deadline ≤ period, not 0, 0, 0 microseconds",
    ),
    (r#""t": {"util_max": 1025, "run": 1}"#, 19, "`util_max` must be an integer from -1 to 1024, not 1025"),
    (r#""t": {"util_min": 9, "util_max": 3, "run": 1}"#, 7, "util_min 9 is above util_max 3"),
    (r#""t": {"cpus": 3, "run": 1}"#, 15, "`cpus` must be an array of CPU numbers, not 3"),
    (r#""t": {"cpus": [], "run": 1}"#, 15, "`cpus` names no CPU"),
    (r#""t": {"taskgroup": "tg", "run": 1}"#, 20, "`taskgroup` \"tg\" must begin with `/`"),
    (
        r#""t": {"taskgroup": "/tg", "policy": "SCHED_RR", "run": 1}"#,
        20,
        "task `t` has a `taskgroup` and a policy that takes none",
    ),
    (r#""t": {"fork": "u"}"#, 7, "`fork` of `u`: no task has that name"),
    (r#""t": {"instance": -1, "run": 1}"#, 19, "`instance` must be an integer from 0 to 4194304, not -1"),
    (r#""t": {"priority": 1}"#, 6, "task `t` has no events"),
    (r#""t": {"phases": {"p": {"loop": 2}}}"#, 23, "phase `p` of task `t` has no events"),
    (r#""t": {"phases": {"p": 5}}"#, 23, "phase `p` of task `t` must be an object, not a number"),
    (
        r#""t": {"memrun": {"type": "chase", "size": 64, "count": 1}}"#,
        17,
        "a chase needs a `size` of at least two strides of 64 bytes, not 64",
    ),
    (r#""t": {"memrun": {"type": "reed", "size": 64, "count": 1}}"#, 26, "`reed` is no type"),
    (r#""t": {"memrun": {"type": "read", "count": 1}}"#, 17, "`memrun` has no `size`"),
    (r#""t": {"yield": ""}"#, 1, "task `t` repeats for ever what takes no time"),
    (
        r#""t": {"instance": 0, "barrier": "b"}, "u": {"run": 1}"#,
        22,
        "barrier `b` cannot count threads of `t`, which has no instances",
    ),
    (r#""t": {"run": 1, "tandem": {"memory_bond": 1}}"#, 28, "`memory_bond` is no key of `tandem` of task `t`"),
    (r#""t": {"run": 1, "tandem": {"memory_bound": 1.1}}"#, 44, "`memory_bound` must be a number from 0 to 1, not 1.1"),
    (
        r#""t": {"run": 1, "tandem": {"run_spread": "gauss"}}"#,
        42,
        r#"`run_spread` must be "exponential", { "uniform" : 0 to 1 } or { "log_normal" : SIGMA }, not "gauss""#,
    ),
    (
        r#""t": {"run": 1, "tandem": {"footprint": "2 Mb"}}"#,
        41,
        r#"`footprint` must be bytes, or a string such as "512KiB", "4MiB", "1GiB", not "2 Mb""#,
    ),
    (
        r#""t": {"phases": {"p": {"run": 1, "tandem": {"system": true}}}}"#,
        45,
        "`system` belongs in the task's `tandem`",
    ),
    (r#""t": {"tandem": {"join": true}, "phases": {"p": {"run": 1}}}"#, 18, "`join` belongs in a phase's `tandem`"),
    (
        r#""t": {"run": 1, "tandem": {"kernel_thread": true}}"#,
        27,
        "task `t` is a kernel thread, so it must be a system task, too",
    ),
    (r#""t": {"tandem": {"parallel_for": {"name": "l", "work": 1}}}"#, 34, "`parallel_for` has no `iterations`"),
    (
        r#""t": {"tandem": {"parallel_for": {"name": "l", "iterations": 4, "work": 1, "chunk": 2}}}"#,
        34,
        "a static schedule deals equal shares: it takes no `chunk`",
    ),
];

#[test]
fn mistakes_are_pointed_at() {
    for (line, column, message) in MISTAKES {
        let (found_line, found_column, found, _) = mistake(line);
        assert_eq!((found_line, found_column, found.as_str()), (2, *column, *message), "{line}");
    }
}

#[test]
fn uses_of_a_parallel_loop_must_agree() {
    let (_, _, message, help) = mistake(
        r#""t": {"phases": {
             "p": {"tandem": {"parallel_for": {"name": "l", "iterations": 4, "work": 1}}},
             "q": {"tandem": {"parallel_for": {"name": "l", "iterations": 5, "work": 1}}}}}"#,
    );
    assert_eq!(message, "`parallel_for` \"l\" differs from another use of that name");
    assert!(help.contains("must agree"));
}

#[test]
fn help_names_what_is_near() {
    assert!(mistake(r#""t": {"policy": "SCHED_FIF", "run": 1}"#).3.starts_with("did you mean `SCHED_FIFO`?"));
    assert_eq!(mistake(r#""t": {"fork": "worker"}, "workers": {"run": 1}"#).3, "did you mean `workers`?");
    assert!(mistake(r#""t": {"run": 1, "tandem": {"memory_bond": 1}}"#).3.starts_with("did you mean `memory_bound`?"));
    assert_eq!(mistake(r#""t": {"sleep": 2.5}"#).3, "the unit is microseconds");
}

#[test]
fn the_slip_that_left_no_events_is_named() {
    let (_, column, message, help) = mistake(r#""t": {"loop": 1, "rnu": 100}"#);
    assert_eq!((column, message.as_str()), (18, "task `t` has no events, and `rnu` is no key of it"));
    assert!(help.starts_with("did you mean `run`? valid: "), "{help}");
    let (_, column, message, _) = mistake(r#""t": {"phases": {"p": {"loop": 1, "slep": 100}}}"#);
    assert_eq!((column, message.as_str()), (35, "phase `p` of task `t` has no events, and `slep` is no key of it"));
}

#[test]
fn a_byte_order_mark_is_no_mistake_and_moves_none() {
    let text = r#"{"tasks": {"a": {"loop": 1, "run": 1}}}"#;
    assert!(Workload::parse(Path::new("w.json"), &format!("\u{feff}{text}")).is_ok());
    let error = Workload::parse(Path::new("w.json"), "\u{feff}{\"tasks\": 3}").unwrap_err();
    assert_eq!(error.position.unwrap().column, 11);
}

#[test]
fn a_file_without_any_section_is_no_workload() {
    let error = Workload::parse(Path::new("w.json"), "{\n\"taks\": {}}").unwrap_err();
    assert_eq!(error.message, "no `tasks` here");
    assert!(error.help.unwrap().starts_with("did you mean `tasks`?"));
}

/// The warnings about a file whose second line is the `tasks` entry `line`, without their place.
fn warnings(line: &str) -> Vec<String> {
    let text = format!("{{\"global\": {{\"duration\": 1}}, \"tasks\": {{\n{line}\n}}}}");
    let workload = Workload::parse(Path::new("w.json"), &text).unwrap_or_else(|error| panic!("{error}"));
    workload.warnings.iter().map(|warning| warning.strip_prefix("w.json:2: ").expect(warning).to_owned()).collect()
}

#[test]
fn what_means_nothing_is_said() {
    let table = [
        (r#""t": {"run": 1, "dealy": 5}"#, "`dealy` is no key of task `t`, ignored (did you mean `delay`?)"),
        (r#""t": {"phases": {"p": {"run": 1, "delay": 5}}}"#, "`delay` is no key of phase `p` of task `t`, ignored"),
        (r#""t": {"run": 1, "priority"}"#, "`priority` has no value: the default is used"),
        (r#""t": {"loop": 1, "run": 1, "loop": 2}"#, "`loop` is given twice in task `t`: the first counts"),
        (
            r#""t": {"phases": {"p": {"run": 1, "nodes_membind": [0]}}}"#,
            "`nodes_membind` has no meaning in a simulation: memory stays where a task's first work puts it",
        ),
        (r#""t": {"run": 1, "phases": {"p": {"sleep": 1}}}"#, "`run` beside `phases` is no event: rt-app ignores it"),
        (r#""t": {"run": 1, "unlock": "m"}"#, "task `t` unlocks mutex `m`, which it never locks"),
        (r#""t": {"run": 1, "resume": "u"}"#, "`resume` of `u` wakes no thread: no such task is ever suspended"),
        (r#""t": {"run": 1, "suspend": "t"}"#, "no task resumes `t`: it waits for ever"),
        (r#""t": {"run": 1, "instance": 0}, "u": {"run": 1}"#, "task `t` has no instances and no task forks it"),
        (r#""t": {"run": 1, "policy": "SCHED_IDLE", "priority": 3}"#, "`priority` has no effect under SCHED_IDLE"),
        (r#""t": {"run": 1, "dl-period": 3}"#, "`dl-period` has no effect under SCHED_OTHER"),
        (
            r#""t": {"runtime": 9}"#,
            "`runtime`, an old name of `dl-runtime`, is also the thread's requested slice, as rt-app reads it: use another key such as `runtime0` for the event",
        ),
        (
            r#""t": {"phases": {"p": {"run": 1, "loop": 0}}}"#,
            "`loop` 0 of phase `p` of task `t` never ends: rt-app counts up to the number given",
        ),
        (
            r#""t": {"phases": {"p": {"run": 1, "loop": -1}, "q": {"run": 1}}}"#,
            "phase `q` is never reached: the one before it never ends",
        ),
        (
            r#""t": {"run": 1, "timer": {"period": 3}}"#,
            "`timer` names no timer in `ref`: it shares the one called `unknown`",
        ),
        (
            r#""t": {"run": 1, "iorun": 3}"#,
            "`iorun` is taken as moving its bytes through memory: devices are not modelled",
        ),
        (r#""t": {"run": 1, "tandem": {"join": true}}"#, "task `t` joins threads but forks none"),
    ];
    for (line, message) in table {
        assert_eq!(warnings(line), [message], "{line}");
    }
}

#[test]
fn every_global_key_is_modelled_or_listed() {
    let text = r#"{"global": {
        "duration": -1,
        "calibration": "CPU0",
        "default_policy": "SCHED_OTHER",
        "pi_enabled": false,
        "lock_pages": false,
        "logdir": "./",
        "log_basename": "rt-app",
        "log_size": "file",
        "ftrace": "none",
        "gnuplot": false,
        "io_device": "/dev/null",
        "mem_buffer_size": 4194304,
        "cumulative_slack": false,
        "durration": 4
    }, "tasks": {"t": {"loop": 1, "run": 1}}}"#;
    let workload = Workload::parse(Path::new("w.json"), text).unwrap();
    let modelled = [2, 4, 5, 13];
    let listed: Vec<usize> =
        workload.warnings.iter().map(|warning| warning.split(':').nth(1).unwrap().parse().unwrap()).collect();
    let expected: Vec<usize> = (2..=15).filter(|line| !modelled.contains(line)).collect();
    assert_eq!(listed, expected);
    let unknown = workload.warnings.last().unwrap();
    assert_eq!(unknown, "w.json:15: `durration` is no key of `global`, ignored (did you mean `duration`?)");
}

#[test]
fn a_workload_without_an_end_is_said() {
    let text = r#"{"tasks": {"t": {"run": 1}, "s": {"run": 1, "tandem": {"system": true}}}}"#;
    let workload = Workload::parse(Path::new("w.json"), text).unwrap();
    assert_eq!(
        workload.warnings,
        ["w.json:1: task `t` never ends and `global` gives no `duration`: a time limit must"]
    );
}
