// SPDX-License-Identifier: GPL-2.0-only
//! Which settings of a scheduler a search may change, and to what.

use tandem_experiments::{Dimension, Domain, Scenario};
use tandem_simulator::input::valid_names;
use tandem_simulator::machine::Machine;
use tandem_simulator::simulation::{SchedExt, VariableListing};

use crate::failure::Failure;

/// A setting as `--parameter` names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    name: String,
    /// The values that the setting may have; `None`: those that the object says.
    domain: Option<Domain>,
}

/// Reads `NAME`, `NAME=LOW..HIGH` or `NAME=A,B,C`.
pub fn parameter(text: &str) -> Result<Parameter, String> {
    let (name, values) = text.split_once('=').map_or((text, None), |(name, values)| (name, Some(values)));
    let wrong = || format!("`{text}` is no parameter: expected NAME, NAME=LOW..HIGH or NAME=A,B,C");
    let domain = match values {
        None => None,
        Some(values) => Some(match values.split_once("..") {
            Some((low, high)) => {
                let number = |text: &str| text.trim().parse::<i64>().map_err(|_| wrong());
                let (low, high) = (number(low)?, number(high)?);
                if low >= high {
                    return Err(format!("`{text}`: the low end must be below the high one"));
                }
                Domain::Whole(low, high)
            }
            None => {
                let names: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
                if names.len() < 2 || names.iter().any(String::is_empty) {
                    return Err(wrong());
                }
                Domain::Names(names)
            }
        }),
    };
    if name.trim().is_empty() { Err(wrong()) } else { Ok(Parameter { name: name.trim().to_owned(), domain }) }
}

/// The settings of `object` that may change: those that are named, else all whose values the object says; never those that the
/// command line fixes.
pub fn dimensions(
    object: &SchedExt,
    scenario: &Scenario,
    named: &[Parameter],
    bounds: &Bounds,
) -> Result<Vec<Dimension>, Failure> {
    let path = object.path.display();
    let listing = object.listing().map_err(|why| Failure::Options(format!("{path}: {why}")))?;
    let fixed = |name: &str| object.settings.iter().any(|(key, _)| key == name) || scenario.value_of(name).is_some();
    let known: Vec<&VariableListing> =
        listing.variables.iter().filter(|variable| object.has_setting(&variable.name)).collect();
    if named.is_empty() {
        let is_policy = |variable: &&&VariableListing| variable.constant && variable.fact.is_none();
        let free = known.iter().filter(is_policy).filter(|variable| !fixed(&variable.name));
        let dimensions: Vec<Dimension> =
            free.filter_map(|variable| Some(of(variable, bounds.within(variable, domain(variable)?)?))).collect();
        return match dimensions.is_empty() {
            true => Err(Failure::Options(format!(
                "{path}: no setting has a range that the object says\n  help: name one, --parameter NAME=LOW..HIGH; `tandem \
                 scheduler show {path}` lists the variables"
            ))),
            false => Ok(dimensions),
        };
    }
    let mut dimensions: Vec<Dimension> = Vec::new();
    for Parameter { name, domain: given } in named {
        let wrong = |why: String| Failure::Options(format!("--parameter {name}: {why}"));
        let names = || known.iter().map(|variable| variable.name.as_str()).collect::<Vec<_>>();
        let variable = known.iter().find(|variable| variable.name == *name);
        let variable =
            variable.ok_or_else(|| wrong(format!("{path} has no such setting; {}", valid_names(name, &names()))))?;
        if let Some(fact) = &variable.fact {
            let fact = fact.trim_end_matches('.');
            return Err(wrong(format!("is how the machine is, and no policy: {fact}; --set {name}=VALUE says so")));
        }
        if fixed(name) || dimensions.iter().any(|dimension| dimension.name == *name) {
            return Err(wrong("is set, or named, already".to_owned()));
        }
        let domain = given.clone().or_else(|| bounds.within(variable, domain(variable)?));
        let domain = domain.ok_or_else(|| wrong(format!("the object says no range: expected {name}=LOW..HIGH")))?;
        within(variable, &domain).map_err(wrong)?;
        let dimension = of(variable, domain);
        let value = |share| (name.clone(), dimension.domain.at(share));
        for end in [value(0.0), value(1.0)] {
            object.with_settings(vec![end]).map_err(|error| wrong(error.to_string()))?;
        }
        dimensions.push(dimension);
    }
    Ok(dimensions)
}

fn of(variable: &VariableListing, domain: Domain) -> Dimension {
    let own = Some(variable.value.clone()).filter(|value| domain.share(value).is_some());
    Dimension { name: variable.name.clone(), domain, own }
}

/// How far the numbers of settings reach on all machines that are searched on, by their units.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// The last CPU that every machine has.
    last_cpu: i64,
    /// The highest clock of the slowest machine, in MHz.
    most_mhz: i64,
}

impl Bounds {
    /// The bounds of `machines`.
    pub fn of(machines: &[Machine]) -> Self {
        let cpus = machines.iter().map(|machine| machine.cpus.len() as i64);
        let mhz = machines.iter().map(|machine| {
            let opps = machine.performance_domains.iter().flat_map(|domain| &domain.opps);
            opps.map(|opp| i64::from(opp.khz) / 1000).max().unwrap_or(0)
        });
        Self { last_cpu: cpus.min().unwrap_or(1) - 1, most_mhz: mhz.min().unwrap_or(0) }
    }

    /// The part of a range that means something on the machines; `None` if that is one value.
    fn within(&self, variable: &VariableListing, domain: Domain) -> Option<Domain> {
        let most = match variable.unit.as_deref() {
            Some("CPU") => self.last_cpu,
            Some("MHz") => self.most_mhz,
            _ => return Some(domain),
        };
        match domain {
            Domain::Whole(low, high) => (low < most.min(high)).then(|| Domain::Whole(low, most.min(high))),
            names => Some(names),
        }
    }
}

/// The values that the object says.
fn domain(variable: &VariableListing) -> Option<Domain> {
    match (variable.range, variable.type_name.as_str()) {
        _ if !variable.names.is_empty() => Some(Domain::Names(variable.names.clone())),
        (Some((low, high)), _) if low < high => Some(Domain::Whole(low, high)),
        (_, "bool" | "_Bool") => Some(Domain::Names(vec!["false".to_owned(), "true".to_owned()])),
        _ => None,
    }
}

/// Whether a range is within that of the object.
fn within(variable: &VariableListing, domain: &Domain) -> Result<(), String> {
    match (variable.range, domain) {
        (Some((low, high)), Domain::Whole(from, to)) if *from < low || *to > high => {
            Err(format!("{from}..{to} is not within {low} to {high}, which the object says"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::object;

    fn named(texts: &[&str]) -> Result<Vec<Dimension>, String> {
        let parameters: Vec<Parameter> = texts.iter().map(|text| parameter(text).unwrap()).collect();
        let object = object("tandem,longest=true").unwrap();
        let machines = ["hikey960", "smp-8"].map(|name| Machine::load(name).unwrap());
        dimensions(&object, &Scenario::default(), &parameters, &Bounds::of(&machines))
            .map_err(|failure| failure.to_string())
    }

    #[test]
    fn parameters_are_read_as_they_are_written() {
        let read = |text: &str| parameter(text).map(|parameter| parameter.domain);
        assert_eq!(read("slice_us"), Ok(None));
        assert_eq!(read("slice_us=500..2000"), Ok(Some(Domain::Whole(500, 2000))));
        assert_eq!(read("x=a,b"), Ok(Some(Domain::Names(vec!["a".to_owned(), "b".to_owned()]))));
        for wrong in ["", "=1..2", "x=", "x=1", "x=a..b", "x=2..1", "x=a,,b"] {
            assert!(parameter(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_object_says_what_its_settings_may_be() {
        let all = named(&[]).unwrap();
        let of = |name: &str| all.iter().find(|dimension| dimension.name == name);
        let seniority = of("seniority_ms").unwrap();
        assert_eq!((&seniority.domain, seniority.own.as_deref()), (&Domain::Whole(1, 60_000), Some("500")));
        assert!(matches!(&of("isolate").unwrap().domain, Domain::Names(names) if names.len() == 3));
        assert!(matches!(&of("sorted").unwrap().domain, Domain::Names(names) if names == &["false", "true"]));
        assert_eq!(of("longest"), None);
    }

    #[test]
    fn facts_of_the_machine_are_not_searched_and_numbers_end_with_the_machines() {
        let all = named(&[]).unwrap();
        let of = |name: &str| all.iter().find(|dimension| dimension.name == name).map(|dimension| &dimension.domain);
        for fact in ["memory_mbps", "edp_base_pct", "edp_slope_pct"] {
            assert_eq!(of(fact), None, "{fact}");
            let message = named(&[fact]).unwrap_err();
            assert!(message.contains("is how the machine is, and no policy"), "{message}");
        }
        // Both have eight CPUs; hikey960's fast ones reach 2,362 MHz.
        assert_eq!(of("os_cpu"), Some(&Domain::Whole(-1, 7)));
        assert!(matches!(of("os_mhz"), Some(Domain::Whole(0, most)) if *most <= 2362), "{:?}", of("os_mhz"));
    }

    #[test]
    fn what_cannot_be_is_told() {
        let one = named(&["seniority_ms=1000..2000"]).unwrap();
        // Its own value is outside: each point sets it.
        assert_eq!((one.len(), one[0].own.as_deref()), (1, None));
        for (wrong, expected) in [
            (&["seniority_mss"][..], "did you mean `seniority_ms`?"),
            (&["seniority_ms=0..2000"], "0..2000 is not within 1 to 60000"),
            (&["longest"], "is set, or named, already"),
            (&["sorted", "sorted"], "is set, or named, already"),
            (&["sorted=1,maybe"], "maybe"),
        ] {
            let message = named(wrong).unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
    }
}
