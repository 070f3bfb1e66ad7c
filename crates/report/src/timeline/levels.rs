// SPDX-License-Identifier: MIT OR Apache-2.0
//! What stays the same from one change to the next: clocks and idle states exactly, power as means where it changes very often.

use tandem_simulator::units::Nanos;

/// Changes of something, each from its time on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Levels<T> {
    /// When, in ns, ascending.
    pub at: Vec<Nanos>,
    /// What it is from then on.
    pub value: Vec<T>,
}

impl<T: Copy + PartialEq> Levels<T> {
    /// It is `value` from `now` on. Returns whether that is one more change than before.
    pub fn set(&mut self, now: Nanos, value: T) -> bool {
        if self.at.last() == Some(&now) {
            self.at.pop();
            self.value.pop();
        }
        if self.value.last() == Some(&value) {
            return false;
        }
        self.at.push(now);
        self.value.push(value);
        true
    }
}

/// A power over time: exact as long as it changes seldom, then means over steps of equal width.
#[derive(Debug, Clone, PartialEq)]
pub struct Means {
    /// The changes; where `width` is given, each is the mean of a step.
    pub levels: Levels<f32>,
    /// Width of a step, in ns; `None`: exact.
    pub width: Option<Nanos>,
    /// Most entries.
    most: usize,
    /// By step: watts times ns. Empty while it is exact.
    sums: Vec<f64>,
    /// The present power, and since when.
    present: Option<(Nanos, f64)>,
}

impl Default for Means {
    fn default() -> Self {
        Self::up_to(1 << 16)
    }
}

impl Means {
    /// A power of which at most so many entries are kept.
    pub fn up_to(most: usize) -> Self {
        Self { levels: Levels::default(), width: None, most: most.max(2), sums: Vec::new(), present: None }
    }

    /// The power is `watts` from `now` on.
    pub fn set(&mut self, now: Nanos, watts: f64) {
        if self.width.is_some() {
            self.pass(now);
        } else if self.levels.set(now, watts as f32) && self.levels.at.len() > self.most {
            self.begin_steps(now);
        }
        self.present = Some((now, watts));
    }

    /// The run ends at `end`: steps become levels.
    pub fn finish(&mut self, end: Nanos) {
        let Some(width) = self.width else { return };
        self.pass(end);
        let sums = std::mem::take(&mut self.sums);
        for (index, sum) in sums.into_iter().enumerate() {
            let start = (index as Nanos).saturating_mul(width);
            let length = width.min(end.saturating_sub(start));
            if length > 0 {
                self.levels.set(start, (sum / length as f64) as f32);
            }
        }
    }

    /// From now on steps are kept: what was kept exactly becomes half as many of them as there may be.
    fn begin_steps(&mut self, now: Nanos) {
        let levels = std::mem::take(&mut self.levels);
        self.width = Some((now / (self.most as u64 / 2)).max(1));
        for (at, watts) in levels.at.into_iter().zip(levels.value) {
            self.pass(at);
            self.present = Some((at, watts.into()));
        }
    }

    /// Adds the present power up to `now` to the steps.
    fn pass(&mut self, now: Nanos) {
        let Some((mut since, watts)) = self.present else { return };
        while since < now {
            let width = self.width.unwrap_or(1);
            let step = (since / width) as usize;
            if step >= self.most {
                self.widen();
                continue;
            }
            if self.sums.len() <= step {
                self.sums.resize(step + 1, 0.0);
            }
            let until = now.min((step as Nanos + 1).saturating_mul(width));
            self.sums[step] += watts * (until - since) as f64;
            since = until;
        }
        self.present = Some((now, watts));
    }

    /// Steps of twice the width.
    fn widen(&mut self) {
        self.width = self.width.map(|width| width * 2);
        self.sums = self.sums.chunks(2).map(|pair| pair.iter().sum()).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_change_is_kept_once_and_an_instant_has_one_value() {
        let mut levels = Levels::default();
        for (now, value) in [(0, 1), (5, 1), (7, 2), (7, 3), (9, 4), (9, 3)] {
            levels.set(now, value);
        }
        assert_eq!((levels.at, levels.value), (vec![0, 7], vec![1, 3]));
    }

    #[test]
    fn a_power_that_changes_often_keeps_its_energy() {
        let mut exact = Means::up_to(1 << 20);
        let mut few = Means::up_to(16);
        let mut joules = 0.0;
        for step in 0..1000_u64 {
            let watts = (step % 7) as f64;
            exact.set(step * 10, watts);
            few.set(step * 10, watts);
            joules += watts * 10.0;
        }
        exact.finish(10_000);
        few.finish(10_000);
        assert_eq!((exact.width, exact.levels.at.len()), (None, 1000));
        assert!(few.width.is_some() && few.levels.at.len() <= 16, "{few:?}");
        let energy = |means: &Means| {
            let ends = means.levels.at.iter().skip(1).copied().chain([10_000]);
            let spans = means.levels.at.iter().zip(ends).zip(&means.levels.value);
            spans.map(|((from, to), watts)| (to - from) as f64 * f64::from(*watts)).sum::<f64>()
        };
        assert!((energy(&exact) - joules).abs() < 1.0 && (energy(&few) / joules - 1.0).abs() < 1e-5);
    }
}
