// SPDX-License-Identifier: MIT OR Apache-2.0
//! Searches in bitmaps of CPUs, a word at a time and without an allocation.

use crate::units::CpuId;

/// The CPUs that are in all of up to three sets; all CPUs without any.
#[derive(Debug, Clone, Copy, Default)]
pub struct Allowed<'a> {
    sets: [Option<&'a [u64]>; 3],
}

impl<'a> Allowed<'a> {
    /// The CPUs that are in `set`, too; without a set, nothing changes. A fourth set is not kept.
    #[must_use]
    #[inline]
    pub fn and(mut self, set: Option<&'a [u64]>) -> Self {
        if set.is_some()
            && let Some(free) = self.sets.iter_mut().find(|place| place.is_none())
        {
            *free = set;
        }
        self
    }

    /// CPUs `64 * index` to `64 * index + 63`. A set that is too short lacks the rest.
    #[inline]
    pub fn word(&self, index: usize) -> u64 {
        let word = |set: &Option<&[u64]>| set.map_or(u64::MAX, |words| words.get(index).copied().unwrap_or(0));
        word(&self.sets[0]) & word(&self.sets[1]) & word(&self.sets[2])
    }

    /// Whether `cpu` is in all sets.
    #[inline]
    pub fn test(&self, cpu: CpuId) -> bool {
        self.word(cpu.index() / 64) & bit(cpu) != 0
    }

    /// Whether one of the first `words` words has a CPU.
    pub fn any(&self, words: usize) -> bool {
        (0..words).any(|index| self.word(index) != 0)
    }
}

/// The bit of `cpu` in its word.
#[inline]
pub fn bit(cpu: CpuId) -> u64 {
    1 << (cpu.0 % 64)
}

/// The first set bit after `cursor`, wrapping, in a bitmap of `words` words; the cursor moves there
/// (`cpumask_any_and_distribute`: CPU 0 is not the first choice of a new cursor).
#[inline]
pub fn any_distribute(words: usize, cursor: &mut u32, word: impl Fn(usize) -> u64) -> Option<CpuId> {
    let start = (*cursor as usize).saturating_add(1);
    let found = next_wrap(words, start, word)?;
    *cursor = found.0;
    Some(found)
}

/// The first set bit from `start` on, wrapping.
#[inline]
fn next_wrap(words: usize, start: usize, word: impl Fn(usize) -> u64) -> Option<CpuId> {
    let at = |index: usize, word: u64| (word != 0).then(|| CpuId(index as u32 * 64 + word.trailing_zeros()));
    let (first, low) = (start / 64, start % 64);
    if first >= words {
        return (0..words).find_map(|index| at(index, word(index)));
    }
    at(first, word(first) & (u64::MAX << low))
        .or_else(|| (first + 1..words).find_map(|index| at(index, word(index))))
        .or_else(|| (0..first).find_map(|index| at(index, word(index))))
        .or_else(|| at(first, word(first) & !(u64::MAX << low)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_goes_on_where_the_last_one_ended() {
        let set = [0b1011_u64, 0, 1];
        let mut cursor = 0;
        let found: Vec<u32> =
            (0..5).filter_map(|_| any_distribute(3, &mut cursor, |index| set[index])).map(|cpu| cpu.0).collect();
        assert_eq!(found, [1, 3, 128, 0, 1]);
    }

    #[test]
    fn nothing_found_leaves_the_cursor() {
        let mut cursor = 7;
        assert_eq!(any_distribute(2, &mut cursor, |_| 0), None);
        assert_eq!(cursor, 7);
        assert_eq!(any_distribute(1, &mut 900, |_| 4), Some(CpuId(2)), "a cursor beyond the end begins anew");
    }

    #[test]
    fn all_sets_must_allow_a_cpu() {
        let allowed = Allowed::default().and(Some(&[0b1110])).and(None).and(Some(&[0b0110, 1]));
        assert_eq!([allowed.word(0), allowed.word(1)], [0b0110, 0]);
        assert!(allowed.test(CpuId(2)) && !allowed.test(CpuId(3)) && !allowed.test(CpuId(64)));
        assert_eq!(Allowed::default().word(5), u64::MAX);
    }
}
