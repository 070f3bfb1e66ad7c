// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory that programs see: one arena, every access checked to the byte.
//!
//! Beside the arena stands a shadow: one byte for each 8 bytes (a granule). The byte says how many of the 8, from the
//! first on, belong to an object, and whether a program may write them. Granules that belong to no object lie between
//! objects, so an access that runs over an object's end or begins before it is refused, as is an access to a freed
//! object. (AddressSanitizer does the same for C; it misses an access that jumps over the gap into another object.)
//!
//! Addresses depend on nothing but the order of allocations.
//!
//! The BPF arena, a map of pages that programs also call an arena, is a window of addresses beside this one: `arena`.
//!
//! The limit is part of what is simulated: `kept` counts what lies outside of the arena. How much memory this process has for it is
//! another question: `budget`. What programs must not write in their own objects is `special`.

mod arena;
mod budget;
mod kept;
mod special;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::fault::{AccessError, AccessKind, FaultKind};

pub use arena::{Arena, ArenaSpec, PAGE_SIZE, ReserveError};
pub use budget::{Account, Budget, OverBudget};
pub(crate) use kept::Kept;
pub(crate) use special::Special;

/// Address of the arena's first byte, in the kernel's half of the address space as its direct map is.
pub const BASE: u64 = 0xffff_8880_0000_0000;

/// Bytes per shadow byte.
pub(crate) const GRANULE: u64 = 8;
/// Unused bytes behind each object.
const GAP: u64 = 16;
/// Bytes that an object takes in the list of objects, or of free blocks, at most.
const PER_OBJECT: u64 = 48;
/// An address below this is a null pointer or a member of one.
const NULL_PAGE: u64 = 4096;

/// Shadow: how many bytes of the granule may be accessed.
pub(crate) const LENGTH: u8 = 0x0f;
/// Shadow: a program may write the bytes.
pub(crate) const WRITABLE: u8 = 0x10;
/// Shadow: the bytes belonged to an object that was freed. (0x20 and 0x80 are for what is `special`.)
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
    /// What pays for the memory, if that is limited beside.
    account: Option<Account>,
    /// Bytes that are kept outside of the arena and count against its limit.
    outside: u64,
    /// Sizes of live objects, by their offset in the arena.
    objects: BTreeMap<u64, u64>,
    /// Freed blocks by their size with the gap; of one size, the block freed longest ago first.
    free: BTreeMap<u64, std::collections::VecDeque<u64>>,
    /// The BPF arena: the pages of a map.
    pages: Option<Box<Arena>>,
    /// The upper half of the BPF arena's user addresses.
    user_half: u64,
}

impl Memory {
    /// An empty arena that may grow to `limit` bytes.
    pub fn new(limit: u64) -> Self {
        Self {
            bytes: Vec::new(),
            shadow: Vec::new(),
            limit,
            account: None,
            outside: 0,
            objects: BTreeMap::new(),
            free: BTreeMap::new(),
            pages: None,
            user_half: 0,
        }
    }

    /// The same empty arena, which `account` pays for.
    #[must_use]
    pub fn paid_by(self, account: &Account) -> Self {
        Self { account: Some(account.clone()), ..self }
    }

    /// Takes so many bytes of this process's memory.
    fn pay(&self, bytes: u64) -> Result<(), FaultKind> {
        let taken = self.account.as_ref().map_or(Ok(()), |account| account.take(bytes));
        taken.map_err(|over| FaultKind::Exhausted(over.to_string()))
    }

    /// Makes a zeroed object of `size` bytes, aligned to 16, and returns its address. An object of 0 bytes has an
    /// address too.
    ///
    /// # Errors
    /// [`FaultKind::Exhausted`] if the arena would grow over its limit.
    pub fn alloc(&mut self, size: u64, protection: Protection) -> Result<u64, FaultKind> {
        let block = Self::block(size).ok_or_else(|| self.exhausted(size))?;
        let offset = match self.free.get_mut(&block).and_then(|blocks| blocks.pop_front()) {
            Some(offset) => offset,
            None => {
                let cost = Self::cost(size).filter(|cost| *cost <= self.available());
                let cost = cost.ok_or_else(|| self.exhausted(size))?;
                self.pay(cost)?;
                self.outside += cost - block;
                let offset = self.bytes.len() as u64;
                let end = offset + block;
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

    /// Frees the object at `address`. Its bytes serve again for an object of the same size, those freed longest ago
    /// first.
    ///
    /// # Errors
    /// [`FaultKind::Misuse`] if no object begins there.
    pub fn free(&mut self, address: u64) -> Result<(), FaultKind> {
        let offset = address.wrapping_sub(BASE);
        let Some(size) = self.objects.remove(&offset) else {
            return Err(FaultKind::Misuse(format!("free of {address:#x}, where no object begins")));
        };
        let block = Self::block(size).unwrap_or(size);
        let granules = (offset / GRANULE) as usize..((offset + size).div_ceil(GRANULE)) as usize;
        self.shadow[granules].fill(FREED);
        self.free.entry(block).or_default().push_back(offset);
        Ok(())
    }

    /// Bytes of the arena that an object of `size` bytes takes; `None` if the number is too big.
    pub fn block(size: u64) -> Option<u64> {
        size.checked_add(GAP)?.checked_next_multiple_of(16)
    }

    /// Bytes that an object of `size` bytes counts against the limit: its block, and what this process keeps of it beside;
    /// `None` if the number is too big.
    pub fn cost(size: u64) -> Option<u64> {
        let block = Self::block(size)?;
        block.checked_add(block / GRANULE + PER_OBJECT)
    }

    /// Bytes of the arena, which no object exceeds.
    #[inline]
    pub(crate) fn extent(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Bytes by which the arena, and the pages beside it, may still grow.
    pub fn available(&self) -> u64 {
        let pages = self.pages.as_ref().map_or(0, |pages| pages.bytes());
        self.limit.saturating_sub(self.bytes.len() as u64 + pages).saturating_sub(self.outside)
    }

    /// Counts bytes that are kept outside of the arena, keys of maps for instance, against its limit. They stay counted: of
    /// things that come and go the most counts that there were.
    ///
    /// # Errors
    /// [`FaultKind::Exhausted`] if the bytes do not fit.
    pub fn reserve(&mut self, bytes: u64) -> Result<(), FaultKind> {
        if bytes > self.available() {
            return Err(self.exhausted(bytes));
        }
        self.pay(bytes)?;
        self.outside += bytes;
        Ok(())
    }

    fn exhausted(&self, size: u64) -> FaultKind {
        FaultKind::Exhausted(format!("out of memory: {size} bytes over a limit of {}", self.limit))
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

    /// Makes the BPF arena; `false` if there is one already.
    pub(crate) fn make_arena(&mut self, spec: ArenaSpec) -> bool {
        if self.pages.is_some() {
            return false;
        }
        let pages = Arena::new(spec);
        self.user_half = pages.upper_half();
        self.pages = Some(Box::new(pages));
        true
    }

    /// The BPF arena.
    pub fn arena(&self) -> Option<&Arena> {
        self.pages.as_deref()
    }

    /// `addr_space_cast`: an arena pointer in the kernel's form, its lower half, or in user space's form, with the
    /// upper half, which only null lacks.
    #[inline]
    pub(crate) fn cast(&self, pointer: u64, to_user: bool) -> u64 {
        let low = u64::from(pointer as u32);
        if to_user && low != 0 { low | self.user_half } else { low }
    }

    /// Whether the same objects with the same bytes are in both arenas.
    pub fn same_bytes(&self, other: &Self) -> bool {
        self.bytes == other.bytes && self.shadow == other.shadow
    }

    /// What [`Memory::cast`] adds to pointers of user space.
    pub(crate) fn user_half(&self) -> u64 {
        self.user_half
    }

    /// The arena's first byte, its shadow's first byte, and the number of the shadow's bytes, for compiled code.
    #[inline]
    pub(crate) fn parts(&mut self) -> (*mut u8, *const u8, u64) {
        (self.bytes.as_mut_ptr(), self.shadow.as_ptr(), self.shadow.len() as u64)
    }

    /// Allocates zeroed pages of the BPF arena at a user address or, if it is 0, anywhere. Returns the user address of
    /// the first page; `None`: the pages are taken, or lie outside.
    ///
    /// # Errors
    /// [`FaultKind::Exhausted`] over the memory limit.
    pub(crate) fn alloc_pages(&mut self, address: u64, count: u64) -> Result<Option<u64>, FaultKind> {
        let Some(pages) = &self.pages else { return Ok(None) };
        if count <= (pages.user_end() - pages.user_start()) / PAGE_SIZE {
            let growth = pages.growth(count);
            if growth > self.available() {
                let text = format!("out of memory: {count} pages of a BPF arena over a limit of {} bytes", self.limit);
                return Err(FaultKind::Exhausted(text));
            }
            self.pay(growth)?;
        }
        Ok(self.pages.as_mut().and_then(|pages| pages.alloc(address, count)))
    }

    /// How many pages were looked at in search of absent ones since this was last asked.
    pub(crate) fn pages_looked_at(&mut self) -> u64 {
        self.pages.as_mut().map_or(0, |pages| std::mem::take(&mut pages.looked_at))
    }

    /// How many pages a number of pages stands for that a program gives: there are no more than the BPF arena has.
    pub(crate) fn pages_of(&self, count: u64) -> u64 {
        self.pages.as_ref().map_or(0, |pages| count.min((pages.user_end() - pages.user_start()) / PAGE_SIZE))
    }

    /// Frees pages of the BPF arena from a user address on.
    pub(crate) fn free_pages(&mut self, address: u64, count: u64) {
        if let Some(pages) = &mut self.pages {
            pages.free(address, count);
        }
    }

    /// Keeps pages of the BPF arena from being allocated.
    ///
    /// # Errors
    /// The pages are taken, or lie outside.
    pub(crate) fn reserve_pages(&mut self, address: u64, count: u64) -> Result<(), ReserveError> {
        match &mut self.pages {
            Some(pages) => pages.reserve(address, count),
            None => Err(ReserveError::Outside),
        }
    }

    /// Writes to the BPF arena as user space does, whose first access makes a page; returns whether it could. User
    /// space makes no page in place of a page that a program reserved.
    ///
    /// # Errors
    /// [`FaultKind::Exhausted`] over the memory limit.
    pub fn write_user(&mut self, address: u64, bytes: &[u8]) -> Result<bool, FaultKind> {
        let missing = self.pages.as_ref().and_then(|pages| pages.user_missing(address, bytes.len() as u64));
        let Some(missing) = missing else { return Ok(false) };
        for page in missing {
            self.alloc_pages(page, 1)?;
        }
        Ok(self.pages.as_mut().and_then(|pages| pages.user_write(address, bytes)).is_some())
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
    /// Not all of the bytes belong to one object or to pages of a BPF arena.
    #[inline(always)]
    pub fn load<const N: usize>(&self, address: u64) -> Result<u64, AccessError> {
        let Some(offset) = self.in_one_granule(address, N as u64, false) else {
            return self.load_far::<N>(address);
        };
        Ok(self.get::<N>(offset))
    }

    /// A program writes the lowest `N` bytes (1, 2, 4, 8) of `value`.
    ///
    /// # Errors
    /// Not all of the bytes belong to one object that may be written or to pages of a BPF arena.
    #[inline(always)]
    pub fn store<const N: usize>(&mut self, address: u64, value: u64) -> Result<(), AccessError> {
        let Some(offset) = self.in_one_granule(address, N as u64, true) else {
            return self.store_far::<N>(address, value);
        };
        self.put::<N>(offset, value);
        Ok(())
    }

    /// `N` bytes (1, 2, 4, 8) at an offset, zero-extended.
    #[inline(always)]
    fn get<const N: usize>(&self, offset: usize) -> u64 {
        // By widths, for one instruction each.
        match N {
            1 => u64::from(self.chunk::<1>(offset)[0]),
            2 => u64::from(u16::from_le_bytes(*self.chunk(offset))),
            4 => u64::from(u32::from_le_bytes(*self.chunk(offset))),
            _ => u64::from_le_bytes(*self.chunk(offset)),
        }
    }

    /// Sets `N` bytes (1, 2, 4, 8) at an offset to the lowest of `value`.
    #[inline(always)]
    fn put<const N: usize>(&mut self, offset: usize, value: u64) {
        match N {
            1 => *self.chunk_mut(offset) = [value as u8],
            2 => *self.chunk_mut(offset) = (value as u16).to_le_bytes(),
            4 => *self.chunk_mut(offset) = (value as u32).to_le_bytes(),
            _ => *self.chunk_mut(offset) = value.to_le_bytes(),
        }
    }

    #[inline(always)]
    fn chunk<const N: usize>(&self, offset: usize) -> &[u8; N] {
        self.bytes[offset..].first_chunk().expect("the bytes of an object are there")
    }

    #[inline(always)]
    fn chunk_mut<const N: usize>(&mut self, offset: usize) -> &mut [u8; N] {
        self.bytes[offset..].first_chunk_mut().expect("the bytes of an object are there")
    }

    /// Bytes that a program may read.
    ///
    /// # Errors
    /// Not all of the bytes belong to one object.
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
    /// Not all of the bytes belong to one object that may be written.
    pub fn write(&mut self, address: u64, size: u64) -> Result<&mut [u8], AccessError> {
        if size == 0 {
            return Ok(&mut []);
        }
        let offset = self.check(address, size, true)?;
        Ok(&mut self.bytes[offset..offset + size as usize])
    }

    /// Bytes that the host writes, whether or not a program may.
    ///
    /// # Errors
    /// Not all of the bytes belong to one object.
    pub fn host_write(&mut self, address: u64, size: u64) -> Result<&mut [u8], AccessError> {
        if size == 0 {
            return Ok(&mut []);
        }
        let offset = self.check(address, size, false)?;
        Ok(&mut self.bytes[offset..offset + size as usize])
    }

    /// The host stores the lowest `N` bytes of `value`, whether or not a program may.
    ///
    /// # Errors
    /// Not all of the bytes belong to one object.
    #[inline(always)]
    pub fn host_store<const N: usize>(&mut self, address: u64, value: u64) -> Result<(), AccessError> {
        let offset = self.check(address, N as u64, false)?;
        self.put::<N>(offset, value);
        Ok(())
    }

    /// The host reads `N` bytes (1, 2, 4, 8) of an object, zero-extended.
    ///
    /// # Errors
    /// Not all of the bytes belong to one object.
    #[inline(always)]
    pub fn host_load<const N: usize>(&self, address: u64) -> Result<u64, AccessError> {
        Ok(self.get::<N>(self.check(address, N as u64, false)?))
    }

    /// The host reads `N` bytes (1, 2, 4, 8) of an object that it made and has not freed, which is not checked again.
    ///
    /// # Panics
    /// The arena does not reach that far.
    #[inline(always)]
    pub fn own_load<const N: usize>(&self, address: u64) -> u64 {
        debug_assert!(self.check(address, N as u64, false).is_ok(), "{address:#x} is of no object");
        self.get::<N>(address.wrapping_sub(BASE) as usize)
    }

    /// The host writes the lowest `N` bytes of `value` to an object that it made and has not freed, which is not checked again.
    ///
    /// # Panics
    /// The arena does not reach that far.
    #[inline(always)]
    pub fn own_store<const N: usize>(&mut self, address: u64, value: u64) {
        debug_assert!(self.check(address, N as u64, false).is_ok(), "{address:#x} is of no object");
        self.put::<N>(address.wrapping_sub(BASE) as usize, value);
    }

    /// The text at `address` up to its null byte, at most `limit` bytes.
    ///
    /// # Errors
    /// The text runs over the end of its object.
    pub fn read_string(&self, address: u64, limit: u64) -> Result<&[u8], AccessError> {
        let mut length = 0;
        while length < limit && self.load::<1>(address.wrapping_add(length))? != 0 {
            length += 1;
        }
        self.read(address, length)
    }

    /// Offset in the arena of an access, if it is allowed.
    #[inline(always)]
    fn check(&self, address: u64, size: u64, write: bool) -> Result<usize, AccessError> {
        match self.in_one_granule(address, size, write) {
            Some(offset) => Ok(offset),
            None => self.check_granules(address, size, write),
        }
    }

    /// Offset in the arena of an access that lies in one granule, if it is allowed.
    #[inline(always)]
    fn in_one_granule(&self, address: u64, size: u64, write: bool) -> Option<usize> {
        let offset = address.wrapping_sub(BASE);
        let shadow = self.shadow.get((offset / GRANULE) as usize)?;
        let allowed =
            (offset % GRANULE).saturating_add(size) <= u64::from(shadow & LENGTH) && (!write || shadow & WRITABLE != 0);
        allowed.then_some(offset as usize)
    }

    /// Offset in the arena of an access that does not lie in one granule, if it is allowed; else what is wrong.
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

    /// The rare loads: from pages, over the end of a granule, or wrong.
    #[inline(never)]
    fn load_far<const N: usize>(&self, address: u64) -> Result<u64, AccessError> {
        if Arena::covers(address)
            && let Some(pages) = &self.pages
        {
            let absent = AccessError { kind: AccessKind::NoPage, address, size: N as u64, write: false };
            return pages.load(address, N).ok_or(absent);
        }
        let offset = self.check_granules(address, N as u64, false)?;
        let mut value = [0; 8];
        value[..N].copy_from_slice(&self.bytes[offset..offset + N]);
        Ok(u64::from_le_bytes(value))
    }

    /// The rare stores: to pages, over the end of a granule, or wrong.
    #[inline(never)]
    fn store_far<const N: usize>(&mut self, address: u64, value: u64) -> Result<(), AccessError> {
        let value = value.to_le_bytes();
        if Arena::covers(address)
            && let Some(pages) = &mut self.pages
        {
            let absent = AccessError { kind: AccessKind::NoPage, address, size: N as u64, write: true };
            return pages.store(address, &value[..N]).ok_or(absent);
        }
        let offset = self.check_granules(address, N as u64, true)?;
        self.bytes[offset..offset + N].copy_from_slice(&value[..N]);
        Ok(())
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
