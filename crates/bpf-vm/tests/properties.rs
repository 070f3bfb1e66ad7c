// SPDX-License-Identifier: MIT OR Apache-2.0
//! What holds for all operands, and for all bytes that someone may call a program.

use proptest::prelude::*;

use crate::engine::compiled;
use tandem_bpf_vm::fault::{Fault, FaultKind, Location};
use tandem_bpf_vm::host::{Args, Builtin, Host};
use tandem_bpf_vm::instance::{Instance, Outcome};
use tandem_bpf_vm::memory::Protection;

struct NoHost;

impl Host for NoHost {
    fn kfunc(&mut self, _: &mut Instance, kfunc: u32, _: Args) -> Result<u64, Fault> {
        Err(FaultKind::Misuse(format!("no kernel function {kfunc}")).into())
    }
}

const BUDGET: u64 = 10_000;

fn slot(code: u8, dst: u8, src: u8, off: i16, imm: i32) -> [u8; 8] {
    let ([off0, off1], [imm0, imm1, imm2, imm3]) = (off.to_le_bytes(), imm.to_le_bytes());
    [code, src << 4 | dst, off0, off1, imm0, imm1, imm2, imm3]
}

/// What a program does with each engine, which must be the same.
fn run(code: &[u8], args: Args) -> Result<Outcome, Fault> {
    let load = || Instance::from_instructions(code, &|_| None, BUDGET).expect("the program decodes");
    let results = [load(), compiled(load())].map(|mut vm| {
        let main = vm.program("main").expect("it is the first function");
        vm.run_raw(main, args, &mut NoHost)
    });
    let [interpreted, compiled] = results;
    assert_eq!(interpreted, compiled, "the interpreter, and compiled code");
    interpreted
}

/// What each of these pieces leaves in r4, where r1 and r2 are one of `dst` and `src` before. It is one program that runs with each of
/// `dst`, as compiling takes longer than running, and each engine must come to the same.
fn results(pieces: &[Vec<u8>], dst: &[u64], src: u64) -> Vec<Vec<u64>> {
    // Each is stored where r3 points to.
    let store = |(at, piece): (usize, &Vec<u8>)| [piece.as_slice(), &slot(0x7b, 3, 4, 8 * at as i16, 0)].concat();
    let mut code: Vec<u8> = pieces.iter().enumerate().flat_map(store).collect();
    code.extend([slot(0xb7, 0, 0, 0, 0), slot(0x95, 0, 0, 0, 0)].concat());
    let load = || Instance::from_instructions(&code, &|_| None, BUDGET).expect("the program decodes");
    let [interpreted, compiled] = [load(), compiled(load())].map(|mut vm| {
        let bytes = 8 * pieces.len() as u64;
        let memory = vm.memory.alloc(bytes, Protection::ReadWrite).expect("there is room");
        let main = vm.program("main").expect("it is the first function");
        let mut run = |dst: &u64| {
            let outcome = vm.run_raw(main, [*dst, src, memory, 0, 0], &mut NoHost).expect("this does not fail");
            let words = vm.memory.read(memory, bytes).expect("it is there").to_vec();
            let words = words.chunks(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")));
            (outcome, words.collect::<Vec<u64>>())
        };
        dst.iter().map(&mut run).collect::<Vec<_>>()
    });
    assert_eq!(interpreted, compiled, "the interpreter, and compiled code");
    interpreted.into_iter().map(|(_, words)| words).collect()
}

/// A register is a number that the compiler knows.
fn constant(register: u8, value: u64) -> Vec<u8> {
    [slot(0x18, register, 0, 0, value as i32), slot(0, 0, 0, 0, (value >> 32) as i32)].concat()
}

/// r1 op r2, in three forms: by register, by a register that the compiler knows, by immediate.
fn alu(code: u8, off: i16, src: u64) -> [Vec<u8>; 3] {
    let of = |operation: [u8; 8]| [slot(0xbf, 4, 1, 0, 0), operation].concat();
    let known = [constant(5, src), of(slot(code | 8, 4, 5, off, 0))].concat();
    [of(slot(code | 8, 4, 2, off, 0)), known, of(slot(code, 4, 0, off, src as i32))]
}

/// dst op r1, dst op r2 and dst op src, where the compiler knows dst and src.
fn alu_of_known(code: u8, off: i16, dst: u64, src: u64) -> [Vec<u8>; 3] {
    let of = |src: u8| [constant(4, dst), slot(code | 8, 4, src, off, 0).to_vec()].concat();
    [of(1), of(2), [constant(5, src), of(5)].concat()]
}

/// Whether `r1 op r2` jumps, in the same three forms as [`alu`].
fn jump(code: u8, src: u64) -> [Vec<u8>; 3] {
    let of = |jump: [u8; 8]| [slot(0xb7, 4, 0, 0, 1), jump, slot(0xb7, 4, 0, 0, 0)].concat();
    let known = [constant(5, src), of(slot(code | 8, 1, 5, 1, 0))].concat();
    [of(slot(code | 8, 1, 2, 1, 0)), known, of(slot(code, 1, 0, 1, src as i32))]
}

/// Operations of arithmetic: code, whether signed, class, bits.
fn arithmetic() -> Vec<(u8, i16, u8, u32)> {
    let unsigned = [0x00, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0x90, 0xa0, 0xb0, 0xc0].map(|code| (code, 0));
    let operations = unsigned.into_iter().chain([(0x30, 1), (0x90, 1)]);
    operations.flat_map(|(code, off)| [(code, off, 7, 64), (code, off, 4, 32)]).collect()
}

/// Arithmetic of a width, in 128 bits where nothing wraps, then cut: an independent way to the same numbers.
fn oracle(code: u8, signed: bool, bits: u32, dst: u64, src: u64) -> u64 {
    let mask = u64::MAX >> (64 - bits);
    let (dst, src) = (dst & mask, src & mask);
    let sign = |value: u64| if value >> (bits - 1) == 1 { i128::from(value) - (1 << bits) } else { i128::from(value) };
    let (a, b) = if signed { (sign(dst), sign(src)) } else { (i128::from(dst), i128::from(src)) };
    let shift = src as u32 % bits;
    let wide = match code {
        0x00 => a + b,
        0x10 => a - b,
        0x20 => (u128::from(dst) * u128::from(src)) as i128,
        0x30 => {
            if b == 0 {
                0
            } else {
                a / b
            }
        }
        0x40 => a | b,
        0x50 => a & b,
        0x60 => ((dst as u128) << shift) as i128,
        0x70 => a >> shift,
        0x90 => {
            if b == 0 {
                a
            } else {
                a % b
            }
        }
        0xa0 => a ^ b,
        0xb0 => b,
        _ => sign(dst) >> shift,
    };
    wide as u64 & mask
}

fn compare(code: u8, bits: u32, dst: u64, src: u64) -> bool {
    let mask = u64::MAX >> (64 - bits);
    let (a, b) = (dst & mask, src & mask);
    // Adding half the range turns signed order into unsigned order.
    let (c, d) = (a ^ 1 << (bits - 1), b ^ 1 << (bits - 1));
    match code {
        0x10 => a == b,
        0x20 => a > b,
        0x30 => a >= b,
        0x40 => a & b != 0,
        0x50 => a != b,
        0x60 => c > d,
        0x70 => c >= d,
        0xa0 => a < b,
        0xb0 => a <= b,
        0xc0 => c < d,
        _ => c <= d,
    }
}

/// Any number, and more often one that compilers treat as a special case: a power of two of 64 or of 32 bits, the greatest and the least
/// number, one more or less, and the negatives of these.
fn operand() -> impl Strategy<Value = u64> {
    let power = (0u32..64, -1i64..2, any::<bool>()).prop_map(|(bit, more, negative)| {
        let near = (1u64 << bit).wrapping_add_signed(more);
        if negative { near.wrapping_neg() } else { near }
    });
    let half = power.clone().prop_map(|value| u64::from(value as u32));
    prop_oneof![any::<u64>(), power, half, (-5i64..70).prop_map(|value| value as u64)]
}

/// What `src` is when only 32 bits of it are in the instruction.
fn immediate(src: u64) -> u64 {
    src as i32 as u64
}

/// An instruction that is likely to be valid.
fn likely() -> impl Strategy<Value = [u8; 8]> {
    let codes: Vec<u8> = (0..=255).filter(|code| !matches!(code & 7, 0) && *code != 0x8d).collect();
    let off = prop_oneof![Just(0i16), -12i16..12, prop::sample::select(vec![-8i16, -16, -512])];
    let imm =
        prop_oneof![Just(0i32), Just(1), -3i32..20, Just(16), Just(0xf1), operand().prop_map(|value| value as i32)];
    (prop::sample::select(codes), 0u8..11, 0u8..11, off, imm).prop_map(|(code, dst, src, off, imm)| {
        let by_register = matches!(code & 7, 4..) && code & 8 != 0;
        let imm = if by_register || matches!(code & 0xe7, 0x61 | 0x63) { 0 } else { imm };
        let src = if by_register || matches!(code & 7, 1 | 3) || code == 0x85 { src } else { 0 };
        let off = if matches!(code & 7, 4 | 7) { 0 } else { off };
        slot(code, dst, if code == 0x85 { src & 1 } else { src }, off, imm)
    })
}

/// Helpers for programs at random: 0 gives a number that depends on its arguments, 1 calls r1 back with r2, 16 faults.
fn some_helper(id: i32) -> Option<Builtin> {
    match id {
        0 => Some(|_, _, args| Ok(args.iter().fold(7, |sum, arg| (sum * 31) ^ arg))),
        1 => Some(|vm, host, args| vm.call(args[0], [args[1], args[2], 0, 0, 0], host)),
        16 => Some(|_, _, _| Err(FaultKind::Misuse("helper 16 was called".to_owned()).into())),
        _ => None,
    }
}

/// What anybody can see of a program that ran: its result, what it wrote, how far it came.
#[derive(Debug, PartialEq)]
struct Seen {
    result: Result<Outcome, Fault>,
    memory: Vec<u8>,
    executed: u64,
    exit: Vec<Location>,
}

/// Runs a program twice, so that it finds the stacks that it left.
fn seen(mut vm: Instance) -> Seen {
    let memory = vm.memory.alloc(64, Protection::ReadWrite).expect("there is room");
    let readable = vm.memory.alloc(12, Protection::ReadOnly).expect("there is room");
    let main = vm.program("main").expect("it is the first function");
    let mut result = Ok(Outcome { value: 0, instructions: 0 });
    for _ in 0..2 {
        result = vm.run_raw(main, [memory, 64, readable, 1, memory + 32], &mut NoHost);
        assert!(vm.backtrace().is_empty());
    }
    let exit = vm.locate(&vm.exit_trace());
    Seen { result, memory: vm.memory.read(memory, 64).expect("it is there").to_vec(), executed: vm.executed(), exit }
}

/// Runs what decodes: it must end, within its budget, whatever it is, and do the same with each engine.
fn survives(code: &[u8]) -> Result<(), TestCaseError> {
    let load = || Instance::from_instructions(code, &some_helper, BUDGET);
    let (Ok(first), Ok(second)) = (load(), load()) else { return Ok(()) };
    let Seen { result, memory, executed, exit } = seen(first);
    let with = seen(compiled(second));
    prop_assert_eq!(&Seen { result: result.clone(), memory, executed, exit }, &with, "interpreted, and compiled");
    if let Ok(outcome) = &result {
        prop_assert!(outcome.instructions <= BUDGET);
    }
    // Straight code may run on to its next jump before it is stopped.
    prop_assert!(executed <= BUDGET + code.len() as u64 / 8 + 8);
    if let Err(fault) = result {
        prop_assert!(!fault.backtrace().is_empty());
    }
    Ok(())
}

/// Cranelift 0.125 made −1 of it where the divisor is a constant.
#[test]
fn the_least_number_divided_by_itself_is_one() {
    let least = i32::MIN;
    let wide = i64::from(least) as u64;
    for (class, dst) in [(4, u64::from(least as u32)), (7, wide)] {
        let divisions = [0x30, 0x90].map(|code| alu(code | class, 1, wide)).concat();
        assert_eq!(results(&divisions, &[dst, 7], wide), [[1, 1, 1, 0, 0, 0], [0, 0, 0, 7, 7, 7]]);
    }
    // r1 / (the least number of 64 bits), which no immediate can say.
    let code =
        [[0x18, 2, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0x80], slot(0x3f, 1, 2, 1, 0), slot(0xbf, 0, 1, 0, 0)];
    let code = [code.concat(), slot(0x95, 0, 0, 0, 0).to_vec()].concat();
    assert_eq!(run(&code, [1 << 63, 0, 0, 0, 0]).unwrap().value, 1);
}

/// Operands that are tried with one other.
const TOGETHER: usize = 16;

/// As many pairs of operands as there are cases of other properties.
fn of_pairs() -> ProptestConfig {
    ProptestConfig::with_cases(ProptestConfig::default().cases.div_ceil(TOGETHER as u32))
}

fn operands() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(operand(), TOGETHER)
}

proptest! {
    #![proptest_config(of_pairs())]

    #[test]
    fn arithmetic_is_that_of_wide_integers(dst in operands(), src in operand()) {
        let cases = arithmetic();
        let pieces: Vec<_> = cases.iter().flat_map(|(code, off, class, _)| alu(code | class, *off, src)).collect();
        for (dst, results) in dst.iter().zip(results(&pieces, &dst, src)) {
            for ((code, off, _, bits), all) in cases.iter().zip(results.chunks(3)) {
                let expected = [src, src, immediate(src)].map(|src| oracle(*code, *off == 1, *bits, *dst, src));
                prop_assert_eq!(all, expected, "{:#x} {} {} {:#x}", code, off, bits, dst);
            }
        }
    }

    #[test]
    fn arithmetic_on_a_number_that_the_compiler_knows_is_the_same(dst in operand(), src in operands(), other in operand()) {
        let cases = arithmetic();
        let of_known = |(code, off, class, _): &(u8, i16, u8, u32)| alu_of_known(code | class, *off, dst, other);
        let pieces: Vec<_> = cases.iter().flat_map(of_known).collect();
        for (src, results) in src.iter().zip(results(&pieces, &src, other)) {
            for ((code, off, _, bits), all) in cases.iter().zip(results.chunks(3)) {
                let expected = [*src, other, other].map(|src| oracle(*code, *off == 1, *bits, dst, src));
                prop_assert_eq!(all, expected, "{:#x} {} {} {:#x}", code, off, bits, src);
            }
        }
    }

    #[test]
    fn comparisons_are_those_of_integers(dst in operands(), src in operand()) {
        let codes = [0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0xa0, 0xb0, 0xc0, 0xd0];
        let cases = codes.map(|code| [(code, 5, 64), (code, 6, 32)]).concat();
        let pieces: Vec<_> = cases.iter().flat_map(|(code, class, _)| jump(code | class, src)).collect();
        for (dst, results) in dst.iter().zip(results(&pieces, &dst, src)) {
            for ((code, _, bits), all) in cases.iter().zip(results.chunks(3)) {
                let expected = [src, src, immediate(src)].map(|src| u64::from(compare(*code, *bits, *dst, src)));
                prop_assert_eq!(all, expected, "{:#x} {} {:#x}", code, bits, dst);
            }
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_decode_or_are_refused(code in prop::collection::vec(any::<u8>(), 0..200)) {
        survives(&code)?;
    }

    #[test]
    fn likely_programs_end_within_their_budget(code in prop::collection::vec(likely(), 1..40)) {
        survives(&code.concat())?;
    }

    #[test]
    fn every_instruction_of_straight_code_is_counted(length in 0u64..100) {
        // A 64-bit immediate counts once.
        let mut code = [slot(0x18, 0, 0, 0, 7), slot(0, 0, 0, 0, 0)].concat();
        code.extend((0..length).flat_map(|_| slot(0x07, 0, 0, 0, 1)));
        code.extend(slot(0x95, 0, 0, 0, 0));
        let outcome = run(&code, [0; 5]).unwrap();
        prop_assert_eq!((outcome.value, outcome.instructions), (7 + length, length + 2));
    }

    #[test]
    fn every_round_of_a_loop_is_counted(rounds in 1i32..1000) {
        let code = [
            slot(0xb7, 1, 0, 0, rounds),
            slot(0x17, 1, 0, 0, 1),
            slot(0x55, 1, 0, -2, 0),
            slot(0xb7, 0, 0, 0, 0),
            slot(0x95, 0, 0, 0, 0),
        ];
        prop_assert_eq!(run(&code.concat(), [0; 5]).unwrap().instructions, 2 * rounds as u64 + 3);
    }
}
