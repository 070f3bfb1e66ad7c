// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an object says of the values of an enumeration, such as its counters and states. Enumerators cannot have declaration
//! tags, members of structures can: a member that is named as an enumerator has the enumerator's. `help TEXT` says what it
//! is; `acts`, of a counter, that each count is a decision; `why SENTENCE` with `remedy TEXT` in a second line, of a state,
//! what it comes of and what it would take. A sentence may have words in braces, for which readers put what they know.

use std::collections::BTreeMap;

use super::short_names;
use crate::btf::{Btf, EnumValue, Type, TypeId};

/// What readers know, by the words that stand in braces: `cpus` and the number of CPUs.
pub type Facts = BTreeMap<&'static str, String>;

/// What an object says of the values of an enumeration, by their short names, in the enumeration's order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Meanings(Vec<(String, Meaning)>);

/// What an object says of one value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Meaning {
    /// What the value is.
    pub help: Option<String>,
    /// Of a counter: each count is a decision.
    pub acts: bool,
    /// Of a state: what it comes of. The first holds of which all words in braces are known.
    pub reasons: Vec<Reason>,
}

/// What a state comes of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reason {
    /// A sentence.
    pub why: String,
    /// What would have to be different; it stands behind other words.
    pub remedy: Option<String>,
}

impl Meanings {
    /// What the object with these types says of the enumeration of this name. Only values are listed for which there is a
    /// member of a structure, with tags or without.
    pub fn of(btf: &Btf, enumeration: &str) -> Self {
        let found = btf.find(enumeration, |ty| ty.enumeration().is_some()).and_then(|id| btf.get(id));
        let Some(values) = found.and_then(Type::enumeration) else { return Self::default() };
        let members = members(btf);
        let tags = tags(btf);
        let described: Vec<(&EnumValue, Meaning)> = values
            .values
            .iter()
            .filter_map(|value| {
                let place = members.get(value.name.as_str())?;
                Some((value, Meaning::of(tags.get(place).map_or(&[], Vec::as_slice))))
            })
            .collect();
        let names = short_names(described.iter().map(|(value, _)| *value));
        Self(names.into_iter().zip(described.into_iter().map(|(_, meaning)| meaning)).collect())
    }

    /// What is said of the value of this short name.
    pub fn get(&self, name: &str) -> Option<&Meaning> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, meaning)| meaning)
    }

    /// The values that are described: short names, and what is said.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Meaning)> {
        self.0.iter().map(|(name, meaning)| (name.as_str(), meaning))
    }
}

/// Short names, and what is said of each.
impl FromIterator<(String, Meaning)> for Meanings {
    fn from_iter<I: IntoIterator<Item = (String, Meaning)>>(meanings: I) -> Self {
        Self(meanings.into_iter().collect())
    }
}

impl Meaning {
    fn of(tags: &[&str]) -> Self {
        let mut meaning = Self::default();
        for tag in tags {
            match tag.split_once(' ') {
                None if *tag == "acts" => meaning.acts = true,
                Some(("help", text)) => meaning.help = Some(text.to_owned()),
                Some(("why", text)) => meaning.reasons.push(Reason::of(text)),
                _ => {}
            }
        }
        meaning
    }

    /// Why there is this state, as far as `facts` tell; `None` if the object does not say, as of states that need no reason.
    pub fn reason(&self, facts: &Facts) -> Option<Reason> {
        self.reasons.iter().find_map(|reason| reason.filled(facts))
    }
}

impl Reason {
    fn of(text: &str) -> Self {
        match text.split_once("\nremedy ") {
            Some((why, remedy)) => Self { why: why.to_owned(), remedy: Some(remedy.to_owned()) },
            None => Self { why: text.to_owned(), remedy: None },
        }
    }

    /// The reason with what is known in the place of words in braces; `None` if one is not known.
    fn filled(&self, facts: &Facts) -> Option<Self> {
        let remedy = self.remedy.as_ref().map(|remedy| filled(remedy, facts));
        Some(Self { why: filled(&self.why, facts)?, remedy: remedy.flatten() })
    }
}

fn filled(text: &str, facts: &Facts) -> Option<String> {
    let (mut whole, mut rest) = (String::new(), text);
    while let Some((before, behind)) = rest.split_once('{') {
        let (word, behind) = behind.split_once('}')?;
        whole += before;
        whole += facts.get(word)?;
        rest = behind;
    }
    Some(whole + rest)
}

/// A member of a structure: the structure, and which one of its members.
type Place = (TypeId, u32);

/// The members of all structures by their names; of several with one name the first.
fn members(btf: &Btf) -> BTreeMap<&str, Place> {
    let mut members = BTreeMap::new();
    for (id, ty) in btf.types() {
        let Some(composite) = ty.composite() else { continue };
        for (at, member) in (0_u32..).zip(&composite.members) {
            members.entry(member.name.as_str()).or_insert((id, at));
        }
    }
    members
}

/// The tags of members, in the order of the source.
fn tags(btf: &Btf) -> BTreeMap<Place, Vec<&str>> {
    let mut tags = BTreeMap::<Place, Vec<&str>>::new();
    for (_, ty) in btf.types() {
        let Type::DeclTag { tag, target, component: Some(at) } = ty else { continue };
        tags.entry((*target, *at)).or_default().push(tag.as_str());
    }
    tags
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::btf::Builder;

    /// `enum state` and `enum stat`, and a structure with members of their names.
    fn btf() -> Btf {
        let mut btf = Builder::new();
        let byte = btf.int("char", 1, true);
        btf.enumeration("state", &[("T_STATE_OFF", 0), ("T_STATE_NO_CLOCK", 1)]);
        btf.enumeration("stat", &[("T_STAT_SEEN", 0), ("T_STAT_DONE", 1), ("NR_STATS", 2)]);
        let members = ["T_STATE_OFF", "T_STATE_NO_CLOCK", "T_STAT_SEEN", "T_STAT_DONE"];
        let members: Vec<_> = members.iter().zip((0..).step_by(8)).map(|(name, bit)| (*name, byte, bit)).collect();
        let texts = btf.structure("texts", 4, &members);
        let mut tag = |at, text: &str| {
            btf.add(Type::DeclTag { tag: text.into(), target: texts, component: Some(at) });
        };
        tag(1, "why The governor {governor} does not listen.\nremedy the governor schedutil");
        tag(1, "why None of {clocks} clocks can be changed.\nremedy a driver");
        tag(1, "why There is no clock.");
        tag(2, "help tasks that were seen");
        tag(3, "help tasks that were sent");
        tag(3, "acts");
        tag(3, "somebody else's");
        btf.finish()
    }

    fn why(facts: &[(&'static str, &str)]) -> (String, Option<String>) {
        let facts = facts.iter().map(|(word, text)| (*word, (*text).to_owned())).collect();
        let states = Meanings::of(&btf(), "state");
        let Reason { why, remedy } = states.get("no_clock").unwrap().reason(&facts).unwrap();
        (why, remedy)
    }

    #[test]
    fn members_say_what_the_enumerators_of_their_names_mean() {
        let stats = Meanings::of(&btf(), "stat");
        let said: Vec<_> = stats.iter().map(|(name, it)| (name, it.help.as_deref().unwrap(), it.acts)).collect();
        assert_eq!(said, [("seen", "tasks that were seen", false), ("done", "tasks that were sent", true)]);
        assert_eq!(Meanings::of(&btf(), "stats"), Meanings::default());
    }

    #[test]
    fn of_several_reasons_the_first_holds_of_which_all_is_known() {
        let remedy = |text: &str| Some(text.to_owned());
        let governor = ("The governor ondemand does not listen.".to_owned(), remedy("the governor schedutil"));
        assert_eq!(why(&[("clocks", "2"), ("governor", "ondemand")]), governor);
        assert_eq!(why(&[("clocks", "2")]), ("None of 2 clocks can be changed.".to_owned(), remedy("a driver")));
        assert_eq!(why(&[]), ("There is no clock.".to_owned(), None));
    }

    #[test]
    fn a_state_that_needs_no_reason_has_none() {
        let states = Meanings::of(&btf(), "state");
        assert_eq!(states.get("off").unwrap().reason(&Facts::new()), None);
        assert_eq!(states.get("on"), None);
    }
}
