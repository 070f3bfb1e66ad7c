// SPDX-License-Identifier: MIT OR Apache-2.0
//! Puts what was measured in the place of what was assumed, and of what the kernel believes.

use super::cores::Core;
use super::{Clock, IdleTable, Kind, MeasuredPower, Power, Sourced};
use crate::machine::detect::Measured;

/// Clocks of cores without cpufreq, and watts. A table that cores of several kinds share goes by the first.
pub(super) fn clocks(clocks: &mut [Clock], clock_of: &[usize], cores: &[Core], measured: &Measured) {
    for (index, clock) in clocks.iter_mut().enumerate() {
        let mut own = cores.iter().zip(clock_of).filter(|(_, of)| **of == index).map(|(core, _)| core);
        let Some(found) = own.find_map(|core| measured.of_cpu(core.leader)) else { continue };
        let real = found.clocks.first().filter(|_| !clock.scalable).and_then(|point| point.real_mhz);
        if let Some(mhz) = real.filter(|mhz| *mhz >= 1.0) {
            clock.khz = Sourced { value: vec![(mhz * 1e3).round() as u32], source: measured.source.clone() };
        }
        let watts: Option<Vec<f64>> = clock.khz.value.iter().map(|khz| found.watts_at(f64::from(*khz) / 1e3)).collect();
        let Some(watts) = watts else { continue };
        let mv = found.mv_of(&clock.khz.value);
        let leakage_watts_per_v = mv.as_ref().zip(found.leakage_watts_per_v).map(|(mv, leakage)| {
            // A point whose error makes it less than the curve's leakage is no operating point.
            let most = watts.iter().zip(mv).map(|(watts, mv)| watts / (mv / 1e3)).fold(f64::INFINITY, f64::min);
            leakage.min(most)
        });
        clock.power =
            Power::Measured(MeasuredPower { watts, mv, leakage_watts_per_v, source: measured.source.clone() });
    }
}

/// Watts of idle states, by their names.
pub(super) fn idle(tables: &mut [IdleTable], table_of: &[usize], cores: &[Core], measured: &Measured) {
    for (index, table) in tables.iter_mut().enumerate() {
        let mut own = cores.iter().zip(table_of).filter(|(_, of)| **of == index).map(|(core, _)| core);
        let Some(found) = own.find_map(|core| measured.of_cpu(core.leader)) else { continue };
        let watts = |name: &str| found.idle.iter().find(|(known, _)| known == name).map(|(_, watts)| *watts);
        let all: Option<Vec<f64>> = table.states.iter().map(|state| watts(&state.name)).collect();
        // Of a part of them nobody would know which.
        let Some(all) = all else { continue };
        table.states.iter_mut().zip(all).for_each(|(state, watts)| state.watts = watts);
        table.watts_source = Some(measured.source.clone());
    }
}

/// What is a property of a kind of core.
pub(super) fn kinds(kinds: &mut [Kind], kind_of: &[usize], cores: &[Core], measured: &Measured) {
    for (index, kind) in kinds.iter_mut().enumerate() {
        let mut own = cores.iter().zip(kind_of).filter(|(_, of)| **of == index).map(|(core, _)| core);
        kind.measured = own.find_map(|core| measured.of_cpu(core.leader)).cloned();
    }
}
