// SPDX-License-Identifier: MIT OR Apache-2.0
//! What groups with a limit (`cpu.max`) used under the loaded scheduler: sched_ext leaves limits to schedulers, and does not check
//! whether they hold.
//!
//! Time in other classes is not counted, as the kernel's own limits do not count that either.

use std::collections::BTreeMap;

use super::Ctx;
use crate::units::{CgroupId, Nanos, TaskId};
use crate::workload::CpuMax;

/// How much more than its limit a group may use before the limit counts as ignored, as a part of what it may use: a tenth. Schedulers
/// act at ticks and when slices end, and a thread in the kernel is not stopped.
const TOLERANCE: u64 = 10;

/// Groups that had a limit while the scheduler was in charge.
#[derive(Debug, Default)]
pub struct Limits {
    groups: BTreeMap<CgroupId, Limited>,
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
}

impl Limited {
    /// The limit becomes another one.
    fn becomes(&mut self, max: Option<CpuMax>, now: Nanos) {
        if let Some((old, since)) = self.now {
            self.allowed += allowed(old, now - since);
            self.spans += now - since;
        }
        self.now = max.map(|max| (max, now));
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
    /// A group's task ran for `delta` up to `now`; `max` is the group's limit.
    fn charge(&mut self, group: CgroupId, max: Option<CpuMax>, delta: Nanos, now: Nanos) {
        if max.is_none() && !self.groups.contains_key(&group) {
            return;
        }
        let limited = self.groups.entry(group).or_default();
        if limited.now.map(|(known, _)| known) != max {
            limited.becomes(max, now.saturating_sub(delta));
        }
        if max.is_some() {
            limited.used += delta;
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
