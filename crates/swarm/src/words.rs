// SPDX-License-Identifier: MIT OR Apache-2.0
//! A case in words.

use std::fmt::Write as _;

use tandem_simulator::simulation::KernelParameters;
use tandem_simulator::units::seconds;

use crate::objects::Objects;
use crate::random::case::Case;

/// The case as a person would describe it.
pub fn words(case: &Case, objects: &Objects) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "machine: {}", case.machine.words());
    let _ = writeln!(text, "scheduler: {}", case.scheduler.words(objects));
    let _ = writeln!(text, "governor {}, seed {}, {} s", case.options.governor, case.options.seed, seconds(case.limit));
    let _ = writeln!(text, "kernel: {}", kernel(&case.options.kernel));
    for change in &case.hotplug {
        let word = if change.online { "online" } else { "offline" };
        let _ = writeln!(text, "CPU {} goes {word} at {} s, if it can", change.cpu, seconds(change.at));
    }
    let _ = match case.workload.build() {
        Some(workload) => writeln!(text, "{}", workload.listing()),
        None => writeln!(text, "workload: {:?}", case.workload),
    };
    text
}

/// The parameters that are not the default.
fn kernel(parameters: &KernelParameters) -> String {
    let members = |parameters: &KernelParameters| -> Vec<String> {
        format!("{parameters:#?}").lines().map(|line| line.trim().trim_end_matches(',').to_owned()).collect()
    };
    let (own, default) = (members(parameters), members(&KernelParameters::default()));
    let changed: Vec<String> = own.into_iter().filter(|line| !default.contains(line)).collect();
    if changed.is_empty() { "as by default".to_owned() } else { changed.join(", ") }
}
