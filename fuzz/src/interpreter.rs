// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs from any bytes. An even first byte: the others are the program. An odd one: every 8 bytes choose an instruction
//! that decodes, so that most inputs run. They run in the interpreter, or in both engines, which must do the same.

use std::sync::{Arc, LazyLock};

use tandem_bpf_vm::compile::{CodeCache, Limits, When};
use tandem_bpf_vm::fault::Fault;
use tandem_bpf_vm::helper::helper;
use tandem_bpf_vm::host::Builtin;
use tandem_bpf_vm::instance::{Instance, Outcome};
use tandem_bpf_vm::kfunc::kfunc;
use tandem_bpf_vm::map::{Field, FieldKind, MAP_BASE, MapSpec, kind};
use tandem_bpf_vm::memory::{BASE, Memory, Protection};

use super::kernel::{CPUS, KFUNCS, Kernel};

/// Instructions that one run may execute.
const BUDGET: u64 = 10_000;
/// Bytes of the arena.
const LIMIT: u64 = 1 << 20;
/// Bytes that r1 points to.
const CONTEXT: u64 = 256;
/// Instructions of a generated program.
const SLOTS: usize = 256;
/// Limits under which short functions are compiled and call long ones, which are interpreted.
const IN_PART: Limits = Limits { function: 12, all: 1 << 10 };
/// Calls with this number and more are of [`KFUNCS`].
const FIRST_KFUNC: i32 = 1000;

/// Operation codes, in order.
static CODES: LazyLock<Vec<u8>> = LazyLock::new(|| (0..=u8::MAX).filter(|code| is_operation(*code)).collect());

/// Runs bytes as a program.
pub fn run(bytes: &[u8]) {
    let _ = execute(bytes);
}

/// Runs bytes as a program; returns its result, or `None` if the bytes are no program.
pub fn execute(bytes: &[u8]) -> Option<Result<Outcome, Fault>> {
    execute_on(bytes, None).map(|(outcome, _)| outcome)
}

/// Runs bytes as a program in both engines.
///
/// # Panics
/// They differ in the result, in a fault or its place, in the instructions executed, in pages missed or in a byte of memory.
pub fn engines(bytes: &[u8]) {
    let Some(interpreted) = execute_on(bytes, None) else { return };
    for limits in [Limits::default(), IN_PART] {
        let compiled = execute_on(bytes, Some(limits)).expect("the bytes are a program");
        same(&interpreted, &compiled);
    }
}

/// Compares what two engines did.
fn same(interpreted: &(Result<Outcome, Fault>, Instance), compiled: &(Result<Outcome, Fault>, Instance)) {
    assert_eq!(interpreted.0, compiled.0, "interpreted, and compiled");
    let [one, other] = [&interpreted.1, &compiled.1];
    assert_eq!(one.executed(), other.executed(), "instructions interpreted, and compiled");
    assert_eq!(one.locate(&one.exit_trace()), other.locate(&other.exit_trace()), "where it returned");
    assert_eq!(one.missing_pages(), other.missing_pages(), "pages that were not there");
    assert!(one.memory.same_bytes(&other.memory), "memory differs");
}

/// Runs bytes as a program, compiled within limits or not at all; returns the result and the instance, or `None` if the bytes are no program.
fn execute_on(bytes: &[u8], compiled: Option<Limits>) -> Option<(Result<Outcome, Fault>, Instance)> {
    let (first, rest) = bytes.split_first()?;
    let program = if first % 2 == 0 { rest.to_vec() } else { generate(rest) };
    let Ok(mut vm) = Instance::from_instructions(&program, &call, BUDGET) else { return None };
    if let Some(limits) = compiled {
        vm.compile(&CodeCache::with_limits(limits), When::Entered).expect("there is a compiler for this machine");
        vm.compile_all().expect("what decodes compiles");
    }
    vm.memory = Memory::new(LIMIT);
    assert_eq!(vm.memory.alloc(CONTEXT, Protection::ReadWrite), Ok(BASE));
    let context = BASE;
    for spec in specs() {
        assert!(vm.map_create(spec).is_ok());
    }
    let main = vm.program("main")?;
    let mut kernel = Kernel { current: context, ..Kernel::default() };
    let outcome = vm.run_raw(main, [context, CONTEXT, 3, 4, 5], &mut kernel);
    // The budget is checked at jumps, so straight code between two jumps may exceed it.
    let most = BUDGET + program.len() as u64 / 8 + 1;
    assert!(vm.executed() <= most, "{} instructions executed: {outcome:?}", vm.executed());
    for timer in std::mem::take(&mut kernel.timers).into_iter().take(4) {
        let _ = vm.timer_fired(timer, &mut kernel);
    }
    vm.storage_owner_gone(context);
    Some((outcome, vm))
}

fn call(id: i32) -> Option<Builtin> {
    match id.checked_sub(FIRST_KFUNC) {
        Some(number @ 0..) => kfunc(KFUNCS.get(number as usize)?),
        _ => helper(id),
    }
}

/// Maps of every kind; keys have 4 bytes and values 32, with a spin lock and a timer in the first two.
fn specs() -> Vec<MapSpec> {
    let fields: Arc<[Field]> = [
        Field { offset: 0, size: 4, kind: FieldKind::SpinLock },
        Field { offset: 8, size: 16, kind: FieldKind::Timer },
        Field { offset: 24, size: 8, kind: FieldKind::Kptr("bpf_cpumask".to_owned()) },
    ]
    .into();
    let storage = [kind::TASK_STORAGE, kind::CGRP_STORAGE];
    let kinds =
        [kind::ARRAY, kind::HASH, kind::LRU_HASH, kind::PERCPU_ARRAY, kind::PERCPU_HASH, kind::PERF_EVENT_ARRAY];
    let mut specs = Vec::new();
    for (number, kind) in kinds.into_iter().enumerate() {
        let fields = if number < 2 { fields.clone() } else { Arc::default() };
        specs.push(MapSpec { kind, key_size: 4, value_size: 32, max_entries: CPUS, fields, ..MapSpec::default() });
    }
    for kind in [kind::QUEUE, kind::STACK, kind::BLOOM_FILTER] {
        specs.push(MapSpec { kind, value_size: 32, max_entries: 4, ..MapSpec::default() });
    }
    for kind in storage {
        specs.push(MapSpec { kind, key_size: 4, value_size: 32, flags: 1, ..MapSpec::default() });
    }
    specs.push(MapSpec { kind: kind::RINGBUF, max_entries: 4096, ..MapSpec::default() });
    specs
}

/// Encodes an instruction for every 8 bytes.
fn generate(bytes: &[u8]) -> Vec<u8> {
    let choices: Vec<[u8; 8]> = bytes.as_chunks::<8>().0.iter().take(SLOTS).copied().collect();
    let mut starts = Vec::new();
    let mut slots = 0;
    for choice in &choices {
        starts.push(slots);
        slots += if code(choice) == 0x18 { 2 } else { 1 };
    }
    // Every program can jump to the last instruction.
    starts.push(slots);
    let mut program = Vec::new();
    for (number, choice) in choices.iter().enumerate() {
        encode(choice, number, &starts, &mut program);
    }
    program.extend([0x95, 0, 0, 0, 0, 0, 0, 0]);
    program
}

fn code(choice: &[u8; 8]) -> u8 {
    CODES[usize::from(choice[0]) % CODES.len()]
}

/// A number: mostly any, and for an eighth of all bytes one that compilers treat as a special case.
fn number32(bytes: [u8; 4]) -> i32 {
    let any = i32::from_le_bytes(bytes);
    if bytes[0] % 8 == 7 { special(bytes[1], 32) as i32 } else { any }
}

/// A number of 64 bits, likewise.
fn number64(choice: &[u8; 8]) -> u64 {
    let any = i64::from(i32::from_le_bytes([choice[4], choice[5], choice[6], choice[7]])) as u64;
    if choice[4] % 8 < 6 { any } else { special(choice[5], if choice[4] % 8 == 6 { 64 } else { 32 }) }
}

/// The least and the greatest number of so many bits, 0, powers of two, a little more or less than any of them, and their negatives.
fn special(choice: u8, bits: u32) -> u64 {
    let power = 1_u64 << (u32::from(choice % 64) % bits);
    let power = if choice.is_multiple_of(7) { 0 } else { power };
    match choice / 64 {
        0 => power,
        1 => power.wrapping_sub(1),
        2 => power.wrapping_neg(),
        _ => !power,
    }
}

/// What the operation code needs of the other fields.
fn encode(choice: &[u8; 8], number: usize, starts: &[usize], program: &mut Vec<u8>) {
    let [_, registers, off0, off1, imm @ ..] = *choice;
    let code = code(choice);
    let (mut dst, mut src) = (registers % 16 % 11, registers / 16 % 11);
    let mut off = i16::from_le_bytes([off0, off1]);
    let mut imm = number32(imm);
    let target = usize::from(off as u16) % starts.len();
    let distance = starts[target] as i32 - starts[number] as i32 - 1;
    match code & 7 {
        // lddw: a number, the memory, a map, a function.
        0 => return load(choice, (dst.min(9), distance), program),
        1 => (dst, off, imm) = (dst.min(9), off % 64, 0),
        2 => (src, off) = (0, off % 64),
        3 if matches!(code, 0xc3 | 0xdb) => (off, imm, src) = (off % 64, atomic(imm), src.min(9)),
        3 => (off, imm) = (off % 64, 0),
        5 | 6 => match code {
            0x85 => (dst, src, off, imm) = callee(registers, imm, distance),
            0x95 => (dst, src, off, imm) = (0, 0, 0, 0),
            0x05 => (dst, src, off, imm) = (0, 0, distance as i16, 0),
            0x06 => (dst, src, off, imm) = (0, 0, 0, distance),
            0xe5 => (dst, src, off, imm) = (0, 0, distance as i16, 0),
            _ if code & 8 != 0 => (off, imm) = (distance as i16, 0),
            _ => (src, off) = (0, distance as i16),
        },
        _ => (dst, src, off, imm) = arithmetic(code, [dst, src], off, imm),
    }
    program.extend([code, dst | src << 4]);
    program.extend(off.to_le_bytes());
    program.extend(imm.to_le_bytes());
}

fn load(choice: &[u8; 8], (dst, distance): (u8, i32), program: &mut Vec<u8>) {
    let number = u64::from(choice[4]);
    let (src, value) = match choice[1] >> 6 {
        0 => (0, number64(choice)),
        1 => (0, BASE + number),
        2 => (0, MAP_BASE + number % 16 * 0x100),
        _ => (4, u64::from(distance as u32)),
    };
    program.extend([0x18, dst | src << 4, 0, 0]);
    program.extend((value as u32).to_le_bytes());
    program.extend([0; 4]);
    program.extend((if src == 0 { (value >> 32) as u32 } else { 0 }).to_le_bytes());
}

fn atomic(imm: i32) -> i32 {
    const OPERATIONS: [i32; 12] = [0, 1, 0x40, 0x41, 0x50, 0x51, 0xa0, 0xa1, 0xe1, 0xf1, 0x100, 0x110];
    OPERATIONS[imm.unsigned_abs() as usize % OPERATIONS.len()]
}

/// A call by distance, of a helper, or of a kernel function.
fn callee(registers: u8, imm: i32, distance: i32) -> (u8, u8, i16, i32) {
    match registers % 8 {
        0 => (0, 1, 0, distance),
        1..4 => (0, 0, 0, FIRST_KFUNC + imm.rem_euclid(KFUNCS.len() as i32)),
        _ => (0, 0, 0, imm.rem_euclid(212)),
    }
}

fn arithmetic(code: u8, [dst, src]: [u8; 2], off: i16, imm: i32) -> (u8, u8, i16, i32) {
    let dst = dst.min(9);
    let (wide, register) = (code & 7 == 7, code & 8 != 0);
    match code & 0xf0 {
        0x30 | 0x90 if register => (dst, src, off & 1, 0),
        0x30 | 0x90 => (dst, 0, off & 1, imm),
        0x80 => (dst, 0, 0, 0),
        0xb0 if register => (dst, src, [0, 8, 16, if wide { 32 } else { 0 }][off as usize % 4], 0),
        0xd0 => (dst, 0, 0, [16, 32, 64][imm.unsigned_abs() as usize % 3]),
        _ if register => (dst, src, 0, 0),
        _ => (dst, 0, 0, imm),
    }
}

/// Whether an operation code decodes with the right fields.
fn is_operation(code: u8) -> bool {
    let (high, register) = (code & 0xf0, code & 8 != 0);
    match code & 7 {
        0 => code == 0x18,
        1 => matches!(code, 0x61 | 0x69 | 0x71 | 0x79 | 0x81 | 0x89 | 0x91),
        2 => matches!(code, 0x62 | 0x6a | 0x72 | 0x7a),
        3 => matches!(code, 0x63 | 0x6b | 0x73 | 0x7b | 0xc3 | 0xdb),
        4 => high <= 0xd0 && !(high == 0x80 && register),
        7 => high <= 0xd0 && !(matches!(high, 0x80 | 0xd0) && register),
        5 => code == 0xe5 || high <= 0xd0 && !(matches!(high, 0x00 | 0x80 | 0x90) && register),
        _ => code == 0x06 || high <= 0xd0 && !matches!(high, 0x00 | 0x80 | 0x90),
    }
}
