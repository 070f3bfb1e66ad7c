// SPDX-License-Identifier: GPL-2.0-only
//! Mistakes in the commands for the running kernel: they are found before anything is read or changed.

use std::fs;

use super::Story;

/// The message of a mistake; fails if the command does not treat it as one.
fn mistake(command: &str) -> String {
    Story::new().tandem(command).unwrap_err()
}

#[test]
fn a_command_is_needed_and_what_stands_behind_it_is_its_own() {
    assert!(mistake("run --all").contains("<COMMAND>"));
    assert!(mistake("run --lonest -- true").contains("--longest"));
    // The setting is the mistake here: options behind the command's name are not Tandem's.
    assert!(mistake("run --set x=1 sort --all --nonsense").contains("--set x=1"));
}

#[test]
fn a_setting_that_is_not_there_has_a_nearest_name() {
    let said = mistake("run --all --set serial_frist=true -- true");
    assert!(said.starts_with("--set serial_frist=true: "), "{said}");
    assert!(said.contains("serial_first") && said.contains("tandem scheduler show tandem"), "{said}");
    assert!(mistake("attach --set seniority_ms=0").contains("1 to 60000 ms"));
    assert!(mistake("run --set longest -- true").contains("expected KEY=VALUE"));
}

#[test]
fn values_of_options_are_checked() {
    assert!(mistake("run --isolate yes -- true").contains("dedicated, shared"));
    assert!(mistake("run --backend ebpf -- true").contains("auto, sched-ext, affinity"));
    assert!(mistake("run --governor ondemand -- true").contains("schedutil, keep"));
    assert!(mistake("run --stats 0 -- true").contains("expected seconds, from 0.1 to 86400"));
    assert!(mistake("attach --application 0").contains("0 is not in 1..=2147483647"));
    assert!(mistake("attach --application 2147483647").contains("there is no such process"));
}

#[test]
fn metrics_are_for_this_machine_only() {
    assert!(mistake("attach --metrics 192.0.2.1:9435").contains("others can reach"));
    assert!(mistake("attach --metrics 0.0.0.0:9435").contains("others can reach"));
    assert!(mistake("attach --metrics nine").contains("expected a port"));
}

#[test]
fn lengths_are_whole_numbers_that_a_program_can_mean() {
    for length in ["0", "9007199254740993", "1.5", "long"] {
        assert!(mistake(&format!("hint {length}")).contains("<LENGTH>"), "{length}");
    }
    assert!(mistake("hint --thread 0 5").contains("--thread"));
}

#[test]
fn nobody_is_asked_who_does_not_exist() {
    let said = mistake("run --user no-such-user-here -- true");
    assert!(said.contains("--user no-such-user-here"), "{said}");
}

/// Measures this machine for a moment. Nothing is attached: a description that is taken leads to the next mistake.
#[test]
fn a_bandwidth_is_measured_and_one_that_is_assumed_is_refused() {
    let story = Story::new();
    story.tandem("machine detect -o @this.toml").unwrap();
    let said = story.tandem("attach --speed --machine @this.toml").unwrap_err();
    assert!(said.starts_with("the bandwidth of this is assumed: ") && said.contains("detect --measure"), "{said}");
    story.tandem("machine detect --measure -o @this.toml").unwrap();
    let text = fs::read_to_string(story.path("this.toml")).unwrap();
    assert!(text.contains("measured by `tandem machine detect --measure`: "), "{text}");
    let said = story.tandem("attach --speed --machine @this.toml --set memory_mbps=-1").unwrap_err();
    assert!(said.contains("memory_mbps=-1"), "{said}");
    for option in ["--measure", "--calibrate"] {
        let said = story.tandem(&format!("machine detect {option} --root @nowhere")).unwrap_err();
        assert!(said.contains(&format!("{option} loads this machine")), "{said}");
    }
    assert!(mistake("run --speed --machine nowhere -- true").contains("nowhere"));
}
