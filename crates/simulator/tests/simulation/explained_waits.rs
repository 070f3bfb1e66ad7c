// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is told of waits agrees with the report, on any machine, of any workload.

use proptest::prelude::*;
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Options, simulate};
use tandem_simulator::units::SEC;
use tandem_simulator::why::Recorder;

use super::support::any_machine::any_machine;
use super::support::any_workload::any_workload;
use super::support::{any_options, cases};

proptest! {
    #![proptest_config(cases(200, 400))]

    #[test]
    fn all_waits_are_told_and_telling_changes_nothing(
        machine in any_machine(), workload in any_workload(), options in any_options(), limit in SEC / 1000..SEC,
    ) {
        let machine = machine.build();
        let options = Options { time_limit: Some(limit), ..options };
        let mut recorder = Recorder::new(&machine, &workload, 1_000_000);
        let report = simulate(&machine, &workload, &options, &mut recorder).unwrap_or_else(|error| panic!("{error}"));
        prop_assert_eq!(&report, &simulate(&machine, &workload, &options, &mut NoObserver).unwrap());
        let why = recorder.finish(report.time_s);
        let told: f64 = why.wait_causes.iter().map(|cause| cause.time_s).sum();
        let count: u64 = why.wait_causes.iter().map(|cause| cause.count).sum();
        prop_assert_eq!(count, why.waits.len() as u64);
        prop_assert!(why.waits.is_sorted_by(|a, b| a.waited_s >= b.waited_s));
        // The report counts a wait up to the switch.
        let overhead = |wait: &tandem_simulator::why::report::WaitReport| {
            let parts = &wait.overhead;
            parts.idle_exit_s + parts.switch_s + parts.cold_s + parts.kernel_s
        };
        let behind: f64 = why.waits.iter().map(overhead).sum();
        let waited: f64 = report.tasks.iter().map(|task| task.wait_time_s).sum();
        prop_assert!((told - behind - waited).abs() < 1e-6, "{told} - {behind} and {waited}");
        for wait in why.waits.iter().filter(|wait| wait.ran_on.is_some()) {
            // On one CPU nobody can run for longer than the wait; in a shared queue the time of several adds up.
            let ran: f64 = wait.ran_instead.iter().map(|ran| ran.time_s).sum();
            prop_assert!(ran <= wait.waited_s * machine.cpus.len() as f64 + 1e-9, "{wait:?}");
            prop_assert!(wait.idle.iter().all(|idle| idle.idle_s <= wait.waited_s + 1e-9), "{wait:?}");
        }
    }
}
