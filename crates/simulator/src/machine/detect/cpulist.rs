// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPU lists as sysfs writes them: `0-3,8`, and `0 1 2 3` in cpufreq.

/// Highest CPU number accepted, one below the kernel's largest `NR_CPUS`. The bound keeps a damaged file such as
/// `0-4294967295` from filling memory.
const HIGHEST_CPU: u32 = 8_191;

/// The CPUs of a list, ascending and without repeats; `None` if it is not a list. An empty text is an empty list.
pub(crate) fn parse(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in text.split([',', ' ', '\t', '\n']).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return None;
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|cpu| *cpu <= HIGHEST_CPU)
}

/// The shortest list of `cpus`, which must ascend: `0-3,8`.
pub(crate) fn format(cpus: &[u32]) -> String {
    let runs = cpus.chunk_by(|a, b| a + 1 == *b);
    let parts = runs.map(|run| match run {
        [only] => only.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    });
    parts.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_of_the_kernels_spellings_are_read() {
        assert_eq!(parse("0-3,8\n"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(parse("0 1 2\n"), Some(vec![0, 1, 2]));
        assert_eq!(parse("\n"), Some(vec![]));
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for text in ["a", "1-", "-1", "3-1", "0-4294967295", "0x3", "1.5"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_list_reads_back(cpus in prop::collection::btree_set(0u32..300, 0..40)) {
            let cpus: Vec<u32> = cpus.into_iter().collect();
            prop_assert_eq!(parse(&format(&cpus)), Some(cpus));
        }
    }
}
