// SPDX-License-Identifier: GPL-2.0-only
//! Which values of a machine matter for a workload, for people.

use tandem_experiments::{Estimate, MovedValue, NotMoved, Pair, Sensitivity, Turn, Which};
use tandem_simulator::machine::description::values::Value;

use crate::arguments::disturbed_words;
use crate::quantity::NOTHING;
use crate::table::{Align::Left, Align::Right, Table, paragraph};

/// Most rows of the table; the JSON has all.
const MOST_ROWS: usize = 20;
/// Elasticities below this are printed as 0.
const PRINTED: f64 = 0.005;
/// Most values that a note names.
const MOST_NAMED: usize = 4;

/// The table of values, the largest elasticity first, and what is to be said of them, below an empty line.
pub fn render(sensitivity: &Sensitivity, width: Option<usize>) -> String {
    let lines = notes(sensitivity);
    let table = table(sensitivity).map(|table| table.fitting(width).render());
    let paragraphs: String = lines.iter().map(|line| paragraph(line, width)).collect();
    ["\n".to_owned(), paragraph(&title(sensitivity), width)]
        .into_iter()
        .chain(table.map(|table| format!("\n{table}")))
        .chain((!paragraphs.is_empty()).then(|| format!("\n{paragraphs}")))
        .collect()
}

/// The same in Markdown.
pub fn markdown(sensitivity: &Sensitivity) -> String {
    let table = table(sensitivity).map_or(String::new(), |table| format!("\n{}", table.markdown()));
    let notes: String = notes(sensitivity).iter().map(|note| format!("- {note}\n")).collect();
    format!("\n{}\n{table}\n{notes}", title(sensitivity))
}

fn title(sensitivity: &Sensitivity) -> String {
    let Sensitivity { machine, workload, disturbed, which, values, assumed, pairs, runs, .. } = sensitivity;
    let which = match which {
        Which::Assumed => format!("{assumed} assumed values (of {values})"),
        Which::All => format!("{values} values ({assumed} assumed)"),
    };
    let under = match pairs.as_slice() {
        [only] => format!(" under {only}"),
        _ => String::new(),
    };
    format!(
        "Which of the {which} of {machine} matter for {workload}{under}: each is moved by 20 % down and up; change in percent per \
         percent ({runs} runs{})",
        disturbed_words(*disturbed)
    )
}

/// The values that matter; `None` if none does. Who wins has a column where that changes.
fn table(sensitivity: &Sensitivity) -> Option<Table> {
    let shown: Vec<&MovedValue> = shown(sensitivity).take(MOST_ROWS).collect();
    let changes = shown.iter().any(|moved| moved.turns.iter().any(|turn| turn.wins));
    let columns = [("value", Left), ("line", Right), ("time", Right), ("energy", Right), ("who wins", Left)];
    let columns = columns.into_iter().take(if changes { 5 } else { 4 });
    let mut table = Table::with_columns(columns.map(|(title, align)| (title.to_owned(), align)));
    for moved in &shown {
        let value = &moved.value;
        let cells = [
            format!("{} {}", value.trust.mark(), name(value)),
            value.line.to_string(),
            elasticity(moved.time()),
            elasticity(moved.energy()),
            winners(&moved.turns),
        ];
        table.row(cells.into_iter().take(if changes { 5 } else { 4 }));
    }
    (!shown.is_empty()).then_some(table)
}

/// The values whose elasticities are not printed as 0, or that change an order.
fn shown(sensitivity: &Sensitivity) -> impl Iterator<Item = &MovedValue> {
    sensitivity.moved.iter().filter(|moved| moved.weight() >= PRINTED || !moved.turns.is_empty())
}

fn name(value: &Value) -> String {
    format!("{} {}", value.table, value.key)
}

fn elasticity(value: Option<Estimate>) -> String {
    let Some(Estimate { mean, half_width }) = value else { return NOTHING.to_owned() };
    let half_width = half_width.unwrap_or(0.0);
    match (mean.abs() < PRINTED, half_width < PRINTED) {
        (true, true) => "0".to_owned(),
        (true, false) => format!("0.00 ± {half_width:.2}"),
        (false, true) => format!("{mean:.2}"),
        (false, false) => format!("{mean:.2} ± {half_width:.2}"),
    }
}

/// By what the best pair is another one, where the value is moved.
fn winners(turns: &[Turn]) -> String {
    let mut metrics: Vec<&str> = turns.iter().filter(|turn| turn.wins).map(|turn| turn.metric.title()).collect();
    metrics.dedup();
    if metrics.is_empty() { "stays".to_owned() } else { format!("changes: {}", metrics.join(", ")) }
}

fn notes(sensitivity: &Sensitivity) -> Vec<String> {
    let mut notes = Vec::new();
    let printed = shown(sensitivity).count();
    if printed > MOST_ROWS {
        notes.push(format!("{} more matter less (--json has all).", printed - MOST_ROWS));
    }
    let little = sensitivity.moved.len() - printed;
    if little > 0 {
        let others = if printed == 0 { "" } else { " other" };
        notes.push(format!(
            "Of {little}{others} values that were moved the runs show nothing, or less than {PRINTED} % per percent."
        ));
    }
    if sensitivity.pairs.len() > 1 {
        notes.push("Of several pairs it is the largest elasticity of any; --json has each.".to_owned());
        notes.extend(turns(sensitivity));
    }
    notes.extend(not_moved(&sensitivity.not_moved));
    notes
}

/// Who changes places with whom.
fn turns(sensitivity: &Sensitivity) -> Vec<String> {
    let sentence = |value: &Value, turn: &Turn| {
        let Turn { metric, share, was_better, is_better, wins } = turn;
        let wins = if *wins { " and wins" } else { "" };
        let percent = 100.0 * share;
        let (better, worse): (&Pair, &Pair) = (is_better, was_better);
        format!("With {} at {percent:+.0} %, {better} is better than {worse} by {}{wins}.", name(value), metric.title())
    };
    let all = sensitivity.moved.iter().flat_map(|moved| moved.turns.iter().map(|turn| sentence(&moved.value, turn)));
    let all: Vec<String> = all.collect();
    if all.is_empty() {
        return vec!["No two pairs change places by time, energy or EDP.".to_owned()];
    }
    all
}

/// What could not be moved, by the reason.
fn not_moved(values: &[(Value, NotMoved)]) -> Vec<String> {
    let mut reasons: Vec<(&NotMoved, Vec<String>)> = Vec::new();
    for (value, why) in values {
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(name(value)),
            None => reasons.push((why, vec![name(value)])),
        }
    }
    let note = |(why, names): (&NotMoved, Vec<String>)| {
        let more = names.len().saturating_sub(MOST_NAMED);
        let named = names.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("Not moved ({why}): {named}{more}.")
    };
    reasons.into_iter().map(note).collect()
}
