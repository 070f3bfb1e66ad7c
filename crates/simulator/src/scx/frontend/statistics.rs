// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a scheduler counts, and which states it is in: read from its map and variables, as a loader would print them.

use tandem_bpf_vm::btf::{Enum, EnumValue, Type};
use tandem_bpf_vm::instance::Instance;
use tandem_bpf_vm::open::short_names;

use super::SchedulerError;

/// Bytes of a counter.
const COUNTER: usize = 8;

/// Where a scheduler keeps them (`[statistics]` of a sidecar).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statistics {
    /// An array of counters, of one for each CPU or of one for all, and the enumeration that names its entries.
    pub counters: Option<(String, String)>,
    /// Variables that are enumerations.
    pub states: Vec<String>,
}

/// Counters by name, in the order of the enumeration: the sums over all CPUs.
pub type Counters = Vec<(String, u64)>;
/// Names of variables, and the names of their values, short and in lower case.
pub type States = Vec<(String, String)>;

impl Statistics {
    /// Whether the object has what is named.
    ///
    /// # Errors
    /// [`SchedulerError::NoStatistics`].
    pub fn check(&self, vm: &Instance) -> Result<(), SchedulerError> {
        let missing = |what, name: &str| SchedulerError::NoStatistics { what, name: name.to_owned() };
        if let Some((map, names)) = &self.counters {
            let spec = vm.map(map).and_then(|id| vm.map_spec(id));
            spec.filter(|spec| spec.key_size == 4 && spec.value_size as usize == COUNTER)
                .ok_or_else(|| missing("array of 64-bit counters", map))?;
            enumeration(vm, names).ok_or_else(|| missing("enumeration", names))?;
        }
        let absent = self.states.iter().find(|name| state(vm, name).is_none());
        absent.map_or(Ok(()), |name| Err(missing("variable that is an enumeration", name)))
    }

    /// The counters now.
    pub fn counters(&self, vm: &Instance) -> Counters {
        let Some((map, names)) = &self.counters else { return Vec::new() };
        let (Some(map), Some(names)) = (vm.map(map), enumeration(vm, names)) else { return Vec::new() };
        // One behind the last, which says how many there are, is no counter.
        let entries = vm.map_spec(map).map_or(0, |spec| u64::from(spec.max_entries));
        let named: Vec<&EnumValue> = names.values.iter().filter(|value| value.value < entries).collect();
        let sum = |value: &EnumValue| {
            let cpus = vm.map_lookup(map, &(value.value as u32).to_le_bytes()).unwrap_or_default();
            cpus.chunks_exact(COUNTER).map(number).fold(0_u64, u64::wrapping_add)
        };
        short_names(named.iter().copied()).into_iter().zip(named.iter().map(|value| sum(value))).collect()
    }

    /// The states now.
    pub fn states(&self, vm: &Instance) -> States {
        self.states.iter().filter_map(|name| Some((name.clone(), state(vm, name)?))).collect()
    }
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

fn enumeration<'v>(vm: &'v Instance, name: &str) -> Option<&'v Enum> {
    let btf = &vm.object().btf;
    btf.get(btf.find(name, |ty| ty.enumeration().is_some())?)?.enumeration()
}

/// The name of the value that a variable has; a value without a name is its number.
fn state(vm: &Instance, name: &str) -> Option<String> {
    let values = vm.object().btf.bare(vm.global(name)?.type_id).and_then(Type::enumeration)?;
    let value = number(vm.global_bytes(name)?);
    let bits = 8 * values.size.min(8);
    let at = values.values.iter().position(|named| named.value & (u64::MAX >> (64 - bits)) == value);
    Some(at.and_then(|at| short_names(&values.values).into_iter().nth(at)).unwrap_or_else(|| value.to_string()))
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}
