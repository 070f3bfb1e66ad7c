// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which CPUs are siblings on a core, and where CPUs belong that are offline and so have no topology in sysfs.

use tandem_loader::cpus::CpuList;
use tandem_loader::reading::{Cpu, Reading};

/// A core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Core {
    /// CPUs of the core, ascending.
    pub cpus: Vec<u32>,
    /// The online CPU whose facts hold for this core: one of its own, or a neighbour's if the core is offline.
    pub leader: u32,
}

impl Core {
    /// The facts that hold for this core.
    pub(super) fn facts<'f>(&self, facts: &'f Reading) -> &'f Cpu {
        &facts.cpus[self.leader as usize]
    }
}

/// All cores, ordered by their first CPU.
pub(super) fn find(facts: &Reading, warnings: &mut Vec<String>) -> Vec<Core> {
    let mut cores: Vec<Core> = Vec::new();
    let mut silent = Vec::new();
    for cpu in facts.cpus.iter().filter(|cpu| cpu.online) {
        if cores.iter().any(|core| core.cpus.contains(&cpu.number)) {
            continue;
        }
        if cpu.core_cpus.is_none() {
            silent.push(cpu.number);
        }
        let siblings = cpu.core_cpus.iter().flatten().copied();
        let mut cpus: Vec<u32> = siblings.filter(|sibling| is_free(facts, &cores, *sibling)).collect();
        cpus.push(cpu.number);
        cpus.sort_unstable();
        cpus.dedup();
        cores.push(Core { cpus, leader: cpu.number });
    }
    if !silent.is_empty() {
        let list = CpuList::of(&silent);
        warnings.push(format!("topology of CPUs {list}: not in sysfs; each is taken for a core of its own"));
    }
    place_offline(facts, &mut cores, warnings);
    warn_of_wide(&cores, warnings);
    cores.sort_by_key(|core| core.cpus[0]);
    cores
}

/// Most threads of a core that hardware has: POWER8's.
const WIDEST: usize = 8;

/// Warns of cores with more threads than hardware has. Virtual machines may be told so.
fn warn_of_wide(cores: &[Core], warnings: &mut Vec<String>) {
    if let Some(core) = cores.iter().find(|core| core.cpus.len() > WIDEST) {
        let (threads, list) = (core.cpus.len(), CpuList::of(&core.cpus));
        warnings.push(format!(
            "CPUs {list} are {threads} threads of one core, as sysfs says; no hardware has more than {WIDEST}: a virtual \
             machine's, which are cores of their own, perhaps"
        ));
    }
}

/// Whether `cpu` is online and not yet part of a core.
fn is_free(facts: &Reading, cores: &[Core], cpu: u32) -> bool {
    facts.cpus.get(cpu as usize).is_some_and(|facts| facts.online) && !cores.iter().any(|core| core.cpus.contains(&cpu))
}

fn place_offline(facts: &Reading, cores: &mut Vec<Core>, warnings: &mut Vec<String>) {
    let offline: Vec<u32> = facts.cpus.iter().filter(|cpu| !cpu.online).map(|cpu| cpu.number).collect();
    if offline.is_empty() {
        return;
    }
    let smt_off = matches!(facts.smt_control.as_deref(), Some("off" | "forceoff"));
    let stride = cores.iter().find(|core| core.cpus.len() == 2).map(|core| core.cpus[1] - core.cpus[0]);
    let with_sibling = cores.len();
    let mut siblings = Vec::new();
    for (place, cpu) in offline.iter().copied().enumerate() {
        let core = match stride {
            Some(stride) => sibling_at(facts, &cores[..with_sibling], cpu, stride),
            // With SMT off, the first of each core's threads stay online: the n-th offline CPU is a thread of the
            // n-th core whether the firmware numbers siblings next to each other or cores first.
            None => (smt_off && place < with_sibling).then_some(place),
        };
        match core {
            Some(core) => {
                cores[core].cpus.push(cpu);
                siblings.push(cpu);
            }
            None => cores.push(Core { cpus: vec![cpu], leader: facts.like(cpu) }),
        }
    }
    cores.iter_mut().for_each(|core| core.cpus.sort_unstable());
    let alone: Vec<u32> = offline.iter().copied().filter(|cpu| !siblings.contains(cpu)).collect();
    warn(&siblings, "assumed to be SMT siblings of online CPUs", warnings);
    warn(&alone, "assumed to be cores like their nearest online neighbour", warnings);
}

fn warn(offline: &[u32], assumption: &str, warnings: &mut Vec<String>) {
    if !offline.is_empty() {
        let list = CpuList::of(offline);
        warnings.push(format!("CPUs {list} are offline, so sysfs does not place them: {assumption}"));
    }
}

/// The online core with a single CPU that lies `stride` away from `cpu`, if its kind has SMT.
fn sibling_at(facts: &Reading, cores: &[Core], cpu: u32, stride: u32) -> Option<usize> {
    let has_smt = |cpu: u32| !facts.hybrid.iter().any(|(kind, cpus)| *kind != "cpu_core" && cpus.contains(&cpu));
    let is_short = |candidate: u32| {
        cores.iter().position(|core| core.cpus == [candidate] && core.leader == candidate && has_smt(candidate))
    };
    cpu.checked_sub(stride).and_then(is_short).or_else(|| is_short(cpu.checked_add(stride)?))
}
