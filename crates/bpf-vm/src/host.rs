// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the surrounding kernel answers while a program runs.

use crate::errno::{Errno, OpError};
use crate::fault::Fault;
use crate::handle::HandleState;
use crate::instance::Instance;
use crate::memory::Memory;
use crate::timer::TimerStart;

/// Arguments of a helper or kernel function: r1 to r5.
pub type Args = [u64; 5];

/// A helper or kernel function that this crate brings.
pub type Builtin = fn(&mut Instance, &mut dyn Host, Args) -> Result<u64, Fault>;

/// A clock that programs can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// `CLOCK_REALTIME`.
    Realtime,
    /// `CLOCK_MONOTONIC`.
    Monotonic,
    /// `CLOCK_BOOTTIME`.
    Boottime,
}

/// The kernel around an instance. Every method has a default for hosts without scheduling: one CPU, no time, no tasks.
pub trait Host {
    /// The executing CPU (`bpf_get_smp_processor_id`).
    fn cpu(&self) -> u32 {
        0
    }

    /// Time in nanoseconds.
    fn now(&mut self, _clock: Clock) -> u64 {
        0
    }

    /// Ticks of the coarse clock (`jiffies`). Without a host's own word HZ is 1000, and the first value the kernel's: five minutes
    /// before its low 32 bits overflow (`INITIAL_JIFFIES`).
    fn jiffies(&mut self) -> u64 {
        const INITIAL_JIFFIES: u64 = (-300_i32 * 1000) as u32 as u64;
        INITIAL_JIFFIES + self.now(Clock::Monotonic) / 1_000_000
    }

    /// Address of the `task_struct` of the current task; 0 if there is none.
    fn current(&self) -> u64 {
        0
    }

    /// `pid` and `tgid` of the current task, as `bpf_get_current_pid_tgid` packs them.
    fn current_pid_tgid(&self) -> u64 {
        0
    }

    /// The current task's name; `None` if there is no task.
    fn current_comm(&self) -> Option<String> {
        None
    }

    /// `bpf_get_current_cgroup_id`: the number of the current task's cgroup in the default hierarchy.
    fn current_cgroup_id(&self) -> u64 {
        0
    }

    /// NUMA node of the executing CPU (`bpf_get_numa_node_id`).
    fn numa_node(&self) -> u32 {
        0
    }

    /// `bpf_get_prandom_u32`; deterministic hosts seed it.
    fn random(&mut self) -> u32 {
        0
    }

    /// A line of `bpf_printk`.
    fn printk(&mut self, _line: &str) {}

    /// Arms a timer: the host later calls [`Instance::timer_fired`]. Starting an armed timer moves it.
    fn timer_start(&mut self, _start: TimerStart) {}

    /// Disarms a timer; whether it was armed.
    fn timer_cancel(&mut self, _timer: u64) -> bool {
        false
    }

    /// Drops the reference to an object of the host whose pointer a map value or an object of a program owned, once
    /// that owner is gone. The host does what the type's destructor does (`bpf_task_release` for a `task_struct`).
    fn kptr_dropped(&mut self, _type_name: &str, _address: u64) {}

    /// Whether an object of the host is at `address` that a program may have a reference to, or storage of: a task, a cgroup. By default
    /// any live object of the memory is one.
    fn owns(&self, memory: &Memory, address: u64) -> bool {
        memory.size_of(address).is_some()
    }

    /// A program has ended without destroying an iterator of the host (`HandleKind::Host`), of this name and state.
    fn iterator_dropped(&mut self, _name: &'static str, _state: HandleState) {}

    /// Value of the event at `index` of a perf event array: (counter, enabled ns, running ns).
    ///
    /// # Errors
    /// As the kernel: `ENOENT` if there is no event, `EINVAL` if the event is another CPU's. A fault: the program may
    /// not read it.
    fn perf_event_value(&mut self, _map: &str, _index: u32) -> Result<(u64, u64, u64), OpError> {
        Err(Errno::ENOENT.into())
    }

    /// Calls the kernel function that [`Environment::kfuncs`](crate::link::Environment) offered under this number.
    ///
    /// # Errors
    /// A fault stops the program. What a real kernel answers with an errno is a value, not a fault.
    fn kfunc(&mut self, vm: &mut Instance, kfunc: u32, args: Args) -> Result<u64, Fault>;
}
