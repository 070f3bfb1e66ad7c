// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which callbacks a scheduler gets, in which order and with which arguments, worked out by hand from ext.c, core.c,
//! idle.c and syscalls.c of Linux 6.12. The scheduler is `recorder`, a FIFO that prints each callback.
//!
//! A line is: time, CPU that executes the callback, the callback's name, its arguments. Flags are raw numbers:
//! ENQUEUE_WAKEUP 1, SAVE or RESTORE 2, MOVE 4, NOCLOCK 8, HEAD (in dequeues: SPECIAL) 0x10, MIGRATED 0x40, INITIAL
//! 0x80, RQ_SELECTED 0x400; above 32 bits sched_ext's own: REENQ 1 << 40, LAST 1 << 41.

use std::sync::Arc;

use tandem_simulator::simulation::SchedExt;
use tandem_simulator::units::Nanos;

use super::support::{ms, open, open_with, recorded, tick, us};

/// The scheduler `recorder`, which prints everything but ticks.
fn recorder() -> Arc<SchedExt> {
    open("recorder", "print_idle=true,print_dispatch=true")
}

/// The scheduler `recorder` with slices of 2 ms.
fn impatient() -> Arc<SchedExt> {
    open("recorder", "slice_ns=2000000,print_dispatch=true,print_idle=true")
}

/// Compares what was printed from `from` on, up to the end of the run, with `expected`.
#[track_caller]
fn assert_lines(lines: &[(Nanos, String)], from: Nanos, expected: &[(Nanos, &str)]) {
    let show = |at: &Nanos, line: &str| format!("{at:>10} {line}");
    let seen: Vec<String> = lines.iter().filter(|(at, _)| *at >= from).map(|(at, line)| show(at, line)).collect();
    let expected: Vec<String> = expected.iter().map(|(at, line)| show(at, line)).collect();
    assert!(seen == expected, "seen:\n{}\nexpected:\n{}", seen.join("\n"), expected.join("\n"));
}

/// The lines before `limit`. At the end of a run the scheduler is unloaded, which another test checks.
fn before(lines: Vec<(Nanos, String)>, limit: Nanos) -> Vec<(Nanos, String)> {
    lines.into_iter().filter(|(at, _)| *at < limit).collect()
}

/// `scx_ops_enable_workfn`, `scx_fork`, `scx_post_fork`, `wake_up_new_task`, `do_task_dead`, `sched_ext_free`,
/// `scx_ops_disable_workfn`, of one thread that computes for 3.3 ms on a machine of two CPUs.
#[test]
fn a_threads_life_from_fork_to_free() {
    let tasks = [r#""hog" : { "loop" : 1, "run" : 3300 }"#];
    let lines = recorded(2, &recorder(), &tasks, ms(30));
    let end = us(3300);
    let expected = [
        // The scheduler is loaded; the root cgroup, id 1, has the default weight.
        (0, "0 init"),
        (0, "0 cgroup_init 1 100"),
        // A fork: fork = 1; the slice is the default one from the start (`init_scx_entity`).
        (0, "0 init_task hog 1 1"),
        (0, "0 enable hog 20000000"),
        (0, "0 set_weight hog 100"),
        // WF_FORK 4; CPU 0 is idle. INITIAL and NOCLOCK: neither WAKEUP nor RQ_SELECTED, although it was asked.
        (0, "0 select_cpu hog 0 0x4 -> 0"),
        (0, "0 runnable hog 0x88"),
        (0, "0 enqueue hog 0x88"),
        // The idle CPU is rescheduled: balance, then the idle thread is put, then the task set.
        (0, "0 dispatch 0 NULL"),
        (0, "0 update_idle 0 0"),
        (0, "0 running hog"),
        // The end of bypassing at load (`scx_ops_bypass`) had each CPU rescheduled; that the CPU idles again is told to
        // no callback.
        (0, "1 dispatch 1 NULL"),
        // The thread dies: SLEEP, NOCLOCK, SPECIAL. Balancing asks with the dead task as `prev`. Then the idle thread
        // is set.
        (end, "0 stopping hog 0"),
        (end, "0 quiescent hog 0x19"),
        (end, "0 dispatch 0 hog"),
        (end, "0 update_idle 0 1"),
        // The last reference to the task goes after the switch.
        (end, "0 disable hog"),
        (end, "0 exit_task hog 0"),
        // The run is over, and the scheduler is unloaded.
        (end, "0 cgroup_exit 1"),
        (end, "0 exit 64"),
    ];
    assert_lines(&lines, 0, &expected);
}

/// `scx_ops_disable_workfn` while `a` runs and `b` waits. Bypassing takes waiting tasks off their queue and puts them
/// back, with SAVE, MOVE and NOCLOCK, now without `enqueue`. Then cgroups go. Then each task, in the order of creation,
/// goes to its new class: the running task stops. `exit` comes last, with SCX_EXIT_UNREG 64.
#[test]
fn a_scheduler_that_is_unloaded_loses_task_by_task() {
    let tasks = [r#""a" : { "run" : 1000000 }"#, r#""b" : { "run" : 1000000 }"#];
    let lines = recorded(1, &recorder(), &tasks, ms(3));
    let expected = [
        (ms(3), "0 quiescent b 0xe"),
        (ms(3), "0 runnable b 0xe"),
        (ms(3), "0 cgroup_exit 1"),
        (ms(3), "0 stopping a 0"),
        (ms(3), "0 quiescent a 0xe"),
        (ms(3), "0 disable a"),
        (ms(3), "0 exit_task a 0"),
        (ms(3), "0 quiescent b 0xe"),
        (ms(3), "0 disable b"),
        (ms(3), "0 exit_task b 0"),
        (ms(3), "0 exit 64"),
    ];
    assert_lines(&lines, us(1), &expected);
}

/// A thread forks on CPU 0: everything up to `enqueue` happens there, with the forking CPU as `prev_cpu`. The new
/// thread begins on the idle CPU 1. Its new CPU is no migration, so there is no MIGRATED.
#[test]
fn a_fork_happens_on_the_parents_cpu() {
    let tasks = [
        r#""parent" : { "loop" : 1, "run" : 1000, "fork" : "child", "run1" : 3000 }"#,
        r#""child" : { "instance" : 0, "loop" : 1, "run" : 500 }"#,
    ];
    let lines = before(recorded(2, &recorder(), &tasks, ms(30)), us(1500));
    let at = ms(1);
    let expected = [
        (at, "0 init_task child-0 1 1"),
        (at, "0 enable child-0 20000000"),
        (at, "0 set_weight child-0 100"),
        (at, "0 select_cpu child-0 0 0x4 -> 1"),
        (at, "0 runnable child-0 0x88"),
        (at, "0 enqueue child-0 0x88"),
        (at, "1 dispatch 1 NULL"),
        (at, "1 update_idle 1 0"),
        (at, "1 running child-0"),
    ];
    assert_lines(&lines, at, &expected);
}

/// `try_to_wake_up` by a timer, which fires on the CPU where the thread went to sleep: WF_TTWU 8; WAKEUP, NOCLOCK and
/// RQ_SELECTED, with MIGRATED if `select_cpu` chose another CPU. For a thread that may use a single CPU `select_cpu` is
/// not called.
#[test]
fn a_wakeup_tells_whether_a_cpu_was_selected_and_another_one() {
    let tasks = [
        r#""free" : { "loop" : 1, "run" : 1000, "sleep" : 1000, "run1" : 1000, "sleep1" : 2500, "run2" : 300 }"#,
        r#""bound" : { "cpus" : [0], "delay" : 4200, "loop" : 1, "run" : 400, "sleep" : 500, "run1" : 2000 }"#,
    ];
    let lines = before(recorded(2, &recorder(), &tasks, ms(30)), us(5600));
    let expected = [
        (ms(1), "0 stopping free 0"),
        (ms(1), "0 quiescent free 0x9"),
        (ms(1), "0 dispatch 0 free"),
        (ms(1), "0 update_idle 0 1"),
        // CPU 0 idles.
        (ms(2), "0 select_cpu free 0 0x8 -> 0"),
        (ms(2), "0 runnable free 0x409"),
        (ms(2), "0 enqueue free 0x409"),
        (ms(2), "0 dispatch 0 NULL"),
        (ms(2), "0 update_idle 0 0"),
        (ms(2), "0 running free"),
        (ms(3), "0 stopping free 0"),
        (ms(3), "0 quiescent free 0x9"),
        (ms(3), "0 dispatch 0 free"),
        (ms(3), "0 update_idle 0 1"),
        // `bound` starts, sleeps, and wakes without having a choice: no RQ_SELECTED.
        (us(4200), "0 runnable bound 0x88"),
        (us(4200), "0 enqueue bound 0x88"),
        (us(4200), "0 dispatch 0 NULL"),
        (us(4200), "0 update_idle 0 0"),
        (us(4200), "0 running bound"),
        (us(4600), "0 stopping bound 0"),
        (us(4600), "0 quiescent bound 0x9"),
        (us(4600), "0 dispatch 0 bound"),
        (us(4600), "0 update_idle 0 1"),
        (us(5100), "0 runnable bound 0x9"),
        (us(5100), "0 enqueue bound 0x9"),
        (us(5100), "0 dispatch 0 NULL"),
        (us(5100), "0 update_idle 0 0"),
        (us(5100), "0 running bound"),
        // CPU 0 is busy now: `free` moves, chosen by CPU 0, which its timer interrupts.
        (us(5500), "0 select_cpu free 0 0x8 -> 1"),
        (us(5500), "0 runnable free 0x449"),
        (us(5500), "0 enqueue free 0x449"),
        (us(5500), "1 dispatch 1 NULL"),
        (us(5500), "1 update_idle 1 0"),
        (us(5500), "1 running free"),
    ];
    assert_lines(&lines, ms(1), &expected);
}

/// With slices of 2 ms, tick 2 is the first that finds `a`'s slice used up: `dispatch` with the leaving task, which is
/// still current; then `a` stops, is enqueued without flags, and the next task runs.
#[test]
fn a_slice_ends_at_a_tick() {
    let tasks = [r#""a" : { "run" : 1000000 }"#, r#""b" : { "run" : 1000000 }"#];
    let lines = before(recorded(1, &impatient(), &tasks, ms(6)), ms(6));
    let expected = [
        (tick(2), "0 dispatch 0 a"),
        (tick(2), "0 stopping a 1"),
        (tick(2), "0 enqueue a 0x0"),
        (tick(2), "0 running b"),
        (tick(4), "0 dispatch 0 b"),
        (tick(4), "0 stopping b 1"),
        (tick(4), "0 enqueue b 0x0"),
        (tick(4), "0 running a"),
    ];
    assert_lines(&lines, us(1), &expected);
}

/// No other task waits: `balance_one` asks, keeps `prev`, and `pick_task_scx` gives it the default slice of 20 ms, so
/// the next question comes 20 ticks later. There is no callback for a task that goes on.
#[test]
fn a_task_that_is_alone_goes_on_with_the_default_slice() {
    let tasks = [r#""a" : { "run" : 1000000 }"#];
    let lines = before(recorded(1, &impatient(), &tasks, ms(30)), ms(30));
    assert_lines(&lines, us(1), &[(tick(2), "0 dispatch 0 a"), (tick(22), "0 dispatch 0 a")]);
}

/// With SCX_OPS_ENQ_LAST (2, beside KEEP_BUILTIN_IDLE 1) the CPU goes idle instead, and the task is enqueued with LAST.
/// As this puts the task into the CPU's local queue, the idle thread is rescheduled at once.
#[test]
fn with_enq_last_a_task_that_is_alone_is_enqueued() {
    let settings = "slice_ns=2000000,preempt_cpu=0,print_dispatch=true,print_idle=true";
    let scheduler = open_with("recorder", settings, "[ops]\nflags = 3\n");
    let lines = before(recorded(1, &scheduler, &[r#""a" : { "run" : 1000000 }"#], ms(4)), ms(4));
    let expected = [
        (tick(2), "0 dispatch 0 a"),
        (tick(2), "0 stopping a 1"),
        (tick(2), "0 enqueue a 0x20000000000"),
        (tick(2), "0 update_idle 0 1"),
        (tick(2), "0 update_idle 0 0"),
        (tick(2), "0 running a"),
    ];
    assert_lines(&lines, us(1), &expected);
}

/// `do_sched_yield`: `yield` with NULL as its second task, then a pass like that of a slice that is used up, here at
/// once.
#[test]
fn a_yield_is_a_question_and_a_pass() {
    let tasks =
        [r#""a" : { "loop" : 1, "run" : 1000, "yield" : "", "run1" : 1000 }"#, r#""b" : { "loop" : 1, "run" : 5000 }"#];
    let lines = before(recorded(1, &recorder(), &tasks, ms(30)), ms(5));
    let expected = [
        (ms(1), "0 yield a 0"),
        (ms(1), "0 dispatch 0 a"),
        (ms(1), "0 stopping a 1"),
        (ms(1), "0 enqueue a 0x0"),
        (ms(1), "0 running b"),
    ];
    assert_lines(&lines, us(1), &expected);
}

/// A real-time thread takes the CPU at 5 ms. There is no `dispatch`, as the task has slice left and balancing keeps it
/// before the other class wins. When the task is put, it goes to the head of the local queue without `enqueue`; then
/// comes `cpu_release`. When the thread ends, `cpu_acquire` comes first in balancing. The thread gets `init_task` and
/// `exit_task`, but is never enabled.
#[test]
fn a_real_time_thread_takes_the_cpu_and_gives_it_back() {
    let tasks = [
        r#""a" : { "run" : 1000000 }"#,
        r#""urgent" : { "policy" : "SCHED_FIFO", "priority" : 50, "delay" : 5000, "loop" : 1, "run" : 1000 }"#,
    ];
    let lines = before(recorded(1, &recorder(), &tasks, ms(10)), ms(10));
    let expected = [
        (ms(5), "0 stopping a 1"),
        (ms(5), "0 cpu_release 0 RT urgent"),
        (ms(6), "0 cpu_acquire 0"),
        (ms(6), "0 running a"),
        (ms(6), "0 exit_task urgent 0"),
    ];
    assert_lines(&lines, us(1), &expected);
    let about: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).filter(|line| line.contains("urgent")).collect();
    assert_eq!(about, ["0 init_task urgent 1 1", "0 cpu_release 0 RT urgent", "0 exit_task urgent 0"]);
}

/// `scx_bpf_reenqueue_local` in `cpu_release` takes the preempted task out of the local queue again: `enqueue` with
/// REENQ, inside `cpu_release`. The task waits in the shared queue. The CPU takes it from there when it looks again,
/// with a `prev` of another class.
#[test]
fn a_scheduler_can_take_back_what_a_real_time_thread_preempts() {
    let tasks = [
        r#""a" : { "run" : 1000000 }"#,
        r#""urgent" : { "policy" : "SCHED_FIFO", "priority" : 50, "delay" : 5000, "run" : 1000, "sleep" : 100000 }"#,
    ];
    let scheduler = open("recorder", "reenqueue=true,print_dispatch=true,print_idle=true");
    let lines = before(recorded(1, &scheduler, &tasks, ms(10)), ms(10));
    let expected = [
        (ms(5), "0 stopping a 1"),
        (ms(5), "0 cpu_release 0 RT urgent"),
        (ms(5), "0 enqueue a 0x10000000000"),
        (ms(5), "0 reenqueued 1"),
        (ms(6), "0 cpu_acquire 0"),
        (ms(6), "0 dispatch 0 NULL"),
        (ms(6), "0 running a"),
    ];
    assert_lines(&lines, us(1), &expected);
}

/// A task wakes while a real-time thread runs, and waits in the scheduler's queue. When that thread sleeps, no higher
/// class has a task, so balancing comes down to this class (`prev_balance`), which asks the scheduler.
#[test]
fn a_cpu_that_a_real_time_thread_leaves_is_offered_to_the_scheduler() {
    let tasks = [
        r#""urgent" : { "policy" : "SCHED_FIFO", "priority" : 50, "run" : 3000, "sleep" : 100000 }"#,
        r#""a" : { "delay" : 1000, "run" : 1000000 }"#,
    ];
    let lines = before(recorded(1, &recorder(), &tasks, ms(10)), ms(10));
    let expected = [
        (ms(1), "0 runnable a 0x88"),
        (ms(1), "0 enqueue a 0x88"),
        (ms(3), "0 dispatch 0 NULL"),
        (ms(3), "0 running a"),
    ];
    assert_lines(&lines, us(1), &expected);
}

/// A real-time thread that never sleeps starves a scheduler's tasks. The server that keeps 50 ms of a second from
/// real-time threads serves the fair class only, and no task is of that class.
#[test]
fn nothing_is_kept_for_a_scheduler_under_real_time_threads() {
    let tasks = [
        r#""urgent" : { "policy" : "SCHED_FIFO", "priority" : 50, "run" : 10000000 }"#,
        r#""a" : { "delay" : 1000, "run" : 1000000 }"#,
    ];
    let lines = before(recorded(1, &recorder(), &tasks, ms(2500)), ms(2500));
    assert_lines(&lines, us(1), &[(ms(1), "0 runnable a 0x88"), (ms(1), "0 enqueue a 0x88")]);
}

/// A running thread binds itself to the other CPU. First comes `__do_set_cpus_allowed`: a bracket of SAVE and RESTORE
/// with NOCLOCK around `set_cpumask`, in which the thread stays in the local queue. Then the stopper preempts the
/// thread (SCX_CPU_PREEMPT_STOP 2) and moves it (`move_queued_task`): no `runnable` or `quiescent` while it migrates,
/// but `enqueue` with MIGRATED on the stopper's CPU. After that the two CPUs go on independently.
#[test]
fn a_thread_that_binds_itself_elsewhere_is_moved_by_the_stopper() {
    let tasks = [r#""a" : { "loop" : 1, "phases" : {
            "here" : { "cpus" : [0], "loop" : 1, "run" : 1000 },
            "there" : { "cpus" : [1], "loop" : 1, "run" : 1000 } } }"#];
    let lines = before(recorded(2, &recorder(), &tasks, ms(10)), us(1500));
    let expected = [
        (ms(1), "0 stopping a 0"),
        (ms(1), "0 quiescent a 0xa"),
        (ms(1), "0 set_cpumask a 0x2"),
        (ms(1), "0 runnable a 0xa"),
        (ms(1), "0 running a"),
        (ms(1), "0 stopping a 1"),
        (ms(1), "0 cpu_release 0 2"),
        (ms(1), "0 enqueue a 0x40"),
        (ms(1), "0 cpu_acquire 0"),
        (ms(1), "0 dispatch 0 NULL"),
        (ms(1), "0 update_idle 0 1"),
        (ms(1), "1 dispatch 1 NULL"),
        (ms(1), "1 update_idle 1 0"),
        (ms(1), "1 running a"),
    ];
    assert_lines(&lines, us(1), &expected);
}

/// `set_user_nice`: the same bracket around `set_weight`; nice 5 weighs 335 · 100 / 1024 = 33.
#[test]
fn a_changed_nice_value_is_a_changed_weight() {
    let tasks = [r#""a" : { "loop" : 1, "phases" : {
            "first" : { "loop" : 1, "run" : 1000 },
            "nicer" : { "priority" : 5, "loop" : 1, "run" : 1000 } } }"#];
    let lines = before(recorded(1, &recorder(), &tasks, ms(10)), us(1500));
    let expected = [
        (ms(1), "0 stopping a 0"),
        (ms(1), "0 quiescent a 0xa"),
        (ms(1), "0 set_weight a 33"),
        (ms(1), "0 runnable a 0xa"),
        (ms(1), "0 running a"),
    ];
    assert_lines(&lines, us(1), &expected);
}

/// `__sched_setscheduler` to a real-time policy and back: SAVE, MOVE, NOCLOCK. On the way out the class gets the weight
/// (`set_load_weight`, before the class changes) and then loses the task. On the way in come `switching_to_scx`, then
/// `runnable`, with HEAD as the task became less urgent. The slice is what it was: 1 ms used of 20. The thread runs
/// throughout, so no CPU is released.
#[test]
fn a_change_of_policy_is_a_change_of_class() {
    let tasks = [r#""a" : { "loop" : 1, "phases" : {
            "plain" : { "loop" : 1, "run" : 1000 },
            "urgent" : { "policy" : "SCHED_FIFO", "priority" : 50, "loop" : 1, "run" : 1000 },
            "plain again" : { "policy" : "SCHED_OTHER", "loop" : 1, "run" : 1000 } } }"#];
    let lines = before(recorded(1, &recorder(), &tasks, ms(10)), us(2500));
    let expected = [
        (ms(1), "0 stopping a 0"),
        (ms(1), "0 quiescent a 0xe"),
        (ms(1), "0 set_weight a 100"),
        (ms(1), "0 disable a"),
        (ms(2), "0 enable a 19000000"),
        (ms(2), "0 set_weight a 100"),
        (ms(2), "0 set_cpumask a 0x1"),
        (ms(2), "0 runnable a 0x1e"),
        (ms(2), "0 running a"),
    ];
    assert_lines(&lines, us(1), &expected);
}

/// `SCHED_IDLE` has no nice value: the old one stays, and with it the priority, so nothing moves (SAVE and NOCLOCK
/// alone). The weight is the kernel's, 3 · 100 / 1024 and at least 1. On the way to a real-time policy the weight is
/// again that of the nice value (`set_load_weight` after the policy is set). A 6.12 kernel prints the same.
#[test]
fn an_idle_policy_keeps_the_priority_and_a_real_time_one_restores_the_weight() {
    let tasks = [r#""a" : { "loop" : 1, "phases" : {
            "plain" : { "loop" : 1, "run" : 1000 },
            "idle" : { "policy" : "SCHED_IDLE", "loop" : 1, "run" : 1000 },
            "urgent" : { "policy" : "SCHED_FIFO", "priority" : 50, "loop" : 1, "run" : 1000 } } }"#];
    let lines = before(recorded(1, &recorder(), &tasks, ms(10)), us(2500));
    let expected = [
        (ms(1), "0 stopping a 0"),
        (ms(1), "0 quiescent a 0xa"),
        (ms(1), "0 set_weight a 1"),
        (ms(1), "0 runnable a 0xa"),
        (ms(1), "0 running a"),
        (ms(2), "0 stopping a 0"),
        (ms(2), "0 quiescent a 0xe"),
        (ms(2), "0 set_weight a 100"),
        (ms(2), "0 disable a"),
    ];
    assert_lines(&lines, us(1), &expected);
}

const MOVER: &str = r#""a" : { "loop" : 1, "phases" : {
    "outside" : { "loop" : 1, "run" : 1000 },
    "inside" : { "taskgroup" : "/group", "loop" : 1, "run" : 1000 } } }"#;

/// `scx_cgroup_can_attach`, then `sched_move_task`: SAVE, MOVE, NOCLOCK around `cgroup_move`. The running task is then
/// rescheduled and kept, for which there is no callback. Cgroups come from the root down, and go from the leaves up.
#[test]
fn a_thread_moves_into_another_cgroup() {
    let lines = recorded(1, &recorder(), &[MOVER], ms(10));
    let group = lines.iter().filter_map(|(_, line)| line.strip_prefix("0 cgroup_init ")?.split(' ').next());
    let group: Vec<u64> = group.map(|id| id.parse().unwrap()).collect();
    let [root, group] = group[..] else { panic!("the root and one group, not {group:?}") };
    assert_eq!(root, 1);
    let (prepared, moved) = (format!("0 cgroup_prep_move a 1 {group}"), format!("0 cgroup_move a 1 {group}"));
    let expected = [
        (ms(1), prepared.as_str()),
        (ms(1), "0 stopping a 0"),
        (ms(1), "0 quiescent a 0xe"),
        (ms(1), moved.as_str()),
        (ms(1), "0 runnable a 0xe"),
        (ms(1), "0 running a"),
    ];
    assert_lines(&before(lines.clone(), us(1500)), us(1), &expected);
    let gone = format!("0 cgroup_exit {group}");
    assert_lines(
        &lines[lines.len() - 3..],
        0,
        &[(ms(2), gone.as_str()), (ms(2), "0 cgroup_exit 1"), (ms(2), "0 exit 64")],
    );
}

/// `cgroup_prep_move` may refuse with −EBUSY (16); no further callback comes for the thread.
#[test]
fn a_scheduler_may_refuse_a_move() {
    let lines = recorded(1, &open("recorder", "prep_move=-16"), &[MOVER], ms(10));
    let heard: Vec<&str> = lines.iter().filter(|(at, _)| *at == ms(1)).map(|(_, line)| line.as_str()).collect();
    assert_eq!(heard.len(), 1);
    assert!(heard[0].starts_with("0 cgroup_prep_move a 1 "), "{heard:?}");
}

/// SCX_ENQ_PREEMPT to a local queue: the task goes to the queue's head, the running task's slice becomes 0, and the CPU
/// is rescheduled (`local_dsq_post_enq`). The same flag on the task that leaves changes nothing, as it is still
/// current.
#[test]
fn a_task_dispatched_with_preempt_takes_the_cpu() {
    let tasks = [r#""a" : { "run" : 1000000 }"#, r#""b" : { "delay" : 1000, "run" : 1000000 }"#];
    let scheduler = open("recorder", "preempt_cpu=0,print_dispatch=true,print_idle=true");
    let lines = before(recorded(1, &scheduler, &tasks, ms(10)), ms(10));
    let expected = [
        (ms(1), "0 runnable b 0x88"),
        (ms(1), "0 enqueue b 0x88"),
        (ms(1), "0 stopping a 1"),
        (ms(1), "0 enqueue a 0x0"),
        (ms(1), "0 running b"),
    ];
    assert_lines(&lines, us(1), &expected);
}
