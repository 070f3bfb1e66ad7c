// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs decoded instructions, and what engines share: call frames, and the instructions that are rare.

mod code;
mod execution;

use std::sync::Arc;

use crate::compile::{self, Compiled};
use crate::fault::{AccessError, AccessKind, Fault, FaultKind};
use crate::host::{Args, Host};
use crate::insn::{Insn, Op, with_operations};
use crate::instance::Instance;
use crate::memory::Memory;
use crate::ops::{Atomic, Conversion, Word};

pub use code::{CODE_BASE, Code, CodeBuilder, code_address};
pub use execution::{Execution, MAX_CALL_FRAMES, STACK_SIZE, Trace};
pub(crate) use execution::{Frame, MAX_LOOPS};

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
    let Some(start) = vm.code.start(function) else {
        return Err(FaultKind::BadJump(code_address(function)).into());
    };
    let (depth, outer_frames) = (vm.execution.depth, vm.execution.outer_frames);
    if depth == 0 {
        vm.execution.begin()?;
    }
    let held = Held::take(vm);
    if entry == Entry::Program {
        vm.execution.outer_frames = depth;
    }
    let result = held.run(vm, host, (function, start), args);
    let result = result.map_err(|fault| fault.located(|| vm.execution.backtrace(&held.code)));
    vm.execution.depth = depth;
    vm.execution.outer_frames = outer_frames;
    vm.execution.over_at_exit = false;
    held.put_back(vm);
    result
}

/// What runs, held while it does: a host may do with its instance what it likes meanwhile.
///
/// An instance keeps one for the program that it runs next, which takes it and puts it back: counting the holders of what
/// several instances share, at each run, would make their processors wait for each other.
#[derive(Debug)]
pub(crate) struct Held {
    code: Arc<Code>,
    compiled: Option<Arc<Compiled>>,
}

impl Held {
    fn take(vm: &mut Instance) -> Self {
        let anew = |vm: &Instance| Self {
            code: Arc::clone(&vm.code),
            compiled: vm.compiled.as_ref().map(|used| Arc::clone(used.compiled())),
        };
        vm.held.take().unwrap_or_else(|| anew(vm))
    }

    /// Keeps it for the next program, if that still is what the instance runs.
    fn put_back(self, vm: &mut Instance) {
        let same = match (&self.compiled, &vm.compiled) {
            (Some(own), Some(used)) => Arc::ptr_eq(own, used.compiled()),
            (None, None) => true,
            _ => false,
        };
        if same && Arc::ptr_eq(&self.code, &vm.code) {
            vm.held = Some(self);
        }
    }

    /// Runs a function, given its number and its first instruction.
    fn run(
        &self,
        vm: &mut Instance,
        host: &mut dyn Host,
        (function, start): (usize, usize),
        args: Args,
    ) -> Result<u64, Fault> {
        let frame_pointer = vm.execution.push(&mut vm.memory, start)?;
        if let (Some(compiled), Some(used)) = (&self.compiled, &vm.compiled)
            && used.has(function)
        {
            return compile::run(vm, host, &self.code, compiled, function, args);
        }
        let before = vm.execution.executed;
        let mut regs = [0; 16];
        regs[1..6].copy_from_slice(&args);
        regs[10] = frame_pointer;
        let result = match vm.execution.profile {
            None => run_loop::<false>(vm, host, &self.code, start, regs),
            Some(_) => run_loop::<true>(vm, host, &self.code, start, regs),
        };
        if let Some(used) = &mut vm.compiled {
            used.was_interpreted(function, vm.execution.executed.saturating_sub(before));
        }
        result
    }
}

/// Interprets the function that the instruction `pc` of compiled code calls, whose frame is the innermost one; returns r0. What is told of
/// a fault is the same as if its caller were interpreted.
pub(crate) fn interpret(
    vm: &mut Instance,
    host: &mut dyn Host,
    code: &Code,
    pc: usize,
    args: Args,
) -> Result<u64, Fault> {
    let depth = vm.execution.depth;
    let mut regs = [0; 16];
    regs[1..6].copy_from_slice(&args);
    regs[10] = vm.execution.frames[depth - 1].stack;
    vm.execution.over_at_exit = false;
    let result = run_loop::<false>(vm, host, code, code.insns[pc].imm as usize, regs);
    // A function that is not the first one is left before the budget is compared, and where it returned is not kept.
    if vm.execution.over_at_exit {
        vm.execution.leave_at(vm.execution.frames[depth - 1].pc as usize);
    }
    if result.is_ok() || vm.execution.over_at_exit {
        vm.execution.exited = vm.execution.exited_before;
    }
    vm.execution.over_at_exit = false;
    result
}

/// Changes memory atomically; returns the value from before.
fn change<const N: usize>(
    memory: &mut Memory,
    address: u64,
    by: Atomic,
    src: u64,
    r0: u64,
) -> Result<u64, AccessError> {
    let mask = u64::MAX >> (64 - 8 * N as u32);
    let old = memory.load::<N>(address)?;
    memory.store::<N>(address, by.apply(old, src, r0 & mask))?;
    Ok(old)
}

/// Changes memory atomically; where the instruction fetches, its register gets the old value.
fn atomic<const N: usize>(
    memory: &mut Memory,
    regs: &mut Registers,
    insn: Insn,
    by: Atomic,
) -> Result<(), AccessError> {
    let (dst, src) = (usize::from(insn.dst & 15), usize::from(insn.src & 15));
    let old = change::<N>(memory, regs[dst].wrapping_add(insn.off as u64), by, regs[src], regs[0])?;
    match fetched(insn, by) {
        Some(Fetched::R0) => regs[0] = old,
        Some(Fetched::Src) => regs[src] = old,
        None => {}
    }
    Ok(())
}

/// Where an atomic instruction puts the value from before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fetched {
    /// In r0.
    R0,
    /// In the source register.
    Src,
}

/// Where an atomic instruction puts the value from before, if anywhere.
pub(crate) fn fetched(insn: Insn, by: Atomic) -> Option<Fetched> {
    match by {
        Atomic::CompareExchange => Some(Fetched::R0),
        _ => (insn.imm != 0).then_some(Fetched::Src),
    }
}

/// The atomic instruction `pc` on these operands: what the register gets that the instruction fetches into, and what the register
/// keeps where the BPF arena has no page.
pub(crate) fn atomic_at(
    memory: &mut Memory,
    code: &Code,
    pc: usize,
    address: u64,
    src: u64,
    r0: u64,
) -> (Result<u64, AccessError>, u64) {
    let insn = code.insns[pc];
    match insn.op {
        Op::Atomic32(by) => (change::<4>(memory, address, by, src, r0), kept(insn, by, src, r0)),
        Op::Atomic64(by) => (change::<8>(memory, address, by, src, r0), kept(insn, by, src, r0)),
        _ => unreachable!("instruction {pc} is not atomic"),
    }
}

fn kept(insn: Insn, by: Atomic, src: u64, r0: u64) -> u64 {
    if fetched(insn, by) == Some(Fetched::R0) { r0 } else { src }
}

/// Decides on an access that memory refused: one to a page that the BPF arena does not have is counted and the program
/// goes on; any other is a fault, which ends the program.
#[cold]
#[inline(never)]
pub(crate) fn no_page(vm: &mut Instance, code: &Code, pc: usize, error: AccessError) -> Result<(), Fault> {
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

/// Calls the helper or kernel function of the instruction `pc` with r1 to r5; returns r0.
#[inline(never)]
pub(crate) fn call_out(
    vm: &mut Instance,
    host: &mut dyn Host,
    code: &Code,
    pc: usize,
    args: Args,
) -> Result<u64, Fault> {
    let insn = code.insns[pc];
    if insn.op == Op::CallHost {
        return host.kfunc(vm, insn.imm as u32, args);
    }
    call_builtin(vm, host, code, pc, args)
}

/// Calls the helper or kernel function of this crate that the instruction `pc` names.
#[inline]
pub(crate) fn call_builtin(
    vm: &mut Instance,
    host: &mut dyn Host,
    code: &Code,
    pc: usize,
    args: Args,
) -> Result<u64, Fault> {
    let number = code.insns[pc].imm;
    match code.builtins.get(number as usize) {
        Some(builtin) => builtin(vm, host, args),
        None => Err(FaultKind::BadJump(number).into()),
    }
}

/// The fault of the poisoned instruction `pc`.
#[cold]
#[inline(never)]
pub(crate) fn poisoned_at(code: &Code, pc: usize) -> Fault {
    let reason = code.reasons.get(code.insns[pc].imm as usize);
    FaultKind::Poisoned(reason.cloned().unwrap_or_default()).into()
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
            Op::CallBuiltin | Op::CallPlain | Op::CallHost => {
                $vm.execution.note($pc - 1);
                $vm.execution.executed = $count.wrapping_add($pc as u64);
                if $vm.execution.executed > $limit {
                    break FaultKind::Budget($limit).into();
                }
                let args = [$regs[1], $regs[2], $regs[3], $regs[4], $regs[5]];
                $regs[0] = attempt!(call_out($vm, $host, $code, $pc - 1, args));
                $count = $vm.execution.executed.wrapping_sub($pc as u64);
            }
            Op::Exit => match $vm.execution.leave($depth, &mut $regs, $pc - 1) {
                Some(pc) => go!(pc),
                None => {
                    $vm.execution.executed = $count.wrapping_add($pc as u64);
                    if $vm.execution.executed <= $limit {
                        return Ok($regs[0]);
                    }
                    $vm.execution.over_at_exit = true;
                    break FaultKind::Budget($limit).into();
                }
            },
            Op::Poison => break poisoned_at($code, $pc - 1),
        }
    }};
}

/// Runs from an instruction on until the frame that is now the innermost returns; returns r0. `PROFILES`: counts how often each
/// instruction is executed.
fn run_loop<const PROFILES: bool>(
    vm: &mut Instance,
    host: &mut dyn Host,
    code: &Code,
    mut pc: usize,
    mut regs: Registers,
) -> Result<u64, Fault> {
    let limit = vm.execution.budget;
    let depth = vm.execution.depth;
    // Instructions executed are `count + pc`: straight code counts by `pc` alone, and a jump subtracts its distance
    // from `count`.
    let mut count = vm.execution.executed.wrapping_sub(pc as u64);
    let fault = loop {
        let Some(&insn) = code.insns.get(pc) else {
            break FaultKind::BadJump(pc as u64).into();
        };
        if PROFILES && let Some(profile) = &mut vm.execution.profile {
            profile[pc] += 1;
        }
        pc += 1;
        with_operations!(step(vm host code insn regs pc count limit depth));
    };
    vm.execution.executed = count.wrapping_add(pc as u64);
    vm.execution.note(pc.saturating_sub(1));
    Err(fault)
}
