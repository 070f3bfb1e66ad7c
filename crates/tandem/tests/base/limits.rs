// SPDX-License-Identifier: GPL-2.0-only
//! `cpu.max`: a group has its quota in each period and no more, on each kernel that the simulator knows.

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::{GroupReport, Report};
use tandem_simulator::simulation::{Options, Profile, SchedExt, Scheduler, simulate};
use tandem_simulator::units::{MSEC, Nanos};
use tandem_simulator::why::{Cause, Recorder};
use tandem_simulator::workload::{CgroupSpec, CgroupWrite, CpuMax, Policy, TaskSpec, Workload};

use super::run::{for_ms, forever, hog, options, pairs, periodic, then_forever, time, with, within};
use crate::equal;
use crate::long::combinations::scheduler::{audited_run, machine};
use crate::long::combinations::support::workload::{TaskExt, sleep, thread, work};

const KERNELS: [Profile; 3] = [Profile::V6_12, Profile::V6_18, Profile::V7];

/// Milliseconds of CPU time in so many.
fn max(quota: u64, period: u64) -> CgroupWrite {
    CgroupWrite::Max(Some(CpuMax { quota: quota * MSEC, period: period * MSEC, burst: 0 }))
}

/// A group to whose files this is written, at these times in milliseconds.
fn group(path: &str, writes: impl IntoIterator<Item = (Nanos, CgroupWrite)>) -> CgroupSpec {
    let writes = writes.into_iter().map(|(ms, write)| (ms * MSEC, write)).collect();
    CgroupSpec { path: path.into(), made: 0, removed: None, writes, util_min: None, util_max: None }
}

fn within_group(task: TaskSpec, path: &str) -> TaskSpec {
    TaskSpec { task_group: Some(path.into()), ..task }
}

/// These threads for `ms`, in these groups.
fn grouped<const N: usize, const M: usize>(ms: u64, tasks: [TaskSpec; N], groups: [CgroupSpec; M]) -> Workload {
    Workload { cgroups: groups.into(), ..for_ms(ms, tasks) }
}

fn run_on(kernel: Profile, machine: &Machine, workload: &Workload) -> Report {
    run_with(kernel, &[], machine, workload)
}

fn run_with(kernel: Profile, settings: &[(&str, &str)], machine: &Machine, workload: &Workload) -> Report {
    audited_run(machine, workload, &options(SchedExt { profile: Some(kernel), ..with(settings) }))
}

/// A fifth of a CPU for four threads on four CPUs; what no group limits has all the rest.
#[test]
fn a_group_has_its_quota_and_others_the_rest() {
    let tasks = [within_group(hog("limited").times(4), "/g"), hog("free").times(4)];
    let workload = grouped(5000, tasks, [group("/g", [(0, max(20, 100))])]);
    for kernel in KERNELS {
        let report = run_on(kernel, &equal::machine(4), &workload);
        within(time(&report, "limited"), 1000.0, 40.0);
        within(time(&report, "free"), 19_000.0, 60.0);
    }
}

/// While one of two in a group waits, the other one shares with the root's thread by half. That the first has had its turn is not taken off
/// the group above: the fair class gives that half of all, 2,000 ms to the neighbour.
#[test]
fn what_waits_leaves_its_share_to_neighbours() {
    let tasks = [within_group(hog("limited"), "/p/l"), within_group(hog("neighbour"), "/p/n"), hog("root")];
    let workload = grouped(5000, tasks, [group("/p/l", [(0, max(10, 100))])]);
    let report = run_on(Profile::V6_12, &equal::machine(1), &workload);
    within(time(&report, "limited"), 500.0, 40.0);
    within(time(&report, "neighbour"), 2250.0, 100.0);
}

/// Where nothing else is there, the CPUs are idle for as long as the group waits. The first period is a part of one, by chance.
#[test]
fn what_has_used_up_its_quota_leaves_cpus_idle() {
    let workload = grouped(5000, [within_group(hog("limited").times(3), "/g")], [group("/g", [(0, max(50, 100))])]);
    for kernel in KERNELS {
        within(time(&run_on(kernel, &equal::machine(4), &workload), "limited"), 2525.0, 60.0);
    }
}

/// A CPU and a half, then half of one, then all.
#[test]
fn a_limit_that_changes_holds_from_then_on() {
    let writes = [(0, max(150, 100)), (2000, max(50, 100)), (4000, CgroupWrite::Max(None))];
    let workload = grouped(5000, [within_group(hog("limited").times(2), "/g")], [group("/g", writes)]);
    for kernel in KERNELS {
        let report = run_on(kernel, &equal::machine(2), &workload);
        within(time(&report, "limited"), 3000.0 + 1000.0 + 2000.0, 120.0);
    }
}

/// A group that had no limit, beside others that had none, owes nothing of that time: two seconds alone, then a fifth of three.
#[test]
fn a_limit_takes_nothing_off_for_the_time_before() {
    let workload = grouped(5000, [within_group(hog("limited").times(4), "/g")], [group("/g", [(2000, max(20, 100))])]);
    for kernel in KERNELS {
        within(time(&run_on(kernel, &equal::machine(1), &workload), "limited"), 2000.0 + 600.0, 30.0);
    }
}

/// The group above has two fifths of a CPU; of that one of two groups in it may have a quarter.
#[test]
fn limits_hold_for_groups_in_groups() {
    let tasks = [within_group(hog("small").times(2), "/g/small"), within_group(hog("large").times(2), "/g/large")];
    let groups = [group("/g", [(0, max(40, 100))]), group("/g/small", [(0, max(10, 100))])];
    for kernel in KERNELS {
        let report = run_on(kernel, &equal::machine(4), &grouped(5000, tasks.clone(), groups.clone()));
        within(time(&report, "small"), 500.0, 40.0);
        within(time(&report, "small") + time(&report, "large"), 2000.0, 60.0);
    }
}

/// What a group does not use is not kept, unless it may be (`cpu.max.burst`).
#[test]
fn what_is_not_used_is_lost_but_for_bursts() {
    let bursts = thread("bursts", then_forever([], [sleep(900), work(100)]));
    let with_burst = |burst| {
        let limit = CpuMax { quota: 20 * MSEC, period: 100 * MSEC, burst: burst * MSEC };
        let groups = [group("/g", [(0, CgroupWrite::Max(Some(limit)))])];
        let workload = grouped(10_000, [within_group(bursts.clone(), "/g")], groups);
        time(&run_on(Profile::V6_18, &equal::machine(2), &workload), "bursts")
    };
    let (without, kept) = (with_burst(0), with_burst(100));
    // 100 ms take 500 instead of 100, so that there are seven rounds instead of ten.
    within(without, 700.0, 100.0);
    within(kept, 1000.0, 100.0);
}

/// Those that can run on one CPU only, and those of the idle class, go on, too.
#[test]
fn pinned_and_idle_threads_have_their_part_of_a_quota() {
    let tasks = [
        within_group(hog("pinned").on(&[1]), "/g"),
        within_group(hog("idle").policy(Policy::Idle), "/h"),
        periodic("light", 1, 10),
    ];
    let groups = [group("/g", [(0, max(30, 100))]), group("/h", [(0, max(30, 100))])];
    for kernel in KERNELS {
        let report = run_on(kernel, &pairs(4), &grouped(5000, tasks.clone(), groups.clone()));
        within(time(&report, "pinned"), 1500.0, 60.0);
        within(time(&report, "idle"), 1500.0, 60.0);
        within(time(&report, "light"), 500.0, 5.0);
    }
}

/// A thousandth of a CPU for sixteen threads: a tick on eight CPUs is much more than a period's quota, and owed; but nobody waits until
/// the kernel takes a thread for forgotten, and the scheduler away.
#[test]
fn a_tiny_quota_forgets_nobody() {
    let workload = grouped(60_000, [within_group(hog("limited").times(16), "/g")], [group("/g", [(0, max(1, 1000))])]);
    let report = run_on(Profile::V6_12, &equal::machine(8), &workload);
    assert!(time(&report, "limited") < 0.02 * 8.0 * 60_000.0, "{} ms", time(&report, "limited"));
}

/// Whatever mechanism lies over the base.
#[test]
fn limits_hold_under_mechanisms() {
    let lock = thread("worker", forever([work(3), sleep(1)])).times(6);
    let tasks = [within_group(lock, "/g"), hog("free").times(2)];
    let workload = grouped(4000, tasks, [group("/g", [(0, max(50, 100))])]);
    for settings in [("longest", "true"), ("serial_first", "true"), ("isolate", "dedicated"), ("isolate", "shared")] {
        let report = run_with(Profile::V6_12, &[settings], &super::run::unequal(2, 2), &workload);
        within(time(&report, "worker"), 2000.0, 100.0);
    }
}

/// Four services, each limited to a fifth of a CPU, that want two thirds of one; on machines whose clocks follow utilisation.
fn services(ms: u64) -> Workload {
    let paths: Vec<String> = (0..4).map(|number| format!("/service-{number}")).collect();
    let service = |path: &String| within_group(thread("service", forever([work(20), sleep(10)])), path);
    let cgroups = paths.iter().map(|path| group(path, [(0, max(20, 100))])).collect();
    Workload { cgroups, ..for_ms(ms, paths.iter().map(service).collect::<Vec<_>>()) }
}

/// Seconds of work on the fastest CPU, and joules for each, in the mean over some runs: when periods begin is a matter of chance.
fn work_and_cost(machine: &Machine, workload: &Workload, options: &Options) -> (f64, f64) {
    let (mut work_s, mut joules, runs) = (0.0, 0.0, 6);
    for seed in 0..runs {
        let options = Options { seed, governor: "schedutil".parse().unwrap(), ..options.clone() };
        let report = audited_run(machine, workload, &options);
        work_s += report.apps.iter().map(|app| app.work_s).sum::<f64>();
        joules += report.energy_j.total;
    }
    (work_s / runs as f64, joules / work_s)
}

/// What waits for its group's next period does not sleep: it needs a fast CPU and a high clock when it goes on, and gets both at once.
#[test]
fn services_under_limits_do_as_much_as_under_fair() {
    let workload = services(3000);
    for name in ["pixel6", "hikey960", "apple-m1", "smp-8", "rk3399"] {
        let machine = machine(name);
        let fair = Options { scheduler: Scheduler::Fair, ..Options::default() };
        let (fair, fair_cost) = work_and_cost(&machine, &workload, &fair);
        for mode in ["auto", "none"] {
            let (done, cost) = work_and_cost(&machine, &workload, &options(with(&[("mode", mode)])));
            assert!(done > 0.97 * fair, "{name}, mode={mode}: {done} s of work, fair {fair}");
            assert!(cost < 1.03 * fair_cost, "{name}, mode={mode}: {cost} J for a second of work, fair {fair_cost}");
        }
    }
}

/// Of 100 ms a group waits for 80 on each CPU, in each period; one that uses less than it may does not, and one without a limit is not told of.
#[test]
fn reports_count_periods_in_which_groups_wait() {
    let tasks = [
        within_group(hog("limited").times(2), "/g"),
        within_group(periodic("modest", 5, 100), "/modest"),
        within_group(periodic("free", 5, 100), "/free"),
    ];
    let groups = [group("/g", [(0, max(40, 100))]), group("/modest", [(0, max(50, 100))])];
    for kernel in KERNELS {
        let report = run_on(kernel, &equal::machine(4), &grouped(5000, tasks.clone(), groups.clone()));
        let [limited, modest] = &report.groups[..] else { panic!("{:?}", report.groups) };
        assert!((50..=52).contains(&limited.periods), "{limited:?}");
        assert!(limited.periods - limited.throttled_periods.unwrap() <= 1, "{limited:?}");
        within(limited.throttled_s.unwrap(), 8.0, 0.3);
        assert_eq!((modest.throttled_periods, modest.throttled_s), (Some(0), Some(0.0)), "{modest:?}");
        assert!((49..=51).contains(&modest.periods), "{modest:?}");
        assert_eq!((limited.bursts, limited.burst_s), (None, None), "{limited:?}");
    }
}

/// Of two limits one above the other the one that is used up counts.
#[test]
fn a_period_counts_for_the_group_whose_limit_is_used_up() {
    let tasks = [within_group(hog("small"), "/g/small"), within_group(hog("large").times(2), "/g/large")];
    let counts = |above: u64, below: u64| {
        let groups = [group("/g", [(0, max(above, 100))]), group("/g/small", [(0, max(below, 100))])];
        let report = run_on(Profile::V6_18, &equal::machine(4), &grouped(5000, tasks.clone(), groups));
        let of = |path: &str| report.groups.iter().find(|group| group.path == path).and_then(count).unwrap();
        (of("/g"), of("/g/small"))
    };
    fn count(group: &GroupReport) -> Option<u64> {
        group.throttled_periods
    }
    let (above, below) = counts(150, 10);
    assert!(above >= 45 && below >= 45, "both are used up in each period: {above}, {below}");
    let (above, below) = counts(30, 90);
    assert!(above >= 45 && below <= 5, "the lower one never is: {above}, {below}");
}

/// Idle CPUs are not missed by what may not run: `tandem why` names the limit.
#[test]
fn the_limit_is_why_a_group_waits() {
    let workload = grouped(1000, [within_group(hog("limited"), "/g")], [group("/g", [(0, max(20, 100))])]);
    let machine = equal::machine(2);
    let mut recorder = Recorder::new(&machine, &workload, 5);
    let report = simulate(&machine, &workload, &options(with(&[])), &mut recorder).unwrap();
    let why = recorder.finish(report.time_s);
    let wait = &why.waits[0];
    assert_eq!((wait.task.as_str(), wait.cause), ("limited", Cause::Throttled));
    within(wait.throttled_s, 0.08, 0.005);
}
