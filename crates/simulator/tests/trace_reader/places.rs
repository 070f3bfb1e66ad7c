// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where threads are, as somebody follows them through the wakeups, migrations and switches of a Perfetto trace, as `perf sched`
//! does with the kernel's. Each event must fit what the ones before said.

use std::collections::BTreeMap;

use super::reader::decode::{nested, number};

/// What a trace says of a thread's ways.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Ways {
    /// `sched_migrate_task` events.
    pub migrations: u64,
    /// Of these, how many stood between `sched_waking` and `sched_wakeup`.
    pub by_wakeups: u64,
    /// `sched_wakeup` events, and `sched_wakeup_new`.
    pub wakeups: u64,
    pub begins: u64,
}

/// What happened to a thread.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Event {
    Waking { target: u64 },
    Migrate { orig: u64, dest: u64 },
    Wakeup { target: u64 },
    WakeupNew { target: u64 },
    In { cpu: u64 },
    Out { cpu: u64, sleeps: bool },
}

/// The ways of all threads, by pid.
pub fn ways(trace: &[u8]) -> BTreeMap<u64, Ways> {
    let mut events = BTreeMap::<u64, Vec<(u64, Event)>>::new();
    for bundle in nested(trace, 1).iter().flat_map(|packet| nested(packet, 1)) {
        let cpu = number(&bundle, 1).unwrap();
        for event in nested(&bundle, 2) {
            let at = number(&event, 1).unwrap();
            for (pid, what) in told(&event, cpu) {
                events.entry(pid).or_default().push((at, what));
            }
        }
    }
    // 0 is the idle thread.
    events.remove(&0);
    events.into_iter().map(|(pid, events)| (pid, follow(pid, events))).collect()
}

/// What an event on `cpu` says of which thread.
fn told(event: &[u8], cpu: u64) -> Vec<(u64, Event)> {
    let mut told = Vec::new();
    for switch in nested(event, 4) {
        let field = |field| number(&switch, field).unwrap_or(0);
        told.push((field(2), Event::Out { cpu, sleeps: field(4) != 0 }));
        told.push((field(6), Event::In { cpu }));
    }
    let mut wakeups = |number_of: u32, what: fn(u64) -> Event| {
        let all = nested(event, number_of);
        told.extend(all.iter().map(|fields| (number(fields, 2).unwrap(), what(number(fields, 5).unwrap()))));
    };
    wakeups(20, |target| Event::Waking { target });
    wakeups(17, |target| Event::Wakeup { target });
    wakeups(114, |target| Event::WakeupNew { target });
    for fields in nested(event, 491) {
        let field = |field| number(&fields, field).unwrap();
        told.push((field(2), Event::Migrate { orig: field(4), dest: field(5) }));
    }
    told
}

/// Where a thread is, and in which state.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Now {
    place: Option<u64>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Asleep,
    Waking,
    Runnable,
    Running,
}

impl Now {
    /// The state after `event`; `None`: it does not fit.
    fn after(self, event: Event) -> Option<Self> {
        let Self { place, state } = self;
        let (fits, place, state) = match event {
            Event::Waking { target } => {
                (state == State::Asleep && place.is_none_or(|place| place == target), Some(target), State::Waking)
            }
            Event::Migrate { orig, dest } => (place == Some(orig) && orig != dest, Some(dest), state),
            Event::Wakeup { target } => (state == State::Waking && place == Some(target), place, State::Runnable),
            Event::WakeupNew { target } => (state == State::Waking, Some(target), State::Runnable),
            Event::In { cpu } => (state == State::Runnable && place == Some(cpu), place, State::Running),
            Event::Out { sleeps: true, cpu } => (state == State::Running && place == Some(cpu), place, State::Asleep),
            // One that the stopper takes off its CPU has moved already by then.
            Event::Out { sleeps: false, .. } => (state == State::Running, place, State::Runnable),
        };
        fits.then_some(Self { place, state })
    }
}

/// Follows a thread. Bundles are per CPU, so events of one instant come in any order: they must fit in one.
fn follow(pid: u64, mut events: Vec<(u64, Event)>) -> Ways {
    events.sort_by_key(|(at, _)| *at);
    let (mut ways, mut now) = (Ways::default(), Now { place: None, state: State::Asleep });
    for instant in events.chunk_by(|(at, _), (other, _)| at == other) {
        let mut told: Vec<Event> = instant.iter().map(|(_, event)| *event).collect();
        let order = in_order(now, &mut told);
        let order = order.unwrap_or_else(|| panic!("{pid}, {now:?}: {instant:?}"));
        for (event, after) in order.into_iter().rev() {
            match event {
                Event::Migrate { .. } => {
                    ways.migrations += 1;
                    ways.by_wakeups += u64::from(now.state == State::Waking);
                }
                Event::Wakeup { .. } => ways.wakeups += 1,
                Event::WakeupNew { .. } => ways.begins += 1,
                Event::Waking { .. } | Event::In { .. } | Event::Out { .. } => {}
            }
            now = after;
        }
    }
    ways
}

/// The events, the last one first, each with what is then, in an order in which each fits; `None`: there is none.
fn in_order(now: Now, events: &mut Vec<Event>) -> Option<Vec<(Event, Now)>> {
    if events.is_empty() {
        return Some(Vec::new());
    }
    for index in 0..events.len() {
        let Some(after) = now.after(events[index]) else { continue };
        let event = events.remove(index);
        if let Some(mut rest) = in_order(after, events) {
            rest.push((event, after));
            return Some(rest);
        }
        events.insert(index, event);
    }
    None
}
