// SPDX-License-Identifier: MIT OR Apache-2.0
//! The observer: puts together what belongs to one wait, and keeps the worst.

use std::collections::BTreeMap;

use super::cause::Cause;
use super::classify;
use super::locks::{LockWait, Locks};
use super::named::Names;
use super::record::{CpuWait, Overhead, Start, Step, Urgency};
use super::report::Report;
use super::rounds::{Round, Rounds};
use super::waits::{Allowed, Stretch, Waits};
use super::worst::Worst;
use crate::machine::Machine;
use crate::observer::detail::{Class, Detail, WaitReason, WaitsFor};
use crate::observer::{Observer, PrevState, TaskInfo};
use crate::units::{CpuId, Nanos, SEC, TaskId};
use crate::workload::Workload;

/// Stays on a CPU that are looked at to tell whether a thread wanders.
const STAYS: u32 = 16;
/// Fewest stays that tell.
const FEWEST_STAYS: u32 = 4;

/// What is known of a thread.
#[derive(Debug)]
struct Thread {
    /// Whether its waits are asked for.
    wanted: bool,
    born: Nanos,
    urgency: Urgency,
    allowed: Allowed,
    /// What it waits for or waited for last, and since when it does.
    blocked: Option<(WaitReason, Nanos)>,
    last_cpu: Option<CpuId>,
    /// The latest stays on a CPU, the latest in the lowest bit: 1 where it was another CPU than before; and how many.
    stays: (u16, u32),
    /// Steps of this instant, of a thread that does not wait yet.
    pending: Vec<(Nanos, Step)>,
    rounds: Rounds,
}

/// Time and number of waits of a cause.
pub(super) type Totals = BTreeMap<Cause, (u64, Nanos)>;

/// Keeps the longest waits of a run, and what was to blame; see the [module](super).
#[derive(Debug)]
pub struct Recorder {
    only: Option<String>,
    now: Nanos,
    names: Names,
    threads: Vec<Thread>,
    waits: Waits,
    locks: Locks,
    /// The wait of the thread that was just switched to, by CPU, until its overhead is known.
    entering: Vec<Option<CpuWait>>,
    worst_waits: Worst<CpuWait>,
    worst_locks: Worst<LockWait>,
    worst_rounds: Worst<Round>,
    totals: Totals,
    lock_totals: Totals,
}

impl Recorder {
    /// Watches a run of `workload` on `machine`; of each kind the `worst` longest waits are kept.
    pub fn new(machine: &Machine, workload: &Workload, worst: usize) -> Self {
        Self {
            only: None,
            now: 0,
            names: Names::of(workload),
            threads: Vec::new(),
            waits: Waits::new(machine),
            locks: Locks::new(workload.objects.mutexes.len()),
            entering: (0..machine.cpus.len()).map(|_| None).collect(),
            worst_waits: Worst::new(worst),
            worst_locks: Worst::new(worst),
            worst_rounds: Worst::new(worst),
            totals: Totals::new(),
            lock_totals: Totals::new(),
        }
    }

    /// Keeps only waits of the thread `name`, or of all threads of the kind `name`.
    #[must_use]
    pub fn only(mut self, name: &str) -> Self {
        self.only = Some(name.to_owned());
        self
    }

    /// The worst waits of the run, which took `time_s` seconds.
    pub fn finish(mut self, time_s: f64) -> Report {
        let end = self.now.max((time_s * SEC as f64).round() as Nanos);
        for cpu in (0..self.entering.len()).map(CpuId::at) {
            self.book(cpu, end);
        }
        for task in self.waits.ids() {
            if let Some(wait) = self.waits.end(task, end) {
                self.finish_wait(wait, false);
            }
        }
        for wait in self.locks.end(end) {
            self.finish_lock(wait);
        }
        for index in 0..self.threads.len() {
            let late = self.threads[index].rounds.end(end);
            self.finish_round(late);
        }
        let wanted = self.threads.iter().filter(|thread| thread.wanted);
        let rounds = wanted.map(|thread| thread.rounds.done).fold((0, 0), |sum, done| (sum.0 + done.0, sum.1 + done.1));
        Report::new(
            &self.names,
            self.worst_waits.into_vec(),
            self.worst_locks.into_vec(),
            self.worst_rounds.into_vec(),
            [&self.totals, &self.lock_totals],
            rounds,
        )
    }

    fn thread(&mut self, task: TaskId) -> &mut Thread {
        &mut self.threads[task.index()]
    }

    /// Books what `cpu` did, also for the round of the thread there.
    fn book(&mut self, cpu: CpuId, now: Nanos) {
        if let Some(stretch) = self.waits.book(cpu, now) {
            let Stretch { task, cpu, time, slowed } = stretch;
            let thread = &mut self.threads[task.index()];
            let lost = self.waits.lost_to_cpu(cpu, time - slowed, &thread.allowed);
            thread.rounds.ran(&stretch, lost);
        }
    }

    /// A step of a thread that waits, or that is just about to.
    fn step(&mut self, task: TaskId, now: Nanos, step: Step) {
        if self.waits.is_open(task) {
            self.waits.step(task, now, step);
            return;
        }
        let pending = &mut self.thread(task).pending;
        pending.retain(|(at, _)| *at == now);
        pending.push((now, step));
    }

    fn begin(&mut self, task: TaskId, now: Nanos, start: Start, target: CpuId) {
        let thread = &mut self.threads[task.index()];
        let wait = CpuWait::new(task, thread.urgency, now, start, target);
        let pending = std::mem::take(&mut thread.pending);
        self.waits.begin(wait, thread.allowed.clone());
        for (_, step) in pending.into_iter().filter(|(at, _)| *at == now) {
            self.waits.step(task, now, step);
        }
    }

    /// `task` got `cpu`; what it waited is known once its overhead is.
    fn got_cpu(&mut self, task: TaskId, cpu: CpuId, now: Nanos) {
        let wait = self.waits.end(task, now);
        self.entering[cpu.index()] = wait.map(|wait| CpuWait { ran_on: Some(cpu), ended: true, ..wait });
    }

    fn entered(&mut self, task: TaskId, cpu: CpuId, overhead: Overhead) {
        let moved = self.thread(task).comes_to(cpu);
        let Some(mut wait) = self.entering[cpu.index()].take() else { return };
        wait.until += overhead.total();
        wait.overhead = overhead;
        wait.wanders = self.thread(task).wanders();
        self.waits.executes(cpu, wait.until);
        self.finish_wait(wait, moved);
    }

    fn finish_wait(&mut self, wait: CpuWait, moved: bool) {
        if wait.length() == 0 {
            return;
        }
        self.locks.holder_waited(&wait);
        let thread = &mut self.threads[wait.task.index()];
        thread.rounds.waited(&wait, moved);
        if thread.wanted {
            add(&mut self.totals, classify::cpu_wait(&wait), wait.length());
            self.worst_waits.offer(wait.length(), wait);
        }
    }

    fn finish_lock(&mut self, wait: LockWait) {
        let thread = &mut self.threads[wait.task.index()];
        thread.rounds.locked(&wait);
        if thread.wanted && wait.length() > 0 {
            add(&mut self.lock_totals, classify::lock_wait(&wait), wait.length());
            self.worst_locks.offer(wait.length(), wait);
        }
    }

    fn finish_round(&mut self, late: Option<Round>) {
        if let Some(round) = late.filter(|round| self.threads[round.task.index()].wanted) {
            self.worst_rounds.offer(round.late(), round);
        }
    }

    /// The thread stops to be blocked.
    fn unblocks(&mut self, task: TaskId, now: Nanos) -> Option<WaitReason> {
        let thread = self.thread(task);
        let (reason, since) = thread.blocked.take()?;
        thread.rounds.blocked(reason, now - since);
        Some(reason)
    }

    fn ejected(&mut self, now: Nanos) {
        for task in self.waits.ids() {
            self.waits.step(task, now, Step::Ejected);
        }
        for thread in self.threads.iter_mut().filter(|thread| thread.urgency.class == Class::Ext) {
            thread.urgency.class = Class::Fair;
        }
    }

    fn lock_detail(&mut self, now: Nanos, detail: &Detail) {
        match *detail {
            Detail::Waits { task, on, .. } => {
                let thread = self.thread(task);
                thread.blocked = Some((on, now));
                let urgency = thread.urgency;
                if let WaitReason::Object(WaitsFor::Mutex(mutex)) = on {
                    self.locks.waits(mutex, task, urgency, now);
                }
            }
            Detail::StopsSpinning { task } => self.thread(task).blocked = None,
            Detail::Locks { task, mutex } => {
                let urgency = self.thread(task).urgency;
                if let Some(wait) = self.locks.takes(mutex, task, urgency, now) {
                    self.finish_lock(wait);
                }
            }
            Detail::Unlocks { mutex, .. } => self.locks.frees(mutex, now),
            _ => {}
        }
    }
}

impl Thread {
    /// The thread comes to `cpu`; whether that is another one than before.
    fn comes_to(&mut self, cpu: CpuId) -> bool {
        let moved = self.last_cpu.replace(cpu).is_some_and(|last| last != cpu);
        let (bits, count) = self.stays;
        self.stays = (bits << 1 | u16::from(moved), (count + 1).min(STAYS));
        moved
    }

    /// Whether the thread changed its CPU at half of its latest stays or more.
    fn wanders(&self) -> bool {
        let (bits, count) = self.stays;
        count >= FEWEST_STAYS && 2 * bits.count_ones() >= count
    }
}

fn add(totals: &mut Totals, cause: Cause, time: Nanos) {
    let (count, sum) = totals.entry(cause).or_default();
    (*count, *sum) = (*count + 1, *sum + time);
}

/// Whether `name` is the thread `asked` for, or one of its kind.
fn is_asked(name: &str, asked: &str) -> bool {
    let instance =
        |rest: &str| rest.strip_prefix('-').is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    name.strip_prefix(asked).is_some_and(|rest| rest.is_empty() || instance(rest))
}

impl Observer for Recorder {
    fn wants_details(&self) -> bool {
        true
    }

    fn task_new(&mut self, now: Nanos, task: &TaskInfo) {
        debug_assert_eq!(self.threads.len(), task.id.index(), "threads are numbered as they come");
        self.names.add(&task.name);
        self.threads.push(Thread {
            wanted: self.only.as_ref().is_none_or(|only| is_asked(&task.name, only)),
            born: now,
            urgency: Urgency { priority: task.priority, ..Urgency::default() },
            allowed: None,
            blocked: None,
            last_cpu: None,
            stays: (0, 0),
            pending: Vec::new(),
            rounds: Rounds::new(task.id, now),
        });
    }

    fn sched_switch(&mut self, now: Nanos, cpu: CpuId, prev: Option<(TaskId, PrevState)>, next: Option<TaskId>) {
        self.now = now;
        self.book(cpu, now);
        // What was charged to a thread that lost its CPU at once.
        self.entering[cpu.index()] = None;
        let running = next.map(|task| (task, self.threads[task.index()].urgency));
        self.waits.runs(cpu, now, running);
        match prev {
            Some((task, PrevState::Runnable)) => self.begin(task, now, Start::Displaced { by: next, cpu }, cpu),
            Some((task, PrevState::Dead)) => self.thread(task).rounds.leave(),
            Some((_, PrevState::Sleeping)) | None => {}
        }
        if let Some(task) = next {
            self.got_cpu(task, cpu, now);
        }
    }

    fn sched_wakeup(&mut self, now: Nanos, task: TaskId, target: CpuId, waker: CpuId) {
        self.now = now;
        let running = self.waits.cpus[waker.index()].running.map(|(task, _)| task);
        let start = match self.unblocks(task, now) {
            Some(from) => Start::Woken { by: running.filter(|_| from != WaitReason::Sleep), cpu: waker, from },
            None => Start::New { by: running.filter(|_| self.threads[task.index()].born == now), cpu: waker },
        };
        self.begin(task, now, start, target);
    }

    fn cpu_frequency(&mut self, now: Nanos, cpu: CpuId, khz: u32) {
        self.book(cpu, now);
        self.waits.clock(cpu, khz);
    }

    fn detail(&mut self, now: Nanos, detail: &Detail) {
        self.now = now;
        match *detail {
            Detail::Scheduling { task, class, priority, weight } => {
                self.thread(task).urgency = Urgency { class, priority, weight };
            }
            Detail::Affinity { task, ref allowed } => self.thread(task).allowed = allowed.clone(),
            Detail::Round { task, due, period, absolute } => {
                if let Some(cpu) = self.thread(task).last_cpu {
                    self.book(cpu, now);
                }
                let late = self.thread(task).rounds.comes_to_timer(now, (due, period, absolute));
                self.finish_round(late);
            }
            Detail::Enters { task, cpu, idle_exit, switch, cold, kernel } => {
                self.entered(task, cpu, Overhead { idle_exit, switch, cold, kernel });
            }
            Detail::Migrates { task, to, .. } if self.waits.is_open(task) => {
                self.step(task, now, Step::Migrated { to })
            }
            Detail::Callback { name: "select_cpu", task: Some(task), result, .. } => {
                self.step(task, now, Step::SelectCpu { chosen: result });
            }
            Detail::Callback { name: "enqueue", task: Some(task), .. } => self.step(task, now, Step::Enqueue),
            Detail::Queued { task, queue, depth, by } => self.step(task, now, Step::Queued { queue, depth, by }),
            Detail::Throttled { task, throttled } => self.waits.throttled(task, now, throttled),
            Detail::Held { task } => self.step(task, now, Step::Held),
            Detail::Ejected { .. } => self.ejected(now),
            _ => self.lock_detail(now, detail),
        }
    }
}
