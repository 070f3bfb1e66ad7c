// SPDX-License-Identifier: GPL-2.0-only
//! Mistakes that would otherwise give results of another question, and what the command says to them.

use std::fs;

use super::Story;

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
