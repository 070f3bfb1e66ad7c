// SPDX-License-Identifier: MIT OR Apache-2.0
//! Splits the code sections into functions, and resolves what their instructions refer to.

use std::collections::BTreeMap;

use super::elf::{Class, Elf, Rel, Section, Symbol};
use super::error::ObjectError;
use super::places::Places;
use super::{Function, LineInfo, Relocation, Target};
use crate::btf::{BtfExt, ExtSection};
use crate::core_relo::CoreRelocation;

/// Bytes of an instruction slot.
const SLOT: u64 = 8;
/// `call`.
const CALL: u8 = 0x85;
/// `ld_imm64`, which takes two slots.
const LD_IMM64: u8 = 0x18;
/// `src_reg` of a call of a function of the object (`BPF_PSEUDO_CALL`).
const PSEUDO_CALL: u8 = 1;
/// `src_reg` of a `ld_imm64` of a function's address (`BPF_PSEUDO_FUNC`).
const PSEUDO_FUNC: u8 = 4;

/// Where a function lies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    /// Number of the function's section.
    section: usize,
    /// First byte of the function in the section.
    start: u64,
    /// The byte behind the function.
    end: u64,
}

/// Functions and their extents, both in order of sections, then of addresses.
#[derive(Debug, Default)]
pub(super) struct Functions {
    pub(super) list: Vec<Function>,
    extents: Vec<Extent>,
}

impl Functions {
    /// All functions of the file, with nothing but their code.
    pub(super) fn split(elf: &Elf<'_>) -> Result<Self, ObjectError> {
        let mut symbols: Vec<Vec<&Symbol<'_>>> = elf.sections.iter().map(|_| Vec::new()).collect();
        for symbol in elf.symbols.iter().filter(|symbol| symbol.function) {
            if let Some(list) = symbol.section.and_then(|section| symbols.get_mut(section)) {
                list.push(symbol);
            }
        }
        let mut functions = Self::default();
        for (number, (section, symbols)) in elf.sections.iter().zip(&mut symbols).enumerate() {
            if section.class == Class::Code && !section.data.is_empty() {
                functions.split_section(number, section, symbols)?;
            }
        }
        Ok(functions)
    }

    fn split_section(
        &mut self,
        number: usize,
        section: &Section<'_>,
        symbols: &mut [&Symbol<'_>],
    ) -> Result<(), ObjectError> {
        if symbols.is_empty() {
            // Code that was assembled by hand: the section is one function.
            return self.push(number, section, (section.name, true), 0..section.data.len() as u64);
        }
        // Of several names of one function one is kept, a global one if there is any.
        symbols.sort_by_key(|symbol| (symbol.value, !symbol.global));
        let mut end = 0;
        let mut last = None;
        for (at, symbol) in symbols.iter().enumerate() {
            let name = symbol.name.unwrap_or(section.name);
            if last == Some((symbol.value, symbol.size)) {
                continue;
            }
            let error = |what: &str| function_error(section, name, what);
            if symbol.value < end {
                return Err(error("it overlaps another one"));
            }
            // Assemblers leave out sizes.
            let next = symbols.get(at + 1).map_or(section.data.len() as u64, |next| next.value);
            end = if symbol.size == 0 { Some(next) } else { symbol.value.checked_add(symbol.size) }
                .ok_or_else(|| error("it is larger than any file"))?;
            last = Some((symbol.value, symbol.size));
            self.push(number, section, (name, symbol.global), symbol.value..end)?;
        }
        Ok(())
    }

    fn push(
        &mut self,
        number: usize,
        section: &Section<'_>,
        (name, global): (&str, bool),
        range: std::ops::Range<u64>,
    ) -> Result<(), ObjectError> {
        let code = section.data.get(range.start as usize..range.end as usize);
        let code = code.ok_or_else(|| ObjectError::Truncated { section: section.name.into(), offset: range.start })?;
        if !range.start.is_multiple_of(SLOT) || !code.len().is_multiple_of(SLOT as usize) || code.is_empty() {
            let what = format!("bytes {} to {} are no whole instructions of 8 bytes", range.start, range.end);
            return Err(function_error(section, name, &what));
        }
        let plain = section.name.strip_prefix('?');
        self.extents.push(Extent { section: number, start: range.start, end: range.end });
        self.list.push(Function {
            name: name.into(),
            section: plain.unwrap_or(section.name).into(),
            optional: plain.is_some(),
            global,
            code: code.to_vec(),
            ..Function::default()
        });
        Ok(())
    }

    /// Index of the function that begins at this byte.
    pub(super) fn starting_at(&self, section: usize, offset: u64) -> Option<usize> {
        self.extents.binary_search_by_key(&(section, offset), |extent| (extent.section, extent.start)).ok()
    }

    /// Index of the function that a byte belongs to, and the byte's slot in the function.
    fn containing(&self, section: usize, offset: u64) -> Option<(usize, usize)> {
        let after = self.extents.partition_point(|extent| (extent.section, extent.start) <= (section, offset));
        let index = after.checked_sub(1)?;
        let extent = self.extents.get(index)?;
        (extent.section == section && offset < extent.end && offset.is_multiple_of(SLOT))
            .then(|| (index, ((offset - extent.start) / SLOT) as usize))
    }

    /// Resolves what instructions refer to, by relocations and, within a section, by distances.
    pub(super) fn relocate(&mut self, elf: &Elf<'_>, places: &Places) -> Result<(), ObjectError> {
        for (number, section) in elf.sections.iter().enumerate().filter(|(_, section)| section.class == Class::Code) {
            for rel in &section.relocations {
                let error = |what: String| relocation_error(section, rel.offset, what);
                let Some((index, insn)) = self.containing(number, rel.offset) else {
                    // If several linked objects had the same weak function, one copy keeps the name. The code of the
                    // other copies stays too, without a name, and nothing refers to it.
                    if section.data.get(rel.offset as usize).is_some() && rel.offset.is_multiple_of(SLOT) {
                        continue;
                    }
                    return Err(error("no instruction is there".into()));
                };
                let words = Words::at(&self.list[index].code, insn)
                    .ok_or_else(|| error("neither a call nor a ld_imm64 is there".into()))?;
                let target = self.target(elf, places, (section, rel), words)?;
                self.list[index].relocations.push(Relocation { insn, target });
            }
        }
        for index in 0..self.list.len() {
            let relocations = &mut self.list[index].relocations;
            relocations.sort_by_key(|relocation| relocation.insn);
            relocations.dedup();
            let twice = relocations.windows(2).find(|pair| pair[0].insn == pair[1].insn).map(|pair| pair[0].insn);
            if let (Some(insn), Some(extent)) = (twice, self.extents.get(index)) {
                let what = "two relocations of the instruction differ".to_owned();
                return Err(relocation_error(&elf.sections[extent.section], extent.start + insn as u64 * SLOT, what));
            }
            self.resolve_plain(index, elf)?;
        }
        Ok(())
    }

    fn target(
        &self,
        elf: &Elf<'_>,
        places: &Places,
        (section, rel): (&Section<'_>, &Rel),
        words: Words,
    ) -> Result<Target, ObjectError> {
        let symbol = elf.symbol(section, rel)?;
        let error = |what: String| relocation_error(section, rel.offset, what);
        let expected = if words.is_call() { object::elf::R_BPF_64_32 } else { object::elf::R_BPF_64_64 };
        if rel.kind != expected {
            return Err(error(format!("relocation type {} does not fit the instruction", rel.kind)));
        }
        if symbol.undefined {
            let index = places.externs.get(&rel.symbol).copied();
            return index.map(Target::Extern).ok_or_else(|| error("it refers to a symbol without a name".into()));
        }
        let name = symbol.name.unwrap_or("(no name)");
        let home = symbol.section.and_then(|home| elf.sections.get(home).map(|found| (home, found)));
        let (number, home) = home.ok_or_else(|| error(format!("{name} is defined in no section")))?;
        let addend = words.addend();
        let offset = symbol.value.wrapping_add_signed(addend);
        match (home.class, places.data.get(&number)) {
            (Class::Code, _) => {
                let found = self.starting_at(number, offset).map(Target::Function);
                found.ok_or_else(|| error(format!("no function begins at byte {offset} of {}", home.name)))
            }
            (Class::Data { .. }, Some(data)) if !words.is_call() => Ok(Target::Data { section: *data, offset }),
            (Class::Maps, _) if !words.is_call() => {
                let found = places.maps.get(&offset).copied().map(Target::Map);
                found.ok_or_else(|| error(format!("no map is defined at byte {offset} of .maps")))
            }
            _ => Err(error(format!("it refers to {name} in section {}, which programs cannot use", home.name))),
        }
    }

    /// Resolves calls and addresses of functions of the same section, which need no relocation.
    fn resolve_plain(&mut self, index: usize, elf: &Elf<'_>) -> Result<(), ObjectError> {
        let (Some(function), Some(extent)) = (self.list.get(index), self.extents.get(index)) else { return Ok(()) };
        let mut found = Vec::new();
        let mut relocated = function.relocations.iter().map(|relocation| relocation.insn).peekable();
        let mut insn = 0;
        while insn * (SLOT as usize) < function.code.len() {
            let words = Words::at(&function.code, insn);
            while relocated.next_if(|done| *done < insn).is_some() {}
            if let Some(words) = words.filter(|words| words.is_plain() && relocated.peek() != Some(&insn)) {
                let here = extent.start + insn as u64 * SLOT;
                let offset = here.wrapping_add_signed((i64::from(words.imm) + 1) * SLOT as i64);
                let target = self.starting_at(extent.section, offset).ok_or_else(|| {
                    let section = &elf.sections[extent.section];
                    relocation_error(section, here, format!("no function begins at byte {offset} of {}", section.name))
                })?;
                found.push(Relocation { insn, target: Target::Function(target) });
            }
            insn += if words.is_some_and(|words| !words.is_call()) { 2 } else { 1 };
        }
        let relocations = &mut self.list[index].relocations;
        relocations.extend(found);
        relocations.sort_by_key(|relocation| relocation.insn);
        Ok(())
    }

    /// Gives each function its lines, type and CO-RE relocations from `.BTF.ext`.
    pub(super) fn describe(&mut self, elf: &Elf<'_>, ext: BtfExt) {
        let code = elf.sections.iter().enumerate().filter(|(_, section)| section.class == Class::Code);
        let numbers: BTreeMap<&str, usize> = code.map(|(number, section)| (section.name, number)).collect();
        let place = |functions: &Self, section: &str, offset: u32| {
            functions.containing(*numbers.get(section)?, u64::from(offset))
        };
        for (section, func) in records(ext.functions) {
            if let Some((index, 0)) = place(self, &section, func.offset) {
                self.list[index].type_id = Some(func.type_id);
            }
        }
        for (section, line) in records(ext.lines) {
            if let Some((index, insn)) = place(self, &section, line.offset) {
                let (line, column, file, text) = (line.line, line.column, line.file, line.text);
                self.list[index].lines.push(LineInfo { insn, file, line, column, text });
            }
        }
        for (section, core) in records(ext.core) {
            if let Some((index, insn)) = place(self, &section, core.offset) {
                let (type_id, access, kind) = (core.type_id, core.access, core.kind);
                self.list[index].core.push(CoreRelocation { insn, type_id, access, kind });
            }
        }
        for function in &mut self.list {
            function.lines.sort_by_key(|line| line.insn);
            function.core.sort_by_key(|core| core.insn);
        }
    }
}

fn records<T>(sections: Vec<ExtSection<T>>) -> impl Iterator<Item = (crate::btf::Name, T)> {
    sections.into_iter().flat_map(|section| {
        let name = section.name;
        section.records.into_iter().map(move |record| (name.clone(), record))
    })
}

/// An instruction that may refer to something: a call, or a whole `ld_imm64`.
#[derive(Debug, Clone, Copy)]
struct Words {
    opcode: u8,
    src_reg: u8,
    imm: i32,
}

impl Words {
    fn at(code: &[u8], insn: usize) -> Option<Self> {
        let code = code.get(insn * SLOT as usize..)?;
        let (slot, rest) = code.split_first_chunk::<8>()?;
        let [opcode, registers, _, _, imm @ ..] = *slot;
        let whole = opcode == CALL || opcode == LD_IMM64 && rest.len() as u64 >= SLOT;
        whole.then_some(Self { opcode, src_reg: registers >> 4, imm: i32::from_le_bytes(imm) })
    }

    fn is_call(self) -> bool {
        self.opcode == CALL
    }

    /// Whether a distance in `imm` says what the instruction refers to.
    fn is_plain(self) -> bool {
        self.src_reg == if self.is_call() { PSEUDO_CALL } else { PSEUDO_FUNC }
    }

    /// Bytes to add to the symbol's value. A call's `imm` counts instructions, from the one behind it.
    fn addend(self) -> i64 {
        if self.is_call() { (i64::from(self.imm) + 1) * SLOT as i64 } else { i64::from(self.imm) }
    }
}

fn function_error(section: &Section<'_>, function: &str, what: &str) -> ObjectError {
    ObjectError::Function { section: section.name.into(), function: function.into(), what: what.into() }
}

fn relocation_error(section: &Section<'_>, offset: u64, what: String) -> ObjectError {
    ObjectError::Relocation { section: section.name.into(), offset, what }
}
