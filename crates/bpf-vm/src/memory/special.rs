// SPDX-License-Identifier: MIT OR Apache-2.0
//! Owned pointers, and the nodes of trees and lists: bytes in programs' objects that only the host writes.

use super::{BASE, GRANULE, Memory, WRITABLE};
use crate::fault::AccessError;

/// Shadow: the bytes are an owned pointer.
const KPTR: u8 = 0x20;
/// Shadow: the bytes are a root, head or node of a tree or list.
const GRAPH: u8 = 0x80;

/// Bytes in a program's objects that stand for something which the host keeps. The kernel's verifier lets no program write
/// there; here such a write is refused as one to read-only memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Special {
    /// A pointer that its object owns (`__kptr`).
    Kptr,
    /// A root, head or node of a tree or list.
    Graph,
}

impl Special {
    fn shadow(self) -> u8 {
        match self {
            Self::Kptr => KPTR,
            Self::Graph => GRAPH,
        }
    }
}

impl Memory {
    /// From now on only the host writes the whole granules of 8 bytes in part of an object.
    pub(crate) fn set_apart(&mut self, address: u64, size: u64, what: Special) -> Result<(), AccessError> {
        let offset = self.check(address, size, false)?;
        let granules = offset.div_ceil(GRANULE as usize)..(offset + size as usize) / GRANULE as usize;
        for shadow in self.shadow.get_mut(granules).into_iter().flatten() {
            *shadow = (*shadow & !WRITABLE) | what.shadow();
        }
        Ok(())
    }

    /// Whether whole granules of live objects were all [set apart](Memory::set_apart) for this.
    pub(crate) fn is_apart(&self, address: u64, size: u64, what: Special) -> bool {
        let (first, end) =
            (address.wrapping_sub(BASE) / GRANULE, address.wrapping_sub(BASE).saturating_add(size) / GRANULE);
        let granules = self.shadow.get(first as usize..end as usize);
        address.is_multiple_of(GRANULE)
            && granules.is_some_and(|shadow| shadow.iter().all(|shadow| shadow & what.shadow() != 0))
    }
}
