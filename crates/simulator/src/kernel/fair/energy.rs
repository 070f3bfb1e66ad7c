// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energy-aware placement, the kernel's EAS (energy-aware scheduling): its energy model and `find_energy_efficient_cpu`.
//!
//! A driver registers the model, or none does: see [`EnergyModel::is_registered`]. It is the kernel's, not the simulator's: it
//! has the power of each OPP that the machine's kernel was told ([`Opp::em_watts`]), which need not be what the machine draws,
//! and knows neither idle states nor static power nor voltage coupling. So its choices can be wrong in the same way as on a real
//! machine.

use super::Fair;
use super::load::Fit;
use crate::kernel::Kernel;
use crate::kernel::cpumask::CpuMask;
use crate::kernel::release::Linux;
use crate::machine::{Machine, Opp, PerformanceDomain};
use crate::units::{CpuId, TaskId};

/// The kernel's energy model (`struct em_perf_domain` of every performance domain).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnergyModel {
    domains: Vec<PerfDomain>,
}

/// A performance domain's part of the energy model (`struct em_perf_domain`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PerfDomain {
    /// The domain's online CPUs.
    pub cpus: Vec<CpuId>,
    /// The domain's states, ascending by performance (`em_perf_table`).
    pub states: Vec<PerfState>,
}

/// A performance state: `struct em_perf_state`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerfState {
    /// Capacity of a CPU in this state, 0..=1024.
    pub performance: u64,
    /// Power of one busy CPU in this state; any unit, the same for all domains (microwatts from a machine).
    pub power: u64,
}

impl EnergyModel {
    /// The model of these domains.
    pub fn new(domains: Vec<PerfDomain>) -> Self {
        Self { domains }
    }

    /// Whether some driver of `machine` registers a model: `dev_pm_opp` where there is a device tree, intel_pstate from 6.16 on
    /// where it says how capacities differ (`hybrid_register_perf_domain`), no other driver of x86.
    pub fn is_registered(machine: &Machine, linux: Linux) -> bool {
        machine
            .platform
            .cpufreq_driver
            .is_none_or(|driver| driver.is_intel() && linux.release().hybrid_register_perf_domain)
    }

    /// The model of `machine`'s online CPUs: power of one busy core per OPP as `dev_pm_opp` registers it, or on x86 intel_pstate's.
    /// `None` if a clock has no model: the kernel then places nothing by energy (`build_perf_domains()`).
    pub fn of(machine: &Machine) -> Option<Self> {
        Self::with_online(machine, &CpuMask::of(machine.cpus.len(), machine.online()))
    }

    /// The model of `machine` as if these of its CPUs were online.
    pub fn with_online(machine: &Machine, online: &CpuMask) -> Option<Self> {
        if machine.platform.cpufreq_driver.is_some() {
            return Some(Self::hybrid(machine, online));
        }
        let mut domains = Vec::new();
        for domain in &machine.performance_domains {
            let cpus: Vec<CpuId> = domain.cpus.iter().copied().filter(|cpu| online.test(*cpu)).collect();
            let Some(first) = cpus.first() else { continue };
            if domain.opps.iter().any(|opp| opp.em_watts.is_none()) {
                return None;
            }
            let capacity = u64::from(machine.cpus[first.index()].capacity);
            domains.push(PerfDomain { states: efficient(states(domain, capacity)), cpus });
        }
        Some(Self::new(domains))
    }

    /// What intel_pstate registers of a hybrid: each CPU by itself, with states of 40, 60, 80 and 100 % of its capacity and a
    /// made-up cost of work in each, 2 to 5; 1 more on E-cores with an L3, 2 more on P-cores (`hybrid_active_power`,
    /// `hybrid_get_cost`). No watts: E-cores are to be filled first, the ones without L3 before the others.
    fn hybrid(machine: &Machine, online: &CpuMask) -> Self {
        let domain = |id: CpuId| {
            let cpu = &machine.cpus[id.index()];
            let has_l3 = cpu.llc.is_some_and(|cache| machine.caches[cache.index()].level == 3);
            let is_big = machine.core_type(id) == machine.core_type(machine.reference.cpu);
            let more = if is_big { 2 } else { u64::from(has_l3) };
            let state = |step: u64| {
                let performance = u64::from(cpu.capacity) * step / 5;
                PerfState { performance, power: (step + more) * performance }
            };
            PerfDomain { cpus: vec![id], states: (2..=5).map(state).collect() }
        };
        Self::new(online.iter().map(domain).collect())
    }

    /// What each performance domain has.
    pub fn domains(&self) -> &[PerfDomain] {
        &self.domains
    }

    /// Energy of a domain if its fullest CPU needs `max_util` and all of them `sum_util` (`em_cpu_energy`); the state is
    /// the lowest that is fast enough.
    pub fn em_cpu_energy(&self, domain: usize, max_util: u64, sum_util: u64) -> u64 {
        let states = &self.domains[domain].states;
        let state = states.iter().find(|state| state.performance >= max_util).unwrap_or(&states[states.len() - 1]);
        state.power * sum_util / state.performance
    }
}

/// A state for each OPP of `domain`, whose CPUs have this capacity at the highest: the table that the kernel registers,
/// which energy-aware placement reads without its inefficient states. Where there is no model, powers are 0.
pub fn states(domain: &PerformanceDomain, capacity: u64) -> Vec<PerfState> {
    let top = domain.opps.last().map_or(1, |opp| u64::from(opp.khz));
    let state = |opp: &Opp| PerfState {
        performance: (u64::from(opp.khz) * capacity / top).max(1),
        power: (opp.em_watts.unwrap_or(0.0) * 1e6) as u64,
    };
    domain.opps.iter().map(state).collect()
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

/// What the search of `find_energy_efficient_cpu` knows so far, for the previous CPU or the best other one.
#[derive(Clone, Copy)]
struct Found {
    /// `prev_fits`, `best_fits`: 1 it fits; −1 all but the wished minimum performance, and nothing found yet.
    fits: i8,
    delta: u64,
    /// Capacity that the frequency limits leave.
    capacity: u32,
}

/// The CPUs of a domain that a task could go to, each with how it fits and the capacity it leaves free.
#[derive(Debug, Default)]
struct Candidates {
    /// The one it was on.
    prev: Option<(Fit, i64)>,
    /// Of all others the one with most room.
    roomiest: Option<(CpuId, Fit, i64)>,
}

/// Nothing.
const NOTHING: Found = Found { fits: -1, delta: u64::MAX, capacity: 0 };

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
        kernel.topology.asym[this_cpu.index()].filter(|id| kernel.topology.domains[*id].span.test(prev))?;
        if self.task_util_est(task) == 0 && Self::uclamp(kernel, task).0 == 0 {
            return Some(prev);
        }
        let (mut at_prev, mut best, mut best_cpu) = (NOTHING, NOTHING, prev);
        // The kernel's list of domains is in reverse order of their CPUs.
        for (index, domain) in model.domains.iter().enumerate().rev() {
            let Candidates { prev: prev_fit, roomiest } = self.candidates(kernel, domain, task, prev);
            if prev_fit.is_none() && roomiest.is_none() {
                continue;
            }
            let base = self.compute_energy(kernel, index, task, None);
            let cost = |cpu: CpuId| self.compute_energy(kernel, index, task, Some(cpu)).checked_sub(base);
            let capacity = kernel.rq(domain.cpus[0]).capacity_limit;
            if let Some((fit, _)) = prev_fit {
                let Some(delta) = cost(prev) else { return Some(prev) };
                at_prev = Found { fits: signed(fit), delta, capacity };
                best.delta = best.delta.min(delta);
            }
            let Some((cpu, fit, spare)) = roomiest else { continue };
            let fits = signed(fit);
            if prev_fit.is_some_and(|(_, prev_spare)| spare <= prev_spare)
                || fits < best.fits
                || (fits < 0 && capacity <= best.capacity)
            {
                continue;
            }
            let Some(delta) = cost(cpu) else { return Some(prev) };
            if fits > 0 && best.fits > 0 && delta >= best.delta {
                continue;
            }
            (best, best_cpu) = (Found { fits, delta, capacity }, cpu);
        }
        let leave = best.fits > at_prev.fits
            || (best.fits > 0 && best.delta < at_prev.delta)
            || (best.fits < 0 && best.capacity > at_prev.capacity);
        Some(if leave { best_cpu } else { prev })
    }

    /// The CPUs of `domain` that come into question.
    fn candidates(&self, kernel: &Kernel, domain: &PerfDomain, task: TaskId, prev: CpuId) -> Candidates {
        let (task_min, task_max) = Self::uclamp(kernel, task);
        // As in the kernel, what a busy CPU's tasks ask for also counts for the idle ones after it.
        let mut clamps = (task_min, task_max);
        let mut found = Candidates::default();
        for cpu in domain.cpus.iter().copied().filter(|cpu| kernel.task(task).may_use(*cpu)) {
            let util = self.cpu_util_with(kernel, cpu, task, Some(cpu), false);
            if kernel.uclamp_used && !self.uclamp_rq_is_idle(kernel, cpu) {
                let (rq_min, rq_max) = self.uclamp_rq(kernel, cpu);
                clamps = (task_min.max(rq_min), task_max.max(rq_max));
            }
            let fit = self.util_fits_cpu(kernel, util, clamps, cpu);
            if fit == Fit::No {
                continue;
            }
            let spare = i64::from(kernel.rq(cpu).capacity).saturating_sub(util as i64).max(0);
            if cpu == prev {
                found.prev = Some((fit, spare));
            } else if found.roomiest.is_none_or(|(_, best, most)| fit > best || (fit == best && spare > most)) {
                found.roomiest = Some((cpu, fit, spare));
            }
        }
        found
    }

    /// `compute_energy`: of one domain, with `task` on `dst` (`None`: nowhere).
    fn compute_energy(&self, kernel: &Kernel, index: usize, task: TaskId, dst: Option<CpuId>) -> u64 {
        let Some(model) = &self.energy else { return 0 };
        let domain = &model.domains[index];
        let limit = u64::from(kernel.rq(domain.cpus[0]).capacity_limit);
        let with_rt = |cpu: &CpuId| {
            let rq = kernel.rq(*cpu);
            let util = self.cpu_util_with(kernel, *cpu, task, None, false) + rq.util_above_fair();
            util.min(u64::from(rq.capacity_orig))
        };
        let mut busy: u64 = domain.cpus.iter().map(with_rt).sum();
        if dst.is_some() {
            busy += self.task_util_est(task);
        }
        let needs = domain.cpus.iter().map(|cpu| self.performance_need(kernel, *cpu, task, dst));
        let max_util = needs.max().unwrap_or(0).min(limit);
        model.em_cpu_energy(index, max_util, busy.min(limit * domain.cpus.len() as u64))
    }

    /// What schedutil would ask for on `cpu` (`eenv_pd_max_util`): utilisation, waiting included, with a quarter's
    /// headroom, clamped; at least the active bandwidth of deadline tasks, and all where a real-time task is runnable
    /// and nobody uses clamps (`effective_cpu_util`).
    fn performance_need(&self, kernel: &Kernel, cpu: CpuId, task: TaskId, dst: Option<CpuId>) -> u64 {
        let rq = kernel.rq(cpu);
        let scale = u64::from(rq.capacity_orig);
        let util = (self.cpu_util_with(kernel, cpu, task, dst, true) + rq.util_above_fair()).min(scale);
        let (mut min, mut max) = self.uclamp_rq(kernel, cpu);
        min = min.max(rq.dl_bandwidth);
        max = max.min(scale);
        if rq.rt_nr_running > 0 && !kernel.uclamp_used {
            min = min.max(scale);
        }
        if dst == Some(cpu) && kernel.uclamp_used {
            let (task_min, task_max) = Self::uclamp(kernel, task);
            min = min.max(task_min);
            max = if self.uclamp_rq_is_idle(kernel, cpu) { task_max } else { max.max(task_max) };
        }
        (util + (util >> 2)).min(max).max(min)
    }
}

/// The kernel's number for a fit.
fn signed(fit: Fit) -> i8 {
    match fit {
        Fit::No => 0,
        Fit::NotBoosted => -1,
        Fit::Yes => 1,
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_pcg::Pcg32;

    use super::*;
    use crate::kernel::class::SchedClass;
    use crate::kernel::params::KernelParameters;
    use crate::kernel::switching::Switching;
    use crate::kernel::task::Task;
    use crate::workload::Scheduling;

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

    /// Ranks of 55 and 37: capacities of 1024 and 688. Work of 100 is in the lowest state of both (409, 275): 4 · 100 on a P-core,
    /// 2 · 100 on an E-core. At 350, with a quarter of room 437, it is the P-core's second (614) and the E-core's third (550).
    #[test]
    fn a_hybrid_fills_its_e_cores_first() {
        let machine = Machine::load("core-ultra-7-258v").unwrap();
        let model = EnergyModel::of(&machine).expect("the driver registers one");
        let cpus: Vec<u32> = model.domains.iter().map(|domain| domain.cpus[0].0).collect();
        assert_eq!(cpus, [0, 1, 2, 3, 4, 5, 6, 7]);
        let energy = |cpu: usize, util: u64| model.em_cpu_energy(cpu, util + util / 4, util);
        assert_eq!((energy(0, 100), energy(4, 100)), (400, 200));
        assert_eq!((energy(0, 350), energy(4, 350)), (5 * 350, 4 * 350));
        let registered = |name: &str, linux| EnergyModel::is_registered(&Machine::load(name).unwrap(), linux);
        assert!(!registered("core-ultra-7-258v", Linux::V6_12) && registered("core-ultra-7-258v", Linux::V7_1));
        assert!(!registered("ryzen-ai-9-hx-370", Linux::V7_1) && registered("hikey960", Linux::V6_12));
    }

    /// An A53 of 462 and a light task that would come to it.
    #[test]
    fn more_urgent_tasks_ask_for_a_clock_whatever_they_used_so_far() {
        let machine = Machine::load("hikey960").unwrap();
        let mut kernel = Kernel::new(&machine, KernelParameters::default(), Pcg32::seed_from_u64(1));
        let mut fair = Fair::new(&mut kernel, EnergyModel::of(&machine));
        kernel.tasks.push(Task::new(TaskId(0), Scheduling::default(), None, Switching::default()));
        fair.task_new(&kernel, TaskId(0));
        let (cpu, capacity) = (CpuId(0), u64::from(kernel.rq(CpuId(0)).capacity_orig));
        let need = |kernel: &Kernel| fair.performance_need(kernel, cpu, TaskId(0), Some(cpu));
        assert_eq!(need(&kernel), 0, "a new task has used nothing");
        kernel.rq_mut(cpu).dl_bandwidth = 300;
        assert_eq!(need(&kernel), 300, "what deadline tasks have reserved");
        kernel.rq_mut(cpu).rt_nr_running = 1;
        assert_eq!(need(&kernel), capacity, "a real-time task without a clamp wants all");
        kernel.uclamp_used = true;
        assert_eq!(need(&kernel), 300, "where clamps are used, its own counts, which its enqueue notes");
    }

    #[test]
    fn states_that_a_faster_one_beats_are_dropped() {
        let states = [(100, 100), (200, 300), (400, 400)].map(|(performance, power)| PerfState { performance, power });
        let kept: Vec<u64> = efficient(states.into()).iter().map(|state| state.performance).collect();
        assert_eq!(kept, [400]);
    }
}
