// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cores that are measured together because they are alike, and what can be set of them.

use std::path::Path;

use tandem_loader::reading::{Cpu, ReadError, Reading};

use crate::tree::Tree;

const CPU: &str = "sys/devices/system/cpu";
/// Clocks of a kind that are measured at most.
const MOST_CLOCKS: usize = 12;
/// The state that only spins. It counts as no idle state, and the kernel takes it where all others are switched off.
const POLL: &str = "POLL";

/// Cores that are alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kind {
    /// CPUs of each core, ascending.
    pub cores: Vec<Vec<u32>>,
    /// How many of these, the first ones, are in the package of the first: what wakes with another package is not theirs.
    pub in_one_package: usize,
    /// Names of their cpufreq policies.
    pub policies: Vec<String>,
    /// Clocks to measure, ascending; none without cpufreq.
    pub khz: Vec<u32>,
    /// Numbers and names of idle states, shallow to deep.
    pub states: Vec<(u32, String)>,
}

/// What there is to measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    pub kinds: Vec<Kind>,
    pub packages: usize,
    /// Bytes of all last-level caches.
    pub caches: u64,
    /// Two CPUs of different cores that share their last-level cache.
    pub neighbours: Option<(u32, u32)>,
    /// Two that do not.
    pub strangers: Option<(u32, u32)>,
}

impl Layout {
    pub(super) fn of(root: &Path) -> Result<Self, ReadError> {
        let (reading, _) = Reading::of(root)?;
        let tree = Tree::new(root);
        let policies = policies(&tree);
        let online: Vec<&Cpu> = reading.cpus.iter().filter(|cpu| cpu.online).collect();
        let mut kinds: Vec<(Signature, Kind)> = Vec::new();
        let mut packages: Vec<Option<i64>> = Vec::new();
        for cpu in &online {
            let siblings = siblings(cpu, &online);
            if siblings.first() != Some(&cpu.number) {
                continue;
            }
            if !packages.contains(&cpu.package) {
                packages.push(cpu.package);
            }
            let policy = policies.iter().find(|(_, cpus)| cpus.contains(&cpu.number)).map(|(name, _)| name.clone());
            let signature = Signature::of(cpu, &reading, &tree);
            let at = kinds.iter().position(|(known, _)| *known == signature).unwrap_or_else(|| {
                let (khz, states) = (clocks(&reading, cpu.number), signature.states.clone());
                let kind = Kind { cores: Vec::new(), in_one_package: 0, policies: Vec::new(), khz, states };
                kinds.push((signature, kind));
                kinds.len() - 1
            });
            let kind = &mut kinds[at].1;
            let first = kind.cores.first().and_then(|core| reading.cpus.get(*core.first()? as usize)?.package);
            kind.in_one_package += usize::from(kind.cores.is_empty() || first == cpu.package);
            kind.cores.push(siblings);
            kind.policies.extend(policy.filter(|policy| !kind.policies.contains(policy)));
        }
        let kinds = kinds.into_iter().map(|(_, kind)| with_common_clocks(kind, &reading)).collect();
        let (neighbours, strangers) = pairs(&online);
        let packages = packages.len().max(1);
        Ok(Self { kinds, packages, caches: caches(&online), neighbours, strangers })
    }

    /// All cores of the machine.
    pub(super) fn cores(&self) -> usize {
        self.kinds.iter().map(|kind| kind.cores.len()).sum()
    }
}

impl Kind {
    /// The first CPU of each of the first cores.
    pub(super) fn leaders(&self, cores: usize) -> Vec<u32> {
        self.cores.iter().take(cores).filter_map(|core| core.first().copied()).collect()
    }

    /// All CPUs of the first cores.
    pub(super) fn threads(&self, cores: usize) -> Vec<u32> {
        self.cores.iter().take(cores).flatten().copied().collect()
    }

    /// The number of the deepest idle state.
    pub(super) fn deepest(&self) -> Option<u32> {
        self.states.last().map(|(number, _)| *number)
    }
}

/// Cores with the same are of one kind. Clocks count where the driver lists them: where it gives a range, favoured cores of one
/// kind have different ends.
#[derive(Debug, PartialEq, Eq)]
struct Signature {
    hybrid: Option<&'static str>,
    part: Option<(u32, u32)>,
    khz: Vec<u32>,
    capacity: Option<u32>,
    threads: usize,
    states: Vec<(u32, String)>,
}

impl Signature {
    fn of(cpu: &Cpu, reading: &Reading, tree: &Tree) -> Self {
        let hybrid = reading.hybrid.iter().find(|(_, cpus)| cpus.contains(&cpu.number)).map(|(name, _)| *name);
        let policy = reading.policies.iter().find(|policy| policy.cpus.contains(&cpu.number));
        let khz = policy.map(|policy| policy.khz.clone()).unwrap_or_default();
        let capacity = cpu.capacity.filter(|_| hybrid.is_none());
        let threads = cpu.core_cpus.as_ref().map_or(1, Vec::len);
        Self { hybrid, part: cpu.part, khz, capacity, threads, states: states(tree, cpu.number) }
    }
}

fn states(tree: &Tree, cpu: u32) -> Vec<(u32, String)> {
    let name = |state: u32| Some((state, tree.text(&format!("{CPU}/cpu{cpu}/cpuidle/state{state}/name"))?));
    let numbers = tree.numbered(&format!("{CPU}/cpu{cpu}/cpuidle"), "state");
    numbers.into_iter().filter_map(name).filter(|(_, name)| name != POLL).collect()
}

/// Names of policies, and their CPUs.
fn policies(tree: &Tree) -> Vec<(String, Vec<u32>)> {
    let numbers = tree.numbered(&format!("{CPU}/cpufreq"), "policy");
    let policy = |number| {
        let name = format!("policy{number}");
        let cpus = tree.cpus(&format!("{CPU}/cpufreq/{name}/related_cpus"))?;
        Some((name, cpus))
    };
    numbers.into_iter().filter_map(policy).collect()
}

fn siblings(cpu: &Cpu, online: &[&Cpu]) -> Vec<u32> {
    let is_online = |number: &u32| online.iter().any(|cpu| cpu.number == *number);
    let mut cpus: Vec<u32> = cpu.core_cpus.iter().flatten().copied().filter(is_online).collect();
    cpus.push(cpu.number);
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

/// The clocks that the driver of a CPU lists.
fn clocks(reading: &Reading, cpu: u32) -> Vec<u32> {
    let policy = reading.policies.iter().find(|policy| policy.cpus.contains(&cpu));
    policy.map(|policy| spread(&policy.khz)).unwrap_or_default()
}

/// Clocks where the driver gives only a range: even steps within what all cores of the kind reach.
fn with_common_clocks(kind: Kind, reading: &Reading) -> Kind {
    if !kind.khz.is_empty() {
        return kind;
    }
    let of_kind = |cpus: &[u32]| kind.cores.iter().flatten().any(|cpu| cpus.contains(cpu));
    let own = || reading.policies.iter().filter(|policy| of_kind(&policy.cpus));
    let (lowest, highest) =
        (own().filter_map(|policy| policy.min_khz).max(), own().filter_map(|policy| policy.max_khz).min());
    let khz = match (lowest, highest) {
        (Some(lowest), Some(highest)) if lowest < highest => {
            let steps = MOST_CLOCKS as u32 - 1;
            (0..=steps)
                .map(|step| lowest + ((u64::from(highest - lowest) * u64::from(step)) / u64::from(steps)) as u32)
                .collect()
        }
        (_, highest) => highest.into_iter().collect(),
    };
    Kind { khz, ..kind }
}

/// At most [`MOST_CLOCKS`] of these, evenly, the first and the last among them.
fn spread(khz: &[u32]) -> Vec<u32> {
    if khz.len() <= MOST_CLOCKS {
        return khz.to_vec();
    }
    (0..MOST_CLOCKS).map(|at| khz[at * (khz.len() - 1) / (MOST_CLOCKS - 1)]).collect()
}

/// The last-level cache of a CPU: who shares it, and its bytes.
fn last_level(cpu: &Cpu) -> Option<(&[u32], u64)> {
    let cache = cpu.caches.iter().max_by_key(|cache| cache.level)?;
    Some((&cache.cpus, cache.kib.unwrap_or(0) << 10))
}

fn caches(online: &[&Cpu]) -> u64 {
    let first = |cpu: &&&Cpu| last_level(cpu).is_some_and(|(cpus, _)| cpus.first() == Some(&cpu.number));
    online.iter().filter(first).filter_map(|cpu| Some(last_level(cpu)?.1)).sum()
}

/// Two CPUs.
type Pair = (u32, u32);

/// The first two CPUs of different cores with a common last-level cache, and without.
fn pairs(online: &[&Cpu]) -> (Option<Pair>, Option<Pair>) {
    let Some(first) = online.first() else { return (None, None) };
    let Some((shared, _)) = last_level(first) else { return (None, None) };
    let own = siblings(first, online);
    let other = |shares: bool| {
        let is_one = |cpu: &&&Cpu| shared.contains(&cpu.number) == shares && !own.contains(&cpu.number);
        online.iter().find(is_one).map(|cpu| (first.number, cpu.number))
    };
    (other(true), other(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_clocks_a_dozen_are_measured_with_both_ends() {
        let many: Vec<u32> = (1..=40).map(|step| step * 100_000).collect();
        let some = spread(&many);
        assert_eq!((some.len(), some.first(), some.last()), (12, many.first(), many.last()));
        assert!(some.is_sorted_by(|one, next| one < next));
        assert_eq!(spread(&many[..5]), many[..5]);
    }
}
