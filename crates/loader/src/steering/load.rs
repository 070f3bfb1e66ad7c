// SPDX-License-Identifier: MIT OR Apache-2.0
//! How busy CPUs are, from one look to the next.

/// What meters show at one time. Numbers only grow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// The time, ns.
    pub now: u64,
    /// By CPU: how long it has not been idle so far, ns. A CPU that is offline stays where it was.
    pub busy: Vec<u64>,
    /// How long so far some thread was ready and had no CPU, ns; `None`: nobody says.
    pub waiting: Option<u64>,
}

/// Reads meters.
pub trait Meters {
    /// What they show now; `None`: they cannot be read.
    fn reading(&mut self) -> Option<Reading>;
}

/// What happened between two readings, in thousandths of the time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Load {
    /// By CPU: how much it was busy.
    pub busy: Vec<u32>,
    /// How much of the time some thread waited for a CPU; 0 if nobody says.
    pub waiting: u32,
}

impl Load {
    /// What happened between two readings; `None` if no time did.
    pub fn between(earlier: &Reading, later: &Reading) -> Option<Self> {
        let elapsed = later.now.checked_sub(earlier.now).filter(|elapsed| *elapsed > 0)?;
        let share = |from: u64, to: u64| (to.saturating_sub(from).min(elapsed) * 1000 / elapsed) as u32;
        let from = |cpu: usize| earlier.busy.get(cpu).copied().unwrap_or(u64::MAX);
        let busy = later.busy.iter().enumerate().map(|(cpu, to)| share(from(cpu), *to)).collect();
        let waiting = earlier.waiting.zip(later.waiting).map_or(0, |(from, to)| share(from, to));
        Some(Self { busy, waiting })
    }

    /// How much the busiest of some CPUs was busy.
    pub fn busiest(&self, cpus: &[usize]) -> u32 {
        cpus.iter().filter_map(|cpu| self.busy.get(*cpu)).copied().max().unwrap_or(0)
    }
}

/// How a clock's CPUs have been used of late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Use {
    /// Too much to be called light, or not long enough lightly.
    #[default]
    Loaded,
    /// Lightly, for some time.
    Light,
}

/// What decides whether a use is light. One look at load is enough to leave it, several are needed to come to it: a clock that is
/// raised late costs time, one that is lowered late only energy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hysteresis {
    /// Up to so many thousandths the busiest CPU is used lightly.
    pub light: u32,
    /// From so many on it is not.
    pub loaded: u32,
    /// Looks in a row that must find it light.
    pub looks: u32,
    /// Up to so many thousandths of waiting do not matter.
    pub waiting: u32,
}

/// A clock's use, and for how many looks it has been light.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    light_looks: u32,
    /// What it is taken for.
    pub now: Use,
}

impl Usage {
    /// One more look: the busiest CPU's share, and that of waiting.
    pub fn look(&mut self, rules: &Hysteresis, busiest: u32, waiting: u32) {
        if busiest >= rules.loaded || waiting > rules.waiting {
            *self = Self::default();
        } else if busiest <= rules.light {
            self.light_looks = (self.light_looks + 1).min(rules.looks);
            if self.light_looks == rules.looks {
                self.now = Use::Light;
            }
        } else {
            self.light_looks = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(now: u64, busy: &[u64], waiting: Option<u64>) -> Reading {
        Reading { now, busy: busy.to_vec(), waiting }
    }

    #[test]
    fn shares_are_of_the_time_between_two_readings() {
        let first = reading(1_000, &[100, 200], Some(10));
        let load = Load::between(&first, &reading(2_000, &[350, 1_200], Some(60))).unwrap();
        assert_eq!(load, Load { busy: vec![250, 1000], waiting: 50 });
        assert_eq!((load.busiest(&[0]), load.busiest(&[0, 1]), load.busiest(&[7])), (250, 1000, 0));
        assert_eq!(Load::between(&first, &first), None);
        // A CPU that nobody knew before, a counter that went back, and nobody who says who waits.
        let odd = Load::between(&first, &reading(2_000, &[50, 200, 900], None)).unwrap();
        assert_eq!(odd, Load { busy: vec![0, 0, 0], waiting: 0 });
    }

    #[test]
    fn use_becomes_light_after_three_looks_and_loaded_after_one() {
        let rules = Hysteresis { light: 300, loaded: 600, looks: 3, waiting: 50 };
        let mut usage = Usage::default();
        let mut look = |busiest, waiting| {
            usage.look(&rules, busiest, waiting);
            usage.now
        };
        assert_eq!([look(100, 0), look(300, 0), look(200, 50)], [Use::Loaded, Use::Loaded, Use::Light]);
        // Between the two nothing changes, but the count begins anew after load.
        assert_eq!([look(599, 0), look(600, 0)], [Use::Light, Use::Loaded]);
        assert_eq!([look(0, 0), look(400, 0), look(0, 0), look(0, 0)], [Use::Loaded; 4]);
        assert_eq!([look(0, 0), look(0, 51)], [Use::Light, Use::Loaded]);
    }
}
