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
    let table = OppTable {
        frequency: vec![1, 2],
        performance: vec![3, 4],
        power: vec![5, 6],
        busy_power: vec![7, 8],
        static_power: vec![0, 0],
        ..OppTable::default()
    };
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

/// So many CPUs, two of a core, of which one half is big.
fn many(cpus: u64) -> Machine {
    let cpu = |number: u64| Cpu {
        online: true,
        core: number / 2 * 2,
        sibling: Some(number ^ 1),
        capacity: if number < cpus / 2 { 512 } else { 1024 },
        ..Cpu::default()
    };
    Machine { cpus: (0..cpus).map(cpu).collect(), ..Machine::default() }
}

/// The nanoseconds that this thread has been on a CPU, as the kernel last looked.
fn cpu_time() -> u64 {
    let stat =
        std::fs::read_to_string("/proc/thread-self/schedstat").expect("the kernel says what threads had of CPUs");
    stat.split(' ').next().and_then(|number| number.parse().ok()).expect("a number")
}

/// Finds all facts of machines with so many CPUs, so often; how long that has kept a CPU busy.
fn work(cpus: u64, times: u64) -> u64 {
    let (machine, before) = (many(cpus), cpu_time());
    for _ in 0..times {
        let system = System::of(&machine);
        let facts: usize = Word::all().map(|word| system.all(word).len()).sum();
        assert!(facts as u64 > 12 * cpus, "{facts}");
    }
    cpu_time() - before
}

#[test]
fn facts_of_the_largest_machine_take_as_long_as_those_of_small_ones_with_as_many_cpus() {
    // As many CPUs as a list can have. Looking at all of them for each took 16 times as long as in 16 machines, which was a minute.
    let system = System::of(&many(8192));
    assert_eq!(all(&system, "cpu.big").iter().sum::<u64>(), 4096);
    assert_eq!(all(&system, "cpus_by_performance")[..3], [4096, 4098, 4100]);
    let (small, large) = (work(512, 16), work(8192, 1));
    assert!(large < 4 * small, "{large} ns, and {small} ns for as many CPUs in 16 machines");
}

/// Two little CPUs, whose states are 100 (10 mW) and 200 (40 mW), and a big one of 400 (200 mW) and 800 (1000 mW).
fn big_and_little() -> Machine {
    let cpu = |number: u64| Cpu {
        online: true,
        core: number,
        performance_domain: number / 2,
        opp_table: number / 2,
        capacity: if number == 2 { 800 } else { 200 },
        ..Cpu::default()
    };
    let table = |performance: [u64; 2], power: [u64; 2]| OppTable {
        frequency: vec![1, 2],
        performance: performance.to_vec(),
        power: power.to_vec(),
        busy_power: vec![0, 0],
        static_power: vec![0, 0],
        ..OppTable::default()
    };
    let opp_tables = vec![table([100, 200], [10, 40]), table([400, 800], [200, 1000])];
    Machine { cpus: (0..3).map(cpu).collect(), opp_tables, nr_nodes: 1, cpuperf: true }
}

/// The cheapest sets by performance: 100 and 200 one and two little CPUs at their lowest clock, 400 both at their highest (80 mW;
/// the big one alone at its lowest takes 200), 500 and 600 all at their lowest with one and two little ones, 800 the big one,
/// 1000 and 1200 with one and two little ones. For 5 % (60) two little ones come first, for 10 % (120) the same set at the same
/// performance: it is entered again and, as the one that it replaces, taken out. So do 20 and 30 % (400), and 40 and 50 %, for
/// which the big one is nearest, being one domain. From 60 % on it stays (800): all CPUs are entered at 70 %, taken out at 80 %,
/// entered at 90 % and taken out at 100 %.
#[test]
fn orders_by_an_energy_model_are_those_of_the_loader() {
    let system = System::of(&big_and_little());
    assert_eq!((all(&system, "energy_model"), all(&system, "nr_cpu_orders")), (vec![1], vec![1]));
    assert_eq!(all(&system, "cpu_order.capacity"), [800; 11], "the last one is repeated");
    assert_eq!(system.fact(Word::of("cpu_order.cpus").unwrap(), 0), Some(Fact::List(vec![2])));
    assert_eq!(system.fact(Word::of("cpu_order.cpus").unwrap(), 11), None);
}

#[test]
fn without_an_energy_model_there_is_an_order_for_power_and_one_for_speed() {
    let mut machine = big_and_little();
    machine.opp_tables[0].power = vec![0, 0];
    let system = System::of(&machine);
    assert_eq!((all(&system, "energy_model"), all(&system, "nr_cpu_orders")), (vec![0], vec![2]));
    assert_eq!(all(&system, "cpu_order.capacity")[..3], [200, 1200, 1200]);
    assert_eq!(all(&system, "cpu_order.nr_primary"), [1; 11]);
    assert_eq!(all(&system, "cpu_order.cpus")[..6], [0, 1, 2, 2, 0, 1]);
}

#[test]
fn masks_have_the_cpus_of_a_cache_of_a_node_and_those_online() {
    let cpu = |number: u64| Cpu { online: number != 65, node: number / 64, llc: number / 32, ..Cpu::default() };
    let machine = Machine { cpus: (0..96).map(cpu).collect(), nr_nodes: 2, ..Machine::default() };
    let system = System::of(&machine);
    assert_eq!(all(&system, "llc.mask"), [0xffff_ffff, 0, 0xffff_ffff_0000_0000, 0, 0, 0xffff_ffff]);
    assert_eq!((all(&system, "llc.number"), all(&system, "llc.node")), (vec![0, 1, 2], vec![0, 0, 1]));
    assert_eq!(all(&system, "node.mask"), [u64::MAX, 0, 0, 0xffff_ffff]);
    assert_eq!(all(&system, "online_mask"), [u64::MAX, 0xffff_fffd]);
}
