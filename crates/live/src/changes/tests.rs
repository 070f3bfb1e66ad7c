// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings are files of a tree; threads are real ones, of this test's own children.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::*;
use crate::testing::{Running, Tree, cpus_of, has_two_cpus, pin, start_time};

const GOVERNOR: &str = "sys/devices/system/cpu/cpufreq/policy0/scaling_governor";
const HIGHEST: &str = "sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq";
const WORKERS: &str = "sys/devices/virtual/workqueue/cpumask";

fn tree() -> Tree {
    let tree = Tree::new();
    tree.write(GOVERNOR, "performance\n");
    tree.write(HIGHEST, "2000000\n");
    tree.write(WORKERS, "f\n");
    tree.write("proc/irq/9/smp_affinity_list", "0-3\n");
    tree
}

fn governor(to: &str) -> Change {
    Change { setting: Setting::Governor { policy: "policy0".to_owned() }, to: to.to_owned() }
}

fn highest(to: &str) -> Change {
    Change { setting: Setting::MaxFrequency { policy: "policy0".to_owned() }, to: to.to_owned() }
}

fn affinity(pid: u32, to: &str) -> Change {
    Change { setting: Setting::Affinity { pid, tid: pid, start_time: start_time(pid) }, to: to.to_owned() }
}

fn begin(tree: &Tree) -> Journal {
    Journal::begin(tree.root(), &tree.run()).unwrap()
}

/// A journal of a governor and a limit.
fn two_changes(tree: &Tree) -> Journal {
    let mut journal = begin(tree);
    journal.apply(&governor("schedutil")).unwrap();
    journal.apply(&highest("1600000")).unwrap();
    journal
}

fn journals(tree: &Tree) -> Vec<PathBuf> {
    fs::read_dir(tree.run().join("changes")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// What the journal would say after its owner's death: the owner becomes a process that was there once.
fn die(tree: &Tree, journal: Journal) -> PathBuf {
    let [path] = journals(tree).try_into().unwrap();
    let mut text = fs::read_to_string(&path).unwrap();
    // It neither gives back nor leaves its lock.
    std::mem::forget(journal);
    let dead =
        Command::new("true").stdout(Stdio::null()).spawn().map(|mut child| (child.id(), child.wait())).unwrap().0;
    text = text.replacen(&format!("\"pid\":{}", std::process::id()), &format!("\"pid\":{dead}"), 1);
    let left = path.with_file_name("dead.journal");
    fs::write(&left, text).unwrap();
    fs::remove_file(path).unwrap();
    left
}

#[test]
fn what_is_changed_is_given_back_and_the_journal_goes() {
    let tree = tree();
    let mut journal = begin(&tree);
    assert_eq!(journal.apply(&governor("schedutil")).unwrap(), Applied::Changed);
    assert_eq!(journal.apply(&governor("schedutil")).unwrap(), Applied::Already);
    let workers = Change { setting: Setting::WorkqueueCpus, to: "0".to_owned() };
    assert_eq!(journal.apply(&workers).unwrap(), Applied::Changed);
    assert_eq!([tree.read(GOVERNOR), tree.read(WORKERS)], ["schedutil", "00000001"]);
    assert_eq!((journal.len(), journal.old(&workers.setting)), (2, Some("0-3")));
    let restored = journal.restore();
    assert_eq!((restored.given_back, restored.gone, restored.kept.len()), (2, 0, 0));
    assert_eq!([tree.read(GOVERNOR), tree.read(WORKERS)], ["performance", "0000000f"]);
    assert_eq!(journals(&tree), Vec::<PathBuf>::new());
}

#[test]
fn a_journal_that_is_dropped_gives_back() {
    let tree = tree();
    begin(&tree).apply(&governor("schedutil")).unwrap();
    assert_eq!(tree.read(GOVERNOR), "performance");
}

#[test]
fn the_first_value_is_the_one_that_comes_back() {
    let tree = tree();
    let mut journal = begin(&tree);
    for khz in ["1800000", "1600000", "1400000"] {
        journal.apply(&highest(khz)).unwrap();
    }
    assert_eq!((tree.read(HIGHEST), journal.len()), ("1400000".to_owned(), 1));
    journal.restore();
    assert_eq!(tree.read(HIGHEST), "2000000");
}

#[test]
fn the_journal_has_the_old_value_and_the_new_one() {
    let tree = tree();
    let mut journal = begin(&tree);
    let [path] = journals(&tree).try_into().unwrap();
    journal.apply(&governor("schedutil")).unwrap();
    let text = fs::read_to_string(path).unwrap();
    let line = r#"{"change":{"setting":{"governor":{"policy":"policy0"}},"old":"performance","to":"schedutil"}}"#;
    assert_eq!(text.lines().nth(1), Some(line));
}

#[test]
fn what_somebody_else_changed_since_stays_theirs() {
    let tree = tree();
    let mut journal = begin(&tree);
    journal.apply(&governor("schedutil")).unwrap();
    journal.apply(&highest("1600000")).unwrap();
    tree.write(GOVERNOR, "powersave\n");
    let restored = journal.restore();
    assert_eq!((tree.read(GOVERNOR).trim(), tree.read(HIGHEST).as_str()), ("powersave", "2000000"));
    assert_eq!(restored.given_back, 1);
    assert_eq!(
        restored.kept[0].to_string(),
        "the governor of policy0: somebody has changed that from schedutil to powersave, so it stays; it was \
         performance at first"
    );
}

#[test]
fn what_cannot_be_read_is_not_changed() {
    let tree = tree();
    let mut journal = begin(&tree);
    let missing = Change { setting: Setting::IrqAffinity { irq: 77 }, to: "0".to_owned() };
    let error = journal.apply(&missing).unwrap_err();
    assert!(error.is_gone() && error.to_string().starts_with("the CPUs of interrupt 77 cannot be read"), "{error}");
    assert!(!tree.root().join("proc/irq/77").exists() && journal.is_empty());
}

#[test]
fn a_change_that_is_refused_is_not_one_to_undo() {
    let tree = tree();
    let mut journal = begin(&tree);
    let nowhere = Change { setting: Setting::WorkqueueCpus, to: "zero".to_owned() };
    assert!(matches!(journal.apply(&nowhere), Err(ChangeError::Refused { .. })));
    assert_eq!((journal.len(), tree.read(WORKERS).as_str()), (0, "f\n"));
}

#[test]
fn the_dead_leave_a_journal_behind_and_others_give_back() {
    let tree = tree();
    let mut journal = begin(&tree);
    journal.apply(&governor("schedutil")).unwrap();
    journal.apply(&highest("1600000")).unwrap();
    assert_eq!(left_behind(tree.root(), &tree.run()).unwrap().dead, []);
    assert!(restore_left_behind(tree.root(), &tree.run()).unwrap().dead.is_empty());
    assert_eq!(tree.read(GOVERNOR), "schedutil");
    die(&tree, journal);
    let left = left_behind(tree.root(), &tree.run()).unwrap().dead;
    let changes: Vec<_> = left[0].changes.iter().map(|left| (left.old.as_str(), left.given.as_slice())).collect();
    assert_eq!(changes, [("2000000", &["1600000".to_owned()][..]), ("performance", &["schedutil".to_owned()])]);
    let restored = restore_left_behind(tree.root(), &tree.run()).unwrap().dead;
    assert_eq!((restored.len(), restored[0].1.given_back), (1, 2));
    assert_eq!([tree.read(GOVERNOR), tree.read(HIGHEST)], ["performance", "2000000"]);
    assert_eq!(journals(&tree), Vec::<PathBuf>::new());
}

#[test]
fn a_line_that_was_cut_off_costs_no_other_line() {
    let tree = tree();
    let path = die(&tree, two_changes(&tree));
    let text = fs::read_to_string(&path).unwrap();
    // In the middle of the last line, with bytes that are no text.
    let last = text.trim_end().rfind('\n').unwrap() + 20;
    fs::write(&path, [&text.as_bytes()[..last], &[0xff]].concat()).unwrap();
    let restored = restore_left_behind(tree.root(), &tree.run()).unwrap().dead;
    assert_eq!((restored[0].1.given_back, restored[0].1.unread_lines), (1, 1));
    assert_eq!([tree.read(GOVERNOR), tree.read(HIGHEST)], ["performance", "1600000"]);
}

#[test]
fn a_journal_leads_to_no_file_but_those_that_sessions_change() {
    let tree = tree();
    let elsewhere = "sys/devices/system/cpu/elsewhere/scaling_governor";
    tree.write(elsewhere, "schedutil\n");
    let path = die(&tree, two_changes(&tree));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"policy0\"", "\"../elsewhere\"", 1)).unwrap();
    let restored = restore_left_behind(tree.root(), &tree.run()).unwrap().dead;
    assert_eq!((restored[0].1.given_back, restored[0].1.unread_lines), (1, 1));
    assert_eq!([tree.read(elsewhere), tree.read(HIGHEST)], ["schedutil\n", "2000000"]);
}

#[test]
fn a_journal_cut_off_anywhere_gives_back_every_change_whose_line_is_whole() {
    let tree = tree();
    let path = die(&tree, two_changes(&tree));
    let text = fs::read_to_string(&path).unwrap();
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    for length in 0..=text.len() {
        // A file that is cut off before it is written again goes to the disk each time.
        fs::remove_file(&path).unwrap();
        fs::write(&path, &text[..length]).unwrap();
        let left = left_behind(tree.root(), &tree.run()).unwrap().dead;
        // The end of a line is not needed for what it says.
        let whole = ends.iter().filter(|end| **end <= length).count();
        assert_eq!(left.iter().map(|left| left.changes.len()).sum::<usize>(), whole.saturating_sub(1), "{length}");
    }
}

#[test]
fn what_is_no_journal_is_named_and_keeps_no_other_one_from_being_given_back() {
    let tree = tree();
    die(&tree, two_changes(&tree));
    let changes = tree.run().join("changes");
    fs::create_dir(changes.join("1-folder.journal")).unwrap();
    fs::create_dir(changes.join("z-folder.journal")).unwrap();
    nix::unistd::mkfifo(&changes.join("2-pipe.journal"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    std::os::unix::fs::symlink("/dev/zero", changes.join("3-link.journal")).unwrap();
    fs::write(changes.join("4-words.journal"), "hello\n").unwrap();
    let why = |unread: &[ChangeError]| unread.iter().map(ToString::to_string).collect::<Vec<_>>();
    let said = ["1-folder: it is a folder", "2-pipe: it is no file", "3-link: it is a link"]
        .into_iter()
        .chain(["4-words: its first line does not say whose it is", "z-folder: it is a folder"])
        .filter_map(|words| words.split_once(": "))
        .map(|(name, why)| {
            let path = changes.join(format!("{name}.journal"));
            format!("{}: the journal of changes cannot be read: {why}", path.display())
        })
        .collect::<Vec<_>>();
    let left = left_behind(tree.root(), &tree.run()).unwrap();
    assert_eq!((left.dead.len(), why(&left.unread)), (1, said.clone()));
    let restored = restore_left_behind(tree.root(), &tree.run()).unwrap();
    assert_eq!((restored.dead.len(), restored.dead[0].1.given_back, why(&restored.unread)), (1, 2, said));
    assert_eq!([tree.read(GOVERNOR), tree.read(HIGHEST)], ["performance", "2000000"]);
    // They stay, for who looks at them.
    assert_eq!(journals(&tree).len(), 5);
}

#[test]
fn who_lives_gives_back_by_itself_and_is_named() {
    let tree = tree();
    let journal = two_changes(&tree);
    let alive = |owners: &[Owner]| owners.iter().map(|owner| owner.pid).collect::<Vec<_>>();
    assert_eq!(alive(&left_behind(tree.root(), &tree.run()).unwrap().alive), [std::process::id()]);
    let restored = restore_left_behind(tree.root(), &tree.run()).unwrap();
    assert_eq!((restored.dead.len(), alive(&restored.alive)), (0, vec![std::process::id()]));
    assert_eq!((tree.read(GOVERNOR).as_str(), journal.len()), ("schedutil", 2));
}

#[test]
fn another_boot_has_nothing_to_give_back() {
    let tree = tree();
    tree.write("proc/sys/kernel/random/boot_id", "first\n");
    let mut journal = begin(&tree);
    journal.apply(&governor("schedutil")).unwrap();
    die(&tree, journal);
    tree.write("proc/sys/kernel/random/boot_id", "second\n");
    assert_eq!(left_behind(tree.root(), &tree.run()).unwrap().dead, []);
    assert!(restore_left_behind(tree.root(), &tree.run()).unwrap().dead.is_empty());
    assert_eq!((tree.read(GOVERNOR).as_str(), journals(&tree).len()), ("schedutil", 0));
}

#[test]
fn a_process_has_one_journal_and_no_folder_means_none() {
    let tree = tree();
    assert_eq!(left_behind(tree.root(), Path::new("/nowhere")).unwrap().dead, []);
    let _journal = begin(&tree);
    let error = Journal::begin(tree.root(), &tree.run()).unwrap_err();
    assert!(error.to_string().contains("the journal of changes cannot be created"), "{error}");
}

#[test]
fn threads_get_back_the_cpus_that_they_had() {
    if !has_two_cpus() {
        return;
    }
    let (tree, all) = (tree(), cpus_of(0));
    let (free, pinned, moved) =
        (Running::script("echo; cat"), Running::script("echo; cat"), Running::script("echo; cat"));
    pin(pinned.pid(), 1);
    for child in [&free, &pinned, &moved] {
        tree.show(child.pid());
    }
    let mut journal = begin(&tree);
    for child in [&free, &pinned, &moved] {
        journal.apply(&affinity(child.pid(), "0")).unwrap();
        assert_eq!(child.cpus(), "0");
    }
    pin(moved.pid(), 1);
    let restored = journal.restore();
    assert_eq!([free.cpus(), pinned.cpus(), moved.cpus()], [all, "1".to_owned(), "1".to_owned()]);
    assert_eq!((restored.given_back, restored.kept.len()), (2, 1));
}

#[test]
fn a_thread_that_ended_is_gone_and_one_with_its_number_is_not_it() {
    if !has_two_cpus() {
        return;
    }
    let (tree, child) = (tree(), Running::script("echo; cat"));
    tree.show(child.pid());
    let mut journal = begin(&tree);
    let mut earlier = affinity(child.pid(), "0");
    if let Setting::Affinity { start_time, .. } = &mut earlier.setting {
        *start_time -= 1;
    }
    assert!(journal.apply(&earlier).unwrap_err().is_gone());
    assert_eq!(child.cpus(), cpus_of(0));
    journal.apply(&affinity(child.pid(), "0")).unwrap();
    drop(child);
    let restored = journal.restore();
    assert_eq!((restored.given_back, restored.gone, restored.stuck.len()), (0, 1, 0));
}

#[test]
fn what_inherits_our_cpus_gets_what_its_parent_had() {
    if !has_two_cpus() {
        return;
    }
    let (tree, all) = (tree(), cpus_of(0));
    // It starts another one when it is told to, which starts one more.
    let inner = r#"sh -c "echo; read word; true"; true"#;
    let mut parent = Running::script(&format!("echo; read word; sh -c '{inner}'; true"));
    tree.show(parent.pid());
    let mut journal = begin(&tree);
    journal.apply(&affinity(parent.pid(), "0")).unwrap();
    parent.say("go");
    parent.hear();
    tree.show_family(parent.pid());
    let tasks = crate::tasks::Tasks::below(tree.root());
    let mut others = tasks.processes();
    others.retain(|pid| ![std::process::id(), parent.pid()].contains(pid));
    let cpus = || others.iter().copied().map(cpus_of).collect::<Vec<_>>();
    assert_eq!(cpus(), ["0", "0"]);
    // Told of one of them, the journal knows that its CPUs are no wish of its own.
    journal.apply(&affinity(others[1], "1")).unwrap();
    assert_eq!(journal.old(&affinity(others[1], "1").setting), Some(all.as_str()));
    journal.restore();
    assert_eq!((cpus(), parent.cpus()), (vec![all.clone(); 2], all));
}

/// A worker of the kernel that was started meanwhile, where work queues may go.
#[test]
fn what_nobody_can_move_is_no_heir() {
    if !has_two_cpus() {
        return;
    }
    let (tree, child) = (tree(), Running::script("echo; cat"));
    tree.show(child.pid());
    let stat =
        format!("4000000 (kworker/u4:1) I {} 0 0 0 -1 69238880 {}20 0 1 0 99999999999 0", child.pid(), "0 ".repeat(8));
    tree.write("proc/4000000/stat", &stat);
    tree.write("proc/4000000/task/4000000/stat", &stat);
    tree.write("proc/4000000/task/4000000/status", "Cpus_allowed_list:\t0\n");
    let mut journal = begin(&tree);
    journal.apply(&affinity(child.pid(), "0")).unwrap();
    let restored = journal.restore();
    assert_eq!((restored.given_back, restored.gone, restored.stuck.len()), (1, 0, 0));
}

#[test]
fn a_long_journal_is_written_anew_and_says_the_same() {
    if !has_two_cpus() {
        return;
    }
    let (tree, child, ended) = (tree(), Running::script("echo; cat"), Running::script("echo; cat"));
    tree.show(child.pid());
    tree.show(ended.pid());
    let mut journal = begin(&tree);
    journal.apply(&highest("1600000")).unwrap();
    journal.apply(&affinity(ended.pid(), "0")).unwrap();
    drop(ended);
    for round in 0..1100 {
        journal.apply(&affinity(child.pid(), ["0", "1"][round % 2])).unwrap();
    }
    journal.tidy().unwrap();
    let [path] = journals(&tree).try_into().unwrap();
    // Its owner, a clock, the two CPUs that the child was given; nothing of the one that ended.
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 4);
    journal.apply(&highest("1400000")).unwrap();
    assert!(restore_left_behind(tree.root(), &tree.run()).unwrap().dead.is_empty());
    die(&tree, journal);
    let restored = &restore_left_behind(tree.root(), &tree.run()).unwrap().dead[0].1;
    assert_eq!((restored.given_back, restored.gone), (2, 0));
    assert_eq!([child.cpus(), tree.read(HIGHEST)], [cpus_of(0), "2000000".to_owned()]);
}
