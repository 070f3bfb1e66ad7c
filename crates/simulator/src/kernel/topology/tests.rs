// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;

/// Level and number of CPUs of each domain of `cpu`, from small to large.
fn chain(topology: &Topology, cpu: u32) -> Vec<(Level, usize)> {
    let chain = topology.chains[cpu as usize].iter();
    chain.map(|id| (topology.domains[*id].level, topology.domains[*id].weight)).collect()
}

#[test]
fn cores_that_share_an_l2_balance_among_each_other_first() {
    let topology = Topology::of(&Machine::load("i9-12900k").unwrap());
    assert_eq!(chain(&topology, 0), [(Level::Smt, 2), (Level::Mc, 24)]);
    assert_eq!(chain(&topology, 17), [(Level::Cls, 4), (Level::Mc, 24)]);
    let all = &topology.domains[topology.chains[17][1]];
    let weights: Vec<usize> = all.groups.iter().map(|group| group.cpus.len()).collect();
    assert_eq!(weights, [2, 2, 2, 2, 2, 2, 2, 2, 4, 4], "eight P-cores, two modules of E-cores");
    assert!(topology.domains[topology.chains[17][0]].asym_packing, "x86_cluster_flags has SD_ASYM_PACKING");
}

#[test]
fn cpus_share_resources_within_a_cluster_or_where_there_is_none() {
    let topology = Topology::of(&Machine::load("i9-12900k").unwrap());
    let share = |cpu, other| topology.cpus_share_resources(CpuId(cpu), CpuId(other));
    assert_eq!([share(16, 19), share(16, 20), share(0, 2), share(0, 16)], [true, false, true, false]);
    let phone = Topology::of(&Machine::load("hikey960").unwrap());
    assert!(phone.clusters.is_empty() && phone.cpus_share_resources(CpuId(0), CpuId(3)));
}

#[test]
fn an_l2_that_is_the_last_level_is_no_level_of_its_own() {
    let topology = Topology::of(&Machine::load("core2-q6600").unwrap());
    assert_eq!(chain(&topology, 0), [(Level::Mc, 2), (Level::Pkg, 4)]);
}
