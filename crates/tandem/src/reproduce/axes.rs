// SPDX-License-Identifier: GPL-2.0-only
//! What an experiment varies: names, the values of each, and texts in which `{name}` stands for one.

use std::collections::BTreeMap;

use tandem_simulator::input::{nearest, valid_names};

/// A value for each of some axes, by the axis' name.
pub type Place = BTreeMap<String, String>;

/// What an experiment varies, in the order of names.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Axes(pub Vec<Axis>);

/// One name and its values.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// As cells and runs call it.
    pub name: String,
    /// At least one.
    pub values: Vec<Value>,
}

/// One value of an axis, and what it stands for in a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// As cells call it; what `{axis}` becomes.
    pub name: String,
    /// What `{axis.field}` becomes: one text, or several arguments.
    pub fields: BTreeMap<String, Vec<String>>,
}

impl Axes {
    /// The names.
    pub fn names(&self) -> Vec<&str> {
        self.0.iter().map(|axis| axis.name.as_str()).collect()
    }

    /// The axis of that name; what is wrong with it otherwise.
    pub fn axis(&self, name: &str) -> Result<&Axis, String> {
        let unknown = || match self.0.is_empty() {
            true => format!("no axis `{name}`: the experiment has none"),
            false => format!("no axis `{name}`; {}", valid_names(name, &self.names())),
        };
        self.0.iter().find(|axis| axis.name == name).ok_or_else(unknown)
    }

    /// Whether `place` names axes and values that exist.
    pub fn check(&self, place: &Place) -> Result<(), String> {
        place.iter().try_for_each(|(axis, value)| self.axis(axis)?.value(value).map(drop))
    }

    /// Every combination of values of the axes `names`, the last one varying first.
    pub fn combinations(&self, names: &[String]) -> Vec<Place> {
        let mut places = vec![Place::new()];
        for axis in names.iter().filter_map(|name| self.axis(name).ok()) {
            let with = |place: &Place, value: &Value| {
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
    fn value(&self, name: &str) -> Result<&Value, String> {
        let names: Vec<&str> = self.values.iter().map(|value| value.name.as_str()).collect();
        let unknown = || format!("axis `{}` has no value `{name}`; {}", self.name, valid_names(name, &names));
        self.values.iter().find(|value| value.name == name).ok_or_else(unknown)
    }

    /// The fields that every value has.
    fn fields(&self) -> Vec<&str> {
        let Some((first, rest)) = self.values.split_first() else { return Vec::new() };
        let names = first.fields.keys().map(String::as_str);
        names.filter(|name| rest.iter().all(|value| value.fields.contains_key(*name))).collect()
    }
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
    /// Reads `text`; fails where a brace has no partner.
    pub fn parse(text: &str) -> Result<Self, String> {
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
            let Some(end) = end else { return Err(format!("`{brace}` without its partner in `{text}`")) };
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
    pub fn check(&self, axes: &Axes) -> Result<(), String> {
        for part in &self.0 {
            let Part::Axis { name, field } = part else { continue };
            let axis = axes.axis(name)?;
            let fields = axis.fields();
            let Some(field) = field.as_deref().filter(|field| !fields.contains(field)) else { continue };
            return Err(match fields.is_empty() {
                true => format!("the values of axis `{name}` have no field `{field}` in common"),
                false => format!("not every value of axis `{name}` has `{field}`; {}", valid_names(field, &fields)),
            });
        }
        Ok(())
    }

    /// The axes that it names.
    pub fn axes(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            Part::Axis { name, .. } => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// The text at `place`, which has a value for each axis.
    pub fn fill(&self, axes: &Axes, place: &Place) -> Result<String, String> {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                Part::Text(part) => text += part,
                Part::Axis { name, field } => match &at(axes, place, name, field.as_deref())?[..] {
                    [part] => text += part,
                    _ => return Err(format!("`{{{name}}}` is a list: it stands for arguments of its own")),
                },
            }
        }
        Ok(text)
    }

    /// The arguments at `place`: a field that is a list, standing alone, becomes as many as it has.
    pub fn arguments(&self, axes: &Axes, place: &Place) -> Result<Vec<String>, String> {
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
fn at(axes: &Axes, place: &Place, name: &str, field: Option<&str>) -> Result<Vec<String>, String> {
    let open = || format!("axis `{name}` is open: neither `at`, nor `over`, nor the call says which of its values");
    let value = axes.axis(name)?.value(place.get(name).ok_or_else(open)?)?;
    let Some(field) = field else { return Ok(vec![value.name.clone()]) };
    let unknown = || {
        let near = nearest(field, value.fields.keys().map(String::as_str));
        let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        format!("`{}` of axis `{name}` has no `{field}`{near}", value.name)
    };
    value.fields.get(field).cloned().ok_or_else(unknown)
}

/// The number that `axis` or `axis.field` is at `place`.
pub fn number(axes: &Axes, place: &Place, what: &str) -> Result<f64, String> {
    let (name, field) = what.split_once('.').map_or((what, None), |(name, field)| (name, Some(field)));
    match &at(axes, place, name, field)?[..] {
        [text] => text.parse().map_err(|_| format!("`{what}` is `{text}`, which is no number")),
        _ => Err(format!("`{what}` is a list, not a number")),
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
        let value = |name: &str, texts: &[&str]| Value { name: name.to_owned(), fields: fields(texts) };
        let plain = |name: &str| Value { name: name.to_owned(), fields: BTreeMap::new() };
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
        assert!(open.starts_with("axis `clock` is open"), "{open}");
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
        let wrong = |text: &str| Template::parse(text).unwrap().check(&axes()).unwrap_err();
        assert!(wrong("{clok}").contains("did you mean `clock`?"), "{}", wrong("{clok}"));
        assert!(wrong("{mix.arg}").contains("did you mean `args`?"), "{}", wrong("{mix.arg}"));
        assert!(axes().check(&place(&[("clock", "2401")])).unwrap_err().contains("did you mean `2400`?"));
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
