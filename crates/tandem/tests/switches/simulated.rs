// SPDX-License-Identifier: GPL-2.0-only
//! A case in the simulator: what `guest/counted/mix.c` does, as a workload.

use std::collections::BTreeMap;
use std::path::Path;

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::observer::{NoObserver, Observer, PrevState, TaskInfo, detail::Detail};
use tandem_simulator::simulation::{Governor, KernelParameters, Options, Scheduler, simulate};
use tandem_simulator::units::{CpuId, Nanos, SEC, TaskId};
use tandem_simulator::workload::Workload;

use super::case::{Case, Counts};
use crate::equal;

/// What a tick takes: 2,601 instructions (`guest/paths`) of 2 ns.
const TICK_COST: Nanos = 5_202;
/// What a turn by futex takes, half of it to wake the other, half of it to switch: 3,981 instructions.
const SWITCH_COST: Nanos = 7_962;
/// When counting begins.
const BEGIN: Nanos = SEC;

/// What happened once counting had begun.
pub struct Run {
    /// In a second.
    pub counts: Counts,
    /// Each thread's CPU time in percent of one CPU's, in the order of [`Case`]'s members.
    pub shares: Vec<f64>,
}

/// One run with a seed; `kernel` are its parameters.
#[track_caller]
pub fn run(case: &Case, scheduler: &Scheduler, kernel: &KernelParameters, seed: u64) -> Run {
    let mut watch = Watch::default();
    let options = options(scheduler, kernel, seed);
    let report = simulated(case, &options, &mut watch);
    let per_s = |count: u64| count as f64 / case.seconds as f64;
    let time = (report.time_s * SEC as f64).round() as Nanos - BEGIN;
    let percent = |spent: &Nanos| 100.0 * *spent as f64 / time as f64;
    Run {
        counts: Counts { switches: per_s(watch.switches), migrations: per_s(watch.migrations) },
        shares: watch.shares(BEGIN + time).iter().map(percent).collect(),
    }
}

/// How often each callback of a scheduler was called once counting had begun, in a second.
#[track_caller]
pub fn calls(case: &Case, scheduler: &Scheduler, kernel: &KernelParameters, seed: u64) -> BTreeMap<String, f64> {
    let of = |time_limit| {
        let options = Options { time_limit, ..options(scheduler, kernel, seed) };
        let report = simulated(case, &options, &mut NoObserver);
        report.sched_ext.expect("a scheduler was loaded").callbacks
    };
    let before = of(Some(BEGIN));
    let earlier = |name: &str| before.get(name).map_or(0, |callback| callback.calls);
    let per_s = |name: &str, calls: u64| (calls - earlier(name)) as f64 / case.seconds as f64;
    of(None).iter().map(|(name, callback)| (name.clone(), per_s(name, callback.calls))).collect()
}

fn options(scheduler: &Scheduler, kernel: &KernelParameters, seed: u64) -> Options {
    let (scheduler, kernel) = (scheduler.clone(), kernel.clone());
    Options { scheduler, kernel, governor: Governor::Performance, seed, ..Options::default() }
}

#[track_caller]
fn simulated(case: &Case, options: &Options, observer: &mut dyn Observer) -> Report {
    let text = workload(case);
    let workload = Workload::parse(Path::new(&case.name), &text).unwrap_or_else(|error| panic!("{error}"));
    let report = simulate(&machine(case), &workload, options, observer).unwrap_or_else(|error| panic!("{error}"));
    if let Some(scx) = &report.sched_ext {
        assert_eq!(scx.exit, None, "{}", case.name);
    }
    report
}

/// CPUs of the guest.
const CPUS: usize = 4;

/// CPUs that work at a time, in the mean.
fn busy_cpus(case: &Case) -> f64 {
    let period_us = |number: u64| case.period_us + number * case.step_us;
    let sleepers: f64 = (0..case.sleepers).map(|number| case.run_us as f64 / period_us(number) as f64).sum();
    (case.hogs as f64 + case.pairs as f64 + sleepers).clamp(1.0, CPUS as f64)
}

/// CPUs on which work takes time, and so do switches and ticks. The guest's CPUs take turns, and the instructions of all make its time
/// go on: a path lasts as many times as long as it would alone as there are CPUs that work. Computing does not, as it goes by the
/// clock.
fn machine(case: &Case) -> Machine {
    let mut machine = equal::machine(CPUS);
    let cost = |alone: Nanos| (alone as f64 * busy_cpus(case)).round() as Nanos;
    machine.costs.tick = cost(TICK_COST);
    machine.costs.context_switch = cost(SWITCH_COST);
    machine
}

/// As rt-app JSON: a text, for the order of steps counts.
fn workload(case: &Case) -> String {
    let mut tasks = Vec::new();
    for number in 0..case.sleepers {
        let period = case.period_us + number * case.step_us;
        tasks.push(format!(
            r#""sleeper{number}": {{ "run": {}, "timer": {{ "ref": "unique", "period": {period}, "mode": "absolute" }} }}"#,
            case.run_us
        ));
    }
    for pair in 0..case.pairs {
        let turn = format!(r#""run": {}"#, case.turn_us);
        tasks.push(format!(r#""ping{pair}": {{ {turn}, "sem_post": "one{pair}", "sem_wait": "two{pair}" }}"#));
        tasks.push(format!(r#""pong{pair}": {{ "sem_wait": "one{pair}", {turn}, "sem_post": "two{pair}" }}"#));
    }
    for number in 0..case.hogs {
        let nice = number * case.hog_nice_step;
        tasks.push(format!(r#""hog{number}": {{ "priority": {nice}, "run": 100000 }}"#));
    }
    let seconds = case.seconds + BEGIN / SEC;
    format!(r#"{{ "global": {{ "duration": {seconds} }}, "tasks": {{ {} }} }}"#, tasks.join(", "))
}

#[derive(Debug, Default)]
struct Watch {
    switches: u64,
    migrations: u64,
    /// CPU time by thread.
    spent: BTreeMap<TaskId, Nanos>,
    running: BTreeMap<CpuId, (Nanos, TaskId)>,
}

impl Watch {
    /// What a thread that ran on a CPU until now has had since counting began.
    fn pay(&mut self, now: Nanos, cpu: CpuId) {
        let Some((since, task)) = self.running.remove(&cpu) else { return };
        if let Some(spent) = self.spent.get_mut(&task) {
            *spent += now.saturating_sub(since.max(BEGIN));
        }
    }

    /// CPU time of each thread, in the order in which they came.
    fn shares(&mut self, end: Nanos) -> Vec<Nanos> {
        for cpu in self.running.keys().copied().collect::<Vec<_>>() {
            self.pay(end, cpu);
        }
        self.spent.values().copied().collect()
    }
}

impl Observer for Watch {
    fn task_new(&mut self, _now: Nanos, task: &TaskInfo) {
        // Threads that disturb are no threads of the case.
        if ["sleeper", "ping", "pong", "hog"].iter().any(|kind| task.name.starts_with(kind)) {
            self.spent.insert(task.id, 0);
        }
    }

    fn sched_switch(&mut self, now: Nanos, cpu: CpuId, prev: Option<(TaskId, PrevState)>, next: Option<TaskId>) {
        self.pay(now, cpu);
        if let Some(next) = next {
            self.running.insert(cpu, (now, next));
        }
        self.switches += u64::from(now >= BEGIN && prev.is_some());
    }

    fn wants_details(&self) -> bool {
        true
    }

    fn detail(&mut self, now: Nanos, detail: &Detail) {
        self.migrations += u64::from(now >= BEGIN && matches!(detail, Detail::Migrates { .. }));
    }
}
