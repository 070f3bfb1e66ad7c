// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a scheduler counts, which states it is in, and what else its variables have: read from its map and variables, as a loader
//! would print them.

use tandem_bpf_vm::btf::{Btf, Enum, EnumValue, Type, TypeId};
use tandem_bpf_vm::instance::Instance;
use tandem_bpf_vm::object::Object;
use tandem_bpf_vm::open::{short_names, text_now};

/// Bytes of a counter.
const COUNTER: usize = 8;

/// Where a scheduler keeps counters and states (`[statistics]` of a loader's file).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statistics {
    /// An array of counters, of one for each CPU or of one for all, and the enumeration that names its entries.
    pub counters: Option<(String, String)>,
    /// Variables that are enumerations.
    pub states: Vec<String>,
    /// The variable with the number of the dispatch queue in which threads wait whose group has used up its limit (`cpu.max`).
    pub limited: Option<String>,
}

/// Counters by name, in the order of the enumeration: the sums over all CPUs.
pub type Counters = Vec<(String, u64)>;
/// Names of variables, and the names of their values, short and in lower case.
pub type States = Vec<(String, String)>;

/// What the object does not have, and which is to be reported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the object has no {what} `{name}` for statistics")]
pub struct NoStatistics {
    /// What is missing.
    pub what: &'static str,
    /// Name of what is missing.
    pub name: String,
}

/// How an array looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArrayShape {
    /// Bytes of a key.
    pub key_size: u32,
    /// Bytes of a value, of one CPU.
    pub value_size: u32,
    /// Entries.
    pub entries: u32,
}

/// A loaded object: what statistics are read from.
pub trait Counting {
    /// The object.
    fn object(&self) -> &Object;
    /// How the map `name` looks; `None`: there is none.
    fn array(&self, name: &str) -> Option<ArrayShape>;
    /// The entry `key` of a map: the values of all CPUs one behind the other.
    fn entry(&self, map: &str, key: u32) -> Vec<u8>;
    /// What a global variable has now.
    fn variable(&self, name: &str) -> Option<Vec<u8>>;
}

impl Counting for Instance {
    fn object(&self) -> &Object {
        Self::object(self)
    }

    fn array(&self, name: &str) -> Option<ArrayShape> {
        let spec = self.map_spec(self.map(name)?)?;
        Some(ArrayShape { key_size: spec.key_size, value_size: spec.value_size, entries: spec.max_entries })
    }

    fn entry(&self, map: &str, key: u32) -> Vec<u8> {
        self.map(map).and_then(|map| self.map_lookup(map, &key.to_le_bytes())).unwrap_or_default()
    }

    fn variable(&self, name: &str) -> Option<Vec<u8>> {
        self.global_bytes(name).map(<[u8]>::to_vec)
    }
}

impl Statistics {
    /// Whether the object has what is named.
    ///
    /// # Errors
    /// [`NoStatistics`].
    pub fn check(&self, object: &impl Counting) -> Result<(), NoStatistics> {
        let missing = |what, name: &str| NoStatistics { what, name: name.to_owned() };
        if let Some((map, names)) = &self.counters {
            let shape = object.array(map);
            shape
                .filter(|shape| shape.key_size == 4 && shape.value_size as usize == COUNTER)
                .ok_or_else(|| missing("array of 64-bit counters", map))?;
            enumeration(&object.object().btf, names).ok_or_else(|| missing("enumeration", names))?;
        }
        let absent = self.states.iter().find(|name| state(object, name).is_none());
        absent.map_or(Ok(()), |name| Err(missing("variable that is an enumeration", name)))?;
        match &self.limited {
            Some(name) if self.limited_queue(object).is_none() => Err(missing("64-bit variable", name)),
            _ => Ok(()),
        }
    }

    /// The number of the dispatch queue in which threads wait for their group's next period, if the scheduler says so.
    pub fn limited_queue(&self, object: &impl Counting) -> Option<u64> {
        let bytes = object.variable(self.limited.as_ref()?)?;
        (bytes.len() == COUNTER).then(|| number(&bytes))
    }

    /// The counters now.
    pub fn counters(&self, object: &impl Counting) -> Counters {
        let Some((map, names)) = &self.counters else { return Vec::new() };
        let (Some(shape), Some(names)) = (object.array(map), enumeration(&object.object().btf, names)) else {
            return Vec::new();
        };
        // One behind the last, which says how many there are, is no counter.
        let named: Vec<&EnumValue> =
            names.values.iter().filter(|value| value.value < u64::from(shape.entries)).collect();
        let sum = |value: &EnumValue| {
            let cpus = object.entry(map, value.value as u32);
            cpus.chunks_exact(COUNTER).map(number).fold(0_u64, u64::wrapping_add)
        };
        short_names(named.iter().copied()).into_iter().zip(named.iter().map(|value| sum(value))).collect()
    }

    /// The states now.
    pub fn states(&self, object: &impl Counting) -> States {
        self.states.iter().filter_map(|name| Some((name.clone(), state(object, name)?))).collect()
    }
}

/// The values that variables, or parts of them, have now, as texts; of one that is not there, nothing.
pub fn values(object: &impl Counting, names: &[String]) -> Vec<(String, String)> {
    let value = |name: &String| text_now(object.object(), name, |variable| object.variable(variable)).ok().flatten();
    names.iter().filter_map(|name| Some((name.clone(), value(name)?))).collect()
}

/// Adds counters to those of the same names.
pub fn add(total: &mut Counters, more: Counters) {
    for (name, count) in more {
        match total.iter_mut().find(|(other, _)| *other == name) {
            Some((_, sum)) => *sum = sum.wrapping_add(count),
            None => total.push((name, count)),
        }
    }
}

fn enumeration<'b>(btf: &'b Btf, name: &str) -> Option<&'b Enum> {
    btf.get(btf.find(name, |ty| ty.enumeration().is_some())?)?.enumeration()
}

/// The name of the value that a variable has; a value without a name is its number.
fn state(object: &impl Counting, name: &str) -> Option<String> {
    let values = object.object().btf.bare(type_of(object.object(), name)?).and_then(Type::enumeration)?;
    let value = number(&object.variable(name)?);
    let bits = 8 * values.size.clamp(1, 8);
    let at = values.values.iter().position(|named| named.value & (u64::MAX >> (64 - bits)) == value);
    Some(at.and_then(|at| short_names(&values.values).into_iter().nth(at)).unwrap_or_else(|| value.to_string()))
}

fn type_of(object: &Object, variable: &str) -> Option<TypeId> {
    let mut variables = object.data.iter().flat_map(|section| &section.variables);
    variables.find(|known| known.name == *variable).map(|known| known.type_id)
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().take(COUNTER).rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}
