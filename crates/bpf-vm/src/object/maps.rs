// SPDX-License-Identifier: MIT OR Apache-2.0
//! Maps as the `.maps` section defines them: structures in which the types of the members carry the numbers.
//!
//! `__uint(name, 5)` is a pointer to an array of 5, `__type(name, T)` a pointer to `T`, `__array(values, T)` an array of
//! pointers to `T`, `__ulong(name, 5)` an enumeration with the value 5.

use super::MapDefinition;
use super::elf::{Class, Elf, Section};
use super::error::ObjectError;
use super::places::{Places, Variables};
use crate::btf::{Btf, Composite, Member, Type, TypeId};

/// More members than a definition can have; a damaged file may have very many.
const MAX_MEMBERS: usize = 64;
/// `BPF_MAP_TYPE_ARRAY_OF_MAPS` and `BPF_MAP_TYPE_HASH_OF_MAPS`.
const MAPS_OF_MAPS: [u32; 2] = [12, 13];

/// The definition of a map being read.
struct Reader<'a> {
    btf: &'a Btf,
    /// The map's name, for messages.
    name: String,
}

/// A map and where it is defined.
struct Located {
    map: usize,
    /// First byte of the map's `values` in the section.
    values: Option<u64>,
}

/// All maps.
pub(super) fn maps(
    elf: &Elf<'_>,
    btf: &Btf,
    variables: &Variables<'_>,
    places: &mut Places,
) -> Result<Vec<MapDefinition>, ObjectError> {
    let section = elf.sections.iter().enumerate().find(|(_, section)| section.class == Class::Maps);
    let Some((number, section)) = section else { return Ok(Vec::new()) };
    if section.size > 0 && !variables.know(section.name) {
        return Err(ObjectError::NoBtf { section: section.name.into() });
    }
    let mut list = Vec::new();
    let mut located = std::collections::BTreeMap::new();
    for variable in variables.of(number, section.name)? {
        let reader = Reader { btf, name: variable.name.to_string() };
        let (definition, values) = reader.definition(variable.type_id, false)?;
        let values = values.map(|offset| variable.offset.saturating_add(offset));
        located.insert(variable.offset, Located { map: list.len(), values });
        places.maps.insert(variable.offset, list.len());
        list.push(definition);
    }
    for rel in &section.relocations {
        let error = |what: String| relocation_error(section, rel.offset, what);
        let symbol = elf.symbol(section, rel)?;
        let place = located.range(..=rel.offset).next_back().map(|(_, place)| place);
        let place = place.and_then(|place| Some((place.map, rel.offset.checked_sub(place.values?)?)));
        let (map, offset) = place.ok_or_else(|| error("no map has values there".into()))?;
        let value = places.maps.get(&symbol.value).filter(|_| symbol.section == Some(number));
        let name = symbol.name.unwrap_or("(no name)");
        let value = *value.ok_or_else(|| error(format!("{name} is no map of this object")))?;
        put(&mut list[map].initial, offset, value, section)
            .ok_or_else(|| error("it lies beyond the section".into()))?;
    }
    Ok(list)
}

fn relocation_error(section: &Section<'_>, offset: u64, what: String) -> ObjectError {
    ObjectError::Relocation { section: section.name.into(), offset, what }
}

/// Puts a map into the slot at `offset`.
fn put(initial: &mut Vec<Option<usize>>, offset: u64, value: usize, section: &Section<'_>) -> Option<()> {
    if !offset.is_multiple_of(8) || offset >= section.size.min(section.data.len() as u64) {
        return None;
    }
    let index = (offset / 8) as usize;
    if initial.len() <= index {
        initial.resize(index + 1, None);
    }
    initial[index] = Some(value);
    Some(())
}

impl Reader<'_> {
    fn error(&self, what: impl Into<String>) -> ObjectError {
        ObjectError::Map { map: self.name.clone(), what: what.into() }
    }

    /// A map's definition, and the byte at which its `values` begin.
    fn definition(&self, id: TypeId, inner: bool) -> Result<(MapDefinition, Option<u64>), ObjectError> {
        let Some(Type::Struct(structure)) = self.btf.bare(id) else {
            return Err(self.error(format!("it is defined by {}, not by a structure", self.btf.spell(id))));
        };
        let Composite { members, .. } = structure;
        if members.len() > MAX_MEMBERS {
            return Err(self.error(format!("its definition has {} members", members.len())));
        }
        let name = if inner { format!("{}.inner", self.name) } else { self.name.clone() };
        let mut map = MapDefinition { name, ..MapDefinition::default() };
        let mut values = None;
        for member in members {
            match member.name.as_str() {
                "type" => map.kind = self.number(member)?,
                "max_entries" => map.max_entries = self.number(member)?,
                "map_flags" => map.flags = self.number(member)?,
                "map_extra" => map.map_extra = self.long(member)?,
                "pinning" => map.pinning = self.number(member)?,
                "key_size" => self.set_size(&mut map.key_size, self.number(member)?, "key")?,
                "value_size" => self.set_size(&mut map.value_size, self.number(member)?, "value")?,
                "key" => map.key_type = self.pointed(member, &mut map.key_size, "key")?,
                "value" => map.value_type = self.pointed(member, &mut map.value_size, "value")?,
                "values" if inner => return Err(self.error("maps of maps of maps do not exist")),
                "values" => {
                    map.inner = Some(Box::new(self.inner(member)?));
                    values = Some(u64::from(member.bit_offset / 8));
                }
                // The memory node of a map does not matter here.
                "numa_node" => {}
                other => return Err(self.error(format!("its definition has an unknown member {other:?}"))),
            }
        }
        if values.is_some() && !MAPS_OF_MAPS.contains(&map.kind) {
            return Err(self.error(format!("a map of type {} cannot hold maps", map.kind)));
        }
        if MAPS_OF_MAPS.contains(&map.kind) {
            // The values are numbers of maps.
            self.set_size(&mut map.value_size, 4, "value")?;
        }
        Ok((map, values))
    }

    fn long(&self, member: &Member) -> Result<u64, ObjectError> {
        let of = |id| match self.btf.bare(id) {
            Some(Type::Array(array)) => Some(u64::from(array.count)),
            _ => None,
        };
        let value = match self.btf.bare(member.type_id) {
            Some(Type::Ptr(to)) => of(*to),
            Some(Type::Enum(values) | Type::Enum64(values)) => values.values.first().map(|value| value.value),
            _ => None,
        };
        value.ok_or_else(|| {
            let spelled = self.btf.spell(member.type_id);
            self.error(format!("{} is defined by {spelled}; write __uint({}, NUMBER)", member.name, member.name))
        })
    }

    fn number(&self, member: &Member) -> Result<u32, ObjectError> {
        let value = self.long(member)?;
        u32::try_from(value).map_err(|_| self.error(format!("{} = {value} does not fit 32 bits", member.name)))
    }

    /// Sets the size of keys or values; where a size and a type are given, they must agree.
    fn set_size(&self, size: &mut u32, value: u32, what: &str) -> Result<(), ObjectError> {
        if *size != 0 && *size != value {
            return Err(self.error(format!("its {what}s have {size} bytes by one member, {value} by another")));
        }
        *size = value;
        Ok(())
    }

    /// The type that a member of `__type` points to.
    fn pointed(&self, member: &Member, size: &mut u32, what: &str) -> Result<TypeId, ObjectError> {
        let Some(Type::Ptr(to)) = self.btf.bare(member.type_id) else {
            return Err(self.error(format!("{what} is not defined by __type")));
        };
        let bytes = self.btf.size_of(*to).and_then(|bytes| u32::try_from(bytes).ok());
        let bytes = bytes.ok_or_else(|| self.error(format!("{what} of type {} has no size", self.btf.spell(*to))))?;
        self.set_size(size, bytes, what)?;
        Ok(*to)
    }

    /// The inner maps of a map of maps, from `__array(values, struct ...)`.
    fn inner(&self, member: &Member) -> Result<MapDefinition, ObjectError> {
        let element = match self.btf.bare(member.type_id) {
            Some(Type::Array(array)) => self.btf.bare(array.element),
            _ => None,
        };
        let Some(Type::Ptr(to)) = element else {
            return Err(self.error("values is not defined by __array"));
        };
        if let Some(Type::FuncProto(_)) = self.btf.bare(*to) {
            return Err(self.error("its values are programs to jump to; tail calls cannot be run"));
        }
        Ok(self.definition(*to, true)?.0)
    }
}
