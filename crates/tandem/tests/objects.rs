// SPDX-License-Identifier: GPL-2.0-only
//! Sched_ext objects on the command line: the kernel's own schedulers by their paths, and what else may stand there.

use std::fs;
use std::path::PathBuf;

use crate::command::{mistake, shown};
use crate::compiled::object_path;
use serde_json::Value;

const RUN: [&str; 6] = ["simulate", "periodic", "-m", "smp-8", "--duration", "5ms"];

fn run<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    RUN.iter().copied().chain(arguments.iter().copied()).collect()
}

/// A folder with a copy of `scx_simple.bpf.o`, by another name if wanted.
fn folder_with(names: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in names {
        let target = folder.path().join(name);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(object_path("scx_simple"), target).unwrap();
    }
    folder
}

#[test]
fn an_object_is_called_by_its_file_and_settings_whatever_its_folder() {
    let folder = folder_with(&["scx_simple.bpf.o", "a+b,c/s+x,1.bpf.o"]);
    for (scheduler, title) in [
        ("./scx_simple.bpf.o", "scx_simple.bpf.o+schedutil"),
        ("scx_simple.bpf.o", "scx_simple.bpf.o+schedutil"),
        ("./scx_simple.bpf.o,fifo_sched=true+powersave", "scx_simple.bpf.o,fifo_sched=true+powersave"),
        ("a+b,c/s+x,1.bpf.o", "s+x,1.bpf.o+schedutil"),
        ("a+b,c/s+x,1.bpf.o,fifo_sched=1+ondemand=10ms,up_threshold=80", "s+x,1.bpf.o,fifo_sched=1+ondemand"),
    ] {
        let text = shown(folder.path(), &run(&["-s", scheduler]));
        assert!(text.starts_with(&format!("periodic on smp-8 under {title}")), "{text}");
    }
    let json = shown(folder.path(), &run(&["-s", "./a+b,c/s+x,1.bpf.o,fifo_sched=true", "--json"]));
    let report: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["scheduler"], "s+x,1.bpf.o,fifo_sched=true");
}

#[test]
fn two_files_of_one_name_are_told_apart_by_their_folders() {
    let folder = folder_with(&["x/s.bpf.o", "y/s.bpf.o", "y/t.bpf.o"]);
    let schedulers = ["-s", "x/s.bpf.o", "-s", "y/s.bpf.o,fifo_sched=true", "-s", "./y/t.bpf.o", "-s", "fair"];
    let command = ["compare", "periodic", "-m", "smp-8", "--duration", "5ms", "--runs", "1", "--no-alone", "--json"];
    let json = shown(folder.path(), &[&command[..], &schedulers].concat());
    let report: Value = serde_json::from_str(&json).unwrap();
    let names: Vec<&str> =
        report["pairs"].as_array().unwrap().iter().map(|pair| pair["scheduler"].as_str().unwrap()).collect();
    assert_eq!(names, ["x/s.bpf.o", "y/s.bpf.o,fifo_sched=true", "t.bpf.o", "fair"]);
}

#[test]
fn what_is_no_scheduler_says_what_it_is_and_what_is_expected() {
    let folder = folder_with(&["scx_simple.bpf.o"]);
    let bytes = fs::read(object_path("scx_simple")).unwrap();
    fs::write(folder.path().join("cut.bpf.o"), &bytes[..3000]).unwrap();
    fs::write(folder.path().join("text.o"), "hello").unwrap();
    fs::create_dir(folder.path().join("folder")).unwrap();
    fs::copy(object_path("maps"), folder.path().join("maps.bpf.o")).unwrap();
    for (scheduler, expected) in [
        ("./scx_simpel.bpf.o", "No such file or directory (os error 2); did you mean ./scx_simple.bpf.o?"),
        ("./scx_simple", "did you mean ./scx_simple.bpf.o?"),
        ("./folder", "./folder: cannot be read: Is a directory"),
        (env!("CARGO_BIN_EXE_tandem"), "not for BPF (247); compile with clang --target=bpf"),
        ("cut.bpf.o", "cut.bpf.o: the table of sections of this ELF file is damaged"),
        ("text.o", "text.o: this is no ELF file"),
        ("maps.bpf.o", "maps.bpf.o: the object holds no `struct sched_ext_ops`: it is no scheduler"),
        ("scx_simple", "or the path of a sched_ext object such as ./scx_simple.bpf.o"),
        ("./scx_simple.bpf.o+shedutil", "did you mean `schedutil`?"),
        ("./scx_simple.bpf.o,fifo_sched", "`fifo_sched` is no setting: expected NAME=VALUE"),
        ("./scx_simple.bpf.o,=1", "`=1` is no setting: expected NAME=VALUE"),
        ("./scx_simple.bpf.o,fifo_shed=1", "there is no variable fifo_shed; did you mean fifo_sched?"),
        ("./scx_simple.bpf.o,fifo_sched=maybe", "bool: \"maybe\" is not true or false"),
        ("./scx_simple.bpf.o,vtime_now=-1", "u64: -1 is not between 0 and 18446744073709551615"),
    ] {
        let text = mistake(folder.path(), &run(&["-s", scheduler]));
        assert!(text.contains(expected), "{scheduler}: {text}");
    }
}

#[test]
fn a_setting_is_a_parameter_of_the_kernel_or_a_variable_of_some_scheduler() {
    let folder = folder_with(&["scx_simple.bpf.o"]);
    let simple = ["-s", "./scx_simple.bpf.o"];
    let set = |setting: &'static str| run(&[simple[0], simple[1], "--set", setting]);
    shown(folder.path(), &set("fifo_sched=true"));
    for (setting, expected) in [
        ("fifo_shed=true", "did you mean the variable `fifo_sched` of scx_simple.bpf.o?"),
        ("hzz=100", "did you mean the kernel parameter `hz`?"),
        ("quux=1", "`tandem scheduler show ./scx_simple.bpf.o` lists the variables"),
        ("fifo_sched=7", "7 is not between 0 and 1"),
        ("hz=7", "`7` is no value of `hz`"),
    ] {
        let text = mistake(folder.path(), &set(setting));
        assert!(text.starts_with("error: --set: ") && text.contains(expected), "{setting}: {text}");
    }
    let text = mistake(folder.path(), &run(&["--set", "fifo_sched=true"]));
    assert!(text.contains("unknown setting `fifo_sched`; valid: `hz`"), "{text}");
    // The fair class has no variables; that a later scheduler has this one is enough.
    let command =
        ["compare", "periodic", "-m", "smp-8", "--duration", "5ms", "--runs", "1", "--no-alone", "-s", "fair"];
    shown(folder.path(), &[&command[..], &simple, &["--set", "fifo_sched=true"]].concat());
}

/// Queued by virtual time, which `--set` and the path decide, the two applications do not run as in one queue.
#[test]
fn what_stands_behind_the_path_goes_before_set() {
    let folder = folder_with(&["scx_simple.bpf.o"]);
    let report = |scheduler: &str, set: &str| {
        let command = ["simulate", "noise", "-m", "core2-q6600", "--duration", "300ms", "--json", "--reproducible"];
        let text = shown(folder.path(), &[&command[..], &["-s", scheduler, "--set", set]].concat());
        let mut report: Value = serde_json::from_str(&text).unwrap();
        report["scheduler"] = Value::Null;
        report["produced_by"] = Value::Null;
        report
    };
    let fifo = report("./scx_simple.bpf.o", "fifo_sched=true");
    let vtime = report("./scx_simple.bpf.o", "fifo_sched=false");
    assert_ne!(fifo, vtime);
    assert_eq!(report("./scx_simple.bpf.o,fifo_sched=true", "fifo_sched=false"), fifo);
}

#[test]
fn an_object_is_listed_before_it_runs() {
    let folder = folder_with(&["scx_simple.bpf.o"]);
    insta::assert_snapshot!(shown(folder.path(), &["scheduler", "show", "./scx_simple.bpf.o,fifo_sched=true"]), @r"
    scx_simple.bpf.o,fifo_sched=true: the scheduler `simple` for Linux 6.12, licence GPL
    It can be loaded.

    callbacks  select_cpu, enqueue, dispatch, running, stopping, enable, init, exit
    flags      none
    timeout    30000 ms
    loading    nothing to do: there is no ./scx_simple.toml

    map    kind          key  value  entries
    stats  PERCPU_ARRAY  4 B    8 B        2

    setting     value  type
    fifo_sched  true   bool

    variable   value  type
    vtime_now  0      u64

    functions  scx_bpf_consume, scx_bpf_create_dsq, scx_bpf_dispatch, scx_bpf_dispatch_vtime, scx_bpf_select_cpu_dfl
    helpers    bpf_map_lookup_elem, bpf_probe_read_kernel_str
    ");
    let json = shown(folder.path(), &["scheduler", "show", "./scx_simple.bpf.o", "--json"]);
    let listing: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&listing["name"], &listing["timeout_ms"]), (&Value::from("simple"), &Value::from(30_000)));
    assert_eq!(listing["variables"][0]["name"], "fifo_sched");
    let page = include_str!("../../../docs/schedulers.md");
    for (field, value) in listing.as_object().unwrap() {
        let of_it = [format!("`{field}`"), format!("`{field}[]"), format!("`{field}[].")];
        assert!(of_it.iter().any(|name| page.contains(name)), "docs/schedulers.md does not describe `{field}`");
        // Functions, helpers and their like are described together.
        let first = value.as_array().and_then(|items| items.first()?.as_object());
        for name in first.into_iter().flat_map(|item| item.keys()) {
            let names = [format!("`{field}[].{name}`"), format!("`{name}`")];
            assert!(
                names.iter().any(|name| page.contains(name)),
                "docs/schedulers.md does not describe {field}[].{name}"
            );
        }
    }
    let text = mistake(folder.path(), &["scheduler", "show", "./scx_simple.bpf.o,fifo=1"]);
    assert!(text.contains("there is no variable fifo"), "{text}");
}

#[test]
fn the_file_beside_an_object_does_what_its_loader_would() {
    let place: PathBuf = object_path("scx_central");
    let folder = place.parent().unwrap();
    let text = shown(folder, &["scheduler", "show", "scx_central.bpf.o"]);
    assert!(text.contains("done as scx_central.toml says"), "{text}");
    assert!(text.contains("nr_cpu_ids   nr_cpus"), "{text}");
    let text = shown(folder, &run(&["-s", "./scx_central.bpf.o"]));
    assert!(text.starts_with("periodic on smp-8 under scx_central.bpf.o+schedutil"), "{text}");

    let alone = tempfile::tempdir().unwrap();
    fs::copy(&place, alone.path().join("scx_central.bpf.o")).unwrap();
    fs::write(alone.path().join("scx_central.toml"), "[set]\nnr_cpu_id = 8\n").unwrap();
    let text = mistake(alone.path(), &run(&["-s", "./scx_central.bpf.o"]));
    assert!(
        text.contains("./scx_central.toml:2:13: there is no variable nr_cpu_id; did you mean nr_cpu_ids?"),
        "{text}"
    );
    fs::write(alone.path().join("scx_central.toml"), "[set]\ncentral_cpu = \n").unwrap();
    let text = mistake(alone.path(), &run(&["-s", "./scx_central.bpf.o"]));
    assert!(text.contains("./scx_central.toml:2:"), "{text}");
}

#[test]
fn nothing_is_concluded_from_a_scheduler_that_lacks_a_part_of_itself() {
    let folder = folder_with(&["half.bpf.o", "whole.bpf.o"]);
    fs::write(folder.path().join("half.toml"), "without = \"its user-space half\"\n").unwrap();
    let text = shown(folder.path(), &run(&["-s", "./half.bpf.o"]));
    assert!(text.contains("\nIt ran without its user-space half.\n"), "{text}");
    let json = shown(folder.path(), &run(&["-s", "./half.bpf.o", "--json"]));
    let report: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["sched_ext"]["without"], "its user-space half");

    let command = ["compare", "periodic", "forkjoin", "-m", "smp-8", "--duration", "5ms", "--runs", "2", "--no-alone"];
    let text = shown(folder.path(), &[&command[..], &["-s", "fair", "-s", "half.bpf.o", "-s", "whole.bpf.o"]].concat());
    assert!(
        text.contains("* half.bpf.o+schedutil ran without its user-space half; no conclusion is drawn from that"),
        "{text}"
    );
    assert!(text.lines().any(|line| line.contains("half.bpf.o+schedutil * ")), "{text}");
    let (_, means) = text.split_once("Geometric means").unwrap();
    assert!(means.contains("whole.bpf.o") && !means.lines().any(|line| line.starts_with("half.bpf.o")), "{means}");
}
