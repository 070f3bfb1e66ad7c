// SPDX-License-Identifier: MIT OR Apache-2.0
//! Automatic NUMA balancing: threads move to where their memory is, and pages follow threads (`CONFIG_NUMA_BALANCING`).
//!
//! Every now and then a thread marks a part of its process's memory (this file: `task_tick_numa`, `task_numa_work`). The first
//! access to a marked page is a fault (`faults`): it says on which node the page is, may bring the page along, and tells which
//! node has most of the thread's memory. There the thread then wants to be (`migrate`). Load balancing leaves threads where
//! their memory is (`locality`).
//!
//! Simpler than Linux, and what could tell:
//! - Each thread has memory of its own, so that all faults are private and no group of threads forms (`numa_group`): threads that
//!   work on the same data.
//! - All marked pages of a thread are accessed by its next tick, whatever it does: one that comes round its memory more slowly.
//! - Memory is one mapping, which all threads of the process access (`vma_is_accessed`): threads that scan only their own.
//! - Migrating a page always succeeds, and neither faults nor copies take time: nodes that are full; the first scans.
//! - Nodes are at equal distances (`NUMA_DIRECT`): machines with a mesh or a backplane of nodes.

mod faults;
mod locality;
mod migrate;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::Fair;
use crate::kernel::Kernel;
use crate::machine::Machine;
use crate::units::{CpuId, MSEC, Nanos, TaskId};
use faults::Faults;

/// `sysctl_numa_balancing_scan_period_min`, milliseconds.
const SCAN_PERIOD_MIN: u64 = 1000;
/// `sysctl_numa_balancing_scan_period_max`, milliseconds.
const SCAN_PERIOD_MAX: u64 = 60_000;
/// `sysctl_numa_balancing_scan_size`, MB.
const SCAN_SIZE: u64 = 256;
/// `sysctl_numa_balancing_scan_delay`, milliseconds.
const SCAN_DELAY: u64 = 1000;
/// `MAX_SCAN_WINDOW`, MB per second.
const MAX_SCAN_WINDOW: u64 = 2560;
/// Bytes of a page.
const PAGE_SIZE: u64 = 4096;
/// Bytes that one scan marks, at most.
pub const WINDOW: u64 = SCAN_SIZE << 20;

/// What the kernel knows of nodes and of what is where.
#[derive(Debug)]
pub struct Numa {
    /// By CPU.
    node_of: Vec<u32>,
    /// By node, ascending; offline ones too.
    cpus_of: Vec<Vec<CpuId>>,
    /// By [`TaskId`].
    tasks: Vec<NumaTask>,
    /// By process.
    spaces: Vec<AddressSpace>,
    /// The process of each first thread.
    space_of: BTreeMap<TaskId, u32>,
}

/// A process's memory (`struct mm_struct`).
#[derive(Debug, Default)]
struct AddressSpace {
    /// Threads with memory in it.
    members: Vec<TaskId>,
    /// How much there is.
    bytes: u64,
    /// `numa_next_scan`.
    next_scan: Nanos,
    /// `numa_scan_seq`: how often all of it was scanned.
    scan_seq: u64,
    /// `numa_scan_offset`, in [`WINDOW`]s.
    window: u64,
}

/// What `struct task_struct` has for NUMA balancing.
#[derive(Debug)]
struct NumaTask {
    /// The task's process; `None` for kernel threads.
    space: Option<u32>,
    /// `node_stamp`: CPU time up to which scans are done.
    node_stamp: Nanos,
    /// `numa_scan_period`, milliseconds.
    scan_period: u64,
    /// `numa_scan_period_max`, milliseconds.
    scan_period_max: u64,
    /// `numa_scan_seq`.
    scan_seq: u64,
    /// `numa_migrate_retry`, in ticks since the start.
    migrate_retry: u64,
    /// `numa_preferred_nid`; `None`: `NUMA_NO_NODE`.
    preferred: Option<u32>,
    /// `numa_faults`, since the first one.
    faults: Option<Box<Faults>>,
    /// The task's memory, in the parts that scans mark; empty until it is known.
    chunks: Vec<Chunk>,
}

/// The part of a task's memory that one scan marks.
#[derive(Debug, Clone, PartialEq)]
struct Chunk {
    /// Which scan of a sequence.
    window: u64,
    pages: u64,
    /// Shares of the pages by node.
    shares: Vec<f64>,
    /// The node of the CPU on which the last fault was (`last_cpupid`).
    last_nid: Option<u32>,
    /// The next access to any page is a fault.
    marked: bool,
}

impl Numa {
    /// What a kernel knows of `machine`; `None` where the description says nothing of nodes, or there is but one.
    pub fn of(machine: &Machine) -> Option<Self> {
        let nodes = machine.nodes.as_ref().filter(|nodes| nodes.count() > 1)?;
        let node_of: Vec<u32> = machine.cpus.iter().map(|cpu| cpu.node).collect();
        let cpus = |node: u32| (0..node_of.len()).filter(|cpu| node_of[*cpu] == node).map(CpuId::at).collect();
        Some(Self {
            cpus_of: (0..nodes.count() as u32).map(cpus).collect(),
            node_of,
            tasks: Vec::new(),
            spaces: Vec::new(),
            space_of: BTreeMap::new(),
        })
    }

    /// `init_numa_balancing`: the next task begins, with the memory of the process whose first thread is `leader`, or without;
    /// `parent` forked it. `tick` is the length of one.
    pub fn fork(&mut self, leader: Option<TaskId>, parent: Option<TaskId>, tick: Nanos) {
        let mut task = NumaTask {
            space: None,
            node_stamp: 0,
            scan_period: SCAN_DELAY,
            scan_period_max: SCAN_PERIOD_MAX,
            scan_seq: 0,
            migrate_retry: 0,
            preferred: None,
            faults: None,
            chunks: Vec::new(),
        };
        let Some(leader) = leader else { return self.tasks.push(task) };
        let spaces = self.spaces.len() as u32;
        let space = *self.space_of.entry(leader).or_insert(spaces);
        task.space = Some(space);
        if space == spaces {
            self.spaces.push(AddressSpace::default());
        } else {
            // The kernel means nanoseconds and takes the smaller number, that of milliseconds (`task_scan_max`).
            task.node_stamp = SCAN_PERIOD_MAX + 2 * tick;
            task.scan_seq = self.spaces[space as usize].scan_seq;
            let copied = parent.and_then(|parent| self.tasks.get(parent.index()));
            task.preferred = copied.filter(|parent| parent.space == Some(space)).and_then(|parent| parent.preferred);
        }
        self.tasks.push(task);
    }

    /// Whether it is known where the memory of `task` is, or it has none.
    pub fn knows_memory(&self, task: TaskId) -> bool {
        self.tasks.get(task.index()).is_none_or(|task| task.space.is_none() || !task.chunks.is_empty())
    }

    /// `task` has so many bytes of memory, on the nodes in these shares.
    pub fn set_memory(&mut self, task: TaskId, bytes: u64, shares: &[f64]) {
        let Some(space) = self.tasks[task.index()].space else { return };
        let space = &mut self.spaces[space as usize];
        space.members.push(task);
        let (start, end) = (space.bytes, space.bytes + bytes.max(PAGE_SIZE));
        space.bytes = end;
        let chunk = |window: u64| {
            let part = end.min((window + 1) * WINDOW) - start.max(window * WINDOW);
            let pages = part.div_ceil(PAGE_SIZE);
            Chunk { window, pages, shares: shares.to_vec(), last_nid: None, marked: false }
        };
        self.tasks[task.index()].chunks = (start / WINDOW..end.div_ceil(WINDOW)).map(chunk).collect();
    }

    /// Shares of the memory of `task` by node.
    pub fn shares(&self, task: TaskId) -> Vec<f64> {
        let chunks = &self.tasks[task.index()].chunks;
        let all: u64 = chunks.iter().map(|chunk| chunk.pages).sum();
        let share = |node: usize| {
            let pages: f64 = chunks.iter().map(|chunk| chunk.shares[node] * chunk.pages as f64).sum();
            pages / all as f64
        };
        (0..self.cpus_of.len()).map(share).collect()
    }

    /// `numa_preferred_nid`.
    pub fn preferred(&self, task: TaskId) -> Option<u32> {
        self.tasks.get(task.index()).and_then(|task| task.preferred)
    }

    /// `cpu_to_node`.
    pub fn node(&self, cpu: CpuId) -> u32 {
        self.node_of[cpu.index()]
    }

    /// `task_nr_scan_windows`.
    fn task_nr_scan_windows(&self, task: TaskId) -> u64 {
        let space = self.tasks[task.index()].space.map(|space| &self.spaces[space as usize]);
        space.map_or(1, |space| space.bytes.div_ceil(WINDOW).max(1))
    }

    /// `task_scan_min`, milliseconds. Without a group it is `task_scan_start`, too.
    fn task_scan_min(&self, task: TaskId) -> u64 {
        const FLOOR: u64 = 1000 / (MAX_SCAN_WINDOW / SCAN_SIZE);
        (SCAN_PERIOD_MIN / self.task_nr_scan_windows(task)).max(FLOOR)
    }

    /// `task_scan_max`, milliseconds.
    fn task_scan_max(&self, task: TaskId) -> u64 {
        self.task_scan_min(task).max(SCAN_PERIOD_MAX / self.task_nr_scan_windows(task))
    }

    /// `task_tick_numa`: whether it is time for `task`, which has used so much CPU time, to scan.
    fn scan_is_due(&mut self, task: TaskId, cpu_time: Nanos, now: Nanos) -> bool {
        let start = self.task_scan_min(task);
        let known = &mut self.tasks[task.index()];
        let Some(space) = known.space else { return false };
        let period = known.scan_period * MSEC;
        if cpu_time <= known.node_stamp + period {
            return false;
        }
        if known.node_stamp == 0 {
            known.scan_period = start;
        }
        known.node_stamp += period;
        now >= self.spaces[space as usize].next_scan
    }

    /// `task_numa_work`: marks the next part of the memory of the process of `task`.
    fn task_numa_work(&mut self, task: TaskId, now: Nanos, tick: Nanos) {
        let known = &mut self.tasks[task.index()];
        let Some(space) = known.space else { return };
        let space = &mut self.spaces[space as usize];
        space.next_scan = now + known.scan_period * MSEC;
        known.node_stamp += 2 * tick;
        let window = space.window;
        space.window += 1;
        if space.window >= space.bytes.div_ceil(WINDOW) {
            // `reset_ptenuma_scan`
            space.window = 0;
            space.scan_seq += 1;
        }
        for member in &space.members {
            for chunk in self.tasks[member.index()].chunks.iter_mut().filter(|chunk| chunk.window == window) {
                chunk.marked = true;
            }
        }
    }

    /// `update_scan_period`: `task` goes from one CPU to another.
    fn update_scan_period(&mut self, task: TaskId, from: CpuId, to: CpuId) {
        let (src, dst) = (self.node(from), self.node(to));
        let start = self.task_scan_min(task);
        let known = &mut self.tasks[task.index()];
        if src == dst || known.faults.is_none() {
            return;
        }
        let to_preferred = known.preferred == Some(dst);
        let was_elsewhere = known.preferred.is_some_and(|preferred| preferred != src);
        if known.scan_seq > 0 && (to_preferred || was_elsewhere) {
            return;
        }
        known.scan_period = start;
    }
}

impl Fair {
    /// A tick of `task` on `cpu`, which has used so much CPU time by now: scans and faults that are due. Whether pages moved;
    /// where the task then goes, and another one in exchange, is in `kernel.stop_moves`.
    pub fn task_tick_numa(&mut self, kernel: &mut Kernel, cpu: CpuId, task: TaskId, cpu_time: Nanos) -> bool {
        let Some(mut numa) = self.numa.take() else { return false };
        if numa.scan_is_due(task, cpu_time, kernel.now) {
            numa.task_numa_work(task, kernel.now, kernel.params.tick());
        }
        let moved = numa.is_marked(task) && self.numa_faults(&mut numa, kernel, cpu, task);
        self.numa = Some(numa);
        moved
    }

    /// Notes for NUMA balancing that `task` goes from its CPU to another.
    pub(super) fn numa_migrate_task_rq(&mut self, kernel: &Kernel, task: TaskId, to: CpuId) {
        if let Some(numa) = &mut self.numa {
            numa.update_scan_period(task, kernel.task(task).cpu, to);
        }
    }
}
