// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scenario from any text: TOML, each of whose texts is read as all that scenarios and the command's options have: a
//! scheduler with its settings, a duration, CPUs that come and go, a workload.

use tandem_experiments::{Choice, FairOrObject, Scenario, Settings, parse_duration, parse_hotplug};
use tandem_simulator::simulation::Scheduler;
use toml::Value;

use super::workload;

/// Reads bytes as a scenario.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match text.parse::<toml::Table>() {
        Ok(table) => table.iter().for_each(|(_, value)| read(value)),
        Err(_) => read_text(text),
    }
}

fn read(value: &Value) {
    match value {
        Value::String(text) => read_text(text),
        Value::Array(values) => values.iter().for_each(read),
        Value::Table(table) => table.iter().for_each(|(_, value)| read(value)),
        _ => {}
    }
}

fn read_text(text: &str) {
    workload::run(text.as_bytes());
    // A path is the user's own to name.
    if !text.contains('/')
        && let Ok(choice) = Choice::parse(text, &FairOrObject)
    {
        check(&Scenario::default(), &choice);
    }
    if let Ok(duration) = parse_duration(text) {
        assert!(text.chars().any(|c| c.is_ascii_digit()), "{duration} ns of {text:?}");
    }
    let hotplug = parse_hotplug(text).into_iter().collect();
    if let Ok(settings) = text.parse::<Settings>() {
        let written: Vec<String> = settings.0.iter().map(ToString::to_string).collect();
        assert_eq!(written.join(",").parse::<Settings>().as_ref(), Ok(&settings));
        let scenario = Scenario { settings: settings.0, hotplug, ..Scenario::default() };
        if let Ok(choice) = Choice::parse("fair+schedutil", &FairOrObject) {
            check(&scenario, &choice);
        }
    }
}

fn check(scenario: &Scenario, choice: &Choice) {
    let done = scenario.check([&Scheduler::Fair]).and_then(|()| scenario.options(&choice.pair(), 0));
    if let Err(error) = done {
        assert!(!error.to_string().is_empty());
    }
}
