// SPDX-License-Identifier: MIT OR Apache-2.0
//! Power of a core and of a cluster in a given state. Pure functions, which know nothing of time and meters.
//!
//! A core in C0 draws `dynamic·activity + leakage` of its OPP; an idle one what its idle state says. Where a cluster's
//! supply follows another's, dynamic power grows with the square of the voltage and leakage with the voltage.

use super::{Cluster, IdleScope, Machine, Opp};
use crate::units::{ClusterId, CpuId};

/// What a core does, as far as its power is concerned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CoreState {
    /// Runs instructions, with this switching activity.
    Active(f64),
    /// Is in this idle state of its cluster.
    Idle(usize),
}

/// Supply voltage relative to what the OPP asks for (≥ 1), where the cluster follows a leader that is awake.
#[inline]
pub fn voltage_ratio(cluster: &Cluster, own: &Opp, leader_khz: Option<u32>) -> f64 {
    let (Some(follows), Some(khz), Some(own)) = (&cluster.voltage_follows, leader_khz, own.microvolts) else {
        return 1.0;
    };
    let row = follows.floor.iter().rev().find(|(leader, _)| *leader <= khz);
    row.map_or(1.0, |(_, floor)| (f64::from(*floor) / f64::from(own)).max(1.0))
}

/// Watts of a core at `opp`, its supply raised by `voltage`.
#[inline]
pub fn core_watts(cluster: &Cluster, opp: &Opp, state: CoreState, voltage: f64) -> f64 {
    match state {
        CoreState::Active(activity) => active_watts((opp.dynamic_watts, opp.leakage_watts), activity, voltage),
        CoreState::Idle(0) => opp.idle_watts.unwrap_or_else(|| idle_watts(cluster, 0)),
        CoreState::Idle(state) => idle_watts(cluster, state),
    }
}

/// Watts of a core that runs with this activity, of its watts of switching and of leakage, its supply raised by `voltage`.
#[inline]
pub fn active_watts((switching, leakage): (f64, f64), activity: f64, voltage: f64) -> f64 {
    switching * activity * voltage * voltage + leakage * voltage
}

fn idle_watts(cluster: &Cluster, state: usize) -> f64 {
    cluster.idle_states.get(state).map_or(0.0, |state| state.watts)
}

/// Watts of a cluster beyond its cores: static power at the OPP of an awake core, or that of the shallowest cluster-wide
/// idle state in which all of them are.
pub fn cluster_watts(cluster: &Cluster, awake_opp: Option<&Opp>, shallowest: usize) -> f64 {
    match (awake_opp, cluster.idle_states.get(shallowest)) {
        (None, Some(state)) if state.scope == IdleScope::Cluster => state.cluster_watts,
        (opp, _) => opp.and_then(|opp| opp.static_watts).unwrap_or(cluster.static_watts),
    }
}

/// Switching activity of a core whose busy threads have these activities: the highest, more if there are several.
#[inline]
pub fn core_activity(machine: &Machine, cpu: CpuId, highest: f64, busy_threads: u32) -> f64 {
    if busy_threads > 1 { highest * machine.core_type(cpu).smt_activity } else { highest }
}

impl Machine {
    /// The cluster whose voltage `cluster` follows.
    #[inline]
    pub fn leader_of(&self, cluster: ClusterId) -> Option<ClusterId> {
        self.clusters[cluster.index()].voltage_follows.as_ref().map(|follows| follows.leader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Coordination, IdleState, VoltageFollows};
    use crate::units::{CoreTypeId, PackageId};

    fn opp(static_watts: Option<f64>) -> Opp {
        Opp {
            khz: 1_000_000,
            microvolts: Some(800_000),
            duty: 1.0,
            dynamic_watts: 2.0,
            leakage_watts: 0.5,
            em_watts: None,
            idle_watts: None,
            static_watts,
        }
    }

    fn cluster() -> Cluster {
        let state = |scope, watts, cluster_watts| IdleState {
            name: String::new(),
            scope,
            entry: 0,
            exit: 0,
            typical_entry: 0,
            typical_exit: 0,
            residency: 0,
            told_residency: 0,
            coordination: Coordination::Platform,
            watts,
            cluster_watts,
        };
        Cluster {
            name: String::new(),
            package: PackageId(0),
            core_type: CoreTypeId(0),
            cores: Vec::new(),
            static_watts: 0.3,
            idle_states: vec![state(IdleScope::Core, 0.1, 0.0), state(IdleScope::Cluster, 0.0, 0.05)],
            boost: Vec::new(),
            voltage_follows: Some(VoltageFollows {
                leader: ClusterId(1),
                floor: vec![(500, 700_000), (900, 1_000_000)],
            }),
        }
    }

    #[test]
    fn activity_scales_switching_but_not_leakage() {
        let watts = |activity| core_watts(&cluster(), &opp(None), CoreState::Active(activity), 1.0);
        assert_eq!((watts(1.0), watts(0.5)), (2.5, 1.5));
        assert_eq!(core_watts(&cluster(), &opp(None), CoreState::Idle(0), 1.0), 0.1);
    }

    #[test]
    fn a_follower_pays_for_its_leaders_voltage() {
        let ratio = |khz| voltage_ratio(&cluster(), &opp(None), khz);
        assert_eq!((ratio(None), ratio(Some(600)), ratio(Some(900))), (1.0, 1.0, 1.25));
        // 2 W · 1.25² + 0.5 W · 1.25 = 3.125 W + 0.625 W.
        assert_eq!(core_watts(&cluster(), &opp(None), CoreState::Active(1.0), 1.25), 3.75);
    }

    #[test]
    fn static_power_ends_when_all_cores_are_in_a_cluster_state() {
        let watts = |awake: Option<&Opp>, state| cluster_watts(&cluster(), awake, state);
        assert_eq!((watts(None, 0), watts(None, 1)), (0.3, 0.05));
        assert_eq!(watts(Some(&opp(Some(0.7))), 1), 0.7);
    }
}
