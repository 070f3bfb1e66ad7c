// SPDX-License-Identifier: GPL-2.0-only
//! All mechanisms at once, against Linux's fair class with schedutil, on each paper's machine and kind of workload: the
//! energy-delay product of the same work.

use std::ops::Range;

use super::support::{Estimate, FEW, Report, SEEDS, Workload, print};

/// Time, energy and their product for a unit of the applications' work: some workloads run for a given time, and what
/// differs then is how much they get done.
fn per_work(report: &Report) -> [f64; 3] {
    let work: f64 = report.0["apps"].as_array().unwrap().iter().map(|app| app["work_s"].as_f64().unwrap()).sum();
    let (time, energy) = (report.time() / work, report.energy() / work);
    [time, energy, time * energy]
}

/// Prints and gives what `all` takes of what fair takes, seed by seed: the energy-delay product of each unit of work.
fn edp(machine: &str, generator: &[&str], seeds: Range<u64>) -> Estimate {
    let workload = Workload::generated(generator);
    let ratios = seeds.map(|seed| {
        let of = |scheduler: &str| per_work(&Report::of(&workload, machine, scheduler, seed, &[]));
        let (fair, all) = (of("fair+schedutil"), of("tandem,all=true+schedutil"));
        [0, 1, 2].map(|at| all[at] / fair[at])
    });
    let ratios: Vec<[f64; 3]> = ratios.collect();
    let estimate = |at: usize| Estimate::of(&ratios.iter().map(|ratio| ratio[at]).collect::<Vec<_>>());
    let what = format!("{machine}: {}", generator.join(" "));
    print(&what, estimate(2), &format!("none; time {}, energy {}", estimate(0), estimate(1)));
    estimate(2)
}

#[test]
fn noise_takes_no_larger_product_on_the_poweredge() {
    for (machine, threads) in [("hton-4-1", "4"), ("htoff-4-2", "4"), ("hton-8-2", "8")] {
        let product = edp(
            &format!("poweredge-2850:{machine}"),
            &["scientific", "--threads", threads, "--iterations", "300"],
            SEEDS,
        );
        // One thread for each context leaves little to gain where clocks are throttled at constant voltage.
        assert!(product.is_below(1.005), "{machine} {product}");
    }
}

#[test]
fn unequal_jobs_take_a_smaller_product_on_unequal_clocks() {
    for generator in [&["matmul", "--rows", "340-260", "--hints"][..], &["iterations", "--hints"]] {
        assert!(edp("precision-490:half-half", generator, FEW).is_below(0.9));
    }
    assert!(edp("opteron-8350:half-half", &["global-sum", "--total", "1s"], FEW).is_below(0.9));
}

#[test]
fn serial_and_parallel_phases_take_a_smaller_product_on_the_proliant() {
    let phases = ["phases", "--label", "1:1,1:4", "--duration", "10s"];
    assert!(edp("proliant-dl580:asymmetric", &phases, SEEDS).is_below(0.9));
    // On equal CPUs there is next to nothing to gain, and seniority costs up to half a percent of throughput, so a percent of the product.
    assert!(edp("proliant-dl580:symmetric", &phases, SEEDS).is_below(1.02));
}

#[test]
fn memory_bound_work_takes_a_smaller_product_on_the_core_2() {
    assert!(edp("core2-q6600", &["programs"], FEW).is_below(1.0));
    assert!(edp("core2-q6600", &["mixes", "--stream", "4", "--aluadd", "4"], FEW).is_below(0.95));
    assert!(edp("core2-q6600", &["mixes", "--stream", "4", "--aluadd", "0"], FEW).is_below(0.85));
}

/// On the older one it costs 3 %, as `speed` gets no powers on x86 and does not know that the clocks between cost less there (0.970
/// while it was told them).
#[test]
fn a_compile_job_takes_a_smaller_product_on_the_newer_machine_of_the_governor() {
    for (machine, limit) in [("opteron-8435", 1.0), ("phenom-9950", 1.05)] {
        assert!(edp(machine, &["compile", "--jobs", "1", "--files", "20"], SEEDS).is_below(limit));
    }
}
