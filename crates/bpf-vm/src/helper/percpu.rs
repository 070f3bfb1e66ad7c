// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's per-CPU variables, which programs reach through ksyms, and objects of programs with a copy for each CPU.

use crate::fault::{Fault, FaultKind};
use crate::host::{Args, Host};
use crate::instance::Instance;

impl Instance {
    /// Says that the variable at `address` is a per-CPU one: CPU *n*'s copy is `n * stride` bytes behind it.
    pub fn register_percpu(&mut self, address: u64, stride: u64) {
        self.helpers.percpu.insert(address, stride);
    }

    /// Address of a CPU's copy; 0 if there is no such CPU.
    fn percpu_copy(&self, variable: u64, cpu: u32) -> Result<u64, Fault> {
        if cpu >= self.nr_cpus {
            return Ok(0);
        }
        let stride = self.helpers.percpu.get(&variable).copied().or_else(|| self.percpu_stride(variable));
        let stride = stride.ok_or_else(|| FaultKind::Misuse(format!("{variable:#x} is no per-CPU variable")))?;
        Ok(variable.wrapping_add(stride.wrapping_mul(u64::from(cpu))))
    }
}

/// `bpf_per_cpu_ptr(variable, cpu)`.
pub(super) fn per_cpu_ptr(vm: &mut Instance, _: &mut dyn Host, [variable, cpu, ..]: Args) -> Result<u64, Fault> {
    vm.percpu_copy(variable, cpu as u32)
}

/// `bpf_this_cpu_ptr(variable)`.
pub(super) fn this_cpu_ptr(vm: &mut Instance, host: &mut dyn Host, [variable, ..]: Args) -> Result<u64, Fault> {
    vm.percpu_copy(variable, host.cpu())
}
