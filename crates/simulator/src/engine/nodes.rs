// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where threads' memory is: on the node of the CPU that first touched it, or where a policy says (`mm/mempolicy.c`).
//!
//! All memory of a thread is in one place. Simpler than Linux: pages never move, as automatic NUMA balancing would have them.

use super::progress::Progress;
use super::thread::Thread;
use crate::machine::speed::MemoryUse;
use crate::machine::{Machine, MemoryDomain};
use crate::units::CpuId;
use crate::workload::MemoryPolicy;

impl<'r> Progress<'r> {
    /// The thread on `cpu` uses memory like this: from now on over the path to where it is, at that path's latency.
    pub(super) fn find_memory(&mut self, cpu: CpuId, thread: &mut Thread<'_>, uses: MemoryUse) {
        if uses.memory_bound > 0.0 || uses.bytes_per_work > 0.0 || uses.footprint > 0 {
            touch(self.machine, cpu, thread);
        }
        let path = self.machine.memory_path(cpu, thread.home);
        self.memory.set_path(self.machine, cpu, path);
        thread.demand.miss *= match thread.kind.memory_policy {
            MemoryPolicy::Interleave => mean_latency(self.machine, cpu),
            _ => self.machine.memory_domains[path.index()].latency,
        };
    }

    /// The thread on `cpu` reads or writes memory now; the path there.
    pub(super) fn touch_memory(&mut self, cpu: CpuId, thread: &mut Thread<'_>) -> &'r MemoryDomain {
        if !self.machine.links.is_empty() {
            touch(self.machine, cpu, thread);
            self.memory.set_path(self.machine, cpu, self.machine.memory_path(cpu, thread.home));
        }
        &self.machine.memory_domains[self.memory.path(cpu).index()]
    }
}

/// A thread without memory gets some where its policy says, seen from `cpu`.
fn touch(machine: &Machine, cpu: CpuId, thread: &mut Thread<'_>) {
    if thread.home.is_some() {
        return;
    }
    let own = machine.cpus[cpu.index()].node;
    thread.home = match &thread.kind.memory_policy {
        MemoryPolicy::Local | MemoryPolicy::Interleave => None,
        MemoryPolicy::FirstTouch => Some(own),
        MemoryPolicy::Bind(nodes) if nodes.contains(&own) => Some(own),
        // The nearest; of equals the first.
        MemoryPolicy::Bind(nodes) => {
            let latency = |node: &u32| machine.memory_domains[machine.memory_path(cpu, Some(*node)).index()].latency;
            nodes.iter().copied().min_by(|a, b| latency(a).total_cmp(&latency(b)))
        }
    };
}

/// What an access takes on average from `cpu` if memory is spread over all nodes, in that to its own.
fn mean_latency(machine: &Machine, cpu: CpuId) -> f64 {
    let nodes = machine.cpus.iter().map(|cpu| cpu.node).max().map_or(1, |last| last + 1);
    let latency = |node| machine.memory_domains[machine.memory_path(cpu, Some(node)).index()].latency;
    (0..nodes).map(latency).sum::<f64>() / f64::from(nodes)
}
