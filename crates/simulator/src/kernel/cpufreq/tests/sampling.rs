// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use proptest::prelude::*;

const PERIOD: Nanos = 8 * MSEC;

/// A sampling governor with one CPU whose load the test chooses.
struct Bench {
    state: GovernorState,
    policy: Policy,
    now: Nanos,
    times: CpuTimes,
}

impl Bench {
    fn new(governor: &str, opp: usize) -> Self {
        Self::on(policy_at(opp), governor)
    }

    fn on(policy: Policy, governor: &str) -> Self {
        let state = parse(governor).start(&policy, 1024, &[CpuTimes::default()], 0, TICK);
        Self { state, policy, now: 0, times: CpuTimes::default() }
    }

    /// Lets `span` pass at `load` percent and takes a sample; returns the clock in MHz.
    fn sample(&mut self, span: Nanos, load: u64) -> u32 {
        self.now += span;
        self.times.idle += span * (100 - load) / 100;
        self.take_sample()
    }

    fn take_sample(&mut self) -> u32 {
        let times = self.times;
        let target = match &mut self.state {
            GovernorState::Ondemand(ondemand) => ondemand.sample(&self.policy, self.now, |_| times),
            GovernorState::Conservative(conservative) => conservative.sample(&self.policy, self.now, |_| times),
            _ => unreachable!("does not sample"),
        };
        if let Some(opp) = target {
            self.policy.set_current(opp);
        }
        self.policy.current_khz() / 1000
    }

    fn dbs(&self) -> &Dbs {
        match &self.state {
            GovernorState::Ondemand(ondemand) => ondemand.dbs(),
            GovernorState::Conservative(conservative) => conservative.dbs(),
            _ => unreachable!("does not sample"),
        }
    }
}

#[test]
fn a_sample_is_due_once_a_period() {
    let mut bench = Bench::new("ondemand", 0);
    // The first one at once.
    assert!(bench.dbs().due(0));
    bench.sample(PERIOD, 50);
    assert!(!bench.dbs().due(2 * PERIOD - 1));
    assert!(bench.dbs().due(2 * PERIOD));
}

#[test]
fn ondemand_goes_to_the_top_when_busy_and_in_proportion_when_not() {
    let mut bench = Bench::new("ondemand", 0);
    assert_eq!(bench.sample(PERIOD, 96), 2000);
    // 500 + 40 % of 1500 = 1100, closest to 1000; 500 + 85 % of 1500 = 1775, closest to 2000.
    assert_eq!(bench.sample(PERIOD, 40), 1000);
    assert_eq!(bench.sample(PERIOD, 85), 2000);
    assert_eq!(bench.sample(PERIOD, 80), 1500);
    assert_eq!(bench.sample(PERIOD, 0), 500);
}

#[test]
fn a_lower_threshold_raises_the_clock_sooner() {
    assert_eq!(Bench::new("ondemand", 0).sample(PERIOD, 82), 1500);
    assert_eq!(Bench::new("ondemand=up_threshold=80", 0).sample(PERIOD, 82), 2000);
}

#[test]
fn ondemand_stays_at_the_top_for_the_down_factor() {
    let mut bench = Bench::new("ondemand=sampling_down_factor=10", 0);
    bench.sample(PERIOD, 100);
    assert_eq!(bench.dbs().next_sample(), PERIOD + 10 * PERIOD);
    assert_eq!(bench.sample(10 * PERIOD, 40), 1000);
    assert_eq!(bench.dbs().next_sample(), 12 * PERIOD);
}

#[test]
fn a_task_that_slept_long_finds_its_clock_once() {
    let mut bench = Bench::new("ondemand", 0);
    bench.sample(PERIOD, 60);
    assert_eq!(bench.sample(10 * PERIOD, 0), 1500, "the load of before the sleep: 500 + 60 % of 1500 = 1400");
    assert_eq!(bench.sample(10 * PERIOD, 0), 500);
}

#[test]
fn waiting_for_io_and_nice_tasks_count_as_told() {
    let load_is = |governor: &str, times: CpuTimes| {
        let mut bench = Bench::new(governor, 0);
        (bench.now, bench.times) = (PERIOD, times);
        bench.take_sample()
    };
    let waiting = CpuTimes { iowait: PERIOD, ..CpuTimes::default() };
    assert_eq!((load_is("ondemand", waiting), load_is("ondemand=io_is_busy=1", waiting)), (500, 2000));
    let nice = CpuTimes { nice: PERIOD, ..CpuTimes::default() };
    assert_eq!((load_is("ondemand", nice), load_is("ondemand=ignore_nice_load=1", nice)), (2000, 500));
}

#[test]
fn the_busiest_cpu_of_a_policy_counts() {
    let policy = policy_at(0);
    let mut state = parse("ondemand").start(&policy, 1024, &[CpuTimes::default(); 3], 0, TICK);
    let GovernorState::Ondemand(ondemand) = &mut state else { unreachable!("is ondemand") };
    let idle = [PERIOD, PERIOD * 3 / 10, PERIOD / 2];
    let target = ondemand.sample(&policy, PERIOD, |cpu| CpuTimes { idle: idle[cpu], ..CpuTimes::default() });
    assert_eq!(target, Some(2), "500 + 70 % of 1500 = 1550");
}

#[test]
fn a_powersave_bias_alternates_between_two_clocks() {
    // 10 % below 2000 is 1800: 60 % of the time at 2000, 40 % at 1500.
    let mut bench = Bench::new("ondemand=10ms,powersave_bias=100", 0);
    assert_eq!(bench.sample(10 * MSEC, 100), 2000);
    assert_eq!(bench.dbs().next_sample(), 16 * MSEC);
    assert_eq!(bench.sample(6 * MSEC, 100), 1500);
    assert_eq!(bench.dbs().next_sample(), 20 * MSEC);
    assert_eq!(bench.sample(4 * MSEC, 100), 2000);
}

#[test]
fn conservative_climbs_by_steps_of_five_percent() {
    // 5 % of 2000 is 100: 600, 700, 800, 900 round down to 500, the fifth step reaches 1000.
    let mut bench = Bench::new("conservative", 0);
    let clocks: Vec<u32> = (0..6).map(|_| bench.sample(PERIOD, 100)).collect();
    assert_eq!(clocks, [500, 500, 500, 500, 1000, 1000]);
}

#[test]
fn conservative_descends_by_steps_and_rounds_up() {
    let mut bench = Bench::new("conservative", 3);
    let clocks: Vec<u32> = (0..6).map(|_| bench.sample(PERIOD, 10)).collect();
    assert_eq!(clocks, [2000, 2000, 2000, 2000, 1500, 1500]);
    assert_eq!(bench.sample(PERIOD, 50), 1500, "between the thresholds nothing moves");
}

#[test]
fn conservative_makes_up_for_periods_slept_through() {
    let mut bench = Bench::new("conservative", 3);
    // Ten periods asleep and one step for this sample: 2000 - 11 * 100 = 900.
    assert_eq!(bench.sample(10 * PERIOD, 0), 1000);
}

#[test]
fn conservative_steps_down_less_often_by_its_factor() {
    let mut bench = Bench::new("conservative=freq_step=25,sampling_down_factor=3", 3);
    let clocks: Vec<u32> = (0..6).map(|_| bench.sample(PERIOD, 0)).collect();
    assert_eq!(clocks, [2000, 2000, 1500, 1500, 1500, 1000]);
}

#[test]
fn a_step_of_zero_freezes_the_clock() {
    let mut bench = Bench::new("conservative=freq_step=0", 2);
    assert_eq!((bench.sample(PERIOD, 100), bench.sample(PERIOD, 0)), (1500, 1500));
}

proptest! {
    #[test]
    fn clocks_stay_within_limits(
        governor in prop::sample::select(vec![
            "ondemand", "conservative", "ondemand=powersave_bias=300", "conservative=freq_step=60",
        ]),
        (min, max) in (0_usize..4, 0_usize..4),
        samples in prop::collection::vec((0_u64..100 * MSEC, 0_u64..=100), 1..40),
    ) {
        let mut bench = Bench::on(policy_within(min.min(max), max), governor);
        for (span, load) in samples {
            let khz = bench.sample(span, load) * 1000;
            prop_assert!(khz >= bench.policy.min_khz() && khz <= bench.policy.max_khz());
            prop_assert!(bench.dbs().next_sample() >= bench.now);
        }
    }

    #[test]
    fn ondemand_never_answers_more_load_with_a_lower_clock(low in 0_u64..=100, high in 0_u64..=100) {
        let (low, high) = (low.min(high), low.max(high));
        let clock = |load| Bench::new("ondemand", 1).sample(PERIOD, load);
        prop_assert!(clock(low) <= clock(high));
    }
}
