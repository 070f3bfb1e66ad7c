// SPDX-License-Identifier: GPL-2.0-only
//! The base on each kernel that the simulator knows.

use tandem_simulator::simulation::{Profile, SchedExt};

use super::run::{for_ms, hog, longest_wakeup_us, options, pairs, periodic, share, unequal, with, within};
use crate::equal;
use crate::long::combinations::scheduler::audited_run;
use crate::long::combinations::support::workload::TaskExt;

const KERNELS: [Profile; 3] = [Profile::V6_12, Profile::V6_18, Profile::V7];

/// The base on a kernel.
fn on(kernel: Profile) -> SchedExt {
    SchedExt { profile: Some(kernel), ..with(&[]) }
}

#[test]
fn weights_and_wakeups_are_the_same_on_each_kernel() {
    for kernel in KERNELS {
        let tasks = [hog("plain"), hog("nice").nice(5), hog("pinned").on(&[0]), periodic("light", 1, 50).after(30)];
        let report = audited_run(&equal::machine(1), &for_ms(4000, tasks), &options(on(kernel)));
        within(share(&report, "light"), 2.0, 0.1);
        within(share(&report, "nice"), 98.0 * 335.0 / 2383.0, 0.7);
        within(share(&report, "pinned"), 98.0 * 1024.0 / 2383.0, 0.7);
        assert!(longest_wakeup_us(&report, "light") < 10.0, "{kernel:?}");
    }
}

#[test]
fn several_caches_and_cpus_that_differ_do_on_each_kernel() {
    for kernel in KERNELS {
        for machine in [pairs(4), unequal(2, 2)] {
            let tasks = [hog("hog").times(6), hog("bound").on(&[0, 1]), periodic("light", 1, 10).times(3)];
            let report = audited_run(&machine, &for_ms(500, tasks), &options(on(kernel)));
            let busy: f64 = report.cpus.iter().map(|cpu| cpu.busy_s).sum();
            within(busy, 2.0, 0.002);
        }
    }
}
