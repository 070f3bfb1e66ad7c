// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::kernel::cpumask::CpuMask;
use crate::scx::idle::tests::{Tracked, topology};

/// A choice on a machine where only some CPUs are idle.
struct Case {
    tracked: Tracked,
    allowed: CpuMask,
    this_cpu: u32,
    waker_yields: bool,
}

impl Case {
    fn new(topology: Topology, idle: &[u32]) -> Self {
        let allowed = topology.online.clone();
        Self { tracked: Tracked::new(topology, false).only(idle), allowed, this_cpu: 0, waker_yields: false }
    }

    /// One cache, four cores of one thread.
    fn plain(idle: &[u32]) -> Self {
        Self::new(topology(1, 1, 4, 1), idle)
    }

    /// One cache, three cores of two threads: {0, 1}, {2, 3}, {4, 5}.
    fn smt(idle: &[u32]) -> Self {
        Self::new(topology(1, 1, 3, 2), idle)
    }

    fn allowed(mut self, cpus: &[u32]) -> Self {
        self.allowed = CpuMask::of(self.tracked.topology.nr_cpus, cpus.iter().map(|cpu| CpuId(*cpu)));
        self
    }

    fn waker(mut self, cpu: u32, yields: bool) -> Self {
        (self.this_cpu, self.waker_yields) = (cpu, yields);
        self
    }

    fn choose(&mut self, how: impl FnOnce(&mut Selection<'_>) -> Option<CpuId>) -> Option<u32> {
        let tracked = &mut self.tracked;
        let mut selection = Selection {
            idle: &mut tracked.idle,
            memory: &mut tracked.memory,
            cursor: tracked.cursor,
            topology: &tracked.topology,
            allowed: Allowed::default().and(Some(self.allowed.words())),
            this_cpu: CpuId(self.this_cpu),
            waker_yields: self.waker_yields,
            claims_sibling: true,
        };
        let found = how(&mut selection).map(|cpu| cpu.0);
        tracked.cursor = selection.cursor;
        found
    }

    fn v6_12(&mut self, prev: u32, flags: u64) -> Option<u32> {
        self.choose(|selection| selection.v6_12(CpuId(prev), flags))
    }

    fn v7(&mut self, prev: u32, wake_flags: u64, flags: u64) -> Option<u32> {
        self.choose(|selection| selection.nearby(CpuId(prev), wake_flags, flags))
    }
}

#[test]
fn an_idle_previous_cpu_is_kept_and_claimed() {
    let mut case = Case::plain(&[1, 2]);
    assert_eq!(case.v6_12(2, 0), Some(2));
    assert_eq!(case.v6_12(2, 0), Some(1), "it is claimed now");
    assert_eq!(case.v6_12(2, 0), None);
}

#[test]
fn a_waker_that_will_sleep_gives_its_cpu_to_whom_it_wakes() {
    let sync = SCX_WAKE_SYNC;
    assert_eq!(Case::plain(&[2]).waker(0, true).v6_12(2, sync), Some(0), "before an idle previous CPU");
    assert_eq!(Case::plain(&[2]).waker(0, true).v6_12(2, 0), Some(2), "it does not say that it will sleep");
    assert_eq!(Case::plain(&[2]).waker(0, false).v6_12(2, sync), Some(2), "others wait there");
    assert_eq!(Case::plain(&[]).waker(0, true).v6_12(2, sync), None, "the machine is full");
    assert_eq!(Case::plain(&[2]).waker(0, true).allowed(&[1, 2]).v6_12(2, sync), Some(2), "it may not go there");
}

#[test]
fn a_wholly_idle_core_comes_before_an_idle_thread() {
    assert_eq!(Case::smt(&[0, 2, 3, 4, 5]).v6_12(4, 0), Some(4), "the previous core, if it is wholly idle");
    assert_eq!(Case::smt(&[0, 2, 3]).v6_12(0, 0), Some(2), "another core before the previous thread");
    assert_eq!(Case::smt(&[0, 3]).v6_12(0, 0), Some(0), "the previous thread before others");
    assert_eq!(Case::smt(&[0, 3]).v6_12(5, 0), Some(3), "any thread, after the cursor");
    assert_eq!(Case::smt(&[0, 3]).allowed(&[4, 5]).v6_12(5, 0), None);
}

#[test]
fn only_6_12_keeps_a_previous_cpu_that_is_not_allowed() {
    assert_eq!(Case::plain(&[1, 2]).allowed(&[1]).v6_12(2, 0), Some(2));
    assert_eq!(Case::plain(&[1, 2]).allowed(&[1]).v7(2, 0, 0), Some(1));
}

#[test]
fn in_7_an_idle_previous_cpu_beside_the_waker_comes_before_the_wakers() {
    let two_caches = || topology(1, 2, 2, 1);
    let sync = SCX_WAKE_SYNC;
    assert_eq!(Case::new(two_caches(), &[1, 3]).waker(0, true).v7(1, sync, 0), Some(1), "they share a cache");
    assert_eq!(Case::new(two_caches(), &[1, 3]).waker(0, true).v7(3, sync, 0), Some(0), "they do not");
}

#[test]
fn in_7_the_previous_cache_is_searched_before_the_machine() {
    // Caches: {0, 1, 2}, {3, 4, 5}. The cursor would find CPU 1 first.
    let case = || Case::new(topology(1, 2, 3, 1), &[1, 4]);
    assert_eq!(case().v6_12(5, 0), Some(1));
    assert_eq!(case().v7(5, 0, 0), Some(4));
    assert_eq!(case().allowed(&[1, 5]).v7(5, 0, 0), Some(1));
}

#[test]
fn in_7_the_previous_node_is_searched_before_the_machine() {
    // Caches of one CPU, two in a node: {0, 1}, {2, 3}.
    let case = || Case::new(topology(2, 2, 1, 1), &[1, 2]);
    assert_eq!(case().v6_12(3, 0), Some(1));
    assert_eq!(case().v7(3, 0, 0), Some(2));
}

#[test]
fn in_7_an_idle_sibling_of_the_previous_cpu_comes_before_other_threads() {
    assert_eq!(Case::smt(&[1, 5]).v6_12(4, 0), Some(1));
    assert_eq!(Case::smt(&[1, 5]).v7(4, 0, 0), Some(5));
    assert_eq!(Case::smt(&[1, 5]).v7(4, 0, PICK_IDLE_CORE), None, "threads are not asked for");
}

#[test]
fn in_7_nothing_is_found_among_no_cpus() {
    let mut case = Case::plain(&[0, 1, 2, 3]).allowed(&[]);
    assert_eq!(case.v7(2, 0, 0), None);
    assert_eq!(case.tracked.masks().0, 0b1111, "and nothing is claimed");
}

#[test]
fn a_task_that_is_tied_to_a_cpu_gets_it_or_none() {
    let mut case = Case::plain(&[1, 2]);
    assert_eq!(case.choose(|selection| selection.prev_only(CpuId(2))), Some(2));
    assert_eq!(case.choose(|selection| selection.prev_only(CpuId(2))), None);
}
