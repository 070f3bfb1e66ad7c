// SPDX-License-Identifier: MIT OR Apache-2.0
use std::path::Path;

use super::*;
use crate::kernel::cpumask::CpuMask;
use crate::machine::Machine;
use proptest::prelude::*;

const PARTS: &str = r#"schema = 1
title = "test"
[core_type.core]
ipc = 1.0
memory_speed = 1.0
stall_activity = 0.5
smt_speed = 0.6
smt_activity = 1.2
source = "assumed: test"
[opp_table.core]
transition_latency_us = 20
dynamic_power_coefficient = 300
opps = [{ mhz = 1000, mv = 700 }]
source = "assumed: test"
[idle_table.core]
states = [{ name = "C1", entry_us = 1, exit_us = 1, residency_us = 2, watts = 0.1 }]
source = "assumed: test"
[platform]
watts = 0.0
supply_efficiency = 1.0
source = "assumed: test"
[scheduling]
context_switch_us = 1.0
migration_us = 2.0
migration_llc_us = 10.0
tick_us = 1.0
source = "assumed: test"
"#;

/// A machine of so many packages, each with as many clusters around a cache, of cores with so many threads. CPUs are
/// numbered core by core: with two threads, CPUs 0 and 1 are a core.
pub(in crate::scx) fn topology(packages: u32, clusters: u32, cores: u32, threads: u32) -> Topology {
    let mut text = PARTS.to_owned();
    for package in 0..packages {
        text += &format!(
            r#"
[memory.m{package}]
gb_per_s = 200.0
thread_gb_per_s = 20.0
contention = 0.5
static_watts = 1.0
nj_per_byte = 0.1
source = "assumed: test"
[package.p{package}]
uncore_watts = 1.0
uncore_idle_watts = 1.0
source = "assumed: test"
"#
        );
    }
    for cluster in 0..packages * clusters {
        let (package, first) = (cluster / clusters, cluster * cores * threads);
        let last = first + cores * threads - 1;
        text += &format!(
            r#"
[[cluster]]
name = "c{cluster}"
package = "p{package}"
core_type = "core"
cores = {cores}
smt = {threads}
cpus = "{first}-{last}"
opp_table = "core"
idle_table = "core"
performance_domain = "core"
memory = "m{package}"
node = {package}
static_watts = 0.5
cache = {{ level = 3, kib = 32768, per = "cluster", hit_cost = 0.2 }}
source = "assumed: test"
"#
        );
    }
    Topology::of(&Machine::parse("test", Path::new("test.toml"), &text, None).unwrap())
}

/// Idle tracking of a machine, and the memory that its masks are copied to.
pub(in crate::scx) struct Tracked {
    pub(in crate::scx) topology: Topology,
    pub(in crate::scx) memory: Memory,
    pub(in crate::scx) idle: IdleTracking,
    pub(in crate::scx) cursor: u32,
}

impl Tracked {
    /// All CPUs are idle.
    pub(in crate::scx) fn new(topology: Topology, per_node: bool) -> Self {
        let (mut memory, mut idle) = (Memory::new(1 << 20), IdleTracking::default());
        let mut mask = || memory.alloc(MASK_BYTES, Protection::ReadOnly).unwrap();
        let setup = IdleSetup { cpu_address: mask(), smt_address: mask(), per_node };
        idle.enable(&mut memory, &topology, setup).unwrap();
        Self { topology, memory, idle, cursor: 0 }
    }

    /// Only these CPUs are idle.
    pub(in crate::scx) fn only(mut self, idle: &[u32]) -> Self {
        for cpu in 0..self.topology.nr_cpus as u32 {
            self.update(cpu, idle.contains(&cpu));
        }
        self
    }

    pub(in crate::scx) fn update(&mut self, cpu: u32, idle: bool) {
        self.idle.update(&mut self.memory, CpuId(cpu), idle);
    }

    fn claim(&mut self, cpu: u32) -> bool {
        self.idle.test_and_clear(&mut self.memory, CpuId(cpu))
    }

    fn pick(&mut self, allowed: &[u32], flags: u64) -> Option<u32> {
        self.pick_near(allowed, None, flags)
    }

    fn pick_near(&mut self, allowed: &[u32], node: Option<usize>, flags: u64) -> Option<u32> {
        let mask = CpuMask::of(self.topology.nr_cpus, allowed.iter().map(|cpu| CpuId(*cpu)));
        let allowed = Allowed::default().and(Some(mask.words()));
        self.idle.pick(&mut self.memory, &mut self.cursor, allowed, node, flags).map(|cpu| cpu.0)
    }

    /// First word of a mask as a program reads it.
    fn seen(&self, address: Option<u64>) -> u64 {
        self.memory.load::<8>(address.unwrap()).unwrap()
    }

    /// The masks of idle CPUs and of wholly idle cores as a program reads them.
    pub(in crate::scx) fn masks(&self) -> (u64, u64) {
        (self.seen(self.idle.cpu_address(None)), self.seen(self.idle.smt_address(None)))
    }
}

#[test]
fn all_online_cpus_are_idle_at_first_and_programs_see_it() {
    let tracked = Tracked::new(topology(1, 1, 2, 2), false);
    assert_eq!(tracked.masks(), (0b1111, 0b1111));
}

#[test]
fn without_smt_the_mask_of_cores_is_that_of_cpus() {
    let mut tracked = Tracked::new(topology(1, 1, 4, 1), false);
    assert!(tracked.claim(2));
    assert_eq!(tracked.masks(), (0b1011, 0b1011));
    assert!(!tracked.idle.smt_active());
}

#[test]
fn a_busy_thread_takes_its_core_out_and_a_core_returns_when_all_its_threads_are_idle() {
    let mut tracked = Tracked::new(topology(1, 1, 2, 2), false);
    tracked.update(1, false);
    assert_eq!(tracked.masks(), (0b1101, 0b1100));
    tracked.update(0, false);
    tracked.update(1, true);
    assert_eq!(tracked.masks(), (0b1110, 0b1100), "its sibling is busy");
    tracked.update(0, true);
    assert_eq!(tracked.masks(), (0b1111, 0b1111));
}

#[test]
fn a_failed_claim_takes_the_core_out_as_well() {
    let mut tracked = Tracked::new(topology(1, 1, 2, 2), false);
    assert!(tracked.claim(0));
    assert!(!tracked.claim(0), "it is claimed already");
    assert_eq!(tracked.masks(), (0b1110, 0b1100));
    assert!(tracked.claim(1), "its sibling is not");
    assert_eq!(tracked.masks(), (0b1100, 0b1100));
}

#[test]
fn cpus_come_in_turn_after_the_last_one_found() {
    let mut tracked = Tracked::new(topology(1, 1, 4, 1), false);
    let picks: Vec<Option<u32>> = (0..5).map(|_| tracked.pick(&[0, 1, 2, 3], 0)).collect();
    assert_eq!(picks, [Some(1), Some(2), Some(3), Some(0), None], "CPU 0 is not the first");
}

#[test]
fn wholly_idle_cores_come_first_and_the_flag_accepts_no_others() {
    let mut tracked = Tracked::new(topology(1, 1, 3, 2), false).only(&[1, 2, 3, 5]);
    assert_eq!(tracked.pick(&[0, 1, 2, 3, 4, 5], 0), Some(2), "core 1 is CPUs 2 and 3");
    assert_eq!(tracked.pick(&[0, 1, 2, 3, 4, 5], PICK_IDLE_CORE), None);
    assert_eq!(tracked.pick(&[0, 1, 2, 3, 4, 5], 0), Some(3), "the cursor stands at 2");
    assert_eq!(tracked.pick(&[0, 1, 4], 0), Some(1));
    assert_eq!(tracked.pick(&[0, 1, 4], 0), None);
}

#[test]
fn the_core_flag_means_nothing_without_smt() {
    let mut tracked = Tracked::new(topology(1, 1, 2, 1), false).only(&[0]);
    assert_eq!(tracked.pick(&[0, 1], PICK_IDLE_CORE), Some(0));
}

#[test]
fn each_node_has_masks_of_its_own_if_asked_for() {
    let mut tracked = Tracked::new(topology(2, 1, 2, 1), true);
    assert!(tracked.claim(2));
    let nodes = [0, 1].map(|node| tracked.seen(tracked.idle.cpu_address(Some(node))));
    assert_eq!(nodes, [0b0011, 0b1000]);
    assert_eq!(tracked.idle.cpu_address(Some(2)), None);
    let together = Tracked::new(topology(2, 1, 2, 1), false);
    assert_eq!(together.idle.cpu_address(Some(0)), None);
}

#[test]
fn a_node_is_searched_before_others_or_alone() {
    let mut tracked = Tracked::new(topology(2, 1, 2, 1), true);
    let all = [0, 1, 2, 3];
    assert_eq!(tracked.pick_near(&all, Some(1), 0), Some(2));
    assert_eq!(tracked.pick_near(&all, Some(1), 0), Some(3));
    assert_eq!(tracked.pick_near(&all, Some(1), PICK_IDLE_IN_NODE), None);
    assert_eq!(tracked.pick_near(&all, Some(1), 0), Some(0), "then the other node, after CPU 3");
}

#[test]
fn neighbourhoods_that_are_the_whole_machine_are_not_searched_on_their_own() {
    let flags = |topology| {
        let tracked = Tracked::new(topology, false);
        (tracked.idle.several_llcs(), tracked.idle.several_nodes())
    };
    assert_eq!(flags(topology(1, 1, 4, 1)), (false, false), "one cache");
    assert_eq!(flags(topology(1, 2, 2, 1)), (true, false), "two caches in one node");
    assert_eq!(flags(topology(2, 1, 2, 1)), (true, false), "each node is one cache");
    assert_eq!(flags(topology(2, 2, 2, 1)), (true, true));
}

proptest! {
    #[test]
    fn masks_stay_consistent_whatever_happens(steps in proptest::collection::vec((0..8_u32, 0..4_u8), 0..60)) {
        let mut tracked = Tracked::new(topology(1, 1, 4, 2), false);
        for (cpu, step) in steps {
            match step {
                0 => tracked.update(cpu, true),
                1 => tracked.update(cpu, false),
                2 => { tracked.claim(cpu); }
                _ => { tracked.pick(&[cpu, 7 - cpu], 0); }
            }
            let (cpus, cores) = tracked.masks();
            prop_assert_eq!(cores & !cpus, 0, "a wholly idle core has only idle CPUs");
            prop_assert_eq!(cores & 0x55, (cores >> 1) & 0x55, "siblings are in or out together");
            prop_assert_eq!(vec![cpus, cores], vec![tracked.idle.cpu.words[0], tracked.idle.smt.words[0]]);
        }
    }
}
