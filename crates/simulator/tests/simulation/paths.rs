// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's own code takes the time of the CPU that executes it: instructions / (IPC · clock).
//!
//! At 2 GHz and one instruction per cycle an instruction takes 0.5 ns. The instructions are those of docs/models.md.

use tandem_simulator::metrics::Report;
use tandem_simulator::workload::{Op, TaskSpec, Workload};

use super::support::machine::{Cluster, Idle, Spec};
use super::support::workload::{TaskExt, of, sleep, thread, work};
use super::support::{about, governed, run, run_with};

const NS_PER_INSN: f64 = 0.5;
const ROUNDS: u64 = 1000;
const SWITCH_US: f64 = 10.0;
const CALL_WAKE: f64 = 911.0;
const WAKE_UP: f64 = 1308.0;
const CALL_WAIT: f64 = 1094.0;
const SCHEDULE: f64 = 668.0;
const WAKE_UP_QUEUED: f64 = 445.0;
const WAKE_UP_RECEIVED: f64 = 1897.0;
const SLEEP: f64 = 2218.0;
const TIMER: f64 = 1296.0;
const EXIT: f64 = 12_492.0;

/// Two threads that take turns: each gives the other one its turn and waits for its own.
fn ping_pong(cpus: [u32; 2]) -> Workload {
    let side = |name: &str, gives: u32, takes: u32, cpu: u32| -> TaskSpec {
        let turn = vec![Op::SemPost(gives), Op::SemWait(takes)];
        let body: Vec<Op> = turn.into_iter().cycle().take(2 * ROUNDS as usize).collect();
        thread(name, body).on(&[cpu])
    };
    // The second one waits first.
    let mut pong = side("pong", 0, 1, cpus[1]);
    pong.program = pong.program.iter().skip(1).chain([&Op::SemPost(0)]).cloned().collect();
    of([side("ping", 1, 0, cpus[0]), pong])
}

fn turn_us(report: &Report) -> f64 {
    report.time_s * 1e6 / (2 * ROUNDS) as f64
}

fn machine(cores: u32) -> Spec {
    Spec { context_switch_us: SWITCH_US, ..Spec::cores(cores) }
}

#[test]
fn a_turn_on_one_cpu_takes_its_system_calls_and_the_described_switch() {
    // The switch of the description has the wake-up in it, which the waker pays, and not what the two system calls take.
    let expected = SWITCH_US + (CALL_WAKE + CALL_WAIT) * NS_PER_INSN / 1e3;
    about(turn_us(&run(&machine(1).build(), &ping_pong([0, 0]))), expected, 0.005);
}

#[test]
fn half_the_instructions_per_cycle_double_what_is_not_the_switch() {
    let mut options = governed("performance");
    options.kernel.kernel_ipc = 0.5;
    let expected = SWITCH_US + (CALL_WAKE + CALL_WAIT) * 2.0 * NS_PER_INSN / 1e3;
    about(turn_us(&run_with(&machine(1).build(), &ping_pong([0, 0]), &options)), expected, 0.005);
}

#[test]
fn a_turn_between_two_cpus_takes_the_interrupt_instead_of_the_switch() {
    // The waker's call, and the part of the wake-up that it does itself; then the other CPU does the rest, and schedules a thread
    // that was the last to run there. What it takes to wait passes while the other one works.
    // Four cache lines go to the waker and four come back, 20 ns each.
    let lines_us = 8.0 * 0.02;
    let expected = (CALL_WAKE + WAKE_UP_QUEUED + WAKE_UP_RECEIVED + SCHEDULE) * NS_PER_INSN / 1e3 + lines_us;
    about(turn_us(&run(&machine(2).build(), &ping_pong([0, 1]))), expected, 0.005);
}

#[test]
fn on_a_machine_whose_switches_take_no_time_paths_take_none() {
    let ideal = Spec::cores(2).build();
    assert_eq!(run(&ideal, &ping_pong([0, 1])).time_s, 0.0);
}

#[test]
fn without_path_costs_a_turn_is_the_described_switch() {
    let mut options = governed("performance");
    options.kernel.path_costs = false;
    about(turn_us(&run_with(&machine(1).build(), &ping_pong([0, 0]), &options)), SWITCH_US, 0.002);
}

#[test]
fn what_the_kernel_executes_on_an_idle_cpu_draws_what_running_does() {
    // Idling is free here, running takes 10 W: the energy is that of the work and of all that is executed around it. Each round
    // goes to sleep, and is woken by a timer's interrupt; the switch to the only thread is a path, too.
    let free = Idle { cluster_scope: false, entry_us: 0, exit_us: 0, residency_us: 0, watts: 0.0, cluster_watts: 0.0 };
    let machine =
        Spec { context_switch_us: SWITCH_US, ..Spec::clusters([Cluster { idle: vec![free], ..Cluster::default() }]) };
    let rounds = 100;
    let program: Vec<Op> = (0..rounds).flat_map(|_| [work(1), sleep(1)]).collect();
    let report = run(&machine.build(), &of([thread("sleeper", program)]));
    let kernel_s = f64::from(rounds) * (SLEEP + TIMER + WAKE_UP + SCHEDULE) * NS_PER_INSN * 1e-9;
    let first_and_last_s = (SWITCH_US * 1e3 + EXIT * NS_PER_INSN) * 1e-9;
    about(report.energy_j.total, 10.0 * (0.1 + kernel_s + first_and_last_s), 1e-4);
}
