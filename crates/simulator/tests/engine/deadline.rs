// SPDX-License-Identifier: MIT OR Apache-2.0
//! The deadline class as `kernel/sched/deadline.c` has it. Times are milliseconds unless said otherwise.

use proptest::prelude::*;
use proptest::test_runner::Config;
use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::observer::{NoObserver, Observer, PrevState, TaskInfo};
use tandem_simulator::simulation::{Options, simulate};
use tandem_simulator::units::{CpuId, MSEC, Nanos, SEC, TaskId};

use super::support::{assert_time, machine, options, run, run_until, task, watch, workload};

/// A periodic deadline task that needs `run` of its `runtime` in every `period`.
fn periodic(name: &str, runtime: u64, period: u64, run: u64) -> String {
    format!(
        r#""{name}": {{ "policy": "SCHED_DEADLINE", "dl-runtime": {}, "dl-period": {}, "loop": -1, "run": {},
            "timer": {{ "ref": "unique", "period": {}, "mode": "absolute" }} }}"#,
        runtime * 1000,
        period * 1000,
        run * 1000,
        period * 1000
    )
}

/// A deadline task that never sleeps.
fn overrunning(name: &str, runtime: u64, deadline: u64, period: u64) -> String {
    format!(
        r#""{name}": {{ "policy": "SCHED_DEADLINE", "dl-runtime": {}, "dl-deadline": {}, "dl-period": {}, "loop": -1, "run": 1000000 }}"#,
        runtime * 1000,
        deadline * 1000,
        period * 1000
    )
}

fn hog(name: &str) -> String {
    format!(r#""{name}": {{ "loop": -1, "run": 1000000 }}"#)
}

fn tasks(tasks: &[String]) -> String {
    format!(r#"{{ "tasks": {{ {} }} }}"#, tasks.join(","))
}

/// When each thread was on a CPU, and when it went to sleep.
#[derive(Default)]
struct Schedule {
    names: Vec<String>,
    since: Vec<Nanos>,
    stays: Vec<Vec<(Nanos, Nanos)>>,
    sleeps: Vec<Vec<Nanos>>,
}

impl Schedule {
    fn of(&self, name: &str) -> usize {
        self.names.iter().position(|other| other == name).unwrap()
    }

    /// Time on a CPU from one instant to another, in microseconds.
    fn used(&self, name: &str, from: Nanos, to: Nanos) -> u64 {
        let within = |(start, end): &(Nanos, Nanos)| (*end).min(to).saturating_sub((*start).max(from));
        self.stays[self.of(name)].iter().map(within).sum::<Nanos>() / 1000
    }
}

impl Observer for Schedule {
    fn task_new(&mut self, _now: Nanos, task: &TaskInfo) {
        self.names.push(task.name.clone());
        self.since.push(0);
        self.stays.push(Vec::new());
        self.sleeps.push(Vec::new());
    }

    fn sched_switch(&mut self, now: Nanos, _cpu: CpuId, prev: Option<(TaskId, PrevState)>, next: Option<TaskId>) {
        if let Some((task, state)) = prev {
            self.stays[task.index()].push((self.since[task.index()], now));
            if state == PrevState::Sleeping {
                self.sleeps[task.index()].push(now);
            }
        }
        if let Some(task) = next {
            self.since[task.index()] = now;
        }
    }
}

/// Runs with budgets that end exactly on time, not at the next tick.
fn exact(cpus: usize, text: &str, limit: Nanos, observer: &mut dyn Observer) -> Report {
    let mut options = Options { time_limit: Some(limit), ..options() };
    options.kernel.hrtick_dl = true;
    simulate(&machine(cpus), &workload(text), &options, observer).unwrap_or_else(|error| panic!("{error}"))
}

/// Asserts that every job of a periodic task ended within its period.
#[track_caller]
fn assert_in_time(schedule: &Schedule, name: &str, period: Nanos, jobs: usize) {
    let sleeps = &schedule.sleeps[schedule.of(name)];
    assert_eq!(sleeps.len(), jobs, "{name}");
    for (job, end) in sleeps.iter().enumerate() {
        let deadline = (job as Nanos + 1) * period;
        assert!(*end <= deadline, "{name}: job {job} ends at {end}, its deadline is {deadline}");
    }
}

/// Two tasks with 50 % and 40 % of a CPU meet every deadline, alone and beside fair threads, which get the other 10 %.
#[test]
fn two_tasks_within_their_bandwidth_meet_all_deadlines() {
    for hogs in [0, 3] {
        let mut all = vec![periodic("half", 5, 10, 5), periodic("less", 6, 15, 6)];
        all.extend((0..hogs).map(|index| hog(&format!("hog{index}"))));
        let mut schedule = Schedule::default();
        // The limit lies just before the jobs of the next period could begin.
        let report = watch(&machine(1), &tasks(&all), 3 * SEC - 1, &mut schedule);
        assert!(report.warnings.is_empty(), "{:?}", report.warnings);
        assert_in_time(&schedule, "half", 10 * MSEC, 300);
        assert_in_time(&schedule, "less", 15 * MSEC, 200);
        if hogs > 0 {
            let fair: f64 = (0..hogs).map(|index| task(&report, &format!("hog{index}")).cpu_time_s).sum();
            assert!((fair - 0.3).abs() < 1e-6, "{fair}");
        }
    }
}

/// The task gets 2 ms of every 10 and no more, period by period.
#[test]
fn an_overrunning_task_gets_exactly_its_budget() {
    let mut schedule = Schedule::default();
    let text = tasks(&[overrunning("greedy", 2, 10, 10), hog("hog")]);
    let report = exact(1, &text, SEC, &mut schedule);
    for period in 0..100 {
        let start = period * 10 * MSEC;
        assert_eq!(schedule.used("greedy", start, start + 10 * MSEC), 2000, "period {period}");
        assert_eq!(schedule.used("greedy", start, start + 2 * MSEC), 2000, "period {period}");
    }
    assert_time(task(&report, "hog").cpu_time_s, 0.8);
}

/// Without `HRTICK_DL` a budget ends at a tick, up to 4 ms late, and the overrun is paid back.
#[test]
fn an_overrun_up_to_the_tick_is_paid_back() {
    let report = run_until(&machine(1), &tasks(&[overrunning("greedy", 2, 10, 10), hog("hog")]), 10 * SEC);
    let used = task(&report, "greedy").cpu_time_s;
    assert!((1.99..=2.005).contains(&used), "{used}");
}

/// The thread with the earlier absolute deadline runs first and preempts, whichever thread came first.
#[test]
fn the_earliest_deadline_runs_first() {
    let job = |name: &str, period: u64, delay: u64| {
        format!(
            r#""{name}": {{ "policy": "SCHED_DEADLINE", "dl-runtime": 20000, "dl-period": {period}000, "delay": {}, "loop": 1, "run": 10000 }}"#,
            delay * 1000
        )
    };
    // Deadlines at 100, 5 + 80 = 85 and 6 + 90 = 96.
    let text = tasks(&[job("late", 100, 0), job("first", 80, 5), job("second", 90, 6)]);
    let report = run(&machine(1), &text);
    assert_time(task(&report, "first").wait_time_s, 0.0);
    assert_time(task(&report, "second").wait_time_s, 0.009);
    assert_time(task(&report, "late").wait_time_s, 0.020);
}

/// A deadline task preempts the most urgent FIFO one; the time that the deadline task leaves is FIFO's.
#[test]
fn deadline_runs_before_fifo() {
    let fifo = r#""fifo": { "policy": "SCHED_FIFO", "priority": 99, "loop": -1, "run": 1000000 }"#.to_owned();
    let report = exact(1, &tasks(&[overrunning("greedy", 3, 10, 10), fifo]), SEC, &mut NoObserver);
    assert_time(task(&report, "greedy").cpu_time_s, 0.3);
    assert_time(task(&report, "fifo").cpu_time_s, 0.7);
}

/// A yield gives up the rest of the budget: one job a period, whatever its length.
#[test]
fn a_yield_waits_for_the_next_period() {
    let report = run_until(
        &machine(1),
        r#"{ "tasks": { "polite": { "policy": "SCHED_DEADLINE", "dl-runtime": 5000, "dl-period": 10000, "loop": 10,
            "run": 1000, "yield": "" } } }"#,
        SEC,
    );
    // The last yield, too, ends with a period.
    assert!((0.100..0.1001).contains(&report.time_s), "{}", report.time_s);
    assert!(task(&report, "polite").cpu_time_s < 0.0101);
}

/// With a deadline before the end of its period a task has its budget once a period, not once a deadline.
#[test]
fn a_constrained_deadline_waits_for_its_period() {
    let mut schedule = Schedule::default();
    let text = tasks(&[overrunning("tight", 2, 5, 20), overrunning("loose", 4, 20, 20)]);
    exact(1, &text, 200 * MSEC, &mut schedule);
    for period in 0..10 {
        let start = period * 20 * MSEC;
        assert_eq!(schedule.used("tight", start, start + 2 * MSEC), 2000, "period {period}");
        assert_eq!(schedule.used("loose", start + 2 * MSEC, start + 6 * MSEC), 4000, "period {period}");
        assert_eq!(schedule.used("tight", start, start + 20 * MSEC), 2000, "period {period}");
    }
}

/// Tasks that all start on one CPU run on four at once: waiting tasks are pushed to CPUs without deadline tasks.
#[test]
fn waiting_tasks_are_pushed_to_other_cpus() {
    let text = r#"{ "tasks": {
        "dl": { "instance": 4, "policy": "SCHED_DEADLINE", "dl-runtime": 50000, "dl-period": 100000, "loop": 1, "run": 40000 },
        "hog": { "instance": 4, "loop": 1, "run": 10000 } } }"#;
    let report = run(&machine(4), text);
    for index in 0..4 {
        assert_time(task(&report, &format!("dl-{index}")).wait_time_s, 0.0);
    }
    assert!(report.time_s < 0.0501, "{}", report.time_s);
}

/// The CPU whose deadline is the latest gives way when no CPU is free of deadline tasks.
#[test]
fn the_latest_deadline_gives_way() {
    let job = |name: &str, period: u64, delay: u64| {
        format!(
            r#""{name}": {{ "policy": "SCHED_DEADLINE", "dl-runtime": 20000, "dl-period": {period}000, "delay": {}, "loop": 1, "run": 20000 }}"#,
            delay * 1000
        )
    };
    let report = run(&machine(2), &tasks(&[job("soon", 60, 0), job("late", 100, 0), job("urgent", 40, 5)]));
    assert_time(task(&report, "urgent").wait_time_s, 0.0);
    assert_time(task(&report, "soon").wait_time_s, 0.0);
    // "late" goes on where "soon" ended, at 20 ms.
    assert_time(task(&report, "late").wait_time_s, 0.015);
}

/// Admitted are 95 % of all CPUs less the fair servers' 5 %: of four tasks of half a CPU each, three fit two CPUs. The
/// fourth task becomes fair.
#[test]
fn who_does_not_fit_is_refused() {
    let names = ["a", "b", "c", "d"];
    let report = exact(2, &tasks(&names.map(|name| overrunning(name, 50, 100, 100))), SEC, &mut NoObserver);
    for name in &names[..3] {
        assert_time(task(&report, name).cpu_time_s, 0.5);
    }
    assert_time(task(&report, "d").cpu_time_s, 0.5);
    assert_eq!(report.warnings.len(), 1, "{:?}", report.warnings);
    assert!(report.warnings[0].contains("d: there is not enough bandwidth"), "{}", report.warnings[0]);
}

/// The bandwidth of a task that has ended is free again, but not before the task's 0-lag time.
#[test]
fn bandwidth_is_free_again_after_the_end() {
    let text = |delay: u64| {
        format!(
            r#"{{ "tasks": {{
                "first": {{ "policy": "SCHED_DEADLINE", "dl-runtime": 60000, "dl-period": 100000, "loop": 1, "run": 6000 }},
                "parent": {{ "loop": 1, "sleep": {delay}, "fork": "second" }},
                "second": {{ "instance": 0, "policy": "SCHED_DEADLINE", "dl-runtime": 60000, "dl-period": 100000, "loop": 1, "run": 6000 }} }} }}"#
        )
    };
    // When the parent gets to run, at 6 ms, 54 of 60 ms are left: 100 − 54 · 100 / 60 = 10 ms, 4 ms later.
    for (delay, refused) in [(3_900, 1), (4_100, 0)] {
        let report = run(&machine(1), &text(delay));
        assert_eq!(report.warnings.len(), refused, "{delay}: {:?}", report.warnings);
    }
}

/// Without admission control every task is admitted, and may be bound to CPUs.
#[test]
fn affinity_needs_admission_control_to_be_off() {
    let text = r#"{ "tasks": { "bound": { "policy": "SCHED_DEADLINE", "dl-runtime": 5000, "dl-period": 10000, "cpus": [1], "loop": 1, "run": 20000 } } }"#;
    let report = run(&machine(2), text);
    assert!(report.warnings[0].contains("must be allowed on all CPUs"), "{:?}", report.warnings);
    let mut off = options();
    off.kernel.rt_runtime = None;
    off.kernel.hrtick_dl = true;
    let report = simulate(&machine(2), &workload(text), &off, &mut NoObserver).unwrap();
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
    // 5 ms of each of four periods.
    assert_time(report.time_s, 0.035);
    assert_time(report.cpus[1].busy_s, 0.020);
}

/// A budget is time at full speed: at half the clock the budget lasts twice as long.
#[test]
fn budgets_are_scaled_by_the_clock() {
    let mut half = Options { time_limit: Some(SEC), governor: "powersave".parse().unwrap(), ..options() };
    half.kernel.hrtick_dl = true;
    let text = tasks(&[overrunning("greedy", 2, 10, 10), hog("hog")]);
    let report = simulate(&machine(1), &workload(&text), &half, &mut NoObserver).unwrap();
    let used = task(&report, "greedy").cpu_time_s;
    assert!((used - 0.4).abs() < 0.003, "{used}");
}

/// If CPUs differ, a task that needs more than a small CPU goes to a large one; a task that needs less stays.
#[test]
fn a_task_goes_where_its_density_fits() {
    let machine = Machine::load("hikey960").unwrap();
    let big_share = |runtime: u64| {
        let options = Options { time_limit: Some(SEC), ..options() };
        let text = tasks(&[periodic("dl", runtime, 10, 1)]);
        let report = simulate(&machine, &workload(&text), &options, &mut NoObserver).unwrap();
        let busy = |cpus: std::ops::Range<usize>| report.cpus[cpus].iter().map(|cpu| cpu.busy_s).sum::<f64>();
        busy(4..8) / busy(0..8)
    };
    // The small CPUs have 45 % of a large one's capacity.
    assert!(big_share(5) > 0.99, "{}", big_share(5));
    assert!(big_share(4) < 0.01, "{}", big_share(4));
}

/// Active bandwidth is a lower bound of schedutil's clock: half of the only CPU needs half its clock, more needs its
/// full clock. It is active up to the 0-lag time: a task that took 1 ms of its 8 keeps it for 10 − 7 · 10 / 8 = 1.25 ms of
/// each 10.
#[test]
fn schedutil_provides_the_reserved_bandwidth() {
    let share_at_full = |runtime: u64| {
        let text = tasks(&[periodic("dl", runtime, 10, 1)]);
        let options = Options { time_limit: Some(SEC), governor: "schedutil".parse().unwrap(), ..options() };
        let report = simulate(&machine(1), &workload(&text), &options, &mut NoObserver).unwrap();
        report.cpus[0].freq_residency.get(&1_000_000).copied().unwrap_or(0.0)
    };
    assert!(share_at_full(2) < 0.1, "{}", share_at_full(2));
    assert!((0.12..0.13).contains(&share_at_full(8)), "{}", share_at_full(8));
}

proptest! {
    #![proptest_config(Config { failure_persistence: None, ..Config::with_cases(64) })]

    /// Earliest deadline first is optimal on one CPU: all admitted tasks meet every deadline, beside any fair load.
    #[test]
    fn whatever_is_admitted_on_one_cpu_meets_its_deadlines(
        shares in prop::collection::vec((1u64..10, 4u64..40), 1..6), hogs in 0usize..3, hrtick in any::<bool>(),
    ) {
        // Shares of 90 %, rounded down to 10 µs; each job needs all but 1 µs of its budget.
        let sum: u64 = shares.iter().map(|(share, _)| share).sum();
        let mut all = Vec::new();
        for (index, (share, period)) in shares.iter().enumerate() {
            let runtime = (period * 90 * share / sum * 10).max(10);
            let (run, period) = (runtime - 1, period * 1000);
            all.push(format!(
                r#""t{index}": {{ "policy": "SCHED_DEADLINE", "dl-runtime": {runtime}, "dl-period": {period}, "loop": -1,
                    "run": {run}, "timer": {{ "ref": "unique", "period": {period}, "mode": "absolute" }} }}"#
            ));
        }
        all.extend((0..hogs).map(|index| hog(&format!("hog{index}"))));
        let mut schedule = Schedule::default();
        let text = tasks(&all);
        let report = if hrtick {
            exact(1, &text, SEC, &mut schedule)
        } else {
            watch(&machine(1), &text, SEC, &mut schedule)
        };
        prop_assert!(report.warnings.is_empty(), "{:?}", report.warnings);
        for (index, (_, period)) in shares.iter().enumerate() {
            let name = format!("t{index}");
            // The last job may be cut off by the end.
            let jobs = schedule.sleeps[schedule.of(&name)].len() as u64;
            prop_assert!(jobs >= 1000 / period, "{name}: {jobs} jobs of {period} ms");
            assert_in_time(&schedule, &name, period * MSEC, jobs as usize);
        }
    }
}
