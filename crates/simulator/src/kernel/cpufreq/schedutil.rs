// SPDX-License-Identifier: MIT OR Apache-2.0
//! schedutil: the clock follows the scheduler's own utilisation signal (`kernel/sched/cpufreq_schedutil.c`).
//!
//! `f = 1.25 · util · f_max / capacity`, rounded up to an operating point, for the busiest CPU of the policy: a CPU
//! runs at 80 % of what its clock allows. Utilisation clamps bound it, tasks that wake from I/O boost it, and a
//! policy of one CPU does not slow down while that CPU has not been idle.
//!
//! Left out: `adjust_perf` drivers, and the delay and the CPU time of the `sugov` thread on drivers that cannot switch
//! from the scheduler's context (the transition latency covers the delay). A trace of tasks could tell.

use super::Policy;
use crate::units::{CAPACITY_SCALE, Nanos};

/// The utilisation a first wakeup from I/O is taken for (`IOWAIT_BOOST_MIN`).
const IOWAIT_BOOST_MIN: u64 = CAPACITY_SCALE / 8;

/// What one can set of schedutil.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SchedutilTunables {
    /// Least time between two changes, in ns (`rate_limit_us`); `None`: 1.5 transition latencies, or 1 ms where the
    /// latency is below 1 µs.
    pub rate_limit: Option<Nanos>,
}

/// How busy a CPU is, class by class, 0..=1024 each unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuUtil {
    /// Fair tasks: `cpu_util_cfs_boost`, plus the target a sched_ext scheduler has set (`scx_cpuperf_target`). Under a
    /// sched_ext scheduler of all tasks, that target alone.
    pub cfs: u64,
    /// Real-time tasks.
    pub rt: u64,
    /// Deadline tasks.
    pub dl: u64,
    /// Bandwidth that deadline tasks have reserved (`cpu_bw_dl`).
    pub dl_bandwidth: u64,
    /// Interrupts.
    pub irq: u64,
    /// The highest lower bound of the runnable tasks' utilisation (`UCLAMP_MIN`).
    pub uclamp_min: u64,
    /// The highest upper bound (`UCLAMP_MAX`).
    pub uclamp_max: u64,
    /// Whether real-time tasks ask for the top clock: one is runnable and no task uses utilisation clamps.
    pub rt_wants_max: bool,
    /// Whether [`CpuUtil::uclamp_max`] holds the CPU back, see [`uclamp_rq_is_capped`].
    pub capped: bool,
    /// Whether a sched_ext scheduler runs all tasks (`scx_switched_all`).
    pub scx_switched_all: bool,
    /// How often the CPU has gone idle (`tick_nohz_get_idle_calls_cpu`). Counts up, unlike all others here.
    pub idle_calls: u64,
}

impl Default for CpuUtil {
    /// An idle CPU without clamps.
    fn default() -> Self {
        Self {
            cfs: 0,
            rt: 0,
            dl: 0,
            dl_bandwidth: 0,
            irq: 0,
            uclamp_min: 0,
            uclamp_max: CAPACITY_SCALE,
            rt_wants_max: false,
            capped: false,
            scx_switched_all: false,
            idle_calls: 0,
        }
    }
}

/// Whether an upper clamp is what limits a run queue of utilisation `util` (fair, not boosted, and real-time).
pub fn uclamp_rq_is_capped(util: u64, uclamp_max: u64) -> bool {
    uclamp_max != CAPACITY_SCALE && util >= uclamp_max
}

/// The utilisation of a CPU of `capacity` over all classes, and the least and most performance asked for.
pub fn effective_cpu_util(cpu: &CpuUtil, capacity: u64) -> (u64, u64, u64) {
    if cpu.irq >= capacity {
        return (capacity, capacity, capacity);
    }
    let mut min = (cpu.irq + cpu.dl_bandwidth).max(cpu.uclamp_min);
    if cpu.rt_wants_max {
        min = min.max(capacity);
    }
    let max = capacity.min(cpu.uclamp_max);
    let busy = cpu.cfs + cpu.rt + cpu.dl;
    if busy >= capacity {
        return (capacity, min, max);
    }
    // Interrupts stretch the tasks' time, which is measured without them.
    let util = busy * (capacity - cpu.irq) / capacity + cpu.irq;
    (util.min(capacity), min, max)
}

/// The performance to provide for a utilisation of `actual`: a quarter more, within what is asked for.
fn sugov_effective_cpu_perf(actual: u64, min: u64, max: u64) -> u64 {
    let with_headroom = actual + actual / 4;
    with_headroom.min(max).max(min)
}

/// One CPU of a policy (`struct sugov_cpu`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct SugovCpu {
    iowait_boost_pending: bool,
    iowait_boost: u64,
    last_update: Nanos,
    util: u64,
    bw_min: u64,
    saved_idle_calls: u64,
}

/// A started schedutil governor (`struct sugov_policy`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedutil {
    cpus: Box<[SugovCpu]>,
    capacity: u64,
    rate_limit: Nanos,
    tick: Nanos,
    last_freq_update_time: Option<Nanos>,
    next_opp: Option<usize>,
    cached_raw_khz: u64,
    limits_changed: bool,
    need_freq_update: bool,
}

impl Schedutil {
    pub(super) fn new(cpus: usize, capacity: u64, rate_limit: Nanos, tick: Nanos) -> Self {
        Self {
            cpus: vec![SugovCpu::default(); cpus].into(),
            capacity: capacity.max(1),
            rate_limit,
            tick,
            last_freq_update_time: None,
            next_opp: None,
            cached_raw_khz: 0,
            limits_changed: false,
            need_freq_update: false,
        }
    }

    /// A scheduler update of the policy's CPU number `cpu` at `now` (`sugov_update_single_freq`,
    /// `sugov_update_shared`): the operating point to change to. `iowait` says that a task wakes from I/O there;
    /// `util` gives the utilisation of the policy's n-th CPU and is only asked if the rate limit allows a change.
    #[inline]
    pub fn update(
        &mut self,
        policy: &Policy,
        now: Nanos,
        cpu: usize,
        iowait: bool,
        util: impl FnMut(usize) -> CpuUtil,
    ) -> Option<usize> {
        self.cpus[cpu].iowait_boost(now, self.tick, iowait);
        self.cpus[cpu].last_update = now;
        if !self.should_update_freq(now) {
            return None;
        }
        let next = if self.cpus.len() == 1 {
            self.next_freq_single(policy, now, util)
        } else {
            self.next_freq_shared(policy, now, util)
        };
        self.update_next_freq(now, next)
    }

    /// Deadline tasks on the policy's CPU number `cpu` have reserved `bandwidth`; an increase overrides the rate limit.
    /// Call before [`Schedutil::update`] where deadline tasks exist (`ignore_dl_rate_limit`).
    pub fn ignore_dl_rate_limit(&mut self, cpu: usize, bandwidth: u64) {
        self.limits_changed |= bandwidth > self.cpus[cpu].bw_min;
    }

    #[inline]
    fn should_update_freq(&mut self, now: Nanos) -> bool {
        if self.limits_changed {
            self.limits_changed = false;
            self.need_freq_update = true;
            return true;
        }
        self.last_freq_update_time.is_none_or(|last| now - last >= self.rate_limit)
    }

    fn next_freq_single(
        &mut self,
        policy: &Policy,
        now: Nanos,
        mut util: impl FnMut(usize) -> CpuUtil,
    ) -> Option<usize> {
        let cached = self.cached_raw_khz;
        let state = util(0);
        self.get_util(0, now, &state);
        let next = self.get_next_freq(policy, self.cpus[0].util);
        let hold = self.cpus[0].hold_freq(&state);
        if hold && next < self.next_opp && !self.need_freq_update {
            self.cached_raw_khz = cached;
            return self.next_opp;
        }
        next
    }

    fn next_freq_shared(
        &mut self,
        policy: &Policy,
        now: Nanos,
        mut util: impl FnMut(usize) -> CpuUtil,
    ) -> Option<usize> {
        let mut busiest = 0;
        for cpu in 0..self.cpus.len() {
            self.get_util(cpu, now, &util(cpu));
            busiest = busiest.max(self.cpus[cpu].util);
        }
        self.get_next_freq(policy, busiest)
    }

    /// What CPU number `cpu` needs, with its I/O boost and headroom (`sugov_get_util`).
    fn get_util(&mut self, cpu: usize, now: Nanos, state: &CpuUtil) {
        let boost = self.cpus[cpu].iowait_apply(now, self.tick, self.capacity);
        let (util, min, max) = effective_cpu_util(state, self.capacity);
        let sugov = &mut self.cpus[cpu];
        sugov.bw_min = min;
        sugov.util = sugov_effective_cpu_perf(util.max(boost), min, max);
    }

    /// The operating point for a utilisation that already has its headroom. `None` before the first choice, if
    /// nothing at all is asked for.
    fn get_next_freq(&mut self, policy: &Policy, util: u64) -> Option<usize> {
        let khz = u64::from(policy.hardware_max_khz()) * util / self.capacity;
        if khz == self.cached_raw_khz && !self.need_freq_update {
            return self.next_opp;
        }
        self.cached_raw_khz = khz;
        Some(policy.resolve(u32::try_from(khz).unwrap_or(u32::MAX), super::Relation::Low))
    }

    /// Notes the choice; returns it if it is a new one (`sugov_update_next_freq`).
    fn update_next_freq(&mut self, now: Nanos, next: Option<usize>) -> Option<usize> {
        self.need_freq_update = false;
        if next == self.next_opp {
            return None;
        }
        self.next_opp = next;
        self.last_freq_update_time = Some(now);
        next
    }
}

impl SugovCpu {
    /// More than a tick without an update: the boost starts again from the least, or ends. Returns whether so.
    #[inline]
    fn iowait_reset(&mut self, now: Nanos, tick: Nanos, iowait: bool) -> bool {
        if now - self.last_update <= tick {
            return false;
        }
        self.iowait_boost = if iowait { IOWAIT_BOOST_MIN } else { 0 };
        self.iowait_boost_pending = iowait;
        true
    }

    /// Doubles the boost for a wakeup from I/O, once per change of the clock (`sugov_iowait_boost`).
    #[inline]
    fn iowait_boost(&mut self, now: Nanos, tick: Nanos, iowait: bool) {
        if self.iowait_boost > 0 && self.iowait_reset(now, tick, iowait) {
            return;
        }
        if !iowait || self.iowait_boost_pending {
            return;
        }
        self.iowait_boost_pending = true;
        self.iowait_boost = (self.iowait_boost * 2).clamp(IOWAIT_BOOST_MIN, CAPACITY_SCALE);
    }

    /// The boost as utilisation of a CPU of `capacity`; halves it if no task asked since (`sugov_iowait_apply`).
    #[inline]
    fn iowait_apply(&mut self, now: Nanos, tick: Nanos, capacity: u64) -> u64 {
        if self.iowait_boost == 0 || self.iowait_reset(now, tick, false) {
            return 0;
        }
        if !self.iowait_boost_pending {
            self.iowait_boost /= 2;
            if self.iowait_boost < IOWAIT_BOOST_MIN {
                self.iowait_boost = 0;
                return 0;
            }
        }
        self.iowait_boost_pending = false;
        self.iowait_boost * capacity / CAPACITY_SCALE
    }

    /// Whether slowing down would be premature, the CPU not having been idle since the last look (`sugov_hold_freq`).
    fn hold_freq(&mut self, state: &CpuUtil) -> bool {
        if state.scx_switched_all || state.capped {
            return false;
        }
        let hold = state.idle_calls == self.saved_idle_calls;
        self.saved_idle_calls = state.idle_calls;
        hold
    }
}
