// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bundled machines, each with a kernel on it.

use rand::SeedableRng;
use rand_pcg::Pcg32;
use tandem_loader::facts::{self, Word};

use crate::kernel::Kernel;
use crate::kernel::params::KernelParameters;
use crate::machine::Machine;
use crate::scx::frontend::facts::System;

/// A bundled machine with a kernel on it.
pub(super) struct Bundled {
    machine: Machine,
    kernel: Kernel,
}

impl Bundled {
    pub(super) fn new(machine: &str) -> Self {
        let machine = Machine::load(machine).unwrap();
        let kernel = Kernel::new(&machine, KernelParameters::default(), Pcg32::seed_from_u64(1));
        Self { machine, kernel }
    }

    /// What is known of it under a governor.
    pub(super) fn under(&self, governor: &str) -> facts::System {
        System { kernel: &self.kernel, machine: &self.machine, governor: governor.parse().unwrap() }.known()
    }

    pub(super) fn known(&self) -> facts::System {
        self.under("schedutil")
    }
}

/// The numbers of a fact, of all that it is said of.
pub(super) fn all(system: &facts::System, word: &str) -> Vec<u64> {
    system.all(Word::of(word).unwrap())
}

/// The numbers of a fact of one CPU, domain or table.
pub(super) fn of(system: &facts::System, word: &str, number: usize) -> Vec<u64> {
    system.fact(Word::of(word).unwrap(), number).unwrap().numbers().to_vec()
}
