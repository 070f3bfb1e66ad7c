// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that wait for a CPU, and what CPUs do meanwhile.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::record::{CpuWait, Idle, Ran, Step, Urgency, add_idle, add_ran};
use crate::machine::Machine;
use crate::observer::detail::Queue;
use crate::units::{CAPACITY_SCALE, CpuId, Nanos, TaskId};

/// CPUs that a thread may use, ascending; `None`: all.
pub type Allowed = Option<Arc<[CpuId]>>;

/// Whether a thread may use `cpu`.
pub fn may_use(allowed: &Allowed, cpu: CpuId) -> bool {
    allowed.as_ref().is_none_or(|cpus| cpus.binary_search(&cpu).is_ok())
}

/// What a CPU does now.
#[derive(Debug)]
pub struct CpuNow {
    /// The thread that has the CPU, with its urgency; `None`: the CPU idles.
    pub running: Option<(TaskId, Urgency)>,
    /// Up to when that is booked.
    since: Nanos,
    /// From when on the thread executes: after the overhead of the switch.
    executes: Nanos,
    khz: u32,
    top_khz: u32,
    capacity: u32,
    online: bool,
}

/// A stretch of a thread's execution.
#[derive(Debug, Clone, Copy)]
pub struct Stretch {
    /// The thread.
    pub task: TaskId,
    /// The CPU.
    pub cpu: CpuId,
    /// How long it executed.
    pub time: Nanos,
    /// The part that the highest clock would have saved.
    pub slowed: Nanos,
}

/// Where a thread waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// For one CPU.
    Cpu(CpuId),
    /// For any that it may use.
    Any,
}

/// A wait that goes on.
#[derive(Debug)]
struct Open {
    wait: CpuWait,
    allowed: Allowed,
    place: Place,
    /// Since when it is there.
    placed: Nanos,
    /// Since when the thread is in no queue.
    held_since: Option<Nanos>,
    /// Since when the limit of its group keeps it from running.
    throttled_since: Option<Nanos>,
}

/// All waits for a CPU that go on.
#[derive(Debug)]
pub struct Waits {
    /// CPUs, by [`CpuId`].
    pub cpus: Vec<CpuNow>,
    /// Waits, by [`TaskId`].
    open: Vec<Option<Box<Open>>>,
    /// Threads that wait.
    ids: BTreeSet<TaskId>,
    /// Threads that wait for one CPU, by CPU.
    local: Vec<Vec<TaskId>>,
    /// Threads that wait for any CPU.
    shared: Vec<TaskId>,
}

impl CpuNow {
    /// A span of what runs here, at its present clock; the part that the highest clock would have saved.
    fn slowed(&self, time: Nanos) -> Nanos {
        let saved = self.top_khz.saturating_sub(self.khz);
        (u128::from(time) * u128::from(saved) / u128::from(self.top_khz.max(1))) as Nanos
    }
}

impl Open {
    /// Adds a span that somebody ran on `cpu`, up to `now`.
    fn add_run(&mut self, cpu: &CpuNow, now: Nanos) {
        let time = now - cpu.since.max(self.placed).min(now);
        if let Some((task, urgency)) = cpu.running.filter(|_| time > 0) {
            add_ran(&mut self.wait.ran, Ran { task, urgency, time, slowed: cpu.slowed(time) });
        }
    }

    /// Adds a span that CPU `id` idled, up to `now`.
    fn add_idle(&mut self, id: CpuId, cpu: &CpuNow, now: Nanos) {
        let first = cpu.since.max(self.wait.since).min(now);
        if now > first {
            let allowed = may_use(&self.allowed, id);
            add_idle(&mut self.wait.idle, Idle { cpu: id, time: now - first, first, allowed });
        }
    }
}

impl Waits {
    /// Nothing runs on `machine`.
    pub fn new(machine: &Machine) -> Self {
        let cpu = |cpu: &crate::machine::Cpu| {
            let domain = &machine.performance_domains[cpu.performance_domain.index()];
            let top_khz = domain.opps[domain.max_opp].khz;
            // What the CPU does, not what its kernel has of it.
            let (capacity, online) = (cpu.speed, cpu.online);
            CpuNow { running: None, since: 0, executes: 0, khz: top_khz, top_khz, capacity, online }
        };
        Self {
            cpus: machine.cpus.iter().map(cpu).collect(),
            open: Vec::new(),
            ids: BTreeSet::new(),
            local: vec![Vec::new(); machine.cpus.len()],
            shared: Vec::new(),
        }
    }

    /// Books what `cpu` did up to `now` for all that wait, and returns what the thread there executed.
    pub fn book(&mut self, cpu: CpuId, now: Nanos) -> Option<Stretch> {
        let state = &self.cpus[cpu.index()];
        if state.since == now {
            return None;
        }
        let stretch = match state.running {
            Some((task, _)) => {
                self.book_run(cpu, now);
                let time = now - state_from(&self.cpus[cpu.index()]).min(now);
                (time > 0).then(|| Stretch { task, cpu, time, slowed: self.cpus[cpu.index()].slowed(time) })
            }
            None => {
                self.book_idle(cpu, now);
                None
            }
        };
        self.cpus[cpu.index()].since = now;
        stretch
    }

    fn book_run(&mut self, cpu: CpuId, now: Nanos) {
        let state = &self.cpus[cpu.index()];
        for task in self.local[cpu.index()].iter().chain(&self.shared) {
            let Some(open) = &mut self.open[task.index()] else { continue };
            if may_use(&open.allowed, cpu) {
                open.add_run(state, now);
            }
        }
    }

    fn book_idle(&mut self, cpu: CpuId, now: Nanos) {
        let state = &self.cpus[cpu.index()];
        if !state.online {
            return;
        }
        for task in &self.ids {
            if let Some(open) = &mut self.open[task.index()] {
                open.add_idle(cpu, state, now);
            }
        }
    }

    /// `cpu` runs another thread, or idles, from `now` on; what it did before was booked.
    pub fn runs(&mut self, cpu: CpuId, now: Nanos, running: Option<(TaskId, Urgency)>) {
        let state = &mut self.cpus[cpu.index()];
        (state.running, state.since, state.executes) = (running, now, now);
    }

    /// The thread on `cpu` executes from then on.
    pub fn executes(&mut self, cpu: CpuId, from: Nanos) {
        self.cpus[cpu.index()].executes = from;
    }

    /// `cpu` has another clock; what it did before was booked.
    pub fn clock(&mut self, cpu: CpuId, khz: u32) {
        self.cpus[cpu.index()].khz = khz;
    }

    /// The part of `time` at the highest clock of `cpu` that the fastest CPU which a thread may use would have saved.
    pub fn lost_to_cpu(&self, cpu: CpuId, time: Nanos, allowed: &Allowed) -> Nanos {
        let capacity = |index: usize| self.cpus[index].capacity;
        let own = capacity(cpu.index());
        if u64::from(own) >= CAPACITY_SCALE {
            return 0;
        }
        let usable =
            (0..self.cpus.len()).filter(|index| self.cpus[*index].online && may_use(allowed, CpuId::at(*index)));
        let best = usable.map(capacity).max().unwrap_or(own).max(1);
        (u128::from(time) * u128::from(best.saturating_sub(own)) / u128::from(best)) as Nanos
    }

    /// A wait begins.
    pub fn begin(&mut self, mut wait: CpuWait, allowed: Allowed) {
        let (task, target, now) = (wait.task, wait.target, wait.since);
        if self.open.len() <= task.index() {
            self.open.resize_with(task.index() + 1, || None);
        }
        wait.first_runner = self.cpus[target.index()].running.map(|(task, _)| task);
        self.ids.insert(task);
        self.local[target.index()].push(task);
        let open =
            Open { wait, allowed, place: Place::Cpu(target), placed: now, held_since: None, throttled_since: None };
        self.open[task.index()] = Some(Box::new(open));
    }

    /// Whether `task` waits for a CPU.
    pub fn is_open(&self, task: TaskId) -> bool {
        self.open.get(task.index()).is_some_and(Option::is_some)
    }

    /// Adds a step to the wait of `task`, which may bring it to another place.
    pub fn step(&mut self, task: TaskId, now: Nanos, step: Step) {
        let Some(open) = self.open.get_mut(task.index()).and_then(Option::as_mut) else { return };
        if matches!(step, Step::Migrated { to } if open.place == Place::Cpu(to)) {
            return;
        }
        open.wait.steps.add(now, step);
        if let Step::Queued { .. } = step {
            open.wait.held += open.held_since.take().map_or(0, |since| now - since);
        }
        match step {
            Step::Queued { queue: Queue::RunQueue(cpu) | Queue::Local(cpu), .. } => {
                self.place(task, now, Place::Cpu(cpu))
            }
            Step::Migrated { to } if open.place != Place::Any => self.place(task, now, Place::Cpu(to)),
            Step::Queued { queue: Queue::Global(_) | Queue::User(_), .. } => self.place(task, now, Place::Any),
            Step::Held => {
                open.held_since.get_or_insert(now);
                self.place(task, now, Place::Any);
            }
            Step::Ejected => open.wait.ejected = true,
            Step::Migrated { .. } | Step::SelectCpu { .. } | Step::Enqueue => {}
        }
    }

    /// The limit of its group keeps `task` from running from now on, or no longer.
    pub fn throttled(&mut self, task: TaskId, now: Nanos, throttled: bool) {
        let Some(open) = self.open.get_mut(task.index()).and_then(Option::as_mut) else { return };
        let since = std::mem::replace(&mut open.throttled_since, throttled.then_some(now));
        open.wait.throttled += since.map_or(0, |since| now - since);
    }

    fn place(&mut self, task: TaskId, now: Nanos, place: Place) {
        let Some(open) = &mut self.open[task.index()] else { return };
        if open.place == place {
            return;
        }
        add_runs(&self.cpus, open, now);
        let before = std::mem::replace(&mut open.place, place);
        open.placed = now;
        self.leave(task, before);
        match place {
            Place::Cpu(cpu) => self.local[cpu.index()].push(task),
            Place::Any => self.shared.push(task),
        }
    }

    fn leave(&mut self, task: TaskId, place: Place) {
        let list = match place {
            Place::Cpu(cpu) => &mut self.local[cpu.index()],
            Place::Any => &mut self.shared,
        };
        list.retain(|waiting| *waiting != task);
    }

    /// The wait of `task` is over at `now`, but for overhead.
    pub fn end(&mut self, task: TaskId, now: Nanos) -> Option<CpuWait> {
        let mut open = self.open.get_mut(task.index())?.take()?;
        self.ids.remove(&task);
        self.leave(task, open.place);
        if now > open.wait.since {
            add_runs(&self.cpus, &mut open, now);
            let idle = self.cpus.iter().enumerate().filter(|(_, cpu)| cpu.running.is_none() && cpu.online);
            for (index, cpu) in idle {
                open.add_idle(CpuId::at(index), cpu, now);
            }
        }
        open.wait.held += open.held_since.map_or(0, |since| now - since);
        open.wait.throttled += open.throttled_since.map_or(0, |since| now - since);
        open.wait.until = now;
        Some(open.wait)
    }

    /// Threads that wait, ascending.
    pub fn ids(&self) -> Vec<TaskId> {
        self.ids.iter().copied().collect()
    }
}

/// From when on the thread on a CPU executed what is not booked yet.
fn state_from(cpu: &CpuNow) -> Nanos {
    cpu.since.max(cpu.executes)
}

/// Adds what runs now where a thread waits.
fn add_runs(cpus: &[CpuNow], open: &mut Open, now: Nanos) {
    match open.place {
        Place::Cpu(cpu) => open.add_run(&cpus[cpu.index()], now),
        Place::Any => {
            for (index, cpu) in cpus.iter().enumerate() {
                if may_use(&open.allowed, CpuId::at(index)) {
                    open.add_run(cpu, now);
                }
            }
        }
    }
}
