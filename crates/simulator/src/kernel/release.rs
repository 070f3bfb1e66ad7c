// SPDX-License-Identifier: MIT OR Apache-2.0
//! What releases of Linux do differently, by the name of the function or feature: the one place that knows versions.
//!
//! Everything else asks for a feature, never for a version. A feature is here if the model has it both ways; what changed in
//! Linux and is not modelled stands in docs/models.md. "By 7.1" is what 7.1 has and 6.18 has not; which release between them
//! brought it is not said.
//!
//! Sources: 6.12.117; 6.18.2, and 6.18.32 for what its stable updates changed; 7.1.5. `kernel/sched/fair.c`, `core.c`,
//! `features.h`, `kernel/Kconfig.preempt`, `kernel/time/Kconfig`, `drivers/cpuidle/governors/menu.c`.

use std::fmt;

/// Whose fair class and power management the kernel model has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Linux {
    /// 6.12 with its stable updates.
    #[default]
    V6_12,
    /// 6.18 with its stable updates.
    V6_18,
    /// 7.1.
    V7_1,
}

/// When a running fair task gives way to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preempt {
    /// At once (`preempt=full`). What a kernel without forced preemption does differently, it does in kernel code, which threads
    /// here have none of: `none` and `voluntary` are the same.
    Full,
    /// When it next enters its kernel, at the latest at a tick (`preempt=lazy`, from 6.13 on).
    Lazy,
}

impl Preempt {
    /// The model of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "full" => Some(Self::Full),
            "lazy" => Some(Self::Lazy),
            _ => None,
        }
    }
}

/// What a release has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    /// `hybrid_register_perf_domain`, 6.16: intel_pstate registers an energy model of hybrids without SMT.
    pub hybrid_register_perf_domain: bool,
    /// `resched_curr_lazy`, 6.13: there is a lazy preemption model.
    pub resched_curr_lazy: bool,
    /// The preemption model of a kernel whose configuration nobody changed (`kernel/Kconfig.preempt`).
    pub preempt: Preempt,
    /// `set_protect_slice` with `se->vprot`, 6.17: a slice is protected up to a virtual time, the shortest slice in the queue,
    /// instead of as long as the deadline stands; and its end reschedules (`update_curr`).
    pub vprot: bool,
    /// `entity_lag`, by 6.18.32: lag is bounded by the longest slice in the queue and a tick, not by two slices of one's own.
    pub lag_of_max_slice: bool,
    /// `update_entity_lag` of a sleeper that is still queued, by 7.1: its lag is noted when it falls asleep and does not get less.
    pub delayed_lag: bool,
    /// `wakeup_preempt_fair`, 6.19: a new task preempts nobody, and whoever fails to preempt limits the runner's protection.
    pub wakeup_preempt_fair: bool,
    /// `hrtick_start_fair`, by 7.1 where `CONFIG_HRTIMER_REARM_DEFERRED` is: slices end on time.
    pub hrtick: bool,
    /// `can_migrate_task`, by 6.18: sleepers that are still queued move only where load is to be moved.
    pub keeps_delayed: bool,
    /// `task_is_ineligible_on_dst_cpu`, by 6.18: a task that has had more than its share stays, at the first attempt.
    pub keeps_ineligible: bool,
    /// `update_sg_lb_stats` counts `h_nr_runnable`, by 6.18: sleepers that are still queued are no work.
    pub counts_runnable: bool,
    /// `group_is_overloaded`, by 7.1: with energy-aware placement only a group with an overutilized CPU is overloaded.
    pub group_overutilized: bool,
    /// `cpu_overutilized`, by 7.1: without the tasks' `util_min`.
    pub overutilized_by_max: bool,
    /// `choose_sched_idle_rq`, by 7.1: a CPU with `SCHED_IDLE` tasks only is no idle one for another such task.
    pub choose_sched_idle_rq: bool,
    /// `NI_RATE`, by 7.1: new-idle balancing that is rare counts as successful.
    pub newidle_rate: bool,
    /// `get_typical_interval`, 6.15: outliers are left out at both ends.
    pub typical_interval_both_ends: bool,
    /// `SAFE_TIMER_RANGE_NS`, by 7.1: with the tick stopped, a short prediction is believed if a timer comes within two ticks.
    pub safe_timer_range: bool,
}

/// 6.12.117.
const V6_12: Release = Release {
    hybrid_register_perf_domain: false,
    resched_curr_lazy: false,
    preempt: Preempt::Full,
    vprot: false,
    lag_of_max_slice: false,
    delayed_lag: false,
    wakeup_preempt_fair: false,
    hrtick: false,
    keeps_delayed: false,
    keeps_ineligible: false,
    counts_runnable: false,
    group_overutilized: false,
    overutilized_by_max: false,
    choose_sched_idle_rq: false,
    newidle_rate: false,
    typical_interval_both_ends: false,
    safe_timer_range: false,
};

/// 6.18.32.
const V6_18: Release = Release {
    hybrid_register_perf_domain: true,
    resched_curr_lazy: true,
    vprot: true,
    lag_of_max_slice: true,
    keeps_delayed: true,
    keeps_ineligible: true,
    counts_runnable: true,
    typical_interval_both_ends: true,
    ..V6_12
};

/// 7.1.5.
const V7_1: Release = Release {
    preempt: Preempt::Lazy,
    delayed_lag: true,
    wakeup_preempt_fair: true,
    hrtick: true,
    group_overutilized: true,
    overutilized_by_max: true,
    choose_sched_idle_rq: true,
    newidle_rate: true,
    safe_timer_range: true,
    ..V6_18
};

impl Linux {
    /// All releases, the oldest first, as they are named.
    pub const NAMES: [(&str, Self); 3] = [("6.12", Self::V6_12), ("6.18", Self::V6_18), ("7.1", Self::V7_1)];

    /// What it has.
    pub fn release(self) -> &'static Release {
        match self {
            Self::V6_12 => &V6_12,
            Self::V6_18 => &V6_18,
            Self::V7_1 => &V7_1,
        }
    }
}

impl fmt::Display for Linux {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::NAMES.iter().find(|(_, linux)| linux == self).map_or("", |(name, _)| name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_6_12_has_nothing_of_is_there_in_7_1() {
        let [old, middle, new] = Linux::NAMES.map(|(_, linux)| *linux.release());
        assert!(!old.vprot && middle.vprot && new.vprot);
        assert_eq!([old, middle, new].map(|release| release.preempt), [Preempt::Full, Preempt::Full, Preempt::Lazy]);
        assert_eq!([old, middle, new].map(|release| release.hrtick), [false, false, true]);
        assert_eq!(Linux::V6_18.to_string(), "6.18");
    }
}
