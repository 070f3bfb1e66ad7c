// SPDX-License-Identifier: MIT OR Apache-2.0
//! cpufreq policies: sets of CPUs with one clock, and who chooses it.

use crate::tree::{Tree, list};

/// The governor that asks schedulers.
pub const SCHEDUTIL: &str = "schedutil";
/// Drivers that choose clocks themselves, or let the processor do it, under governors of their own.
const INTEL: &str = "intel_pstate";
const AMD: &str = "amd-pstate-epp";

/// A cpufreq policy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// `policy0`.
    pub name: String,
    /// CPUs of the policy that are online.
    pub cpus: Vec<usize>,
    /// Its driver: `intel_pstate`, `intel_cpufreq` (the same, passive), `amd-pstate-epp`, `cpufreq-dt` …; empty if unknown.
    pub driver: String,
    /// The policy's governor now; empty if unknown.
    pub governor: String,
    /// Those that there are. Of those that are modules only the loaded ones are shown.
    pub governors_available: Vec<String>,
    /// Limits that are set now, kHz (`scaling_min_freq`, `scaling_max_freq`); 0 if unknown.
    pub min_khz: u64,
    /// See `min_khz`.
    pub max_khz: u64,
    /// What the hardware can do, kHz (`cpuinfo_min_freq`, `cpuinfo_max_freq`); 0 if unknown.
    pub lowest_khz: u64,
    /// See `lowest_khz`.
    pub highest_khz: u64,
    /// Of a driver that governs itself: the file that makes it passive, so that it has the kernel's governors.
    pub mode_file: Option<&'static str>,
}

impl Policy {
    /// Whether requests of schedulers have an effect.
    pub fn follows_schedulers(&self) -> bool {
        self.governor == SCHEDUTIL
    }

    /// Whether it has schedutil, in use or not.
    pub fn has_schedutil(&self) -> bool {
        self.governors_available.iter().any(|governor| governor == SCHEDUTIL)
    }

    /// Whether its driver knows none of the kernel's governors, only `performance` and `powersave` of its own.
    pub fn governs_itself(&self) -> bool {
        [INTEL, AMD].contains(&self.driver.as_str())
    }

    /// Whether there are several clocks to choose from.
    pub fn is_changeable(&self) -> bool {
        self.min_khz < self.max_khz
    }
}

/// All policies of `nr_cpus` CPUs.
pub(super) fn policies(tree: &Tree, nr_cpus: usize) -> Vec<Policy> {
    const FOLDER: &str = "devices/system/cpu/cpufreq";
    let number = |name: &String| Some((name.strip_prefix("policy")?.parse::<u64>().ok()?, name.clone()));
    let mut names: Vec<(u64, String)> = tree.names(FOLDER).iter().filter_map(number).collect();
    names.sort();
    if !names.is_empty() {
        return names.iter().filter_map(|(_, name)| policy(tree, name, &format!("{FOLDER}/{name}"))).collect();
    }
    // Copies of a machine's files may have the folders of CPUs only, which are links to these.
    let of_cpu = |cpu: usize| policy(tree, &format!("policy{cpu}"), &format!("devices/system/cpu/cpu{cpu}/cpufreq"));
    let mut policies: Vec<Policy> = Vec::new();
    for policy in (0..nr_cpus).filter_map(of_cpu) {
        if !policies.iter().any(|known| known.cpus == policy.cpus) {
            policies.push(policy);
        }
    }
    policies
}

fn policy(tree: &Tree, name: &str, folder: &str) -> Option<Policy> {
    let file = |file: &str| tree.sys(&format!("{folder}/{file}"));
    let text = |name: &str| file(name).unwrap_or_default();
    let khz = |name: &str| file(name).and_then(|khz| khz.parse().ok()).unwrap_or(0);
    let cpus = file("affected_cpus").or_else(|| file("related_cpus")).and_then(|cpus| list(&cpus));
    let driver = text("scaling_driver");
    // A policy without CPUs has all of them offline, and its files cannot be read.
    let cpus =
        cpus.or_else(|| Some(vec![name.strip_prefix("policy")?.parse().ok()?]).filter(|_| !driver.is_empty()))?;
    Some(Policy {
        name: name.to_owned(),
        cpus,
        governor: text("scaling_governor"),
        governors_available: text("scaling_available_governors").split_whitespace().map(str::to_owned).collect(),
        min_khz: khz("scaling_min_freq"),
        max_khz: khz("scaling_max_freq"),
        lowest_khz: khz("cpuinfo_min_freq"),
        highest_khz: khz("cpuinfo_max_freq"),
        mode_file: mode_file(tree, &driver),
        driver,
    })
}

fn mode_file(tree: &Tree, driver: &str) -> Option<&'static str> {
    let file = match driver {
        INTEL => "/sys/devices/system/cpu/intel_pstate/status",
        AMD => "/sys/devices/system/cpu/amd_pstate/status",
        _ => return None,
    };
    tree.has_sys(file.trim_start_matches("/sys/")).then_some(file)
}
