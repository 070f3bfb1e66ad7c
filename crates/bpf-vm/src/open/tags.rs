// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an object says of its settings, in declaration tags (`btf_decl_tag`) of its variables: `range 1..100`, `unit
//! us`, `help One sentence.`, `letter true: section 4`, `fact The memory's bandwidth.`, `needs runnable SCX_OPS_ENQ_LAST`. Other tags have other readers and
//! mean nothing here.

use std::collections::BTreeMap;

use crate::btf::{Btf, Type};

/// What an object says of one of its variables.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tags {
    /// The least and the largest number that the variable may be set to; for an array, each element.
    pub range: Option<(i128, i128)>,
    /// The unit of the variable's numbers.
    pub unit: Option<String>,
    /// What the variable does, for people.
    pub help: Option<String>,
    /// Which value is as the paper has it that describes the mechanism, and where in the paper.
    pub letter: Option<String>,
    /// How the machine is, which the variable's number says: a fact that no search may choose. `None` for a policy.
    pub fact: Option<String>,
    /// Callbacks, programs and flags that are of use only if the variable is on; see [`Needs`](super::Needs).
    pub needs: Vec<String>,
}

impl Tags {
    /// The tags of all variables that have any, by name.
    pub(super) fn of(btf: &Btf) -> BTreeMap<String, Self> {
        let mut all = BTreeMap::<String, Self>::new();
        for (_, ty) in btf.types() {
            let Type::DeclTag { tag, target, component: None } = ty else { continue };
            let Some(Type::Var { name, .. }) = btf.get(*target) else { continue };
            let Some((word, text)) = tag.as_str().split_once(' ') else { continue };
            let text = text.trim().to_owned();
            match word {
                "range" => {
                    let Some(range) = range(&text) else { continue };
                    all.entry(name.to_string()).or_default().range = Some(range);
                }
                "unit" => all.entry(name.to_string()).or_default().unit = Some(text),
                "help" => all.entry(name.to_string()).or_default().help = Some(text),
                "letter" => all.entry(name.to_string()).or_default().letter = Some(text),
                "fact" => all.entry(name.to_string()).or_default().fact = Some(text),
                "needs" => {
                    let names = text.split_whitespace().map(str::to_owned);
                    all.entry(name.to_string()).or_default().needs.extend(names);
                }
                _ => {}
            }
        }
        all
    }
}

/// A part of an object that comes in another one's place while a variable is on (`instead cpu_release tandem_sched_switch`). Such
/// a variable is no setting: a loader sets it, by what the kernel has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Instead {
    /// The variable.
    pub(super) variable: String,
    /// The callback, program or flag whose place it is.
    pub(super) of: String,
    /// What comes there.
    pub(super) comes: String,
}

impl Instead {
    /// All that an object has.
    pub(super) fn all(btf: &Btf) -> Vec<Self> {
        let parts = btf.types().filter_map(|(_, ty)| {
            let Type::DeclTag { tag, target, component: None } = ty else { return None };
            let Some(Type::Var { name, .. }) = btf.get(*target) else { return None };
            let mut words = tag.as_str().strip_prefix("instead ")?.split_whitespace().map(str::to_owned);
            Some(Self { variable: name.to_string(), of: words.next()?, comes: words.next()? })
        });
        parts.collect()
    }
}

/// Bits that a setting adds to a number while it is on (`adds asked 0x2`), so that the object sees what several settings come to by one
/// look at a constant. The number is no setting: it has these bits and no others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Adds {
    /// The setting.
    pub(super) setting: String,
    /// The variable that has the bits.
    pub(super) to: String,
    /// The bits.
    pub(super) bits: u32,
}

impl Adds {
    /// All that an object has.
    pub(super) fn all(btf: &Btf) -> Vec<Self> {
        let parts = btf.types().filter_map(|(_, ty)| {
            let Type::DeclTag { tag, target, component: None } = ty else { return None };
            let Some(Type::Var { name, .. }) = btf.get(*target) else { return None };
            let (to, bits) = tag.as_str().strip_prefix("adds ")?.split_once(' ')?;
            let bits = u32::from_str_radix(bits.trim().strip_prefix("0x")?, 16).ok()?;
            Some(Self { setting: name.to_string(), to: to.to_owned(), bits })
        });
        parts.collect()
    }
}

/// A range such as `1..100`, both ends included.
fn range(text: &str) -> Option<(i128, i128)> {
    let (least, largest) = text.split_once("..")?;
    let number = |text: &str| text.trim().parse::<i64>().ok().map(i128::from);
    Some((number(least)?, number(largest)?)).filter(|(least, largest)| least <= largest)
}
