// SPDX-License-Identifier: MIT OR Apache-2.0
//! Response times, deadlines, frames and rounds, worked out by hand: at 1 GHz a microsecond of work takes a microsecond, and
//! FIFO priorities say who runs.

use tandem_simulator::metrics::{Frames, Latency, Report, Timing};
use tandem_simulator::units::MSEC;

use super::support::{assert_time, machine, run, run_until, task};

/// Runs these tasks on one CPU.
fn on_one_cpu(tasks: &str) -> Report {
    run(&machine(1), &format!(r#"{{ "tasks": {{ {tasks} }} }}"#))
}

fn timing(report: &Report, name: &str) -> Timing {
    task(report, name).timing
}

/// Median and maximum of the response in microseconds, and how many rounds there were.
fn response_us(timing: &Timing) -> (u64, u64, u64) {
    let Latency { p50, max, .. } = timing.response_ns.expect("rounds");
    (p50 / 1000, max / 1000, timing.rounds)
}

/// Rounds, misses, worst miss, least and mean slack, the times in microseconds.
fn deadlines_us(timing: &Timing) -> (u64, u64, u64, i64, i64) {
    let it = timing.deadlines.expect("deadlines");
    (
        it.rounds,
        it.missed,
        it.worst_miss_ns / 1000,
        it.least_slack_ns / 1000,
        (it.mean_slack_ns / 1000.0).round() as i64,
    )
}

/// "high" runs 0–2, 10–12, 20–22, 30–32 ms. "low" needs 10 ms from 0 on: 2–10 and 12–14; and again from 20 on.
#[test]
fn two_periodic_threads_respond_as_response_time_analysis_says() {
    let report = on_one_cpu(
        r#""high": { "policy": "SCHED_FIFO", "priority": 20, "loop": 4, "run": 2000,
                     "timer": { "ref": "unique", "period": 10000 } },
           "low": { "policy": "SCHED_FIFO", "priority": 10, "loop": 2, "run": 10000,
                    "timer": { "ref": "unique", "period": 20000 } }"#,
    );
    assert_eq!(response_us(&timing(&report, "high")), (2_000, 2_000, 4));
    assert_eq!(deadlines_us(&timing(&report, "high")), (4, 0, 0, 8_000, 8_000));
    assert_eq!(response_us(&timing(&report, "low")), (14_000, 14_000, 2));
    assert_eq!(deadlines_us(&timing(&report, "low")), (2, 0, 0, 6_000, 6_000));
    // Both are one application, which takes 40 ms.
    let whole = report.timing;
    assert_eq!(whole.rounds, 6);
    assert_time(whole.rounds_per_s, 150.0);
    assert_eq!(whole, report.apps[0].timing);
    assert_eq!(whole.response_ns.unwrap().max, 14 * MSEC);
    // Four responses of 2 ms and two of 14: the median is the third.
    assert!((2_000_000..=2_031_250).contains(&whole.response_ns.unwrap().p50));
    assert_eq!(deadlines_us(&whole), (6, 0, 0, 6_000, 44_000 / 6));
    assert_eq!(whole.frames, None);
}

/// 25 ms of work every 20: it ends at 25, 50, 75, and should at 20, 40, 60. The second round was due to begin at 20, the
/// third at 40.
#[test]
fn who_is_late_counts_from_when_the_round_was_due() {
    let report = on_one_cpu(
        r#""late": { "loop": 3, "run": 25000, "timer": { "ref": "unique", "period": 20000, "mode": "absolute" } }"#,
    );
    let late = timing(&report, "late");
    assert_eq!(response_us(&late).1, 35_000);
    assert_eq!(deadlines_us(&late), (3, 3, 15_000, -15_000, -10_000));
    assert_eq!(late.deadlines.unwrap().missed_share, 1.0);
    assert_eq!(late.wakeup_latency_ns, None, "it never slept");
}

/// A relative timer starts anew at 25 and at 50: each round misses by 5 ms, which is the slack that rt-app prints.
#[test]
fn a_relative_timer_forgives_what_was_late() {
    let report = on_one_cpu(r#""late": { "loop": 3, "run": 25000, "timer": { "ref": "unique", "period": 20000 } }"#);
    let late = timing(&report, "late");
    // Due at 20 and at 45, done at 50 and at 75.
    assert_eq!(response_us(&late).1, 30_000);
    assert_eq!(deadlines_us(&late), (3, 3, 5_000, -5_000, -5_000));
}

/// "waker" works 0–1 ms, posts and sleeps, which takes no time; "woken" works 1–4. Again from 10 on.
#[test]
fn a_woken_thread_responds_from_its_wakeup_on() {
    let report = on_one_cpu(
        r#""woken": { "policy": "SCHED_FIFO", "priority": 20, "loop": 2, "sem_wait": "s", "run": 3000 },
           "waker": { "policy": "SCHED_FIFO", "priority": 10, "loop": 2, "run": 1000, "sem_post": "s",
                      "timer": { "ref": "unique", "period": 10000 } }"#,
    );
    assert_eq!(response_us(&timing(&report, "woken")), (3_000, 3_000, 2));
    assert_eq!(timing(&report, "woken").deadlines, None);
    assert_eq!(response_us(&timing(&report, "waker")), (1_000, 1_000, 2));
}

/// "middle" comes at 0.5 ms and "high" wakes at 1 ms: both want the lock, which "low" has up to 5. "middle" asked first and
/// has it 5–6, "high" 6–8.
#[test]
fn waiting_for_a_lock_is_part_of_the_response() {
    let report = on_one_cpu(
        r#""high": { "policy": "SCHED_FIFO", "priority": 20, "loop": 1, "sleep": 1000, "lock": "m", "run": 2000,
                     "unlock": "m", "sleep2": 1 },
           "middle": { "policy": "SCHED_FIFO", "priority": 15, "delay": 500, "loop": 1, "lock": "m", "run": 1000,
                       "unlock": "m" },
           "low": { "policy": "SCHED_FIFO", "priority": 10, "loop": 1, "lock": "m", "run": 5000, "unlock": "m" }"#,
    );
    assert_eq!(response_us(&timing(&report, "high")), (7_000, 7_000, 1));
    assert_eq!(timing(&report, "middle").response_ns, None, "it only ever waited for the lock");
    assert_eq!(timing(&report, "low").response_ns, None, "it never waited");
}

/// Posts come at 1, 2, 3 ms. The worker needs 2.5 ms for each: done at 3.5, 6.0, 8.5.
#[test]
fn work_that_piled_up_has_waited_since_it_was_posted() {
    let report = on_one_cpu(
        r#""poster": { "policy": "SCHED_FIFO", "priority": 20, "loop": 3,
                       "timer": { "ref": "unique", "period": 1000 }, "sem_post": "q" },
           "worker": { "policy": "SCHED_FIFO", "priority": 10, "loop": 3, "sem_wait": "q", "run": 2500 }"#,
    );
    let worker = timing(&report, "worker");
    assert_eq!(response_us(&worker).1, 5_500);
    assert_eq!(worker.rounds, 3);
    assert!((4_000_000..=4_062_500).contains(&worker.response_ns.unwrap().p50), "{worker:?}");
    assert_eq!(timing(&report, "poster").response_ns, None, "it does no work");
}

/// Places are free from 0 on, an item comes at 5 ms: the work on it begins then. The next item is there at 6, while the first
/// takes until 8.
#[test]
fn a_round_needs_all_that_it_waits_for() {
    let report = on_one_cpu(
        r#""maker": { "policy": "SCHED_FIFO", "priority": 20, "loop": 1, "phases": {
               "places": { "loop": 2, "sem_post": "free" }, "first": { "sleep": 5000, "sem_post": "full" },
               "second": { "sleep": 1000, "sem_post": "full" } } },
           "taker": { "policy": "SCHED_FIFO", "priority": 10, "loop": 2, "sem_wait0": "full", "sem_wait1": "free",
                      "run": 3000 }"#,
    );
    let taker = timing(&report, "taker");
    // 5 to 8, and 6 to 11.
    assert_eq!(taker.rounds, 2);
    assert_eq!(taker.response_ns.unwrap().max, 5 * MSEC);
    assert!((3 * MSEC..=3 * MSEC * 65 / 64).contains(&taker.response_ns.unwrap().p50), "{taker:?}");
}

/// The client works 1 ms from its arrival at 10 ms on, the server 2 ms, the client half a millisecond: 3.5 ms a request.
/// The last request ends with the thread, and has no timer to be ready for.
#[test]
fn a_wait_may_be_part_of_the_round() {
    let request = |more: &str| {
        on_one_cpu(&format!(
            r#""client": {{ "policy": "SCHED_FIFO", "priority": 20, "loop": 2, {more} "phases": {{
                   "arrive": {{ "timer": {{ "ref": "unique", "period": 10000, "mode": "absolute" }} }},
                   "ask": {{ "run": 1000, "sem_post": "question" }},
                   "answer": {{ "sem_wait": "answer", "tandem": {{ "same_round": true }} }},
                   "use": {{ "run": 500 }} }} }},
               "server": {{ "policy": "SCHED_FIFO", "priority": 10, "loop": 2, "sem_wait": "question", "run": 2000,
                            "sem_post": "answer" }}"#
        ))
    };
    let client = timing(&request(""), "client");
    assert_eq!(response_us(&client), (3_500, 3_500, 2));
    assert_eq!(deadlines_us(&client), (1, 0, 0, 6_500, 6_500));
    let hurried = timing(&request(r#""tandem": { "deadline": 3000, "frame": true },"#), "client");
    assert_eq!(deadlines_us(&hurried), (2, 2, 500, -500, -500));
    // The run ends with the second request, at 23.5 ms.
    let Some(Frames { count: 2, late: 2, per_s }) = hurried.frames else { panic!("{hurried:?}") };
    assert_time(per_s, 2.0 / 0.0235);
}

#[test]
fn a_deadline_threads_deadline_is_that_of_its_policy() {
    let report = on_one_cpu(
        r#""dl": { "policy": "SCHED_DEADLINE", "dl-runtime": 3000, "dl-deadline": 5000, "dl-period": 10000, "loop": 3,
                   "run": 2000, "timer": { "ref": "unique", "period": 10000 } }"#,
    );
    assert_eq!(deadlines_us(&timing(&report, "dl")), (3, 0, 0, 3_000, 3_000));
}

/// On two CPUs one thread needs 1 ms to the barrier and the other 3: the rounds of both end there, whoever comes last.
#[test]
fn a_barrier_ends_the_round_of_the_last_to_come_too() {
    for spin in [0, 10_000] {
        let thread =
            |work: u32| format!(r#"{{ "loop": 3, "run": {work}, "barrier": "b", "tandem": {{ "spin": {spin} }} }}"#);
        let report =
            run(&machine(2), &format!(r#"{{ "tasks": {{ "short": {}, "long": {} }} }}"#, thread(1000), thread(3000)));
        assert_eq!(response_us(&timing(&report, "short")), (1_000, 1_000, 3), "spin {spin}");
        assert_eq!(response_us(&timing(&report, "long")), (3_000, 3_000, 3), "spin {spin}");
    }
}

#[test]
fn a_thread_that_never_waits_has_no_round_and_system_tasks_are_told_apart() {
    let report = run_until(
        &machine(2),
        r#"{ "tasks": {
            "hog": { "run": 1000 },
            "noise": { "tandem": { "system": true }, "sleep": 1000, "run": 1000 } } }"#,
        20 * MSEC,
    );
    assert_eq!(timing(&report, "hog"), Timing::default());
    assert_eq!(report.timing, Timing::default());
    assert_eq!(timing(&report, "noise").response_ns.unwrap().max, MSEC);
}
