// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an experiment varies: names and the values of each.

use std::collections::BTreeMap;

use tandem_simulator::input::{nearest, valid_names};

/// A value for each of some axes, by the axis' name.
pub type Place = BTreeMap<String, String>;

/// What an experiment varies: its axes, in the order of their names.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Axes(pub Vec<Axis>);

/// One axis: a name and its values.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What cells and runs call the axis.
    pub name: String,
    /// The values, at least one.
    pub values: Vec<AxisValue>,
}

/// One value of an axis, and what it stands for in a run.
#[derive(Debug, Clone, PartialEq)]
pub struct AxisValue {
    /// What cells call the value; what `{axis}` becomes.
    pub name: String,
    /// What `{axis.field}` becomes: one text, or several arguments.
    pub fields: BTreeMap<String, Vec<String>>,
}

impl Axes {
    /// The names of the axes.
    pub fn names(&self) -> Vec<&str> {
        self.0.iter().map(|axis| axis.name.as_str()).collect()
    }

    /// The axis `name`.
    ///
    /// # Errors
    /// There is no such axis.
    pub fn axis(&self, name: &str) -> Result<&Axis, AxisError> {
        let axis = name.to_owned();
        let unknown = || match self.0.is_empty() {
            true => AxisError::NoAxes { axis },
            false => AxisError::NoAxis { axis, valid: valid_names(name, &self.names()) },
        };
        self.0.iter().find(|axis| axis.name == name).ok_or_else(unknown)
    }

    /// Whether `place` names axes and values that exist.
    ///
    /// # Errors
    /// There is no such axis, or no such value of it.
    pub fn check(&self, place: &Place) -> Result<(), AxisError> {
        place.iter().try_for_each(|(axis, value)| self.axis(axis)?.value(value).map(drop))
    }

    /// How many combinations [`Axes::combinations`] has.
    pub fn count(&self, names: &[String]) -> usize {
        let sizes = names.iter().filter_map(|name| self.axis(name).ok()).map(|axis| axis.values.len());
        sizes.fold(1, usize::saturating_mul)
    }

    /// Every combination of values of the axes `names`, the last axis varying first. Names of no axis are left out.
    pub fn combinations(&self, names: &[String]) -> Vec<Place> {
        let mut places = vec![Place::new()];
        for axis in names.iter().filter_map(|name| self.axis(name).ok()) {
            let with = |place: &Place, value: &AxisValue| {
                let mut place = place.clone();
                place.insert(axis.name.clone(), value.name.clone());
                place
            };
            places = places.iter().flat_map(|place| axis.values.iter().map(move |value| with(place, value))).collect();
        }
        places
    }
}

impl Axis {
    fn value(&self, name: &str) -> Result<&AxisValue, AxisError> {
        let names: Vec<&str> = self.values.iter().map(|value| value.name.as_str()).collect();
        let unknown =
            || AxisError::NoValue { axis: self.name.clone(), value: name.to_owned(), valid: valid_names(name, &names) };
        self.values.iter().find(|value| value.name == name).ok_or_else(unknown)
    }

    /// The fields that every value has.
    pub(crate) fn fields(&self) -> Vec<&str> {
        let Some((first, rest)) = self.values.split_first() else { return Vec::new() };
        let names = first.fields.keys().map(String::as_str);
        names.filter(|name| rest.iter().all(|value| value.fields.contains_key(*name))).collect()
    }
}

/// What is wrong with the name of an axis, with a value of one, or with a text that has them in braces.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AxisError {
    /// There are no axes at all.
    #[error("no axis `{axis}`: the experiment has none")]
    NoAxes {
        /// The name as it was written.
        axis: String,
    },
    /// There is no such axis.
    #[error("no axis `{axis}`; {valid}")]
    NoAxis {
        /// The name as it was written.
        axis: String,
        /// The valid names, the nearest first.
        valid: String,
    },
    /// An axis has no such value.
    #[error("axis `{axis}` has no value `{value}`; {valid}")]
    NoValue {
        /// The axis.
        axis: String,
        /// The value as it was written.
        value: String,
        /// The valid values, the nearest first.
        valid: String,
    },
    /// The values of an axis have no field in common.
    #[error("the values of axis `{axis}` have no field `{field}` in common")]
    NoCommonField {
        /// The axis.
        axis: String,
        /// The field as it was written.
        field: String,
    },
    /// Some value of an axis lacks a field.
    #[error("not every value of axis `{axis}` has `{field}`; {valid}")]
    NotEveryValue {
        /// The axis.
        axis: String,
        /// The field as it was written.
        field: String,
        /// The fields that every value has, the nearest first.
        valid: String,
    },
    /// One value of an axis lacks a field.
    #[error("`{value}` of axis `{axis}` has no `{field}`{near}")]
    NoField {
        /// The axis.
        axis: String,
        /// The value.
        value: String,
        /// The field as it was written.
        field: String,
        /// A question whether the nearest field was meant; empty if none is near.
        near: String,
    },
    /// A brace stands alone.
    #[error("`{brace}` without its partner in `{text}`")]
    Brace {
        /// The brace.
        brace: String,
        /// The text.
        text: String,
    },
    /// Several arguments stand within a text.
    #[error("`{{{axis}}}` is a list: it stands for arguments of its own")]
    List {
        /// The axis.
        axis: String,
    },
    /// Nothing says which value of an axis is meant.
    #[error("axis `{axis}` is open: neither `at`, nor `over`, nor the call says which of its values")]
    Open {
        /// The axis.
        axis: String,
    },
    /// A text is wanted as a number and is none.
    #[error("`{what}` is `{text}`, which is no number")]
    NoNumber {
        /// The axis, and the field if one was named.
        what: String,
        /// The text.
        text: String,
    },
    /// A list is wanted as a number.
    #[error("`{what}` is a list, not a number")]
    ListAsNumber {
        /// The axis, and the field if one was named.
        what: String,
    },
}

/// What `{name}` or `{name.field}` is at `place`.
pub(crate) fn at(axes: &Axes, place: &Place, name: &str, field: Option<&str>) -> Result<Vec<String>, AxisError> {
    let open = || AxisError::Open { axis: name.to_owned() };
    let value = axes.axis(name)?.value(place.get(name).ok_or_else(open)?)?;
    let Some(field) = field else { return Ok(vec![value.name.clone()]) };
    let unknown = || {
        let near = nearest(field, value.fields.keys().map(String::as_str));
        let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        AxisError::NoField { axis: name.to_owned(), value: value.name.clone(), field: field.to_owned(), near }
    };
    value.fields.get(field).cloned().ok_or_else(unknown)
}

/// The number that `axis` or `axis.field` is at `place`.
pub(crate) fn number(axes: &Axes, place: &Place, what: &str) -> Result<f64, AxisError> {
    let (name, field) = what.split_once('.').map_or((what, None), |(name, field)| (name, Some(field)));
    match &at(axes, place, name, field)?[..] {
        [text] => text.parse().map_err(|_| AxisError::NoNumber { what: what.to_owned(), text: text.clone() }),
        _ => Err(AxisError::ListAsNumber { what: what.to_owned() }),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn axes() -> Axes {
        let fields = |texts: &[&str]| {
            let texts = texts.iter().map(|text| (*text).to_owned()).collect();
            BTreeMap::from([("args".to_owned(), texts)])
        };
        let value = |name: &str, texts: &[&str]| AxisValue { name: name.to_owned(), fields: fields(texts) };
        let plain = |name: &str| AxisValue { name: name.to_owned(), fields: BTreeMap::new() };
        let mix = Axis { name: "mix".to_owned(), values: vec![value("3-1", &["-a", "3"]), value("4-0", &["4"])] };
        Axes(vec![Axis { name: "clock".to_owned(), values: vec![plain("1600"), plain("2400")] }, mix])
    }

    pub fn place(pairs: &[(&str, &str)]) -> Place {
        pairs.iter().map(|(axis, value)| ((*axis).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_slip_names_what_is_near() {
        let value = axes().check(&place(&[("clock", "2401")])).unwrap_err().to_string();
        assert!(value.contains("did you mean `2400`?"), "{value}");
    }

    #[test]
    fn combinations_are_all_of_them() {
        let names = ["clock".to_owned(), "mix".to_owned()];
        let all: Vec<String> = axes()
            .combinations(&names)
            .iter()
            .map(|place| place.values().cloned().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(all, ["1600 3-1", "1600 4-0", "2400 3-1", "2400 4-0"]);
        assert_eq!(axes().combinations(&[]), [Place::new()]);
    }

    #[test]
    fn an_axis_may_be_a_number() {
        assert_eq!(number(&axes(), &place(&[("clock", "1600")]), "clock"), Ok(1600.0));
        assert_eq!(number(&axes(), &place(&[("mix", "4-0")]), "mix.args"), Ok(4.0));
        assert!(number(&axes(), &place(&[("mix", "4-0")]), "mix").is_err());
    }
}
