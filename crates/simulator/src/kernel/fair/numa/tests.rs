// SPDX-License-Identifier: MIT OR Apache-2.0
use rand::SeedableRng;
use rand_pcg::Pcg32;

use super::locality::FbqType;
use super::*;
use crate::kernel::class::{Enqueue, SchedClass};
use crate::kernel::params::KernelParameters;
use crate::kernel::switching::Switching;
use crate::kernel::task::Task;
use crate::units::SEC;
use crate::workload::Scheduling;

const MB: u64 = 1 << 20;
const TICK: Nanos = 4 * MSEC;

/// Threads of one process on a machine of two nodes, with so many MB of memory each on node 0.
fn threads(megabytes: &[u64]) -> Numa {
    let mut numa = Numa::of(&Machine::load("epyc-9554-2s").unwrap()).unwrap();
    for (index, size) in megabytes.iter().enumerate() {
        numa.fork(Some(TaskId(0)), None, TICK);
        numa.set_memory(TaskId::at(index), size * MB, &[1.0, 0.0]);
    }
    numa
}

#[test]
fn a_scan_marks_256_mb_wherever_threads_have_them() {
    let mut numa = threads(&[100, 300]);
    let sizes = |numa: &Numa, task: usize| {
        numa.tasks[task].chunks.iter().map(|chunk| (chunk.window, chunk.pages)).collect::<Vec<_>>()
    };
    // 100 MB and the 156 MB behind them are the first window; 144 MB are left.
    assert_eq!(sizes(&numa, 0), [(0, 25_600)]);
    assert_eq!(sizes(&numa, 1), [(0, 39_936), (1, 36_864)]);
    let marked =
        |numa: &Numa, task: usize| numa.tasks[task].chunks.iter().map(|chunk| chunk.marked).collect::<Vec<_>>();
    numa.task_numa_work(TaskId(0), SEC, TICK);
    assert_eq!((marked(&numa, 0), marked(&numa, 1), numa.spaces[0].scan_seq), (vec![true], vec![true, false], 0));
    numa.task_numa_work(TaskId(1), 2 * SEC, TICK);
    assert_eq!((marked(&numa, 1), numa.spaces[0].scan_seq), (vec![true, true], 1));
}

#[test]
fn scans_of_much_memory_follow_each_other_faster() {
    let periods = |megabytes: &[u64]| {
        let numa = threads(megabytes);
        (numa.task_scan_min(TaskId(0)), numa.task_scan_max(TaskId(0)))
    };
    assert_eq!(periods(&[10]), (1000, 60_000));
    assert_eq!(periods(&[1000]), (250, 15_000), "four windows");
    assert_eq!(periods(&[5000]), (100, 3_000), "twenty, at most 2,560 MB per second");
}

#[test]
fn a_thread_scans_by_its_cpu_time_and_a_process_by_the_clock() {
    let mut numa = threads(&[10, 10]);
    assert!(!numa.scan_is_due(TaskId(0), SEC, 10 * SEC));
    assert!(numa.scan_is_due(TaskId(0), SEC + 1, 10 * SEC));
    numa.task_numa_work(TaskId(0), 10 * SEC, TICK);
    // 1 s of CPU time more, and the two ticks by which another thread is likely to be the next.
    assert!(!numa.scan_is_due(TaskId(0), 2 * SEC + 8 * MSEC, 12 * SEC));
    assert!(numa.scan_is_due(TaskId(0), 2 * SEC + 8 * MSEC + 1, 12 * SEC));
    // The other one, whose first scan is put off by two ticks and a little; but the process was scanned less than a second ago.
    assert!(!numa.scan_is_due(TaskId(1), SEC + 8 * MSEC + 60_001, 11 * SEC - 1));
}

#[test]
fn the_node_with_the_most_faults_weighs_what_it_has_of_them() {
    let mut numa = threads(&[10]);
    numa.first_fault_for_tests(TaskId(0), &[300, 100]);
    assert_eq!([0, 1].map(|node| numa.task_weight(TaskId(0), node)), [750, 250]);
}

#[test]
fn a_thread_that_leaves_its_preferred_node_is_scanned_soon() {
    let mut numa = threads(&[10]);
    numa.first_fault_for_tests(TaskId(0), &[1, 0]);
    let mut after = |preferred: Option<u32>, from: u32, to: u32| {
        let task = &mut numa.tasks[0];
        (task.preferred, task.scan_seq, task.scan_period) = (preferred, 3, 5000);
        numa.update_scan_period(TaskId(0), CpuId(from), CpuId(to));
        numa.tasks[0].scan_period
    };
    // CPUs 0 and 1 are of node 0, CPU 64 is of node 1.
    assert_eq!(after(Some(0), 0, 64), 1000);
    assert_eq!(after(Some(0), 64, 0), 5000, "it comes home");
    assert_eq!(after(Some(0), 0, 1), 5000, "it stays on its node");
}

#[test]
fn a_forked_thread_prefers_what_its_parent_does() {
    let mut numa = threads(&[10]);
    numa.tasks[0].preferred = Some(1);
    numa.fork(Some(TaskId(0)), Some(TaskId(0)), TICK);
    numa.fork(Some(TaskId(2)), Some(TaskId(0)), TICK);
    numa.fork(None, None, TICK);
    assert_eq!([1, 2, 3].map(|task| numa.preferred(TaskId(task))), [Some(1), None, None], "a process begins anew");
    assert!(numa.knows_memory(TaskId(3)), "a kernel thread has none");
}

/// Threads on CPU 0, which is of node 0, each with the node that it prefers.
fn queued(preferred: &[Option<u32>]) -> (Kernel, Fair) {
    let machine = Machine::load("epyc-9554-2s").unwrap();
    let mut kernel = Kernel::new(&machine, KernelParameters::default(), Pcg32::seed_from_u64(1));
    let mut fair = Fair::new(&mut kernel, None);
    let mut numa = threads(&vec![10; preferred.len()]);
    for (index, node) in preferred.iter().enumerate() {
        let task = TaskId::at(index);
        numa.first_fault_for_tests(task, &[u64::from(*node == Some(0)), u64::from(*node == Some(1))]);
        numa.tasks[index].preferred = *node;
        kernel.tasks.push(Task::new(task, Scheduling::default(), None, Switching::default()));
        fair.task_new(&kernel, task);
        fair.enqueue_task(&mut kernel, task, Enqueue::New);
    }
    fair.numa = Some(Box::new(numa));
    (kernel, fair)
}

#[test]
fn balancing_takes_threads_to_their_memory_first() {
    let (kernel, fair) = queued(&[Some(0), Some(1), None]);
    let nodes = *kernel.topology.chains[0].last().unwrap();
    // CPU 64 is of node 1.
    let degrades =
        |task: u32, idles: bool| fair.migrate_degrades_locality(&kernel, nodes, TaskId(task), CpuId(64), idles);
    assert_eq!(degrades(0, true), Some(true), "others could go");
    assert_eq!(degrades(1, true), Some(false), "its memory is there");
    assert_eq!((degrades(2, true), degrades(2, false)), (None, Some(false)), "an idle CPU is worth more than locality");
    let within = kernel.topology.chains[0][1];
    assert_eq!(fair.migrate_degrades_locality(&kernel, within, TaskId(0), CpuId(1), true), None);
    let (kernel, fair) = queued(&[Some(0)]);
    assert_eq!(
        fair.migrate_degrades_locality(&kernel, nodes, TaskId(0), CpuId(64), true),
        None,
        "nobody else could go"
    );
}

#[test]
fn queues_of_misplaced_threads_are_looked_at_first() {
    let kind = |preferred: &[Option<u32>]| {
        let (kernel, fair) = queued(preferred);
        let nodes = &kernel.topology.domains[*kernel.topology.chains[0].last().unwrap()];
        let group = fair.fbq_classify_group(nodes, &nodes.groups[0], &[]);
        (fair.fbq_classify_rq(&kernel, CpuId(0)), group)
    };
    assert_eq!(kind(&[None, Some(0)]), (FbqType::Regular, Some(FbqType::Regular)));
    assert_eq!(kind(&[Some(1), Some(0)]), (FbqType::Remote, Some(FbqType::Remote)));
    assert_eq!(kind(&[Some(0), Some(0)]), (FbqType::All, Some(FbqType::All)));
}

#[test]
fn new_threads_begin_on_the_node_that_they_prefer() {
    let (kernel, fair) = queued(&[Some(1)]);
    let nodes = &kernel.topology.domains[*kernel.topology.chains[0].last().unwrap()];
    let prefers = |this_cpu: u32, group: usize| fair.numa_prefers(TaskId(0), CpuId(this_cpu), &nodes.groups[group]);
    assert_eq!([prefers(0, 1), prefers(64, 0)], [Some(true), Some(false)]);
}
