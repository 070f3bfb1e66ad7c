// SPDX-License-Identifier: MIT OR Apache-2.0
//! No compiler: this crate was built without it. There is never anything compiled.

use std::convert::Infallible;

use super::{CompileError, Compiled, Limits};
use crate::fault::Fault;
use crate::host::{Args, Host};
use crate::instance::Instance;
use crate::interp::Code;

/// Where functions are entered: nowhere.
pub(super) struct Entries;

impl Entries {
    pub(super) fn new(_: usize) -> Self {
        Self
    }

    pub(super) fn get(&self, _: usize) -> Option<&Infallible> {
        None
    }

    pub(super) fn set(&self, _: &Module, _: &[()]) {}
}

/// What holds compiled functions.
pub(super) struct Module(Infallible);

/// Where functions would be compiled.
pub(super) struct Workshop(Module);

impl Workshop {
    /// # Errors
    /// Always.
    pub(super) fn new(_: &Code, _: Limits) -> Result<Self, CompileError> {
        Err(CompileError::Machine("this program was built without it".to_owned()))
    }

    pub(super) fn module(&self) -> &Module {
        &self.0
    }

    pub(super) fn make(&mut self, _: &Code, _: usize) -> Result<Vec<()>, CompileError> {
        match self.0.0 {}
    }
}

pub(super) fn instructions_to_reach(_: &Code, _: usize, _: Limits) -> u64 {
    0
}

/// Runs a function that is compiled, of which there are none.
pub(crate) fn run(_: &mut Instance, _: &mut dyn Host, _: &Code, _: &Compiled, _: usize, _: Args) -> Result<u64, Fault> {
    unreachable!("nothing is compiled")
}
