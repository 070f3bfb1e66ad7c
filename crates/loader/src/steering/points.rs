// SPDX-License-Identifier: MIT OR Apache-2.0
//! What work costs at each clock, and below which clock slower is no cheaper.

use std::fmt;

use crate::machine::OppTable;

/// Work at a clock may cost three hundredths more than at the cheapest one and count as cheap; the fastest of these is taken. No table has
/// what a package draws besides while any CPU is awake: that makes what is done sooner cheaper. The three stand for it, chosen on
/// i9-12900k and ryzen-ai-9-hx-370.
const AS_CHEAP: f64 = 1.03;
/// Who saves does without clocks above the lowest that has so much of the highest one's performance, if work costs less there by at
/// least as much as it takes longer.
const SAVING: f64 = 0.875;

/// What is known of a clock's costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Costs {
    /// Work costs least at this clock, in kHz: below it a CPU takes longer and draws more in all.
    Least {
        /// The clock.
        khz: u32,
        /// What work costs at the highest clock, over what it costs there.
        top: f64,
        /// The highest clock for who saves, in kHz.
        saving_khz: u32,
        /// Where this is known from.
        from: KnownFrom,
    },
    /// Nothing that could decide.
    Unknown(Unknown),
}

/// Where costs are known from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownFrom {
    /// The kernel's energy model, or a description of the machine.
    Table,
    /// A fit to what energy counters showed while it ran.
    Counters,
}

/// Why costs are not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// Nothing says what a clock draws.
    NoPower,
    /// There is one clock.
    OneClock,
    /// Energy was counted, but what was done does not tell the clocks apart.
    NotIdentified,
}

impl fmt::Display for KnownFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Table => "operating points",
            Self::Counters => "energy counters",
        })
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoPower => "nothing says what clocks draw",
            Self::OneClock => "there is one clock",
            Self::NotIdentified => "what ran does not tell clocks apart",
        })
    }
}

impl Costs {
    /// What follows from a table: the watts of a busy CPU, as described or else as the kernel's energy model has them, and the
    /// whole of what its clock's CPUs draw together while one is awake.
    pub fn of(table: &OppTable) -> Self {
        let points: Vec<Point> = (0..table.frequency.len()).filter_map(|at| Point::of(table, at)).collect();
        if table.frequency.len() < 2 {
            return Self::Unknown(Unknown::OneClock);
        }
        if points.len() < table.frequency.len() {
            return Self::Unknown(Unknown::NoPower);
        }
        Self::among(&points, KnownFrom::Table)
    }

    /// The cheapest of some points, ascending by clock.
    pub(super) fn among(points: &[Point], from: KnownFrom) -> Self {
        let least = points.iter().map(Point::cost).fold(f64::INFINITY, f64::min);
        let cheap = points.iter().rev().find(|point| point.cost() <= least * AS_CHEAP);
        match (cheap, points.last()) {
            (Some(cheap), Some(top)) => Self::Least {
                khz: cheap.khz,
                top: top.cost() / cheap.cost(),
                saving_khz: saving(points, *top).khz.max(cheap.khz),
                from,
            },
            _ => Self::Unknown(Unknown::NoPower),
        }
    }

    /// The highest clock for who saves, kHz.
    pub fn saving_khz(&self) -> Option<u32> {
        match self {
            Self::Least { saving_khz, .. } => Some(*saving_khz),
            Self::Unknown(_) => None,
        }
    }

    /// The clock where work costs least, kHz.
    pub fn least_khz(&self) -> Option<u32> {
        match self {
            Self::Least { khz, .. } => Some(*khz),
            Self::Unknown(_) => None,
        }
    }
}

/// Of some points, ascending by clock, the highest for who saves.
fn saving(points: &[Point], top: Point) -> Point {
    let enough = points.iter().find(|point| point.performance >= SAVING * top.performance);
    let pays = |point: &&Point| point.cost() / point.performance <= top.cost() / top.performance;
    enough.filter(pays).copied().unwrap_or(top)
}

/// An operating point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    pub khz: u32,
    /// Work in a second, in any unit.
    pub performance: f64,
    /// Watts, in any unit.
    pub power: f64,
}

impl Point {
    fn of(table: &OppTable, at: usize) -> Option<Self> {
        let described = table.busy_power.get(at).copied().filter(|power| *power > 0);
        let power = described.or_else(|| table.power.get(at).copied())? as f64;
        let performance = *table.performance.get(at)? as f64;
        let shared = table.static_power.get(at).copied().unwrap_or(0) as f64;
        let khz = u32::try_from(*table.frequency.get(at)?).ok()?;
        (power > 0.0 && performance > 0.0).then_some(Self { khz, performance, power: power + shared })
    }

    fn cost(&self) -> f64 {
        self.power / self.performance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(power: &[u64], shared: u64) -> OppTable {
        OppTable {
            frequency: vec![1_000_000, 2_000_000, 3_000_000],
            performance: vec![100, 200, 300],
            power: power.to_vec(),
            static_power: vec![shared; 3],
            ..OppTable::default()
        }
    }

    /// 1, 1.5 and 3 W of the CPU: 10, 7.5 and 10 mJ of work. With 4 W of the cluster 50, 27.5 and 23.3: race.
    #[test]
    fn what_is_shared_makes_racing_pay() {
        let costs = Costs::of(&table(&[1000, 1500, 3000], 0));
        assert_eq!(
            costs,
            Costs::Least { khz: 2_000_000, top: 10.0 / 7.5, saving_khz: 3_000_000, from: KnownFrom::Table }
        );
        assert_eq!(Costs::of(&table(&[1000, 1500, 3000], 4000)).least_khz(), Some(3_000_000));
    }

    #[test]
    fn of_clocks_that_cost_the_same_the_fastest_is_taken() {
        assert_eq!(Costs::of(&table(&[1000, 2050, 3300], 0)).least_khz(), Some(2_000_000));
    }

    #[test]
    fn without_power_or_clocks_nothing_is_known() {
        assert_eq!(Costs::of(&table(&[1000, 0, 3000], 0)), Costs::Unknown(Unknown::NoPower));
        assert_eq!(Costs::of(&OppTable::default()), Costs::Unknown(Unknown::OneClock));
    }
}
