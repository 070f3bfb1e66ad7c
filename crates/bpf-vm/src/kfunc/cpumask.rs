// SPDX-License-Identifier: MIT OR Apache-2.0
//! `struct cpumask` and `struct bpf_cpumask` (`kernel/bpf/cpumask.c`, `include/linux/cpumask.h`).
//!
//! A mask may be shorter than the kernel's largest (a program's headers say how long its own are), so only the words
//! that cover `nr_cpu_ids` are touched. Bits beyond `nr_cpu_ids` are never set. In a kernel built for more than 64 CPUs
//! `bpf_cpumask_setall` fills the last word; a program that reads a mask's words could tell.

use crate::fault::{AccessError, Fault};
use crate::host::{Args, Builtin, Host};
use crate::instance::Instance;
use crate::memory::{Memory, Protection};

use super::{EACCES, failed, misuse};

/// Bytes of a mask that programs create: 8192 CPUs, the most that a kernel is built for, as programs' headers may have
/// them.
const CPUMASK_SIZE: u64 = 1024;
/// Bytes that a mask takes in the list of masks, at most.
const PER_CPUMASK: u64 = 48;

pub(super) fn find(name: &str) -> Option<Builtin> {
    lifetime(name).or_else(|| one_cpu(name)).or_else(|| search(name)).or_else(|| whole(name))
}

fn lifetime(name: &str) -> Option<Builtin> {
    Some(match name {
        "bpf_cpumask_create" => bpf_cpumask_create,
        "bpf_cpumask_acquire" => bpf_cpumask_acquire,
        "bpf_cpumask_release" | "bpf_cpumask_release_dtor" => bpf_cpumask_release,
        _ => return None,
    })
}

fn one_cpu(name: &str) -> Option<Builtin> {
    Some(match name {
        "bpf_cpumask_test_cpu" => |vm, _, args| change(vm, args, None),
        "bpf_cpumask_set_cpu" => |vm, _, args| change(vm, args, Some(true)).map(|_| 0),
        "bpf_cpumask_clear_cpu" => |vm, _, args| change(vm, args, Some(false)).map(|_| 0),
        "bpf_cpumask_test_and_set_cpu" => |vm, _, args| change(vm, args, Some(true)),
        "bpf_cpumask_test_and_clear_cpu" => |vm, _, args| change(vm, args, Some(false)),
        _ => return None,
    })
}

fn search(name: &str) -> Option<Builtin> {
    Some(match name {
        "bpf_cpumask_first" => |vm, _, args| vm.first(|masks, word| masks.get(args[0], word)),
        "bpf_cpumask_first_zero" => |vm, _, args| vm.first(|masks, word| Ok(!masks.get(args[0], word)?)),
        "bpf_cpumask_first_and" => |vm, _, args| vm.first(|masks, word| masks.both(args[0], args[1], word)),
        "bpf_cpumask_any_distribute" => |vm, host, args| vm.distribute(host, |masks, word| masks.get(args[0], word)),
        "bpf_cpumask_any_and_distribute" => {
            |vm, host, args| vm.distribute(host, |masks, word| masks.both(args[0], args[1], word))
        }
        "bpf_cpumask_weight" => bpf_cpumask_weight,
        _ => return None,
    })
}

fn whole(name: &str) -> Option<Builtin> {
    Some(match name {
        "bpf_cpumask_setall" => |vm, _, args| fill(vm, args[0], |_, _| Ok(u64::MAX)).map(|_| 0),
        "bpf_cpumask_clear" => |vm, _, args| fill(vm, args[0], |_, _| Ok(0)).map(|_| 0),
        "bpf_cpumask_copy" => |vm, _, args| fill(vm, args[0], |masks, word| masks.get(args[1], word)).map(|_| 0),
        "bpf_cpumask_and" => |vm, _, args| combine(vm, args, |a, b| a & b),
        "bpf_cpumask_or" => |vm, _, args| combine(vm, args, |a, b| a | b).map(|_| 0),
        "bpf_cpumask_xor" => |vm, _, args| combine(vm, args, |a, b| a ^ b).map(|_| 0),
        "bpf_cpumask_equal" => |vm, _, args| holds(vm, args, |a, b, _| a == b),
        "bpf_cpumask_subset" => |vm, _, args| holds(vm, args, |a, b, _| a & !b == 0),
        "bpf_cpumask_intersects" => |vm, _, args| holds(vm, args, |a, b, _| a & b == 0).map(|apart| apart ^ 1),
        "bpf_cpumask_empty" => |vm, _, args| holds(vm, [args[0]; 5], |a, _, _| a == 0),
        "bpf_cpumask_full" => |vm, _, args| holds(vm, [args[0]; 5], |a, _, all| a == all),
        "bpf_cpumask_populate" => bpf_cpumask_populate,
        _ => return None,
    })
}

/// The words of masks; words beyond `nr_cpu_ids` read as 0.
#[derive(Clone, Copy)]
struct Masks<'m> {
    memory: &'m Memory,
    nr_cpus: u32,
}

impl Masks<'_> {
    /// Word `word` of a mask.
    fn get(self, mask: u64, word: u32) -> Result<u64, AccessError> {
        Ok(self.memory.load::<8>(word_address(mask, word))? & valid(self.nr_cpus, word))
    }

    /// The bits that two masks have in common, in word `word`.
    fn both(self, a: u64, b: u64, word: u32) -> Result<u64, AccessError> {
        Ok(self.get(a, word)? & self.get(b, word)?)
    }

    /// First set bit in `from..to` of a mask given by its words.
    fn next<F>(self, from: u32, to: u32, bits: &F) -> Result<Option<u32>, AccessError>
    where
        F: Fn(Self, u32) -> Result<u64, AccessError>,
    {
        let mut at = from;
        while at < to {
            let rest = bits(self, at / 64)? & (u64::MAX << (at % 64));
            if rest != 0 {
                let found = at / 64 * 64 + rest.trailing_zeros();
                return Ok((found < to).then_some(found));
            }
            at = (at / 64 + 1) * 64;
        }
        Ok(None)
    }
}

fn word_address(mask: u64, word: u32) -> u64 {
    mask.wrapping_add(u64::from(word) * 8)
}

/// The bits of word `word` that stand for CPUs.
fn valid(nr_cpus: u32, word: u32) -> u64 {
    match nr_cpus.saturating_sub(word.saturating_mul(64)) {
        0 => 0,
        left @ 1..64 => (1 << left) - 1,
        _ => u64::MAX,
    }
}

impl Instance {
    fn masks(&self) -> Masks<'_> {
        Masks { memory: &self.memory, nr_cpus: self.nr_cpus }
    }

    /// `cpumask_first` and similar functions: the first CPU whose bit is set; `nr_cpu_ids` if there is none.
    fn first<F>(&mut self, bits: F) -> Result<u64, Fault>
    where
        F: Fn(Masks<'_>, u32) -> Result<u64, AccessError>,
    {
        self.spend((self.nr_cpus / 64).into())?;
        let found = self.masks().next(0, self.nr_cpus, &|masks: Masks<'_>, word| bits(masks, word))?;
        Ok(u64::from(found.unwrap_or(self.nr_cpus)))
    }

    /// `cpumask_any_distribute` and `cpumask_any_and_distribute` (`lib/cpumask.c`): the next CPU after the one that the
    /// executing CPU found last, and from 0 again behind the end; `nr_cpu_ids` if there is none.
    fn distribute<F>(&mut self, host: &mut dyn Host, bits: F) -> Result<u64, Fault>
    where
        F: Fn(Masks<'_>, u32) -> Result<u64, AccessError>,
    {
        let bits = |masks: Masks<'_>, word| bits(masks, word);
        self.spend((self.nr_cpus / 64).into())?;
        let executing = host.cpu();
        let from = self.distribute_cursor(executing).saturating_add(1).min(self.nr_cpus);
        let masks = self.masks();
        let found = match masks.next(from, self.nr_cpus, &bits)? {
            None => masks.next(0, from, &bits)?,
            found => found,
        };
        let Some(cpu) = found else { return Ok(u64::from(self.nr_cpus)) };
        *self.distribute_cursor(executing) = cpu;
        Ok(u64::from(cpu))
    }
}

/// `bpf_cpumask_create()`: null without memory.
fn bpf_cpumask_create(vm: &mut Instance, _: &mut dyn Host, _: Args) -> Result<u64, Fault> {
    vm.spend(CPUMASK_SIZE / 8)?;
    let there_are = vm.kfuncs.cpumasks.len();
    if vm.kfuncs.most_cpumasks.one_more(&mut vm.memory, there_are, PER_CPUMASK).is_err() {
        return Ok(0);
    }
    let Ok(mask) = vm.memory.alloc(CPUMASK_SIZE, Protection::ReadWrite) else { return Ok(0) };
    vm.kfuncs.cpumasks.insert(mask, 1);
    Ok(mask)
}

/// `bpf_cpumask_acquire(mask)`.
fn bpf_cpumask_acquire(vm: &mut Instance, _: &mut dyn Host, args: Args) -> Result<u64, Fault> {
    let Some(usage) = vm.kfuncs.cpumasks.get_mut(&args[0]) else {
        return Err(not_created("bpf_cpumask_acquire", args[0]));
    };
    *usage = usage.saturating_add(1);
    Ok(args[0])
}

/// `bpf_cpumask_release(mask)`.
fn bpf_cpumask_release(vm: &mut Instance, _: &mut dyn Host, args: Args) -> Result<u64, Fault> {
    if vm.release_cpumask(args[0])? { Ok(0) } else { Err(not_created("bpf_cpumask_release", args[0])) }
}

impl Instance {
    /// Drops a reference to a cpumask that a program created; whether `mask` is one.
    pub(super) fn release_cpumask(&mut self, mask: u64) -> Result<bool, Fault> {
        let Some(usage) = self.kfuncs.cpumasks.get_mut(&mask) else { return Ok(false) };
        *usage -= 1;
        if *usage == 0 {
            self.kfuncs.cpumasks.remove(&mask);
            self.memory.free(mask)?;
        }
        Ok(true)
    }
}

fn not_created(function: &str, mask: u64) -> Fault {
    misuse(format!("{function}: {mask:#x} is no cpumask of bpf_cpumask_create")).into()
}

/// Sets or clears the bit of CPU `args[0]` in mask `args[1]`; returns whether it was set. For a CPU that does not exist
/// it was not.
fn change(vm: &mut Instance, args: Args, to: Option<bool>) -> Result<u64, Fault> {
    let (cpu, mask) = (args[0] as u32, args[1]);
    if cpu >= vm.nr_cpus {
        return Ok(0);
    }
    let (at, bit) = (word_address(mask, cpu / 64), 1 << (cpu % 64));
    let word = vm.memory.load::<8>(at)?;
    match to {
        Some(true) => vm.memory.store::<8>(at, word | bit)?,
        Some(false) => vm.memory.store::<8>(at, word & !bit)?,
        None => {}
    }
    Ok(u64::from(word & bit != 0))
}

/// Writes each word of a mask; returns whether any bit is set.
fn fill<F>(vm: &mut Instance, mask: u64, value: F) -> Result<u64, Fault>
where
    F: Fn(Masks<'_>, u32) -> Result<u64, AccessError>,
{
    vm.spend((vm.nr_cpus / 64).into())?;
    let mut any = 0;
    for word in 0..vm.nr_cpus.div_ceil(64) {
        let bits = value(vm.masks(), word)? & valid(vm.nr_cpus, word);
        vm.memory.store::<8>(word_address(mask, word), bits)?;
        any |= bits;
    }
    Ok(u64::from(any != 0))
}

/// Makes mask `args[0]` a combination of `args[1]` and `args[2]`; returns whether any bit is set.
fn combine(vm: &mut Instance, args: Args, op: fn(u64, u64) -> u64) -> Result<u64, Fault> {
    fill(vm, args[0], |masks, word| Ok(op(masks.get(args[1], word)?, masks.get(args[2], word)?)))
}

/// Whether `test` holds for each word of masks `args[0]` and `args[1]`, with the bits that stand for CPUs.
fn holds(vm: &mut Instance, args: Args, test: fn(u64, u64, u64) -> bool) -> Result<u64, Fault> {
    vm.spend((vm.nr_cpus / 64).into())?;
    let masks = vm.masks();
    for word in 0..vm.nr_cpus.div_ceil(64) {
        if !test(masks.get(args[0], word)?, masks.get(args[1], word)?, valid(vm.nr_cpus, word)) {
            return Ok(0);
        }
    }
    Ok(1)
}

/// `bpf_cpumask_weight(mask)`.
fn bpf_cpumask_weight(vm: &mut Instance, _: &mut dyn Host, args: Args) -> Result<u64, Fault> {
    vm.spend((vm.nr_cpus / 64).into())?;
    let mut weight = 0;
    for word in 0..vm.nr_cpus.div_ceil(64) {
        weight += u64::from(vm.masks().get(args[0], word)?.count_ones());
    }
    Ok(weight)
}

/// `bpf_cpumask_populate(mask, src, src__sz)` (Linux 6.15).
fn bpf_cpumask_populate(vm: &mut Instance, _: &mut dyn Host, args: Args) -> Result<u64, Fault> {
    if args[2] < u64::from(vm.nr_cpus.div_ceil(64)) * 8 {
        return failed(EACCES);
    }
    fill(vm, args[0], |masks, word| masks.get(args[1], word))?;
    Ok(0)
}
