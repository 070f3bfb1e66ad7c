// SPDX-License-Identifier: MIT OR Apache-2.0
//! Context switches: who leaves a CPU, who comes, and what it costs.

use super::Engine;
use super::events::Event;
use super::thread::Segment;
use crate::kernel::task::TaskState;
use crate::observer::PrevState;
use crate::sched::core::Switch;
use crate::units::{CpuId, Nanos, TaskId};

impl Engine<'_> {
    /// A context switch, as the scheduler decided it.
    pub(super) fn switch(&mut self, switch: Switch) {
        let Switch { cpu, prev, next } = switch;
        self.outcome.switches += 1;
        self.account(cpu);
        let left = prev.map(|task| (task, self.leave(cpu, task)));
        self.observer.sched_switch(self.agenda.now(), cpu, left, next);
        // What it cost to choose who comes is not the fault of who left, and delays who comes.
        self.charge_callbacks();
        match next {
            Some(task) => self.enter(cpu, task, prev.is_none()),
            None => {
                self.running[cpu.index()].task = None;
                self.agenda.cancel(Event::Run(cpu));
                self.agenda.cancel(Event::Tick(cpu));
                self.enter_idle(cpu);
            }
        }
        self.count(cpu);
    }

    /// `task` loses `cpu`.
    fn leave(&mut self, cpu: CpuId, task: TaskId) -> PrevState {
        self.stop_using_memory(cpu);
        let running = &mut self.running[cpu.index()];
        running.last_task = Some(task);
        // Its own caches it must still warm up when it is back; the rest of the overhead is the CPU's.
        // Cut off just as it was about to get on, a nanosecond stays, or the next stay would cost the whole again.
        let unpaid = running.start.checked_sub(self.agenda.now()).map_or(0, |unpaid| unpaid.max(1));
        let cold = running.cold.min(unpaid);
        running.start -= cold.min(running.start.saturating_sub(self.agenda.now()));
        self.threads[task].cold = cold;
        match self.sched.kernel.task(task).state {
            TaskState::Dead => PrevState::Dead,
            TaskState::Blocked => PrevState::Sleeping,
            TaskState::New | TaskState::Runnable => {
                self.threads[task].runnable_since = self.agenda.now();
                PrevState::Runnable
            }
        }
    }

    /// `task` gets `cpu`: after what waking the CPU and switching to it cost, it goes on.
    fn enter(&mut self, cpu: CpuId, task: TaskId, from_idle: bool) {
        let latency = if from_idle { self.leave_idle(cpu) } else { 0 };
        let (switch, cold) = self.switch_cost(cpu, task);
        let running = &mut self.running[cpu.index()];
        // Who preempts before the CPU is through with waking, switching or its tick waits for that, too.
        let before = running.start.max(self.agenda.now());
        let overhead = (before - self.agenda.now()) + latency + switch + cold;
        let thread = &mut self.threads[task];
        thread.stats.switches += 1;
        thread.stats.wait_time += self.agenda.now() - thread.runnable_since;
        if let Some(woken) = thread.woken_at.take() {
            thread.stats.latencies.add(self.agenda.now() + overhead - woken);
        }
        thread.last_cpu = Some(cpu);
        let running = &mut self.running[cpu.index()];
        (running.task, running.since, running.start, running.cold) =
            (Some(task), self.agenda.now(), self.agenda.now() + overhead, cold);
        if from_idle {
            self.agenda.set_tick(cpu);
        }
        self.recheck_spin(task);
        self.begin(cpu);
    }

    /// Cost of putting `task` on `cpu`: the switch itself; and cold caches after a migration, its footprint's return.
    ///
    /// A stay that ended before the caches were warm leaves the rest to the next one, which then costs nothing more: a
    /// real thread gets on, slowly, while it misses, and must not be held up for ever by slices shorter than this.
    fn switch_cost(&self, cpu: CpuId, task: TaskId) -> (Nanos, Nanos) {
        let running = &self.running[cpu.index()];
        let thread = &self.threads[task];
        let untouched = running.last_task == Some(task) && thread.last_cpu == Some(cpu);
        let switch = if untouched { 0 } else { self.machine.costs.context_switch };
        if untouched || thread.cold > 0 {
            return (switch, thread.cold);
        }
        let costs = &self.machine.costs;
        let migration = match thread.last_cpu.filter(|last| *last != cpu) {
            Some(last) if self.sched.kernel.cpus_share_cache(last, cpu) => costs.migration,
            Some(_) => costs.migration + costs.migration_llc,
            None => 0,
        };
        (switch, migration + self.refill_time(cpu, task))
    }

    /// Moves on whatever runs on `cpu`: its next step is read now, or when its overhead is over.
    pub(super) fn begin(&mut self, cpu: CpuId) {
        let Some(task) = self.running[cpu.index()].task else { return };
        self.start_using_caches(cpu, task);
        if self.threads[task].segment != Segment::None {
            self.pace_later(cpu);
            return;
        }
        self.hardware.run(cpu, self.threads.behaviour(task).activity);
        let start = self.running[cpu.index()].start;
        if start > self.agenda.now() {
            self.agenda.set(Event::Run(cpu), start);
        } else {
            self.agenda.cancel(Event::Run(cpu));
            self.to_advance.push_back(cpu);
        }
    }
}
