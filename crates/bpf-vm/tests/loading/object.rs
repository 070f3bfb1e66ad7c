// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is read from object files, and what is refused.

use tandem_bpf_vm::btf::{Btf, Builder, Linkage};
use tandem_bpf_vm::core_relo::CoreKind;
use tandem_bpf_vm::object::{ExternKind, Object, ObjectError, Relocation, Target};

use super::builder::{
    Bind, Class, EXIT, ElfBuilder, ExtBuilder, FUNC, R_64_32, R_64_64, call, ld_imm64, scheduler, slot,
};

fn object(elf: ElfBuilder) -> Object {
    Object::parse(&elf.finish()).unwrap()
}

fn error(elf: ElfBuilder) -> String {
    Object::parse(&elf.finish()).unwrap_err().to_string()
}

fn code(elf: &mut ElfBuilder, name: &str, slots: &[[u8; 8]]) -> u16 {
    elf.section(name, Class::Code, slots.as_flattened())
}

#[test]
fn code_is_split_into_functions_by_symbols() {
    let object = object(scheduler(false));
    let functions: Vec<_> =
        object.functions.iter().map(|f| (&f.name[..], &f.section[..], f.global, f.code.len())).collect();
    assert_eq!(functions[0], ("first", ".text", true, 16));
    assert_eq!(functions[1], ("second", ".text", false, 16));
    assert_eq!(functions[2], ("enqueue", "struct_ops/enqueue", true, 96));
    assert_eq!(object.license, "GPL");
    assert!(object.functions[2].is_program() && !object.functions[0].is_program());
}

#[test]
fn instructions_refer_to_maps_data_functions_and_externs() {
    let object = object(scheduler(false));
    // The call of a neighbour has no relocation in the file.
    assert_eq!(object.functions[0].relocations, [Relocation { insn: 0, target: Target::Function(1) }]);
    let targets: Vec<_> = object.functions[2].relocations.iter().map(|r| (r.insn, r.target)).collect();
    let expected = [
        (0, Target::Map(0)),
        (2, Target::Data { section: 0, offset: 8 }),
        (4, Target::Extern(0)),
        (6, Target::Extern(2)),
        (8, Target::Extern(1)),
        (9, Target::Function(1)),
    ];
    assert_eq!(targets, expected);
}

#[test]
fn variables_have_their_places_before_and_after_linking() {
    for linked in [false, true] {
        let object = object(scheduler(linked));
        let data = &object.data[0];
        let places: Vec<_> = data.variables.iter().map(|v| (v.name.as_str(), v.offset, v.size)).collect();
        assert_eq!(places, [("count", 0, 4), ("total", 8, 8)]);
        assert_eq!((data.name.as_str(), data.read_only, data.bytes[8]), (".data", false, 9));
        assert_eq!((object.data[1].name.as_str(), &object.data[1].bytes[..]), (".bss", &[0; 4][..]));
    }
}

#[test]
fn maps_of_maps_have_an_inner_map_and_values() {
    for linked in [false, true] {
        let object = object(scheduler(linked));
        let inner = &object.maps[0];
        assert_eq!((inner.kind, inner.max_entries, inner.key_size, inner.value_size), (2, 4, 4, 8));
        assert_eq!(object.btf.spell(inner.value_type).to_string(), "unsigned long long");
        let outer = &object.maps[1];
        assert_eq!((outer.kind, outer.max_entries, outer.key_size, outer.value_size), (12, 3, 4, 4));
        assert_eq!(outer.inner.as_ref().unwrap().max_entries, 4);
        assert_eq!(outer.initial, [None, Some(0)]);
    }
}

#[test]
fn externs_say_what_they_are() {
    let object = object(scheduler(false));
    let kinds: Vec<_> = object.externs.iter().map(|e| (&e.name[..], e.weak, e.kind)).collect();
    let expected = [
        ("LINUX_KERNEL_VERSION", false, ExternKind::Kconfig),
        ("scx_bpf_kick_cpu", true, ExternKind::Function),
        ("runqueues", false, ExternKind::Variable),
    ];
    assert_eq!(kinds, expected);
    let kick = object.externs[1].type_id.unwrap();
    assert_eq!(object.btf.spell(kick).to_string(), "int (unsigned long long *)");
}

#[test]
fn struct_ops_have_bytes_and_callbacks() {
    let object = object(scheduler(false));
    let ops = &object.struct_ops[0];
    assert_eq!((ops.name.as_str(), ops.bytes[8], &ops.callbacks[..]), ("ops", 3, &[(0, 2)][..]));
    assert_eq!(object.btf.name(ops.type_id), "sched_ext_ops");
    assert!(!ops.optional);
}

#[test]
fn lines_types_and_core_relocations_go_to_their_functions() {
    let object = object(scheduler(false));
    let function = &object.functions[2];
    let line = &function.lines[0];
    assert_eq!((line.insn, line.file.as_str(), line.line, line.column), (10, "a.bpf.c", 12, 5));
    assert_eq!(line.text, "return p->pid;");
    let core = &function.core[0];
    assert_eq!((core.insn, &core.access[..], core.kind), (10, &[0, 1][..], CoreKind::FieldByteOffset));
    assert_eq!(object.btf.name(function.type_id.unwrap()), "enqueue");
}

#[test]
fn a_question_mark_makes_a_program_optional() {
    let mut elf = ElfBuilder::new();
    code(&mut elf, "?fentry/schedule", &[EXIT]);
    let object = object(elf);
    assert_eq!((object.functions[0].section.as_str(), object.functions[0].optional), ("fentry/schedule", true));
}

#[test]
fn code_without_types_and_symbols_is_a_function() {
    let mut elf = ElfBuilder::new();
    code(&mut elf, "program", &[slot(0xb7, 0, 0, 0, 1), EXIT]);
    let object = object(elf);
    assert_eq!((object.functions[0].name.as_str(), object.functions[0].code.len()), ("program", 16));
    assert!(object.btf.is_empty());
}

#[test]
fn an_extern_without_types_is_a_function_if_it_is_called() {
    let mut elf = ElfBuilder::new();
    let text = code(&mut elf, "program", &[call(-1), ld_imm64(1, 0, 0)[0], [0; 8], EXIT]);
    let function = elf.symbol("function", 0, Bind::Global, 0, (0, 0));
    let variable = elf.symbol("variable", 0, Bind::Global, 0, (0, 0));
    elf.relocate(text, 0, R_64_32, function);
    elf.relocate(text, 8, R_64_64, variable);
    let kinds: Vec<_> = object(elf).externs.iter().map(|e| e.kind).collect();
    assert_eq!(kinds, [ExternKind::Function, ExternKind::Variable]);
}

#[test]
fn the_address_of_a_neighbour_needs_no_relocation() {
    let mut elf = ElfBuilder::new();
    // BPF_PSEUDO_FUNC, one slot behind the second half.
    let text = code(&mut elf, "program", &[ld_imm64(2, 4, 2)[0], [0; 8], EXIT, EXIT]);
    elf.symbol("main", FUNC, Bind::Global, text, (0, 24));
    elf.symbol("callback", FUNC, Bind::Local, text, (24, 8));
    assert_eq!(object(elf).functions[0].relocations, [Relocation { insn: 0, target: Target::Function(1) }]);
}

#[test]
fn arena_data_is_marked() {
    let mut elf = ElfBuilder::new();
    elf.section(".addr_space.1", Class::Data, &[0; 8]);
    elf.section(".rodata.str", Class::Data, &[0; 8]);
    let data = object(elf).data;
    assert_eq!((data[0].arena, data[0].read_only), (true, false));
    assert_eq!((data[1].arena, data[1].read_only), (false, true));
}

#[test]
fn other_files_are_refused_with_advice() {
    let refuse = |bytes: &[u8]| Object::parse(bytes).unwrap_err();
    let advice = "give the object that clang --target=bpf -c writes";
    assert_eq!(refuse(b"").to_string(), format!("this is no ELF file (it is empty); {advice}"));
    assert!(matches!(refuse(b"#!/bin/sh"), ObjectError::NotElf(_)));
    assert!(matches!(refuse(b"\x7fELF\x02\x01"), ObjectError::NotElf(_)));
    assert_eq!(refuse(b"\x7fELF\x02\x02\x01"), ObjectError::Class("big-endian"));
    assert_eq!(refuse(b"\x7fELF\x01\x01\x01"), ObjectError::Class("for 32 bits"));
    let mut elf = scheduler(false);
    elf.machine = 62;
    assert_eq!(error(elf), "this ELF file is for machine 62, not for BPF (247); compile with clang --target=bpf");
    let mut linked = scheduler(false).finish();
    linked[16] = 2;
    assert_eq!(refuse(&linked), ObjectError::NotRelocatable(2));
}

#[test]
fn maps_as_before_btf_are_refused() {
    let mut elf = ElfBuilder::new();
    elf.section("maps", Class::Data, &[0; 20]);
    assert_eq!(Object::parse(&elf.finish()).unwrap_err(), ObjectError::LegacyMaps);
}

#[test]
fn maps_need_types() {
    let mut elf = ElfBuilder::new();
    elf.section(".maps", Class::Data, &[0; 32]);
    assert!(error(elf).starts_with("section .maps can only be understood with BTF"));
}

#[test]
fn a_stripped_object_is_refused() {
    let mut types = Builder::new();
    let int = types.int("int", 4, true);
    let var = types.var("count", int, Linkage::Global);
    types.section(".data", 0, &[(var, 0, 4)]);
    let mut elf = ElfBuilder::new();
    elf.section(".data", Class::Data, &[0; 4]);
    elf.types(&types.finish(), &ExtBuilder::default());
    assert_eq!(
        error(elf),
        "section .data has no symbol for count, which its types name; was the object stripped of symbols?"
    );
}

#[test]
fn a_variable_beyond_its_section_is_refused() {
    let mut types = Builder::new();
    let int = types.int("int", 4, true);
    let var = types.var("count", int, Linkage::Global);
    types.section(".data", 8, &[(var, 6, 4)]);
    let mut elf = ElfBuilder::new();
    elf.section(".data", Class::Data, &[0; 8]);
    elf.types(&types.finish(), &ExtBuilder::default());
    assert_eq!(error(elf), "section .data is cut off at byte 6: the file is damaged, build it again");
}

#[test]
fn overlapping_functions_are_refused() {
    let mut elf = ElfBuilder::new();
    let text = code(&mut elf, ".text", &[EXIT, EXIT]);
    elf.symbol("a", FUNC, Bind::Global, text, (0, 16));
    elf.symbol("b", FUNC, Bind::Global, text, (8, 8));
    assert_eq!(error(elf), "function b in section .text: it overlaps another one");
}

#[test]
fn a_second_name_of_a_function_is_left_out() {
    let mut elf = ElfBuilder::new();
    let text = code(&mut elf, ".text", &[EXIT]);
    elf.symbol("alias", FUNC, Bind::Local, text, (0, 8));
    elf.symbol("name", FUNC, Bind::Global, text, (0, 8));
    let names: Vec<_> = object(elf).functions.iter().map(|function| function.name.clone()).collect();
    assert_eq!(names, ["name"]);
}

#[test]
fn a_call_into_nowhere_is_refused() {
    let mut elf = ElfBuilder::new();
    code(&mut elf, ".text", &[call(5), EXIT]);
    assert_eq!(error(elf), "section .text, byte 0: no function begins at byte 48 of .text");
}

/// `bpftool gen object` keeps the code of a weak function that two objects had twice, but not its second name.
#[test]
fn code_without_a_name_is_left_out_with_its_relocations() {
    let mut elf = ElfBuilder::new();
    let text = code(&mut elf, ".text", &[EXIT, call(-1), EXIT]);
    let name = elf.symbol("name", FUNC, Bind::Global, text, (0, 8));
    elf.relocate(text, 8, R_64_32, name);
    let object = object(elf);
    assert_eq!(object.functions.len(), 1);
    assert_eq!(object.functions[0].relocations, []);
}

#[test]
fn a_relocation_outside_all_code_is_refused() {
    for at in [4, 16] {
        let mut elf = ElfBuilder::new();
        let text = code(&mut elf, ".text", &[EXIT, EXIT]);
        let name = elf.symbol("name", FUNC, Bind::Global, text, (0, 16));
        elf.relocate(text, at, R_64_32, name);
        assert_eq!(error(elf), format!("section .text, byte {at}: no instruction is there"));
    }
}

#[test]
fn a_map_of_an_unknown_definition_is_refused() {
    let mut types = Builder::new();
    let int = types.int("int", 4, true);
    let map = types.structure("", 4, &[("size", int, 0)]);
    let var = types.var("m", map, Linkage::Global);
    types.section(".maps", 4, &[(var, 0, 4)]);
    let mut elf = ElfBuilder::new();
    elf.section(".maps", Class::Data, &[0; 4]);
    elf.types(&types.finish(), &ExtBuilder::default());
    assert_eq!(error(elf), "map m: its definition has an unknown member \"size\"");
}

#[test]
fn sections_that_need_more_memory_than_the_file_are_refused() {
    let mut elf = ElfBuilder::new();
    elf.section(".bss", Class::Bss(1 << 40), &[]);
    assert!(error(elf).starts_with("section .bss makes the data larger than 268435456 bytes"));
    let mut elf = ElfBuilder::new();
    elf.section(".data", Class::Data, &[0; 8]);
    elf.section(".data", Class::Data, &[0; 8]);
    assert!(error(elf).contains("two sections are called .data"));
}

#[test]
fn every_beginning_of_an_object_is_refused() {
    let bytes = scheduler(true).finish();
    for end in 0..bytes.len() {
        assert!(Object::parse(&bytes[..end]).is_err(), "{end} of {} bytes", bytes.len());
    }
}

#[test]
fn an_object_without_code_has_nothing() {
    let mut elf = ElfBuilder::new();
    elf.types(&Btf::default(), &ExtBuilder::default());
    assert!(object(elf).functions.is_empty());
}

#[test]
fn a_line_before_the_first_function_of_a_section_belongs_to_none() {
    let mut elf = ElfBuilder::new();
    let text = code(&mut elf, ".text", &[EXIT, EXIT]);
    let program = code(&mut elf, "program", &[EXIT, EXIT]);
    elf.symbol("far", FUNC, Bind::Global, text, (8, 8));
    elf.symbol("main", FUNC, Bind::Global, program, (8, 8));
    let ext = ExtBuilder { lines: vec![("program", 0, "a.c", "{", 1)], ..ExtBuilder::default() };
    elf.types(&Btf::default(), &ext);
    assert!(object(elf).functions.iter().all(|function| function.lines.is_empty()));
}
