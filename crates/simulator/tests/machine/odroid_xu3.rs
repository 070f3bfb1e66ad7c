// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the models of speed and power say of the programs that were measured on an Odroid-XU3, at every operating point.
//!
//! Of the core types `cachekiller` has calibrated the path to memory, `gzip-1` the work per clock and the watts. A program has
//! three traits, from the A15 alone: its memory-bound share from its speed at 200 MHz over that at 2000, its work from its
//! speed there, its activity from its watts there. The rest is predicted; docs/models.md has the table that comes out.

use std::collections::BTreeMap;

use tandem_simulator::machine::Machine;
use tandem_simulator::machine::power::{CoreState, core_watts};
use tandem_simulator::machine::speed::{Core, MemoryUse, Pace, demand};
use tandem_simulator::units::CpuId;

/// Of each program and core the operating points: MHz, watts, speed.
type Measured = BTreeMap<(String, String), Vec<(u32, f64, f64)>>;

const LITTLE: CpuId = CpuId(0);
const BIG: CpuId = CpuId(4);
/// By how much the speed at 200 MHz over that at 2000 must exceed the clocks' ratio to count as waiting for memory: speeds of
/// programs that fit the caches scatter by 2 %.
const SCATTER: f64 = 1.05;

fn measured() -> Measured {
    let mut found = Measured::new();
    for line in include_str!("odroid_xu3.txt").lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        let point = (words[2].parse().unwrap(), words[3].parse().unwrap(), words[4].parse().unwrap());
        found.entry((words[1].to_owned(), words[0].to_owned())).or_default().push(point);
    }
    found
}

/// Nanoseconds per unit of work and switching activity, of work that waits for memory in this share.
fn predict(machine: &Machine, cpu: CpuId, mhz: u32, memory_bound: f64) -> (f64, f64) {
    let core_type = machine.core_type(cpu);
    let memory = MemoryUse { memory_bound, ..MemoryUse::default() };
    let core = Core { khz: f64::from(mhz) * 1e3, ipc: core_type.ipc, smt: 1.0, overlap: core_type.memory_overlap };
    let pace = Pace::new(&demand(machine, memory, cpu, None), &machine.reference, core, (1e9, 1e9));
    let computing = pace.computing(1.0);
    (pace.time(1.0), computing + (1.0 - computing) * core_type.stall_activity)
}

fn watts(machine: &Machine, cpu: CpuId, mhz: u32, activity: f64) -> f64 {
    let domain = &machine.performance_domains[machine.cpus[cpu.index()].performance_domain.index()];
    let opp = domain.opps.iter().find(|opp| opp.khz == mhz * 1000).unwrap();
    core_watts(machine.cluster(cpu), opp, CoreState::Active(activity), 1.0)
}

/// The share of memory with which the A15 at 200 MHz has this share of its speed at 2000.
fn memory_bound(machine: &Machine, ratio: f64) -> f64 {
    let at = |m| predict(machine, BIG, 2000, m).0 / predict(machine, BIG, 200, m).0;
    if ratio <= at(0.0) * SCATTER {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if at(middle) < ratio { low = middle } else { high = middle }
    }
    (high * 1e3f64).round() / 1e3
}

/// The largest error of a prediction, and how many are within a limit: `−3 %, 19 of 19`.
struct Errors {
    all: Vec<f64>,
    limit: f64,
}

impl Errors {
    fn within(&self) -> usize {
        self.all.iter().filter(|error| error.abs() <= self.limit).count()
    }

    fn text(&self) -> String {
        let worst = self
            .all
            .iter()
            .copied()
            .fold(0.0, |worst: f64, error| if error.abs() > worst.abs() { error } else { worst });
        format!("{:+.0} %, {} of {}", 100.0 * worst, self.within(), self.all.len())
    }
}

/// What is predicted of a program: speed and watts on the A15, and on the A7, each against what was measured.
struct Prediction {
    memory_bound: f64,
    activity: f64,
    /// A15: speed, watts; A7: speed in its own at the highest clock, that in the A15's, watts.
    errors: [Errors; 5],
}

fn prediction(machine: &Machine, measured: &Measured, program: &str) -> Prediction {
    let points = |core: &str| &measured[&(program.to_owned(), core.to_owned())];
    let (big, little) = (points("big"), points("little"));
    let (first, top) = (big[0], big[big.len() - 1]);
    let m = memory_bound(machine, first.2 / top.2);
    let (unit, activity) = predict(machine, BIG, top.0, m);
    let own = top.1 / watts(machine, BIG, top.0, activity);
    let last = little[little.len() - 1];
    let little_top = predict(machine, LITTLE, last.0, m).0;
    let speed = |cpu, points: &[(u32, f64, f64)], unit: f64, whole: f64| {
        let error = |point: &(u32, f64, f64)| unit / predict(machine, cpu, point.0, m).0 / (point.2 / whole) - 1.0;
        Errors { all: points.iter().map(error).collect(), limit: 0.1 }
    };
    let power = |cpu, points: &[(u32, f64, f64)]| {
        let drawn = |mhz| watts(machine, cpu, mhz, own * predict(machine, cpu, mhz, m).1);
        Errors { all: points.iter().map(|point| drawn(point.0) / point.1 - 1.0).collect(), limit: 0.15 }
    };
    let errors = [
        speed(BIG, big, unit, 1.0),
        power(BIG, big),
        speed(LITTLE, little, little_top, last.2),
        speed(LITTLE, little, unit, 1.0),
        power(LITTLE, little),
    ];
    Prediction { memory_bound: m, activity: own, errors }
}

fn predictions() -> Vec<(String, Prediction)> {
    let machine = Machine::load("odroid-xu3").unwrap();
    let measured = measured();
    let programs = measured.keys().filter(|(_, core)| core == "big").map(|(program, _)| program.clone());
    programs.map(|program| (program.clone(), prediction(&machine, &measured, &program))).collect()
}

/// The table of docs/models.md is what the models say, whether it flatters them or not.
#[test]
fn the_documented_errors_come_out() {
    let page = include_str!("../../../../docs/models.md");
    let row = |(program, Prediction { memory_bound, activity, errors }): (String, Prediction)| {
        let errors: Vec<String> = errors.iter().map(Errors::text).collect();
        format!("| {program} | {memory_bound:.2} | {activity:.2} | {} |\n", errors.join(" | "))
    };
    let table: String = predictions().into_iter().map(row).collect();
    assert!(page.contains(&table), "docs/models.md lacks\n{table}");
}

#[test]
fn speed_and_power_of_most_operating_points_are_near_what_was_measured() {
    let all = predictions();
    let share = |which: usize| {
        let of = |count: fn(&Errors) -> usize| all.iter().map(|(_, found)| count(&found.errors[which])).sum::<usize>();
        of(Errors::within) as f64 / of(|errors| errors.all.len()) as f64
    };
    assert!(share(0) > 0.98 && share(1) > 0.98, "A15: {} {}", share(0), share(1));
    assert!(share(2) > 0.85, "A7: {}", share(2));
}

/// √³(1 + (350/f)³) over that at 2000 MHz: what a stream of misses takes on the A15.
#[test]
fn a_stream_of_misses_slows_down_as_by_hand() {
    let machine = Machine::load("odroid-xu3").unwrap();
    let norm = |mhz: f64| (1.0 + (350.0 / mhz).powi(3)).cbrt();
    for (mhz, speed) in [(200, 0.5407), (600, 0.9431), (2000, 1.0)] {
        let time = predict(&machine, BIG, mhz, 1.0).0;
        assert!((time - norm(f64::from(mhz)) / norm(2000.0)).abs() < 1e-9);
        assert!((1.0 / time - speed).abs() < 5e-4, "{mhz} MHz: {}", 1.0 / time);
    }
}
