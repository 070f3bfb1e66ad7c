// SPDX-License-Identifier: MIT OR Apache-2.0
//! Load and utilisation of CPUs and tasks, as placement, balancing and schedutil ask for it.

use super::Fair;
use crate::kernel::Kernel;
use crate::units::{CAPACITY_SCALE, CpuId, TaskId};

/// `fits_capacity`: utilisation leaves a fifth of the capacity free.
#[inline]
pub(super) fn fits_capacity(util: u64, capacity: u64) -> bool {
    util * 1280 < capacity * 1024
}

/// `capacity_greater`: by more than about 5 %.
#[inline]
pub(super) fn capacity_greater(a: u64, b: u64) -> bool {
    a * 1024 > b * 1078
}

/// How well a task's needs fit a CPU (`util_fits_cpu`), worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    /// The task does not fit.
    No,
    /// The utilisation fits, the wished minimum performance does not (−1 in the kernel).
    NotBoosted,
    /// The task fits.
    Yes,
}

impl Fair {
    /// `cpu_load`: weighted load.
    #[inline]
    pub(super) fn cpu_load(&self, cpu: CpuId) -> u64 {
        self.cfs[cpu.index()].avg.load_avg
    }

    /// `cpu_util_cfs`: utilisation of `cpu` by fair tasks, estimates included, at most its capacity.
    #[inline]
    pub fn cpu_util_cfs(&self, kernel: &Kernel, cpu: CpuId) -> u64 {
        self.cfs[cpu.index()].avg.cpu_util_cfs(u64::from(kernel.rq(cpu).capacity_orig))
    }

    /// `cpu_util_cfs_boost`: what schedutil sees; contention counts as utilisation.
    pub fn cpu_util_cfs_boost(&self, kernel: &Kernel, cpu: CpuId) -> u64 {
        self.cfs[cpu.index()].avg.cpu_util_cfs_boost(u64::from(kernel.rq(cpu).capacity_orig))
    }

    /// `cpu_util(cpu, p, dst_cpu, boost)`: utilisation of `cpu` if the waking `task` ran on `dst` (`None`: nowhere);
    /// with `boost`, tasks that wait for each other count too.
    pub(super) fn cpu_util_with(
        &self,
        kernel: &Kernel,
        cpu: CpuId,
        task: TaskId,
        dst: Option<CpuId>,
        boost: bool,
    ) -> u64 {
        let (avg, own) = (&self.cfs[cpu.index()].avg, &self.se(task).avg);
        let here = kernel.task(task).cpu == cpu;
        let moved = |sum: u64, part: u64| match (here, dst == Some(cpu)) {
            (true, false) => sum.saturating_sub(part),
            (false, true) => sum + part,
            _ => sum,
        };
        let mut util = moved(avg.util_avg, own.util_avg);
        if boost {
            util = util.max(moved(avg.runnable_avg, own.runnable_avg));
        }
        // A waking task is not in the queue's estimate.
        let estimate = avg.util_est + if dst == Some(cpu) { own.util_est } else { 0 };
        util.max(u64::from(estimate)).min(u64::from(kernel.rq(cpu).capacity_orig))
    }

    /// `task_util_est`.
    #[inline]
    pub fn task_util_est(&self, task: TaskId) -> u64 {
        self.se(task).avg.task_util_est()
    }

    /// `uclamp_eff_value` of both clamps.
    pub(super) fn uclamp(kernel: &Kernel, task: TaskId) -> (u64, u64) {
        kernel.task(task).uclamp_eff_value()
    }

    /// `uclamp_rq_is_idle`: no task with clamps is runnable on `cpu`. Deadline tasks have none.
    pub(super) fn uclamp_rq_is_idle(&self, kernel: &Kernel, cpu: CpuId) -> bool {
        self.cfs[cpu.index()].nr_runnable == 0 && kernel.rq(cpu).uclamp_others.is_empty()
    }

    /// `uclamp_rq_get`: the largest clamps of the tasks that are runnable on `cpu`.
    ///
    /// The kernel keeps buckets; this walks the queue, and only where a workload uses clamps at all.
    pub fn uclamp_rq(&self, kernel: &Kernel, cpu: CpuId) -> (u64, u64) {
        if !kernel.uclamp_used || self.uclamp_rq_is_idle(kernel, cpu) {
            return (0, CAPACITY_SCALE);
        }
        let runnable = self.queued_on(cpu).filter(|task| !self.is_delayed(*task));
        let others = kernel.rq(cpu).uclamp_others.iter().copied();
        let clamps = runnable.chain(others).map(|task| Self::uclamp(kernel, task));
        clamps.fold((0, 0), |(a, b), (min, max)| (a.max(min), b.max(max)))
    }

    /// `util_fits_cpu`.
    pub(super) fn util_fits_cpu(&self, kernel: &Kernel, util: u64, (min, max): (u64, u64), cpu: CpuId) -> Fit {
        let rq = kernel.rq(cpu);
        let mut fits = fits_capacity(util, u64::from(rq.capacity));
        if !kernel.uclamp_used {
            return if fits { Fit::Yes } else { Fit::No };
        }
        let original = u64::from(rq.capacity_orig);
        let capped = !(original == CAPACITY_SCALE && max == CAPACITY_SCALE) && max <= original;
        fits |= capped;
        let min = min.min(max);
        match fits {
            false => Fit::No,
            true if util < min && min > u64::from(rq.capacity_limit) => Fit::NotBoosted,
            true => Fit::Yes,
        }
    }

    /// `task_fits_cpu`.
    pub(super) fn task_fits_cpu(&self, kernel: &Kernel, task: TaskId, cpu: CpuId) -> bool {
        self.util_fits_cpu(kernel, self.task_util_est(task), Self::uclamp(kernel, task), cpu) == Fit::Yes
    }

    /// `cpu_overutilized`.
    pub(super) fn cpu_overutilized(&self, kernel: &Kernel, cpu: CpuId) -> bool {
        if self.energy.is_none() {
            return false;
        }
        let (min, max) = self.uclamp_rq(kernel, cpu);
        let min = if self.release.overutilized_by_max { 0 } else { min };
        self.util_fits_cpu(kernel, self.cpu_util_cfs(kernel, cpu), (min, max), cpu) == Fit::No
    }

    /// `check_update_overutilized_status`: one CPU too full is enough; balancing clears it.
    pub(super) fn check_update_overutilized_status(&mut self, kernel: &Kernel, cpu: CpuId) {
        if self.energy.is_some() && !self.overutilized && self.cpu_overutilized(kernel, cpu) {
            self.overutilized = true;
        }
    }

    /// `update_misfit_status`: notes whether the running task needs a bigger CPU.
    pub(super) fn update_misfit_status(&mut self, kernel: &Kernel, cpu: CpuId) {
        if kernel.topology.asym[cpu.index()].is_none() {
            return;
        }
        let load = match self.current(cpu) {
            Some(task) if self.may_be_misfit(kernel, task, cpu) => self.task_h_load(task).max(1),
            _ => 0,
        };
        self.cfs[cpu.index()].misfit_task_load = load;
    }

    /// Whether `task` does not fit `cpu`, and some CPU that it may use is bigger.
    fn may_be_misfit(&self, kernel: &Kernel, task: TaskId, cpu: CpuId) -> bool {
        let here = kernel.rq(cpu).capacity_orig;
        let bigger = |other: CpuId| kernel.rq(other).capacity_orig > here && kernel.task(task).may_use(other);
        !self.task_fits_cpu(kernel, task, cpu) && kernel.topology.online.iter().any(bigger)
    }
}
