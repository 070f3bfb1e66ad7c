// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads wake-ups and switches out of a Perfetto trace and computes latencies and responses. It shares nothing with the
//! simulator but the format.

use std::collections::BTreeMap;

#[path = "../../src/trace/tests/decode.rs"]
#[allow(dead_code, reason = "the trace's own tests print whole traces")]
pub mod decode;

use decode::{Value, fields, nested, number};

/// What a trace says of a thread, in nanoseconds.
#[derive(Debug, Default)]
pub struct Thread {
    pub name: String,
    /// From each wake-up but the first, which is the start, to the switch to the thread.
    pub latencies: Vec<u64>,
    /// From each wake-up to the switch away that ends the run, where the thread ran in between.
    pub responses: Vec<u64>,
}

/// What happened to a thread.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Event {
    Waking,
    In,
    /// Away, still runnable, asleep or dead.
    Out(u64),
}

const PREV_RUNNABLE: u64 = 0;
const PREV_DEAD: u64 = 16;

/// All threads of a trace, by their numbers.
pub fn threads(trace: &[u8]) -> Vec<Thread> {
    let (mut events, mut names) = (BTreeMap::<u64, Vec<(u64, Event)>>::new(), BTreeMap::new());
    for packet in nested(trace, 1) {
        for event in nested(&packet, 1).iter().flat_map(|bundle| nested(bundle, 2)) {
            let at = number(&event, 1).expect("a timestamp");
            for switch in nested(&event, 4) {
                let (prev, next) = (number(&switch, 2).unwrap_or(0), number(&switch, 6).unwrap_or(0));
                let state = number(&switch, 4).unwrap_or(0);
                events.entry(prev).or_default().push((at, Event::Out(state)));
                events.entry(next).or_default().push((at, Event::In));
                names.insert(next, text(&switch, 5));
            }
            for waking in nested(&event, 20) {
                events.entry(number(&waking, 2).expect("a pid")).or_default().push((at, Event::Waking));
            }
        }
    }
    // 0 is the idle thread.
    events.remove(&0);
    events.into_iter().map(|(pid, events)| thread(names.remove(&pid).unwrap_or_default(), events)).collect()
}

fn text(message: &[u8], field: u32) -> String {
    let found = fields(message).into_iter().find_map(|(number, value)| match value {
        Value::Bytes(bytes) if number == field => Some(String::from_utf8(bytes).unwrap()),
        _ => None,
    });
    found.unwrap_or_default()
}

/// Follows a thread. Bundles are per CPU, so events of one instant come in any order: the one that fits is next.
fn thread(name: String, mut events: Vec<(u64, Event)>) -> Thread {
    events.sort_by_key(|(at, _)| *at);
    let mut thread = Thread { name, ..Thread::default() };
    let (mut asleep, mut on_cpu_since) = (true, None);
    let (mut woken, mut ran, mut wakeups) = (None, 0, 0);
    while !events.is_empty() {
        let now = events[0].0;
        let fits = |event: Event| match event {
            Event::Waking => asleep,
            Event::In => !asleep && on_cpu_since.is_none(),
            Event::Out(_) => on_cpu_since.is_some(),
        };
        let mut instant = events.iter().take_while(|(at, _)| *at == now);
        let next = instant.position(|(_, event)| fits(*event));
        let (_, event) = events.remove(next.unwrap_or_else(|| panic!("{} at {now}: {:?}", thread.name, events[0])));
        match event {
            Event::Waking => {
                (asleep, woken, ran) = (false, Some((now, true)), 0);
                wakeups += 1;
            }
            Event::In => {
                on_cpu_since = Some(now);
                if let Some((at, true)) = woken {
                    thread.latencies.extend((wakeups > 1).then(|| now - at));
                    woken = Some((at, false));
                }
            }
            Event::Out(state) => {
                ran += now - on_cpu_since.take().expect("it ran");
                if state == PREV_RUNNABLE {
                    continue;
                }
                asleep = true;
                let begun = woken.take().expect("it was woken").0;
                // A thread that ends has a round only if it has ever slept.
                if ran > 0 && (state != PREV_DEAD || wakeups > 1) {
                    thread.responses.push(now - begun);
                }
            }
        }
    }
    thread
}
