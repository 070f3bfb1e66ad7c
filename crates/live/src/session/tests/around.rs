// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sessions around a command.

use std::time::Duration;

use nix::libc::{SIGINT, SIGTERM};
use nix::sys::signal::Signal;

use super::fakes::unregistered;
use super::script::request;
use super::world::stalled;
use super::*;
use crate::plan::Backend;
use crate::session::events::{Ending, Event};
use crate::session::{Around, Done, Gone, MechanismState, SessionError, around};

/// What is done before a command begins.
const BEGIN: [&str; 5] = [
    "kernel: loads [isolate=shared] for 4 CPUs under schedutil and schedutil",
    "kernel: process 700 is of application 1",
    "kernel: thread 700 is of application 1",
    "kernel: attaches the scheduler",
    "command: begins",
];
/// What is done at its end.
const END: [&str; 2] = ["kernel: detaches the scheduler under schedutil and schedutil", "session: gave back 2 changes"];

fn wanted(settings: &str) -> Around {
    Around { request: request(settings), name: "make".to_owned(), activity: None }
}

fn run<'w>(
    world: &'w World,
    wanted: &Around,
    steps: impl IntoIterator<Item = (u64, Step<'w>)>,
) -> Result<Done, SessionError> {
    let mut script = Script::new(world, steps);
    around(&world.site, wanted, &mut script, &mut || world.command(), &mut world.listener())
}

fn log(parts: &[&[&str]]) -> Vec<String> {
    parts.concat().into_iter().map(str::to_owned).collect()
}

#[test]
fn a_command_runs_between_a_machine_that_is_changed_and_one_that_is_given_back() {
    let world = World::new();
    let steps = [
        (1000, Step::Do(Box::new(|| world.joules(10)))),
        (2500, Step::Do(Box::new(|| world.count(&[("base_idle", 7)])))),
        (2900, Step::Do(Box::new(|| world.joules(30)))),
        (3000, Step::exited(5)),
    ];
    let done = run(&world, &wanted("isolate=shared"), steps).unwrap();
    assert_eq!(world.log(), log(&[&BEGIN, &END]));
    assert_eq!((done.ending, done.time, done.backend), (Ending::Exited(5), Duration::from_secs(3), Backend::SchedExt));
    assert_eq!((done.gone, done.exit, done.reloads), (None, Some(unregistered()), vec![]));
    assert_eq!(done.counters, [("base_idle".to_owned(), 7)]);
    assert_eq!((done.measured.time, done.measured.total().unwrap().joules), (Duration::from_secs(3), 30.0));
    world.assert_given_back();
}

#[test]
fn groups_that_have_no_limit_meanwhile_are_named_before_and_after() {
    let world = World::new();
    world.write("sys/fs/cgroup/backup/cpu.max", "50000 100000");
    let done = run(&world, &wanted("isolate=shared"), [(1000, Step::exited(0))]).unwrap();
    let said = "cpu.max of 1 group is not honoured under this scheduler: /backup";
    assert_eq!(world.log()[0], format!("session: note: {said}"));
    assert_eq!(done.notes, [said]);
}

#[test]
fn what_of_the_scheduler_the_kernel_lacks_is_said_before_and_after() {
    let world = World::new();
    world.lack("sub_attach");
    let done = run(&world, &wanted("isolate=shared"), [(1000, Step::exited(0))]).unwrap();
    let said = "ops.sub_attach of the scheduler is left out, as this kernel has no such member";
    assert_eq!(world.log()[1], format!("session: note: {said}"));
    assert_eq!(done.notes, [said]);
}

#[test]
fn governors_are_kept_unless_somebody_asks_for_schedutil() {
    let world = World::new();
    let mut wanted = wanted("isolate=shared");
    wanted.request.governor = None;
    run(&world, &wanted, [(1000, Step::exited(0))]).unwrap();
    let log = world.log();
    assert_eq!(
        log[0],
        "session: note: requests for clocks have no effect under the governor powersave: `--governor schedutil` has 2 \
         policies follow them, and gives powersave back at the end"
    );
    assert_eq!(log[1], "kernel: loads [isolate=shared] for 4 CPUs under powersave and ondemand");
    assert_eq!(log[log.len() - 1], "session: gave back 0 changes");
    world.assert_given_back();
}

#[test]
fn what_was_done_lately_is_said_as_often_as_was_asked() {
    let world = World::new();
    let mut wanted = wanted("isolate=shared");
    wanted.activity = Some(Duration::from_secs(2));
    let steps = [
        (900, Step::Do(Box::new(|| world.joules(20)))),
        (3900, Step::Do(Box::new(|| world.count(&[("base_idle", 9)])))),
        (5000, Step::exited(0)),
    ];
    run(&world, &wanted, steps).unwrap();
    let said = ["session: 2.0 s 20.0 J", "session: 4.0 s 20.0 J base_idle 9"];
    assert_eq!(world.log(), log(&[&BEGIN, &said, &END]));
}

#[test]
fn a_mechanism_that_found_nothing_to_act_on_says_why() {
    let world = World::new();
    world.set_state("longest_state", "one_kind");
    let done = run(&world, &wanted("longest=true"), [(1000, Step::exited(0))]).unwrap();
    let why = "all 4 CPUs are equally fast";
    let expected =
        MechanismState { name: "longest_state".to_owned(), state: "one_kind".to_owned(), why: Some(why.to_owned()) };
    assert_eq!(done.states, [expected]);
}

#[test]
fn a_command_goes_on_after_an_ejection_on_a_machine_that_is_as_before() {
    let world = World::new();
    let steps = [
        (1000, Step::Do(Box::new(|| world.eject(stalled())))),
        (2000, Step::Do(Box::new(|| assert_eq!(world.governors(), GOVERNORS)))),
        (3000, Step::exited(0)),
    ];
    let done = run(&world, &wanted("isolate=shared"), steps).unwrap();
    let ejected = [
        "kernel: ejects the scheduler: runnable task stall (make[700] failed to run for 30 s)",
        "session: ejected while the command runs: runnable task stall (make[700] failed to run for 30 s)",
        "session: gave back 2 changes",
    ];
    assert_eq!(world.log(), log(&[&BEGIN, &ejected]));
    assert_eq!((done.time, done.gone), (Duration::from_secs(3), Some(Gone::Recorded(stalled()))));
    // Energy is that of the time under the scheduler: the ejection is seen with the next look.
    assert_eq!((done.exit, done.measured.time), (Some(stalled()), Duration::from_secs(1)));
    world.assert_given_back();
}

#[test]
fn a_scheduler_that_does_not_say_why_it_went_has_gone_all_the_same() {
    let world = World::new();
    let steps = [(1000, Step::Do(Box::new(|| world.eject_silently()))), (2000, Step::exited(0))];
    let done = run(&world, &wanted("isolate=shared"), steps).unwrap();
    assert_eq!(done.gone, Some(Gone::Silent("disabled".to_owned())));
    world.assert_given_back();
}

#[test]
fn another_ones_scheduler_in_its_place_means_that_it_has_gone() {
    let world = World::new();
    let replace = || world.write("sys/kernel/sched_ext/root/ops", "other");
    let done = run(&world, &wanted("isolate=shared"), [(1000, Step::Do(Box::new(replace))), (2000, Step::exited(0))]);
    assert_eq!(done.unwrap().gone, Some(Gone::Silent("enabled".to_owned())));
}

/// The first signal goes on to the command, unless the terminal has sent it there, too. It has half a second.
#[test]
fn a_command_that_does_not_end_when_interrupted_does_not_keep_the_machine() {
    let world = World::new();
    let steps = [
        (1000, Step::signal(SIGTERM)),
        (1300, Step::Do(Box::new(|| assert_eq!(world.governors(), ["schedutil"; 2])))),
        (1700, Step::Do(Box::new(|| assert_eq!(world.governors(), GOVERNORS)))),
        (1800, Step::Do(Box::new(|| world.process(701, 700, "cc")))),
        (2000, Step::signal(SIGINT)),
        (2100, Step::Event(Event::Ended(Ending::Killed(Signal::SIGKILL)))),
    ];
    let done = run(&world, &wanted("isolate=shared"), steps).unwrap();
    let killed = [
        "session: given back early",
        "session: kills the command",
        "command: process 700 gets SIGKILL",
        "command: process 701 gets SIGKILL",
    ];
    assert_eq!(world.log(), log(&[&BEGIN, &["command: process 700 gets SIGTERM"], &END, &killed]));
    assert_eq!((done.ending, done.gone), (Ending::Killed(Signal::SIGKILL), None));
    world.assert_given_back();
}

#[test]
fn a_signal_of_the_terminal_is_the_commands_affair() {
    let world = World::new();
    let ctrl_c = Step::Event(Event::Signal { number: SIGINT, of_terminal: true });
    let ended = Step::Event(Event::Ended(Ending::Killed(Signal::SIGINT)));
    let done = run(&world, &wanted("isolate=shared"), [(1000, ctrl_c), (1200, ended)]).unwrap();
    assert_eq!(world.log(), log(&[&BEGIN, &END]));
    assert_eq!(done.ending, Ending::Killed(Signal::SIGINT));
}

#[test]
fn a_command_without_a_terminal_gets_its_signals_from_the_session() {
    let world = World::new();
    let ctrl_c = Step::Event(Event::Signal { number: SIGINT, of_terminal: true });
    let mut script = Script::new(&world, [(1000, ctrl_c), (1200, Step::exited(0))]);
    let mut launch = || world.command_at(true);
    around(&world.site, &wanted("isolate=shared"), &mut script, &mut launch, &mut world.listener()).unwrap();
    assert_eq!(world.log(), log(&[&BEGIN, &["command: process 700 gets SIGINT"], &END]));
}

#[test]
fn a_signal_before_the_command_has_begun_ends_all() {
    let world = World::new();
    let done = run(&world, &wanted("isolate=shared"), [(0, Step::signal(SIGTERM)), (1000, Step::exited(0))]);
    assert!(matches!(done, Err(SessionError::Interrupted(SIGTERM))));
    assert_eq!(world.log(), log(&[&BEGIN[..1]]));
    world.assert_given_back();
}

#[test]
fn a_command_that_cannot_be_started_leaves_nothing_behind() {
    let world = World::new();
    let mut script = Script::new(&world, [(1000, Step::exited(0))]);
    let mut launch = || Err(std::io::ErrorKind::OutOfMemory.into());
    let done = around(&world.site, &wanted("isolate=shared"), &mut script, &mut launch, &mut world.listener());
    assert_eq!(done.unwrap_err().to_string(), "the command cannot be started: out of memory");
    world.assert_given_back();
}
