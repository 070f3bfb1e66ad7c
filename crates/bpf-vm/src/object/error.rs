// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a file is no BPF object.

use crate::btf::BtfError;

/// Why a file cannot be used as a BPF object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// The file is no ELF file.
    #[error("this is no ELF file ({0}); give the object that clang --target=bpf -c writes")]
    NotElf(String),
    /// The file is an ELF file for another machine.
    #[error(
        "this ELF file is for machine {machine}, not for BPF ({}); compile with clang --target=bpf",
        object::elf::EM_BPF
    )]
    NotBpf {
        /// `e_machine`.
        machine: u16,
    },
    /// The file is not for 64 bits, or not little-endian.
    #[error("this ELF file is {0}; compile for 64 bits and little-endian (clang --target=bpfel)")]
    Class(&'static str),
    /// The file is an executable or shared library.
    #[error("this ELF file is of type {0}, not a relocatable object; compile with -c and do not link it")]
    NotRelocatable(u16),
    /// A section ends too early, or lies outside of the file.
    #[error("section {section} is cut off at byte {offset}: the file is damaged, build it again")]
    Truncated {
        /// The section.
        section: String,
        /// Where the section is cut off, in bytes from its beginning.
        offset: u64,
    },
    /// The file's tables are damaged.
    #[error("the {what} of this ELF file is damaged ({why}); build it again")]
    Damaged {
        /// Name of the table.
        what: &'static str,
        /// What is wrong.
        why: String,
    },
    /// The sections take more memory than anything real.
    #[error("section {section} makes the data larger than {limit} bytes; if it must be so large, use a map")]
    TooLarge {
        /// The section.
        section: String,
        /// Bytes that all sections may have together.
        limit: u64,
    },
    /// The types of the object are damaged.
    #[error("section {section}: {error}")]
    Btf {
        /// `.BTF` or `.BTF.ext`.
        section: &'static str,
        /// What is wrong.
        error: BtfError,
    },
    /// A section needs types, and the object has none.
    #[error("section {section} can only be understood with BTF, which this object lacks; compile with -g")]
    NoBtf {
        /// The section.
        section: String,
    },
    /// The object defines maps in the form from before BTF.
    #[error(
        "this object defines maps in the old section \"maps\"; define them in SEC(\".maps\") with __uint and __type"
    )]
    LegacyMaps,
    /// A map's definition cannot be understood.
    #[error("map {map}: {what}")]
    Map {
        /// The map.
        map: String,
        /// What is wrong.
        what: String,
    },
    /// The file lacks a variable or function that the types name.
    #[error("section {section} has no symbol for {name}, which its types name; was the object stripped of symbols?")]
    NoSymbol {
        /// The section.
        section: String,
        /// The variable.
        name: String,
    },
    /// The bytes of a function are no whole instructions, or functions overlap.
    #[error("function {function} in section {section}: {what}")]
    Function {
        /// The section.
        section: String,
        /// The function.
        function: String,
        /// What is wrong.
        what: String,
    },
    /// A relocation cannot be understood.
    #[error("section {section}, byte {offset}: {what}")]
    Relocation {
        /// The section that is relocated.
        section: String,
        /// First byte in the section that is relocated.
        offset: u64,
        /// What is wrong.
        what: String,
    },
    /// A `struct_ops` value cannot be understood.
    #[error("struct_ops {name}: {what}")]
    StructOps {
        /// The variable.
        name: String,
        /// What is wrong.
        what: String,
    },
}
