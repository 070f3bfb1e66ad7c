// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks and what they point to.

use crate::scx::abi::layout::{Char, Ptr, structures};

use super::cgroup::{Cgroup, CssSet, TaskGroup};
use super::rq::ScxDispatchQ;
use super::{Cpumask, CpumaskT};

structures! {
    /// `struct task_struct`. What callbacks touch most stands first.
    TaskStruct = "task_struct" {
        thread_info: ThreadInfo,
        state as "__state": u32,
        flags: u32,
        on_cpu: i32,
        on_rq: i32,
        wake_cpu: i32,
        recent_used_cpu: i32,
        scx: SchedExtEntity,
        se: SchedEntity,
        prio: i32,
        static_prio: i32,
        normal_prio: i32,
        rt_priority: u32,
        policy: u32,
        nr_cpus_allowed: i32,
        cpus_ptr: Ptr<Cpumask>,
        migration_disabled: u16,
        uclamp: [UclampSe; 2],
        sched_task_group: Ptr<TaskGroup>,
        exit_state: i32,
        pid: i32,
        tgid: i32,
        mm: Ptr<MmStruct>,
        active_mm: Ptr<MmStruct>,
        real_parent: Ptr<TaskStruct>,
        parent: Ptr<TaskStruct>,
        group_leader: Ptr<TaskStruct>,
        cgroups: Ptr<CssSet>,
        mempolicy: Ptr<Mempolicy>,
        utime: u64,
        stime: u64,
        nvcsw: u64,
        nivcsw: u64,
        start_time: u64,
        start_boottime: u64,
        comm: [Char; 16],
        // The task that this object stands for, for the simulator; and whether it is an idle task's.
        owner as "": u32,
        // The last member: objects have only as much of it as there are CPUs.
        cpus_mask: CpumaskT,
    }

    /// `struct uclamp_se`, where the kernel's value is a bit field of 11 bits with others behind it: they are 0 here.
    UclampSe = "uclamp_se" { value: u32 }

    /// `struct thread_info`.
    ThreadInfo = "thread_info" { flags: u64, cpu: u32 }

    /// `struct sched_entity`.
    SchedEntity = "sched_entity" {
        load: LoadWeight,
        on_rq: u8,
        exec_start: u64,
        sum_exec_runtime: u64,
        prev_sum_exec_runtime: u64,
        vruntime: u64,
        nr_migrations: u64,
    }

    /// `struct load_weight`.
    LoadWeight = "load_weight" { weight: u64, inv_weight: u32 }

    /// `struct sched_ext_entity`. Programs may write `slice`, `dsq_vtime` and `disallow`; each has 8 bytes of its own, as
    /// memory is protected by those.
    SchedExtEntity = "sched_ext_entity" {
        slice: u64,
        dsq_vtime: u64,
        disallow: bool,
        dsq: Ptr<ScxDispatchQ>,
        flags: u32,
        weight: u32,
        sticky_cpu: i32,
        holding_cpu: i32,
        selected_cpu: i32,
        ddsp_dsq_id: u64,
        ddsp_enq_flags: u64,
        runnable_at: u64,
        cgrp_moving_from: Ptr<Cgroup>,
    }

    /// `struct mm_struct`: programs compare its address.
    MmStruct = "mm_struct" { owner: Ptr<TaskStruct> }

    /// `struct mempolicy`: no task has one of its own, so that nothing points here. Objects that look for one must find the member.
    Mempolicy = "mempolicy" { mode: u16, home_node: i32 }
}
