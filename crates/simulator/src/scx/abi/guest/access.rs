// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads and writes of objects that [`Guest`](super::Guest) made. They exist, so an error is a bug of the caller: an
//! object that was never made, or was freed.

use tandem_bpf_vm::memory::Memory;

const OWN: &str = "the kernel's own object exists";

/// Offset of a member, named through its parents, in its structure.
macro_rules! at {
    ($structure:ty, $($member:tt)+) => {
        std::mem::offset_of!($structure, $($member)+) as u64
    };
}
pub(super) use at;

#[inline(always)]
pub(super) fn get<const N: usize>(memory: &Memory, address: u64) -> u64 {
    memory.own_load::<N>(address)
}

#[inline(always)]
pub(super) fn put<const N: usize>(memory: &mut Memory, address: u64, value: u64) {
    memory.own_store::<N>(address, value);
}

/// `text` as C's, cut to what fits into `size` bytes with its null byte.
pub(super) fn put_text(memory: &mut Memory, address: u64, size: u64, text: &str) {
    let field = memory.host_write(address, size).expect(OWN);
    field.fill(0);
    let length = text.len().min(field.len().saturating_sub(1));
    field[..length].copy_from_slice(&text.as_bytes()[..length]);
}

pub(super) fn put_words(memory: &mut Memory, address: u64, words: &[u64]) {
    for (index, word) in words.iter().enumerate() {
        put::<8>(memory, address + 8 * index as u64, *word);
    }
}

pub(super) fn free(memory: &mut Memory, address: u64) {
    memory.free(address).expect(OWN);
}
