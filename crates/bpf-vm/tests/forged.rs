// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that write what only the kernel may write: handles, owned pointers, nodes. Each ends with the same fault in each engine, and
//! nothing that is not the program's was changed or freed.

use tandem_bpf_vm::fault::{Fault, FaultKind};
use tandem_bpf_vm::handle::HandleState;
use tandem_bpf_vm::helper::helper;
use tandem_bpf_vm::host::{Args, Builtin, Host};
use tandem_bpf_vm::instance::Instance;
use tandem_bpf_vm::kfunc::kfunc;
use tandem_bpf_vm::memory::Protection;

use crate::assembler;
use crate::engine::prepared;

/// Kernel functions that programs call by these numbers.
const KFUNCS: [(i32, &str); 5] = [
    (1000, "bpf_iter_bits_new"),
    (1001, "bpf_iter_bits_next"),
    (1002, "bpf_iter_bits_destroy"),
    (1003, "bpf_list_push_back_impl"),
    (1004, "bpf_rbtree_add_impl"),
];

struct Kernel;

impl Host for Kernel {
    fn iterator_dropped(&mut self, name: &'static str, _: HandleState) {
        unreachable!("there is no {name}");
    }

    fn kfunc(&mut self, _: &mut Instance, kfunc: u32, _: Args) -> Result<u64, Fault> {
        Err(FaultKind::Misuse(format!("no kernel function {kfunc}")).into())
    }
}

fn call(id: i32) -> Option<Builtin> {
    match KFUNCS.iter().find(|(number, _)| *number == id) {
        Some((_, name)) => kfunc(name),
        None => helper(id),
    }
}

/// Runs a program with each engine, with the address of an object of the host in r1, which must be as it was; the fault in words.
fn refused(text: &str) -> String {
    let told = std::cell::RefCell::new(Vec::new());
    crate::engine::on_every_engine(|| {
        let code = assembler::assemble(text).expect("the program is one");
        let mut vm = prepared(Instance::from_instructions(&code, &call, 1000).expect("the program decodes"));
        let object = vm.memory.alloc(64, Protection::ReadOnly).expect("there is room");
        let main = vm.program("main").expect("it is the first function");
        let fault = vm.run_raw(main, [object, 0, 0, 0, 0], &mut Kernel).expect_err("the program is refused");
        assert_eq!(vm.memory.read(object, 64), Ok(&[0; 64][..]), "{text}");
        assert_eq!(vm.memory.size_of(object), Some(64), "{text}");
        told.borrow_mut().push((fault.to_string(), vm.executed(), fault.backtrace().to_vec()));
    });
    let mut told = told.into_inner();
    assert!(told.windows(2).all(|pair| pair[0] == pair[1]), "{told:?}");
    told.swap_remove(0).0
}

#[test]
fn an_iterator_that_was_never_made_frees_nothing() {
    // As the state of an iterator over 128 bits was: the address of a copy, the number of bits.
    let forged = |what: &str| {
        refused(&format!(
            "{what}\nstxdw [%r10-16], %r1\nmov %r2, 128\nstxdw [%r10-8], %r2\n\
             mov %r1, %r10\nadd %r1, -16\ncall 1002\nmov %r0, 0\nexit"
        ))
    };
    for what in ["mov %r0, 0", "mov %r1, %r10\nadd %r1, -512"] {
        let told = forged(what);
        assert!(told.starts_with("no bpf_iter_bits was made at 0x"), "{told}");
    }
}

#[test]
fn what_is_written_into_an_iterator_is_not_what_it_frees() {
    // Two words of bits on the stack; the iterator stands 16 bytes above them.
    let told = refused(
        "mov %r6, %r1\nstdw [%r10-32], 1\nstdw [%r10-24], 2\nmov %r1, %r10\nadd %r1, -16\nmov %r2, %r10\nadd %r2, -32\n\
         mov %r3, 2\ncall 1000\nstxdw [%r10-16], %r6\nmov %r1, %r10\nadd %r1, -16\ncall 1002\n\
         mov %r1, %r10\nadd %r1, -16\ncall 1002\nmov %r0, 0\nexit",
    );
    assert!(told.starts_with("no bpf_iter_bits was made at 0x"), "the second time: {told}");
}

#[test]
fn an_iterator_must_be_destroyed() {
    let told = refused(
        "stdw [%r10-24], 2\nmov %r1, %r10\nadd %r1, -16\nmov %r2, %r10\nadd %r2, -24\nmov %r3, 1\ncall 1000\nmov %r0, 0\nexit",
    );
    assert!(told.starts_with("the program ended without destroying the bpf_iter_bits at 0x"), "{told}");
    let twice = "mov %r1, %r10\nadd %r1, -16\nmov %r2, 0\nmov %r3, 1\ncall 1000\n";
    let told = refused(&format!("{twice}{twice}mov %r0, 0\nexit"));
    assert!(told.contains("where a bpf_iter_bits was not destroyed"), "{told}");
}

#[test]
fn a_dynptr_a_pointer_and_a_node_that_are_none_are_refused() {
    // bpf_dynptr_write, bpf_ringbuf_submit_dynptr, bpf_kptr_xchg; a list and a tree on the stack.
    let forged =
        "stxdw [%r10-16], %r1\nmov %r2, 64\nstxdw [%r10-8], %r2\nstdw [%r10-24], 7\nmov %r1, %r10\nadd %r1, -16\n";
    let end = "mov %r0, 0\nexit";
    let write = format!("{forged}mov %r2, 0\nmov %r3, %r10\nadd %r3, -24\nmov %r4, 8\nmov %r5, 0\ncall 202\n{end}");
    assert!(refused(&write).starts_with("no bpf_dynptr was made at 0x"));
    assert!(refused(&format!("{forged}mov %r2, 0\ncall 199\n{end}")).starts_with("no bpf_dynptr was made at 0x"));
    assert!(refused(&format!("mov %r2, 0\ncall 194\n{end}")).ends_with("is no pointer that owns (__kptr)"));
    for (function, name) in [(1003, "bpf_list_push"), (1004, "bpf_rbtree_add")] {
        let told =
            refused(&format!("mov %r1, %r10\nadd %r1, -64\nmov %r2, %r10\nadd %r2, -32\ncall {function}\n{end}"));
        assert!(told.starts_with(&format!("{name}: no tree or list begins at 0x")), "{told}");
    }
}
