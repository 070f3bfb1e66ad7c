// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks stand where they belong: each in one queue, on a CPU that it may use, counted once.

use crate::kernel::Kernel;
use crate::kernel::task::{ClassId, TaskState};
use crate::sched::core::Sched;
use crate::units::{CpuId, TaskId};

/// Asserts all of it.
pub(super) fn check(sched: &Sched) {
    let kernel = &sched.kernel;
    let mut queued = vec![false; kernel.tasks.len()];
    for cpu in (0..kernel.topology.nr_cpus).map(CpuId::at) {
        check_cpu(kernel, cpu);
        let counted = count(sched, cpu, &mut queued);
        let ext = kernel.rq(cpu).ext_nr_running;
        assert_eq!(kernel.rq(cpu).nr_running, counted + ext, "tasks on CPU {cpu}, {ext} of them of a loaded scheduler");
    }
    for task in (0..kernel.tasks.len()).map(TaskId::at) {
        check_task(sched, task, queued[task.index()]);
    }
    assert!(kernel.resched.is_empty() && kernel.stop_moves.is_empty() && kernel.active_balance.is_empty());
}

/// Counts the tasks in the queues of `cpu` that are the kernel's own, and notes them.
fn count(sched: &Sched, cpu: CpuId, queued: &mut [bool]) -> u32 {
    let kernel = &sched.kernel;
    let of_class = |class: ClassId| move |task| (task, class);
    let fair = sched.fair.queued_on(cpu).map(of_class(ClassId::Fair));
    let rt = sched.rt.queued_on(cpu).map(of_class(ClassId::Rt));
    let dl = sched.dl.queued_on(cpu).map(of_class(ClassId::Dl));
    let mut count = 0;
    for (task, class) in fair.chain(rt).chain(dl) {
        let known = kernel.task(task);
        assert!(!std::mem::replace(&mut queued[task.index()], true), "task {task} is in two queues");
        assert_eq!((known.class, known.cpu), (class, cpu), "class and CPU of task {task}");
        // Whoever is in a throttled group is queued, but not counted.
        count += u32::from(class != ClassId::Fair || !sched.fair.is_throttled(task));
    }
    count
}

/// What is kept of a CPU agrees.
fn check_cpu(kernel: &Kernel, cpu: CpuId) {
    let (rq, online) = (kernel.rq(cpu), kernel.topology.online.test(cpu));
    let glance = kernel.glance(cpu);
    assert_eq!(glance.nr_running, rq.nr_running, "the copy of what is on CPU {cpu}");
    assert_eq!((glance.capacity, glance.capacity_orig), (rq.capacity, rq.capacity_orig), "copies for CPU {cpu}");
    assert!(!rq.need_resched, "CPU {cpu} is to reschedule, but time goes on");
    assert_eq!(kernel.idle.test(cpu), online && rq.curr.is_none() && rq.nr_running == 0, "whether CPU {cpu} is idle");
    assert_eq!(kernel.overloaded.test(cpu), rq.nr_running >= 2, "whether CPU {cpu} has more than one task");
    assert!(online || (rq.curr.is_none() && rq.nr_running == 0), "tasks on CPU {cpu}, which is offline");
    let waits = rq.curr.is_none() && rq.nr_running > 0;
    assert!(!waits || rq.nr_running == rq.ext_nr_running, "CPU {cpu} idles while {} tasks wait", rq.nr_running);
    if let Some(curr) = rq.curr {
        let task = kernel.task(curr);
        assert!(task.on_cpu && task.cpu == cpu, "task {curr} is current on CPU {cpu}, but on {}", task.cpu);
        assert!(task.state == TaskState::Runnable, "task {curr} is current and {:?}", task.state);
        assert!(task.may_use(cpu), "task {curr} runs on CPU {cpu}, which it may not use");
    }
    if !kernel.scx_enabled() {
        assert_eq!(rq.ext_nr_running, 0, "tasks of a scheduler on CPU {cpu} that is gone");
    }
}

/// A task is queued if it is runnable, and not if it is not.
fn check_task(sched: &Sched, id: TaskId, queued: bool) {
    let kernel = &sched.kernel;
    let task = kernel.task(id);
    assert!(!task.on_cpu || kernel.rq(task.cpu).curr == Some(id), "task {id} says that it runs");
    let lives = task.state != TaskState::Dead;
    assert!(kernel.scx_enabled() || task.class != ClassId::Ext || !lives, "task {id} is of a scheduler that is gone");
    match task.state {
        TaskState::Runnable => {
            let elsewhere = match task.class {
                ClassId::Ext => sched.ext.as_ref().is_some_and(|ext| ext.state.tasks[id].queued()),
                ClassId::Dl => sched.dl.is_throttled(id),
                ClassId::Rt | ClassId::Fair => false,
            };
            assert!(queued != elsewhere, "task {id} is runnable, in a queue: {queued}, elsewhere: {elsewhere}");
            let usable = task.may_use(task.cpu) && kernel.topology.online.test(task.cpu);
            assert!(usable || elsewhere, "task {id} waits on CPU {}, which it may not use", task.cpu);
        }
        TaskState::Blocked => {
            let delayed = task.class == ClassId::Fair && sched.fair.is_delayed(id);
            assert_eq!(queued, delayed, "task {id} sleeps in a queue");
        }
        TaskState::New | TaskState::Dead => assert!(!queued, "task {id} is {:?} and in a queue", task.state),
    }
}
