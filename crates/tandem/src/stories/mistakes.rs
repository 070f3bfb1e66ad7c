// SPDX-License-Identifier: GPL-2.0-only
//! Mistakes that would otherwise give results of another question, and what the command says to them.

use std::fs;

use super::Story;

fn error(command: &str) -> String {
    Story::new().tandem(command).unwrap_err()
}

#[test]
fn a_workload_without_tasks_is_a_mistake_with_its_place() {
    let story = Story::new();
    for (text, place, message) in [
        ("{\n  \"tasks\": {}\n}", "2:12", "no tasks: there is nothing to run"),
        ("\n{ \"global\": {} }", "2:1", "no tasks: there is nothing to run"),
        (r#"{"tasks":{"a":{"instance":0,"run":1}}}"#, "1:10", "no task begins: there is nothing to run"),
    ] {
        fs::write(story.path("empty.json"), text).unwrap();
        for command in ["simulate @empty.json -m hikey960", "compare @empty.json -m hikey960 -s fair"] {
            let error = story.tandem(command).unwrap_err();
            assert!(error.contains(&format!("empty.json:{place}: {message}")), "{error}");
        }
    }
}

#[test]
fn what_detect_writes_of_a_core_with_twelve_threads_is_read() {
    let story = Story::new();
    let cpu = |cpu: u32, file: &str, text: &str| {
        let path = story.path("root/sys/devices/system/cpu").join(format!("cpu{cpu}/{file}"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    for number in 0..12 {
        cpu(number, "topology/core_cpus_list", "0-11\n");
        cpu(number, "topology/physical_package_id", "0\n");
    }
    for list in ["online", "present", "possible"] {
        fs::write(story.path("root/sys/devices/system/cpu").join(list), "0-11\n").unwrap();
    }
    story.tandem("machine detect --root @root -o @guest.toml").unwrap();
    assert!(fs::read_to_string(story.path("guest.toml")).unwrap().contains("smt = 12"));
    assert!(story.tandem("machine show @guest.toml").unwrap().contains("12"));
    story.tandem("simulate @one.json -m @guest.toml").unwrap();
}

#[test]
fn a_template_is_a_machine_and_is_never_lost() {
    let story = super::Story::new();
    story.tandem("machine new mine --like hikey960 -o @mine.toml").unwrap();
    let shown = story.tandem("machine show @mine.toml --sources").unwrap();
    assert!(shown.contains("mine (values of hikey960)") && shown.contains("assumed as hikey960"), "{shown}");
    story.tandem("simulate @one.json -m @mine.toml").unwrap();
    let lost = story.tandem("machine new mine --like sdm845 -o @mine.toml").unwrap_err();
    assert!(lost.contains("may have been filled in") && lost.contains("--force"), "{lost}");
    assert!(fs::read_to_string(story.path("mine.toml")).unwrap().contains("assumed as hikey960"));
    story.tandem("machine new mine --like sdm845 -o @mine.toml --force").unwrap();
    assert!(fs::read_to_string(story.path("mine.toml")).unwrap().contains("assumed as sdm845"));
    let unknown = story.tandem("machine new mine --like hikey").unwrap_err();
    assert!(unknown.contains("did you mean `hikey960`?"), "{unknown}");
    // Whatever this runs on, some machine is the nearest.
    assert!(story.tandem("machine new mine").unwrap().contains("assumed as "));
}

#[test]
fn a_clock_that_no_cpu_has_is_refused_and_its_unit_is_said() {
    for command in [
        "simulate @one.json -m hikey960 -g userspace=1400",
        "compare @one.json -m hikey960 -s fair -s fair+userspace=1400",
        "explain @one.json -m hikey960 -g userspace=1400",
    ] {
        let said = error(command);
        let expected = "governor `userspace`: 1.4 MHz is outside the clocks of hikey960, 533 MHz to 2362 MHz; without a unit \
                        a number is in kHz: 1400 MHz is `userspace=1400MHz`";
        assert_eq!(said, expected, "{command}");
    }
    let said = error("simulate @one.json -m hikey960 -g userspace=9GHz");
    assert!(said.ends_with("9000 MHz is outside the clocks of hikey960, 533 MHz to 2362 MHz"), "{said}");
}

#[test]
fn an_option_that_is_not_there_has_a_near_name_or_none() {
    let said = error("simulate @one.json -m hikey960 --output x");
    assert!(said.contains("unexpected argument '--output'") && !said.contains("--hotplug"), "{said}");
    for (written, near) in [("--tracee x", "--trace"), ("--dur 1s", "--duration"), ("--hotplugs x", "--hotplug")] {
        let said = error(&format!("simulate @one.json -m hikey960 {written}"));
        assert!(said.contains(&format!("'{near}'")), "{said}");
    }
    assert!(error("workload phasis").contains("'phases'"));
    let said = error("simulate @one.json -m hikey960 --json report.json");
    assert!(said.contains("use '--json=report.json'"), "{said}");
}

#[test]
fn what_has_no_programs_is_not_profiled() {
    let said = error("simulate @one.json -m hikey960 --profile-bpf");
    assert!(said.contains("--profile-bpf is for a sched_ext scheduler"), "{said}");
    Story::new().tandem("simulate @one.json -m hikey960 -s tandem --profile-bpf").unwrap();
}

#[test]
fn json_takes_a_file_behind_an_equals_sign_in_every_command() {
    let story = Story::new();
    story.tandem("status --json=@status.json").unwrap();
    let json = fs::read_to_string(story.path("status.json")).unwrap();
    assert!(json.starts_with("{\n  \"schema\": 1,"), "{json}");
    assert_eq!(story.tandem("status --json").unwrap(), json);
    for command in ["simulate", "why", "compare", "explain", "analyze", "reproduce", "scheduler show", "status", "run"]
    {
        let help = error(&format!("{command} --help"));
        assert!(help.contains("--json[=<FILE>]") || help.contains("--json [<FILE>]"), "{command}: {help}");
    }
    // The folder of the report is what is wrong, not the command line: both ways of writing it are read.
    for json in ["--json=@no/report.json", "--json @no/report.json"] {
        let said = error(&format!("run {json} -- true"));
        assert!(said.contains("no/report.json: cannot be written"), "{said}");
    }
}

#[test]
fn a_short_form_gets_the_name_that_it_is_short_for() {
    let story = Story::new();
    let text = include_str!("../../../../machines/hikey960.toml").replacen("gb_per_s", "gbps", 1);
    fs::write(story.path("mine.toml"), text).unwrap();
    let said = story.tandem("simulate @one.json -m @mine.toml").unwrap_err();
    assert!(said.contains("did you mean `gb_per_s`?"), "{said}");
    assert!(error("simulate @one.json -m hikey960 -s tandem,serial=true").contains("serial_first"));
    let said = error("simulate @one.json -m hikey960 -s tandem --set serial=true");
    assert!(said.contains("did you mean the setting `serial_first` of tandem"), "{said}");
}

#[test]
fn a_setting_of_tandem_without_tandem_says_whose_it_is() {
    for command in ["simulate @one.json -m hikey960", "compare @one.json -m hikey960 -s fair -s o1"] {
        let said = error(&format!("{command} --set serial_first=true"));
        assert!(said.starts_with("--set: `serial_first` is a setting of the scheduler tandem, which is not"), "{said}");
        assert!(said.contains("`-s tandem`"), "{said}");
    }
    let said = error("simulate @one.json -m hikey960 --set serial_frist=true");
    assert!(said.contains("like `serial_first`, a setting of the scheduler tandem"), "{said}");
    // A kernel parameter that is near goes before.
    assert!(error("simulate @one.json -m hikey960 --set hzz=100").contains("did you mean `hz`?"));
}

#[test]
fn an_example_scheduler_that_is_not_compiled_names_what_compiles_it() {
    let said = error("simulate @one.json -m hikey960 -s @out/schedulers/scx_simple.bpf.o");
    assert!(said.contains("`make objects` compiles the kernel's example schedulers"), "{said}");
    let said = error("simulate @one.json -m hikey960 -s @elsewhere/scx_simple.bpf.o");
    assert!(!said.contains("make objects"), "{said}");
}

#[test]
fn a_count_that_cannot_be_is_told_with_those_that_can() {
    for (command, range) in [
        ("why @one.json -m hikey960 --worst -1", "-1 is not in 1..=10000"),
        ("compare @one.json -m hikey960 -s fair --runs -1", "-1 is not in 1..=100000"),
    ] {
        let error = error(command);
        assert!(error.contains(range), "{error}");
    }
}

#[test]
fn what_a_machine_draws_is_as_wide_as_the_terminal() {
    let text = Story::on_terminal(60).tandem("machine show hikey960").unwrap();
    let (_, draws) = text.split_once("\ndraws, ").unwrap();
    for line in draws.lines() {
        assert!(console::measure_text_width(line) <= 60, "{line}");
    }
}
