// SPDX-License-Identifier: MIT OR Apache-2.0
//! A value moved by a fifth, or as far as the file allows.

use tandem_simulator::machine::Machine;
use tandem_simulator::machine::description::Description;
use tandem_simulator::machine::description::values::{Kind, Value};

use super::FIFTH;

/// The least step that says anything, as a share of the value.
const LEAST: f64 = 0.01;
/// How often the step is halved on the way to the largest that the file allows: to a thousandth of the value.
const HALVINGS: u32 = 8;

/// A value moved.
#[derive(Debug)]
pub struct Step {
    /// By which share of it: negative for less.
    pub share: f64,
    /// The machine that this makes.
    pub machine: Machine,
}

/// Why a value was not moved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotMoved {
    /// There is no fifth of a word.
    #[error("a word, not a number")]
    Word,
    /// There is no fifth of a core.
    #[error("a count of what is there")]
    Counts,
    /// A fifth of nothing is nothing.
    #[error("0, of which a fifth is 0")]
    Nothing,
    /// The reader of descriptions refuses each step; what it said of a step up, without the place.
    #[error("{0}")]
    Refused(String),
}

/// `value` of `description` moved, the smallest first: both ways, or where the file allows only one, that way and half of it.
/// `machine` is what is described.
///
/// # Errors
/// Neither way goes by as much as a hundredth.
pub fn moved(description: &Description, machine: &Machine, value: &Value) -> Result<Vec<Step>, NotMoved> {
    match &value.kind {
        Kind::Word => return Err(NotMoved::Word),
        Kind::Counts => return Err(NotMoved::Counts),
        Kind::Numbers(numbers) if numbers.iter().all(|number| number.value == 0.0) => return Err(NotMoved::Nothing),
        Kind::Numbers(_) => {}
    }
    let by = |share| step(description, machine, value, share);
    let mut steps = match (largest(&by, -FIFTH), largest(&by, FIFTH)) {
        (Err(_), Err(why)) => return Err(NotMoved::Refused(why)),
        (Ok(smaller), Ok(larger)) => vec![smaller, larger],
        (Ok(only), Err(_)) | (Err(_), Ok(only)) => {
            let half = by(only.share / 2.0).ok().filter(|half| half.share != only.share);
            half.into_iter().chain([only]).collect()
        }
    };
    steps.sort_by(|a, b| a.share.total_cmp(&b.share));
    Ok(steps)
}

/// The largest step towards `wanted` that `step` allows; why none is, if none is.
fn largest(step: &dyn Fn(f64) -> Result<Step, String>, wanted: f64) -> Result<Step, String> {
    let why = match step(wanted) {
        Ok(step) => return Ok(step),
        Err(why) => why,
    };
    let (mut allowed, mut refused) = (0.0, wanted);
    let mut found = None;
    for _ in 0..HALVINGS {
        let middle = (allowed + refused) / 2.0;
        match step(middle) {
            Ok(step) => (allowed, found) = (middle, Some(step)),
            Err(_) => refused = middle,
        }
    }
    found.filter(|step| step.share.abs() >= LEAST).ok_or(why)
}

/// `value` moved by about `share`.
fn step(description: &Description, machine: &Machine, value: &Value, share: f64) -> Result<Step, String> {
    let moved = description.with(value, 1.0 + share);
    let (moved, factor) = moved.ok_or_else(|| "too small a number to be moved".to_owned())?;
    let mut made = moved.machine().map_err(|error| error.message)?;
    if made != *machine {
        let percent = 100.0 * (factor - 1.0);
        made.name = format!("{} ({} {} {percent:+.1} %)", made.name, value.table, value.key);
    }
    Ok(Step { share: factor - 1.0, machine: made })
}
