// SPDX-License-Identifier: MIT OR Apache-2.0
//! A loaded object, ready to run.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::compile::{CodeCache, CompileError, Used, When};
use crate::fault::{Fault, FaultKind, Location};
use crate::handle::Handles;
use crate::helper::HelperState;
use crate::host::{Args, Builtin, Host};
use crate::insn::decode::{DecodeError, Resolved, callee_slot, function_starts};
use crate::interp::{self, Code, CodeBuilder, Entry, Execution, Held, Trace};
use crate::kfunc::KfuncState;
use crate::map::Maps;
use crate::memory::Memory;
use crate::object::Object;
use crate::timer::Timers;

/// Arguments of a program that gets them as an array (`MAX_BPF_FUNC_ARGS`).
pub const MAX_ARGUMENTS: usize = 12;

/// A program or subprogram of an instance: the number of its function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProgramId(pub u32);

/// What a program returned, and how many instructions that took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Value of r0 at the end.
    pub value: u64,
    /// Instructions executed, by the program, its callbacks and the programs that its kernel functions ran.
    pub instructions: u64,
}

/// A loaded object: its code, memory, maps, timers. Instances share nothing and may run in parallel threads.
#[derive(Debug)]
pub struct Instance {
    /// The memory that programs see. Once a program has run, which has its stack there, it must not be exchanged for another.
    pub memory: Memory,
    pub(crate) object: Arc<Object>,
    pub(crate) code: Arc<Code>,
    /// The same code for this machine; without, the interpreter runs.
    pub(crate) compiled: Option<Used>,
    /// Code and compiled code for the next program that runs.
    pub(crate) held: Option<Held>,
    pub(crate) maps: Maps,
    pub(crate) timers: Timers,
    pub(crate) helpers: HelperState,
    pub(crate) kfuncs: KfuncState,
    pub(crate) execution: Execution,
    pub(crate) handles: Handles,
    /// Addresses of the object's data sections.
    pub(crate) data: Vec<u64>,
    pub(crate) nr_cpus: u32,
    /// Accesses to pages that the BPF arena does not have.
    pub(crate) missing_pages: u64,
    /// The first access to a page that the BPF arena does not have.
    pub(crate) missing_page: Option<Fault>,
}

impl Instance {
    /// An instance of bare instructions without an object, as one program: `main`. Functions that `main` calls by
    /// distance follow it; each is named for the instruction that it begins with.
    ///
    /// # Errors
    /// [`DecodeError`] if they cannot be decoded.
    pub fn from_instructions(
        encoding: &[u8],
        helpers: &dyn Fn(i32) -> Option<Builtin>,
        budget: u64,
    ) -> Result<Self, DecodeError> {
        let starts = function_starts(encoding);
        let mut builder = CodeBuilder::new(helpers);
        for (number, start) in starts.iter().enumerate() {
            let end = starts.get(number + 1).map_or(encoding.len(), |next| 8 * next);
            let name = if number == 0 { "main".to_owned() } else { format!("function_{start}") };
            let resolve = |slot: usize| {
                let callee = callee_slot(encoding, start + slot)?;
                starts.binary_search(&callee).ok().map(Resolved::Callee)
            };
            builder.push_function(&name, &encoding[8 * start..end], Vec::new(), &resolve)?;
        }
        Ok(Self::of_code(builder.finish()?, Memory::new(1 << 30), Execution::new(budget), 1))
    }

    /// An instance without an object.
    fn of_code(code: Code, memory: Memory, execution: Execution, nr_cpus: u32) -> Self {
        Self {
            memory,
            object: Arc::default(),
            code: Arc::new(code),
            compiled: None,
            held: None,
            maps: Maps::default(),
            timers: Timers::default(),
            helpers: HelperState::default(),
            kfuncs: KfuncState::default(),
            execution,
            handles: Handles::default(),
            data: Vec::new(),
            nr_cpus,
            missing_pages: 0,
            missing_page: None,
        }
    }

    /// An instance without code, for tests of functions that work on memory.
    #[cfg(test)]
    pub(crate) fn bare(nr_cpus: u32, limit: u64) -> Self {
        Self::of_code(Code::default(), Memory::new(limit), Execution::new(1 << 20), nr_cpus)
    }

    /// Lets compiled code run from now on, which does the same as the interpreter, sooner. `when` says at which of its runs a
    /// function is compiled; the interpreter runs those that are not. What instances with the same code have compiled is in `cache`.
    ///
    /// # Errors
    /// [`CompileError::Machine`]: the interpreter goes on.
    pub fn compile(&mut self, cache: &CodeCache, when: When) -> Result<(), CompileError> {
        (self.compiled, self.held) = (Some(Used::new(cache.get(&self.code)?, when)), None);
        Ok(())
    }

    /// Compiles all functions of an instance now of which compiled code runs; returns at the first that cannot be compiled.
    ///
    /// # Errors
    /// [`CompileError`].
    pub fn compile_all(&self) -> Result<(), CompileError> {
        self.compiled.as_ref().map_or(Ok(()), |used| used.compiled().all())
    }

    /// From now on the interpreter runs, and counts how often each instruction is executed.
    pub fn profile(&mut self) {
        (self.compiled, self.held) = (None, None);
        self.execution.profile(self.code.insns.len());
    }

    /// How many instructions were executed of each source line, or of each function without such lines, since
    /// [`Instance::profile`], in the order of the code. What was inlined counts where its lines are, in the function that it is
    /// inlined into.
    pub fn profiled(&self) -> Vec<(Location, u64)> {
        let mut lines: BTreeMap<(usize, usize, u32), (Location, u64)> = BTreeMap::new();
        let mut files = Vec::new();
        for (pc, executed) in self.execution.profiled().iter().enumerate().filter(|(_, executed)| **executed > 0) {
            let place = self.code.location(pc);
            let file = files.iter().position(|file| *file == place.file).unwrap_or_else(|| {
                files.push(place.file.clone());
                files.len() - 1
            });
            let function = self.code.function_of(pc);
            lines.entry((function, file, place.line)).or_insert((place, 0)).1 += executed;
        }
        lines.into_values().collect()
    }

    /// From its next run on, the outermost program may execute so many instructions.
    pub fn set_budget(&mut self, budget: u64) {
        self.execution.budget = budget;
    }

    /// All programs of the instance together may execute so many instructions, the work of their helpers included
    /// ([`Instance::spend`]). The first one that begins after that is stopped with [`FaultKind::Total`], and none later.
    pub fn set_total_budget(&mut self, budget: u64) {
        self.execution.most_in_total = Some(budget);
    }

    /// The program or subprogram with this name.
    pub fn program(&self, name: &str) -> Option<ProgramId> {
        Some(ProgramId(self.code.function(name)? as u32))
    }

    /// Name of a program; empty if there is none.
    pub fn program_name(&self, program: ProgramId) -> &str {
        self.code.function_name(program.0 as usize).unwrap_or_default()
    }

    /// The function whose code address programs hold.
    pub fn program_at(&self, code_address: u64) -> Option<ProgramId> {
        Some(ProgramId(self.code.function_at(code_address)? as u32))
    }

    /// Runs a program that gets its arguments as an array (`struct_ops`, `fentry`): r1 is the array's address.
    ///
    /// # Errors
    /// A fault stops the program; memory keeps what it has written.
    pub fn run(&mut self, program: ProgramId, args: &[u64], host: &mut dyn Host) -> Result<Outcome, Fault> {
        if args.len() > MAX_ARGUMENTS {
            let text = format!("{} arguments of a program, more than {MAX_ARGUMENTS}", args.len());
            return Err(FaultKind::Misuse(text).into());
        }
        let array = self.execution.arguments(&mut self.memory, args)?;
        self.run_raw(program, [array, 0, 0, 0, 0], host)
    }

    /// Runs a program with these arguments in r1 to r5.
    ///
    /// # Errors
    /// A fault stops the program; memory keeps what the program has written.
    pub fn run_raw(&mut self, program: ProgramId, args: Args, host: &mut dyn Host) -> Result<Outcome, Fault> {
        let nested = self.execution.depth > 0;
        let before = if nested { self.execution.executed() } else { 0 };
        let result = interp::execute(self, host, program.0 as usize, args, Entry::Program);
        let ended = if nested { Ok(()) } else { self.call_ended(host) };
        let value = result?;
        ended?;
        Ok(Outcome { value, instructions: self.execution.executed() - before })
    }

    /// Calls a function of the running program from inside a helper. The call counts among the program's call frames
    /// and instructions.
    ///
    /// # Errors
    /// A fault stops the program, and an address that is no function's is a fault.
    pub fn call(&mut self, code_address: u64, args: Args, host: &mut dyn Host) -> Result<u64, Fault> {
        let Some(function) = self.code.function_at(code_address) else {
            return Err(FaultKind::BadJump(code_address).into());
        };
        interp::execute(self, host, function, args, Entry::Callback)
    }

    /// Counts work of a helper or kernel function that grows with what a program gives it, in units of about an instruction's time.
    /// The outermost program may do as much such work as it may execute instructions. It is no instruction that takes simulated time.
    ///
    /// # Errors
    /// [`FaultKind::Work`]: that is used up.
    #[inline]
    pub fn spend(&mut self, units: u64) -> Result<(), FaultKind> {
        self.execution.spend(units)
    }

    /// Counts that so many bytes are checked, copied, compared or zeroed, a word at a time: all that there are at most, where a program
    /// gives a number that no object has.
    ///
    /// # Errors
    /// As [`Instance::spend`].
    #[inline]
    pub fn spend_bytes(&mut self, bytes: u64) -> Result<(), FaultKind> {
        self.spend(bytes.min(self.memory.extent()) / 8)
    }

    /// Where the running program is, innermost call first, then the programs around it; empty if none runs.
    pub fn backtrace(&self) -> Vec<Location> {
        self.execution.backtrace(&self.code)
    }

    /// The same place as [`Instance::backtrace`], kept without names; [`Instance::locate`] adds them.
    pub fn trace(&self) -> Trace {
        self.execution.trace()
    }

    /// Where a program last returned. Most functions have one instruction that returns, so the function says more about
    /// the reason than the line does.
    pub fn exit_trace(&self) -> Trace {
        self.execution.exit_trace()
    }

    /// The places of a trace, innermost first.
    pub fn locate(&self, trace: &Trace) -> Vec<Location> {
        trace.instructions().map(|at| self.code.location(at)).collect()
    }

    /// How often a program has accessed a page that the BPF arena does not have, and the first such access. As in the
    /// kernel, such a read gives 0 and such a write is lost; newer kernels report the access on the program's error
    /// stream.
    pub fn missing_pages(&self) -> (u64, Option<&Fault>) {
        (self.missing_pages, self.missing_page.as_ref())
    }

    /// Instructions that the outermost program has executed so far; if no program runs, those that the last one
    /// executed, also if a fault ended it.
    pub fn executed(&self) -> u64 {
        self.execution.executed()
    }
}
