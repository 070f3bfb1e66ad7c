// SPDX-License-Identifier: MIT OR Apache-2.0
//! What programs learn of a task: its process and parent, what its loader knows of it, and which task wakes it. Threads
//! are numbered from 2; init is 1.

use tandem_simulator::metrics::Report;

use super::support::{ms, open_with, options, survived, tasks_of};
use crate::common::run_with;
use crate::equal::machine;

const SIDECAR: &str = "[hints]\nrelative_length = \"lengths\"\n[applications]\ntgids = \"applications\"\n";

fn run(cpus: usize, settings: &str, tasks: &[&str]) -> Report {
    run_with(&machine(cpus), &tasks_of(tasks), &options(&open_with("relations", settings, SIDECAR), ms(500)))
}

/// What the scheduler printed of new tasks. While a task is made, it still has its maker's parent.
#[track_caller]
fn births(tasks: &[&str]) -> Vec<String> {
    let report = run(2, "", tasks);
    survived(&report).output.iter().filter(|line| line.contains(" flags ")).cloned().collect()
}

#[test]
fn threads_of_an_application_are_one_process_that_init_started() {
    let tasks = [
        r#""a" : { "loop" : 1, "run" : 1000, "instance" : 2, "tandem" : { "application" : "one" } }"#,
        r#""b" : { "loop" : 1, "run" : 1000, "tandem" : { "application" : "two" } }"#,
        r#""c" : { "loop" : 1, "run" : 1000, "fork" : "d", "tandem" : { "application" : "one" } }"#,
        r#""d" : { "loop" : 1, "run" : 1000, "instance" : 0, "tandem" : { "application" : "one" } }"#,
    ];
    let expected = [
        "a-0: 2 of 2 (2), made by 1, child of 1, flags 0x0, CPUs 2, mm 1, length 0, application 1",
        "a-1: 3 of 2 (2), made by 2, child of 1, flags 0x0, CPUs 2, mm 1, length 0, application 1",
        "b: 4 of 4 (4), made by 1, child of 1, flags 0x0, CPUs 2, mm 1, length 0, application 2",
        "c: 5 of 2 (2), made by 2, child of 1, flags 0x0, CPUs 2, mm 1, length 0, application 1",
        "d-0: 6 of 2 (2), made by 5, child of 1, flags 0x0, CPUs 2, mm 1, length 0, application 1",
    ];
    assert_eq!(births(&tasks), expected);
}

#[test]
fn processes_are_children_of_who_forked_them_or_of_the_applications_first() {
    let tasks = [
        r#""shell" : { "loop" : 1, "run" : 1000, "fork" : "job", "tandem" : { "process" : true } }"#,
        r#""tool" : { "loop" : 1, "run" : 20000, "tandem" : { "process" : true } }"#,
        r#""thread" : { "loop" : 1, "run" : 20000 }"#,
        r#""job" : { "loop" : 1, "run" : 1000, "fork" : "worker", "run1" : 20000, "instance" : 0, "tandem" : { "process" : true } }"#,
        r#""worker" : { "loop" : 1, "run" : 1000, "instance" : 0 }"#,
    ];
    let expected = [
        "shell: 2 of 2 (2), made by 1, child of 1, flags 0x0, CPUs 2, mm 1, length 0, application 1",
        "tool: 3 of 3 (3), made by 2, child of 1, flags 0x0, CPUs 2, mm 1, length 0, application 0",
        "thread: 4 of 4 (4), made by 2, child of 1, flags 0x0, CPUs 2, mm 1, length 0, application 0",
        "job-0: 5 of 5 (5), made by 2, child of 1, flags 0x0, CPUs 2, mm 1, length 0, application 0",
        "worker-0: 6 of 5 (5), made by 5, child of 1, flags 0x0, CPUs 2, mm 1, length 0, application 0",
    ];
    assert_eq!(births(&tasks), expected);
    let ends: Vec<String> = run(2, "", &tasks).sched_ext.unwrap().output;
    for line in ["shell ends, child of 1", "tool ends, child of 1", "job-0 ends, child of 1"] {
        assert!(ends.iter().any(|end| end == line), "{line}: {ends:?}");
    }
}

#[test]
fn children_of_a_thread_that_ends_are_those_of_another_thread_of_its_process() {
    let tasks = [
        r#""main" : { "loop" : 1, "run" : 50000 }"#,
        r#""helper" : { "loop" : 1, "run" : 1000, "fork" : "job" }"#,
        r#""job" : { "loop" : 1, "run" : 20000, "instance" : 0, "tandem" : { "process" : true } }"#,
    ];
    let report = run(3, "", &tasks);
    let output = &survived(&report).output;
    assert!(output[2].starts_with("job-0: 4 of 4 (4), made by 3, child of 1,"), "{output:?}");
    assert!(output.iter().any(|line| line == "job-0 ends, child of 2"), "{output:?}");
}

#[test]
fn the_system_has_processes_and_kernel_threads_of_its_own() {
    let tasks = [
        r#""app" : { "loop" : 1, "run" : 1000 }"#,
        r#""sshd" : { "run" : 100, "sleep" : 1000, "tandem" : { "system" : true } }"#,
        r#""kworker" : { "run" : 100, "sleep" : 1000, "tandem" : { "system" : true, "kernel_thread" : true } }"#,
        r#""ksoftirqd" : { "run" : 100, "sleep" : 1000, "cpus" : [1], "tandem" : { "system" : true, "kernel_thread" : true } }"#,
    ];
    let expected = [
        "app: 2 of 2 (2), made by 1, child of 1, flags 0x0, CPUs 2, mm 1, length 0, application 1",
        "sshd: 3 of 3 (3), made by 1, child of 1, flags 0x0, CPUs 2, mm 1, length 0, application 0",
        // PF_KTHREAD, and PF_NO_SETAFFINITY.
        "kworker: 4 of 4 (4), made by 1, child of 1, flags 0x200000, CPUs 2, mm 0, length 0, application 0",
        "ksoftirqd: 5 of 5 (5), made by 1, child of 1, flags 0x4200000, CPUs 1, mm 0, length 0, application 0",
    ];
    assert_eq!(births(&tasks), expected);
}

#[test]
fn relative_lengths_are_known_before_a_thread_is_while_there_is_room() {
    let task = |name: &str, length: u32| {
        format!(r#""{name}" : {{ "loop" : 1, "run" : 1000, "tandem" : {{ "relative_length" : {length} }} }}"#)
    };
    let tasks = [task("a", 7), task("b", 6), task("c", 5), task("d", 4), task("e", 3)];
    let tasks: Vec<&str> = tasks.iter().map(String::as_str).collect();
    let report = run(2, "", &tasks);
    let lengths: Vec<&str> = (survived(&report).output.iter())
        .filter_map(|line| line.split_once("length ")?.1.split_once(','))
        .map(|(length, _)| length)
        .collect();
    // The map has room for four.
    assert_eq!(lengths, ["7", "6", "5", "4", "0"]);
    assert!(
        report.warnings.iter().any(|warning| warning.contains("relative lengths is full")),
        "{:?}",
        report.warnings
    );
}

#[test]
fn maps_of_other_types_are_refused() {
    let scheduler = open_with("relations", "", "[hints]\nrelative_length = \"applications\"\n");
    let result = tandem_simulator::simulation::simulate(
        &machine(1),
        &tasks_of(&[r#""a" : { "loop" : 1, "run" : 1000 }"#]),
        &options(&scheduler, ms(500)),
        &mut super::support::Turns::default(),
    );
    let message = result.expect_err("values have 4 bytes").to_string();
    assert!(message.contains("no map `applications` of type HASH with keys of 4 bytes and values of 8"), "{message}");
}

/// Which task woke which, from the callbacks `select_cpu`, `runnable` and `enqueue`, which must agree.
#[track_caller]
fn wakeups(cpus: usize, tasks: &[&str]) -> Vec<String> {
    let report = run(cpus, "print_wakeups=true", tasks);
    let said = |what: &str| -> Vec<String> {
        let lines = survived(&report).output.iter();
        lines.filter_map(|line| line.strip_prefix(what)?.strip_prefix(' ')).map(str::to_owned).collect()
    };
    let woken = said("runnable");
    // With one CPU `select_cpu` is not called.
    let selected = if cpus == 1 { woken.clone() } else { said("select_cpu") };
    assert_eq!((&said("enqueue"), &selected), (&woken, &woken));
    woken
}

#[test]
fn who_releases_a_lock_or_arrives_last_or_ends_is_current_in_the_wakeup() {
    let lock = [
        r#""owner" : { "loop" : 1, "lock" : "m", "run" : 2000, "unlock" : "m", "run1" : 1000 }"#,
        r#""waiter" : { "loop" : 1, "delay" : 1000, "run" : 500, "lock" : "m", "run1" : 500, "unlock" : "m" }"#,
    ];
    assert_eq!(wakeups(2, &lock), ["waiter by owner 2 of 2 on 0"]);
    let barrier = [
        r#""early" : { "loop" : 1, "run" : 1000, "barrier" : "b", "run1" : 1000 }"#,
        r#""late" : { "loop" : 1, "run" : 3000, "barrier" : "b", "run1" : 1000 }"#,
    ];
    assert_eq!(wakeups(2, &barrier), ["early by late 3 of 2 on 1"]);
    let join = [
        r#""parent" : { "loop" : 1, "fork" : "child", "run" : 1000, "tandem" : { "join" : true } }"#,
        r#""child" : { "loop" : 1, "run" : 3000, "instance" : 0, "tandem" : { "process" : true } }"#,
    ];
    assert_eq!(wakeups(2, &join), ["parent by child-0 3 of 3 on 1"]);
}

#[test]
fn a_timer_wakes_from_the_idle_task_or_from_whom_it_interrupts() {
    let alone = [r#""sleeper" : { "loop" : 1, "run" : 1000, "sleep" : 1000, "run1" : 1000 }"#];
    assert_eq!(wakeups(1, &alone), ["sleeper by swapper/0 0 of 0 on 0"]);
    let beside = [
        r#""sleeper" : { "loop" : 1, "run" : 1000, "sleep" : 1000, "run1" : 1000 }"#,
        r#""hog" : { "loop" : 1, "run" : 5000 }"#,
    ];
    assert_eq!(wakeups(1, &beside), ["sleeper by hog 3 of 2 on 0"]);
}
