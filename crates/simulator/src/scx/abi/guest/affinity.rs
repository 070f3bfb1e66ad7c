// SPDX-License-Identifier: MIT OR Apache-2.0
//! The masks that `cpus_ptr` points to. Tasks with the same affinity share one, as there are few affinities and a mask
//! is as big as a task. A program that compares the pointers of two tasks sees the difference.

use std::collections::BTreeMap;

use tandem_bpf_vm::fault::FaultKind;
use tandem_bpf_vm::memory::{Memory, Protection};

use crate::kernel::cpumask::CpuMask;
use crate::units::CpuId;

use super::access;
use crate::scx::abi::types::Cpumask;

/// Masks in use, by their words.
#[derive(Debug)]
pub(super) struct Affinities {
    all: Box<[u64]>,
    nr_cpus: usize,
    shared: BTreeMap<Box<[u64]>, Shared>,
}

#[derive(Debug)]
struct Shared {
    address: u64,
    users: u64,
}

/// Which CPUs a task may use, ready to be written.
pub(super) struct Affinity {
    /// Address of the shared mask.
    pub(super) address: u64,
    /// The mask.
    pub(super) words: Box<[u64]>,
    /// CPUs in it.
    pub(super) weight: u64,
}

impl Affinities {
    pub(super) fn new(nr_cpus: usize) -> Self {
        let all = CpuMask::of(nr_cpus, (0..nr_cpus).map(CpuId::at));
        Self { all: all.words().into(), nr_cpus, shared: BTreeMap::new() }
    }

    /// Words of the mask that hold CPUs.
    pub(super) fn words(&self) -> usize {
        self.nr_cpus.div_ceil(64)
    }

    /// One more task may use the CPUs of `mask`; `None` is all.
    pub(super) fn acquire(&mut self, memory: &mut Memory, mask: Option<&CpuMask>) -> Result<Affinity, FaultKind> {
        let words: Box<[u64]> = mask.map_or_else(|| self.all.clone(), |mask| mask.words().into());
        let weight = words.iter().map(|word| u64::from(word.count_ones())).sum();
        if let Some(shared) = self.shared.get_mut(&words) {
            shared.users += 1;
            return Ok(Affinity { address: shared.address, words, weight });
        }
        let address = memory.alloc(size_of::<Cpumask>() as u64, Protection::ReadOnly)?;
        access::put_words(memory, address, &words);
        self.shared.insert(words.clone(), Shared { address, users: 1 });
        Ok(Affinity { address, words, weight })
    }

    /// One task less uses the mask at `address`.
    pub(super) fn release(&mut self, memory: &mut Memory, address: u64) {
        let words: Box<[u64]> =
            (0..self.words() as u64).map(|index| access::get::<8>(memory, address + 8 * index)).collect();
        if let Some(shared) = self.shared.get_mut(&words) {
            shared.users -= 1;
            if shared.users == 0 {
                self.shared.remove(&words);
                access::free(memory, address);
            }
        }
    }
}
