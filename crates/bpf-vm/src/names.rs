// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names that are written shorter than they are.

/// Fewest letters of a short form: fewer are short for too much.
const FEWEST: usize = 3;

/// Whether `written` is short for `name`, words of which stand between underscores: some of its words (`fifo` for
/// `fifo_sched`), or the beginnings of all (`gbps` for `gb_per_s`).
pub fn is_short_for(written: &str, name: &str) -> bool {
    let (written, name) = (written.to_lowercase(), name.to_lowercase());
    let words: Vec<&str> = name.split('_').filter(|word| !word.is_empty()).collect();
    if written.len() < FEWEST || words.len() < 2 {
        return false;
    }
    let has_words = format!("_{}_", words.join("_")).contains(&format!("_{written}_"));
    has_words || begins_all(&written, &words)
}

/// Whether `written` is put together from beginnings of all `words`.
fn begins_all(written: &str, words: &[&str]) -> bool {
    let Some((first, rest)) = words.split_first() else { return written.is_empty() };
    // A name that is shorter than the number of its words leaves one without a letter.
    let ends = written.char_indices().map(|(at, letter)| at + letter.len_utf8());
    let mut beginnings = ends.take_while(|end| first.starts_with(&written[..*end]));
    written.len() >= words.len() && beginnings.any(|end| begins_all(&written[end..], rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_beginnings_are_short_for_a_name() {
        for (written, name) in [
            ("fifo", "fifo_sched"),
            ("gbps", "gb_per_s"),
            ("GBps", "gb_per_s"),
            ("sched", "fifo_sched"),
            ("serfirst", "serial_first"),
        ] {
            assert!(is_short_for(written, name), "{written} {name}");
        }
        for (written, name) in [
            ("fi", "fifo_sched"),
            ("gbs", "gb_per_s"),
            ("output", "hotplug"),
            ("performance", "perf_counters"),
            ("fast", "performance"),
            ("", "a_b"),
            ("ßßß", "ß_s_s"),
        ] {
            assert!(!is_short_for(written, name), "{written} {name}");
        }
    }
}
