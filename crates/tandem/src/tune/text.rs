// SPDX-License-Identifier: GPL-2.0-only
//! What a search found, for people.

use tandem_experiments::{Certainty, Confirmed, CostRatio, Tuned, Tuning};

use crate::arguments::disturbed_words;
use crate::quantity::NOTHING;
use crate::table::{Align::Left, Align::Right, Table, paragraph, printable};

/// A difference that the printed digits do not show.
const LEAST: f64 = 0.0005;

/// The text.
pub fn render(tuning: &Tuning<'_>, tuned: &Tuned, width: Option<usize>) -> String {
    let mut text = paragraph(&printable(&headline(tuning, tuned)), width);
    text += &format!("\n{}", paragraph(&printable(&best(tuning, &tuned.best)), width));
    if let Some((why, count)) = tuned.reasons.iter().max_by_key(|(_, count)| **count) {
        let reason = format!("Of those that cannot be used, {count}: {why}");
        text += &format!("\n{}", paragraph(&printable(&reason), width));
    }
    text += "\nWhat can be had for what, over the scheduler as it is\n\n";
    let mut table = Table::new([("time", Right), ("energy", Right), ("settings", Left)]);
    for confirmed in &tuned.front {
        table.row([ratio(&confirmed.time), ratio(&confirmed.energy), settings(confirmed)]);
    }
    text += &table.fitting(width).render();
    let about = format!(
        "Ratios are geometric means over machines, workloads and {} seeds that the search did not see, with their 95 % intervals.",
        tuning.confirming
    );
    text + format!("\n{}", paragraph(&about, width)).as_str()
}

fn headline(tuning: &Tuning<'_>, tuned: &Tuned) -> String {
    let refused = match tuned.refused {
        0 => String::new(),
        refused => format!(", of which {refused} cannot be used"),
    };
    let (scheduler, count) = (&tuning.pair, tuning.dimensions.len());
    let disturbed = disturbed_words(tuning.scenario.is_disturbed());
    let settings = if count == 1 { "setting" } else { "settings" };
    format!(
        "{scheduler}: least {} over {count} {settings}, {} tried{refused}{disturbed}",
        tuning.goal.minimise, tuned.tried
    )
}

/// The best settings in sentences.
fn best(tuning: &Tuning<'_>, best: &Confirmed) -> String {
    if best.settings.is_empty() {
        return "Nothing better was found than the scheduler as it is.".to_owned();
    }
    let gain = match best.gain {
        _ if (best.minimised.mean - 1.0).abs() < LEAST => "That is less than a thousandth: no gain worth a setting.",
        Certainty::Yes => "The gain is confirmed.",
        Certainty::Undecided => "Whether that is a gain is undecided: more runs may tell (--confirm).",
        Certainty::No => "Other seeds do not confirm a gain: it is a loss.",
    };
    let limits = match (tuning.goal.limits.is_empty(), best.limits) {
        (true, _) => "",
        (_, Certainty::Yes) => " The limits are kept.",
        (_, Certainty::Undecided) => " Whether the limits are kept is undecided.",
        (_, Certainty::No) => " A limit is missed.",
    };
    let (metric, minimised) = (tuning.goal.minimise, ratio(&best.minimised));
    format!("Best: {} gives {metric} {minimised}. {gain}{limits}", settings(best))
}

/// The settings as they stand behind a scheduler's name.
fn settings(confirmed: &Confirmed) -> String {
    if confirmed.settings.is_empty() {
        return NOTHING.to_owned();
    }
    confirmed.settings.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(",")
}

/// `×0.931 (0.912 to 0.950)`.
fn ratio(ratio: &CostRatio) -> String {
    match ratio.low.zip(ratio.high) {
        Some((low, high)) => format!("×{:.3} ({low:.3} to {high:.3})", ratio.mean),
        None => format!("×{:.3}", ratio.mean),
    }
}
