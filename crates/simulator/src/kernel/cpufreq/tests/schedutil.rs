// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::kernel::cpufreq::schedutil::effective_cpu_util;
use proptest::prelude::*;

/// A schedutil governor without rate limit on a policy of `cpus` CPUs of `capacity`.
fn start(cpus: usize, capacity: u64) -> Schedutil {
    Schedutil::new(cpus, capacity, 0, TICK)
}

fn busy(cfs: u64) -> CpuUtil {
    CpuUtil { cfs, ..CpuUtil::default() }
}

/// The clock in MHz that a fresh governor picks for one CPU in a policy of two.
fn clock(util: CpuUtil) -> Option<u32> {
    let policy = policy();
    start(2, 1024).update(&policy, 0, 0, false, |_| util).map(|opp| policy.khz(opp) / 1000)
}

#[test]
fn a_cpu_runs_at_80_percent_of_its_clock() {
    assert_eq!(clock(busy(512)), Some(1500), "1.25 * 512/1024 * 2000 = 1250");
    assert_eq!(clock(busy(400)), Some(1000), "1.25 * 400/1024 * 2000 = 976");
    assert_eq!(clock(busy(820)), Some(2000), "1.25 * 820/1024 * 2000 = 2001");
    assert_eq!(clock(busy(1024)), Some(2000));
    assert_eq!(clock(busy(0)), None, "nothing asked for yet");
}

#[test]
fn utilisation_is_relative_to_the_cpus_capacity() {
    // A LITTLE CPU of 512: 256 is half of it.
    let policy = policy();
    let next = start(2, 512).update(&policy, 0, 0, false, |_| busy(256));
    assert_eq!(next, Some(2));
}

#[test]
fn the_busiest_cpu_of_a_policy_counts() {
    let policy = policy();
    let mut schedutil = start(3, 1024);
    let utils = [100, 512, 300];
    assert_eq!(schedutil.update(&policy, 0, 2, false, |cpu| busy(utils[cpu])), Some(2));
    assert_eq!(schedutil.update(&policy, 1, 0, false, |cpu| busy(utils[cpu])), None, "no change, no answer");
}

#[test]
fn classes_add_up_and_interrupts_stretch_them() {
    let util = CpuUtil { rt: 100, dl: 50, ..busy(106) };
    assert_eq!(effective_cpu_util(&util, 1024), (256, 0, 1024));
    let interrupted = CpuUtil { irq: 512, ..util };
    assert_eq!(effective_cpu_util(&interrupted, 1024), (640, 512, 1024), "512 + half of 256");
    assert_eq!(effective_cpu_util(&CpuUtil { irq: 1024, ..util }, 1024), (1024, 1024, 1024));
    assert_eq!(effective_cpu_util(&busy(2000), 1024).0, 1024);
}

#[test]
fn clamps_bound_the_clock() {
    assert_eq!(clock(CpuUtil { uclamp_max: 256, capped: true, ..busy(1000) }), Some(500));
    assert_eq!(clock(CpuUtil { uclamp_min: 700, ..busy(10) }), Some(1500), "700/1024 * 2000 = 1367, no headroom");
    assert_eq!(clock(CpuUtil { rt_wants_max: true, ..busy(10) }), Some(2000));
    assert!(uclamp_rq_is_capped(300, 256) && !uclamp_rq_is_capped(200, 256) && !uclamp_rq_is_capped(1024, 1024));
}

#[test]
fn changes_keep_the_rate_limit() {
    let policy = policy();
    let mut schedutil = Schedutil::new(2, 1024, MSEC, TICK);
    assert_eq!(schedutil.update(&policy, 5, 0, false, |_| busy(1024)), Some(3));
    assert_eq!(schedutil.update(&policy, MSEC + 4, 0, false, |_| unreachable!("too early to ask")), None);
    assert_eq!(schedutil.update(&policy, MSEC + 5, 0, false, |_| busy(100)), Some(0));
}

#[test]
fn deadline_tasks_override_the_rate_limit() {
    let policy = policy();
    let mut schedutil = Schedutil::new(2, 1024, MSEC, TICK);
    schedutil.update(&policy, 0, 0, false, |_| busy(1024));
    schedutil.ignore_dl_rate_limit(0, 100);
    let deadline = CpuUtil { dl_bandwidth: 100, ..busy(10) };
    assert_eq!(schedutil.update(&policy, 2, 0, false, |_| deadline), Some(0));
    schedutil.ignore_dl_rate_limit(0, 100);
    assert_eq!(schedutil.update(&policy, 3, 0, false, |_| unreachable!("no increase")), None);
}

#[test]
fn a_cpu_alone_holds_its_clock_until_it_has_idled() {
    let policy = policy();
    let mut schedutil = start(1, 1024);
    let at = |cfs, idle_calls| CpuUtil { idle_calls, ..busy(cfs) };
    assert_eq!(schedutil.update(&policy, 0, 0, false, |_| at(1024, 7)), Some(3));
    assert_eq!(schedutil.update(&policy, 1, 0, false, |_| at(100, 7)), None, "never idle since");
    assert_eq!(schedutil.update(&policy, 2, 0, false, |_| at(100, 8)), Some(0));
    assert_eq!(schedutil.update(&policy, 3, 0, false, |_| at(900, 8)), Some(3), "up is never held");
    let external = CpuUtil { scx_switched_all: true, ..at(100, 8) };
    assert_eq!(schedutil.update(&policy, 4, 0, false, |_| external), Some(0), "a sched_ext target is followed");
}

#[test]
fn wakeups_from_io_double_the_boost_and_ticks_without_end_it() {
    let policy = policy();
    let mut schedutil = start(2, 1024);
    let clocks: Vec<_> = (1..=5).map(|ms| schedutil.update(&policy, ms * MSEC, 0, true, |_| busy(0))).collect();
    // Boosts of 128, 256, 512, 1024: 312, 625, 1250, 2500 MHz with headroom.
    assert_eq!(clocks, [Some(0), Some(1), Some(2), Some(3), None]);
    // Without a wakeup it halves each time: 512, 256, 128.
    let clocks: Vec<_> = (6..=8).map(|ms| schedutil.update(&policy, ms * MSEC, 0, false, |_| busy(0))).collect();
    assert_eq!(clocks, [Some(2), Some(1), Some(0)]);
}

#[test]
fn a_boost_ends_with_a_tick_of_silence() {
    let policy = policy();
    let mut schedutil = start(2, 1024);
    for ms in 1..=4 {
        schedutil.update(&policy, ms * MSEC, 0, true, |_| busy(0));
    }
    assert_eq!(schedutil.update(&policy, 4 * MSEC + TICK + 1, 0, false, |_| busy(0)), Some(0));
}

proptest! {
    #[test]
    fn clocks_stay_within_limits(
        cpus in 1_usize..5,
        capacity in 1_u64..=1024,
        (min, max) in (0_usize..4, 0_usize..4),
        updates in prop::collection::vec(
            (0_u64..10 * MSEC, any::<bool>(), 0_u64..3000, 0_u64..1100, 0_u64..=1024, 0_u64..=1024, 0_u64..5),
            1..60,
        ),
    ) {
        let policy = policy_within(min.min(max), max);
        let mut schedutil = start(cpus, capacity);
        let mut now = 0;
        for (index, (delta, iowait, cfs, rt, uclamp_min, uclamp_max, idle_calls)) in updates.into_iter().enumerate() {
            now += delta;
            let util = CpuUtil { rt, uclamp_min, uclamp_max, idle_calls, ..busy(cfs) };
            let next = schedutil.update(&policy, now, index % cpus, iowait, |_| util);
            if let Some(opp) = next {
                prop_assert!(policy.khz(opp) >= policy.min_khz() && policy.khz(opp) <= policy.max_khz());
            }
        }
    }

    #[test]
    fn more_utilisation_never_means_a_lower_clock(low in 0_u64..=1024, high in 0_u64..=1024) {
        prop_assert!(clock(busy(low.min(high))) <= clock(busy(low.max(high))));
    }
}
