// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ranges that numbers of a description are held to, and the steps from its units to the simulator's.
//!
//! Upper bounds are far above any machine; they keep arithmetic exact and tables small, whatever a file says.

use std::fmt;

use crate::units::Nanos;

/// An interval of numbers, closed above.
#[derive(Debug, Clone, Copy)]
pub(super) struct Range {
    low: f64,
    /// Whether `low` itself is outside.
    above: bool,
    high: f64,
}

/// Work per cycle, relative speeds.
pub(super) const RATIO: Range = more_than_0(1e6);
/// A share that may be nothing.
pub(super) const SHARE: Range = from(0.0, 1.0);
/// A share that must be something.
pub(super) const PART: Range = more_than_0(1.0);
/// A factor of 1 or more.
pub(super) const FACTOR: Range = from(1.0, 1e3);
/// A factor of 0 or more.
pub(super) const GROWTH: Range = from(0.0, 1e6);
/// Power.
pub(super) const WATTS: Range = from(0.0, 1e6);
/// Energy of a byte.
pub(super) const NANOJOULES: Range = from(0.0, 1e6);
/// uW/MHz/V², watts per volt.
pub(super) const COEFFICIENT: Range = from(0.0, 1e9);
/// A clock: 1 kHz to 100 GHz.
pub(super) const MHZ: Range = from(0.001, 1e5);
/// A clock at which something changes; 0 where nothing does.
pub(super) const KNEE_MHZ: Range = from(0.0, 1e5);
/// An exponent of a norm: from the sum (1) to all but the maximum.
pub(super) const OVERLAP: Range = from(1.0, 64.0);
/// A supply voltage: 1 µV to 10 V.
pub(super) const MILLIVOLTS: Range = from(0.001, 1e4);
/// A span of time up to 10 s.
pub(super) const MICROSECONDS: Range = from(0.0, 1e7);
/// A time constant in seconds, K/W, J/K.
pub(super) const POSITIVE: Range = more_than_0(1e6);
/// Watts that a limit allows.
pub(super) const SOME_WATTS: Range = more_than_0(1e6);
/// A temperature in °C: colder than any machine, to hotter than any chip.
pub(super) const CELSIUS: Range = from(-100.0, 1000.0);
/// A bandwidth: 1 byte/s to 1 PB/s.
pub(super) const GB_PER_S: Range = from(1e-9, 1e6);

/// A distance as the SLIT has it: 10 within a node, 255 without a way.
pub(super) const DISTANCE: Range = from(10.0, 255.0);
/// Latency of memory, in any unit.
pub(super) const LATENCY: Range = more_than_0(1e6);
/// Bandwidth of a link; 0 from a node to itself.
pub(super) const LINK_GB_PER_S: Range = from(0.0, 1e6);

const fn from(low: f64, high: f64) -> Range {
    Range { low, above: false, high }
}

const fn more_than_0(high: f64) -> Range {
    Range { low: 0.0, above: true, high }
}

impl Range {
    pub(super) fn contains(self, value: f64) -> bool {
        let enough = if self.above { value > self.low } else { value >= self.low };
        enough && value <= self.high
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = if self.above { "more than" } else { "at least" };
        write!(f, "{bound} {}, at most {}", self.low, self.high)
    }
}

/// Microseconds in nanoseconds, rounded.
pub(super) fn nanos(microseconds: f64) -> Nanos {
    (microseconds * 1e3).round() as Nanos
}

/// Megahertz in kilohertz, rounded.
pub(super) fn khz(mhz: f64) -> u32 {
    (mhz * 1e3).round() as u32
}

/// Millivolts in microvolts, rounded.
pub(super) fn microvolts(millivolts: f64) -> u32 {
    (millivolts * 1e3).round() as u32
}

/// Kilohertz as a description writes them: `1844`, `403.2`.
pub(super) fn mhz_text(khz: u32) -> String {
    format!("{}", f64::from(khz) / 1e3)
}
