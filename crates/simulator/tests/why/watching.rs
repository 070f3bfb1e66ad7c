// SPDX-License-Identifier: MIT OR Apache-2.0
//! Watching changes nothing, and what is told agrees with the run's report.

use std::path::Path;

use tandem_simulator::machine::Machine;
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Options, Scheduler, simulate};
use tandem_simulator::units::MSEC;
use tandem_simulator::why::Recorder;
use tandem_simulator::why::report::StartReport;
use tandem_simulator::workload::Workload;

use super::small::{machine, options, workload};
use crate::common::watch;
use crate::sched_ext::support::open;

#[test]
fn a_watched_run_is_the_same_and_tells_the_same_twice() {
    let schedulers = [Scheduler::Fair, Scheduler::SchedExt(open("scx_simple", ""))];
    for (name, scheduler) in ["locks", "pipeline", "noise", "periodic"].into_iter().zip(schedulers.iter().cycle()) {
        let (machine, workload) = (Machine::load("hikey960").unwrap(), Workload::load(Path::new(name)).unwrap());
        let options = Options { scheduler: scheduler.clone(), time_limit: Some(200 * MSEC), ..Options::default() };
        let unwatched = simulate(&machine, &workload, &options, &mut NoObserver).unwrap();
        let told = || {
            let mut recorder = Recorder::new(&machine, &workload, 10);
            let report = watch(&machine, &workload, &options, &mut recorder);
            assert_eq!(report, unwatched, "{name}");
            recorder.finish(report.time_s)
        };
        let told = [told(), told()];
        assert_eq!(told[0], told[1], "{name}");
        assert!(!told[0].waits.is_empty(), "{name}");
    }
}

#[test]
fn the_longest_wait_after_a_wake_up_is_the_latency_of_the_report() {
    let text = r#"{ "tasks": {
        "hog": { "instance": 3, "loop": -1, "run": 1000 },
        "sleeper": { "loop": 40, "run": 700, "sleep": 3100 } } }"#;
    let (machine, workload) = (machine(1), workload(text));
    let mut recorder = Recorder::new(&machine, &workload, 1000).only("sleeper");
    let options = Options { time_limit: Some(500 * MSEC), ..options() };
    let report = watch(&machine, &workload, &options, &mut recorder);
    let why = recorder.finish(report.time_s);
    assert!(why.waits.iter().all(|wait| wait.task == "sleeper"));
    let sleeper = report.tasks.iter().find(|task| task.name == "sleeper").unwrap();
    let woken = |start: &StartReport| matches!(start, StartReport::Woken { .. });
    let longest = why.waits.iter().filter(|wait| woken(&wait.start) && wait.ended).map(|wait| wait.waited_s);
    let latency = sleeper.timing.wakeup_latency_ns.as_ref().expect("it was woken").max;
    assert_eq!(longest.fold(0.0, f64::max), tandem_simulator::units::seconds(latency));
    // Without costs, a wait has no part after the switch: waits add up to the time that the report has.
    let sum: f64 = why.wait_causes.iter().map(|cause| cause.time_s).sum();
    assert!((sum - sleeper.wait_time_s).abs() < 1e-9, "{sum} and {}", sleeper.wait_time_s);
}
