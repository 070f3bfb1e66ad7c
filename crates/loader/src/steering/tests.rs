// SPDX-License-Identifier: MIT OR Apache-2.0
use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// A machine of clocks with one CPU each, whose knobs others can turn, too.
#[derive(Debug, Default)]
struct Fake {
    knobs: BTreeMap<(usize, Knob), Value>,
    /// What would be given back: what was there before the first write of each knob, noted before it.
    journal: BTreeMap<(usize, Knob), Value>,
    written: Vec<(usize, Knob, Value)>,
    /// Knobs that others have turned since they were last as somebody left them.
    foreign: BTreeMap<(usize, Knob), Value>,
    refuses: bool,
}

impl Fake {
    fn of(clocks: usize) -> Self {
        let mut fake = Self::default();
        for clock in 0..clocks {
            fake.knobs.insert((clock, Knob::Preference), Value::Preference(Preference::BalancePerformance));
            fake.knobs.insert((clock, Knob::Lowest), Value::Khz(800_000));
            fake.knobs.insert((clock, Knob::Highest), Value::Khz(5_000_000));
        }
        fake
    }

    fn preference(&self, clock: usize) -> String {
        self.knobs[&(clock, Knob::Preference)].to_string()
    }

    fn khz(&self, clock: usize) -> [Value; 2] {
        [Knob::Lowest, Knob::Highest].map(|knob| self.knobs[&(clock, knob)])
    }

    /// Somebody else turns a knob.
    fn somebody_sets(&mut self, clock: usize, knob: Knob, value: Value) {
        self.knobs.insert((clock, knob), value);
        self.foreign.insert((clock, knob), value);
    }
}

impl Knobs for Fake {
    fn read(&mut self, domain: usize, knob: Knob) -> Option<Value> {
        self.knobs.get(&(domain, knob)).copied()
    }

    fn write(&mut self, domain: usize, knob: Knob, value: Value) -> Result<Value, Refused> {
        if self.refuses {
            return Err(Refused { why: "busy".to_owned() });
        }
        let now = self.knobs[&(domain, knob)];
        self.journal.entry((domain, knob)).or_insert(now);
        self.written.push((domain, knob, value));
        self.knobs.insert((domain, knob), value);
        Ok(value)
    }
}

/// CPUs that are busy for a share of the time, in thousandths.
struct Busy {
    now: u64,
    busy: Vec<u64>,
}

impl Busy {
    fn of(cpus: usize) -> Self {
        Self { now: 0, busy: vec![0; cpus] }
    }

    fn pass(&mut self, shares: &[u64]) {
        self.now += PERIOD;
        self.busy.iter_mut().zip(shares).for_each(|(busy, share)| *busy += share * PERIOD / 1000);
    }
}

impl Meters for Busy {
    fn reading(&mut self) -> Option<Reading> {
        Some(Reading { now: self.now, busy: self.busy.clone(), waiting: None })
    }
}

fn domains(count: usize) -> Vec<Domain> {
    let costs = Costs::Least { khz: 2_000_000, top: 1.8, saving_khz: 4_500_000, from: KnownFrom::Table };
    let domain = |at: usize| Domain {
        name: format!("policy{at}"),
        cpus: vec![at],
        lowest_khz: 800_000,
        highest_khz: 5_000_000,
        costs,
    };
    (0..count).map(domain).collect()
}

fn khz(lowest: u32, highest: u32) -> [Value; 2] {
    [Value::Khz(lowest), Value::Khz(highest)]
}

#[test]
fn with_no_wish_clocks_below_the_cheapest_one_are_left_out_and_nothing_else_is_turned() {
    let (mut fake, mut busy) = (Fake::of(2), Busy::of(2));
    let mut steering = Steering::begin(Mode::Auto, domains(2), Said::default(), &mut fake, 0);
    assert!(fake.written.is_empty());
    let happened = steering.look(0, &mut busy, &mut fake);
    assert_eq!(happened[0], Happened::Wish { wish: Wish::Balanced, source: Source::Preference });
    assert_eq!(happened[1], Happened::Set { domain: 0, knob: Knob::Lowest, to: Value::Khz(2_000_000) });
    assert_eq!((fake.khz(1), fake.preference(1).as_str()), (khz(2_000_000, 5_000_000), "balance_performance"));
    // Nothing is done before the next look is due, nor in it, as nothing has changed.
    assert_eq!(steering.due(), PERIOD);
    assert!(steering.look(PERIOD - 1, &mut busy, &mut fake).is_empty());
    busy.pass(&[1000, 0]);
    assert!(steering.look(PERIOD, &mut busy, &mut fake).is_empty());
    assert_eq!(fake.preference(1), "balance_performance");
    assert_eq!((steering.held(), steering.counts().changes, steering.counts().looks), (2, 2, 2));
    // At the end all is as it was found.
    steering.end(&mut fake);
    assert_eq!((fake.khz(0), fake.khz(1), steering.held()), (khz(800_000, 5_000_000), khz(800_000, 5_000_000), 0));
}

/// What is short was made faster by the lowest clock, and may be made a little slower again; not so where nothing was raised.
#[test]
fn while_the_use_is_light_the_processor_is_told_to_go_less_far_above_the_lowest_clock() {
    let mut unknown = domains(2);
    unknown[1].costs = Costs::Unknown(Unknown::NoPower);
    let (mut fake, mut busy) = (Fake::of(2), Busy::of(2));
    let mut steering = Steering::begin(Mode::Auto, unknown, Said::default(), &mut fake, 0);
    steering.look(0, &mut busy, &mut fake);
    for look in 1..=4 {
        busy.pass(&[200, 200]);
        steering.look(look * PERIOD, &mut busy, &mut fake);
    }
    assert_eq!([fake.preference(0), fake.preference(1)], ["144", "balance_performance"]);
    busy.pass(&[800, 0]);
    steering.look(5 * PERIOD, &mut busy, &mut fake);
    assert_eq!((fake.preference(0).as_str(), fake.khz(1)), ("balance_performance", khz(800_000, 5_000_000)));
}

#[test]
fn a_wish_to_save_is_passed_on_and_more_so_where_use_is_light() {
    let (mut fake, mut busy) = (Fake::of(2), Busy::of(2));
    let mut steering = Steering::begin(Mode::Powersave, domains(2), Said::default(), &mut fake, 0);
    steering.look(0, &mut busy, &mut fake);
    assert_eq!((fake.preference(0).as_str(), fake.khz(0)), ("176", khz(2_000_000, 4_500_000)));
    // The first CPU is lightly used for four looks, the other one always busy.
    for look in 1..=4 {
        busy.pass(&[100, 900]);
        steering.look(look * PERIOD, &mut busy, &mut fake);
    }
    assert_eq!([fake.preference(0), fake.preference(1)], ["balance_power", "176"]);
    busy.pass(&[700, 0]);
    steering.look(5 * PERIOD, &mut busy, &mut fake);
    assert_eq!(fake.preference(0), "176");
}

#[test]
fn what_somebody_else_turns_is_theirs_and_a_wish_and_is_kept_at_the_end() {
    let (mut fake, mut busy) = (Fake::of(1), Busy::of(1));
    let mut steering = Steering::begin(Mode::Auto, domains(1), Said::default(), &mut fake, 0);
    steering.look(0, &mut busy, &mut fake);
    fake.somebody_sets(0, Knob::Lowest, Value::Khz(1_000_000));
    fake.somebody_sets(0, Knob::Preference, Value::Preference(Preference::Power));
    let happened = steering.look(PERIOD, &mut busy, &mut fake);
    let foreign = |knob, ours, theirs| Happened::Foreign { domain: 0, knob, ours, theirs };
    assert_eq!(happened[0], foreign(Knob::Preference, None, Value::Preference(Preference::Power)));
    assert_eq!(happened[1], foreign(Knob::Lowest, Some(Value::Khz(2_000_000)), Value::Khz(1_000_000)));
    assert_eq!(happened[2], Happened::Wish { wish: Wish::Powersave, source: Source::Preference });
    assert_eq!(happened.len(), 3);
    steering.end(&mut fake);
    assert_eq!((fake.preference(0).as_str(), fake.khz(0)), ("power", khz(1_000_000, 5_000_000)));
}

#[test]
fn what_we_wrote_is_no_wish() {
    let (mut fake, mut busy) = (Fake::of(1), Busy::of(1));
    let mut steering = Steering::begin(Mode::Auto, domains(1), Said::default(), &mut fake, 0);
    steering.hear(Said { daemon: Some("performance".to_owned()), platform: None });
    steering.look(0, &mut busy, &mut fake);
    assert_eq!(fake.preference(0), "performance");
    // The daemon has gone: what counts is what was found, not what we made of it.
    steering.hear(Said::default());
    steering.look(PERIOD, &mut busy, &mut fake);
    assert_eq!(
        (steering.wish(), fake.preference(0).as_str()),
        ((Wish::Balanced, Source::Preference), "balance_performance")
    );
}

#[test]
fn a_knob_that_would_not_be_turned_is_left_alone() {
    let (mut fake, mut busy) = (Fake { refuses: true, ..Fake::of(1) }, Busy::of(1));
    let mut steering = Steering::begin(Mode::Performance, domains(1), Said::default(), &mut fake, 0);
    let happened = steering.look(0, &mut busy, &mut fake);
    assert_eq!(happened.iter().filter(|what| matches!(what, Happened::Refused { .. })).count(), 2);
    assert!(steering.look(PERIOD, &mut busy, &mut fake).is_empty());
    assert_eq!(steering.counts().refused, 2);
}

#[test]
fn a_dear_look_puts_off_the_next_one() {
    let (mut fake, mut busy) = (Fake::of(1), Busy::of(1));
    let mut steering = Steering::begin(Mode::Auto, domains(1), Said::default(), &mut fake, 0);
    steering.look(0, &mut busy, &mut fake);
    steering.took(200_000);
    assert_eq!(steering.due(), PERIOD);
    // A millisecond in a second is a thousandth; no look is put off for longer than four seconds.
    steering.took(1_000_000);
    assert_eq!(steering.due(), 1_000_000_000);
    steering.took(1_000_000_000);
    assert_eq!(steering.due(), 4_000_000_000);
    assert_eq!(steering.counts().spent, 1_001_200_000);
}

/// What may happen between two looks.
#[derive(Debug, Clone)]
enum Between {
    Runs(u64),
    Somebody(usize, Knob, u32),
    Profile(Option<&'static str>),
    Refuses(bool),
}

fn between() -> impl Strategy<Value = Between> {
    let profile = prop::sample::select(vec![None, Some("performance"), Some("balanced"), Some("power-saver")]);
    prop_oneof![
        4 => (0..=1000_u64).prop_map(Between::Runs),
        2 => (0..3_usize, prop::sample::select(Knob::ALL.to_vec()), 0..4_u32).prop_map(|(at, knob, to)| Between::Somebody(at, knob, to)),
        1 => profile.prop_map(Between::Profile),
        1 => any::<bool>().prop_map(Between::Refuses),
    ]
}

fn value(knob: Knob, number: u32) -> Value {
    match knob {
        Knob::Preference => Value::Preference(Preference::Number(number as u8 * 60 + 1)),
        Knob::Lowest => Value::Khz(801_000 + number * 300_000),
        Knob::Highest => Value::Khz(5_000_001 - number * 700_000),
    }
}

proptest! {
    /// Whatever happens: what others have turned is never written again, what we have turned can be given back, and at the end all is
    /// as it was found or as others have made it.
    #[test]
    fn knobs_of_others_stay_theirs_and_ours_are_given_back(
        mode in prop::sample::select(vec![Mode::Auto, Mode::Performance, Mode::Balanced, Mode::Powersave]),
        steps in prop::collection::vec(between(), 0..40),
    ) {
        let (mut fake, mut busy) = (Fake::of(3), Busy::of(3));
        let found = fake.knobs.clone();
        let mut steering = Steering::begin(mode, domains(3), Said::default(), &mut fake, 0);
        for step in steps {
            let mut share = 500;
            match step {
                Between::Runs(busy) => share = busy,
                Between::Somebody(at, knob, to) => fake.somebody_sets(at, knob, value(knob, to)),
                Between::Profile(name) => steering.hear(Said { daemon: name.map(str::to_owned), platform: None }),
                Between::Refuses(refuses) => fake.refuses = refuses,
            }
            busy.pass(&[share, share / 2, 0]);
            fake.written.clear();
            let now = steering.due();
            steering.look(now, &mut busy, &mut fake);
            for (at, knob, _) in &fake.written {
                prop_assert!(!fake.foreign.contains_key(&(*at, *knob)), "{knob:?} of {at} is somebody else's");
            }
            for (key, now) in &fake.knobs {
                let is_known = found[key] == *now || fake.foreign.get(key) == Some(now) || fake.journal.get(key) == Some(&found[key]);
                prop_assert!(is_known, "{key:?} is {now} and nobody can give it back");
            }
            let lowest = |at: usize| fake.knobs[&(at, Knob::Lowest)];
            for at in 0..3 {
                let untouched = !fake.foreign.contains_key(&(at, Knob::Lowest)) && !fake.foreign.contains_key(&(at, Knob::Highest));
                prop_assert!(!untouched || lowest(at) <= fake.knobs[&(at, Knob::Highest)]);
            }
        }
        fake.refuses = false;
        steering.end(&mut fake);
        for (key, now) in &fake.knobs {
            prop_assert_eq!(*now, fake.foreign.get(key).copied().unwrap_or(found[key]));
        }
    }
}
