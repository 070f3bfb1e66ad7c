// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedulers that have to be loaded again, as a CPU came or went.

use nix::libc::SIGTERM;

use super::script::request;
use super::world::hotplug;
use super::*;
use crate::session::{Resident, SessionError, stay};

#[test]
fn a_scheduler_is_loaded_again_for_the_machine_as_it_is_then_and_told_all_again() {
    let world = World::new();
    world.process(800, 1, "server");
    let go_offline = || {
        world.write("sys/devices/system/cpu/online", "0-2");
        world.eject(hotplug());
    };
    let steps = [
        (300, Step::Ask("application 800")),
        (500, Step::Ask("hint 800 700")),
        (1000, Step::Do(Box::new(go_offline))),
        (1900, Step::Ask("status")),
        (2000, Step::signal(SIGTERM)),
    ];
    let mut script = Script::new(&world, steps);
    let wanted = Resident { request: request("longest=true"), ..Resident::default() };
    stay(&world.site, &wanted, &mut script, &mut world.listener()).unwrap();
    let told = |load: &str| {
        [
            load,
            "kernel: process 800 is of application 1",
            "kernel: thread 800 is of application 1",
            "kernel: thread 800 has the length 700",
        ]
        .map(str::to_owned)
    };
    let log = world.log();
    let again = log.iter().position(|line| line.starts_with("session: loads again")).unwrap();
    assert_eq!(log[again], "session: loads again: cpu 3 going offline, exiting scheduler");
    assert_eq!(
        log[again + 1..again + 5],
        told("kernel: loads [longest=true] for 3 CPUs under schedutil and schedutil")
    );
    assert_eq!(log[again + 5], "kernel: attaches the scheduler");
    let (_, status) = &script.answers[2];
    assert!(status.as_ref().unwrap().contains("\"reloads\":1"));
    world.assert_given_back();
}

/// Twenty times within a minute.
#[test]
fn a_scheduler_that_always_wants_to_be_loaded_again_is_broken() {
    let world = World::new();
    let eject = |at: u64| (at, Step::Do(Box::new(|| world.eject(hotplug())) as Box<dyn FnOnce()>));
    let steps = (1..=21).map(|number| eject(1000 * number));
    let mut script = Script::new(&world, steps);
    let wanted = Resident { request: request("isolate=shared"), ..Resident::default() };
    let ended = stay(&world.site, &wanted, &mut script, &mut world.listener());
    assert!(matches!(ended, Err(SessionError::Ejected(_))));
    let loads = world.log().iter().filter(|line| line.starts_with("kernel: loads")).count();
    assert_eq!(loads, 1 + 20);
    world.assert_given_back();
}

#[test]
fn a_scheduler_may_be_loaded_again_for_ever_if_it_does_not_come_to_twenty_a_minute() {
    let world = World::new();
    let eject = |at: u64| (at, Step::Do(Box::new(|| world.eject(hotplug())) as Box<dyn FnOnce()>));
    let steps = (1..=30).map(|number| eject(4000 * number)).chain([(130_000, Step::signal(SIGTERM))]);
    let mut script = Script::new(&world, steps);
    let wanted = Resident { request: request("isolate=shared"), ..Resident::default() };
    stay(&world.site, &wanted, &mut script, &mut world.listener()).unwrap();
    world.assert_given_back();
}
