// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::units::SEC;

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
