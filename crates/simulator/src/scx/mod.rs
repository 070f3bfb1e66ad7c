// SPDX-License-Identifier: MIT OR Apache-2.0
//! sched_ext: a scheduling class whose decisions a BPF object makes (`kernel/sched/ext.c`).
//!
//! [`Scx`] is the class: the [`State`] that ext.c keeps, and the [`Instance`] that runs the object's programs. A program
//! calls kernel functions that need the state again. So what may call a program is a method of [`Ctx`], which borrows the
//! state, the instance and the kernel for as long as one hook or one kernel function takes. What needs less is a method of
//! the part that it works on; a part that finds a mistake of the scheduler returns it, and [`Ctx::accept`] makes an error
//! of it. Which hooks one wake-up passes through, `sched::core` says.
//!
//! - [`ops`]: the callbacks; [`callbacks`]: calling them. [`class`]: the hooks of the scheduling class. Start there.
//! - [`entity`]: a task as sched_ext sees it. [`rq`]: a CPU.
//! - [`enqueue`]: tasks become runnable and are enqueued. [`dsq`]: dispatch queues. [`dispatch`]: into and between them.
//!   [`balance`]: a CPU looks for work.
//!   [`reenqueue`]: tasks that go back from queues to the scheduler.
//! - [`idle`]: which CPUs are idle. [`select_cpu`]: the built-in choice. [`kick`]: CPUs that shall reschedule.
//!   [`cpuperf`]: wanted performance.
//! - [`enable`]: a scheduler takes over and goes; [`bypass`]: while it must not be asked. [`exit`]: why it went.
//!   [`origin`]: which program's fault it was. [`dump`]: what is written down then. [`watchdog`]: tasks that wait too long.
//!   [`timers`]: timers, and when each is due. [`tasks`], [`cgroups`], [`hotplug`]: their callbacks. [`limits`], [`held`]: CPU time that groups use of their quotas, and how long they wait for more. [`tracepoints`]: programs
//!   beside them.
//! - [`kfuncs`]: what programs may call. [`host`]: what the instance asks of the kernel.
//! - [`shown`]: what observers are told. [`audit`]: whether all of this agrees. [`errno`]: error numbers. [`abi`]: the kernel's types and objects as programs see them. [`frontend`]: what a loader program does.

pub mod abi;
pub mod audit;
pub mod balance;
pub mod bypass;
pub mod callbacks;
pub mod cgroups;
pub mod class;
pub mod cpuperf;
pub mod dispatch;
#[cfg(test)]
mod docs;
pub mod dsq;
pub mod dump;
pub mod enable;
pub mod enqueue;
pub mod entity;
pub mod errno;
pub mod exit;
pub mod frontend;
pub mod held;
pub mod host;
pub mod hotplug;
pub mod idle;
pub mod kfuncs;
pub mod kick;
pub mod limits;
pub mod ops;
pub mod origin;
pub mod reenqueue;
pub mod rq;
pub mod select_cpu;
pub mod shown;
pub mod state;
pub mod tasks;
pub mod timers;
pub mod tracepoints;
pub mod watchdog;

use tandem_bpf_vm::instance::Instance;

use crate::kernel::Kernel;
use crate::streams::{Stream, Streams};
use crate::units::CpuId;
use bypass::Bypass;
use callbacks::Calls;
use cgroups::Cgroups;
use cpuperf::Cpuperf;
use dispatch::DispatchBuffers;
use dsq::Dsqs;
use enable::Enable;
use entity::Entities;
use exit::ExitState;
use frontend::Loaded;
use host::HostState;
use hotplug::Hotplug;
use idle::IdleTracking;
use kick::Kicks;
use limits::Limits;
use rq::{Rqs, ScxRq};
use shown::Shown;
pub use state::State;
use timers::TimerQueue;
use watchdog::Watchdog;

/// The sched_ext class with a loaded scheduler.
#[derive(Debug)]
pub struct Scx {
    /// What ext.c keeps.
    pub state: State,
    /// The object.
    pub vm: Instance,
}

/// One hook or kernel function at work.
pub struct Ctx<'a> {
    /// What ext.c keeps.
    pub scx: &'a mut State,
    /// The object.
    pub vm: &'a mut Instance,
    /// The rest of the kernel.
    pub kernel: &'a mut Kernel,
}

impl Scx {
    /// A loaded object, which is not in charge of anything yet; its programs draw from their stream of `streams`.
    pub fn new(loaded: Loaded, kernel: &Kernel, streams: Streams) -> Self {
        let topology = &kernel.topology;
        let rq = |cpu| ScxRq::new(topology.online.test(CpuId::at(cpu)));
        let state = State {
            profile: loaded.profile,
            ops: loaded.ops,
            guest: loaded.guest,
            calls: Calls::default(),
            tasks: Entities::default(),
            rqs: Rqs::new((0..topology.nr_cpus).map(rq).collect()),
            dsqs: Dsqs::new(topology.nr_cpus, idle::nr_nodes(topology)),
            buffers: DispatchBuffers::new(topology.nr_cpus),
            idle: IdleTracking::default(),
            kicks: Kicks::default(),
            limits: Limits::new(loaded.limited_queue),
            cpuperf: Cpuperf::default(),
            enable: Enable::default(),
            bypass: Bypass::default(),
            exit: ExitState::default(),
            watchdog: Watchdog::default(),
            timers: TimerQueue::default(),
            cgroups: Cgroups::default(),
            hotplug: Hotplug::default(),
            tracepoints: loaded.tracepoints,
            perf: loaded.perf,
            shown: Shown::default(),
            host: HostState::new(streams.of(Stream::Bpf)),
        };
        Self { state, vm: loaded.vm }
    }

    /// The class at work on `kernel`.
    pub fn with<'a>(&'a mut self, kernel: &'a mut Kernel) -> Ctx<'a> {
        Ctx { scx: &mut self.state, vm: &mut self.vm, kernel }
    }
}
