// SPDX-License-Identifier: GPL-2.0-only
//! The mechanisms of Tandem's scheduler (`bpf/`): what its object says of settings, states and counters.

use std::sync::{Arc, LazyLock};

use tandem_bpf_vm::btf::Type;
use tandem_bpf_vm::object::Object;
use tandem_bpf_vm::open::{Meanings, OpenObject, Setting};
use tandem_live::KeepsLimits;

use crate::bundled::TANDEM;

/// The enumerations of states and of counters.
const STATES: &str = "tandem_state";
const COUNTERS: &str = "tandem_stat";
/// What the name of a state's variable has behind that of the mechanism.
const SUFFIX: &str = "_state";

/// A mechanism.
#[derive(Debug)]
pub struct Mechanism {
    /// The mechanism's name, which is that of the setting that turns it on.
    pub name: String,
    /// What the setting has to be.
    pub value: String,
    /// First word of the names of the mechanism's counters, with the `_` behind it.
    pub prefix: String,
    /// The mechanism's counters, in the object's order.
    pub counters: Vec<Counter>,
}

/// A counter.
#[derive(Debug)]
pub struct Counter {
    /// The counter's name.
    pub name: String,
    /// What is counted.
    pub meaning: String,
    /// Each count is a decision that would have been another without the mechanism; other counters are of what such decisions
    /// come from.
    pub acts: bool,
}

/// What the object says.
struct Words {
    mechanisms: Vec<Mechanism>,
    parts: Vec<String>,
    states: Meanings,
    /// Whether limits of groups are kept, where the kernel passes them on.
    keeps_limits: KeepsLimits,
    counters: Vec<Counter>,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let object = Object::parse(TANDEM.object).expect("the build script compiled this object");
    Words::of(&OpenObject::new(Arc::new(object)))
});

/// All mechanisms, in the order in which a task is asked about: where, which CPU, when, with whom, how fast.
pub fn mechanisms() -> &'static [Mechanism] {
    &WORDS.mechanisms
}

/// Settings that are no mechanism's switch and have a state all the same: parts of mechanisms, which may lack what the rest has.
pub fn parts() -> &'static [String] {
    &WORDS.parts
}

/// The variable that says what state a mechanism or a part of one is in.
pub fn state_of(name: &str) -> String {
    format!("{name}{SUFFIX}")
}

/// What the states mean that mechanisms can be in.
pub fn states() -> &'static Meanings {
    &WORDS.states
}

/// How the scheduler keeps limits of groups (`cpu.max`) where it schedules.
pub fn keeps_limits() -> KeepsLimits {
    WORDS.keeps_limits
}

/// The counter of this name, a mechanism's or not.
pub fn counter(name: &str) -> Option<&'static Counter> {
    WORDS.counters.iter().find(|counter| counter.name == name)
}

impl Mechanism {
    /// The variable that says what state the mechanism is in.
    pub fn state(&self) -> String {
        state_of(&self.name)
    }

    /// What turns the mechanism on, as written behind `tandem,`.
    pub fn on(&self) -> String {
        format!("{}={}", self.name, self.value)
    }

    fn of(setting: &Setting, counters: &Meanings) -> Self {
        let word = setting.name.split('_').next().unwrap_or(&setting.name);
        let prefix = format!("{word}_");
        Self {
            name: setting.name.clone(),
            // The last of several ways is the one that `all` stands for.
            value: setting.names.last().cloned().unwrap_or_else(|| "true".to_owned()),
            counters: Counter::all(counters).filter(|counter| counter.name.starts_with(&prefix)).collect(),
            prefix,
        }
    }
}

impl Counter {
    fn all(counters: &Meanings) -> impl Iterator<Item = Self> {
        counters.iter().map(|(name, meaning)| Self {
            name: name.to_owned(),
            meaning: meaning.help.clone().unwrap_or_default(),
            acts: meaning.acts,
        })
    }
}

impl Words {
    fn of(open: &OpenObject) -> Self {
        let btf = &open.object().btf;
        let (states, counters) = (Meanings::of(btf, STATES), Meanings::of(btf, COUNTERS));
        let settings = open.variables();
        // The variables of states, in the order of the source.
        let names = btf.types().filter_map(|(_, ty)| match ty {
            Type::Var { name, type_id, .. } if btf.name(*type_id) == STATES => name.as_str().strip_suffix(SUFFIX),
            _ => None,
        });
        let setting = |name: &str| settings.iter().find(|setting| setting.name == name);
        // What a mechanism needs of sched_ext hangs on its switch.
        let is_switch = |setting: &&Setting| setting.tags.as_ref().is_some_and(|tags| !tags.needs.is_empty());
        let (switches, parts): (Vec<_>, Vec<_>) = names.filter_map(setting).partition(is_switch);
        Self {
            mechanisms: switches.into_iter().map(|setting| Mechanism::of(setting, &counters)).collect(),
            parts: parts.into_iter().map(|setting| setting.name.clone()).collect(),
            states,
            keeps_limits: tandem_live::keeps_limits(open.object()),
            counters: Counter::all(&counters).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_object_names_five_mechanisms_and_what_turns_them_on() {
        let on: Vec<String> = mechanisms().iter().map(Mechanism::on).collect();
        let all = ["isolate=shared", "longest=true", "serial_first=true", "sorted=true", "speed=true"];
        assert_eq!(on, all);
        let prefixes: Vec<&str> = mechanisms().iter().map(|mechanism| mechanism.prefix.as_str()).collect();
        assert_eq!(prefixes, ["isolate_", "longest_", "serial_", "sorted_", "speed_"]);
        assert_eq!(parts(), ["edp"]);
    }

    #[test]
    fn the_object_says_of_each_counter_what_it_counts_and_of_each_mechanism_how_it_acts() {
        assert!(WORDS.counters.len() > 30 && WORDS.counters.iter().all(|counter| !counter.meaning.is_empty()));
        for mechanism in mechanisms() {
            assert!(mechanism.counters.iter().any(|counter| counter.acts), "{}", mechanism.name);
        }
        let of_none = |counter: &&Counter| !mechanisms().iter().any(|it| counter.name.starts_with(&it.prefix));
        let others: Vec<&str> = WORDS.counters.iter().filter(of_none).map(|counter| counter.name.as_str()).collect();
        assert_eq!(
            others,
            [
                "base_idle",
                "base_queued",
                "base_limited",
                "base_preempted",
                "base_unknown",
                "base_ungrouped",
                "pull_asked",
                "pull_moved",
                "pull_turns",
            ]
        );
    }

    #[test]
    fn the_guide_names_every_counter_and_every_inert_state() {
        let guide = include_str!("../../../docs/mechanisms.md");
        let named = |name: &str| guide.contains(&format!("`{name}`"));
        let counters = WORDS.counters.iter().map(|counter| counter.name.as_str());
        let inert = states().iter().filter(|(_, meaning)| !meaning.reasons.is_empty()).map(|(state, _)| state);
        let missing: Vec<&str> = counters.chain(inert).filter(|name| !named(name)).collect();
        assert!(missing.is_empty(), "docs/mechanisms.md does not name {missing:?}");
    }

    #[test]
    fn the_object_says_of_each_inert_state_why_and_what_it_would_take() {
        for (state, meaning) in states().iter() {
            let inert = !["off", "active"].contains(&state);
            assert_eq!(!meaning.reasons.is_empty(), inert, "{state}");
            assert!(meaning.reasons.iter().all(|reason| reason.remedy.is_some()), "{state}");
        }
        assert_eq!(states().iter().count(), 9);
    }
}
