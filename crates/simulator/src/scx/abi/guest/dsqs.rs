// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dispatch queues as programs can look at them (`p->scx.dsq`).

use tandem_bpf_vm::fault::FaultKind;
use tandem_bpf_vm::memory::{Memory, Protection};

use crate::scx::abi::types::rq::ScxDispatchQ;
use crate::scx::abi::types::task::TaskStruct;
use crate::units::TaskId;

use super::Guest;
use super::access::{self, at, put};

impl Guest {
    /// Makes the object of a dispatch queue.
    ///
    /// # Errors
    /// [`FaultKind::Exhausted`] if it does not fit into the memory.
    pub fn dsq_new(&self, memory: &mut Memory, id: u64) -> Result<u64, FaultKind> {
        let address = memory.alloc(size_of::<ScxDispatchQ>() as u64, Protection::ReadOnly)?;
        put::<8>(memory, address + at!(ScxDispatchQ, id), id);
        Ok(address)
    }

    /// Frees the object of a dispatch queue.
    pub fn dsq_free(&self, memory: &mut Memory, address: u64) {
        access::free(memory, address);
    }

    /// Sets the number of tasks on the queue at `address`.
    #[inline]
    pub fn set_dsq_nr(&self, memory: &mut Memory, address: u64, nr: u32) {
        put::<4>(memory, address + at!(ScxDispatchQ, nr), u64::from(nr));
    }

    /// Sets the queue that `task` is on; 0 for none.
    #[inline]
    pub fn set_dsq(&self, memory: &mut Memory, task: TaskId, dsq: u64) {
        put::<8>(memory, self.task(task) + at!(TaskStruct, scx.dsq), dsq);
    }
}
