// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sessions that end as soon as they have begun, at each of their moments: by SIGTERM, by `kill -9`, and while another process
//! starts one more.

use nix::libc::SIGTERM;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::fakes::FakeThreads;
use super::script::request;
use super::world::end_fork;
use super::*;
use crate::changes::{Change, Journal, Setting, System, restore_left_behind};
use crate::plan::{Choice, SessionRequest};
use crate::session::{Around, SessionError, around};

const WORKERS: &str = "sys/devices/virtual/workqueue/cpumask";

/// A machine with a daemon, whose noise a session moves to CPU 0 by affinities.
fn world() -> World {
    let world = World::new();
    world.remove("sys/kernel/sched_ext/state");
    world.write(WORKERS, "f");
    world.process(500, 1, "daemon");
    world
}

/// A session that gets SIGTERM once its command has begun, and ends with it.
fn end_soon(world: &World) {
    let request = SessionRequest { backend: Choice::Affinity, governor: None, ..request("isolate=dedicated") };
    let wanted = Around { request, name: "make".to_owned(), activity: None };
    let mut script = Script::new(world, [(1, Step::signal(SIGTERM)), (2, Step::exited(143))]);
    around(&world.site, &wanted, &mut script, &mut || world.command(), &mut world.listener()).unwrap();
}

/// How many threads such a session moves, there and back.
fn moves() -> usize {
    let world = world();
    end_soon(&world);
    let moves = world.meanwhile.lock().unwrap().moves;
    // The daemon, the command and this process, there; each to all CPUs, back.
    assert_eq!(moves, 6);
    moves
}

#[test]
fn a_process_that_is_being_started_at_any_moment_gets_the_cpus_of_before() {
    for fork_before in 0..moves() {
        let world = world();
        world.meanwhile.lock().unwrap().fork_before = Some(fork_before);
        end_soon(&world);
        // A session that did not wait for it has ended before.
        if let Some(cpus) = world.meanwhile.lock().unwrap().fork.take() {
            end_fork(&world.site.root, &cpus);
        }
        assert_eq!([500, 501, 700].map(|pid| world.cpus(pid)), ["0-3"; 3], "it begins before move {fork_before}");
        assert_eq!(world.read(WORKERS).trim_start_matches('0'), "f");
    }
}

#[test]
fn whoever_is_killed_at_any_moment_has_written_down_what_to_give_back() {
    for copy_before in 0..moves() {
        let (world, left) = (world(), tempfile::tempdir().unwrap());
        world.meanwhile.lock().unwrap().copy_before = Some((copy_before, left.path().to_owned()));
        end_soon(&world);
        let (root, folder) = (left.path(), left.path().join("run/tandem"));
        die(&folder);
        let threads = FakeThreads { root: root.to_owned(), meanwhile: std::sync::Arc::default() };
        let restored = restore_left_behind(System::new(root, std::sync::Arc::new(threads)), &folder).unwrap();
        assert_eq!(restored.dead.len(), 1, "move {copy_before}");
        let after = [500, 700, std::process::id()].map(|pid| super::world::cpus(root, pid));
        assert_eq!(after, ["0-3"; 3], "killed before move {copy_before}");
        let workers = std::fs::read_to_string(root.join(WORKERS)).unwrap();
        assert_eq!(workers.trim().trim_start_matches('0'), "f", "killed before move {copy_before}");
    }
}

/// A parent that ends between the look at its child and the look at itself has left the child to another one.
#[test]
fn a_child_whose_parent_ends_while_it_is_looked_for_gets_the_cpus_of_before() {
    let world = world();
    let root = &world.site.root;
    let mut journal = Journal::begin(world.site.system(), &world.site.folder).unwrap();
    let setting = Setting::Affinity { pid: 500, tid: 500, start_time: 50_000 };
    journal.apply(&Change { setting, to: "0".to_owned() }).unwrap();
    super::world::process(root, 0, [501, 600], "child", &format!("{}99", std::process::id()));
    std::fs::write(root.join("proc/501/task/501/status"), "Tgid:\t501\nCpus_allowed_list:\t0\n").unwrap();
    // Whoever reads of the parent waits until it has ended.
    let parent = root.join("proc/600");
    std::fs::create_dir(&parent).unwrap();
    mkfifo(&parent.join("stat"), Mode::S_IRWXU).unwrap();
    let (of_thread, pipe) = (root.clone(), parent.join("stat"));
    let parent_ends = std::thread::spawn(move || {
        let pipe = std::fs::OpenOptions::new().write(true).open(pipe).unwrap();
        super::world::process(&of_thread, 0, [501, 500], "child", &format!("{}99", std::process::id()));
        std::fs::write(of_thread.join("proc/501/task/501/status"), "Tgid:\t501\nCpus_allowed_list:\t0\n").unwrap();
        std::fs::remove_dir_all(parent).unwrap();
        drop(pipe);
    });
    let restored = journal.restore();
    parent_ends.join().unwrap();
    assert_eq!((restored.given_back, restored.stuck.len()), (2, 0));
    assert_eq!([500, 501].map(|pid| world.cpus(pid)), ["0-3"; 2]);
}

/// One that ends while it is looked at may have started another one, whose number is lower.
#[test]
fn a_child_of_a_child_that_has_ended_is_looked_for_once_more() {
    let world = world();
    let mut journal = Journal::begin(world.site.system(), &world.site.folder).unwrap();
    let setting = Setting::Affinity { pid: 500, tid: 500, start_time: 50_000 };
    journal.apply(&Change { setting, to: "0".to_owned() }).unwrap();
    world.meanwhile.lock().unwrap().ends_at_move = Some((900, 800));
    super::world::process(&world.site.root, 0, [900, 500], "short", &format!("{}99", std::process::id()));
    std::fs::write(world.site.root.join("proc/900/task/900/status"), "Cpus_allowed_list:\t0\n").unwrap();
    let restored = journal.restore();
    assert_eq!((restored.given_back, restored.gone), (2, 1));
    assert_eq!([500, 800].map(|pid| world.cpus(pid)), ["0-3"; 2]);
}

/// The journal's owner is a process that is no more.
fn die(folder: &std::path::Path) {
    let journals = std::fs::read_dir(folder.join("changes")).unwrap();
    let [journal] = journals.map(|entry| entry.unwrap().path()).collect::<Vec<_>>().try_into().unwrap();
    let text = std::fs::read_to_string(&journal).unwrap();
    std::fs::write(&journal, text.replacen(&format!("\"pid\":{}", std::process::id()), "\"pid\":4194000", 1)).unwrap();
}

#[test]
fn a_signal_that_came_before_all_changes_nothing() {
    let world = world();
    let request = SessionRequest { backend: Choice::Affinity, governor: None, ..request("isolate=dedicated") };
    let wanted = Around { request, name: "make".to_owned(), activity: None };
    let mut script = Script::new(&world, [(0, Step::signal(SIGTERM))]);
    let mut launch = || -> std::io::Result<_> { panic!("no command begins") };
    let ended = around(&world.site, &wanted, &mut script, &mut launch, &mut world.listener());
    assert!(matches!(ended, Err(SessionError::Interrupted(SIGTERM))));
    assert_eq!(world.meanwhile.lock().unwrap().moves, 0);
    assert_eq!((world.cpus(500).as_str(), world.read(WORKERS).as_str()), ("0-3", "f"));
}
