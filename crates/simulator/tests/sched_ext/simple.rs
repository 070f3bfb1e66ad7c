// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's `scx_simple`: every context switch of small scenarios, worked out by hand from `scx_simple.bpf.c` and from
//! ext.c and core.c of Linux 6.12.
//!
//! In all scenarios a tick finds the slice used up (`task_tick_scx`), whatever the slice had left before. Then
//! `balance_one` asks `simple_dispatch` *before* `put_prev_task_scx` enqueues the leaving task, so a task never follows
//! itself while another one waits. `simple_stopping` charges 20 ms less the rest of the slice, divided by weight/100.

use crate::equal::machine;

use super::support::{assert_turns, assert_turns_on, ms, open, tick, us};

/// Three threads of weights 100 (nice 0), 194 (nice −3: 1991 · 100 / 1024) and 51 (nice 3: 526 · 100 / 1024) on one CPU.
///
/// A whole slice adds 20 ms · 100 / weight to a task's vtime: 20.000, 10.309 and 39.215 ms. With one CPU `select_cpu` is
/// never asked (`nr_cpus_allowed == 1`): all three are put into the shared queue at 0 with vtime 0, and taken in that
/// order. The first one's slice is used up at tick 20 (tick 19 left it less than a millisecond), all others' 20 ticks
/// later. Who runs is the first of the *others*, by vtime in ms, whose vtime then moves on:
///
/// | from tick | a | b | c | picked among the others |
/// | --- | --- | --- | --- | --- |
/// | - | 0 | 0 | 0 | a, the first of three equals |
/// | 20 | 20 | 0 | 0 | b: before c, as it was queued before |
/// | 40 | 20 | 10.309 | 0 | c |
/// | 60 | 20 | 10.309 | 39.215 | b |
/// | 80 | 20 | 20.618 | 39.215 | a |
/// | 100 | 40 | 20.618 | 39.215 | b |
/// | 120 | 40 | 30.927 | 39.215 | c: b comes back only after the pick |
/// | 140 | 40 | 30.927 | 78.431 | b |
/// | 160 | 40 | 41.237 | 78.431 | a |
/// | 180 | 60 | 41.237 | 78.431 | b |
/// | 200 | 60 | 51.546 | 78.431 | a |
/// | 220 | 80 | 51.546 | 78.431 | b |
/// | 240 | 80 | 61.855 | 78.431 | c |
/// | 260 | 80 | 61.855 | 117.647 | b |
#[test]
fn the_earliest_virtual_time_of_those_that_wait_is_next() {
    let tasks = [
        r#""a" : { "run" : 1000000 }"#,
        r#""b" : { "priority" : -3, "run" : 1000000 }"#,
        r#""c" : { "priority" : 3, "run" : 1000000 }"#,
    ];
    let order = ["b", "c", "b", "a", "b", "c", "b", "a", "b", "a", "b", "c", "b"];
    let mut expected = vec![(0, 0, "a")];
    expected.extend(order.iter().zip(1..).map(|(next, turn)| (tick(20 * turn), 0, *next)));
    assert_turns(1, &open("scx_simple", ""), &tasks, ms(270), &expected);
}

/// As a FIFO, weights and virtual times do not matter. The order is that of enqueueing; the leaving task is enqueued
/// after the pick.
///
/// - 0: a, b, c (nice 0, −3, 3) are queued in this order; a runs.
/// - Tick 20: a's slice is used up. b is taken, then a queued: c a.
/// - 30 ms: d starts: c a d.
/// - Tick 40: c; queue a d b. Tick 60: a; queue d b c. Tick 80: d; queue b c a.
/// - d needs 5.5 ms and ends 5.5 ms after tick 80; b follows: queue c a. b's slice began half-way between ticks: tick 105
///   leaves it 0.5 ms, tick 106 ends it.
/// - Tick 106: c; queue a b. Tick 126: a; queue b c.
/// - a ran 0 … tick 20, tick 60 … 80, and does not end before the limit at 140 ms.
#[test]
fn as_a_fifo_the_order_is_that_of_enqueueing() {
    let tasks = [
        r#""a" : { "run" : 1000000 }"#,
        r#""b" : { "priority" : -3, "run" : 1000000 }"#,
        r#""c" : { "priority" : 3, "run" : 1000000 }"#,
        r#""d" : { "delay" : 30000, "loop" : 1, "run" : 5500 }"#,
    ];
    let expected = [
        (0, 0, "a"),
        (tick(20), 0, "b"),
        (tick(40), 0, "c"),
        (tick(60), 0, "a"),
        (tick(80), 0, "d"),
        (tick(80) + us(5500), 0, "b"),
        (tick(106), 0, "c"),
        (tick(126), 0, "a"),
    ];
    assert_turns(1, &open("scx_simple", "fifo_sched=true"), &tasks, ms(140), &expected);
}

/// A tick reads the clock, then it takes 10 us; `__schedule` reads the clock again, and the next task's time begins there
/// (`exec_start`). So 20 ticks after its first a task has run for 20 ms less 10 us, and its slice lasts one tick more.
///
/// - 0: a, between ticks: tick 20 is the first that finds 20 ms used up.
/// - Tick 20: b begins 10 us later. Tick 40 leaves it 10 us, tick 41 ends its slice. So it goes on, each for 21 ticks.
#[test]
fn a_slice_of_whole_ticks_lasts_one_more_where_ticks_take_time() {
    let mut machine = machine(1);
    machine.costs.tick = us(10);
    let tasks = [r#""a" : { "run" : 1000000 }"#, r#""b" : { "run" : 1000000 }"#];
    let expected = [(0, 0, "a"), (tick(20), 0, "b"), (tick(41), 0, "a"), (tick(62), 0, "b"), (tick(83), 0, "a")];
    assert_turns_on(&machine, &open("scx_simple", "fifo_sched=true"), &tasks, ms(90), &expected);
}

/// A task alone on its CPU gets a new slice at the tick that ended the one before, from when that tick is over.
///
/// - 0: a. Tick 20 ends its slice; nobody waits, and the kernel gives it 20 ms more. Tick 40 leaves it 10 us of them, tick
///   41 none.
/// - 30 ms: b starts and waits for tick 41. From then on they take turns of 21 ticks.
#[test]
fn who_goes_on_alone_counts_from_when_the_tick_is_over() {
    let mut machine = machine(1);
    machine.costs.tick = us(10);
    let tasks = [r#""a" : { "run" : 1000000 }"#, r#""b" : { "delay" : 30000, "run" : 1000000 }"#];
    let expected = [(0, 0, "a"), (tick(41), 0, "b"), (tick(62), 0, "a")];
    assert_turns_on(&machine, &open("scx_simple", "fifo_sched=true"), &tasks, ms(80), &expected);
}

/// Two CPUs. A task that wakes when some CPU is idle goes straight to that CPU's local queue
/// (`simple_select_cpu`, `direct_dispatch`, `local_dsq_post_enq`); if none is, it waits in the shared queue.
///
/// - 0: `hog` starts; `prev_cpu` 0 is idle and claimed: local queue of CPU 0.
/// - 3 ms: `waker` (2.3 ms of work, 5 ms of sleep) starts; CPU 0 is busy, CPU 1 idle: local queue of CPU 1.
/// - 5.3 ms: it sleeps; no task waits, so CPU 1 idles and its bit in the mask is set.
/// - 10.3 ms: it wakes; `prev_cpu` 1 is idle: local queue of CPU 1, until 12.6 ms.
/// - 12 ms: `late` starts; no CPU is idle. Shared queue; vtime 0 is not before `vtime_now` − 20 ms, as that is still
///   negative. 12.6 ms: `waker` sleeps, CPU 1 takes `late`.
/// - 17.6 ms: `waker` wakes; none idle. Shared queue, with the vtime that it was charged: 2 · 2.3 ms.
/// - Tick 20: CPU 0, on which `hog`'s slice is used up, takes `waker`; `hog` is queued. 2.3 ms later `waker` sleeps, CPU 0
///   takes `hog`.
/// - 7.3 ms after tick 20: `waker` wakes; none idle. Shared queue: vtime 6.9 ms.
/// - `late` runs since 12.6 ms with a slice of 20 ms: tick 32 is the first at 32.6 ms or later if ticks come 0.6 ms or more
///   after a full millisecond; they come earlier, so it is tick 33. CPU 1 takes `waker`, `late` is queued.
/// - 2.3 ms after tick 33 `waker` sleeps; CPU 1 takes `late`.
/// - `hog` runs since 22.3 ms after the first tick: tick 42 leaves it 0.3 ms. The limit is at 40 ms.
/// - `waker` wakes 7.3 ms after tick 33, beyond the limit.
#[test]
fn who_wakes_goes_straight_to_an_idle_cpu() {
    let tasks = [
        r#""hog" : { "run" : 1000000 }"#,
        r#""waker" : { "delay" : 3000, "run" : 2300, "sleep" : 5000 }"#,
        r#""late" : { "delay" : 12000, "run" : 1000000 }"#,
    ];
    let expected = [
        (0, 0, "hog"),
        (us(3000), 1, "waker"),
        (us(5300), 1, "-"),
        (us(10_300), 1, "waker"),
        (us(12_600), 1, "late"),
        (tick(20), 0, "waker"),
        (tick(20) + us(2300), 0, "hog"),
        (tick(33), 1, "waker"),
        (tick(33) + us(2300), 1, "late"),
    ];
    assert_turns(2, &open("scx_simple", ""), &tasks, ms(40), &expected);
}

/// A task that yields has no `ops.yield` to ask: its slice becomes 0 (`yield_task_scx`), so `stopping` charges a whole
/// slice, 20 ms of vtime, as the comment in `scx_simple.bpf.c` warns.
///
/// On one CPU: `polite` runs 1 ms and yields, again and again; `other` runs on. Both have vtime 0 at first.
///
/// - 0: `polite`. 1 ms: it yields; `other` is taken, `polite` queued with 20 ms.
/// - `other` runs since 1 ms, so tick 20 leaves it less than a millisecond and tick 21 ends its slice; it is charged 20 ms.
///   `polite` is taken.
/// - 1 ms of work (and 0.25 µs for the system call that it is just coming out of) later it yields: vtime 40 ms, and
///   `other`, 20 ms, is taken. Its slice began a little later than tick 22 and so ends with tick 43.
#[test]
fn who_yields_is_charged_a_whole_slice() {
    let tasks = [r#""polite" : { "run" : 1000, "yield" : "" }"#, r#""other" : { "run" : 1000000 }"#];
    let expected = [
        (0, 0, "polite"),
        (ms(1), 0, "other"),
        (tick(21), 0, "polite"),
        (tick(22) + 250, 0, "other"),
        (tick(43), 0, "polite"),
    ];
    assert_turns(1, &open("scx_simple", ""), &tasks, tick(43) + us(500), &expected);
}
