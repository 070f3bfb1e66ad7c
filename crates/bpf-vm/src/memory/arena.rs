// SPDX-License-Identifier: MIT OR Apache-2.0
//! A BPF arena (`BPF_MAP_TYPE_ARENA`, `kernel/bpf/arena.c`): up to 4 GiB of pages that a program and its loader share.
//!
//! Pointers into the arena are addresses of user space. `addr_space_cast` to the kernel keeps their lower 32 bits, and
//! a program loads and stores with these alone: the arena is the window of addresses from 0 to 4 GiB, where nothing
//! else lies. The cast back adds the upper half of the user address. Pages come and go one by one. Pages that are not
//! allocated cost nothing, except for a table of 4 KiB for each 1024 pages of which one is allocated.
//!
//! Left out: the mapping in user space, and so the pages that user space makes by touching them, except where a host
//! writes; nodes of memory; the 32-bit arithmetic that the verifier makes of 64-bit arithmetic on arena pointers. Only
//! a program that lets such a pointer wrap around 4 GiB can tell the last one.

use std::collections::BTreeSet;

/// Bytes of a page.
pub const PAGE_SIZE: u64 = 4096;
/// Pages of the window.
const WINDOW_PAGES: u64 = 1 << 20;
/// Bytes of the window.
const WINDOW: u64 = 1 << 32;
/// Unmapped bytes on both sides of the window, as many as an instruction's offset can reach (half of `GUARD_SZ`).
const GUARD: u64 = 1 << 15;
/// Entries of a table.
const TABLE: usize = 1024;
/// Where user space maps an arena that names no address, unless it would cross a 32-bit boundary there.
const USER_START: u64 = 0x7f7d_2620_0000;

/// The description from which an arena is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArenaSpec {
    /// User address of the arena's first page (`map_extra`); 0: user space chooses.
    pub user_start: u64,
    /// Number of pages (`max_entries`), at most 2^20.
    pub pages: u32,
    /// Whether casts to user addresses add the upper half (no `BPF_F_NO_USER_CONV`).
    pub converts: bool,
}

/// What a page's entry says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Page {
    /// The page is free to be allocated.
    Absent,
    /// The page is not there and must not be allocated.
    Reserved,
    /// The page's bytes are in the frame of this number.
    Frame(u32),
}

impl Page {
    fn of(entry: u32) -> Self {
        match entry {
            0 => Self::Absent,
            u32::MAX => Self::Reserved,
            frame => Self::Frame(frame - 1),
        }
    }

    fn entry(self) -> u32 {
        match self {
            Self::Absent => 0,
            Self::Reserved => u32::MAX,
            Self::Frame(frame) => frame + 1,
        }
    }
}

/// The arena of an instance.
#[derive(Debug, Clone)]
pub struct Arena {
    spec: ArenaSpec,
    /// Entries of pages, by address in the window.
    tables: Vec<Option<Box<[u32; TABLE]>>>,
    /// Bytes of all frames.
    frames: Vec<u8>,
    /// Numbers of frames that no page uses.
    free: BTreeSet<u32>,
    /// All pages before this one, counted from the arena's first, are allocated or reserved.
    first_absent: u64,
    /// Pages whose entries were looked at in search of absent ones.
    pub(super) looked_at: u64,
}

impl Arena {
    /// An arena without pages. The caller has checked that it does not cross a 32-bit boundary in user space.
    pub(super) fn new(mut spec: ArenaSpec) -> Self {
        let size = u64::from(spec.pages) * PAGE_SIZE;
        if spec.user_start == 0 {
            let crosses = USER_START >> 32 != (USER_START + size.saturating_sub(1)) >> 32;
            spec.user_start = if crosses { USER_START.next_multiple_of(WINDOW) } else { USER_START };
        }
        Self {
            spec,
            tables: vec![None; TABLE],
            frames: Vec::new(),
            free: BTreeSet::new(),
            first_absent: 0,
            looked_at: 0,
        }
    }

    /// User address of the arena's first page (`user_vm_start`).
    pub fn user_start(&self) -> u64 {
        self.spec.user_start
    }

    /// User address behind the arena's last page (`user_vm_end`).
    pub fn user_end(&self) -> u64 {
        self.spec.user_start + u64::from(self.spec.pages) * PAGE_SIZE
    }

    /// Bytes of memory that frames take, unused ones included.
    pub(super) fn bytes(&self) -> u64 {
        self.frames.len() as u64
    }

    /// The upper half that a cast to a user address adds; 0 if casts add none.
    pub(super) fn upper_half(&self) -> u64 {
        if self.spec.converts { self.spec.user_start >> 32 << 32 } else { 0 }
    }

    /// Whether an access to this address can only be meant for the arena: it lies in the window or its guards.
    pub(super) fn covers(address: u64) -> bool {
        address.wrapping_add(GUARD) < WINDOW + 2 * GUARD
    }

    /// Reads at most 8 bytes at an address of the window; `None` if a byte has no page.
    #[inline]
    pub(super) fn load(&self, address: u64, size: usize) -> Option<u64> {
        let mut value = [0; 8];
        match self.whole(address, size) {
            Some(at) => value[..size].copy_from_slice(self.frames.get(at..at + size)?),
            None => {
                for (number, byte) in value[..size].iter_mut().enumerate() {
                    *byte = *self.frames.get(self.place(address.wrapping_add(number as u64))?)?;
                }
            }
        }
        Some(u64::from_le_bytes(value))
    }

    /// Writes at most 8 bytes at an address of the window: all of them, or none if the answer is `None`.
    #[inline]
    pub(super) fn store(&mut self, address: u64, bytes: &[u8]) -> Option<()> {
        if let Some(at) = self.whole(address, bytes.len()) {
            self.frames.get_mut(at..at + bytes.len())?.copy_from_slice(bytes);
            return Some(());
        }
        self.place(address)?;
        self.place(address.wrapping_add(bytes.len() as u64 - 1))?;
        for (number, byte) in bytes.iter().enumerate() {
            let at = self.place(address.wrapping_add(number as u64))?;
            *self.frames.get_mut(at)? = *byte;
        }
        Some(())
    }

    /// Offset in the frames of an access that lies in one page.
    fn whole(&self, address: u64, size: usize) -> Option<usize> {
        let fits = address % PAGE_SIZE + size as u64 <= PAGE_SIZE;
        if fits { self.place(address) } else { None }
    }

    /// Offset in the frames of a byte.
    fn place(&self, address: u64) -> Option<usize> {
        let page = address / PAGE_SIZE;
        let table = self.tables.get(page as usize / TABLE)?.as_ref()?;
        match Page::of(table[page as usize % TABLE]) {
            Page::Frame(frame) => Some((u64::from(frame) * PAGE_SIZE + address % PAGE_SIZE) as usize),
            Page::Absent | Page::Reserved => None,
        }
    }

    /// Number of a page in the window, given its number from the arena's first page on.
    fn in_window(&self, page: u64) -> u64 {
        (self.spec.user_start / PAGE_SIZE + page) % WINDOW_PAGES
    }

    /// Number of the page at a user address, whose upper half is ignored (`compute_pgoff`).
    fn page_of(&self, address: u64) -> u64 {
        u64::from((address as u32).wrapping_sub(self.spec.user_start as u32)) / PAGE_SIZE
    }

    fn page(&self, page: u64) -> Page {
        let at = self.in_window(page) as usize;
        self.tables[at / TABLE].as_ref().map_or(Page::Absent, |table| Page::of(table[at % TABLE]))
    }

    fn set_page(&mut self, page: u64, state: Page) {
        let at = self.in_window(page) as usize;
        let table = self.tables[at / TABLE].get_or_insert_with(|| Box::new([0; TABLE]));
        table[at % TABLE] = state.entry();
        if state == Page::Absent {
            self.first_absent = self.first_absent.min(page);
        }
    }

    fn all_absent(&mut self, first: u64, count: u64) -> bool {
        self.looked_at += count;
        (first..first + count).all(|page| self.page(page) == Page::Absent)
    }

    /// The first of the lowest `count` adjacent pages that are all absent.
    fn find_absent(&mut self, count: u64) -> Option<u64> {
        let pages = u64::from(self.spec.pages);
        while self.first_absent < pages && self.page(self.first_absent) != Page::Absent {
            self.first_absent += 1;
            self.looked_at += 1;
        }
        let mut first = self.first_absent;
        let mut page = first;
        while page - first < count {
            if page >= pages {
                return None;
            }
            page += 1;
            self.looked_at += 1;
            if self.page(page - 1) != Page::Absent {
                first = page;
            }
        }
        Some(first)
    }

    /// Bytes that the frames would grow by for this many pages.
    pub(super) fn growth(&self, count: u64) -> u64 {
        count.saturating_sub(self.free.len() as u64) * PAGE_SIZE
    }

    /// Allocates zeroed pages at a user address or, if it is 0, at the first place with room (`arena_alloc_pages`).
    /// Returns the user address of the first page; `None`: the pages are taken, or lie outside of the arena.
    pub(super) fn alloc(&mut self, address: u64, count: u64) -> Option<u64> {
        let pages = u64::from(self.spec.pages);
        if count > pages || !address.is_multiple_of(PAGE_SIZE) {
            return None;
        }
        let first = match address {
            0 => self.find_absent(count)?,
            _ => {
                let first = Some(self.page_of(address)).filter(|first| *first <= pages - count)?;
                Some(first).filter(|first| self.all_absent(*first, count))?
            }
        };
        for page in first..first + count {
            let frame = self.new_frame();
            self.set_page(page, Page::Frame(frame));
        }
        Some(self.spec.user_start + first * PAGE_SIZE)
    }

    fn new_frame(&mut self) -> u32 {
        match self.free.pop_first() {
            Some(frame) => {
                let at = (u64::from(frame) * PAGE_SIZE) as usize;
                self.frames[at..at + PAGE_SIZE as usize].fill(0);
                frame
            }
            None => {
                self.frames.resize(self.frames.len() + PAGE_SIZE as usize, 0);
                (self.frames.len() as u64 / PAGE_SIZE - 1) as u32
            }
        }
    }

    /// Frees pages from a user address on, whose upper half is ignored, at most up to the arena's end
    /// (`arena_free_pages`). Pages that are not allocated stay as they are; reserved ones can be allocated again.
    pub(super) fn free(&mut self, address: u64, count: u64) {
        let start = self.spec.user_start;
        let full = (start >> 32 << 32) + u64::from(address as u32) / PAGE_SIZE * PAGE_SIZE;
        let end = self.user_end().min(full.saturating_add(count * PAGE_SIZE));
        if full < start || full >= end {
            return;
        }
        for page in (full - start) / PAGE_SIZE..(end - start) / PAGE_SIZE {
            if let Page::Frame(frame) = self.page(page) {
                self.free.insert(frame);
            }
            self.set_page(page, Page::Absent);
        }
    }

    /// Keeps pages from being allocated (`arena_reserve_pages`).
    pub(super) fn reserve(&mut self, address: u64, count: u64) -> Result<(), ReserveError> {
        if !address.is_multiple_of(PAGE_SIZE) {
            return Ok(());
        }
        let first = self.page_of(address);
        if first + count > u64::from(self.spec.pages) {
            return Err(ReserveError::Outside);
        }
        if !self.all_absent(first, count) {
            return Err(ReserveError::Taken);
        }
        (first..first + count).for_each(|page| self.set_page(page, Page::Reserved));
        Ok(())
    }

    /// The bytes at a user address, if their pages are there and lie side by side.
    pub fn user_read(&self, address: u64, size: u64) -> Option<&[u8]> {
        let end = address.checked_add(size)?;
        if address < self.user_start() || end > self.user_end() || size == 0 {
            return None;
        }
        let at = self.place(u64::from(address as u32))?;
        let mut page = (address / PAGE_SIZE + 1) * PAGE_SIZE;
        while page < end {
            let expected = at as u64 + (page - address);
            self.place(u64::from(page as u32)).filter(|at| *at as u64 == expected)?;
            page += PAGE_SIZE;
        }
        self.frames.get(at..at + size as usize)
    }

    /// The pages that user space would make by writing to a range of user addresses; `None` if it cannot write there.
    pub(super) fn user_missing(&self, address: u64, size: u64) -> Option<Vec<u64>> {
        let end = address.checked_add(size)?;
        if address < self.user_start() || end > self.user_end() {
            return None;
        }
        let mut missing = Vec::new();
        let mut page = address / PAGE_SIZE * PAGE_SIZE;
        while page < end {
            match self.page(self.page_of(page)) {
                Page::Absent => missing.push(page),
                Page::Reserved => return None,
                Page::Frame(_) => {}
            }
            page += PAGE_SIZE;
        }
        Some(missing)
    }

    /// Writes at a user address whose pages are all there.
    pub(super) fn user_write(&mut self, address: u64, bytes: &[u8]) -> Option<()> {
        for (number, byte) in bytes.iter().enumerate() {
            let at = self.place(u64::from((address + number as u64) as u32))?;
            *self.frames.get_mut(at)? = *byte;
        }
        Some(())
    }
}

/// Why pages cannot be reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReserveError {
    /// Not all of the pages are in the arena.
    Outside,
    /// Some of the pages are allocated or reserved.
    Taken,
}
