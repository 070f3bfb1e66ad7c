// SPDX-License-Identifier: MIT OR Apache-2.0

use std::path::Path;

use rand::SeedableRng;
use rand_pcg::Pcg32;

use tandem_bpf_vm::btf::{Btf, Builder, TypeId};
use tandem_bpf_vm::object::{DataSection, Extern, StructOps, Variable};

use super::facts::{Argument, Fact, Table, calls};
use super::*;
use crate::kernel::Kernel;
use crate::kernel::params::KernelParameters;
use crate::machine::Machine;
use crate::scx::ops::Op;

fn sidecar(text: &str) -> Result<Sidecar, String> {
    Sidecar::parse(Path::new("s.toml"), text).map_err(|error| error.to_string())
}

#[test]
fn a_sidecar_says_what_a_loader_would_do() {
    let text = r#"
        profile = "6.12"
        [set]
        nr_cpu_ids = "nr_cpus"
        table = [1, 0x10]
        fifo = true
        name = '"text"'
        [resize]
        cpu_started_at = "possible_cpus"
        log = 64
        [ops]
        timeout_ms = 5000
        [run]
        init_cpu = 3
        [run.syscall]
        enable_primary_cpu = [-1]
    "#;
    let text_of = |text: &str| Value::Text(text.to_owned());
    let expected = Sidecar {
        profile: Some(Profile::V6_12),
        set: vec![
            ("nr_cpu_ids".to_owned(), Value::Fact(Fact::NrCpus)),
            ("table[0]".to_owned(), text_of("1")),
            ("table[1]".to_owned(), text_of("16")),
            ("fifo".to_owned(), text_of("true")),
            ("name".to_owned(), text_of("\"text\"")),
        ],
        resize: vec![("cpu_started_at".to_owned(), Value::Fact(Fact::NrCpus)), ("log".to_owned(), text_of("64"))],
        ops: vec![("timeout_ms".to_owned(), 5000)],
        init_cpu: Some(Argument::Number(3)),
        syscalls: vec![("enable_primary_cpu".to_owned(), vec![Argument::Number(-1)])],
        ..Sidecar::default()
    };
    assert_eq!(sidecar(text), Ok(expected));
}

#[test]
fn a_sidecar_says_what_each_cpu_and_domain_gets() {
    let text = r#"
        [each.cpu]
        "capacity[{}]" = "capacity"
        "there[{}]" = 1
        [each.domain]
        "cpus[{}][1..]" = "mask"
        [each.hybrid]
        gain = 350
        [run]
        arena = "task_ctx"
    "#;
    let parsed = sidecar(text).unwrap();
    assert_eq!(parsed.each.len(), 4);
    assert_eq!(parsed.arena.as_deref(), Some("task_ctx"));
    let settings = |machine: &str| {
        let mut open = OpenObject::new(Arc::new(tables()));
        apply_each(&mut open, &parsed, &Bundled::new(machine).system()).unwrap();
        ["capacity[7]", "there[7]", "there[8]", "cpus[0][1]", "cpus[1][0]", "cpus[1][1]", "gain"]
            .map(|name| open.integer(name).unwrap())
    };
    // Two domains of four CPUs, little and big.
    assert_eq!(settings("hikey960"), [1024, 1, 0, 0x0f, 0, 0xf0, 350]);
    // One domain of eight equal CPUs.
    assert_eq!(settings("smp-8"), [1024, 1, 0, 0xff, 0, 0, 0]);
}

/// An object with `u64 capacity[9], there[9], cpus[2][2], gain`.
fn tables() -> Object {
    let mut builder = Builder::new();
    let number = builder.int("u64", 8, false);
    let (by_cpu, pair) = (builder.array(number, 9), builder.array(number, 2));
    let pairs = builder.array(pair, 2);
    let places =
        [("capacity", 0, 72, by_cpu), ("there", 72, 72, by_cpu), ("cpus", 144, 32, pairs), ("gain", 176, 8, number)];
    let variable =
        |(name, offset, size, type_id): (&str, _, _, _)| Variable { name: name.into(), offset, size, type_id };
    let variables = places.map(variable).to_vec();
    let data = DataSection { name: ".data".to_owned(), bytes: vec![0; 184], variables, ..DataSection::default() };
    Object { btf: builder.finish(), data: vec![data], ..Object::default() }
}

#[test]
fn words_of_a_sidecar_stand_for_the_machine() {
    let text = r#"
        [set]
        smt_enabled = "smt"
        cpu_capacity = "capacities"
        [map]
        cpu_node_map = "nodes"
        [ops]
        flags = ["SCX_OPS_ENQ_LAST", "SCX_OPS_ALLOW_QUEUED_WAKEUP"]
        flags_if_numa = ["SCX_OPS_BUILTIN_IDLE_PER_NODE"]
        [run]
        init_cpu = "smallest_cpu"
        [run.syscall]
        enable_primary_cpu = [[-1], ["cpu"]]
        enable_sibling_cpu = ["cpu", "sibling"]
        [run.attached]
        start_timer = ["smallest_cpu"]
    "#;
    let sidecar = sidecar(text).unwrap();
    let set = [
        ("smt_enabled".to_owned(), Value::Fact(Fact::Smt)),
        ("cpu_capacity".to_owned(), Value::Table(Table::Capacities)),
    ];
    assert_eq!(sidecar.set, set);
    assert_eq!(sidecar.maps, [("cpu_node_map".to_owned(), Table::Nodes)]);
    assert_eq!(sidecar.flags, ["SCX_OPS_ENQ_LAST", "SCX_OPS_ALLOW_QUEUED_WAKEUP"]);
    assert_eq!(sidecar.flags_if_numa, ["SCX_OPS_BUILTIN_IDLE_PER_NODE"]);
    let calls = [
        ("enable_primary_cpu".to_owned(), vec![Argument::Number(-1)]),
        ("enable_primary_cpu".to_owned(), vec![Argument::Cpu]),
        ("enable_sibling_cpu".to_owned(), vec![Argument::Cpu, Argument::Sibling]),
    ];
    assert_eq!(sidecar.syscalls, calls);
    assert_eq!(sidecar.attached, [("start_timer".to_owned(), vec![Argument::Fact(Fact::SmallestCpu)])]);
    assert_eq!(sidecar.init_cpu, Some(Argument::Fact(Fact::SmallestCpu)));
}

/// A bundled machine with a kernel on it.
struct Bundled {
    machine: Machine,
    kernel: Kernel,
}

impl Bundled {
    fn new(machine: &str) -> Self {
        let machine = Machine::load(machine).unwrap();
        let kernel = Kernel::new(&machine, KernelParameters::default(), Pcg32::seed_from_u64(1));
        Self { machine, kernel }
    }

    fn under(&self, governor: &str) -> System<'_> {
        System { kernel: &self.kernel, machine: &self.machine, governor: governor.parse().unwrap() }
    }

    fn system(&self) -> System<'_> {
        self.under("schedutil")
    }
}

#[test]
fn facts_are_those_of_the_machine() {
    // Four small CPUs, then four big ones.
    let hikey = Bundled::new("hikey960");
    let hikey = hikey.system();
    assert_eq!(Table::CpusByCapacity.numbers(&hikey), [4, 5, 6, 7, 0, 1, 2, 3]);
    let capacities = Table::Capacities.numbers(&hikey);
    assert_eq!((capacities.len(), capacities[7]), (8, 1024));
    assert!(capacities[0] < 1024);
    let text = |fact: Fact| fact.text(&hikey);
    let facts = [Fact::NrCpus, Fact::NrNodes, Fact::Smt, Fact::Numa, Fact::SameCapacity, Fact::SmallestCpu].map(text);
    assert_eq!(facts, ["8", "1", "false", "false", "false", "3"]);
    assert!(calls(&[Argument::Cpu, Argument::Sibling], &hikey).is_empty(), "there are no siblings");

    // Four nodes of four CPUs.
    let opteron = Bundled::new("opteron-8350");
    let opteron = opteron.system();
    assert_eq!([Fact::NrNodes.text(&opteron), Fact::Numa.text(&opteron)], ["4", "true"]);
    assert_eq!(Table::Nodes.numbers(&opteron)[12..], [3, 3, 3, 3]);
    assert_eq!(calls(&[Argument::Number(-1)], &opteron), [[-1]]);
    assert_eq!(calls(&[Argument::Cpu, Argument::Fact(Fact::NrCpus)], &opteron)[15], [15, 16]);

    // Eight cores of two CPUs, eight of one.
    let hybrid = Bundled::new("i9-12900k");
    let hybrid = hybrid.system();
    let siblings = calls(&[Argument::Cpu, Argument::Sibling], &hybrid);
    let [first, last] = [siblings[0][1], siblings[23][1]];
    assert_eq!(siblings[first as usize][1], 0);
    assert_eq!((siblings.len(), last), (24, -1));
}

#[test]
fn facts_say_what_clocks_and_memory_there_are() {
    let numbers = |machine: &str| {
        let bundled = Bundled::new(machine);
        [Fact::NrPackages, Fact::NrLlcs, Fact::NrPerformanceDomains, Fact::NrOppTables, Fact::MemoryBandwidth]
            .map(|fact| fact.number(&bundled.system()))
    };
    // Two clusters with a cache and a clock each, on 14.9 GB/s.
    assert_eq!(numbers("hikey960"), [1, 2, 2, 2, 14_900]);
    // Four chips, a clock for each core, 6 GB/s for each chip; two tables where limits make two kinds of core.
    assert_eq!(numbers("opteron-8350"), [4, 4, 16, 1, 6000]);
    assert_eq!(numbers("opteron-8350:half-half"), [4, 4, 16, 2, 6000]);
    // Two caches, one clock, one bus.
    assert_eq!(numbers("core2-q6600"), [1, 2, 1, 1, 5600]);
}

#[test]
fn a_machine_at_rest_draws_what_its_parts_draw() {
    let idle_power = |machine: &str| Fact::IdlePower.number(&Bundled::new(machine).system());
    // 24 halted cores of 1.5 W, four uncores of 20.5 W, four times 6 W of memory, a board of 96 W.
    assert_eq!(idle_power("opteron-8435"), 36_000 + 82_000 + 24_000 + 96_000);
    // Four halted cores of 3 W and an uncore of 8 W: the processor alone is measured.
    assert_eq!(idle_power("core2-q6600"), 12_000 + 8_000);
}

#[test]
fn only_schedutil_follows_what_a_scheduler_wants() {
    let hikey = Bundled::new("hikey960");
    let cpuperf = ["schedutil", "performance", "ondemand", "userspace"]
        .map(|governor| Fact::Cpuperf.number(&hikey.under(governor)));
    assert_eq!(cpuperf, [1, 0, 0, 0]);
}

#[test]
fn flags_that_the_kernel_lacks_are_left_out() {
    let sidecar = sidecar("[ops]\nflags = [\"SCX_OPS_ENQ_LAST\", \"SCX_OPS_ALLOW_QUEUED_WAKEUP\"]\nflags_if_numa = [\"SCX_OPS_BUILTIN_IDLE_PER_NODE\"]\n").unwrap();
    let flags = |profile, machine: &str| {
        let mut ops = Ops::default();
        ops.flags = 4;
        set_ops(&mut ops, &sidecar, profile, &Bundled::new(machine).system());
        ops.flags
    };
    assert_eq!(flags(Profile::V6_12, "opteron-8350"), 4 | 2);
    assert_eq!(flags(Profile::V7, "opteron-8350"), 4 | 2 | 0x20 | 0x40);
    assert_eq!(flags(Profile::V7, "hikey960"), 4 | 2 | 0x20);
}

#[test]
fn a_mistake_in_a_sidecar_is_shown_with_its_place() {
    let mistakes = [
        ("[sets]\n", "s.toml:1:2: unknown key `sets` in the file"),
        ("profile = \"6.11\"\n", "s.toml:1:11: `profile` cannot be \"6.11\""),
        ("[ops]\ntimeout = 5\n", "s.toml:2:1: unknown key `timeout` in `ops`"),
        ("[ops]\nflags = -1\n", "s.toml:2:9: `flags` cannot be -1"),
        ("[resize]\na = \"all\"\n", "s.toml:2:5: `a` cannot be \"all\""),
        ("[ops]\nflags = [\"SCX_OPS_ENQ_LATS\"]\n", "s.toml:2:10: a flag cannot be \"SCX_OPS_ENQ_LATS\""),
        ("[map]\nm = \"numa\"\n", "s.toml:2:5: `m` cannot be \"numa\""),
        ("[run.syscall]\nf = [[1], 2]\n", "s.toml:2:11: a call of `f` cannot be 2"),
        ("[run.syscall]\nf = [\"all\"]\n", "s.toml:2:6: `f` cannot be \"all\""),
        ("[run]\ninit_cpu = \"first\"\n", "s.toml:2:12: `init_cpu` cannot be \"first\""),
        ("[run.syscall]\nf = 3\n", "s.toml:2:5: `f` cannot be 3"),
        ("[each.core]\n", "s.toml:1:7: unknown key `core` in `each`"),
        ("[each.cpu]\n\"a[{}]\" = \"colour\"\n", "s.toml:2:11: `a[{}]` cannot be \"colour\""),
        ("[run]\narena = 1\n", "s.toml:2:9: `arena` cannot be 1"),
        ("[run]\ncheck = true\n", "s.toml:2:9: `check` cannot be true"),
        ("[statistics]\nmap = \"m\"\n", "s.toml:1:1: `map` of `statistics` without `names`"),
        ("[statistics]\nstates = \"s\"\n", "s.toml:2:10: `states` cannot be \"s\""),
        ("[statistics]\nstates = [1]\n", "s.toml:2:11: a state cannot be 1"),
        ("[statistics]\nstate = []\n", "s.toml:2:1: unknown key `state` in `statistics`"),
        ("[set]\na = 1.5\n", "s.toml:2:5: `a` cannot be 1.5"),
    ];
    for (text, expected) in mistakes {
        let error = sidecar(text).unwrap_err();
        assert_eq!(error.lines().next(), Some(expected));
        assert!(error.contains("help: "), "{error}");
    }
    assert!(sidecar("[ops]\ntimeout = 5\n").unwrap_err().contains("did you mean `timeout_ms`?"));
}

/// A `struct sched_ext_ops` as some header has it, in an order of its own.
fn scheduler_types(extra: &str) -> (Btf, TypeId) {
    let mut builder = Builder::new();
    let proto = builder.func_proto(TypeId::VOID, &[]);
    let callback = builder.pointer(proto);
    let (u32_type, u64_type) = (builder.int("unsigned int", 4, false), builder.int("unsigned long", 8, false));
    let character = builder.int("char", 1, true);
    let name = builder.array(character, 128);
    let members = [
        ("name", name, 0),
        ("flags", u64_type, 128),
        ("timeout_ms", u32_type, 136),
        ("exit_dump_len", u32_type, 140),
        ("enqueue", callback, 144),
        ("dispatch", callback, 152),
        (extra, callback, 160),
    ];
    let id = builder.structure("sched_ext_ops", 168, &members);
    (builder.finish(), id)
}

fn object(extra: &str, callbacks: Vec<(u64, usize)>) -> Object {
    let (btf, type_id) = scheduler_types(extra);
    let mut bytes = vec![0; 168];
    bytes[..5].copy_from_slice(b"test\0");
    bytes[128..136].copy_from_slice(&0x1_0004_u64.to_le_bytes());
    bytes[136..140].copy_from_slice(&5000_u32.to_le_bytes());
    let scheduler = StructOps { name: "test_ops".to_owned(), type_id, bytes, callbacks, ..StructOps::default() };
    Object { btf, struct_ops: vec![scheduler], ..Object::default() }
}

#[test]
fn the_ops_are_read_by_the_names_of_their_members() {
    let object = object("cgroup_set_bandwidth", vec![(144, 7), (152, 8)]);
    let read = ops::read(&object, ops::find(&object).unwrap(), Profile::V6_12).unwrap();
    assert_eq!((read.ops.name.as_str(), read.ops.flags, read.ops.timeout_ms), ("test", 0x1_0004, 5000));
    assert_eq!(read.callbacks, [(Op::Enqueue, 7), (Op::Dispatch, 8)]);
}

#[test]
fn a_member_that_the_kernel_lacks_may_be_there_but_not_set() {
    let unset = object("cgroup_set_bandwidth", vec![(144, 7)]);
    assert!(ops::read(&unset, &unset.struct_ops[0], Profile::V6_12).is_ok());
    let set = object("cgroup_set_bandwidth", vec![(160, 7)]);
    let read = |profile| ops::read(&set, &set.struct_ops[0], profile).map(|read| read.callbacks);
    assert_eq!(read(Profile::V7), Ok(vec![(Op::CgroupSetBandwidth, 7)]));
    assert_eq!(
        read(Profile::V6_12).unwrap_err().to_string(),
        "the scheduler sets `cgroup_set_bandwidth` of `struct sched_ext_ops`, which Linux 6.12 does not have"
    );
    let sub = object("sub_attach", vec![(160, 7)]);
    let refused = ops::read(&sub, &sub.struct_ops[0], Profile::V7).map(|read| read.callbacks);
    assert_eq!(refused, Err(SchedulerError::Unsupported("sub_attach".to_owned())));
}

#[test]
fn an_object_without_or_with_two_schedulers_is_refused() {
    assert_eq!(ops::find(&Object::default()).map(|_| ()), Err(SchedulerError::NoScheduler));
    let mut two = object("tick", Vec::new());
    two.struct_ops.push(StructOps { name: "other".to_owned(), ..two.struct_ops[0].clone() });
    let error = ops::find(&two).map(|_| ()).unwrap_err().to_string();
    assert_eq!(error, "the object holds two schedulers, `test_ops` and `other`; one is expected");
    let mut cut = object("tick", Vec::new());
    cut.struct_ops[0].bytes.truncate(150);
    let read = ops::read(&cut, &cut.struct_ops[0], Profile::V6_12).map(|_| ());
    assert_eq!(read, Err(SchedulerError::Damaged("enqueue".to_owned())));
}

#[test]
fn names_that_an_object_must_have_tell_its_kernel() {
    let with = |name: &str, weak: bool| {
        let symbol = Extern { name: name.to_owned(), weak, kind: ExternKind::Function, type_id: None };
        detect_profile(&Object { externs: vec![symbol], ..Object::default() })
    };
    assert_eq!(with("scx_bpf_dispatch", false), Profile::V6_12);
    assert_eq!(with("scx_bpf_dsq_insert", false), Profile::V7);
    assert_eq!(with("scx_bpf_dsq_insert", true), Profile::V6_12);
}

#[test]
fn enumerators_and_the_dump_are_filled_in() {
    let mut builder = Builder::new();
    let (u64_type, u32_type) = (builder.int("u64", 8, false), builder.int("u32", 4, false));
    let character = builder.int("char", 1, true);
    let dump = builder.array(character, 1);
    let variable = |name: &str, offset, size, type_id| Variable { name: name.into(), offset, size, type_id };
    let section = |name: &str, size: usize, read_only, variables| DataSection {
        name: name.to_owned(),
        bytes: vec![0; size],
        read_only,
        arena: false,
        variables,
    };
    let constants = vec![
        variable("__SCX_ENQ_HEAD", 0, 8, u64_type),
        variable("__SCX_ENQ_IMMED", 8, 8, u64_type),
        variable("uei_dump_len", 16, 4, u32_type),
    ];
    let data = vec![
        section(".rodata", 20, true, constants),
        section(".data.uei_dump", 1, false, vec![variable("uei_dump", 0, 1, dump)]),
    ];
    let object = Arc::new(Object { btf: builder.finish(), data, ..Object::default() });
    let opened = open(object.clone(), Profile::V7, 0).unwrap();
    assert_eq!(opened.integer("__SCX_ENQ_HEAD"), Ok(0x1_0000));
    assert_eq!(opened.integer("__SCX_ENQ_IMMED"), Ok(1 << 33));
    assert_eq!(opened.integer("uei_dump_len"), Ok(32768));
    assert_eq!(opened.object().data[1].bytes.len(), 32768);
    let opened = open(object, Profile::V6_12, 100).unwrap();
    assert_eq!(opened.integer("__SCX_ENQ_HEAD"), Ok(0x10));
    assert_eq!(opened.integer("__SCX_ENQ_IMMED"), Ok(0));
    assert_eq!(opened.object().data[1].bytes.len(), 100);
}
