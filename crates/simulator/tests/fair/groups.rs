// SPDX-License-Identifier: MIT OR Apache-2.0
//! Task groups: each level of the tree shares a CPU by weight.

use std::path::Path;

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::{GroupReport, Report};
use tandem_simulator::simulation::{Audit, Options};
use tandem_simulator::units::SEC;

use crate::common;
use crate::equal::{description, machine as smp};
use crate::fair::support::{options, run_with, spinning};

/// A run of endless threads, `(name, group, how many, more fields)`, with these groups, at the highest clock.
fn run(machine: &Machine, threads: &[(&str, &str, u32, &str)], groups: &str, secs: u64) -> Report {
    let task = |(name, group, count, more): &(&str, &str, u32, &str)| {
        format!(
            r#""{name}" : {{ "instance" : {count}, "taskgroup" : "{group}", "loop" : -1, "run" : 1000000,
                "tandem" : {{ "application" : "{name}" }} {more} }}"#
        )
    };
    let tasks: Vec<String> = threads.iter().map(task).collect();
    let text = format!(r#"{{ "tasks" : {{ {} }}, "tandem" : {{ "cgroups" : {{ {groups} }} }} }}"#, tasks.join(", "));
    common::run_with(machine, &common::workload(&text), &options(1, secs * SEC))
}

/// Per cent of the time of one CPU that each thread got.
fn shares(report: &Report) -> Vec<f64> {
    report.tasks.iter().map(|task| 100.0 * task.cpu_time_s / report.time_s).collect()
}

#[track_caller]
fn assert_shares(report: &Report, expected: &[f64], points: f64) {
    let shares = shares(report);
    let near = |(share, expected): (&f64, &f64)| (share - expected).abs() <= points;
    assert!(shares.len() == expected.len() && shares.iter().zip(expected).all(near), "{shares:.2?}, not {expected:?}");
}

#[test]
fn a_group_of_three_shares_what_the_group_gets() {
    let threads = [("one", "/a", 1, ""), ("three", "/b", 3, "")];
    let report = run(&smp(1), &threads, r#""/a" : { "weight" : 300 }, "/b" : {}"#, 20);
    assert_shares(&report, &[75.0, 25.0 / 3.0, 25.0 / 3.0, 25.0 / 3.0], 0.2);
}

#[test]
fn a_thread_beside_groups_counts_as_one_of_them() {
    // The root: a thread of nice 0 and `/a`, which weighs as much. In `/a`: 300 to 100.
    let threads = [("root", "/", 1, ""), ("x", "/a/x", 1, ""), ("y", "/a/y", 2, "")];
    let report = run(&smp(1), &threads, r#""/a/x" : { "weight" : 300 }"#, 20);
    assert_shares(&report, &[50.0, 37.5, 6.25, 6.25], 0.2);
}

#[test]
fn nice_values_count_within_a_group() {
    // Nice 5 weighs 335 where nice 0 weighs 1024: 24.65 % of the half that the group gets.
    let threads = [("root", "/", 1, ""), ("a", "/a", 1, ""), ("b", "/a", 1, r#", "priority" : 5"#)];
    let report = run(&smp(1), &threads, "", 20);
    assert_shares(&report, &[50.0, 50.0 * 1024.0 / 1359.0, 50.0 * 335.0 / 1359.0], 0.2);
}

#[test]
fn a_groups_weight_is_divided_among_its_cpus() {
    // On two CPUs `/a`, with one thread, cannot use more than one. `/b` has three: alone on the other CPU, or two there and one
    // beside it. Balancing moves them about, and by the load of groups it leaves `/a` alone.
    let threads = [("one", "/a", 1, ""), ("three", "/b", 3, "")];
    let report = run(&smp(2), &threads, "", 20);
    let shares = shares(&report);
    assert!(shares[0] > 85.0, "{shares:.1?}");
    assert!(shares[1..].iter().all(|share| (25.0..45.0).contains(share)), "{shares:.1?}");
    // Pinned, one of `/b` beside `/a` and one alone: half of `/b`'s load is on each CPU, so 1024 stands against 512.
    let threads =
        [("a", "/a", 1, r#", "cpus" : [0]"#), ("b", "/b", 1, r#", "cpus" : [0]"#), ("c", "/b", 1, r#", "cpus" : [1]"#)];
    let report = run(&smp(2), &threads, "", 20);
    assert_shares(&report, &[66.7, 33.3, 100.0], 0.7);
}

#[test]
fn an_idle_group_gets_what_idle_threads_do() {
    let threads = [("busy", "/", 1, ""), ("spare", "/spare", 4, "")];
    let report = run(&smp(1), &threads, r#""/spare" : { "idle" : true, "weight" : 10000 }"#, 20);
    // 3 of 1027.
    assert_shares(&report, &[99.7, 0.07, 0.07, 0.07, 0.07], 0.1);
}

#[test]
fn weights_change_and_threads_move() {
    // The first ten seconds 100 to 100, the others 300 to 100: (50 + 75) / 2.
    let threads = [("a", "/a", 1, ""), ("b", "/b", 1, "")];
    let groups = r#""/a" : { "changes" : [ { "at" : 10000000, "weight" : 300 } ] }"#;
    assert_shares(&run(&smp(1), &threads, groups, 20), &[62.5, 37.5], 0.2);
    // `mover` begins in `/a` beside another thread (a quarter of the CPU), and after ten seconds of its own joins `/b`, where it
    // shares with one, too.
    let text = r#"{ "tasks" : {
        "mover" : { "tandem" : { "application" : "m" }, "phases" : {
            "first" : { "loop" : 1, "taskgroup" : "/a", "run" : 5000000 },
            "then" : { "loop" : -1, "taskgroup" : "/b", "run" : 1000000 } } },
        "a" : { "taskgroup" : "/a", "loop" : -1, "run" : 1000000 },
        "b" : { "instance" : 2, "taskgroup" : "/b", "loop" : -1, "run" : 1000000 } } }"#;
    let report = common::run_with(&smp(1), &common::workload(text), &options(1, 40 * SEC));
    // 5 s of CPU time at a quarter take 20 s; then a third of a half for 20 s. Beside it: `a` 5 + 10 s; `b` twice 5 + 3.33 s.
    let took: Vec<f64> = report.tasks.iter().map(|task| task.cpu_time_s).collect();
    for (took, expected) in took.iter().zip([8.333, 15.0, 8.333, 8.333]) {
        assert!((took - expected).abs() < 0.1, "{took:.3?}");
    }
}

#[test]
fn a_sleeper_in_a_group_wakes_as_soon_as_without() {
    // The group is not in the queue while its only thread sleeps, and competes for the CPU as that thread would.
    let sleeper = |group: &str| {
        let threads = [("hog", "/", 1, "")];
        let tasks: Vec<String> =
            threads.iter().map(|(name, ..)| format!(r#""{name}" : {{ "loop" : -1, "run" : 1000000 }}"#)).collect();
        let text = format!(
            r#"{{ "tasks" : {{ {}, "s" : {{ "taskgroup" : "{group}", "loop" : -1, "run" : 100, "sleep" : 5000 }} }} }}"#,
            tasks.join(", ")
        );
        let report = common::run_with(&smp(1), &common::workload(&text), &options(1, 10 * SEC));
        report.tasks.iter().find(|task| task.name == "s").unwrap().timing.wakeup_latency_ns.unwrap().p99
    };
    assert_eq!(sleeper("/"), sleeper("/g"));
}

#[test]
fn a_limited_group_gets_its_quota_and_waits_for_the_rest() {
    // 20 of 100 ms on an idle machine, for one thread: it waits for 80 ms of each period.
    let report = run(&smp(1), &[("a", "/a", 1, "")], r#""/a" : { "max" : 20000 }"#, 20);
    assert_shares(&report, &[20.0], 0.3);
    let group = &report.groups[0];
    assert_eq!((group.path.as_str(), group.bursts), ("/a", Some(0)));
    assert!((199..=201).contains(&group.periods) && group.periods - group.throttled_periods.unwrap() <= 1, "{group:?}");
    assert!((group.throttled_s.unwrap() - 16.0).abs() < 0.2, "{group:?}");
}

#[test]
fn what_a_limited_group_leaves_others_get() {
    let threads = [("a", "/a", 2, ""), ("b", "/b", 1, "")];
    let report = run(&smp(1), &threads, r#""/a" : { "max" : 3000, "period" : 10000, "weight" : 1000 }"#, 20);
    assert_shares(&report, &[15.0, 15.0, 70.0], 0.5);
}

#[test]
fn one_quota_is_for_all_cpus() {
    // Four threads on four CPUs share 100 ms of 100 ms: each CPU stands still for three quarters of the time.
    let report = run(&smp(4), &[("a", "/a", 4, "")], r#""/a" : { "max" : 100000 }"#, 20);
    let shares = shares(&report);
    assert!((shares.iter().sum::<f64>() - 100.0).abs() < 1.0, "{shares:.1?}");
    assert!((report.groups[0].throttled_s.unwrap() - 60.0).abs() < 1.0, "{:?}", report.groups);
}

#[test]
fn the_narrower_of_two_limits_holds() {
    let threads = [("a", "/top/a", 1, ""), ("b", "/top/b", 1, "")];
    let groups = r#""/top" : { "max" : 30000 }, "/top/a" : { "max" : 5000 }"#;
    let report = run(&smp(1), &threads, groups, 20);
    assert_shares(&report, &[5.0, 25.0], 0.4);
}

#[test]
fn a_burst_is_paid_from_periods_before() {
    // 50 ms of work every 200 ms, and 30 per 100 ms: without burst the work waits for the second period.
    let text = |burst: &str| {
        format!(
            r#"{{ "tasks" : {{ "t" : {{ "taskgroup" : "/g", "loop" : -1, "run" : 50000,
                "timer" : {{ "ref" : "x", "period" : 200000 }} }} }},
                "tandem" : {{ "cgroups" : {{ "/g" : {{ "max" : 30000 {burst} }} }} }} }}"#
        )
    };
    let of = |burst| common::run_with(&smp(1), &common::workload(&text(burst)), &options(1, 20 * SEC));
    let (without, with) = (of(""), of(r#", "burst" : 30000"#));
    let response = |report: &Report| report.tasks[0].timing.response_ns.unwrap().p50 / 1_000_000;
    assert!(without.groups[0].throttled_s > Some(1.0) && response(&without) > 60, "{:?}", without.groups);
    assert_eq!(response(&with), 50);
    // 50 ms, less what falls into the period after, less 30.
    let GroupReport { bursts: Some(bursts), burst_s: Some(burst_s), .. } = with.groups[0] else {
        panic!("{:?}", with.groups)
    };
    assert!(bursts > 90 && burst_s > 0.0 && burst_s <= 0.0201 * bursts as f64, "{:?}", with.groups);
}

#[test]
fn threads_of_a_throttled_group_move_sleep_and_wake() {
    // What happens to threads while their group stands still must leave queues whole: the audit of each run looks.
    let text = r#"{ "tasks" : {
        "s" : { "instance" : 6, "taskgroup" : "/g/a", "loop" : -1, "run" : 700, "sleep" : 1300 },
        "m" : { "instance" : 3, "loop" : -1, "phases" : {
            "one" : { "loop" : 3, "taskgroup" : "/g/b", "run" : 2000, "cpus" : [0] },
            "two" : { "loop" : 2, "taskgroup" : "/", "run" : 500, "sleep" : 300, "cpus" : [1] } } },
        "l" : { "instance" : 2, "taskgroup" : "/g", "loop" : -1, "lock" : "x", "run" : 300, "unlock" : "x", "yield" : "" } },
        "tandem" : { "cgroups" : { "/g" : { "max" : 4000, "period" : 10000 }, "/g/b" : { "max" : 1000, "period" : 5000 } } } }"#;
    let report = common::run_with(&smp(3), &common::workload(text), &options(1, 3 * SEC));
    assert!(report.groups.iter().all(|group| group.throttled_periods > Some(50)), "{:?}", report.groups);
    let inside: f64 = report.tasks.iter().filter(|task| !task.name.starts_with('m')).map(|task| task.cpu_time_s).sum();
    assert!(inside / report.time_s < 0.41, "{inside}");
}

#[test]
fn a_group_may_weigh_what_a_nice_thread_does() {
    // Nice 5 is 335, exactly: `cpu.weight` 33, which reads the same, would be 338.
    let threads = [("root", "/", 1, ""), ("a", "/a", 1, "")];
    let report = run(&smp(1), &threads, r#""/a" : { "weight_nice" : 5 }"#, 40);
    assert_shares(&report, &[100.0 * 1024.0 / 1359.0, 100.0 * 335.0 / 1359.0], 0.1);
}

#[test]
fn a_group_becomes_idle_and_comes_back_with_the_weight_of_all() {
    // Ten seconds of 300 to 100, ten of 3 to 1024, ten as equals: a group that was idle forgets what it weighed. A weight that is
    // written meanwhile is refused.
    let threads = [("root", "/", 1, ""), ("a", "/a", 1, "")];
    let groups = r#""/a" : { "weight" : 300, "changes" : [
        { "at" : 10000000, "idle" : true }, { "at" : 15000000, "weight" : 500 }, { "at" : 20000000, "idle" : false } ] }"#;
    let report = run(&smp(1), &threads, groups, 30);
    assert_shares(&report, &[(25.0 + 99.7 + 50.0) / 3.0, (75.0 + 0.3 + 50.0) / 3.0], 0.2);
    assert_eq!(report.warnings, ["cgroup /a stays as it is: an idle group takes no weight"]);
}

#[test]
fn tasks_count_as_idle_in_all_queues_above_an_idle_group() {
    // The inner group becomes idle first, then the outer one, and back in another order: the audit of each queue's counts looks on.
    let threads = [("root", "/", 1, ""), ("x", "/a/x", 2, ""), ("y", "/a/y", 1, "")];
    let groups = r#""/a/x" : { "changes" : [ { "at" : 1000000, "idle" : true }, { "at" : 3000000, "idle" : false } ] },
        "/a" : { "changes" : [ { "at" : 2000000, "idle" : true }, { "at" : 4000000, "idle" : false } ] }"#;
    let report = run(&smp(1), &threads, groups, 6);
    // Of the six seconds: halves in the first (a quarter for x and y each), x gives way in the second, the root has the next two,
    // and two more as the first.
    let x = (25.0 + 0.15 + 0.0 + 0.0 + 25.0 + 25.0) / 6.0 / 2.0;
    let y = (25.0 + 49.85 + 0.3 + 0.15 + 25.0 + 25.0) / 6.0;
    assert_shares(&report, &[100.0 - 2.0 * x - y, x, x, y], 0.5);
}

#[test]
fn a_limit_comes_changes_and_goes() {
    // Five seconds without, five at 20 ms of 100, five at 50 of 100, five without again.
    let groups = r#""/a" : { "changes" : [ { "at" : 5000000, "max" : 20000 }, { "at" : 10000000, "max" : 50000 },
        { "at" : 15000000, "max" : "max" } ] }"#;
    let report = run(&smp(1), &[("a", "/a", 1, "")], groups, 20);
    assert_shares(&report, &[(100.0 + 20.0 + 50.0 + 100.0) / 4.0], 0.7);
    assert!((report.groups[0].throttled_s.unwrap() - (4.0 + 2.5)).abs() < 0.15, "{:?}", report.groups);
}

#[test]
fn who_waits_for_a_limit_goes_on_when_it_is_lifted() {
    // A millisecond of every second, until the limit is taken back after 1.5 s: from then on the CPU is its own.
    let groups = r#""/a" : { "max" : 1000, "period" : 1000000, "changes" : [ { "at" : 1500000, "max" : "max" } ] }"#;
    let report = run(&smp(1), &[("a", "/a", 1, "")], groups, 3);
    let took = report.tasks[0].cpu_time_s;
    assert!((1.5..1.52).contains(&took), "{took}");
}

#[test]
fn threads_stay_on_the_cpus_of_their_group() {
    // Two threads in a group with CPU 3, one of which asks for more, and one beside them that asks for CPU 3.
    let threads = [("a", "/a", 1, ""), ("b", "/a/b", 1, r#", "cpus" : [1, 2, 3]"#), ("c", "/", 1, r#", "cpus" : [3]"#)];
    let report = run(&smp(4), &threads, r#""/a" : { "cpus" : [3] }"#, 20);
    assert_shares(&report, &[25.0, 25.0, 50.0], 1.0);
    // What a machine lacks is left out, and said.
    let report = run(&smp(4), &threads[..2], r#""/a" : { "cpus" : [3, 9] }"#, 20);
    assert_shares(&report, &[50.0, 50.0], 0.5);
    assert_eq!(report.warnings, ["CPUs [3, 9] of cgroup /a: equal does not have all of them; they are left out"]);
    // A group in it with none of these CPUs has what that has; a thread that asks for none of them gets all of them.
    let threads = [("a", "/a/b", 1, ""), ("c", "/a", 1, r#", "cpus" : [0]"#)];
    let report = run(&smp(4), &threads, r#""/a" : { "cpus" : [3] }, "/a/b" : { "cpus" : [1] }"#, 20);
    assert_shares(&report, &[50.0, 50.0], 0.5);
    assert_eq!(report.warnings, ["c asks for CPUs [0]: its group has none of them; it gets all that the group has"]);
}

#[test]
fn threads_follow_when_their_group_gets_other_cpus() {
    // Three threads on one CPU for six seconds, then on three: each has a third of six seconds and all of three.
    let groups = r#""/a" : { "cpus" : [1], "changes" : [ { "at" : 6000000, "cpus" : [0, 2, 3] } ] }"#;
    let report = run(&smp(4), &[("a", "/a", 3, "")], groups, 9);
    assert_shares(&report, &[100.0 * 5.0 / 9.0; 3], 0.5);
    // What a thread asked for counts again as soon as its group has it.
    let groups = r#""/a" : { "cpus" : [1], "changes" : [ { "at" : 6000000, "cpus" : [1, 2] } ] }"#;
    let report = run(&smp(4), &[("a", "/a", 1, r#", "cpus" : [2]"#), ("b", "/", 1, r#", "cpus" : [2]"#)], groups, 12);
    assert_shares(&report, &[75.0, 75.0], 0.5);
}

#[test]
fn sessions_share_where_they_have_groups() {
    // Two applications of one and of three threads: a quarter each, or halves by application.
    let of = |autogroup: bool| {
        let tasks = [spinning("one", 1, ""), spinning("three", 3, "")];
        let mut options = options(1, 20 * SEC);
        options.kernel.autogroup = autogroup;
        run_with(&smp(1), &tasks, &options)
    };
    assert_shares(&of(false), &[25.0; 4], 0.2);
    assert_shares(&of(true), &[50.0, 50.0 / 3.0, 50.0 / 3.0, 50.0 / 3.0], 0.2);
}

#[test]
fn threads_of_all_classes_leave_as_soon_as_their_group_loses_their_cpu() {
    let text = r#"{ "tasks" : {
        "fair" : { "loop" : 4, "run" : 182 },
        "sleeper" : { "loop" : 4, "sleep" : 2000, "run" : 10 },
        "fifo" : { "instance" : 2, "policy" : "SCHED_FIFO", "priority" : 1, "loop" : 4, "sleep" : 2000, "run" : 111 } },
        "tandem" : { "cgroups" : { "/a" : { "changes" : [ { "at" : 1, "cpus" : [1] } ] } } } }"#;
    let mut workload = common::workload(text);
    for task in &mut workload.tasks {
        // A file could not put a real-time thread there.
        task.task_group = Some("/a".into());
    }
    workload.cgroups[0].writes[0].0 = 1;
    let options = Options { audit: Some(Audit { most_steps: 1_000_000 }), ..options(1, SEC) };
    let report = common::run_with(&smp(3), &workload, &options);
    assert_eq!(report.warnings, Vec::<String>::new());
    // Where none of the group's CPUs is online, those of the group above count.
    let offline = description(3) + "\n[configuration.part]\ntitle = \"part\"\nonline = \"0-0\"\nsource = \"test\"\n";
    let machine = Machine::parse("equal", Path::new("equal.toml"), &offline, Some("part"));
    common::run_with(&machine.unwrap_or_else(|error| panic!("{error}")), &workload, &options);
}
