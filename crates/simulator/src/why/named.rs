// SPDX-License-Identifier: MIT OR Apache-2.0
//! From records to reports: names in place of numbers, seconds in place of nanoseconds.

use super::cause::Cause;
use super::classify;
use super::locks::{Holder, LockWait};
use super::record::{CpuWait, Idle, Overhead, Ran, Start, Step, Urgency};
use super::recorder::Totals;
use super::report::{
    CauseReport, EarlierReport, HolderReport, IdleReport, LockReport, MissReport, OverheadReport, RanReport, Report,
    StartReport, StepReport, UrgencyReport, WaitReport, WhatReport,
};
use super::rounds::Round;
use crate::observer::detail::Class;
use crate::observer::names::ObjectNames;
use crate::units::{Nanos, TaskId, seconds};
use crate::workload::Workload;

/// Names of threads and of what they share.
#[derive(Debug)]
pub(super) struct Names {
    threads: Vec<Box<str>>,
    objects: ObjectNames,
}

impl Names {
    /// Names of what the threads of `workload` share; threads come as they begin.
    pub fn of(workload: &Workload) -> Self {
        Self { threads: Vec::new(), objects: ObjectNames::of(workload) }
    }

    /// The next thread.
    pub fn add(&mut self, name: &str) {
        self.threads.push(name.into());
    }

    fn task(&self, task: TaskId) -> String {
        self.threads[task.index()].to_string()
    }

    fn start(&self, start: &Start) -> StartReport {
        let name = |by: Option<TaskId>| by.map(|by| self.task(by));
        match *start {
            Start::New { by, cpu } => StartReport::New { by: name(by), cpu: cpu.0 },
            Start::Woken { by, cpu, from } => {
                StartReport::Woken { by: name(by), cpu: cpu.0, from: self.objects.reason(from) }
            }
            Start::Displaced { by, cpu } => StartReport::Displaced { by: name(by), cpu: cpu.0 },
        }
    }

    fn ran(&self, ran: &[Ran]) -> Vec<RanReport> {
        let mut ran: Vec<&Ran> = ran.iter().collect();
        // The sort is stable: of equals the first to run stays first.
        ran.sort_by_key(|ran| std::cmp::Reverse(ran.time));
        let report = |ran: &Ran| RanReport {
            task: self.task(ran.task),
            time_s: seconds(ran.time),
            slowed_s: seconds(ran.slowed),
            urgency: UrgencyReport::of(&ran.urgency),
        };
        ran.into_iter().map(report).collect()
    }

    fn wait(&self, wait: &CpuWait) -> WaitReport {
        let cause = classify::cpu_wait(wait);
        let mut idle: Vec<&Idle> = wait.idle.iter().collect();
        idle.sort_by_key(|idle| (std::cmp::Reverse(idle.time), idle.cpu));
        WaitReport {
            task: self.task(wait.task),
            cause,
            remedy: cause.remedy(),
            since_s: seconds(wait.since),
            waited_s: seconds(wait.length()),
            ended: wait.ended,
            urgency: UrgencyReport::of(&wait.urgency),
            start: self.start(&wait.start),
            steps: wait.steps.iter().map(|(at, step)| StepReport::of(*at, step)).collect(),
            missing_steps: wait.steps.missing,
            cpu: wait.target.0,
            ran_on: wait.ran_on.map(|cpu| cpu.0),
            ran_instead: self.ran(&wait.ran),
            idle: idle.into_iter().map(IdleReport::of).collect(),
            held_s: seconds(wait.held),
            throttled_s: seconds(wait.throttled),
            overhead: OverheadReport::of(&wait.overhead),
            // Where its group's limit held it, no CPU would have run it earlier.
            earlier: if cause == Cause::Throttled { None } else { earlier(wait) },
            ejected: wait.ejected,
        }
    }

    fn lock(&self, wait: &LockWait) -> LockReport {
        let cause = classify::lock_wait(wait);
        let holder = |holder: &Holder| HolderReport {
            task: self.task(holder.task),
            time_s: seconds(holder.time),
            turns: holder.turns,
            urgency: UrgencyReport::of(&holder.urgency),
        };
        LockReport {
            task: self.task(wait.task),
            cause,
            remedy: cause.remedy(),
            mutex: self.objects.mutex(wait.mutex),
            since_s: seconds(wait.since),
            waited_s: seconds(wait.length()),
            ended: wait.ended,
            before: wait.before,
            holders: wait.holders.iter().map(holder).collect(),
            holder_waited_s: seconds(wait.holder_waited),
            ran_instead: self.ran(&wait.instead),
            urgency: UrgencyReport::of(&wait.urgency),
        }
    }

    fn miss(&self, round: &Round) -> MissReport {
        let cause = classify::round(round);
        MissReport {
            task: self.task(round.task),
            cause,
            remedy: cause.remedy(),
            due_s: seconds(round.due),
            late_s: seconds(round.late()),
            ended: round.ended,
            period_s: seconds(round.period),
            backlog_s: seconds(round.backlog),
            work_s: seconds(round.work()),
            lost_to_clock_s: seconds(round.lost_to_clock),
            lost_to_cpu_s: seconds(round.lost_to_cpu),
            waited_s: seconds(round.waited),
            overhead: OverheadReport::of(&round.overhead),
            locked_s: seconds(round.locked),
            for_others_s: seconds(round.for_others),
            migrations: round.migrations,
            longest_wait: round.longest_wait.as_ref().map(|wait| self.wait(wait)),
            longest_lock: round.longest_lock.as_ref().map(|wait| self.lock(wait)),
        }
    }
}

impl Report {
    /// The records with names.
    pub(super) fn new(
        names: &Names,
        waits: Vec<CpuWait>,
        locks: Vec<LockWait>,
        misses: Vec<Round>,
        [wait_causes, lock_causes]: [&Totals; 2],
        (rounds, late_rounds): (u64, u64),
    ) -> Self {
        Self {
            waits: waits.iter().map(|wait| names.wait(wait)).collect(),
            locks: locks.iter().map(|wait| names.lock(wait)).collect(),
            misses: misses.iter().map(|round| names.miss(round)).collect(),
            rounds,
            late_rounds,
            wait_causes: causes(wait_causes),
            lock_causes: causes(lock_causes),
        }
    }
}

/// The causes, the most time first.
fn causes(totals: &Totals) -> Vec<CauseReport> {
    let mut totals: Vec<_> = totals.iter().collect();
    totals.sort_by_key(|(cause, (_, time))| (std::cmp::Reverse(*time), **cause));
    let report = |(cause, (count, time)): (&Cause, &(u64, Nanos))| CauseReport {
        cause: *cause,
        count: *count,
        time_s: seconds(*time),
    };
    totals.into_iter().map(report).collect()
}

/// On the CPU that idled longest, of those which the thread may use: from when on the CPU did.
fn earlier(wait: &CpuWait) -> Option<EarlierReport> {
    let best = wait.best_idle(true).filter(|idle| idle.first < wait.switched())?;
    Some(EarlierReport { cpu: best.cpu.0, earlier_s: seconds(wait.switched() - best.first) })
}

impl UrgencyReport {
    fn of(urgency: &Urgency) -> Self {
        let class = match urgency.class {
            Class::Deadline => "deadline",
            Class::RealTime => "rt",
            Class::Fair => "fair",
            Class::Ext => "ext",
        };
        Self { class, priority: urgency.priority, weight: urgency.weight }
    }
}

impl StepReport {
    fn of(at: Nanos, step: &Step) -> Self {
        let what = match *step {
            Step::SelectCpu { chosen } => WhatReport::SelectCpu { cpu: chosen },
            Step::Enqueue => WhatReport::Enqueue,
            Step::Queued { queue, depth, by } => WhatReport::Queued {
                queue: queue.to_string(),
                depth,
                callback: by.map(|(name, _)| name),
                callback_cpu: by.map(|(_, cpu)| cpu.0),
            },
            Step::Held => WhatReport::Held,
            Step::Migrated { to } => WhatReport::Migrated { cpu: to.0 },
            Step::Ejected => WhatReport::Ejected,
        };
        Self { at_s: seconds(at), what }
    }
}

impl IdleReport {
    fn of(idle: &Idle) -> Self {
        Self { cpu: idle.cpu.0, idle_s: seconds(idle.time), from_s: seconds(idle.first), allowed: idle.allowed }
    }
}

impl OverheadReport {
    fn of(overhead: &Overhead) -> Self {
        Self {
            idle_exit_s: seconds(overhead.idle_exit),
            switch_s: seconds(overhead.switch),
            cold_s: seconds(overhead.cold),
            kernel_s: seconds(overhead.kernel),
        }
    }
}
