// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sections in which a program may not be preempted or interrupted, casts, exceptions.
//!
//! A program runs here as one indivisible step, so the sections do nothing. Left out: the verifier's checks of the
//! sections, for instance that each is closed on every path. A program that a kernel loads cannot tell the difference.

use crate::fault::Fault;
use crate::host::{Args, Builtin, Host};
use crate::instance::Instance;

use super::misuse;

/// x86's flag for enabled interrupts; a program can see it in the flags that `bpf_local_irq_save` stored.
const X86_EFLAGS_IF: u64 = 1 << 9;

pub(super) fn find(name: &str) -> Option<Builtin> {
    Some(match name {
        "bpf_rcu_read_lock" | "bpf_rcu_read_unlock" => nothing,
        "bpf_preempt_disable" | "bpf_preempt_enable" => nothing,
        "bpf_local_irq_restore" => nothing,
        "bpf_local_irq_save" => bpf_local_irq_save,
        "bpf_cast_to_kern_ctx" | "bpf_rdonly_cast" => same,
        "bpf_throw" => bpf_throw,
        _ => return None,
    })
}

fn nothing(_: &mut Instance, _: &mut dyn Host, _: Args) -> Result<u64, Fault> {
    Ok(0)
}

/// `bpf_local_irq_save(flags)`.
fn bpf_local_irq_save(vm: &mut Instance, _: &mut dyn Host, args: Args) -> Result<u64, Fault> {
    vm.memory.store::<8>(args[0], X86_EFLAGS_IF)?;
    Ok(0)
}

/// Returns the pointer: the casts change what the verifier knows of a pointer, not the pointer.
fn same(_: &mut Instance, _: &mut dyn Host, args: Args) -> Result<u64, Fault> {
    Ok(args[0])
}

/// `bpf_throw(cookie)`: a fault, which tells more than the kernel does. Without an exception callback the kernel ends
/// the program with `cookie` as its result.
fn bpf_throw(_: &mut Instance, _: &mut dyn Host, args: Args) -> Result<u64, Fault> {
    Err(misuse(format!("the program threw an exception: bpf_throw({})", args[0])).into())
}
