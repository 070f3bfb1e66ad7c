// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files beside an object with `u32 nr_cpus; bool cpuperf; u32 capacity[2], clock[4];`, on a machine of two CPUs.

use std::sync::Arc;

use tandem_bpf_vm::btf::Builder;
use tandem_bpf_vm::object::{DataSection, Object, Variable};

use super::*;
use crate::machine::{Cpu, OppTable};

fn object() -> OpenObject {
    let mut btf = Builder::new();
    let number = btf.int("unsigned int", 4, false);
    let boolean = btf.int("_Bool", 1, false);
    let (two, four) = (btf.array(number, 2), btf.array(number, 4));
    let variables =
        [("nr_cpus", 0, 4, number), ("cpuperf", 4, 1, boolean), ("capacity", 8, 8, two), ("clock", 16, 16, four)];
    let variable =
        |(name, offset, size, type_id): (&str, u64, u64, _)| Variable { name: name.into(), offset, size, type_id };
    let section = DataSection {
        name: ".rodata".to_owned(),
        bytes: vec![0; 32],
        variables: variables.into_iter().map(variable).collect(),
        ..DataSection::default()
    };
    OpenObject::new(Arc::new(Object { btf: btf.finish(), data: vec![section], ..Object::default() }))
}

fn machine() -> Machine {
    let cpu = |capacity| Cpu { online: true, capacity, ..Cpu::default() };
    let table = OppTable { frequency: vec![800, 1200], performance: vec![340, 512], power: vec![0, 0] };
    Machine { cpus: vec![cpu(1024), cpu(512)], opp_tables: vec![table], nr_nodes: 1, cpuperf: true }
}

fn apply(text: &str, open: &mut OpenObject) -> Result<Plan, SidecarError> {
    Sidecar::parse(PathBuf::from("s.toml"), text)?.apply(&machine(), open)
}

#[test]
fn facts_of_the_machine_land_in_variables() {
    let mut open = object();
    let text = r#"
        [set]
        nr_cpus = "nr_cpus"
        cpuperf = "cpuperf"
        [each.cpu]
        "capacity[{}]" = "capacity"
        [each.opp_table]
        "clock[1..]" = "frequency"
    "#;
    assert_eq!(apply(text, &mut open).unwrap(), Plan::default());
    let number = |name: &str| open.integer(name).unwrap();
    assert_eq!([number("nr_cpus"), number("cpuperf")], [2, 1]);
    assert_eq!([number("capacity[0]"), number("capacity[1]")], [1024, 512]);
    assert_eq!(["clock[0]", "clock[1]", "clock[2]", "clock[3]"].map(number), [0, 800, 1200, 0]);
}

#[test]
fn what_a_machine_does_not_say_is_0() {
    let mut open = object();
    apply("set.nr_cpus = \"memory_bandwidth\"\n[each.opp_table]\nclock = \"static_power\"", &mut open).unwrap();
    assert_eq!((open.integer("nr_cpus"), open.integer("clock[1]")), (Ok(0), Ok(0)));
}

#[test]
fn what_is_for_later_is_remembered_and_the_check_comes_first() {
    let text = r#"
        profile = "6.12"
        [run]
        syscall.prepare = [1, "nr_cpus"]
        check = "check_settings"
        [perf]
        misses = "cache_misses"
        [statistics]
        map = "stats"
        names = "stat"
        states = ["mode"]
        [hints]
        relative_length = "lengths"
        [applications]
        tgids = "processes"
        adopt = "take_on"
    "#;
    let call = |program: &str, arguments: &[i32]| Call { program: program.to_owned(), arguments: arguments.to_vec() };
    let expected = Plan {
        calls: vec![call("check_settings", &[]), call("prepare", &[1, 2])],
        counters: vec![("misses".to_owned(), Event::CacheMisses)],
        statistics: Statistics {
            counters: Some(("stats".to_owned(), "stat".to_owned())),
            states: vec!["mode".to_owned()],
        },
        applications: Some("processes".to_owned()),
        adopt: Some("take_on".to_owned()),
        lengths: Some("lengths".to_owned()),
    };
    assert_eq!(apply(text, &mut object()).unwrap(), expected);
}

#[test]
fn what_this_loader_does_not_do_is_refused_by_name() {
    let mistakes = [
        ("arena = true", "s.toml: `arena` cannot be true: expected one of profile, set, each"),
        ("[map]\nnodes = \"nodes\"", "s.toml: `map` cannot be "),
        ("set = 1", "s.toml: `set` cannot be 1: expected a table"),
        ("[each.domain]\na = 1", "s.toml: `each.domain` cannot be "),
        ("[each.cpu]\n\"capacity[{}]\" = \"colour\"", "s.toml: `each.cpu.capacity[{}]` cannot be \"colour\""),
        ("run.init_cpu = 0", "s.toml: `run.init_cpu` cannot be 0: expected `check`"),
        ("run.syscall.prepare = [\"cpu\"]", "s.toml: `run.syscall.prepare` cannot be \"cpu\""),
        ("perf.misses = \"branches\"", "s.toml: `perf.misses` cannot be \"branches\": expected one of cycles"),
        (
            "statistics.map = \"m\"",
            "s.toml: `statistics` cannot be { map = \"m\" }: expected `map` and `names` together",
        ),
        ("statistics.states = [1]", "s.toml: `statistics.states` cannot be [1]"),
        ("hints.length = \"m\"", "s.toml: `hints.length` cannot be \"m\": expected `relative_length`"),
        ("applications.tgids = 1", "s.toml: `applications.tgids` cannot be 1: expected `tgids`"),
        ("set.colour = 1", "s.toml: there is no variable colour"),
        ("each.machine.\"clock[x..]\" = \"nr_cpus\"", "s.toml: "),
        ("set.nr_cpus = 1\nset.nr_cpus = 2", "s.toml: TOML parse error"),
    ];
    for (text, expected) in mistakes {
        let message = apply(text, &mut object()).unwrap_err().to_string();
        assert!(message.starts_with(expected), "{text}: {message}");
    }
}

#[test]
fn an_object_may_stand_alone() {
    let folder = tempfile::tempdir().unwrap();
    let sidecar = Sidecar::beside(&folder.path().join("alone.bpf.o")).unwrap();
    assert_eq!(sidecar.apply(&machine(), &mut object()).unwrap(), Plan::default());
    std::fs::write(folder.path().join("told.toml"), "run.check = \"c\"").unwrap();
    let sidecar = Sidecar::beside(&folder.path().join("told.bpf.o")).unwrap();
    assert_eq!(sidecar.apply(&machine(), &mut object()).unwrap().calls[0].program, "c");
}
