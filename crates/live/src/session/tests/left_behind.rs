// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sessions that were killed, and those that find what they left.

use std::fs;
use std::time::Instant;

use super::script::request;
use super::*;
use crate::session::Session;

/// Leaves what a session with schedutil leaves that is killed: its journal, with the number of a process that is no more.
fn crash(world: &World) {
    let session = Session::begin(&world.site, &request("isolate=shared"), Instant::now(), &mut world.listener());
    let folder = world.site.folder.join("changes");
    let [journal] =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>().try_into().unwrap();
    let text = fs::read_to_string(journal).unwrap();
    drop(session);
    let own = format!("\"pid\":{}", std::process::id());
    assert!(text.contains(&own));
    fs::write(folder.join("4194000-1.journal"), text.replace(&own, "\"pid\":4194000")).unwrap();
    for policy in ["policy0", "policy2"] {
        world.write(&format!("sys/devices/system/cpu/cpufreq/{policy}/scaling_governor"), "schedutil");
    }
    world.log();
}

#[test]
fn the_next_session_gives_back_what_a_killed_one_has_left_and_then_makes_its_own_changes() {
    let world = World::new();
    crash(&world);
    let session = Session::begin(&world.site, &request("isolate=shared"), Instant::now(), &mut world.listener());
    assert_eq!(
        world.log(),
        [
            "session: process 4194000 had left 2 changes",
            "kernel: loads [isolate=shared] for 4 CPUs under schedutil and schedutil",
        ]
    );
    drop(session);
    // Not schedutil, which the second session found.
    world.assert_given_back();
}

#[test]
fn a_folder_where_journals_are_keeps_no_session_from_beginning() {
    let world = World::new();
    crash(&world);
    let folder = world.site.folder.join("changes/1-1.journal");
    fs::create_dir(&folder).unwrap();
    let session = Session::begin(&world.site, &request("isolate=shared"), Instant::now(), &mut world.listener());
    assert_eq!(
        world.log()[..2],
        [
            "session: process 4194000 had left 2 changes".to_owned(),
            format!("session: no journal: {}: the journal of changes cannot be read: it is a folder", folder.display()),
        ]
    );
    drop(session.unwrap());
    fs::remove_dir(folder).unwrap();
    world.assert_given_back();
}

#[test]
fn what_another_program_has_changed_since_stays_so_and_is_said() {
    let world = World::new();
    let mut listener = world.listener();
    let begun = Session::begin(&world.site, &request("isolate=shared"), Instant::now(), &mut listener);
    let mut session = begun.unwrap();
    session.attach(&Instant::now).unwrap();
    world.write("sys/devices/system/cpu/cpufreq/policy2/scaling_governor", "performance");
    world.log();
    session.give_back(&mut listener);
    assert_eq!(
        world.log()[1],
        "session: gave back 1 changes the governor of policy2: somebody has changed that from schedutil to performance, so \
         it stays; it was ondemand at first"
    );
    assert_eq!(world.governors(), ["powersave", "performance"]);
}
