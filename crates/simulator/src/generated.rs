// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines and workloads of any size, for measurements of the simulator itself.

use std::path::Path;

use crate::input::InputError;
use crate::machine::Machine;
use crate::units::{MSEC, Nanos, USEC};
use crate::workload::{Behaviour, BehaviourId, Objects, Op, Span, Spread, TaskSpec, Workload};

/// Cores that share a last-level cache, as in today's servers.
const CORES_PER_CLUSTER: u32 = 8;
/// Clusters in a package.
const CLUSTERS_PER_PACKAGE: u32 = 16;
/// Threads that share one mutex.
const THREADS_PER_MUTEX: u32 = 4;

const PARTS: &str = r#"schema = 1
title = "generated"

[core_type.core]
ipc = 1.0
memory_speed = 1.0
stall_activity = 0.5
source = "assumed: generated"

[opp_table.core]
transition_latency_us = 20
dynamic_power_coefficient = 300
opps = [{ mhz = 1000, mv = 700 }, { mhz = 2000, mv = 850 }, { mhz = 3000, mv = 1050 }]
source = "assumed: generated"

[idle_table.core]
states = [
    { name = "C1", entry_us = 1, exit_us = 1, residency_us = 2, watts = 0.1 },
    { name = "C6", entry_us = 50, exit_us = 80, residency_us = 300, watts = 0.0 },
]
source = "assumed: generated"

[platform]
watts = 0.0
supply_efficiency = 1.0
source = "assumed: generated"

[scheduling]
context_switch_us = 1.0
migration_us = 2.0
migration_llc_us = 10.0
tick_us = 1.0
source = "assumed: generated"
"#;

/// A machine of `cpus` equal CPUs: clusters of eight around a cache, packages of sixteen clusters, a clock per core.
///
/// # Errors
/// There is none for 1 to 8192 CPUs.
pub fn machine(cpus: u32) -> Result<Machine, InputError> {
    let clusters = cpus.div_ceil(CORES_PER_CLUSTER);
    let mut text = PARTS.to_owned();
    for package in 0..clusters.div_ceil(CLUSTERS_PER_PACKAGE) {
        text += &package_text(package);
    }
    for cluster in 0..clusters {
        let cores = CORES_PER_CLUSTER.min(cpus - cluster * CORES_PER_CLUSTER);
        text += &cluster_text(cluster, cores);
    }
    Machine::parse("generated", Path::new("generated.toml"), &text, None)
}

fn package_text(package: u32) -> String {
    format!(
        r#"
[memory.m{package}]
gb_per_s = 200.0
thread_gb_per_s = 20.0
contention = 0.5
static_watts = 1.0
nj_per_byte = 0.1
source = "assumed: generated"

[package.p{package}]
uncore_watts = 10.0
uncore_idle_watts = 2.0
source = "assumed: generated"
"#
    )
}

fn cluster_text(cluster: u32, cores: u32) -> String {
    let package = cluster / CLUSTERS_PER_PACKAGE;
    format!(
        r#"
[[cluster]]
name = "c{cluster}"
package = "p{package}"
core_type = "core"
cores = {cores}
opp_table = "core"
idle_table = "core"
performance_domain = "core"
memory = "m{package}"
node = {package}
static_watts = 0.5
cache = {{ level = 3, kib = 32768, per = "cluster", hit_cost = 0.2 }}
source = "assumed: generated"
"#
    )
}

/// `tasks` threads that compute half of their time and sleep the other half. Every second thread computes under a mutex
/// that it shares with three others.
pub fn busy(tasks: u32) -> Workload {
    let half = tasks / 2;
    let mutexes = half.div_ceil(THREADS_PER_MUTEX);
    let lockers = (0..mutexes).map(|mutex| {
        let count = THREADS_PER_MUTEX.min(half - mutex * THREADS_PER_MUTEX);
        threads(format!("locker-{mutex}"), count, under_mutex(mutex))
    });
    let workers = threads("worker".to_owned(), tasks - half, vec![run(300 * USEC), sleep(300 * USEC)]);
    let mut workload = workload(lockers.chain([workers]).collect());
    workload.objects.mutexes = (0..mutexes).map(|mutex| format!("m{mutex}")).collect();
    workload
}

/// The threads of [`busy`], which wait for memory more than half of their time and move so much that those of a package slow each
/// other down: every switch changes the contention of its memory, so everybody's pace.
pub fn memory_bound(tasks: u32) -> Workload {
    let mut workload = busy(tasks);
    workload.behaviours[0] = Behaviour { memory_bound: 0.6, bytes_per_work: 4.0, ..Behaviour::default() };
    workload
}

/// The threads of [`busy`] in cgroups: those of each mutex in one, all others in another.
pub fn in_groups(tasks: u32) -> Workload {
    let mut workload = busy(tasks);
    for (number, task) in workload.tasks.iter_mut().enumerate() {
        task.task_group = Some(format!("/group-{number}"));
    }
    workload
}

/// `tasks` threads that wake ten times a second for a short time.
pub fn mostly_asleep(tasks: u32) -> Workload {
    workload(vec![threads("sleeper".to_owned(), tasks, vec![sleep(100 * MSEC), run(20 * USEC)])])
}

fn under_mutex(mutex: u32) -> Vec<Op> {
    vec![Op::Lock(mutex), run(50 * USEC), Op::Unlock(mutex), run(200 * USEC), sleep(250 * USEC)]
}

fn run(mean: Nanos) -> Op {
    Op::Run { work: uniform(mean), behaviour: BehaviourId(0) }
}

fn sleep(mean: Nanos) -> Op {
    Op::Sleep(uniform(mean))
}

/// A span that is uniform between half the mean and one and a half.
fn uniform(mean: Nanos) -> Span {
    Span { mean, spread: Spread::Uniform(0.5) }
}

/// Threads that repeat `steps` for ever.
fn threads(name: String, instances: u32, steps: Vec<Op>) -> TaskSpec {
    let end = steps.len() as u32 + 1;
    let mut program = vec![Op::LoopStart { counter: 0, count: None, end }];
    program.extend(steps);
    program.push(Op::LoopEnd { start: 0 });
    TaskSpec { instances, counters: 1, ..TaskSpec::new(name, program) }
}

fn workload(tasks: Vec<TaskSpec>) -> Workload {
    Workload {
        name: "generated".to_owned(),
        tasks,
        applications: vec!["generated".to_owned()],
        objects: Objects::default(),
        loops: Vec::new(),
        behaviours: vec![Behaviour::default()],
        duration: None,
        priority_inheritance: false,
        cgroups: Vec::new(),
        interrupts: Vec::new(),
        warnings: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_have_as_many_cpus_as_asked() {
        for cpus in [1, 8, 12, 256, 1024] {
            let machine = machine(cpus).unwrap();
            assert_eq!(machine.online().count(), cpus as usize);
            assert_eq!(machine.packages.len(), cpus.div_ceil(128) as usize);
        }
    }

    #[test]
    fn variants_differ_from_busy_threads_in_one_thing() {
        let (busy, memory, groups) = (busy(8), memory_bound(8), in_groups(8));
        assert_eq!(memory.tasks, busy.tasks);
        assert_ne!(memory.behaviours, busy.behaviours);
        assert_eq!(groups.behaviours, busy.behaviours);
        assert!(groups.tasks.iter().all(|task| task.task_group.is_some()));
    }

    #[test]
    fn workloads_have_as_many_threads_as_asked_and_their_mutexes() {
        let workload = busy(20);
        assert_eq!(workload.tasks.iter().map(|task| task.instances).sum::<u32>(), 20);
        assert_eq!(workload.objects.mutexes.len(), 3);
        assert_eq!(mostly_asleep(7).tasks[0].instances, 7);
        for task in &workload.tasks {
            let Op::LoopStart { end, .. } = task.program[0] else { panic!("no loop") };
            assert_eq!(task.program[end as usize], Op::LoopEnd { start: 0 });
            for op in &task.program {
                if let Op::Lock(mutex) = op {
                    assert!((*mutex as usize) < workload.objects.mutexes.len());
                }
            }
        }
    }
}
