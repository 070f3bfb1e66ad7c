// SPDX-License-Identifier: MIT OR Apache-2.0
//! What was looked up lately, to be found again without a search.

/// Number of places, as a power of 2.
const BITS: u32 = 6;

/// Addresses of values by a number that stands for the key. Each number has one place; another one that comes there takes it.
#[derive(Debug)]
pub(super) struct Recent(Box<[Option<(u64, u64)>; 1 << BITS]>);

impl Default for Recent {
    fn default() -> Self {
        Self(Box::new([None; 1 << BITS]))
    }
}

impl Recent {
    /// By Fibonacci hashing: numbers that lie at equal distances, as addresses do, are spread.
    #[inline]
    fn place(key: u64) -> usize {
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - BITS)) as usize
    }

    /// The address that belongs to the key, if it was looked up lately.
    #[inline]
    pub(super) fn get(&self, key: u64) -> Option<u64> {
        self.0[Self::place(key)].filter(|(known, _)| *known == key).map(|(_, address)| address)
    }

    /// Remembers an address.
    #[inline]
    pub(super) fn set(&mut self, key: u64, address: u64) {
        self.0[Self::place(key)] = Some((key, address));
    }

    /// The key has no address any more, or another one.
    pub(super) fn forget(&mut self, key: u64) {
        self.0[Self::place(key)].take_if(|(known, _)| *known == key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_until_it_is_forgotten_or_another_takes_its_place() {
        let mut recent = Recent::default();
        recent.set(0, 100);
        recent.set(0x4000, 200);
        assert_eq!([recent.get(0), recent.get(0x4000), recent.get(1)], [Some(100), Some(200), None]);
        recent.forget(0);
        assert_eq!(recent.get(0), None);
        let other = (1..).find(|key| Recent::place(*key) == Recent::place(0x4000)).unwrap();
        recent.forget(other);
        assert_eq!(recent.get(0x4000), Some(200));
        recent.set(other, 300);
        assert_eq!([recent.get(0x4000), recent.get(other)], [None, Some(300)]);
    }
}
