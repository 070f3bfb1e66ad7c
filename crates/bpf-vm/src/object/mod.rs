// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an object file says.

mod data;
mod elf;
mod error;
mod functions;
mod maps;
mod places;

use crate::btf::{self, Btf, BtfExt, ExtError, Name, TypeId};
use crate::core_relo::CoreRelocation;

use elf::Elf;
use functions::Functions;
use places::{Places, Variables};

pub use error::ObjectError;

/// A parsed object file; it does not change any more and may be shared by many instances.
#[derive(Debug, Clone, Default)]
pub struct Object {
    /// The text of the `license` section; empty without.
    pub license: String,
    /// Programs and subprograms, each by itself, in order of sections, then of addresses.
    pub functions: Vec<Function>,
    /// Maps in order of their definition.
    pub maps: Vec<MapDefinition>,
    /// Sections of global data.
    pub data: Vec<DataSection>,
    /// What is defined elsewhere: kernel functions, kernel variables, configuration.
    pub externs: Vec<Extern>,
    /// Values for `struct_ops`.
    pub struct_ops: Vec<StructOps>,
    /// The object's types; without any, if it brings none.
    pub btf: Btf,
}

/// A program or subprogram.
#[derive(Debug, Clone, Default)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Its section, without the question mark of optional programs: `struct_ops/enqueue`, `syscall`, `.text`.
    pub section: String,
    /// Whether its section has the question mark that tells loaders to leave it out unless it is asked for.
    pub optional: bool,
    /// Whether other files may call it.
    pub global: bool,
    /// Its type ([`Type::Func`](crate::btf::Type::Func)), if the object says.
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
    /// Whether it is a program that something may start, not a subprogram.
    pub fn is_program(&self) -> bool {
        self.section != ".text"
    }
}

/// An instruction that refers to something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relocation {
    /// Slot in the function.
    pub insn: usize,
    /// What it refers to.
    pub target: Target,
}

/// What an instruction refers to; indexes are those of the lists in [`Object`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// `ld_imm64` of a map.
    Map(usize),
    /// `ld_imm64` of an address in a data section.
    Data {
        /// Which section.
        section: usize,
        /// Bytes from its beginning; may lie beyond the section, or before it (wrapped), as in C's `&array[i - 1]`.
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
    /// Slot in the function.
    pub insn: usize,
    /// Source file.
    pub file: Name,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// The line's text.
    pub text: Name,
}

/// A map as `.maps` defines it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MapDefinition {
    /// Its name; for the inner map of another, that one's with `.inner`.
    pub name: String,
    /// `BPF_MAP_TYPE_*`.
    pub kind: u32,
    /// Bytes of a key.
    pub key_size: u32,
    /// Bytes of a value.
    pub value_size: u32,
    /// Type of keys; `void` if only the size is given.
    pub key_type: TypeId,
    /// Type of values; `void` if only the size is given.
    pub value_type: TypeId,
    /// Entries; 0 if not given.
    pub max_entries: u32,
    /// `BPF_F_*`.
    pub flags: u32,
    /// `map_extra`: what it means depends on the kind.
    pub map_extra: u64,
    /// `LIBBPF_PIN_*`: 0 none, 1 by name.
    pub pinning: u32,
    /// What the maps are like that a map of maps holds.
    pub inner: Option<Box<MapDefinition>>,
    /// Indexes of the maps that a map of maps holds from the beginning, by its own index.
    pub initial: Vec<Option<usize>>,
}

/// A section of global data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DataSection {
    /// Its name: `.data`, `.bss`, `.rodata`, `.data.private`.
    pub name: String,
    /// Its contents.
    pub bytes: Vec<u8>,
    /// Programs may not write it.
    pub read_only: bool,
    /// It lies in the object's arena map (`__arena`).
    pub arena: bool,
    /// Its variables, by offset.
    pub variables: Vec<Variable>,
}

/// A global variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: Name,
    /// Bytes from the beginning of its section.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// Its type.
    pub type_id: TypeId,
}

/// Something that is defined elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extern {
    /// Its name as the object spells it, `___flavor` included.
    pub name: String,
    /// It may be missing.
    pub weak: bool,
    /// What it is.
    pub kind: ExternKind,
    /// Type of the variable, or prototype ([`Type::FuncProto`](crate::btf::Type::FuncProto)) of the function, if the
    /// object says.
    pub type_id: Option<TypeId>,
}

/// What something defined elsewhere is.
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
    /// Its structure.
    pub type_id: TypeId,
    /// Whether its section has the question mark that tells loaders to leave it out unless it is asked for.
    pub optional: bool,
    /// The value.
    pub bytes: Vec<u8>,
    /// Its callbacks: byte offset of the member, and index of the function.
    pub callbacks: Vec<(u64, usize)>,
}

impl Object {
    /// Reads an object file: what `clang --target=bpf -g -c` writes, or `bpftool gen object`. Any bytes may be given.
    ///
    /// # Errors
    /// Says what is wrong, where, and what to do.
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
        Ok(Self { license, functions: functions.list, maps, data, externs, struct_ops, btf })
    }

    /// Index of the function of this name.
    pub fn function(&self, name: &str) -> Option<usize> {
        self.functions.iter().position(|function| function.name == name)
    }
}

/// The types, and what they say of instructions. An object without types has none.
fn read_types(elf: &Elf<'_>) -> Result<(Btf, BtfExt), ObjectError> {
    let Some(types) = elf.section(".BTF") else { return Ok((Btf::default(), BtfExt::default())) };
    let ext = elf.section(".BTF.ext").map(|section| section.data);
    btf::parse_both(types.data, ext).map_err(|error| match error {
        ExtError::Btf(error) => ObjectError::Btf { section: ".BTF", error },
        ExtError::Ext(error) => ObjectError::Btf { section: ".BTF.ext", error },
    })
}
