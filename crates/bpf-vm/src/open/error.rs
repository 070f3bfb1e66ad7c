// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be wrong with a setting.

/// Names that an error suggests.
const SUGGESTIONS: usize = 3;

/// Why a setting was not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// No global variable has this name.
    #[error("there is no variable {name}{}", suggestion(.nearest))]
    Unknown {
        /// The name.
        name: String,
        /// Names like it, the most alike first.
        nearest: Vec<String>,
    },
    /// The object says which of its variables are settings, and this is none.
    #[error("there is no setting {name}; {}", settings(.nearest, .valid))]
    NoSetting {
        /// The name.
        name: String,
        /// Names like it, the most alike first.
        nearest: Vec<String>,
        /// All settings.
        valid: Vec<String>,
    },
    /// The number is not one that the object allows.
    #[error("{name} must be {}, not {number}", span(*min, *max, unit.as_deref()))]
    OutOfRange {
        /// The name as it was given.
        name: String,
        /// The number.
        number: i128,
        /// The least that is allowed.
        min: i128,
        /// The largest.
        max: i128,
        /// The unit of all three.
        unit: Option<String>,
    },
    /// No map has this name.
    #[error("there is no map {name}{}", suggestion(.nearest))]
    UnknownMap {
        /// The name.
        name: String,
        /// Names like it, the most alike first.
        nearest: Vec<String>,
    },
    /// No program has this name.
    #[error("there is no program {name}{}", suggestion(.nearest))]
    UnknownProgram {
        /// The name.
        name: String,
        /// Names like it, the most alike first.
        nearest: Vec<String>,
    },
    /// The structure has no such member.
    #[error("{type_name} has no member {member}{}", suggestion(.nearest))]
    NoMember {
        /// The structure's type.
        type_name: String,
        /// The member's name.
        member: String,
        /// Names like it, the most alike first.
        nearest: Vec<String>,
    },
    /// What the name says cannot be done with the type: an index of what is no array, and so on.
    #[error("{name}: {why}")]
    Path {
        /// The name as it was given.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// The text is no value of the type.
    #[error("{name} is {type_name}: {text:?} is not {expected}{}", suggestion(.nearest))]
    Value {
        /// The name as it was given.
        name: String,
        /// Its type.
        type_name: String,
        /// The text.
        text: String,
        /// What it should be.
        expected: String,
        /// Names like it, where names are expected.
        nearest: Vec<String>,
    },
    /// The number does not fit the type.
    #[error("{name} is {type_name}: {number} is not between {min} and {max}")]
    Range {
        /// The name as it was given.
        name: String,
        /// Its type.
        type_name: String,
        /// The number.
        number: i128,
        /// Smallest that fits.
        min: i128,
        /// Largest that fits.
        max: i128,
    },
    /// The variable cannot be given another size.
    #[error("{name} cannot be resized: {why}")]
    NotResizable {
        /// The variable.
        name: String,
        /// Why not.
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

/// The names most like one, the most alike first; none if none is alike.
pub(super) fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let most = (name.chars().count() / 3).max(2);
    let distance = |other: &str| strsim::damerau_levenshtein(&name.to_lowercase(), &other.to_lowercase());
    let mut alike: Vec<(usize, &str)> =
        names.map(|other| (distance(other), other)).filter(|(distance, _)| *distance <= most).collect();
    alike.sort_unstable();
    alike.dedup();
    alike.into_iter().take(SUGGESTIONS).map(|(_, name)| name.to_owned()).collect()
}
