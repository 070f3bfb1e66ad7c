// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs decoded instructions.

use crate::fault::{AccessError, Fault, FaultKind, Location};
use crate::host::{Args, Builtin, Host};
use crate::insn::decode::{DecodeError, Decoder, Resolved};
use crate::insn::{Insn, Op, with_operations};
use crate::instance::{Instance, MAX_ARGUMENTS};
use crate::memory::{Memory, Protection};
use crate::ops::{Atomic, Conversion, Word};

/// Addresses of functions that programs hold are from here on, 8 for each: outside the arena, so that no load reads them.
pub const CODE_BASE: u64 = 0xffff_ffff_c000_0000;

/// The address of a function, by its number, that programs hold (for callbacks).
pub fn code_address(function: usize) -> u64 {
    CODE_BASE.wrapping_add(8 * function as u64)
}

/// Bytes of stack of a call frame (`MAX_BPF_STACK`).
pub const STACK_SIZE: u64 = 512;
/// Call frames of a program, its callbacks included (`MAX_CALL_FRAMES`).
pub const MAX_CALL_FRAMES: usize = 8;
/// Call frames of all programs that run one inside the other. The kernel has a stack to fill; this number keeps the
/// host's own stack from filling.
const MAX_NESTED_FRAMES: usize = 32;
/// Iterations of a frame's `may_goto` loops (`BPF_MAX_LOOPS`).
const MAX_LOOPS: u32 = 8 * 1024 * 1024;

/// Decoded instructions of all functions of an instance, and where each function and source line begins.
#[derive(Debug, Default)]
pub struct Code {
    insns: Vec<Insn>,
    /// Each instruction's number in its function's encoding.
    slots: Vec<u32>,
    functions: Vec<CodeFunction>,
    builtins: Vec<Builtin>,
    /// Reasons of poisoned instructions.
    reasons: Vec<String>,
}

#[derive(Debug)]
struct CodeFunction {
    name: String,
    /// Its first instruction's number in [`Code`].
    start: usize,
    lines: Vec<Location>,
}

impl Code {
    /// Number of the function with this name.
    pub fn function(&self, name: &str) -> Option<usize> {
        self.functions.iter().position(|function| function.name == name)
    }

    /// Name of a function.
    pub fn function_name(&self, function: usize) -> Option<&str> {
        Some(&self.functions.get(function)?.name)
    }

    /// Number of the function whose address programs hold.
    pub fn function_at(&self, code_address: u64) -> Option<usize> {
        let offset = code_address.checked_sub(CODE_BASE).filter(|offset| offset % 8 == 0)?;
        usize::try_from(offset / 8).ok().filter(|function| *function < self.functions.len())
    }

    /// The place of an instruction, with the last source line that begins at or before it.
    fn location(&self, pc: usize) -> Location {
        let Some(function) = self.functions.partition_point(|function| function.start <= pc).checked_sub(1) else {
            return Location::default();
        };
        let function = &self.functions[function];
        let insn = self.slots.get(pc).map_or(0, |slot| *slot as usize);
        let line = function.lines.partition_point(|line| line.insn <= insn).checked_sub(1);
        let line = line.map(|line| function.lines[line].clone()).unwrap_or_default();
        Location { function: function.name.clone(), insn, ..line }
    }
}

/// Decodes the functions of an instance, one after the other. A function's number is its turn, from 0.
pub struct CodeBuilder<'b> {
    code: Code,
    helpers: &'b dyn Fn(i32) -> Option<Builtin>,
}

impl<'b> CodeBuilder<'b> {
    /// Begins with no function; `helpers` finds a BPF helper by its number.
    pub fn new(helpers: &'b dyn Fn(i32) -> Option<Builtin>) -> Self {
        Self { code: Code::default(), helpers }
    }

    /// Adds a function: its encoding with field relocations already applied, its source lines in ascending order (of each
    /// [`Location`] the function's name is not used), and what the instruction at a slot refers to. Functions may refer to
    /// later ones. Its number.
    ///
    /// # Errors
    /// [`DecodeError`] for what no single instruction can be blamed for.
    pub fn push_function(
        &mut self,
        name: &str,
        encoding: &[u8],
        lines: Vec<Location>,
        resolve: &dyn Fn(usize) -> Option<Resolved>,
    ) -> Result<usize, DecodeError> {
        let Code { insns, slots, functions, builtins, reasons } = &mut self.code;
        let decoder = Decoder { function: name, helpers: self.helpers, resolve, builtins, reasons };
        let decoded = decoder.decode(encoding)?;
        functions.push(CodeFunction { name: name.to_owned(), start: insns.len(), lines });
        insns.extend(decoded.insns);
        slots.extend(decoded.slots);
        Ok(functions.len() - 1)
    }

    /// The code, calls between its functions joined.
    ///
    /// # Errors
    /// [`DecodeError::Callee`] if a function was referred to and never added.
    pub fn finish(mut self) -> Result<Code, DecodeError> {
        let Code { insns, functions, .. } = &mut self.code;
        for insn in insns.iter_mut().filter(|insn| insn.op == Op::Call) {
            let callee = insn.imm as usize;
            insn.imm = functions.get(callee).ok_or(DecodeError::Callee(callee))?.start as u64;
        }
        Ok(self.code)
    }
}

/// Where a running instance is: call frames, its stack, the budget left.
#[derive(Debug, Default)]
pub struct Execution {
    /// Instructions that the outermost program may execute, with everything that runs inside it.
    budget: u64,
    /// Instructions it has executed; kept up to date when the loop calls out.
    executed: u64,
    /// Innermost last.
    frames: Vec<Frame>,
    /// Stacks of the frames, by depth; made when first needed and kept.
    stacks: Vec<u64>,
    /// Frames of programs that wait for a nested one.
    outer_frames: usize,
    /// Arrays of arguments, by the depth of the program that gets them; likewise kept.
    arguments: Vec<u64>,
}

/// A call frame.
#[derive(Debug)]
struct Frame {
    /// Number of the instruction that is under way, up to date when the loop calls out.
    pc: usize,
    /// r6 to r9 while a function that it called runs.
    saved: [u64; 4],
    /// Iterations that its `may_goto` loops may still make.
    loops: u32,
}

/// What begins to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A program of its own.
    Program,
    /// A function that a helper of the running program calls.
    Callback,
}

impl Execution {
    /// Nothing runs; a program may execute `budget` instructions.
    pub fn new(budget: u64) -> Self {
        Self { budget, ..Self::default() }
    }

    /// Instructions that the outermost program has executed so far, or did when it last ran.
    pub fn executed(&self) -> u64 {
        self.executed
    }

    /// Where it is, innermost first.
    pub(crate) fn backtrace(&self, code: &Code) -> Vec<Location> {
        self.frames.iter().rev().map(|frame| code.location(frame.pc)).collect()
    }

    /// Writes the arguments of a program that is about to run to memory; their address. What is behind them reads as 0: a
    /// verifier would have refused a program that reads it.
    pub(crate) fn arguments(&mut self, memory: &mut Memory, args: &[u64]) -> Result<u64, FaultKind> {
        let depth = self.frames.len();
        while self.arguments.len() <= depth {
            self.arguments.push(memory.alloc(8 * MAX_ARGUMENTS as u64, Protection::ReadOnly)?);
        }
        let array = self.arguments[depth];
        for number in 0..MAX_ARGUMENTS {
            let value = args.get(number).copied().unwrap_or(0);
            memory.host_store::<8>(array + 8 * number as u64, value)?;
        }
        Ok(array)
    }

    /// How many programs and callbacks are under way at most: the number of call frames.
    pub(crate) fn depth(&self) -> usize {
        self.frames.len()
    }

    /// Adds a frame; the address behind its stack, for r10.
    fn push(&mut self, memory: &mut Memory, pc: usize) -> Result<u64, FaultKind> {
        let depth = self.frames.len();
        if depth - self.outer_frames >= MAX_CALL_FRAMES {
            return Err(FaultKind::CallDepth(MAX_CALL_FRAMES));
        }
        if depth >= MAX_NESTED_FRAMES {
            return Err(FaultKind::CallDepth(MAX_NESTED_FRAMES));
        }
        if depth == self.stacks.len() {
            // Each is an object of the arena, so running over its end is a fault.
            self.stacks.push(memory.alloc(STACK_SIZE, Protection::ReadWrite)?);
        }
        self.frames.push(Frame { pc, saved: [0; 4], loops: MAX_LOOPS });
        Ok(self.stacks[depth] + STACK_SIZE)
    }

    /// A function calls another: keeps what the caller needs afterwards.
    #[inline(never)]
    fn enter(&mut self, memory: &mut Memory, regs: &mut Registers, pc: usize) -> Result<(), FaultKind> {
        self.note(pc);
        if let Some(caller) = self.frames.last_mut() {
            caller.saved.copy_from_slice(&regs[6..10]);
        }
        regs[10] = self.push(memory, pc)?;
        Ok(())
    }

    /// A function returns: the instruction after the call, or `None` if it is the one that `run` began with.
    #[inline(never)]
    fn leave(&mut self, depth: usize, regs: &mut Registers) -> Option<usize> {
        if self.frames.len() <= depth {
            return None;
        }
        self.frames.pop();
        let caller = self.frames.last()?;
        regs[6..10].copy_from_slice(&caller.saved);
        regs[10] = self.stacks[self.frames.len() - 1] + STACK_SIZE;
        Some(caller.pc + 1)
    }

    /// Keeps the instruction that is under way, for backtraces.
    fn note(&mut self, pc: usize) {
        if let Some(frame) = self.frames.last_mut() {
            frame.pc = pc;
        }
    }

    /// Whether `may_goto` must end its loop.
    fn loops_are_over(&mut self) -> bool {
        let Some(frame) = self.frames.last_mut() else { return true };
        let over = frame.loops == 0;
        frame.loops = frame.loops.saturating_sub(1);
        over
    }
}

/// r0 to r10, and as many unused ones as save the bounds checks.
type Registers = [u64; 16];

/// Runs a function to its end; r0.
pub(crate) fn execute(
    vm: &mut Instance,
    host: &mut dyn Host,
    function: usize,
    args: Args,
    entry: Entry,
) -> Result<u64, Fault> {
    let code = std::sync::Arc::clone(&vm.code);
    let Some(start) = code.functions.get(function).map(|function| function.start) else {
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

/// Changes memory; the register that gets the old value gets it.
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
        // Counts nothing when the instruction pointer moves, and every loop and recursion passes here.
        macro_rules! go {
            ($target:expr) => {{
                let target: usize = $target;
                $count = $count.wrapping_add($pc as u64).wrapping_sub(target as u64);
                $pc = target;
                if $count.wrapping_add($pc as u64) > $limit {
                    break FaultKind::Budget($limit).into();
                }
            }}
        }
        macro_rules! load {
            ($n:literal) => { attempt!($vm.memory.load::<$n>(src!().wrapping_add($insn.off as u64))) }
        }
        macro_rules! store {
            ($n:literal, $value:expr) => {
                attempt!($vm.memory.store::<$n>(dst!().wrapping_add($insn.off as u64), $value))
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
            Op::AddrSpaceCast => dst!() = src!(),
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
            Op::Atomic32(by) => attempt!(atomic::<4>(&mut $vm.memory, &mut $regs, $insn, by)),
            Op::Atomic64(by) => attempt!(atomic::<8>(&mut $vm.memory, &mut $regs, $insn, by)),
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
            Op::Exit => match $vm.execution.leave($depth, &mut $regs) {
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

/// Runs from an instruction on until the frame that is now the innermost returns; r0.
fn run_loop(
    vm: &mut Instance,
    host: &mut dyn Host,
    code: &Code,
    mut pc: usize,
    mut regs: Registers,
) -> Result<u64, Fault> {
    let limit = vm.execution.budget;
    let depth = vm.execution.frames.len();
    // Instructions executed are `count + pc`: straight code counts itself, and a jump takes its distance out of `count`.
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
