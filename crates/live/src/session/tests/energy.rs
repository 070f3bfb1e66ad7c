// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who is told how much of measured energy.

use std::time::{Duration, Instant};

use nix::libc::SIGTERM;

use super::fakes::STATE;
use super::script::request;
use super::*;
use crate::session::status::SessionStatus;
use crate::session::{Resident, Session, stay};

/// Milliseconds after the beginning at which this user asks, millijoules that were counted until then, and what they are told:
/// seconds and joules.
fn told(user: u32, steps: &[(u64, u64)]) -> Vec<(f64, Option<f64>)> {
    let world = World::new();
    let count = |millijoules: &u64| {
        let text = (millijoules * 1000).to_string();
        world.write("sys/class/powercap/intel-rapl:0/energy_uj", &text);
    };
    let steps = steps.iter().flat_map(|(ms, millijoules)| {
        [(*ms - 1, Step::Do(Box::new(|| count(millijoules)))), (*ms, Step::AskAs(user, "status"))]
    });
    let mut script = Script::new(&world, steps.chain([(60_000, Step::signal(SIGTERM))]));
    let wanted = Resident { request: request("isolate=shared"), ..Resident::default() };
    stay(&world.site, &wanted, &mut script, &mut world.listener()).unwrap();
    let status = |(_, answer): &(_, Result<String, String>)| {
        let status: SessionStatus = serde_json::from_str(answer.as_ref().unwrap()).unwrap();
        (status.time_s, status.energy_j)
    };
    script.answers.iter().map(status).collect()
}

/// More than a fifth of a second apart, in which an answer is given again.
const STEPS: [(u64, u64); 6] =
    [(500, 4000), (950, 9870), (1250, 12_340), (1500, 14_000), (1990, 19_999), (2700, 25_000)];

#[test]
fn whoever_is_not_root_is_told_whole_joules_once_a_second_however_often_they_ask() {
    // The first look after the end of a second: a look is a fifth of one after the last, and events shift it.
    let (first, second) = ((1.15, Some(9.0)), (2.19, Some(19.0)));
    assert_eq!(told(1000, &STEPS), [(0.0, None), (0.0, None), first, first, first, second]);
}

#[test]
fn root_is_told_what_is_measured_now() {
    let told = told(0, &STEPS);
    assert_eq!((told[0], told[2], told[5]), ((0.5, Some(4.0)), (1.25, Some(12.34)), (2.7, Some(25.0))));
}

/// If others could have a sample taken, they could choose its time.
#[test]
fn that_root_asks_in_between_tells_others_nothing() {
    let (world, begun) = (World::new(), Instant::now());
    let mut session = Session::begin(&world.site, &request("isolate=shared"), begun, &mut world.listener()).unwrap();
    session.attach(&|| begun).unwrap();
    for (ms, joules) in [(1000, 5), (1200, 7)] {
        world.joules(joules);
        session.tick(begun + Duration::from_millis(ms), &mut world.listener());
    }
    session.measured(begun + Duration::from_millis(1300));
    let public = session.public().unwrap();
    assert_eq!((public.time, public.total().unwrap().joules), (Duration::from_secs(1), 5.0));
    let snapshot = session.snapshot();
    assert_eq!(&snapshot.measured, session.public().unwrap());
}

/// The time would be longer than what was counted in it, and the power too small.
#[test]
fn what_attaching_takes_is_in_neither_the_time_nor_the_energy() {
    let (world, begun) = (World::new(), Instant::now());
    let mut session = Session::begin(&world.site, &request(""), begun, &mut world.listener()).unwrap();
    let attached = begun + Duration::from_secs(5);
    session
        .attach(&|| {
            assert_eq!(world.read(STATE), "enabled", "asked before it was attached");
            world.joules(50);
            attached
        })
        .unwrap();
    world.joules(60);
    let measured = session.measured(attached + Duration::from_secs(1));
    assert_eq!((measured.time, measured.total().unwrap().joules), (Duration::from_secs(1), 10.0));
}
