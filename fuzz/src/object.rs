// SPDX-License-Identifier: MIT OR Apache-2.0
//! An object from any bytes: parsed, set up, loaded, run.

use std::sync::Arc;

use tandem_bpf_vm::instance::{Instance, ProgramId};
use tandem_bpf_vm::link::Environment;
use tandem_bpf_vm::memory::{BASE, Memory, Protection};
use tandem_bpf_vm::object::Object;
use tandem_bpf_vm::open::OpenObject;

use super::kernel::{self, CPUS, Kernel};

/// Instructions that one program may execute.
const BUDGET: u64 = 2_000;
/// Functions that are run.
const FUNCTIONS: usize = 24;
/// Bytes of the arena.
const LIMIT: u64 = 8 << 20;

/// Parses bytes as an object and does all that a user can do with it.
pub fn run(bytes: &[u8]) {
    let Ok(object) = Object::parse(bytes) else { return };
    let object = Arc::new(object);
    let mut open = OpenObject::new(Arc::clone(&object));
    for function in object.functions.iter().take(FUNCTIONS) {
        let _ = open.set_autoload(&function.name, true);
    }
    for setting in open.variables().into_iter().take(8) {
        let _ = (
            open.integer(&setting.name),
            open.set(&setting.name, "1"),
            open.set(&format!("{}[1]", setting.name), "-1"),
        );
    }
    let environment = Environment {
        btf: kernel::types(),
        kfuncs: &|name| name.starts_with("scx_").then_some(0),
        // The object that `task` makes below is the first of the arena.
        variables: &|_| Some(BASE),
        kconfig: &|_| Some(3),
        arena_data_last: bytes.len().is_multiple_of(2),
        nr_cpus: CPUS,
        budget: BUDGET,
    };
    let mut memory = Memory::new(LIMIT);
    let Ok(task) = memory.alloc(64, Protection::ReadWrite) else { return };
    assert_eq!(task, BASE);
    if let Ok(mut vm) = open.load(&environment, memory) {
        run_all(&mut vm, object.functions.len(), task);
    }
}

fn run_all(vm: &mut Instance, functions: usize, task: u64) {
    let mut kernel = Kernel { current: task, ..Kernel::default() };
    for number in 0..functions.min(FUNCTIONS) {
        let program = ProgramId(number as u32);
        let _ = vm.run(program, &[task, task, 1], &mut kernel);
        let _ = vm.run_raw(program, [task, 1, 2, task, 4], &mut kernel);
    }
    for timer in std::mem::take(&mut kernel.timers).into_iter().take(4) {
        let _ = vm.timer_fired(timer, &mut kernel);
    }
    vm.storage_owner_gone(task);
}
