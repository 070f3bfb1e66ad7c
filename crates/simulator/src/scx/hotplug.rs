// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs that come and go (`handle_hotplug`).

use super::Ctx;
use super::abi::Mask;
use super::exit::{ExitKind, SCX_ECODE_ACT_RESTART, SCX_ECODE_RSN_HOTPLUG};
use super::ops::{Op, Ops};
use crate::units::CpuId;

/// CPUs that come and go.
#[derive(Debug, Default)]
pub struct Hotplug {
    /// How often CPUs came or went since the machine started (`scx_hotplug_seq`). A loader puts it into
    /// `ops.hotplug_seq`, where 0 means that it does not care.
    pub seq: u64,
}

impl Hotplug {
    /// What is wrong if CPUs came or went since the loader of `ops` looked (`check_hotplug_seq`): then it shall look again.
    pub(super) fn check_seq(&self, ops: &Ops) -> Option<String> {
        let (expected, actual) = (ops.hotplug_seq, self.seq);
        let wrong = expected != 0 && expected != actual;
        wrong.then(|| format!("expected hotplug seq {expected} did not match actual {actual}"))
    }
}

impl Ctx<'_> {
    /// `cpu` comes or goes: the scheduler hears of it, or goes itself if it has no callback for that (`handle_hotplug`).
    /// The callback runs on the CPU itself.
    pub fn handle_hotplug(&mut self, cpu: CpuId, online: bool) {
        self.scx.hotplug.seq += 1;
        let op = if online { Op::CpuOnline } else { Op::CpuOffline };
        if self.scx.enable.hotplug && self.scx.ops.has(op) {
            self.call_op(op, cpu, None, [None; 2], &[u64::from(cpu.0)]);
            return;
        }
        let going = if online { "online" } else { "offline" };
        let message = format!("cpu {cpu} going {going}, exiting scheduler");
        self.scx_ops_exit_kind(ExitKind::UnregKern, SCX_ECODE_ACT_RESTART | SCX_ECODE_RSN_HOTPLUG, message);
    }

    /// `cpu` runs tasks from now on (`rq_online_scx`, `scx_rq_activate`).
    pub fn scx_rq_activate(&mut self, cpu: CpuId) {
        self.scx.rqs[cpu].online = true;
        self.scx.idle.set_topology(&self.kernel.topology);
        self.scx.guest.set_mask_bit(&mut self.vm.memory, Mask::Online, cpu, true);
        self.handle_hotplug(cpu, true);
    }

    /// `cpu` is about to go (`rq_offline_scx`, `scx_rq_deactivate`): its waiting tasks go to its local queue, from where
    /// the caller takes them to other CPUs. The programs' mask of online CPUs changes after the callback, as the kernel's.
    pub fn scx_rq_deactivate(&mut self, cpu: CpuId) {
        self.scx.rqs[cpu].online = false;
        self.scx.idle.set_topology(&self.kernel.topology);
        for task in self.scx.rqs[cpu].runnable_list(&self.scx.tasks).into_iter().rev() {
            if self.scx.dsqs.dsq_of(task) != Some(self.scx.dsqs.local(cpu)) {
                self.cycle(task);
            }
        }
        self.handle_hotplug(cpu, false);
        self.scx.guest.set_mask_bit(&mut self.vm.memory, Mask::Online, cpu, false);
        if let Some(other) = self.kernel.topology.online.first() {
            self.scx.timers.migrate(cpu, other);
        }
    }
}
