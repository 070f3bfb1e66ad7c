// SPDX-License-Identifier: MIT OR Apache-2.0
//! Power while CPUs do something, as the machine's meters have it.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::Duration;

use super::bench::{Bench, Done, Work};
use crate::meter::{Measured, Meters, Part, Why};

/// How long clocks, voltages and idle states get to settle.
const SETTLE: Duration = Duration::from_millis(300);
/// How long a power is measured, and how often one after the other: the median counts, as what else runs for a moment raises one.
const WINDOW: Duration = Duration::from_millis(700);
const TIMES: usize = 3;
/// How many times as long while all is idle.
const IDLE_WINDOWS: u32 = 2;
/// How long by a battery, which counts in steps of seconds.
const BATTERY_WINDOW: Duration = Duration::from_secs(60);
/// How long, where nothing counts energy and only speed is wanted.
const SPEED_WINDOW: Duration = Duration::from_millis(300);

/// Mean powers, in watts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Watts {
    /// All that the meter covers: packages, else the machine.
    pub whole: f64,
    /// The cores' part of it.
    pub cores: Option<f64>,
    /// Memory beside the packages.
    pub dram: Option<f64>,
}

/// What was measured while CPUs did something.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sample {
    pub watts: Option<Watts>,
    pub done: Vec<Done>,
}

impl Sample {
    /// Steps per second of the slowest CPU.
    pub(super) fn slowest(&self) -> f64 {
        self.done.iter().map(|done| done.per_s).fold(f64::INFINITY, f64::min)
    }

    /// Clock of the slowest CPU, where all count their cycles.
    fn lowest_mhz(&self) -> Option<f64> {
        let mhz: Option<Vec<f64>> = self.done.iter().map(|done| done.mhz).collect();
        mhz.filter(|mhz| !mhz.is_empty()).map(|mhz| mhz.into_iter().fold(f64::INFINITY, f64::min))
    }

    /// The clock relative to another sample's with the same work. Where cycles are not counted the speed stands for it, which is
    /// less, too, if something else takes a CPU for a while.
    pub(super) fn clock_to(&self, other: &Self) -> f64 {
        match self.lowest_mhz().zip(other.lowest_mhz()) {
            Some((own, other)) => own / other,
            None => self.slowest() / other.slowest(),
        }
    }
}

/// Meters, and what makes CPUs busy meanwhile.
pub(super) struct Powers<'a> {
    bench: &'a mut dyn Bench,
    /// Whether somebody wants it to end.
    stop: &'a dyn Fn() -> bool,
    meters: Meters,
    window: Duration,
    /// What the meters cover; why nothing, else.
    pub covers: Result<String, String>,
}

impl<'a> Powers<'a> {
    /// Looks for a second at what the meters say.
    pub(super) fn new(bench: &'a mut dyn Bench, meters: Meters, stop: &'a dyn Fn() -> bool) -> Self {
        let mut powers = Self { bench, stop, meters, window: WINDOW, covers: Ok(String::new()) };
        let _ = powers.sample(&[], Work::Compute);
        let measured = powers.meters.measured();
        let waits =
            |measured: &Measured| measured.missing.iter().any(|missing| matches!(missing.why, Why::TooFewSteps(_)));
        powers.covers = match covers(&measured) {
            Some(covers) => Ok(covers),
            None if waits(&measured) => {
                powers.window = BATTERY_WINDOW;
                Ok("the machine, by its battery".to_owned())
            }
            None => {
                powers.window = SPEED_WINDOW;
                Err(measured.why_not())
            }
        };
        powers
    }

    pub(super) fn bench(&mut self) -> &mut dyn Bench {
        self.bench
    }

    /// Whether somebody wants it to end.
    pub(super) fn are_to_stop(&self) -> bool {
        (self.stop)()
    }

    /// Whether each measurement takes a minute.
    pub(super) fn is_slow(&self) -> bool {
        self.window == BATTERY_WINDOW
    }

    /// Power and speed while these CPUs work and the others idle. While none works it takes longer: idle states differ by much
    /// less than busy cores do, and errors of meters go by what is in all. A battery is looked at once, as it counts in steps of
    /// seconds, and so is speed where there are no meters.
    pub(super) fn sample(&mut self, cpus: &[u32], work: Work) -> Result<Sample, String> {
        let goes_on = || if (self.stop)() { Err("it was interrupted".to_owned()) } else { Ok(()) };
        goes_on()?;
        let times = if self.is_slow() || self.covers.is_err() { 1 } else { TIMES };
        let window = if times > 1 && cpus.is_empty() { IDLE_WINDOWS * self.window } else { self.window };
        let (meters, mut parts) = (&mut self.meters, Vec::with_capacity(times + 1));
        let mut end = None;
        let done = self.bench.run(cpus, work, SETTLE + window * times as u32, &mut |now| {
            let end = end.get_or_insert(now + SETTLE);
            // Counters can start again between two looks at them.
            meters.sample_at(now);
            if now >= *end && parts.len() < times {
                parts.push(watts(&meters.measured()));
                meters.restart_at(now);
                // Who looks late makes no part of a moment.
                *end = (*end + window).max(now + window / 2);
            }
            if goes_on().is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        let done = done.map_err(|why| format!("a thread cannot run there: {why}"))?;
        goes_on()?;
        parts.push(watts(&self.meters.measured()));
        // The first is that of settling.
        Ok(Sample { watts: median(parts.into_iter().skip(1).flatten().collect()), done })
    }
}

/// The middle one of several powers.
fn median(mut parts: Vec<Watts>) -> Option<Watts> {
    parts.sort_by(|one, other| one.whole.total_cmp(&other.whole));
    parts.get(parts.len().saturating_sub(1) / 2).copied()
}

/// Packages without their memory where each has a counter, else all that is known of the machine.
fn watts(measured: &Measured) -> Option<Watts> {
    let seconds = measured.time.as_secs_f64();
    let joules = |part| {
        measured.energy.iter().filter(|energy| energy.domain.part == part).map(|energy| energy.joules).sum::<f64>()
    };
    let number = |part| {
        let of_part = measured.energy.iter().filter(|energy| energy.domain.part == part);
        of_part.map(|energy| (energy.domain.package, energy.domain.die)).collect::<BTreeSet<_>>().len()
    };
    let packages = number(Part::Package);
    if has_packages(measured) {
        let part = |part| (number(part) == packages).then(|| joules(part) / seconds);
        let whole = joules(Part::Package) / seconds;
        return Some(Watts { whole, cores: part(Part::Core), dram: part(Part::Dram) }).filter(|_| seconds > 0.0);
    }
    let total = measured.total()?;
    (seconds > 0.0).then(|| Watts { whole: total.joules / seconds, ..Watts::default() })
}

fn has_packages(measured: &Measured) -> bool {
    let is_package = |part| part == Part::Package;
    let is_missing = measured.missing.iter().any(|missing| is_package(missing.domain.part));
    !is_missing && measured.energy.iter().any(|energy| is_package(energy.domain.part))
}

fn covers(measured: &Measured) -> Option<String> {
    if has_packages(measured) {
        let names = measured.energy.iter().filter(|energy| energy.domain.part == Part::Package);
        return Some(names.map(|energy| energy.source.clone()).collect::<Vec<_>>().join(", "));
    }
    measured.total().map(|total| total.covers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_powers_the_middle_one_counts() {
        let watts = |whole: f64| Watts { whole, cores: Some(whole - 1.0), dram: None };
        // One of them was raised by something else.
        assert_eq!(median(vec![watts(5.1), watts(9.0), watts(5.0)]), Some(watts(5.1)));
        assert_eq!(median(vec![watts(5.0), watts(9.0)]), Some(watts(5.0)));
        assert_eq!((median(vec![watts(5.0)]), median(Vec::new())), (Some(watts(5.0)), None));
    }
}
