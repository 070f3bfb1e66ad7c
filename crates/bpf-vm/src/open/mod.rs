// SPDX-License-Identifier: MIT OR Apache-2.0
//! An object whose settings may still be changed, as between libbpf's `open` and `load`: initial values of global
//! variables by name, sizes of arrays, sizes of maps. `place`: the meaning of a name. `value`: the meaning of a text.
//! `show`: a value as a text. `tags`: what the object says of its settings; `meanings`: of its counters and states. `names`:
//! short names of enumerators. `record`: structures that user space passes.

mod error;
mod meanings;
mod names;
mod needs;
mod place;
mod record;
mod show;
mod tags;
mod value;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use error::SettingError;
use error::nearest;
pub use meanings::{Facts, Meaning, Meanings, Reason};
pub use names::short_names;
pub use needs::Needs;
pub use place::Place;
pub use record::Record;
pub use tags::Tags;
use tags::{Adds, Instead};

use crate::btf::Type;
use crate::object::{DataSection, MapDefinition, Object, StructOps, Target, Variable};

/// Largest data section that settings may make, in bytes.
const MAX_SECTION: u64 = 1 << 30;

/// An object before it is loaded. The parsed object is shared until the first change.
#[derive(Debug, Clone)]
pub struct OpenObject {
    object: Arc<Object>,
    /// Programs that were turned on or off, by number.
    autoload: BTreeMap<usize, bool>,
    /// What the object says of its variables, by name.
    tags: Arc<BTreeMap<String, Tags>>,
    /// Which of its parts stand in for others.
    instead: Arc<Vec<Instead>>,
    /// Which settings add to which numbers.
    adds: Arc<Vec<Adds>>,
}

/// A variable that can be set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The variable's name.
    pub name: String,
    /// The variable's section; constants are in `.rodata`.
    pub section: String,
    /// The variable's type as C spells it.
    pub type_name: String,
    /// Size in bytes.
    pub size: u64,
    /// The short names of the values, if the variable is an enumeration.
    pub names: Vec<String>,
    /// What the object says of it; `None` if it says nothing.
    pub tags: Option<Tags>,
}

/// The value that a variable, or part of one, of a loaded object has, as [`OpenObject::text`] has it; `now` gives the bytes of the
/// variable itself, by its name. `None` if there are none.
///
/// # Errors
/// [`SettingError`]: there is no such variable.
pub fn text_now(
    object: &Object,
    name: &str,
    now: impl FnOnce(&str) -> Option<Vec<u8>>,
) -> Result<Option<String>, SettingError> {
    let place = place::resolve(object, name)?;
    let variable = place::variable_name(object, name);
    let first = place::variable(object, variable).map_or(0, |(section, at)| object.data[section].variables[at].offset);
    let part = Place { bit_offset: place.bit_offset - 8 * first, ..place };
    let bytes = now(variable);
    Ok(bytes.as_deref().and_then(|bytes| part.bytes(bytes)).map(|bytes| show::show(&object.btf, &part, bytes)))
}

impl OpenObject {
    /// The object as the file defines it.
    pub fn new(object: Arc<Object>) -> Self {
        let tags = Arc::new(Tags::of(&object.btf));
        let instead = Arc::new(Instead::all(&object.btf));
        let adds = Arc::new(Adds::all(&object.btf));
        let mut open = Self { object, autoload: BTreeMap::new(), tags, instead, adds };
        open.add_up();
        open
    }

    /// The object with its settings, to load.
    pub fn object(&self) -> &Arc<Object> {
        &self.object
    }

    /// Turns a program on or off, by name (`bpf_program__set_autoload`). Other programs follow the object: a program
    /// that values of `struct_ops` hold is on if one of these values is not optional, any other program unless its
    /// section says that it is optional.
    ///
    /// # Errors
    /// [`SettingError::UnknownProgram`].
    pub fn set_autoload(&mut self, program: &str, load: bool) -> Result<(), SettingError> {
        let programs = || self.object.functions.iter().filter(|function| function.is_program());
        if !programs().any(|function| function.name == program) {
            let nearest = nearest(program, programs().map(|function| function.name.as_str()));
            return Err(SettingError::UnknownProgram { name: program.to_owned(), nearest });
        }
        let number =
            self.object.functions.iter().position(|function| function.is_program() && function.name == program);
        self.autoload.extend(number.map(|number| (number, load)));
        Ok(())
    }

    /// For each function, whether it is loaded: programs that are on, and the functions that they call or give as a
    /// callback.
    pub(crate) fn loaded(&self) -> Vec<bool> {
        let functions = &self.object.functions;
        let mut loaded = vec![false; functions.len()];
        let mut pending: Vec<usize> =
            (0..functions.len()).filter(|number| functions[*number].is_program() && self.is_on(*number)).collect();
        while let Some(number) = pending.pop() {
            let Some(seen) = loaded.get_mut(number).filter(|seen| !**seen) else { continue };
            *seen = true;
            pending.extend(functions[number].relocations.iter().filter_map(|relocation| match relocation.target {
                Target::Function(callee) => Some(callee),
                _ => None,
            }));
        }
        loaded
    }

    /// Whether a program is to be loaded (`bpf_object_adjust_struct_ops_autoload` for those of `struct_ops`).
    fn is_on(&self, program: usize) -> bool {
        let holds = |ops: &&StructOps| ops.callbacks.iter().any(|(_, function)| *function == program);
        let mut holders = self.object.struct_ops.iter().filter(holds).peekable();
        match (self.autoload.get(&program), holders.peek()) {
            (Some(load), _) => *load,
            (None, Some(_)) => holders.any(|ops| !ops.optional),
            (None, None) => !self.object.functions[program].optional,
        }
    }

    pub(crate) fn into_object(self) -> Arc<Object> {
        self.object
    }

    /// All global variables, by section, then by place.
    pub fn variables(&self) -> Vec<Setting> {
        let of = |section: &DataSection, variable: &Variable| Setting {
            name: variable.name.to_string(),
            section: section.name.clone(),
            type_name: self.object.btf.spell(variable.type_id).to_string(),
            size: variable.size,
            names: match self.object.btf.bare(variable.type_id) {
                Some(Type::Enum(values) | Type::Enum64(values)) => short_names(&values.values),
                _ => Vec::new(),
            },
            tags: self.tags.get(variable.name.as_str()).cloned(),
        };
        let sections = self.object.data.iter();
        sections.flat_map(|section| section.variables.iter().map(move |variable| of(section, variable))).collect()
    }

    /// Whether there is a global variable of this name.
    pub fn has(&self, name: &str) -> bool {
        place::variable(&self.object, name).is_some()
    }

    /// Whether a user may set the variable of this name. If the object says which of its variables are settings, only
    /// these may be set.
    pub fn is_setting(&self, name: &str) -> bool {
        let name = place::variable_name(&self.object, name);
        if self.tags.is_empty() { self.has(name) } else { self.tags.contains_key(name) }
    }

    /// Sets a variable as a user does. If the object says which of its variables are settings, only these can be set.
    ///
    /// # Errors
    /// As [`OpenObject::set`], and [`SettingError::NoSetting`].
    pub fn choose(&mut self, name: &str, text: &str) -> Result<(), SettingError> {
        let variable = place::variable_name(&self.object, name);
        if self.is_setting(variable) || self.tags.is_empty() {
            return self.set(name, text);
        }
        let valid: Vec<String> = self.tags.keys().cloned().collect();
        let nearest = nearest(variable, valid.iter().map(String::as_str));
        Err(SettingError::NoSetting { name: variable.to_owned(), nearest, valid })
    }

    /// Sets a variable, or part of one, to the value that a text gives: `set("slice_ns", "20000000")`, `set("a[3]",
    /// "0x10")`, `set("s.member", "true")`, `set("mode", "MODE_FAST")` or `set("mode", "fast")`, `set("name",
    /// "\"text\"")`.
    ///
    /// # Errors
    /// [`SettingError`]: there is no such variable, or the text is no value of its type.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), SettingError> {
        let place = place::resolve(&self.object, name)?;
        let bytes = value::parse(&self.object.btf, name, &place, text)?;
        self.check_range(name, &place, &bytes)?;
        self.write(name, &place, &bytes);
        Ok(())
    }

    /// Sets a variable, or part of one, to a number.
    ///
    /// # Errors
    /// [`SettingError`]: there is no such variable, or the number is no value of its type.
    pub fn set_integer(&mut self, name: &str, number: i128) -> Result<(), SettingError> {
        let place = place::resolve(&self.object, name)?;
        let bytes = value::integer(&self.object.btf, name, &place, number)?;
        self.check_range(name, &place, &bytes)?;
        self.write(name, &place, &bytes);
        Ok(())
    }

    /// The number that a variable, or part of one, has now.
    ///
    /// # Errors
    /// [`SettingError`]: there is no such variable, or its type is no number.
    pub fn integer(&self, name: &str) -> Result<i128, SettingError> {
        let place = place::resolve(&self.object, name)?;
        let bytes = self.object.data.get(place.section).and_then(|section| place.bytes(&section.bytes));
        value::read(&self.object.btf, name, &place, bytes.unwrap_or_default())
    }

    /// The bytes that a variable, or part of one, has now; for a bitfield, the bytes that it reaches into.
    ///
    /// # Errors
    /// [`SettingError`]: there is no such variable.
    pub fn bytes(&self, name: &str) -> Result<&[u8], SettingError> {
        let place = place::resolve(&self.object, name)?;
        Ok(self.object.data.get(place.section).and_then(|section| place.bytes(&section.bytes)).unwrap_or_default())
    }

    /// The value that a variable, or part of one, has now, as a text; long arrays and structures are shortened.
    /// Enumerators have their short name where the object says that the variable is a setting.
    ///
    /// # Errors
    /// [`SettingError`]: there is no such variable.
    pub fn text(&self, name: &str) -> Result<String, SettingError> {
        let place = place::resolve(&self.object, name)?;
        let bytes = self.object.data.get(place.section).and_then(|section| place.bytes(&section.bytes));
        let (btf, bytes) = (&self.object.btf, bytes.unwrap_or_default());
        let tagged = self.tags.contains_key(place::variable_name(&self.object, name));
        let short = if tagged { show::short_name(btf, &place, bytes) } else { None };
        Ok(short.unwrap_or_else(|| show::show(btf, &place, bytes)))
    }

    /// Gives the array at the end of a data section this many elements (`bpf_map__set_value_size`); new elements are
    /// zero.
    ///
    /// # Errors
    /// [`SettingError::NotResizable`]: the variable is not the last of its section, is no array, or gets too big.
    pub fn resize(&mut self, name: &str, elements: u64) -> Result<(), SettingError> {
        let refused = |why: &str| SettingError::NotResizable { name: name.to_owned(), why: why.to_owned() };
        let (section, variable) =
            place::variable(&self.object, name).ok_or_else(|| place::unknown(&self.object, name))?;
        let (data, btf) = (&self.object.data[section], &self.object.btf);
        let at = &data.variables[variable];
        let Some(Type::Array(array)) = btf.bare(at.type_id) else {
            return Err(refused("it is no array"));
        };
        let element =
            btf.size_of(array.element).filter(|size| *size > 0).ok_or_else(|| refused("its elements have no size"))?;
        if data.variables.iter().any(|other| other.offset > at.offset) {
            return Err(refused("it is not the last variable of its section"));
        }
        let size =
            elements.checked_mul(element).filter(|size| *size > 0 && at.offset.saturating_add(*size) <= MAX_SECTION);
        let size = size.ok_or_else(|| refused("it would be empty, or over 1 GiB"))?;
        let data = &mut Arc::make_mut(&mut self.object).data[section];
        data.variables[variable].size = size;
        data.bytes.resize((data.variables[variable].offset + size) as usize, 0);
        Ok(())
    }

    /// Gives a map this many entries, or a ring buffer this many bytes (`bpf_map__set_max_entries`). The maps that a map holds are
    /// called as libbpf calls them: `outer.inner`.
    ///
    /// # Errors
    /// [`SettingError::UnknownMap`]: there is no such map.
    pub fn set_max_entries(&mut self, map: &str, entries: u32) -> Result<(), SettingError> {
        let is_wanted = |definition: &MapDefinition| definition.name == map;
        let inner = |definition: &MapDefinition| definition.inner.as_deref().is_some_and(is_wanted);
        let maps = &self.object.maps;
        let Some(index) = maps.iter().position(|definition| is_wanted(definition) || inner(definition)) else {
            let names = maps.iter().flat_map(|definition| [Some(definition), definition.inner.as_deref()]).flatten();
            let nearest = nearest(map, names.map(|definition| definition.name.as_str()));
            return Err(SettingError::UnknownMap { name: map.to_owned(), nearest });
        };
        let definition = &mut Arc::make_mut(&mut self.object).maps[index];
        match definition.inner.as_deref_mut().filter(|inner| inner.name == map) {
            Some(inner) => inner.max_entries = entries,
            None => definition.max_entries = entries,
        }
        Ok(())
    }

    /// The object's maps.
    pub fn maps(&self) -> &[MapDefinition] {
        &self.object.maps
    }

    /// Whether the object says that the variable may be set to the number in these bytes.
    fn check_range(&self, name: &str, place: &Place, bytes: &[u8]) -> Result<(), SettingError> {
        let btf = &self.object.btf;
        let Some(tags) = self.tags.get(place::variable_name(&self.object, name)) else { return Ok(()) };
        let Ok(number) = value::read(btf, name, &Place { bit_offset: 0, ..*place }, bytes) else { return Ok(()) };
        if let Some((min, max)) = tags.range.filter(|(min, max)| !(*min..=*max).contains(&number)) {
            let unit = tags.unit.clone();
            return Err(SettingError::OutOfRange { name: name.to_owned(), number, min, max, unit });
        }
        value::check_enumerated(btf, name, place, number)
    }

    fn write(&mut self, name: &str, place: &Place, bytes: &[u8]) {
        self.store(place, bytes);
        if self.adds.iter().any(|adds| adds.setting == name) {
            self.add_up();
        }
    }

    fn store(&mut self, place: &Place, bytes: &[u8]) {
        let data = &mut Arc::make_mut(&mut self.object).data[place.section].bytes;
        place.store(data, bytes);
    }

    /// Gives each number that settings add to the bits of those that are on.
    fn add_up(&mut self) {
        let mut sums = BTreeMap::<&str, u32>::new();
        let adds = self.adds.clone();
        for Adds { setting, to, bits } in &*adds {
            *sums.entry(to.as_str()).or_default() |= if self.variable_is_on(setting) { *bits } else { 0 };
        }
        for (to, bits) in sums {
            // An object that has no such number is left as it is, and one that has the right one already stays shared.
            let Ok(place) = place::resolve(&self.object, to) else { continue };
            if self.bytes(to).is_ok_and(|bytes_now| bytes_now != bits.to_le_bytes()) {
                self.store(&place, &bits.to_le_bytes());
            }
        }
    }
}
