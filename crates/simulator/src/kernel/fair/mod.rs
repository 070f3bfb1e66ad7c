// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fair class: EEVDF as in Linux 6.12 (`kernel/sched/fair.c`), with the kernel's names.
//!
//! - `class`: the class's hooks: enqueue, dequeue, pick, tick. Start here; this file is what they do to a queue.
//! - [`eevdf`]: one CPU's queue and which task runs next on it. `protect`: for how long; `hrtick`: how its slice ends on time. [`entity`], `timeline`, `task_list`: what it is made of.
//! - `groups`: task groups, their weights and loads; `layout`: where their queues and entities stand; `hierarchy`: what comes and goes
//!   in all queues from a task's up to its CPU's.
//! - `bandwidth`: limits of groups on CPU time.
//! - `load`: utilisation and load as others ask for it. `placement`: the CPU of a waking task; `idlest`: of a new one;
//!   [`energy`]: the cheapest one on asymmetric machines.
//! - `balance`: moving queued tasks between CPUs.
//!
//! - [`numa`]: threads and the memory that they use find each other, on machines with several nodes.
//!
//! Left out: core scheduling, interrupt pressure.
//!
//! Simpler than Linux, and what could tell:
//! - Weights are whole numbers where a kernel has ten bits more: that of a group with a small part of its load on a CPU.
//! - A wakeup is queued on its CPU at once, without an interrupt to that CPU or `ttwu_queue`'s list: waits of a few
//!   microseconds between caches.
//! - An idle CPU counts as one whose tick is off from its first moment on: the load of CPUs that sleep for less than a
//!   tick is aged a little more often.
//! - Utilisation clamps of an empty queue are none, where the kernel keeps the last task's `util_max` until the next one
//!   comes: frequency and overutilisation between the two.
//! - Virtual times are compared with saturation where the kernel's 64 bits would wrap: queues of 100,000 tasks that all
//!   ask for slices of 100 ms.

mod balance;
mod bandwidth;
mod class;
pub mod eevdf;
pub mod energy;
pub mod entity;
mod groups;
mod hierarchy;
mod hrtick;
mod idlest;
mod layout;
mod load;
pub mod numa;
mod placement;
mod protect;
mod task_list;
mod timeline;

use crate::kernel::Kernel;
use crate::kernel::pelt::Activity;
use crate::kernel::release::Release;
use crate::kernel::task::{ClassId, Task};
use crate::kernel::versions::Versions;
use crate::machine::Machine;
use crate::units::{CgroupId, CpuId, MSEC, Nanos, TaskId};
use crate::workload::Policy;
use balance::BalanceState;
pub use bandwidth::BandwidthStat;
use bandwidth::Runtime;
use eevdf::{CfsRq, Features};
use energy::EnergyModel;
use entity::SchedEntity;
use groups::{GroupLoad, TaskGroup};
use hierarchy::Leave;
use hrtick::Hrticks;
use layout::{EntityId, Layout, QueueId};
use numa::Numa;

/// The fair class of all CPUs.
#[derive(Debug)]
pub struct Fair {
    layout: Layout,
    /// By [`EntityId`].
    entities: Vec<SchedEntity>,
    /// By [`QueueId`]; the first are those of the CPUs themselves.
    cfs: Vec<CfsRq>,
    /// How often the averages of the CPUs' own queues changed.
    avg_versions: Versions,
    /// By [`CgroupId`].
    groups: Vec<TaskGroup>,
    /// By the [`EntityId`] of groups.
    group_loads: Vec<GroupLoad>,
    /// What groups have of their quota on each CPU, by the [`EntityId`] of groups.
    runtimes: Vec<Runtime>,
    /// Whether some group has a limit.
    bandwidth_used: bool,
    /// Timers of groups that were set, with the CPU that each is for; the engine drains them.
    pub armed: Vec<(CpuId, Nanos)>,
    /// Per CPU: the task that was put last, and when. Groups that it shares with the next one go on.
    last_put: Vec<Option<(EntityId, Nanos)>>,
    features: Features,
    /// What the release has.
    release: &'static Release,
    /// Whether any entity ever had another slice than the base slice.
    slices_differ: bool,
    hrticks: Hrticks,
    balance: BalanceState,
    /// Per last-level cache: a core may be idle (`has_idle_cores`).
    idle_cores: Vec<bool>,
    /// Per last-level cache: CPUs worth scanning for an idle one (`nr_idle_scan`).
    nr_idle_scan: Vec<u32>,
    /// Where energy-aware placement is possible.
    energy: Option<EnergyModel>,
    /// `rd->overutilized`: some CPU's tasks do not fit it, so energy-aware placement pauses.
    overutilized: bool,
    /// Whether any task ever was `SCHED_IDLE`.
    idle_policy_used: bool,
    /// NUMA balancing, where it is on and there are several nodes (`sched_numa_balancing`).
    pub numa: Option<Box<Numa>>,
}

impl Fair {
    /// The class on `kernel`'s CPUs; with an energy model, placement is energy-aware.
    pub fn new(kernel: &mut Kernel, energy: Option<EnergyModel>) -> Self {
        let llcs = &kernel.topology.llcs;
        let nr_cpus = kernel.topology.nr_cpus;
        let layout = Layout::new(nr_cpus, kernel.cgroups.len());
        let mut fair = Self {
            layout,
            entities: Vec::new(),
            cfs: (0..layout.queues()).map(|_| CfsRq::default()).collect(),
            avg_versions: Versions::new(nr_cpus),
            groups: kernel.cgroups.all().map(TaskGroup::of).collect(),
            group_loads: layout.group_entities().map(|_| GroupLoad::default()).collect(),
            runtimes: layout.group_entities().map(|_| Runtime::default()).collect(),
            bandwidth_used: false,
            armed: Vec::new(),
            last_put: vec![None; nr_cpus],
            features: Features {
                place_lag: kernel.params.place_lag,
                run_to_parity: kernel.params.run_to_parity,
                tick: kernel.params.tick(),
                base_slice: kernel.params.base_slice_on(kernel.topology.online.weight()),
                normalized_base_slice: kernel.params.normalized_base_slice(kernel.topology.online.weight()),
            },
            release: kernel.params.release(),
            slices_differ: layout.has_groups(),
            hrticks: Hrticks::new(kernel),
            balance: BalanceState::new(kernel),
            idle_cores: vec![true; llcs.len()],
            nr_idle_scan: llcs.iter().map(|llc| llc.cpus.len() as u32).collect(),
            energy,
            overutilized: false,
            idle_policy_used: false,
            numa: None,
        };
        fair.init_tg_cfs_entries(kernel);
        fair.init_cfs_bandwidth(kernel);
        fair
    }

    /// Nobody asks about tasks and groups any more, but for what limits of groups did.
    pub fn forget_tasks(&mut self) {
        self.entities = Vec::new();
    }

    /// The scheduling domains are new ones: other CPUs are online.
    pub fn rebuild_sched_domains(&mut self, kernel: &Kernel, machine: &Machine) {
        if self.energy.is_some() {
            self.energy = EnergyModel::with_online(machine, &kernel.topology.online);
        }
        let llcs = &kernel.topology.llcs;
        self.clear_tg_offline_cfs_rqs(kernel);
        self.balance.rebuild(kernel);
        self.idle_cores = vec![true; llcs.len()];
        self.nr_idle_scan = llcs.iter().map(|llc| llc.cpus.len() as u32).collect();
    }

    /// The queue of `cpu`.
    pub fn queue(&self, cpu: CpuId) -> &CfsRq {
        &self.cfs[cpu.index()]
    }

    /// The tasks queued on `cpu` in all groups, the running one and those that sleep there still included.
    pub fn queued_on(&self, cpu: CpuId) -> impl Iterator<Item = TaskId> + '_ {
        let queued = self.cfs[cpu.index()].tasks.iter_reverse(&self.entities);
        queued.filter_map(|id| self.layout.task(id))
    }

    /// The averages of `queue` change. Whatever changes them says so; [`Fair::known_group_stats`] relies on that.
    #[inline]
    fn avg_changes(&mut self, queue: QueueId) {
        if self.layout.owner(queue).is_none() {
            self.avg_versions.change(self.layout.cpu(queue));
        }
    }

    /// What the class knows of `task`.
    #[inline]
    fn se(&self, task: TaskId) -> &SchedEntity {
        &self.entities[self.layout.entity(task).index()]
    }

    #[inline]
    fn se_mut(&mut self, task: TaskId) -> &mut SchedEntity {
        &mut self.entities[self.layout.entity(task).index()]
    }

    /// Whether `task` sleeps but stands on its queue still (`sched_delayed`).
    pub fn is_delayed(&self, task: TaskId) -> bool {
        self.se(task).sched_delayed
    }

    /// The running task of `cpu`, its group and weight, since when it runs (the number of the entry into the queue that it was
    /// last taken from), and how far its virtual time has come.
    pub fn virtual_time(&self, cpu: CpuId) -> Option<((TaskId, CgroupId, u32, u64), i64)> {
        let curr = self.current(cpu)?;
        let entity = self.se(curr);
        let group = self.layout.group(entity.queue);
        Some(((curr, group, entity.weight, entity.sequence), entity.vruntime))
    }

    /// Takes over a changed weight, slice or policy of a task that is not queued (`reweight_entity`).
    pub fn reweight(&mut self, kernel: &Kernel, task: TaskId) {
        let from = kernel.task(task);
        self.note_features(from);
        let mut attached = None;
        let entity = &mut self.entities[self.layout.entity(task).index()];
        if entity.weight != from.weight && from.weight != 0 {
            if entity.avg.is_attached() {
                attached = Some(entity.queue);
                let queue = &mut self.cfs[entity.queue.index()].avg;
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
        if let Some(queue) = attached {
            self.avg_changes(queue);
        }
    }

    /// Remembers what `task` makes worth looking at from now on.
    fn note_features(&mut self, task: &Task) {
        self.idle_policy_used |= task.idle_policy;
        self.slices_differ |= custom_slice(task.scheduling.policy).is_some();
    }

    /// A task leaves the class for ever or for another one: its load goes with it (`detach_task_cfs_rq`).
    pub fn detach(&mut self, kernel: &mut Kernel, task: TaskId) {
        let (id, cpu) = (self.layout.entity(task), kernel.task(task).cpu);
        if !self.entities[id.index()].avg.is_attached() {
            return;
        }
        let queue = self.entities[id.index()].queue;
        self.update_load_avg(kernel, cpu, queue, None);
        self.avg_changes(queue);
        let entity = &mut self.entities[id.index()];
        let avg = &mut self.cfs[queue.index()].avg;
        avg.remove_entity(&mut entity.avg, u64::from(entity.weight));
        if self.layout.owner(queue).is_some() {
            let gone = avg.removed_runnable_sum(&entity.avg);
            self.add_tg_cfs_propagate(queue, gone);
            self.propagate_entity_cfs_rq(kernel, cpu, queue);
        }
    }

    /// A sleeping task leaves the class: if it still stands on its queue, it must leave that now.
    pub fn finish_delayed(&mut self, kernel: &mut Kernel, task: TaskId) {
        if self.is_delayed(task) {
            self.dequeue_entities(kernel, kernel.task(task).cpu, self.layout.entity(task), Leave::DELAYED);
        }
    }

    /// The core of `cpu` may have become idle (`update_idle_core`).
    pub fn update_idle_core(&mut self, kernel: &Kernel, cpu: CpuId) {
        if kernel.topology.smt_active && kernel.is_core_idle(cpu) {
            self.idle_cores[kernel.topology.llc_of[cpu.index()] as usize] = true;
        }
    }

    /// Accounts the running entity of `queue` on `cpu` up to now (`update_curr`); reschedules when its request is used up.
    fn update_curr(&mut self, kernel: &mut Kernel, cpu: CpuId, queue: QueueId) {
        let cfs = &mut self.cfs[queue.index()];
        let Some(curr) = cfs.curr else { return };
        let entity = &mut self.entities[curr.index()];
        let now = kernel.rq_clock_task(cpu);
        if now <= entity.exec_start {
            return;
        }
        let delta = now - entity.exec_start;
        entity.exec_start = now;
        entity.vruntime += entity.calc_delta_fair(delta);
        let used_up = cfs.update_deadline(&mut self.entities, curr, self.features.base_slice);
        self.account_cfs_rq_runtime(kernel, queue, delta);
        if self.cfs[queue.index()].nr_queued == 1 {
            return;
        }
        if self.ends_turn(queue, curr, used_up) {
            kernel.resched_curr_lazy(cpu);
            self.cfs[queue.index()].clear_buddies(curr);
        }
    }

    /// Brings the load of `queue` on `cpu`, and of `id` in it, to now (`update_load_avg`).
    fn update_load_avg(&mut self, kernel: &mut Kernel, cpu: CpuId, queue: QueueId, id: Option<EntityId>) {
        kernel.update_rq_clock(cpu);
        let now = self.cfs_rq_clock_pelt(kernel, cpu, queue);
        if let Some(id) = id {
            self.update_load_avg_se(now, queue, id);
        }
        let cfs = &mut self.cfs[queue.index()];
        let running = cfs.curr.is_some();
        let mut changed = cfs.avg.update_load_avg_cfs_rq(now, cfs.load_weight, u64::from(cfs.nr_runnable), running);
        if self.layout.has_groups() {
            changed |= id.is_some_and(|id| self.propagate_entity_load_avg(id));
            if changed {
                self.update_tg_load_avg(kernel, queue);
            }
        }
        if changed && queue == QueueId::root(cpu) {
            self.avg_versions.change(cpu);
            kernel.cpufreq_update_util(cpu);
        }
    }

    /// Brings the load of `id` in `queue` to `now` (`__update_load_avg_se`).
    #[inline]
    fn update_load_avg_se(&mut self, now: Nanos, queue: QueueId, id: EntityId) {
        let running = self.cfs[queue.index()].curr == Some(id);
        let group = self.layout.group_cfs_rq(id).is_some();
        let entity = &mut self.entities[id.index()];
        if !entity.avg.is_attached() {
            return;
        }
        let weight = u64::from(entity.weight);
        if group {
            let runnable = if entity.sched_delayed { 0 } else { u64::from(entity.runnable_weight) };
            entity.avg.update_load_avg_group_se(now, weight, entity.on_rq, runnable, running);
            return;
        }
        let activity = match (entity.on_rq, entity.sched_delayed) {
            (false, _) => Activity::Blocked,
            (true, true) => Activity::Delayed,
            (true, false) if running => Activity::Running,
            (true, false) => Activity::Queued,
        };
        entity.avg.update_load_avg_se(now, weight, activity);
    }

    /// Adds `id`, about to be queued on `cpu`, to the load there (`attach_entity_load_avg`).
    fn attach_entity_load_avg(&mut self, kernel: &mut Kernel, cpu: CpuId, id: EntityId) {
        let entity = &mut self.entities[id.index()];
        if entity.avg.is_attached() {
            return;
        }
        let queue = entity.queue;
        self.cfs[queue.index()].avg.attach_entity(&mut entity.avg, u64::from(entity.weight));
        if queue == QueueId::root(cpu) {
            self.avg_versions.change(cpu);
            kernel.cpufreq_update_util(cpu);
            return;
        }
        let come = entity.avg.load_sum as i64;
        self.add_tg_cfs_propagate(queue, come);
        self.update_tg_load_avg(kernel, queue);
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
