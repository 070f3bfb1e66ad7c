// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each kind of mistake in a description is reported in its place, with what was expected. Here are the mistakes that
//! any table can have; `impossible` has those of machines that cannot exist.

use std::path::Path;

use super::example;
use tandem_simulator::input::InputError;
use tandem_simulator::machine::Machine;

/// Marks the place that the report must point at.
const HERE: char = '»';

/// A mistake: a text of the example in `docs/machines.md`, its replacement, the message, and a part of the help.
pub type Mistake = (&'static str, &'static str, &'static str, &'static str);

fn parse(text: &str) -> Result<Machine, InputError> {
    Machine::parse("example", Path::new("example.toml"), text, None)
}

/// Makes each mistake and compares the report.
pub fn check(mistakes: &[Mistake]) {
    for (correct, wrong, message, help) in mistakes {
        assert_eq!(example().matches(correct).count(), 1, "`{correct}` must occur once in the example");
        let marked = example().replace(correct, wrong);
        let before = marked.split(HERE).next().unwrap_or_default();
        assert!(before.len() < marked.len(), "`{wrong}` does not say where the mistake is");
        let text = marked.replace(HERE, "");
        let Err(report) = parse(&text) else { panic!("`{wrong}` is not a mistake") };
        let at = report.position.as_ref().unwrap_or_else(|| panic!("`{wrong}` has no place: {report}"));
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        assert_eq!((report.message.as_str(), at.line, at.column), (*message, line, column), "`{wrong}`: {report}");
        let given = report.help.as_deref().unwrap_or_default();
        assert!(given.contains(help), "`{wrong}`: expected the help to say `{help}`: {report}");
    }
}

#[test]
fn a_report_shows_the_place() {
    let text = example().replace("ipc = 2.0", "ipx = 2.0");
    let report = parse(&text).expect_err("ipx is no key").to_string();
    let shown = "example.toml:6:1: unknown key `ipx` in core_type.fast\n 6 | ipx = 2.0\n   | ^\n  help: did you mean `ipc`? \
                 valid: `ipc`, `capacity_dmips_mhz`, `memory_speed`, `memory_knee_mhz`, `memory_overlap`, `stall_activity`, `smt_speed`, `smt_activity`, `source`, `sources`";
    assert_eq!(report, shown);
}

#[test]
fn syntax() {
    check(&[
        ("ipc = 2.0", "ipc = »", "not TOML: string values must be quoted, expected literal string", ""),
        ("[platform]", "[platform»", "not TOML: unclosed table, expected `]`", ""),
        ("ipc = 2.0", "ipc = 2.0\n»ipc = 3.0", "not TOML: duplicate key", ""),
    ]);
}

#[test]
fn unknown_keys() {
    check(&[
        ("[platform]", "[»platfrom]", "unknown key `platfrom` in the file", "did you mean `platform`?"),
        ("smt_speed = 0.6", "»smt_sped = 0.6", "unknown key `smt_sped` in core_type.fast", "did you mean `smt_speed`?"),
        (
            "name = \"off\", scope = \"cluster\"",
            "»scop = \"cluster\"",
            "unknown key `scop` in an entry of `states`",
            "`scope`",
        ),
        ("cores = 4\n", "cores = 4\n»colour = 1\n", "unknown key `colour` in an entry of `cluster`", "valid: `name`"),
        ("level = 3,", "»levle = 3,", "unknown key `levle` in cache", "did you mean `level`?"),
        ("tick_us = 1.5", "»tick_ms = 1.5", "unknown key `tick_ms` in scheduling", "did you mean `tick_us`?"),
    ]);
}

#[test]
fn wrong_types() {
    check(&[
        ("ipc = 2.0", "ipc = »\"two\"", "`ipc` is a string", "expected a number, more than 0"),
        ("cores = 4\n", "cores = »4.5\n", "`cores` is a fraction", "expected a whole number, 1 to 8192"),
        ("scalable = false", "scalable = »0", "`scalable` is an integer", "`true` or `false`"),
        ("duty_cycle = [0.25]", "duty_cycle = »0.25", "`duty_cycle` is a fraction", "an array of numbers"),
        ("duty_mhz = [400]", "duty_mhz = [»\"400\"]", "`duty_mhz` is a string", "expected a number"),
        ("[[cluster]]\nname = \"helper\"", "[[cluster]]\nname = »7", "`name` is an integer", "expected a string"),
        ("opps = [{ mhz = 800, watts = 0.3 }]", "opps = [»800]", "an entry of `opps` is an integer", "a table"),
        ("cpus = \"2-3,6-7\"", "cpus = [»2, 3, 6, 7]", "`cpus` is an integer", "one list of CPU numbers per core"),
        ("cpus = \"2-3,6-7\"", "cpus = »2", "`cpus` is an integer", "expected a string"),
        ("schema = 1", "schema = »\"1\"", "`schema` is a string", "a whole number"),
    ]);
}

#[test]
fn missing_keys() {
    check(&[
        ("cache = { level = 3, ", "cache = »{ ", "cache has no `level`", "1 to 4"),
        (
            "floor = [{ mhz = 1000, mv = 700 }, { mhz = 2000, mv = 800 }]",
            "floor = [{ mhz = 1000, »mvv = 1 }]",
            "unknown key `mvv` in an entry of `floor`",
            "did you mean `mv`?",
        ),
        (
            "voltage_follows = { leader = \"fast\", floor = [{ mhz = 1000, mv = 700 }, { mhz = 2000, mv = 800 }] }",
            "voltage_follows = »{ leader = \"fast\", floor = [] }",
            "voltage_follows has no `floor`",
            "at least one",
        ),
        (
            "[core_type.slow]\nipc = 1.0\ncapacity_dmips_mhz = 1.0\nmemory_speed = 0.5\n",
            "»[core_type.slow]\nipc = 1.0\n",
            "core_type.slow has no `memory_speed`",
            "",
        ),
        ("schema = 1\n", "»", "the file has no `schema`", "expected `schema`: 1"),
        ("[core_type.slow]\nipc = 1.0", "»[core_type.slow]", "core_type.slow has no `ipc`", "a number, more than 0"),
        ("[memory.io-bus]\ngb_per_s = 2", "»[memory.io-bus]", "memory.io-bus has no `gb_per_s`", "a number"),
        ("[[cluster]]\nname = \"helper\"", "»[[cluster]]", "an entry of `cluster` has no `name`", "a string"),
        (
            "[[cluster]]\nname = \"helper\"\npackage = \"io\"",
            "»[[cluster]]\nname = \"helper\"",
            "cluster.helper has no `package`",
            "a string",
        ),
        ("opps = [{ mhz = 800, watts = 0.3 }]", "opps = [»{ watts = 0.3 }]", "an entry of `opps` has no `mhz`", ""),
        (
            "{ cpus = \"0\", mhz = 500 }",
            "»{ cpus = \"0\" }",
            "an entry of `limits` has no `mhz`",
            "`min_mhz`, `max_mhz`",
        ),
        (
            "[opp_table.helper]\ntransition_latency_us = 0\nscalable = false\nopps = [{ mhz = 800, watts = 0.3 }]",
            "»[opp_table.helper]\ntransition_latency_us = 0\nopps = []",
            "opp_table.helper has no `opps`",
            "at least one",
        ),
    ]);
}

#[test]
fn missing_tables() {
    let text = example();
    for (from, to, missing) in [
        ("[platform]", "[scheduling]", "platform"),
        ("[scheduling]", "[configuration", "scheduling"),
        ("[[cluster]]", "[platform]", "cluster"),
    ] {
        let (start, end) = (text.find(from).expect(from), text.find(to).expect(to));
        let mistake = parse(&format!("{}{}", &text[..start], &text[end..])).expect_err(missing);
        assert_eq!(mistake.message, format!("the file has no `{missing}`"));
        assert!(mistake.help.is_some_and(|help| help.contains(&format!("[{missing}]"))));
    }
    let mistake = parse("").expect_err("an empty file");
    assert_eq!(mistake.position.map(|at| (at.line, at.column)), Some((1, 1)));
}

#[test]
fn sources() {
    check(&[
        (
            "[platform]\nwatts = 5\nsupply_efficiency = 0.8\ncpufreq_driver = \"amd-pstate-epp\"\n\
             governor = \"powersave\"\nepp = \"balance_power\"\nsource = \"measured at the wall\"\n",
            "»[platform]\nwatts = 5\nsupply_efficiency = 0.8\ncpufreq_driver = \"amd-pstate-epp\"\n\
             governor = \"powersave\"\nepp = \"balance_power\"\n",
            "platform has no `source`",
            "where its values come from",
        ),
        (
            "[core_type.slow]\nipc = 1.0\ncapacity_dmips_mhz = 1.0\nmemory_speed = 0.5\nmemory_knee_mhz = 250\nmemory_overlap = 2\nstall_activity = 0.6\nsource",
            "»[core_type.slow]\nipc = 1.0\ncapacity_dmips_mhz = 1.0\nmemory_speed = 0.5\nmemory_knee_mhz = 250\nmemory_overlap = 2\nstall_activity = 0.6\n# source",
            "core_type.slow has no `source`",
            "where its values come from",
        ),
        ("source = \"data sheet, page 2\"", "source = »\" \"", "`source` is empty", "expected text"),
        (
            "sources.smt_activity =",
            "sources.»smt_activty =",
            "`sources` names an unknown key `smt_activty`",
            "did you mean `smt_activity`?",
        ),
        (
            "watts = 5\n",
            "watts = 5\nsources.»source = \"twice\"\n",
            "`sources` names an unknown key `source`",
            "valid: `watts`",
        ),
        (
            "[core_type.slow]\n",
            "[core_type.slow]\nsources.»smt_speed = \"nobody\"\n",
            "`sources` names `smt_speed`, which core_type.slow does not have",
            "leave its source out",
        ),
        ("watts = 5\n", "watts = 5\nsources.watts = »5\n", "`watts` is an integer", "expected a string"),
    ]);
}

#[test]
fn ranges() {
    check(&[
        ("ipc = 2.0", "ipc = »0", "`ipc` is out of range: 0", "more than 0, at most 1000000"),
        ("stall_activity = 0.5", "stall_activity = »1.5", "`stall_activity` is out of range: 1.5", "at most 1"),
        ("smt_activity = 1.2", "smt_activity = »0.9", "`smt_activity` is out of range: 0.9", "at least 1"),
        ("watts = 5\n", "watts = »nan\n", "`watts` is out of range: nan", "at least 0"),
        ("watts = 5\n", "watts = »inf\n", "`watts` is out of range: inf", "at most 1000000"),
        ("watts = 5\n", "watts = »-5\n", "`watts` is out of range: -5", "at least 0"),
        ("supply_efficiency = 0.8", "supply_efficiency = »80", "`supply_efficiency` is out of range: 80", "at most 1"),
        ("cores = 4\n", "cores = »0\n", "`cores` is out of range: 0", "1 to 8192"),
        ("smt = 2\n", "smt = »9000\n", "`smt` is out of range: 9000", "1 to 8192"),
        ("kib = 512", "kib = »-1", "`kib` is out of range: -1", "a whole number"),
        ("schema = 1\n", "schema = »2\n", "schema 2 is unknown", "expected schema = 1"),
        (
            "thread_gb_per_s = 10\n",
            "thread_gb_per_s = »30\n",
            "one thread has more bandwidth than all: 30 > 20",
            "at most",
        ),
        (
            "uncore_idle_watts = 0.2",
            "uncore_idle_watts = »2",
            "the idle uncore draws more than the busy one: 2 > 1",
            "",
        ),
        (
            "memory_speed = 1.0",
            "memory_speed = »0.9",
            "`fast` is the type of the fastest CPU (0), the reference",
            "memory_speed = 1.0",
        ),
    ]);
}

#[test]
fn unknown_names_and_words() {
    check(&[
        (
            "nj_per_byte = 0.1\n",
            "nj_per_byte = 0.1\nparent = »\"io-bus\"\n",
            "memory `dram` is, through its parents, its own parent",
            "",
        ),
        ("package = \"io\"", "package = »\"oi\"", "no package is named `oi`", "did you mean `io`? valid: `main`, `io`"),
        ("core_type = \"fast\"", "core_type = »\"fats\"", "no core type is named `fats`", "did you mean `fast`?"),
        (
            "opp_table = \"helper\"",
            "opp_table = »\"all\"",
            "no OPP table is named `all`",
            "valid: `fast`, `slow`, `helper`",
        ),
        ("memory = \"io-bus\"", "memory = »\"io_bus\"", "no memory is named `io_bus`", "did you mean `io-bus`?"),
        ("parent = \"dram\"", "parent = »\"ram\"", "no memory is named `ram`", "did you mean `dram`?"),
        ("leader = \"fast\"", "leader = »\"fist\"", "no cluster is named `fist`", "did you mean `fast`?"),
        ("leader = \"fast\"", "leader = »\"slow\"", "cluster `slow` follows itself", "another cluster"),
        ("parent = \"dram\"", "parent = »\"io-bus\"", "memory `io-bus` is, through its parents, its own parent", ""),
        (
            "[[cluster]]\nname = \"helper\"",
            "[[cluster]]\nname = »\"slow\"",
            "a cluster `slow` is described already",
            "",
        ),
        (
            "performance_domain = \"core\"",
            "performance_domain = »\"cores\"",
            "`performance_domain` cannot be `cores`",
            "did you mean `core`? valid: `cpu`, `core`, `cluster`, `package`",
        ),
        (
            "name = \"off\", scope = \"cluster\"",
            "name = \"off\", scope = »\"clutser\"",
            "`scope` cannot be `clutser`",
            "did you mean `cluster`?",
        ),
        ("per = \"package\"", "per = »\"pakage\"", "`per` cannot be `pakage`", "did you mean `package`?"),
        ("per = \"cores:2\"", "per = »\"cores:3\"", "`per` cannot be `cores:3`", "divides the cluster's 4 cores"),
    ]);
}

#[test]
fn names_of_machines_and_configurations() {
    let report = |spec: &str| Machine::load(spec).map(|machine| machine.name).map_err(|mistake| mistake.to_string());
    assert!(report("hikey96").is_err_and(|mistake| mistake.contains("did you mean `hikey960`?")));
    let none = report("hikey960:fast").expect_err("it has no configurations");
    assert!(none.starts_with("machines/hikey960.toml: no configuration is named `fast`"), "{none}");
    let unread = report("./nowhere.toml:fast").expect_err("there is no such file");
    assert!(unread.starts_with("./nowhere.toml: cannot read the machine description"), "{unread}");
    let slip = Machine::parse("example", Path::new("example.toml"), example(), Some("quite"));
    assert_eq!(slip.expect_err("a slip").help.as_deref(), Some("did you mean `quiet`? valid: `quiet`"));
}

#[test]
fn a_file_is_loaded_by_its_path() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = folder.path().join("lab.toml");
    std::fs::write(&path, example()).expect("it can be written");
    let load = |spec: String| Machine::load(&spec).unwrap_or_else(|mistake| panic!("{mistake}")).name;
    assert_eq!(load(path.display().to_string()), "lab");
    assert_eq!(load(format!("{}:quiet", path.display())), "lab:quiet");
}
