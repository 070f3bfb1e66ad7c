// SPDX-License-Identifier: MIT OR Apache-2.0
//! Properties of any machine and any workload under a loaded scheduler, as under Linux's own.

use proptest::prelude::*;
use tandem_simulator::simulation::{KernelParameters, Options, SimulationError, simulate};
use tandem_simulator::units::{SEC, seconds};

use super::support::any_machine::any_machine;
use super::support::any_workload::{any_workload, hopeless_workload, work_asked};
use super::support::audit::Audit;
use super::support::scheduler::any_scheduler;
use super::support::{any_options, cases, ends_without_footprints};

/// Any options with any scheduler; its instructions take time or none.
fn loaded_options() -> impl Strategy<Value = Options> {
    let price = prop_oneof![Just(0_u64), Just(500), Just(20_000)];
    (any_options(), any_scheduler(), price).prop_map(|(options, scheduler, bpf_insn_ps)| {
        let kernel = KernelParameters { bpf_insn_ps, ..options.kernel.clone() };
        Options { scheduler, kernel, ..options }
    })
}

proptest! {
    #![proptest_config(cases(100, 200))]

    #[test]
    fn time_energy_and_work_are_conserved(
        machine in any_machine(), workload in any_workload(), options in loaded_options(),
    ) {
        let machine = machine.build();
        let options = Options { time_limit: Some(100 * SEC), ..options };
        let mut audit = Audit::new(&machine, &workload);
        let report = simulate(&machine, &workload, &options, &mut audit).unwrap_or_else(|error| panic!("{error}"));
        let applications = workload.tasks.iter().any(|task| !task.system && task.instances > 0);
        let exit = report.sched_ext.as_ref().and_then(|scx| scx.exit.clone());
        audit.check(&report);
        let cut_off = report.time_limited && applications;
        let ends = !cut_off || ends_without_footprints(&machine, &workload, &options);
        prop_assert!(ends, "a workload that ends by itself has not ended: {exit:?}");
        let done: f64 = report.apps.iter().map(|app| app.work_s).sum();
        let asked = seconds(work_asked(&workload));
        let tolerance = 1e-12 + 1e-6 * asked;
        prop_assert!(done <= asked + tolerance, "asked {asked} s of work, done {done}");
        prop_assert!(cut_off || done >= asked - tolerance, "asked {asked} s of work, done {done}");
        // Only real-time threads can starve tasks of these schedulers for so long that the watchdog acts.
        let ejected = exit.is_some_and(|exit| exit.kind != "SCX_EXIT_ERROR_STALL");
        prop_assert!(!ejected, "{:?}", report.sched_ext);
    }

    #[test]
    fn whatever_threads_do_a_run_ends_or_says_who_waits(
        machine in any_machine(), workload in hopeless_workload(), options in loaded_options(),
    ) {
        let machine = machine.build();
        let options = Options { time_limit: Some(5 * SEC), ..options };
        let mut audit = Audit::new(&machine, &workload);
        match simulate(&machine, &workload, &options, &mut audit) {
            Ok(report) => audit.check(&report),
            Err(SimulationError::Stuck { waiters, .. }) => prop_assert!(!waiters.is_empty()),
            Err(SimulationError::NoProgress { .. } | SimulationError::TooManyThreads { .. }) => {}
            Err(error) => prop_assert!(false, "{error}"),
        }
    }
}
