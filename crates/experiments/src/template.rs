// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texts in which `{name}` stands for the value of an axis.

use tandem_simulator::input::valid_names;

use crate::axes::{Axes, AxisError, Place, at};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axes::tests::{axes, place};

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
        assert!(Template::parse("{clock").is_err() && Template::parse("clock}").is_err());
    }
}
