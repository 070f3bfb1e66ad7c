// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that clang compiled, from the object file to the last instruction: each of `tests/c` checks itself.

mod arena;
mod kernel;
mod objects;

use tandem_bpf_vm::fault::{Fault, FaultKind};
use tandem_bpf_vm::instance::Instance;
use tandem_bpf_vm::link::LoadError;
use tandem_bpf_vm::memory::Protection;
use tandem_bpf_vm::open::OpenObject;

use kernel::{Kernel, load, load_with, run, run_tests, types};
use objects::{line_of, object};

fn open(name: &str) -> OpenObject {
    OpenObject::new(object(name))
}

/// Runs the tests of an object that need nothing of the host but its CPUs.
#[track_caller]
fn check(name: &str, tests: usize) {
    assert_eq!(run_tests(&mut load(open(name)), 0, &mut Kernel::default()), tests);
}

#[test]
fn arithmetic_and_atomic_operations_are_the_processors() {
    crate::engine::on_every_engine(|| {
        check("atomics", 5);
    });
}

#[test]
fn version_4_of_the_instruction_set_is_whole() {
    crate::engine::on_every_engine(|| {
        check("isa_v4", 5);
    });
}

#[test]
fn maps_of_every_kind_do_what_the_kernels_do() {
    crate::engine::on_every_engine(|| {
        check("maps", 7);
    });
}

#[test]
fn trees_lists_and_owned_pointers_do_what_the_kernels_do() {
    crate::engine::on_every_engine(|| {
        check("objects", 6);
    });
}

#[test]
fn cpumasks_do_what_the_kernels_do() {
    crate::engine::on_every_engine(|| {
        check("cpumasks", 4);
    });
}

#[test]
fn iterators_give_every_number_once() {
    crate::engine::on_every_engine(|| {
        check("iterators", 4);
    });
}

#[test]
fn settings_of_the_kernel_have_its_values() {
    crate::engine::on_every_engine(|| {
        check("kconfig", 1);
    });
}

#[test]
fn functions_call_each_other_and_are_called_back() {
    crate::engine::on_every_engine(|| {
        check("functions", 5);
    });
}

/// Fires armed timers until none is armed; returns the times at which they were due.
fn fire(vm: &mut Instance, kernel: &mut Kernel) -> Vec<u64> {
    let mut times = Vec::new();
    while !kernel.timers.is_empty() {
        let next = kernel.timers.remove(0);
        kernel.now = next.expires;
        times.push(kernel.now);
        vm.timer_fired(next.timer, kernel).unwrap();
    }
    times
}

#[test]
fn a_timer_arms_itself_again_until_it_has_fired_three_times() {
    crate::engine::on_every_engine(|| {
        let mut vm = load(open("functions"));
        let mut kernel = Kernel { now: 500, ..Kernel::default() };
        assert_eq!(run(&mut vm, "timer_armed", 0, &mut kernel).unwrap().value, 0);
        assert_eq!(fire(&mut vm, &mut kernel), [1500, 2500, 3500]);
        assert_eq!(run(&mut vm, "timer_fired_thrice", 0, &mut kernel).unwrap().value, 0);
    });
}

#[test]
fn globals_have_their_first_values_and_keep_their_last() {
    crate::engine::on_every_engine(|| {
        let mut vm = load(open("globals"));
        let mut kernel = Kernel::default();
        assert_eq!(run(&mut vm, "settings_sum", 0, &mut kernel).unwrap().value, 99);
        assert_eq!(run_tests(&mut vm, 0, &mut kernel), 4);
    });
}

#[test]
fn settings_change_what_programs_read() {
    crate::engine::on_every_engine(|| {
        let mut open = open("globals");
        let settings = [
            ("number", "1000"),
            ("small", "-128"),
            ("flag", "true"),
            ("mode", "MODE_FAST"),
            ("text", "\"1234567\""),
            ("place.x", "-300"),
            ("place.y", "0x100000000"),
            ("list[2]", "4000000000"),
        ];
        for (name, value) in settings {
            open.set(name, value).unwrap();
        }
        let sum: i64 = 1000 - 128 + 1 + 70_000 + 7 - 300 + 6 + (1 << 32) + 10 + 20 + 4_000_000_000 + 40;
        let outcome = run(&mut load(open), "settings_sum", 0, &mut Kernel::default()).unwrap();
        // The program returns an int.
        assert_eq!(outcome.value as u32, sum as u32);
    });
}

#[test]
fn a_resized_array_is_as_long_as_the_program_was_told() {
    crate::engine::on_every_engine(|| {
        let mut open = open("globals");
        open.resize("resizable", 1000).unwrap();
        open.set("resizable_len", "1000").unwrap();
        let mut vm = load(open);
        assert_eq!(run(&mut vm, "resized", 0, &mut Kernel::default()).unwrap().value, 0);
        let bytes = vm.global_bytes("resizable").unwrap();
        assert_eq!((bytes.len(), bytes[8 * 999]), (8000, 9));
    });
}

#[test]
fn an_array_shorter_than_the_program_was_told_is_a_fault() {
    crate::engine::on_every_engine(|| {
        let mut open = open("globals");
        open.set("resizable_len", "1000").unwrap();
        let fault = run(&mut load(open), "resized", 0, &mut Kernel::default()).unwrap_err();
        assert!(fault.to_string().starts_with("out of bounds: write of 8 bytes"), "{fault}");
    });
}

/// Writes words to memory; returns their address.
fn words(vm: &mut Instance, words: &[u64]) -> u64 {
    let address = vm.memory.alloc(8 * words.len() as u64, Protection::ReadWrite).unwrap();
    for (at, word) in words.iter().enumerate() {
        vm.memory.store::<8>(address + 8 * at as u64, *word).unwrap();
    }
    address
}

#[test]
fn storage_belongs_to_a_task_or_cgroup_and_goes_with_it() {
    crate::engine::on_every_engine(|| {
        let mut vm = load(open("storage"));
        let mut kernel = Kernel::default();
        let owners = [0; 4].map(|word| words(&mut vm, &[word]));
        let context = words(&mut vm, &owners);
        assert_eq!(run_tests(&mut vm, context, &mut kernel), 2);
        vm.storage_owner_gone(owners[0]);
        assert_eq!(run(&mut vm, "storage_is_gone", context, &mut kernel).unwrap().value, 0);
    });
}

#[test]
fn texts_are_formatted_compared_and_logged() {
    crate::engine::on_every_engine(|| {
        let mut kernel = Kernel::default();
        assert_eq!(run_tests(&mut load(open("text")), 0, &mut kernel), 4);
        assert_eq!(kernel.log, ["task 7: 0x2a of 3", "1 2 3 4"]);
    });
}

/// The `struct thing` of `core.bpf.c`, and the context that points to it.
fn thing(vm: &mut Instance) -> u64 {
    let thing = vm.memory.alloc(80, Protection::ReadWrite).unwrap();
    let low_and_high = 5 | 17 << 3;
    let numbers = [(8, 7), (16, 5), (24, -6_i32 as u32 as u64), (48, thing), (72, low_and_high)];
    for (offset, number) in numbers {
        vm.memory.store::<8>(thing + offset, number).unwrap();
    }
    vm.memory.write(thing + 32, 5).unwrap().copy_from_slice(b"seven");
    vm.memory.store::<2>(thing + 68, 9).unwrap();
    words(vm, &[thing])
}

#[test]
fn accesses_move_to_where_the_kernel_has_its_fields() {
    crate::engine::on_every_engine(|| {
        let mut vm = load(open("core"));
        let context = thing(&mut vm);
        assert_eq!(run_tests(&mut vm, context, &mut Kernel::default()), 6);
    });
}

/// The fault of an optional program, which must be in the source line that contains `text`.
#[track_caller]
fn fault(name: &str, program: &str, text: &str) -> Fault {
    let mut vm = load(open(name));
    let context = thing(&mut vm);
    let fault = run(&mut vm, program, context, &mut Kernel::default()).unwrap_err();
    let at = fault.backtrace().first().unwrap();
    assert_eq!((at.function.as_str(), at.line), (program, line_of(&format!("{name}.bpf.c"), text)), "{fault}");
    assert!(at.file.ends_with(&format!("{name}.bpf.c")), "{at}");
    fault
}

#[test]
fn faults_name_the_line_of_the_source() {
    crate::engine::on_every_engine(|| {
        let text = |name, program, line| fault(name, program, line).to_string();
        assert!(
            text("objects", "use_after_drop", "/* use after free */").starts_with("use after free: read of 8 bytes")
        );
        let cpumask = text("cpumasks", "use_after_release", "/* use after free */");
        assert!(cpumask.starts_with("use after free: read of 8 bytes"), "{cpumask}");
        let missing = fault("core", "reads_a_missing_field", "/* missing field */");
        assert!(
            matches!(missing.kind(), FaultKind::Poisoned(_)) && missing.to_string().contains("missing"),
            "{missing}"
        );
    });
}

#[test]
fn what_an_element_owned_is_freed_with_it() {
    crate::engine::on_every_engine(|| {
        let mut vm = load(open("objects"));
        let mut kernel = Kernel::default();
        run_tests(&mut vm, 0, &mut kernel);
        for (program, text) in [("use_after_delete", "gone with its pointer"), ("use_after_list", "gone with its list")]
        {
            let fault = run(&mut vm, program, 0, &mut kernel).unwrap_err();
            assert!(fault.to_string().starts_with("use after free: read of 8 bytes"), "{fault}");
            assert_eq!(fault.backtrace()[0].line, line_of("objects.bpf.c", text));
        }
        assert_eq!(kernel.dropped, []);
    });
}

#[test]
fn an_optional_program_is_loaded_only_if_it_is_asked_for() {
    crate::engine::on_every_engine(|| {
        let object = object("globals");
        let mut vm = load_with(OpenObject::new(object.clone()), types(&object)).unwrap();
        let fault = run(&mut vm, "settings_sum", 0, &mut Kernel::default()).unwrap_err();
        assert_eq!(fault.to_string(), "settings_sum was not loaded: it is optional, or was turned off");
        let mut open = OpenObject::new(object.clone());
        open.set_autoload("settings_sum", true).unwrap();
        open.set_autoload("first_values", false).unwrap();
        let mut vm = load_with(open.clone(), types(&object)).unwrap();
        assert_eq!(run(&mut vm, "settings_sum", 0, &mut Kernel::default()).unwrap().value, 99);
        assert!(run(&mut vm, "first_values", 0, &mut Kernel::default()).is_err());
        let error = open.set_autoload("setting_sum", true).unwrap_err();
        assert_eq!(error.to_string(), "there is no program setting_sum; did you mean settings_sum?");
    });
}

#[test]
fn a_kernel_without_a_function_that_is_needed_refuses_the_object() {
    crate::engine::on_every_engine(|| {
        let object = object("cpumasks");
        let without = |name: &str| {
            let mut fewer = (*object).clone();
            fewer.externs.retain(|symbol| symbol.name != name);
            types(&fewer)
        };
        let load = |open: OpenObject| load_with(open, without("bpf_cpumask_first_zero"));
        let missing = load(OpenObject::new(object.clone())).unwrap_err();
        assert_eq!(missing, LoadError::Missing(vec!["function bpf_cpumask_first_zero".to_owned()]));
        // The first test is the only one that calls it.
        let mut open = OpenObject::new(object.clone());
        open.set_autoload("one_cpu", false).unwrap();
        let mut vm = load(open).unwrap();
        assert_eq!(run(&mut vm, "two_masks", 0, &mut Kernel::default()).unwrap().value, 0);
    });
}
