// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a CO-RE relocation cannot be applied.

use super::CoreKind;
use crate::btf::TypeId;

/// Why a CO-RE relocation cannot be applied. `what` is the type or field, as C would write it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CoreError {
    /// The relocation's access does not fit the object's own type.
    #[error("CO-RE relocation ({kind:?}) of {what}: the object's own types have no such part; compile it again")]
    Access {
        /// The type or field that is relocated.
        what: String,
        /// What the relocation asks for.
        kind: CoreKind,
    },
    /// A type without a name cannot be found in a kernel.
    #[error("CO-RE relocation ({kind:?}) of {what}: a type without a name cannot be looked up; give it a name")]
    Anonymous {
        /// The type or field that is relocated.
        what: String,
        /// What the relocation asks for.
        kind: CoreKind,
    },
    /// Several types of the kernel match and give different answers.
    #[error(
        "CO-RE relocation ({kind:?}) of {what}: types {} and {} of the kernel give different answers; a type of the \
         object that has only what the program uses may tell them apart",
        .first.0, .second.0
    )]
    Ambiguous {
        /// The type or field that is relocated.
        what: String,
        /// What the relocation asks for.
        kind: CoreKind,
        /// A type of the kernel.
        first: TypeId,
        /// Another type of the kernel, with another answer.
        second: TypeId,
    },
    /// A bitfield that no load of at most 8 bytes covers.
    #[error("CO-RE relocation ({kind:?}) of {what}: no load of 8 bytes covers the bitfield")]
    Bitfield {
        /// The type or field that is relocated.
        what: String,
        /// What the relocation asks for.
        kind: CoreKind,
    },
    /// The instruction is of a kind that no relocation changes.
    #[error("CO-RE relocation of instruction {insn}: its code {code:#04x} is none that can be relocated")]
    Instruction {
        /// Slot of the instruction in the function.
        insn: usize,
        /// The instruction's operation code; 0 beyond the function's end.
        code: u8,
    },
    /// The instruction does not have the value that the object's types give.
    #[error(
        "CO-RE relocation of instruction {insn}: it has {found}, the object's types say {expected}; compile it again"
    )]
    Unexpected {
        /// Slot of the instruction in the function.
        insn: usize,
        /// The value in the instruction.
        found: u64,
        /// The value by the object's types.
        expected: u64,
    },
    /// The new value does not fit into the instruction.
    #[error("CO-RE relocation of instruction {insn}: {value} does not fit into it")]
    TooBig {
        /// Slot of the instruction in the function.
        insn: usize,
        /// The value that the instruction should get.
        value: u64,
    },
}
