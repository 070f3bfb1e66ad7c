// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads' cgroups: which thread is in which, how groups come and go, and what is written to their files.

use std::sync::Arc;

use super::agenda::Agenda;
use super::events::Event;
use super::hotplug::boot_cpu;
use super::outcome::Outcome;
use super::thread::Thread;
use crate::kernel::cgroup::CgroupTree;
use crate::kernel::cpumask::CpuMask;
use crate::machine::Machine;
use crate::sched::core::Sched;
use crate::units::{CgroupId, CpuId, Nanos, TaskId};
use crate::workload::{CgroupSpec, CgroupWrite, TaskSpec};

/// What becomes of a cgroup.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Change {
    /// The group is made.
    Made,
    /// One of its files is written.
    Write(CgroupWrite),
    /// The group is removed.
    Removed,
}

/// What is still to become of cgroups.
#[derive(Debug, Default)]
pub(super) struct CgroupChanges {
    /// The next last.
    pending: Vec<(Nanos, CgroupId, Change)>,
}

impl CgroupChanges {
    /// Puts what a workload says of its groups in order of time, and sets when the first change is due.
    pub fn queue(&mut self, specs: &[CgroupSpec], groups: &CgroupTree, agenda: &mut Agenda) {
        for spec in specs {
            let Some(group) = groups.find(&spec.path) else { continue };
            let made = (spec.made > 0).then_some((spec.made, Change::Made));
            let later = spec.writes.iter().filter(|(at, _)| *at > 0);
            let writes = later.map(|(at, write)| (*at, Change::Write(write.clone())));
            let removed = spec.removed.map(|at| (at, Change::Removed));
            let all = made.into_iter().chain(writes).chain(removed);
            self.pending.extend(all.map(|(at, change)| (at, group, change)));
        }
        // Stable; what is next stands last.
        self.pending.sort_by_key(|(at, ..)| *at);
        self.pending.reverse();
        self.time(agenda);
    }

    fn time(&self, agenda: &mut Agenda) {
        if let Some((at, ..)) = self.pending.last() {
            agenda.set(Event::Cgroup, *at);
        }
    }

    /// Carries out the next change; the process that makes it runs on the first CPU.
    pub fn carry_out(&mut self, sched: &mut Sched, outcome: &mut Outcome, agenda: &mut Agenda) {
        let Some((_, group, change)) = self.pending.pop() else { return };
        let cpu = boot_cpu(sched);
        match change {
            Change::Made => _ = make(sched, group, cpu, outcome),
            Change::Write(write) => {
                if let Err(refused) = sched.cgroup_write(group, &write, cpu) {
                    let path = sched.kernel.cgroups.path(group);
                    outcome.warn(format!("cgroup {path} stays as it is: {refused}"));
                }
            }
            Change::Removed => {
                if !sched.cgroup_rmdir(group, cpu) {
                    let path = sched.kernel.cgroups.path(group);
                    outcome.warn(format!("cgroup {path} is in use: it is not removed"));
                }
            }
        }
        self.time(agenda);
    }
}

/// Says which CPUs of groups `machine` lacks: they are left out.
pub(super) fn check_cpus(specs: &[CgroupSpec], machine: &Machine, outcome: &mut Outcome) {
    for spec in specs {
        let lists = spec.writes.iter().filter_map(|(_, write)| match write {
            CgroupWrite::Cpus(cpus) => Some(cpus),
            _ => None,
        });
        for cpus in lists.filter(|cpus| cpus.iter().any(|cpu| *cpu as usize >= machine.cpus.len())) {
            let (path, name) = (&spec.path, &machine.name);
            outcome
                .warn(format!("CPUs {cpus:?} of cgroup {path}: {name} does not have all of them; they are left out"));
        }
    }
}

/// Makes a group if there is none; false if the loaded scheduler refuses it.
fn make(sched: &mut Sched, group: CgroupId, cpu: CpuId, outcome: &mut Outcome) -> bool {
    let Err(errno) = sched.cgroup_mkdir(group, cpu) else { return true };
    let path = sched.kernel.cgroups.path(group);
    outcome.warn(format!("cgroup {path} cannot be made: the scheduler refuses it ({errno})"));
    false
}

/// The group in which a thread begins: the one that its kind names, else its parent's.
pub(super) fn first_group(
    sched: &mut Sched,
    named: Option<&str>,
    parent: Option<TaskId>,
    outcome: &mut Outcome,
) -> CgroupId {
    let kernel = &sched.kernel;
    let inherited = parent.map_or(CgroupTree::ROOT, |parent| kernel.task(parent).cgroup);
    let Some(group) = named.and_then(|path| kernel.cgroups.find(path)) else { return inherited };
    let cpu = parent.map_or(boot_cpu(sched), |parent| kernel.task(parent).cpu);
    if make(sched, group, cpu, outcome) { group } else { inherited }
}

/// The CPUs that a thread of `kind` may use in `group`: those that it asks for, if the group has some of them.
pub(super) fn allowed_cpus(
    sched: &Sched,
    kind: &TaskSpec,
    group: CgroupId,
    asked: Option<Arc<CpuMask>>,
    outcome: &mut Outcome,
) -> Option<Arc<CpuMask>> {
    sched.cpus_in_group(group, asked).unwrap_or_else(|why| {
        outcome.warn(format!(
            "{} asks for CPUs {:?}: {why}; it gets all that the group has",
            kind.name,
            kind.affinity.as_deref().unwrap_or(&[])
        ));
        sched.cpuset_cpus_allowed(group)
    })
}

/// A thread on `cpu` moves into the group at `path`, or into the root.
pub(super) fn move_to(
    sched: &mut Sched,
    cpu: CpuId,
    (task, thread): (TaskId, &Thread<'_>),
    path: Option<&str>,
    outcome: &mut Outcome,
) {
    let path = path.unwrap_or("/");
    let Some(group) = sched.kernel.cgroups.find(path) else { return };
    if !make(sched, group, cpu, outcome) {
        return;
    }
    if let Err(errno) = sched.cgroup_attach_task(task, group, cpu) {
        let name = thread.name();
        outcome.warn(format!("{name} stays out of group {path}: the scheduler refuses it ({errno})"));
    }
}
