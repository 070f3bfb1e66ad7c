// SPDX-License-Identifier: MIT OR Apache-2.0
//! The governors, and what runs once one is started.

use super::{
    Conservative, ConservativeTunables, CpuTimes, Ondemand, OndemandTunables, Policy, Pstate, PstateTunables, Relation,
    Schedutil, SchedutilTunables,
};
use crate::units::Nanos;

/// A cpufreq governor and its tunables. Parsed from and displayed as `name[=setting,...]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Governor {
    /// What the machine's own Linux runs with.
    Default,
    /// The highest allowed clock; that of a driver which has one of this name, where the machine has such a driver.
    Performance,
    /// The lowest allowed clock; that of a driver which has one of this name, where the machine has such a driver.
    Powersave,
    /// The generic governor, in the passive mode of such a driver: the highest allowed clock.
    PassivePerformance,
    /// The generic governor, in the passive mode of such a driver: the lowest allowed clock.
    PassivePowersave,
    /// One of a driver in active mode.
    Pstate(PstateTunables),
    /// A clock given by the user.
    Userspace {
        /// In kHz, rounded up to an operating point; `None` for the highest.
        khz: Option<u32>,
    },
    /// The share of time not idle, sampled: to the top if high, in proportion if not.
    Ondemand(OndemandTunables),
    /// The share of time not idle, sampled: the clock follows it in small steps.
    Conservative(ConservativeTunables),
    /// The scheduler's own utilisation signal.
    Schedutil(SchedutilTunables),
}

/// A started governor, for one policy.
#[derive(Debug, Clone, PartialEq)]
pub enum GovernorState {
    /// Performance, powersave or userspace.
    Fixed(Governor),
    /// See [`Ondemand::sample`].
    Ondemand(Ondemand),
    /// See [`Conservative::sample`].
    Conservative(Conservative),
    /// See [`Schedutil::update`].
    Schedutil(Schedutil),
    /// See [`Pstate::sample`].
    Pstate(Pstate),
}

impl Governor {
    /// Whether firmware looks at its CPUs by itself.
    pub(crate) fn is_autonomous(&self) -> bool {
        matches!(self, Self::Pstate(tunables) if !tunables.performance && !tunables.no_hwp)
    }

    /// Whether it wants to hear of scheduler updates (`cpufreq_update_util`).
    pub(crate) fn listens(&self) -> bool {
        match self {
            Self::Default | Self::Performance | Self::Powersave | Self::Userspace { .. } => false,
            Self::PassivePerformance | Self::PassivePowersave => false,
            Self::Pstate(tunables) => !tunables.performance,
            Self::Ondemand(_) | Self::Conservative(_) | Self::Schedutil(_) => true,
        }
    }

    /// The least time between two samples on `policy` with a tick of `tick`; `None` if it does not sample.
    ///
    /// Unless given, it is two ticks or [`Policy::transition_delay`], whichever is longer.
    pub(crate) fn sampling_period(&self, policy: &Policy, tick: Nanos) -> Option<Nanos> {
        let given = match self {
            Self::Ondemand(tunables) => tunables.sampling_rate,
            Self::Conservative(tunables) => tunables.sampling_rate,
            _ => return None,
        };
        Some(given.unwrap_or_else(|| policy.transition_delay().max(2 * tick)))
    }

    /// The operating point of a governor that does not look at load, to be set when it starts.
    pub(crate) fn fixed_target(&self, policy: &Policy) -> Option<usize> {
        match *self {
            Self::Performance | Self::PassivePerformance => Some(policy.resolve(policy.max_khz(), Relation::High)),
            Self::Pstate(PstateTunables { performance: true, .. }) => {
                Some(policy.resolve(policy.max_khz(), Relation::High))
            }
            Self::Powersave | Self::PassivePowersave => Some(policy.resolve(policy.min_khz(), Relation::Low)),
            Self::Userspace { khz } => Some(policy.resolve(khz.unwrap_or(u32::MAX), Relation::Low)),
            Self::Default | Self::Pstate(_) => None,
            Self::Ondemand(_) | Self::Conservative(_) | Self::Schedutil(_) => None,
        }
    }

    /// Starts the governor at `now` on `policy`, whose CPUs have the capacity `capacity` (1..=1024) and have so far spent
    /// `times`, in the order of the performance domain.
    pub(crate) fn start(
        &self,
        policy: &Policy,
        capacity: u64,
        times: &[CpuTimes],
        now: Nanos,
        tick: Nanos,
    ) -> GovernorState {
        // A governor that does not sample has no use for a period; any value does.
        let period = self.sampling_period(policy, tick).unwrap_or(tick);
        match *self {
            Self::Ondemand(tunables) => GovernorState::Ondemand(Ondemand::new(tunables, period, times, now)),
            Self::Conservative(tunables) => {
                GovernorState::Conservative(Conservative::new(tunables, policy, period, times, now))
            }
            Self::Schedutil(tunables) => {
                let rate_limit = tunables.rate_limit.unwrap_or_else(|| policy.transition_delay());
                GovernorState::Schedutil(Schedutil::new(times.len(), capacity, rate_limit, tick))
            }
            Self::Pstate(tunables) if !tunables.performance => {
                GovernorState::Pstate(Pstate::new(tunables, policy, times, now))
            }
            fixed => GovernorState::Fixed(fixed),
        }
    }
}
