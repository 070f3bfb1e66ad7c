// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steers processors that choose clocks themselves: a slow loop over knobs that their drivers have.
//!
//! `scx_bpf_cpuperf_set` asks the governor schedutil. Where the driver is intel_pstate or amd-pstate in active mode there is no such
//! governor: the processor looks at its load about once in a millisecond and decides. What can be said to it is how it shall weigh
//! energy against speed (EPP) and between which clocks it may choose. [`Steering`] does that, a few times a second, from how
//! busy CPUs are and from what work costs at each clock.
//!
//! It is a state machine over two traits, [`Meters`] and [`Knobs`]: it knows no clock, no file and no kernel. The simulator
//! drives it by an event, a session by its ticks.
//!
//! `wish`: what people want, and who says so. `knobs`: what can be turned. `load`: how busy CPUs are. `points`: what work costs.
//! `rules`: what is done, as a function. `ledger`: whose a knob is. `fit`: costs from energy counters.
//!
//! **Whose a knob is.** A knob that reads otherwise than we left it, or found it, is somebody else's from then on: it is never turned
//! again, and not given back either. What we wrote is no wish of anybody: wishes are read of knobs that are not ours.

mod fit;
mod knobs;
mod ledger;
mod load;
mod points;
mod rules;
#[cfg(test)]
mod tests;
mod wish;

use std::fmt;

pub use fit::{Fit, Fitted, KindPower, KindWork};
pub use knobs::{Knob, Knobs, Preference, Refused, Value};
use ledger::{Hold, Turned};
pub use load::{Hysteresis, Load, Meters, Reading, Usage, Use};
pub use points::{Costs, KnownFrom, Unknown};
pub use rules::{Domain, Rules, Wanted};
pub use wish::{Mode, Said, Source, Wish, resolve};

/// From one look to the next, ns.
pub const PERIOD: u64 = 200_000_000;
/// The longest that a dear look puts off the next one.
const LONGEST_PERIOD: u64 = 4_000_000_000;
/// A look may take so many parts of the time until the next one: a thousandth of a CPU.
const SHARE_OF_A_CPU: u64 = 1000;
/// Of so many clocks at a look it is seen whether somebody else has turned something, in turns.
const SEEN_AT_A_LOOK: usize = 16;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happened {
    /// What is wished is known, or has changed.
    Wish {
        /// What is wished.
        wish: Wish,
        /// Who said so.
        source: Source,
    },
    /// A knob was turned.
    Set {
        /// The clock: an index of the domains.
        domain: usize,
        /// The knob.
        knob: Knob,
        /// To what.
        to: Value,
    },
    /// Somebody else has turned a knob, which is theirs from now on.
    Foreign {
        /// The clock: an index of the domains.
        domain: usize,
        /// The knob.
        knob: Knob,
        /// What we had made of it; `None`: we had not turned it.
        ours: Option<Value>,
        /// What they made of it.
        theirs: Value,
    },
    /// A knob would not be turned.
    Refused {
        /// The clock: an index of the domains.
        domain: usize,
        /// The knob.
        knob: Knob,
        /// To what.
        to: Value,
        /// Why the knob would not be turned.
        why: Refused,
    },
}

/// What a steering has done so far, and holds now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Looks at the meters.
    pub looks: u64,
    /// Knobs that were turned.
    pub changes: u64,
    /// Knobs that others turned.
    pub foreign: u64,
    /// Knobs that would not be turned.
    pub refused: u64,
    /// Processor time that looks took, ns, as far as [`Steering::took`] was told.
    pub spent: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { looks, changes, foreign, refused, spent: _ } = self;
        write!(f, "{looks} looks, {changes} changes, {foreign} by others, {refused} refused")
    }
}

/// One clock, and its knobs.
#[derive(Debug, Clone)]
struct Steered {
    domain: Domain,
    usage: Usage,
    holds: [Hold; Knob::ALL.len()],
}

/// The slow loop.
#[derive(Debug, Clone)]
pub struct Steering {
    mode: Mode,
    rules: Rules,
    said: Said,
    wish: Option<(Wish, Source)>,
    clocks: Vec<Steered>,
    last: Option<Reading>,
    due: u64,
    /// The clock that is seen next.
    turn: usize,
    counts: Counts,
}

impl Steering {
    /// Begins at the time `now` (ns): sees what the knobs of the domains are at. Nothing is turned before the first
    /// [`look`](Self::look), which is due at once.
    pub fn begin(mode: Mode, domains: Vec<Domain>, said: Said, knobs: &mut dyn Knobs, now: u64) -> Self {
        let find = |(at, domain): (usize, Domain)| Steered {
            domain,
            usage: Usage::default(),
            holds: Knob::ALL.map(|knob| Hold::find(knobs, at, knob)),
        };
        Self {
            mode,
            rules: Rules::default(),
            said,
            wish: None,
            clocks: domains.into_iter().enumerate().map(find).collect(),
            last: None,
            due: now,
            turn: 0,
            counts: Counts::default(),
        }
    }

    /// When the next look is due, ns.
    pub fn due(&self) -> u64 {
        self.due
    }

    /// The last look took so long, ns: a dear one puts off the next one.
    pub fn took(&mut self, ns: u64) {
        self.counts.spent = self.counts.spent.saturating_add(ns);
        let rest = ns.saturating_mul(SHARE_OF_A_CPU).min(LONGEST_PERIOD);
        if let Some(last) = &self.last {
            self.due = self.due.max(last.now.saturating_add(rest));
        }
    }

    /// What others have said since: a profile was chosen.
    pub fn hear(&mut self, said: Said) {
        self.said = said;
    }

    /// What is wished, and who said so.
    pub fn wish(&self) -> (Wish, Source) {
        self.wish.unwrap_or_else(|| resolve(self.mode, &self.said, &self.preferences()))
    }

    /// What was done so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The domains, in order.
    pub fn domains(&self) -> impl Iterator<Item = &Domain> {
        self.clocks.iter().map(|clock| &clock.domain)
    }

    /// How many knobs are at what we made of them.
    pub fn held(&self) -> usize {
        self.clocks.iter().flat_map(|clock| &clock.holds).filter(|hold| hold.ours().is_some()).count()
    }

    /// Learns what work costs at the clocks of a domain.
    pub fn learn(&mut self, domain: usize, costs: Costs) {
        if let Some(clock) = self.clocks.get_mut(domain) {
            clock.domain.costs = costs;
        }
    }

    /// Looks, and turns what is to be turned. Nothing happens before the look is [`due`](Self::due).
    pub fn look(&mut self, now: u64, meters: &mut dyn Meters, knobs: &mut dyn Knobs) -> Vec<Happened> {
        if now < self.due {
            return Vec::new();
        }
        self.due = now.saturating_add(PERIOD);
        let mut happened = Vec::new();
        self.see_others(knobs, &mut happened);
        let known = resolve(self.mode, &self.said, &self.preferences());
        if self.wish != Some(known) {
            self.wish = Some(known);
            happened.push(Happened::Wish { wish: known.0, source: known.1 });
        }
        self.counts.looks += 1;
        self.measure(meters);
        for at in 0..self.clocks.len() {
            self.steer(at, known.0, knobs, &mut happened);
        }
        happened
    }

    /// Gives back what is ours still.
    pub fn end(&mut self, knobs: &mut dyn Knobs) -> Vec<Happened> {
        let mut happened = Vec::new();
        for at in 0..self.clocks.len() {
            // The highest clock first: the lowest may be above the one that it was at.
            for (number, knob) in Knob::ALL.into_iter().enumerate().rev() {
                let hold = &mut self.clocks[at].holds[number];
                let (ours, found) = (hold.ours(), hold.theirs());
                let turned = hold.give_back(knobs, at, knob);
                self.tell((at, knob), (ours, found), turned, &mut happened);
            }
        }
        happened
    }

    /// What is known of preferences that are not ours.
    fn preferences(&self) -> Vec<Preference> {
        let of = |clock: &Steered| match clock.holds[0].theirs() {
            Some(Value::Preference(preference)) => Some(preference),
            _ => None,
        };
        self.clocks.iter().filter_map(of).collect()
    }

    /// Sees whether somebody has turned a knob of some of the clocks; of all of them within a few looks.
    fn see_others(&mut self, knobs: &mut dyn Knobs, happened: &mut Vec<Happened>) {
        let count = self.clocks.len();
        for _ in 0..count.min(SEEN_AT_A_LOOK) {
            let at = self.turn % count;
            self.turn = (at + 1) % count;
            for (number, knob) in Knob::ALL.into_iter().enumerate() {
                let hold = &mut self.clocks[at].holds[number];
                let ours = hold.ours();
                if let Some(theirs) = hold.look(knobs, at, knob) {
                    self.counts.foreign += 1;
                    happened.push(Happened::Foreign { domain: at, knob, ours, theirs });
                }
            }
        }
    }

    /// Reads the meters, and judges how each clock is used.
    fn measure(&mut self, meters: &mut dyn Meters) {
        if self.clocks.is_empty() {
            return;
        }
        let Some(reading) = meters.reading() else { return };
        if let Some(load) = self.last.as_ref().and_then(|last| Load::between(last, &reading)) {
            for clock in &mut self.clocks {
                clock.usage.look(&self.rules.light, load.busiest(&clock.domain.cpus), load.waiting);
            }
        }
        self.last = Some(reading);
    }

    fn steer(&mut self, at: usize, wish: Wish, knobs: &mut dyn Knobs, happened: &mut Vec<Happened>) {
        let clock = &self.clocks[at];
        let khz = |hold: &Hold, otherwise: u32| match hold.theirs() {
            Some(Value::Khz(khz)) => khz,
            _ => otherwise,
        };
        let [_, lowest, highest] = &clock.holds;
        let found = (khz(lowest, clock.domain.lowest_khz), khz(highest, clock.domain.highest_khz));
        let preference = match clock.holds[0].theirs() {
            Some(Value::Preference(preference)) => preference,
            _ => Preference::Default,
        };
        let wanted = self.rules.wanted(wish, &clock.domain, clock.usage.now, found, preference);
        self.turn_all(at, &wanted, knobs, happened);
    }

    fn turn_all(&mut self, at: usize, wanted: &Wanted, knobs: &mut dyn Knobs, happened: &mut Vec<Happened>) {
        let values =
            [wanted.preference.map(Value::Preference), wanted.lowest.map(Value::Khz), wanted.highest.map(Value::Khz)];
        for (number, (knob, value)) in Knob::ALL.into_iter().zip(values).enumerate() {
            let hold = &mut self.clocks[at].holds[number];
            let ours = hold.ours();
            let asked = value.or(hold.theirs());
            let turned = hold.turn(knobs, at, knob, value);
            self.tell((at, knob), (ours, asked), turned, happened);
        }
    }

    /// Counts and tells what became of a knob of which we had made `ours` and which was to become `asked`.
    fn tell(
        &mut self,
        (domain, knob): (usize, Knob),
        (ours, asked): (Option<Value>, Option<Value>),
        turned: Turned,
        happened: &mut Vec<Happened>,
    ) {
        match (turned, asked) {
            (Turned::Set(to), _) => {
                self.counts.changes += 1;
                happened.push(Happened::Set { domain, knob, to });
            }
            (Turned::Foreign(theirs), _) => {
                self.counts.foreign += 1;
                happened.push(Happened::Foreign { domain, knob, ours, theirs });
            }
            (Turned::Refused(why), Some(to)) => {
                self.counts.refused += 1;
                happened.push(Happened::Refused { domain, knob, to, why });
            }
            (Turned::Left | Turned::Refused(_), _) => {}
        }
    }
}
