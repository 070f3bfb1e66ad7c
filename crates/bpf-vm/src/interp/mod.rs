// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs decoded instructions.

mod code;
mod execution;

use crate::fault::{AccessError, AccessKind, Fault, FaultKind};
use crate::host::{Args, Host};
use crate::insn::{Insn, Op, with_operations};
use crate::instance::Instance;
use crate::memory::Memory;
use crate::ops::{Atomic, Conversion, Word};

pub use code::{CODE_BASE, Code, CodeBuilder, code_address};
pub use execution::{Execution, MAX_CALL_FRAMES, STACK_SIZE, Trace};

/// What begins to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A program of its own.
    Program,
    /// A function that a helper of the running program calls.
    Callback,
}

/// The registers r0 to r10, and unused ones up to 16, which saves the bounds checks.
type Registers = [u64; 16];

/// Runs a function to its end; returns r0.
pub(crate) fn execute(
    vm: &mut Instance,
    host: &mut dyn Host,
    function: usize,
    args: Args,
    entry: Entry,
) -> Result<u64, Fault> {
    let code = std::sync::Arc::clone(&vm.code);
    let Some(start) = code.start(function) else {
        return Err(FaultKind::BadJump(code_address(function)).into());
    };
    let execution = &mut vm.execution;
    let (depth, outer_frames) = (execution.frames.len(), execution.outer_frames);
    if depth == 0 {
        execution.executed = 0;
    }
    if entry == Entry::Program {
        execution.outer_frames = depth;
    }
    let result = match execution.push(&mut vm.memory, start) {
        Ok(frame_pointer) => {
            let mut regs = [0; 16];
            regs[1..6].copy_from_slice(&args);
            regs[10] = frame_pointer;
            run_loop(vm, host, &code, start, regs)
        }
        Err(kind) => Err(kind.into()),
    };
    let result = result.map_err(|fault| fault.located(|| vm.execution.backtrace(&code)));
    vm.execution.frames.truncate(depth);
    vm.execution.outer_frames = outer_frames;
    result
}

/// Changes memory atomically; where the instruction fetches, its register gets the old value.
fn atomic<const N: usize>(
    memory: &mut Memory,
    regs: &mut Registers,
    insn: Insn,
    by: Atomic,
) -> Result<(), AccessError> {
    let mask = u64::MAX >> (64 - 8 * N as u32);
    let (dst, src) = (usize::from(insn.dst & 15), usize::from(insn.src & 15));
    let address = regs[dst].wrapping_add(insn.off as u64);
    let old = memory.load::<N>(address)?;
    memory.store::<N>(address, by.apply(old, regs[src], regs[0] & mask))?;
    match by {
        Atomic::CompareExchange => regs[0] = old,
        _ if insn.imm != 0 => regs[src] = old,
        _ => {}
    }
    Ok(())
}

/// Decides on an access that memory refused: one to a page that the BPF arena does not have is counted and the program
/// goes on; any other is a fault, which ends the program.
#[cold]
#[inline(never)]
fn no_page(vm: &mut Instance, code: &Code, pc: usize, error: AccessError) -> Result<(), Fault> {
    if error.kind != AccessKind::NoPage {
        return Err(error.into());
    }
    vm.execution.note(pc);
    vm.missing_pages += 1;
    if vm.missing_page.is_none() {
        vm.missing_page = Some(Fault::from(error).located(|| vm.execution.backtrace(code)));
    }
    Ok(())
}

/// Calls a helper or kernel function: r0 is its result.
#[inline(never)]
fn call_out(vm: &mut Instance, host: &mut dyn Host, code: &Code, insn: Insn, regs: &Registers) -> Result<u64, Fault> {
    let args = [regs[1], regs[2], regs[3], regs[4], regs[5]];
    if insn.op == Op::CallHost {
        return host.kfunc(vm, insn.imm as u32, args);
    }
    match code.builtins.get(insn.imm as usize) {
        Some(builtin) => builtin(vm, host, args),
        None => Err(FaultKind::BadJump(insn.imm).into()),
    }
}

#[cold]
#[inline(never)]
fn poisoned(code: &Code, insn: Insn) -> Fault {
    FaultKind::Poisoned(code.reasons.get(insn.imm as usize).cloned().unwrap_or_default()).into()
}

/// What each instruction does, as the one `match` of [`run_loop`]: the operands are its local variables, and `break` ends
/// it with a fault.
macro_rules! step {
    (
        ($vm:ident $host:ident $code:ident $insn:ident $regs:ident $pc:ident $count:ident $limit:ident $depth:ident)
        alu { $($alu:ident $f:ident $ar:ident $ai:ident $aw:ident $ax:ident;)* }
        compare { $($cond:ident $g:ident $cr:ident $ci:ident $cw:ident $cx:ident;)* }
    ) => {{
        macro_rules! dst { () => { $regs[usize::from($insn.dst & 15)] } }
        macro_rules! src { () => { $regs[usize::from($insn.src & 15)] } }
        macro_rules! attempt {
            ($result:expr) => { match $result { Ok(value) => value, Err(error) => break Fault::from(error) } }
        }
        // Straight code needs no check: every loop and recursion passes here.
        macro_rules! go {
            ($target:expr) => {{
                let target: usize = $target;
                let executed = $count.wrapping_add($pc as u64);
                // Checked before the instruction pointer moves: the jump is the place of the fault.
                if executed > $limit {
                    break FaultKind::Budget($limit).into();
                }
                $count = executed.wrapping_sub(target as u64);
                $pc = target;
            }}
        }
        macro_rules! present {
            ($result:expr) => {
                match $result {
                    Ok(value) => value,
                    Err(error) => {
                        attempt!(no_page($vm, $code, $pc - 1, error));
                        Default::default()
                    }
                }
            }
        }
        macro_rules! load {
            ($n:literal) => { present!($vm.memory.load::<$n>(src!().wrapping_add($insn.off as u64))) }
        }
        macro_rules! store {
            ($n:literal, $value:expr) => {
                present!($vm.memory.store::<$n>(dst!().wrapping_add($insn.off as u64), $value))
            }
        }
        match $insn.op {
            $(
                Op::$ar => dst!() = dst!().$f(src!()),
                Op::$ai => dst!() = dst!().$f($insn.imm),
                Op::$aw => dst!() = u64::from((dst!() as u32).$f(src!() as u32)),
                Op::$ax => dst!() = u64::from((dst!() as u32).$f($insn.imm as u32)),
            )*
            $(
                Op::$cr => if dst!().$g(src!()) { go!($pc.wrapping_add_signed($insn.off as isize)) },
                Op::$ci => if dst!().$g($insn.imm) { go!($pc.wrapping_add_signed($insn.off as isize)) },
                Op::$cw => if (dst!() as u32).$g(src!() as u32) { go!($pc.wrapping_add_signed($insn.off as isize)) },
                Op::$cx => if (dst!() as u32).$g($insn.imm as u32) { go!($pc.wrapping_add_signed($insn.off as isize)) },
            )*
            Op::Convert(conversion) => dst!() = conversion.apply(src!()),
            Op::AddrSpaceCast => dst!() = $vm.memory.cast(src!(), $insn.imm != 1),
            Op::LoadImm => dst!() = $insn.imm,
            Op::Load8 => dst!() = load!(1),
            Op::Load16 => dst!() = load!(2),
            Op::Load32 => dst!() = load!(4),
            Op::Load64 => dst!() = load!(8),
            Op::LoadSigned8 => dst!() = Conversion::Sign8.apply(load!(1)),
            Op::LoadSigned16 => dst!() = Conversion::Sign16.apply(load!(2)),
            Op::LoadSigned32 => dst!() = Conversion::Sign32.apply(load!(4)),
            Op::Store8 => store!(1, src!()),
            Op::Store16 => store!(2, src!()),
            Op::Store32 => store!(4, src!()),
            Op::Store64 => store!(8, src!()),
            Op::StoreImm8 => store!(1, $insn.imm),
            Op::StoreImm16 => store!(2, $insn.imm),
            Op::StoreImm32 => store!(4, $insn.imm),
            Op::StoreImm64 => store!(8, $insn.imm),
            Op::Atomic32(by) => present!(atomic::<4>(&mut $vm.memory, &mut $regs, $insn, by)),
            Op::Atomic64(by) => present!(atomic::<8>(&mut $vm.memory, &mut $regs, $insn, by)),
            Op::Ja => go!($pc.wrapping_add_signed($insn.off as isize)),
            Op::MayGoto => if $vm.execution.loops_are_over() { go!($pc.wrapping_add_signed($insn.off as isize)) },
            Op::Call => {
                attempt!($vm.execution.enter(&mut $vm.memory, &mut $regs, $pc - 1));
                go!($insn.imm as usize);
            }
            Op::CallBuiltin | Op::CallHost => {
                $vm.execution.note($pc - 1);
                $vm.execution.executed = $count.wrapping_add($pc as u64);
                if $vm.execution.executed > $limit {
                    break FaultKind::Budget($limit).into();
                }
                $regs[0] = attempt!(call_out($vm, $host, $code, $insn, &$regs));
                $count = $vm.execution.executed.wrapping_sub($pc as u64);
            }
            Op::Exit => match $vm.execution.leave($depth, &mut $regs, $pc - 1) {
                Some(pc) => go!(pc),
                None => {
                    $vm.execution.executed = $count.wrapping_add($pc as u64);
                    if $vm.execution.executed <= $limit {
                        return Ok($regs[0]);
                    }
                    break FaultKind::Budget($limit).into();
                }
            },
            Op::Poison => break poisoned($code, $insn),
        }
    }};
}

/// Runs from an instruction on until the frame that is now the innermost returns; returns r0.
fn run_loop(
    vm: &mut Instance,
    host: &mut dyn Host,
    code: &Code,
    mut pc: usize,
    mut regs: Registers,
) -> Result<u64, Fault> {
    let limit = vm.execution.budget;
    let depth = vm.execution.frames.len();
    // Instructions executed are `count + pc`: straight code counts by `pc` alone, and a jump subtracts its distance
    // from `count`.
    let mut count = vm.execution.executed.wrapping_sub(pc as u64);
    let fault = loop {
        let Some(&insn) = code.insns.get(pc) else {
            break FaultKind::BadJump(pc as u64).into();
        };
        pc += 1;
        with_operations!(step(vm host code insn regs pc count limit depth));
    };
    vm.execution.executed = count.wrapping_add(pc as u64);
    vm.execution.note(pc.saturating_sub(1));
    Err(fault)
}
