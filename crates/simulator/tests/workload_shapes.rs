// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generated workloads that ask how late threads are: responses and rounds as one computes them by hand.

use tandem_simulator::metrics::{Report, Timing};
use tandem_simulator::units::SEC;
use tandem_simulator::workload::Policy;

use crate::workload_generators::{application, run, runs, task, workload};

/// Milliseconds of a time in nanoseconds.
fn ms(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

fn thread<'r>(report: &'r Report, name: &str) -> &'r Timing {
    &report.tasks.iter().find(|task| task.name == name).unwrap_or_else(|| panic!("no {name}")).timing
}

/// 256 KiB are three matrices of 104 times 104 numbers of 8 bytes; 5 · 104³ ns are 5.624 ms, after a sleep of 0.1 ms. A worker
/// waits at most for the others' messages, 1 us each.
#[test]
fn a_request_of_schbench_is_its_sleep_and_its_work() {
    let defaults = workload("schbench", "");
    assert_eq!((runs(task(&defaults, "worker-0")), task(&defaults, "worker-0").instances), (vec![5625], 8));
    assert_eq!(defaults.duration, Some(30 * SEC));
    let report = run(&workload("schbench", "threads=4"));
    for worker in ["worker-0-0", "worker-0-3"] {
        let response = thread(&report, worker).response_ns.unwrap();
        assert!((5.725..5.75).contains(&ms(response.p50)) && ms(response.max) < 5.8, "{response:?}");
        let requests = thread(&report, worker).rounds;
        assert!((1735..=1746).contains(&requests), "10 s are 1746 requests of 5.725 ms, not {requests}");
    }
    let bursts = workload("schbench", "rps=40 operations=1 threads=8 message-threads=2");
    assert_eq!(bursts.tasks.len(), 4);
    let report = run(&bursts);
    let requests: u64 = (0..8).map(|worker| thread(&report, &format!("worker-1-{worker}")).rounds).sum();
    assert!((360..=400).contains(&requests), "40 in each of ten seconds but the first, not {requests}");
}

#[test]
fn cyclictest_has_intervals_and_priorities_of_its_own_for_each_thread() {
    let workload = workload("cyclictest", "threads=3 prio=2 load=8");
    let policy = |name: &str| task(&workload, name).scheduling.policy;
    assert_eq!(policy("cyclic-0"), Policy::Fifo { priority: 2 });
    assert_eq!(policy("cyclic-1"), Policy::Fifo { priority: 1 });
    assert!(matches!(policy("cyclic-2"), Policy::Other { .. }));
    let report = run(&workload);
    // Expiries at 1, 1.5 and 2 ms; the tenth second's last round may be cut off.
    for (name, rounds) in [("cyclic-0", 10_000), ("cyclic-1", 6_666), ("cyclic-2", 5_000)] {
        let timing = thread(&report, name);
        assert!(timing.rounds.abs_diff(rounds) <= 1, "{name}: {}", timing.rounds);
        assert!(name == "cyclic-2" || timing.deadlines.unwrap().missed == 0, "{name}: {timing:?}");
    }
    // Real-time threads wake at once on this machine without costs; a sample takes 2 us.
    assert_eq!(thread(&report, "cyclic-0").wakeup_latency_ns.unwrap().max, 0);
    assert_eq!(thread(&report, "cyclic-0").response_ns.unwrap().max, 2_000);
}

/// Arrivals that do not wait for answers: an overloaded service answers later and later.
#[test]
fn an_rpc_is_as_late_as_its_queue_is_long() {
    let calm = run(&workload("rpc", "frontends=1 fan-out=1 arrival=10ms"));
    let frontend = thread(&calm, "frontend-0");
    // 100 us, 500 in the mean and 100.
    assert!((0.5..0.8).contains(&ms(frontend.response_ns.unwrap().p50)), "{frontend:?}");
    assert!(frontend.rounds.abs_diff(1000) < 150, "{}", frontend.rounds);
    assert!(frontend.deadlines.unwrap().missed_share < 0.01, "{frontend:?}");
    let flooded = run(&workload("rpc", "frontends=1 fan-out=1 arrival=350us"));
    let late = thread(&flooded, "frontend-0");
    // Half of the requests are answered in ten seconds; the last arrived five seconds before its answer.
    assert!((4.0..6.0).contains(&(late.response_ns.unwrap().max as f64 / 1e9)), "{late:?}");
    assert!(late.deadlines.unwrap().missed_share > 0.9, "{late:?}");
}

#[test]
fn a_desktop_responds_at_once_where_nothing_else_runs() {
    let report = run(&workload("desktop", "background=0 programs=2 spread=0"));
    let app = application(&report, "interactive");
    // A burst of 8 ms that nothing delays.
    assert_eq!(app.timing.response_ns.unwrap().max, 8_000_000);
    assert_eq!(app.timing.deadlines.unwrap().least_slack_ns, 92_000_000);
    let busy = run(&workload("desktop", "background=32 programs=8"));
    let late = application(&busy, "interactive").timing.response_ns.unwrap();
    assert!(late.p99 > 20_000_000, "{late:?}");
    assert_eq!(application(&busy, "background").timing.response_ns, None);
}

/// Without spread a frame takes 0.3 + 3 + 5 + 1.5 ms from its refresh.
#[test]
fn a_frame_is_all_stages_from_its_refresh() {
    let report = run(&workload("frames", "spread=0"));
    let compose = thread(&report, "compose");
    assert_eq!(compose.response_ns.unwrap().max, 9_800_000);
    let frames = application(&report, "pipeline").timing.frames.unwrap();
    assert!(frames.count.abs_diff(600) <= 1 && frames.late == 0, "{frames:?}");
    // 8.333 ms are too short for 9.8, but the stages work at the same time: each frame is late, and none is lost.
    let fast = run(&workload("frames", "spread=0 rate=120"));
    let frames = application(&fast, "pipeline").timing.frames.unwrap();
    assert!(frames.count.abs_diff(1200) <= 2 && frames.late == frames.count, "{frames:?}");
    // A stage that takes longer than a refresh loses more and more.
    let lost = run(&workload("frames", "spread=0 rate=120 render=10ms"));
    assert!(application(&lost, "pipeline").timing.frames.unwrap().count < 1010, "100 frames a second and no more");
}
