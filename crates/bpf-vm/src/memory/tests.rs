// SPDX-License-Identifier: MIT OR Apache-2.0

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
    // 32 bytes and a gap of 16, 6 bytes of shadow, 48 of the list of objects.
    let mut memory = Memory::new(102 + 101);
    assert!(memory.alloc(32, Protection::ReadWrite).is_ok());
    assert!(memory.alloc(32, Protection::ReadWrite).is_err());
    assert!(memory.alloc(u64::MAX, Protection::ReadWrite).is_err());
}

/// An arena of 8 pages; the first page's address has the lower half 0.
fn with_pages() -> Memory {
    let mut memory = memory();
    assert!(memory.make_arena(ArenaSpec { user_start: 1 << 44, pages: 8, converts: true }));
    memory
}

#[test]
fn pages_are_found_lowest_first_and_side_by_side() {
    let mut memory = with_pages();
    let at = |page: u64| Ok(Some((1 << 44) + page * PAGE_SIZE));
    assert_eq!(memory.alloc_pages(0, 3), at(0));
    assert_eq!(memory.alloc_pages(at(5).unwrap().unwrap(), 1), at(5));
    assert_eq!(memory.alloc_pages(0, 3), Ok(None));
    assert_eq!(memory.alloc_pages(0, 2), at(3));
    memory.free_pages(PAGE_SIZE + 5, 1);
    assert_eq!(memory.alloc_pages(0, 2), at(6));
    assert_eq!(memory.alloc_pages(0, 1), at(1));
    assert_eq!(memory.alloc_pages(0, 1), Ok(None));
}

#[test]
fn the_window_and_its_guards_read_nothing_where_there_is_no_page() {
    let mut memory = with_pages();
    memory.alloc_pages(0, 1).unwrap();
    assert_eq!(memory.load::<8>(PAGE_SIZE - 8), Ok(0));
    for address in [PAGE_SIZE - 7, PAGE_SIZE, u64::MAX - 7, 1 << 32, (1 << 32) + (1 << 15) - 1] {
        assert_eq!(memory.load::<8>(address).unwrap_err().kind, AccessKind::NoPage, "{address:#x}");
        assert_eq!(memory.store::<8>(address, 1).unwrap_err().kind, AccessKind::NoPage, "{address:#x}");
    }
    assert_eq!(memory.load::<8>((1 << 32) + (1 << 15)).unwrap_err().kind, AccessKind::OutOfBounds);
    // Helpers get no memory of the window, not even where it has a page.
    assert!(memory.read(8, 8).is_err() && memory.write(PAGE_SIZE - 8, 8).is_err());
}

#[test]
fn pages_count_on_the_limit_and_are_used_again() {
    let mut memory = Memory::new(3 * PAGE_SIZE);
    memory.make_arena(ArenaSpec { user_start: 0, pages: 8, converts: true });
    let start = memory.alloc_pages(0, 3).unwrap().unwrap();
    assert_eq!((memory.available(), start), (0, 0x7f7d_2620_0000));
    assert!(memory.alloc(1, Protection::ReadWrite).is_err());
    assert!(memory.alloc_pages(0, 1).is_err());
    memory.store::<8>(start as u32 as u64, 7).unwrap();
    memory.free_pages(start, 2);
    assert_eq!(memory.alloc_pages(0, 2), Ok(Some(start)));
    assert_eq!(memory.load::<8>(start as u32 as u64), Ok(0));
}

#[test]
fn casts_add_the_upper_half_but_to_null() {
    let mut memory = with_pages();
    assert_eq!(memory.cast(0x1234_5678, true), (1 << 44) + 0x1234_5678);
    assert_eq!(memory.cast((1 << 44) + 0x1234_5678, false), 0x1234_5678);
    assert_eq!(memory.cast(1 << 44, true), 0);
    memory = super::Memory::new(1 << 20);
    memory.make_arena(ArenaSpec { user_start: 1 << 44, pages: 8, converts: false });
    assert_eq!(memory.cast((1 << 44) + 8, true), 8);
}

#[test]
fn what_is_kept_elsewhere_counts_against_the_limit() {
    let mut memory = Memory::new(2 * 84 + 64);
    memory.alloc(16, Protection::ReadWrite).unwrap();
    assert_eq!(memory.available(), 84 + 64);
    memory.reserve(64).unwrap();
    assert!(memory.alloc(17, Protection::ReadWrite).is_err());
    memory.alloc(16, Protection::ReadWrite).unwrap();
    assert!(memory.reserve(1).is_err());
}

#[test]
fn memory_is_paid_for_before_it_is_taken() {
    let budget = Budget::new(1000);
    let account = budget.open();
    let mut memory = Memory::new(1 << 20).paid_by(&account);
    memory.alloc(500, Protection::ReadWrite).unwrap();
    assert!(memory.alloc(500, Protection::ReadWrite).is_err());
    assert!(memory.available() > 1 << 19, "the limit of the memory itself is far away");
    assert!(account.refused().is_some());
}
