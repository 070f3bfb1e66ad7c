// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files beside objects: what they say, and mistakes in them.

use super::*;
use crate::facts::Shape;

fn parse(text: &str) -> Result<LoaderFile, String> {
    LoaderFile::parse(Path::new("s.toml"), text).map_err(|error| error.to_string())
}

/// Names and values of what a file sets, as it says them.
fn said(settings: &[Setting]) -> Vec<(&str, String)> {
    settings.iter().map(|setting| (setting.name.as_str(), setting.value.word())).collect()
}

fn fact(word: &str) -> Argument {
    Argument::Fact(Word::of(word).unwrap())
}

#[test]
fn a_file_says_what_a_loader_would_do() {
    let text = r#"
        profile = "6.12"
        [set]
        nr_cpu_ids = "nr_cpus"
        table = [1, 0x10]
        fifo = true
        name = '"text"'
        [resize]
        cpu_started_at = "nr_cpus"
        log = 64
        [ops]
        timeout_ms = 5000
        [run]
        init_cpu = 3
        check = "check_settings"
        [perf]
        misses = "cache_misses"
        [statistics]
        map = "stats"
        names = "stat"
        states = ["mode"]
        limited = "held_queue"
        [hints]
        relative_length = "lengths"
        [applications]
        tgids = "processes"
        adopt = "take_on"
    "#;
    let file = parse(text).unwrap();
    let own = |text: &str| text.to_owned();
    let set =
        [("nr_cpu_ids", "nr_cpus"), ("table[0]", "1"), ("table[1]", "16"), ("fifo", "true"), ("name", "\"text\"")];
    assert_eq!(said(&file.set), set.map(|(name, value)| (name, own(value))));
    assert_eq!(said(&file.resize), [("cpu_started_at", own("nr_cpus")), ("log", own("64"))]);
    assert!(matches!(file.set[0].value, Value::Fact(_)) && matches!(file.set[3].value, Value::Text(_)));
    assert_eq!((file.profile, &file.ops.numbers), (Some(KernelInterface::V6_12), &vec![(own("timeout_ms"), 5000)]));
    assert_eq!((file.run.init_cpu, file.run.check.as_deref()), (Some(Argument::Number(3)), Some("check_settings")));
    assert_eq!(file.counters, [(own("misses"), Event::CacheMisses)]);
    assert_eq!(file.statistics.counters, Some((own("stats"), own("stat"))));
    assert_eq!(file.statistics.states, ["mode"]);
    assert_eq!(file.statistics.limited.as_deref(), Some("held_queue"));
    let tasks = [&file.tasks.relative_length, &file.tasks.tgids, &file.tasks.adopt].map(Option::as_deref);
    assert_eq!(tasks, [Some("lengths"), Some("processes"), Some("take_on")]);
}

#[test]
fn words_stand_for_facts() {
    let text = r#"
        [set]
        cpu_capacity = "cpu.capacity"
        "cpus[{cpu}].llc" = "cpu.llc"
        "domains[{domain}].valid" = 1
        [set_if.hybrid]
        gain = 350
        [map]
        cpu_node_map = "cpu.node"
        [ops]
        flags = ["SCX_OPS_ENQ_LAST"]
        flags_if.numa = ["SCX_OPS_BUILTIN_IDLE_PER_NODE"]
        [run]
        init_cpu = "smallest_cpu"
        [run.syscall]
        enable_primary_cpu = [[-1], ["cpu.number"]]
        enable_sibling_cpu = ["cpu.number", "cpu.sibling"]
        [run.attached]
        start_timer = ["smallest_cpu"]
    "#;
    let file = parse(text).unwrap();
    let subjects: Vec<Subject> = file.set.iter().map(|setting| setting.subject).collect();
    assert_eq!(subjects, [Subject::Machine, Subject::Cpu, Subject::Domain, Subject::Machine]);
    assert_eq!(file.set[3].condition.map(|truth| truth.to_string()).as_deref(), Some("hybrid"));
    assert_eq!(file.maps[0].1.list.to_string(), "cpu.node");
    let numa = (Word::of("numa").unwrap(), vec!["SCX_OPS_BUILTIN_IDLE_PER_NODE".to_owned()]);
    assert_eq!((file.ops.flags.as_slice(), file.ops.flags_if), (&["SCX_OPS_ENQ_LAST".to_owned()][..], vec![numa]));
    let calls: Vec<&[Argument]> = file.run.syscall.iter().map(|line| line.arguments.as_slice()).collect();
    let expected: [&[Argument]; 3] =
        [&[Argument::Number(-1)], &[fact("cpu.number")], &[fact("cpu.number"), fact("cpu.sibling")]];
    assert_eq!(calls, expected);
    assert_eq!(file.run.attached[0].arguments, [fact("smallest_cpu")]);
    assert_eq!(file.run.init_cpu, Some(fact("smallest_cpu")));
}

#[test]
fn every_word_is_found_by_its_text() {
    for word in Word::all() {
        assert_eq!(Word::of(&word.to_string()), Some(word));
    }
    assert_eq!(
        Word::of("cpu.capacity").map(|word| (word.subject(), word.shape())),
        Some((Subject::Cpu, Shape::Number))
    );
    assert_eq!([Word::of("capacity"), Word::of("machine.smt"), Word::of(".smt")], [None; 3]);
}

#[test]
fn a_mistake_is_shown_with_its_place() {
    let mistakes = [
        ("[sets]\n", "s.toml:1:2: unknown key `sets` in the file"),
        ("set = 1\n", "s.toml:1:7: `set` cannot be 1"),
        ("profile = \"6.11\"\n", "s.toml:1:11: `profile` cannot be \"6.11\""),
        ("[ops]\ntimeout = 5\n", "s.toml:2:1: unknown key `timeout` in `ops`"),
        ("[ops]\nflags = -1\n", "s.toml:2:9: `flags` cannot be -1"),
        ("[resize]\na = \"all\"\n", "s.toml:2:5: `a` cannot be \"all\""),
        ("[resize]\na = \"cpu.number\"\n", "s.toml:2:5: `a` cannot be \"cpu.number\""),
        ("[ops]\nflags = [\"SCX_OPS_ENQ_LATS\"]\n", "s.toml:2:10: a flag cannot be \"SCX_OPS_ENQ_LATS\""),
        ("[ops]\nflags_if.nuna = []\n", "s.toml:2:10: `nuna` of `flags_if` is not true or false of a machine"),
        ("[set_if.nr_cpus]\n", "s.toml:1:9: `nr_cpus` of `set_if` is not true or false of a machine"),
        ("[map]\nm = \"numa\"\n", "s.toml:2:5: `m` cannot be \"numa\""),
        ("[run.syscall]\nf = [[1], 2]\n", "s.toml:2:11: a call of `f` cannot be 2"),
        ("[run.syscall]\nf = [\"all\"]\n", "s.toml:2:6: `f` cannot be \"all\""),
        ("[run.syscall]\nf = [\"domain.mask\"]\n", "s.toml:2:6: `f` cannot be \"domain.mask\""),
        ("[run]\ninit_cpu = \"first\"\n", "s.toml:2:12: `init_cpu` cannot be \"first\""),
        ("[run.syscall]\nf = 3\n", "s.toml:2:5: `f` cannot be 3"),
        ("[set]\n\"a[{core}]\" = 1\n", "s.toml:2:1: unknown placeholder in `a[{core}]`"),
        ("[set]\n\"a[{cpu}][{domain}]\" = 1\n", "s.toml:2:1: `a[{cpu}][{domain}]` stands for two kinds of things"),
        ("[set]\n\"a[{cpu}]\" = \"cpu.colour\"\n", "s.toml:2:14: `a[{cpu}]` cannot be \"cpu.colour\""),
        ("[set]\n\"a[{cpu}]\" = \"domain.llc\"\n", "s.toml:2:14: `a[{cpu}]` cannot be \"domain.llc\""),
        ("[set]\na = \"domain.mask\"\n", "s.toml:2:5: `a` cannot be \"domain.mask\""),
        ("[run]\narena = 1\n", "s.toml:2:9: `arena` cannot be 1"),
        ("[run]\ncheck = true\n", "s.toml:2:9: `check` cannot be true"),
        ("[perf]\nm = \"branches\"\n", "s.toml:2:5: `m` cannot be \"branches\""),
        ("[hints]\nlength = \"m\"\n", "s.toml:2:1: unknown key `length` in `hints`"),
        ("[applications]\ntgids = 1\n", "s.toml:2:9: `tgids` cannot be 1"),
        ("[statistics]\nmap = \"m\"\n", "s.toml:1:1: `map` of `statistics` without `names`"),
        ("[statistics]\nstates = \"s\"\n", "s.toml:2:10: `states` cannot be \"s\""),
        ("[statistics]\nstates = [1]\n", "s.toml:2:11: a state cannot be 1"),
        ("[statistics]\nlimited = 1\n", "s.toml:2:11: `limited` cannot be 1"),
        ("[statistics]\nstate = []\n", "s.toml:2:1: unknown key `state` in `statistics`"),
        ("[set]\na = 1.5\n", "s.toml:2:5: `a` cannot be 1.5"),
    ];
    for (text, expected) in mistakes {
        let error = parse(text).unwrap_err();
        assert_eq!(error.lines().next(), Some(expected));
        assert!(error.contains("help: "), "{error}");
    }
    let double = parse("set.a = 1\nset.a = 2\n").unwrap_err();
    assert!(double.starts_with("s.toml:2:5: not TOML: duplicate key"), "{double}");
}

#[test]
fn the_nearest_name_is_suggested() {
    let slips = [
        ("[ops]\ntimeout = 5\n", "did you mean `timeout_ms`?"),
        ("[ops]\nflags = [\"SCX_OPS_ENQ_LATS\"]\n", "did you mean `SCX_OPS_ENQ_LAST`?"),
        ("[set]\na = \"cpu.capacty\"\n", "did you mean `cpu.capacity`?"),
        ("[ops]\nflags_if.nuna = []\n", "did you mean `numa`?"),
        ("[map]\nm = \"cpu.nodes\"\n", "did you mean `cpu.node`?"),
        ("[perf]\nm = \"cache_miss\"\n", "did you mean `cache_misses`?"),
    ];
    for (text, expected) in slips {
        let error = parse(text).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn words_of_before_are_refused_and_the_new_ones_named() {
    let old = [
        (
            "[set]\na = \"capacities\"\n",
            "s.toml:2:5: `a` cannot be \"capacities\"",
            "the fact is called \"cpu.capacity\" now",
        ),
        ("[map]\na = \"nodes\"\n", "s.toml:2:5: `a` cannot be \"nodes\"", "the fact is called \"cpu.node\" now"),
        ("[resize]\na = \"possible_cpus\"\n", "s.toml:2:5: `a` cannot be \"possible_cpus\"", "called \"nr_cpus\" now"),
        (
            "[run.syscall]\nf = [\"cpu\"]\n",
            "s.toml:2:6: `f` cannot be \"cpu\"",
            "the fact is called \"cpu.number\" now",
        ),
        ("[run.syscall]\nf = [\"sibling\"]\n", "s.toml:2:6: `f` cannot be \"sibling\"", "called \"cpu.sibling\" now"),
        (
            "[ops]\nflags_if_numa = []\n",
            "s.toml:2:1: `flags_if_numa` is no key of `ops` any more",
            "it is called `flags_if.numa` now",
        ),
        (
            "[each.cpu]\n\"a[{}].c\" = \"capacity\"\n",
            "s.toml:2:1: `each.cpu` is no table of this file any more",
            "below `[set]` now, as \"a[{cpu}].c\" = \"cpu.capacity\"",
        ),
        (
            "[each.machine]\na = \"possible_cpus\"\n",
            "s.toml:2:1: `each.machine` is no table of this file any more",
            "below `[set]` now, as \"a\" = \"nr_cpus\"",
        ),
        (
            "[each.opp_table]\n\"a[{}][0..]\" = \"power\"\n",
            "s.toml:2:1: `each.opp_table` is no table of this file any more",
            "as \"a[{opp_table}][0..]\" = \"opp_table.power\"",
        ),
        (
            "[each.hybrid]\ngain = 350\n",
            "s.toml:2:1: `each.hybrid` is no table of this file any more",
            "below `[set_if.hybrid]` now",
        ),
        (
            "[set]\n\"a[{}]\" = 1\n",
            "s.toml:2:1: `a[{}]` does not say what `{}` stands for",
            "write `{cpu}`, `{domain}`, `{opp_table}`",
        ),
    ];
    for (text, message, help) in old {
        let error = parse(text).unwrap_err();
        assert_eq!(error.lines().next(), Some(message));
        assert!(error.lines().last().is_some_and(|line| line.contains("help: ") && line.contains(help)), "{error}");
    }
}

#[test]
fn an_object_may_stand_alone() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(LoaderFile::beside(&folder.path().join("alone.bpf.o")), Ok(None));
    std::fs::write(folder.path().join("told.toml"), "run.check = \"c\"").unwrap();
    let told = LoaderFile::beside(&folder.path().join("told.bpf.o")).unwrap().unwrap();
    assert_eq!((told.run.check.as_deref(), told.path()), (Some("c"), folder.path().join("told.toml").as_path()));
}

#[test]
fn a_file_says_what_its_scheduler_lacks() {
    assert_eq!(parse("without = \"its balancer\"\n").unwrap().without.as_deref(), Some("its balancer"));
    assert_eq!(parse("").unwrap().without, None);
    let error = parse("without = 1\n").unwrap_err();
    assert!(error.starts_with("s.toml:1:11: "), "{error}");
}
