// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linux's scheduling: tasks, run queues, classes, balancing, cpufreq, cpuidle, locks.
//!
//! Nothing here knows the event queue, programs or energy, nor how classes work together: the room above, `sched`, asks
//! them in order of urgency. `now` is set by the engine before each call; what the engine must do afterwards (reschedule a
//! CPU, ask a governor) is left in [`Kernel::resched`] and [`Kernel::cpufreq_updates`].
//!
//! - [`class`]: the hooks of a scheduling class. Start here. [`dl`], [`rt`] and [`fair`] are the classes, most urgent first.
//!   [`switching`]: which tasks belong to the class below them, whose decisions a loaded program makes.
//! - [`task`]: a thread as all classes see it. [`cpumask`]: sets of CPUs. [`params`]: what a run may set.
//!   [`release`]: what releases of Linux do differently. `preempt`: when a CPU reschedules.
//! - [`topology`]: scheduling domains. [`pelt`]: load tracking. [`cpufreq`], [`cpuidle`]: power policies.
//! - [`cgroup`]: the groups that tasks are in. [`sync`]: locks, barriers, conditions, semaphores.
//! - [`pmu`]: performance counters. `irq`: time that interrupts take. `pressure`: capacity that is missing because clocks are held down. `uclamp`: clamps of utilisation. `update_util`: whom governors hear. [`instant`]: how much a loaded scheduler has had done at one instant.
//!   [`paths`]: how many instructions the kernel itself takes. [`versions`]: whether sums over CPUs still hold.

pub mod cgroup;
pub mod class;
pub mod cpufreq;
pub mod cpuidle;
pub mod cpumask;
pub mod dl;
pub mod fair;
pub mod instant;
mod irq;
pub mod params;
pub mod paths;
pub mod pelt;
pub mod pmu;
mod preempt;
mod pressure;
pub mod release;
pub mod rt;
pub mod switching;
pub mod sync;
pub mod task;
pub mod topology;
mod uclamp;
mod update_util;
pub mod versions;

use std::collections::VecDeque;

use rand_pcg::Pcg32;

use crate::machine::{Cpu, Machine};
use crate::units::{CAPACITY_SCALE, CpuId, Nanos, TaskId};
use cgroup::CgroupTree;
use cpumask::CpuMask;
use instant::InstantWork;
use irq::IrqTime;
use params::KernelParameters;
use paths::Paths;
use pelt::{PeltClock, SchedAvg};
use pmu::Pmu;
use preempt::Preemption;
use switching::Switching;
use task::{ClassId, Migration, NICE_0_WEIGHT, Task};
use topology::Topology;
use update_util::UpdateUtil;
use versions::Versions;

/// What all scheduling classes share.
#[derive(Debug)]
pub struct Kernel {
    /// The current time.
    pub now: Nanos,
    /// Parameters in force.
    pub params: KernelParameters,
    /// Scheduling domains.
    pub topology: Topology,
    /// All tasks, by [`TaskId`].
    pub tasks: Vec<Task>,
    /// Run queues, by [`CpuId`].
    pub rqs: Vec<Rq>,
    /// What balancing asks of every CPU of a domain, side by side in memory: the run queues are too big to be looked
    /// through. Kept up where the originals change: `add_nr_running`, `sub_nr_running`, `update_cpu_capacity`.
    glances: Vec<Glance>,
    /// How often the copies changed, or which CPUs are idle.
    pub glance_versions: Versions,
    /// CPUs whose idle thread runs and which have nothing queued.
    pub idle: CpuMask,
    /// CPUs with more than one task.
    pub overloaded: CpuMask,
    /// Some CPU had more than one task, or one that does not fit it, when that was last looked at (`rd->overloaded`).
    pub rd_overloaded: bool,
    /// CPUs that must call `schedule`.
    pub resched: VecDeque<CpuId>,
    /// The preemption model, and what wakes a task at the moment.
    preemption: Preemption,
    /// Which CPU may change which clock, and which one is at work.
    update_util: UpdateUtil,
    /// `HRTICK`: slices of fair tasks end on time.
    pub hrtick: bool,
    /// Whether a governor wants scheduler updates; off, `cpufreq_updates` stays empty.
    pub cpufreq_hook: bool,
    /// Whether firmware chooses clocks by itself: that looks at whether CPUs are busy, whatever the scheduler has to say.
    pub firmware_watches: bool,
    /// CPUs whose utilisation changed (`cpufreq_update_util`), or that firmware sees begin or end to be busy.
    pub cpufreq_updates: Vec<CpuId>,
    /// CPUs that balancing wants a task of, running or not, and where it shall go (`active_balance`).
    pub active_balance: Vec<(CpuId, CpuId)>,
    /// Tasks that may no longer use their CPU, and where they shall go (`migration_cpu_stop`).
    pub stop_moves: Vec<(TaskId, CpuId)>,
    /// By CPU, the one that a changed affinity was last answered with (`distribute_cpu_mask_prev`), while no scheduler is loaded.
    pub distributed: Vec<u32>,
    /// CPUs that were idle, were woken, and found nothing to run; the engine drains them.
    pub idle_passes: Vec<CpuId>,
    /// Changes of tasks' CPUs, in order; the engine counts and drains them.
    pub migrated: Vec<Migration>,
    /// Real-time or deadline tasks have run: their load, their queues and the fair server matter.
    pub rt_active: bool,
    /// Deadline tasks have run.
    pub dl_active: bool,
    /// Firmware has lowered clocks and told the scheduler.
    pub hw_pressure_active: bool,
    /// CPUs whose load besides fair tasks', or missing capacity, has changed since a loaded scheduler could look.
    pub pressed: Vec<CpuId>,
    /// Some task asked for utilisation clamps (`uclamp_is_used`).
    pub uclamp_used: bool,
    /// Which tasks a loaded scheduler has.
    pub switching: Switching,
    /// A server gives its tasks a share beside real-time ones, as the fair server does (`ext_server`, 7.x).
    pub ext_server: bool,
    /// The cgroups that tasks are in.
    pub cgroups: CgroupTree,
    /// What has been done for a loaded scheduler at this instant.
    instant: InstantWork,
    /// Performance counters.
    pub pmu: Pmu,
    /// What CPUs have executed for the kernel itself; the engine drains it.
    pub paths: Paths,
    /// Random choices of the kernel itself (`sched_rng`).
    pub rng: Pcg32,
}

/// A copy of what balancing wants of a run queue.
#[derive(Debug, Clone, Copy)]
pub struct Glance {
    /// [`Rq::nr_running`].
    pub nr_running: u32,
    /// [`Rq::capacity`].
    pub capacity: u32,
    /// [`Rq::capacity_orig`].
    pub capacity_orig: u32,
}

/// A CPU's run queue (`struct rq`): what does not belong to one class.
#[derive(Debug)]
pub struct Rq {
    /// The running task; `None`: the idle thread.
    pub curr: Option<TaskId>,
    /// Runnable tasks of all classes, the running one included, delayed ones too.
    pub nr_running: u32,
    /// Runnable deadline tasks, part of `nr_running`.
    pub dl_nr_running: u32,
    /// Runnable real-time tasks, part of `nr_running`; held back or not (`rt_rq_is_runnable`).
    pub rt_nr_running: u32,
    /// Active bandwidth of deadline tasks (`cpu_bw_dl`), 1024 for all of the fastest CPU.
    pub dl_bandwidth: u64,
    /// Runnable tasks that are not fair and have utilisation clamps, in no order; kept only while `uclamp_used`.
    uclamp_others: Vec<TaskId>,
    /// Runnable tasks of a loaded sched_ext scheduler, part of `nr_running`.
    pub ext_nr_running: u32,
    /// `TIF_NEED_RESCHED`.
    pub need_resched: bool,
    /// `TIF_NEED_RESCHED_LAZY`.
    pub need_resched_lazy: bool,
    /// How far beyond [`Kernel::now`] the next pass of `__schedule` reads the clock: a tick reads it when it begins, and a
    /// switch that it asks for when it is over.
    pub clock_ahead: Nanos,
    /// Capacity at the highest OPP (`arch_scale_cpu_capacity`).
    pub capacity_orig: u32,
    /// What real-time and deadline tasks left of it when the CPU last balanced (`cpu_capacity`).
    pub capacity: u32,
    /// Highest capacity that the frequency limits allow (`get_actual_cpu_capacity`).
    pub capacity_limit: u32,
    /// The same, of the limits that hold for the whole run.
    capacity_allowed: u32,
    /// Capacity that is missing at the moment by the word of the driver whose firmware holds the clock (`hw_pressure`).
    pub hw_pressure: u32,
    /// Running average of that (`avg_hw`).
    pub avg_hw: SchedAvg,
    /// Capacity that is missing because a cooling device lowered the highest clock (`cpufreq_pressure`).
    pub cpufreq_pressure: u32,
    /// Whether the CPU is one of [`Kernel::pressed`].
    is_pressed: bool,
    /// Current clock of the highest, 0..=1024 (`arch_scale_freq_capacity`).
    pub freq_scale: u32,
    /// The clock that PELT runs on.
    pub clock: PeltClock,
    /// When `clock` was last advanced.
    pub clock_updated: Nanos,
    /// Time that interrupts took.
    irq: IrqTime,
    /// Load of interrupts.
    pub avg_irq: SchedAvg,
    /// Load of real-time tasks.
    pub avg_rt: SchedAvg,
    /// Load of deadline tasks.
    pub avg_dl: SchedAvg,
    /// When it last had nothing to do; `None`: a task has been woken there since, or balancing found one.
    pub idle_stamp: Option<Nanos>,
    /// Mean idle period (`avg_idle`).
    pub avg_idle: Nanos,
    /// Exit latency of the idle state it is in.
    pub exit_latency: Nanos,
}

impl Kernel {
    /// The kernel of `machine`, with no task yet.
    pub fn new(machine: &Machine, params: KernelParameters, rng: Pcg32) -> Self {
        let topology = Topology::of(machine);
        let rqs: Vec<Rq> = machine.cpus.iter().map(|cpu| Rq::new(machine, cpu, &params)).collect();
        let glance = |rq: &Rq| Glance { nr_running: 0, capacity: rq.capacity, capacity_orig: rq.capacity_orig };
        Self {
            glance_versions: Versions::new(topology.nr_cpus),
            glances: rqs.iter().map(glance).collect(),
            now: 0,
            idle: topology.online.clone(),
            overloaded: CpuMask::empty(topology.nr_cpus),
            rd_overloaded: false,
            tasks: Vec::new(),
            resched: VecDeque::new(),
            preemption: Preemption::new(params.is_lazy()),
            update_util: UpdateUtil::of(machine),
            hrtick: params.hrtick.unwrap_or(params.release().hrtick && !is_arm64(machine)),
            cpufreq_hook: false,
            firmware_watches: false,
            cpufreq_updates: Vec::new(),
            active_balance: Vec::new(),
            stop_moves: Vec::new(),
            distributed: vec![0; topology.nr_cpus],
            idle_passes: Vec::new(),
            migrated: Vec::new(),
            rt_active: false,
            dl_active: false,
            hw_pressure_active: false,
            pressed: Vec::new(),
            uclamp_used: false,
            switching: Switching::default(),
            ext_server: false,
            cgroups: CgroupTree::default(),
            instant: InstantWork::default(),
            pmu: Pmu::default(),
            paths: Paths::default(),
            rng,
            params,
            topology,
            rqs,
        }
    }

    /// The task `id`.
    #[inline]
    pub fn task(&self, id: TaskId) -> &Task {
        &self.tasks[id.index()]
    }

    /// `task_current`: whether `task` is the current task of its CPU.
    #[inline]
    pub fn task_current(&self, task: TaskId) -> bool {
        self.rq(self.task(task).cpu).curr == Some(task)
    }

    /// Whether `task` is tied to one CPU (`p->nr_cpus_allowed == 1`).
    pub fn nr_cpus_allowed_is_1(&self, task: TaskId) -> bool {
        let allowed = self.task(task).allowed.as_ref();
        allowed.map_or(self.topology.nr_cpus == 1, |mask| mask.weight() == 1)
    }

    /// The kernel's coarse clock: ticks since it started (`jiffies`).
    #[inline]
    pub fn jiffies(&self) -> u64 {
        self.now / self.params.tick()
    }

    /// The task `id`, to change.
    #[inline]
    pub fn task_mut(&mut self, id: TaskId) -> &mut Task {
        &mut self.tasks[id.index()]
    }

    /// `set_task_cpu`: `task` is on `cpu` from now on. A change is a migration, which is counted.
    pub fn set_task_cpu(&mut self, task: TaskId, cpu: CpuId) {
        let from = std::mem::replace(&mut self.task_mut(task).cpu, cpu);
        if from != cpu {
            self.migrated.push(Migration { task, from, to: cpu });
        }
    }

    /// The run queue of `cpu`.
    #[inline]
    pub fn rq(&self, cpu: CpuId) -> &Rq {
        &self.rqs[cpu.index()]
    }

    /// What balancing wants of the run queue of `cpu`.
    #[inline]
    pub fn glance(&self, cpu: CpuId) -> Glance {
        self.glances[cpu.index()]
    }

    /// The run queue of `cpu`, to change.
    #[inline]
    pub fn rq_mut(&mut self, cpu: CpuId) -> &mut Rq {
        &mut self.rqs[cpu.index()]
    }

    /// `rq_clock`: the clock of `cpu` where timers are set, beyond [`Kernel::now`] in a switch that a tick asked for.
    #[inline]
    pub fn rq_clock(&self, cpu: CpuId) -> Nanos {
        self.now + self.rqs[cpu.index()].clock_ahead
    }

    /// `rq_clock_task`: up to when the time of the task on `cpu` is booked, and from when on that of the next one.
    #[inline]
    pub fn rq_clock_task(&self, cpu: CpuId) -> Nanos {
        let rq = &self.rqs[cpu.index()];
        self.rq_clock(cpu) - rq.irq.elapsed(self.now)
    }

    /// `add_nr_running`.
    #[inline]
    pub fn add_nr_running(&mut self, cpu: CpuId, count: u32) {
        let rq = &mut self.rqs[cpu.index()];
        rq.nr_running += count;
        self.glances[cpu.index()].nr_running = rq.nr_running;
        self.glance_versions.change(cpu);
        if rq.nr_running >= 2 {
            self.overloaded.set(cpu);
            self.rd_overloaded = true;
        }
        self.idle.clear(cpu);
    }

    /// `cpu` is idle from now on, or no more ([`Kernel::idle`]).
    #[inline]
    pub fn set_idle(&mut self, cpu: CpuId, idle: bool) {
        if idle {
            self.idle.set(cpu);
        } else {
            self.idle.clear(cpu);
        }
        self.glance_versions.change(cpu);
    }

    /// `sub_nr_running`.
    #[inline]
    pub fn sub_nr_running(&mut self, cpu: CpuId, count: u32) {
        let rq = &mut self.rqs[cpu.index()];
        rq.nr_running -= count;
        self.glances[cpu.index()].nr_running = rq.nr_running;
        self.glance_versions.change(cpu);
        if rq.nr_running < 2 {
            self.overloaded.clear(cpu);
        }
        if rq.nr_running == 0 && rq.curr.is_none() && self.topology.online.test(cpu) {
            self.idle.set(cpu);
        }
    }

    /// `available_idle_cpu`: the idle thread runs there and nothing is queued.
    #[inline]
    pub fn idle_cpu(&self, cpu: CpuId) -> bool {
        self.idle.test(cpu)
    }

    /// The end of `ttwu_do_activate`: a wake-up ends the idle period of `cpu`, if one has begun since the last. A task that
    /// comes otherwise (new, or moved) ends none. The mean is at most twice what a migration costs.
    #[inline]
    pub fn update_avg_idle(&mut self, cpu: CpuId) {
        let (now, limit) = (self.now, 2 * self.params.migration_cost);
        let rq = &mut self.rqs[cpu.index()];
        if let Some(since) = rq.idle_stamp.take() {
            // `update_avg`
            let difference = (now - since) as i64 - rq.avg_idle as i64;
            rq.avg_idle = rq.avg_idle.saturating_add_signed(difference / 8).min(limit);
        }
    }

    /// `is_core_idle`: all siblings other than `cpu` are idle.
    pub fn is_core_idle(&self, cpu: CpuId) -> bool {
        self.topology.smt[cpu.index()].iter().all(|sibling| *sibling == cpu || self.idle_cpu(*sibling))
    }

    /// `cpu` if `task` may use it, else the first that it may, else the first there is (`select_fallback_rq`).
    pub fn usable_cpu(&self, task: TaskId, cpu: CpuId) -> CpuId {
        let task = self.task(task);
        if task.may_use(cpu) && self.topology.online.test(cpu) {
            return cpu;
        }
        let usable = self.topology.online.iter().find(|cpu| task.may_use(*cpu));
        usable.or_else(|| self.topology.online.first()).unwrap_or(cpu)
    }

    /// Whether `task` may use any CPU that is online.
    pub fn has_usable_cpu(&self, task: TaskId) -> bool {
        self.topology.online.iter().any(|cpu| self.task(task).may_use(cpu))
    }

    /// One of the CPUs of `mask`: `prev`, else the waker's in the smallest domain around `prev`, else one of that domain
    /// in turn (`cpumask_any_and_distribute`): how `find_lowest_rq` and `find_later_rq` end.
    pub fn nearest_of(&self, mask: &CpuMask, prev: CpuId, this_cpu: CpuId, distributed: &mut usize) -> Option<CpuId> {
        if mask.test(prev) {
            return Some(prev);
        }
        for domain in &self.topology.chains[prev.index()] {
            let span = &self.topology.domains[*domain].span;
            if mask.test(this_cpu) && span.test(this_cpu) {
                return Some(this_cpu);
            }
            if let Some(cpu) = mask.first_and_wrap(span, None, *distributed + 1) {
                *distributed = cpu.index();
                return Some(cpu);
            }
        }
        mask.first()
    }

    /// `cpus_share_cache`.
    #[inline]
    pub fn cpus_share_cache(&self, a: CpuId, b: CpuId) -> bool {
        self.topology.llc_of[a.index()] == self.topology.llc_of[b.index()]
    }

    /// Brings the load of real-time tasks on `cpu` to now (`update_rt_rq_load_avg`); whether it changed.
    pub fn update_rt_load_avg(&mut self, cpu: CpuId, running: bool) -> bool {
        if !self.rt_active {
            return false;
        }
        self.update_rq_clock(cpu);
        let rq = &mut self.rqs[cpu.index()];
        let changed = rq.avg_rt.update_class_load_avg(rq.clock.now(), running);
        self.note_pressure(cpu, changed)
    }

    /// Brings the load of deadline tasks on `cpu` to now (`update_dl_rq_load_avg`); whether it changed.
    pub fn update_dl_load_avg(&mut self, cpu: CpuId, running: bool) -> bool {
        if !self.dl_active {
            return false;
        }
        self.update_rq_clock(cpu);
        let rq = &mut self.rqs[cpu.index()];
        let changed = rq.avg_dl.update_class_load_avg(rq.clock.now(), running);
        self.note_pressure(cpu, changed)
    }

    /// Brings what is not fair tasks' to now, whatever runs (`update_other_load_avgs`); whether any of it changed.
    pub fn update_other_load_avgs(&mut self, cpu: CpuId) -> bool {
        let mut decayed = false;
        if self.hw_pressure_active {
            decayed = self.update_hw_load_avg(cpu);
        }
        let now = self.now;
        let irq_decayed = self.rq_mut(cpu).decay_irq_load_avg(now);
        decayed |= self.note_pressure(cpu, irq_decayed);
        if !self.rt_active {
            return decayed;
        }
        let class = self.rq(cpu).curr.map(|curr| self.task(curr).class);
        decayed |= self.update_rt_load_avg(cpu, class == Some(ClassId::Rt));
        self.update_dl_load_avg(cpu, class == Some(ClassId::Dl)) || decayed
    }

    /// `update_cpu_capacity`: what real-time and deadline tasks, and whatever holds clocks down, leave of `cpu` now
    /// (`scale_rt_capacity`). Up to the next call all who ask are told so.
    pub fn update_cpu_capacity(&mut self, cpu: CpuId) {
        let rq = &mut self.rqs[cpu.index()];
        let actual = rq.capacity_orig - rq.pressure();
        let used = rq.util_above_fair().min(u64::from(actual)) as u32;
        let free = u64::from(actual - used);
        // `scale_irq_capacity`: what interrupts leave of that.
        let irq = rq.avg_irq.util_avg.min(u64::from(actual));
        rq.capacity =
            if irq == 0 { free as u32 } else { (free * (u64::from(actual) - irq) / u64::from(actual)) as u32 };
        rq.capacity = rq.capacity.max(1);
        let glance = &mut self.glances[cpu.index()];
        if glance.capacity != rq.capacity {
            glance.capacity = rq.capacity;
            self.glance_versions.change(cpu);
        }
    }

    /// Brings the PELT clock of `cpu` to now (`update_rq_clock`).
    #[inline]
    pub fn update_rq_clock(&mut self, cpu: CpuId) {
        let now = self.now;
        let rq = &mut self.rqs[cpu.index()];
        if rq.clock_updated == now {
            return;
        }
        let delta = now - rq.clock_updated;
        rq.clock_updated = now;
        let taken = if rq.irq.happens() { rq.update_irq_load_avg(now) } else { 0 };
        let (capacity, freq_scale) = (u64::from(rq.capacity_orig), u64::from(rq.freq_scale));
        rq.clock.update(delta - taken, capacity, freq_scale, rq.curr.is_none());
        self.note_pressure(cpu, taken > 0);
    }
}

impl Rq {
    /// Utilisation by real-time and deadline tasks (`cpu_util_rt` + `cpu_util_dl`).
    #[inline]
    pub fn util_above_fair(&self) -> u64 {
        self.avg_rt.util_avg + self.avg_dl.util_avg
    }

    fn new(machine: &Machine, cpu: &Cpu, params: &KernelParameters) -> Self {
        let domain = &machine.performance_domains[cpu.performance_domain.index()];
        let (top, limit) = (domain.opps[domain.opps.len() - 1].khz, domain.opps[domain.max_opp].khz);
        let capacity = if params.capacity_aware { cpu.capacity } else { CAPACITY_SCALE as u32 };
        let capacity_limit = (u64::from(capacity) * u64::from(limit) / u64::from(top)) as u32;
        Self {
            curr: None,
            nr_running: 0,
            dl_nr_running: 0,
            rt_nr_running: 0,
            dl_bandwidth: 0,
            uclamp_others: Vec::new(),
            ext_nr_running: 0,
            need_resched: false,
            need_resched_lazy: false,
            clock_ahead: 0,
            capacity_orig: capacity,
            capacity,
            capacity_limit,
            capacity_allowed: capacity_limit,
            hw_pressure: 0,
            avg_hw: SchedAvg::default(),
            cpufreq_pressure: 0,
            is_pressed: false,
            freq_scale: CAPACITY_SCALE as u32,
            clock: PeltClock::default(),
            clock_updated: 0,
            irq: IrqTime::default(),
            avg_irq: SchedAvg::default(),
            avg_rt: SchedAvg::default(),
            avg_dl: SchedAvg::default(),
            idle_stamp: None,
            avg_idle: 2 * params.migration_cost,
            exit_latency: 0,
        }
    }
}

/// Whether `machine` is taken for one of arm64, whose kernels lack the generic entry code that `HRTICK` is on with. No description
/// says what a machine executes; of those with several kinds of CPUs, x86's name their driver.
fn is_arm64(machine: &Machine) -> bool {
    let capacity = machine.cpus.first().map(|cpu| cpu.capacity);
    let differ = machine.cpus.iter().any(|cpu| Some(cpu.capacity) != capacity);
    differ && machine.platform.cpufreq_driver.is_none()
}

/// `calc_delta_fair`: real time as virtual time of an entity with this weight; by the kernel's fixed-point inverse, so
/// that it rounds as the kernel does.
#[inline]
pub(crate) fn calc_delta_fair(delta: Nanos, weight: u32) -> i64 {
    if u64::from(weight) == NICE_0_WEIGHT {
        return delta as i64;
    }
    let factor = NICE_0_WEIGHT * inverse(u64::from(weight));
    // The factor is cut to 32 bits.
    let cut = 32 - ((factor >> 32) as u32).leading_zeros();
    ((u128::from(delta) * u128::from(factor >> cut)) >> (32 - cut)) as i64
}

/// `sched_prio_to_wmult`: 2^32 / weight; the kernel's table is rounded down for the least weights, to nearest for others.
#[inline]
fn inverse(weight: u64) -> u64 {
    const ROUNDED_DOWN_BELOW: u64 = 64;
    let half = if weight < ROUNDED_DOWN_BELOW { 0 } else { weight / 2 };
    ((1 << 32) + half) / weight
}
