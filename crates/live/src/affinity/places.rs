// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which CPUs a thread may use, and at which clocks: decided from facts, without reading or writing anything.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{AffinityError, AffinityRequest};
use crate::changes::{Change, Setting};
use crate::cpus::CpuList;
use crate::host::Policy;
use crate::machine::Machine;
use crate::plan::Isolation;

/// Who goes where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Places {
    /// The OS CPU; `None`: nothing is isolated.
    pub os_cpu: Option<usize>,
    /// Whether applications stay off it.
    pub dedicated: bool,
    /// CPUs that applications may use, by kind, the fastest first.
    pub kinds: Vec<CpuList>,
}

/// A thread with a length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Job {
    pub tid: u32,
    /// Its process: lengths are relative to those of other threads of it.
    pub process: u32,
    /// When it began; of equally long ones the earlier goes first.
    pub start_time: u64,
    pub length: u64,
}

/// Where a thread goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// The thread may use these CPUs.
    On(CpuList),
    /// Somebody has put it where it cannot be as it should; it stays there.
    Elsewhere,
}

impl Places {
    /// # Errors
    /// The machine has no such OS CPU, or no other one.
    pub(super) fn of(machine: &Machine, request: &AffinityRequest) -> Result<Self, AffinityError> {
        let online: CpuList = (0..machine.cpus.len()).filter(|cpu| machine.cpus[*cpu].online).collect();
        if let Some(cpu) = request.os_cpu.filter(|cpu| !online.contains(*cpu)) {
            return Err(AffinityError::OsCpu { cpu, online: online.to_string() });
        }
        let dedicated = request.isolate == Some(Isolation::Dedicated);
        if dedicated && online.len() < 2 {
            return Err(AffinityError::OneCpu);
        }
        let isolates = request.isolate.is_some() && online.len() > 1;
        let os_cpu = request.os_cpu.or_else(|| online.iter().next()).filter(|_| isolates);
        let mut kinds: BTreeMap<Reverse<u64>, Vec<usize>> = BTreeMap::new();
        for cpu in online.iter().filter(|cpu| !dedicated || Some(*cpu) != os_cpu) {
            kinds.entry(Reverse(machine.cpus[cpu].capacity)).or_default().push(cpu);
        }
        let kinds = kinds.into_values().map(|cpus| cpus.into_iter().collect()).collect();
        Ok(Self { os_cpu, dedicated, kinds })
    }

    /// CPUs that applications may use.
    fn applications(&self) -> CpuList {
        self.kinds.iter().flat_map(CpuList::iter).collect()
    }

    /// Where a thread of the system goes that had those CPUs.
    pub(super) fn system(&self, had: &CpuList) -> Place {
        match self.os_cpu {
            None => Place::On(had.clone()),
            Some(cpu) if had.contains(cpu) => Place::On(CpuList::one(cpu)),
            Some(_) => Place::Elsewhere,
        }
    }

    /// Where a thread of an application goes that had those CPUs; `job` are those that its length gives it.
    pub(super) fn application(&self, had: &CpuList, job: Option<&CpuList>) -> Place {
        let all = self.applications();
        let banned: CpuList = self.os_cpu.filter(|_| self.dedicated).into_iter().collect();
        // A thread that may not run everywhere has a wish of its own.
        let allowed = match job {
            Some(job) if all.is_within(had) => job.clone(),
            _ => had.without(&banned),
        };
        if allowed.and(&all).is_empty() { Place::Elsewhere } else { Place::On(allowed) }
    }

    /// Which CPUs threads with lengths get: of each process the longest those of the fastest kind, one thread for each; the
    /// last those of the slowest kind; those between, if there are more than two kinds, those between.
    pub(super) fn jobs(&self, jobs: &[Job]) -> BTreeMap<u32, CpuList> {
        let (Some(fast), Some(slow)) = (self.kinds.first(), self.kinds.last()) else { return BTreeMap::new() };
        if self.kinds.len() < 2 {
            return BTreeMap::new();
        }
        let between: CpuList = self.kinds[1..self.kinds.len() - 1].iter().flat_map(CpuList::iter).collect();
        let mut sorted = jobs.to_vec();
        sorted.sort_by_key(|job| (job.process, Reverse(job.length), job.start_time, job.tid));
        let cpus = |rank: usize| match rank {
            rank if rank < fast.len() => fast.clone(),
            rank if rank < fast.len() + between.len() => between.clone(),
            _ => slow.clone(),
        };
        let of_process =
            |jobs: &[Job]| jobs.iter().enumerate().map(|(at, job)| (job.tid, cpus(at))).collect::<Vec<_>>();
        sorted.chunk_by(|one, other| one.process == other.process).flat_map(of_process).collect()
    }
}

/// Limits of clocks: a policy gets the highest that one of its CPUs is to have, and none if one of them is to have any.
pub(super) fn clocks(machine: &Machine, policies: &[Policy], request: &AffinityRequest, os_cpu: usize) -> Vec<Change> {
    let Some(os_core) = machine.cpus.get(os_cpu).map(|cpu| cpu.core) else { return Vec::new() };
    let of_cpu = |cpu: &usize| {
        let is_os = machine.cpus.get(*cpu).is_some_and(|cpu| cpu.core == os_core);
        if is_os { request.os_mhz } else { request.rest_mhz }
    };
    let limit = |policy: &Policy| {
        let mhz: Option<Vec<u64>> = policy.cpus.iter().map(of_cpu).collect();
        let khz = 1000 * mhz?.into_iter().max()?;
        let highest = if policy.highest_khz == 0 { u64::MAX } else { policy.highest_khz };
        Some(khz.clamp(policy.lowest_khz.min(highest), highest))
    };
    let mut changes = Vec::new();
    for (policy, khz) in policies.iter().filter_map(|policy| Some((policy, limit(policy)?))) {
        let name = || policy.name.clone();
        if policy.min_khz > khz {
            changes.push(Change { setting: Setting::MinFrequency { policy: name() }, to: khz.to_string() });
        }
        changes.push(Change { setting: Setting::MaxFrequency { policy: name() }, to: khz.to_string() });
    }
    changes
}
