// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions per second of the interpreter and of compiled code: criterion's "elements" are instructions.

#[path = "../tests/assembler/mod.rs"]
mod assembler;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tandem_bpf_vm::compile::{CodeCache, Limits, When};
use tandem_bpf_vm::fault::{Fault, FaultKind};
use tandem_bpf_vm::host::{Args, Host};
use tandem_bpf_vm::instance::Instance;
use tandem_bpf_vm::memory::Protection;

struct NoHost;

impl Host for NoHost {
    fn kfunc(&mut self, _: &mut Instance, kfunc: u32, _: Args) -> Result<u64, Fault> {
        Err(FaultKind::Misuse(format!("no kernel function {kfunc}")).into())
    }
}

/// A linear congruential generator and a hash: nothing but arithmetic and one jump in eight.
const ARITHMETIC: &str = "
    mov %r0, 1
    mov %r1, 0
    mov %r2, 50000
loop:
    mul %r0, 1103515245
    add %r0, 12345
    mov %r3, %r0
    rsh %r3, 7
    xor32 %r1, %r3
    lsh32 %r1, 1
    sub %r2, 1
    jne %r2, 0, loop
    mov %r0, %r1
    exit";

/// Fills half of the memory with words, copies it to the other half, and adds up the copy's bytes.
const MEMORY: &str = "
    mov %r6, %r1
    mov %r7, 0
fill:
    mov %r3, %r6
    add %r3, %r7
    stxdw [%r3+0], %r7
    add %r7, 8
    jlt %r7, 16384, fill
    mov %r7, 0
copy:
    mov %r3, %r6
    add %r3, %r7
    ldxdw %r4, [%r3+0]
    stxdw [%r3+16384], %r4
    add %r7, 8
    jlt %r7, 16384, copy
    mov %r0, 0
    mov %r7, 16384
sum:
    mov %r3, %r6
    add %r3, %r7
    ldxb %r4, [%r3+0]
    add %r0, %r4
    add %r7, 1
    jlt %r7, 32768, sum
    exit";

/// The primes below 30,000 by Eratosthenes' sieve, one byte a number: memory and branches.
const SIEVE: &str = "
    mov %r6, %r1
    mov %r2, 0
clear:
    mov %r3, %r6
    add %r3, %r2
    stb [%r3], 0
    add %r2, 1
    jlt %r2, 30000, clear
    mov %r0, 0
    mov %r2, 2
next:
    mov %r3, %r6
    add %r3, %r2
    ldxb %r4, [%r3]
    jne %r4, 0, composite
    add %r0, 1
    mov %r5, %r2
    add %r5, %r2
mark:
    jge %r5, 30000, composite
    mov %r3, %r6
    add %r3, %r5
    stb [%r3], 1
    add %r5, %r2
    ja mark
composite:
    add %r2, 1
    jlt %r2, 30000, next
    exit";

/// Sorts 200 falling numbers by bubble sort: loads, stores, and a comparison of data.
const SORT: &str = "
    mov %r6, %r1
    mov %r2, 0
fill:
    mov %r3, 200
    sub %r3, %r2
    mov %r4, %r2
    lsh %r4, 2
    add %r4, %r6
    stxw [%r4], %r3
    add %r2, 1
    jlt %r2, 200, fill
    mov %r2, 199
pass:
    mov %r3, 0
    mov %r4, %r6
inner:
    ldxw %r5, [%r4]
    ldxw %r0, [%r4+4]
    jle %r5, %r0, ordered
    stxw [%r4], %r0
    stxw [%r4+4], %r5
ordered:
    add %r4, 4
    add %r3, 1
    jlt %r3, %r2, inner
    sub %r2, 1
    jne %r2, 0, pass
    ldxw %r0, [%r6]
    exit";

/// Calls a function of seven instructions that uses its stack: one call in six instructions of the loop.
const CALLS: &str = "
    mov %r6, 20000
    mov %r7, 0
loop:
    mov %r1, %r6
    mov %r2, %r7
    call local mix
    mov %r7, %r0
    sub %r6, 1
    jne %r6, 0, loop
    mov %r0, %r7
    exit
mix:
    mov %r6, %r1
    stxdw [%r10-8], %r2
    add %r6, 17
    ldxdw %r0, [%r10-8]
    xor %r0, %r6
    mul32 %r0, 31
    exit";

fn engines(criterion: &mut Criterion) {
    let cache = CodeCache::default();
    for engine in ["interpreter", "compiled"] {
        let mut group = criterion.benchmark_group(engine);
        for (name, text) in
            [("arithmetic", ARITHMETIC), ("memory", MEMORY), ("sieve", SIEVE), ("sort", SORT), ("calls", CALLS)]
        {
            let code = assembler::assemble(text).expect("the program is right");
            let mut vm = Instance::from_instructions(&code, &|_| None, u64::MAX).expect("the program decodes");
            if engine == "compiled" {
                vm.compile(&cache, When::Entered).expect("the program compiles");
            }
            let memory = vm.memory.alloc(32768, Protection::ReadWrite).expect("there is room");
            let main = vm.program("main").expect("it is the first function");
            let args = [memory, 32768, 0, 0, 0];
            let outcome = vm.run_raw(main, args, &mut NoHost).expect("the program ends");
            group.throughput(Throughput::Elements(outcome.instructions));
            group.bench_function(name, |bencher| {
                bencher.iter(|| vm.run_raw(main, black_box(args), &mut NoHost));
            });
        }
        group.finish();
    }
}

/// A function of so many instructions, every fourth of which may jump: what compiles worst.
fn branchy(instructions: usize) -> Vec<u8> {
    let round = |number: usize| {
        let (bit, register) = (number % 31, 2 + number % 4);
        format!("mov %r{register}, %r1\nrsh %r{register}, {bit}\njset %r{register}, 1, +1\nadd %r0, %r{register}\n")
    };
    let text: String = (0..instructions / 4).map(round).collect();
    assembler::assemble(&format!("mov %r0, 0\n{text}exit")).expect("the program is right")
}

/// How long functions take to compile, an instruction.
fn compiling(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("compiling");
    group.sample_size(10);
    for instructions in [1 << 10, 1 << 12, 1 << 14, 1 << 15] {
        let code = branchy(instructions);
        let vm = || Instance::from_instructions(&code, &|_| None, u64::MAX).expect("the program decodes");
        group.throughput(Throughput::Elements(instructions as u64));
        group.bench_function(instructions.to_string(), |bencher| {
            bencher.iter(|| {
                let limits = Limits { function: usize::MAX, all: usize::MAX };
                let mut vm = vm();
                vm.compile(&CodeCache::with_limits(limits), When::Entered).expect("there is a compiler");
                vm.compile_all().expect("the program compiles");
            });
        });
    }
    group.finish();
}

criterion_group!(benches, engines, compiling);
criterion_main!(benches);
