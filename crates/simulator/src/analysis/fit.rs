// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which described machines the model covers.

use crate::machine::Machine;
use crate::units::{CoreId, CpuId};

use super::model::{Model, ModelError};

/// A described machine that the model covers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OneLargeCore {
    /// The model's n and a for the machine.
    pub model: Model,
    /// The large core; `None` if all cores are alike.
    pub large: Option<CpuId>,
    /// Speed of a small core, relative to the CPU that the machine's work is given against: seconds of work per second.
    pub small_speed: f64,
}

/// Why the model has nothing to say about a machine.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NotCovered {
    /// A core has several CPUs online, which slow each other down; the speed of a core of the model is constant.
    #[error("core {core} has several CPUs online, which slow each other down, and the model knows only cores")]
    Smt {
        /// The first such core.
        core: CoreId,
    },
    /// The highest clock depends on how many cores are active; the speed of a core of the model is constant.
    #[error("the highest clock depends on how many cores are active, and the model knows only constant speeds")]
    Boost,
    /// The machine has kinds of core other than the model's: one kind, or two kinds with one core of the faster one.
    #[error(
        "of {online} CPUs {fastest} share the highest speed, {kinds} speeds in all; the model knows one large core and equal small ones"
    )]
    NotOneLarge {
        /// Number of CPUs online.
        online: usize,
        /// Number of CPUs with the highest speed.
        fastest: usize,
        /// Number of different speeds.
        kinds: usize,
    },
    /// The machine's n or a lies outside of the model.
    #[error("{0}")]
    Model(#[from] ModelError),
}

impl OneLargeCore {
    /// The model of `machine`: its online CPUs at the highest clocks that the configuration in force allows. Capacities
    /// do not measure these speeds: limits and duty cycles do not change capacities, here and on Linux.
    ///
    /// Speed is that of compute-bound work, clock × instructions per clock; memory-bound work sees less asymmetry.
    ///
    /// # Errors
    /// [`NotCovered`] says what the model lacks.
    pub fn of(machine: &Machine) -> Result<Self, NotCovered> {
        if let Some(core) = busy_siblings(machine) {
            return Err(NotCovered::Smt { core });
        }
        if has_boost(machine) {
            return Err(NotCovered::Boost);
        }
        let speeds: Vec<(CpuId, f64)> = machine.online().map(|cpu| (cpu, khz_ipc(machine, cpu))).collect();
        let mut kinds: Vec<f64> = speeds.iter().map(|(_, speed)| *speed).collect();
        kinds.sort_by(f64::total_cmp);
        kinds.dedup();
        let (slowest, highest) = match kinds.as_slice() {
            [] => return Err(ModelError::Cores(0).into()),
            [first, .., last] => (*first, *last),
            [only] => (*only, *only),
        };
        let fastest: Vec<CpuId> = speeds.iter().filter(|(_, speed)| *speed == highest).map(|(cpu, _)| *cpu).collect();
        if kinds.len() > 2 || kinds.len() == 2 && fastest.len() > 1 {
            return Err(NotCovered::NotOneLarge { online: speeds.len(), fastest: fastest.len(), kinds: kinds.len() });
        }
        let model = Model::new(speeds.len() as u32, highest / slowest)?;
        let large = (kinds.len() == 2).then_some(fastest[0]);
        Ok(Self { model, large, small_speed: slowest / machine.reference.khz_ipc })
    }
}

/// The first core of which several CPUs are online.
fn busy_siblings(machine: &Machine) -> Option<CoreId> {
    let online = |cpu: &&CpuId| machine.cpus[cpu.index()].online;
    machine.cores.iter().position(|core| core.cpus.iter().filter(online).count() > 1).map(CoreId::at)
}

fn has_boost(machine: &Machine) -> bool {
    let limited = machine.clusters.iter().any(|cluster| !cluster.boost.is_empty());
    limited || machine.packages.iter().any(|package| !package.boost.is_empty())
}

/// The highest clock that `cpu` may have, times its instructions per clock.
fn khz_ipc(machine: &Machine, cpu: CpuId) -> f64 {
    let domain = &machine.performance_domains[machine.cpus[cpu.index()].performance_domain.index()];
    f64::from(domain.opps[domain.max_opp].khz) * machine.core_type(cpu).ipc
}
