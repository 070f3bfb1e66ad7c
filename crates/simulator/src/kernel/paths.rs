// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel's own code takes: instructions of its paths, which the engine turns into time of the CPU that executes them.
//!
//! `guest/paths` counts them (docs/fidelity.md, "What paths cost"): executed instructions of Linux 6.12 on x86-64, the median of a
//! thousand rounds. A constant that is a difference of two counts says which.
//!
//! Left out: that other architectures and compilers have other counts, and that a path is longer the more tasks are queued.

use super::Kernel;
use crate::units::{CpuId, Nanos};

/// `FUTEX_WAKE` without waking anybody: the system call itself.
pub const FUTEX_WAKE: u32 = 911;
/// `try_to_wake_up` by a thread: `FUTEX_WAKE` of a thread that sleeps, less [`FUTEX_WAKE`].
pub const WAKE_UP: u32 = 1_308;
/// `FUTEX_WAIT`, but for sleeping: one that returns at once.
pub const FUTEX_WAIT: u32 = 1_094;
/// Cache lines that come from the woken thread's CPU to the waker's: of the thread, the one with its state and the one with
/// `pi_lock`; of the run queue, the one with `nr_running` and that of the list of wake-ups (`call_single_queue`).
pub const WAKE_UP_LINES: u32 = 4;
/// Cache lines that come back to a CPU that is interrupted: the same.
pub const INTERRUPT_LINES: u32 = 4;
/// `clock_nanosleep`, up to `schedule`: from the call to the first look of a thread that runs then, less [`SCHEDULE`].
pub const SLEEP: u32 = 2_218;
/// `try_to_wake_up` by a thread that leaves all but the choice of a CPU to that CPU (`ttwu_queue_wakelist`), the interrupt that it
/// sends included.
pub const WAKE_UP_QUEUED: u32 = 445;
/// What an idle CPU executes that a wake-up was left to, from the interrupt on up to `schedule`.
pub const WAKE_UP_RECEIVED: u32 = 1_897;
/// `schedule` from the idle thread to one that ran there before: a turn by futex, less what wakes and waits in it.
pub const SCHEDULE: u32 = 668;
/// A timer's interrupt on an idle CPU, but for waking the thread and switching to it.
pub const TIMER: u32 = 1_296;
/// Sending a reschedule interrupt to another CPU (assumed).
pub const IPI_SEND: u32 = 100;
/// Receiving one, up to `schedule` (assumed).
pub const IPI_RECEIVED: u32 = 500;
/// A pass of balancing over a domain, whatever its size: a thread's last steps before its CPU halts, with a pass over two and over
/// eight CPUs, less the same without one.
pub const BALANCE: u32 = 725;
/// What such a pass takes for each CPU of the domain.
pub const BALANCE_PER_CPU: u32 = 453;
/// `clone` of a thread, for its parent: `pthread_create`, with what it does in user space.
pub const CLONE: u32 = 10_677;
/// The end of a thread, on its CPU: making one and waiting for its end, less [`CLONE`] and what waits, wakes and switches in it.
pub const EXIT: u32 = 12_492;
/// [`WAKE_UP`] under a loaded scheduler: the same for `scx_simple`, less the instructions of its programs and [`DSQ_INSERT`].
pub const EXT_WAKE_UP: u32 = 1_080;
/// What a switch under a loaded scheduler takes more than under the fair class: a turn by futex under `scx_simple`, less all of it
/// that is named here, and less the instructions of its programs.
pub const EXT_SWITCH: u32 = 1_500;

/// Putting a task behind the others of a dispatch queue (`dispatch_enqueue`), from the lock's being taken to its being free: counted
/// in the compiled code, as are the next three.
pub const DSQ_INSERT: u32 = 48;
/// Putting one by its virtual time into a queue that has none: `rb_insert_color` with 25 and `rb_prev` with 15, assumed.
pub const DSQ_INSERT_VTIME: u32 = 102;
/// What each level of the tree adds to that.
pub const DSQ_INSERT_PER_LEVEL: u32 = 8;
/// Taking out a task that is on another CPU (`consume_dispatch_q`).
pub const DSQ_CONSUME: u32 = 108;
/// Moving a task from a run queue to another, with the lock of the first one held (`move_remote_task_to_local_dsq`): assumed.
pub const RQ_HOLD: u32 = 300;

/// A lock that several CPUs may want at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// That of a CPU's run queue (`rq->__lock`).
    Rq(CpuId),
    /// That of a dispatch queue that is not local (`dsq->lock`), by its place among all of them.
    Dsq(u32),
}

/// Something that a CPU executes for the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// So many instructions.
    Instructions(u32),
    /// So long for cache lines of other CPUs.
    Stall(Nanos),
    /// So many cache lines that the other CPU wrote.
    Lines(CpuId, u32),
    /// An interrupt, already sent, for which this CPU executes so many instructions.
    Interrupts(CpuId, u32),
    /// So many instructions with a lock held.
    Locked(Lock, u32),
}

/// What CPUs have executed for the kernel and not yet paid.
#[derive(Debug, Default)]
pub struct Paths {
    /// Whether paths take time; otherwise nothing is noted.
    pub take_time: bool,
    /// The CPU that executes it and what it is, in order.
    pub executed: Vec<(CpuId, Path)>,
}

impl Kernel {
    /// `cpu` executes a path of so many instructions.
    #[inline]
    pub fn executes(&mut self, cpu: CpuId, instructions: u32) {
        if !self.paths.take_time {
            return;
        }
        match self.paths.executed.last_mut() {
            // To pay once for both takes half as long.
            Some((last, Path::Instructions(before))) if *last == cpu => *before += instructions,
            _ => self.paths.executed.push((cpu, Path::Instructions(instructions))),
        }
    }

    /// `cpu` waits so long for cache lines of other CPUs.
    #[inline]
    pub fn stalls(&mut self, cpu: CpuId, time: Nanos) {
        if self.paths.take_time {
            self.paths.executed.push((cpu, Path::Stall(time)));
        }
    }

    /// `cpu` makes `other` reschedule, by an interrupt if that is another CPU (`smp_send_reschedule`).
    #[inline]
    pub fn sends_ipi(&mut self, cpu: CpuId, other: CpuId) {
        if cpu != other {
            self.executes(cpu, IPI_SEND);
            self.interrupts(cpu, other, IPI_RECEIVED);
        }
    }

    /// `cpu` reads or writes so many cache lines that `other` wrote last.
    #[inline]
    pub fn fetches(&mut self, cpu: CpuId, other: CpuId, lines: u32) {
        if self.paths.take_time && cpu != other {
            self.paths.executed.push((cpu, Path::Lines(other, lines)));
        }
    }

    /// `cpu` has sent an interrupt to `other`, which executes so many instructions for it.
    #[inline]
    pub fn interrupts(&mut self, cpu: CpuId, other: CpuId, instructions: u32) {
        if self.paths.take_time {
            self.paths.executed.push((cpu, Path::Interrupts(other, instructions)));
        }
    }

    /// `cpu` executes so many instructions with `lock` held.
    #[inline]
    pub fn executes_locked(&mut self, cpu: CpuId, lock: Lock, instructions: u32) {
        if self.paths.take_time {
            self.paths.executed.push((cpu, Path::Locked(lock, instructions)));
        }
    }
}
