// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who is told how much of measured energy.

use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use super::World;
use super::script::request;
use crate::control::{Asked, Peer, Reply, Request};
use crate::session::Session;
use crate::session::status::{SessionStatus, answer};

const ROOT: Peer = Peer { user: 0, group: 0, process: 1 };
const ADA: Peer = Peer { user: 1000, group: 1000, process: 1 };

/// What `peer` is told who asks for the status now.
fn status(session: &mut Session<'_>, peer: Peer, now: Instant) -> SessionStatus {
    let ((sender, answers), (bell, _rung)) = (channel(), UnixStream::pair().unwrap());
    let reply = Reply::new(0, sender, Arc::new(bell));
    answer(session, Asked { peer, request: Request::Status, reply }, "attach", now);
    serde_json::from_str(&answers.recv().unwrap().1.unwrap()).unwrap()
}

/// Milliseconds after the beginning, joules that were counted until then, and what somebody is told: seconds and joules.
fn told(peer: Peer, steps: &[(u64, u64)]) -> Vec<(f64, Option<f64>)> {
    let (world, begun) = (World::new(), Instant::now());
    let mut listener = world.listener();
    let mut session = Session::begin(&world.site, &request("isolate=shared"), begun, &mut listener).unwrap();
    session.attach(begun).unwrap();
    let mut told = Vec::new();
    for (ms, millijoules) in steps {
        let now = begun + Duration::from_millis(*ms);
        world.write("sys/class/powercap/intel-rapl:0/energy_uj", &(millijoules * 1000).to_string());
        assert_eq!(session.tick(now, &mut listener), None);
        let status = status(&mut session, peer, now);
        told.push((status.time_s, status.energy_j));
    }
    told
}

const STEPS: [(u64, u64); 7] =
    [(500, 4000), (1000, 9870), (1001, 9990), (1500, 14_000), (1750, 17_500), (2000, 20_500), (2400, 25_000)];

#[test]
fn whoever_is_not_root_is_told_whole_joules_once_a_second_however_often_they_ask() {
    let (first, second) = ((1.0, Some(9.0)), (2.0, Some(20.0)));
    assert_eq!(told(ADA, &STEPS), [(0.0, None), first, first, first, first, second, second]);
}

#[test]
fn root_is_told_what_is_measured_now_or_was_told_just_before() {
    let told = told(ROOT, &STEPS);
    assert_eq!((told[0], told[3], told[6]), ((0.5, Some(4.0)), (1.5, Some(14.0)), (2.4, Some(25.0))));
    assert_eq!(told[2], told[1]);
}

/// If others could have a sample taken, they could choose its time.
#[test]
fn that_root_asks_in_between_tells_others_nothing() {
    let (world, begun) = (World::new(), Instant::now());
    let mut session = Session::begin(&world.site, &request("isolate=shared"), begun, &mut world.listener()).unwrap();
    session.attach(begun).unwrap();
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
