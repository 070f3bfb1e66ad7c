// SPDX-License-Identifier: GPL-2.0-only
//! Control groups share by `cpu.weight`, and what is in them shares what they have.

use tandem_simulator::simulation::{Profile, SchedExt};
use tandem_simulator::units::{MSEC, Nanos};
use tandem_simulator::workload::{CgroupSpec, CgroupWrite, Op, Policy, Scheduling, TaskSpec, Workload};

use super::run::{for_ms, hog, options, pairs, run, share, then_forever, threads, time, with, within};
use crate::equal;
use crate::long::combinations::scheduler::audited_run;
use crate::long::combinations::support::workload::{TaskExt, sleep, thread, work};

/// Puts a thread into a group.
fn in_group(task: TaskSpec, path: &str) -> TaskSpec {
    TaskSpec { task_group: Some(path.into()), ..task }
}

/// A group with a weight from the start.
fn group(path: &str, weight: u32) -> CgroupSpec {
    let writes = vec![(0, CgroupWrite::Weight(weight))];
    CgroupSpec { path: path.into(), made: 0, removed: None, writes, util_min: None, util_max: None }
}

/// The same workload with these groups.
fn grouped(workload: Workload, groups: impl Into<Vec<CgroupSpec>>) -> Workload {
    Workload { cgroups: groups.into(), ..workload }
}

#[test]
fn groups_share_by_weight() {
    let tasks = [in_group(hog("heavy"), "/heavy"), in_group(hog("light"), "/light")];
    let workload = grouped(for_ms(4000, tasks), [group("/heavy", 300), group("/light", 100)]);
    within(share(&run(&equal::machine(1), &workload), "light"), 25.0, 0.5);
}

/// Two groups of equal weight, of few threads and of many, where caches have lines of their own.
#[test]
fn groups_share_several_caches_by_weight() {
    let tasks = [in_group(hog("few").times(4), "/few"), in_group(hog("many").times(12), "/many")];
    let report = run(&pairs(4), &grouped(for_ms(4000, tasks), [group("/few", 100), group("/many", 100)]));
    within(share(&report, "few"), 50.0, 1.5);
}

/// However many threads there are: three in the light group, then three in the heavy one.
#[test]
fn a_group_does_not_get_more_by_more_threads() {
    for (heavy, light) in [(1, 3), (3, 1)] {
        let tasks = [in_group(hog("heavy").times(heavy), "/heavy"), in_group(hog("light").times(light), "/light")];
        let workload = grouped(for_ms(4000, tasks), [group("/heavy", 300), group("/light", 100)]);
        let report = run(&equal::machine(1), &workload);
        within(share(&report, "light"), 25.0, 0.7);
        for thread in threads(&report, "light") {
            within(thread.cpu_time_s * 1e3, 1000.0 / f64::from(light), 25.0);
        }
    }
}

#[test]
fn threads_in_a_group_share_by_nice_values() {
    let tasks = [hog("root"), in_group(hog("plain"), "/a"), in_group(hog("nice").nice(5), "/a")];
    let report = run(&equal::machine(1), &for_ms(4000, tasks));
    within(share(&report, "root"), 50.0, 0.7);
    within(share(&report, "nice"), 50.0 * 335.0 / 1359.0, 0.7);
}

/// A half each for the root's thread and the group; of that three quarters and a quarter, the latter for two threads.
#[test]
fn groups_in_groups_share_what_these_have() {
    let tasks = [hog("root"), in_group(hog("x"), "/a/x"), in_group(hog("y").times(2), "/a/y")];
    let report = run(&equal::machine(1), &grouped(for_ms(4000, tasks), [group("/a/x", 300)]));
    for (name, percent) in [("root", 50.0), ("x", 37.5), ("y", 12.5)] {
        within(share(&report, name), percent, 0.7);
    }
    let [one, other] = [0, 1].map(|at| threads(&report, "y")[at].cpu_time_s * 1e3);
    within(one, other, 20.0);
}

/// 100 and 100 for two seconds, 300 and 100 for two.
#[test]
fn a_weight_that_changes_counts_from_then_on() {
    let tasks = [in_group(hog("a"), "/a"), in_group(hog("b"), "/b")];
    let mut changing = group("/a", 100);
    changing.writes.push((2000 * MSEC, CgroupWrite::Weight(300)));
    let report = run(&equal::machine(1), &grouped(for_ms(4000, tasks), [changing]));
    within(time(&report, "b"), 1000.0 + 500.0, 20.0);
}

/// `cpu.idle` weighs 3 where the kernel tells of it, and once it ends a hundred again; elsewhere `cpu.weight` counts.
#[test]
fn an_idle_group_weighs_three() {
    let tasks = [in_group(hog("plain"), "/plain"), in_group(hog("idle").times(3), "/idle")];
    let mut idle = CgroupSpec { writes: vec![(MSEC, CgroupWrite::Idle(true))], ..group("/idle", 100) };
    let ran = |profile, idle: &CgroupSpec| {
        let kernel = options(SchedExt { profile: Some(profile), ..with(&[]) });
        let workload = grouped(for_ms(8000, tasks.clone()), [idle.clone()]);
        time(&audited_run(&equal::machine(1), &workload, &kernel), "idle")
    };
    within(ran(Profile::V7, &idle), 8000.0 * 3.0 / 1027.0, 20.0);
    within(ran(Profile::V6_12, &idle), 4000.0, 30.0);
    // Said twice, and taken back after a second. What the threads owe at the old weight, up to four seconds, they pay first.
    idle.writes.push((500 * MSEC, CgroupWrite::Idle(true)));
    idle.writes.push((1000 * MSEC, CgroupWrite::Idle(false)));
    within(ran(Profile::V7, &idle), (8000.0 - 1000.0 - 2000.0) / 2.0, 1000.0);
}

/// What cannot run does not count: while the light group sleeps the other has everything.
#[test]
fn a_group_that_sleeps_leaves_everything() {
    let sleeper = thread("light", then_forever([sleep(2000)], [work(1000)]));
    let tasks = [in_group(hog("heavy"), "/heavy"), in_group(sleeper, "/light")];
    let workload = grouped(for_ms(4000, tasks), [group("/heavy", 300), group("/light", 100)]);
    within(time(&run(&equal::machine(1), &workload), "light"), 500.0, 30.0);
}

/// Twenty groups that come and go below a group, two at a time, then the measured ones: their numbers were others' before, and
/// nothing of the load of those that went is left in the group above.
#[test]
fn numbers_and_loads_of_groups_that_went_are_free() {
    let mut tasks = Vec::new();
    let mut groups = vec![group("/p/heavy", 300), group("/p/light", 100)];
    for number in 0..20 {
        let (path, at) = (format!("/p/g{number}"), 50 * number);
        tasks.push(in_group(thread(&format!("g{number}"), [work(20), sleep(2), work(10)]).after(at).times(2), &path));
        let (made, removed): (Nanos, _) = (at * MSEC, Some((at + 200) * MSEC));
        groups.push(CgroupSpec { made, removed, ..group(&path, 1000) });
    }
    groups.iter_mut().take(2).for_each(|measured| measured.made = 2000 * MSEC);
    for name in ["heavy", "light"] {
        tasks.push(in_group(hog(name).after(2000), &format!("/p/{name}")));
    }
    tasks.push(hog("root").after(2000));
    let report = run(&equal::machine(1), &grouped(for_ms(6000, tasks), groups));
    // Four seconds: a half for the root's thread.
    for (name, ms) in [("root", 2000.0), ("heavy", 1500.0), ("light", 500.0)] {
        within(time(&report, name), ms, 30.0);
    }
}

/// Two seconds in a group that shares with the root's thread by half, then beside it there.
#[test]
fn a_thread_that_changes_its_group_takes_its_load_along() {
    let moves = thread("moves", then_forever([work(500), Op::SetTaskGroup(Some("/b".into()))], [work(1000)]));
    let tasks = [in_group(hog("a"), "/a"), in_group(moves, "/a"), in_group(hog("b"), "/b")];
    let report = run(&equal::machine(1), &for_ms(6000, tasks));
    // A quarter for each of two threads in /a while they are two, which takes 2 s; then /a has one and /b two.
    within(time(&report, "moves"), 500.0 + 1000.0, 30.0);
    within(time(&report, "a"), 500.0 + 2000.0, 30.0);
    within(time(&report, "b"), 1000.0 + 1000.0, 30.0);
}

/// A nice value that changes in a group is taken out of the load as it was put there.
#[test]
fn loads_follow_nice_values_that_change() {
    let set = |nice| {
        let policy = Policy::Other { nice, slice: None };
        Op::SetScheduling(Scheduling { policy, ..Scheduling::default() })
    };
    let ends = thread("ends", vec![set(19), work(2), set(-20), work(2), set(0), work(2)]).times(10);
    let tasks = [in_group(ends, "/a"), in_group(hog("a").after(500), "/a"), hog("root").after(500)];
    let report = run(&equal::machine(1), &for_ms(2500, tasks));
    within(time(&report, "a"), 1000.0, 20.0);
}

/// Two CPUs, two groups of two threads each.
#[test]
fn weights_of_groups_hold_on_two_cpus() {
    let tasks = [in_group(hog("heavy").times(2), "/heavy"), in_group(hog("light").times(2), "/light")];
    let workload = grouped(for_ms(4000, tasks), [group("/heavy", 300), group("/light", 100)]);
    within(share(&run(&equal::machine(2), &workload), "light"), 25.0, 1.0);
}
