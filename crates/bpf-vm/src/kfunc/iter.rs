// SPDX-License-Identifier: MIT OR Apache-2.0
//! Open-coded iterators over numbers (`kernel/bpf/bpf_iter.c`) and bits (`kernel/bpf/helpers.c`).
//!
//! An iterator over numbers has its state in the program's memory: two numbers, which the program may write. That of one over bits is
//! kept here ([`crate::handle`]). What `next` returns points into the iterator.

use crate::fault::{AccessError, Fault, FaultKind};
use crate::handle::{HandleKind, HandleState};
use crate::host::{Args, Builtin, Host};
use crate::instance::Instance;
use crate::memory::{Memory, Protection};

use super::{E2BIG, EINVAL, ENOMEM, failed};

/// `BPF_MAX_LOOPS`: the most steps of one iterator.
const MAX_LOOPS: i64 = 8 * 1024 * 1024;
/// `BITS_ITER_NR_WORDS_MAX`.
const BITS_MAX_WORDS: u64 = 511;
const EFAULT: i64 = 14;

// struct bpf_iter_num: where `cur` and `end` stand.
const NUM_CUR: u64 = 0;
const NUM_END: u64 = 4;

/// Bytes of struct bpf_iter_bits, and where in it the number of the bit stands that was found last: all that a program sees of it.
const BITS_SIZE: u64 = 16;
const BITS_BIT: u64 = 12;

// What is kept of a bpf_iter_bits: the only word of bits or the address of a copy of several, the number of bits, and the bit from which
// the next one is looked for.
const WORDS: usize = 0;
const NR_BITS: usize = 1;
const FROM: usize = 2;

pub(super) fn find(name: &str) -> Option<Builtin> {
    Some(match name {
        "bpf_iter_num_new" => |vm, _, args| num_new(&mut vm.memory, args),
        "bpf_iter_num_next" => |vm, _, args| Ok(num_next(&mut vm.memory, args[0])?),
        "bpf_iter_num_destroy" => |vm, _, args| Ok(num_set(&mut vm.memory, args[0], 0, 0)?),
        "bpf_iter_bits_new" => bpf_iter_bits_new,
        "bpf_iter_bits_next" => bpf_iter_bits_next,
        "bpf_iter_bits_destroy" => bpf_iter_bits_destroy,
        _ => return None,
    })
}

/// `bpf_iter_num_new(it, start, end)`.
fn num_new(memory: &mut Memory, args: Args) -> Result<u64, Fault> {
    let (start, end) = (args[1] as i32, args[2] as i32);
    if start > end {
        num_set(memory, args[0], 0, 0)?;
        return failed(EINVAL);
    }
    if i64::from(end) - i64::from(start) > MAX_LOOPS {
        num_set(memory, args[0], 0, 0)?;
        return failed(E2BIG);
    }
    // `next` is called before the first number is used, and steps to `start`.
    Ok(num_set(memory, args[0], start.wrapping_sub(1), end)?)
}

/// `bpf_iter_num_next(it)`: returns the address of the number, or 0 at the end.
fn num_next(memory: &mut Memory, it: u64) -> Result<u64, AccessError> {
    let next = (memory.load::<4>(it.wrapping_add(NUM_CUR))? as i32).wrapping_add(1);
    if next >= memory.load::<4>(it.wrapping_add(NUM_END))? as i32 {
        return num_set(memory, it, 0, 0);
    }
    memory.store::<4>(it.wrapping_add(NUM_CUR), next as u64)?;
    Ok(it.wrapping_add(NUM_CUR))
}

/// Stores an iterator's state; returns 0, as most callers do.
fn num_set(memory: &mut Memory, it: u64, cur: i32, end: i32) -> Result<u64, AccessError> {
    memory.store::<4>(it.wrapping_add(NUM_CUR), cur as u64)?;
    memory.store::<4>(it.wrapping_add(NUM_END), end as u64)?;
    Ok(0)
}

/// `bpf_iter_bits_new(it, words, nr_words)`. An iterator that could not be made finds nothing.
fn bpf_iter_bits_new(vm: &mut Instance, _: &mut dyn Host, args: Args) -> Result<u64, Fault> {
    let [it, words, nr_words, ..] = args;
    let nr_words = u64::from(nr_words as u32);
    vm.memory.write(it, BITS_SIZE)?.fill(0);
    vm.open_handle(it, HandleKind::Bits, [0; 4])?;
    if words == 0 || nr_words == 0 {
        return failed(EINVAL);
    }
    if nr_words > BITS_MAX_WORDS {
        return failed(E2BIG);
    }
    vm.spend(nr_words)?;
    let Ok(bits) = vm.memory.read(words, nr_words * 8).map(<[u8]>::to_vec) else {
        return failed(EFAULT);
    };
    let word = match <[u8; 8]>::try_from(bits.as_slice()) {
        Ok(word) => u64::from_le_bytes(word),
        Err(_) => {
            let Ok(copy) = vm.memory.alloc(nr_words * 8, Protection::ReadOnly) else { return failed(ENOMEM) };
            vm.memory.host_write(copy, nr_words * 8)?.copy_from_slice(&bits);
            copy
        }
    };
    *vm.handle(it, HandleKind::Bits)? = [word, nr_words * 64, 0, 0];
    Ok(0)
}

/// `bpf_iter_bits_next(it)`: returns the address of the number of the next set bit, or 0 at the end.
fn bpf_iter_bits_next(vm: &mut Instance, _: &mut dyn Host, args: Args) -> Result<u64, Fault> {
    let it = args[0];
    let state = *vm.handle(it, HandleKind::Bits)?;
    let found = next_bit(&vm.memory, state)?;
    let to = found.map_or(state[NR_BITS], |bit| bit + 1);
    vm.spend((to - state[FROM]) / 64)?;
    vm.handle(it, HandleKind::Bits)?[FROM] = to;
    let Some(bit) = found else { return Ok(0) };
    vm.memory.store::<4>(it.wrapping_add(BITS_BIT), bit)?;
    Ok(it.wrapping_add(BITS_BIT))
}

/// The first set bit from where it is to be looked for.
fn next_bit(memory: &Memory, state: HandleState) -> Result<Option<u64>, AccessError> {
    let mut bit = state[FROM];
    while bit < state[NR_BITS] {
        let word =
            if state[NR_BITS] == 64 { state[WORDS] } else { memory.host_load::<8>(state[WORDS] + bit / 64 * 8)? };
        let rest = word & (u64::MAX << (bit % 64));
        if rest != 0 {
            return Ok(Some(bit / 64 * 64 + u64::from(rest.trailing_zeros())));
        }
        bit = (bit / 64 + 1) * 64;
    }
    Ok(None)
}

/// `bpf_iter_bits_destroy(it)`.
fn bpf_iter_bits_destroy(vm: &mut Instance, _: &mut dyn Host, args: Args) -> Result<u64, Fault> {
    let state = vm.close_handle(args[0], HandleKind::Bits)?;
    vm.free_bits(&state)?;
    Ok(0)
}

impl Instance {
    /// Frees what a `bpf_iter_bits` has.
    pub(crate) fn free_bits(&mut self, state: &HandleState) -> Result<(), FaultKind> {
        if state[NR_BITS] > 64 { self.memory.free(state[WORDS]) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn iterator(start: i32, end: i32) -> (Memory, u64, i64) {
        let mut memory = Memory::new(1 << 12);
        let it = memory.alloc(8, Protection::ReadWrite).unwrap();
        let made = num_new(&mut memory, [it, start as u64, end as u64, 0, 0]).unwrap();
        (memory, it, made as i64)
    }

    fn numbers(start: i32, end: i32) -> Vec<i32> {
        let (mut memory, it, _) = iterator(start, end);
        let mut seen = Vec::new();
        while let at @ 1.. = num_next(&mut memory, it).unwrap() {
            seen.push(memory.load::<4>(at).unwrap() as i32);
        }
        seen
    }

    #[test]
    fn numbers_run_from_start_to_before_end() {
        assert_eq!(numbers(3, 6), [3, 4, 5]);
        assert_eq!(numbers(-2, 1), [-2, -1, 0]);
        assert_eq!(numbers(i32::MIN, i32::MIN + 2), [i32::MIN, i32::MIN + 1]);
        assert_eq!(numbers(i32::MAX - 1, i32::MAX), [i32::MAX - 1]);
        assert_eq!(numbers(4, 4), [0; 0]);
    }

    #[test]
    fn a_wrong_range_fails_and_is_empty() {
        assert_eq!(iterator(1, 0).2, -EINVAL);
        assert_eq!(iterator(0, 8_388_609).2, -E2BIG);
        assert_eq!(iterator(0, 8_388_608).2, 0);
        assert_eq!(iterator(i32::MIN, i32::MAX).2, -E2BIG);
        assert_eq!(numbers(1, 0), [0; 0]);
        assert_eq!(numbers(i32::MIN, i32::MAX), [0; 0]);
    }

    #[test]
    fn a_finished_iterator_stays_finished() {
        let (mut memory, it, _) = iterator(0, 1);
        assert_eq!(num_next(&mut memory, it), Ok(it));
        assert_eq!(num_next(&mut memory, it), Ok(0));
        assert_eq!(num_next(&mut memory, it), Ok(0));
    }

    #[test]
    fn an_iterator_must_lie_in_an_object() {
        let mut memory = Memory::new(1 << 12);
        assert!(num_new(&mut memory, [0, 0, 1, 0, 0]).is_err());
        assert!(num_next(&mut memory, u64::MAX).is_err());
    }
}
