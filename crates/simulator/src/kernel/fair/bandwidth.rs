// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limits of groups on CPU time: quota, period and burst (`cpu.max`, `cpu.max.burst`; `struct cfs_bandwidth`).
//!
//! A group's CPUs take time from its quota in slices of 5 ms. A queue that has used up what it took, and finds nothing left, is
//! throttled: its entity leaves the queue above, its tasks stay in it. A timer refills the quota each period and lets queues go on, in
//! the order in which they stopped.
//!
//! Simpler than Linux: a queue of another CPU goes on at once, where a kernel sends that CPU an interrupt.

use rand::RngExt;

use super::Fair;
use super::hierarchy::Leave;
use super::layout::{EntityId, QueueId};
use crate::kernel::Kernel;
use crate::units::{CgroupId, CpuId, MSEC, Nanos, TaskId};
use crate::workload::CpuMax;

/// What a queue takes from its group's quota at a time (`sysctl_sched_cfs_bandwidth_slice`).
const SLICE: i64 = 5 * MSEC as i64;
/// What a queue that empties keeps (`min_cfs_rq_runtime`).
const MIN_RUNTIME: i64 = MSEC as i64;
/// Less than this before the next period nothing is handed on (`min_bandwidth_expiration`).
const MIN_EXPIRATION: Nanos = 2 * MSEC;
/// How long is waited for more that comes back (`cfs_bandwidth_slack_period`).
const SLACK_PERIOD: Nanos = 5 * MSEC;
/// The period of which a new group's first one begins at random (`default_cfs_period`).
const DEFAULT_PERIOD: Nanos = 100 * MSEC;

/// A group's limit, and what is left of it (`struct cfs_bandwidth`).
#[derive(Debug, Clone)]
pub(super) struct Bandwidth {
    max: CpuMax,
    /// Whether there is a limit: it may have been taken back (`RUNTIME_INF`).
    limits: bool,
    /// Left of the quota, in ns.
    runtime: i64,
    /// The same when it was last refilled.
    runtime_snap: i64,
    /// Nobody took any in this period so far.
    idle: bool,
    /// When a period of it began or will.
    expires: Nanos,
    /// Whether the period's timer is set, at `expires`.
    period_active: bool,
    /// When what came back is handed to queues that are throttled.
    slack: Option<Nanos>,
    /// Throttled queues, the first one first.
    throttled: Vec<QueueId>,
    stat: BandwidthStat,
}

/// What became of a group's limit (`cpu.stat`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BandwidthStat {
    /// Periods in which the group wanted time.
    pub nr_periods: u64,
    /// Periods at whose end some CPU of the group was throttled.
    pub nr_throttled: u64,
    /// Time for which CPUs of the group were throttled, summed over them, in ns.
    pub throttled_time: Nanos,
    /// Periods in which more than the quota was used.
    pub nr_bursts: u64,
    /// Time above the quota, in ns.
    pub burst_time: Nanos,
}

/// What a queue has of its group's quota.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Runtime {
    /// Whether its group has a limit, and its CPU is online (`runtime_enabled`).
    enabled: bool,
    /// Left of what was taken, in ns; below 0 it owes.
    remaining: i64,
    /// Whether it is throttled itself.
    throttled: bool,
    /// How many of it and the groups that it is in are (`throttle_count`).
    count: u32,
    /// Since when it is throttled with tasks in it.
    since: Option<Nanos>,
    /// When the clock of its load was stopped (`throttled_clock_pelt`).
    clock_stopped: Nanos,
    /// For how long it stood (`throttled_clock_pelt_time`).
    clock_stood: Nanos,
}

impl Bandwidth {
    pub fn new(max: CpuMax, kernel: &mut Kernel) -> Self {
        Self {
            max,
            limits: true,
            runtime: max.quota as i64,
            runtime_snap: max.quota as i64,
            idle: false,
            // Timers of groups interleave.
            expires: kernel.rng.random_range(0..DEFAULT_PERIOD),
            period_active: false,
            slack: None,
            throttled: Vec::new(),
            stat: BandwidthStat::default(),
        }
    }

    /// Another limit is written, or none.
    fn set(&mut self, max: Option<CpuMax>) {
        self.limits = max.is_some();
        if let Some(max) = max {
            self.max = max;
            self.refill();
        }
    }

    /// `start_cfs_bandwidth`; when the timer is due, if it was set.
    fn start(&mut self, now: Nanos) -> Option<Nanos> {
        if self.period_active {
            return None;
        }
        self.period_active = true;
        if self.expires <= now {
            self.expires += ((now - self.expires) / self.max.period + 1) * self.max.period;
        }
        Some(self.expires)
    }

    /// `__refill_cfs_bandwidth_runtime`.
    fn refill(&mut self) {
        self.runtime += self.max.quota as i64;
        let above = self.runtime_snap - self.runtime;
        if above > 0 {
            self.stat.burst_time += above as Nanos;
            self.stat.nr_bursts += 1;
        }
        self.runtime = self.runtime.min((self.max.quota + self.max.burst) as i64);
        self.runtime_snap = self.runtime;
    }

    /// `runtime_refresh_within`.
    fn refreshes_within(&self, now: Nanos, span: Nanos) -> bool {
        self.expires.saturating_sub(now) < span
    }

    /// When the group wants to be served.
    fn due(&self) -> Option<Nanos> {
        [self.period_active.then_some(self.expires), self.slack].into_iter().flatten().min()
    }
}

impl Fair {
    /// Whether some group has a limit.
    #[inline]
    pub fn bandwidth_used(&self) -> bool {
        self.bandwidth_used
    }

    /// Gives groups the limits that the workload says.
    pub(super) fn init_cfs_bandwidth(&mut self, kernel: &mut Kernel) {
        for group in (1..self.groups.len()).map(CgroupId::at) {
            self.set_limit(kernel, group);
        }
    }

    /// A program on `cpu` has written another limit of `group` (`tg_set_cfs_bandwidth`): what its CPUs had taken of the quota is void,
    /// and those that waited go on.
    pub fn tg_set_cfs_bandwidth(&mut self, kernel: &mut Kernel, group: CgroupId, cpu: CpuId) {
        self.set_limit(kernel, group);
        if let Some(limit) = self.groups[group.index()].bandwidth.as_mut().filter(|limit| limit.limits) {
            let timer = limit.start(kernel.now);
            self.armed.extend(timer.map(|at| (cpu, at)));
        }
    }

    fn set_limit(&mut self, kernel: &mut Kernel, group: CgroupId) {
        let max = kernel.cgroups.get(group).max;
        match &mut self.groups[group.index()].bandwidth {
            Some(limit) => limit.set(max),
            none => *none = max.map(|max| Bandwidth::new(max, kernel)),
        }
        self.bandwidth_used |= max.is_some();
        for cpu in kernel.topology.online.clone().iter() {
            let queue = self.layout.queue(group, cpu);
            let Some(runtime) = self.runtime(queue) else { continue };
            (runtime.enabled, runtime.remaining) = (max.is_some(), 0);
            if runtime.throttled {
                self.unthrottle_cfs_rq(kernel, queue);
            }
        }
    }

    fn enable_runtime(&mut self, group: CgroupId, cpu: CpuId, enabled: bool) {
        if let Some(owner) = self.layout.owner(self.layout.queue(group, cpu)) {
            self.runtimes[owner.index()].enabled = enabled;
        }
    }

    /// What `queue` has of its group's quota, if that has one.
    #[inline]
    fn runtime(&mut self, queue: QueueId) -> Option<&mut Runtime> {
        if !self.bandwidth_used {
            return None;
        }
        let owner = self.layout.owner(queue)?;
        Some(&mut self.runtimes[owner.index()])
    }

    /// `cfs_rq_throttled`.
    #[inline]
    pub(super) fn cfs_rq_throttled(&self, queue: QueueId) -> bool {
        self.bandwidth_used && self.layout.owner(queue).is_some_and(|owner| self.runtimes[owner.index()].throttled)
    }

    /// `cfs_task_bw_constrained`: whether a group that `task` is in has a limit.
    pub fn cfs_task_bw_constrained(&self, task: TaskId) -> bool {
        let groups = std::iter::successors(self.parent(self.layout.entity(task)), |id| self.parent(*id));
        self.bandwidth_used && groups.into_iter().any(|id| self.runtimes[id.index()].enabled)
    }

    /// `throttled_hierarchy`: `queue` is throttled, or a group that it is in.
    #[inline]
    pub(super) fn throttled_hierarchy(&self, queue: QueueId) -> bool {
        self.bandwidth_used && self.layout.owner(queue).is_some_and(|owner| self.runtimes[owner.index()].count > 0)
    }

    /// Whether `task` cannot run because its group has used up its quota.
    pub fn is_throttled(&self, task: TaskId) -> bool {
        self.throttled_hierarchy(self.se(task).queue)
    }

    /// Whether the group of `task` is throttled where it is queued or on `dst`, so that it does not move (`throttled_lb_pair`).
    pub(super) fn throttled_lb_pair(&self, task: TaskId, dst: CpuId) -> bool {
        let here = self.se(task).queue;
        let there = self.layout.queue(self.layout.group(here), dst);
        self.throttled_hierarchy(here) || self.throttled_hierarchy(there)
    }

    /// Whether some queue waits for its group's next period.
    pub fn has_throttled(&self) -> bool {
        let limits = || self.groups.iter().filter_map(|group| group.bandwidth.as_ref());
        self.bandwidth_used && limits().any(|limit| !limit.throttled.is_empty())
    }

    /// The clock by which the load of `queue` counts, which stands while it is throttled (`cfs_rq_clock_pelt`).
    #[inline]
    pub(super) fn cfs_rq_clock_pelt(&self, kernel: &Kernel, cpu: CpuId, queue: QueueId) -> Nanos {
        let now = kernel.rq(cpu).clock.now();
        if !self.bandwidth_used {
            return now;
        }
        let Some(owner) = self.layout.owner(queue) else { return now };
        let runtime = &self.runtimes[owner.index()];
        if runtime.count > 0 { runtime.clock_stopped } else { now }.saturating_sub(runtime.clock_stood)
    }

    /// `__assign_cfs_rq_runtime`: takes up to `target` more than nothing from the quota; false if that is not enough to go on.
    fn assign_cfs_rq_runtime(&mut self, kernel: &Kernel, queue: QueueId, target: i64) -> bool {
        let Some(owner) = self.layout.owner(queue) else { return true };
        let runtime = &mut self.runtimes[owner.index()];
        let wanted = target - runtime.remaining;
        match &mut self.groups[self.layout.group(queue).index()].bandwidth {
            Some(limit) if limit.limits => {
                let timer = limit.start(kernel.now);
                self.armed.extend(timer.map(|at| (self.layout.cpu(queue), at)));
                if limit.runtime > 0 {
                    let amount = limit.runtime.min(wanted);
                    limit.runtime -= amount;
                    limit.idle = false;
                    runtime.remaining += amount;
                }
            }
            _ => runtime.remaining += wanted,
        }
        runtime.remaining > 0
    }

    /// The running entity of `queue` has used so much time (`account_cfs_rq_runtime`).
    #[inline]
    pub(super) fn account_cfs_rq_runtime(&mut self, kernel: &mut Kernel, queue: QueueId, used: Nanos) {
        let Some(runtime) = self.runtime(queue).filter(|runtime| runtime.enabled) else { return };
        runtime.remaining -= used as i64;
        if runtime.remaining > 0 || runtime.throttled {
            return;
        }
        if !self.assign_cfs_rq_runtime(kernel, queue, SLICE) && self.cfs[queue.index()].curr.is_some() {
            kernel.resched_curr(self.layout.cpu(queue));
        }
    }

    /// `check_cfs_rq_runtime`: whether `queue` may run no longer; throttles it if so.
    #[inline]
    pub(super) fn check_cfs_rq_runtime(&mut self, kernel: &mut Kernel, queue: QueueId) -> bool {
        let Some(runtime) = self.runtime(queue) else { return false };
        if !runtime.enabled || runtime.remaining > 0 {
            return false;
        }
        runtime.throttled || self.throttle_cfs_rq(kernel, queue)
    }

    /// `check_enqueue_throttle`: something is queued in `queue`, which was empty.
    pub(super) fn check_enqueue_throttle(&mut self, kernel: &mut Kernel, queue: QueueId) {
        let running = self.cfs[queue.index()].curr.is_some();
        let now = kernel.now;
        let Some(runtime) = self.runtime(queue) else { return };
        if runtime.throttled {
            runtime.since = runtime.since.or(Some(now));
            return;
        }
        if !runtime.enabled || running {
            return;
        }
        self.account_cfs_rq_runtime(kernel, queue, 0);
        if self.runtime(queue).is_some_and(|runtime| runtime.remaining <= 0) {
            self.throttle_cfs_rq(kernel, queue);
        }
    }

    /// `return_cfs_rq_runtime`: `queue` is empty, and gives back what it does not need.
    pub(super) fn return_cfs_rq_runtime(&mut self, kernel: &Kernel, queue: QueueId) {
        let empty = self.cfs[queue.index()].nr_queued == 0;
        let Some(runtime) = self.runtime(queue).filter(|runtime| runtime.enabled && empty) else { return };
        let slack = runtime.remaining - MIN_RUNTIME;
        if slack <= 0 {
            return;
        }
        runtime.remaining -= slack;
        let Some(limit) = &mut self.groups[self.layout.group(queue).index()].bandwidth else { return };
        limit.runtime += slack;
        let worth = limit.runtime > SLICE && !limit.throttled.is_empty();
        // `start_cfs_slack_bandwidth`
        if worth && limit.slack.is_none() && !limit.refreshes_within(kernel.now, SLACK_PERIOD + MIN_EXPIRATION) {
            let at = kernel.now + SLACK_PERIOD;
            limit.slack = Some(at);
            self.armed.push((self.layout.cpu(queue), at));
        }
    }

    /// `throttle_cfs_rq`: false if there is some quota after all.
    fn throttle_cfs_rq(&mut self, kernel: &mut Kernel, queue: QueueId) -> bool {
        if self.assign_cfs_rq_runtime(kernel, queue, 1) {
            return false;
        }
        let Some(owner) = self.layout.owner(queue) else { return false };
        let (group, cpu) = (self.layout.group(queue), self.layout.cpu(queue));
        if let Some(limit) = &mut self.groups[group.index()].bandwidth {
            limit.throttled.push(queue);
        }
        self.throttle_groups(kernel, group, cpu, |runtime, clock| {
            if runtime.count == 0 {
                runtime.clock_stopped = clock;
            }
            runtime.count += 1;
        });
        self.dequeue_throttled(kernel, cpu, owner);
        let queued = self.cfs[queue.index()].nr_queued > 0;
        let runtime = &mut self.runtimes[owner.index()];
        runtime.throttled = true;
        runtime.since = queued.then_some(kernel.now);
        true
    }

    /// Changes what `group` and all groups in it have on `cpu`, given its clock of load (`walk_tg_tree_from`).
    fn throttle_groups(
        &mut self,
        kernel: &mut Kernel,
        group: CgroupId,
        cpu: CpuId,
        change: impl Fn(&mut Runtime, Nanos),
    ) {
        kernel.update_rq_clock(cpu);
        let clock = kernel.rq(cpu).clock.now();
        for inner in (group.index()..self.groups.len()).map(CgroupId::at) {
            if kernel.cgroups.ancestors(inner).any(|outer| outer == group)
                && let Some(owner) = self.layout.owner(self.layout.queue(inner, cpu))
            {
                change(&mut self.runtimes[owner.index()], clock);
            }
        }
    }

    /// `unthrottle_cfs_rq`.
    fn unthrottle_cfs_rq(&mut self, kernel: &mut Kernel, queue: QueueId) {
        let Some(owner) = self.layout.owner(queue) else { return };
        let (group, cpu) = (self.layout.group(queue), self.layout.cpu(queue));
        let runtime = &mut self.runtimes[owner.index()];
        runtime.throttled = false;
        let since = runtime.since.take();
        if let Some(limit) = &mut self.groups[group.index()].bandwidth {
            limit.stat.throttled_time += since.map_or(0, |since| kernel.now - since);
            limit.throttled.retain(|other| *other != queue);
        }
        self.throttle_groups(kernel, group, cpu, |runtime, clock| {
            runtime.count -= 1;
            if runtime.count == 0 {
                runtime.clock_stood += clock - runtime.clock_stopped;
            }
        });
        if self.cfs[queue.index()].load_weight > 0 {
            self.enqueue_unthrottled(kernel, cpu, owner);
        }
        if kernel.rq(cpu).curr.is_none() && self.cfs[cpu.index()].nr_queued > 0 {
            kernel.resched_curr(cpu);
        }
    }

    /// `distribute_cfs_runtime`: gives throttled queues what they owe and a nanosecond, as far as the quota goes; whether some stay
    /// throttled.
    fn distribute_cfs_runtime(&mut self, kernel: &mut Kernel, group: CgroupId) -> bool {
        let Some(limit) = &self.groups[group.index()].bandwidth else { return false };
        let mut stay = false;
        for queue in limit.throttled.clone() {
            let Some(limit) = &mut self.groups[group.index()].bandwidth else { return false };
            if limit.runtime <= 0 {
                return true;
            }
            let Some(owner) = self.layout.owner(queue) else { continue };
            let runtime = &mut self.runtimes[owner.index()];
            let amount = (1 - runtime.remaining).min(limit.runtime);
            limit.runtime -= amount;
            runtime.remaining += amount;
            if runtime.remaining > 0 {
                self.unthrottle_cfs_rq(kernel, queue);
            } else {
                stay = true;
            }
        }
        stay
    }

    /// `do_sched_cfs_period_timer`: a period of `group` begins.
    fn period_timer(&mut self, kernel: &mut Kernel, group: CgroupId) {
        let Some(limit) = &mut self.groups[group.index()].bandwidth else { return };
        limit.expires += limit.max.period;
        if !limit.limits {
            limit.period_active = false;
            return;
        }
        let throttled = !limit.throttled.is_empty();
        limit.stat.nr_periods += 1;
        limit.refill();
        if limit.idle && !throttled {
            limit.period_active = false;
            return;
        }
        limit.idle = !throttled;
        if throttled {
            limit.stat.nr_throttled += 1;
            self.distribute_cfs_runtime(kernel, group);
        }
    }

    /// `do_sched_cfs_slack_timer`: what came back to `group` is handed on.
    fn slack_timer(&mut self, kernel: &mut Kernel, group: CgroupId) {
        let Some(limit) = &mut self.groups[group.index()].bandwidth else { return };
        limit.slack = None;
        if !limit.refreshes_within(kernel.now, MIN_EXPIRATION) && limit.runtime > SLICE {
            self.distribute_cfs_runtime(kernel, group);
        }
    }

    /// When [`Fair::serve`] is next to be called: a period of some group ends, or what came back is to be handed on.
    pub fn next_timer(&self) -> Option<Nanos> {
        self.groups.iter().filter_map(|group| group.bandwidth.as_ref()?.due()).min()
    }

    /// Timers of groups are due.
    pub fn serve(&mut self, kernel: &mut Kernel) {
        for group in (1..self.groups.len()).map(CgroupId::at) {
            while let Some(limit) = &self.groups[group.index()].bandwidth
                && limit.due().is_some_and(|due| due <= kernel.now)
            {
                if limit.slack.is_some_and(|at| at <= kernel.now) {
                    self.slack_timer(kernel, group);
                } else {
                    self.period_timer(kernel, group);
                }
            }
        }
    }

    /// `cpu` comes, or goes: then its queues have no limit, so that their tasks can leave (`unthrottle_offline_cfs_rqs`).
    pub fn set_runtime_enabled(&mut self, kernel: &mut Kernel, cpu: CpuId, enabled: bool) {
        for group in (1..self.groups.len()).map(CgroupId::at) {
            if !self.groups[group.index()].bandwidth.as_ref().is_some_and(|limit| limit.limits) {
                continue;
            }
            let queue = self.layout.queue(group, cpu);
            self.enable_runtime(group, cpu, enabled);
            if !enabled && let Some(runtime) = self.runtime(queue) {
                runtime.remaining = 1;
                if runtime.throttled {
                    self.unthrottle_cfs_rq(kernel, queue);
                }
            }
        }
    }

    /// What became of the limits of groups up to `now`, by group.
    pub fn bandwidth_stats(&self, now: Nanos) -> impl Iterator<Item = (CgroupId, BandwidthStat)> + '_ {
        let limits =
            self.groups.iter().enumerate().filter_map(|(group, entry)| Some((group, entry.bandwidth.as_ref()?)));
        limits.map(move |(group, limit)| {
            let since = |queue: &QueueId| self.runtimes[self.layout.owner(*queue)?.index()].since;
            let still: Nanos = limit.throttled.iter().filter_map(since).map(|since| now - since).sum();
            (CgroupId::at(group), BandwidthStat { throttled_time: limit.stat.throttled_time + still, ..limit.stat })
        })
    }

    /// Takes a throttled group's entity off the queues above, and those that it leaves empty.
    fn dequeue_throttled(&mut self, kernel: &mut Kernel, cpu: CpuId, owner: EntityId) {
        if self.entities[owner.index()].on_rq {
            let delayed = self.entities[owner.index()].sched_delayed;
            self.dequeue_entities(kernel, cpu, owner, Leave { sleep: true, special: true, delayed });
        }
    }
}
