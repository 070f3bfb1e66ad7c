// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a CO-RE relocation cannot be applied.

use super::CoreKind;
use crate::btf::TypeId;

/// Why a CO-RE relocation cannot be applied. `what` is the type or field, as C would write it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CoreError {
    /// Its access does not fit the object's own type.
    #[error("CO-RE relocation ({kind:?}) of {what}: the object's own types have no such part; compile it again")]
    Access {
        /// What it relocates.
        what: String,
        /// What it asks.
        kind: CoreKind,
    },
    /// A type without a name cannot be found in a kernel.
    #[error("CO-RE relocation ({kind:?}) of {what}: a type without a name cannot be looked up; give it a name")]
    Anonymous {
        /// What it relocates.
        what: String,
        /// What it asks.
        kind: CoreKind,
    },
    /// Several types of the kernel match and give different answers.
    #[error(
        "CO-RE relocation ({kind:?}) of {what}: types {} and {} of the kernel give different answers; a type of the \
         object that has only what the program uses may tell them apart",
        .first.0, .second.0
    )]
    Ambiguous {
        /// What it relocates.
        what: String,
        /// What it asks.
        kind: CoreKind,
        /// A type of the kernel.
        first: TypeId,
        /// Another one.
        second: TypeId,
    },
    /// A bitfield that no load of at most 8 bytes covers.
    #[error("CO-RE relocation ({kind:?}) of {what}: no load of 8 bytes covers the bitfield")]
    Bitfield {
        /// What it relocates.
        what: String,
        /// What it asks.
        kind: CoreKind,
    },
    /// The instruction is of a kind that no relocation changes.
    #[error("CO-RE relocation of instruction {insn}: its code {code:#04x} is none that can be relocated")]
    Instruction {
        /// Its slot in the function.
        insn: usize,
        /// Its operation code; 0 beyond the function's end.
        code: u8,
    },
    /// The instruction does not have the value that the object's types give.
    #[error(
        "CO-RE relocation of instruction {insn}: it has {found}, the object's types say {expected}; compile it again"
    )]
    Unexpected {
        /// Its slot in the function.
        insn: usize,
        /// What it has.
        found: u64,
        /// What it should have.
        expected: u64,
    },
    /// The new value does not fit into the instruction.
    #[error("CO-RE relocation of instruction {insn}: {value} does not fit into it")]
    TooBig {
        /// Its slot in the function.
        insn: usize,
        /// The value.
        value: u64,
    },
}
