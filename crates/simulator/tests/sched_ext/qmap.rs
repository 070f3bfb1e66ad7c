// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's `scx_qmap`: every context switch of small scenarios, worked out by hand from `scx_qmap.bpf.c` and from
//! ext.c and core.c of Linux 6.12.
//!
//! Tasks wait in five FIFO queues by weight: 0 up to 25, 1 up to 50, 2 below 200, 3 below 400, 4 from 400 on. Each CPU
//! takes 1 << n tasks from queue n before it goes on to the next queue. It begins with queue 1, as the cursor moves
//! before it is used. An empty queue forfeits the rest of its share. Slices are 20 ms and end at ticks. A CPU pops
//! before the leaving task is queued again.
//!
//! A thread that may use only one CPU never waits in a queue: `pick_direct_dispatch_cpu` sends it to that CPU at once.
//! Therefore the machine has two CPUs; in tests that need only one, a real-time thread keeps the second.

use super::support::{Turn, assert_turns, ms, open, tick, us};

/// Keeps CPU 1 from the scheduler.
const BLOCKER: &str = r#""blocker" : { "cpus" : [1], "policy" : "SCHED_FIFO", "priority" : 50, "run" : 1000000 }"#;

/// Threads that never end, in all queues. `c0` starts at 0 and finds CPU 0 idle; the others start while it runs, so
/// neither CPU is idle: CPU 0 runs `c0`, and CPU 1's idle bit went when the blocker came.
/// Weights: nice 10 is 110 · 100 / 1024 = 11; nice 4: 41; nice 0: 100; nice −5: 305; nice −10: 932.
fn one_of_each_queue() -> Vec<String> {
    let task = |name: &str, delay: u32, nice: i32| {
        format!(r#""{name}" : {{ "delay" : {delay}, "priority" : {nice}, "run" : 1000000 }}"#)
    };
    vec![
        BLOCKER.to_owned(),
        task("c0", 0, 0),
        task("a0", 1000, 10),
        task("b0", 1100, 4),
        task("b1", 1200, 4),
        task("b2", 1300, 4),
        task("c1", 1400, 0),
        task("d0", 1500, -5),
        task("d1", 1600, -5),
        task("e0", 1700, -10),
        task("e1", 1800, -10),
    ]
}

/// The blocker and `c0` at 0, then a turn of 20 ms from tick 20 on for each of `order`.
#[track_caller]
fn turns(order: &[&'static str]) -> Vec<Turn> {
    let mut turns = vec![(0, 1, "blocker"), (0, 0, "c0")];
    turns.extend(order.iter().zip(1..).map(|(next, turn)| (tick(20 * turn), 0, *next)));
    turns
}

/// One task per call of `ops.dispatch` (`dsp_batch` 0 is 1). What waits at tick 20, by queue:
/// a0 | b0 b1 b2 | c1 | d0 d1 | e0 e1; `c0` runs.
///
/// - Queue 1, twice: b0, b1.
/// - Queue 2, four times: c1 (c0 came back while b0 began, so c1 c0 wait), c0, c1, c0. Each pops before the last one is
///   back, so with two tasks they take turns.
/// - Queue 3, eight times: d0 d1 d0 d1 d0 d1 d0 d1.
/// - Queue 4, sixteen times: e0 e1 …
/// - Queue 0, once: a0.
/// - Queue 1 again: b2 and b0 (b0 and b1 came back behind b2).
/// - Queue 2: c0 left last, after c1 had come back: c1 c0 c1 c0.
/// - Queue 3: d1 left last: d0 d1.
#[test]
fn each_queue_is_drained_twice_as_often_as_the_one_before() {
    let mut order = vec!["b0", "b1", "c1", "c0", "c1", "c0"];
    order.extend(["d0", "d1"].repeat(4));
    order.extend(["e0", "e1"].repeat(8));
    order.extend(["a0", "b2", "b0", "c1", "c0", "c1", "c0", "d0", "d1"]);
    let tasks = one_of_each_queue();
    let tasks: Vec<&str> = tasks.iter().map(String::as_str).collect();
    let expected = turns(&order);
    assert_eq!(order.len(), 39);
    assert_turns(2, &open("scx_qmap", ""), &tasks, ms(790), &expected);
}

/// Four tasks per call go to the shared queue and are consumed one by one; while that queue has tasks, no other is
/// looked at.
///
/// - Tick 20: b0 b1 (share of queue 1 used up), c1 (queue 2 is empty then: c0, which leaves, is not back), d0. Of queue 3's
///   share of 8, 7 are left. They run at ticks 20, 40, 60, 80.
/// - Tick 100: d0 leaves. Queue 3 has d1, then nothing, so its share is forfeited; queue 4: e0 e1, forfeited; queue 0: a0.
///   They run at ticks 100, 120, 140, 160.
/// - Tick 180: queue 0's share is used up. Queue 1, b2 b0 b1: b2 b0. Queue 2, c0 (back at tick 20) and c1 (tick 80): both;
///   2 of the share of 4 are left.
/// - Tick 260: c1 leaves. Queue 2 has c0, back at tick 240; then it is empty. Queue 3: d0 (back at tick 100), d1 (tick 120).
///   Queue 4: e0 (back at tick 140).
#[test]
fn a_batch_is_used_up_before_the_next_is_popped() {
    let order = ["b0", "b1", "c1", "d0", "d1", "e0", "e1", "a0", "b2", "b0", "c0", "c1", "c0", "d0", "d1", "e0"];
    let tasks = one_of_each_queue();
    let tasks: Vec<&str> = tasks.iter().map(String::as_str).collect();
    assert_turns(2, &open("scx_qmap", "dsp_batch=4"), &tasks, ms(330), &turns(&order));
}

/// Both CPUs and few threads: idle CPUs are used at once, from `select_cpu` as well as from `enqueue`.
///
/// - 0: `hog` finds `prev_cpu` 0 idle: `force_local`, local queue of CPU 0.
/// - 5 ms: `pinned`, which may use CPU 0 alone, starts: `select_cpu` is not asked, and `enqueue` dispatches it to the local
///   queue of CPU 0, behind `hog`.
/// - Tick 20: `hog`'s slice is used up. The local queue is not empty, so `dispatch` is not called; `pinned` is picked.
///   `hog` is enqueued without CPU_SELECTED: `enqueue` finds CPU 1 idle and dispatches `hog` to its local queue, which
///   another run queue's lock defers until this pass is over: at the same instant.
/// - 25 ms: `sleeper` (2.3 ms of work, 4 ms of sleep) starts; neither CPU is idle. Queue 2.
/// - `pinned` has 9.6 ms of work: 29.6 ms after the first tick it ends, and CPU 0 pops `sleeper`.
/// - 31.9 ms after it: `sleeper` sleeps; nothing waits, CPU 0 idles.
/// - 35.9: it wakes; CPU 0 is idle: `force_local`. 38.2: it sleeps.
/// - Tick 40: `hog`'s slice on CPU 1 is used up, nothing waits: it is kept with a new slice (`pick_task_scx`), no switch.
/// - 42.2 … 44.5, 48.5 … 50.8: `sleeper` on CPU 0. The limit is 51 ms after the first tick.
#[test]
fn an_idle_cpu_is_used_at_once() {
    let tasks = [
        r#""hog" : { "run" : 1000000 }"#,
        r#""pinned" : { "cpus" : [0], "delay" : 5000, "loop" : 1, "run" : 9600 }"#,
        r#""sleeper" : { "delay" : 25000, "run" : 2300, "sleep" : 4000 }"#,
    ];
    let after = |count: u64| tick(0) + us(count);
    let expected = [
        (0, 0, "hog"),
        (tick(20), 0, "pinned"),
        (tick(20), 1, "hog"),
        (after(29_600), 0, "sleeper"),
        (after(31_900), 0, "-"),
        (after(35_900), 0, "sleeper"),
        (after(38_200), 0, "-"),
        (after(42_200), 0, "sleeper"),
        (after(44_500), 0, "-"),
        (after(48_500), 0, "sleeper"),
        (after(50_800), 0, "-"),
    ];
    assert_turns(2, &open("scx_qmap", ""), &tasks, tick(51), &expected);
}
