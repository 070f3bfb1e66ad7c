// SPDX-License-Identifier: MIT OR Apache-2.0
//! On CPU 0 of eight: a base slice of 2.8 ms, new tasks with half of one.

use rand::SeedableRng;
use rand_pcg::Pcg32;

use super::*;
use crate::kernel::class::{Enqueue, SchedClass, Wake};
use crate::kernel::params::KernelParameters;
use crate::kernel::release::Linux;
use crate::kernel::switching::Switching;
use crate::kernel::task::Task;
use crate::machine::Machine;
use crate::units::USEC;
use crate::workload::{Policy, Scheduling};

const CPU: CpuId = CpuId(0);

struct Case {
    kernel: Kernel,
    fair: Fair,
}

impl Case {
    /// Tasks that ask for these slices, the first one running.
    fn new(linux: Linux, slices: &[Option<Nanos>]) -> Self {
        let machine = Machine::load("smp-8").unwrap();
        let params = KernelParameters { linux, ..KernelParameters::default() };
        let mut kernel = Kernel::new(&machine, params, Pcg32::seed_from_u64(1));
        let mut fair = Fair::new(&mut kernel, None);
        for (index, slice) in slices.iter().enumerate() {
            let scheduling = Scheduling { policy: Policy::Other { nice: 0, slice: *slice }, ..Scheduling::default() };
            kernel.tasks.push(Task::new(TaskId::at(index), scheduling, None, Switching::default()));
            fair.task_new(&kernel, TaskId::at(index));
        }
        let mut case = Self { kernel, fair };
        case.enqueue(0);
        case.kernel.rq_mut(CPU).curr = Some(TaskId(0));
        case.fair.set_next_task(&mut case.kernel, CPU, TaskId(0));
        case
    }

    fn enqueue(&mut self, task: u32) {
        self.fair.enqueue_task(&mut self.kernel, TaskId(task), Enqueue::New);
    }

    /// The running task has run until `us`, and is looked at; whether the CPU shall reschedule.
    fn until(&mut self, us: Nanos) -> bool {
        self.kernel.now = us * USEC;
        self.kernel.rq_mut(CPU).need_resched = false;
        self.fair.update_curr(&mut self.kernel, CPU, QueueId::root(CPU));
        self.kernel.rq(CPU).need_resched
    }

    /// `task` is queued and woken by the CPU `by` in this way; whether CPU 0 shall reschedule.
    fn wakes(&mut self, task: u32, by: u32, wake: Wake) -> bool {
        self.kernel.rq_mut(CPU).need_resched = false;
        self.enqueue(task);
        self.kernel.begin_wake(CpuId(by), wake);
        self.fair.check_preempt_wakeup_fair(&mut self.kernel, CPU, TaskId(task));
        self.kernel.end_wake();
        self.kernel.rq(CPU).need_resched
    }

    /// Up to which virtual run time task 0 is protected, in µs.
    fn protected_until(&self) -> i64 {
        self.fair.se(TaskId(0)).vprot / USEC as i64
    }
}

const TTWU: Wake = Wake::Ttwu { sync: false };

/// A task that was picked alone is protected up to its deadline; one picked beside a slice of 0.5 ms for as long as that.
#[test]
fn from_6_17_on_the_shortest_slice_in_the_queue_is_protected() {
    let mut case = Case::new(Linux::V6_18, &[None, Some(500 * USEC)]);
    assert_eq!(case.protected_until(), 1_400);
    case.enqueue(1);
    let queue = QueueId::root(CPU);
    case.fair.set_protect_slice(queue, case.fair.layout.entity(TaskId(0)));
    assert_eq!(case.protected_until(), 500);
    // The end of the protection is the end of the turn.
    assert_eq!([400, 600].map(|us| case.until(us)), [false, true]);
}

/// 6.12 protects the whole request, which is 1.4 ms of a new task.
#[test]
fn up_to_6_16_the_deadline_is_protected() {
    let mut case = Case::new(Linux::V6_12, &[None, Some(500 * USEC)]);
    case.enqueue(1);
    assert_eq!([600, 1_300, 1_400].map(|us| case.until(us)), [false, false, true]);
}

/// Without `RUN_TO_PARITY` 0.7 ms are protected, the slice of a machine with one CPU.
#[test]
fn from_6_17_on_a_minimum_is_protected_without_run_to_parity() {
    let mut case = Case::new(Linux::V6_18, &[None]);
    case.fair.features.run_to_parity = false;
    case.fair.set_protect_slice(QueueId::root(CPU), case.fair.layout.entity(TaskId(0)));
    assert_eq!(case.protected_until(), 700);
}

/// Task 1 asks for 0.5 ms and waits; then task 2, which asks for nothing, comes and does not preempt. From 6.19 on that ends the
/// protection of the running task 0.5 ms later, in 6.18 only a short slice that comes does.
#[test]
fn from_6_19_on_whoever_fails_to_preempt_limits_the_protection() {
    let protected = |linux| {
        let mut case = Case::new(linux, &[None, Some(500 * USEC), None]);
        case.enqueue(1);
        case.until(100);
        assert!(!case.wakes(2, 0, TTWU), "{linux}");
        case.protected_until()
    };
    assert_eq!((protected(Linux::V6_18), protected(Linux::V7_1)), (1_400, 600));
}

/// Task 0 has run for 2 ms alone: its first request is over and its protection with it. Task 1 starts at the mean, with a deadline
/// 1.4 ms away and so before the 2.8 ms of the running one.
#[test]
fn from_6_19_on_a_new_task_preempts_nobody() {
    let preempts = |linux, wake| {
        let mut case = Case::new(linux, &[None, None]);
        case.until(2_000);
        case.wakes(1, 0, wake)
    };
    assert_eq!((preempts(Linux::V6_12, Wake::Fork), preempts(Linux::V6_18, Wake::Fork)), (true, true));
    assert_eq!((preempts(Linux::V7_1, Wake::Fork), preempts(Linux::V7_1, TTWU)), (false, true));
}

/// The same wake-up by CPU 1, which has the cache in common with CPU 0: 7.1 sets a flag that CPU 0 sees when it is in its kernel.
#[test]
fn a_lazy_kernel_does_not_interrupt_another_cpu() {
    let mut case = Case::new(Linux::V7_1, &[None, None]);
    case.until(2_000);
    assert!(!case.wakes(1, 1, TTWU));
    assert!(case.kernel.rq(CPU).need_resched_lazy);
    case.kernel.exit_to_user_mode(CPU);
    assert!(case.kernel.rq(CPU).need_resched);
}

/// A task that owes 100 ms of virtual time: 6.12 remembers two slices of its own, 5.6 ms; 6.18 the longest slice in the queue, which is
/// 20 ms, and a tick of 4 ms.
#[test]
fn lag_is_bounded_by_the_longest_slice_and_a_tick() {
    let lag = |linux| {
        let mut case = Case::new(linux, &[None, Some(20_000 * USEC)]);
        case.enqueue(1);
        let (queue, id) = (QueueId::root(CPU), case.fair.layout.entity(TaskId(0)));
        case.fair.entities[id.index()].vruntime += 200_000_000;
        assert!(case.fair.update_entity_lag(queue, id), "bounded");
        case.fair.entities[id.index()].vlag
    };
    assert_eq!((lag(Linux::V6_12), lag(Linux::V6_18)), (-5_600_000, -24_000_000));
}

/// A sleeper that still stands on its queue and owed 1 ms when it fell asleep owes no more when it wakes, however far the mean
/// has gone back by then; and is owed nothing if the mean has passed it.
#[test]
fn from_7_1_on_a_sleepers_debt_does_not_grow() {
    let lag = |linux, ahead: i64| {
        let mut case = Case::new(linux, &[None, None]);
        case.enqueue(1);
        let (queue, id) = (QueueId::root(CPU), case.fair.layout.entity(TaskId(0)));
        let entity = &mut case.fair.entities[id.index()];
        (entity.vlag, entity.sched_delayed, entity.vruntime) = (-1_000_000, true, entity.vruntime + ahead);
        case.fair.update_entity_lag(queue, id);
        case.fair.entities[id.index()].vlag
    };
    // Two equal tasks: the mean is halfway.
    assert_eq!((lag(Linux::V6_18, 4_000_000), lag(Linux::V7_1, 4_000_000)), (-2_000_000, -1_000_000));
    assert_eq!((lag(Linux::V6_18, -4_000_000), lag(Linux::V7_1, -4_000_000)), (2_000_000, 0));
}
