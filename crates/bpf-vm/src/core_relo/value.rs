// SPDX-License-Identifier: MIT OR Apache-2.0
//! The value that a relocation asks for, in the object's types and in the kernel's.

use super::spec::{Spec, Step};
use super::{CoreError, CoreKind, Resolution};
use crate::btf::{Btf, Type, TypeId};

/// The value that an instruction gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoreValue {
    /// The value by the object's types: the instruction has it.
    pub old: u64,
    /// The value by the kernel's types: the instruction gets it.
    pub new: u64,
    /// Whether the instruction must have the old value. Bitfields can be loaded in several ways, so theirs need not.
    pub(super) check: bool,
    /// Size of the field by the object's and by the kernel's types, where these differ.
    pub(super) resize: Option<Resize>,
}

/// A field that has another size in the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Resize {
    pub(super) old: u64,
    pub(super) new: u64,
    /// Whether a load or store of the other size gives the same value.
    pub(super) safe: bool,
}

impl CoreValue {
    /// A value for any instruction, whatever value the instruction has.
    pub(super) fn unchecked(value: u64) -> Self {
        Self { old: value, new: value, check: false, resize: None }
    }
}

/// What is known of a field in one BTF.
struct Field {
    value: u64,
    check: bool,
    /// Size and type, for loads and stores of it.
    access: Option<(u64, TypeId)>,
}

/// The answer to a relocation, given what the kernel has (`Some`) or that it has none (`None`).
pub(super) fn resolution(
    (local, spec): (&Btf, &Spec),
    found: Option<(&Btf, &Spec)>,
    kind: CoreKind,
) -> Result<Resolution, CoreError> {
    let exists = matches!(kind, CoreKind::FieldExists | CoreKind::EnumValueExists);
    if exists || !kind.is_field() && !kind.is_enum_value() && found.is_none() {
        let old = if exists { 1 } else { type_value(local, spec, kind)? };
        let check = kind != CoreKind::TypeIdTarget;
        return Ok(Resolution::Value(CoreValue { old, new: found.is_some().into(), check, resize: None }));
    }
    let Some((target, found)) = found else {
        return Ok(Resolution::Poison(format!("the kernel has no {} ({kind:?})", spec.describe(local))));
    };
    if kind.is_field() {
        let (mine, theirs) = (field(local, spec, kind)?, field(target, found, kind)?);
        let resize = resize(local, target, mine.access, theirs.access);
        return Ok(Resolution::Value(CoreValue { old: mine.value, new: theirs.value, check: mine.check, resize }));
    }
    let of = |btf, spec| if kind.is_enum_value() { enum_value(btf, spec, kind) } else { type_value(btf, spec, kind) };
    let (old, new) = (of(local, spec)?, of(target, found)?);
    // Linkers renumber types without changing the instructions that name them.
    let check = kind != CoreKind::TypeIdTarget;
    Ok(Resolution::Value(CoreValue { old, new, check, resize: None }))
}

fn access_error(btf: &Btf, spec: &Spec, kind: CoreKind) -> CoreError {
    CoreError::Access { what: spec.describe(btf), kind }
}

fn type_value(btf: &Btf, spec: &Spec, kind: CoreKind) -> Result<u64, CoreError> {
    match kind {
        CoreKind::TypeSize => btf.size_of(spec.root).ok_or_else(|| access_error(btf, spec, kind)),
        CoreKind::TypeIdTarget => Ok(u64::from(spec.root.0)),
        _ => Ok(1),
    }
}

fn enum_value(btf: &Btf, spec: &Spec, kind: CoreKind) -> Result<u64, CoreError> {
    let value = match spec.steps.first() {
        Some(Step::Value { enumeration, index }) => {
            btf.get(*enumeration).and_then(Type::enumeration).and_then(|values| values.values.get(*index))
        }
        _ => None,
    };
    value.map(|value| value.value).ok_or_else(|| access_error(btf, spec, kind))
}

/// What is asked of a field.
fn field(btf: &Btf, spec: &Spec, kind: CoreKind) -> Result<Field, CoreError> {
    let error = || access_error(btf, spec, kind);
    match spec.steps.last() {
        Some(Step::Element { type_id, .. }) => {
            let size = btf.size_of(*type_id).ok_or_else(error)?;
            match kind {
                CoreKind::FieldByteOffset => {
                    Ok(Field { value: spec.bit_offset / 8, check: true, access: Some((size, *type_id)) })
                }
                CoreKind::FieldByteSize => Ok(Field { value: size, check: true, access: None }),
                // An element is no bitfield, and its sign is not asked for.
                _ => Err(error()),
            }
        }
        Some(Step::Member { composite, index }) => {
            let member =
                btf.get(*composite).and_then(Type::composite).and_then(|composite| composite.members.get(*index));
            let member = member.ok_or_else(error)?;
            let type_id = btf.skip_modifiers(member.type_id);
            let load = load(btf, spec, (type_id, member.bitfield), kind)?;
            member_value(btf, &load, kind).ok_or_else(error)
        }
        _ => Err(error()),
    }
}

/// How a member is loaded.
struct Load {
    type_id: TypeId,
    byte_offset: u64,
    bytes: u64,
    bit_offset: u64,
    bits: u64,
    bitfield: bool,
}

/// A bitfield is loaded by the smallest aligned integer that covers it.
fn load(btf: &Btf, spec: &Spec, (type_id, bits): (TypeId, u8), kind: CoreKind) -> Result<Load, CoreError> {
    let mut bytes = btf.size_of(type_id).ok_or_else(|| access_error(btf, spec, kind))?;
    let bit_offset = spec.bit_offset;
    if bits == 0 {
        let bits = bytes.saturating_mul(8);
        return Ok(Load { type_id, byte_offset: bit_offset / 8, bytes, bit_offset, bits, bitfield: false });
    }
    if !matches!(bytes, 1 | 2 | 4 | 8) {
        return Err(access_error(btf, spec, kind));
    }
    let bits = u64::from(bits);
    let aligned = |bytes: u64| bit_offset / 8 / bytes * bytes;
    while bit_offset - aligned(bytes) * 8 + bits > bytes * 8 {
        if bytes >= 8 {
            return Err(CoreError::Bitfield { what: spec.describe(btf), kind });
        }
        bytes *= 2;
    }
    Ok(Load { type_id, byte_offset: aligned(bytes), bytes, bit_offset, bits, bitfield: true })
}

fn member_value(btf: &Btf, load: &Load, kind: CoreKind) -> Option<Field> {
    // Compilers may load a bitfield otherwise than here.
    let plain = |value| Field { value, check: !load.bitfield, access: None };
    Some(match kind {
        CoreKind::FieldByteOffset => {
            let access = (!load.bitfield).then_some((load.bytes, load.type_id));
            Field { access, ..plain(load.byte_offset) }
        }
        CoreKind::FieldByteSize => plain(load.bytes),
        CoreKind::FieldSigned => {
            let signed = match btf.get(load.type_id)? {
                Type::Int(int) => int.signed,
                ty => ty.enumeration().is_some_and(|enumeration| enumeration.signed),
            };
            Field { value: signed.into(), check: true, access: None }
        }
        // The shift is for a load into 64 bits, whose highest bits are then shifted out. No such load covers a member
        // of more than 64 bits; the result is then as meaningless as libbpf's.
        CoreKind::FieldLeftShift => {
            plain(64u64.wrapping_sub(load.bit_offset.wrapping_add(load.bits)).wrapping_add(load.byte_offset * 8))
        }
        CoreKind::FieldRightShift => Field { value: 64u64.wrapping_sub(load.bits), check: true, access: None },
        _ => return None,
    })
}

/// Whether, and how safely, a load or store must change its size: pointers and unsigned integers are extended by zeros.
fn resize(local: &Btf, target: &Btf, mine: Option<(u64, TypeId)>, theirs: Option<(u64, TypeId)>) -> Option<Resize> {
    // A bitfield on either side has no size to be loaded by.
    let ((old, mine), (new, theirs)) = (mine.unwrap_or_default(), theirs.unwrap_or_default());
    let safe = match (local.bare(mine), target.bare(theirs)) {
        (Some(Type::Ptr(_)), Some(Type::Ptr(_))) => true,
        (Some(Type::Int(a)), Some(Type::Int(b))) => !a.signed && !b.signed,
        _ => false,
    };
    (old != new).then_some(Resize { old, new, safe })
}
