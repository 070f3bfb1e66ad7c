// SPDX-License-Identifier: MIT OR Apache-2.0
//! Context switches: which thread leaves a CPU, which one comes, and what that costs.

use super::Engine;
use super::events::Event;
use crate::kernel::paths::EXT_SWITCH;
use crate::kernel::switching::Switching;
use crate::kernel::task::TaskState;
use crate::observer::PrevState;
use crate::observer::detail::Detail;
use crate::sched::core::Switch;
use crate::units::{CpuId, TaskId};

impl Engine<'_> {
    /// A context switch, as the scheduler decided it.
    pub(super) fn switch(&mut self, switch: Switch) {
        let Switch { cpu, prev, next } = switch;
        self.outcome.switches += 1;
        self.account(cpu);
        self.show_before_switch();
        let left = prev.map(|task| (task, self.leave(cpu, task)));
        self.observer.sched_switch(self.agenda.now(), cpu, left, next);
        // The cost of choosing a thread is not the fault of the thread that left, and delays the one that comes.
        if next.is_some() && self.sched.kernel.switching == Switching::All {
            self.sched.kernel.executes(cpu, EXT_SWITCH);
        }
        self.charge_callbacks();
        self.charge_paths();
        match next {
            Some(task) => self.enter(cpu, task, prev.is_none()),
            None => {
                self.running[cpu].task = None;
                self.agenda.cancel(Event::Run(cpu));
                self.agenda.cancel(Event::Tick(cpu));
                if self.sched.kernel.paths.take_time {
                    self.running[cpu].idle_kernel = self.running[cpu].start.saturating_sub(self.agenda.now());
                }
                self.enter_idle(cpu);
                self.show_utilisation(cpu);
            }
        }
        if let Some((task, PrevState::Runnable)) = left {
            self.show_run_queue(task);
        }
        self.count(cpu);
    }

    /// `task` loses `cpu`.
    fn leave(&mut self, cpu: CpuId, task: TaskId) -> PrevState {
        let now = self.agenda.now();
        self.running.leave(cpu, task, &mut self.threads, now);
        match self.sched.kernel.task(task).state {
            TaskState::Dead => PrevState::Dead,
            TaskState::Blocked => {
                self.threads[task].brought = 0.0;
                PrevState::Sleeping
            }
            TaskState::New | TaskState::Runnable => {
                self.threads[task].runnable_since = now;
                PrevState::Runnable
            }
        }
    }

    /// `task` gets `cpu`: after what waking the CPU and switching to it cost, it goes on.
    fn enter(&mut self, cpu: CpuId, task: TaskId, from_idle: bool) {
        let latency = if from_idle {
            self.pay_idle_kernel(cpu);
            self.hardware.called_in(cpu, self.running[cpu].called_at.saturating_sub(self.agenda.now()));
            self.leave_idle(cpu)
        } else {
            0
        };
        let (mut switch, cold) = self.running.switch_cost(cpu, task, &self.threads, &self.sched.kernel);
        if self.sched.kernel.paths.take_time {
            switch = self.switch_without_wake_up(cpu, task, switch);
        }
        self.refilled(cpu, task);
        let running = &mut self.running[cpu];
        // A preemption that comes while the CPU still wakes up, switches or ticks waits until that is done.
        let before = running.start.max(self.agenda.now());
        let kernel = before - self.agenda.now();
        let overhead = kernel + latency + switch + cold;
        self.show(|| Detail::Enters { task, cpu, idle_exit: latency, switch, cold, kernel });
        let thread = &mut self.threads[task];
        thread.stats.switches += 1;
        thread.stats.wait_time += self.agenda.now() - thread.runnable_since;
        if let Some(woken) = thread.woken_at.take() {
            thread.stats.latencies.add(self.agenda.now() + overhead - woken);
        }
        thread.last_cpu = Some(cpu);
        let running = &mut self.running[cpu];
        (running.task, running.since, running.start, running.cold) =
            (Some(task), self.agenda.now(), self.agenda.now() + overhead, cold);
        if from_idle {
            self.agenda.set_tick(cpu);
            self.tick_nohz_full_update_tick(cpu);
        }
        self.recheck_spin(task);
        self.begin(cpu);
    }
}
