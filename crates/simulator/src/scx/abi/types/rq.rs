// SPDX-License-Identifier: MIT OR Apache-2.0
//! Run queues, dispatch queues and per-CPU variables.

use crate::scx::abi::layout::{Ptr, structures};

use super::task::TaskStruct;

structures! {
    /// `struct rq`.
    Rq = "rq" {
        nr_running: u32,
        cpu: i32,
        curr: Ptr<TaskStruct>,
        idle: Ptr<TaskStruct>,
        clock: u64,
        clock_task: u64,
        clock_pelt: u64,
        lost_idle_time: u64,
        nr_switches: u64,
        cpu_capacity: u64,
        clock_update_flags: u32,
        avg_rt: SchedAvg,
        avg_dl: SchedAvg,
        avg_irq: SchedAvg,
        avg_hw: SchedAvg,
        scx: ScxRq,
    }

    /// `struct sched_avg`, of a class or of what takes a CPU's time.
    SchedAvg = "sched_avg" {
        last_update_time: u64,
        load_avg: u64,
        util_avg: u64,
    }

    /// `struct scx_rq`.
    ScxRq = "scx_rq" {
        local_dsq: ScxDispatchQ,
        nr_running: u32,
        flags: u32,
        cpuperf_target: u32,
        cpu_released: bool,
    }

    /// `struct scx_dispatch_q`.
    ScxDispatchQ = "scx_dispatch_q" {
        nr: u32,
        seq: u32,
        id: u64,
    }

    /// `struct cpufreq_policy`, in kHz.
    CpufreqPolicy = "cpufreq_policy" {
        cpu: u32,
        min: u32,
        max: u32,
        cur: u32,
        cpuinfo: CpufreqCpuinfo,
    }

    /// `struct cpufreq_cpuinfo`, in kHz.
    CpufreqCpuinfo = "cpufreq_cpuinfo" {
        max_freq: u32,
        min_freq: u32,
    }

    /// `struct pcpu_hot`.
    PcpuHot = "pcpu_hot" {
        current_task: Ptr<TaskStruct>,
        preempt_count: i32,
        cpu_number: i32,
    }

    /// A CPU's copy of all per-CPU variables of the kernel; each member is one of them.
    PerCpu = "" {
        runqueues: Rq,
        cpufreq_cpu_data: Ptr<CpufreqPolicy>,
        pcpu_hot: PcpuHot,
        preempt_count as "__preempt_count": i32,
        cpu_number: i32,
        current_task: Ptr<TaskStruct>,
        sd_llc_size: i32,
        sd_llc_id: i32,
        hw_pressure: u64,
        cpufreq_pressure: u64,
    }
}
