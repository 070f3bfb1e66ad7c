// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs programs at random on both engines, the interpreter and compiled code, and on both together, for as long as it is told, and stops where
//! anything differs that anybody could see: results, faults with their places, instructions executed, every byte of memory.
//!
//! `cargo run --release -p tandem-bpf-vm --example engines_agree -- [SECONDS [SEED]]`
//!
//! To compile a program takes a thousand times as long as to run it. So each is run often, on other arguments, other contents of
//! its memory, and other budgets. A program is a function of the seed and its number, which are printed where engines differ.

use std::time::{Duration, Instant};

use tandem_bpf_vm::compile::{CodeCache, Limits, When};
use tandem_bpf_vm::fault::{Fault, FaultKind, Location};
use tandem_bpf_vm::helper::helper;
use tandem_bpf_vm::host::{Args, Builtin, Host};
use tandem_bpf_vm::instance::{Instance, Outcome};
use tandem_bpf_vm::kfunc::kfunc;
use tandem_bpf_vm::map::{MAP_BASE, MapSpec, kind};
use tandem_bpf_vm::memory::{Memory, Protection};

/// Runs of each program on each engine.
const RUNS: u64 = 2000;
/// Bytes of the memory that r1 points to, and of what r3 points to, which is read-only and ends in the middle of a granule.
const MEMORY: u64 = 64;
const READABLE: u64 = 20;
/// Handles of the maps: an array, the BPF arena, and a storage.
const ARRAY: u64 = MAP_BASE;
const ARENA: u64 = MAP_BASE + 0x100;
const STORAGE: u64 = MAP_BASE + 0x200;

fn main() {
    let mut words = std::env::args().skip(1).map(|word| word.parse::<u64>().expect("a number"));
    let (seconds, seed) = (words.next().unwrap_or(60), words.next().unwrap_or(1));
    let (begin, mut tally) = (Instant::now(), Tally::default());
    for number in 0.. {
        if begin.elapsed() > Duration::from_secs(seconds) {
            break;
        }
        try_program(seed, number, &mut tally);
        if number % 1000 == 999 {
            println!("{tally:?} in {} s", begin.elapsed().as_secs());
        }
    }
    println!("seed {seed}: {tally:?} without a difference");
}

/// Limits under which about half of the functions are compiled, and call the others, which are interpreted.
const IN_PART: Limits = Limits { function: 24, all: 1 << 10 };

/// What was done.
#[derive(Debug, Default)]
struct Tally {
    programs: u64,
    executions: u64,
    instructions: u64,
    faults: u64,
}

/// Runs one program often on both engines.
fn try_program(seed: u64, number: u64, tally: &mut Tally) {
    let mut draw = Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number);
    let code = program(&mut draw);
    let mut interpreted = load(&code);
    let [mut compiled, mut in_part] = [Limits::default(), IN_PART].map(|limits| {
        let mut vm = load(&code);
        vm.compile(&CodeCache::with_limits(limits), When::Entered).expect("there is a compiler for this machine");
        vm.compile_all().expect("what decodes compiles");
        vm
    });
    tally.programs += 1;
    for run in 0..RUNS {
        let (budget, args) = (draw.budget(), [draw.next(), draw.wide(), draw.wide(), draw.wide(), draw.wide()]);
        let [one, other, third] = [&mut interpreted, &mut compiled, &mut in_part].map(|vm| seen(vm, budget, args));
        assert_eq!(one, other, "interpreted, and compiled: seed {seed}, program {number}, run {run}");
        assert_eq!(one, third, "interpreted, and compiled in part: seed {seed}, program {number}, run {run}");
        let same = [&compiled, &in_part].map(|vm| interpreted.memory.same_bytes(&vm.memory));
        assert_eq!(same, [true; 2], "memory differs: seed {seed}, program {number}, run {run}");
        tally.executions += 1;
        tally.instructions += one.executed;
        tally.faults += u64::from(one.result.is_err());
    }
}

/// What can be seen of a run, memory apart.
#[derive(Debug, PartialEq)]
struct Seen {
    result: Result<Outcome, Fault>,
    executed: u64,
    exit: Vec<Location>,
    missing_pages: u64,
}

/// Addresses of the objects that every instance begins with.
const FIRST: u64 = tandem_bpf_vm::memory::BASE;
const SECOND: u64 = FIRST + 80;

fn load(code: &[u8]) -> Instance {
    let mut vm = Instance::from_instructions(code, &call, 0).expect("the program decodes");
    vm.memory = Memory::new(1 << 20);
    assert_eq!(vm.memory.alloc(MEMORY, Protection::ReadWrite), Ok(FIRST));
    assert_eq!(vm.memory.alloc(READABLE, Protection::ReadOnly), Ok(SECOND));
    let array = MapSpec { kind: kind::ARRAY, key_size: 4, value_size: 24, max_entries: 4, ..MapSpec::default() };
    let arena = MapSpec { kind: kind::ARENA, max_entries: 4, flags: 1 << 10, ..MapSpec::default() };
    let storage = MapSpec { kind: kind::TASK_STORAGE, key_size: 4, value_size: 24, flags: 1, ..MapSpec::default() };
    for spec in [array, arena, storage] {
        vm.map_create(spec).expect("the map is right");
    }
    vm
}

fn seen(vm: &mut Instance, budget: u64, args: Args) -> Seen {
    vm.set_budget(budget);
    vm.memory.store::<8>(FIRST + args[0] % 8 * 8, args[1]).expect("it is there");
    vm.memory.host_store::<8>(SECOND + args[0] % 12, args[2]).expect("it is there");
    let main = vm.program("main").expect("it is the first function");
    let result = vm.run_raw(main, [FIRST, args[3], SECOND, args[4] % 8, args[4]], &mut NoHost);
    let exit = vm.locate(&vm.exit_trace());
    Seen { result, executed: vm.executed(), exit, missing_pages: vm.missing_pages().0 }
}

struct NoHost;

impl Host for NoHost {
    fn kfunc(&mut self, _: &mut Instance, kfunc: u32, _: Args) -> Result<u64, Fault> {
        Err(FaultKind::Misuse(format!("no kernel function {kfunc}")).into())
    }
}

/// Helpers for programs at random; what they do depends on what their program did.
const HELPERS: u64 = 14;

fn call(id: i32) -> Option<Builtin> {
    Some(match id {
        0 => |_, _, args| Ok(args.iter().fold(7, |sum: u64, arg| sum.wrapping_mul(31) ^ arg)),
        // Calls back.
        1 => |vm, host, args| vm.call(args[0], [args[1], args[2], args[3], 0, 0], host),
        2 => |vm, host, args| helper(181).expect("bpf_loop")(vm, host, [args[0] % 6, args[1], args[2], 0, 0]),
        // Moves the arena, until it is full.
        3 => |vm, _, args| Ok(vm.memory.alloc(args[0] % 200, Protection::ReadWrite)?),
        // Only what helper 3 made: no kernel function frees a stack.
        4 => |vm, _, args| match vm.memory.size_of(args[0]) {
            Some(0..200) if args[0] > SECOND => Ok(vm.memory.free(args[0]).map(|()| 0)?),
            _ => Err(FaultKind::Misuse(format!("helper 4 was called with {:#x}", args[0])).into()),
        },
        // A program inside of the program.
        5 => |vm, host, args| {
            let inner = vm.program("main").expect("it is the first function");
            if args[1] % 4 == 0 { Ok(vm.run_raw(inner, args, host)?.instructions) } else { Ok(vm.executed()) }
        },
        6 => |vm, _, _| {
            Ok(vm.backtrace().iter().fold(1, |sum: u64, place| sum.wrapping_mul(1009).wrapping_add(place.insn as u64)))
        },
        7 => |_, _, args| Err(FaultKind::Misuse(format!("helper 7 was called with {args:x?}")).into()),
        8 => |vm, host, args| helper(1).expect("bpf_map_lookup_elem")(vm, host, [ARRAY, FIRST, args[2], 0, 0]),
        9 => |vm, host, _| {
            let alloc = kfunc("bpf_arena_alloc_pages").expect("there is such a function");
            alloc(vm, host, [ARENA, 0, 1, u64::MAX, 0])
        },
        // Some that compiled code calls without ado: of these, the first faults at wrong places, and one moves the arena.
        10 => return kfunc("bpf_iter_num_next"),
        11 => return helper(4),
        12 => return helper(8),
        13 => return helper(156),
        _ => return None,
    })
}

/// A stream of numbers: SplitMix64.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// Mostly enough, often just not.
    fn budget(&mut self) -> u64 {
        match self.below(8) {
            0 => self.below(40),
            1 => self.below(400),
            _ => 1000,
        }
    }

    /// An immediate operand or a number in memory: small, or one where something changes.
    fn number(&mut self) -> i32 {
        match self.below(6) {
            0 => self.one_of(&[0, 1, -1, 30, 31, 32, 33, 62, 63, 64, 65, i32::MAX, i32::MIN, i32::MIN + 1]),
            1 => (1_i32 << self.below(32)).wrapping_sub(self.below(3) as i32 - 1),
            2 => -(1_i32 << self.below(31)),
            3 => self.next() as i32,
            _ => self.below(16) as i32 - 4,
        }
    }

    /// 64 bits, as arguments and constants have them: any, or where something changes in either width.
    fn wide(&mut self) -> u64 {
        const EDGES: [i64; 12] = [
            0,
            1,
            -1,
            i64::MIN,
            i64::MAX,
            i64::MIN + 1,
            i32::MIN as i64,
            i32::MAX as i64,
            u32::MAX as i64,
            1 << 32,
            1 << 31,
            i64::MIN | 1 << 31,
        ];
        match self.below(6) {
            0 | 1 => self.one_of(&EDGES) as u64,
            2 => (1_u64 << self.below(64)).wrapping_sub(self.below(3)),
            3 => i64::from(self.number()) as u64,
            _ => self.next(),
        }
    }
}

/// An instruction, or two slots of `ld_imm64`.
type Slots = Vec<[u8; 8]>;

fn slot(code: u8, dst: u8, src: u8, off: i16, imm: i32) -> [u8; 8] {
    let ([off0, off1], [imm0, imm1, imm2, imm3]) = (off.to_le_bytes(), imm.to_le_bytes());
    [code, src << 4 | dst, off0, off1, imm0, imm1, imm2, imm3]
}

/// Bytes of a program: `main` and up to three functions.
fn program(draw: &mut Draw) -> Vec<u8> {
    let functions = 1 + draw.below(4);
    let mut bodies: Vec<Slots> = (0..functions).map(|_| body(draw)).collect();
    let mut starts = Vec::new();
    let mut start = 0;
    for body in &bodies {
        starts.push(start);
        start += body.len() as i32;
    }
    // Calls and addresses of functions name a function until all have their places.
    for (body, start) in bodies.iter_mut().zip(&starts) {
        for (at, slot) in body.iter_mut().enumerate() {
            if matches!((slot[0], slot[1] >> 4), (0x85, 1) | (0x18, 4)) {
                let target = starts[slot[4] as usize % starts.len()];
                slot[4..8].copy_from_slice(&(target - start - at as i32 - 1).to_le_bytes());
            }
        }
    }
    bodies.concat().concat()
}

/// A function: pointers go to where calls keep them, something happens, and it returns.
fn body(draw: &mut Draw) -> Slots {
    let mut slots = vec![slot(0xbf, 6, 1, 0, 0), slot(0xbf, 7, 3, 0, 0), slot(0xbf, 8, 5, 0, 0)];
    let mut begins = Vec::new();
    let mut jumps = Vec::new();
    for _ in 0..3 + draw.below(30) {
        begins.push(slots.len());
        if draw.below(5) == 0 {
            jumps.push(slots.len());
            slots.push(jump(draw));
        } else {
            slots.extend(straight(draw));
        }
    }
    begins.push(slots.len());
    slots.push(slot(0x95, 0, 0, 0, 0));
    for at in jumps {
        // Forwards mostly, so that programs end before their budgets.
        let later: Vec<usize> = begins.iter().copied().filter(|begin| *begin > at).collect();
        let target = if draw.below(5) == 0 { draw.one_of(&begins) } else { draw.one_of(&later) };
        slots[at][2..4].copy_from_slice(&(target as i16 - at as i16 - 1).to_le_bytes());
    }
    slots
}

fn jump(draw: &mut Draw) -> [u8; 8] {
    let (dst, src, imm) = (draw.below(10) as u8, draw.below(11) as u8, draw.number());
    match draw.below(12) {
        0 => slot(0x05, 0, 0, 0, 0),
        1 => slot(0xe5, 0, 0, 0, 0),
        _ => {
            let kind = draw.one_of(&[0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0xa0, 0xb0, 0xc0, 0xd0]);
            let class = draw.one_of(&[5, 6]);
            if draw.below(2) == 0 { slot(kind | 8 | class, dst, src, 0, 0) } else { slot(kind | class, dst, 0, 0, imm) }
        }
    }
}

fn straight(draw: &mut Draw) -> Slots {
    match draw.below(20) {
        0..8 => vec![arithmetic(draw)],
        8..14 => vec![access(draw)],
        14 | 15 => vec![conversion(draw)],
        16 => constant(draw),
        17 => call_out(draw),
        18 => {
            let arguments = [slot(0xbf, 1, 6, 0, 0), slot(0xbf, 3, 7, 0, 0)];
            let given = if draw.below(3) == 0 { 0 } else { 2 };
            [&arguments[..given], &[slot(0x85, 0, 1, 0, draw.below(4) as i32)]].concat()
        }
        _ => vec![atomic(draw)],
    }
}

/// A register that may be written: one of those with pointers rarely.
fn target(draw: &mut Draw) -> u8 {
    if draw.below(12) == 0 { draw.below(10) as u8 } else { draw.one_of(&[0, 1, 2, 3, 4, 5, 8, 9]) }
}

fn arithmetic(draw: &mut Draw) -> [u8; 8] {
    let kind = draw.one_of(&[0x00, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0x90, 0xa0, 0xb0, 0xc0]);
    let off = if matches!(kind, 0x30 | 0x90) { draw.below(2) as i16 } else { 0 };
    let (class, dst) = (draw.one_of(&[4, 7]), target(draw));
    if draw.below(2) == 0 {
        slot(kind | 8 | class, dst, draw.below(11) as u8, off, 0)
    } else {
        slot(kind | class, dst, 0, off, draw.number())
    }
}

fn conversion(draw: &mut Draw) -> [u8; 8] {
    let (dst, src) = (target(draw), draw.below(11) as u8);
    let width = draw.one_of(&[16, 32, 64]);
    match draw.below(8) {
        0 => slot(0x87, dst, 0, 0, 0),
        1 => slot(0x84, dst, 0, 0, 0),
        2 => slot(0xbf, dst, src, draw.one_of(&[8, 16, 32]), 0),
        3 => slot(0xbc, dst, src, draw.one_of(&[8, 16]), 0),
        4 => slot(0xd4, dst, 0, 0, width),
        5 => slot(0xdc, dst, 0, 0, width),
        6 => slot(0xd7, dst, 0, 0, width),
        _ => slot(0xbf, dst, src, 1, draw.one_of(&[1, 0x10000])),
    }
}

/// A base and an offset that are often, but not always, those of something.
fn place(draw: &mut Draw) -> (u8, i16) {
    match draw.below(10) {
        0..4 => (6, draw.below(72) as i16 - 4),
        4..7 => (10, -(draw.below(530) as i16)),
        7 => (7, draw.below(24) as i16),
        8 => (0, draw.below(8) as i16),
        _ => (draw.below(11) as u8, draw.below(16) as i16),
    }
}

fn access(draw: &mut Draw) -> [u8; 8] {
    let (base, off) = place(draw);
    // Aligned often: other accesses are rare in programs, and take another way.
    let off = if draw.below(2) == 0 { off & !7 } else { off };
    let size = draw.one_of(&[0x00, 0x08, 0x10, 0x18]);
    match draw.below(5) {
        0 | 1 => slot(0x61 | size, target(draw), base, off, 0),
        2 => slot(0x81 | if size == 0x18 { 0 } else { size }, target(draw), base, off, 0),
        3 => slot(0x63 | size, base, draw.below(11) as u8, off, 0),
        _ => slot(0x62 | size, base, 0, off, draw.number()),
    }
}

fn atomic(draw: &mut Draw) -> [u8; 8] {
    let (base, off) = place(draw);
    let kind = draw.one_of(&[0, 1, 0x40, 0x41, 0x50, 0x51, 0xa0, 0xa1, 0xe1, 0xf1, 0x100, 0x110]);
    slot(draw.one_of(&[0xc3, 0xdb]), if kind == 0x100 { base.min(9) } else { base }, target(draw), off & !3, kind)
}

fn constant(draw: &mut Draw) -> Slots {
    let dst = target(draw);
    let value = match draw.below(6) {
        0 => return vec![slot(0x18, dst, 4, 0, draw.below(4) as i32), slot(0, 0, 0, 0, 0)],
        1 => FIRST + draw.below(MEMORY + 8),
        2 => SECOND + draw.below(READABLE + 8),
        3 => draw.below(1 << 14),
        4 => FIRST + draw.below(1 << 12),
        _ => draw.wide(),
    };
    vec![slot(0x18, dst, 0, 0, value as i32), slot(0, 0, 0, 0, (value >> 32) as i32)]
}

/// A call of a helper; those that call back get the address of a function.
fn call_out(draw: &mut Draw) -> Slots {
    let id = if draw.below(6) == 0 { 7 } else { draw.below(HELPERS) as i32 };
    let register = match id {
        1 => 1,
        2 => 2,
        10 => return vec![slot(0xbf, 1, 10, 0, 0), slot(0x07, 1, 0, 0, -16), slot(0x85, 0, 0, 0, id)],
        // To the stack, from anywhere.
        11 => {
            let (to, size) = (slot(0x07, 1, 0, 0, -16), slot(0xb7, 2, 0, 0, draw.below(17) as i32));
            return vec![slot(0xbf, 1, 10, 0, 0), to, size, slot(0x85, 0, 0, 0, id)];
        }
        13 => return storage_get(draw),
        _ => return vec![slot(0x85, 0, 0, 0, id)],
    };
    let function = [slot(0x18, register, 4, 0, draw.below(4) as i32), slot(0, 0, 0, 0, 0)];
    [&function[..], &[slot(0x85, 0, 0, 0, id)]].concat()
}

/// `bpf_task_storage_get` for one of a few owners, which are numbers here, from the bytes that r6 points to or from nothing.
fn storage_get(draw: &mut Draw) -> Slots {
    let [low, high] = [STORAGE as i32, (STORAGE >> 32) as i32];
    let map = [slot(0x18, 1, 0, 0, low), slot(0, 0, 0, 0, high)];
    let value = if draw.below(2) == 0 { slot(0xb7, 3, 0, 0, 0) } else { slot(0xbf, 3, 6, 0, 0) };
    let rest = [slot(0xb7, 2, 0, 0, draw.below(40) as i32), value, slot(0xb7, 4, 0, 0, draw.below(2) as i32)];
    [&map[..], &rest, &[slot(0x85, 0, 0, 0, 13)]].concat()
}
