// SPDX-License-Identifier: GPL-2.0-only
//! Files that the command writes, and those that it leaves alone.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::{ONE_APPLICATION, Story};

const RUN: &str = "simulate @one.json -m hikey960";

#[test]
fn an_output_never_takes_the_place_of_an_input() {
    let story = Story::new();
    let detected = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines/hikey960.toml")).unwrap();
    fs::write(story.path("mine.toml"), &detected).unwrap();
    story.tandem("scheduler export o1 -o @own.bpf.o").unwrap();
    let object = fs::read(story.path("own.bpf.o")).unwrap();
    symlink(story.path("one.json"), story.path("soft.json")).unwrap();
    fs::hard_link(story.path("one.json"), story.path("hard.json")).unwrap();
    let before = story.files();
    for (output, what) in [
        ("--json=@one.json", "the workload"),
        ("--json=@soft.json", "the workload"),
        ("--trace @hard.json", "the workload"),
        ("--trace @mine.toml", "the machine"),
        ("--json=@own.bpf.o", "the scheduler"),
        ("--trace @own.toml", "the scheduler's loader file"),
    ] {
        for force in ["", " --force"] {
            let error =
                story.tandem(&format!("simulate @one.json -m @mine.toml -s @own.bpf.o {output}{force}")).unwrap_err();
            assert!(error.contains(&format!("is read as {what}; an output never")), "{output}{force}: {error}");
        }
    }
    let error = story.tandem("compare @one.json -m hikey960 -s fair --runs 1 --json=@one.json --force").unwrap_err();
    assert!(error.contains("is read as the workload"), "{error}");
    let error = story.tandem("scheduler show @own.bpf.o --json=@own.toml --force").unwrap_err();
    assert!(error.contains("is read as the scheduler's loader file"), "{error}");
    assert_eq!(story.files(), before);
    assert_eq!(fs::read_to_string(story.path("one.json")).unwrap(), ONE_APPLICATION);
    assert_eq!(fs::read_to_string(story.path("mine.toml")).unwrap(), detected);
    assert_eq!(fs::read(story.path("own.bpf.o")).unwrap(), object);
}

#[test]
fn two_outputs_are_two_files() {
    let story = Story::new();
    symlink("a", story.path("b")).unwrap();
    let before = story.files();
    let error = story.tandem(&format!("{RUN} --json=@a --trace @b --force")).unwrap_err();
    assert!(error.contains("is written as the JSON report of tandem"), "{error}");
    let error = story.tandem(&format!("{RUN} --json=@a --trace @a")).unwrap_err();
    assert_eq!(error, "--json and --trace name the same file");
    assert_eq!(story.files(), before);
}

#[test]
fn a_file_of_another_kind_is_replaced_by_force_only() {
    let story = Story::new();
    for (command, name, content) in [
        (format!("{RUN} --json=@notes.json"), "notes.json", r#"{ "tasks": {} }"#),
        (format!("{RUN} --trace @notes.txt"), "notes.txt", "\nfirst\n"),
        ("workload mixes --aluadd 1 -o @hand.json".to_owned(), "hand.json", ONE_APPLICATION),
        ("scheduler export tandem -o @x.bpf.o".to_owned(), "x.toml", "[package]\n"),
        ("scheduler export tandem -o @y.bpf.o".to_owned(), "y.bpf.o", "object"),
    ] {
        fs::write(story.path(name), content).unwrap();
        let before = story.files();
        let error = story.tandem(&command).unwrap_err();
        assert!(error.contains(&format!("{name}: there is a file that is no ")), "{error}");
        assert!(error.ends_with("help: --force replaces it"), "{error}");
        assert_eq!(fs::read_to_string(story.path(name)).unwrap(), content);
        assert_eq!(story.files(), before, "{command}");
        story.tandem(&format!("{command} --force")).unwrap();
        assert_ne!(fs::read(story.path(name)).unwrap(), content.as_bytes());
        // What the command wrote itself, it replaces.
        story.tandem(&command).unwrap();
    }
}

#[test]
fn every_kind_of_file_is_known_when_it_is_written_again() {
    let story = Story::new();
    for command in [
        "simulate @one.json -m hikey960 --json=@run.json --trace @run.perfetto",
        "compare @one.json -m hikey960 -s fair --runs 1 --json=@compared.json",
        "analyze --json=@theory.json",
        "explain -m hikey960 --json=@explained.json",
        "scheduler show tandem --json=@listing.json",
        "scheduler export single -o @single.bpf.o",
        "scheduler export o1 -o @o1.bpf.o",
        "workload phases --label 1:4 -o @phases.json",
        "machine detect -o @this.toml",
    ] {
        for round in ["first", "second"] {
            story.tandem(command).unwrap_or_else(|error| panic!("{round} {command}: {error}"));
        }
    }
}

#[test]
fn a_replaced_report_keeps_its_mode() {
    let story = Story::new();
    let (command, path) = (format!("{RUN} --json=@r.json"), story.path("r.json"));
    story.tandem(&command).unwrap();
    fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    story.tandem(&command).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_dash_is_standard_output_and_no_file() {
    let story = Story::new();
    let before = story.files();
    let json = story.tandem(&format!("{RUN} --reproducible --json=-")).unwrap();
    assert_eq!(json, story.tandem(&format!("{RUN} --reproducible --json")).unwrap());
    story.tandem(&format!("{RUN} --trace @file.perfetto")).unwrap();
    let (trace, result) = story.run_to_bytes(&format!("{RUN} --trace -")).unwrap();
    result.unwrap();
    assert_eq!(trace, fs::read(story.path("file.perfetto")).unwrap());
    let error = story.tandem(&format!("{RUN} --json --trace -")).unwrap_err();
    assert_eq!(error, "--json and --trace both print on standard output");
    let generated = story.tandem("workload mixes --aluadd 1").unwrap();
    assert_eq!(story.tandem("workload mixes --aluadd 1 -o -").unwrap(), generated);
    assert!(story.tandem("machine detect -o -").unwrap().starts_with("schema = 1"));
    fs::remove_file(story.path("file.perfetto")).unwrap();
    assert_eq!(story.files(), before);
    assert!(!std::path::Path::new("-").exists());
}
