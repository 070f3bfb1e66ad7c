// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helpers that call back: `bpf_loop`, `bpf_for_each_map_elem`.

use super::map_of;
use crate::errno::{Errno, OpError};
use crate::fault::Fault;
use crate::host::{Args, Host};
use crate::instance::Instance;
use crate::map::{MapId, kind};
use crate::memory::Protection;

/// `BPF_MAX_LOOPS`.
const MAX_LOOPS: u32 = 8 << 20;
/// Work that the next element is to find.
const PER_ELEMENT: u64 = 16;

fn error(errno: Errno) -> Result<u64, Fault> {
    Ok(errno.value() as u64)
}

/// `bpf_loop(count, callback, context, flags)`: returns how often it called the callback, which stops the loop by
/// returning 1.
pub(super) fn repeat(vm: &mut Instance, host: &mut dyn Host, args: Args) -> Result<u64, Fault> {
    let [count, callback, context, flags, _] = args;
    if flags != 0 {
        return error(Errno::EINVAL);
    }
    let count = count as u32;
    if count > MAX_LOOPS {
        return error(Errno::E2BIG);
    }
    for index in 0..u64::from(count) {
        if vm.call(callback, [index, context, 0, 0, 0], host)? != 0 {
            return Ok(index + 1);
        }
    }
    Ok(u64::from(count))
}

/// `bpf_for_each_map_elem(map, callback, context, flags)`: returns for how many elements it called the callback. Arrays
/// are walked by index, hashes by key (in the kernel: by its hash function). The callback may delete the element that
/// it is given.
pub(super) fn for_each_map_elem(vm: &mut Instance, host: &mut dyn Host, args: Args) -> Result<u64, Fault> {
    let [handle, callback, context, flags, _] = args;
    let id = match map_of(vm, handle) {
        Ok(id) => id,
        Err(OpError::Errno(errno)) => return error(errno),
        Err(OpError::Fault(kind)) => return Err(kind.into()),
    };
    let spec = vm.maps.spec(id).map_or((0, 0), |spec| (spec.kind, spec.key_size));
    let walks = matches!(spec.0, kind::ARRAY | kind::PERCPU_ARRAY | kind::HASH | kind::PERCPU_HASH)
        || matches!(spec.0, kind::LRU_HASH | kind::LRU_PERCPU_HASH);
    if flags != 0 || !walks {
        return error(Errno::EINVAL);
    }
    let key = vm.memory.alloc(u64::from(spec.1), Protection::ReadOnly)?;
    let walk = Walk { map: id, handle, callback, context, key };
    let called = walk.run(vm, host);
    vm.memory.free(key)?;
    called
}

struct Walk {
    map: MapId,
    handle: u64,
    callback: u64,
    context: u64,
    /// Address of the element's key, for the callback.
    key: u64,
}

impl Walk {
    fn run(&self, vm: &mut Instance, host: &mut dyn Host) -> Result<u64, Fault> {
        let mut called = 0;
        let mut last: Option<Vec<u8>> = None;
        while let Ok(Some(key)) = vm.maps.next_key(self.map, last.as_deref()) {
            let Some(value) = vm.maps.peek_address(self.map, &key, host.cpu()) else {
                break;
            };
            vm.memory.host_write(self.key, key.len() as u64)?.copy_from_slice(&key);
            vm.spend(PER_ELEMENT)?;
            called += 1;
            if vm.call(self.callback, [self.handle, self.key, value, self.context, 0], host)? != 0 {
                break;
            }
            last = Some(key);
        }
        Ok(called)
    }
}
