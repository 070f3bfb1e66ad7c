// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a loader learns of an object: whether it accepts its settings, its counters, its states.

use tandem_simulator::metrics::SchedExtReport;
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{OpenError, Options, SchedExt, SimulationError, check, simulate};

use super::support::{ms, open_with, options, tasks_of};
use crate::common::run_with;
use crate::equal::machine;

const SIDECAR: &str = include_str!("../bpf/chooser.toml");
const HOGS: [&str; 1] = [r#""hog" : { "instance" : 3, "run" : 1000000, "loop" : -1 }"#];

/// Two CPUs with three threads, for 100 ms.
fn options_with(settings: &str) -> Options {
    options(&open_with("chooser", settings, SIDECAR), ms(100))
}

fn refusal(settings: &str) -> String {
    match check(&machine(2), &options_with(settings)).unwrap_err() {
        SimulationError::Scheduler { why, .. } => why.to_string(),
        other => panic!("{other}"),
    }
}

#[test]
fn a_scheduler_refuses_settings_in_its_own_words_before_anything_is_run() {
    assert_eq!(check(&machine(2), &options_with("mode=off")), Ok(()));
    assert_eq!(check(&machine(2), &options_with("slice_us=700")), Ok(()));
    assert_eq!(refusal("mode=off,slice_us=700"), "slice_us=700 means nothing with mode=off");
    assert_eq!(refusal("refuse_silently=true"), "the program `chooser_check` returned -22");
    let options = options_with("mode=off,slice_us=700");
    let run = simulate(&machine(2), &tasks_of(&HOGS), &options, &mut NoObserver);
    assert_eq!(run.unwrap_err(), check(&machine(2), &options).unwrap_err());
}

#[test]
fn counters_are_summed_over_cpus_and_named_by_the_enumeration() {
    let report = run_with(&machine(2), &tasks_of(&HOGS), &options_with("mode=very_brisk,slice_us=2000"));
    let scheduler = report.sched_ext.unwrap();
    let [started, stopped] = ["running", "stopping"].map(|callback| scheduler.callbacks[callback].calls);
    let counted: Vec<(&str, u64)> = scheduler.statistics.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(counted, [("run_started", started), ("run_stopped", stopped), ("never_seen", 0)]);
    // Slices of 2 ms on two CPUs, whose ends ticks of 1 ms find: about 50 on each CPU.
    assert!((60..=110).contains(&started), "{started}");
    assert_eq!(scheduler.states, [("mode_now".to_owned(), "very_brisk".to_owned())]);
}

#[test]
fn the_counters_of_an_ejected_scheduler_are_read_too() {
    let report = run_with(&machine(1), &tasks_of(&HOGS), &options_with("error_after=7"));
    let scheduler = report.sched_ext.unwrap();
    assert_eq!(scheduler.exit.unwrap().message, "7 stops on this CPU");
    let stopped = scheduler.statistics.iter().find(|(name, _)| name == "run_stopped").unwrap().1;
    // A task that ran at the end is taken from the scheduler, and stops once more.
    assert!((7..=8).contains(&stopped), "{stopped}");
}

#[test]
fn what_the_file_wants_printed_is_in_the_report_as_it_was_at_the_end() {
    let file = r#"
        [max_entries]
        stats = 2
        [set]
        nr_opps = "opp_table.nr_opps"
        [run]
        print = ["mode_now", "slice_us", "cpuperf", "nr_opps[0]", "nr_opps"]
        [statistics]
        map = "stats"
        names = "chooser_stat"
    "#;
    let options = options(&open_with("chooser", "mode=very_brisk,slice_us=2000", file), ms(100));
    let scheduler = run_with(&machine(2), &tasks_of(&HOGS), &options).sched_ext.unwrap();
    let values: Vec<String> = scheduler.values.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let opps = machine(2).performance_domains[0].opps.len();
    let expected = ["mode_now = CHOOSER_MODE_VERY_BRISK", "slice_us = 2000", "cpuperf = false"].map(str::to_owned);
    assert_eq!(values[..3], expected);
    assert_eq!(values[3..], [format!("nr_opps[0] = {opps}"), format!("nr_opps = {{{opps}, 0, 0, 0, 0, 0, 0, 0}}")]);
    let json = serde_json::to_value(&scheduler).unwrap();
    assert_eq!((&json["values"]["slice_us"], &json["values"]["cpuperf"]), (&2000.into(), &false.into()));
    let text = serde_json::to_string(&scheduler).unwrap();
    assert_eq!(serde_json::from_str::<SchedExtReport>(&text).unwrap(), scheduler);
    // Of the three counters there is room for two.
    let counted: Vec<&str> = scheduler.statistics.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(counted, ["started", "stopped"]);
}

#[test]
fn what_shall_be_reported_must_be_there() {
    let refused = |sidecar: &str| {
        let options = options(&open_with("chooser", "", sidecar), ms(1));
        check(&machine(1), &options).unwrap_err().to_string()
    };
    let statistics = |map: &str, names: &str| refused(&format!("[statistics]\nmap = \"{map}\"\nnames = \"{names}\"\n"));
    let missing = "chooser: the object has no";
    assert_eq!(statistics("stat", "chooser_stat"), format!("{missing} array of 64-bit counters `stat` for statistics"));
    assert_eq!(statistics("stats", "stats"), format!("{missing} enumeration `stats` for statistics"));
    let state = refused("[statistics]\nstates = [\"slice_us\"]\n");
    assert_eq!(state, format!("{missing} variable that is an enumeration `slice_us` for statistics"));
    let limited = |name| refused(&format!("[statistics]\nlimited = \"{name}\"\n"));
    assert_eq!(limited("held"), format!("{missing} 64-bit variable `held` for statistics"));
    assert_eq!(refused("[run]\ncheck = \"checks\"\n"), format!("{missing} program `checks` to run"));
}

#[test]
fn a_user_sets_only_what_the_object_calls_a_setting() {
    let path = crate::objects::object_path("chooser");
    let open = |settings: &str| SchedExt::open(&format!("{},{settings}", path.display()));
    let message = |settings: &str| match open(settings).unwrap_err() {
        OpenError::Variable { why, .. } => why.to_string(),
        other => panic!("{other}"),
    };
    assert_eq!(message("slice_us=99"), "slice_us must be 100 to 100000 us, not 99");
    let settings = "the settings are error_after, mode, refuse_silently, slice_us";
    assert_eq!(message("cpuperf=true"), format!("there is no setting cpuperf; {settings}"));
    assert!(open("mode=Very_Brisk").is_ok());
}
