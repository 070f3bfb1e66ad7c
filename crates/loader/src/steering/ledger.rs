// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whose a knob is: what it was at when we came, what we made of it, and whether somebody else has turned it since.

use super::knobs::{Knob, Knobs, Refused, Value};

/// One knob of one clock.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Hold {
    /// There is no such knob, or it would not be turned.
    #[default]
    Absent,
    /// As the knob was found.
    Found(Value),
    /// We have turned it.
    Ours {
        /// What it was at first.
        found: Value,
        /// What we asked for.
        asked: Value,
        /// What it became.
        became: Value,
    },
    /// Somebody else has turned it since: it is theirs until the end.
    Theirs(Value),
}

/// What became of a wish to turn a knob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Turned {
    /// Nothing was to be done, or may be.
    Left,
    /// The knob was turned, to this.
    Set(Value),
    /// Somebody else had turned it, to this.
    Foreign(Value),
    /// The knob would not be turned.
    Refused(Refused),
}

impl Hold {
    /// A knob as it is found.
    pub fn find(knobs: &mut dyn Knobs, domain: usize, knob: Knob) -> Self {
        knobs.read(domain, knob).map_or(Self::Absent, Self::Found)
    }

    /// What it was at when we came, or what somebody has made of it since.
    pub fn theirs(&self) -> Option<Value> {
        match self {
            Self::Absent => None,
            Self::Found(found) | Self::Ours { found, .. } => Some(*found),
            Self::Theirs(value) => Some(*value),
        }
    }

    /// What we have made of it, if it is ours.
    pub fn ours(&self) -> Option<Value> {
        match self {
            Self::Ours { became, .. } => Some(*became),
            _ => None,
        }
    }

    /// Looks whether somebody else has turned it; what they made of it.
    pub fn look(&mut self, knobs: &mut dyn Knobs, domain: usize, knob: Knob) -> Option<Value> {
        let known = match self {
            Self::Absent => return None,
            Self::Found(value) | Self::Theirs(value) => *value,
            Self::Ours { became, .. } => *became,
        };
        let now = knobs.read(domain, knob)?;
        if now == known {
            return None;
        }
        *self = Self::Theirs(now);
        Some(now)
    }

    /// Turns it to `wanted`, or to what it was at first (`None`), unless it is somebody else's by now.
    pub fn turn(&mut self, knobs: &mut dyn Knobs, domain: usize, knob: Knob, wanted: Option<Value>) -> Turned {
        let (found, asked) = match self {
            Self::Absent | Self::Theirs(_) => return Turned::Left,
            Self::Found(found) => (*found, *found),
            Self::Ours { found, asked, .. } => (*found, *asked),
        };
        let wanted = wanted.unwrap_or(found);
        if wanted == asked {
            return Turned::Left;
        }
        self.set(knobs, domain, knob, found, wanted)
    }

    /// Turns it back to what it was at first, if it is ours, also where that was refused before.
    pub fn give_back(&mut self, knobs: &mut dyn Knobs, domain: usize, knob: Knob) -> Turned {
        match self {
            Self::Ours { found, .. } => {
                let found = *found;
                self.set(knobs, domain, knob, found, found)
            }
            _ => Turned::Left,
        }
    }

    fn set(&mut self, knobs: &mut dyn Knobs, domain: usize, knob: Knob, found: Value, wanted: Value) -> Turned {
        if let Some(foreign) = self.look(knobs, domain, knob) {
            return Turned::Foreign(foreign);
        }
        match knobs.write(domain, knob, wanted) {
            Ok(became) if became == found => *self = Self::Found(found),
            Ok(became) => *self = Self::Ours { found, asked: wanted, became },
            Err(refused) => {
                // What is ours stays so, to be given back, and is not asked for the same again; what was never turned is left alone.
                *self = match std::mem::take(self) {
                    Self::Ours { found, became, .. } => Self::Ours { found, asked: wanted, became },
                    _ => Self::Absent,
                };
                return Turned::Refused(refused);
            }
        }
        Turned::Set(wanted)
    }
}
