// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ELF file: its sections, symbols and relocations.
//!
//! Tables in a damaged file may overlap; reading them would take far more time and memory than the file has bytes.
//! Overlaps are refused here (by the sum of sizes), so everything later takes linear time.

use object::LittleEndian as LE;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader as _, Rel as _, SectionHeader as _, Sym as _};

use super::error::ObjectError;
use crate::btf::MAX_NAME;

/// Most bytes of all sections that are not in the file (`.bss`), together. A real scheduler's have a few MB.
const MAX_NOBITS: u64 = 256 << 20;

/// An ELF file of BPF.
#[derive(Debug)]
pub(super) struct Elf<'a> {
    /// Sections by number; the first is none.
    pub(super) sections: Vec<Section<'a>>,
    /// Symbols by number; the first is none.
    pub(super) symbols: Vec<Symbol<'a>>,
}

/// A section.
#[derive(Debug)]
pub(super) struct Section<'a> {
    pub(super) name: &'a str,
    /// The section's bytes in the file; none for `.bss`.
    pub(super) data: &'a [u8],
    /// Size of the section in memory, in bytes.
    pub(super) size: u64,
    pub(super) class: Class,
    /// Relocations of the section's bytes, in order of the file.
    pub(super) relocations: Vec<Rel>,
}

/// What a section holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Instructions.
    Code,
    /// Global variables.
    Data { read_only: bool, arena: bool },
    /// Map definitions.
    Maps,
    /// `struct_ops` values.
    StructOps,
    /// Anything else: types, debugging information, tables.
    Other,
}

/// A relocation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rel {
    /// Byte in the section that is relocated.
    pub(super) offset: u64,
    /// `R_BPF_*`.
    pub(super) kind: u32,
    /// Number of the symbol.
    pub(super) symbol: usize,
}

/// A symbol.
#[derive(Debug)]
pub(super) struct Symbol<'a> {
    /// The symbol's name; `None`: it has none, or a damaged one.
    pub(super) name: Option<&'a str>,
    /// Number of the section that defines the symbol.
    pub(super) section: Option<usize>,
    pub(super) value: u64,
    pub(super) size: u64,
    pub(super) function: bool,
    pub(super) weak: bool,
    /// Whether other files see the symbol: it is global and not hidden.
    pub(super) global: bool,
    /// Whether another file defines the symbol.
    pub(super) undefined: bool,
}

impl<'a> Elf<'a> {
    /// Reads the file's tables.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, ObjectError> {
        let header = header(bytes)?;
        let raw = header.section_headers(LE, bytes).map_err(|error| damaged("table of sections", error))?;
        check_sizes(bytes, raw)?;
        let names = header.shstrndx(LE, bytes).ok().and_then(|index| raw.get(index as usize));
        let names = names.and_then(|section| section.data(LE, bytes).ok()).unwrap_or_default();
        let mut sections = Vec::with_capacity(raw.len());
        for section in raw {
            sections.push(read_section(section, names, bytes)?);
        }
        let symbols = read_symbols(raw, bytes)?;
        for section in raw {
            read_relocations(section, bytes, &mut sections)?;
        }
        Ok(Self { sections, symbols })
    }

    /// The first section of this name.
    pub(super) fn section(&self, name: &str) -> Option<&Section<'a>> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// A relocation's symbol.
    pub(super) fn symbol(&self, section: &Section<'_>, rel: &Rel) -> Result<&Symbol<'a>, ObjectError> {
        self.symbols.get(rel.symbol).ok_or_else(|| ObjectError::Relocation {
            section: section.name.into(),
            offset: rel.offset,
            what: format!("it refers to symbol {}, which does not exist", rel.symbol),
        })
    }
}

/// Checks what kind of file this is before its tables are read.
fn header(bytes: &[u8]) -> Result<&FileHeader64<LE>, ObjectError> {
    let not_elf = |why: &str| Err(ObjectError::NotElf(why.into()));
    if !bytes.starts_with(&elf::ELFMAG) {
        return not_elf(if bytes.is_empty() { "it is empty" } else { "it does not begin with \"\\x7fELF\"" });
    }
    match (bytes.get(4), bytes.get(5)) {
        (Some(&elf::ELFCLASS64), Some(&elf::ELFDATA2LSB)) => {}
        (_, Some(&elf::ELFDATA2MSB)) => return Err(ObjectError::Class("big-endian")),
        (Some(&elf::ELFCLASS32), _) => return Err(ObjectError::Class("for 32 bits")),
        _ => return not_elf("its header is cut off or damaged"),
    }
    let Ok(header) = FileHeader64::<LE>::parse(bytes) else { return not_elf("its header is cut off or damaged") };
    let machine = header.e_machine(LE);
    if machine != elf::EM_BPF {
        return Err(ObjectError::NotBpf { machine });
    }
    match header.e_type(LE) {
        elf::ET_REL => Ok(header),
        other => Err(ObjectError::NotRelocatable(other)),
    }
}

fn damaged(what: &'static str, why: impl ToString) -> ObjectError {
    ObjectError::Damaged { what, why: why.to_string() }
}

/// Refuses sections that overlap, or whose bytes are not all in the file.
fn check_sizes(bytes: &[u8], raw: &[elf::SectionHeader64<LE>]) -> Result<(), ObjectError> {
    let sizes = raw.iter().filter(|section| !matches!(section.sh_type(LE), elf::SHT_NOBITS | elf::SHT_NULL));
    let total = sizes.fold(0u64, |total, section| total.saturating_add(section.sh_size(LE)));
    if total > bytes.len() as u64 {
        let why = format!("the sections have {total} bytes, more than the {} of the file", bytes.len());
        return Err(damaged("table of sections", why));
    }
    Ok(())
}

/// The text at `offset` of a string table; `None` if it is longer than a name may be, has no end or is no UTF-8.
fn text(table: &[u8], offset: u32) -> Option<&str> {
    let rest = table.get(offset as usize..)?;
    let rest = rest.get(..MAX_NAME + 1).unwrap_or(rest);
    let end = rest.iter().position(|byte| *byte == 0)?;
    str::from_utf8(rest.get(..end)?).ok()
}

fn read_section<'a>(
    section: &elf::SectionHeader64<LE>,
    names: &'a [u8],
    bytes: &'a [u8],
) -> Result<Section<'a>, ObjectError> {
    let name = match text(names, section.sh_name(LE)) {
        Some(name) => name,
        None if section.sh_type(LE) == elf::SHT_NULL => "",
        None => return Err(damaged("table of sections", "a section's name cannot be read")),
    };
    let size = section.sh_size(LE);
    let data = if section.sh_type(LE) == elf::SHT_NULL { Ok(&[][..]) } else { section.data(LE, bytes) };
    let data = data.map_err(|_| ObjectError::Truncated { section: name.into(), offset: 0 })?;
    let class = classify(name, section);
    Ok(Section { name, data, size, class, relocations: Vec::new() })
}

/// What a section holds, by libbpf's rules for its name.
fn classify(name: &str, section: &elf::SectionHeader64<LE>) -> Class {
    let kind = section.sh_type(LE);
    if !matches!(kind, elf::SHT_PROGBITS | elf::SHT_NOBITS) {
        return Class::Other;
    }
    if section.sh_flags(LE) & u64::from(elf::SHF_EXECINSTR) != 0 {
        return Class::Code;
    }
    let is = |whole: &str| name.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    match name {
        ".maps" => Class::Maps,
        ".addr_space.1" => Class::Data { read_only: false, arena: true },
        _ if is_struct_ops(name) => Class::StructOps,
        _ if is(".rodata") => Class::Data { read_only: true, arena: false },
        _ if is(".data") || is(".bss") => Class::Data { read_only: false, arena: false },
        _ => Class::Other,
    }
}

fn is_struct_ops(name: &str) -> bool {
    matches!(name.strip_prefix('?').unwrap_or(name), ".struct_ops" | ".struct_ops.link")
}

fn read_symbols<'a>(raw: &[elf::SectionHeader64<LE>], bytes: &'a [u8]) -> Result<Vec<Symbol<'a>>, ObjectError> {
    let Some(table) = raw.iter().find(|section| section.sh_type(LE) == elf::SHT_SYMTAB) else { return Ok(Vec::new()) };
    let why = "it is cut off";
    let symbols: &[elf::Sym64<LE>] = table.data_as_array(LE, bytes).map_err(|_| damaged("table of symbols", why))?;
    let strings = raw.get(table.sh_link(LE) as usize).and_then(|section| section.data(LE, bytes).ok());
    let strings = strings.unwrap_or_default();
    let read = |symbol: &elf::Sym64<LE>| {
        let index = symbol.st_shndx(LE);
        let section = Some(usize::from(index)).filter(|index| (1..raw.len()).contains(index));
        let outside = matches!(symbol.st_bind(), elf::STB_GLOBAL | elf::STB_WEAK);
        Symbol {
            name: text(strings, symbol.st_name(LE)).filter(|name| !name.is_empty()),
            section: section.filter(|_| index < elf::SHN_LORESERVE),
            value: symbol.st_value(LE),
            size: symbol.st_size(LE),
            function: symbol.st_type() == elf::STT_FUNC,
            weak: symbol.st_bind() == elf::STB_WEAK,
            global: outside && symbol.st_visibility() == elf::STV_DEFAULT,
            undefined: outside && index == elf::SHN_UNDEF,
        }
    };
    Ok(symbols.iter().map(read).collect())
}

/// Hands the relocations of a table to the section that they are for, if that section's relocations are used.
fn read_relocations(
    table: &elf::SectionHeader64<LE>,
    bytes: &[u8],
    sections: &mut [Section<'_>],
) -> Result<(), ObjectError> {
    if table.sh_type(LE) != elf::SHT_REL {
        return Ok(());
    }
    let Some(target) = sections.get_mut(table.sh_info(LE) as usize) else { return Ok(()) };
    if !matches!(target.class, Class::Code | Class::Maps | Class::StructOps) {
        return Ok(());
    }
    let rels: &[elf::Rel64<LE>] =
        table.data_as_array(LE, bytes).map_err(|_| damaged("table of relocations", format!("of {}", target.name)))?;
    target.relocations.extend(rels.iter().map(|rel| Rel {
        offset: rel.r_offset(LE),
        kind: rel.r_type(LE),
        symbol: rel.r_sym(LE) as usize,
    }));
    Ok(())
}

/// Checks that the sections whose bytes are kept do not need too much memory, and that their names are unique.
pub(super) fn check_sections(sections: &[Section<'_>]) -> Result<(), ObjectError> {
    let mut names = std::collections::BTreeSet::new();
    let mut empty = 0u64;
    for section in sections.iter().filter(|section| section.class != Class::Other) {
        if !names.insert(section.name) {
            return Err(damaged("table of sections", format!("two sections are called {}", section.name)));
        }
        empty = empty.saturating_add(section.size.saturating_sub(section.data.len() as u64));
        if empty > MAX_NOBITS {
            return Err(ObjectError::TooLarge { section: section.name.into(), limit: MAX_NOBITS });
        }
    }
    Ok(())
}
