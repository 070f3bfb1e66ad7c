// SPDX-License-Identifier: GPL-2.0-only
//! A run for people.

use tandem_live::Exit;
use tandem_live::meter::{Energy, Method, Part};

use super::Outcome;
use super::mechanisms::{Deeds, deeds};
use crate::quantity::{JOULE_SECONDS, JOULES, SECONDS, WATTS, quantity};
use crate::table::{Align::Left, Align::Right, Table, descriptions, paragraph, printable};

/// Meters that people read of; the JSON has all.
const MOST_METERS: usize = 12;

/// Lines of an ejected scheduler's dump.
const MOST_LINES: usize = 12;

/// The run on `width` columns.
pub fn text(outcome: &Outcome, width: Option<usize>) -> String {
    let mut text = paragraph(&printable(&title(outcome)), width);
    text.push('\n');
    text += &numbers(outcome).fitting(width).render();
    if outcome.energy().is_none() {
        let why = format!("energy was not measured: {}", outcome.measured.why_not());
        text += &paragraph(&printable(&why), width);
    }
    let rows: Vec<(String, String)> =
        deeds(&outcome.states, &outcome.counters).iter().flat_map(block).map(|(a, b)| (a, printable(&b))).collect();
    if !rows.is_empty() {
        text.push('\n');
        text += &descriptions(&rows, width);
    }
    text += &ending(outcome, width);
    for note in &outcome.notes {
        text += &paragraph(&printable(&format!("note: {note}")), width);
    }
    text
}

/// `make -j8: exit status 0, under Tandem (sched_ext)`.
fn title(outcome: &Outcome) -> String {
    let Outcome { command, status, backend, ejected, .. } = outcome;
    let until = if *ejected { " until it was ejected" } else { "" };
    format!("{command}: {status}, under Tandem ({backend}){until}")
}

fn numbers(outcome: &Outcome) -> Table {
    let mut table = Table::headless([Left, Right, Left]);
    let mut row = |name: &str, value: String, remark: String| table.row([name.to_owned(), value, remark]);
    let seconds = outcome.time.as_secs_f64();
    row("time", quantity(seconds, SECONDS), String::new());
    if let Some(cpu) = outcome.cpu_time {
        let user = quantity(cpu.user.as_secs_f64(), SECONDS);
        let system = quantity(cpu.system.as_secs_f64(), SECONDS);
        let busy = if seconds > 0.0 { format!("{:.2} CPUs busy; ", cpu.seconds() / seconds) } else { String::new() };
        row("CPU time", quantity(cpu.seconds(), SECONDS), format!("{busy}{user} user, {system} system"));
    }
    match outcome.energy() {
        Some((joules, covers)) => row("energy", quantity(joules, JOULES), covers),
        None => row("energy", "not measured".to_owned(), String::new()),
    }
    let meters = &outcome.measured.energy;
    for energy in meters.iter().take(MOST_METERS) {
        row(&format!("  {}", part(energy)), quantity(energy.joules, JOULES), source(energy));
    }
    if meters.len() > MOST_METERS {
        row("  …", String::new(), format!("and {} more (--json has all)", meters.len() - MOST_METERS));
    }
    if let (Some(watts), Some(product)) = (outcome.watts(), outcome.joule_seconds()) {
        row("power", quantity(watts, WATTS), "on average".to_owned());
        row("EDP", quantity(product, JOULE_SECONDS), String::new());
    }
    table
}

/// `cores 0`, `platform`.
fn part(energy: &Energy) -> String {
    let package = energy.domain.package;
    match energy.domain.part {
        Part::Platform => "platform".to_owned(),
        Part::Package => format!("package {package}"),
        Part::Core => format!("cores {package}"),
        Part::Uncore => format!("graphics {package}"),
        Part::Dram => format!("memory {package}"),
        Part::Machine => "machine".to_owned(),
        Part::Battery => "battery".to_owned(),
        Part::Gpu => "graphics card".to_owned(),
        Part::Other => "sensor".to_owned(),
    }
}

fn source(energy: &Energy) -> String {
    match energy.method {
        Method::Counted => energy.source.clone(),
        Method::Sampled { longest_gap } => {
            let gap = quantity(longest_gap.as_secs_f64(), SECONDS);
            format!("{}, a power sampled at most {gap} apart", energy.source)
        }
    }
}

/// A mechanism's line, and what was counted under it.
fn block(deeds: &Deeds) -> Vec<(String, String)> {
    let Deeds { name, state, counted } = deeds;
    let counted = counted.join("; ");
    match state {
        None => vec![(name.clone(), counted)],
        Some(state) if counted.is_empty() => vec![(name.clone(), state.clone())],
        Some(state) => vec![(name.clone(), format!("{state}: {counted}"))],
    }
}

/// What the kernel said at the end.
fn ending(outcome: &Outcome, width: Option<usize>) -> String {
    let said = match &outcome.exit {
        _ if outcome.backend != SCHED_EXT => return String::new(),
        Some(exit) => format!("The kernel says: {exit}."),
        None if outcome.ejected => "The kernel keeps no record of why.".to_owned(),
        None => return String::new(),
    };
    if !outcome.ejected {
        return format!("\n{}", paragraph(&printable(&said), width));
    }
    let first = "The scheduler was ejected before the command was done; the kernel's own went on.";
    let mut text = format!("\n{}", paragraph(&printable(&format!("{first} {said}")), width));
    text += &outcome.exit.as_ref().map(dump).unwrap_or_default();
    text
}

/// The backend that has a scheduler in the kernel.
const SCHED_EXT: &str = "sched_ext";

/// The beginning of a dump.
fn dump(exit: &Exit) -> String {
    let mut lines = exit.dump.lines().filter(|line| !line.trim().is_empty());
    let mut text: String = lines.by_ref().take(MOST_LINES).map(|line| format!("  {}\n", printable(line))).collect();
    match lines.count() {
        0 => {}
        more => text += &format!("  … and {more} lines more (--json has all)\n"),
    }
    text
}
