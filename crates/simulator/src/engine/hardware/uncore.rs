// SPDX-License-Identifier: MIT OR Apache-2.0
//! Uncores: what a package draws beside its cores, awake and in its own idle states.

use super::Hardware;
use crate::engine::meter::{Cause, Power};
use crate::units::{Nanos, PackageId, seconds};

impl Hardware<'_> {
    /// Brings a package's uncore in line with its cores.
    pub(super) fn update_package(&mut self, package: PackageId) {
        let entry = &self.machine.packages[package.index()];
        if !entry.idle_states.is_empty() {
            self.update_package_sleep(package);
        }
        let power = self.uncore_power(package);
        self.uncore_changed |= self.packages[package.index()].meter.enter(self.now, power);
    }

    /// What a package draws beside its clusters.
    pub(super) fn uncore_power(&self, package: PackageId) -> Power {
        let entry = &self.machine.packages[package.index()];
        let state = &self.packages[package.index()];
        if state.active_cores == 0 {
            let idle = Power::of(entry.uncore_idle_watts, Cause::Idle);
            state.asleep.map_or(idle, |asleep| Power::of(entry.idle_states[asleep].watts, Cause::Asleep))
        } else if entry.uncore_clock.is_some() {
            Power::of(entry.uncore_awake_watts(self.fastest_khz(package)), Cause::Awake)
        } else {
            Power::of(entry.uncore_watts, Cause::Awake)
        }
    }

    /// The highest clock of the cores that run.
    fn fastest_khz(&self, package: PackageId) -> u32 {
        let domains = &self.packages[package.index()].boost.domains;
        let runs = |index: usize| {
            let cores = &self.domains[index].cores;
            cores.iter().any(|core| self.cores[core.index()].busy_threads > 0)
        };
        let awake = domains.iter().filter(|domain| runs(domain.index()));
        awake.map(|domain| self.domain_khz(*domain)).max().unwrap_or(0)
    }

    /// Enters and leaves idle states of the package.
    fn update_package_sleep(&mut self, package: PackageId) {
        let asleep = self.package_state(package);
        let state = &self.packages[package.index()];
        if asleep == state.asleep {
            return;
        }
        self.book_package_entry(package);
        let state = &mut self.packages[package.index()];
        (state.asleep, state.asleep_since) = (asleep, self.now);
    }

    /// The deepest idle state of the package for which all its cores idle deeply enough.
    fn package_state(&self, package: PackageId) -> Option<usize> {
        let state = &self.packages[package.index()];
        if state.active_cores > 0 {
            return None;
        }
        let depth = |cluster: usize| self.clusters[cluster].idle_cores.iter().position(|cores| *cores > 0);
        let deep_enough = |index: &usize| {
            let clusters = &mut state.wanted.iter();
            clusters.all(|(cluster, wanted)| depth(cluster.index()).is_some_and(|depth| depth >= wanted[*index]))
        };
        (0..self.machine.packages[package.index()].idle_states.len()).rev().find(deep_enough)
    }

    /// The package leaves its idle state: until it was entered, the uncore idled.
    fn book_package_entry(&mut self, package: PackageId) {
        let entry = &self.machine.packages[package.index()];
        let now = self.now;
        let state = &mut self.packages[package.index()];
        let Some(idle) = state.asleep.map(|asleep| &entry.idle_states[asleep]) else { return };
        let entering = idle.entry.min(now - state.asleep_since);
        state.meter.add((entry.uncore_idle_watts - idle.watts) * seconds(entering));
    }

    /// What waking the package adds to the wakeup of a core: its exit, or the same share of it as was done of the entry.
    pub(super) fn package_wakeup_latency(&self, package: PackageId) -> Nanos {
        let state = &self.packages[package.index()];
        let Some(asleep) = state.asleep else { return 0 };
        let idle = &self.machine.packages[package.index()].idle_states[asleep];
        let elapsed = self.now - state.asleep_since;
        match idle.entry {
            entry if elapsed == 0 || elapsed < entry => {
                (idle.exit as f64 * elapsed as f64 / entry.max(1) as f64) as Nanos
            }
            _ => idle.exit,
        }
    }
}
