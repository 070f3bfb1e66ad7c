// SPDX-License-Identifier: GPL-2.0-only
//! What is run: machines, workloads, loads.

use tandem_simulator::machine::{Machine, Package};
use tandem_simulator::metrics::Report;
use tandem_simulator::workload::Workload;

use crate::contest::{Contest, Outcome, ejected};
use crate::pace::slowness;
use crate::workloads::{INTERACTIVE, at_load, at_loads, bundled, generated, load};

/// Phones and boards, hybrids, servers: every other one is a selection of these, too.
const MACHINES: [&str; 12] = [
    "hikey960",
    "pixel6",
    "i9-12900k",
    "ryzen-ai-9-hx-370",
    "epyc-9554-2s",
    "epyc-9965",
    "rk3399",
    "sdm845",
    "core-ultra-7-258v",
    "smp-8",
    "apple-m1",
    "odroid-xu3",
];
/// Threads per CPU: light, half and full load.
const LOADS: [f64; 3] = [0.25, 0.5, 1.0];
/// What is judged for longer, where limits bind, and the application whose responses count.
const LONG: [(&str, Option<&str>); 4] =
    [("schbench", None), ("desktop", Some("interactive")), ("frames", Some("pipeline")), ("scientific", None)];
/// How long that is: budgets of power last a minute, and a phone's case is warm after less.
const LONG_SECONDS: u32 = 120;
/// Less than this is asked of no cell: a tenth of a millisecond later, where all is done within one, is seen by nobody.
const LEAST_NS: u64 = 100_000;

/// A workload on a machine.
pub struct Cell {
    /// The machine.
    pub machine: Machine,
    /// The workload.
    pub workload: Workload,
    /// Threads per CPU, as there are.
    pub load: f64,
    /// The application whose responses count; `None`: all.
    pub application: Option<&'static str>,
}

/// What counts of a run; less is better.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Joules per second of work on the reference CPU.
    pub energy: f64,
    /// Seconds, or seconds per round and per work.
    pub slowness: Vec<f64>,
    /// p99 of the response in ns, if the application has rounds.
    pub response: Option<f64>,
    /// Whether the loaded scheduler was ejected.
    pub ejected: bool,
}

/// The cells of the contest's half. The quick way has every other machine, and light and full load only.
pub fn cells(contest: &Contest<'_>) -> Outcome<Vec<Cell>> {
    let loads: &[f64] = if contest.quick { &[LOADS[0], LOADS[2]] } else { &LOADS };
    let mut cells = Vec::new();
    for (place, name) in MACHINES.iter().enumerate().filter(|(place, _)| !contest.quick || place % 2 == 0) {
        let machine = Machine::load(name)?;
        for (number, (workload, load, application)) in
            workloads(Contest::cpus(&machine), loads)?.into_iter().enumerate()
        {
            if contest.half.has(&[place, number]) {
                cells.push(Cell { machine: machine.clone(), workload, load, application });
            }
        }
    }
    Ok(cells)
}

/// Cells of two minutes at full load, of the contest's half, on machines that a limit of power or heat slows down.
pub fn long_cells(contest: &Contest<'_>) -> Outcome<Vec<Cell>> {
    let mut cells = Vec::new();
    for (place, name) in MACHINES.iter().enumerate() {
        let machine = Machine::load(name)?;
        if !is_limited(&machine) {
            continue;
        }
        for (number, (name, application)) in LONG.into_iter().enumerate() {
            if contest.half.has(&[place, number]) {
                let workload = long(contest, &machine, name)?;
                cells.push(Cell { machine: machine.clone(), workload, load: 1.0, application });
            }
        }
    }
    Ok(cells)
}

/// Whether power or heat may slow a machine down.
fn is_limited(machine: &Machine) -> bool {
    machine.packages.iter().any(Package::is_limited)
}

/// A workload of two minutes, with a thread for each CPU.
fn long(contest: &Contest<'_>, machine: &Machine, name: &str) -> Outcome<Workload> {
    let cpus = Contest::cpus(machine);
    if name != "scientific" {
        return at_load(name, cpus, cpus, LONG_SECONDS);
    }
    // Its length is its work: as much as fair would do if nothing became slower with time.
    let iterations =
        |number: u32| generated(name, &[("threads", cpus.to_string()), ("iterations", number.to_string())]);
    let begin = 200;
    let time = contest.run((machine, &iterations(begin)?), &contest.fair, 0, None)?.time_s;
    iterations((f64::from(begin * LONG_SECONDS) / time) as u32)
}

type Loaded = (Workload, f64, Option<&'static str>);

fn workloads(cpus: u32, loads: &[f64]) -> Outcome<Vec<Loaded>> {
    let mut all = Vec::new();
    for name in bundled() {
        all.extend(
            at_loads(&load(name)?, f64::from(cpus), loads).into_iter().map(|(workload, load)| (workload, load, None)),
        );
    }
    for load in loads {
        let threads = ((load * f64::from(cpus)) as u32).max(1);
        for (name, application) in INTERACTIVE {
            // At light load nothing computes beside what waits for somebody.
            let beside = if *load > LOADS[0] || name == "schbench" || name == "rpc" { threads } else { 0 };
            all.push((at_load(name, cpus, beside, 2)?, *load, application));
        }
        let text = |number: u32| number.to_string();
        all.push((generated("compile", &[("jobs", text(threads)), ("files", text(4 * threads))])?, *load, None));
        let iterations = ("iterations", "200".to_owned());
        all.push((generated("scientific", &[("threads", text(threads)), iterations])?, *load, None));
    }
    Ok(all)
}

impl Cell {
    /// What counts of a report of the cell.
    pub fn measure(&self, report: &Report, by_timers: bool) -> Measured {
        let timing = match self.application {
            Some(name) => report.apps.iter().find(|app| app.name == name).map(|app| &app.timing),
            None => Some(&report.timing),
        };
        let response = timing.and_then(|timing| timing.response_ns).map(|it| it.p99.max(LEAST_NS) as f64);
        let work: f64 = report.apps.iter().map(|app| app.work_s).sum();
        Measured {
            energy: report.energy_j.total / work,
            slowness: slowness(report, by_timers).into_iter().filter(|slow| slow.is_finite()).collect(),
            response,
            ejected: ejected(report),
        }
    }
}

impl Measured {
    /// Energy per work times the time for it.
    pub fn energy_delay(&self) -> f64 {
        self.energy * self.slowness.last().copied().unwrap_or(f64::NAN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn light_load_has_nothing_that_computes_beside() {
        let all = workloads(8, &LOADS).unwrap();
        let of = |name: &str, wanted: f64| {
            all.iter()
                .find(|(workload, load, _)| workload.name == name && *load == wanted)
                .map(|(workload, ..)| workload)
        };
        let threads = |name, load| of(name, load).map(crate::workloads::threads).unwrap();
        assert_eq!(threads("frames", 1.0) - threads("frames", 0.25), 8);
        assert_eq!(threads("schbench", 1.0) - threads("schbench", 0.25), 6);
    }

    #[test]
    fn energy_and_delay_multiply() {
        let measured = Measured { energy: 3.0, slowness: vec![1.0, 2.0], response: None, ejected: false };
        assert_eq!(measured.energy_delay(), 6.0);
    }

    #[test]
    fn limits_bind_on_phones_and_hybrids() {
        let limited = |name: &&&str| is_limited(&Machine::load(name).unwrap());
        let names: Vec<_> = MACHINES.iter().filter(limited).collect();
        assert_eq!(names, [&"hikey960", &"i9-12900k", &"ryzen-ai-9-hx-370", &"sdm845"]);
    }
}
