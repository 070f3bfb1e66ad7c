// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be wrong with a setting.

use crate::names::is_short_for;

/// Names that an error suggests.
const SUGGESTIONS: usize = 3;

/// Why a setting was not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// No global variable has this name.
    #[error("there is no variable {name}{}", suggestion(.nearest))]
    Unknown {
        /// The name that was given.
        name: String,
        /// Names like it, the most alike first.
        nearest: Vec<String>,
    },
    /// The variable is no setting: the object says which of its variables are settings.
    #[error("there is no setting {name}; {}", settings(.nearest, .valid))]
    NoSetting {
        /// The name that was given.
        name: String,
        /// Names like it, the most alike first.
        nearest: Vec<String>,
        /// Names of all settings.
        valid: Vec<String>,
    },
    /// The number is outside of the range that the object allows.
    #[error("{name} must be {}, not {number}", span(*min, *max, unit.as_deref()))]
    OutOfRange {
        /// The name of the setting as it was given.
        name: String,
        /// The number that was given.
        number: i128,
        /// The least number that is allowed.
        min: i128,
        /// The largest number that is allowed.
        max: i128,
        /// The unit of the three numbers.
        unit: Option<String>,
    },
    /// No map has this name.
    #[error("there is no map {name}{}", suggestion(.nearest))]
    UnknownMap {
        /// The name that was given.
        name: String,
        /// Names like it, the most alike first.
        nearest: Vec<String>,
    },
    /// No program has this name.
    #[error("there is no program {name}{}", suggestion(.nearest))]
    UnknownProgram {
        /// The name that was given.
        name: String,
        /// Names like it, the most alike first.
        nearest: Vec<String>,
    },
    /// The structure has no member of this name.
    #[error("{type_name} has no member {member}{}", suggestion(.nearest))]
    NoMember {
        /// The structure's type.
        type_name: String,
        /// The member's name.
        member: String,
        /// Names like it, the most alike first.
        nearest: Vec<String>,
    },
    /// The name asks for what the type does not have: an element of what is no array, and so on.
    #[error("{name}: {why}")]
    Path {
        /// The name as it was given.
        name: String,
        /// What is wrong with the name.
        why: String,
    },
    /// The text is no value of the type.
    #[error("{name} is {type_name}: {text:?} is not {expected}{}", suggestion(.nearest))]
    Value {
        /// The name as it was given.
        name: String,
        /// The variable's type.
        type_name: String,
        /// The text that was given.
        text: String,
        /// What the text should be.
        expected: String,
        /// Names like the text, the most alike first, where names are expected.
        nearest: Vec<String>,
    },
    /// The number does not fit the type.
    #[error("{name} is {type_name}: {number} is not between {min} and {max}")]
    Range {
        /// The name as it was given.
        name: String,
        /// The variable's type.
        type_name: String,
        /// The number that was given.
        number: i128,
        /// The least number that fits.
        min: i128,
        /// The largest number that fits.
        max: i128,
    },
    /// The variable cannot be given another size.
    #[error("{name} cannot be resized: {why}")]
    NotResizable {
        /// The variable.
        name: String,
        /// Why the variable cannot be given another size.
        why: String,
    },
}

fn suggestion(nearest: &[String]) -> String {
    if nearest.is_empty() { String::new() } else { format!("; did you mean {}?", nearest.join(", ")) }
}

fn settings(nearest: &[String], valid: &[String]) -> String {
    let valid = valid.join(", ");
    match nearest {
        [] => format!("the settings are {valid}"),
        _ => format!("did you mean {}? The settings are {valid}", nearest.join(", ")),
    }
}

/// A range of numbers in words: `1 to 100 us`.
pub(super) fn span(min: i128, max: i128, unit: Option<&str>) -> String {
    let unit = unit.map_or_else(String::new, |unit| format!(" {unit}"));
    format!("{min} to {max}{unit}")
}

/// The names most like `name`, the most alike first; none if none is alike.
pub(super) fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let most = (name.chars().count() / 3).max(2);
    let distance = |other: &str| strsim::damerau_levenshtein(&name.to_lowercase(), &other.to_lowercase());
    let is_alike = |(distance, other): &(usize, &str)| *distance <= most || is_short_for(name, other);
    let mut alike: Vec<(usize, &str)> = names.map(|other| (distance(other), other)).filter(is_alike).collect();
    alike.sort_unstable();
    alike.dedup();
    alike.into_iter().take(SUGGESTIONS).map(|(_, name)| name.to_owned()).collect()
}
