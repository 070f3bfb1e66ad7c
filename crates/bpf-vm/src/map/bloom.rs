// SPDX-License-Identifier: MIT OR Apache-2.0
//! `BLOOM_FILTER` (`kernel/bpf/bloom_filter.c`): says of a value that it was surely never added, or that it may have
//! been.
//!
//! The number of bits and of hash functions are the kernel's. The functions are not: the kernel's depend on a random
//! seed, so the filter mistakes other values for added ones than the kernel's does.

use super::spec::{MapError, MapSpec};
use super::{Family, MapId, Maps};
use crate::errno::{Errno, OpError};
use crate::memory::Memory;

/// Number of hash functions where `map_extra` is 0.
const DEFAULT_FUNCTIONS: u32 = 5;
/// Fewest bits (`BITS_PER_LONG`).
const MIN_BITS: u64 = 64;

/// A Bloom filter.
#[derive(Debug)]
pub(super) struct Bloom {
    /// The filter's bits, 64 to a word.
    bits: Vec<u64>,
    mask: u32,
    functions: u32,
}

impl Bloom {
    pub(super) fn new(memory: &mut Memory, spec: &MapSpec) -> Result<Self, MapError> {
        let functions = match (spec.map_extra & 0xf) as u32 {
            0 => DEFAULT_FUNCTIONS,
            functions => functions,
        };
        // n·k / ln 2 bits, rounded up to a power of two and at most 2^32; like the kernel, with 7/5 for 1 / ln 2.
        let bits = u64::from(spec.max_entries) * u64::from(functions) / 5 * 7;
        let bits = bits.max(MIN_BITS).next_power_of_two().min(1 << 32);
        memory.reserve(bits / 8).map_err(|why| spec.no_memory(why))?;
        Ok(Self { bits: vec![0; (bits / 64) as usize], mask: (bits - 1) as u32, functions })
    }

    /// The bits of a value.
    fn places(&self, value: &[u8]) -> impl Iterator<Item = u32> {
        // FNV-1a, then a different mix of its halves for each function (Kirsch and Mitzenmacher).
        let hash = value
            .iter()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3));
        let (low, high, mask) = (hash as u32, (hash >> 32) as u32 | 1, self.mask);
        (0..self.functions).map(move |function| low.wrapping_add(function.wrapping_mul(high)) & mask)
    }

    pub(super) fn push(&mut self, value: &[u8], flags: u64) -> Result<(), OpError> {
        if flags != 0 {
            return Err(Errno::EINVAL.into());
        }
        let places: Vec<u32> = self.places(value).collect();
        for bit in places {
            self.bits[(bit / 64) as usize] |= 1 << (bit % 64);
        }
        Ok(())
    }

    fn contains(&self, value: &[u8]) -> bool {
        self.places(value).all(|bit| self.bits[(bit / 64) as usize] >> (bit % 64) & 1 != 0)
    }
}

impl Maps {
    /// Whether a value may have been added to a Bloom filter; `None` for another kind of map.
    pub fn may_contain(&self, id: MapId, value: &[u8]) -> Option<bool> {
        match &self.maps.get(id.0 as usize)?.family {
            Family::Bloom(bloom) => Some(bloom.contains(value)),
            _ => None,
        }
    }
}
