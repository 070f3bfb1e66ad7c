// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sections of global data, `struct_ops` values, and symbols that are defined elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use super::elf::{Class, Elf, Section, Symbol};
use super::error::ObjectError;
use super::functions::Functions;
use super::places::{Places, Variables};
use super::{DataSection, Extern, ExternKind, StructOps, Variable};
use crate::btf::{Btf, Linkage, Type, TypeId};

/// A section's bytes, zeros if the file has none.
fn contents(section: &Section<'_>) -> Vec<u8> {
    if section.data.is_empty() { vec![0; section.size as usize] } else { section.data.to_vec() }
}

/// The sections of global data with their variables.
pub(super) fn data_sections(
    elf: &Elf<'_>,
    variables: &Variables<'_>,
    places: &mut Places,
) -> Result<Vec<DataSection>, ObjectError> {
    let mut list = Vec::new();
    for (number, section) in elf.sections.iter().enumerate() {
        let Class::Data { read_only, arena } = section.class else { continue };
        let mut found = Vec::new();
        for variable in variables.of(number, section.name)? {
            if variable.offset.checked_add(variable.size).is_none_or(|end| end > section.size) {
                return Err(ObjectError::Truncated { section: section.name.into(), offset: variable.offset });
            }
            let (name, type_id) = (variable.name.clone(), variable.type_id);
            found.push(Variable { name, offset: variable.offset, size: variable.size, type_id });
        }
        found.sort_by_key(|variable| variable.offset);
        places.data.insert(number, list.len());
        let bytes = contents(section);
        list.push(DataSection { name: section.name.into(), bytes, read_only, arena, variables: found });
    }
    Ok(list)
}

/// The `struct_ops` values with their callbacks.
pub(super) fn struct_ops(
    elf: &Elf<'_>,
    btf: &Btf,
    variables: &Variables<'_>,
    functions: &Functions,
) -> Result<Vec<StructOps>, ObjectError> {
    let mut list = Vec::new();
    for (number, section) in elf.sections.iter().enumerate().filter(|(_, section)| section.class == Class::StructOps) {
        let optional = section.name.starts_with('?');
        if section.size > 0 && !variables.know(section.name) {
            return Err(ObjectError::NoBtf { section: section.name.into() });
        }
        let first = list.len();
        let mut starts = BTreeMap::new();
        let mut end = 0;
        for variable in in_order(variables.of(number, section.name)?) {
            let name = variable.name.to_string();
            let range = variable.offset as usize..variable.offset.saturating_add(variable.size) as usize;
            if variable.offset < end || !matches!(btf.bare(variable.type_id), Some(Type::Struct(_))) {
                let what = "it is no structure, or overlaps another one".into();
                return Err(ObjectError::StructOps { name, what });
            }
            end = range.end as u64;
            let bytes = section.data.get(range);
            let bytes =
                bytes.ok_or(ObjectError::Truncated { section: section.name.into(), offset: variable.offset })?;
            starts.insert(variable.offset, list.len());
            let type_id = btf.skip_modifiers(variable.type_id);
            list.push(StructOps { name, type_id, optional, bytes: bytes.to_vec(), callbacks: Vec::new() });
        }
        callbacks((elf, section), &starts, functions, &mut list)?;
        list[first..].iter_mut().for_each(|ops| ops.callbacks.sort_unstable());
    }
    Ok(list)
}

fn in_order(mut variables: Vec<super::places::Placed<'_>>) -> Vec<super::places::Placed<'_>> {
    variables.sort_by_key(|variable| variable.offset);
    variables
}

/// Gives each value of a section the functions that relocations put into its members.
fn callbacks(
    (elf, section): (&Elf<'_>, &Section<'_>),
    starts: &BTreeMap<u64, usize>,
    functions: &Functions,
    list: &mut [StructOps],
) -> Result<(), ObjectError> {
    for rel in &section.relocations {
        let error = |what: String| ObjectError::Relocation { section: section.name.into(), offset: rel.offset, what };
        let symbol = elf.symbol(section, rel)?;
        let value =
            starts.range(..=rel.offset).next_back().and_then(|(start, index)| Some((start, list.get_mut(*index)?)));
        let (start, ops) = value.ok_or_else(|| error("no struct_ops value is there".into()))?;
        let at = rel.offset - start;
        // The addend stands in the member itself.
        let addend = ops.bytes.get(at as usize..).and_then(|rest| rest.first_chunk::<8>());
        let addend = u64::from_le_bytes(*addend.ok_or_else(|| error("it lies beyond the value".into()))?);
        let offset = symbol.value.wrapping_add(addend);
        let function = symbol.section.and_then(|home| functions.starting_at(home, offset));
        let name = symbol.name.unwrap_or("(no name)");
        let function = function.ok_or_else(|| error(format!("{name} is no function of this object")))?;
        ops.callbacks.push((at, function));
    }
    Ok(())
}

/// The externs of the file: its undefined symbols, with the types that `.ksyms` and `.kconfig` give them.
pub(super) fn externs(elf: &Elf<'_>, btf: &Btf, places: &mut Places) -> Vec<Extern> {
    let mut types: BTreeMap<&str, (TypeId, &Type)> = BTreeMap::new();
    let mut kconfig = BTreeSet::new();
    for (id, ty) in btf.types() {
        match ty {
            Type::Func { name, linkage: Linkage::Extern, .. } | Type::Var { name, linkage: Linkage::Extern, .. } => {
                types.entry(name.as_str()).or_insert((id, ty));
            }
            Type::DataSec(section) if section.name == ".kconfig" => {
                kconfig.extend(section.variables.iter().map(|variable| variable.type_id));
            }
            _ => {}
        }
    }
    let called = called_symbols(elf);
    let mut list: Vec<Extern> = Vec::new();
    for (number, symbol) in elf.symbols.iter().enumerate() {
        let Symbol { name: Some(name), undefined: true, weak, function, .. } = *symbol else { continue };
        let (kind, type_id) = match types.get(name) {
            Some((_, Type::Func { proto, .. })) => (ExternKind::Function, Some(*proto)),
            Some((id, Type::Var { type_id, .. })) if kconfig.contains(id) => (ExternKind::Kconfig, Some(*type_id)),
            Some((_, Type::Var { type_id, .. })) => (ExternKind::Variable, Some(*type_id)),
            // Without types, a symbol that is called is a function.
            _ if function || called.contains(&number) => (ExternKind::Function, None),
            _ => (ExternKind::Variable, None),
        };
        places.externs.insert(number, list.len());
        list.push(Extern { name: name.into(), weak, kind, type_id });
    }
    list
}

/// Numbers of the symbols that call instructions refer to.
fn called_symbols(elf: &Elf<'_>) -> BTreeSet<usize> {
    let relocations = elf.sections.iter().flat_map(|section| &section.relocations);
    relocations.filter(|rel| rel.kind == object::elf::R_BPF_64_32).map(|rel| rel.symbol).collect()
}
