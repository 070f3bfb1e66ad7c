// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that call helpers, which call back or run other programs: frames, budget, backtraces.

use tandem_bpf_vm::fault::{Fault, FaultKind, Location};
use tandem_bpf_vm::host::{Args, Builtin, Host};
use tandem_bpf_vm::instance::{Instance, Outcome};
use tandem_bpf_vm::interp::STACK_SIZE;

use crate::assembler;
use crate::engine::prepared;

/// Keeps the backtrace that a helper saw.
#[derive(Default)]
struct Watcher {
    seen: Vec<Location>,
}

impl Host for Watcher {
    fn kfunc(&mut self, _: &mut Instance, kfunc: u32, _: Args) -> Result<u64, Fault> {
        Err(FaultKind::Misuse(format!("no kernel function {kfunc}")).into())
    }

    fn printk(&mut self, line: &str) {
        let (function, insn) = line.split_once(' ').unwrap();
        self.seen.push(Location { function: function.to_owned(), insn: insn.parse().unwrap(), ..Location::default() });
    }
}

/// Helper 1 calls the function r1 with r2 (as `bpf_loop` does). Helper 2 runs the program r1 with r2 as a program of
/// its own. Helper 3 tells the host the backtrace. Helper 4 faults.
fn helper(id: i32) -> Option<Builtin> {
    match id {
        1 => Some(|vm, host, args| vm.call(args[0], [args[1], 0, 0, 0, 0], host)),
        2 => Some(|vm, host, args| {
            let program = vm.program_at(args[0]).ok_or(FaultKind::BadJump(args[0]))?;
            Ok(vm.run(program, &[args[1]], host)?.instructions)
        }),
        3 => Some(|vm, host, _| {
            vm.backtrace().iter().for_each(|place| host.printk(&format!("{} {}", place.function, place.insn)));
            Ok(0)
        }),
        4 => Some(|_, _, _| Err(FaultKind::Misuse("helper 4 was called".to_owned()).into())),
        _ => None,
    }
}

fn load(text: &str, budget: u64) -> Instance {
    prepared(Instance::from_instructions(&assembler::assemble(text).unwrap(), &helper, budget).unwrap())
}

fn run(vm: &mut Instance, host: &mut Watcher) -> Result<Outcome, Fault> {
    let main = vm.program("main").unwrap();
    vm.run_raw(main, [0; 5], host)
}

/// `main` adds 100 to what helper N makes of `inner` with 5.
fn calling(helper: u32, inner: &str) -> String {
    format!(
        "mov %r6, 100\nlddw %r1, function inner\nmov %r2, 5\ncall {helper}\nadd %r0, %r6\nexit\ninner:\n{inner}\nexit"
    )
}

#[test]
fn a_callback_counts_on_the_programs_budget_and_keeps_its_registers() {
    crate::engine::on_every_engine(|| {
        let text = calling(1, "mov %r6, 1\nmov %r0, %r1\nmul %r0, 2");
        // Six instructions of main, four of the callback.
        let outcome = run(&mut load(&text, 10), &mut Watcher::default()).unwrap();
        assert_eq!(outcome, Outcome { value: 110, instructions: 10 });
        let fault = run(&mut load(&text, 9), &mut Watcher::default()).unwrap_err();
        assert_eq!(fault.kind(), &FaultKind::Budget(9));
    });
}

#[test]
fn a_nested_program_gets_its_arguments_in_memory_and_has_its_own_count() {
    crate::engine::on_every_engine(|| {
        let text = calling(2, "ldxdw %r3, [%r1]\njeq %r3, 5, +1\ncall 4");
        // The nested program executes three instructions, main six.
        let outcome = run(&mut load(&text, 100), &mut Watcher::default()).unwrap();
        assert_eq!(outcome, Outcome { value: 103, instructions: 9 });
    });
}

#[test]
fn arguments_that_a_program_was_not_given_read_as_zero_whatever_an_earlier_one_got() {
    crate::engine::on_every_engine(|| {
        let mut vm =
            load("ldxdw %r0, [%r1]\nldxdw %r2, [%r1+8]\nadd %r0, %r2\nldxdw %r2, [%r1+88]\nadd %r0, %r2\nexit", 100);
        let main = vm.program("main").unwrap();
        for (args, sum) in [(&[7; 12][..], 21), (&[5], 5), (&[], 0), (&[1, 2], 3)] {
            assert_eq!(vm.run(main, args, &mut Watcher::default()).unwrap().value, sum, "{args:?}");
        }
    });
}

#[test]
fn a_callback_shares_the_eight_frames_and_a_nested_program_does_not() {
    crate::engine::on_every_engine(|| {
        // Each program nests seven frames: 14 in all.
        let deep = |helper| {
            format!(
                "mov %r1, 6\ncall local down\nexit\n\
             down:\njeq %r1, 0, bottom\nsub %r1, 1\ncall local down\nexit\n\
             bottom:\nlddw %r1, function inner\ncall {helper}\nexit\n\
             inner:\nmov %r1, 6\ncall local under\nexit\n\
             under:\njeq %r1, 0, end\nsub %r1, 1\ncall local under\nend:\nmov %r0, 1\nexit"
            )
        };
        let fault = run(&mut load(&deep(1), 1000), &mut Watcher::default()).unwrap_err();
        assert_eq!(fault.kind(), &FaultKind::CallDepth(8));
        assert!(run(&mut load(&deep(2), 1000), &mut Watcher::default()).is_ok());
    });
}

#[test]
fn programs_that_run_each_other_for_ever_end() {
    crate::engine::on_every_engine(|| {
        let text = "lddw %r1, function again\ncall 2\nexit\nagain:\nlddw %r1, function again\ncall 2\nexit";
        let fault = run(&mut load(text, 1_000_000), &mut Watcher::default()).unwrap_err();
        assert_eq!(fault.kind(), &FaultKind::CallDepth(32));
        assert_eq!(fault.backtrace().len(), 32);
    });
}

#[test]
fn a_helper_sees_where_it_was_called_and_a_fault_says_it() {
    crate::engine::on_every_engine(|| {
        let mut host = Watcher::default();
        // A 64-bit immediate takes two numbers, so the call in main is instruction 4.
        let mut vm = load(&calling(1, "mov %r0, 0\ncall 3\ncall 4"), 100);
        let fault = run(&mut vm, &mut host).unwrap_err();
        let places = |places: &[Location]| places.iter().map(|at| (at.function.clone(), at.insn)).collect::<Vec<_>>();
        assert_eq!(places(&host.seen), [("function_7".to_owned(), 1), ("main".to_owned(), 4)]);
        assert_eq!(places(fault.backtrace()), [("function_7".to_owned(), 2), ("main".to_owned(), 4)]);
        assert_eq!(fault.to_string(), "helper 4 was called");
        assert!(vm.backtrace().is_empty());
    });
}

#[test]
fn an_instance_runs_again_after_a_fault() {
    crate::engine::on_every_engine(|| {
        let mut vm = load("mov %r0, 1\nstdw [%r10-520], 0\nexit", 100);
        for _ in 0..20 {
            let fault = run(&mut vm, &mut Watcher::default()).unwrap_err();
            assert_eq!(fault.backtrace()[0].insn, 1);
            assert_eq!(vm.executed(), 2);
        }
    });
}

#[test]
fn the_stacks_of_two_frames_do_not_touch() {
    crate::engine::on_every_engine(|| {
        // The callee's r10 is one stack and its gap from main's.
        let text = "mov %r1, %r10\ncall local inner\nexit\ninner:\nmov %r0, %r10\nsub %r0, %r1\nexit";
        let outcome = run(&mut load(text, 100), &mut Watcher::default()).unwrap();
        assert!(outcome.value > STACK_SIZE, "{} bytes apart", outcome.value);
    });
}

#[test]
fn a_call_of_what_is_no_function_is_a_fault() {
    crate::engine::on_every_engine(|| {
        let text = "mov %r1, 8\ncall 1\nexit";
        let fault = run(&mut load(text, 100), &mut Watcher::default()).unwrap_err();
        assert_eq!(fault.kind(), &FaultKind::BadJump(8));
    });
}

#[test]
fn an_endless_loop_is_stopped_at_its_jump() {
    crate::engine::on_every_engine(|| {
        let mut vm = load("mov %r0, 1\nadd %r0, 1\nja -2", 100);
        let fault = run(&mut vm, &mut Watcher::default()).unwrap_err();
        assert_eq!(fault.kind(), &FaultKind::Budget(100));
        assert_eq!(fault.backtrace()[0].insn, 2);
    });
}

#[test]
fn a_trace_is_shown_later_with_the_same_places() {
    crate::engine::on_every_engine(|| {
        let mut vm = load("mov %r0, 7\nexit", 100);
        run(&mut vm, &mut Watcher::default()).unwrap();
        assert!(vm.locate(&vm.trace()).is_empty(), "nothing runs");
        let exit = vm.locate(&vm.exit_trace());
        assert_eq!(exit.iter().map(|at| (at.function.as_str(), at.insn)).collect::<Vec<_>>(), [("main", 1)]);
    });
}

#[test]
fn a_profile_counts_the_instructions_of_each_function() {
    crate::engine::on_every_engine(|| {
        // Four instructions of the callback, called twice by two runs, and six of main.
        let mut vm = load(&calling(1, "mov %r6, 1\nmov %r0, %r1\nmul %r0, 2"), 10);
        assert!(vm.profiled().is_empty());
        vm.profile();
        for _ in 0..2 {
            let outcome = run(&mut vm, &mut Watcher::default()).unwrap();
            assert_eq!(outcome, Outcome { value: 110, instructions: 10 });
        }
        let profile: Vec<u64> = vm.profiled().iter().map(|(_, executed)| *executed).collect();
        assert_eq!(profile, [12, 8]);
        assert_eq!(vm.profiled()[0].0.function, "main");
    });
}
