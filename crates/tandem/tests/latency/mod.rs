// SPDX-License-Identifier: GPL-2.0-only
//! Threads that sleep until a time run as late in the simulator as in a kernel: the cases of `scenarios/latency`, compared.
//!
//! `scenarios/latency/kernel` has what a kernel did, as `guest/latency` recorded it; `LATENCY=FOLDER` names another recording.
//! `cargo test -p tandem-sched --test all latency:: -- --nocapture` prints the table of docs/fidelity.md.

mod case;
mod distribution;
mod simulated;

use case::Case;
use distribution::Distribution;

use crate::fidelity::simulated::opened;

/// Latencies of each sleeper that do not count: by then what its first turns owe is paid.
const SKIP: usize = 20;
/// The simulator's runs: the seed decides where in a tick they begin.
const SEEDS: u64 = 5;
/// By how much the mean may differ: microseconds, or a share of the kernel's, whichever is more.
const MEAN_US: f64 = 20.0;
const MEAN: f64 = 0.15;
/// By which share the 99th percentile may differ, or by `MEAN_US`.
const P99: f64 = 0.2;
/// The greatest distance of the two distributions, in ticks.
const DISTANCE_TICKS: f64 = 0.1;
/// From a due time to the thread that slept until then, where it need not wait: 3,941 instructions, which `guest/paths` counts
/// (`timer-busy`), of 2 ns. The simulator's interrupts and wake-ups take no time, so this is added.
const PATH_US: f64 = 3941.0 * 0.002;
/// Means beyond this are waits for other threads; only then can a model without waits be wrong.
const WAITS_US: f64 = 100.0;

fn pooled(late: Vec<Vec<f64>>) -> Vec<f64> {
    late.into_iter().flat_map(|one| one.into_iter().skip(SKIP)).collect()
}

/// The slice that a thread waits for at most, rounded up to ticks: what somebody would guess who knows no more.
fn whole_slice_us(case: &Case) -> f64 {
    let slice = match case.base_slice_us.max(case.hog_slice_us) {
        _ if case.scheduler != "fair" => 20_000.0,
        0 => 700.0,
        us => us as f64,
    };
    (slice / case.tick_us()).ceil() * case.tick_us()
}

/// Models that know nothing: who sleeps never waits, or always waits for a whole slice.
fn guesses(case: &Case) -> [Distribution; 2] {
    [Distribution::always(PATH_US), Distribution::always(whole_slice_us(case))]
}

/// What is wrong with a case.
fn mistakes(case: &Case, kernel: &Distribution, here: &Distribution) -> Vec<String> {
    let mut wrong = Vec::new();
    let apart = (here.mean() - kernel.mean()).abs();
    if apart > MEAN_US.max(MEAN * kernel.mean()) {
        wrong.push(format!("the mean is {:.1} us, not {:.1}", here.mean(), kernel.mean()));
    }
    let (p99, expected) = (here.quantile(0.99), kernel.quantile(0.99));
    if (p99 - expected).abs() > MEAN_US.max(P99 * expected) {
        wrong.push(format!("the 99th percentile is {p99:.1} us, not {expected:.1}"));
    }
    let distance = kernel.distance(here);
    if distance > DISTANCE_TICKS * case.tick_us() {
        wrong.push(format!("the distributions are {distance:.0} us apart"));
    }
    if kernel.mean() > WAITS_US && guesses(case).iter().any(|guess| kernel.distance(guess) < 2.0 * distance) {
        wrong.push("a guess is as good".to_owned());
    }
    wrong
}

/// The simulator's latencies, over all seeds.
fn simulated(case: &Case) -> Distribution {
    let scheduler = opened(&case.scheduler);
    let runs = (0..SEEDS).map(|seed| simulated::latencies(case, &scheduler, seed));
    Distribution::new(runs.flat_map(pooled).map(|us| us + PATH_US).collect())
}

/// A row of the table.
fn row(case: &Case, kernel: &Distribution, here: &Distribution) -> String {
    let pair = |of: &dyn Fn(&Distribution) -> f64| format!("{:.0} | {:.0}", of(kernel), of(here));
    let [no_wait, slice] = guesses(case).map(|guess| kernel.distance(&guess));
    format!(
        "| {}{} | {} | {} | {} | {} | {:.0} | {no_wait:.0} | {slice:.0} |",
        case.name,
        if case.known.is_some() { " (known)" } else { "" },
        pair(&Distribution::mean),
        pair(&|all| all.quantile(0.5)),
        pair(&|all| all.quantile(0.99)),
        pair(&Distribution::greatest),
        kernel.distance(here),
    )
}

mod long {
    use super::*;

    #[test]
    fn threads_that_sleep_until_a_time_run_as_late_as_in_a_kernel() {
        let mut wrong = Vec::new();
        println!("| case | mean: kernel | simulator | median | | 99 % | | greatest | | distance | no wait | a slice |");
        println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
        for case in Case::all() {
            let kernel = case.kernel();
            assert!(kernel.iter().all(|late| late.len() == case.count), "{}: too few", case.name);
            let kernel = Distribution::new(pooled(kernel));
            assert!(kernel.greatest() < case.period_us as f64, "{}: a due time was missed", case.name);
            let here = simulated(&case);
            println!("{}", row(&case, &kernel, &here));
            if case.known.is_none() {
                wrong.extend(mistakes(&case, &kernel, &here).iter().map(|mistake| format!("{}: {mistake}", case.name)));
            }
        }
        assert!(wrong.is_empty(), "the simulator and the kernel differ:\n{}", wrong.join("\n"));
    }
}
