// SPDX-License-Identifier: MIT OR Apache-2.0
//! What groups with a limit (`cpu.max`) used under the loaded scheduler: sched_ext leaves limits to schedulers, and does not check
//! whether they hold.
//!
//! Time in other classes is not counted, as the kernel's own limits do not count that either.

use std::collections::BTreeMap;

use super::Ctx;
use super::held::Held;
use crate::kernel::Kernel;
use crate::units::{CgroupId, Nanos, TaskId};
use crate::workload::CpuMax;

/// How much more than its limit a group may use before the limit counts as ignored, as a part of what it may use: a tenth. Schedulers
/// act at ticks and when slices end, and a thread in the kernel is not stopped.
const TOLERANCE: u64 = 10;

/// Groups that had a limit while the scheduler was in charge.
#[derive(Debug, Default)]
pub struct Limits {
    groups: BTreeMap<CgroupId, Limited>,
    held: Held,
}

/// A group that has, or had, a limit.
#[derive(Debug, Default)]
struct Limited {
    /// The limit now, and since when it has been known here.
    now: Option<(CpuMax, Nanos)>,
    /// CPU time used under a limit.
    used: Nanos,
    /// CPU time that earlier limits allowed.
    allowed: Nanos,
    /// How long they held.
    spans: Nanos,
    /// What was left of the quota at `left_at`, in ns, as if it came back evenly over the period: in which part of it the scheduler's
    /// period begins is not known.
    left: i64,
    left_at: Nanos,
    /// Periods in which it wanted CPU time, counted from the time that the limit became known; and the first one that is not counted yet.
    periods: u64,
    next_period: u64,
}

/// What became of a group's limit under a loaded scheduler (`cpu.stat`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LimitStat {
    /// Periods in which the group wanted CPU time.
    pub nr_periods: u64,
    /// Periods in which threads of it had to wait for the next one; 0 if the scheduler does not say which do.
    pub nr_throttled: u64,
    /// Time for which CPUs had threads of the group that had to wait, summed over CPUs, in ns; the same.
    pub throttled_time: Nanos,
}

impl LimitStat {
    /// Adds what was counted at another time.
    pub fn add(&mut self, other: Self) {
        self.nr_periods += other.nr_periods;
        self.nr_throttled += other.nr_throttled;
        self.throttled_time += other.throttled_time;
    }
}

impl Limited {
    /// The limit becomes another one.
    fn becomes(&mut self, max: Option<CpuMax>, now: Nanos) {
        if let Some((old, since)) = self.now {
            self.allowed += allowed(old, now - since);
            self.spans += now - since;
        }
        self.now = max.map(|max| (max, now));
        (self.left, self.left_at, self.next_period) = (max.map_or(0, |max| max.quota as i64), now, 0);
    }

    /// What is left of the quota at `now`, in ns; less than nothing if it is exceeded.
    fn left(&self, max: CpuMax, now: Nanos) -> i64 {
        let back = u128::from(now.saturating_sub(self.left_at)) * u128::from(max.quota) / u128::from(max.period.max(1));
        let most = max.quota.saturating_add(max.burst) as i64;
        self.left.saturating_add(i64::try_from(back).unwrap_or(i64::MAX)).min(most)
    }

    /// The group wanted CPU time in this span.
    fn wanted(&mut self, from: Nanos, to: Nanos) {
        let Some((max, since)) = self.now else { return };
        let period = |at: Nanos| at.saturating_sub(since) / max.period.max(1);
        let (first, last) = (period(from).max(self.next_period), period(to.saturating_sub(1)));
        self.periods += (last + 1).saturating_sub(first);
        self.next_period = self.next_period.max(last + 1);
    }
}

/// CPU time that a limit allows in a span, which need not begin or end with a period.
fn allowed(max: CpuMax, span: Nanos) -> Nanos {
    let periods = span / max.period.max(1) + 1;
    max.quota.saturating_mul(periods).saturating_add(max.burst)
}

/// A limit that did not hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Overrun {
    /// The group.
    pub group: CgroupId,
    /// CPUs' worth of time that it used while it was limited.
    pub used_cpus: f64,
    /// CPUs' worth of time that its limits allow.
    pub allowed_cpus: f64,
}

impl Limits {
    /// Of a scheduler whose threads wait for their group's next period in this dispatch queue.
    pub fn new(queue: Option<u64>) -> Self {
        Self { groups: BTreeMap::new(), held: Held::new(queue) }
    }

    /// Threads that wait for their group's next period.
    pub fn held(&self) -> &Held {
        &self.held
    }

    /// `task` begins to wait for its group's next period.
    pub fn begin_wait(&mut self, kernel: &Kernel, task: TaskId) {
        let (now, known) = (kernel.now, kernel.task(task));
        let limits = kernel.cgroups.ancestors(known.cgroup).filter_map(|id| Some((id, kernel.cgroups.get(id).max?)));
        // Of several limits the one that is nearest to its end is the one that holds it.
        let share = |(group, max): &(CgroupId, CpuMax)| {
            self.groups.get(group).map_or(1.0, |limited| limited.left(*max, now) as f64 / max.quota.max(1) as f64)
        };
        let least = limits.min_by(|one, other| share(one).total_cmp(&share(other)));
        if let Some((group, max)) = least {
            self.held.begin(task, group, known.cpu, max.period, now);
        }
    }

    /// `task` waits for its group's next period no longer.
    pub fn end_wait(&mut self, task: TaskId, now: Nanos) {
        let Some((group, since)) = self.held.end(task, now) else { return };
        if let Some(limited) = self.groups.get_mut(&group) {
            limited.wanted(since, now);
        }
    }

    /// What became of the limits of groups up to `now`, by group.
    pub fn stats(&self, now: Nanos) -> BTreeMap<CgroupId, LimitStat> {
        let stat = |(group, limited): (&CgroupId, &Limited)| {
            let (nr_throttled, throttled_time) = self.held.of(*group, now);
            let nr_periods = limited.periods.max(nr_throttled);
            (*group, LimitStat { nr_periods, nr_throttled, throttled_time })
        };
        self.groups.iter().map(stat).collect()
    }

    /// A group's task ran for `delta` up to `now`; `max` is the group's limit.
    fn charge(&mut self, group: CgroupId, max: Option<CpuMax>, delta: Nanos, now: Nanos) {
        if max.is_none() && !self.groups.contains_key(&group) {
            return;
        }
        let limited = self.groups.entry(group).or_default();
        if limited.now.map(|(known, _)| known) != max {
            limited.becomes(max, now.saturating_sub(delta));
        }
        if let Some(max) = max {
            limited.used += delta;
            limited.wanted(now.saturating_sub(delta), now);
            limited.left = limited.left(max, now).saturating_sub_unsigned(delta);
            limited.left_at = now;
        }
    }

    /// The groups that used more than they may up to `now`.
    pub fn overruns(&self, now: Nanos) -> impl Iterator<Item = Overrun> + '_ {
        self.groups.iter().filter_map(move |(group, limited)| {
            let (last, span) = match limited.now {
                Some((max, since)) => (allowed(max, now.saturating_sub(since)), now.saturating_sub(since)),
                None => (0, 0),
            };
            let (may, spans) = (limited.allowed + last, limited.spans + span);
            let cpus = |time: Nanos| time as f64 / spans as f64;
            let over = spans > 0 && limited.used > may.saturating_add(may / TOLERANCE);
            over.then(|| Overrun { group: *group, used_cpus: cpus(limited.used), allowed_cpus: cpus(may) })
        })
    }
}

impl Ctx<'_> {
    /// `task` ran for `delta` up to `now`, and so did the groups that it is in.
    #[inline]
    pub(super) fn charge_limits(&mut self, task: TaskId, delta: Nanos, now: Nanos) {
        let group = self.kernel.task(task).cgroup;
        let cgroups = &self.kernel.cgroups;
        for group in cgroups.ancestors(group) {
            self.scx.limits.charge(group, cgroups.get(group).max, delta, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::MSEC;

    const GROUP: CgroupId = CgroupId(1);
    const FIFTH: CpuMax = CpuMax { quota: 20 * MSEC, period: 100 * MSEC, burst: 0 };

    #[test]
    fn a_group_that_uses_what_it_may_ignores_nothing() {
        let mut limits = Limits::default();
        (1..=10).for_each(|period| limits.charge(GROUP, Some(FIFTH), 20 * MSEC, period * 100 * MSEC));
        assert_eq!(limits.overruns(1000 * MSEC).count(), 0);
    }

    #[test]
    fn a_group_that_uses_a_whole_cpu_of_a_fifth_does() {
        let mut limits = Limits::default();
        (1..=10).for_each(|period| limits.charge(GROUP, Some(FIFTH), 100 * MSEC, period * 100 * MSEC));
        let overrun = limits.overruns(1000 * MSEC).next().unwrap();
        // A period more than have passed may have begun: 11 · 20 ms in a second.
        assert_eq!(overrun, Overrun { group: GROUP, used_cpus: 1.0, allowed_cpus: 0.22 });
    }

    #[test]
    fn time_without_a_limit_does_not_count() {
        let mut limits = Limits::default();
        limits.charge(GROUP, None, 500 * MSEC, 500 * MSEC);
        limits.charge(GROUP, Some(FIFTH), 20 * MSEC, 600 * MSEC);
        limits.charge(GROUP, None, 900 * MSEC, 1500 * MSEC);
        assert_eq!(limits.overruns(1500 * MSEC).count(), 0);
    }
}
