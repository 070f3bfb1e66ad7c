// SPDX-License-Identifier: GPL-2.0-only
//! The results for people.

use tandem_simulator::analysis::Phase::{self, Parallel, Serial};
use tandem_simulator::analysis::{Fairness, State};

use crate::quantity::{NUMBER, SECONDS, estimate, quantity};
use crate::table::Align::{Left, Right};
use crate::table::{Table, paragraph};

use super::Analysis;
use super::measured::{Measured, MeasuredState};
use super::theory::{BoundsRow, ByPhase, Many, StateRow, Theory};

/// Everything on `width` columns.
pub fn text(analysis: &Analysis, width: Option<usize>) -> String {
    let theory = &analysis.theory;
    let mut text = paragraph(&title(analysis), width);
    text += &paragraph(
        "S: one thread is ready; P: as many as there are cores. Speedups of A in state (A,B), relative to A alone.",
        width,
    );
    if !theory.within_assumption {
        text += &paragraph(
            "The model assumes a < 2: from there on it can be right to leave a small core idle, which it never does.",
            width,
        );
    }
    // On equal cores Table 2 is Table 1.
    if theory.asymmetry > 1.0 {
        text += &section("Table 1: baseline", states(&theory.baseline), width);
    }
    text += &section("Table 2: baseline, all cores alike (a = 1)", states(&theory.baseline_symmetric), width);
    text += &section("Table 5: serial phases first", states(&theory.proposed), width);
    text += &section("Table 3: lower bounds of fairness", fairness(theory), width);
    if let Some(many) = &theory.many {
        text += &of_many(many, width);
    }
    text.push('\n');
    for sentence in predictions(theory) {
        text += &paragraph(&sentence, width);
    }
    if let Some(measured) = &analysis.measured {
        text += &simulated(measured, theory, width);
    }
    text
}

fn title(analysis: &Analysis) -> String {
    let Theory { cores, asymmetry, .. } = &analysis.theory;
    let machine = analysis.machine.as_ref().map_or_else(String::new, |name| format!("{name}: "));
    let which = analysis.large_cpu.map_or_else(String::new, |cpu| format!(" (CPU {cpu})"));
    match asymmetry {
        1.0 => format!("{machine}n = {cores} cores, all alike (a = 1)"),
        _ => format!("{machine}n = {cores} cores, one of them{which} a = {asymmetry} times as fast as each other"),
    }
}

fn section(title: &str, table: Table, width: Option<usize>) -> String {
    format!("\n{}{}", paragraph(title, width), table.fitting(width).render())
}

/// A number with four decimals, for comparison with the model's values.
fn exact(value: f64) -> String {
    format!("{value:.4}")
}

fn letter(phase: Phase) -> char {
    match phase {
        Serial => 'S',
        Parallel => 'P',
    }
}

fn name(state: State) -> String {
    format!("({},{})", letter(state.a), letter(state.b))
}

fn states(rows: &[StateRow]) -> Table {
    let mut table =
        Table::new([("state", Left), ("min", Right), ("average", Right), ("max", Right), ("max/min", Right)]);
    for row in rows {
        let numbers = [row.speedup.min, row.speedup.average, row.speedup.max, row.spread].map(exact);
        table.row([name(row.state)].into_iter().chain(numbers));
    }
    table
}

fn fairness(theory: &Theory) -> Table {
    let mut table =
        Table::new([("", Left), ("(S,S)", Right), ("(S,P) case 1", Right), ("(S,P) case 2", Right), ("(P,P)", Right)]);
    let rows = [("baseline", theory.fairness.baseline), ("from Table 5", theory.fairness.proposed)];
    for (name, bound) in rows {
        let Fairness { serial, mixed_serial_worst, mixed_serial_best, parallel } = bound;
        let numbers = [serial, mixed_serial_worst, mixed_serial_best, parallel].map(exact);
        table.row([name.to_owned()].into_iter().chain(numbers));
    }
    table
}

/// Tables 4 and 6 for people.
fn of_many(many: &Many, width: Option<usize>) -> String {
    let k = many.applications;
    let mut text = section(&format!("Table 4: baseline, k = {k} applications"), phases(&many.baseline), width);
    text += &section(&format!("Table 6: serial phases first, k = {k} applications"), phases(&many.proposed), width);
    if many.all_parallel_max > many.proposed.parallel.bounds.max {
        let most = exact(many.all_parallel_max);
        text += &paragraph(
            &format!(
                "The maximum of a parallel application holds beside serial ones; where all are parallel, it can get {most}."
            ),
            width,
        );
    }
    text
}

fn phases(rows: &ByPhase) -> Table {
    let mut table = Table::new([("phase", Left), ("min", Right), ("max", Right), ("max/min", Right)]);
    for (name, BoundsRow { bounds, spread }) in [("serial", rows.serial), ("parallel", rows.parallel)] {
        let numbers = [bounds.min, bounds.max, spread].map(exact);
        table.row([name.to_owned()].into_iter().chain(numbers));
    }
    table
}

/// The meaning of the tables, in words.
fn predictions(theory: &Theory) -> [String; 3] {
    let [serial, parallel] = [1, 2].map(|index| (&theory.baseline[index], &theory.proposed[index]));
    let (bound, first) = (theory.fairness.baseline, theory.fairness.proposed);
    [
        format!(
            "Serial first: a serial application beside a parallel one goes from {} to {} of its speed on average, the \
             parallel one from {} to {}.",
            exact(serial.0.speedup.average),
            exact(serial.1.speedup.average),
            exact(parallel.0.speedup.average),
            exact(parallel.1.speedup.average)
        ),
        format!(
            "What chance decides there (max/min) shrinks from {} and {} to 1; the lower bound of fairness goes from {} to {}.",
            exact(serial.0.spread),
            exact(parallel.0.spread),
            exact(bound.mixed_serial_worst.min(bound.mixed_serial_best)),
            exact(first.mixed_serial_worst.min(first.mixed_serial_best))
        ),
        match theory.asymmetry {
            1.0 => "In (S,S) and (P,P) chance decides nothing, as all cores are alike.".to_owned(),
            _ => "In (S,S) and (P,P) it changes nothing: only one application has the large core.".to_owned(),
        },
    ]
}

/// Theory and simulation side by side.
fn simulated(measured: &Measured, theory: &Theory, width: Option<usize>) -> String {
    let Measured { scheduler, governor, time_s, runs, alone, .. } = measured;
    let time = quantity(*time_s, SECONDS);
    let title = format!("Simulated under {scheduler}+{governor}, {runs} runs of {time} (± 95 %)");
    let mut text = section(&title, speedups(measured, theory), width);
    let words = format!(
        "Alone, in threads on a small core: serial {} (model {}), parallel {} (model {}).",
        exact(alone.serial),
        exact(theory.alone.serial),
        exact(alone.parallel),
        exact(theory.alone.parallel)
    );
    text += &section("Fairness, simulated beside its lower bounds", simulated_fairness(measured, theory), width);
    text.push('\n');
    text + paragraph(&words, width).as_str()
}

fn speedups(measured: &Measured, theory: &Theory) -> Table {
    let titles = ["simulated", "lowest", "highest", "baseline", "serial first"];
    let titles = titles.map(|title| (title.to_owned(), Right));
    let mut table = Table::with_columns([("state".to_owned(), Left)].into_iter().chain(titles));
    for ((state, baseline), proposed) in measured.states.iter().zip(&theory.baseline).zip(&theory.proposed) {
        let numbers =
            [estimate(&state.average, NUMBER), exact(state.min), exact(state.max), range(baseline), range(proposed)];
        table.row([name(state.state)].into_iter().chain(numbers));
    }
    table
}

/// `0.500 (0.250–1.000)`, or one number if chance decides nothing.
fn range(row: &StateRow) -> String {
    let [min, average, max] =
        [row.speedup.min, row.speedup.average, row.speedup.max].map(|value| quantity(value, NUMBER));
    if min == max { average } else { format!("{average} ({min}–{max})") }
}

fn simulated_fairness(measured: &Measured, theory: &Theory) -> Table {
    let mut table = Table::new([
        ("state", Left),
        ("simulated", Right),
        ("lowest", Right),
        ("baseline", Right),
        ("serial first", Right),
    ]);
    let bound = |state: State, of: Fairness| match (state.a, state.b) {
        (Serial, Serial) => of.serial,
        (Parallel, Parallel) => of.parallel,
        _ => of.mixed_serial_worst.min(of.mixed_serial_best),
    };
    // The runs of (P,S) are those of (S,P).
    let once = |state: &&MeasuredState| state.state.a <= state.state.b;
    for state in measured.states.iter().filter(once) {
        let bounds = [theory.fairness.baseline, theory.fairness.proposed].map(|of| bound(state.state, of));
        let numbers = [estimate(&state.fairness, NUMBER), exact(state.fairness_min)];
        table.row([name(state.state)].into_iter().chain(numbers).chain(bounds.map(exact)));
    }
    table
}
