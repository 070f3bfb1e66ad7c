// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's own selftests of sched_ext (`tools/testing/selftests/sched_ext` of Linux 6.12), as they are: each object is loaded, and
//! must end as the test's program asks.
//!
//! Left out: `reload_loop` loads from two threads at once, which nothing here can. A kernel's verifier refuses `maybe_null_fail_dsp` and
//! `maybe_null_fail_yld`; there is none here. What the one loads behind a null pointer is 0, as of any pointer to a kernel's structure
//! that has gone bad; the other ends where it gives such a place to a helper.

use std::sync::Arc;

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::{ExitReport, Report, SchedExtReport};
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Hotplug, Options, SchedExt, SimulationError, simulate};
use tandem_simulator::units::{CpuId, MSEC, SEC};

use super::support::{open_with, options, tasks_of};
use crate::equal::machine;

/// Threads that compute, sleep, yield and fork on four CPUs.
const LOAD: [&str; 3] = [
    r#""hog": { "instance": 5, "loop": 4, "run": 7000, "yield": "" }"#,
    r#""napper": { "instance": 4, "loop": 30, "run": 300, "sleep": 700 }"#,
    r#""parent": { "loop": 5, "run": 100, "fork": "child" }, "child": { "instance": 0, "loop": 1, "run": 400 }"#,
];

/// The scheduler of a selftest, with what its program does beside loading it.
fn scheduler(name: &str, settings: &str, loader: &str) -> Arc<SchedExt> {
    open_with(&format!("selftests/{name}"), settings, loader)
}

fn run_with(scheduler: &Arc<SchedExt>, hotplug: Vec<Hotplug>, tasks: &[&str]) -> Result<Report, SimulationError> {
    let options = Options { hotplug, ..options(scheduler, 2 * SEC) };
    let machine: Machine = machine(4);
    simulate(&machine, &tasks_of(tasks), &options, &mut NoObserver)
}

/// What the scheduler of a selftest did under the usual load.
#[track_caller]
fn ran(name: &str, settings: &str, loader: &str) -> SchedExtReport {
    let report = run_with(&scheduler(name, settings, loader), Vec::new(), &LOAD);
    report.unwrap_or_else(|error| panic!("{name}: {error}")).sched_ext.unwrap()
}

/// Why the scheduler of a selftest went.
#[track_caller]
fn exit(name: &str, settings: &str, loader: &str) -> ExitReport {
    ran(name, settings, loader).exit.unwrap_or_else(|| panic!("{name} stayed"))
}

#[test]
fn what_a_kernel_keeps_stays_to_the_end() {
    for (name, loader) in [
        ("create_dsq", ""),
        ("dsp_local_on", "set.nr_cpus = \"nr_cpus\""),
        ("init_enable_count", ""),
        ("maximal", ""),
        ("maybe_null", ""),
        ("maybe_null_fail_dsp", ""),
        ("minimal", ""),
        ("select_cpu_dfl", ""),
        ("select_cpu_dfl_nodispatch", ""),
        ("select_cpu_dispatch", ""),
        ("select_cpu_vtime", ""),
    ] {
        let report = ran(name, "", loader);
        assert_eq!(report.exit, None, "{name}");
    }
}

#[test]
fn a_mistake_is_an_error_and_the_threads_go_on_under_fair() {
    for name in [
        "ddsp_bogus_dsq_fail",
        "ddsp_vtimelocal_fail",
        "enq_select_cpu_fails",
        "select_cpu_dispatch_bad_dsq",
        "select_cpu_dispatch_dbl_dsp",
        // A kernel does not load this one.
        "maybe_null_fail_yld",
    ] {
        let exit = exit(name, "", "");
        assert!(exit.kind.starts_with("SCX_EXIT_ERROR"), "{name}: {exit:?}");
    }
}

#[test]
fn enq_last_without_an_enqueue_ends_before_it_begins() {
    let exit = exit("enq_last_no_enq_fails", "", "");
    assert_eq!((exit.kind.as_str(), exit.at_s), ("SCX_EXIT_ERROR", 0.0), "{exit:?}");
    assert!(exit.message.contains("SCX_OPS_ENQ_LAST"), "{exit:?}");
}

/// `exit_test.h`: select_cpu, enqueue, dispatch, enable, init_task, init.
#[test]
fn a_scheduler_ends_itself_in_any_of_its_callbacks() {
    for point in 0..6 {
        let exit = exit("exit", &format!("exit_point={point}"), "");
        assert_eq!((exit.kind.as_str(), exit.code), ("SCX_EXIT_UNREG_BPF", point), "{exit:?}");
        assert_eq!(exit.message, point.to_string());
        let recorded = exit.recorded.unwrap();
        assert_eq!((recorded.code, recorded.message), (point, point.to_string()));
    }
}

#[test]
fn a_program_that_user_space_runs_ends_the_scheduler() {
    let exit = exit("prog_run", "", "run.attached.prog_run_syscall = []");
    assert_eq!((exit.kind.as_str(), exit.code), ("SCX_EXIT_UNREG_BPF", 0xdead_beef));
    assert_eq!(exit.message, "Exited from PROG_RUN");
}

/// `HOTPLUG_EXIT_RSN`, and `HOTPLUG_ONLINING` if it was a CPU that came; the kernel's `SCX_ECODE_ACT_RESTART` above.
#[test]
fn hotplug_ends_a_scheduler_by_its_callbacks_or_without_them() {
    const RESTART: i64 = 1 << 48;
    const RSN_HOTPLUG: i64 = 1 << 32;
    for (online, callbacks, kind, code) in [
        (true, true, "SCX_EXIT_UNREG_BPF", RESTART | 0b11),
        (false, true, "SCX_EXIT_UNREG_BPF", RESTART | 0b01),
        (true, false, "SCX_EXIT_UNREG_KERN", RESTART | RSN_HOTPLUG),
        (false, false, "SCX_EXIT_UNREG_KERN", RESTART | RSN_HOTPLUG),
    ] {
        let ops = if callbacks { "hotplug_cb_ops" } else { "hotplug_nocb_ops" };
        let scheduler = scheduler("hotplug", "", &format!("ops.scheduler = \"{ops}\""));
        let cpu = CpuId(1);
        let mut hotplug = vec![Hotplug { at: 10 * MSEC, cpu, online }];
        if online {
            hotplug.insert(0, Hotplug { at: 0, cpu, online: false });
        }
        let report = run_with(&scheduler, hotplug, &LOAD).unwrap().sched_ext.unwrap();
        // The loader would load it again after a second, as the code asks.
        let exit = report.exit.unwrap_or_else(|| panic!("{ops}, online={online}: it stayed"));
        assert_eq!((exit.kind.as_str(), exit.code), (kind, code), "{ops}, online={online}");
    }
}
