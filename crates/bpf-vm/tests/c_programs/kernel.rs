// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel that the programs of `tests/c` ask for.

use std::sync::Arc;

use crate::engine::prepared;
use tandem_bpf_vm::btf::{Btf, Builder, Member, Type, TypeId};
use tandem_bpf_vm::fault::Fault;
use tandem_bpf_vm::host::{Args, Clock, Host};
use tandem_bpf_vm::instance::{Instance, Outcome, ProgramId};
use tandem_bpf_vm::kfunc::kfunc;
use tandem_bpf_vm::link::{Environment, LoadError};
use tandem_bpf_vm::memory::Memory;
use tandem_bpf_vm::object::Object;
use tandem_bpf_vm::open::OpenObject;
use tandem_bpf_vm::timer::TimerStart;

/// CPUs of the kernel.
pub const CPUS: u32 = 4;
/// Instructions that a test may execute.
const BUDGET: u64 = 50_000_000;

/// A kernel with a clock, a log, and timers that it remembers.
#[derive(Default)]
pub struct Kernel {
    /// Time in nanoseconds.
    pub now: u64,
    /// Lines of `bpf_printk`.
    pub log: Vec<String>,
    /// Armed timers, in the order armed.
    pub timers: Vec<TimerStart>,
    /// Pointers to objects of this kernel that were dropped: type and address.
    pub dropped: Vec<(String, u64)>,
}

impl Host for Kernel {
    fn cpu(&self) -> u32 {
        1
    }

    fn now(&mut self, _: Clock) -> u64 {
        self.now
    }

    fn printk(&mut self, line: &str) {
        self.log.push(line.to_owned());
    }

    fn timer_start(&mut self, start: TimerStart) {
        self.timer_cancel(start.timer);
        self.timers.push(start);
    }

    fn timer_cancel(&mut self, timer: u64) -> bool {
        let before = self.timers.len();
        self.timers.retain(|start| start.timer != timer);
        self.timers.len() < before
    }

    fn kptr_dropped(&mut self, type_name: &str, address: u64) {
        self.dropped.push((type_name.to_owned(), address));
    }

    fn kfunc(&mut self, _: &mut Instance, _: u32, _: Args) -> Result<u64, Fault> {
        Ok(0)
    }
}

/// A builder with the types that `core.bpf.c` describes.
fn things() -> Builder {
    let mut builder = Builder::new();
    let [byte, short, int, word, long] =
        [("char", 1, true), ("u16", 2, false), ("s32", 4, true), ("u32", 4, false), ("u64", 8, false)]
            .map(|(name, size, signed)| builder.int(name, size, signed));
    builder.typedef("known_t", long);
    builder.enumeration("state", &[("STATE_IDLE", 10), ("STATE_BUSY", 300)]);
    builder.enumeration("wide", &[("WIDE_FLAG", 1 << 40)]);
    let part = builder.structure("part", 8, &[("pad", word, 0), ("length", short, 4)]);
    let (name, parts) = (builder.array(byte, 16), builder.array(part, 2));
    let inner = builder.structure("", 4, &[("inner", int, 0)]);
    let anonymous = builder.union("", 4, &[("", inner)]);
    let thing = builder.declare_struct("thing");
    let next = builder.pointer(thing);
    let member =
        |name: &str, type_id, bit_offset, bitfield| Member { name: name.into(), type_id, bit_offset, bitfield };
    let members = vec![
        member("unknown", long, 0, 0),
        member("id", long, 8 * 8, 0),
        member("count", word, 16 * 8, 0),
        member("", anonymous, 24 * 8, 0),
        member("name", name, 32 * 8, 0),
        member("next", next, 48 * 8, 0),
        member("part", parts, 56 * 8, 0),
        member("low", word, 72 * 8, 3),
        member("high", word, 72 * 8 + 3, 5),
    ];
    builder.define_members(thing, 80, members);
    builder
}

/// The types of a kernel: the functions that the object asks for and this crate brings.
pub fn types(object: &Object) -> Arc<Btf> {
    let mut builder = things();
    let int = builder.int("int", 4, true);
    let pointer = builder.pointer(TypeId::VOID);
    let like = |id| match object.btf.bare(id) {
        None | Some(Type::Void) => TypeId::VOID,
        Some(Type::Ptr(_)) => pointer,
        Some(_) => int,
    };
    for symbol in object.externs.iter().filter(|symbol| kfunc(&symbol.name).is_some()) {
        let Some(Type::FuncProto(proto)) = symbol.type_id.and_then(|id| object.btf.bare(id)) else { continue };
        let params: Vec<_> = proto.params.iter().map(|param| (param.name.as_str(), like(param.type_id))).collect();
        let proto = builder.func_proto(like(proto.ret), &params);
        builder.func(&symbol.name, proto);
    }
    Arc::new(builder.finish())
}

/// The kernel's configuration, as `kconfig.bpf.c` says.
fn kconfig(name: &str) -> Option<u64> {
    match name {
        "LINUX_KERNEL_VERSION" => Some(6 << 16 | 12 << 8 | 117),
        "CONFIG_HZ" => Some(250),
        "CONFIG_PREEMPT" => Some(1),
        "CONFIG_NUMA" => Some(0),
        _ => None,
    }
}

/// Loads an object into a kernel with these types.
pub fn load_with(open: OpenObject, btf: Arc<Btf>) -> Result<Instance, LoadError> {
    let environment = Environment {
        btf,
        kfuncs: &|_| None,
        variables: &|_| None,
        kconfig: &kconfig,
        nr_cpus: CPUS,
        arena_data_last: false,
        budget: BUDGET,
    };
    open.load(&environment, Memory::new(64 << 20)).map(prepared)
}

/// Loads an object with all its programs, the optional ones too.
#[track_caller]
pub fn load(open: OpenObject) -> Instance {
    let mut open = open;
    let object = Arc::clone(open.object());
    for function in object.functions.iter().filter(|function| function.is_program()) {
        open.set_autoload(&function.name, true).unwrap();
    }
    load_with(open, types(&object)).unwrap()
}

/// Runs a program with one argument.
pub fn run(vm: &mut Instance, program: &str, context: u64, kernel: &mut Kernel) -> Result<Outcome, Fault> {
    let id = vm.program(program).unwrap_or_else(|| panic!("there is no program {program}"));
    vm.run_raw(id, [context, 0, 0, 0, 0], kernel)
}

/// Runs the tests of an object, the programs in section "syscall", in the order of the file. Each must return 0;
/// another value is the line of the check that failed.
#[track_caller]
pub fn run_tests(vm: &mut Instance, context: u64, kernel: &mut Kernel) -> usize {
    let functions = &vm.object().functions;
    let is_test = |number: &usize| functions[*number].section == "syscall" && !functions[*number].optional;
    let tests: Vec<usize> = (0..functions.len()).filter(is_test).collect();
    for test in &tests {
        let program = ProgramId(*test as u32);
        let name = vm.program_name(program).to_owned();
        match vm.run_raw(program, [context, 0, 0, 0, 0], kernel) {
            Ok(outcome) => assert_eq!(outcome.value as u32, 0, "{name}: the check in this line failed"),
            Err(fault) => panic!("{name}: {fault}, {:?}", fault.backtrace()),
        }
    }
    tests.len()
}
