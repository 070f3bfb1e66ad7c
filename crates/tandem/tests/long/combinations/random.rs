// SPDX-License-Identifier: GPL-2.0-only
//! Random machines, workloads, governors and kernel parameters: affinities that change, weights, real-time and deadline
//! threads, threads that fork and end.

use proptest::prelude::*;
use tandem_simulator::simulation::Options;
use tandem_simulator::units::{SEC, seconds};
use tandem_simulator::workload::Workload;

use super::scheduler::{MECHANISMS, audited_run, tandem};
use super::support::any_hotplug::{any_hotplug, possible};
use super::support::any_machine::any_machine;
use super::support::any_options::{any_options, cases};
use super::support::any_workload::{any_workload, work_asked};

/// Each mechanism alone, and all of them twice.
fn any_settings() -> impl Strategy<Value = &'static str> {
    prop::sample::select([MECHANISMS.as_slice(), &["all=true", "all=true"]].concat())
}

/// Whether a workload ends by itself.
fn has_applications(workload: &Workload) -> bool {
    workload.tasks.iter().any(|task| !task.system && task.instances > 0)
}

proptest! {
    #![proptest_config(cases(40, 150))]

    #[test]
    fn all_work_is_done_whatever_it_is(
        machine in any_machine(), workload in any_workload(), options in any_options(), settings in any_settings(),
    ) {
        let machine = machine.build();
        let options = Options { time_limit: Some(100 * SEC), scheduler: tandem(settings), ..options };
        let report = audited_run(&machine, &workload, &options);
        prop_assert!(!report.time_limited || !has_applications(&workload), "a workload that ends by itself has not");
        let (done, asked) = (report.apps.iter().map(|app| app.work_s).sum::<f64>(), seconds(work_asked(&workload)));
        prop_assert!((done - asked).abs() <= 1e-12 + 1e-6 * asked, "asked {asked} s of work, done {done}");
    }
}

proptest! {
    #![proptest_config(cases(20, 60))]

    #[test]
    fn all_work_is_done_while_cpus_come_and_go(
        machine in any_machine(), workload in any_workload(), options in any_options(), hotplug in any_hotplug(),
        settings in prop::sample::select(["", "all=true"].as_slice()),
    ) {
        let machine = machine.build();
        let hotplug = possible(&machine, hotplug);
        let options = Options { time_limit: Some(100 * SEC), scheduler: tandem(settings), hotplug, ..options };
        let report = audited_run(&machine, &workload, &options);
        let (done, asked) = (report.apps.iter().map(|app| app.work_s).sum::<f64>(), seconds(work_asked(&workload)));
        prop_assert!((done - asked).abs() <= 1e-12 + 1e-6 * asked, "asked {asked} s of work, done {done}");
    }
}
