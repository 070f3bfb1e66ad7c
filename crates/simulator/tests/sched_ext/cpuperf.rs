// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scheduler asks for an operating point through schedutil, on the machines of the papers. A target of `capacity · f
//! / f_max / 1.25`, rounded down, gives the clock `f`, by whatever means the clock is lowered: voltage and frequency, a
//! duty cycle, or a clock that several CPUs share.

use std::collections::BTreeMap;

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::observer::Observer;
use tandem_simulator::simulation::{Governor, Options, SchedExt, SchedutilTunables};
use tandem_simulator::units::{CpuId, Nanos};
use tandem_simulator::workload::Workload;

use super::support::{ms, open_with, options, survived, tasks_of};
use crate::common::watch;

/// The clock of each CPU, as last seen.
#[derive(Debug, Default)]
struct Clocks(BTreeMap<u32, u32>);

impl Observer for Clocks {
    fn cpu_frequency(&mut self, _now: Nanos, cpu: CpuId, khz: u32) {
        self.0.insert(cpu.0, khz);
    }
}

/// A thread for each CPU, which stays there, with these fields.
fn hogs(machine: &Machine, fields: &str) -> Workload {
    let hog = |cpu| format!(r#""hog{cpu}" : {{ "run" : 100000, "cpus" : [{cpu}]{fields} }}"#);
    let tasks: Vec<String> = (0..machine.cpus.len()).map(hog).collect();
    tasks_of(&tasks.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Runs hogs for 20 ms with these targets by CPU.
fn run(machine: &Machine, targets: &[u32], clocks: &mut Clocks) -> Report {
    run_hogs(machine, "", targets, clocks)
}

fn run_hogs(machine: &Machine, fields: &str, targets: &[u32], clocks: &mut Clocks) -> Report {
    let settings: Vec<String> =
        (0..).zip(targets).map(|(cpu, target): (u32, _)| format!("targets[{cpu}]={target}")).collect();
    let scheduler = open_with("perfset", &settings.join(","), "[set]\nnr_cpus = \"nr_cpus\"\n");
    let options = schedutil(&scheduler);
    watch(machine, &hogs(machine, fields), &options, clocks)
}

fn schedutil(scheduler: &std::sync::Arc<SchedExt>) -> Options {
    Options { governor: Governor::Schedutil(SchedutilTunables::default()), ..options(scheduler, ms(20)) }
}

/// Asks every CPU for its operating point `wanted`, or for its highest if it has fewer.
#[track_caller]
fn assert_reached(machine: &Machine, wanted: usize) {
    let domain = |cpu: usize| &machine.performance_domains[machine.cpus[cpu].performance_domain.index()];
    let opp = |cpu: usize| wanted.min(domain(cpu).opps.len() - 1);
    let khz = |cpu: usize| domain(cpu).opps[opp(cpu)].khz;
    let target = |cpu: usize| {
        let top = f64::from(domain(cpu).opps[domain(cpu).opps.len() - 1].khz);
        (f64::from(machine.cpus[cpu].capacity) * f64::from(khz(cpu)) / top / 1.25) as u32
    };
    let targets: Vec<u32> = (0..machine.cpus.len()).map(target).collect();
    let mut clocks = Clocks::default();
    survived(&run(machine, &targets, &mut clocks));
    for (cpu, target) in targets.iter().enumerate() {
        assert_eq!(clocks.0[&(cpu as u32)], khz(cpu), "{} CPU {cpu}, target {target}", machine.name);
    }
}

#[track_caller]
fn assert_all_reached(name: &str, operating_points: usize) {
    let machine = Machine::load(name).unwrap();
    let most = machine.performance_domains.iter().map(|domain| domain.opps.len()).max().unwrap();
    assert_eq!(most, operating_points, "{name}");
    (0..most).for_each(|opp| assert_reached(&machine, opp));
}

#[test]
fn duty_cycles_of_single_cores_can_be_asked_for() {
    // 0.6 to 2.8 GHz, and eighths of 2.666 GHz; siblings share a clock.
    assert_all_reached("poweredge-2850", 8);
    assert_all_reached("proliant-dl580", 8);
}

#[test]
fn both_clocks_of_a_chip_can_be_asked_for() {
    assert_all_reached("core2-q6600", 2);
}

#[test]
fn clocks_of_single_cores_can_be_asked_for() {
    assert_all_reached("opteron-8435", 5);
    assert_all_reached("opteron-8350", 5);
    assert_all_reached("precision-490", 2);
}

#[test]
fn clocks_of_clusters_of_unequal_cpus_can_be_asked_for() {
    assert_all_reached("odroid-xu3", 19);
}

#[test]
fn cpus_that_share_a_clock_get_what_the_most_demanding_asks_for() {
    let machine = Machine::load("core2-q6600").unwrap();
    let mut clocks = Clocks::default();
    // 1.6 GHz is two thirds of 2.4: 1024 / 1.5 / 1.25 = 546.
    run(&machine, &[546, 546, 546, 547], &mut clocks);
    assert_eq!(clocks.0[&0], 2_400_000, "547 with a quarter more is above two thirds");
    run(&machine, &[100, 546, 100, 100], &mut clocks);
    assert_eq!(clocks.0[&0], 1_600_000);
}

/// What a real-time thread used counts for the clock, and halves in 32 ms. With all other tasks in the loaded scheduler it is its ticks
/// that let it fall (`scx_tick`).
#[test]
fn what_a_real_time_thread_used_is_forgotten_at_ticks() {
    let machine = Machine::load("opteron-8435").unwrap();
    let real_time = r#""rt": { "policy": "SCHED_FIFO", "priority": 1, "cpus": [0], "loop": 1, "run": 100000 }"#;
    let workload = tasks_of(&[real_time, r#""hog": { "cpus": [0], "run": 1000000 }"#]);
    let scheduler = open_with("perfset", "", "[set]\nnr_cpus = \"nr_cpus\"\n");
    let khz = |until| {
        let mut clocks = Clocks::default();
        watch(&machine, &workload, &Options { time_limit: Some(ms(until)), ..schedutil(&scheduler) }, &mut clocks);
        clocks.0[&0]
    };
    assert_eq!((khz(90), khz(400)), (2_600_000, 800_000));
}

/// 600 of 1024 at 2362 MHz are 1384, so 1421 (`uclamp_enabled` of `ext_sched_class`).
#[test]
fn clamps_of_a_loaded_schedulers_tasks_bound_the_clock() {
    let machine = Machine::load("hikey960").unwrap();
    let targets = vec![1024; machine.cpus.len()];
    let khz = |fields: &str| {
        let mut clocks = Clocks::default();
        survived(&run_hogs(&machine, fields, &targets, &mut clocks));
        clocks.0[&4]
    };
    assert_eq!((khz(""), khz(r#", "util_max" : 600"#)), (2_362_000, 1_421_000));
}

#[test]
fn a_target_is_bounded_by_what_a_configuration_allows() {
    // Both cores of the first chip at 2.4 GHz at most.
    let machine = Machine::load("poweredge-2850:ps1-hton-7-2-2400").unwrap();
    let mut clocks = Clocks::default();
    run(&machine, &vec![1024; machine.cpus.len()], &mut clocks);
    assert_eq!((clocks.0[&0], clocks.0[&7]), (2_400_000, 2_800_000));
}
