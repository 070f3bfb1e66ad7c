// SPDX-License-Identifier: MIT OR Apache-2.0
//! What others may ask of a session, and how much of it.

use nix::libc::SIGTERM;

use super::script::request;
use super::world::hotplug;
use super::*;
use crate::control::{Announcers, Answer};
use crate::session::{Resident, stay};

/// What users are answered in a session with these settings.
fn answers<'w>(
    world: &'w World,
    settings: &str,
    announcers: Option<Announcers>,
    steps: impl IntoIterator<Item = (u64, Step<'w>)>,
) -> Vec<Answer> {
    let mut request = request(settings);
    request.announcers = announcers;
    let wanted = Resident { request, ..Resident::default() };
    let mut script = Script::new(world, steps.into_iter().chain([(60_000, Step::signal(SIGTERM))]));
    stay(&world.site, &wanted, &mut script, &mut world.listener()).unwrap();
    world.assert_given_back();
    script.answers.into_iter().map(|(_, answer)| answer).collect()
}

fn world() -> World {
    let world = World::new();
    world.process_of(1001, 800, 1, "server");
    world.process_of(1001, 801, 800, "worker");
    world
}

#[test]
fn with_isolation_root_announces_and_others_learn_why_they_do_not() {
    for settings in ["isolate=dedicated", "isolate=shared", "all=true"] {
        let world = world();
        let steps = [(300, Step::AskAs(1001, "application 800")), (400, Step::AskAs(0, "application 800"))];
        let answers = answers(&world, settings, None, steps);
        let refused = "this session takes announcements from root only, as with isolate an application keeps all other \
                       programs off its CPUs: `sudo tandem announce 800`, or have root start the session with `--announce \
                       anybody` or `--announce GROUP`";
        assert_eq!(answers, [Err(refused.to_owned()), Ok("ok 1".to_owned())], "{settings}");
    }
}

#[test]
fn who_may_announce_is_the_sessions_affair() {
    let world = world();
    let steps = || [(300, Step::AskAs(1001, "application 800")), (900, Step::AskAs(1002, "application 800"))];
    let foreign = Err("800 belongs to another user: only root may say something of it".to_owned());
    let taken = [Ok("ok 1".to_owned()), foreign.clone()];
    assert_eq!(answers(&world, "isolate=dedicated", Some(Announcers::Anybody), steps()), taken);
    assert_eq!(answers(&world, "longest=true", None, steps()), taken);
    // The number is a group's: that of the first user.
    let group = Announcers::named("1001").unwrap();
    let of_group = answers(&world, "isolate=dedicated", Some(group), steps());
    assert_eq!(of_group[0], Ok("ok 1".to_owned()));
    assert!(of_group[1].as_ref().unwrap_err().starts_with("this session takes announcements from root and the group"));
    let root_only = answers(&world, "longest=true", Some(Announcers::Root), steps());
    assert!(root_only.iter().all(|answer| answer.as_ref().unwrap_err().contains("root only")), "{root_only:?}");
}

#[test]
fn hints_are_heard_whoever_may_announce() {
    let steps = [(300, Step::AskAs(1001, "hint 801 700"))];
    assert_eq!(answers(&world(), "all=true", None, steps), [Ok("ok".to_owned())]);
}

#[test]
fn a_full_map_of_applications_is_an_error_in_words_and_nothing_else() {
    let world = world();
    world.room(0, 100);
    let steps = [
        (300, Step::AskAs(1001, "application 800")),
        (900, Step::Do(Box::new(|| world.room(1, 100)) as Box<dyn FnOnce()>)),
        (950, Step::AskAs(1001, "application 800")),
        (1500, Step::AskAs(1001, "hint 801 700")),
    ];
    let answers = answers(&world, "longest=true", None, steps);
    let refused = |answer: &Answer, words: &str| answer.as_ref().unwrap_err().starts_with(words);
    assert!(refused(&answers[0], "the scheduler does not take another application: "), "{answers:?}");
    let some =
        "application 1 is known, but the scheduler does not take all of its processes, which count as the system's: ";
    assert!(refused(&answers[1], some), "{answers:?}");
    assert_eq!(answers[2], Ok("ok".to_owned()));
}

#[test]
fn a_full_map_of_lengths_is_an_error_in_words_and_takes_no_room() {
    let world = world();
    world.room(100, 0);
    let steps = [(300, Step::AskAs(1001, "hint 801 700")), (400, Step::AskAs(1001, "status"))];
    let answers = answers(&world, "longest=true", None, steps);
    assert!(answers[0].as_ref().unwrap_err().starts_with("the scheduler does not take another length: "));
    assert!(answers[1].as_ref().unwrap().contains("\"hinted_threads\":0"));
}

#[test]
fn a_scheduler_that_is_loaded_again_and_has_no_room_any_more_schedules_all_the_same() {
    let world = world();
    let reload = || {
        world.room(0, 0);
        world.eject(hotplug());
    };
    let steps = [
        (300, Step::AskAs(1001, "application 800")),
        (900, Step::AskAs(1001, "hint 801 700")),
        (1000, Step::Do(Box::new(reload) as Box<dyn FnOnce()>)),
        (2000, Step::AskAs(1001, "status")),
    ];
    let answers = answers(&world, "longest=true", None, steps);
    assert!(answers[2].as_ref().unwrap().contains("\"reloads\":1"), "{answers:?}");
}

#[test]
fn a_process_that_forks_without_end_does_not_hold_the_session() {
    let world = world();
    let steps = [
        (250, Step::Do(Box::new(|| world.fork_for_ever()) as Box<dyn FnOnce()>)),
        (300, Step::AskAs(1001, "application 800")),
        // While the bomb's descendants are still looked for.
        (500, Step::AskAs(0, "hint 801 700")),
        (30_000, Step::AskAs(0, "status")),
    ];
    let answers = answers(&world, "longest=true", None, steps);
    assert_eq!(answers.len(), 3);
    assert_eq!((&answers[0], &answers[1]), (&Ok("ok 1".to_owned()), &Ok("ok".to_owned())));
    let log = world.log();
    let entered = log.iter().filter(|line| line.contains("is of application 1")).count();
    // In each of eight looks it has twice as many as before, at most.
    assert!((9..(2 * 3) << 8).contains(&entered), "{entered}");
    let position = |words: &str| log.iter().position(|line| line.contains(words)).unwrap();
    assert!(position("thread 801 has the length") < log.iter().rposition(|line| line.contains("process 10")).unwrap());
}

#[test]
fn a_user_announces_64_applications_that_live_and_root_still_finds_room() {
    let world = World::new();
    let mut asked = Vec::new();
    for process in 1000..1070 {
        world.process_of(1001, process, 1, "p");
        let request: &'static str = Box::leak(format!("application {process}").into_boxed_str());
        asked.push((300 + u64::from(process - 1000), Step::AskAs(1001, request)));
    }
    let end = || (1000..1002).for_each(|process| world.remove(&format!("proc/{process}")));
    let steps = asked.into_iter().chain([
        (900, Step::AskAs(0, "application 1069")),
        (2000, Step::Do(Box::new(end) as Box<dyn FnOnce()>)),
        (2100, Step::AskAs(1001, "application 1068")),
    ]);
    let answers = answers(&world, "longest=true", None, steps);
    let taken = answers.iter().filter(|answer| answer.is_ok()).count();
    assert_eq!(taken, 64 + 1 + 1);
    assert!(answers[64..70].iter().all(|answer| answer.as_ref().unwrap_err().contains("64 applications that live")));
    assert!(answers[70].is_ok() && answers[71].is_ok());
}
