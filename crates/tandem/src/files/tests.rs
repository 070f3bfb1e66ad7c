// SPDX-License-Identifier: GPL-2.0-only
//! Files in a folder of their own.

use std::os::unix::fs::symlink;

use super::*;

const OLD: &str = "{\"schema\": 1, \"old\": true}";

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn report(path: &Path) -> Output<'_> {
    Output { path, kind: Kind::Report, force: false }
}

#[test]
fn an_unfinished_file_leaves_the_old_one_alone() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("report.json");
    fs::write(&target, OLD).unwrap();
    let mut staged = Files::default().create(report(&target)).unwrap();
    staged.write_all(b"half").unwrap();
    assert_eq!(names(folder.path()).len(), 2);
    drop(staged);
    assert_eq!(names(folder.path()), ["report.json"]);
    assert_eq!(fs::read_to_string(&target).unwrap(), OLD);
}

#[test]
fn a_finished_file_takes_the_place_and_nothing_else_remains() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("report.json");
    Files::default().write(report(&target), OLD).unwrap();
    let files = Files::default();
    files.write(report(&target), "second").unwrap();
    assert_eq!(names(folder.path()), ["report.json"]);
    assert_eq!(fs::read_to_string(&target).unwrap(), "second");
    assert!(locked(&files.pending).is_empty());
}

#[test]
fn what_is_no_file_is_written_to_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    Files::default().write(report(Path::new("/dev/null")), "gone").unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    let fifo = folder.path().join("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let reader = {
        let fifo = fifo.clone();
        std::thread::spawn(move || fs::read_to_string(fifo).unwrap())
    };
    Files::default().write(report(&fifo), "through").unwrap();
    assert_eq!(reader.join().unwrap(), "through");
    assert_eq!(names(folder.path()), ["fifo"]);
}

#[test]
fn the_file_behind_a_link_is_replaced_or_made() {
    for there in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        if there {
            fs::write(&target, OLD).unwrap();
        }
        symlink("target", &link).unwrap();
        Files::default().write(report(&link), "new").unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}

#[test]
fn a_link_to_itself_and_a_folder_are_no_places() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link");
    symlink("link", &link).unwrap();
    for path in [&link, folder.path()] {
        let error = Files::default().write(report(path), "").unwrap_err().to_string();
        assert!(error.contains("cannot be written: "), "{error}");
    }
}

#[test]
fn a_replaced_file_keeps_its_mode_and_its_owner() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("report.json");
    for mode in [0o600, 0o640, 0o666] {
        fs::write(&target, OLD).unwrap();
        fs::set_permissions(&target, Permissions::from_mode(mode)).unwrap();
        let old = fs::metadata(&target).unwrap();
        Files::default().write(report(&target), OLD).unwrap();
        let new = fs::metadata(&target).unwrap();
        assert_ne!(new.ino(), old.ino());
        assert_eq!((new.mode() & 0o777, new.uid(), new.gid()), (mode, old.uid(), old.gid()));
    }
}

#[test]
fn a_folder_that_does_not_exist_is_named() {
    let error = Files::default().write(report(Path::new("/nowhere/at/all.json")), "").unwrap_err();
    assert!(error.to_string().starts_with("/nowhere/at/all.json: cannot be written"), "{error}");
}
