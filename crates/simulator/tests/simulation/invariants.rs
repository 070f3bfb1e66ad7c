// SPDX-License-Identifier: MIT OR Apache-2.0
//! Properties of any machine, any workload, any governor: conservation of time, energy and work, and no panic.

use proptest::prelude::*;
use tandem_simulator::simulation::{Options, SimulationError, simulate};
use tandem_simulator::units::{SEC, seconds};

use super::support::any_machine::any_machine;
use super::support::any_workload::{any_workload, hopeless_workload, work_asked};
use super::support::audit::Audit;
use super::support::{any_options, cases, ends_without_footprints};

proptest! {
    #![proptest_config(cases(120, 800))]

    #[test]
    fn time_energy_and_work_are_conserved(
        machine in any_machine(), workload in any_workload(), options in any_options(),
    ) {
        let machine = machine.build();
        let options = Options { time_limit: Some(100 * SEC), ..options };
        let mut audit = Audit::new(&machine, &workload);
        let report = simulate(&machine, &workload, &options, &mut audit).unwrap_or_else(|error| panic!("{error}"));
        audit.check(&report);
        let applications = workload.tasks.iter().any(|task| !task.system && task.instances > 0);
        let cut_off = report.time_limited && applications;
        let ends = !cut_off || ends_without_footprints(&machine, &workload, &options);
        prop_assert!(ends, "a workload that ends by itself has not ended");
        let done: f64 = report.apps.iter().map(|app| app.work_s).sum();
        let asked = seconds(work_asked(&workload));
        let tolerance = 1e-12 + 1e-6 * asked;
        prop_assert!(done <= asked + tolerance, "asked {asked} s of work, done {done}");
        prop_assert!(cut_off || done >= asked - tolerance, "asked {asked} s of work, done {done}");
    }

    #[test]
    fn a_time_limit_cuts_a_run_anywhere(
        machine in any_machine(), workload in any_workload(), options in any_options(), limit in 0..50_000_000u64,
    ) {
        let machine = machine.build();
        let options = Options { time_limit: Some(limit), ..options };
        let mut audit = Audit::new(&machine, &workload);
        let report = simulate(&machine, &workload, &options, &mut audit).unwrap_or_else(|error| panic!("{error}"));
        prop_assert!(report.time_s <= seconds(limit));
        audit.check(&report);
    }

    #[test]
    fn whatever_threads_do_a_run_ends_or_says_who_waits(
        machine in any_machine(), workload in hopeless_workload(), options in any_options(),
    ) {
        let machine = machine.build();
        let options = Options { time_limit: Some(5 * SEC), ..options };
        let mut audit = Audit::new(&machine, &workload);
        match simulate(&machine, &workload, &options, &mut audit) {
            Ok(report) => audit.check(&report),
            Err(SimulationError::Stuck { waiters, .. }) => prop_assert!(!waiters.is_empty()),
            Err(SimulationError::NoProgress { .. } | SimulationError::TooManyThreads { .. }) => {}
            Err(other) => prop_assert!(false, "fair loads no scheduler: {other}"),
        }
    }
}
