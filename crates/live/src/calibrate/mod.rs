// SPDX-License-Identifier: MIT OR Apache-2.0
//! What no file of a kernel says of its machine, measured: clocks, SMT, what cores draw at each clock and in each idle state, what
//! the package draws beside them, and what switching between threads costs.
//!
//! `kinds`: which cores are alike. `bench` and `work`: what makes them busy. `hold`: holds clocks and idle states, by a journal of
//! [`changes`](crate::changes). `meter`: the power meanwhile. `fit`: what that says of one core. `cores`: the
//! measurements of a kind. Here: those of the machine, and their order.
//!
//! **One core.** A meter covers a package or the machine. What a core draws is the difference that one more core makes: with one
//! core and with all of a kind doing the same, P(n) = rest + n · each. The rest is the package without busy cores. So a core's
//! number does not contain what is on as soon as one core is, and that of its package does.
//!
//! **Nothing.** Differences do not say what a core draws in its deepest idle state. Where the processor counts its cores apart,
//! that count does; else it is taken as 0, and what it is in truth is in the package's number. Sums come out right either way.
//!
//! **What it leaves out** is in [`Calibration::missing`], each with its reason. Whatever else runs meanwhile makes numbers wrong:
//! measure an idle machine.

mod bench;
mod cores;
pub mod fit;
mod hold;
mod kinds;
mod meter;
#[cfg(test)]
mod tests;
mod work;

use std::io::ErrorKind;
use std::path::Path;

pub use bench::{Bench, Done, ThisMachine, Work};
use tandem_loader::reading::ReadError;

use crate::changes::{ChangeError, Journal};
use crate::meter::Meters;
use fit::Curve;
use hold::Hold;
use kinds::Layout;
use meter::Powers;

/// What was measured of a machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Calibration {
    /// The meter that watts come from; `None`: there are no watts.
    pub meter: Option<String>,
    /// Whether the processor counts its cores apart. Else a core in its deepest idle state was taken to draw nothing.
    pub cores_are_metered: bool,
    /// What was measured of the cores of each kind.
    pub kinds: Vec<MeasuredKind>,
    /// One package beside its cores.
    pub uncore: Option<Uncore>,
    /// The memory of all nodes together.
    pub dram: Option<Dram>,
    /// Seconds of a switch between two threads.
    pub switch_s: Option<f64>,
    /// Seconds that a move to another CPU of the same last-level cache costs the first pass through 32 KiB.
    pub move_s: Option<f64>,
    /// How much more a move to another last-level cache costs it, seconds.
    pub move_llc_s: Option<f64>,
    /// What is doubtful, a sentence each.
    pub notes: Vec<String>,
    /// What was not measured.
    pub missing: Vec<Missing>,
}

/// Something that was not measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// What: `watts of idle states of CPUs 0-3`.
    pub what: String,
    /// Why not.
    pub why: String,
}

/// Cores that are alike.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MeasuredKind {
    /// Online CPUs.
    pub cpus: Vec<u32>,
    /// Clocks ascending, those that were measured.
    pub clocks: Vec<ClockPoint>,
    /// Switching and leakage, where voltages are known.
    pub curve: Option<Curve>,
    /// Names of idle states and the watts of one core in them.
    pub idle: Vec<(String, f64)>,
    /// Speed of each of several threads of a core, relative to one alone.
    pub smt_speed: Option<f64>,
    /// Switching power of a core with several threads, relative to one.
    pub smt_activity: Option<f64>,
    /// Switching power of a core that waits for memory, relative to computing.
    pub stall_activity: Option<f64>,
}

/// One operating point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockPoint {
    /// The clock that was asked for, kHz; 0 without cpufreq.
    pub khz: u32,
    /// The clock that a core had alone, where it counts its cycles.
    pub mhz: Option<f64>,
    /// Volts that the kernel asks for (debugfs `opp`).
    pub volts: Option<f64>,
    /// Watts of one busy core.
    pub watts: Option<f64>,
}

/// A package beside its cores, in watts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Uncore {
    /// While a core is busy: the median over all clocks.
    pub awake: f64,
    /// While all are in their deepest idle states.
    pub idle: f64,
}

/// Memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dram {
    /// Watts without traffic.
    pub idle_watts: f64,
    /// Joules of each byte that is read.
    pub joules_per_byte: f64,
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// It is not known what there is to measure.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Somebody asked to stop.
    #[error("{}", if left.is_empty() { "clocks and idle states are as they were before".to_owned() } else { left.join("; ") })]
    Stopped {
        /// What could not be given back, a sentence each; else clocks and idle states are as they were.
        left: Vec<String>,
    },
}

/// Measures the machine whose files are below `root`, which must be the one that this runs on. `folder` is where journals of
/// changes are (`/run/tandem`). `stop` is asked before each measurement, and ten times a second.
///
/// # Errors
/// [`CalibrateError`]. What cannot be measured is no error.
pub fn calibrate(root: &Path, folder: &Path, stop: &dyn Fn() -> bool) -> Result<Calibration, CalibrateError> {
    calibrate_with(root, folder, &mut ThisMachine::default(), Meters::find(root), stop)
}

/// The same with a machine of a test.
pub(crate) fn calibrate_with(
    root: &Path,
    folder: &Path,
    bench: &mut dyn Bench,
    meters: Meters,
    stop: &dyn Fn() -> bool,
) -> Result<Calibration, CalibrateError> {
    let layout = Layout::of(root)?;
    let journal = Journal::begin(root, folder).map_err(|why| match why {
        ChangeError::Journal { why, .. } if why.kind() == ErrorKind::PermissionDenied => {
            "only root may hold clocks and idle states".to_owned()
        }
        why => why.to_string(),
    });
    let mut session = Session {
        root,
        layout,
        hold: journal.map(Hold::new),
        powers: Powers::new(bench, meters, stop),
        found: Calibration::default(),
    };
    session.machine();
    let Session { hold, mut found, .. } = session;
    let left = hold.map(Hold::give_back).unwrap_or_default();
    if stop() {
        return Err(CalibrateError::Stopped { left });
    }
    found.notes.extend(left);
    Ok(found)
}

/// What is measured, and with what.
struct Session<'a> {
    root: &'a Path,
    layout: Layout,
    /// Why nothing can be held, else.
    hold: Result<Hold, String>,
    powers: Powers<'a>,
    found: Calibration,
}

/// Bytes that a thread goes through at least, to miss its caches.
const LEAST_BYTES: u64 = 16 << 20;
/// How much larger than all caches that is, all threads together.
const BEYOND_CACHES: u64 = 4;

impl Session<'_> {
    /// Measures one thing after the other.
    fn machine(&mut self) {
        self.found.meter = self.powers.covers.clone().ok();
        if let Err(why) = self.powers.covers.clone() {
            self.misses("watts of clocks and idle states, uncore and memory", &why);
        }
        let kinds = self.layout.kinds.clone();
        let mut base = None;
        for kind in &kinds {
            self.rest(kind);
        }
        if self.found.meter.is_some() {
            base = self.base(&kinds);
        }
        let mut rests = Vec::new();
        for kind in &kinds {
            let (measured, mut own) = self.kind(kind, base);
            self.found.kinds.push(measured);
            rests.append(&mut own);
        }
        self.uncore(base, rests);
        self.dram(&kinds, base);
        self.switching(&kinds);
    }

    fn misses(&mut self, what: &str, why: &str) {
        self.found.missing.push(Missing { what: what.to_owned(), why: why.to_owned() });
    }

    /// Power of a sample, where there must be some.
    fn watts(&mut self, cpus: &[u32], work: Work) -> Result<(meter::Watts, meter::Sample), String> {
        let sample = self.powers.sample(cpus, work)?;
        let watts = sample.watts.ok_or("the meter said nothing while it was measured")?;
        Ok((watts, sample))
    }

    /// The lowest clock, and the deepest idle state only.
    fn rest(&mut self, kind: &kinds::Kind) {
        let Ok(hold) = &mut self.hold else { return };
        // What cannot be held is said where it is needed.
        if let Some(lowest) = kind.khz.first() {
            let _ = hold.clock(kind, *lowest);
        }
        if let Some(deepest) = kind.deepest() {
            let _ = self.leave(kind, &kind.threads(kind.cores.len()), deepest);
        }
    }

    /// Leaves CPUs only one of their idle states, and has them go there.
    fn leave(&mut self, kind: &kinds::Kind, cpus: &[u32], state: u32) -> Result<(), String> {
        let hold = self.hold.as_mut().map_err(|why| why.clone())?;
        let held = hold.state(kind, cpus, state).map_err(|why| why.to_string());
        self.wake(cpus).and(held)
    }

    fn wake(&mut self, cpus: &[u32]) -> Result<(), String> {
        self.powers.bench().wake(cpus).map_err(|why| format!("a thread cannot run there: {why}"))
    }

    /// Everything idle, and whether cores are counted apart: a count to which one more busy core adds less than half of what it
    /// adds to the whole is another thing's (powercap shows AMD's counter of one core as that of all).
    fn base(&mut self, kinds: &[kinds::Kind]) -> Option<meter::Watts> {
        let several = kinds.iter().find(|kind| kind.in_one_package > 1).map(|kind| (kind, kind.in_one_package));
        let busy = several.and_then(|(kind, cores)| {
            let one = self.watts(&kind.leaders(1), Work::Compute).ok()?.0;
            Some((one, self.watts(&kind.leaders(cores), Work::Compute).ok()?.0, cores))
        });
        self.found.cores_are_metered = busy.is_some_and(|(one, all, cores)| {
            let whole = fit::share(one.whole, all.whole, cores);
            let apart = one.cores.zip(all.cores).and_then(|(one, all)| fit::share(one, all, cores));
            whole.zip(apart).is_some_and(|(whole, apart)| whole.each > 0.0 && apart.each >= 0.5 * whole.each)
        });
        match self.watts(&[], Work::Compute) {
            Ok((idle, _)) => {
                self.found.cores_are_metered &= idle.cores.is_some();
                Some(idle)
            }
            Err(why) => {
                self.misses("watts of clocks and idle states", &why);
                None
            }
        }
    }

    /// Watts of one core in its deepest idle state.
    fn deepest(&self, base: meter::Watts) -> f64 {
        let cores = base.cores.filter(|_| self.found.cores_are_metered);
        cores.unwrap_or(0.0) / self.layout.cores().max(1) as f64
    }

    /// `rests`: watts of the machine with no core busy, but one package awake, and all cores in their deepest states.
    fn uncore(&mut self, base: Option<meter::Watts>, mut rests: Vec<f64>) {
        let Some(base) = base else { return };
        if rests.is_empty() {
            self.misses("uncore watts", "no kind has several cores, whose difference would tell cores from the rest");
            return;
        }
        rests.sort_by(f64::total_cmp);
        let median = f64::midpoint(rests[(rests.len() - 1) / 2], rests[rests.len() / 2]);
        let packages = self.layout.packages as f64;
        let cores = self.deepest(base) * self.layout.cores() as f64;
        let idle = ((base.whole - cores) / packages).max(0.0);
        let awake = (median - cores - idle * (packages - 1.0)).max(idle);
        let (least, most) = (rests[0], rests[rests.len() - 1]);
        if most - least > 0.2 * (median - cores).max(0.0) {
            self.found.notes.push(format!(
                "the package beside its cores draws {:.1} to {:.1} W, by clock; {awake:.1} W, the median, is written",
                least - cores,
                most - cores
            ));
        }
        self.found.uncore = Some(Uncore { awake, idle });
    }

    /// Bytes that each of some threads goes through, to find them in no cache.
    fn beyond_caches(&self, threads: usize) -> u64 {
        (BEYOND_CACHES * self.layout.caches / threads.max(1) as u64).max(LEAST_BYTES)
    }

    fn dram(&mut self, kinds: &[kinds::Kind], base: Option<meter::Watts>) {
        let Some(base) = base else { return };
        let Some(idle_watts) = base.dram else {
            let why = "no meter counts memory apart from what else it covers";
            return self.misses("watts of memory and energy per byte", why);
        };
        let leaders: Vec<u32> = kinds.iter().flat_map(|kind| kind.leaders(kind.cores.len())).collect();
        let bytes = self.beyond_caches(leaders.len());
        let measured = self.watts(&leaders, Work::Read { bytes }).and_then(|(watts, sample)| {
            let per_s: f64 = sample.done.iter().map(|done| done.per_s).sum();
            let more = watts.dram.unwrap_or(0.0) - idle_watts;
            let is_some = more > 0.0 && per_s > 0.0;
            is_some
                .then_some(more / per_s)
                .ok_or_else(|| "traffic did not raise the count of memory's energy".to_owned())
        });
        match measured {
            Ok(joules_per_byte) => self.found.dram = Some(Dram { idle_watts, joules_per_byte }),
            Err(why) => self.misses("energy of memory per byte", &why),
        }
    }

    /// At the highest clocks.
    fn switching(&mut self, kinds: &[kinds::Kind]) {
        if self.powers.are_to_stop() {
            return;
        }
        let Some(cpu) = kinds.first().and_then(|kind| kind.leaders(1).first().copied()) else { return };
        if let Ok(hold) = &mut self.hold {
            for kind in kinds {
                let _ = kind.khz.last().map(|highest| hold.clock(kind, *highest));
            }
        }
        let (neighbours, strangers) = (self.layout.neighbours, self.layout.strangers);
        let bench = self.powers.bench();
        let switch = bench.switch(cpu);
        let near = neighbours.map(|(from, to)| bench.moved(from, to));
        let far = strangers.map(|(from, to)| bench.moved(from, to));
        let none = |what: &str| Err(format!("there are no two cores that {what} a last-level cache, or no file tells"));
        let known = |measured: Option<std::io::Result<f64>>, what| match measured {
            Some(measured) => measured.map_err(|why| why.to_string()),
            None => none(what),
        };
        let [switch, near, far] = [
            ("cost of a context switch", switch.map_err(|why| why.to_string())),
            ("cost of a migration", known(near, "share")),
            ("cost of a migration to another cache", known(far, "do not share")),
        ]
        .map(|(what, measured)| measured.map_err(|why| self.misses(what, &why)).ok());
        (self.found.switch_s, self.found.move_s) = (switch, near);
        self.found.move_llc_s = far.map(|far| (far - near.unwrap_or(0.0)).max(0.0));
        self.misses("cost of a tick", "no file and no clock of a program tells it from other interrupts");
    }
}
