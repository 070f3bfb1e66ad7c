// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory that programs see: one arena, every access checked to the byte.
//!
//! Beside the arena stands a shadow: one byte for each 8 bytes (a granule), which says how many of them, from the first
//! on, belong to an object, and whether a program may write them. Objects are separated by granules that belong to none,
//! so an access that runs over an object's end, or before its beginning, is refused, as is one to a freed object.
//! (What AddressSanitizer does for C; it misses an access that jumps over the gap into another object.)
//!
//! Addresses depend on nothing but the order of allocations.

use std::collections::BTreeMap;

use crate::fault::{AccessError, AccessKind, FaultKind};

/// Address of the arena's first byte, in the kernel's half of the address space as its direct map is.
pub const BASE: u64 = 0xffff_8880_0000_0000;

/// Bytes per shadow byte.
const GRANULE: u64 = 8;
/// Unused bytes behind each object.
const GAP: u64 = 16;
/// Accesses below this are to a member of a null pointer.
const NULL_PAGE: u64 = 4096;

/// Shadow: how many bytes of the granule may be accessed.
const LENGTH: u8 = 0x0f;
/// Shadow: a program may write them.
const WRITABLE: u8 = 0x10;
/// Shadow: they belonged to an object that was freed.
const FREED: u8 = 0x40;

/// What programs may do with an object; the host may always write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// Read only.
    ReadOnly,
    /// Read and write.
    ReadWrite,
}

/// The arena of an instance.
#[derive(Debug, Clone)]
pub struct Memory {
    bytes: Vec<u8>,
    shadow: Vec<u8>,
    limit: u64,
    /// Sizes of live objects, by offset.
    objects: BTreeMap<u64, u64>,
    /// Freed blocks by their size with the gap, the longest freed first.
    free: BTreeMap<u64, std::collections::VecDeque<u64>>,
}

impl Memory {
    /// An empty arena that may grow to `limit` bytes.
    pub fn new(limit: u64) -> Self {
        Self { bytes: Vec::new(), shadow: Vec::new(), limit, objects: BTreeMap::new(), free: BTreeMap::new() }
    }

    /// Makes a zeroed object of `size` bytes, aligned to 16; its address. An object of no bytes has an address too.
    ///
    /// # Errors
    /// [`FaultKind::Exhausted`] if the arena would grow over its limit.
    pub fn alloc(&mut self, size: u64, protection: Protection) -> Result<u64, FaultKind> {
        let exhausted = || FaultKind::Exhausted(format!("out of memory: {size} bytes over a limit of {}", self.limit));
        let block = size.checked_add(GAP).and_then(|block| block.checked_next_multiple_of(16)).ok_or_else(exhausted)?;
        let offset = match self.free.get_mut(&block).and_then(|blocks| blocks.pop_front()) {
            Some(offset) => offset,
            None => {
                let offset = self.bytes.len() as u64;
                let end = offset.checked_add(block).filter(|end| *end <= self.limit).ok_or_else(exhausted)?;
                self.bytes.resize(end as usize, 0);
                self.shadow.resize((end / GRANULE) as usize, 0);
                offset
            }
        };
        self.bytes[offset as usize..(offset + size) as usize].fill(0);
        self.objects.insert(offset, size);
        self.paint(offset, size, protection);
        Ok(BASE + offset)
    }

    /// Frees the object at `address`. Its bytes are used again for an object of the same size, the longest freed first.
    ///
    /// # Errors
    /// [`FaultKind::Misuse`] if no object begins there.
    pub fn free(&mut self, address: u64) -> Result<(), FaultKind> {
        let offset = address.wrapping_sub(BASE);
        let Some(size) = self.objects.remove(&offset) else {
            return Err(FaultKind::Misuse(format!("free of {address:#x}, where no object begins")));
        };
        let block = (size + GAP).next_multiple_of(16);
        let granules = (offset / GRANULE) as usize..((offset + size).div_ceil(GRANULE)) as usize;
        self.shadow[granules].fill(FREED);
        self.free.entry(block).or_default().push_back(offset);
        Ok(())
    }

    /// Bytes by which the arena may still grow.
    pub fn available(&self) -> u64 {
        self.limit - self.bytes.len() as u64
    }

    /// Size of the live object that begins at `address`.
    pub fn size_of(&self, address: u64) -> Option<u64> {
        self.objects.get(&address.wrapping_sub(BASE)).copied()
    }

    /// The live object that contains `address`: its first byte's address and its size.
    pub fn object_at(&self, address: u64) -> Option<(u64, u64)> {
        let offset = address.checked_sub(BASE)?;
        let (start, size) = self.objects.range(..=offset).next_back()?;
        (offset - start < *size).then_some((BASE + start, *size))
    }

    /// Changes what programs may do with part of an object: whole granules of 8 bytes from `address` on.
    ///
    /// # Errors
    /// The range is not part of one object.
    pub fn protect(&mut self, address: u64, size: u64, protection: Protection) -> Result<(), AccessError> {
        let offset = self.check(address, size, false)?;
        let granules = offset / GRANULE as usize..(offset + size as usize).div_ceil(GRANULE as usize);
        for shadow in &mut self.shadow[granules] {
            *shadow = (*shadow & !WRITABLE) | writable(protection);
        }
        Ok(())
    }

    /// A program reads `N` bytes (1, 2, 4, 8), zero-extended.
    ///
    /// # Errors
    /// Not all of them belong to one object.
    #[inline(always)]
    pub fn load<const N: usize>(&self, address: u64) -> Result<u64, AccessError> {
        let offset = self.check(address, N as u64, false)?;
        let mut value = [0; 8];
        value[..N].copy_from_slice(&self.bytes[offset..offset + N]);
        Ok(u64::from_le_bytes(value))
    }

    /// A program writes the lowest `N` bytes (1, 2, 4, 8) of `value`.
    ///
    /// # Errors
    /// Not all of them belong to one object that may be written.
    #[inline(always)]
    pub fn store<const N: usize>(&mut self, address: u64, value: u64) -> Result<(), AccessError> {
        let offset = self.check(address, N as u64, true)?;
        self.bytes[offset..offset + N].copy_from_slice(&value.to_le_bytes()[..N]);
        Ok(())
    }

    /// Bytes that a program may read.
    ///
    /// # Errors
    /// Not all of them belong to one object.
    pub fn read(&self, address: u64, size: u64) -> Result<&[u8], AccessError> {
        if size == 0 {
            return Ok(&[]);
        }
        let offset = self.check(address, size, false)?;
        Ok(&self.bytes[offset..offset + size as usize])
    }

    /// Bytes that a program may write.
    ///
    /// # Errors
    /// Not all of them belong to one object that may be written.
    pub fn write(&mut self, address: u64, size: u64) -> Result<&mut [u8], AccessError> {
        if size == 0 {
            return Ok(&mut []);
        }
        let offset = self.check(address, size, true)?;
        Ok(&mut self.bytes[offset..offset + size as usize])
    }

    /// Bytes that the host writes, whether a program may or not.
    ///
    /// # Errors
    /// Not all of them belong to one object.
    pub fn host_write(&mut self, address: u64, size: u64) -> Result<&mut [u8], AccessError> {
        if size == 0 {
            return Ok(&mut []);
        }
        let offset = self.check(address, size, false)?;
        Ok(&mut self.bytes[offset..offset + size as usize])
    }

    /// The host stores the lowest `N` bytes of `value`, whether a program may or not.
    ///
    /// # Errors
    /// Not all of them belong to one object.
    #[inline(always)]
    pub fn host_store<const N: usize>(&mut self, address: u64, value: u64) -> Result<(), AccessError> {
        let offset = self.check(address, N as u64, false)?;
        self.bytes[offset..offset + N].copy_from_slice(&value.to_le_bytes()[..N]);
        Ok(())
    }

    /// The text at `address` up to its null byte, at most `limit` bytes.
    ///
    /// # Errors
    /// It runs out of the object.
    pub fn read_string(&self, address: u64, limit: u64) -> Result<&[u8], AccessError> {
        let mut length = 0;
        while length < limit && self.load::<1>(address.wrapping_add(length))? != 0 {
            length += 1;
        }
        self.read(address, length)
    }

    /// Offset in the arena of an access that is allowed.
    #[inline(always)]
    fn check(&self, address: u64, size: u64, write: bool) -> Result<usize, AccessError> {
        let offset = address.wrapping_sub(BASE);
        if let Some(shadow) = self.shadow.get((offset / GRANULE) as usize)
            && (offset % GRANULE).saturating_add(size) <= u64::from(shadow & LENGTH)
            && (!write || shadow & WRITABLE != 0)
        {
            return Ok(offset as usize);
        }
        self.check_granules(address, size, write)
    }

    /// Likewise for an access that does not lie in one granule, or is wrong.
    #[cold]
    #[inline(never)]
    fn check_granules(&self, address: u64, size: u64, write: bool) -> Result<usize, AccessError> {
        let refused = |kind| Err(AccessError { kind, address, size, write });
        if address < NULL_PAGE || address.wrapping_add(size) < NULL_PAGE {
            return refused(AccessKind::Null);
        }
        let offset = address.wrapping_sub(BASE);
        let Some(end) = offset.checked_add(size).filter(|end| *end <= self.bytes.len() as u64) else {
            return refused(AccessKind::OutOfBounds);
        };
        let mut at = offset;
        while at < end {
            let shadow = self.shadow[(at / GRANULE) as usize];
            let needed = (end - at / GRANULE * GRANULE).min(GRANULE);
            if needed > u64::from(shadow & LENGTH) {
                return refused(if shadow & FREED != 0 { AccessKind::Freed } else { AccessKind::OutOfBounds });
            }
            if write && shadow & WRITABLE == 0 {
                return refused(AccessKind::ReadOnly);
            }
            at = (at / GRANULE + 1) * GRANULE;
        }
        Ok(offset as usize)
    }

    /// Marks an object in the shadow.
    fn paint(&mut self, offset: u64, size: u64, protection: Protection) {
        let first = (offset / GRANULE) as usize;
        let (whole, rest) = ((size / GRANULE) as usize, (size % GRANULE) as u8);
        self.shadow[first..first + whole].fill(GRANULE as u8 | writable(protection));
        self.shadow[first + whole] = if rest == 0 { 0 } else { rest | writable(protection) };
    }
}

fn writable(protection: Protection) -> u8 {
    match protection {
        Protection::ReadOnly => 0,
        Protection::ReadWrite => WRITABLE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> Memory {
        Memory::new(1 << 20)
    }

    #[test]
    fn every_byte_of_an_object_is_reachable_and_none_beside_it() {
        let mut memory = memory();
        for size in 1..40 {
            let object = memory.alloc(size, Protection::ReadWrite).unwrap();
            for at in 0..size {
                assert_eq!(memory.load::<1>(object + at), Ok(0));
            }
            let beyond = memory.load::<1>(object + size).unwrap_err();
            assert_eq!(beyond.kind, AccessKind::OutOfBounds);
            assert!(memory.store::<1>(object.wrapping_sub(1), 7).is_err());
            assert!(memory.store::<8>((object + size).wrapping_sub(7), 7).is_err());
        }
    }

    #[test]
    fn an_access_may_cross_granules() {
        let mut memory = memory();
        let object = memory.alloc(16, Protection::ReadWrite).unwrap();
        memory.store::<8>(object + 5, 0x1122_3344_5566_7788).unwrap();
        assert_eq!(memory.load::<8>(object + 5), Ok(0x1122_3344_5566_7788));
        assert_eq!(memory.load::<2>(object + 7), Ok(0x5566));
    }

    #[test]
    fn a_freed_object_is_refused_until_its_bytes_are_used_again() {
        let mut memory = memory();
        let object = memory.alloc(24, Protection::ReadWrite).unwrap();
        memory.store::<8>(object, 1).unwrap();
        memory.free(object).unwrap();
        assert_eq!(memory.load::<8>(object).unwrap_err().kind, AccessKind::Freed);
        assert!(memory.free(object).is_err());
        assert_eq!(memory.alloc(24, Protection::ReadWrite).unwrap(), object);
        assert_eq!(memory.load::<8>(object), Ok(0));
    }

    #[test]
    fn read_only_granules_refuse_programs_and_not_the_host() {
        let mut memory = memory();
        let object = memory.alloc(24, Protection::ReadOnly).unwrap();
        memory.protect(object + 8, 8, Protection::ReadWrite).unwrap();
        assert_eq!(memory.store::<4>(object, 1).unwrap_err().kind, AccessKind::ReadOnly);
        assert_eq!(memory.store::<8>(object + 8, 1), Ok(()));
        assert_eq!(memory.store::<8>(object + 12, 1).unwrap_err().kind, AccessKind::ReadOnly);
        assert_eq!(memory.host_store::<4>(object, 1), Ok(()));
    }

    #[test]
    fn null_and_far_addresses_are_refused() {
        let memory = memory();
        assert_eq!(memory.load::<8>(0).unwrap_err().kind, AccessKind::Null);
        assert_eq!(memory.load::<1>(4095).unwrap_err().kind, AccessKind::Null);
        assert_eq!(memory.load::<8>(u64::MAX).unwrap_err().kind, AccessKind::Null);
        assert_eq!(memory.load::<8>(BASE).unwrap_err().kind, AccessKind::OutOfBounds);
        assert!(memory.read(BASE, u64::MAX).is_err());
    }

    #[test]
    fn a_size_that_wraps_around_is_refused() {
        let mut memory = memory();
        let object = memory.alloc(16, Protection::ReadWrite).unwrap();
        for at in 0..8 {
            for size in [u64::MAX, u64::MAX - 6, u64::MAX - BASE, 1 << 63] {
                assert!(memory.read(object + at, size).is_err());
                assert!(memory.write(object + at, size).is_err());
            }
        }
    }

    #[test]
    fn the_limit_holds() {
        let mut memory = Memory::new(64);
        assert!(memory.alloc(32, Protection::ReadWrite).is_ok());
        assert!(memory.alloc(32, Protection::ReadWrite).is_err());
        assert!(memory.alloc(u64::MAX, Protection::ReadWrite).is_err());
    }
}
