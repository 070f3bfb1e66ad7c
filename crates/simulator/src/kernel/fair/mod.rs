// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fair class: EEVDF as in Linux 6.12 (`kernel/sched/fair.c`), with the kernel's names.
//!
//! - `class`: the class's hooks: enqueue, dequeue, pick, tick. Start here; this file is what they do to a queue.
//! - [`eevdf`]: one CPU's queue and which task runs next on it. [`entity`], `timeline`, `task_list`: what it is made of.
//! - `load`: utilisation and load as others ask for it. `placement`: the CPU of a waking task; `idlest`: of a new one;
//!   [`energy`]: the cheapest one on asymmetric machines.
//! - `balance`: moving queued tasks between CPUs.
//!
//! Left out: task groups (and so bandwidth control, group weights), NUMA balancing, buddies, asymmetric packing (see
//! `topology`), core scheduling, thermal and interrupt pressure. A machine that runs several cgroups with different
//! weights could tell the difference, or one whose tasks' memory lies on another node than they do.
//!
//! Simpler than Linux, and what could tell:
//! - A wakeup is queued on its CPU at once, without an interrupt to that CPU or `ttwu_queue`'s list: waits of a few
//!   microseconds between caches.
//! - An idle CPU counts as one whose tick is off from its first moment on: the load of CPUs that sleep for less than a
//!   tick is aged a little more often.
//! - Utilisation clamps of an empty queue are none, where the kernel keeps the last task's `util_max` until the next one
//!   comes: frequency and overutilisation between the two.
//! - Virtual times are compared with saturation where the kernel's 64 bits would wrap: queues of 100,000 tasks that all
//!   ask for slices of 100 ms.

mod balance;
mod class;
pub mod eevdf;
pub mod energy;
pub mod entity;
mod idlest;
mod load;
mod placement;
mod task_list;
mod timeline;

use crate::kernel::Kernel;
use crate::kernel::pelt::Activity;
use crate::kernel::task::{ClassId, Task};
use crate::machine::Machine;
use crate::units::{CpuId, MSEC, Nanos, TaskId};
use crate::workload::Policy;
use balance::BalanceState;
use eevdf::{CfsRq, Features};
use energy::EnergyModel;
use entity::SchedEntity;

/// The fair class of all CPUs.
#[derive(Debug)]
pub struct Fair {
    /// By [`TaskId`].
    entities: Vec<SchedEntity>,
    /// By [`CpuId`].
    cfs: Vec<CfsRq>,
    features: Features,
    balance: BalanceState,
    /// Per last-level cache: a core may be idle (`has_idle_cores`).
    idle_cores: Vec<bool>,
    /// Per last-level cache: CPUs worth scanning for an idle one (`nr_idle_scan`).
    nr_idle_scan: Vec<u32>,
    /// Where energy-aware placement is possible.
    energy: Option<EnergyModel>,
    /// `rd->overutilized`: some CPU's tasks do not fit it, so energy-aware placement pauses.
    overutilized: bool,
    /// Whether any task ever asked for utilisation clamps (`uclamp_is_used`).
    uclamp_used: bool,
    /// Whether any task ever was `SCHED_IDLE`.
    idle_policy_used: bool,
}

impl Fair {
    /// The class on `kernel`'s CPUs; with an energy model, placement is energy-aware.
    pub fn new(kernel: &Kernel, energy: Option<EnergyModel>) -> Self {
        let llcs = &kernel.topology.llcs;
        Self {
            entities: Vec::new(),
            cfs: (0..kernel.topology.nr_cpus).map(|_| CfsRq::default()).collect(),
            features: Features {
                place_lag: kernel.params.place_lag,
                run_to_parity: kernel.params.run_to_parity,
                tick: kernel.params.tick(),
                base_slice: kernel.params.base_slice_on(kernel.topology.online.weight()),
            },
            balance: BalanceState::new(kernel),
            idle_cores: vec![true; llcs.len()],
            nr_idle_scan: llcs.iter().map(|llc| llc.cpus.len() as u32).collect(),
            energy,
            overutilized: false,
            uclamp_used: false,
            idle_policy_used: false,
        }
    }

    /// The scheduling domains are new ones: other CPUs are online.
    pub fn rebuild_sched_domains(&mut self, kernel: &Kernel, machine: &Machine) {
        if self.energy.is_some() {
            self.energy = Some(EnergyModel::with_online(machine, &kernel.topology.online));
        }
        let llcs = &kernel.topology.llcs;
        self.balance.rebuild(kernel);
        self.idle_cores = vec![true; llcs.len()];
        self.nr_idle_scan = llcs.iter().map(|llc| llc.cpus.len() as u32).collect();
    }

    /// The queue of `cpu`.
    pub fn queue(&self, cpu: CpuId) -> &CfsRq {
        &self.cfs[cpu.index()]
    }

    /// The tasks queued on `cpu`, the running one and those that sleep there still included.
    pub fn queued_on(&self, cpu: CpuId) -> impl Iterator<Item = TaskId> + '_ {
        self.cfs[cpu.index()].tasks.iter_reverse(&self.entities)
    }

    /// Whether `task` sleeps but stands on its queue still (`sched_delayed`).
    pub fn is_delayed(&self, task: TaskId) -> bool {
        self.entities[task.index()].sched_delayed
    }

    /// Asserts that the sums of each queue are those of its tasks.
    pub fn audit(&self) {
        for cfs in &self.cfs {
            let tasks: Vec<TaskId> = cfs.tasks.iter_reverse(&self.entities).collect();
            let runnable = tasks.iter().filter(|task| !self.is_delayed(**task)).count();
            assert_eq!((cfs.nr_queued as usize, cfs.nr_runnable as usize), (tasks.len(), runnable), "a fair queue");
            cfs.audit(&self.entities, &tasks);
        }
    }

    /// The running task of `cpu`, its weight, since when it runs (the number of the entry into the queue that it was last
    /// taken from), and how far its virtual time has come.
    pub fn virtual_time(&self, cpu: CpuId) -> Option<((TaskId, u32, u64), i64)> {
        let curr = self.cfs[cpu.index()].curr?;
        let entity = &self.entities[curr.index()];
        Some(((curr, entity.weight, entity.sequence), entity.vruntime))
    }

    /// Takes over a changed weight, slice or policy of a task that is not queued (`reweight_entity`).
    pub fn reweight(&mut self, kernel: &Kernel, task: TaskId) {
        let from = kernel.task(task);
        self.note_features(from);
        let entity = &mut self.entities[task.index()];
        if entity.weight != from.weight && from.weight != 0 {
            if entity.avg.is_attached() {
                let queue = &mut self.cfs[from.cpu.index()].avg;
                queue.reweight_entity(&mut entity.avg, u64::from(entity.weight), u64::from(from.weight));
            } else {
                entity.avg.reweight_detached(u64::from(from.weight));
            }
            entity.vlag = entity.vlag * i64::from(entity.weight) / i64::from(from.weight);
            entity.weight = from.weight;
        }
        entity.idle = from.idle_policy;
        if from.class == ClassId::Fair {
            let slice = custom_slice(from.scheduling.policy);
            entity.custom_slice = slice.is_some();
            entity.slice = slice.unwrap_or(self.features.base_slice);
        }
    }

    /// Remembers what `task` makes worth looking at from now on.
    fn note_features(&mut self, task: &Task) {
        self.uclamp_used |= task.scheduling.util_min.is_some() || task.scheduling.util_max.is_some();
        self.idle_policy_used |= task.idle_policy;
    }

    /// A task leaves the class for ever or for another one: its load goes with it (`detach_task_cfs_rq`).
    pub fn detach(&mut self, kernel: &mut Kernel, task: TaskId) {
        let cpu = kernel.task(task).cpu;
        if self.entities[task.index()].avg.is_attached() {
            self.update_load_avg(kernel, cpu, None);
            let entity = &mut self.entities[task.index()];
            self.cfs[cpu.index()].avg.remove_entity(&mut entity.avg, u64::from(entity.weight));
        }
    }

    /// The core of `cpu` may have become idle (`update_idle_core`).
    pub fn update_idle_core(&mut self, kernel: &Kernel, cpu: CpuId) {
        if kernel.topology.smt_active && kernel.is_core_idle(cpu) {
            self.idle_cores[kernel.topology.llc_of[cpu.index()] as usize] = true;
        }
    }

    /// Accounts the running entity up to now (`update_curr`); reschedules when its request is used up.
    pub fn update_curr(&mut self, kernel: &mut Kernel, cpu: CpuId) {
        let cfs = &mut self.cfs[cpu.index()];
        let Some(curr) = cfs.curr else { return };
        let entity = &mut self.entities[curr.index()];
        let delta = kernel.now - entity.exec_start;
        if delta == 0 {
            return;
        }
        entity.exec_start = kernel.now;
        entity.vruntime += entity.calc_delta_fair(delta);
        let used_up = cfs.update_deadline(&mut self.entities, curr, self.features.base_slice);
        if cfs.nr_queued == 1 {
            return;
        }
        if used_up || self.did_preempt_short(cpu, curr) {
            kernel.resched_curr(cpu);
        }
    }

    /// A shorter slice took away the protection of the current one, which has run past its due.
    fn did_preempt_short(&self, cpu: CpuId, curr: TaskId) -> bool {
        !self.entities[curr.index()].protect_slice() && !self.cfs[cpu.index()].eligible(&self.entities, curr)
    }

    /// `do_preempt_short`: `task` asks for a shorter slice than `curr` and is owed service.
    fn do_preempt_short(&self, cpu: CpuId, task: TaskId, curr: TaskId) -> bool {
        let cfs = &self.cfs[cpu.index()];
        let (woken, running) = (&self.entities[task.index()], &self.entities[curr.index()]);
        woken.slice < running.slice
            && cfs.eligible(&self.entities, task)
            && (woken.deadline < running.deadline || !cfs.eligible(&self.entities, curr))
    }

    /// Brings the load of `cpu`, and of `task` on it, to now (`update_load_avg`).
    fn update_load_avg(&mut self, kernel: &mut Kernel, cpu: CpuId, task: Option<TaskId>) {
        kernel.update_rq_clock(cpu);
        let now = kernel.rq(cpu).clock.now();
        let cfs = &mut self.cfs[cpu.index()];
        if let Some(task) = task {
            let entity = &mut self.entities[task.index()];
            let activity = match (entity.on_rq, entity.sched_delayed) {
                (false, _) => Activity::Blocked,
                (true, true) => Activity::Delayed,
                (true, false) if cfs.curr == Some(task) => Activity::Running,
                (true, false) => Activity::Queued,
            };
            if entity.avg.is_attached() {
                entity.avg.update_load_avg_se(now, u64::from(entity.weight), activity);
            }
        }
        let running = cfs.curr.is_some();
        if cfs.avg.update_load_avg_cfs_rq(now, cfs.load_weight, u64::from(cfs.nr_runnable), running) {
            kernel.cpufreq_update_util(cpu);
        }
    }

    /// Adds `task`, about to be queued on `cpu`, to the load there (`attach_entity_load_avg`).
    fn attach_entity_load_avg(&mut self, kernel: &mut Kernel, cpu: CpuId, task: TaskId) {
        let entity = &mut self.entities[task.index()];
        if entity.avg.is_attached() {
            return;
        }
        self.cfs[cpu.index()].avg.attach_entity(&mut entity.avg, u64::from(entity.weight));
        kernel.cpufreq_update_util(cpu);
    }

    fn enqueue_entity(&mut self, kernel: &mut Kernel, cpu: CpuId, task: TaskId, initial: bool) {
        self.update_curr(kernel, cpu);
        self.update_load_avg(kernel, cpu, Some(task));
        self.attach_entity_load_avg(kernel, cpu, task);
        let cfs = &mut self.cfs[cpu.index()];
        cfs.place_entity(&mut self.entities, task, initial, self.features);
        cfs.enqueue(&mut self.entities, task);
        cfs.tasks.add(&mut self.entities, task);
        let entity = &mut self.entities[task.index()];
        entity.on_rq = true;
        cfs.load_weight += u64::from(entity.weight);
        cfs.nr_queued += 1;
    }

    /// Takes an entity off for good; its load is up to date.
    fn dequeue_entity(&mut self, kernel: &mut Kernel, cpu: CpuId, task: TaskId, sleep: bool) {
        self.update_load_avg(kernel, cpu, Some(task));
        let cfs = &mut self.cfs[cpu.index()];
        cfs.update_entity_lag(&mut self.entities, task, self.features.tick);
        // The timeline finds an entity by its deadline: out of it first, then change the deadline.
        if cfs.curr != Some(task) {
            cfs.dequeue(&mut self.entities, task);
        }
        cfs.tasks.del(&mut self.entities, task);
        let entity = &mut self.entities[task.index()];
        if !sleep {
            entity.deadline -= entity.vruntime;
            entity.rel_deadline = true;
        }
        entity.on_rq = false;
        cfs.load_weight -= u64::from(entity.weight);
        cfs.nr_queued -= 1;
        cfs.nr_idle_policy -= u32::from(entity.idle);
        if !entity.sched_delayed {
            cfs.nr_runnable -= 1;
        } else if sleep {
            // DELAY_ZERO: what it still was owed lapsed while it slept. (Moved to another queue, it stays delayed.)
            entity.sched_delayed = false;
            entity.vlag = entity.vlag.min(0);
        }
    }

    /// A picked entity turns out to sleep: it has paid its debt and leaves now.
    fn finish_delayed_dequeue(&mut self, kernel: &mut Kernel, cpu: CpuId, task: TaskId) {
        self.dequeue_entity(kernel, cpu, task, true);
        kernel.sub_nr_running(cpu, 1);
    }

    /// A sleeping task leaves the class: if it still stands on its queue, it must leave that now.
    pub fn finish_delayed(&mut self, kernel: &mut Kernel, task: TaskId) {
        if self.entities[task.index()].sched_delayed {
            self.finish_delayed_dequeue(kernel, kernel.task(task).cpu, task);
        }
    }

    fn set_delayed(&mut self, cpu: CpuId, task: TaskId) {
        self.entities[task.index()].sched_delayed = true;
        self.cfs[cpu.index()].nr_runnable -= 1;
    }
}

/// The slice that a policy asks for, within the kernel's limits (`__setparam_fair`).
fn custom_slice(policy: Policy) -> Option<Nanos> {
    match policy {
        Policy::Other { slice, .. } => slice.map(|slice| slice.clamp(MSEC / 10, 100 * MSEC)),
        Policy::Batch { .. }
        | Policy::Idle
        | Policy::Ext { .. }
        | Policy::Fifo { .. }
        | Policy::RoundRobin { .. }
        | Policy::Deadline { .. } => None,
    }
}
