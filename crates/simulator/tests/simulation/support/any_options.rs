// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random options: all six governors, seeds, kernel parameters.

use proptest::prelude::*;
use proptest::test_runner::Config;
use tandem_simulator::simulation::{Governor, KernelParameters, Linux, Options, Preempt};
use tandem_simulator::units::{MSEC, Nanos, USEC};

/// A configuration of `usual` cases, or `soak` of them where `TANDEM_SOAK` is `yes`, as `make soak` has it; unless `PROPTEST_CASES`
/// asks for another number. Failing cases are printed whole: regression files would only hold seeds, which a change of the
/// generators makes worthless. Shrinking gets a minute.
pub fn cases(usual: u32, soak: u32) -> Config {
    let soaks = std::env::var_os("TANDEM_SOAK").is_some_and(|value| value == "yes");
    let count = if soaks { soak } else { usual };
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { Config::default().cases } else { count };
    Config { cases, failure_persistence: None, max_shrink_time: 60_000, ..Config::default() }
}

/// Any options without a time limit.
pub fn any_options() -> impl Strategy<Value = Options> {
    (governor(), any::<u64>(), kernel()).prop_map(|(governor, seed, kernel)| Options {
        governor,
        seed,
        kernel,
        ..Options::default()
    })
}

fn governor() -> impl Strategy<Value = Governor> {
    let names = ["performance", "powersave", "userspace", "userspace=900MHz", "ondemand", "conservative", "schedutil"];
    prop::sample::select(names.to_vec()).prop_map(|name| name.parse().expect("a governor"))
}

/// Disturbances, slack of timers, CPUs without a tick.
fn system() -> impl Strategy<Value = (bool, Option<Nanos>, Vec<u32>)> {
    let slack = prop::option::weighted(0.3, (0..2000u64).prop_map(|us| us * USEC));
    let full = prop::sample::select(vec![vec![], vec![], vec![1], vec![0, 1, 2, 3], (1..64).collect()]);
    (prop::bool::weighted(0.25), slack, full)
}

fn kernel() -> impl Strategy<Value = KernelParameters> {
    let hz = prop::sample::select(vec![100u64, 250, 300, 1000]);
    let slice = prop::option::weighted(0.3, (100..100_000u64).prop_map(|us| us * USEC));
    let throttle =
        prop_oneof![3 => Just(Some(950 * MSEC)), 1 => Just(None), 1 => (1..1000u64).prop_map(|ms| Some(ms * MSEC))];
    let mostly = || prop::bool::weighted(0.85);
    let features = (mostly(), mostly(), mostly(), mostly(), mostly(), mostly(), mostly(), mostly());
    let linux = prop::sample::select(Linux::NAMES.map(|(_, linux)| linux).to_vec());
    let added = (any::<bool>(), prop::bool::weighted(0.15), system(), linux, any::<bool>());
    (hz, slice, throttle, added, features).prop_map(|(hz, base_slice, rt_runtime, added, features)| {
        let (hrtick_dl, autogroup, (disturbances, timer_slack, nohz_full), linux, as_configured) = added;
        // What a release has, the other way round than it is configured.
        let has = linux.release();
        let other = if has.preempt == Preempt::Lazy { Preempt::Full } else { Preempt::Lazy };
        let (run_to_parity, wakeup_preemption, delay_dequeue, place_lag, energy_aware, capacity_aware, balance, idle) =
            features;
        KernelParameters {
            hz,
            base_slice,
            run_to_parity,
            wakeup_preemption,
            delay_dequeue,
            place_lag,
            autogroup,
            energy_aware,
            capacity_aware,
            load_balance: balance,
            rt_runtime,
            hrtick_dl,
            linux,
            preempt: (has.resched_curr_lazy && !as_configured).then_some(other),
            hrtick: (!as_configured).then_some(false),
            cpuidle: idle,
            disturbances,
            timer_slack,
            nohz_full,
            ..KernelParameters::default()
        }
    })
}
