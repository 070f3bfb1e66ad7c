// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that wait for their group's next period (`cpu.max`), if the scheduler says in which of its dispatch queues they do
//! (`statistics.limited` of the file beside the object).
//!
//! The kernel throttles a group on each CPU (`throttle_cfs_rq`); a scheduler holds its threads. To compare both, a CPU counts as throttled
//! while a thread that it ran last is held, and each time that the group's first thread is held is a period, or more if that takes longer.

use std::collections::BTreeMap;

use crate::units::{CgroupId, CpuId, Nanos, TaskId};

/// Threads that wait for their group's next period, and what became of their groups.
#[derive(Debug, Default)]
pub struct Held {
    /// The queue in which they wait, if that is known.
    queue: Option<u64>,
    tasks: BTreeMap<TaskId, Wait>,
    /// Threads of a group on a CPU that wait, and since when some do.
    cpus: BTreeMap<(CgroupId, CpuId), (u32, Nanos)>,
    groups: BTreeMap<CgroupId, Throttled>,
}

#[derive(Debug, Clone, Copy)]
struct Wait {
    group: CgroupId,
    cpu: CpuId,
    since: Nanos,
}

/// A group of which threads wait, or have waited.
#[derive(Debug, Default, Clone, Copy)]
struct Throttled {
    waiting: u32,
    since: Nanos,
    period: Nanos,
    /// Periods and CPUs' time that are over.
    periods: u64,
    time: Nanos,
}

impl Throttled {
    /// Periods that a wait from `since` to `now` is part of, if it begins within one.
    fn periods(&self, now: Nanos) -> u64 {
        (now - self.since).div_ceil(self.period.max(1)).max(1)
    }
}

impl Held {
    /// Of a scheduler whose threads wait in `queue`.
    pub fn new(queue: Option<u64>) -> Self {
        Self { queue, ..Self::default() }
    }

    /// Whether the scheduler says which threads wait.
    pub fn is_told(&self) -> bool {
        self.queue.is_some()
    }

    /// Whether it is in the dispatch queue with this number that they wait.
    #[inline]
    pub fn is_queue(&self, id: u64) -> bool {
        self.queue == Some(id)
    }

    /// Whether `task` waits for its group's next period.
    pub fn contains(&self, task: TaskId) -> bool {
        self.tasks.contains_key(&task)
    }

    /// `task`, which is on `cpu`, begins to wait, as `group` has used up what it may in a period.
    pub(super) fn begin(&mut self, task: TaskId, group: CgroupId, cpu: CpuId, period: Nanos, now: Nanos) {
        self.tasks.insert(task, Wait { group, cpu, since: now });
        let (waiting, since) = self.cpus.entry((group, cpu)).or_default();
        if *waiting == 0 {
            *since = now;
        }
        *waiting += 1;
        let throttled = self.groups.entry(group).or_default();
        if throttled.waiting == 0 {
            (throttled.since, throttled.period) = (now, period);
        }
        throttled.waiting += 1;
    }

    /// `task` waits no longer; for which group it did, and since when.
    pub(super) fn end(&mut self, task: TaskId, now: Nanos) -> Option<(CgroupId, Nanos)> {
        let Wait { group, cpu, since } = self.tasks.remove(&task)?;
        let throttled = self.groups.entry(group).or_default();
        let (waiting, cpu_since) = self.cpus.entry((group, cpu)).or_default();
        *waiting -= 1;
        if *waiting == 0 {
            throttled.time += now - *cpu_since;
        }
        throttled.waiting -= 1;
        if throttled.waiting == 0 {
            throttled.periods += throttled.periods(now);
        }
        Some((group, since))
    }

    /// Periods in which threads of `group` had to wait up to `now`, and the CPUs' time for which they had to.
    pub(super) fn of(&self, group: CgroupId, now: Nanos) -> (u64, Nanos) {
        let Some(throttled) = self.groups.get(&group) else { return (0, 0) };
        let periods = if throttled.waiting > 0 { throttled.periods(now) } else { 0 };
        let waiting = self.cpus.iter().filter(|((of, _), (waiting, _))| *of == group && *waiting > 0);
        let time: Nanos = waiting.map(|(_, (_, since))| now - since).sum();
        (throttled.periods + periods, throttled.time + time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::MSEC;

    const GROUP: CgroupId = CgroupId(1);
    const PERIOD: Nanos = 100 * MSEC;

    fn begin(held: &mut Held, task: u32, cpu: u32, ms: Nanos) {
        held.begin(TaskId(task), GROUP, CpuId(cpu), PERIOD, ms * MSEC);
    }

    #[test]
    fn threads_that_wait_together_wait_in_one_period_and_once_on_each_cpu() {
        let mut held = Held::default();
        begin(&mut held, 1, 0, 20);
        begin(&mut held, 2, 0, 30);
        begin(&mut held, 3, 1, 40);
        assert_eq!(held.of(GROUP, 50 * MSEC), (1, 40 * MSEC), "30 ms on one CPU and 10 on the other so far");
        (1..=3).for_each(|task| assert!(held.end(TaskId(task), PERIOD).is_some()));
        assert_eq!(held.of(GROUP, PERIOD), (1, 140 * MSEC));
        assert!(held.end(TaskId(1), PERIOD).is_none(), "it waits no longer");
    }

    #[test]
    fn who_owes_time_waits_for_several_periods() {
        let mut held = Held::default();
        begin(&mut held, 1, 0, 20);
        held.end(TaskId(1), 300 * MSEC);
        assert_eq!(held.of(GROUP, 300 * MSEC), (3, 280 * MSEC));
    }
}
