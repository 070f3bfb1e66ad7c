// SPDX-License-Identifier: MIT OR Apache-2.0
//! The structures of the simulator's own small kernel: only what it models. The kernel's names, but not its layout:
//! programs find members by CO-RE relocations.
//!
//! - [`task`]: tasks and what they point to. [`cgroup`]: cgroups. [`rq`]: run queues, dispatch queues, per-CPU variables.
//! - [`args`]: what callbacks get beside tasks. [`bpf`]: what BPF itself brings. [`ops`]: `struct sched_ext_ops`.
//! - [`prototypes`]: kernel functions, as [`prototype`] reads them. [`kernel`]: all of it as BTF.

pub mod args;
pub mod bpf;
pub mod cgroup;
pub mod kernel;
pub mod ops;
pub mod prototype;
pub mod prototypes;
pub mod rq;
pub mod task;

use super::layout::structures;

/// Bits of a `struct cpumask`: `CONFIG_NR_CPUS`. Programs built for this many CPUs read all of them.
pub const CPUMASK_BITS: u64 = 8192;

structures! {
    /// `struct cpumask`.
    Cpumask = "cpumask" { bits: [u64; (CPUMASK_BITS / 64) as usize] }
}

/// `cpumask_t`.
#[repr(transparent)]
pub struct CpumaskT(Cpumask);

impl super::layout::Described for CpumaskT {
    fn kind() -> super::layout::Kind {
        super::layout::Kind::Typedef("cpumask_t", <Cpumask as super::layout::Described>::kind)
    }
}

#[cfg(test)]
mod tests;
