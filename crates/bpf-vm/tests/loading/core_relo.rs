// SPDX-License-Identifier: MIT OR Apache-2.0
//! CO-RE: each kind of question, to kernels that have the answer, lack it or give two.

use tandem_bpf_vm::btf::{Btf, Builder, Composite, Member, Type, TypeId};
use tandem_bpf_vm::core_relo::{CoreError, CoreKind, CoreRelocation, Resolution, apply, resolve};

use super::builder::{ld_imm64, slot};

/// Types of an object, in the order of [`LocalIds`].
struct Local {
    btf: Btf,
    task: TypeId,
    colour: TypeId,
    gone: TypeId,
    number: TypeId,
}

/// The object's kernel: `struct task_struct { int pid; struct { int a; u64 *p; }; u32 list[4]; u32 low:3, high:6; s32 s; }`.
fn local() -> Local {
    let mut types = Builder::new();
    let int = types.int("int", 4, true);
    let u32_type = types.int("unsigned int", 4, false);
    let pointer = types.pointer(int);
    let anonymous = types.structure("", 16, &[("a", int, 0), ("p", pointer, 8)]);
    let list = types.array(u32_type, 4);
    let bits = |name: &str, bit_offset, bitfield| Member { name: name.into(), type_id: u32_type, bit_offset, bitfield };
    let plain =
        |name: &str, type_id, offset: u32| Member { name: name.into(), type_id, bit_offset: offset * 8, bitfield: 0 };
    let members = vec![
        plain("pid", int, 0),
        plain("", anonymous, 8),
        plain("list", list, 24),
        bits("low", 320, 3),
        bits("high", 323, 6),
        plain("count", u32_type, 44),
    ];
    let task = types.add(Type::Struct(Composite { name: "task_struct___mine".into(), size: 48, members }));
    let colour = types.enumeration("colour", &[("RED", 3), ("GREEN___mine", 77), ("BLUE", 5)]);
    let gone = types.structure("gone", 4, &[("x", int, 0)]);
    let number = types.typedef("number", int);
    Local { btf: types.finish(), task, colour, gone, number }
}

/// The kernel that runs: members moved, `pid` and `p` in an anonymous union, `count` with 8 bytes, no `BLUE`.
fn kernel(types: &mut Builder, name: &str, shift: u32) -> TypeId {
    let int = types.int("int", 4, true);
    let u32_type = types.int("unsigned int", 4, false);
    let u64_type = types.int("unsigned long", 8, false);
    let character = types.int("char", 1, true);
    let to_char = types.pointer(character);
    let union = types.union("", 8, &[("pid", int), ("p", to_char)]);
    let list = types.array(u32_type, 3);
    let bits = |name: &str, bit_offset, bitfield| Member { name: name.into(), type_id: u32_type, bit_offset, bitfield };
    let plain = |name: &str, type_id, offset: u32| Member {
        name: name.into(),
        type_id,
        bit_offset: (offset + shift) * 8,
        bitfield: 0,
    };
    let members = vec![
        plain("count", u64_type, 0),
        plain("", union, 16),
        plain("a", u64_type, 24),
        plain("list", list, 32),
        bits("high", 414, 6),
        bits("low", 352, 3),
    ];
    types.add(Type::Struct(Composite { name: name.into(), size: 72, members }))
}

fn one_kernel() -> Btf {
    let mut types = Builder::new();
    kernel(&mut types, "task_struct", 0);
    types.enumeration("colour", &[("GREEN", 1 << 40), ("RED", -2)]);
    types.typedef("number", TypeId(1));
    types.finish()
}

fn ask(type_id: TypeId, access: &[u32], kind: CoreKind) -> CoreRelocation {
    CoreRelocation { insn: 0, type_id, access: access.to_vec(), kind }
}

/// The old and the new value of a relocation.
fn values(local: &Local, relocation: &CoreRelocation, kernel: &Btf) -> (u64, u64) {
    match resolve(&local.btf, relocation, kernel).unwrap() {
        Resolution::Value(value) => (value.old, value.new),
        Resolution::Poison(reason) => panic!("{reason}"),
    }
}

#[test]
fn fields_are_found_by_name() {
    let (local, kernel) = (local(), one_kernel());
    let task = local.task;
    let table: &[(&[u32], CoreKind, (u64, u64))] = &[
        (&[0, 0], CoreKind::FieldByteOffset, (0, 16)),
        (&[0, 0], CoreKind::FieldExists, (1, 1)),
        // A member of an anonymous structure in the object, of the task itself in the kernel.
        (&[0, 1, 0], CoreKind::FieldByteOffset, (8, 24)),
        (&[0, 1, 0], CoreKind::FieldByteSize, (4, 8)),
        (&[0, 1, 0], CoreKind::FieldSigned, (1, 0)),
        (&[0, 1, 1], CoreKind::FieldByteOffset, (16, 16)),
        (&[0, 2], CoreKind::FieldByteSize, (16, 12)),
        (&[0, 2, 2], CoreKind::FieldByteOffset, (32, 40)),
        (&[0, 2, 2], CoreKind::FieldByteSize, (4, 4)),
        (&[0, 0], CoreKind::FieldLeftShift, (32, 32)),
        (&[0, 0], CoreKind::FieldRightShift, (32, 32)),
        // The same member of the next task.
        (&[1, 0], CoreKind::FieldByteOffset, (48, 88)),
    ];
    for (access, kind, expected) in table {
        assert_eq!(values(&local, &ask(task, access, *kind), &kernel), *expected, "{kind:?} of {access:?}");
    }
}

#[test]
fn bitfields_are_loaded_by_the_smallest_integer() {
    let (local, kernel) = (local(), one_kernel());
    let of = |member, kind| values(&local, &ask(local.task, &[0, member], kind), &kernel);
    assert_eq!(of(3, CoreKind::FieldByteOffset), (40, 44));
    assert_eq!(of(3, CoreKind::FieldByteSize), (4, 4));
    assert_eq!(of(3, CoreKind::FieldLeftShift), (61, 61));
    assert_eq!(of(3, CoreKind::FieldRightShift), (61, 61));
    // Bits 414 to 419 of the kernel's lie in no 4 aligned bytes: 8 from byte 48 (bit 384) on, 28 bits above.
    assert_eq!(of(4, CoreKind::FieldByteOffset), (40, 48));
    assert_eq!(of(4, CoreKind::FieldByteSize), (4, 8));
    assert_eq!(of(4, CoreKind::FieldLeftShift), (55, 28));
    assert_eq!(of(4, CoreKind::FieldRightShift), (58, 58));
}

#[test]
fn types_are_found_by_name_and_kind() {
    let (local, kernel) = (local(), one_kernel());
    let of = |id, kind| values(&local, &ask(id, &[0], kind), &kernel);
    assert_eq!(of(local.task, CoreKind::TypeExists), (1, 1));
    assert_eq!(of(local.task, CoreKind::TypeSize), (48, 72));
    assert_eq!(of(local.task, CoreKind::TypeIdLocal), (u64::from(local.task.0), u64::from(local.task.0)));
    let found = kernel.find("task_struct", |_| true).unwrap();
    assert_eq!(of(local.task, CoreKind::TypeIdTarget).1, u64::from(found.0));
    assert_eq!(of(local.gone, CoreKind::TypeExists), (1, 0));
    assert_eq!(of(local.gone, CoreKind::TypeSize), (4, 0));
    assert_eq!(of(local.gone, CoreKind::TypeMatches), (1, 0));
    assert_eq!(of(local.gone, CoreKind::TypeIdTarget).1, 0);
    assert_eq!(of(local.number, CoreKind::TypeMatches), (1, 1));
    assert_eq!(of(local.task, CoreKind::TypeMatches), (1, 0));
}

#[test]
fn enumeration_values_are_found_by_name() {
    let (local, kernel) = (local(), one_kernel());
    let of = |value, kind| values(&local, &ask(local.colour, &[value], kind), &kernel);
    assert_eq!(of(0, CoreKind::EnumValue), (3, -2i64 as u64));
    assert_eq!(of(1, CoreKind::EnumValue), (77, 1 << 40));
    assert_eq!(of(1, CoreKind::EnumValueExists), (1, 1));
    assert_eq!(of(2, CoreKind::EnumValueExists), (1, 0));
}

#[test]
fn what_the_kernel_lacks_exists_not_and_poisons_the_rest() {
    let (local, kernel) = (local(), one_kernel());
    assert_eq!(values(&local, &ask(local.gone, &[0, 0], CoreKind::FieldExists), &kernel), (1, 0));
    let poison = |id, access: &[u32], kind| match resolve(&local.btf, &ask(id, access, kind), &kernel).unwrap() {
        Resolution::Poison(reason) => reason,
        Resolution::Value(value) => panic!("{value:?}"),
    };
    assert_eq!(
        poison(local.gone, &[0, 0], CoreKind::FieldByteOffset),
        "the kernel has no struct gone.x (FieldByteOffset)"
    );
    assert_eq!(poison(local.colour, &[2], CoreKind::EnumValue), "the kernel has no enum colour::BLUE (EnumValue)");
    // The kernel's list has three elements.
    let fourth = poison(local.task, &[0, 2, 3], CoreKind::FieldByteOffset);
    assert_eq!(fourth, "the kernel has no struct task_struct___mine.list[3] (FieldByteOffset)");
}

#[test]
fn flavours_must_agree() {
    let local = local();
    let offset = ask(local.task, &[0, 0], CoreKind::FieldByteOffset);
    let mut types = Builder::new();
    kernel(&mut types, "task_struct", 0);
    kernel(&mut types, "task_struct___2", 0);
    assert_eq!(values(&local, &offset, &types.clone().finish()), (0, 16));
    // A type of another name is not searched.
    kernel(&mut types, "task_struct_other", 8);
    assert_eq!(values(&local, &offset, &types.clone().finish()), (0, 16));
    kernel(&mut types, "task_struct___3", 8);
    let error = resolve(&local.btf, &offset, &types.clone().finish()).unwrap_err();
    assert!(matches!(error, CoreError::Ambiguous { .. }), "{error}");
    // Whether the field exists is asked of places too, as in libbpf.
    let exists = ask(local.task, &[0, 0], CoreKind::FieldExists);
    assert!(resolve(&local.btf, &exists, &types.finish()).is_err());
}

#[test]
fn an_object_that_contradicts_itself_is_refused() {
    let (local, kernel) = (local(), one_kernel());
    let refused = |id, access: &[u32], kind| resolve(&local.btf, &ask(id, access, kind), &kernel).unwrap_err();
    let access = |error| matches!(error, CoreError::Access { .. });
    assert!(access(refused(local.task, &[], CoreKind::FieldByteOffset)));
    assert!(access(refused(local.task, &[0, 9], CoreKind::FieldByteOffset)));
    assert!(access(refused(local.task, &[0, 2, 4], CoreKind::FieldByteOffset)));
    assert!(access(refused(local.task, &[0, 0, 0], CoreKind::FieldByteOffset)));
    assert!(access(refused(local.task, &[u32::MAX, 0], CoreKind::EnumValue)));
    assert!(access(refused(local.task, &[0, 2, 1], CoreKind::FieldSigned)));
    assert!(access(refused(local.colour, &[3], CoreKind::EnumValue)));
    assert!(access(refused(TypeId(99), &[0], CoreKind::TypeExists)));
    let anonymous = local.btf.types().find(|(_, ty)| ty.composite().is_some_and(|c| c.name.is_empty())).unwrap().0;
    assert!(matches!(refused(anonymous, &[0], CoreKind::TypeExists), CoreError::Anonymous { .. }));
}

fn applied(local: &Local, relocation: &CoreRelocation, code: &[[u8; 8]]) -> Result<Vec<u8>, String> {
    let mut code = code.as_flattened().to_vec();
    match apply(&local.btf, relocation, &one_kernel(), &mut code) {
        Ok(None) => Ok(code),
        Ok(Some(poison)) => Err(poison),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn loads_and_stores_get_the_offset_and_the_size() {
    let local = local();
    // r0 = *(u32 *)(r1 + 44): count, which has 8 bytes at 0 in the kernel.
    let count = ask(local.task, &[0, 5], CoreKind::FieldByteOffset);
    assert_eq!(applied(&local, &count, &[slot(0x61, 0, 1, 44, 0)]).unwrap(), slot(0x79, 0, 1, 0, 0));
    assert_eq!(applied(&local, &count, &[slot(0x63, 1, 0, 44, 0)]).unwrap(), slot(0x7b, 1, 0, 0, 0));
    // Pointers of the same size only move.
    let pid = ask(local.task, &[0, 0], CoreKind::FieldByteOffset);
    assert_eq!(applied(&local, &pid, &[slot(0x61, 0, 1, 0, 0)]).unwrap(), slot(0x61, 0, 1, 16, 0));
    // a is signed here: a load of 8 bytes would not extend it.
    let a = ask(local.task, &[0, 1, 0], CoreKind::FieldByteOffset);
    let poison = applied(&local, &a, &[slot(0x61, 0, 1, 8, 0)]).unwrap_err();
    assert_eq!(poison, "the field has 4 bytes in the object, 8 in the kernel, and may be signed");
    // The address of the member may still be taken.
    assert_eq!(applied(&local, &a, &[slot(0x07, 1, 0, 0, 8)]).unwrap(), slot(0x07, 1, 0, 0, 24));
}

#[test]
fn immediates_get_the_value() {
    let local = local();
    let green = ask(local.colour, &[1], CoreKind::EnumValue);
    let wide = applied(&local, &green, &ld_imm64(1, 0, 77)).unwrap();
    assert_eq!(wide, [slot(0x18, 1, 0, 0, 0), slot(0, 0, 0, 0, 1 << 8)].as_flattened());
    let size = ask(local.task, &[0], CoreKind::TypeSize);
    assert_eq!(applied(&local, &size, &[slot(0xb7, 1, 0, 0, 48)]).unwrap(), slot(0xb7, 1, 0, 0, 72));
}

#[test]
fn instructions_that_do_not_fit_are_refused() {
    let local = local();
    let pid = ask(local.task, &[0, 1, 0], CoreKind::FieldByteOffset);
    let refused = |code: &[[u8; 8]]| applied(&local, &pid, code).unwrap_err();
    assert!(refused(&[slot(0x61, 0, 1, 12, 0)]).contains("it has 12, the object's types say 8"));
    assert!(refused(&[slot(0x0f, 0, 1, 0, 0)]).contains("its code 0x0f is none that can be relocated"));
    assert!(refused(&[slot(0x18, 0, 0, 0, 8)]).contains("its code 0x18"));
    assert!(refused(&[]).contains("its code 0x00"));
}
