// SPDX-License-Identifier: MIT OR Apache-2.0
//! The meaning of a setting's name: a global variable, a member, an element.

use super::error::{SettingError, nearest};
use crate::btf::{Btf, Type, TypeId};
use crate::object::Object;

/// A variable or a part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Index of the data section.
    pub section: usize,
    /// First bit in the section.
    pub bit_offset: u64,
    /// Number of bits.
    pub bit_size: u64,
    /// The type; for a bitfield, the type of its values.
    pub type_id: TypeId,
}

impl Place {
    /// The place's bytes in the section, from the first that it reaches into; `None` if the section is too short.
    pub(super) fn bytes<'s>(&self, section: &'s [u8]) -> Option<&'s [u8]> {
        let start = usize::try_from(self.bit_offset / 8).ok()?;
        let end = usize::try_from(self.bit_offset.checked_add(self.bit_size)?.div_ceil(8)).ok()?;
        section.get(start..end)
    }

    /// Stores a value of the place's bits in the section.
    pub(super) fn store(&self, section: &mut [u8], value: &[u8]) {
        for bit in 0..self.bit_size {
            let set = value.get((bit / 8) as usize).is_some_and(|byte| byte >> (bit % 8) & 1 != 0);
            let at = self.bit_offset + bit;
            if let Some(byte) = section.get_mut((at / 8) as usize) {
                let mask = 1 << (at % 8);
                *byte = if set { *byte | mask } else { *byte & !mask };
            }
        }
    }
}

/// Index of a variable's section, and of the variable in the section.
pub(super) fn variable(object: &Object, name: &str) -> Option<(usize, usize)> {
    object.data.iter().enumerate().find_map(|(section, data)| {
        let index = data.variables.iter().position(|variable| variable.name == *name)?;
        Some((section, index))
    })
}

/// The name of the variable that `name` means, or means a part of.
pub(super) fn variable_name<'n>(object: &Object, name: &'n str) -> &'n str {
    match variable(object, name) {
        Some(_) => name,
        None => &name[..name.find(['.', '[']).unwrap_or(name.len())],
    }
}

/// The error for a name that no variable has.
pub(super) fn unknown(object: &Object, name: &str) -> SettingError {
    let variables = object.data.iter().flat_map(|data| &data.variables);
    let nearest = nearest(name, variables.map(|variable| variable.name.as_str()));
    SettingError::Unknown { name: name.to_owned(), nearest }
}

/// The place that `x`, `x.member` or `x[3].member[1]` means. Variables whose own name has a dot are found first.
pub(super) fn resolve(object: &Object, name: &str) -> Result<Place, SettingError> {
    let (variable_name, path) = name.split_at(variable_name(object, name).len());
    let (section, index) = variable(object, variable_name).ok_or_else(|| unknown(object, variable_name))?;
    let data = &object.data[section];
    let at = &data.variables[index];
    let bits = |bytes: u64| bytes.checked_mul(8).ok_or_else(|| wrong(name, "it is too big"));
    let whole = Place { section, bit_offset: bits(at.offset)?, bit_size: bits(at.size)?, type_id: at.type_id };
    let place = Walk { btf: &object.btf, name, place: whole }.run(path)?;
    match place.bytes(&data.bytes) {
        Some(_) => Ok(place),
        None => Err(wrong(name, "it lies outside its section")),
    }
}

/// The member of a structure at `place` that `member` means: `x`, `x[3].y`.
pub(super) fn within(btf: &Btf, member: &str, place: Place) -> Result<Place, SettingError> {
    Walk { btf, name: member, place }.run(&format!(".{member}"))
}

fn wrong(name: &str, why: &str) -> SettingError {
    SettingError::Path { name: name.to_owned(), why: why.to_owned() }
}

struct Walk<'a> {
    btf: &'a Btf,
    name: &'a str,
    place: Place,
}

impl Walk<'_> {
    fn run(mut self, mut path: &str) -> Result<Place, SettingError> {
        while !path.is_empty() {
            if let Some(rest) = path.strip_prefix('[') {
                let (index, rest) = rest.split_once(']').ok_or_else(|| wrong(self.name, "a ] is missing"))?;
                let index = index.trim().parse().map_err(|_| wrong(self.name, "an index is a number"))?;
                self.element(index)?;
                path = rest;
            } else {
                let rest = path.strip_prefix('.').ok_or_else(|| wrong(self.name, "after ] comes . or ["))?;
                let (member, rest) = rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len()));
                self.member(member)?;
                path = rest;
            }
        }
        Ok(self.place)
    }

    fn element(&mut self, index: u64) -> Result<(), SettingError> {
        let Some(Type::Array(array)) = self.btf.bare(self.place.type_id) else {
            let why = format!("{} is no array", self.btf.spell(self.place.type_id));
            return Err(wrong(self.name, &why));
        };
        let size = self.btf.size_of(array.element).and_then(|size| size.checked_mul(8)).filter(|size| *size > 0);
        let size = size.ok_or_else(|| wrong(self.name, "its elements have no size"))?;
        // The type's count may be out of date: the variable may have been resized.
        let count = self.place.bit_size / size;
        if index >= count {
            return Err(wrong(self.name, &format!("index {index} is beyond its {count} elements")));
        }
        self.place.bit_offset += index * size;
        self.place.bit_size = size;
        self.place.type_id = array.element;
        Ok(())
    }

    fn member(&mut self, name: &str) -> Result<(), SettingError> {
        let structure = self.place.type_id;
        let Some(composite) = self.btf.bare(structure).and_then(Type::composite) else {
            let why = format!("{} is no structure", self.btf.spell(structure));
            return Err(wrong(self.name, &why));
        };
        let Some(place) = self.btf.find_member(structure, name).and_then(|_| self.btf.member(structure, name)) else {
            let names = composite.members.iter().map(|member| member.name.as_str()).filter(|name| !name.is_empty());
            return Err(SettingError::NoMember {
                type_name: self.btf.spell(structure).to_string(),
                member: name.to_owned(),
                nearest: nearest(name, names),
            });
        };
        let offset = self.place.bit_offset.checked_add(place.bit_offset);
        self.place.bit_offset = offset.ok_or_else(|| wrong(self.name, "it lies outside its section"))?;
        self.place.bit_size = place.bit_size;
        self.place.type_id = place.type_id;
        Ok(())
    }
}
