// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files beside an object with `u32 nr_cpus; bool cpuperf; u32 capacity[2], clock[4];`, on a machine of two CPUs.

use std::path::Path;
use std::sync::Arc;

use tandem_bpf_vm::btf::Builder;
use tandem_bpf_vm::object::{DataSection, MapDefinition, Object, Variable};

use super::*;
use crate::machine::{Cpu, Machine, OppTable};

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
    let inner = MapDefinition { name: "queues.inner".to_owned(), ..MapDefinition::default() };
    let queues = MapDefinition { name: "queues".to_owned(), inner: Some(Box::new(inner)), ..MapDefinition::default() };
    let (btf, data, maps) = (Arc::new(btf.finish()), vec![section], vec![queues]);
    OpenObject::new(Arc::new(Object { btf, data, maps, ..Object::default() }))
}

/// A big and a little CPU on two nodes.
fn machine() -> Machine {
    let cpu = |number, capacity| Cpu { online: true, node: number, core: number, capacity, ..Cpu::default() };
    let opp_tables = vec![OppTable {
        frequency: vec![800, 1200],
        performance: vec![340, 512],
        power: vec![0, 0],
        busy_power: vec![0; 2],
        static_power: vec![0, 0],
        ..OppTable::default()
    }];
    Machine { cpus: vec![cpu(0, 1024), cpu(1, 512)], opp_tables, nr_nodes: 2, cpuperf: true }
}

fn file(text: &str) -> LoaderFile {
    LoaderFile::parse(Path::new("s.toml"), text).unwrap_or_else(|error| panic!("{error}"))
}

fn steps(text: &str, machine: &Machine) -> Steps {
    file(text).steps(&System::of(machine))
}

/// The steps of a file, done.
fn prepared(text: &str) -> Result<OpenObject, String> {
    let mut open = object();
    steps(text, &machine()).prepare(&file(text), &mut open).map_err(|error| error.to_string())?;
    Ok(open)
}

#[test]
fn facts_of_the_machine_land_in_variables() {
    let text = r#"
        [set]
        nr_cpus = "nr_cpus"
        cpuperf = "cpuperf"
        "capacity[{cpu}]" = "cpu.capacity"
        "clock[1..]" = "cpu.capacity"
        [resize]
        clock = "nr_cpus"
    "#;
    assert!(prepared(text).unwrap_err().contains("s.toml:6:24: clock[2]: index 2 is beyond its 2 elements"));
    let open = prepared(&text.replace("clock = \"nr_cpus\"", "clock = 4")).unwrap();
    let number = |name: &str| open.integer(name).unwrap();
    assert_eq!([number("nr_cpus"), number("cpuperf")], [2, 1]);
    assert_eq!([number("capacity[0]"), number("capacity[1]")], [1024, 512]);
    assert_eq!(["clock[0]", "clock[1]", "clock[2]", "clock[3]"].map(number), [0, 1024, 512, 0]);
}

#[test]
fn an_array_gets_an_element_for_each_cpu_or_a_list_of_its_own() {
    let open = prepared("[set]\ncapacity = \"cpu.capacity\"\n\"clock[2..]\" = \"cpus_by_capacity\"\n").unwrap();
    assert_eq!(["capacity[0]", "capacity[1]", "clock[3]"].map(|name| open.integer(name).unwrap()), [1024, 512, 1]);
    let open = prepared("[set]\n\"clock[{opp_table}]\" = \"opp_table.nr_opps\"\n").unwrap();
    assert_eq!(open.integer("clock[0]"), Ok(2));
}

#[test]
fn maps_get_their_sizes_and_so_do_the_maps_in_them() {
    let open = prepared("[max_entries]\nqueues = \"nr_cpus\"\n\"queues.inner\" = 4096\n").unwrap();
    let queues = &open.maps()[0];
    assert_eq!((queues.max_entries, queues.inner.as_ref().unwrap().max_entries), (2, 4096));
}

#[test]
fn what_is_to_be_printed_must_be_there() {
    let text = "[run]\nprint = [\"nr_cpus\", \"clock[2]\"]\n";
    assert_eq!(steps(text, &machine()).print, ["nr_cpus", "clock[2]"]);
    assert_eq!(file(text).check(&mut object(), 4096), Ok(()));
    let wrong = text.replace("nr_cpus", "nr_cpu");
    let message = file(&wrong).check(&mut object(), 4096).unwrap_err().to_string();
    assert!(message.starts_with("s.toml:2:10: there is no variable nr_cpu; did you mean nr_cpus?"), "{message}");
}

#[test]
fn what_is_set_under_a_condition_needs_it() {
    let text = "[set_if.hybrid]\nnr_cpus = 5\n[ops]\nflags_if.numa = [\"SCX_OPS_ENQ_LAST\"]\n";
    let here = steps(text, &machine());
    assert_eq!((here.set.len(), here.flags.as_slice()), (1, &["SCX_OPS_ENQ_LAST".to_owned()][..]));
    let alike = Machine { cpus: vec![machine().cpus[0]; 2], nr_nodes: 1, ..machine() };
    let there = steps(text, &alike);
    assert_eq!((there.set.len(), there.flags.len()), (0, 0));
}

#[test]
fn what_the_object_does_not_have_is_a_mistake_in_its_line() {
    let mistakes = [
        ("[set]\ncolour = 1", "s.toml:2:10: there is no variable colour"),
        ("[set]\n\n\"clock[x..]\" = \"nr_cpus\"", "s.toml:3:16: "),
        ("[set]\nnr_cpu = 2", "s.toml:2:10: there is no variable nr_cpu; did you mean nr_cpus?"),
        ("[set]\ncpuperf = 2", "s.toml:2:11: cpuperf is _Bool"),
        ("[resize]\nnr_cpus = 2", "s.toml:2:11: nr_cpus cannot be resized: it is no array"),
        ("[max_entries]\nqueue = 2", "s.toml:2:9: there is no map queue; did you mean queues?"),
    ];
    for (text, expected) in mistakes {
        let message = prepared(text).unwrap_err();
        assert!(message.starts_with(expected), "{text}: {message}");
        let early = file(text).check(&mut object(), 4096).unwrap_err().to_string();
        assert!(early.starts_with(expected), "{text}: {early}");
    }
}

#[test]
fn a_line_with_facts_of_cpus_is_a_call_for_each() {
    let text = r#"
        [run.syscall]
        clear = [[-1], ["cpu.number", "nr_cpus"]]
        pair = ["cpu.number", "cpu.sibling"]
        [run]
        init_cpu = "smallest_cpu"
        [map]
        nodes = "cpu.node"
    "#;
    let call = |program: &str, arguments: &[i32]| Call { program: program.to_owned(), arguments: arguments.to_vec() };
    let alone = steps(text, &machine());
    assert_eq!(
        alone.calls,
        [call("clear", &[-1]), call("clear", &[0, 2]), call("clear", &[1, 2])],
        "no CPU has siblings"
    );
    assert_eq!((alone.init_cpu, &alone.maps), (Some(1), &vec![("nodes".to_owned(), vec![0, 1])]));
    let mut smt = machine();
    (smt.cpus[0].sibling, smt.cpus[1].sibling) = (Some(1), None);
    assert_eq!(steps(text, &smt).calls[3..], [call("pair", &[0, 1]), call("pair", &[1, -1])]);
    assert_eq!(call("f", &[1, -1]).bytes(), [1, 0, 0, 0, 255, 255, 255, 255]);
}

/// Counts what is entered.
struct Counter(Vec<(String, u32, u32)>);

impl Filled for Counter {
    type Error = NoSuchMap;

    fn enter(&mut self, map: &str, key: u32, value: u32) -> Result<(), NoSuchMap> {
        if map == "none" {
            return Err(NoSuchMap(map.to_owned()));
        }
        self.0.push((map.to_owned(), key, value));
        Ok(())
    }
}

#[test]
fn maps_get_an_entry_for_each_cpu() {
    let mut counter = Counter(Vec::new());
    steps("map.nodes = \"cpu.node\"", &machine()).fill(&mut counter).unwrap();
    assert_eq!(counter.0, [("nodes".to_owned(), 0, 0), ("nodes".to_owned(), 1, 1)]);
    let missing = steps("map.none = \"cpu.node\"", &machine()).fill(&mut counter).unwrap_err();
    assert_eq!(missing.to_string(), "the object has no map `none` with keys and values of 4 bytes to fill");
}
