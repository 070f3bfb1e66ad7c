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

/// What decides. Preferences are numbers of `energy_performance_preference`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// When a clock's use is light.
    pub light: Hysteresis,
    /// With no wish: the preference while the use is light, if the lowest clock was raised.
    pub light_preference: u8,
    /// With the wish to save: the preference.
    pub saving_preference: u8,
    /// With the wish to save: the preference while the use is light.
    pub saving_light_preference: u8,
}

impl Default for Rules {
    /// Chosen on i9-12900k and ryzen-ai-9-hx-370, as simulated.
    fn default() -> Self {
        Self {
            light: Hysteresis { light: 400, loaded: 700, looks: 4, waiting: 100 },
            light_preference: 144,
            saving_preference: 176,
            saving_light_preference: 192,
        }
    }
}

impl Rules {
    /// What is wanted of a clock. `found` are the lowest and the highest clock that others have set, kHz; `preference` is theirs.
    ///
    /// A clock below the one where work costs least is never cheaper, whatever runs: so that one is the lowest, for any wish. It makes
    /// what is short faster. Some of that is given up again while the use is light, by a preference that lets the processor go
    /// less far above: the same speed all the time costs less than a low clock first and a high one then. What is loaded keeps
    /// the preference that was found: a processor that is told to save would make it slower. Who wishes to save does without the
    /// highest clocks.
    pub fn wanted(&self, wish: Wish, domain: &Domain, usage: Use, found: (u32, u32), preference: Preference) -> Wanted {
        let floor = domain.costs.least_khz().map(|least| least.min(found.1)).filter(|floor| *floor > found.0);
        let most = domain.costs.saving_khz().filter(|most| *most < found.1 && *most >= floor.unwrap_or(found.0));
        let is_light = usage == Use::Light;
        let number = match wish {
            Wish::Performance => Some(0),
            Wish::Balanced => (is_light && floor.is_some()).then_some(self.light_preference),
            Wish::Powersave if is_light => Some(self.saving_light_preference),
            Wish::Powersave => Some(self.saving_preference),
        };
        // Nobody who saves is made to spend more, nor the other way round.
        let found_number = preference.number().unwrap_or(DEFAULT_PREFERENCE);
        let further = |number: &u8| match wish {
            Wish::Performance => *number < found_number,
            Wish::Balanced | Wish::Powersave => *number > found_number,
        };
        let preference = number.filter(further).map(Preference::of_number);
        // Where what was found saves as much already, the processor does without them by itself.
        let saves = wish == Wish::Powersave && preference.is_some();
        Wanted { preference, lowest: floor, highest: most.filter(|_| saves) }
    }
}

/// What processors begin with.
const DEFAULT_PREFERENCE: u8 = 128;
