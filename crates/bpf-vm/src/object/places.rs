// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where named things lie in the file; finding one takes logarithmic time.

use std::collections::BTreeMap;

use super::elf::{Elf, Symbol};
use super::error::ObjectError;
use crate::btf::{Btf, DataSec, Linkage, SecVariable, Type};

/// The places that relocations can refer to.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// Index of a data section by the number of its ELF section.
    pub(super) data: BTreeMap<usize, usize>,
    /// Index of a map by its offset in `.maps`.
    pub(super) maps: BTreeMap<u64, usize>,
    /// Index of an extern by the number of its symbol.
    pub(super) externs: BTreeMap<usize, usize>,
}

/// The variables that the types describe, found by section.
pub(super) struct Variables<'a> {
    btf: &'a Btf,
    sections: BTreeMap<&'a str, &'a DataSec>,
    symbols: BTreeMap<(usize, &'a str), &'a Symbol<'a>>,
}

/// A variable of a section.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed<'a> {
    pub(super) name: &'a crate::btf::Name,
    pub(super) type_id: crate::btf::TypeId,
    pub(super) offset: u64,
    pub(super) size: u64,
}

impl<'a> Variables<'a> {
    pub(super) fn new(elf: &'a Elf<'a>, btf: &'a Btf) -> Self {
        let mut sections = BTreeMap::new();
        for (_, ty) in btf.types() {
            if let Type::DataSec(section) = ty {
                sections.entry(section.name.as_str()).or_insert(section);
            }
        }
        let mut symbols = BTreeMap::new();
        for symbol in &elf.symbols {
            if let (Some(section), Some(name)) = (symbol.section, symbol.name) {
                symbols.entry((section, name)).or_insert(symbol);
            }
        }
        Self { btf, sections, symbols }
    }

    /// Whether the types know the section.
    pub(super) fn know(&self, section: &str) -> bool {
        self.sections.contains_key(section)
    }

    /// The variables of the section that has this number and this name, in order of the types.
    pub(super) fn of(&self, number: usize, name: &str) -> Result<Vec<Placed<'a>>, ObjectError> {
        let Some(section) = self.sections.get(name) else { return Ok(Vec::new()) };
        section.variables.iter().filter_map(|variable| self.place(number, section, variable).transpose()).collect()
    }

    /// The place of a variable. clang leaves sizes of sections and offsets of global variables at 0; a linker fills
    /// both in.
    fn place(
        &self,
        number: usize,
        section: &DataSec,
        variable: &SecVariable,
    ) -> Result<Option<Placed<'a>>, ObjectError> {
        let Some(Type::Var { name, type_id, linkage }) = self.btf.get(variable.type_id) else { return Ok(None) };
        let mut offset = u64::from(variable.offset);
        if section.size == 0 {
            match self.symbols.get(&(number, name.as_str())) {
                Some(symbol) => offset = symbol.value,
                None if *linkage == Linkage::Static => {}
                None => {
                    return Err(ObjectError::NoSymbol { section: section.name.to_string(), name: name.to_string() });
                }
            }
        }
        // The section has the right size where the type has not: a flexible array at the end counts.
        let size = if variable.size == 0 { self.btf.size_of(*type_id).unwrap_or(0) } else { u64::from(variable.size) };
        Ok(Some(Placed { name, type_id: *type_id, offset, size }))
    }
}
