// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cgroups.

use crate::scx::abi::layout::{Char, Ptr, structures};

structures! {
    /// `struct cgroup`. Its `self` comes first, so that both have the same address, as in the kernel.
    Cgroup = "cgroup" {
        css as "self": CgroupSubsysState,
        flags: u64,
        level: i32,
        // The cgroup that this object stands for, for the simulator.
        owner as "": u32,
        kn: Ptr<KernfsNode>,
        dom_cgrp: Ptr<Cgroup>,
        // The last member: an object has one for each level down to its own.
        ancestors: [Ptr<Cgroup>; 0],
    }

    /// `struct cgroup_subsys_state`.
    CgroupSubsysState = "cgroup_subsys_state" {
        cgroup: Ptr<Cgroup>,
        parent: Ptr<CgroupSubsysState>,
        id: i32,
        flags: u32,
    }

    /// `struct task_group`.
    TaskGroup = "task_group" { parent: Ptr<TaskGroup>, cfs_bandwidth: CfsBandwidth }

    /// `struct cfs_bandwidth`, ns. The period is a `ktime_t` there.
    CfsBandwidth = "cfs_bandwidth" { period: i64, quota: u64, burst: u64 }

    /// `struct kernfs_node`.
    KernfsNode = "kernfs_node" {
        parent: Ptr<KernfsNode>,
        name: Ptr<Char>,
        id: u64,
    }

    /// `struct css_set`: what `task_struct.cgroups` points to.
    CssSet = "css_set" {
        dfl_cgrp: Ptr<Cgroup>,
        nr_tasks: i32,
    }
}
