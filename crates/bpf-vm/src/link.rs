// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loading: gives maps and data their addresses, resolves externs, applies relocations, decodes.

use std::sync::Arc;

use crate::btf::Btf;

/// The kernel that an object is loaded into.
pub struct Environment<'k> {
    /// The kernel's types; its functions are `FUNC` types.
    pub btf: Arc<Btf>,
    /// Number of a kernel function of the host by name, as [`Host::kfunc`](crate::host::Host::kfunc) will get it.
    pub kfuncs: &'k dyn Fn(&str) -> Option<u32>,
    /// Address of a kernel variable (`__ksym`) in the arena.
    pub variables: &'k dyn Fn(&str) -> Option<u64>,
    /// Value of a `__kconfig` variable.
    pub kconfig: &'k dyn Fn(&str) -> Option<u64>,
    /// CPUs (`nr_cpu_ids`): copies of per-CPU data.
    pub nr_cpus: u32,
    /// Instructions that one call of a program may execute, callbacks and nested programs included.
    pub budget: u64,
}
