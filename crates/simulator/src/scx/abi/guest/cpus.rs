// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs: masks, run queues, idle tasks, per-CPU variables.
//!
//! Per-CPU variables lie as in the kernel: one area per CPU, all alike, so that a CPU's copy of any variable is a fixed
//! number of bytes behind the first CPU's.

use tandem_bpf_vm::fault::FaultKind;
use tandem_bpf_vm::memory::{Memory, Protection};

use crate::kernel::cpumask::CpuMask;
use crate::kernel::{Kernel, Rq};
use crate::machine::Machine;
use crate::scx::abi::layout::{Composite, Described, Kind};
use crate::scx::abi::profile::PF_IDLE;
use crate::scx::abi::types::Cpumask;
use crate::scx::abi::types::rq::{CpufreqPolicy, PerCpu, SchedAvg};
use crate::scx::abi::types::task::TaskStruct;
use crate::units::{CpuId, Nanos, TaskId};

use super::Guest;
use super::access::{at, get, put, put_words};
use super::affinity::Affinities;
use super::tasks::{self, GuestTaskInfo};

/// A mask of the kernel that programs can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mask {
    /// `cpu_online_mask`.
    Online,
    /// `cpu_possible_mask`.
    Possible,
    /// The built-in idle mask of CPUs.
    IdleCpu,
    /// The built-in idle mask of wholly idle cores.
    IdleSmt,
}

/// The objects of CPUs.
#[derive(Debug)]
pub(super) struct CpuObjects {
    /// By [`Mask`].
    masks: [u64; 4],
    /// Address of the first CPU's area of per-CPU variables.
    per_cpu: u64,
    /// The idle tasks, by CPU.
    pub(super) idle_tasks: Vec<u64>,
    /// Task 1, the parent of all.
    pub(super) init_task: u64,
}

/// Bytes from a CPU's per-CPU variables to the next CPU's.
const STRIDE: u64 = size_of::<PerCpu>() as u64;

/// `RQCF_UPDATED` of kernel/sched/sched.h: the time of a run queue is up to date, as it is here whenever a callback runs.
const RQCF_UPDATED: u64 = 4;

/// The members of [`PerCpu`]: the per-CPU variables.
pub fn per_cpu_variables() -> &'static Composite {
    match PerCpu::kind() {
        Kind::Struct(composite) => composite,
        _ => unreachable!("PerCpu is a structure"),
    }
}

impl CpuObjects {
    pub(super) fn new(
        memory: &mut Memory,
        kernel: &Kernel,
        machine: &Machine,
        affinities: &mut Affinities,
    ) -> Result<Self, FaultKind> {
        let nr_cpus = kernel.topology.nr_cpus;
        let mut masks = [0; 4];
        for mask in &mut masks {
            *mask = memory.alloc(size_of::<Cpumask>() as u64, Protection::ReadOnly)?;
        }
        let possible = CpuMask::of(nr_cpus, (0..nr_cpus).map(CpuId::at));
        put_words(memory, masks[Mask::Possible as usize], possible.words());
        put_words(memory, masks[Mask::Online as usize], kernel.topology.online.words());
        let per_cpu = memory.alloc(STRIDE * nr_cpus as u64, Protection::ReadOnly)?;
        let init = GuestTaskInfo {
            pid: 1,
            tgid: 1,
            parent: None,
            maker: None,
            comm: "init",
            flags: 0,
            cgroup: None,
            start_time: 0,
        };
        let init_task = tasks::alloc_task(memory, affinities, tasks::OWNER_INIT)?;
        tasks::write_identity(memory, init_task, &init, CpuId(0));
        tasks::write_affinity(memory, affinities, init_task, None)?;
        put::<4>(memory, init_task + at!(TaskStruct, state), 1);
        put::<8>(memory, init_task + at!(TaskStruct, real_parent), init_task);
        put::<8>(memory, init_task + at!(TaskStruct, parent), init_task);
        let mut objects = Self { masks, per_cpu, idle_tasks: Vec::new(), init_task };
        for cpu in (0..nr_cpus).map(CpuId::at) {
            objects.add_cpu(memory, kernel, affinities, cpu)?;
        }
        objects.add_cpufreq_policies(memory, machine)?;
        Ok(objects)
    }

    /// Makes the idle task of `cpu` and fills in its per-CPU variables.
    fn add_cpu(
        &mut self,
        memory: &mut Memory,
        kernel: &Kernel,
        affinities: &mut Affinities,
        cpu: CpuId,
    ) -> Result<(), FaultKind> {
        let comm = format!("swapper/{cpu}");
        let info = GuestTaskInfo {
            pid: 0,
            tgid: 0,
            parent: None,
            maker: None,
            comm: &comm,
            flags: PF_IDLE,
            cgroup: None,
            start_time: 0,
        };
        let idle = tasks::alloc_task(memory, affinities, tasks::OWNER_IDLE)?;
        tasks::write_identity(memory, idle, &info, cpu);
        let only = CpuMask::of(kernel.topology.nr_cpus, [cpu]);
        tasks::write_affinity(memory, affinities, idle, Some(&only))?;
        put::<8>(memory, idle + at!(TaskStruct, real_parent), idle);
        put::<8>(memory, idle + at!(TaskStruct, parent), idle);
        put::<4>(memory, idle + at!(TaskStruct, on_cpu), 1);
        put::<4>(memory, idle + at!(TaskStruct, on_rq), 1);
        self.idle_tasks.push(idle);
        let area = self.area(cpu);
        for offset in [at!(PerCpu, runqueues.curr), at!(PerCpu, runqueues.idle), at!(PerCpu, pcpu_hot.current_task)] {
            put::<8>(memory, area + offset, idle);
        }
        put::<8>(memory, area + at!(PerCpu, current_task), idle);
        for offset in [at!(PerCpu, runqueues.cpu), at!(PerCpu, cpu_number), at!(PerCpu, pcpu_hot.cpu_number)] {
            put::<4>(memory, area + offset, u64::from(cpu.0));
        }
        put::<4>(memory, area + at!(PerCpu, runqueues.clock_update_flags), RQCF_UPDATED);
        put::<8>(memory, area + at!(PerCpu, runqueues.cpu_capacity), u64::from(kernel.rq(cpu).capacity_orig));
        let llc = kernel.topology.llc_of[cpu.index()];
        let sharers = (0..kernel.topology.nr_cpus).filter(|other| kernel.topology.llc_of[*other] == llc);
        // `update_top_cache_domain`: an LLC is named by its first CPU.
        let first = sharers.clone().next().unwrap_or(cpu.index());
        put::<4>(memory, area + at!(PerCpu, sd_llc_id), first as u64);
        put::<4>(memory, area + at!(PerCpu, sd_llc_size), sharers.count() as u64);
        Ok(())
    }

    /// One policy per performance domain, with the limits that the machine is described with.
    fn add_cpufreq_policies(&mut self, memory: &mut Memory, machine: &Machine) -> Result<(), FaultKind> {
        let mut policies = vec![0; machine.performance_domains.len()];
        for (index, cpu) in machine.cpus.iter().enumerate() {
            let policy = &mut policies[cpu.performance_domain.index()];
            if *policy == 0 {
                *policy = memory.alloc(size_of::<CpufreqPolicy>() as u64, Protection::ReadOnly)?;
                let domain = &machine.performance_domains[cpu.performance_domain.index()];
                let khz = |opp: usize| u64::from(domain.opps[opp].khz);
                let (lowest, highest) = (khz(0), khz(domain.opps.len() - 1));
                put::<4>(memory, *policy + at!(CpufreqPolicy, cpu), index as u64);
                put::<4>(memory, *policy + at!(CpufreqPolicy, min), lowest);
                put::<4>(memory, *policy + at!(CpufreqPolicy, max), khz(domain.max_opp));
                put::<4>(memory, *policy + at!(CpufreqPolicy, cur), khz(domain.max_opp));
                put::<4>(memory, *policy + at!(CpufreqPolicy, cpuinfo.max_freq), highest);
                put::<4>(memory, *policy + at!(CpufreqPolicy, cpuinfo.min_freq), lowest);
            }
            put::<8>(memory, self.area(CpuId::at(index)) + at!(PerCpu, cpufreq_cpu_data), *policy);
        }
        Ok(())
    }

    #[inline]
    fn area(&self, cpu: CpuId) -> u64 {
        self.per_cpu + STRIDE * u64::from(cpu.0)
    }
}

impl Guest {
    /// Address of a mask.
    #[inline]
    pub fn mask(&self, mask: Mask) -> u64 {
        self.cpus.masks[mask as usize]
    }

    /// Sets or clears the bit of `cpu` in a mask.
    #[inline]
    pub fn set_mask_bit(&self, memory: &mut Memory, mask: Mask, cpu: CpuId, value: bool) {
        let word = self.mask(mask) + u64::from(cpu.0 / 64 * 8);
        let old = get::<8>(memory, word);
        let bit = 1 << (cpu.0 % 64);
        put::<8>(memory, word, if value { old | bit } else { old & !bit });
    }

    /// Address of the idle task of `cpu`.
    #[inline]
    pub fn idle_task(&self, cpu: CpuId) -> u64 {
        self.cpus.idle_tasks[cpu.index()]
    }

    /// Address of the first CPU's copy of the per-CPU variable `name`; see [`Self::per_cpu_stride`].
    pub fn variable(&self, name: &str) -> Option<u64> {
        let member = per_cpu_variables().members.iter().find(|member| member.name == name)?;
        Some(self.cpus.per_cpu + member.offset)
    }

    /// Addresses of the first CPU's copies of all per-CPU variables.
    pub fn variables(&self) -> impl Iterator<Item = u64> + '_ {
        per_cpu_variables().members.iter().map(|member| self.cpus.per_cpu + member.offset)
    }

    /// Bytes from a CPU's copy of a per-CPU variable to the next CPU's.
    pub fn per_cpu_stride(&self) -> u64 {
        STRIDE
    }

    /// Address of the run queue of `cpu`.
    #[inline]
    pub fn rq(&self, cpu: CpuId) -> u64 {
        self.cpus.area(cpu) + at!(PerCpu, runqueues)
    }

    /// `task` becomes the current one of `cpu`, or its idle task (`rq->curr`, `current`, `on_cpu`).
    #[inline]
    pub fn set_curr(&self, memory: &mut Memory, cpu: CpuId, task: Option<TaskId>) {
        let area = self.cpus.area(cpu);
        let next = task.map_or_else(|| self.idle_task(cpu), |task| self.task(task));
        let prev = get::<8>(memory, area + at!(PerCpu, runqueues.curr));
        // The previous task may have been freed.
        let _ = memory.host_store::<4>(prev + at!(TaskStruct, on_cpu), 0);
        put::<4>(memory, next + at!(TaskStruct, on_cpu), 1);
        put::<8>(memory, area + at!(PerCpu, runqueues.curr), next);
        put::<8>(memory, area + at!(PerCpu, pcpu_hot.current_task), next);
        put::<8>(memory, area + at!(PerCpu, current_task), next);
    }

    /// Sets `rq->nr_running` and that of `rq->scx`.
    #[inline]
    pub fn set_nr_running(&self, memory: &mut Memory, cpu: CpuId, all: u32, scx: u32) {
        let area = self.cpus.area(cpu);
        put::<4>(memory, area + at!(PerCpu, runqueues.nr_running), u64::from(all));
        put::<4>(memory, area + at!(PerCpu, runqueues.scx.nr_running), u64::from(scx));
    }

    /// Sets the clocks of a run queue, ns: `clock` and `clock_task`, `clock_pelt`, `lost_idle_time`.
    #[inline]
    pub fn set_rq_clock(&self, memory: &mut Memory, cpu: CpuId, clock: Nanos, pelt: Nanos, lost_idle_time: Nanos) {
        let area = self.cpus.area(cpu);
        put::<8>(memory, area + at!(PerCpu, runqueues.clock), clock);
        put::<8>(memory, area + at!(PerCpu, runqueues.clock_task), clock);
        put::<8>(memory, area + at!(PerCpu, runqueues.clock_pelt), pelt);
        put::<8>(memory, area + at!(PerCpu, runqueues.lost_idle_time), lost_idle_time);
    }

    /// Tells programs what takes time and capacity of `cpu` besides fair tasks: classes above them, interrupts, limits of clocks.
    /// Times are by the clock that each load goes by, `uptime` later.
    pub fn set_pressure(&self, memory: &mut Memory, cpu: CpuId, rq: &Rq, uptime: Nanos) {
        let area = self.cpus.area(cpu);
        let loads = [
            (at!(PerCpu, runqueues.avg_rt), &rq.avg_rt),
            (at!(PerCpu, runqueues.avg_dl), &rq.avg_dl),
            (at!(PerCpu, runqueues.avg_irq), &rq.avg_irq),
            (at!(PerCpu, runqueues.avg_hw), &rq.avg_hw),
        ];
        for (offset, load) in loads {
            put::<8>(memory, area + offset + at!(SchedAvg, last_update_time), load.last_update_time + uptime);
            put::<8>(memory, area + offset + at!(SchedAvg, load_avg), load.load_avg);
            put::<8>(memory, area + offset + at!(SchedAvg, util_avg), load.util_avg);
        }
        put::<8>(memory, area + at!(PerCpu, hw_pressure), u64::from(rq.hw_pressure));
        put::<8>(memory, area + at!(PerCpu, cpufreq_pressure), u64::from(rq.cpufreq_pressure));
    }

    /// Tells programs how many tasks are runnable on `cpu`.
    #[inline]
    pub fn mirror_nr_running(&self, memory: &mut Memory, kernel: &Kernel, cpu: CpuId) {
        let rq = kernel.rq(cpu);
        self.set_nr_running(memory, cpu, rq.nr_running, rq.ext_nr_running);
    }

    /// Tells programs of all run queues as they are when a scheduler is loaded.
    pub fn mirror_run_queues(&self, memory: &mut Memory, kernel: &Kernel) {
        for cpu in (0..kernel.topology.nr_cpus).map(CpuId::at) {
            self.set_curr(memory, cpu, kernel.rq(cpu).curr);
            self.mirror_nr_running(memory, kernel, cpu);
        }
    }

    /// Address of the current task of `cpu`, which may be its idle task (`cpu_curr`).
    pub fn curr(&self, kernel: &Kernel, cpu: CpuId) -> u64 {
        kernel.rq(cpu).curr.map_or_else(|| self.idle_task(cpu), |task| self.task(task))
    }

    /// Sets the number of tasks on a local DSQ.
    #[inline]
    pub fn set_local_dsq_nr(&self, memory: &mut Memory, cpu: CpuId, nr: u32) {
        put::<4>(memory, self.cpus.area(cpu) + at!(PerCpu, runqueues.scx.local_dsq.nr), u64::from(nr));
    }
}
