// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which idle state a CPU enters, as Linux's cpuidle governors choose it: [`menu`], Linux's default, and [`teo`] of 6.12, made for
//! kernels whose tick stops in idle. Both predict the coming idle time, and both see of a state only what its driver says
//! ([`StateTimes`]); what it really costs to enter one they do not know.

pub mod menu;
pub mod teo;

use super::release::Release;
use crate::units::Nanos;
use menu::MenuDevice;
use teo::TeoDevice;

/// "No timer in sight", in the kernel `KTIME_MAX`; small enough (13 days) to multiply with a correction factor.
const FAR: Nanos = 1 << 50;

/// What the choice depends on of an idle state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateTimes {
    /// Longest time to the first instruction of a wakeup at the worst moment (`exit_latency`): entry and exit together, as
    /// `init_state_node` in `drivers/cpuidle/dt_idle_states.c` adds them.
    pub exit: Nanos,
    /// Shortest stay that the driver says pays, entry included (`target_residency`).
    pub residency: Nanos,
}

/// The situation in which a CPU goes idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdleEntry {
    /// Time to the next timer of this CPU, the tick not counted; `None` if there is none.
    pub next_timer: Option<Nanos>,
    /// Time to the next tick; without a meaning once the tick is stopped.
    pub next_tick: Nanos,
    /// The tick period.
    pub tick: Nanos,
    /// Whether the tick is stopped already (`tick_nohz_tick_stopped`): the CPU woke but found nothing to run.
    pub tick_stopped: bool,
    /// Longest exit latency that anyone tolerates; `Nanos::MAX` for no limit, 0 for "do not sleep".
    pub latency_limit: Nanos,
}

impl IdleEntry {
    /// Time to whatever wakes the CPU by itself, the tick included if it runs.
    fn next_event(&self) -> Nanos {
        let timer = self.next_timer.unwrap_or(FAR).min(FAR);
        if self.tick_stopped { timer } else { timer.min(self.next_tick) }
    }
}

/// What a governor decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selection {
    /// Index of the idle state.
    pub state: usize,
    /// How long the CPU is expected to stay.
    pub predicted: Nanos,
    /// Whether to stop the tick (a stopped one stays stopped).
    pub stop_tick: bool,
}

/// The governors, as `cpuidle.governor=` names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Governor {
    /// `menu`
    #[default]
    Menu,
    /// `teo`
    Teo,
}

impl Governor {
    /// The governor of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "menu" => Some(Self::Menu),
            "teo" => Some(Self::Teo),
            _ => None,
        }
    }

    /// The memory of a CPU that has not been idle yet; `states` is how many it has.
    pub fn device(self, states: usize) -> Device {
        match self {
            Self::Menu => Device::Menu(MenuDevice::default()),
            Self::Teo => Device::Teo(TeoDevice::new(states)),
        }
    }
}

/// One CPU's memory of its idle times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Device {
    /// That of [`menu`].
    Menu(MenuDevice),
    /// That of [`teo`].
    Teo(TeoDevice),
}

impl Device {
    /// Chooses an idle state. `states` go from shallow to deep, both times ascending; of an empty or single-entry list the
    /// choice is 0.
    #[inline]
    pub fn select(&mut self, states: &[StateTimes], entry: &IdleEntry, release: &Release) -> Selection {
        match self {
            Self::Menu(menu) => menu.select(states, entry, release),
            Self::Teo(teo) => teo.select(states, entry),
        }
    }

    /// The CPU woke after `measured` ns in `state`, whose exit latency (`exit`) is part of them; `by_tick` if the tick woke it.
    #[inline]
    pub fn reflect(&mut self, state: usize, exit: Nanos, measured: Nanos, by_tick: bool) {
        match self {
            Self::Menu(menu) => menu.reflect(measured, exit, by_tick),
            Self::Teo(teo) => teo.reflect(state, measured, by_tick),
        }
    }
}
