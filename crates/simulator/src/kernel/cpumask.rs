// SPDX-License-Identifier: MIT OR Apache-2.0
//! A set of CPUs, as the kernel's `struct cpumask`.

use crate::units::CpuId;

/// A set of CPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuMask {
    words: Box<[u64]>,
}

impl CpuMask {
    /// The empty set, with room for CPUs 0..`cpus`.
    pub fn empty(cpus: usize) -> Self {
        Self { words: vec![0; cpus.div_ceil(64)].into() }
    }

    /// The set of `members`, all below `cpus`.
    pub fn of(cpus: usize, members: impl IntoIterator<Item = CpuId>) -> Self {
        let mut mask = Self::empty(cpus);
        for cpu in members {
            mask.set(cpu);
        }
        mask
    }

    /// Whether `cpu` is in the set.
    #[inline]
    pub fn test(&self, cpu: CpuId) -> bool {
        self.words[cpu.index() / 64] & (1 << (cpu.0 % 64)) != 0
    }

    /// Adds `cpu`.
    #[inline]
    pub fn set(&mut self, cpu: CpuId) {
        self.words[cpu.index() / 64] |= 1 << (cpu.0 % 64);
    }

    /// Removes `cpu`.
    #[inline]
    pub fn clear(&mut self, cpu: CpuId) {
        self.words[cpu.index() / 64] &= !(1 << (cpu.0 % 64));
    }

    /// The set as the kernel keeps it: CPU n is bit n % 64 of word n / 64.
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Number of CPUs in the set.
    pub fn weight(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// The lowest CPU of the set.
    pub fn first(&self) -> Option<CpuId> {
        self.iter().next()
    }

    /// The CPUs of the set, ascending.
    pub fn iter(&self) -> impl Iterator<Item = CpuId> + '_ {
        self.words.iter().enumerate().flat_map(|(index, word)| Bits(*word).map(move |bit| cpu_at(index, bit)))
    }

    /// The CPUs that are in both sets.
    pub fn and(&self, other: &Self) -> Self {
        Self { words: self.words.iter().zip(&other.words).map(|(a, b)| a & b).collect() }
    }

    /// Whether the sets have a CPU in common.
    pub fn intersects(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).any(|(a, b)| a & b != 0)
    }

    /// Whether all CPUs of this set that are not in `except` are in `others`.
    pub fn is_within(&self, except: &Self, others: &Self) -> bool {
        let words = self.words.iter().zip(&except.words).zip(&others.words);
        words.fold(0, |left, ((word, except), others)| left | (word & !except & !others)) == 0
    }

    /// The first CPU, from `start` upwards and around, that is in all three sets (`for_each_cpu_wrap` cut short).
    pub fn first_and_wrap(&self, second: &Self, third: Option<&Self>, start: usize) -> Option<CpuId> {
        let count = self.words.len();
        let common = |index: usize| {
            let word = self.words[index] & second.words[index];
            third.map_or(word, |mask| word & mask.words[index])
        };
        let (first_word, low_bits) = ((start / 64).min(count), start % 64);
        if first_word == count {
            return (0..count).find_map(|index| Bits(common(index)).next().map(|bit| cpu_at(index, bit)));
        }
        let head = common(first_word) & (u64::MAX << low_bits);
        let tail = common(first_word) & !(u64::MAX << low_bits);
        let in_word = |index: usize, word: u64| Bits(word).next().map(|bit| cpu_at(index, bit));
        in_word(first_word, head)
            .or_else(|| (first_word + 1..count).find_map(|index| in_word(index, common(index))))
            .or_else(|| (0..first_word).find_map(|index| in_word(index, common(index))))
            .or_else(|| in_word(first_word, tail))
    }
}

fn cpu_at(word: usize, bit: u32) -> CpuId {
    CpuId(word as u32 * 64 + bit)
}

/// The positions of a word's set bits, ascending.
struct Bits(u64);

impl Iterator for Bits {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        if self.0 == 0 {
            return None;
        }
        let bit = self.0.trailing_zeros();
        self.0 &= self.0 - 1;
        Some(bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(members: &[u32]) -> CpuMask {
        CpuMask::of(200, members.iter().map(|cpu| CpuId(*cpu)))
    }

    #[test]
    fn members_come_out_in_order() {
        let set = mask(&[130, 3, 64]);
        assert_eq!(set.iter().map(|cpu| cpu.0).collect::<Vec<_>>(), [3, 64, 130]);
        assert_eq!((set.weight(), set.first()), (3, Some(CpuId(3))));
    }

    #[test]
    fn a_set_may_be_within_another_but_for_some() {
        let (span, own) = (mask(&[3, 70, 130]), mask(&[3, 4]));
        assert!(span.is_within(&own, &mask(&[70, 130, 131])));
        assert!(!span.is_within(&own, &mask(&[3, 130])));
        assert!(!span.is_within(&mask(&[]), &mask(&[70, 130])));
    }

    #[test]
    fn the_search_wraps_around() {
        let (idle, span) = (mask(&[3, 70, 130]), mask(&[3, 69, 130]));
        let from = |start| idle.first_and_wrap(&span, None, start).map(|cpu| cpu.0);
        assert_eq!(
            [from(0), from(4), from(70), from(131), from(4096)],
            [Some(3), Some(130), Some(130), Some(3), Some(3)]
        );
        assert_eq!(idle.first_and_wrap(&span, Some(&mask(&[69])), 0), None);
    }
}
