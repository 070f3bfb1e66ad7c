// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where functions are compiled: Cranelift's module, and what is done of it.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use cranelift_codegen::settings::{self, Configurable};
use cranelift_jit::{
    ArenaMemoryProvider, BranchProtection, JITBuilder, JITMemoryProvider, JITModule, SystemMemoryProvider,
};
use cranelift_module::{FuncId, Linkage, Module, ModuleError, default_libcall_names};

use super::gate::{Owned, SYMBOLS};
use super::translate::{self, Functions, Outer, Scratch};
use super::{CompileError, Limits};
use crate::insn::Op;
use crate::interp::Code;

/// Bytes of address space that compiled code may fill: for each instruction of the object, and beside. Nothing is used
/// of it before there is code.
const PER_INSTRUCTION: usize = 512;
const BESIDE: usize = 4 << 20;

/// Compiles functions of one object.
pub(super) struct Workshop {
    module: Owned,
    outer: Outer,
    scratch: Scratch,
    /// Functions by their numbers, as the module knows them.
    ids: Vec<FuncId>,
    /// Whether they are compiled.
    done: Vec<bool>,
    /// What is left to the interpreter.
    limits: Limits,
    /// Instructions that are compiled.
    compiled: usize,
    /// Why no more is compiled: a function was refused, which those may call that were to be compiled with it.
    broken: Option<CompileError>,
}

impl Workshop {
    /// A workshop for `code`.
    ///
    /// # Errors
    /// [`CompileError`].
    pub(super) fn new(code: &Code, limits: Limits) -> Result<Self, CompileError> {
        can_execute().map_err(CompileError::Machine)?;
        let mut module = Owned::new(module(BESIDE + PER_INSTRUCTION * code.insns.len().min(limits.all))?);
        let outer = Outer::declare(&mut module)?;
        let ids = (0..code.functions())
            .map(|number| declare(&mut module, code, number))
            .collect::<Result<Vec<FuncId>, CompileError>>()?;
        let (scratch, done) = (Scratch::new(&module), vec![false; ids.len()]);
        Ok(Self { module, outer, scratch, ids, done, limits, compiled: 0, broken: None })
    }

    /// The module, all of whose functions are finished.
    pub(super) fn module(&self) -> &JITModule {
        &self.module
    }

    /// Compiles a function and all that it calls, as far as that was not done and is not too large; returns what was.
    ///
    /// # Errors
    /// [`CompileError`].
    pub(super) fn make(&mut self, code: &Code, function: usize) -> Result<Vec<(usize, FuncId)>, CompileError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        let wanted = self.wanted(code, function);
        // Until all is done: another try would find half of it.
        self.broken = Some(CompileError::Machine("compiling was interrupted".to_owned()));
        let made = self.make_all(code, &wanted);
        self.broken = made.as_ref().err().cloned();
        made
    }

    /// What is to be compiled of a function and all that it calls: the first ones, as far as there is room.
    fn wanted(&mut self, code: &Code, function: usize) -> Vec<usize> {
        let mut wanted: Vec<usize> = reached(code, function, self.limits).into_iter().collect();
        wanted.sort_by_key(|number| *number != function);
        wanted.retain(|number| {
            let length = code.instructions(*number).len();
            let fits = !self.done[*number] && self.compiled + length <= self.limits.all;
            self.compiled += if fits { length } else { 0 };
            fits
        });
        wanted
    }

    fn make_all(&mut self, code: &Code, wanted: &[usize]) -> Result<Vec<(usize, FuncId)>, CompileError> {
        let Self { module, outer, scratch, ids, done, .. } = self;
        let mut compiled = done.clone();
        wanted.iter().for_each(|number| compiled[*number] = true);
        for number in wanted {
            let functions = Functions { ids, compiled: &compiled };
            translate::function(code, *number, functions, outer, module, scratch);
            let defined = module.define_function(ids[*number], &mut scratch.context);
            module.clear_context(&mut scratch.context);
            defined.map_err(|error| refused(code, *number, &error))?;
        }
        module.finalize_definitions().map_err(|error| CompileError::Machine(error.to_string()))?;
        *done = compiled;
        Ok(wanted.iter().map(|number| (*number, ids[*number])).collect())
    }
}

/// Whether there is a compiler for this machine, and the system makes memory executable that was written: some refuse to.
fn can_execute() -> Result<(), String> {
    static ANSWER: OnceLock<Result<(), String>> = OnceLock::new();
    let ask = || {
        if !super::AVAILABLE {
            return Err("neither x86-64 nor aarch64 with Unix's calling convention".to_owned());
        }
        // A page that this process keeps. The memory below panics where it is refused, this one says so.
        let mut memory = SystemMemoryProvider::new();
        memory.allocate_readexec(1, 1).map_err(|error| error.to_string())?;
        memory.finalize(BranchProtection::None).map_err(|error| error.to_string())
    };
    ANSWER.get_or_init(ask).clone()
}

/// A function and all that it calls, and those call, without those that are too large.
fn reached(code: &Code, function: usize, limits: Limits) -> BTreeSet<usize> {
    let mut open: Vec<usize> = Some(function).into_iter().filter(|number| limits.allow(code, *number)).collect();
    let mut reached: BTreeSet<usize> = open.iter().copied().collect();
    while let Some(number) = open.pop() {
        let calls = code.instructions(number).map(|pc| code.insns[pc]).filter(|insn| insn.op == Op::Call);
        let callees = calls.filter_map(|insn| code.beginning_with(insn.imm as usize));
        open.extend(callees.filter(|callee| limits.allow(code, *callee) && reached.insert(*callee)));
    }
    reached
}

/// Instructions of a function and of all that it calls, as far as they are compiled.
pub(super) fn instructions_to_reach(code: &Code, function: usize, limits: Limits) -> u64 {
    reached(code, function, limits).into_iter().map(|number| code.instructions(number).len() as u64).sum()
}

/// An empty module for this machine that knows the functions which compiled code calls, with room for so many bytes.
fn module(room: usize) -> Result<JITModule, CompileError> {
    let machine = |why: &dyn std::fmt::Display| CompileError::Machine(why.to_string());
    let mut flags = settings::builder();
    let verifier = if cfg!(debug_assertions) { "true" } else { "false" };
    for (name, value) in [("opt_level", "speed"), ("enable_verifier", verifier), ("is_pic", "false")] {
        flags.set(name, value).map_err(|error| machine(&error))?;
    }
    let isa = cranelift_native::builder().map_err(|error| machine(&error))?;
    let isa = isa.finish(settings::Flags::new(flags)).map_err(|error| machine(&error))?;
    let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
    builder.symbols(SYMBOLS.iter().map(|symbol| (symbol.name, symbol.address())));
    // All in one place, so that functions reach each other by the short form of calls.
    let memory = ArenaMemoryProvider::new_with_size(room).map_err(|error| machine(&error))?;
    builder.memory_provider(Box::new(memory));
    Ok(JITModule::new(builder))
}

fn declare(module: &mut JITModule, code: &Code, number: usize) -> Result<FuncId, CompileError> {
    let signature = translate::signature(module);
    let id = module.declare_function(&format!("function {number}"), Linkage::Local, &signature);
    id.map_err(|error| refused(code, number, &error))
}

fn refused(code: &Code, number: usize, error: &ModuleError) -> CompileError {
    let function = code.function_name(number).unwrap_or_default().to_owned();
    CompileError::Function { function, why: error.to_string() }
}
