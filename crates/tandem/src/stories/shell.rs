// SPDX-License-Identifier: GPL-2.0-only
//! `tandem completions` and `tandem manual`.

use std::fs;
use std::process::Command;

use super::Story;

/// What bash offers for the last of these words, the completions being loaded.
fn offered(script: &str, words: &str) -> String {
    let count = words.split_whitespace().count();
    let previous = words.split_whitespace().nth(count - 2).unwrap();
    let last = words.split_whitespace().next_back().unwrap();
    let said = format!(
        "{script}\nCOMP_WORDS=({words}); COMP_CWORD={}; _tandem tandem '{last}' '{previous}'; echo \"${{COMPREPLY[*]}}\"",
        count - 1
    );
    let output = Command::new("bash").args(["--norc", "-c", &said]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn bash_completes_commands_options_and_machines() {
    let script = Story::new().tandem("completions bash").unwrap();
    assert_eq!(offered(&script, "tandem repr"), "reproduce");
    assert_eq!(offered(&script, "tandem compare --sch"), "--scheduler");
    assert_eq!(offered(&script, "tandem simulate app.json --machine hik"), "hikey960");
    assert_eq!(offered(&script, "tandem simulate app.json -m hik"), "hikey960");
}

#[test]
fn other_shells_have_scripts_of_their_own() {
    let story = Story::new();
    assert!(story.tandem("completions zsh").unwrap().starts_with("#compdef tandem\n"));
    assert!(story.tandem("completions fish").unwrap().contains("complete -c tandem"));
    let refusal = story.tandem("completions tcsh").unwrap_err();
    assert!(refusal.contains("[possible values: bash, zsh, fish]"), "{refusal}");
}

#[test]
fn every_command_that_people_are_shown_has_a_page() {
    let story = Story::new();
    story.tandem("manual @man").unwrap();
    let read = |name: &str| fs::read_to_string(story.path("man").join(name));
    assert!(read("tandem.1").unwrap().contains("Exit status: 0 success"));
    assert!(read("tandem-compare.1").unwrap().contains(r"\-\-scheduler"));
    assert!(read("tandem-scheduler-show.1").unwrap().contains("OBJECT"));
    assert!(read("tandem-launch.1").is_err() && read("tandem-manual.1").is_err());
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let refusal = Story::new().tandem("manual @two.json").unwrap_err();
    assert!(refusal.starts_with("cannot write manual pages to ") && refusal.contains("two.json"), "{refusal}");
}
