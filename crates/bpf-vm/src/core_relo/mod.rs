// SPDX-License-Identifier: MIT OR Apache-2.0
//! CO-RE: makes instructions that were compiled for one kernel's types right for another's.
//!
//! An object says of an instruction which field, type or enumeration value it depends on, by name. [`resolve`] finds
//! this part in a kernel's types, as libbpf does (`tools/lib/bpf/relo_core.c`), and [`CoreValue::patch`] puts the
//! answer into the instruction. A part that the kernel lacks is no error: the instruction is poisoned, and programs
//! test for the part before they execute such an instruction.

mod error;
mod matches;
mod patch;
mod spec;
mod value;

use crate::btf::{Btf, Kind, Type, TypeId, essential_name};

pub use error::CoreError;
pub use value::CoreValue;

use spec::Spec;

/// A CO-RE relocation: one instruction that depends on the kernel's types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoreRelocation {
    /// Slot of the instruction in the function.
    pub insn: usize,
    /// The type, in the object.
    pub type_id: TypeId,
    /// Which part of the type: indexes of elements and members, or the index of an enumeration's value.
    pub access: Vec<u32>,
    /// What the instruction wants to know.
    pub kind: CoreKind,
}

/// What an instruction wants to know (`enum bpf_core_relo_kind`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CoreKind {
    /// Byte offset of a field.
    FieldByteOffset,
    /// Size of a field in bytes.
    FieldByteSize,
    /// Whether the field exists.
    FieldExists,
    /// Whether the field is signed.
    FieldSigned,
    /// By how many bits to shift the loaded value left.
    FieldLeftShift,
    /// By how many bits to shift the loaded value right afterwards.
    FieldRightShift,
    /// Number of the type in the object.
    TypeIdLocal,
    /// Number of the type in the kernel.
    TypeIdTarget,
    /// Whether the type exists.
    TypeExists,
    /// Size of the type in bytes.
    TypeSize,
    /// Whether the enumeration has the value.
    EnumValueExists,
    /// The number that the enumeration's value has.
    EnumValue,
    /// Whether the type matches in all its members.
    TypeMatches,
}

impl CoreKind {
    /// The kind of a number in `.BTF.ext`.
    pub fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::FieldByteOffset,
            1 => Self::FieldByteSize,
            2 => Self::FieldExists,
            3 => Self::FieldSigned,
            4 => Self::FieldLeftShift,
            5 => Self::FieldRightShift,
            6 => Self::TypeIdLocal,
            7 => Self::TypeIdTarget,
            8 => Self::TypeExists,
            9 => Self::TypeSize,
            10 => Self::EnumValueExists,
            11 => Self::EnumValue,
            12 => Self::TypeMatches,
            _ => return None,
        })
    }
}

/// Steps in an access, as in libbpf.
pub(crate) const MAX_ACCESS: usize = 64;

/// The answer to a relocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// The instruction gets a value.
    Value(CoreValue),
    /// The instruction must not run, for this reason.
    Poison(String),
}

/// Finds what a relocation of an object asks for in a kernel's types.
///
/// # Errors
/// The object's relocation makes no sense, or several types of the kernel give different answers.
pub fn resolve(local: &Btf, relocation: &CoreRelocation, target: &Btf) -> Result<Resolution, CoreError> {
    let spec = Spec::parse(local, relocation)?;
    if relocation.kind == CoreKind::TypeIdLocal {
        return Ok(Resolution::Value(CoreValue::unchecked(u64::from(relocation.type_id.0))));
    }
    let root = local.get(relocation.type_id).unwrap_or(&Type::Void);
    if root.name().is_empty() {
        return Err(CoreError::Anonymous { what: spec.describe(local), kind: relocation.kind });
    }
    let mut found: Option<(Spec, Resolution)> = None;
    for candidate in candidates(root.name(), root.kind(), target) {
        let Some(matched) = spec.find(local, target, candidate) else { continue };
        let resolution = value::resolution((local, &spec), Some((target, &matched)), relocation.kind)?;
        let Some((first, agreed)) = &found else {
            found = Some((matched, resolution));
            continue;
        };
        if first.bit_offset != matched.bit_offset || !agreed.agrees(&resolution) {
            return Err(CoreError::Ambiguous {
                what: spec.describe(local),
                kind: relocation.kind,
                first: first.root,
                second: candidate,
            });
        }
    }
    match found {
        Some((_, resolution)) => Ok(resolution),
        None => value::resolution((local, &spec), None, relocation.kind),
    }
}

/// Resolves a relocation and patches its instruction in the function's code. Returns why the instruction must not run,
/// if it must not.
///
/// # Errors
/// As for [`resolve`] and [`CoreValue::patch`].
pub fn apply(
    local: &Btf,
    relocation: &CoreRelocation,
    target: &Btf,
    code: &mut [u8],
) -> Result<Option<String>, CoreError> {
    match resolve(local, relocation, target)? {
        Resolution::Value(value) => value.patch(code, relocation.insn),
        Resolution::Poison(reason) => Ok(Some(reason)),
    }
}

impl Resolution {
    /// Whether both do the same to an instruction.
    fn agrees(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Value(a), Self::Value(b)) => a.new == b.new,
            (Self::Poison(_), Self::Poison(_)) => true,
            _ => false,
        }
    }
}

/// The kernel's types of the same name, flavours left out, and kind.
fn candidates<'a>(name: &str, kind: Kind, target: &'a Btf) -> impl Iterator<Item = TypeId> + 'a {
    let essential = essential_name(name).to_owned();
    let flavours: Vec<TypeId> = target.find_prefix(&format!("{essential}___")).collect();
    let plain: Vec<TypeId> = target.find_all(&essential).collect();
    plain.into_iter().chain(flavours).filter(move |id| {
        let ty = target.get(*id).unwrap_or(&Type::Void);
        ty.kind().is_like(kind) && essential_name(ty.name()) == essential
    })
}
