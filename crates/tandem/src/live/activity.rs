// SPDX-License-Identifier: GPL-2.0-only
//! What was done lately, in a line: `--stats`.

use std::collections::BTreeMap;
use std::time::Duration;

use tandem_live::meter::Measured;

use crate::quantity::count;

/// What was known when the last line was made.
#[derive(Debug, Default)]
pub struct Activity {
    time: Duration,
    joules: Option<f64>,
    counters: BTreeMap<String, u64>,
}

impl Activity {
    /// A line of what has happened since the last one: `12.0 s  9.98 W  base idle 2345 queued 12  serial phases 3`. Without a
    /// meter there are no watts, and what did not happen is not said.
    pub fn line(&mut self, measured: &Measured, counters: &[(String, u64)]) -> String {
        let joules = measured.total().map(|total| total.joules);
        let span = measured.time.saturating_sub(self.time).as_secs_f64();
        let mut line = format!("{:.1} s", measured.time.as_secs_f64());
        if let Some((now, before)) = joules.zip(self.joules.or(Some(0.0))).filter(|_| span > 0.0) {
            line += &format!("  {:.2} W", (now - before) / span);
        }
        let mut last_word = "";
        for (name, now) in counters {
            let new = now.saturating_sub(self.counters.get(name).copied().unwrap_or(0));
            if new == 0 {
                continue;
            }
            let (word, rest) = name.split_once('_').unwrap_or((name, ""));
            if word != last_word {
                line += &format!("  {word}");
                last_word = word;
            }
            line += &format!(" {} {}", rest.replace('_', " "), count(new));
        }
        (self.time, self.joules) = (measured.time, joules);
        self.counters = counters.iter().cloned().collect();
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(seconds: u64) -> Measured {
        Measured { time: Duration::from_secs(seconds), ..Measured::default() }
    }

    #[test]
    fn a_line_has_what_is_new_since_the_last_one() {
        let mut activity = Activity::default();
        let counters = |idle, phases| {
            [("base_idle", idle), ("base_queued", 7), ("serial_phases", phases)].map(|(name, n)| (name.to_owned(), n))
        };
        assert_eq!(activity.line(&after(1), &counters(10, 0)), "1.0 s  base idle 10 queued 7");
        assert_eq!(
            activity.line(&after(3), &counters(1510, 2)),
            format!("3.0 s  base idle {}  serial phases 2", count(1500))
        );
        assert_eq!(activity.line(&after(4), &counters(1510, 2)), "4.0 s");
    }
}
