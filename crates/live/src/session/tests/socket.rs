// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a session answers at its control socket, over real connections.

use std::collections::BTreeMap;

use nix::libc::SIGTERM;

use super::script::request;
use super::*;
use crate::control::Answer;
use crate::session::status::{ApplicationStatus, SessionStatus};
use crate::session::{Resident, stay};

/// A session that is asked these things, in the world as it is then.
fn asked<'w>(world: &'w World, steps: impl IntoIterator<Item = (u64, Step<'w>)>) -> Vec<Answer> {
    let wanted = Resident { request: request("longest=true"), ..Resident::default() };
    let mut script = Script::new(world, steps.into_iter().chain([(60_000, Step::signal(SIGTERM))]));
    stay(&world.site, &wanted, &mut script, &mut world.listener()).unwrap();
    world.assert_given_back();
    script.answers.into_iter().map(|(_, answer)| answer).collect()
}

#[test]
fn programs_announce_themselves_and_say_how_long_they_are() {
    let world = World::new();
    world.process(800, 1, "server");
    world.process(801, 800, "worker");
    let answers = asked(
        &world,
        [
            (300, Step::Ask("application 800")),
            (400, Step::Ask("application 800")),
            (500, Step::Ask("hint 801 700")),
            (600, Step::Ask("application 900")),
            (700, Step::Ask("hint 900 700")),
        ],
    );
    let nobody = || Err("there is no thread 900".to_owned());
    assert_eq!(answers, [Ok("ok 1".to_owned()), Ok("ok 1".to_owned()), Ok("ok".to_owned()), nobody(), nobody()]);
    let log = world.log();
    let kernel: Vec<&String> = log.iter().filter(|line| line.contains("800") || line.contains("801")).collect();
    assert_eq!(
        kernel,
        [
            "kernel: process 800 is of application 1",
            "kernel: thread 800 is of application 1",
            "kernel: process 801 is of application 1",
            "kernel: thread 801 is of application 1",
            "kernel: thread 801 has the length 700",
        ]
    );
}

#[test]
fn programs_say_how_long_a_thread_is_before_they_create_it() {
    let world = World::new();
    world.process(800, 1, "server");
    let answers = asked(
        &world,
        [
            (300, Step::Ask("hint-next 800 700")),
            (400, Step::Ask("hint-next 800 5")),
            (500, Step::Ask("hint-next 900 7")),
        ],
    );
    let nobody = Err("there is no thread 900".to_owned());
    assert_eq!(answers, [Ok("ok".to_owned()), Ok("ok".to_owned()), nobody]);
    let log = world.log();
    let kernel: Vec<&String> = log.iter().filter(|line| line.contains("length")).collect();
    assert_eq!(
        kernel,
        ["kernel: the next thread of 800 has the length 700", "kernel: the next thread of 800 has the length 5"]
    );
}

#[test]
fn a_length_given_in_advance_goes_with_the_thread_that_gave_it() {
    let world = World::new();
    world.process(801, 1, "creator");
    let steps = [
        (500, Step::Ask("hint-next 801 700")),
        (2000, Step::Do(Box::new(|| world.remove("proc/801")))),
        (4000, Step::Ask("status")),
    ];
    asked(&world, steps);
    assert!(world.log().contains(&"kernel: thread 801 has no length any more".to_owned()));
}

#[test]
fn a_thread_that_has_ended_has_no_length_any_more() {
    let world = World::new();
    world.process(801, 1, "worker");
    let steps = [
        (500, Step::Ask("hint 801 700")),
        (1500, Step::Ask("status")),
        (2000, Step::Do(Box::new(|| world.remove("proc/801")))),
        (4000, Step::Ask("status")),
    ];
    let answers = asked(&world, steps);
    assert!(world.log().contains(&"kernel: thread 801 has no length any more".to_owned()));
    let hinted = |answer: &Answer| {
        let status: SessionStatus = serde_json::from_str(answer.as_ref().unwrap()).unwrap();
        status.hinted_threads
    };
    assert_eq!((hinted(&answers[1]), hinted(&answers[2])), (1, 0));
}

#[test]
fn a_status_has_all_that_is_known() {
    let world = World::new();
    world.process(800, 1, "server");
    world.process(801, 800, "worker");
    world.process(802, 1, "gone");
    world.set_state("longest_state", "active");
    let steps = [
        (300, Step::Ask("application 800")),
        (400, Step::Ask("application 802")),
        (1000, Step::Do(Box::new(|| world.remove("proc/802")))),
        (1500, Step::Do(Box::new(|| world.joules(5)))),
        (1600, Step::Do(Box::new(|| world.count(&[("longest_ranked", 3)])))),
        (2500, Step::Ask("status")),
    ];
    let answers = asked(&world, steps);
    let status: SessionStatus = serde_json::from_str(answers[2].as_ref().unwrap()).unwrap();
    let application = |number, process, name: &str, processes| ApplicationStatus {
        number,
        process,
        name: name.to_owned(),
        processes,
    };
    let expected = SessionStatus {
        steered: None,
        command: "attach".to_owned(),
        process: std::process::id(),
        backend: "sched_ext".to_owned(),
        settings: vec![("longest".to_owned(), "true".to_owned())],
        // The clock on the wall, which is no test's affair.
        since: status.since,
        // Root is told more exactly than others, and any user may run this.
        time_s: status.time_s,
        energy_j: Some(5.0),
        energy_of: "1 package, without memory".to_owned(),
        states: BTreeMap::from([("longest_state".to_owned(), "active".to_owned())]),
        counters: BTreeMap::from([("longest_ranked".to_owned(), 3)]),
        applications: vec![application(1, 800, "server", 2), application(2, 802, "gone", 0)],
        hinted_threads: 0,
        reloads: 0,
        keeps_limits: false,
    };
    assert_eq!(status, expected);
}

#[test]
fn a_process_that_takes_another_name_is_the_application_that_it_was() {
    let world = World::new();
    world.process(800, 1, "server");
    let steps = [
        (300, Step::Ask("application 800")),
        (900, Step::Do(Box::new(|| world.process(800, 1, "renamed")))),
        (1000, Step::Ask("application 800")),
        (1500, Step::Ask("status")),
    ];
    let answers = asked(&world, steps);
    assert_eq!(answers[..2], [Ok("ok 1".to_owned()), Ok("ok 1".to_owned())]);
    let status: SessionStatus = serde_json::from_str(answers[2].as_ref().unwrap()).unwrap();
    assert_eq!(status.applications.len(), 1);
}

#[test]
fn a_new_process_with_an_old_ones_number_and_name_is_announced_with_effect() {
    let world = World::new();
    world.process(800, 1, "server");
    let replace = || {
        world.remove("proc/800");
        world.process_again(800, 1, "server");
    };
    let steps = [
        (300, Step::Ask("application 800")),
        (900, Step::Do(Box::new(replace) as Box<dyn FnOnce()>)),
        (950, Step::Ask("status")),
        (1400, Step::Ask("application 800")),
        (1900, Step::Ask("status")),
    ];
    let answers = asked(&world, steps);
    assert_eq!((&answers[0], &answers[2]), (&Ok("ok 1".to_owned()), &Ok("ok 2".to_owned())));
    let processes = |answer: &Answer| {
        let status: SessionStatus = serde_json::from_str(answer.as_ref().unwrap()).unwrap();
        status.applications.iter().map(|known| (known.number, known.processes)).collect::<Vec<_>>()
    };
    assert_eq!((processes(&answers[1]), processes(&answers[3])), (vec![(1, 0)], vec![(2, 1)]));
    let log = world.log();
    assert!(log.contains(&"kernel: process 800 is of application 2".to_owned()), "{log:?}");
    assert!(log.contains(&"kernel: thread 800 is of application 2".to_owned()));
}

#[test]
fn what_was_announced_by_itself_is_not_its_parents() {
    let world = World::new();
    for (process, parent) in [(800, 1), (801, 800), (802, 801), (803, 800)] {
        world.process(process, parent, "p");
    }
    let steps = [(300, Step::Ask("application 801")), (900, Step::Ask("application 800")), (1500, Step::Ask("status"))];
    let answers = asked(&world, steps);
    let status: SessionStatus = serde_json::from_str(answers[2].as_ref().unwrap()).unwrap();
    assert_eq!(status.applications.iter().map(|known| known.processes).collect::<Vec<_>>(), [2, 2]);
    let log = world.log();
    let of = |process: u32| {
        let wanted = format!("kernel: process {process} is of application ");
        log.iter().filter_map(|line| line.strip_prefix(&wanted)).collect::<Vec<_>>()
    };
    assert_eq!([800, 801, 802, 803].map(of), [["2"], ["1"], ["1"], ["2"]]);
}

#[test]
fn a_status_is_given_again_within_a_fifth_of_a_second() {
    let world = World::new();
    let steps = [
        (300, Step::Ask("status")),
        (310, Step::Do(Box::new(|| world.set_state("longest_state", "active")) as Box<dyn FnOnce()>)),
        (400, Step::Ask("status")),
        (600, Step::Ask("status")),
    ];
    let answers = asked(&world, steps);
    assert_eq!(answers[0], answers[1]);
    assert_ne!(answers[1], answers[2]);
}

#[test]
fn where_no_session_listens_there_is_no_status() {
    let world = World::new();
    assert_eq!(SessionStatus::ask(&world.site.socket()).unwrap(), None);
}
