// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a scheduler counts, and the states it is in, by the names that it has for them.

use libbpf_rs::{MapCore, MapFlags, MapImpl};
use tandem_bpf_vm::btf::{Btf, Enum, EnumValue, Type};
use tandem_bpf_vm::open::{OpenObject, short_names};

/// Bytes of a counter.
const COUNTER: usize = 8;

/// Where a scheduler keeps them (`[statistics]` of the file beside it).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Statistics {
    /// An array of counters, of one for each CPU or of one for all, and the enumeration that names its entries.
    pub counters: Option<(String, String)>,
    /// Variables that are enumerations.
    pub states: Vec<String>,
}

/// The counters in a map, by the names of an enumeration, in its order: sums over all CPUs.
pub(crate) fn counters(map: &MapImpl<'_>, btf: &Btf, names: &str) -> Option<Vec<(String, u64)>> {
    let names = btf.get(btf.find(names, |ty| ty.enumeration().is_some())?)?.enumeration()?;
    // One behind the last, which says how many there are, is no counter.
    let named: Vec<&EnumValue> =
        names.values.iter().filter(|value| value.value < u64::from(map.max_entries())).collect();
    let sums = named.iter().map(|value| sum(map, value.value as u32));
    Some(short_names(named.iter().copied()).into_iter().zip(sums).collect())
}

fn sum(map: &MapImpl<'_>, entry: u32) -> u64 {
    let key = entry.to_ne_bytes();
    let cpus = if map.map_type().is_percpu() {
        map.lookup_percpu(&key, MapFlags::ANY).ok().flatten().unwrap_or_default()
    } else {
        map.lookup(&key, MapFlags::ANY).ok().flatten().into_iter().collect()
    };
    cpus.iter().filter_map(|value| value.get(..COUNTER)).map(number).fold(0, u64::wrapping_add)
}

/// The name of the value that a variable has: short, in lower case; of a value without a name its number.
pub(crate) fn state(open: &OpenObject, variable: &str) -> Option<String> {
    let object = open.object();
    let mut variables = object.data.iter().flat_map(|section| &section.variables);
    let type_id = variables.find(|known| known.name == *variable)?.type_id;
    let names = object.btf.bare(type_id).and_then(Type::enumeration)?;
    Some(named(names, number(open.bytes(variable).ok()?)))
}

fn named(names: &Enum, value: u64) -> String {
    let bits = 8 * names.size.clamp(1, 8);
    let at = names.values.iter().position(|known| known.value & (u64::MAX >> (64 - bits)) == value);
    at.and_then(|at| short_names(&names.values).into_iter().nth(at)).unwrap_or_else(|| value.to_string())
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().take(COUNTER).rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}
