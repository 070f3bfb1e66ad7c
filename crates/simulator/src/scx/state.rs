// SPDX-License-Identifier: MIT OR Apache-2.0
//! What ext.c keeps: one part per topic, each defined beside the code that works on it.

use super::abi::Guest;
use super::abi::profile::Profile;
use super::bypass::Bypass;
use super::callbacks::Calls;
use super::cgroups::Cgroups;
use super::cpuperf::Cpuperf;
use super::dispatch::DispatchBuffers;
use super::dsq::Dsqs;
use super::enable::Enable;
use super::entity::Entities;
use super::exit::ExitState;
use super::frontend::perf::PerfMap;
use super::host::HostState;
use super::hotplug::Hotplug;
use super::idle::IdleTracking;
use super::kick::Kicks;
use super::limits::Limits;
use super::ops::Ops;
use super::rq::Rqs;
use super::shown::Shown;
use super::timers::TimerQueue;
use super::tracepoints::Tracepoints;
use super::watchdog::Watchdog;

/// What ext.c keeps.
#[derive(Debug)]
pub struct State {
    /// The kernel version whose interface and rules hold.
    pub profile: Profile,
    /// The scheduler's callbacks.
    pub ops: Ops,
    /// Kernel objects in the programs' memory.
    pub guest: Guest,
    /// Callbacks at work, and the instructions they took.
    pub calls: Calls,
    /// Per task (`struct sched_ext_entity`), by [`TaskId`](crate::units::TaskId).
    pub tasks: Entities,
    /// Per CPU (`struct scx_rq`), by [`CpuId`](crate::units::CpuId).
    pub rqs: Rqs,
    /// Dispatch queues.
    pub dsqs: Dsqs,
    /// Per-CPU dispatch buffers (`scx_dsp_ctx`).
    pub buffers: DispatchBuffers,
    /// Which CPUs are idle.
    pub idle: IdleTracking,
    /// CPUs to kick.
    pub kicks: Kicks,
    /// What groups with limits used, and how long they waited.
    pub limits: Limits,
    /// Wanted performance.
    pub cpuperf: Cpuperf,
    /// How far the scheduler is loaded.
    pub enable: Enable,
    /// Whether the scheduler is bypassed.
    pub bypass: Bypass,
    /// Whether and why it goes or went.
    pub exit: ExitState,
    /// Tasks that wait too long.
    pub watchdog: Watchdog,
    /// What is due when.
    pub timers: TimerQueue,
    /// Cgroups and what the scheduler knows of them.
    pub cgroups: Cgroups,
    /// CPUs that come and go.
    pub hotplug: Hotplug,
    /// Programs at tracepoints.
    pub tracepoints: Tracepoints,
    /// Performance counters, by map.
    pub perf: Vec<PerfMap>,
    /// What an observer is still to be shown.
    pub shown: Shown,
    /// What the host keeps for the instance.
    pub host: HostState,
}
