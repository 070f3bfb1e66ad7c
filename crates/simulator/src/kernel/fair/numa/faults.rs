// SPDX-License-Identifier: MIT OR Apache-2.0
//! Faults on marked pages: which node has most of a task's memory, which pages come along, and how often to ask
//! (`do_numa_page`, `task_numa_fault`, `task_numa_placement`, `should_numa_migrate_memory`).

use super::super::Fair;
use super::{Chunk, Numa};
use crate::kernel::Kernel;
use crate::units::{CpuId, MSEC, SEC, TaskId};

/// `NUMA_PERIOD_SLOTS`.
const NUMA_PERIOD_SLOTS: u64 = 10;
/// `NUMA_PERIOD_THRESHOLD`.
const NUMA_PERIOD_THRESHOLD: u64 = 7;
/// So many passes over the memory pages follow at their first fault (`should_numa_migrate_memory`).
const EARLY_PASSES: u64 = 4;

/// Statistics of a task's faults, all of them private (`numa_faults`).
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Faults {
    /// By node, decayed by half each pass (`NUMA_MEM`).
    pub mem: Vec<u64>,
    /// By node, since the last pass (`NUMA_MEMBUF`).
    buffer: Vec<u64>,
    /// `total_numa_faults`.
    pub total: u64,
    /// Faults on pages of the task's node since the last pass (`numa_faults_locality[1]`).
    local: u64,
}

impl Numa {
    /// Whether an access of `task` can be a fault.
    pub(super) fn is_marked(&self, task: TaskId) -> bool {
        self.tasks[task.index()].chunks.iter().any(|chunk| chunk.marked)
    }

    /// `task_faults` of a node.
    fn task_faults(&self, task: TaskId, node: u32) -> u64 {
        self.tasks[task.index()].faults.as_ref().map_or(0, |faults| faults.mem[node as usize])
    }

    /// `task_weight`: thousandths of the faults of `task` that were on a node.
    pub(super) fn task_weight(&self, task: TaskId, node: u32) -> i64 {
        let Some(known) = self.tasks.get(task.index()) else { return 0 };
        let total = known.faults.as_ref().map_or(0, |faults| faults.total);
        (1000 * self.task_faults(task, node)).checked_div(total).unwrap_or(0) as i64
    }

    /// Allocates the counters at the first fault.
    fn first_fault(&mut self, task: TaskId) {
        let nodes = self.cpus_of.len();
        self.tasks[task.index()].faults.get_or_insert_with(|| {
            Box::new(Faults { mem: vec![0; nodes], buffer: vec![0; nodes], total: 0, local: 0 })
        });
    }

    /// So many faults on each node.
    #[cfg(test)]
    pub(super) fn first_fault_for_tests(&mut self, task: TaskId, by_node: &[u64]) {
        self.first_fault(task);
        if let Some(faults) = &mut self.tasks[task.index()].faults {
            (faults.mem, faults.total) = (by_node.to_vec(), by_node.iter().sum());
        }
    }

    /// `task_numa_placement`: once per pass over the process's memory, the node with the most faults becomes the preferred one.
    fn task_numa_placement(&mut self, kernel: &Kernel, task: TaskId) {
        let (scan_min, scan_max) = (self.task_scan_min(task), self.task_scan_max(task));
        let known = &mut self.tasks[task.index()];
        let Some((space, faults)) = known.space.zip(known.faults.as_mut()) else { return };
        let space = &mut self.spaces[space as usize];
        if known.scan_seq == space.scan_seq {
            return;
        }
        known.scan_seq = space.scan_seq;
        known.scan_period_max = scan_max;
        let mut most = (0, None);
        for node in 0..faults.mem.len() {
            // Decay the existing window, and take over what came since the last pass.
            let fresh = std::mem::take(&mut faults.buffer[node]);
            let kept = faults.mem[node] - faults.mem[node] / 2;
            faults.total = faults.total - faults.mem[node] + kept + fresh;
            faults.mem[node] = kept + fresh;
            if faults.mem[node] > most.0 {
                most = (faults.mem[node], Some(node as u32));
            }
        }
        if most.0 > 0 {
            known.preferred = most.1;
        }
        match next_scan_period(known.scan_period, std::mem::take(&mut faults.local)) {
            Some(period) => known.scan_period = period.clamp(scan_min, scan_max),
            None => {
                known.scan_period = (known.scan_period * 2).min(known.scan_period_max);
                space.next_scan = kernel.now + known.scan_period * MSEC;
            }
        }
    }

    /// The accesses of `task` to its marked pages on a CPU of `node`. Whether pages moved.
    fn fault_pages(&mut self, task: TaskId, node: u32) -> bool {
        let known = &mut self.tasks[task.index()];
        let early = known.preferred.is_none() || known.scan_seq <= EARLY_PASSES;
        let Some(faults) = known.faults.as_mut() else { return false };
        let mut moved = false;
        for chunk in known.chunks.iter_mut().filter(|chunk| chunk.marked) {
            chunk.marked = false;
            let migrate = should_numa_migrate_memory(chunk, early, node);
            chunk.last_nid = Some(node);
            for home in 0..chunk.shares.len() {
                let pages = (chunk.shares[home] * chunk.pages as f64).round() as u64;
                if home as u32 == node {
                    faults.local += pages;
                    faults.buffer[home] += pages;
                    continue;
                }
                faults.buffer[if migrate { node as usize } else { home }] += pages;
            }
            if migrate && chunk.shares[node as usize] < 1.0 {
                chunk.shares.fill(0.0);
                chunk.shares[node as usize] = 1.0;
                moved = true;
            }
        }
        moved
    }
}

/// `should_numa_migrate_memory` for pages that one task only accesses: early in its life at once, later if the last fault was on
/// this node, too.
fn should_numa_migrate_memory(chunk: &Chunk, early: bool, node: u32) -> bool {
    early || chunk.last_nid.is_none_or(|last| last == node)
}

/// `update_task_scan_period` where all faults are private: the next period in milliseconds, before it is kept within its range;
/// `None`: no fault was local, and scans are to be half as frequent.
fn next_scan_period(period: u64, local: u64) -> Option<u64> {
    let slot = period.div_ceil(NUMA_PERIOD_SLOTS);
    (local > 0).then_some(period + (NUMA_PERIOD_SLOTS - NUMA_PERIOD_THRESHOLD) * slot)
}

impl Fair {
    /// `task` on `cpu` gets at pages that are marked. The first fault may send it to another CPU: then the others are there.
    /// Whether pages moved.
    pub(super) fn numa_faults(&self, numa: &mut Numa, kernel: &mut Kernel, cpu: CpuId, task: TaskId) -> bool {
        numa.first_fault(task);
        let jiffies = kernel.now * kernel.params.hz / SEC;
        if jiffies > numa.tasks[task.index()].migrate_retry {
            numa.task_numa_placement(kernel, task);
            if self.numa_migrate_preferred(numa, kernel, task, jiffies) {
                return false;
            }
        }
        numa.fault_pages(task, numa.node(cpu))
    }

    /// `numa_migrate_preferred`: whether `task` leaves for a CPU of its preferred node.
    fn numa_migrate_preferred(&self, numa: &mut Numa, kernel: &mut Kernel, task: TaskId, jiffies: u64) -> bool {
        let known = &mut numa.tasks[task.index()];
        let Some(preferred) = known.preferred else { return false };
        let hz = kernel.params.hz;
        known.migrate_retry = jiffies + hz.min((known.scan_period * hz).div_ceil(1000) / 16);
        if numa.node(kernel.task(task).cpu) == preferred {
            return false;
        }
        self.task_numa_migrate(numa, kernel, task, preferred)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_faults_slow_scans_down_by_three_tenths() {
        // ps_ratio is 10 of 10, three above the threshold: three slots more, each a tenth of the period, rounded up.
        assert_eq!(next_scan_period(1000, 10), Some(1300));
        assert_eq!(next_scan_period(1001, 1), Some(1001 + 3 * 101));
        assert_eq!(next_scan_period(1000, 0), None, "no fault was local");
    }
}
