// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting and being woken: spinning, blocking, and both at once.

use super::support::{assert_time, machine, machine_from, run, run_until, task, text};

/// A spinner burns its CPU, a sleeper does not. The spin of a phase counts from the phase's first step on.
#[test]
fn spinning_begins_with_the_first_wait() {
    let text = |spin: u32| {
        format!(
            r#"{{ "tasks": {{
                "first": {{ "loop": 1, "cpus": [0], "tandem": {{ "spin": {spin} }}, "barrier": "b", "run": 1000 }},
                "last": {{ "loop": 1, "cpus": [1], "run": 9000, "barrier": "b" }} }} }}"#
        )
    };
    let spun = run(&machine(2), &text(5000));
    assert_time(task(&spun, "first").cpu_time_s, 0.006);
    assert_time(spun.time_s, 0.010);
    assert_time(task(&run(&machine(2), &text(0)), "first").cpu_time_s, 0.001);
}

/// A thread still spins after steps other than work.
#[test]
fn spinning_outlives_memory_traffic_and_yields() {
    let report = run(
        &machine(2),
        r#"{ "tasks": {
            "first": { "loop": 1, "cpus": [0], "tandem": { "spin": 5000 }, "run": 1000, "mem": 0, "yield": "", "barrier": "b" },
            "last": { "loop": 1, "cpus": [1], "run": 9000, "barrier": "b" } } }"#,
    );
    assert!((task(&report, "first").cpu_time_s - 0.006).abs() < 1e-5, "{}", task(&report, "first").cpu_time_s);
}

/// glibc's semaphores and condition variables block at once.
#[test]
fn semaphores_do_not_spin() {
    let report = run(
        &machine(2),
        r#"{ "tasks": {
            "taker": { "loop": 1, "cpus": [0], "tandem": { "spin": 5000 }, "run": 1000, "sem_wait": "s" },
            "giver": { "loop": 1, "cpus": [1], "run": 9000, "sem_post": "s" } } }"#,
    );
    assert_time(task(&report, "taker").cpu_time_s, 0.001);
}

/// A spinner that lost its CPU finds the lock free when it comes back, and takes it alone.
#[test]
fn a_preempted_spinner_takes_the_lock_when_it_returns() {
    let report = run(
        &machine(2),
        r#"{ "tasks": {
            "holder": { "loop": 1, "cpus": [1], "lock": "m", "run": 5000, "unlock": "m" },
            "spinner": { "loop": 1, "cpus": [0], "delay": 1000, "tandem": { "spin": 1000000 }, "run0": 1, "lock": "m", "run1": 1000, "unlock": "m" },
            "urgent": { "loop": 1, "cpus": [0], "delay": 2000, "policy": "SCHED_FIFO", "run": 10000 } } }"#,
    );
    // From 2 to 12 ms the urgent thread runs; the lock was freed at 5 ms.
    assert_time(report.time_s, 0.013);
}

/// A spinner that lost its CPU goes on when it comes back if its barrier has opened meanwhile.
#[test]
fn a_barrier_may_open_while_a_spinner_is_preempted() {
    let report = run(
        &machine(2),
        r#"{ "tasks": {
            "spinner": { "loop": 1, "cpus": [0], "tandem": { "spin": 1000000 }, "run0": 1, "barrier": "b", "run1": 1000 },
            "last": { "loop": 1, "cpus": [1], "run": 5000, "barrier": "b" },
            "urgent": { "loop": 1, "cpus": [0], "delay": 2000, "policy": "SCHED_FIFO", "run": 10000 } } }"#,
    );
    assert_time(report.time_s, 0.013);
}

/// glibc's default mutex does not check which thread unlocks it, so a lock can be handed from thread to thread.
#[test]
fn another_thread_may_unlock_and_the_report_says_so() {
    let report = run(
        &machine(2),
        r#"{ "tasks": {
            "locker": { "loop": 1, "lock0": "m", "lock1": "m", "run": 1000 },
            "opener": { "loop": 1, "run": 4000, "unlock": "m" } } }"#,
    );
    assert_time(report.time_s, 0.005);
    assert!(report.warnings.iter().any(|warning| warning.contains("opener") && warning.contains("`m`")));
}

/// A signalled thread must take the mutex again; the signaller holds it for 3 ms more.
#[test]
fn a_signalled_thread_waits_for_the_mutex() {
    let report = run(
        &machine(2),
        r#"{ "tasks": {
            "waiter": { "loop": 1, "lock": "m", "wait": { "ref": "c", "mutex": "m" }, "run": 1000, "unlock": "m" },
            "signaller": { "loop": 1, "sleep": 1000, "lock": "m", "signal": "c", "run": 3000, "unlock": "m" } } }"#,
    );
    assert_time(report.time_s, 0.005);
}

/// Three threads share a loop again and again under every schedule; one thread comes late each time.
#[test]
fn parallel_loops_repeat_with_late_participants() {
    for schedule in [r#""static""#, r#""dynamic", "chunk": 2"#, r#""guided", "chunk": 1"#] {
        let worker = |more: &str, before: &str| {
            format!(
                r#"{{ {more} "loop": 1, "phases": {{ "p": {{ "loop": 5, {before} "tandem": {{ "parallel_for":
                {{ "name": "l", "iterations": 31, "work": 1000, "schedule": {schedule} }} }} }} }} }}"#
            )
        };
        let text = format!(
            r#"{{ "tasks": {{ "early": {}, "late": {} }} }}"#,
            worker(r#""instance": 2,"#, ""),
            worker("", r#""sleep": 100000,"#)
        );
        let report = run(&machine(3), &text);
        let work: f64 = report.tasks.iter().map(|task| task.work_s).sum();
        assert_time(work, 0.155);
        let rounds = (report.time_s / 0.1) as u32;
        assert_eq!(rounds, 5, "{schedule}: {}", report.time_s);
    }
}

/// A thread that moves to another CPU in mid-program goes on there at once.
#[test]
fn affinity_may_change_in_mid_program() {
    let report = run(
        &machine(2),
        r#"{ "tasks": { "a": { "loop": 3, "phases": {
            "x": { "loop": 1, "cpus": [0], "run": 1000 }, "y": { "loop": 1, "cpus": [1], "run": 2000 } } } } }"#,
    );
    assert_time(report.time_s, 0.009);
    assert_time(report.cpus[0].busy_s, 0.003);
    assert_time(report.cpus[1].busy_s, 0.006);
    assert_eq!(task(&report, "a").migrations, 5);
}

/// A copy is bound by memory: it waits, and so draws what a stalled core draws, half of its dynamic power.
#[test]
fn moving_bytes_draws_the_power_of_a_stall() {
    let report = run(&machine_from(&text(1)), r#"{ "tasks": { "a": { "loop": 1, "mem": 100000000 } } }"#);
    assert_time(report.time_s, 0.01);
    assert!((report.energy_j.cores - 0.005).abs() < 1e-6, "{}", report.energy_j.cores);
}

/// A relative timer shared by two threads that both miss it starts anew each time.
#[test]
fn a_shared_timer_is_one_timer() {
    let report = run_until(
        &machine(2),
        r#"{ "tasks": { "a": { "instance": 2, "loop": 4, "run": 100, "timer": { "ref": "t", "period": 1000 } } } }"#,
        1_000_000_000,
    );
    // Eight uses of the timer, each a millisecond after the previous one.
    assert_time(report.time_s, 0.008);
}
