// SPDX-License-Identifier: MIT OR Apache-2.0
//! What metrics are called by who writes them: in conditions, and where columns are chosen.

use super::metric::Metric;

impl Metric {
    /// What a metric is called in conditions: `energy`, `work-rate`.
    pub fn word(self) -> String {
        plain(self.title())
    }

    /// The metric that `written` means: its name in tables, on command lines or in JSON, with or without its unit; `p99(response)`
    /// is `p99-response`. `None` if there is none.
    pub fn in_words(written: &str) -> Option<Self> {
        let written = plain(written);
        let swapped = written.split_once('-').map(|(first, rest)| format!("{rest}-{first}"));
        let means = |metric: &Self| {
            let key = plain(metric.key());
            let without_unit = key.rsplit_once('-').map(|(key, _)| key.to_owned());
            let names = [Some(metric.word()), Some(plain(metric.name())), Some(key), without_unit];
            names.iter().flatten().any(|name| *name == written || Some(name) == swapped.as_ref())
        };
        Self::ALL.into_iter().find(|metric| metric.word() == written).or_else(|| Self::ALL.into_iter().find(means))
    }
}

/// A name in lower case whose words have dashes between them.
pub fn plain(name: &str) -> String {
    let words = name.split([' ', '_', '-', '(', ')']).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_written_as_a_function_too() {
        assert_eq!(plain("p99(response)"), "p99-response");
        assert_eq!(plain("P99 ( wakeup latency )"), "p99-wakeup-latency");
        assert_eq!(Metric::in_words("p99(response)"), Some(Metric::P99Response));
        assert_eq!(Metric::in_words("p98(response)"), None);
    }

    #[test]
    fn every_metric_is_found_by_its_own_names() {
        for metric in Metric::ALL {
            assert_eq!(Metric::in_words(&metric.word()), Some(metric));
            assert_eq!(Metric::in_words(metric.name()), Some(metric), "{}", metric.name());
            assert_eq!(Metric::in_words(metric.key()), Some(metric), "{}", metric.key());
        }
    }
}
