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
pub(crate) const MAX_LOOPS: u64 = 8 * 1024 * 1024;

/// Where a running instance is: call frames, its stack, the budget left.
#[derive(Debug, Default)]
pub struct Execution {
    /// Instructions that the outermost program may execute, everything that runs inside it included.
    pub(crate) budget: u64,
    /// Instructions executed so far; up to date whenever the loop calls out.
    pub(crate) executed: u64,
    /// Work that helpers did for the outermost program, beside instructions; [`Execution::spend`].
    work: u64,
    /// Instructions and work of the outermost programs before, and how much that may be, if that is limited.
    total: u64,
    pub(crate) most_in_total: Option<u64>,
    /// Call frames, of which the first [`depth`](Self::depth) are in use, the innermost last.
    pub(crate) frames: Box<[Frame; MAX_NESTED_FRAMES]>,
    /// Number of call frames in use: at most so many programs and callbacks are under way.
    pub(crate) depth: usize,
    /// Number of frames of programs that wait for a nested program.
    pub(crate) outer_frames: usize,
    /// Arrays of arguments, by the depth of the program that gets them; made when first needed and kept.
    arguments: Vec<Arguments>,
    /// The instruction with which a program last returned.
    pub(crate) exited: usize,
    /// What that was before the last one returned.
    pub(super) exited_before: usize,
    /// Whether the budget was used up where the function returned that a loop of the interpreter began with.
    pub(super) over_at_exit: bool,
    /// How often each instruction was executed, if somebody wants to know.
    pub(super) profile: Option<Box<[u64]>>,
    /// The highest address behind a frame's stack; 0 before there is one.
    pub(crate) stacks_end: u64,
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

/// A call frame. Compiled code reads and writes all but `saved`, where it stands here.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Frame {
    /// Number of the instruction that is under way; up to date whenever the loop calls out.
    pub pc: u64,
    /// Address behind the frame's stack, or 0. A stack is made when first needed and kept with its contents: as in the
    /// kernel, a program that reads its stack before it writes there reads what an earlier program left.
    pub stack: u64,
    /// Iterations that `may_goto` loops of the frame may still make.
    pub loops: u64,
    /// Values of r6 to r9 while a callee of the function runs.
    saved: [u64; 4],
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

    /// Another outermost program begins.
    pub(super) fn begin(&mut self) -> Result<(), FaultKind> {
        self.total = self.total.saturating_add(self.executed).saturating_add(self.work);
        (self.executed, self.work) = (0, 0);
        match self.most_in_total {
            // Once: what is called to clean up still runs.
            Some(most) if self.total > most => {
                self.most_in_total = None;
                Err(FaultKind::Total(most))
            }
            _ => Ok(()),
        }
    }

    /// Counts work of helpers, which the budget limits on its own: compiled code does not tell how many instructions it has executed
    /// whenever it calls one.
    #[inline]
    pub(crate) fn spend(&mut self, units: u64) -> Result<(), FaultKind> {
        self.work = self.work.saturating_add(units);
        if self.work > self.budget { Err(FaultKind::Work(self.budget)) } else { Ok(()) }
    }

    /// From now on the executions of each of so many instructions are counted.
    pub(crate) fn profile(&mut self, instructions: usize) {
        self.profile = Some(vec![0; instructions].into());
    }

    /// How often each instruction was executed; empty unless that is counted.
    pub(crate) fn profiled(&self) -> &[u64] {
        self.profile.as_deref().unwrap_or_default()
    }

    /// Where the execution is, innermost call first.
    pub(crate) fn backtrace(&self, code: &Code) -> Vec<Location> {
        self.in_use().iter().rev().map(|frame| code.location(frame.pc as usize)).collect()
    }

    /// The same place as [`Execution::backtrace`], without names.
    pub(crate) fn trace(&self) -> Trace {
        let mut trace = Trace::default();
        for (place, frame) in trace.instructions.iter_mut().zip(self.in_use().iter().rev()) {
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
        let depth = self.depth;
        while self.arguments.len() <= depth {
            let address = memory.alloc(8 * MAX_ARGUMENTS as u64, Protection::ReadOnly)?;
            self.arguments.push(Arguments { address, used: 0 });
        }
        let array = &mut self.arguments[depth];
        let mut address = array.address;
        for value in args.iter().chain(std::iter::repeat_n(&0, array.used.saturating_sub(args.len()))) {
            memory.own_store::<8>(address, *value);
            address += 8;
        }
        array.used = args.len();
        Ok(array.address)
    }

    /// The call frames in use, the innermost last.
    fn in_use(&self) -> &[Frame] {
        &self.frames[..self.depth]
    }

    /// The frame of the running function.
    #[inline]
    fn innermost(&mut self) -> Option<&mut Frame> {
        self.frames.get_mut(self.depth.checked_sub(1)?)
    }

    /// How many frames there may be at most while the innermost program runs, by either limit.
    pub(crate) fn most_frames(&self) -> usize {
        (self.outer_frames + MAX_CALL_FRAMES).min(MAX_NESTED_FRAMES)
    }

    /// Adds a frame; returns the address behind its stack, for r10.
    pub(crate) fn push(&mut self, memory: &mut Memory, pc: usize) -> Result<u64, FaultKind> {
        let depth = self.depth;
        if depth - self.outer_frames >= MAX_CALL_FRAMES {
            return Err(FaultKind::CallDepth(MAX_CALL_FRAMES));
        }
        if depth >= MAX_NESTED_FRAMES {
            return Err(FaultKind::CallDepth(MAX_NESTED_FRAMES));
        }
        let frame = &mut self.frames[depth];
        if frame.stack == 0 {
            // Each stack is an object of the arena, so an access beyond its end is a fault.
            frame.stack = memory.alloc(STACK_SIZE, Protection::ReadWrite)? + STACK_SIZE;
            self.stacks_end = self.stacks_end.max(frame.stack);
        }
        (frame.pc, frame.loops) = (pc as u64, MAX_LOOPS);
        self.depth += 1;
        Ok(frame.stack)
    }

    /// A function calls another: keeps what the caller needs afterwards. What the callee may not read is 0 there.
    #[inline(never)]
    pub(super) fn enter(&mut self, memory: &mut Memory, regs: &mut Registers, pc: usize) -> Result<(), FaultKind> {
        self.note(pc);
        if let Some(caller) = self.innermost() {
            caller.saved.copy_from_slice(&regs[6..10]);
        }
        regs[10] = self.push(memory, pc)?;
        regs[0] = 0;
        regs[6..10].fill(0);
        Ok(())
    }

    /// Returns from a function by the instruction `pc`: gives the instruction after the call, or `None` if `run` began
    /// with this function. What the caller may not read is 0 there.
    #[inline(never)]
    pub(super) fn leave(&mut self, depth: usize, regs: &mut Registers, pc: usize) -> Option<usize> {
        if self.depth <= depth {
            (self.exited_before, self.exited) = (self.exited, pc);
            return None;
        }
        self.depth -= 1;
        let caller = self.innermost()?;
        regs[1..6].fill(0);
        regs[6..10].copy_from_slice(&caller.saved);
        regs[10] = caller.stack;
        Some(caller.pc as usize + 1)
    }

    /// The frame under way is left, at an instruction that the caller's frame shows as under way.
    pub(super) fn leave_at(&mut self, pc: usize) {
        self.depth = self.depth.saturating_sub(1);
        self.note(pc);
    }

    /// Keeps the instruction that is under way, for backtraces.
    #[inline]
    pub(crate) fn note(&mut self, pc: usize) {
        if let Some(frame) = self.innermost() {
            frame.pc = pc as u64;
        }
    }

    /// Whether `may_goto` must end its loop.
    pub(super) fn loops_are_over(&mut self) -> bool {
        let Some(frame) = self.innermost() else { return true };
        let over = frame.loops == 0;
        frame.loops = frame.loops.saturating_sub(1);
        over
    }
}
