// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a workload asks for and the loaded scheduler does not heed: its numbers are those of less to do.
//!
//! The kernel leaves all of that to schedulers, and warns of weights and `cpu.idle` alone ("does not implement cgroup cpu.weight").
//! What a scheduler implements is told by its callbacks, its flags, and the members of the kernel's structures that its code
//! accesses; whether a limit held, by the time that groups used. Left out: a scheduler that accesses a nice value, or has the
//! callback for weights, and then shares time by something else; only results show that. Cookies of core scheduling are not
//! simulated. A scheduler that ignores affinities is ejected.

use super::Engine;
use crate::metrics::IgnoredReport;
use crate::scx::Scx;
use crate::scx::frontend::scheduler::SchedExt;
use crate::scx::ops::Op;
use crate::workload::{self, CgroupWrite, Policy, Scheduling, Workload};

/// `SCX_OPS_HAS_CGROUP_WEIGHT`, up to Linux 6.17.
const HAS_CGROUP_WEIGHT: u64 = 1 << 16;

/// What a scheduler is known to implement.
struct Implemented<'a> {
    scheduler: &'a SchedExt,
    scx: &'a Scx,
}

impl Implemented<'_> {
    fn has(&self, op: Op) -> bool {
        self.scx.state.ops.has(op)
    }

    fn accesses(&self, places: &[(&str, &str)]) -> bool {
        places.iter().any(|(composite, member)| self.scheduler.object.accesses(composite, member))
    }

    fn weights_of_groups(&self) -> bool {
        self.has(Op::CgroupSetWeight) || self.scx.state.ops.flags & HAS_CGROUP_WEIGHT != 0
    }

    fn idle_groups(&self) -> bool {
        self.has(Op::CgroupSetIdle) || self.accesses(&[("task_group", "idle")])
    }

    fn nice(&self) -> bool {
        let places = [("sched_ext_entity", "weight"), ("task_struct", "static_prio"), ("task_struct", "prio")];
        self.has(Op::SetWeight) || self.accesses(&places) || self.accesses(&[("task_struct", "se")])
    }

    fn clamps(&self) -> bool {
        self.accesses(&[("task_struct", "uclamp"), ("task_struct", "uclamp_req"), ("uclamp_se", "value")])
    }
}

/// Whether some group is given a weight that differs from the others'.
fn weighs_groups(workload: &Workload) -> bool {
    written(workload).any(|write| match write {
        CgroupWrite::Weight(weight) => *weight != 100,
        CgroupWrite::WeightNice(nice) => *nice != 0,
        CgroupWrite::Idle(_) | CgroupWrite::Max(_) | CgroupWrite::Cpus(_) => false,
    })
}

fn written(workload: &Workload) -> impl Iterator<Item = &CgroupWrite> {
    workload.cgroups.iter().flat_map(|group| &group.writes).map(|(_, write)| write)
}

/// The scheduling parameters that threads of applications have at some time.
fn parameters(workload: &Workload) -> impl Iterator<Item = Scheduling> + '_ {
    workload.tasks.iter().filter(|kind| !kind.system).flat_map(|kind| {
        let later = kind.program.iter().filter_map(|op| match op {
            workload::Op::SetScheduling(scheduling) => Some(*scheduling),
            _ => None,
        });
        std::iter::once(kind.scheduling).chain(later)
    })
}

/// Whether threads that sched_ext schedules differ in nice values, or some are idle ones (`SCHED_IDLE`).
fn differs_in_nice(workload: &Workload) -> bool {
    let mut nice: Vec<i8> = parameters(workload)
        .filter_map(|it| match it.policy {
            Policy::Other { nice, .. } | Policy::Batch { nice } | Policy::Ext { nice } => Some(nice),
            // Below all others.
            Policy::Idle => Some(i8::MAX),
            Policy::Fifo { .. } | Policy::RoundRobin { .. } | Policy::Deadline { .. } => None,
        })
        .collect();
    nice.sort_unstable();
    nice.first() != nice.last()
}

fn clamps(workload: &Workload) -> bool {
    let of_groups = workload.cgroups.iter().any(|group| group.util_min.or(group.util_max).is_some());
    of_groups || parameters(workload).any(|it| it.util_min.or(it.util_max).is_some())
}

impl Engine<'_> {
    /// What the workload asks for and the loaded scheduler does not implement, as far as it decided anything; and the limits that did
    /// not hold. Empty under Linux's own.
    pub(super) fn ignored(&self) -> Vec<IgnoredReport> {
        let (Some(scheduler), Some(scx)) = (self.loader.scheduler, self.sched.ext.as_ref()) else { return Vec::new() };
        let (workload, implemented) = (self.threads.workload, Implemented { scheduler, scx });
        // Who never waits for a CPU does not share one.
        let shared = self.threads.iter().any(|thread| thread.stats.wait_time > 0);
        let mut ignored = Vec::new();
        let mut note = |ignores: bool, what: &str, why: &str| {
            if ignores {
                ignored.push(IgnoredReport { what: what.to_owned(), why: why.to_owned() });
            }
        };
        note(
            shared && weighs_groups(workload) && !implemented.weights_of_groups(),
            "cpu.weight",
            "the scheduler has no ops.cgroup_set_weight",
        );
        let idle = || written(workload).any(|write| *write == CgroupWrite::Idle(true));
        note(
            shared && idle() && !implemented.idle_groups(),
            "cpu.idle",
            "the scheduler has no ops.cgroup_set_idle, and does not look at groups",
        );
        note(
            shared && differs_in_nice(workload) && !implemented.nice(),
            "nice",
            "the scheduler has no ops.set_weight, and looks at neither weights nor priorities of threads",
        );
        note(
            clamps(workload) && !implemented.clamps(),
            "uclamp",
            "the scheduler does not look at clamps: they act on clocks alone, through schedutil",
        );
        for overrun in scx.state.limits.overruns(self.agenda.now()) {
            let path = self.sched.kernel.cgroups.path(overrun.group);
            let (used, may) = (overrun.used_cpus, overrun.allowed_cpus);
            note(true, "cpu.max", &format!("group {path} used {used:.2} CPUs of {may:.2} that it may"));
        }
        ignored
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn workload(tasks: &str, groups: &str) -> Workload {
        let text = format!(r#"{{ "tasks": {{ {tasks} }}, "tandem": {{ "cgroups": {{ {groups} }} }} }}"#);
        Workload::parse(Path::new("w.json"), &text).unwrap()
    }

    const A: &str = r#""a": { "run": 1000, "loop": 1 }"#;

    #[test]
    fn what_is_as_usual_is_no_wish() {
        let usual = workload(A, r#""/g": { "weight": 100 }"#);
        assert!(!weighs_groups(&usual) && !differs_in_nice(&usual) && !clamps(&usual));
        // All alike share alike.
        let alike = workload(r#""a": { "run": 1000, "loop": 1, "priority": 5 }"#, "");
        assert!(!differs_in_nice(&alike));
    }

    #[test]
    fn wishes_are_told_from_each_other() {
        assert!(weighs_groups(&workload(A, r#""/g": { "weight": 300 }"#)));
        let idle = workload(A, r#""/g": { "idle": true }"#);
        assert!(!weighs_groups(&idle) && written(&idle).any(|write| *write == CgroupWrite::Idle(true)));
        let nice = format!(r#"{A}, "b": {{ "run": 1000, "loop": 1, "priority": 5 }}"#);
        assert!(differs_in_nice(&workload(&nice, "")) && !clamps(&workload(&nice, "")));
        let clamped = workload(r#""a": { "run": 1000, "loop": 1, "util_min": 512 }"#, "");
        assert!(clamps(&clamped) && !differs_in_nice(&clamped));
    }
}
