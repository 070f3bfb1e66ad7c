// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs that go offline and come back during a run.

use proptest::prelude::*;
use tandem_simulator::metrics::{Report, SchedExtReport};
use tandem_simulator::observer::{NoObserver, Observer, PrevState};
use tandem_simulator::simulation::{Hotplug, Options, Scheduler, SimulationError, simulate};
use tandem_simulator::units::{CpuId, MSEC, Nanos, SEC, TaskId, seconds};
use tandem_simulator::workload::{Op, Policy};

use super::support::any_hotplug::{any_hotplug, possible};
use super::support::any_machine::any_machine;
use super::support::any_workload::{any_workload, work_asked};
use super::support::audit::Audit;
use super::support::machine::{Cluster, Idle, Spec};
use super::support::scheduler::{any_scheduler, load};
use super::support::workload::{TaskExt, of, sleep, thread, work};
use super::support::{any_options, cases, governed, run_with, same};

fn off(at: Nanos, cpu: u32) -> Hotplug {
    Hotplug { at, cpu: CpuId(cpu), online: false }
}

fn on(at: Nanos, cpu: u32) -> Hotplug {
    Hotplug { at, cpu: CpuId(cpu), online: true }
}

fn changes(hotplug: &[Hotplug]) -> Options {
    Options { hotplug: hotplug.to_vec(), ..governed("performance") }
}

#[test]
fn the_threads_of_a_cpu_that_goes_share_those_that_are_left() {
    // Two threads of 2 s on two CPUs. After 1 s there is one CPU for the 2 s of work that are left.
    let machine = Spec::cores(2).build();
    let workload = of([thread("a", [work(2000)]).times(2)]);
    let report = run_with(&machine, &workload, &changes(&[off(SEC, 1)]));
    assert!((report.time_s - 3.0).abs() < 0.02, "{}", report.time_s);
    same(report.cpus[1].busy_s, 1.0);
}

#[test]
fn a_cpu_that_comes_back_takes_work_again() {
    let machine = Spec::cores(2).build();
    let workload = of([thread("a", [work(2000)]).times(2)]);
    let report = run_with(&machine, &workload, &changes(&[off(SEC, 1), on(2 * SEC, 1)]));
    assert!((report.time_s - 2.5).abs() < 0.02, "{}", report.time_s);
}

#[test]
fn an_offline_cpu_draws_what_its_deepest_idle_state_draws() {
    // Idle without a governor is 1 W, the deepest state 0.25 W: 2 s online and 2 s offline.
    let state =
        |watts| Idle { cluster_scope: false, entry_us: 0, exit_us: 0, residency_us: 0, watts, cluster_watts: 0.0 };
    let idle = vec![state(1.0), state(0.25)];
    let machine = Spec::clusters([Cluster { cores: 2, idle, ..Cluster::default() }]).build();
    let workload = of([thread("a", [sleep(4000)])]);
    let mut options = changes(&[off(SEC, 1), on(3 * SEC, 1)]);
    options.kernel.cpuidle = false;
    let report = run_with(&machine, &workload, &options);
    same(report.cpus[1].energy_j, 2.0 * 1.0 + 2.0 * 0.25);
    same(report.cpus[0].energy_j, 4.0);
}

#[test]
fn a_thread_that_sleeps_on_a_cpu_that_goes_wakes_elsewhere() {
    let machine = Spec::cores(2).build();
    let workload = of([thread("a", [sleep(2000), work(1000)]).on(&[1])]);
    let report = run_with(&machine, &workload, &changes(&[off(SEC, 1)]));
    same(report.time_s, 3.0);
    same(report.cpus[0].busy_s, 1.0);
}

#[test]
fn a_thread_whose_cpus_are_all_offline_may_use_any_and_cannot_be_bound_to_them() {
    let machine = Spec::cores(2).build();
    let bind = Op::SetAffinity(Some(vec![1]));
    let workload = of([thread("a", [bind, work(1000)]).on(&[1]).after(2000).policy(Policy::Fifo { priority: 1 })]);
    let report = run_with(&machine, &workload, &changes(&[off(SEC, 1)]));
    same(report.time_s, 3.0);
    same(report.cpus[0].busy_s, 1.0);
    assert_eq!(report.warnings, ["a: all CPUs that it wants to be bound to are offline then; its affinity stays"]);
}

#[test]
fn what_cannot_come_or_go_is_said() {
    let machine = Spec::cores(2).build();
    let workload = of([thread("a", [work(1000)])]);
    let report = run_with(&machine, &workload, &changes(&[off(1, 1), off(2, 1), off(3, 0), on(4, 0)]));
    let said: Vec<&str> = report.warnings.iter().map(String::as_str).collect();
    let expected = [
        "CPU 1 does not go offline at 0.000000002 s: CPU 1 is so already",
        "CPU 0 does not go offline at 0.000000003 s: CPU 0 is the last one",
        "CPU 0 does not go online at 0.000000004 s: CPU 0 is so already",
    ];
    assert_eq!(said, expected);
    let error = simulate(&machine, &workload, &changes(&[off(1, 7)]), &mut NoObserver).expect_err("no such CPU");
    assert!(matches!(error, SimulationError::Hotplug { cpu: CpuId(7), .. }), "{error}");
}

/// Runs four threads of 3 s on four CPUs under `scheduler` while CPU 3 is offline for a second.
fn with_hotplug(scheduler: Scheduler) -> Report {
    let machine = Spec::cores(4).build();
    let workload = of([thread("a", [work(500), sleep(1), work(2500)]).times(4)]);
    let options = Options { scheduler, ..changes(&[off(300 * MSEC, 3), on(1300 * MSEC, 3)]) };
    let report = run_with(&machine, &workload, &options);
    let done: f64 = report.apps.iter().map(|app| app.work_s).sum();
    same(done, 12.0);
    report
}

fn loaded(report: &Report) -> &SchedExtReport {
    report.sched_ext.as_ref().expect("a scheduler was loaded")
}

#[test]
fn a_scheduler_that_asks_for_it_hears_of_cpus() {
    let report = with_hotplug(load("scx_qmap", ""));
    let scx = loaded(&report);
    assert_eq!((scx.exit.as_ref(), scx.restarts.len()), (None, 0));
    assert_eq!((scx.callbacks["cpu_offline"].calls, scx.callbacks["cpu_online"].calls), (1, 1));
    assert!(report.cpus[3].busy_s < report.time_s - 0.99, "it was away for a second");
}

#[test]
fn a_scheduler_that_does_not_is_loaded_again_by_its_loader() {
    let report = with_hotplug(load("scx_simple", ""));
    let scx = loaded(&report);
    assert_eq!(scx.exit, None, "the last one lived");
    let restarts: Vec<(f64, &str, &str, i64)> =
        scx.restarts.iter().map(|exit| (exit.at_s, exit.kind.as_str(), exit.message.as_str(), exit.code)).collect();
    let code = (1 << 48) | (1 << 32);
    let expected = [
        (0.3, "SCX_EXIT_UNREG_KERN", "cpu 3 going offline, exiting scheduler", code),
        (1.3, "SCX_EXIT_UNREG_KERN", "cpu 3 going online, exiting scheduler", code),
    ];
    assert_eq!(restarts, expected);
    // The scheduler is loaded at 0, 1 and 2 s.
    assert_eq!(scx.callbacks["init"].calls, 3);
    assert_eq!(scx.callbacks["exit"].calls, 3);
}

/// When threads were put on a CPU.
#[derive(Default)]
struct Arrivals(Vec<(Nanos, u32)>);

impl Observer for Arrivals {
    fn sched_switch(&mut self, now: Nanos, cpu: CpuId, _prev: Option<(TaskId, PrevState)>, next: Option<TaskId>) {
        if next.is_some() {
            self.0.push((now, cpu.0));
        }
    }
}

#[test]
fn timers_of_a_scheduler_leave_a_cpu_that_goes() {
    // The timer of scx_central is bound to CPU 0, and so is the scheduler: without that timer other CPUs get no work.
    let machine = Spec::cores(4).build();
    let workload = of([thread("a", [work(100), sleep(1)]).times(8)]);
    let options = Options { scheduler: load("scx_central", ""), ..changes(&[off(50 * MSEC, 0)]) };
    let mut arrivals = Arrivals::default();
    let report = simulate(&machine, &workload, &options, &mut arrivals).unwrap_or_else(|error| panic!("{error}"));
    assert!(arrivals.0.iter().all(|(at, cpu)| *cpu != 0 || *at <= 50 * MSEC));
    assert!(report.time_s < 1.0, "{}", report.time_s);
}

proptest! {
    #![proptest_config(cases(100, 200))]

    #[test]
    fn nothing_is_lost_when_cpus_come_and_go(
        machine in any_machine(), workload in any_workload(), options in any_options(), hotplug in any_hotplug(),
        scheduler in prop::option::of(any_scheduler()),
    ) {
        let machine = machine.build();
        let hotplug = possible(&machine, hotplug);
        let scheduler = scheduler.unwrap_or(Scheduler::Fair);
        let options = Options { time_limit: Some(100 * SEC), hotplug, scheduler, ..options };
        let mut audit = Audit::with_hotplug(&machine, &workload, &options.hotplug);
        let report = simulate(&machine, &workload, &options, &mut audit).unwrap_or_else(|error| panic!("{error}"));
        let applications = workload.tasks.iter().any(|task| !task.system && task.instances > 0);
        prop_assert!(!report.time_limited || !applications, "a workload that ends by itself has not ended");
        let done: f64 = report.apps.iter().map(|app| app.work_s).sum();
        let asked = seconds(work_asked(&workload));
        prop_assert!((done - asked).abs() <= 1e-12 + 1e-6 * asked, "asked {asked} s of work, done {done}");
        audit.check(&report);
    }
}
