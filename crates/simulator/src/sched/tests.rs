// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the scheduler does around its classes, step by step and without an engine.

use std::sync::Arc;

use rand::SeedableRng;
use rand_pcg::Pcg32;

use super::core::Sched;
use crate::kernel::Kernel;
use crate::kernel::cpumask::CpuMask;
use crate::kernel::params::KernelParameters;
use crate::machine::Machine;
use crate::units::{CpuId, MSEC, Nanos, TaskId, USEC};
use crate::workload::{Policy, Scheduling};

fn scheduler(machine: &str) -> Sched {
    let machine = Machine::load(machine).expect("a bundled machine");
    Sched::new(Kernel::new(&machine, KernelParameters::default(), Pcg32::seed_from_u64(1)), None)
}

fn settle(sched: &mut Sched) {
    while sched.next_switch().is_some() {}
}

/// A fair task that started on one of `cpus`, or anywhere.
fn start(sched: &mut Sched, cpus: Option<&[u32]>) -> TaskId {
    start_as(sched, Scheduling::default().policy, cpus)
}

fn start_as(sched: &mut Sched, policy: Policy, cpus: Option<&[u32]>) -> TaskId {
    start_with(sched, Scheduling { policy, ..Scheduling::default() }, cpus)
}

fn start_with(sched: &mut Sched, scheduling: Scheduling, cpus: Option<&[u32]>) -> TaskId {
    let nr_cpus = sched.kernel.topology.nr_cpus;
    let allowed = cpus.map(|cpus| Arc::new(CpuMask::of(nr_cpus, cpus.iter().map(|cpu| CpuId(*cpu)))));
    let task = sched.task_new(scheduling, allowed);
    sched.wake_up_new_task(task, CpuId(0));
    settle(sched);
    task
}

#[test]
fn waking_a_pinned_task_says_nothing_of_its_waker() {
    let mut sched = scheduler("smp-8");
    let waker = start(&mut sched, Some(&[0]));
    let (pinned, free) = (start(&mut sched, Some(&[1])), start(&mut sched, Some(&[2, 3])));
    for (sleeper, flips) in [(pinned, 0), (free, 1)] {
        let cpu = sched.kernel.task(sleeper).cpu;
        sched.block_current(cpu);
        settle(&mut sched);
        let woken_on = sched.try_to_wake_up(sleeper, CpuId(0), false);
        settle(&mut sched);
        assert_eq!((woken_on, sched.kernel.task(waker).wakee_flips), (cpu, flips));
    }
}

#[test]
fn only_a_wakeup_ends_an_idle_period() {
    let mut sched = scheduler("smp-8");
    let cpu = CpuId(1);
    let sleeper = start(&mut sched, Some(&[1]));
    assert_eq!(sched.kernel.rq(cpu).avg_idle, MSEC, "a new task is no wake-up");
    sched.block_current(cpu);
    settle(&mut sched);
    sched.kernel.now = 80 * USEC;
    sched.try_to_wake_up(sleeper, cpu, false);
    settle(&mut sched);
    // An eighth of the way from 1000 to 80 us.
    assert_eq!((sched.kernel.rq(cpu).avg_idle, sched.kernel.rq(cpu).idle_stamp), (885 * USEC, None));
}

#[test]
fn what_real_time_tasks_leave_is_seen_when_a_cpu_balances() {
    let mut sched = scheduler("smp-8");
    let cpu = CpuId(1);
    start_as(&mut sched, Policy::Fifo { priority: 1 }, Some(&[1]));
    // A busy CPU balances every 124 ms.
    sched.kernel.now = 150 * MSEC;
    sched.tick(cpu, 0);
    let used = sched.kernel.rq(cpu).avg_rt.util_avg as u32;
    assert!((970..1000).contains(&used), "all but 1024 · 2^(-150/32): {used}");
    assert_eq!((sched.kernel.rq(cpu).capacity, sched.kernel.glance(cpu).capacity), (1024, 1024));
    sched.softirq();
    assert_eq!((sched.kernel.rq(cpu).capacity, sched.kernel.glance(cpu).capacity), (1024 - used, 1024 - used));
}

#[test]
fn real_time_tasks_ask_for_all_unless_their_clamp_says_less() {
    let mut sched = scheduler("smp-8");
    let clamps = |sched: &Sched, cpu: CpuId| {
        let util = sched.cpufreq_util(cpu, 0);
        (util.uclamp_min, util.uclamp_max, util.rt_wants_max)
    };
    let fifo = Policy::Fifo { priority: 1 };
    let light = Scheduling { policy: fifo, util_min: Some(300), util_max: None };
    let light = start_with(&mut sched, light, Some(&[1]));
    assert_eq!(clamps(&sched, CpuId(1)), (300, 1024, false));
    start_as(&mut sched, fifo, Some(&[2]));
    assert_eq!(clamps(&sched, CpuId(2)), (1024, 1024, false), "sched_util_clamp_min_rt_default");
    sched.block_current(CpuId(1));
    settle(&mut sched);
    assert_eq!(clamps(&sched, CpuId(1)), (0, 1024, false), "task {light} sleeps");
}

#[test]
fn real_time_tasks_are_pulled_only_where_one_of_them_leaves() {
    let fifo = |priority| Policy::Fifo { priority };
    // CPU 0 has a waiting task that was bound to it, and may use CPU 1 now; on CPU 1 another task goes to sleep.
    let pulls = |beside: Policy| {
        let mut sched = scheduler("smp-8");
        start_as(&mut sched, fifo(50), Some(&[0]));
        let waiting = start_as(&mut sched, fifo(10), Some(&[0]));
        start_as(&mut sched, beside, Some(&[1]));
        let both = CpuMask::of(sched.kernel.topology.nr_cpus, [CpuId(0), CpuId(1)]);
        sched.set_affinity(waiting, Some(Arc::new(both)));
        settle(&mut sched);
        sched.block_current(CpuId(1));
        settle(&mut sched);
        sched.kernel.rq(CpuId(1)).curr == Some(waiting)
    };
    assert!(pulls(fifo(20)) && pulls(fifo(5)), "a task of the class leaves");
    assert!(!pulls(Scheduling::default().policy), "a task of another class leaves");
}

#[test]
fn the_stopper_lets_real_time_tasks_come_when_it_leaves() {
    let mut sched = scheduler("smp-8");
    start_as(&mut sched, Policy::Fifo { priority: 50 }, Some(&[0]));
    let waiting = start_as(&mut sched, Policy::Fifo { priority: 10 }, Some(&[0]));
    let moves = start(&mut sched, Some(&[1]));
    let only = |cpus: &[u32]| Some(Arc::new(CpuMask::of(8, cpus.iter().map(|cpu| CpuId(*cpu)))));
    sched.set_affinity(waiting, only(&[0, 1]));
    settle(&mut sched);
    assert_eq!(sched.kernel.rq(CpuId(1)).curr, Some(moves));
    sched.set_affinity(moves, only(&[2]));
    settle(&mut sched);
    assert_eq!((sched.kernel.rq(CpuId(1)).curr, sched.kernel.rq(CpuId(2)).curr), (Some(waiting), Some(moves)));
}

#[test]
fn a_changed_affinity_takes_a_fair_task_off_its_queue_and_puts_it_back() {
    let mut sched = scheduler("smp-8");
    let cpu = CpuId(1);
    let (task, other) = (start(&mut sched, Some(&[1])), start(&mut sched, Some(&[1])));
    sched.kernel.now = MSEC;
    let running = sched.kernel.rq(cpu).curr.unwrap();
    let entries = |sched: &Sched| sched.fair.virtual_time(cpu).map(|((_, _, _, sequence), _)| sequence);
    let before = entries(&sched);
    let both = Some(Arc::new(CpuMask::of(8, [cpu, CpuId(2)])));
    sched.set_affinity(running, both);
    settle(&mut sched);
    // As `set_next_task` takes it from its queue anew; nothing else changes.
    assert!(entries(&sched) > before, "{before:?}");
    assert_eq!((sched.kernel.rq(cpu).curr, sched.kernel.rq(cpu).nr_running), (Some(running), 2));
    assert!(running == task || running == other);
}

#[test]
fn a_real_time_task_keeps_its_place_when_its_affinity_changes() {
    let mut sched = scheduler("smp-8");
    let cpu = CpuId(1);
    start_as(&mut sched, Policy::Fifo { priority: 50 }, Some(&[1]));
    let waiting = [10, 10, 10].map(|priority| start_as(&mut sched, Policy::Fifo { priority }, Some(&[1])));
    sched.set_affinity(waiting[0], Some(Arc::new(CpuMask::of(8, [cpu, CpuId(2)]))));
    settle(&mut sched);
    assert_eq!(sched.rt.queued_on(cpu).skip(1).collect::<Vec<_>>(), waiting);
}

#[test]
fn governors_hear_of_fair_load_where_a_period_of_it_has_ended() {
    let mut sched = scheduler("smp-8");
    let cpu = CpuId(1);
    sched.kernel.cpufreq_hook = true;
    let sleeper = start(&mut sched, Some(&[1]));
    let updates = |sched: &mut Sched| std::mem::take(&mut sched.kernel.cpufreq_updates).len();
    assert!(updates(&mut sched) > 0, "its load is attached");
    let turn = |sched: &mut Sched, at: Nanos| {
        sched.kernel.now = at;
        sched.block_current(cpu);
        settle(sched);
        sched.try_to_wake_up(sleeper, cpu, false);
        settle(sched);
        updates(sched)
    };
    // Within a period of 1024 us nothing changes, however often it wakes; beyond it does, once.
    assert_eq!([300, 600, 900].map(|at| turn(&mut sched, at * USEC)), [0, 0, 0]);
    assert_eq!(turn(&mut sched, 1200 * USEC), 1);
}

/// A CPU runs another task, so that what CPU 0 wakes for it is queued by CPU 0; where it is idle, it queues the task itself.
#[test]
fn of_x86s_clocks_only_their_own_cpus_tell_governors() {
    for (machine, cpu, heard) in [("opteron-8350", 1, false), ("pixel6", 1, true), ("pixel6", 4, true)] {
        let cpu = CpuId(cpu);
        let mut sched = scheduler(machine);
        sched.kernel.cpufreq_hook = true;
        let sleeper = start(&mut sched, Some(&[cpu.0]));
        let wake = |sched: &mut Sched, beside: bool, at: Nanos| {
            sched.block_current(cpu);
            settle(sched);
            if beside {
                start(sched, Some(&[cpu.0]));
            }
            sched.kernel.now = at;
            sched.kernel.cpufreq_updates.clear();
            sched.try_to_wake_up(sleeper, CpuId(0), false);
            let heard = sched.kernel.cpufreq_updates.contains(&cpu);
            settle(sched);
            heard
        };
        assert!(wake(&mut sched, false, 5 * MSEC), "{machine}: an idle CPU is interrupted, and tells");
        assert_eq!(wake(&mut sched, true, 10 * MSEC), heard, "{machine}");
    }
}

/// `cpumask_any_and_distribute` is asked at each change of an affinity, on the CPU that the task calls from, and has a turn for each CPU.
#[test]
fn where_a_changed_affinity_leads_goes_round_on_the_calling_cpu() {
    let mut sched = scheduler("smp-8");
    let (here, there) = (start(&mut sched, Some(&[0])), start(&mut sched, Some(&[3])));
    let mut bind = |task: TaskId, cpus: &[u32]| {
        let allowed = CpuMask::of(8, cpus.iter().map(|cpu| CpuId(*cpu)));
        sched.set_affinity(task, Some(Arc::new(allowed)));
        settle(&mut sched);
        sched.kernel.task(task).cpu
    };
    // It need not move, but the turn of CPU 0 goes on from 0 to 2; the same again changes nothing, and nothing moves on.
    assert_eq!(bind(here, &[0, 2, 4, 6]), CpuId(0));
    assert_eq!(bind(here, &[0, 2, 4, 6]), CpuId(0));
    // The next of these after 2.
    assert_eq!(bind(here, &[1, 2, 4, 5]), CpuId(4));
    // CPU 3 has a turn of its own, which begins after 0.
    assert_eq!(bind(there, &[1, 2, 4, 5]), CpuId(1));
}
