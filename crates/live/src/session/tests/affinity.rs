// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sessions without sched_ext, which act by affinities.

use super::script::request;
use super::*;
use crate::plan::{Backend, Choice, SessionRequest};
use crate::session::{Around, around};

const WORKERS: &str = "sys/devices/virtual/workqueue/cpumask";

fn wanted(settings: &str) -> Around {
    let request = SessionRequest { backend: Choice::Affinity, governor: None, ..request(settings) };
    Around { request, name: "make".to_owned(), activity: None }
}

/// A machine whose kernel has no sched_ext, with a process of the system.
fn world() -> World {
    let world = World::new();
    world.remove("sys/kernel/sched_ext/state");
    world.write(WORKERS, "f");
    world.process(500, 1, "daemon");
    world
}

fn assert_as_before(world: &World) {
    assert_eq!([500, 700].map(|pid| world.cpus(pid)), ["0-3", "0-3"]);
    // The kernel takes a mask with or without zeroes in front.
    assert_eq!(world.read(WORKERS).trim_start_matches('0'), "f");
    assert_eq!(world.governors(), GOVERNORS);
}

#[test]
fn noise_goes_to_the_os_cpu_and_the_command_to_all_others() {
    let world = world();
    let look = || {
        assert_eq!([500, 700].map(|pid| world.cpus(pid)), ["0", "1-3"]);
        assert_eq!(world.read(WORKERS), "00000001");
    };
    // Newcomers are found when the session next looks.
    let newcomer = || world.process(501, 1, "cron");
    let steps = [
        (500, Step::Do(Box::new(look) as Box<dyn FnOnce()>)),
        (600, Step::Do(Box::new(newcomer))),
        (1500, Step::Do(Box::new(|| assert_eq!(world.cpus(501), "0")))),
        (2000, Step::exited(0)),
    ];
    let mut script = Script::new(&world, steps);
    let done =
        around(&world.site, &wanted("isolate=dedicated"), &mut script, &mut || world.command(), &mut world.listener())
            .unwrap();
    assert_eq!((done.backend, done.exit, done.gone), (Backend::Affinity, None, None));
    assert_eq!(done.states[0].state, "active");
    assert_eq!(world.log()[0], "command: begins");
    assert_as_before(&world);
    assert_eq!(world.cpus(501), "0-3");
}

#[test]
fn the_longer_of_a_programs_threads_goes_to_the_fast_cpus() {
    let world = world();
    world.process(700, std::process::id(), "make");
    let looks = || assert_eq!([500, 700].map(|pid| world.cpus(pid)), ["0-3", "0-1"]);
    let steps = [
        (300, Step::Ask("hint 700 9")),
        (500, Step::Do(Box::new(looks) as Box<dyn FnOnce()>)),
        (600, Step::Ask("hint 500 9")),
        (700, Step::Ask("hint-next 700 9")),
        (1000, Step::exited(0)),
    ];
    let mut script = Script::new(&world, steps);
    let mut launch = || world.command();
    around(&world.site, &wanted("longest=true"), &mut script, &mut launch, &mut world.listener()).unwrap();
    assert_eq!(script.answers[0].1, Ok("ok".to_owned()));
    let refused = script.answers[1].1.as_ref().unwrap_err();
    assert!(refused.starts_with("thread 500 is none of an application's"), "{refused}");
    let unseen = script.answers[2].1.as_ref().unwrap_err();
    assert!(unseen.starts_with("without sched_ext nothing tells which thread another one creates"), "{unseen}");
    assert_as_before(&world);
}
