// SPDX-License-Identifier: GPL-2.0-only
//! Whatever nice values threads have: their shares of a CPU are those of their weights.

use proptest::prelude::*;
use tandem_simulator::metrics::Report;
use tandem_simulator::workload::TaskSpec;

use super::run::{for_ms, hog, run, share};
use crate::equal;
use crate::long::combinations::support::any_options::cases;
use crate::long::combinations::support::workload::TaskExt;

/// Weights of nice values from -20 on, of nice 0: 1024 (`sched_prio_to_weight` of kernel/sched/core.c).
const WEIGHTS: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904, 3906, 3121, 2501,
    1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
];

/// Asserts that the threads have what their weights say, to so many points; those of a nice value have the same name.
fn assert_shares(report: &Report, nices: &[i8], points: f64) -> Result<(), TestCaseError> {
    let weight = |nice: i8| f64::from(WEIGHTS[(i32::from(nice) + 20) as usize]);
    let all: f64 = nices.iter().map(|nice| weight(*nice)).sum();
    for (number, nice) in nices.iter().enumerate() {
        let (measured, asked) = (share(report, &format!("hog{number}")), 100.0 * weight(*nice) / all);
        prop_assert!((measured - asked).abs() <= points, "nice {nice}: {measured} %, by weight {asked} %");
    }
    Ok(())
}

/// So many threads of each nice value.
fn hogs(nices: &[i8], times: u32) -> Vec<TaskSpec> {
    let of = |(number, nice): (usize, &i8)| hog(&format!("hog{number}")).nice(*nice).times(times);
    nices.iter().enumerate().map(of).collect()
}

proptest! {
    #![proptest_config(cases(8, 8))]

    #[test]
    fn shares_of_a_cpu_are_within_a_point_of_weights(nices in prop::collection::vec(-20i8..20, 2..7)) {
        assert_shares(&run(&equal::machine(1), &for_ms(16_000, hogs(&nices, 1))), &nices, 1.0)?;
    }

    /// Two threads of each, so that no weight stands for more than a CPU.
    #[test]
    fn shares_of_two_cpus_are_within_a_point_of_weights(nices in prop::collection::vec(-20i8..20, 2..6)) {
        assert_shares(&run(&equal::machine(2), &for_ms(16_000, hogs(&nices, 2))), &nices, 1.0)?;
    }
}
