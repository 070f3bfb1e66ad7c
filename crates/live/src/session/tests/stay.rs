// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sessions that stay until they are told to go.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use nix::libc::{SIGINT, SIGTERM};
use proptest::prelude::*;

use super::script::request;
use super::world::{hotplug, stalled};
use super::*;
use crate::session::{Gone, Resident, SessionError, application, stay};

fn wanted(settings: &str) -> Resident {
    Resident { request: request(settings), ..Resident::default() }
}

#[test]
fn sigterm_ends_a_session_in_order() {
    let world = World::new();
    world.process(800, 1, "server");
    let found = application(&world.site.root, 800).unwrap();
    let wanted = Resident { applications: vec![found], ..wanted("isolate=shared") };
    let mut script = Script::new(&world, [(5000, Step::signal(SIGTERM))]);
    stay(&world.site, &wanted, &mut script, &mut world.listener()).unwrap();
    assert_eq!(
        world.log(),
        [
            "kernel: loads [isolate=shared] for 4 CPUs under schedutil and schedutil",
            "kernel: process 800 is of application 1",
            "kernel: thread 800 is of application 1",
            "kernel: attaches the scheduler",
            "session: acts by sched_ext",
            "session: ends",
            "kernel: detaches the scheduler under schedutil and schedutil",
            "session: gave back 2 changes",
            "session: ended: unregistered",
        ]
    );
    world.assert_given_back();
}

#[test]
fn an_ejection_ends_a_session_with_the_kernels_reason() {
    let world = World::new();
    let mut script = Script::new(&world, [(1000, Step::Do(Box::new(|| world.eject(stalled()))))]);
    let ended = stay(&world.site, &wanted("isolate=shared"), &mut script, &mut world.listener());
    assert!(matches!(&ended, Err(SessionError::Ejected(Gone::Recorded(exit))) if *exit == stalled()));
    let log = world.log();
    let reason = "runnable task stall (make[700] failed to run for 30 s)";
    assert_eq!(
        log[log.len() - 3..],
        ["session: ends".to_owned(), "session: gave back 2 changes".to_owned(), format!("session: ended: {reason}")]
    );
    world.assert_given_back();
}

#[test]
fn metrics_are_handed_out_on_this_machine() {
    let world = World::new();
    let mut listener = world.listener();
    let address = std::sync::Arc::clone(&listener.metrics);
    world.set_state("isolate_state", "active");
    let fetch = || {
        let mut stream = TcpStream::connect(address.lock().unwrap().unwrap()).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text.lines().filter(|line| line.starts_with("tandem")).for_each(|line| world.note(line.to_owned()));
    };
    let steps = [
        (900, Step::Do(Box::new(|| world.joules(8)) as Box<dyn FnOnce()>)),
        (900, Step::Do(Box::new(|| world.count(&[("base_idle", 7)])))),
        // They are published each second.
        (2500, Step::Do(Box::new(fetch))),
        (3000, Step::signal(SIGTERM)),
    ];
    let wanted = Resident { metrics: Some("127.0.0.1:0".parse().unwrap()), ..wanted("isolate=shared") };
    stay(&world.site, &wanted, &mut Script::new(&world, steps), &mut listener).unwrap();
    let metrics: Vec<String> = world.log().into_iter().filter(|line| line.starts_with("tandem")).collect();
    assert_eq!(
        metrics,
        [
            "tandem_info{backend=\"sched_ext\",scheduler=\"tandem\"} 1",
            "tandem_mechanism_state{mechanism=\"isolate\",state=\"active\"} 1",
            "tandem_events_total{mechanism=\"base\",event=\"idle\"} 7",
            "tandem_applications{} 0",
            "tandem_hinted_threads{} 0",
            "tandem_running_seconds{} 2.0",
            "tandem_energy_joules_total{source=\"powercap intel-rapl:0 package-0\",part=\"package\",package=\"0\",die=\"0\",\
             method=\"counted\"} 8.0",
            "tandem_machine_energy_joules_total{covers=\"1 package, without memory\"} 8.0",
        ]
    );
    world.assert_given_back();
}

#[test]
fn a_port_that_is_taken_keeps_no_scheduler_from_running_and_is_had_when_it_comes_free() {
    let world = World::new();
    // No other test's connection can have this address once it is free.
    let taken = TcpListener::bind("127.0.0.78:0").unwrap();
    let wanted = Resident { metrics: Some(taken.local_addr().unwrap()), ..wanted("isolate=shared") };
    let mut listener = world.listener();
    let address = std::sync::Arc::clone(&listener.metrics);
    let fetch = || {
        let mut stream = TcpStream::connect(address.lock().unwrap().unwrap()).unwrap();
        stream.write_all(b"HEAD /metrics HTTP/1.1\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        world.note(format!("metrics: {}", text.lines().next().unwrap()));
    };
    let steps = [
        (5000, Step::Do(Box::new(|| drop(taken)) as Box<dyn FnOnce()>)),
        (30_000, Step::Do(Box::new(fetch))),
        (31_000, Step::signal(SIGTERM)),
    ];
    stay(&world.site, &wanted, &mut Script::new(&world, steps), &mut listener).unwrap();
    let log = world.log();
    let said: Vec<&String> = log.iter().filter(|line| line.contains("metrics") || line.contains("acts")).collect();
    assert_eq!(
        said,
        ["session: no metrics", "session: acts by sched_ext", "session: metrics now", "metrics: HTTP/1.1 200 OK"]
    );
    world.assert_given_back();
}

#[test]
fn an_address_that_others_can_reach_is_refused_and_nothing_is_left_behind() {
    let world = World::new();
    let wanted = Resident { metrics: Some("192.0.2.1:9435".parse().unwrap()), ..wanted("isolate=shared") };
    let mut script = Script::new(&world, [(1000, Step::signal(SIGTERM))]);
    let ended = stay(&world.site, &wanted, &mut script, &mut world.listener());
    assert!(matches!(ended, Err(SessionError::Metrics(_))));
    world.assert_given_back();
}

#[test]
fn a_session_whose_words_cannot_be_written_any_more_ends() {
    let world = World::new();
    let mut listener = world.listener();
    listener.deaf.set(true);
    let wanted = Resident { activity: Some(Duration::from_secs(1)), ..wanted("isolate=shared") };
    let mut script = Script::new(&world, [(60_000, Step::signal(SIGTERM))]);
    let ended = stay(&world.site, &wanted, &mut script, &mut listener);
    assert!(matches!(ended, Err(SessionError::Activity(_))));
    world.assert_given_back();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Whatever happens, and in which order.
    #[test]
    fn after_any_session_the_machine_is_as_before(steps in prop::collection::vec((1_u64..900, 0..6), 0..12)) {
        let world = World::new();
        world.process(800, 1, "server");
        let mut at = 0;
        let steps: Vec<(u64, Step<'_>)> = steps.into_iter().map(|(pause, what)| {
            at += pause;
            (at, match what {
                0 => Step::Ask("application 800"),
                1 => Step::Ask("hint 800 5"),
                2 => Step::Ask("status"),
                3 => Step::signal(SIGINT),
                4 => Step::Do(Box::new(|| if world.exists("sys/kernel/sched_ext/root") { world.eject(hotplug()) })),
                _ => Step::Do(Box::new(|| if world.exists("sys/kernel/sched_ext/root") { world.eject(stalled()) })),
            })
        }).collect();
        let steps = steps.into_iter().chain([(20_000, Step::signal(SIGTERM))]);
        let _ = stay(&world.site, &wanted("isolate=shared"), &mut Script::new(&world, steps), &mut world.listener());
        world.assert_given_back();
    }
}
