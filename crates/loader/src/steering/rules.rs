// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is done for a wish: a pure function of the wish, of how a clock is used, and of what its clocks cost.

use super::knobs::Preference;
use super::load::{Hysteresis, Use};
use super::points::Costs;
use super::wish::Wish;

/// A clock with its CPUs (a cpufreq policy).
#[derive(Debug, Clone, PartialEq)]
pub struct Domain {
    /// `policy0`.
    pub name: String,
    /// CPUs whose clock it is.
    pub cpus: Vec<usize>,
    /// The lowest clock of the hardware, kHz.
    pub lowest_khz: u32,
    /// The highest.
    pub highest_khz: u32,
    /// What work costs at its clocks.
    pub costs: Costs,
}

/// What is wanted of a clock's knobs; `None`: as they were found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wanted {
    /// How energy is to be weighed against speed.
    pub preference: Option<Preference>,
    /// The lowest clock, kHz.
    pub lowest: Option<u32>,
    /// The highest clock, kHz.
    pub highest: Option<u32>,
}

/// What decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// When a clock's use is light.
    pub light: Hysteresis,
    /// With the wish to save, the highest clock asked for, in thousandths of the highest that was found.
    pub saving_top: u32,
    /// The same while the use is light.
    pub saving_light: u32,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            light: Hysteresis { light: 300, loaded: 600, looks: 4, waiting: 100 },
            saving_top: 900,
            saving_light: 750,
        }
    }
}

impl Rules {
    /// What is wanted of a clock. `found` are the lowest and highest clock that others have set, kHz.
    ///
    /// A clock below the one where work costs least is never cheaper, whatever runs: that one is the lowest for any wish. Beyond that
    /// nothing is certain to cost no time: a clock that is lowered makes what computes slower, and the processor, not this loop,
    /// sees each burst. So `balanced` leaves the rest as it was found.
    pub fn wanted(&self, wish: Wish, domain: &Domain, usage: Use, found: (u32, u32)) -> Wanted {
        let floor = domain.costs.least_khz().map(|least| least.min(found.1)).filter(|floor| *floor > found.0);
        match wish {
            Wish::Performance => Wanted { preference: Some(Preference::Performance), lowest: floor, highest: None },
            Wish::Balanced => Wanted { preference: None, lowest: floor, highest: None },
            Wish::Powersave => {
                let share = if usage == Use::Light { self.saving_light } else { self.saving_top };
                let cap = (u64::from(found.1) * u64::from(share) / 1000) as u32;
                let highest = cap.max(floor.unwrap_or(0)).max(found.0);
                Wanted {
                    preference: Some(Preference::BalancePower),
                    lowest: floor,
                    highest: Some(highest).filter(|highest| *highest < found.1),
                }
            }
        }
    }
}
