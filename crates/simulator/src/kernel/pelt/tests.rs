// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::units::MSEC;
use proptest::prelude::*;

/// A PELT period in ns.
const P: Nanos = 1024 * 1024;
const NICE_0: u64 = 1024;

fn task_after(periods: u64, activity: Activity) -> SchedAvg {
    let mut task = SchedAvg::default();
    task.update_load_avg_se(periods * P, NICE_0, activity);
    task
}

#[test]
fn a_record_fits_a_cache_line() {
    assert_eq!(size_of::<SchedAvg>(), 64);
}

#[test]
fn the_table_holds_the_powers_of_the_32nd_root_of_a_half() {
    for (n, &factor) in RUNNABLE_AVG_YN_INV.iter().enumerate() {
        let exact = f64::from(u32::MAX) * 0.5_f64.powf(n as f64 / 32.0);
        assert_eq!(factor, exact as u32, "y^{n}");
    }
}

#[test]
fn decay_halves_every_32_periods() {
    // The table's y^0 is 2^32 - 1, so every decay rounds down by one.
    assert_eq!(decay_load(1_000_000, 0), 999_999);
    assert_eq!(decay_load(1_000_000, 32), 499_999);
    assert_eq!(decay_load(1_000_000, 64), 249_999);
    assert_eq!(decay_load(1_000_000, 32 * 63 + 1), 0);
}

#[test]
fn a_task_that_always_runs_is_half_known_after_32_periods_and_fully_after_345() {
    assert_eq!(task_after(32, Activity::Running).util_avg, 512);
    assert_eq!(task_after(345, Activity::Running).util_avg, 1023);
    let forever = task_after(3450, Activity::Running);
    assert!((1023..=1024).contains(&forever.util_avg), "{forever:?}");
    assert!((1023..=1024).contains(&forever.load_avg), "{forever:?}");
}

#[test]
fn a_sleeping_task_is_half_forgotten_after_32_periods() {
    let mut task = task_after(345, Activity::Running);
    task.update_load_avg_se((345 + 32) * P, NICE_0, Activity::Blocked);
    assert_eq!(task.util_avg, 511);
    task.update_load_avg_se((345 + 64) * P, NICE_0, Activity::Blocked);
    assert_eq!(task.util_avg, 255);
}

#[test]
fn waiting_is_runnable_but_not_utilisation_and_delay_is_load_alone() {
    let waiting = task_after(32, Activity::Queued);
    assert_eq!((waiting.util_avg, waiting.runnable_avg, waiting.load_avg), (0, 512, 512));
    let delayed = task_after(32, Activity::Delayed);
    assert_eq!((delayed.util_avg, delayed.runnable_avg, delayed.load_avg), (0, 0, 512));
}

#[test]
fn a_heavy_task_weighs_more_but_uses_no_more() {
    let mut task = SchedAvg::default();
    task.update_load_avg_se(32 * P, 4 * NICE_0, Activity::Running);
    assert_eq!(task.util_avg, 512);
    assert!((2048..2052).contains(&task.load_avg), "{}", task.load_avg);
}

#[test]
fn averages_wait_for_the_end_of_a_period() {
    let mut task = SchedAvg::default();
    assert!(!task.update_load_avg_se(1023, NICE_0, Activity::Running), "less than a unit");
    assert_eq!(task.last_update_time, 0);
    assert!(!task.update_load_avg_se(P - 1, NICE_0, Activity::Running), "less than a period");
    assert_eq!(task.last_update_time, P - 1024);
    assert!(task.update_load_avg_se(P, NICE_0, Activity::Running));
    assert!(task.util_avg > 0);
}

#[test]
fn time_going_backwards_only_moves_the_clock() {
    let mut task = task_after(32, Activity::Running);
    assert!(!task.update_load_avg_se(P, NICE_0, Activity::Running));
    assert_eq!((task.util_avg, task.last_update_time), (512, P));
}

#[test]
fn a_run_queue_is_the_sum_of_what_is_attached() {
    let mut queue = SchedAvg::default();
    queue.update_load_avg_cfs_rq(10 * P, 0, 0, false);
    let mut tasks = [SchedAvg::of_new_task(NICE_0), SchedAvg::of_new_task(2 * NICE_0)];
    for (task, weight) in tasks.iter_mut().zip([NICE_0, 2 * NICE_0]) {
        task.start_with_util(100);
        queue.attach_entity(task, weight);
        assert!(task.is_attached());
    }
    assert_eq!((queue.util_avg, queue.runnable_avg, queue.load_avg), (200, 200, 3 * NICE_0));
    queue.detach_entity(&mut tasks[0], NICE_0);
    assert!(!tasks[0].is_attached());
    assert_eq!((queue.util_avg, queue.runnable_avg, queue.load_avg), (100, 100, 2 * NICE_0));
}

#[test]
fn a_task_that_left_asleep_is_forgotten_by_the_queue() {
    let mut queue = SchedAvg::default();
    let mut task = SchedAvg::of_new_task(NICE_0);
    task.start_with_util(400);
    queue.attach_entity(&mut task, NICE_0);
    queue.update_load_avg_cfs_rq(32 * P, 0, 0, false);
    queue.remove_entity(&mut task, NICE_0);
    assert_eq!(queue.util_avg, 0);
    assert!((199..=200).contains(&task.util_avg), "caught up first: {}", task.util_avg);
}

#[test]
fn a_new_weight_moves_load_and_nothing_else() {
    let mut queue = SchedAvg::default();
    let mut task = SchedAvg::of_new_task(NICE_0);
    task.start_with_util(100);
    queue.attach_entity(&mut task, NICE_0);
    queue.reweight_entity(&mut task, NICE_0, 3 * NICE_0);
    assert_eq!((queue.load_avg, task.load_avg, queue.util_avg), (3 * NICE_0, 3 * NICE_0, 100));
}

#[test]
fn new_tasks_take_half_of_what_is_left() {
    // The kernel's series for a CPU of 1024: 512, 256, 128, ... where each new task weighs more than its share.
    let mut queue = SchedAvg::default();
    for expected in [512, 256, 128, 64] {
        let util = post_init_entity_util_avg(&queue, 1 << 20, 1024, 0);
        assert_eq!(util, expected);
        queue.util_avg += util;
        queue.load_avg += NICE_0;
    }
    let full = SchedAvg { util_avg: 1024, ..SchedAvg::default() };
    assert_eq!(post_init_entity_util_avg(&full, NICE_0, 1024, 7), 7);
    // 300 of 1024 in use by weight 2047: a task of weight 1024 is expected to use 150.
    let shared = SchedAvg { util_avg: 300, load_avg: 2047, ..SchedAvg::default() };
    assert_eq!(post_init_entity_util_avg(&shared, NICE_0, 1024, 0), 150);
}

fn sleeper(util_est: u32, util_avg: u64) -> SchedAvg {
    SchedAvg { util_est, util_avg, runnable_avg: util_avg, ..SchedAvg::default() }
}

fn estimate(mut task: SchedAvg, capacity: u64) -> u32 {
    task.util_est_update(capacity);
    task.util_est
}

#[test]
fn the_estimate_rises_at_once_and_falls_by_quarters() {
    assert_eq!(estimate(sleeper(100, 300), 1024), 300);
    assert_eq!(estimate(sleeper(400, 300), 1024), 375);
    assert_eq!(estimate(sleeper(309, 300), 1024), 309, "within 1 %");
    assert_eq!(estimate(sleeper(400, 300), 200), 400, "does not fit this CPU");
    let starved = SchedAvg { runnable_avg: 500, ..sleeper(400, 300) };
    assert_eq!(estimate(starved, 1024), 400);
}

#[test]
fn an_activation_too_short_to_count_leaves_the_estimate() {
    let mut task = sleeper(400, 300);
    task.util_est_update(1024);
    task.util_est_update(1024);
    assert_eq!(task.util_est, 375, "no update in between");
    task.update_load_avg_blocked_se(2 * P, NICE_0);
    task.util_est_update(1024);
    assert_eq!(task.util_est, 375, "looked at while asleep in between");
    task.update_load_avg_se(4 * P, NICE_0, Activity::Blocked);
    task.util_est_update(1024);
    assert!(task.util_est < 375, "woken in between: {}", task.util_est);
}

#[test]
fn a_queue_counts_the_estimates_of_what_is_queued() {
    let mut queue = SchedAvg::default();
    let (a, b) = (sleeper(300, 10), sleeper(200, 10));
    queue.util_est_enqueue(&a);
    queue.util_est_enqueue(&b);
    assert_eq!(queue.task_util_est(), 500);
    queue.util_est_dequeue(&a);
    assert_eq!(queue.util_est, 200);
}

#[test]
fn the_clock_runs_at_the_speed_of_the_work() {
    let mut clock = PeltClock::default();
    clock.update(8 * MSEC, 512, freq_scale(1_000_000, 2_000_000), false);
    assert_eq!((clock.task, clock.now()), (8 * MSEC, 2 * MSEC));
    clock.enter_idle(0);
    assert_eq!(clock.now(), 8 * MSEC, "the idle CPU has caught up");
    clock.update(MSEC, 512, 512, true);
    assert_eq!(clock.now(), 9 * MSEC);
}

#[test]
fn a_saturated_cpu_had_no_idle_time_to_catch_up_with() {
    let mut clock = PeltClock::default();
    clock.update(8 * MSEC, 512, 1024, false);
    clock.enter_idle(u64::from(task_after(3450, Activity::Running).util_sum));
    assert_eq!((clock.now(), clock.lost_idle), (4 * MSEC, 4 * MSEC));
    clock.update(MSEC, 512, 1024, true);
    assert_eq!(clock.now(), 5 * MSEC);
}

#[test]
fn the_same_work_gives_the_same_utilisation_at_half_the_clock() {
    // 10 ms of work every 40 ms at full speed; 20 ms at half the clock.
    let steady = |busy: Nanos, scale: u64| {
        let (mut clock, mut task) = (PeltClock::default(), SchedAvg::default());
        for _ in 0..50 {
            clock.update(busy, 1024, scale, false);
            task.update_load_avg_se(clock.now(), NICE_0, Activity::Running);
            clock.enter_idle(0);
            clock.update(40 * MSEC - busy, 1024, scale, true);
            task.update_load_avg_se(clock.now(), NICE_0, Activity::Blocked);
        }
        task.util_avg
    };
    let (full, half) = (steady(10 * MSEC, 1024), steady(20 * MSEC, 512));
    assert!(full.abs_diff(half) <= 1, "{full} {half}");
}

fn activity() -> impl Strategy<Value = Activity> {
    prop::sample::select(vec![Activity::Blocked, Activity::Queued, Activity::Delayed, Activity::Running])
}

proptest! {
    #[test]
    fn averages_stay_in_bounds(
        steps in prop::collection::vec((0_u64..200 * MSEC, activity()), 1..60),
        weight in 2_u64..=88_761,
    ) {
        let (mut task, mut now) = (SchedAvg::default(), 0);
        for (delta, activity) in steps {
            now += delta;
            task.update_load_avg_se(now, weight, activity);
            prop_assert!(task.util_avg <= 1024 && task.util_avg <= task.runnable_avg);
            prop_assert!(task.runnable_avg <= 1024 && task.load_avg <= weight);
            prop_assert!(task.period_contrib < 1024 && now - task.last_update_time < 1024);
        }
    }

    #[test]
    fn sleep_only_forgets(ran in 1_u64..400, naps in prop::collection::vec(0_u64..50 * MSEC, 1..40)) {
        let mut task = task_after(ran, Activity::Running);
        let mut now = ran * P;
        for nap in naps {
            let before = task.util_avg;
            now += nap;
            task.update_load_avg_se(now, NICE_0, Activity::Blocked);
            prop_assert!(task.util_avg <= before);
        }
        task.update_load_avg_se(now + 3000 * MSEC, NICE_0, Activity::Blocked);
        prop_assert_eq!(task.util_avg, 0);
    }

    #[test]
    fn attach_and_detach_undo_each_other(util in 0_u64..=1024, weight in 2_u64..=88_761, other in 0_u64..=1024) {
        let mut queue = SchedAvg::default();
        let mut resident = SchedAvg::of_new_task(NICE_0);
        resident.start_with_util(other);
        queue.attach_entity(&mut resident, NICE_0);
        let before = queue.clone();
        let mut task = SchedAvg::of_new_task(weight);
        task.start_with_util(util);
        queue.attach_entity(&mut task, weight);
        queue.detach_entity(&mut task, weight);
        prop_assert_eq!(queue.util_avg, before.util_avg);
        prop_assert_eq!(queue.load_avg, before.load_avg);
        prop_assert!(queue.load_sum.abs_diff(before.load_sum) <= weight);
    }
}

/// Not a check: prints the cost of an update. `cargo test --release --lib pelt -- --ignored --nocapture`
#[test]
#[ignore = "a measurement, for release builds"]
fn cost_per_update() {
    for (name, step) in [("below a unit", 700), ("below a period", 20_000), ("one period", P), ("40 periods", 40 * P)] {
        let mut task = SchedAvg::default();
        let mut queue = SchedAvg::default();
        let rounds = 20_000_000_u64;
        let start = std::time::Instant::now();
        for i in 0..rounds {
            let now = std::hint::black_box(i * step);
            let activity = if i & 1 == 0 { Activity::Running } else { Activity::Queued };
            task.update_load_avg_se(now, NICE_0, activity);
            queue.update_load_avg_cfs_rq(now, NICE_0, 1, true);
        }
        let ns = start.elapsed().as_nanos() as f64 / (2 * rounds) as f64;
        std::hint::black_box((&task, &queue));
        println!("{name}: {ns:.1} ns per update");
    }
}
