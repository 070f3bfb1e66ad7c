// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be wrong with BTF.

use super::types::TypeId;

/// Why bytes are no BTF. Offsets are in bytes from the beginning of the section.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BtfError {
    /// The section ends too early.
    #[error("{what} is cut off at byte {offset}: the file is damaged, build it again")]
    Truncated {
        /// What was being read.
        what: &'static str,
        /// Offset of the record that is cut off.
        offset: usize,
    },
    /// The bytes do not begin as BTF does.
    #[error("no BTF: it begins with {magic:#06x} instead of 0xeb9f")]
    Magic {
        /// The first two bytes.
        magic: u16,
    },
    /// The BTF is for a big-endian machine.
    #[error("the types are big-endian; compile for a little-endian target (clang --target=bpfel)")]
    BigEndian,
    /// The BTF has a version that did not exist when this was written.
    #[error("version {0} of BTF is unknown; only version 1 is")]
    Version(u8),
    /// A kind of type that did not exist when this was written.
    #[error("type {} at byte {offset} is of kind {kind}, which is unknown; kinds up to 19 are known", .id.0)]
    Kind {
        /// The type.
        id: TypeId,
        /// The type's kind.
        kind: u32,
        /// Offset of the type.
        offset: usize,
    },
    /// A name is not in the string table.
    #[error("{what} at byte {offset} has its name at {name} of the strings, where there is none")]
    Name {
        /// What was being read.
        what: &'static str,
        /// Offset of the record whose name it is.
        offset: usize,
        /// The name's offset in the string table.
        name: u32,
    },
    /// A name is longer than the kernel allows.
    #[error("{what} at byte {offset} has a name of more than {} bytes", super::parse::MAX_NAME)]
    LongName {
        /// What was being read.
        what: &'static str,
        /// Offset of the record whose name it is.
        offset: usize,
    },
    /// A type refers to one that does not exist.
    #[error("type {} refers to type {}, but there are only {count} types", .id.0, .to.0)]
    Reference {
        /// The type.
        id: TypeId,
        /// The number that the type refers to.
        to: TypeId,
        /// Number of types.
        count: usize,
    },
    /// A typedef or qualifier that is defined by itself.
    #[error("type {} is defined by itself", .id.0)]
    Endless {
        /// The type.
        id: TypeId,
    },
    /// The size of a type is impossible.
    #[error("type {} has an impossible size of {size} bytes", .id.0)]
    Size {
        /// The type.
        id: TypeId,
        /// The type's size in bytes.
        size: u32,
    },
    /// A record of `.BTF.ext` is smaller than any version's.
    #[error("records of {what} have {size} bytes, fewer than {least}")]
    RecordSize {
        /// What was being read.
        what: &'static str,
        /// Size of the records in bytes.
        size: u32,
        /// The least size known, in bytes.
        least: u32,
    },
    /// The access string of a CO-RE relocation is malformed.
    #[error("the access string of the CO-RE relocation at byte {offset} is not a list of at most 64 numbers")]
    Access {
        /// Offset of the relocation.
        offset: usize,
    },
    /// A kind of CO-RE relocation that did not exist when this was written.
    #[error("the CO-RE relocation at byte {offset} is of kind {kind}, which is unknown; kinds up to 12 are known")]
    RelocationKind {
        /// Offset of the relocation.
        offset: usize,
        /// The relocation's kind.
        kind: u32,
    },
}
