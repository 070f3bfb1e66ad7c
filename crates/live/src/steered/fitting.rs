// SPDX-License-Identifier: MIT OR Apache-2.0
//! What work costs at each clock, fitted to energy counters while the machine works, where neither the kernel nor anybody else
//! says it ([`tandem_loader::steering::Fit`]).
//!
//! Once a second: what the machine drew, how many CPUs of each kind were busy, and at which clock. The clock is what
//! `scaling_cur_freq` says at that time, of policies that were busy: one sample for a second, so a machine whose clocks change
//! often needs many of them, and until then nothing follows.

use std::fs;
use std::path::Path;

use tandem_loader::steering::{Costs, Fit, Fitted, KindWork, Load, Meters, Reading, Steering, Unknown};

use super::meters::ProcMeters;
use crate::host::Policy;

/// Policies whose clock is read at a time: more of a kind say hardly more.
const MOST_READ: usize = 32;
/// A policy whose busiest CPU was busy for less, in thousandths, does not say at which clock it was.
const SAYS_A_CLOCK: u32 = 100;
/// Seconds from one solution to the next.
const SOLVES_EACH: u32 = 30;

/// What was seen so far.
#[derive(Debug)]
pub(super) struct Fitting {
    fit: Fit,
    /// By policy: its kind. CPUs of one kind have the same range of clocks.
    kinds: Vec<usize>,
    /// By policy: CPUs, and the lowest and the highest clock in kHz.
    policies: Vec<(String, Vec<usize>, [u32; 2])>,
    last: Option<(Reading, f64)>,
    since: u32,
    fitted: Option<Fitted>,
}

impl Fitting {
    /// Of these policies, if of some nothing says what its clocks cost.
    pub fn of(policies: &[&Policy], steering: &Steering) -> Option<Self> {
        let is_unknown = |costs: &Costs| *costs == Costs::Unknown(Unknown::NoPower);
        if !steering.domains().any(|domain| is_unknown(&domain.costs)) {
            return None;
        }
        let khz = |khz: u64| u32::try_from(khz).unwrap_or(u32::MAX);
        let ranges: Vec<[u32; 2]> =
            policies.iter().map(|policy| [khz(policy.lowest_khz), khz(policy.highest_khz)]).collect();
        let mut known = ranges.clone();
        known.sort_unstable();
        known.dedup();
        let kinds = ranges.iter().map(|range| known.partition_point(|other| other < range)).collect();
        let described = policies.iter().zip(ranges);
        let policies = described.map(|(policy, range)| (policy.name.clone(), policy.cpus.clone(), range)).collect();
        Some(Self { fit: Fit::new(known.len()), kinds, policies, last: None, since: 0, fitted: None })
    }

    /// The machine has taken so many joules so far: once a second. What is learned goes to the loop.
    pub fn see(&mut self, joules: f64, root: &Path, meters: &mut ProcMeters, steering: &mut Steering) {
        let Some(reading) = meters.reading() else { return };
        let last = self.last.replace((reading.clone(), joules));
        let Some((earlier, before)) = last else { return };
        let Some(load) = Load::between(&earlier, &reading) else { return };
        let seconds = (reading.now - earlier.now) as f64 / 1e9;
        let work = self.work(&load, root);
        self.fit.add((joules - before) / seconds, &work);
        self.since += 1;
        if self.since >= SOLVES_EACH {
            self.since = 0;
            self.fitted = self.fit.solve();
            self.teach(steering);
        }
    }

    /// What each kind of CPU did.
    fn work(&self, load: &Load, root: &Path) -> Vec<KindWork> {
        let kinds = self.kinds.iter().max().map_or(0, |last| last + 1);
        let mut work = vec![KindWork::default(); kinds];
        let mut clocked = vec![(0.0, 0.0); kinds];
        let mut left = MOST_READ;
        for (kind, (name, cpus, _)) in self.kinds.iter().zip(&self.policies) {
            let busy =
                cpus.iter().filter_map(|cpu| load.busy.get(*cpu)).map(|busy| f64::from(*busy) / 1000.0).sum::<f64>();
            work[*kind].busy += busy;
            if left > 0 && load.busiest(cpus) >= SAYS_A_CLOCK {
                left -= 1;
                let khz = current_khz(root, name).unwrap_or(0.0);
                let (sum, weight) = &mut clocked[*kind];
                (*sum, *weight) = (*sum + busy * khz, *weight + if khz > 0.0 { busy } else { 0.0 });
            }
        }
        for (work, (sum, weight)) in work.iter_mut().zip(clocked) {
            match weight > 0.0 {
                true => work.ghz = sum / weight / 1e6,
                // What is hardly busy is left out: at no clock it would draw nothing.
                false => work.busy = 0.0,
            }
        }
        work
    }

    fn teach(&self, steering: &mut Steering) {
        let Some(fitted) = &self.fitted else { return };
        for (domain, kind) in self.kinds.iter().enumerate() {
            let [lowest, highest] = self.policies[domain].2;
            let power = fitted.kinds.get(*kind).copied().flatten();
            let costs = power.map_or(Costs::Unknown(Unknown::NotIdentified), |power| power.costs(lowest, highest));
            steering.learn(domain, costs);
        }
    }

    /// How good the fit is, in words.
    pub fn words(&self) -> String {
        match &self.fitted {
            None => "energy counters: too little was seen yet".to_owned(),
            Some(Fitted { unknowns, rank, residual, kinds }) => {
                let known = kinds.iter().flatten().count();
                let off = residual * 100.0;
                format!(
                    "energy counters: {rank} of {unknowns} unknowns told apart, off by {off:.1} %, {known} of {} kinds known",
                    kinds.len()
                )
            }
        }
    }
}

fn current_khz(root: &Path, policy: &str) -> Option<f64> {
    let file = root.join(format!("sys/devices/system/cpu/cpufreq/{policy}/scaling_cur_freq"));
    fs::read_to_string(file).ok()?.trim().parse().ok()
}
