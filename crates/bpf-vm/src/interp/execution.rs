// SPDX-License-Identifier: MIT OR Apache-2.0
//! Call frames, the stack, and what a running program may still do.

use super::{Code, Registers};
use crate::fault::{FaultKind, Location};
use crate::instance::MAX_ARGUMENTS;
use crate::memory::{Memory, Protection};

/// Bytes of stack of a call frame (`MAX_BPF_STACK`).
pub const STACK_SIZE: u64 = 512;
/// Call frames of a program, its callbacks included (`MAX_CALL_FRAMES`).
pub const MAX_CALL_FRAMES: usize = 8;
/// Most call frames of all programs that run one inside the other. The kernel would fill its stack; this limit keeps
/// the host's stack from filling.
const MAX_NESTED_FRAMES: usize = 32;
/// Iterations of a frame's `may_goto` loops (`BPF_MAX_LOOPS`).
const MAX_LOOPS: u32 = 8 * 1024 * 1024;

/// Where a running instance is: call frames, its stack, the budget left.
#[derive(Debug, Default)]
pub struct Execution {
    /// Instructions that the outermost program may execute, everything that runs inside it included.
    pub(super) budget: u64,
    /// Instructions executed so far; up to date whenever the loop calls out.
    pub(super) executed: u64,
    /// Call frames, the innermost last.
    pub(super) frames: Vec<Frame>,
    /// Stacks of the frames, by depth. A stack is made when first needed and kept with its contents: as in the kernel,
    /// a program that reads its stack before it writes there reads what an earlier program left.
    stacks: Vec<u64>,
    /// Number of frames of programs that wait for a nested program.
    pub(super) outer_frames: usize,
    /// Arrays of arguments, by the depth of the program that gets them; made when first needed and kept.
    arguments: Vec<Arguments>,
    /// The instruction with which a program last returned.
    exited: usize,
}

/// An array of arguments of a program.
#[derive(Debug, Clone, Copy)]
struct Arguments {
    address: u64,
    /// Number of arguments that the last program got; zeros stand behind them.
    used: usize,
}

/// A place in the programs, to be shown later: the instructions that are under way in all call frames, or in as many of
/// the innermost frames as a program has at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Trace {
    /// Numbers of the instructions under way, innermost first.
    instructions: [u32; MAX_CALL_FRAMES],
    len: u8,
}

/// A call frame.
#[derive(Debug)]
pub(super) struct Frame {
    /// Number of the instruction that is under way; up to date whenever the loop calls out.
    pc: usize,
    /// Values of r6 to r9 while a callee of the function runs.
    saved: [u64; 4],
    /// Iterations that `may_goto` loops of the frame may still make.
    loops: u32,
}

impl Trace {
    /// Numbers of the instructions, innermost first.
    pub(crate) fn instructions(&self) -> impl Iterator<Item = usize> + '_ {
        self.instructions.iter().take(usize::from(self.len)).map(|place| *place as usize)
    }
}

impl Execution {
    /// State in which no program runs and a program may execute `budget` instructions.
    pub fn new(budget: u64) -> Self {
        Self { budget, ..Self::default() }
    }

    /// Instructions that the outermost program has executed so far, or did when it last ran.
    pub fn executed(&self) -> u64 {
        self.executed
    }

    /// Where the execution is, innermost call first.
    pub(crate) fn backtrace(&self, code: &Code) -> Vec<Location> {
        self.frames.iter().rev().map(|frame| code.location(frame.pc)).collect()
    }

    /// The same place as [`Execution::backtrace`], without names.
    pub(crate) fn trace(&self) -> Trace {
        let mut trace = Trace::default();
        for (place, frame) in trace.instructions.iter_mut().zip(self.frames.iter().rev()) {
            *place = frame.pc as u32;
            trace.len += 1;
        }
        trace
    }

    /// The instruction with which a program last returned.
    pub(crate) fn exit_trace(&self) -> Trace {
        let mut trace = Trace { len: 1, ..Trace::default() };
        trace.instructions[0] = self.exited as u32;
        trace
    }

    /// Writes the arguments of a program that is about to run to memory; returns their address. Memory behind the
    /// arguments reads as 0: a verifier would have refused a program that reads it.
    pub(crate) fn arguments(&mut self, memory: &mut Memory, args: &[u64]) -> Result<u64, FaultKind> {
        let depth = self.frames.len();
        while self.arguments.len() <= depth {
            let address = memory.alloc(8 * MAX_ARGUMENTS as u64, Protection::ReadOnly)?;
            self.arguments.push(Arguments { address, used: 0 });
        }
        let array = &mut self.arguments[depth];
        for number in 0..array.used.max(args.len()) {
            let value = args.get(number).copied().unwrap_or(0);
            memory.host_store::<8>(array.address + 8 * number as u64, value)?;
        }
        array.used = args.len();
        Ok(array.address)
    }

    /// Number of call frames: at most so many programs and callbacks are under way.
    pub(crate) fn depth(&self) -> usize {
        self.frames.len()
    }

    /// Adds a frame; returns the address behind its stack, for r10.
    pub(super) fn push(&mut self, memory: &mut Memory, pc: usize) -> Result<u64, FaultKind> {
        let depth = self.frames.len();
        if depth - self.outer_frames >= MAX_CALL_FRAMES {
            return Err(FaultKind::CallDepth(MAX_CALL_FRAMES));
        }
        if depth >= MAX_NESTED_FRAMES {
            return Err(FaultKind::CallDepth(MAX_NESTED_FRAMES));
        }
        if depth == self.stacks.len() {
            // Each stack is an object of the arena, so an access beyond its end is a fault.
            self.stacks.push(memory.alloc(STACK_SIZE, Protection::ReadWrite)?);
        }
        self.frames.push(Frame { pc, saved: [0; 4], loops: MAX_LOOPS });
        Ok(self.stacks[depth] + STACK_SIZE)
    }

    /// A function calls another: keeps what the caller needs afterwards.
    #[inline(never)]
    pub(super) fn enter(&mut self, memory: &mut Memory, regs: &mut Registers, pc: usize) -> Result<(), FaultKind> {
        self.note(pc);
        if let Some(caller) = self.frames.last_mut() {
            caller.saved.copy_from_slice(&regs[6..10]);
        }
        regs[10] = self.push(memory, pc)?;
        Ok(())
    }

    /// Returns from a function by the instruction `pc`: gives the instruction after the call, or `None` if `run` began
    /// with this function.
    #[inline(never)]
    pub(super) fn leave(&mut self, depth: usize, regs: &mut Registers, pc: usize) -> Option<usize> {
        if self.frames.len() <= depth {
            self.exited = pc;
            return None;
        }
        self.frames.pop();
        let caller = self.frames.last()?;
        regs[6..10].copy_from_slice(&caller.saved);
        regs[10] = self.stacks[self.frames.len() - 1] + STACK_SIZE;
        Some(caller.pc + 1)
    }

    /// Keeps the instruction that is under way, for backtraces.
    pub(super) fn note(&mut self, pc: usize) {
        if let Some(frame) = self.frames.last_mut() {
            frame.pc = pc;
        }
    }

    /// Whether `may_goto` must end its loop.
    pub(super) fn loops_are_over(&mut self) -> bool {
        let Some(frame) = self.frames.last_mut() else { return true };
        let over = frame.loops == 0;
        frame.loops = frame.loops.saturating_sub(1);
        over
    }
}
