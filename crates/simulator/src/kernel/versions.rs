// SPDX-License-Identifier: MIT OR Apache-2.0
//! How often something changed on the CPUs of each block of eight, so that sums over many CPUs need not be made anew while nothing did.

use crate::units::CpuId;

/// CPUs in a block.
pub const BLOCK: usize = 8;

/// CPUs of one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Members {
    /// The number of the block.
    pub block: usize,
    /// Which of its CPUs, as bits.
    pub bits: u8,
}

impl Members {
    /// These CPUs, ascending, block by block.
    pub fn of(cpus: &[CpuId]) -> Vec<Self> {
        let by_block = cpus.chunk_by(|a, b| a.index() / BLOCK == b.index() / BLOCK);
        let bits = |cpus: &[CpuId]| cpus.iter().fold(0, |bits, cpu| bits | 1 << (cpu.index() % BLOCK));
        by_block.map(|cpus| Self { block: cpus[0].index() / BLOCK, bits: bits(cpus) }).collect()
    }
}

/// How often something changed, by block.
#[derive(Debug, Clone, Default)]
pub struct Versions {
    by_block: Vec<u32>,
}

impl Versions {
    /// Nothing has changed yet, on so many CPUs.
    pub fn new(nr_cpus: usize) -> Self {
        Self { by_block: vec![0; nr_cpus.div_ceil(BLOCK)] }
    }

    /// Something changes on `cpu`. Behind four thousand million changes the count begins again.
    #[inline]
    pub fn change(&mut self, cpu: CpuId) {
        let version = &mut self.by_block[cpu.index() / BLOCK];
        *version = version.wrapping_add(1);
    }

    /// The version of a block.
    #[inline]
    pub fn of_block(&self, block: usize) -> u32 {
        self.by_block[block]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_members_of_their_blocks() {
        let members = Members::of(&[CpuId(0), CpuId(7), CpuId(65), CpuId(130)]);
        assert_eq!(members.iter().map(|of| (of.block, of.bits)).collect::<Vec<_>>(), [(0, 0x81), (8, 2), (16, 4)]);
    }

    #[test]
    fn a_change_is_one_of_its_block() {
        let mut versions = Versions::new(12);
        versions.change(CpuId(8));
        versions.change(CpuId(11));
        assert_eq!((versions.of_block(0), versions.of_block(1)), (0, 2));
    }
}
