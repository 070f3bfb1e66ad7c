// SPDX-License-Identifier: MIT OR Apache-2.0
//! One meter, and what it counted.

use std::fmt::Debug;
use std::path::PathBuf;
use std::time::Duration;

use super::why::{Why, read_number};

/// What of the machine a meter covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// What the maker of the board put behind the processor's counter of the platform (`psys`): processor and memory at
    /// least, mostly all that the board feeds.
    Platform,
    /// A processor with all that is in it.
    Package,
    /// Cores of a processor; part of its package.
    Core,
    /// Graphics in the processor; part of its package.
    Uncore,
    /// The memory at a processor; no part of its package.
    Dram,
    /// All that the machine draws, at its power supply.
    Machine,
    /// All that the machine draws, out of its batteries.
    Battery,
    /// A graphics card.
    Gpu,
    /// Nobody says what.
    Other,
}

impl Part {
    /// The part in a word, for programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Platform => "platform",
            Self::Package => "package",
            Self::Core => "core",
            Self::Uncore => "uncore",
            Self::Dram => "dram",
            Self::Machine => "machine",
            Self::Battery => "battery",
            Self::Gpu => "gpu",
            Self::Other => "other",
        }
    }

    /// Whether the processor's own counters (RAPL) count it, which can be read in several ways.
    pub(super) fn is_of_processor(self) -> bool {
        matches!(self, Self::Platform | Self::Package | Self::Core | Self::Uncore | Self::Dram)
    }

    /// Whether it draws power as long as the machine runs, so that a meter of it that stands still does not work. Graphics
    /// can be off.
    pub(super) fn always_draws(self) -> bool {
        matches!(self, Self::Platform | Self::Package | Self::Core | Self::Dram | Self::Machine)
    }
}

/// A part, of which there can be several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Domain {
    /// What kind of part.
    pub part: Part,
    /// The processor's number (`physical_package_id`); 0 for what is not a processor's.
    pub package: u32,
    /// The die in it, where each has its own counters; else 0.
    pub die: u32,
}

impl Domain {
    /// A part of which the machine has one.
    pub(super) fn of(part: Part) -> Self {
        Self { part, package: 0, die: 0 }
    }
}

/// How a number came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// A counter of energy, read at the beginning and at the end.
    Counted,
    /// A power that was read every now and then, and added up as if it had changed evenly in between.
    Sampled {
        /// The longest time between two samples.
        longest_gap: Duration,
    },
}

/// What a meter says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// A counter's value.
    Count(u64),
    /// A power now.
    Watts(f64),
    /// Joules since the first reading.
    Given(f64),
}

/// How to read a meter.
pub trait Probe: Debug + Send {
    /// What the meter says now: always the same kind of [`Amount`].
    ///
    /// # Errors
    /// Why it says nothing.
    fn read(&mut self) -> Result<Amount, Why>;
}

/// What one count is worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Unit {
    pub joules: f64,
    /// The count after which it starts again at 0.
    pub range: Option<u64>,
}

impl Unit {
    /// Counters of powercap and hwmon.
    pub(super) const MICROJOULES: Self = Self { joules: 1e-6, range: None };
}

/// A file with a counter.
#[derive(Debug)]
pub(super) struct CounterFile(pub PathBuf);

impl Probe for CounterFile {
    fn read(&mut self) -> Result<Amount, Why> {
        read_number(&self.0).map(Amount::Count)
    }
}

/// A meter that is there, whether or not it can be read.
#[derive(Debug)]
pub(super) struct Found {
    pub name: String,
    pub domain: Domain,
    pub unit: Unit,
    pub probe: Result<Box<dyn Probe>, Why>,
}

/// How often a battery must have counted on: with ten steps, half a step too much or too little at either end is 10 %.
const BATTERY_STEPS: u32 = 10;

/// A meter that could be read once, and what it counted since.
#[derive(Debug)]
pub(super) struct Source {
    pub name: String,
    pub domain: Domain,
    unit: Unit,
    probe: Box<dyn Probe>,
    lost: Option<Why>,
    last: (Duration, Amount),
    begun: Duration,
    joules: f64,
    /// How often it said something new.
    steps: u32,
    longest_gap: Duration,
}

impl Source {
    pub(super) fn new(name: String, domain: Domain, unit: Unit, mut probe: Box<dyn Probe>) -> Result<Self, Why> {
        let last = (Duration::ZERO, probe.read()?);
        let (begun, longest_gap) = (Duration::ZERO, Duration::ZERO);
        Ok(Self { name, domain, unit, probe, lost: None, last, begun, joules: 0.0, steps: 0, longest_gap })
    }

    /// Reads it. One that fails once is lost for good: if it came back, nobody would know what it missed.
    pub(super) fn sample(&mut self, now: Duration) {
        if self.lost.is_some() {
            return;
        }
        match self.probe.read().and_then(|amount| self.add(now, amount)) {
            Ok(()) => {}
            Err(why) => {
                self.lost = Some(Why::Lost { after: now.saturating_sub(self.begun), why: Box::new(why) });
            }
        }
    }

    fn add(&mut self, now: Duration, amount: Amount) -> Result<(), Why> {
        let (before, last) = self.last;
        let gap = now.saturating_sub(before);
        self.joules += match (last, amount) {
            (Amount::Count(last), Amount::Count(now)) => self.counted(last, now)? as f64 * self.unit.joules,
            (Amount::Watts(last), Amount::Watts(now)) => (last + now) / 2.0 * gap.as_secs_f64(),
            (Amount::Given(last), Amount::Given(now)) => now - last,
            // A probe says always the same kind.
            _ => 0.0,
        };
        self.steps += u32::from(last != amount);
        self.longest_gap = self.longest_gap.max(gap);
        self.last = (now, amount);
        Ok(())
    }

    /// Counts between two readings. More than one start within a gap cannot be seen.
    fn counted(&self, last: u64, now: u64) -> Result<u64, Why> {
        match self.unit.range {
            _ if now >= last => Ok(now - last),
            Some(range) if range >= last => Ok(range - last + now),
            _ => Err(Why::WentBack),
        }
    }

    /// Forgets what it counted so far.
    pub(super) fn restart(&mut self) {
        (self.joules, self.steps, self.longest_gap) = (0.0, 0, Duration::ZERO);
        self.begun = self.last.0;
    }

    /// What it counted, if that is worth something.
    pub(super) fn joules(&self) -> Result<f64, Why> {
        if let Some(why) = &self.lost {
            return Err(why.clone());
        }
        match self.domain.part {
            Part::Battery if self.steps < BATTERY_STEPS => Err(Why::TooFewSteps(self.steps)),
            part if part.always_draws() && self.joules <= 0.0 => Err(Why::StandsStill(self.last.0 - self.begun)),
            _ => Ok(self.joules),
        }
    }

    pub(super) fn method(&self) -> Method {
        match self.last.1 {
            Amount::Watts(_) => Method::Sampled { longest_gap: self.longest_gap },
            Amount::Count(_) | Amount::Given(_) => Method::Counted,
        }
    }
}
