// SPDX-License-Identifier: MIT OR Apache-2.0
//! The built-in choice of a CPU (`scx_select_cpu_dfl`).
//!
//! A [`Selection`] has what the choice depends on. Its order is a kernel version's: [`Selection::v6_12`] knows neither
//! caches nor nodes, [`Selection::nearby`] looks near `prev_cpu` first.

#[cfg(test)]
mod tests;

use tandem_bpf_vm::memory::Memory;

use super::Ctx;
use super::abi::profile::SCX_WAKE_SYNC;
use super::idle::bits::Allowed;
use super::idle::{IdleTracking, PICK_IDLE_CORE, PICK_IDLE_IN_NODE};
use crate::kernel::task::TaskState;
use crate::kernel::topology::Topology;
use crate::units::{CpuId, TaskId};

/// A choice to be made.
pub struct Selection<'a> {
    /// Which CPUs are idle.
    pub idle: &'a mut IdleTracking,
    /// The programs' memory.
    pub memory: &'a mut Memory,
    /// Where searches begin (`distribute_cpu_mask_prev` of the executing CPU).
    pub cursor: u32,
    /// Which CPUs are near each other.
    pub topology: &'a Topology,
    /// CPUs that the task may use.
    pub allowed: Allowed<'a>,
    /// The executing CPU, the waker's.
    pub this_cpu: CpuId,
    /// Nothing waits on the waker's local queue and the waker is not about to end: a task that it wakes before it sleeps
    /// may take its place.
    pub waker_yields: bool,
    /// An idle sibling of the previous CPU comes before other idle CPUs.
    pub claims_sibling: bool,
}

impl Selection<'_> {
    /// As 6.12 chooses; `None`: `prev_cpu`, which is not idle. A wakeup with `SCX_WAKE_SYNC` may get the waker's CPU as
    /// if it were idle. `prev_cpu` need not be allowed.
    pub fn v6_12(&mut self, prev_cpu: CpuId, wake_flags: u64) -> Option<CpuId> {
        if wake_flags & SCX_WAKE_SYNC != 0
            && self.waker_yields
            && !self.idle.is_empty(None)
            && self.allowed.test(self.this_cpu)
        {
            return Some(self.this_cpu);
        }
        if self.idle.smt_active() {
            if self.idle.test_core(prev_cpu) && self.claim(prev_cpu) {
                return Some(prev_cpu);
            }
            let core = self.pick(PICK_IDLE_CORE);
            if core.is_some() {
                return core;
            }
        }
        if self.claim(prev_cpu) {
            return Some(prev_cpu);
        }
        self.pick(0)
    }

    /// As later kernels choose: near `prev_cpu` first, which must be allowed itself; `flags` (`SCX_PICK_IDLE_*`) narrow the choice.
    pub fn nearby(&mut self, prev_cpu: CpuId, wake_flags: u64, flags: u64) -> Option<CpuId> {
        if !self.allowed.any(self.topology.online.words().len()) {
            return None;
        }
        let prev_allowed = self.allowed.test(prev_cpu);
        let sync = wake_flags & SCX_WAKE_SYNC != 0;
        if let Some(cpu) = sync.then(|| self.sync_v7(prev_cpu, flags)).flatten() {
            return Some(cpu);
        }
        if self.idle.smt_active() {
            if prev_allowed && self.idle.test_core(prev_cpu) && self.claim(prev_cpu) {
                return Some(prev_cpu);
            }
            let core = self.pick_near(prev_cpu, flags | PICK_IDLE_CORE);
            if core.is_some() || flags & PICK_IDLE_CORE != 0 {
                return core;
            }
        }
        if prev_allowed && self.claim(prev_cpu) {
            return Some(prev_cpu);
        }
        self.claim_sibling(prev_cpu).or_else(|| self.pick_near(prev_cpu, flags))
    }

    /// Of a task that is tied to one CPU: `prev_cpu` or none.
    pub fn prev_only(&mut self, prev_cpu: CpuId) -> Option<CpuId> {
        (self.allowed.test(prev_cpu) && self.claim(prev_cpu)).then_some(prev_cpu)
    }

    /// A waker that is about to sleep: `prev_cpu` if it is idle and shares the cache, else the waker's CPU.
    fn sync_v7(&mut self, prev_cpu: CpuId, flags: u64) -> Option<CpuId> {
        let this_cpu = self.this_cpu;
        let same_cache = self.topology.llc_of[this_cpu.index()] == self.topology.llc_of[prev_cpu.index()];
        if same_cache && self.prev_only(prev_cpu).is_some() {
            return Some(prev_cpu);
        }
        let (node, waker_node) = (self.node(prev_cpu), self.idle.node_of(this_cpu));
        let in_node = flags & PICK_IDLE_IN_NODE == 0 || node == Some(waker_node);
        let some_idle = !self.idle.is_empty(node.map(|_| waker_node));
        (self.waker_yields && in_node && some_idle && self.allowed.test(this_cpu)).then_some(this_cpu)
    }

    /// In the cache of `prev_cpu`, in its node, anywhere.
    fn pick_near(&mut self, prev_cpu: CpuId, flags: u64) -> Option<CpuId> {
        let core = flags & PICK_IDLE_CORE;
        let topology = self.topology;
        if self.idle.several_llcs() {
            let llc = &topology.llcs[topology.llc_of[prev_cpu.index()] as usize];
            let allowed = self.allowed.and(Some(llc.span.words()));
            let found = self.idle.pick_in_node(self.memory, &mut self.cursor, allowed, None, core);
            if found.is_some() {
                return found;
            }
        }
        if self.idle.several_nodes() {
            let node = Some(self.idle.node_of(prev_cpu));
            let found = self.idle.pick_in_node(self.memory, &mut self.cursor, self.allowed, node, core);
            if found.is_some() {
                return found;
            }
        }
        let node = self.node(prev_cpu);
        self.idle.pick(self.memory, &mut self.cursor, self.allowed, node, flags)
    }

    /// An idle SMT sibling of `prev_cpu`: it shares even the first-level caches.
    fn claim_sibling(&mut self, prev_cpu: CpuId) -> Option<CpuId> {
        if !self.claims_sibling || !self.idle.smt_active() {
            return None;
        }
        let siblings = &self.topology.smt[prev_cpu.index()];
        siblings.iter().copied().find(|cpu| *cpu != prev_cpu && self.allowed.test(*cpu) && self.claim(*cpu))
    }

    /// `scx_cpu_node_if_enabled`.
    fn node(&self, prev_cpu: CpuId) -> Option<usize> {
        self.idle.is_per_node().then(|| self.idle.node_of(prev_cpu))
    }

    fn claim(&mut self, cpu: CpuId) -> bool {
        self.idle.test_and_clear(self.memory, cpu)
    }

    fn pick(&mut self, flags: u64) -> Option<CpuId> {
        self.idle.pick(self.memory, &mut self.cursor, self.allowed, None, flags)
    }
}

impl Ctx<'_> {
    /// The CPU of `task`, as the kernel chooses where the scheduler does not (`scx_select_cpu_dfl`), and whether it was
    /// idle, and is claimed now. `wake_flags` are the `SCX_WAKE_*` ones.
    pub fn scx_select_cpu_dfl(&mut self, task: TaskId, prev_cpu: CpuId, wake_flags: u64) -> (CpuId, bool) {
        let found = match self.scx.profile.rules().select_cpu_from_kfunc {
            false => self.select_with(task, None, |selection| selection.v6_12(prev_cpu, wake_flags)),
            true => self.select_with(task, None, |selection| selection.nearby(prev_cpu, wake_flags, 0)),
        };
        (found.unwrap_or(prev_cpu), found.is_some())
    }

    /// `select_cpu_from_kfunc` of later kernels, once it has found nothing to complain of: an idle CPU for `task` among `mask`.
    pub(in crate::scx) fn select_cpu_and(
        &mut self,
        task: TaskId,
        prev_cpu: CpuId,
        wake_flags: u64,
        (mask, flags): (Option<&[u64]>, u64),
    ) -> Option<CpuId> {
        let tied = self.kernel.nr_cpus_allowed_is_1(task) || self.kernel.task(task).is_migration_disabled();
        self.select_with(task, mask, |selection| {
            if tied { selection.prev_only(prev_cpu) } else { selection.nearby(prev_cpu, wake_flags, flags) }
        })
    }

    fn select_with(
        &mut self,
        task: TaskId,
        mask: Option<&[u64]>,
        choose: impl FnOnce(&mut Selection<'_>) -> Option<CpuId>,
    ) -> Option<CpuId> {
        let this_cpu = self.scx.calls.this_cpu();
        let exiting = |task| self.kernel.task(task).state == TaskState::Dead;
        let exiting = self.kernel.rq(this_cpu).curr.is_some_and(exiting);
        let mut selection = Selection {
            claims_sibling: self.scx.profile.rules().claims_sibling,
            waker_yields: !exiting && self.scx.dsqs.nr(self.scx.dsqs.local(this_cpu)) == 0,
            cursor: *self.vm.distribute_cursor(this_cpu.0),
            allowed: Allowed::default().and(self.kernel.task(task).allowed.as_ref().map(|mask| mask.words())).and(mask),
            idle: &mut self.scx.idle,
            memory: &mut self.vm.memory,
            topology: &self.kernel.topology,
            this_cpu,
        };
        let found = choose(&mut selection);
        let cursor = selection.cursor;
        *self.vm.distribute_cursor(this_cpu.0) = cursor;
        found
    }
}
