// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an experiment varies: names, the values of each, and texts in which `{name}` stands for one.

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
    fn fields(&self) -> Vec<&str> {
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

/// `{seed}` stays as it is: each run of a simulation has its own.
const SEED: &str = "seed";

/// A text in which `{axis}` and `{axis.field}` stand for what a place says; `{{` and `}}` are braces.
#[derive(Debug, Clone, PartialEq)]
pub struct Template(Vec<Part>);

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Text(String),
    Axis { name: String, field: Option<String> },
}

impl Template {
    /// Reads `text`.
    ///
    /// # Errors
    /// A brace has no partner.
    pub fn parse(text: &str) -> Result<Self, AxisError> {
        let mut parts = vec![Part::Text(String::new())];
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            push_text(&mut parts, &rest[..at]);
            let brace = &rest[at..at + 1];
            rest = &rest[at + 1..];
            if let Some(behind) = rest.strip_prefix(brace) {
                push_text(&mut parts, brace);
                rest = behind;
                continue;
            }
            let end = rest.find('}').filter(|_| brace == "{");
            let Some(end) = end else {
                return Err(AxisError::Brace { brace: brace.to_owned(), text: text.to_owned() });
            };
            if &rest[..end] == SEED {
                push_text(&mut parts, &format!("{{{SEED}}}"));
                rest = &rest[end + 1..];
                continue;
            }
            let (name, field) = match rest[..end].split_once('.') {
                Some((name, field)) => (name, Some(field.to_owned())),
                None => (&rest[..end], None),
            };
            parts.push(Part::Axis { name: name.to_owned(), field });
            rest = &rest[end + 1..];
        }
        push_text(&mut parts, rest);
        parts.retain(|part| *part != Part::Text(String::new()));
        Ok(Self(parts))
    }

    /// Whether `axes` have all that is named.
    ///
    /// # Errors
    /// There is no such axis, or not every value of it has the field.
    pub fn check(&self, axes: &Axes) -> Result<(), AxisError> {
        for part in &self.0 {
            let Part::Axis { name, field } = part else { continue };
            let axis = axes.axis(name)?;
            let fields = axis.fields();
            let Some(field) = field.as_deref().filter(|field| !fields.contains(field)) else { continue };
            let valid = valid_names(field, &fields);
            let (axis, field) = (name.clone(), field.to_owned());
            return Err(match fields.is_empty() {
                true => AxisError::NoCommonField { axis, field },
                false => AxisError::NotEveryValue { axis, field, valid },
            });
        }
        Ok(())
    }

    /// The axes that the text names.
    pub fn axes(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            Part::Axis { name, .. } => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// The text at `place`, which has a value for each axis.
    ///
    /// # Errors
    /// `place` has no value for an axis, or a list stands within the text.
    pub fn fill(&self, axes: &Axes, place: &Place) -> Result<String, AxisError> {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                Part::Text(part) => text += part,
                Part::Axis { name, field } => match &at(axes, place, name, field.as_deref())?[..] {
                    [part] => text += part,
                    _ => return Err(AxisError::List { axis: name.clone() }),
                },
            }
        }
        Ok(text)
    }

    /// The arguments at `place`: a field that is a list, standing alone, becomes as many as it has.
    ///
    /// # Errors
    /// As of [`Template::fill`].
    pub fn arguments(&self, axes: &Axes, place: &Place) -> Result<Vec<String>, AxisError> {
        match &self.0[..] {
            [Part::Axis { name, field }] => at(axes, place, name, field.as_deref()),
            _ => Ok(vec![self.fill(axes, place)?]),
        }
    }
}

fn push_text(parts: &mut Vec<Part>, text: &str) {
    match parts.last_mut() {
        Some(Part::Text(last)) => *last += text,
        _ => parts.push(Part::Text(text.to_owned())),
    }
}

/// What `{name}` or `{name.field}` is at `place`.
fn at(axes: &Axes, place: &Place, name: &str, field: Option<&str>) -> Result<Vec<String>, AxisError> {
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
mod tests {
    use super::*;

    fn axes() -> Axes {
        let fields = |texts: &[&str]| {
            let texts = texts.iter().map(|text| (*text).to_owned()).collect();
            BTreeMap::from([("args".to_owned(), texts)])
        };
        let value = |name: &str, texts: &[&str]| AxisValue { name: name.to_owned(), fields: fields(texts) };
        let plain = |name: &str| AxisValue { name: name.to_owned(), fields: BTreeMap::new() };
        let mix = Axis { name: "mix".to_owned(), values: vec![value("3-1", &["-a", "3"]), value("4-0", &["4"])] };
        Axes(vec![Axis { name: "clock".to_owned(), values: vec![plain("1600"), plain("2400")] }, mix])
    }

    fn place(pairs: &[(&str, &str)]) -> Place {
        pairs.iter().map(|(axis, value)| ((*axis).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn names_in_braces_become_what_the_place_says() {
        let text = Template::parse("fair+userspace={clock}MHz {{x}}").unwrap();
        assert_eq!(text.axes().collect::<Vec<_>>(), ["clock"]);
        assert_eq!(text.fill(&axes(), &place(&[("clock", "1600")])).unwrap(), "fair+userspace=1600MHz {x}");
        let open = text.fill(&axes(), &place(&[("mix", "4-0")])).unwrap_err();
        assert_eq!(open, AxisError::Open { axis: "clock".to_owned() });
    }

    #[test]
    fn a_seed_stays_for_each_run_to_fill_in() {
        let text = Template::parse("{seed}").unwrap();
        assert_eq!(text.axes().count(), 0);
        assert_eq!(text.arguments(&axes(), &Place::new()).unwrap(), ["{seed}"]);
    }

    #[test]
    fn a_list_becomes_arguments_where_it_stands_alone() {
        let alone = Template::parse("{mix.args}").unwrap();
        assert_eq!(alone.arguments(&axes(), &place(&[("mix", "3-1")])).unwrap(), ["-a", "3"]);
        let inside = Template::parse("x{mix.args}").unwrap();
        assert_eq!(inside.arguments(&axes(), &place(&[("mix", "4-0")])).unwrap(), ["x4"]);
        assert!(inside.arguments(&axes(), &place(&[("mix", "3-1")])).is_err());
    }

    #[test]
    fn a_slip_names_what_is_near() {
        let wrong = |text: &str| Template::parse(text).unwrap().check(&axes()).unwrap_err().to_string();
        assert!(wrong("{clok}").contains("did you mean `clock`?"), "{}", wrong("{clok}"));
        assert!(wrong("{mix.arg}").contains("did you mean `args`?"), "{}", wrong("{mix.arg}"));
        let value = axes().check(&place(&[("clock", "2401")])).unwrap_err().to_string();
        assert!(value.contains("did you mean `2400`?"), "{value}");
        assert!(Template::parse("{clock").is_err() && Template::parse("clock}").is_err());
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
