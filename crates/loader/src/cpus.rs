// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sets of CPUs, in the two ways the kernel writes them: lists (`0-3,8`) and masks (`10f`).

use std::collections::BTreeSet;
use std::fmt;
use std::ops::RangeInclusive;

/// No kernel has more CPUs (`NR_CPUS` with `CONFIG_MAXSMP`). The bound keeps a damaged file such as `0-4294967295` from filling
/// memory.
const MOST: usize = 8192;
/// CPUs in one group of a mask.
const GROUP: usize = 32;

/// A set of CPUs. It is shown as a list, ascending: `0-3,8`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct CpuList(BTreeSet<usize>);

impl CpuList {
    /// The one CPU.
    pub fn one(cpu: usize) -> Self {
        Self(BTreeSet::from([cpu]))
    }

    /// The CPUs of these numbers.
    pub fn of(cpus: &[u32]) -> Self {
        cpus.iter().map(|cpu| *cpu as usize).collect()
    }

    /// A list: numbers and ranges, between commas or, as cpufreq writes them, blanks. `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let mut cpus = BTreeSet::new();
        for part in text.split([',', ' ', '\t', '\n']).filter(|part| !part.is_empty()) {
            cpus.extend(range(part).filter(|cpus| *cpus.end() < MOST)?);
        }
        Some(Self(cpus))
    }

    /// A mask: hexadecimal groups of 32 CPUs between commas, the highest first. `None` for anything else.
    pub fn from_mask(text: &str) -> Option<Self> {
        let mut cpus = BTreeSet::new();
        for (group, digits) in text.trim().rsplit(',').enumerate() {
            let bits = u32::from_str_radix(digits, 16).ok()?;
            let first = group * GROUP;
            if first >= MOST {
                return None;
            }
            cpus.extend((0..GROUP).filter(|bit| bits >> bit & 1 == 1).map(|bit| first + bit));
        }
        Some(Self(cpus))
    }

    /// As a mask, with as many groups as it needs.
    pub fn mask(&self) -> String {
        let groups = self.0.last().map_or(1, |highest| highest / GROUP + 1);
        let mut bits = vec![0_u32; groups];
        for cpu in &self.0 {
            bits[cpu / GROUP] |= 1 << (cpu % GROUP);
        }
        bits.iter().rev().map(|bits| format!("{bits:08x}")).collect::<Vec<_>>().join(",")
    }

    /// Whether a CPU is one of them.
    pub fn contains(&self, cpu: usize) -> bool {
        self.0.contains(&cpu)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The numbers of the CPUs, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().copied()
    }

    /// The CPUs that are in the other set, too.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self(self.0.intersection(&other.0).copied().collect())
    }

    /// The CPUs that are not in the other set.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0).copied().collect())
    }

    /// Whether all of them are in the other set.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }
}

/// The CPUs of one part of a list: `3`, or `0-3`, which ascends. `None` for anything else.
pub fn range(part: &str) -> Option<RangeInclusive<usize>> {
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (first <= last).then_some(first..=last)
}

impl FromIterator<usize> for CpuList {
    fn from_iter<T: IntoIterator<Item = usize>>(cpus: T) -> Self {
        Self(cpus.into_iter().collect())
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        let mut rest = self.0.iter().copied().peekable();
        while let Some(first) = rest.next() {
            let mut last = first;
            while rest.next_if_eq(&(last + 1)).is_some() {
                last += 1;
            }
            match last - first {
                0 => write!(f, "{separator}{first}")?,
                _ => write!(f, "{separator}{first}-{last}")?,
            }
            separator = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lists_are_written_as_the_kernel_writes_them() {
        let cpus = CpuList::parse("8,0-2 3\n").unwrap();
        assert_eq!(cpus.to_string(), "0-3,8");
        assert_eq!(cpus.mask(), "0000010f");
        assert_eq!(CpuList::from_mask("10f\n"), Some(cpus));
        assert_eq!(CpuList::parse("").unwrap().to_string(), "");
    }

    #[test]
    fn the_highest_group_of_a_mask_comes_first() {
        assert_eq!(CpuList::from_mask("1,80000000").unwrap().to_string(), "31-32");
        assert_eq!(CpuList::parse("31-32").unwrap().mask(), "00000001,80000000");
    }

    #[test]
    fn what_is_no_list_or_mask_is_refused() {
        for text in ["a", "1-", "3-1", "-1", "0-99999999999", "0-70000", "0-8192", "0x3", "1.5"] {
            assert_eq!(CpuList::parse(text), None, "{text}");
        }
        for text in ["", "g", "1,,1", "100000000"] {
            assert_eq!(CpuList::from_mask(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn both_ways_of_writing_give_back_the_set(cpus in prop::collection::btree_set(0_usize..500, 0..40)) {
            let list: CpuList = cpus.into_iter().collect();
            prop_assert_eq!(CpuList::parse(&list.to_string()), Some(list.clone()));
            prop_assert_eq!(CpuList::from_mask(&list.mask()), Some(list));
        }
    }
}
