// SPDX-License-Identifier: MIT OR Apache-2.0
//! The measurements of one kind of core.

use tandem_loader::cpus::CpuList;

use super::bench::Work;
use super::fit::{Curve, Point, share};
use super::kinds::Kind;
use super::meter::{Sample, Watts};
use super::{ClockPoint, MeasuredKind, Session};
use crate::tree::Tree;

/// A core among many with less than this part of the clock that one has alone has another one.
const SAME_CLOCK_TOGETHER: f64 = 0.97;
/// A clock that differs from what was asked for by this much is worth a sentence.
const SAME_CLOCK: f64 = 0.02;
/// The share of the time that cores must have been in the state that was left to them.
const RESIDENCY: f64 = 0.9;
/// Clocks that are measured where each takes a minute.
const FEW_CLOCKS: usize = 4;

/// What a core adds while it does something, and what is left without any.
#[derive(Debug, Clone, Copy)]
struct Each {
    watts: f64,
    /// `None`: a core could not be told from the rest.
    rest: Option<f64>,
}

impl Session<'_> {
    /// All about a kind; and the power of everything beside its busy cores, at each clock.
    pub(super) fn kind(&mut self, kind: &Kind, base: Option<Watts>) -> (MeasuredKind, Vec<f64>) {
        let mut found = MeasuredKind { cpus: kind.threads(kind.cores.len()), ..MeasuredKind::default() };
        found.cpus.sort_unstable();
        let name = name(kind);
        if kind.khz.is_empty() {
            self.misses(
                &format!("clocks of {name}"),
                "there is no cpufreq that names clocks; the one they have is taken",
            );
        }
        let rests = self.clocks(kind, base, &mut found);
        let points = points(&found.clocks);
        found.curve = points.as_deref().and_then(Curve::through);
        if base.is_some() && found.curve.is_none() {
            self.misses(
                &format!("leakage of {name}"),
                "it takes voltages at three clocks (debugfs opp); what leaks counts as switching",
            );
        }
        self.middle(kind, base, &mut found);
        if let Some(base) = base {
            self.idle(kind, base, &mut found);
        }
        self.rest(kind);
        (found, rests)
    }

    fn clocks(&mut self, kind: &Kind, base: Option<Watts>, found: &mut MeasuredKind) -> Vec<f64> {
        let (mut rests, tree) = (Vec::new(), Tree::new(self.root));
        if let Some(why) = self.hold.as_ref().err().filter(|_| !kind.khz.is_empty()).cloned() {
            self.misses(&format!("{} at each of their clocks", name(kind)), &why);
            return rests;
        }
        let few = self.powers.is_slow() && kind.khz.len() > FEW_CLOCKS;
        let khz: Vec<u32> = match few {
            true => (0..FEW_CLOCKS).map(|at| kind.khz[at * (kind.khz.len() - 1) / (FEW_CLOCKS - 1)]).collect(),
            false if kind.khz.is_empty() => vec![0],
            false => kind.khz.clone(),
        };
        for khz in khz {
            let measured = self.held(kind, khz).and_then(|()| self.each(kind, base, Work::Compute, false));
            match measured {
                Ok((alone, each)) => {
                    let volts = kind.leaders(1).first().and_then(|cpu| volts(&tree, *cpu, khz));
                    let mhz = alone.done.first().and_then(|done| done.mhz);
                    let watts = each.map(|each| each.watts);
                    found.clocks.push(ClockPoint { khz, mhz, volts, watts });
                    rests.extend(each.and_then(|each| each.rest));
                    self.compare_clock(kind, khz, mhz);
                }
                Err(why) => {
                    self.misses(&format!("{} at {} MHz", name(kind), khz / 1000), &why);
                    break;
                }
            }
        }
        if !found.clocks.is_empty() && found.clocks.iter().all(|clock| clock.mhz.is_none()) {
            self.misses(
                &format!("clocks that {} really have", name(kind)),
                "the processor counts no cycles for programs, or not for this user's",
            );
        }
        rests
    }

    /// Holds a clock, where there is one to hold.
    fn held(&mut self, kind: &Kind, khz: u32) -> Result<(), String> {
        match &mut self.hold {
            _ if khz == 0 => Ok(()),
            Ok(hold) => hold.clock(kind, khz).map_err(|why| why.to_string()),
            Err(why) => Err(why.clone()),
        }
    }

    fn compare_clock(&mut self, kind: &Kind, khz: u32, mhz: Option<f64>) {
        let asked = f64::from(khz) / 1e3;
        if let Some(mhz) = mhz.filter(|mhz| khz > 0 && (mhz / asked - 1.0).abs() > SAME_CLOCK) {
            self.found.notes.push(format!("{} ran at {mhz:.0} MHz when {asked:.0} MHz were asked for", name(kind)));
        }
    }

    /// What one core of a kind adds, with all its threads busy or one of each. Where cores are slower together than alone, because
    /// a limit of power or of boost lowers their clock, fewer do it.
    fn each(
        &mut self,
        kind: &Kind,
        base: Option<Watts>,
        work: Work,
        threads: bool,
    ) -> Result<(Sample, Option<Each>), String> {
        let busy = |cores| if threads { kind.threads(cores) } else { kind.leaders(cores) };
        let alone = self.powers.sample(&busy(1), work)?;
        let Some(base) = base else { return Ok((alone, None)) };
        let one = alone.watts.ok_or("the meter said nothing while it was measured")?;
        let deepest = self.deepest(base);
        let mut cores = kind.in_one_package;
        while cores > 1 {
            let (all, sample) = self.watts(&busy(cores), work)?;
            if sample.clock_to(&alone) >= SAME_CLOCK_TOGETHER || matches!(work, Work::Chase { .. }) {
                let difference = self.difference(one, all, cores);
                return Ok((alone, difference.map(|(each, rest)| Each { watts: each + deepest, rest: Some(rest) })));
            }
            cores /= 2;
        }
        Ok((alone, Some(self.beyond_base(kind, one, base))))
    }

    /// What one busy core adds to everything idle. It and what it keeps awake cannot be told apart, unless cores are counted apart.
    fn beyond_base(&mut self, kind: &Kind, one: Watts, base: Watts) -> Each {
        let deepest = self.deepest(base);
        let apart = one.cores.zip(base.cores).filter(|_| self.found.cores_are_metered);
        if let Some((busy, idle)) = apart {
            return Each { watts: busy - idle + deepest, rest: Some(one.whole - (busy - idle)) };
        }
        let note = format!(
            "watts of {} contain what one busy core keeps awake: two of them at one clock were not possible",
            name(kind)
        );
        if !self.found.notes.contains(&note) {
            self.found.notes.push(note);
        }
        Each { watts: one.whole - base.whole + deepest, rest: None }
    }

    /// By the count of cores where there is one. The rest is always that of the whole.
    fn difference(&self, one: Watts, all: Watts, cores: usize) -> Option<(f64, f64)> {
        let whole = share(one.whole, all.whole, cores)?;
        let apart = one.cores.zip(all.cores).filter(|_| self.found.cores_are_metered);
        let each = apart.and_then(|(one, all)| share(one, all, cores)).map_or(whole.each, |share| share.each);
        Some((each.max(0.0), one.whole - each))
    }

    /// What needs one clock only, at the middle one: siblings, and waiting for memory.
    fn middle(&mut self, kind: &Kind, base: Option<Watts>, found: &mut MeasuredKind) {
        let khz = kind.khz.get(kind.khz.len() / 2).copied().unwrap_or(0);
        let Some(volts) = found.clocks.first().map(|_| volts(&Tree::new(self.root), kind.leaders(1)[0], khz)) else {
            return;
        };
        let leakage = found.curve.zip(volts).map_or(0.0, |(curve, volts)| curve.leakage_watts_per_v * volts);
        let compute = self.held(kind, khz).and_then(|()| self.each(kind, base, Work::Compute, false));
        let (alone, each) = match compute {
            Ok(measured) => measured,
            Err(why) => return self.misses(&format!("SMT and waiting for memory of {}", name(kind)), &why),
        };
        let activity = |other: Option<Each>| {
            let (other, each) = (other?.watts - leakage, each?.watts - leakage);
            (each > 0.0 && other > 0.0).then_some(other / each)
        };
        if kind.cores[0].len() > 1 {
            match self.each(kind, base, Work::Compute, true) {
                Ok((both, other)) => {
                    found.smt_speed = Some((both.slowest() / alone.slowest()).min(1.0));
                    found.smt_activity = activity(other).map(|activity| activity.max(1.0));
                }
                Err(why) => self.misses(&format!("SMT of {}", name(kind)), &why),
            }
        }
        if base.is_some() {
            let bytes = self.beyond_caches(kind.in_one_package);
            match self.each(kind, base, Work::Chase { bytes }, false) {
                Ok((_, other)) => found.stall_activity = activity(other).map(|activity| activity.min(1.0)),
                Err(why) => self.misses(&format!("power of {} that wait for memory", name(kind)), &why),
            }
        }
    }

    /// Watts of a core in each idle state: it is the only one that is left to one core, then to all.
    fn idle(&mut self, kind: &Kind, base: Watts, found: &mut MeasuredKind) {
        let deepest = self.deepest(base);
        let why_not = match &self.hold {
            _ if kind.states.is_empty() => Some("there is no cpuidle".to_owned()),
            Ok(_) => None,
            Err(why) => Some(why.clone()),
        };
        if let Some(why) = why_not {
            return self.misses(&format!("idle watts of {}", name(kind)), &why);
        }
        for (state, of) in &kind.states {
            if Some(*state) == kind.deepest() {
                found.idle.push((of.clone(), deepest));
                continue;
            }
            match self.state(kind, *state, base) {
                Ok(watts) => found.idle.push((of.clone(), (watts + deepest).max(0.0))),
                Err(why) => self.misses(&format!("watts of {} in {of}", name(kind)), &why),
            }
        }
        if found.idle.len() < kind.states.len() {
            self.found
                .notes
                .push(format!("{} have idle states that were not measured: all of theirs are assumed", name(kind)));
        }
    }

    /// Watts of a core in a state beyond those in its deepest.
    fn state(&mut self, kind: &Kind, state: u32, base: Watts) -> Result<f64, String> {
        let one = self.only(kind, 1, state);
        let all = one.as_ref().ok().filter(|_| kind.in_one_package > 1);
        let all = all.is_some().then(|| self.only(kind, kind.in_one_package, state)).transpose();
        // Whatever came of it: what is measured next is to find all in their deepest state.
        self.rest(kind);
        let (one, all) = (one?, all?);
        let apart = self.found.cores_are_metered;
        let of = |watts: Watts| watts.cores.filter(|_| apart).unwrap_or(watts.whole);
        let shared = all.and_then(|all| share(of(one), of(all), kind.in_one_package));
        Ok(shared.map_or(of(one) - of(base), |share| share.each))
    }

    /// Power while some cores have this state only.
    fn only(&mut self, kind: &Kind, cores: usize, state: u32) -> Result<Watts, String> {
        let cpus = kind.threads(cores);
        self.leave(kind, &cpus, state)?;
        let time_in = |session: &Self| session.hold.as_ref().ok().and_then(|hold| hold.time_in(&cpus, state));
        let (before, begun) = (time_in(self), self.powers.bench().now());
        let (watts, _) = self.watts(&[], Work::Compute)?;
        self.wake(&cpus)?;
        let after = time_in(self);
        let time = self.powers.bench().now().saturating_sub(begun).as_micros() as f64 * cpus.len() as f64;
        let stayed = before.zip(after).map(|(before, after)| after.saturating_sub(before) as f64 / time);
        match stayed {
            None => Err("the kernel does not say how long CPUs were in it".to_owned()),
            Some(share) if share < RESIDENCY => {
                Err(format!("CPUs were in it for {:.0} % of the time only, though they had no other", share * 100.0))
            }
            Some(_) => Ok(watts),
        }
    }
}

fn name(kind: &Kind) -> String {
    let cpus = kind.threads(kind.cores.len());
    format!("CPUs {}", cpus.iter().map(|cpu| *cpu as usize).collect::<CpuList>())
}

/// Volts of an operating point, as the OPP library of the kernel has them.
fn volts(tree: &Tree, cpu: u32, khz: u32) -> Option<f64> {
    let hertz = u64::from(khz) * 1000;
    let path = format!("sys/kernel/debug/opp/cpu{cpu}/opp:{hertz}/supply-0/u_volt_target");
    tree.number::<f64>(&path).filter(|microvolts| *microvolts > 0.0).map(|microvolts| microvolts * 1e-6)
}

/// The operating points of which everything is known, if these are all.
fn points(clocks: &[ClockPoint]) -> Option<Vec<Point>> {
    let point =
        |clock: &ClockPoint| Some(Point { mhz: f64::from(clock.khz) / 1e3, volts: clock.volts?, watts: clock.watts? });
    clocks.iter().map(point).collect()
}
