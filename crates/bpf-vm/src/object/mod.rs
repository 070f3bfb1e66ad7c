// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parts of an object file.

mod data;
mod elf;
mod error;
mod fields;
mod functions;
mod maps;
mod places;

use std::sync::Arc;

use crate::btf::{self, Btf, BtfExt, ExtError, Name, TypeId};
use crate::core_relo::CoreRelocation;

use elf::Elf;
use functions::Functions;
use places::{Places, Variables};

pub use error::ObjectError;

/// A parsed object file. It never changes, so many instances may share it; one whose data was set shares the rest with the file's.
#[derive(Debug, Clone, Default)]
pub struct Object {
    /// The text of the `license` section; empty if there is none.
    pub license: String,
    /// Programs and subprograms, in order of sections, then of addresses.
    pub functions: Arc<Vec<Function>>,
    /// Maps, in order of their definition.
    pub maps: Vec<MapDefinition>,
    /// Sections of global data.
    pub data: Vec<DataSection>,
    /// Symbols that are defined elsewhere: kernel functions, kernel variables, configuration.
    pub externs: Vec<Extern>,
    /// Values for `struct_ops`.
    pub struct_ops: Vec<StructOps>,
    /// The object's types; only `void` if it brings none.
    pub btf: Arc<Btf>,
}

/// A program or subprogram.
#[derive(Debug, Clone, Default)]
pub struct Function {
    /// The function's name.
    pub name: String,
    /// The function's section, without the question mark of optional programs: `struct_ops/enqueue`, `syscall`,
    /// `.text`.
    pub section: String,
    /// Whether the function's section has the question mark that tells loaders to leave it out unless it is asked for.
    pub optional: bool,
    /// Whether other files may call it.
    pub global: bool,
    /// The function's type ([`Type::Func`](crate::btf::Type::Func)), if the object has types.
    pub type_id: Option<TypeId>,
    /// Instructions: slots of 8 bytes.
    pub code: Vec<u8>,
    /// Slots that refer to something else, ascending.
    pub relocations: Vec<Relocation>,
    /// Slots at which source lines begin, ascending.
    pub lines: Vec<LineInfo>,
    /// CO-RE relocations, ascending.
    pub core: Vec<CoreRelocation>,
}

impl Function {
    /// Whether the function is a program that can be started by itself, not a subprogram.
    pub fn is_program(&self) -> bool {
        self.section != ".text"
    }
}

/// An instruction that refers to something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relocation {
    /// Slot of the instruction in the function.
    pub insn: usize,
    /// What the instruction refers to.
    pub target: Target,
}

/// What an instruction refers to; indexes are those of the lists in [`Object`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// `ld_imm64` of a map.
    Map(usize),
    /// `ld_imm64` of an address in a data section.
    Data {
        /// Index of the data section.
        section: usize,
        /// Bytes from the section's beginning. The place may lie beyond the section, or before it (wrapped), as in C's
        /// `&array[i - 1]`.
        offset: u64,
    },
    /// A call of a function, or `ld_imm64` of its address.
    Function(usize),
    /// A call or `ld_imm64` of something defined elsewhere.
    Extern(usize),
}

/// Where a source line begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineInfo {
    /// Slot of the line's first instruction in the function.
    pub insn: usize,
    /// Source file.
    pub file: Name,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// Text of the line.
    pub text: Name,
}

/// A map as `.maps` defines it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MapDefinition {
    /// The map's name; an inner map has its outer map's name with `.inner`.
    pub name: String,
    /// The map's kind, `BPF_MAP_TYPE_*`.
    pub kind: u32,
    /// Bytes of a key; 0 if not given.
    pub key_size: u32,
    /// Bytes of a value; 0 if not given.
    pub value_size: u32,
    /// Type of keys; `void` if only the size is given.
    pub key_type: TypeId,
    /// Type of values; `void` if only the size is given.
    pub value_type: TypeId,
    /// Most entries; 0 if not given.
    pub max_entries: u32,
    /// Flags, `BPF_F_*`.
    pub flags: u32,
    /// `map_extra`: its meaning depends on the kind.
    pub map_extra: u64,
    /// `LIBBPF_PIN_*`: 0 none, 1 by name.
    pub pinning: u32,
    /// In a map of maps, the definition that all inner maps have.
    pub inner: Option<Box<MapDefinition>>,
    /// In a map of maps, indexes of the inner maps that it holds from the beginning, by index of the element.
    pub initial: Vec<Option<usize>>,
}

/// A section of global data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DataSection {
    /// The section's name: `.data`, `.bss`, `.rodata`, `.data.private`.
    pub name: String,
    /// The section's contents.
    pub bytes: Vec<u8>,
    /// Whether programs may only read the section.
    pub read_only: bool,
    /// Whether the section lies in the object's arena map (`__arena`).
    pub arena: bool,
    /// The section's variables, by offset.
    pub variables: Vec<Variable>,
}

/// A global variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// The variable's name.
    pub name: Name,
    /// First byte of the variable in its section.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
    /// The variable's type.
    pub type_id: TypeId,
}

/// A symbol that is defined elsewhere: in the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extern {
    /// The symbol's name as the object spells it, `___flavor` included.
    pub name: String,
    /// Whether the kernel may lack the symbol.
    pub weak: bool,
    /// What kind of symbol it is.
    pub kind: ExternKind,
    /// Type of the variable, or prototype ([`Type::FuncProto`](crate::btf::Type::FuncProto)) of the function, if the
    /// object says.
    pub type_id: Option<TypeId>,
}

/// Kinds of symbols that the kernel defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExternKind {
    /// A kernel function.
    Function,
    /// A kernel variable.
    Variable,
    /// A value of the kernel's configuration (`__kconfig`).
    Kconfig,
}

/// A value for `struct_ops`, for instance a `struct sched_ext_ops`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StructOps {
    /// Name of the variable.
    pub name: String,
    /// Type of the structure.
    pub type_id: TypeId,
    /// Whether the value's section has the question mark that tells loaders to leave it out unless it is asked for.
    pub optional: bool,
    /// Bytes of the structure.
    pub bytes: Vec<u8>,
    /// Callbacks: byte offset of the member, and index of the function.
    pub callbacks: Vec<(u64, usize)>,
}

impl Object {
    /// Reads an object file, as `clang --target=bpf -g -c` or `bpftool gen object` writes it. Any bytes may be given.
    ///
    /// # Errors
    /// [`ObjectError`] says what is wrong, where, and what to do.
    pub fn parse(bytes: &[u8]) -> Result<Self, ObjectError> {
        let elf = Elf::read(bytes)?;
        elf::check_sections(&elf.sections)?;
        if elf.section("maps").is_some_and(|section| section.size > 0) {
            return Err(ObjectError::LegacyMaps);
        }
        let (btf, ext) = read_types(&elf)?;
        let variables = Variables::new(&elf, &btf);
        let mut places = Places::default();
        let data = data::data_sections(&elf, &variables, &mut places)?;
        let maps = maps::maps(&elf, &btf, &variables, &mut places)?;
        let externs = data::externs(&elf, &btf, &mut places);
        let mut functions = Functions::split(&elf)?;
        functions.relocate(&elf, &places)?;
        functions.describe(&elf, ext);
        let struct_ops = data::struct_ops(&elf, &btf, &variables, &functions)?;
        let license = elf.section("license").map_or(&[][..], |section| section.data);
        let license = license.split(|byte| *byte == 0).next().unwrap_or_default();
        let license = String::from_utf8_lossy(license).into_owned();
        let (functions, btf) = (Arc::new(functions.list), Arc::new(btf));
        Ok(Self { license, functions, maps, data, externs, struct_ops, btf })
    }

    /// Index of the function of this name.
    pub fn function(&self, name: &str) -> Option<usize> {
        self.functions.iter().position(|function| function.name == name)
    }
}

/// The types, and what `.BTF.ext` says of instructions. Both are empty for an object without types.
fn read_types(elf: &Elf<'_>) -> Result<(Btf, BtfExt), ObjectError> {
    let Some(types) = elf.section(".BTF") else { return Ok((Btf::default(), BtfExt::default())) };
    let ext = elf.section(".BTF.ext").map(|section| section.data);
    btf::parse_both(types.data, ext).map_err(|error| match error {
        ExtError::Btf(error) => ObjectError::Btf { section: ".BTF", error },
        ExtError::Ext(error) => ObjectError::Btf { section: ".BTF.ext", error },
    })
}
