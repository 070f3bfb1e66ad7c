// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far what the machine's kernel believes of energy is from what the machine draws.

use super::{paper, units};
use crate::machine::{Machine, Opp, PerformanceDomain};
use crate::units::CpuId;

/// Relative difference below which two powers count as the same: device trees have three digits.
const SAME: f64 = 0.005;

/// The lines about it, at most `width` columns each; none where both are the same or no kernel would have a model.
pub(super) fn of(machine: &Machine, width: usize) -> Vec<String> {
    let domains = &machine.performance_domains;
    let all = || domains.iter().flat_map(|domain| &domain.opps);
    if let Some(driver) = machine.platform.cpufreq_driver {
        if !driver.is_intel() || machine.cpus.iter().all(|cpu| cpu.capacity == machine.cpus[0].capacity) {
            return Vec::new();
        }
        let text = "intel_pstate's from 6.16 on, which ranks core types and has no watts; none before";
        return paper::labelled("energy model", text, COLUMN, width);
    }
    if all().any(|opp| opp.em_watts.is_none()) {
        return paper::labelled("energy model", "none: the kernel places nothing by energy", COLUMN, width);
    }
    let worst = all().max_by(|a, b| apart(a).total_cmp(&apart(b)));
    let Some(worst) = worst.filter(|worst| apart(worst) > SAME) else { return Vec::new() };
    let mut text = "power believed over drawn at the highest clocks: ".to_owned();
    text.push_str(&tops(machine));
    if let Some(domain) = domains.iter().find(|domain| domain.opps.iter().any(|opp| std::ptr::eq(opp, worst))) {
        let share = units::number(believed_share(worst), 2);
        text.push_str(&format!("; furthest apart {share}, CPU {} at {} MHz", domain.cpus[0], units::mhz(worst.khz)));
    }
    if let Some(ratios) = work(machine) {
        text.push_str(&format!("; {ratios}"));
    }
    paper::labelled("energy model", &text, COLUMN, width)
}

/// Columns before the text of each line.
const COLUMN: usize = 14;

/// Watts believed over watts drawn.
fn believed_share(opp: &Opp) -> f64 {
    opp.em_watts.unwrap_or(0.0) / (opp.dynamic_watts + opp.leakage_watts)
}

/// How far the two are apart, whichever is larger; 0: not at all.
fn apart(opp: &Opp) -> f64 {
    let share = believed_share(opp);
    if share > 0.0 && share.is_finite() { share.ln().abs() } else { 0.0 }
}

/// `0.49 CPU 0, 0.55 CPU 4`: of each kind of domain.
fn tops(machine: &Machine) -> String {
    let mut kinds: Vec<(&PerformanceDomain, f64)> = Vec::new();
    for domain in &machine.performance_domains {
        let Some(top) = domain.opps.last() else { continue };
        if kinds.iter().all(|(known, _)| known.opps != domain.opps) {
            kinds.push((domain, believed_share(top)));
        }
    }
    let text =
        |(domain, share): &(&PerformanceDomain, f64)| format!("{} CPU {}", units::number(*share, 2), domain.cpus[0]);
    kinds.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// Energy per work at the highest clocks, of the fastest CPU over that of the one with the least capacity, drawn and believed.
fn work(machine: &Machine) -> Option<String> {
    let big = machine.reference.cpu;
    let little = (0..machine.cpus.len()).min_by_key(|cpu| machine.cpus[*cpu].capacity).map(CpuId::at)?;
    if machine.cpus[little.index()].capacity == machine.cpus[big.index()].capacity {
        return None;
    }
    let costs = |cpu: CpuId| {
        let described = &machine.cpus[cpu.index()];
        let top = machine.performance_domains[described.performance_domain.index()].opps.last()?;
        let drawn = (top.dynamic_watts + top.leakage_watts) / (f64::from(top.khz) * machine.core_type(cpu).ipc);
        Some((drawn, top.em_watts? / f64::from(described.capacity)))
    };
    let ((big_drawn, big_believed), (little_drawn, little_believed)) = (costs(big)?, costs(little)?);
    let (drawn, believed) =
        (units::number(big_drawn / little_drawn, 2), units::number(big_believed / little_believed, 2));
    Some(format!("energy per work of CPU {big} over CPU {little}: drawn {drawn}, believed {believed}"))
}
