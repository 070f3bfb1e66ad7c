// SPDX-License-Identifier: MIT OR Apache-2.0
//! BPF helpers: the functions that programs call by number. Here are those that tracing and `struct_ops` programs may
//! use and that need no network, file or process behind them.
//!
//! An errno that the kernel answers is a value that the program sees. Misuse that the kernel's verifier would have
//! refused is a fault.
//!
//! - `map`, `storage`, `ring`: maps. `dynptr`: checked views of memory. `percpu`: the kernel's per-CPU variables.
//! - `probe`: reads that may fail. `text`: formatting and parsing. `clock`, `task`, `perf`: the host's answers.
//! - `lock`: spin locks. `kptr`: owned pointers. `repeat`: callbacks. [`crate::timer`]: timers.

mod clock;
mod dynptr;
mod kptr;
mod lock;
mod map;
mod names;
mod percpu;
mod perf;
mod probe;
mod repeat;
mod ring;
mod storage;
mod task;
mod text;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::errno::OpError;
use crate::fault::{Fault, FaultKind};
use crate::host::{Builtin, Host};
use crate::instance::Instance;
use crate::map::{DroppedKptr, MapId};
use crate::timer;
pub use names::helper_name;

/// State that helpers keep between calls.
#[derive(Debug, Default)]
pub struct HelperState {
    /// Distance between the copies of a per-CPU kernel variable, by the address of its first copy.
    percpu: BTreeMap<u64, u64>,
    /// Address of the spin lock that is held.
    lock: Option<u64>,
}

/// The helper of this number; `None` if this crate has none.
pub fn helper(id: i32) -> Option<Builtin> {
    map_helper(id).or_else(|| memory_helper(id)).or_else(|| host_helper(id))
}

/// Helpers that work on maps.
fn map_helper(id: i32) -> Option<Builtin> {
    Some(match id {
        1 => map::lookup,
        2 => map::update,
        3 => map::delete,
        87 => map::push,
        88 => map::pop,
        89 => map::peek,
        130 => ring::output,
        131 => ring::reserve,
        132 => ring::submit,
        133 => ring::discard,
        134 => ring::query,
        156 | 210 => storage::get,
        157 | 211 => storage::delete,
        164 => repeat::for_each_map_elem,
        169 => timer::init,
        170 => timer::set_callback,
        171 => timer::start,
        172 => timer::cancel,
        195 => map::lookup_percpu,
        198 => dynptr::ringbuf_reserve,
        199 => dynptr::ringbuf_submit,
        200 => dynptr::ringbuf_discard,
        _ => return None,
    })
}

/// Helpers that need nothing but memory and callbacks.
fn memory_helper(id: i32) -> Option<Builtin> {
    Some(match id {
        4 | 112 | 113 => probe::read,
        45 | 114 | 115 => probe::read_str,
        93 => lock::lock,
        94 => lock::unlock,
        105 => text::strtol,
        106 => text::strtoul,
        148 => probe::copy_from_user,
        153 => percpu::per_cpu_ptr,
        154 => percpu::this_cpu_ptr,
        165 => text::snprintf,
        181 => repeat::repeat,
        182 => text::strncmp,
        191 => probe::copy_from_user_task,
        194 => kptr::xchg,
        197 => dynptr::from_mem,
        201 => dynptr::read,
        202 => dynptr::write,
        203 => dynptr::data,
        _ => return None,
    })
}

/// Helpers that ask the host.
fn host_helper(id: i32) -> Option<Builtin> {
    Some(match id {
        5 | 160 => clock::monotonic,
        6 => text::trace_printk,
        7 => task::random,
        8 => task::cpu,
        14 => task::pid_tgid,
        15 => task::uid_gid,
        16 => task::comm,
        22 => perf::read,
        25 => perf::output,
        35 | 158 => task::current,
        42 => task::numa_node,
        55 => perf::read_value,
        80 => task::cgroup_id,
        118 => clock::jiffies,
        125 => clock::boottime,
        177 => text::trace_vprintk,
        208 => clock::tai,
        _ => return None,
    })
}

impl Instance {
    /// Cleans up after one run of a program or timer callback; called when the outermost call has ended. Values that
    /// were removed from maps are freed, timers in them disarmed, and what they owned is dropped.
    ///
    /// # Errors
    /// A fault if a spin lock is still held or an iterator was not destroyed: the kernel's verifier accepts no such program.
    pub(crate) fn call_ended(&mut self, host: &mut dyn Host) -> Result<(), Fault> {
        if self.maps.has_retired() {
            self.disarm_retired(host);
            self.free_retired(host)?;
        }
        let handles = self.drop_handles(host);
        match self.helpers.lock.take() {
            Some(lock) => {
                Err(FaultKind::Misuse(format!("the program ended with the spin lock at {lock:#x} held")).into())
            }
            None => handles,
        }
    }
}

impl Instance {
    /// Empties the trees and lists of values that left their maps, frees the values, and drops what they pointed to.
    fn free_retired(&mut self, host: &mut dyn Host) -> Result<(), Fault> {
        for (address, size) in self.maps.take_retired_graphs() {
            self.drop_collections(address, size)?;
        }
        self.maps.free_retired(&mut self.memory)?;
        for DroppedKptr { address, type_name } in self.maps.take_dropped() {
            self.drop_kptr(address, &type_name)?;
        }
        for DroppedKptr { address, type_name } in self.take_foreign() {
            host.kptr_dropped(&type_name, address);
        }
        Ok(())
    }
}

/// The map that a program gave a helper.
fn map_of(vm: &Instance, handle: u64) -> Result<MapId, OpError> {
    vm.maps.by_handle(handle).ok_or_else(|| FaultKind::Misuse(format!("{handle:#x} is no map")).into())
}

/// Bytes that a program passes by address.
fn bytes(vm: &Instance, address: u64, size: u64) -> Result<Vec<u8>, OpError> {
    Ok(vm.memory.read(address, size)?.to_vec())
}
