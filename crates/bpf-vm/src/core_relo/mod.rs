// SPDX-License-Identifier: MIT OR Apache-2.0
//! CO-RE: makes instructions that were compiled for one kernel's types right for another's.

use crate::btf::TypeId;

/// A CO-RE relocation: one instruction that depends on the kernel's types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoreRelocation {
    /// Slot in the function.
    pub insn: usize,
    /// Type in the object.
    pub type_id: TypeId,
    /// Which part of it: indexes of elements and members, or the index of an enumeration's value.
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
    /// By how many bits to shift it right then.
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
    /// What the value is.
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
