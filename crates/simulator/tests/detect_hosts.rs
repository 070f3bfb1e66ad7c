// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of hosts: a description says of a machine what a scheduler is told on it.

use std::path::Path;
use std::sync::OnceLock;

use crate::detect_tree::{Tree, describe};
use tandem_loader::hosts::Host;
use tandem_loader::machine::Machine as Told;
use tandem_simulator::machine::Machine as Described;
use tandem_simulator::units::CpuId;

/// Capacity and highest clock (kHz; 0 where no file says) of each CPU that is online, as a scheduler is told.
fn told(machine: &Told) -> Vec<(usize, u64, u64)> {
    let clock = |table: u64| machine.opp_tables[table as usize].frequency.last().copied().unwrap_or(0);
    let cpus = machine.cpus.iter().enumerate().filter(|(_, cpu)| cpu.online);
    cpus.map(|(number, cpu)| (number, cpu.capacity, clock(cpu.opp_table))).collect()
}

/// The same of a description, in which CPUs without a clock have an assumed one.
fn described(machine: &Described, like: &[(usize, u64, u64)]) -> Vec<(usize, u64, u64)> {
    let of = |&(number, _, khz): &(usize, u64, u64)| {
        let cpu = &machine.cpus[number];
        let top = machine.performance_domains[cpu.performance_domain.index()].opps.last().map_or(0, |opp| opp.khz);
        (number, u64::from(cpu.capacity), if khz == 0 { 0 } else { u64::from(top) })
    };
    like.iter().map(of).collect()
}

/// A host, and the machine of its description.
struct Seen {
    host: Host,
    machine: Described,
    told: Vec<(usize, u64, u64)>,
}

/// All hosts, each written and described once for all tests.
fn all() -> &'static [Seen] {
    static ALL: OnceLock<Vec<Seen>> = OnceLock::new();
    ALL.get_or_init(|| Host::all().into_iter().map(seen).collect())
}

fn seen(host: Host) -> Seen {
    let tree = Tree::empty();
    host.write(tree.root()).expect("a tree");
    let (detected, _) = describe(&tree);
    let machine = Described::parse("host", Path::new("host.toml"), &detected.toml, None).expect("a description");
    let told = told(&Told::read(tree.root()).expect("a machine"));
    Seen { host, machine, told }
}

mod long {
    use super::*;

    /// Kinds are one another's neighbours in the catalogue's sense: CPUs of one kind have one core type.
    #[test]
    fn cpus_of_one_capacity_are_of_one_core_type() {
        for Seen { host, machine, told } in all() {
            let kind = |cpu: CpuId| machine.cluster(cpu).core_type;
            for pair in told.windows(2) {
                let [one, other] = [pair[0], pair[1]];
                let differ = kind(CpuId::at(one.0)) != kind(CpuId::at(other.0));
                assert!(one.1 == other.1 || differ, "{}: CPUs {} and {}", host.name, one.0, other.0);
            }
        }
    }

    #[test]
    fn descriptions_and_loaders_see_the_same_kinds_capacities_and_clocks() {
        for Seen { host, machine, told } in all() {
            let described = described(machine, told);
            for (described, told) in described.iter().zip(told) {
                // Work per clock has four digits, which a capacity of 1024 may miss by one.
                assert!(described.1.abs_diff(told.1) <= 1, "{}: {described:?} {told:?}", host.name);
                assert_eq!(described.2, told.2, "{}: CPU {}", host.name, told.0);
            }
            let all: Vec<u64> = host.kinds.iter().map(|kind| kind.capacity).collect();
            assert!(told.iter().all(|(_, capacity, _)| all.contains(capacity)), "{}: {told:?}", host.name);
        }
    }
}
