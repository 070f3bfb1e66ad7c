// SPDX-License-Identifier: MIT OR Apache-2.0
//! Damage to an object's instructions. What comes of it must be a refusal, an ejection or a run.

use object::{Object as _, ObjectSection as _, SectionKind};
use proptest::prelude::*;
use proptest::sample::Index;

/// Bytes of an instruction.
const INSN: usize = 8;

/// Damage to one instruction.
#[derive(Debug, Clone)]
pub enum Mutation {
    /// The instruction does nothing any more.
    Nothing(Index),
    /// One bit of the instruction is another.
    Flip(Index, u32),
    /// One of the instruction's four parts (code, registers, offset, immediate) is another.
    Part(Index, u8, u32),
    /// The instruction is a copy of another one.
    Copy(Index, Index),
}

/// Any damage.
pub fn any_mutation() -> impl Strategy<Value = Mutation> {
    let place = any::<Index>;
    let number = prop_oneof![Just(0u32), Just(1), Just(u32::MAX), Just(1 << 31), any::<u32>()];
    prop_oneof![
        place().prop_map(Mutation::Nothing),
        (place(), 0..64u32).prop_map(|(place, bit)| Mutation::Flip(place, bit)),
        (place(), 0..4u8, number).prop_map(|(place, part, value)| Mutation::Part(place, part, value)),
        (place(), place()).prop_map(|(to, from)| Mutation::Copy(to, from)),
    ]
}

/// The object with all of this damage.
pub fn mutated(bytes: &[u8], mutations: &[Mutation]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let places = instructions(&bytes);
    if places.is_empty() {
        return bytes;
    }
    let at = |index: &Index| places[index.index(places.len())];
    for mutation in mutations {
        match mutation {
            // `ja +0`.
            Mutation::Nothing(place) => bytes[at(place)..][..INSN].copy_from_slice(&[0x05, 0, 0, 0, 0, 0, 0, 0]),
            Mutation::Flip(place, bit) => bytes[at(place) + *bit as usize / 8] ^= 1 << (bit % 8),
            Mutation::Part(place, part, value) => {
                let value = value.to_le_bytes();
                let (start, length) = [(0, 1), (1, 1), (2, 2), (4, 4)][usize::from(*part)];
                bytes[at(place) + start..][..length].copy_from_slice(&value[..length]);
            }
            Mutation::Copy(to, from) => {
                let from = at(from);
                bytes.copy_within(from..from + INSN, at(to));
            }
        }
    }
    bytes
}

/// Where instructions stand in an object file.
fn instructions(bytes: &[u8]) -> Vec<usize> {
    let Ok(file) = object::File::parse(bytes) else { return Vec::new() };
    let code = file.sections().filter(|section| section.kind() == SectionKind::Text);
    let ranges = code.filter_map(|section| section.file_range());
    ranges.flat_map(|(start, size)| (start as usize..(start + size) as usize).step_by(INSN)).collect()
}
