// SPDX-License-Identifier: MIT OR Apache-2.0
//! What loaders find out about bundled machines.

use super::bundled::{Bundled, all, of};

#[test]
fn facts_are_those_of_the_machine() {
    // Four small CPUs, then four big ones.
    let hikey = Bundled::new("hikey960").known();
    assert_eq!(all(&hikey, "cpus_by_capacity"), [4, 5, 6, 7, 0, 1, 2, 3]);
    let capacities = all(&hikey, "cpu.capacity");
    assert_eq!((capacities.len(), capacities[7]), (8, 1024));
    assert!(capacities[0] < 1024);
    let number = |word: &str| all(&hikey, word)[0];
    assert_eq!(["nr_cpus", "nr_nodes", "smt", "numa", "same_capacity", "smallest_cpu"].map(number), [8, 1, 0, 0, 0, 3]);

    // Four nodes of four CPUs.
    let opteron = Bundled::new("opteron-8350").known();
    assert_eq!([all(&opteron, "nr_nodes")[0], all(&opteron, "numa")[0]], [4, 1]);
    assert_eq!(all(&opteron, "cpu.node")[12..], [3, 3, 3, 3]);

    // Eight cores of two CPUs, eight of one.
    let hybrid = Bundled::new("i9-12900k").known();
    let siblings = all(&hybrid, "cpu.sibling");
    let [first, last] = [siblings[0], siblings[23]];
    assert_eq!(siblings[first as usize], 0);
    assert_eq!((siblings.len(), last, all(&hybrid, "smt")[0]), (24, u64::from(u32::MAX), 1));
    // The kernel takes them for equals; loaders read the firmware's ranks: 39 / 66 of 1024.
    let capacities = all(&hybrid, "cpu.capacity");
    assert_eq!((capacities[0], capacities[8], capacities[16]), (1024, 1024, 605));
}

#[test]
fn facts_say_what_clocks_and_memory_there_are() {
    let numbers = |machine: &str| {
        let known = Bundled::new(machine).known();
        ["nr_packages", "nr_llcs", "nr_performance_domains", "nr_opp_tables", "memory_bandwidth"]
            .map(|word| all(&known, word)[0])
    };
    // Two clusters with a cache and a clock each, on 14.9 GB/s.
    assert_eq!(numbers("hikey960"), [1, 2, 2, 2, 14_900]);
    // Four chips, a clock for each core, 6 GB/s for each chip; two tables where limits make two kinds of core.
    assert_eq!(numbers("opteron-8350"), [4, 4, 16, 1, 6000]);
    assert_eq!(numbers("opteron-8350:half-half"), [4, 4, 16, 2, 6000]);
    // Two caches, one clock, one bus.
    assert_eq!(numbers("core2-q6600"), [1, 2, 1, 1, 5600]);
}

#[test]
fn a_machine_at_rest_draws_what_its_parts_draw() {
    let idle_power = |machine: &str| all(&Bundled::new(machine).known(), "idle_power")[0];
    // 24 halted cores of 1.5 W, four uncores of 20.5 W, four times 6 W of memory, a board of 96 W.
    assert_eq!(idle_power("opteron-8435"), 36_000 + 82_000 + 24_000 + 96_000);
    // Four halted cores of 3 W and an uncore of 8 W: the processor alone is measured.
    assert_eq!(idle_power("core2-q6600"), 12_000 + 8_000);
}

#[test]
fn only_schedutil_follows_what_a_scheduler_wants() {
    let hikey = Bundled::new("hikey960");
    let cpuperf =
        ["schedutil", "performance", "ondemand", "userspace"].map(|governor| all(&hikey.under(governor), "cpuperf")[0]);
    assert_eq!(cpuperf, [1, 0, 0, 0]);
}

#[test]
fn a_big_little_machine_has_a_domain_of_each_kind() {
    let system = Bundled::new("hikey960").known();
    let word = |number, name: &str| of(&system, &format!("domain.{name}"), number);
    assert_eq!((all(&system, "hybrid"), all(&system, "domain.number")), (vec![1], vec![0, 1]));
    assert_eq!((word(0, "mask"), word(1, "mask")), (vec![0x0f], vec![0xf0]));
    assert_eq!((word(0, "big"), word(1, "big")), (vec![0], vec![1]));
    assert_eq!((word(0, "alternative"), word(1, "alternative")), (vec![1], vec![0]));
    assert_eq!((word(0, "neighbour_counts"), word(0, "neighbours_0")), (vec![1], vec![1]));
    assert!(word(0, "neighbours_1").is_empty());
    let cpu = |number, name: &str| of(&system, &format!("cpu.{name}"), number)[0];
    assert_eq!((cpu(0, "big"), cpu(7, "big"), cpu(7, "turbo"), cpu(7, "capacity")), (0, 1, 1, 1024));
    assert_eq!(cpu(3, "sibling"), 0xffff_ffff);
}

#[test]
fn threads_of_a_core_come_late_for_performance_and_together_for_efficiency() {
    // CPUs 2n and 2n+1 are one core up to 15, and 16 to 23 are little ones, all of one cache.
    let system = Bundled::new("i9-12900k").known();
    let sibling = of(&system, "cpu.sibling", 0)[0];
    let fast = all(&system, "cpus_by_performance");
    assert_eq!(fast.iter().position(|cpu| *cpu == sibling), Some(16), "{fast:?}");
    let efficient = all(&system, "cpus_by_efficiency");
    assert_eq!(efficient[..8], [16, 17, 18, 19, 20, 21, 22, 23]);
    assert_eq!(efficient[8..10], [0, sibling]);
    assert_eq!([0, 1, 2, 15, 16, 17].map(|cpu| all(&system, "cpu.core")[cpu]), [0, 0, 2, 14, 16, 17]);
}

/// The A73's points in `machines/hikey960.toml`: 550 uW/MHz/V2, 903 MHz at 0.7 V and 2362 MHz at 1.1 V.
#[test]
fn a_kind_of_cpu_has_a_table_of_what_its_clocks_give_and_cost() {
    let system = Bundled::new("hikey960").known();
    let cpu = |number, name: &str| of(&system, &format!("cpu.{name}"), number)[0];
    assert_eq!((cpu(3, "opp_table"), cpu(4, "opp_table"), all(&system, "nr_opp_tables")), (0, 1, vec![2]));
    assert_eq!((cpu(3, "performance_domain"), cpu(4, "performance_domain"), cpu(7, "core")), (0, 1, 7));
    let big = |name: &str| of(&system, &format!("opp_table.{name}"), 1);
    assert_eq!(big("nr_opps"), [5]);
    assert_eq!(big("frequency"), [903_000, 1_421_000, 1_805_000, 2_112_000, 2_362_000]);
    assert_eq!((big("performance")[0], big("performance")[4]), (1024 * 903 / 2362, 1024));
    assert_eq!((big("power")[0], big("power")[4]), (243, 1572));
    // 42 and 177 mW of the cluster, which has one clock.
    assert_eq!((big("static_power")[0], big("static_power")[4]), (42, 177));
    // WFI, cpu-sleep and cluster-sleep.
    assert_eq!((big("nr_idle_states"), big("idle_power")), (vec![3], vec![7_400, 0, 0]));
    assert_eq!(big("idle_residency"), [1, 1500, 3500]);
}

#[test]
fn clocks_that_limits_forbid_are_in_no_table() {
    // Eight CPUs at 2 GHz, eight that may not go above 1 GHz.
    let system = Bundled::new("opteron-8350:half-half").known();
    let cpu = |number, name: &str| of(&system, &format!("cpu.{name}"), number)[0];
    assert_eq!([cpu(0, "capacity"), cpu(8, "capacity")], [1024, 1024]);
    assert_eq!([cpu(0, "performance"), cpu(8, "performance")], [1024, 512]);
    assert_eq!([cpu(7, "package"), cpu(8, "package"), cpu(7, "online")], [1, 2, 1]);
    let fastest = |number| of(&system, "opp_table.frequency", cpu(number, "opp_table") as usize).pop();
    assert_eq!([fastest(0), fastest(8)], [Some(2_000_000), Some(1_000_000)]);
}

#[test]
fn equal_domains_are_visited_as_a_ring() {
    let system = Bundled::new("opteron-8350").known();
    let expected = (vec![0], vec![0, 1, 2, 3], vec![16 * 1024]);
    assert_eq!((all(&system, "hybrid"), all(&system, "domain.number"), all(&system, "total_capacity")), expected);
    assert_eq!(of(&system, "domain.neighbours_0", 1), [0, 2, 3]);
    assert_eq!(of(&system, "domain.alternative", 1), [1]);
}

/// Under 6.12 a model comes from a device tree only.
#[test]
fn loaders_see_an_energy_model_where_the_kernel_has_one() {
    for (machine, model) in [("pixel6", 1), ("i9-12900k", 0), ("core-ultra-7-258v", 0)] {
        assert_eq!(all(&Bundled::new(machine).known(), "energy_model"), [model], "{machine}");
    }
    let pixel = Bundled::new("pixel6").known();
    let orders = all(&pixel, "nr_cpu_orders")[0] as usize;
    let capacities = &all(&pixel, "cpu_order.capacity")[..orders];
    assert!(orders > 2 && capacities.is_sorted_by(|one, next| one < next), "{capacities:?}");
    for order in 0..orders {
        let mut cpus = of(&pixel, "cpu_order.cpus", order);
        let nr_primary = of(&pixel, "cpu_order.nr_primary", order)[0] as usize;
        assert!((1..=cpus.len()).contains(&nr_primary), "{cpus:?}");
        cpus.sort_unstable();
        cpus.dedup();
        assert!(cpus.len() >= nr_primary && cpus.iter().all(|cpu| *cpu < 8), "each CPU once: {cpus:?}");
    }
    // Both have one order for power and one for speed.
    assert_eq!(all(&Bundled::new("i9-12900k").known(), "nr_cpu_orders"), [2]);
}
