// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engines on which programs run in tests: the interpreter, and compiled code.

use std::cell::Cell;

use tandem_bpf_vm::Instance;
use tandem_bpf_vm::compile::{AVAILABLE, CodeCache, When};

thread_local! {
    static COMPILED: Cell<bool> = const { Cell::new(false) };
}

/// The instance, for the engine whose turn it is.
#[track_caller]
pub fn prepared(vm: Instance) -> Instance {
    if COMPILED.get() { compiled(vm) } else { vm }
}

/// The instance with compiled code, where there is a compiler.
#[track_caller]
pub fn compiled(mut vm: Instance) -> Instance {
    if !AVAILABLE {
        return vm;
    }
    vm.compile(&CodeCache::default(), When::Entered).expect("there is a compiler for this machine");
    vm.compile_all().expect("what decodes compiles");
    vm
}

/// Runs a test once with each engine.
pub fn on_every_engine(test: impl Fn()) {
    for compiled in [false, true].into_iter().filter(|compiled| !compiled || AVAILABLE) {
        COMPILED.set(compiled);
        test();
    }
    COMPILED.set(false);
}
