// SPDX-License-Identifier: MIT OR Apache-2.0
//! What BPF itself brings: opaque objects in maps and iterators on the stack. The sizes are part of its interface.

use crate::scx::abi::layout::structures;

use super::CpumaskT;

structures! {
    /// `struct bpf_perf_event_value`.
    BpfPerfEventValue = "bpf_perf_event_value" { counter: u64, enabled: u64, running: u64 }
    /// `struct bpf_timer`.
    BpfTimer = "bpf_timer" { opaque as "__opaque": [u64; 2] }
    /// `struct bpf_spin_lock`.
    BpfSpinLock = "bpf_spin_lock" { val: u32 }
    /// `struct bpf_rb_root`.
    BpfRbRoot = "bpf_rb_root" { opaque as "__opaque": [u64; 2] }
    /// `struct bpf_rb_node`.
    BpfRbNode = "bpf_rb_node" { opaque as "__opaque": [u64; 4] }
    /// `struct bpf_list_head`.
    BpfListHead = "bpf_list_head" { opaque as "__opaque": [u64; 2] }
    /// `struct bpf_list_node`.
    BpfListNode = "bpf_list_node" { opaque as "__opaque": [u64; 3] }
    /// `struct bpf_refcount`.
    BpfRefcount = "bpf_refcount" { opaque as "__opaque": u32 }
    /// `struct bpf_cpumask`.
    BpfCpumask = "bpf_cpumask" { cpumask: CpumaskT, usage: i32 }
    /// `struct bpf_iter_num`.
    BpfIterNum = "bpf_iter_num" { opaque as "__opaque": u64 }
    /// `struct bpf_iter_scx_dsq`.
    BpfIterScxDsq = "bpf_iter_scx_dsq" { opaque as "__opaque": [u64; 6] }
    /// `struct bpf_iter_css`.
    BpfIterCss = "bpf_iter_css" { opaque as "__opaque": [u64; 3] }
    /// `struct bpf_iter_bits`.
    BpfIterBits = "bpf_iter_bits" { opaque as "__opaque": [u64; 2] }
    /// `struct bpf_iter_task`.
    BpfIterTask = "bpf_iter_task" { opaque as "__opaque": [u64; 3] }
}
