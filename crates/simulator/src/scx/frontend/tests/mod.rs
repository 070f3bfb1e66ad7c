// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a loader does with an object before it is loaded.

mod bundled;
mod facts;

use std::path::Path;

use tandem_bpf_vm::btf::{Btf, Builder, TypeId};
use tandem_bpf_vm::object::{DataSection, Extern, StructOps, Variable};

use tandem_loader::file::OPS_FLAGS;

use super::*;
use crate::scx::ops::Op;
use bundled::Bundled;

#[test]
fn flags_that_the_kernel_lacks_are_left_out() {
    let text = "[ops]\nflags = [\"SCX_OPS_ENQ_LAST\", \"SCX_OPS_ALLOW_QUEUED_WAKEUP\"]\n\
                flags_if.numa = [\"SCX_OPS_BUILTIN_IDLE_PER_NODE\"]\n";
    let file = LoaderFile::parse(Path::new("s.toml"), text).unwrap();
    let flags = |profile, machine: &str| {
        let mut ops = Ops::default();
        ops.flags = 4;
        set_ops(&mut ops, &file.steps(&Bundled::new(machine).known()), profile);
        ops.flags
    };
    assert_eq!(flags(Profile::V6_12, "opteron-8350"), 4 | 2);
    assert_eq!(flags(Profile::V7, "opteron-8350"), 4 | 2 | 0x20 | 0x40);
    assert_eq!(flags(Profile::V7, "hikey960"), 4 | 2 | 0x20);
}

#[test]
fn the_flags_that_files_may_name_are_the_kernels() {
    for name in OPS_FLAGS {
        let values = [Profile::V6_12, Profile::V7].map(|kernel| kernel.enum_value(name));
        assert!(values.iter().any(Option::is_some), "{name}");
    }
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
    Object { btf: Arc::new(btf), struct_ops: vec![scheduler], ..Object::default() }
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
    assert_eq!(
        error,
        "the object holds two schedulers, `test_ops` and `other`: `ops.scheduler` in the file beside it says which"
    );
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
    let object = Arc::new(Object { btf: Arc::new(builder.finish()), data, ..Object::default() });
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
