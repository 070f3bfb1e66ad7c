// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energy-aware placement: the kernel's energy model and `find_energy_efficient_cpu`.
//!
//! The model is the kernel's, not the simulator's: it knows the power of each OPP but neither idle states nor static
//! power nor voltage coupling, so its choices can be wrong in the same way as on a real machine.

use super::Fair;
use super::load::Fit;
use crate::kernel::Kernel;
use crate::machine::Machine;
use crate::units::{CAPACITY_SCALE, CpuId, TaskId};

/// The kernel's energy model (`struct em_perf_domain` of every performance domain).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnergyModel {
    domains: Vec<PerfDomain>,
}

/// A performance domain's part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PerfDomain {
    /// Its online CPUs.
    pub cpus: Vec<CpuId>,
    /// Ascending by performance.
    pub states: Vec<PerfState>,
}

/// A performance state: `struct em_perf_state`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerfState {
    /// Capacity at it, 0..=1024.
    pub performance: u64,
    /// Power of one busy CPU at it; any unit, the same for all domains (microwatts from a machine).
    pub power: u64,
}

impl EnergyModel {
    /// The model of these domains.
    pub fn new(domains: Vec<PerfDomain>) -> Self {
        Self { domains }
    }

    /// The model of `machine`'s online CPUs, as `dev_pm_opp` registers it: power of one busy core per OPP.
    pub fn of(machine: &Machine) -> Self {
        let domains = machine.performance_domains.iter().filter_map(|domain| {
            let cpus: Vec<CpuId> = domain.cpus.iter().copied().filter(|cpu| machine.cpus[cpu.index()].online).collect();
            let capacity = u64::from(machine.cpus[cpus.first()?.index()].capacity);
            let top = u64::from(domain.opps[domain.opps.len() - 1].khz);
            let states = domain.opps.iter().map(|opp| PerfState {
                performance: (u64::from(opp.khz) * capacity / top).max(1),
                power: ((opp.dynamic_watts + opp.leakage_watts) * 1e6) as u64,
            });
            Some(PerfDomain { states: efficient(states.collect()), cpus })
        });
        Self::new(domains.collect())
    }

    /// Energy of a domain if its fullest CPU needs `max_util` and all of them `sum_util` (`em_cpu_energy`); the state is
    /// the lowest that is fast enough.
    pub fn em_cpu_energy(&self, domain: usize, max_util: u64, sum_util: u64) -> u64 {
        let states = &self.domains[domain].states;
        let state = states.iter().find(|state| state.performance >= max_util).unwrap_or(&states[states.len() - 1]);
        state.power * sum_util / state.performance
    }
}

/// Drops states that cost more per work than a faster one (`EM_PERF_STATE_INEFFICIENT`).
fn efficient(states: Vec<PerfState>) -> Vec<PerfState> {
    let mut kept: Vec<PerfState> = Vec::new();
    for state in states.into_iter().rev() {
        let better = |faster: &PerfState| state.power * faster.performance < faster.power * state.performance;
        if kept.last().is_none_or(better) {
            kept.push(state);
        }
    }
    kept.reverse();
    kept
}

/// The best CPU found so far and what placing the task there would cost.
struct Candidate {
    cpu: CpuId,
    delta: u64,
    fit: Fit,
    capacity: u32,
}

impl Fair {
    /// `find_energy_efficient_cpu`: of each domain's CPU with most room, and the previous one, the one that costs least.
    pub(super) fn find_energy_efficient_cpu(
        &self,
        kernel: &Kernel,
        task: TaskId,
        prev: CpuId,
        this_cpu: CpuId,
    ) -> Option<CpuId> {
        let model = self.energy.as_ref()?;
        let common =
            kernel.topology.asym[this_cpu.index()].filter(|domain| kernel.topology.domains[*domain].span.test(prev));
        common?;
        if self.task_util_est(task) == 0 && Self::uclamp(kernel, task).0 == 0 {
            return Some(prev);
        }
        let mut at_prev: Option<Candidate> = None;
        let mut best: Option<Candidate> = None;
        for (index, domain) in model.domains.iter().enumerate() {
            let (prev_fit, roomiest) = self.candidates(kernel, domain, task, prev);
            if prev_fit.is_none() && roomiest.is_none() {
                continue;
            }
            let base = self.compute_energy(kernel, index, task, None);
            let cost = |cpu: CpuId| self.compute_energy(kernel, index, task, Some(cpu)).checked_sub(base);
            let capacity = kernel.rq(domain.cpus[0]).capacity_limit;
            if let Some((fit, _)) = prev_fit {
                let Some(delta) = cost(prev) else { return Some(prev) };
                at_prev = Some(Candidate { cpu: prev, delta, fit, capacity });
            }
            let Some((cpu, fit, spare)) = roomiest else { continue };
            if prev_fit.is_some_and(|(_, prev_spare)| spare <= prev_spare) {
                continue;
            }
            let Some(delta) = cost(cpu) else { return Some(prev) };
            let candidate = Candidate { cpu, delta, fit, capacity };
            if improves(&candidate, best.as_ref(), at_prev.as_ref()) {
                best = Some(candidate);
            }
        }
        Some(match (best, at_prev) {
            (Some(best), None) => best.cpu,
            (Some(best), Some(at_prev)) if beats(&best, &at_prev) => best.cpu,
            _ => prev,
        })
    }

    /// How the previous CPU fits (with its spare capacity), and the other CPU of the domain with most room.
    #[allow(clippy::type_complexity)]
    fn candidates(
        &self,
        kernel: &Kernel,
        domain: &PerfDomain,
        task: TaskId,
        prev: CpuId,
    ) -> (Option<(Fit, i64)>, Option<(CpuId, Fit, i64)>) {
        let (min, max) = Self::uclamp(kernel, task);
        let mut prev_fit = None;
        let mut roomiest: Option<(CpuId, Fit, i64)> = None;
        for cpu in domain.cpus.iter().copied().filter(|cpu| kernel.task(task).may_use(*cpu)) {
            let util = self.cpu_util_with(kernel, cpu, task, Some(cpu));
            let clamps = if self.cfs[cpu.index()].nr_runnable == 0 {
                (min, max)
            } else {
                let (rq_min, rq_max) = self.uclamp_rq(kernel, cpu);
                (min.max(rq_min), max.max(rq_max))
            };
            let fit = self.util_fits_cpu(kernel, util, clamps, cpu);
            if fit == Fit::No {
                continue;
            }
            let spare = i64::from(kernel.rq(cpu).capacity).saturating_sub(util as i64).max(0);
            if cpu == prev {
                prev_fit = Some((fit, spare));
            } else if roomiest.is_none_or(|(_, best, most)| fit > best || (fit == best && spare > most)) {
                roomiest = Some((cpu, fit, spare));
            }
        }
        (prev_fit, roomiest)
    }

    /// `compute_energy`: of one domain, with `task` on `dst` (`None`: nowhere).
    fn compute_energy(&self, kernel: &Kernel, index: usize, task: TaskId, dst: Option<CpuId>) -> u64 {
        let Some(model) = &self.energy else { return 0 };
        let domain = &model.domains[index];
        let limit = u64::from(kernel.rq(domain.cpus[0]).capacity_limit);
        let mut busy: u64 = domain.cpus.iter().map(|cpu| self.cpu_util_with(kernel, *cpu, task, None)).sum();
        if dst.is_some() {
            busy += self.task_util_est(task);
        }
        let needs = domain.cpus.iter().map(|cpu| self.performance_need(kernel, *cpu, task, dst));
        let max_util = needs.max().unwrap_or(0).min(limit);
        model.em_cpu_energy(index, max_util, busy.min(limit * domain.cpus.len() as u64))
    }

    /// What schedutil would ask for on `cpu` (`eenv_pd_max_util`): utilisation with a quarter's headroom, clamped.
    fn performance_need(&self, kernel: &Kernel, cpu: CpuId, task: TaskId, dst: Option<CpuId>) -> u64 {
        let util = self.cpu_util_with(kernel, cpu, task, dst);
        let idle = self.cfs[cpu.index()].nr_runnable == 0;
        let (mut min, mut max) = if idle { (0, CAPACITY_SCALE) } else { self.uclamp_rq(kernel, cpu) };
        if dst == Some(cpu) {
            let (task_min, task_max) = Self::uclamp(kernel, task);
            min = min.max(task_min);
            max = if idle { task_max } else { max.max(task_max) };
        }
        (util + (util >> 2)).min(max).max(min)
    }
}

/// Whether a domain's candidate is better than the best so far (the four tests in the kernel's loop).
fn improves(candidate: &Candidate, best: Option<&Candidate>, at_prev: Option<&Candidate>) -> bool {
    let Some(best) = best else {
        // `best_delta` starts as the previous CPU's where that was seen already.
        return candidate.fit != Fit::Yes
            || at_prev.is_none_or(|prev| candidate.delta < prev.delta || prev.fit < Fit::Yes);
    };
    if candidate.fit != best.fit {
        return candidate.fit > best.fit;
    }
    match candidate.fit {
        Fit::Yes => candidate.delta < best.delta,
        _ => candidate.capacity > best.capacity,
    }
}

/// Whether leaving the previous CPU pays.
fn beats(best: &Candidate, prev: &Candidate) -> bool {
    best.fit > prev.fit
        || (best.fit == Fit::Yes && best.delta < prev.delta)
        || (best.fit == Fit::NotBoosted && best.capacity > prev.capacity)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Example 2 of the kernel's Documentation/scheduler/sched-energy.rst.
    fn documented() -> EnergyModel {
        let domain = |cpus: [u32; 2], states: [(u64, u64); 3]| PerfDomain {
            cpus: cpus.map(CpuId).into(),
            states: states.map(|(performance, power)| PerfState { performance, power }).into(),
        };
        EnergyModel::new(vec![
            domain([0, 1], [(170, 50), (341, 150), (512, 300)]),
            domain([2, 3], [(512, 400), (768, 800), (1024, 1700)]),
        ])
    }

    #[test]
    fn the_documented_example_costs_what_the_document_says() {
        let model = documented();
        let energy = |little: [u64; 2], big: [u64; 2]| {
            let domain =
                |index, utils: [u64; 2]| model.em_cpu_energy(index, utils[0].max(utils[1]), utils[0] + utils[1]);
            domain(0, little) + domain(1, big)
        };
        assert_eq!(energy([200, 300], [600, 500]), 1364, "P on CPU1");
        assert_eq!(energy([200, 100], [600, 700]), 1485, "P on CPU3");
        assert_eq!(energy([400, 100], [600, 500]), 1437, "P stays on CPU0");
    }

    #[test]
    fn states_that_a_faster_one_beats_are_dropped() {
        let states = [(100, 100), (200, 300), (400, 400)].map(|(performance, power)| PerfState { performance, power });
        let kept: Vec<u64> = efficient(states.into()).iter().map(|state| state.performance).collect();
        assert_eq!(kept, [400]);
    }
}
