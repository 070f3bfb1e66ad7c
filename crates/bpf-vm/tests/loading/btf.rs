// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types: read, looked up, compared and spelled.

use tandem_bpf_vm::btf::{
    Btf, BtfError, Builder, Composite, Kind, Linkage, Member, Name, Type, TypeId, essential_name,
};

use super::builder::BtfWriter;

/// One type of each kind.
fn each_kind() -> Btf {
    let mut types = Builder::new();
    let int = types.int("int", 4, true);
    let flag = types.int("_Bool", 1, false);
    let pointer = types.pointer(int);
    let array = types.array(int, 3);
    let structure = types.structure("s", 24, &[("a", int, 0), ("b", array, 4), ("p", pointer, 16)]);
    types.union("u", 4, &[("a", int), ("b", flag)]);
    types.enumeration("colour", &[("RED", -1), ("GREEN", 2)]);
    types.enumeration("wide", &[("ALL", i128::from(u64::MAX))]);
    types.forward("later");
    let named = types.typedef("number", int);
    let constant = types.constant(named);
    types.volatile(constant);
    types.add(Type::Restrict(pointer));
    types.type_tag("rcu", structure);
    types.decl_tag("arg:nullable", structure);
    let proto = types.func_proto(int, &[("x", pointer)]);
    types.func("f", proto);
    let var = types.var("v", int, Linkage::Static);
    types.section(".data", 4, &[(var, 0, 4)]);
    types.float("double", 8);
    let bits = |name: &str, bit_offset, bitfield| Member { name: name.into(), type_id: int, bit_offset, bitfield };
    let members = vec![bits("low", 0, 3), bits("high", 3, 29)];
    types.add(Type::Struct(Composite { name: "bits".into(), size: 4, members }));
    types.finish()
}

fn bytes(btf: &Btf) -> Vec<u8> {
    BtfWriter::new(btf).finish()
}

#[test]
fn every_kind_is_read_as_it_was_written() {
    let written = each_kind();
    let read = Btf::parse(&bytes(&written)).unwrap();
    assert_eq!(read.len(), 22);
    assert!(written.types().eq(read.types()));
}

#[test]
fn damaged_types_are_refused() {
    let whole = bytes(&each_kind());
    for end in 0..whole.len() {
        assert!(Btf::parse(&whole[..end]).is_err(), "{end} of {} bytes", whole.len());
    }
    let changed = |at: usize, value: u8| {
        let mut bytes = whole.clone();
        bytes[at] = value;
        Btf::parse(&bytes).unwrap_err()
    };
    assert_eq!(changed(0, 0x12), BtfError::Magic { magic: 0xeb12 });
    assert_eq!(changed(2, 9), BtfError::Version(9));
    let mut swapped = whole.clone();
    swapped.swap(0, 1);
    assert_eq!(Btf::parse(&swapped).unwrap_err(), BtfError::BigEndian);
    // Byte 24 + 7: the kind of the first type.
    assert_eq!(changed(31, 31), BtfError::Kind { id: TypeId(1), kind: 31, offset: 24 });
}

#[test]
fn types_that_refer_to_nothing_or_to_themselves_are_refused() {
    let mut writer = BtfWriter::new(&Btf::default());
    // typedef 1 -> const 2 -> typedef 1.
    writer.strings.extend(b"t\0");
    let typedef = [1u32, 8 << 24, 2, 0, 10 << 24, 1];
    writer.types = typedef.iter().flat_map(|word| word.to_le_bytes()).collect();
    assert_eq!(Btf::parse(&writer.finish()).unwrap_err(), BtfError::Endless { id: TypeId(1) });
    let mut writer = BtfWriter::new(&Btf::default());
    writer.types = [0u32, 2 << 24, 7].iter().flat_map(|word| word.to_le_bytes()).collect();
    let error = BtfError::Reference { id: TypeId(1), to: TypeId(7), count: 2 };
    assert_eq!(Btf::parse(&writer.finish()).unwrap_err(), error);
    assert_eq!(error.to_string(), "type 1 refers to type 7, but there are only 2 types");
}

#[test]
fn very_long_chains_of_typedefs_end() {
    let mut types = Builder::new();
    let int = types.int("int", 4, true);
    let mut last = int;
    for _ in 0..300_000 {
        last = types.constant(last);
    }
    let array = types.array(last, 10);
    let btf = types.finish();
    assert_eq!(btf.skip_modifiers(last), int);
    assert_eq!(btf.size_of(array), Some(40));
    assert!(btf.spell(last).to_string().len() < 1000);
}

#[test]
fn an_array_of_itself_has_no_size() {
    let mut types = Builder::new();
    types.array(TypeId(1), 2);
    let btf = types.finish();
    assert_eq!(btf.size_of(TypeId(1)), None);
    assert!(btf.spell(TypeId(1)).to_string().starts_with("...[2][2]"));
}

#[test]
fn members_are_found_through_anonymous_aggregates_and_arrays() {
    let mut types = Builder::new();
    let int = types.int("int", 4, true);
    let point = types.structure("point", 8, &[("x", int, 0), ("y", int, 4)]);
    let points = types.array(point, 3);
    let anonymous = types.union("", 24, &[("points", points), ("first", point)]);
    let outer = types.structure("outer", 32, &[("head", int, 0), ("", anonymous, 8)]);
    let named = types.typedef("outer_t", outer);
    let btf = types.finish();
    let offset = |path| btf.member(named, path).map(|place| (place.offset(), place.size()));
    assert_eq!(offset("head"), Some((0, 4)));
    assert_eq!(offset("points"), Some((8, 24)));
    assert_eq!(offset("points[2].y"), Some((28, 4)));
    assert_eq!(offset("first.y"), Some((12, 4)));
    assert_eq!(offset("points[3].y"), None);
    assert_eq!(offset("head.x"), None);
    assert_eq!(offset("points[x]"), None);
    assert_eq!(offset(""), None);
}

#[test]
fn bitfields_have_their_bits() {
    let btf = each_kind();
    let bits = btf.find_kind("bits", Kind::Struct).unwrap();
    let high = btf.member(bits, "high").unwrap();
    assert_eq!((high.bit_offset, high.bit_size, high.bitfield, high.size()), (3, 29, true, 4));
}

#[test]
fn a_structure_that_holds_itself_anonymously_is_searched_once() {
    let mut types = Builder::new();
    let this = types.declare_struct("loop");
    let members: Vec<_> = (0..50).map(|offset| ("", this, offset)).collect();
    types.define(this, 8, &members);
    let btf = types.finish();
    assert_eq!(btf.member(this, "missing"), None);
}

#[test]
fn names_are_found_by_kind_and_prefix() {
    let mut types = Builder::new();
    let structure = types.structure("rq", 4, &[]);
    let named = types.typedef("rq", structure);
    let flavour = types.structure("rq___old", 4, &[]);
    let btf = types.finish();
    assert_eq!(btf.find_kind("rq", Kind::Struct), Some(structure));
    assert_eq!(btf.find_kind("rq", Kind::Typedef), Some(named));
    assert_eq!(btf.find_kind("rq", Kind::Union), None);
    assert_eq!(btf.find_prefix("rq___").collect::<Vec<_>>(), [flavour]);
    assert_eq!(btf.find_all("rq").collect::<Vec<_>>(), [structure, named]);
}

#[test]
fn only_the_last_flavour_is_cut_off_a_name() {
    assert_eq!(essential_name("task_struct"), "task_struct");
    assert_eq!(essential_name("task_struct___v2"), "task_struct");
    assert_eq!(essential_name("scx_bpf_dsq_insert___v2___compat"), "scx_bpf_dsq_insert___v2");
    assert_eq!(essential_name("a____b"), "a____b");
    assert_eq!(essential_name("___b"), "___b");
    assert_eq!(essential_name("a___"), "a___");
    assert_eq!(essential_name(""), "");
}

#[test]
fn types_are_spelled_as_in_c() {
    let mut types = Builder::new();
    let int = types.int("int", 4, true);
    let task = types.forward("task_struct");
    let constant = types.constant(task);
    let pointer = types.pointer(constant);
    let fixed = types.constant(pointer);
    let array = types.array(pointer, 4);
    let to_array = types.pointer(array);
    let proto = types.func_proto(int, &[("p", pointer), ("", TypeId::VOID)]);
    let callback = types.pointer(proto);
    let function = types.func("f", proto);
    let anonymous = types.union("", 0, &[]);
    let btf = types.finish();
    let spelled = |id| btf.spell(id).to_string();
    assert_eq!(spelled(pointer), "const struct task_struct *");
    assert_eq!(spelled(fixed), "const struct task_struct *const");
    assert_eq!(spelled(array), "const struct task_struct *[4]");
    assert_eq!(spelled(to_array), "const struct task_struct *(*)[4]");
    assert_eq!(spelled(callback), "int (*)(const struct task_struct *, ...)");
    assert_eq!(spelled(function), "int f(const struct task_struct *, ...)");
    assert_eq!(spelled(anonymous), "union (anonymous)");
    assert_eq!(spelled(TypeId(99)), "type 99");
}

#[test]
fn prototypes_are_compatible_by_shape() {
    let mut types = Builder::new();
    let (int, long) = (types.int("int", 4, true), types.int("unsigned long", 8, false));
    let (task, cgroup) = (types.structure("task_struct", 4, &[]), types.structure("cgroup", 4, &[]));
    let colour = types.enumeration("colour", &[("RED", 0)]);
    let wide = types.enumeration("wide", &[("ALL", 1 << 40)]);
    let [task, cgroup, int_pointer] = [task, cgroup, int].map(|to| types.pointer(to));
    let proto = |types: &mut Builder, ret, param| types.func_proto(ret, &[("x", param)]);
    let base = proto(&mut types, int, task);
    let cases = [
        (proto(&mut types, long, task), true),
        (proto(&mut types, int, cgroup), true),
        (proto(&mut types, TypeId::VOID, task), false),
        (proto(&mut types, int, int_pointer), false),
        (proto(&mut types, int, int), false),
        (proto(&mut types, colour, task), false),
        (types.func_proto(int, &[]), false),
        (types.func_proto(int, &[("x", task), ("y", int)]), false),
    ];
    let (enums, enums64) = (proto(&mut types, colour, task), proto(&mut types, wide, task));
    let btf = types.finish();
    for (other, compatible) in cases {
        assert_eq!(btf.is_compatible(base, &btf, other), compatible, "{}", btf.spell(other));
    }
    assert!(btf.is_compatible(enums, &btf, enums64));
}

#[test]
fn a_prototype_that_takes_itself_is_compatible_with_itself() {
    let mut types = Builder::new();
    // Prototype 1 takes pointer 2 to prototype 1, twice.
    types.func_proto(TypeId::VOID, &[("a", TypeId(2)), ("b", TypeId(2))]);
    types.pointer(TypeId(1));
    let btf = types.finish();
    assert!(btf.is_compatible(TypeId(1), &btf, TypeId(1)));
    assert!(btf.spell(TypeId(1)).to_string().len() < 10_000);
}

#[test]
fn a_name_of_more_than_512_bytes_is_refused() {
    let named = |length: usize| {
        let mut types = Builder::new();
        types.forward(&"x".repeat(length));
        Btf::parse(&bytes(&types.finish()))
    };
    assert!(named(512).is_ok());
    assert_eq!(named(513).unwrap_err(), BtfError::LongName { what: "a type", offset: 24 });
}

#[test]
fn text_that_is_no_utf8_becomes_question_marks() {
    let mut writer = BtfWriter::new(&Btf::default());
    writer.strings.extend(b"a\xff\xfeb\0");
    writer.types = [1u32, 7 << 24, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
    let btf = Btf::parse(&writer.finish()).unwrap();
    assert_eq!(btf.name(TypeId(1)), "a??b");
    assert_eq!(Name::from("a??b"), "a??b");
}
