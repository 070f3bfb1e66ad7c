// SPDX-License-Identifier: MIT OR Apache-2.0
//! What threads wait for, and where their time went.

use crate::engine::Engine;
use crate::engine::events::Event;
use crate::kernel::task::TaskState;
use crate::units::{CpuId, Nanos, TaskId};

/// What a thread does with its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    /// The thread is on a CPU.
    Runs,
    /// The thread could be on a CPU.
    Waits,
    /// The thread sleeps, waits for another thread, has not begun or has ended.
    Rests,
}

/// A thread's life so far.
#[derive(Debug)]
struct Life {
    task: TaskId,
    doing: Doing,
    ran: Nanos,
    waited: Nanos,
}

/// The lives of all threads that have not ended.
#[derive(Debug, Default)]
pub(super) struct Lives {
    lives: Vec<Life>,
    /// Threads that were seen so far.
    seen: usize,
    /// Some events were not looked at: where time went is unknown.
    lost_track: bool,
}

impl Lives {
    /// Number of threads that have not ended.
    pub fn count(&self) -> usize {
        self.lives.len()
    }

    /// An event is not looked at.
    pub fn lose_track(&mut self) {
        self.lost_track = true;
    }

    /// Asserts that each thread is where its state says, and that its time is booked; `passed` has gone by since the last
    /// check.
    pub fn check(&mut self, engine: &Engine<'_>, passed: Nanos) {
        for task in engine.threads.ids().skip(self.seen) {
            self.lives.push(Life { task, doing: Doing::Rests, ran: 0, waited: 0 });
            self.seen += 1;
        }
        for life in &mut self.lives {
            match life.doing {
                Doing::Runs => life.ran += passed,
                Doing::Waits => life.waited += passed,
                Doing::Rests => {}
            }
            life.doing = doing(engine, life.task);
            if !self.lost_track {
                check_time(engine, life);
            }
            check_waiting(engine, life.task);
        }
        self.lives.retain(|life| engine.sched.kernel.task(life.task).state != TaskState::Dead);
        check_cpus(engine);
    }
}

fn doing(engine: &Engine<'_>, task: TaskId) -> Doing {
    let known = engine.sched.kernel.task(task);
    match known.state {
        TaskState::Runnable if engine.running[known.cpu].task == Some(task) => Doing::Runs,
        TaskState::Runnable => Doing::Waits,
        TaskState::New | TaskState::Blocked | TaskState::Dead => Doing::Rests,
    }
}

/// The time that a thread ran and waited is what is booked, and what is yet to be booked.
fn check_time(engine: &Engine<'_>, life: &Life) {
    let (thread, now) = (&engine.threads[life.task], engine.agenda.now());
    let cpu = engine.sched.kernel.task(life.task).cpu;
    let (running, waiting) = match life.doing {
        Doing::Runs => (now - engine.running[cpu].since, 0),
        Doing::Waits => (0, now - thread.runnable_since),
        Doing::Rests => (0, 0),
    };
    assert_eq!(thread.stats.cpu_time + running, life.ran, "CPU time of {}", thread.name());
    assert_eq!(thread.stats.wait_time + waiting, life.waited, "time that {} waited", thread.name());
}

/// A thread that rests will be woken; one that does not waits for nothing, unless it spins.
fn check_waiting(engine: &Engine<'_>, task: TaskId) {
    let thread = &engine.threads[task];
    let sleeps = engine.awaits(Event::Timer(task));
    match engine.sched.kernel.task(task).state {
        TaskState::New => assert!(sleeps, "{} will never begin", thread.name()),
        TaskState::Blocked => {
            assert!(sleeps != thread.waiting.is_some(), "{} waits for {:?} or time", thread.name(), thread.waiting);
        }
        TaskState::Runnable => {
            assert!(!sleeps, "{} sleeps and is runnable", thread.name());
            assert!(thread.spinning == thread.waiting.is_some(), "{} waits for {:?}", thread.name(), thread.waiting);
        }
        TaskState::Dead => assert!(!sleeps, "{} has ended and will be woken", thread.name()),
    }
}

/// CPUs run what the scheduler says, and their hardware knows.
fn check_cpus(engine: &Engine<'_>) {
    for cpu in (0..engine.machine.cpus.len()).map(CpuId::at) {
        let curr = engine.sched.kernel.rq(cpu).curr;
        assert_eq!(engine.running[cpu].task, curr, "the thread on CPU {cpu}");
        assert_eq!(engine.hardware.is_busy(cpu), curr.is_some(), "whether CPU {cpu} runs");
        if let Some(task) = curr {
            let awaited = engine.awaits(Event::Run(cpu));
            assert!(awaited || engine.outcome.ended, "nothing will happen to {task} on CPU {cpu}");
            let ticks = engine.awaits(Event::Tick(cpu)) || engine.full.is_stopped(cpu);
            assert!(!awaited || ticks, "CPU {cpu} runs without a tick");
        } else {
            assert!(!engine.awaits(Event::Run(cpu)), "idle CPU {cpu} will be through with a thread");
        }
    }
}
