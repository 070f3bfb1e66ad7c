// SPDX-License-Identifier: GPL-2.0-only
//! Richling et al., "Saving Energy without Performance Degradation", on their Opteron 8435 and Phenom 9950: a kernel
//! compilation of one process after the other.
//!
//! The compilation is that of the generator `compile` with assumed lengths: 20 files instead of an hour. All run times and
//! energies are over those of the performance governor; energy is the whole machine's, as theirs.

use super::support::{Estimate, Report, SEEDS, Workload, print};

const SPEED: &str = "tandem,speed=true+schedutil";

/// Reports of all seeds.
fn run(workload: &Workload, machine: &str, scheduler: &str) -> Vec<Report> {
    SEEDS.map(|seed| Report::of(workload, machine, scheduler, seed, &[])).collect()
}

/// Time and energy under `scheduler`, over those of `baseline`.
fn beside(baseline: &[Report], workload: &Workload, machine: &str, scheduler: &str) -> [Estimate; 2] {
    let tried = run(workload, machine, scheduler);
    [Report::time, Report::energy].map(|value| {
        Estimate::of(&tried.iter().zip(baseline).map(|(new, old)| value(new) / value(old)).collect::<Vec<_>>())
    })
}

fn compilation() -> Workload {
    Workload::generated(&["compile", "--files", "20", "--jobs", "1"])
}

fn print_both(what: &str, [time, energy]: [Estimate; 2], paper: [&str; 2]) {
    print(&format!("{what}, time / performance"), time, paper[0]);
    print(&format!("{what}, energy / performance"), energy, paper[1]);
}

/// The slide "Evaluation: Quad AMD Opteron 8435": 3.1 % longer for 1.5 % less energy; the sampling governors take longer and more energy, too.
/// `speed` gets no powers here, as Linux has no energy model of an x86 machine: it saves 0.2 % (4.9 % while it was told them).
#[test]
fn a_clock_by_events_saves_energy_and_clocks_by_samples_waste_it() {
    let workload = compilation();
    let performance = run(&workload, "opteron-8435", "fair+performance");
    let measure = |scheduler, paper| {
        let both = beside(&performance, &workload, "opteron-8435", scheduler);
        print_both(&format!("opteron-8435, {scheduler}"), both, paper);
        both
    };
    let [time, energy] = measure(SPEED, ["1.031", "0.985"]);
    let [time_10, energy_10] = measure("fair+ondemand=10ms", ["1.190", "1.119"]);
    let [time_200, energy_200] = measure("fair+ondemand=200ms", ["1.549", "1.444"]);
    let [time_low, energy_low] = measure("fair+powersave", ["2.996", "2.729"]);
    assert!(time.is_below(1.05) && energy.is_below(1.0) && energy.is_within(0.94..=1.0), "{time} {energy}");
    // A third to three times of what the paper has above 1.
    assert!(time_10.is_above(time.mean) && time_10.is_within(1.06..=1.57), "{time_10}");
    assert!(energy_10.is_above(1.0) && energy_10.is_within(1.04..=1.36), "{energy_10}");
    assert!(time_200.is_above(time_10.mean) && time_200.is_within(1.18..=2.65), "{time_200}");
    assert!(energy_200.is_above(energy_10.mean) && energy_200.is_within(1.15..=2.33), "{energy_200}");
    assert!(time_low.is_within(2.5..=3.5) && energy_low.is_within(2.2..=3.3), "{time_low} {energy_low}");
}

/// The paper's numbers for this machine are not known here: a prediction. That energy is saved for no time is the paper's claim; that
/// a sampling governor takes time. It saves more energy than `speed`, which gets no powers here (0.870 while it was told them).
#[test]
fn the_older_machine_saves_more_for_no_time_either() {
    let workload = compilation();
    let performance = run(&workload, "phenom-9950", "fair+performance");
    let [time, energy] = beside(&performance, &workload, "phenom-9950", SPEED);
    print_both("phenom-9950, speed", [time, energy], ["predicted", "predicted"]);
    let [time_10, energy_10] = beside(&performance, &workload, "phenom-9950", "fair+ondemand=10ms");
    print_both("phenom-9950, ondemand 10 ms", [time_10, energy_10], ["predicted", "predicted"]);
    assert!(time.is_below(1.05) && energy.is_below(0.985), "{time} {energy}");
    assert!(time_10.is_above(time.mean) && energy_10.is_within(0.9..=1.0), "{time_10} {energy_10}");
}
