// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limits on power and temperature: what a package drew on average, and the clocks that this leaves it.
//!
//! A running average of power with time constant τ follows `A' = (P − A) / τ`. So does the heat of one thermal resistance R
//! and one capacity C, with τ = R·C and the temperature `ambient + R·A`: a limit on temperature is a limit on an average of
//! power. Once a period the package gets the highest clocks at which no average will be above its limit at the period's end.

use super::Hardware;
use crate::machine::{Machine, Package, Thermal};
use crate::units::{ClusterId, CpuId, MSEC, Nanos, PackageId, PerformanceDomainId, seconds};

/// Time between two looks at what a package drew.
pub const PERIOD: Nanos = 8 * MSEC;

/// Time constant of the average that the short limit holds down, in seconds: some periods, so that two operating points can
/// take turns.
const SHORT_TAU_S: f64 = 0.08;

/// Watts by which sums of the same parts may differ.
const ROUNDING: f64 = 1e-9;

/// A running average of power, and its limit.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Average {
    watts: f64,
    limit: f64,
    tau_s: f64,
    most: f64,
}

impl Average {
    fn new(limit: f64, tau_s: f64, watts: f64) -> Self {
        Self { watts, limit, tau_s, most: watts }
    }

    /// A span of `span_s` seconds at `watts` is over.
    fn add(&mut self, watts: f64, span_s: f64) {
        let kept = (-span_s / self.tau_s).exp();
        self.watts = watts + (self.watts - watts) * kept;
        self.most = self.most.max(self.watts);
    }

    /// Watts for the next `span_s` seconds after which the average is at its limit.
    fn allows(&self, span_s: f64) -> f64 {
        let kept = (-span_s / self.tau_s).exp();
        (self.limit - self.watts * kept) / (1.0 - kept)
    }
}

/// A package with limits.
#[derive(Debug)]
pub(super) struct Budget {
    package: PackageId,
    cpus: Vec<CpuId>,
    clusters: Vec<ClusterId>,
    domains: Vec<PerformanceDomainId>,
    /// The average that `power_limit` speaks of.
    long: Option<Average>,
    /// The same over some periods.
    short: Option<Average>,
    /// The heat in the package, in watts of steady power that would lead to it.
    heat: Option<(Thermal, Average)>,
    /// Shares of their highest clocks that domains can be held to, ascending.
    ladder: Vec<f64>,
    /// The share in force.
    step: usize,
    /// What the package drew at a step at which the next one was refused, and what it would have drawn there.
    refused: Option<(f64, f64)>,
    /// Joules up to the last look, and when it was.
    joules: f64,
    since: Nanos,
    /// Whether the share in force holds a running core below what it would run at.
    binding: bool,
    /// Time for which that was so.
    limited: Nanos,
}

/// What the limits of a package did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LimitState {
    /// Which package.
    pub package: PackageId,
    /// Time for which a running core was held below the clock that it would have had.
    pub limited: Nanos,
    /// Highest running average of power, in watts.
    pub average_watts_max: Option<f64>,
    /// Highest temperature, in °C.
    pub celsius_max: Option<f64>,
}

impl Budget {
    /// The limits of `package`, if it has any; `hot`: all averages begin where a long full load leaves them.
    pub fn new(machine: &Machine, package: PackageId, hot: bool) -> Option<Self> {
        let entry = &machine.packages[package.index()];
        if !entry.is_limited() {
            return None;
        }
        let clusters = (0..machine.clusters.len()).map(ClusterId::at);
        let clusters: Vec<_> = clusters.filter(|id| machine.clusters[id.index()].package == package).collect();
        let cores = clusters.iter().flat_map(|cluster| &machine.clusters[cluster.index()].cores);
        let cpus: Vec<_> = cores.flat_map(|core| &machine.cores[core.index()].cpus).copied().collect();
        let mut domains: Vec<_> = cpus.iter().map(|cpu| machine.cpus[cpu.index()].performance_domain).collect();
        domains.sort_unstable();
        domains.dedup();
        let ladder = ladder(machine, &domains);
        let start = if hot { sustained_watts(entry) } else { 0.0 };
        Some(Self {
            package,
            cpus,
            clusters,
            domains,
            long: entry.power_limit.map(|limit| Average::new(limit.long_watts, limit.long_tau_s, start)),
            short: entry.power_limit.map(|limit| Average::new(limit.short_watts, SHORT_TAU_S, start)),
            heat: entry.thermal.map(|heat| (heat, Average::new(heat.limit_watts(), heat.tau_s(), start))),
            step: ladder.len() - 1,
            ladder,
            refused: None,
            joules: 0.0,
            since: 0,
            binding: false,
            limited: 0,
        })
    }

    /// Takes into account what was drawn up to `now`, when `joules` have been drawn in all.
    fn account(&mut self, joules: f64, now: Nanos) {
        let span = now - self.since;
        if span == 0 {
            return;
        }
        let watts = (joules - self.joules) / seconds(span);
        let heat = self.heat.iter_mut().map(|(_, heat)| heat);
        for average in self.long.iter_mut().chain(&mut self.short).chain(heat) {
            average.add(watts, seconds(span));
        }
        if self.binding {
            self.limited += span;
        }
        (self.joules, self.since) = (joules, now);
    }

    /// Watts for the next period.
    fn watts(&self) -> f64 {
        let averages = self.long.iter().chain(&self.short).chain(self.heat.iter().map(|(_, heat)| heat));
        averages.map(|average| average.allows(seconds(PERIOD))).fold(f64::INFINITY, f64::min)
    }

    fn state(&self) -> LimitState {
        LimitState {
            package: self.package,
            limited: self.limited,
            average_watts_max: self.long.map(|long| long.most),
            celsius_max: self.heat.map(|(heat, average)| heat.ambient_celsius + heat.kelvin_per_watt * average.most),
        }
    }
}

/// Watts that a package can draw for ever.
fn sustained_watts(package: &Package) -> f64 {
    let long = package.power_limit.map_or(f64::INFINITY, |limit| limit.long_watts);
    package.thermal.map_or(long, |heat| heat.limit_watts().min(long))
}

/// All shares that an operating point of these domains is of its domain's highest clock, ascending.
fn ladder(machine: &Machine, domains: &[PerformanceDomainId]) -> Vec<f64> {
    let mut shares: Vec<f64> = Vec::new();
    for domain in domains {
        let opps = &machine.performance_domains[domain.index()].opps;
        let top = f64::from(opps[opps.len() - 1].khz);
        shares.extend(opps.iter().map(|opp| f64::from(opp.khz) / top));
    }
    shares.sort_unstable_by(f64::total_cmp);
    shares.dedup();
    shares
}

impl Hardware<'_> {
    /// Whether any package has limits.
    pub fn has_limits(&self) -> bool {
        !self.budgets.is_empty()
    }

    /// Looks at what packages with limits drew, and sets the clocks that they may have for the next [`PERIOD`]. Whether the
    /// clocks that any package may have are others than before.
    pub fn enforce_limits(&mut self) -> bool {
        let steps: Vec<usize> = self.budgets.iter().map(|budget| budget.step).collect();
        let before: Vec<usize> = self.domains.iter().map(|domain| domain.effective).collect();
        let mut budgets = std::mem::take(&mut self.budgets);
        for budget in &mut budgets {
            budget.account(self.joules_of(budget), self.now);
            self.choose_step(budget);
            budget.binding = budget.domains.iter().any(|domain| self.is_held(*domain));
        }
        self.budgets = budgets;
        // Clocks that were only tried have not changed.
        self.clock_changes.sort_unstable();
        self.clock_changes.dedup();
        let domains = &self.domains;
        self.clock_changes.retain(|domain| domains[domain.index()].effective != before[domain.index()]);
        self.budgets.iter().zip(steps).any(|(budget, step)| budget.step != step)
    }

    /// What the limits of each package did up to now, in order of packages.
    pub fn limit_states(&mut self) -> Vec<LimitState> {
        let mut budgets = std::mem::take(&mut self.budgets);
        for budget in &mut budgets {
            budget.account(self.joules_of(budget), self.now);
        }
        self.budgets = budgets;
        self.budgets.iter().map(Budget::state).collect()
    }

    /// The highest clock in kHz that limits leave each domain that they may concern.
    pub fn limited_clocks(&self) -> impl Iterator<Item = (PerformanceDomainId, u32)> + '_ {
        self.budgets.iter().flat_map(|budget| &budget.domains).map(|domain| {
            let opps = &self.machine.performance_domains[domain.index()].opps;
            (*domain, opps[self.domains[domain.index()].cap.min(opps.len() - 1)].khz)
        })
    }

    /// The highest step at which the package stays within its budget; the lowest, if none does.
    fn choose_step(&mut self, budget: &mut Budget) {
        let watts = budget.watts() + ROUNDING;
        while budget.step > 0 && self.package_watts(budget.package) > watts {
            self.take_step(budget, budget.step - 1);
        }
        if self.package_watts(budget.package) > watts {
            return;
        }
        while budget.step + 1 < budget.ladder.len() {
            let here = self.package_watts(budget.package);
            // Where nothing has changed, neither has what the next step would draw.
            if budget.refused.is_some_and(|(drawn, wanted)| drawn == here && wanted > watts) {
                break;
            }
            self.take_step(budget, budget.step + 1);
            let wanted = self.package_watts(budget.package);
            if wanted > watts {
                self.take_step(budget, budget.step - 1);
                budget.refused = Some((here, wanted));
                break;
            }
        }
    }

    /// Holds all domains of a package to a share of their clocks.
    fn take_step(&mut self, budget: &mut Budget, step: usize) {
        budget.step = step;
        let share = budget.ladder[step];
        for domain in &budget.domains {
            let opps = &self.machine.performance_domains[domain.index()].opps;
            let top = f64::from(opps[opps.len() - 1].khz);
            let cap = opps.partition_point(|opp| f64::from(opp.khz) / top <= share).saturating_sub(1);
            self.domains[domain.index()].cap = cap;
            self.apply_boost(*domain);
        }
    }

    /// Whether limits hold a running core of `domain` below the clock that it would have.
    fn is_held(&self, domain: PerformanceDomainId) -> bool {
        let state = &self.domains[domain.index()];
        let runs = || state.cores.iter().any(|core| self.cores[core.index()].busy_threads > 0);
        state.cap < state.requested.min(self.boost_opp(domain)) && runs()
    }

    /// Joules of a package's cores, clusters and uncore so far.
    fn joules_of(&self, budget: &Budget) -> f64 {
        let cpus = budget.cpus.iter().map(|cpu| self.cpus[cpu.index()].meter.so_far(self.now));
        let clusters = budget.clusters.iter().map(|cluster| self.clusters[cluster.index()].meter.so_far(self.now));
        cpus.chain(clusters).sum::<f64>() + self.packages[budget.package.index()].meter.so_far(self.now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_average_follows_the_power_with_its_time_constant() {
        let mut average = Average::new(100.0, 10.0, 0.0);
        average.add(100.0, 10.0);
        // 1 − 1/e of the way.
        assert!((average.watts - 63.212_055_88).abs() < 1e-6);
        // Many short spans are one long one.
        let mut steps = Average::new(100.0, 10.0, 0.0);
        (0..1000).for_each(|_| steps.add(100.0, 0.01));
        assert!((steps.watts - average.watts).abs() < 1e-9);
    }

    #[test]
    fn what_an_average_allows_takes_it_to_its_limit() {
        let mut average = Average::new(100.0, 10.0, 80.0);
        let allowed = average.allows(1.0);
        // (100 − 80 · 0.904837) / 0.095163.
        assert!((allowed - 290.166).abs() < 1e-2, "{allowed}");
        average.add(allowed, 1.0);
        assert!((average.watts - 100.0).abs() < 1e-9);
        assert!((average.allows(1.0) - 100.0).abs() < 1e-9, "at its limit it allows its limit");
    }
}
