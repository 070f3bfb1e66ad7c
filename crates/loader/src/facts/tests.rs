// SPDX-License-Identifier: MIT OR Apache-2.0
//! Facts of machines that are made up.

use super::*;

/// Four cores of one CPU and two of two, all below one cache: CPUs 0 to 3 little, 4 and 5, 6 and 7 siblings.
fn hybrid() -> Machine {
    let cpu = |number: u64| Cpu {
        online: true,
        core: if number < 4 { number } else { number / 2 * 2 },
        sibling: (number >= 4).then_some(number ^ 1),
        performance_domain: number,
        capacity: if number < 4 { 512 } else { 1024 },
        performance: if number < 4 { 512 } else { 768 },
        ..Cpu::default()
    };
    let table =
        OppTable { frequency: vec![1, 2], performance: vec![3, 4], power: vec![5, 6], static_power: vec![0, 0] };
    Machine { cpus: (0..8).map(cpu).collect(), opp_tables: vec![table], nr_nodes: 1, cpuperf: true }
}

fn all(system: &System, word: &str) -> Vec<u64> {
    system.all(Word::of(word).unwrap())
}

#[test]
fn facts_follow_from_what_a_machine_says() {
    let system = System::of(&hybrid());
    let number = |word: &str| all(&system, word)[0];
    assert_eq!(["nr_cpus", "nr_nodes", "nr_llcs", "nr_performance_domains"].map(number), [8, 1, 1, 8]);
    assert_eq!(["smt", "numa", "uniform", "same_capacity", "hybrid", "cpuperf"].map(number), [1, 0, 1, 0, 1, 1]);
    assert_eq!(["total_capacity", "efficient_capacity", "smallest_cpu"].map(number), [6144, 512, 3]);
    assert_eq!(["memory_bandwidth", "idle_power"].map(number), [0, 0], "no file of a kernel has them");
    assert_eq!(all(&system, "cpu.sibling")[3..6], [0xffff_ffff, 5, 4]);
    assert_eq!(all(&system, "cpu.big"), [0, 0, 0, 0, 1, 1, 1, 1]);
    assert_eq!(all(&system, "cpus_by_performance"), [4, 6, 0, 1, 2, 3, 5, 7]);
    assert_eq!(all(&system, "cpus_by_efficiency"), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(
        all(&system, "domain.mask"),
        [0xf0, 0x0f],
        "the domain of the first CPU in order of performance is first"
    );
    assert_eq!(system.fact(Word::of("domain.big").unwrap(), 1), Some(Fact::One(0)));
    assert_eq!(system.fact(Word::of("cpu.capacity").unwrap(), 8), None);
}

#[test]
fn every_word_has_an_answer_of_its_shape() {
    let system = System::of(&hybrid());
    for word in Word::all() {
        let fact = system.fact(word, 0).unwrap_or_else(|| panic!("{word}"));
        assert_eq!(matches!(fact, Fact::List(_)), word.shape() == Shape::List, "{word}");
        assert!(word.shape() != Shape::Truth || fact.numbers()[0] <= 1, "{word}");
    }
}

#[test]
fn a_sibling_that_is_offline_is_no_smt() {
    let mut machine = hybrid();
    for cpu in [5, 7] {
        machine.cpus[cpu].online = false;
        // As a kernel shows it: one that is offline has no topology.
        (machine.cpus[cpu].core, machine.cpus[cpu].sibling) = (cpu as u64, None);
        machine.cpus[cpu - 1].sibling = None;
    }
    assert_eq!(all(&System::of(&machine), "smt"), [0]);
}

#[test]
fn facts_of_the_largest_machine_are_found_soon() {
    // As many CPUs as a list can have, two of a core. Looking at all of them for each took a minute.
    let cpu = |number: u64| Cpu {
        online: true,
        core: number / 2 * 2,
        sibling: Some(number ^ 1),
        capacity: if number < 4096 { 512 } else { 1024 },
        ..Cpu::default()
    };
    let machine = Machine { cpus: (0..8192).map(cpu).collect(), ..Machine::default() };
    let begun = std::time::Instant::now();
    let system = System::of(&machine);
    let facts: usize = Word::all().map(|word| system.all(word).len()).sum();
    assert!(facts > 100_000, "{facts}");
    assert_eq!(all(&system, "cpu.big").iter().sum::<u64>(), 4096);
    assert_eq!(all(&system, "cpus_by_performance")[..3], [4096, 4098, 4100]);
    assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
}
