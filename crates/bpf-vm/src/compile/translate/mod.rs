// SPDX-License-Identifier: MIT OR Apache-2.0
//! From decoded instructions to Cranelift's, function by function.
//!
//! Registers are variables, of which Cranelift makes values. One more variable counts: `left` is how many instructions the program
//! may still execute. As in the interpreter, straight code is counted by its place: `left` is brought up to date where a block
//! ends, and compared where a jump is taken, a function called or left.
//!
//! - This file: blocks and jumps. [`value`]: arithmetic and comparisons. [`access`]: memory. [`call`]: calls and returns.

mod access;
mod call;
mod value;

use std::collections::{BTreeMap, BTreeSet};

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, AliasRegion, Block, FuncRef, InstBuilder, MemFlags, Signature, UserFuncName, Value, types::I64,
};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
use cranelift_jit::JITModule;
use cranelift_module::{FuncId, Linkage, Module};

use super::CompileError;
use super::gate::{Call, Context, SYMBOLS};
use crate::insn::{Insn, Op, is_conditional};
use crate::interp::{Code, Frame};

/// r0 to r10.
const REGISTERS: usize = 11;

/// Memory of the context, of frames and shadows, and of the arena: none of them overlaps another.
const CONTEXT: MemFlags = MemFlags::trusted().with_alias_region(Some(AliasRegion::Vmctx));
const FRAMES_AND_SHADOW: MemFlags = MemFlags::trusted().with_alias_region(Some(AliasRegion::Table));
const ARENA: MemFlags = MemFlags::new().with_notrap().with_alias_region(Some(AliasRegion::Heap));

/// The functions that compiled code calls, declared in a module.
pub(super) struct Outer {
    ids: Vec<FuncId>,
}

impl Outer {
    /// Declares them.
    ///
    /// # Errors
    /// [`CompileError::Machine`]: the module does not take them.
    pub(super) fn declare(module: &mut JITModule) -> Result<Self, CompileError> {
        let mut ids = Vec::new();
        for symbol in SYMBOLS {
            let mut signature = module.make_signature();
            signature.params = vec![AbiParam::new(I64); symbol.args];
            signature.returns = vec![AbiParam::new(I64); symbol.results];
            let id = module.declare_function(symbol.name, Linkage::Import, &signature);
            ids.push(id.map_err(|error| CompileError::Machine(error.to_string()))?);
        }
        Ok(Self { ids })
    }
}

/// Memory that translating one function after the other uses again.
pub(super) struct Scratch {
    /// The function that was translated last.
    pub context: cranelift_codegen::Context,
    builder: FunctionBuilderContext,
}

impl Scratch {
    pub(super) fn new(module: &JITModule) -> Self {
        Self { context: module.make_context(), builder: FunctionBuilderContext::new() }
    }
}

/// What a compiled function takes and gives: the context and r1 to r5; r0 and whether a fault ends the program.
pub(super) fn signature(module: &JITModule) -> Signature {
    let mut signature = module.make_signature();
    signature.params = vec![AbiParam::new(I64); 6];
    signature.returns = vec![AbiParam::new(I64); 2];
    signature
}

/// The functions of an object, by their numbers.
#[derive(Clone, Copy)]
pub(super) struct Functions<'t> {
    /// As the module knows them.
    pub ids: &'t [FuncId],
    /// Whether they are compiled, or will be with the one that is.
    pub compiled: &'t [bool],
}

/// Translates a function into `scratch.context`.
pub(super) fn function(
    code: &Code,
    number: usize,
    functions: Functions<'_>,
    outer: &Outer,
    module: &mut JITModule,
    scratch: &mut Scratch,
) {
    let function = &mut scratch.context.func;
    function.signature = signature(module);
    function.name = UserFuncName::user(0, functions.ids[number].as_u32());
    let builder = FunctionBuilder::new(function, &mut scratch.builder);
    let mut translator = Translator::new(code, builder, module, functions, outer);
    translator.enter(code.instructions(number).start, &leaders(code, number));
    for pc in code.instructions(number) {
        translator.instruction(pc);
    }
    translator.builder.seal_all_blocks();
    translator.builder.finalize();
}

/// Instructions of a function where a block begins, beside the first: targets of jumps, and what stands behind a conditional one.
fn leaders(code: &Code, number: usize) -> BTreeSet<usize> {
    let mut leaders = BTreeSet::new();
    for pc in code.instructions(number) {
        let insn = code.insns[pc];
        let conditional = is_conditional(insn.op) || insn.op == Op::MayGoto;
        if conditional {
            leaders.insert(pc + 1);
        }
        if conditional || insn.op == Op::Ja {
            leaders.insert(target(pc, insn));
        }
    }
    leaders
}

/// Where the jump `pc` goes.
fn target(pc: usize, insn: Insn) -> usize {
    (pc + 1).wrapping_add_signed(insn.off as isize)
}

/// A function under way.
struct Translator<'t, 'f> {
    code: &'t Code,
    builder: FunctionBuilder<'f>,
    module: &'t mut JITModule,
    functions: Functions<'t>,
    outer: &'t Outer,
    /// Functions that this one calls, by their numbers in the module.
    callees: BTreeMap<FuncId, FuncRef>,
    /// Address of the [`Context`].
    context: Value,
    registers: [Variable; REGISTERS],
    left: Variable,
    /// Blocks by their first instructions.
    blocks: BTreeMap<usize, Block>,
    /// The instruction under way.
    pc: usize,
    /// Instructions that `left` does not count yet, the one under way included.
    uncounted: i64,
}

impl<'t, 'f> Translator<'t, 'f> {
    fn new(
        code: &'t Code,
        mut builder: FunctionBuilder<'f>,
        module: &'t mut JITModule,
        functions: Functions<'t>,
        outer: &'t Outer,
    ) -> Self {
        let registers = std::array::from_fn(|_| builder.declare_var(I64));
        let left = builder.declare_var(I64);
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        let context = builder.block_params(entry)[0];
        let (callees, blocks) = (BTreeMap::new(), BTreeMap::new());
        Self { code, builder, module, functions, outer, callees, context, registers, left, blocks, pc: 0, uncounted: 0 }
    }

    /// The function's beginning: registers get their first values.
    fn enter(&mut self, start: usize, leaders: &BTreeSet<usize>) {
        let entry = self.builder.current_block().expect("a function begins with a block");
        for register in 1..=5 {
            let argument = self.builder.block_params(entry)[register];
            self.builder.def_var(self.registers[register], argument);
        }
        for register in [0, 6, 7, 8, 9] {
            self.set_constant(register, 0);
        }
        let frame = self.load_context(std::mem::offset_of!(Context<'_>, frame));
        let stack = self.frame_field(frame, std::mem::offset_of!(Frame, stack));
        self.builder.def_var(self.registers[10], stack);
        let left = self.load_context(std::mem::offset_of!(Context<'_>, left));
        self.builder.def_var(self.left, left);
        for leader in leaders {
            let block = self.builder.create_block();
            self.blocks.insert(*leader, block);
        }
        self.pc = start;
    }

    fn frame_field(&mut self, frame: Value, offset: usize) -> Value {
        self.builder.ins().load(I64, FRAMES_AND_SHADOW, frame, offset as i32)
    }

    fn load_context(&mut self, offset: usize) -> Value {
        self.builder.ins().load(I64, CONTEXT, self.context, offset as i32)
    }

    fn store_context(&mut self, offset: usize, value: Value) {
        self.builder.ins().store(CONTEXT, value, self.context, offset as i32);
    }

    fn constant(&mut self, value: u64) -> Value {
        self.builder.ins().iconst(I64, value as i64)
    }

    fn register(&mut self, number: u8) -> Value {
        self.builder.use_var(self.registers[usize::from(number)])
    }

    fn set(&mut self, number: u8, value: Value) {
        self.builder.def_var(self.registers[usize::from(number)], value);
    }

    fn set_constant(&mut self, number: u8, value: u64) {
        let value = self.constant(value);
        self.set(number, value);
    }

    /// Instructions left once the one under way is counted.
    fn left_now(&mut self) -> Value {
        let left = self.builder.use_var(self.left);
        self.builder.ins().iadd_imm(left, -self.uncounted)
    }

    /// Counts what is not counted yet; returns how many instructions are left.
    fn count(&mut self) -> Value {
        let left = self.left_now();
        self.builder.def_var(self.left, left);
        self.uncounted = 0;
        left
    }

    /// Number of the instruction under way, as an argument.
    fn place(&mut self) -> Value {
        self.constant(self.pc as u64)
    }

    /// Calls a function of this crate; returns its results.
    fn call_outer(&mut self, call: Call, args: &[Value]) -> (Option<Value>, Option<Value>) {
        let id = self.outer.ids[call as usize];
        let callee = self.callee(id);
        let call = self.builder.ins().call(callee, args);
        let results = self.builder.inst_results(call);
        (results.first().copied(), results.get(1).copied())
    }

    fn callee(&mut self, id: FuncId) -> FuncRef {
        let (module, function) = (&mut self.module, &mut self.builder.func);
        *self.callees.entry(id).or_insert_with(|| module.declare_func_in_func(id, function))
    }

    /// A block that is hardly ever executed.
    fn cold_block(&mut self) -> Block {
        let block = self.builder.create_block();
        self.builder.set_cold_block(block);
        block
    }

    /// Returns from the function with a fault, which the context has.
    fn return_fault(&mut self) {
        let (value, fault) = (self.constant(0), self.constant(1));
        self.builder.ins().return_(&[value, fault]);
    }

    /// Ends the program if a called function says so: continues only where `fault` is 0.
    fn unless_fault(&mut self, fault: Value) {
        let (ends, goes_on) = (self.cold_block(), self.builder.create_block());
        self.builder.ins().brif(fault, ends, &[], goes_on, &[]);
        self.builder.switch_to_block(ends);
        self.return_fault();
        self.builder.switch_to_block(goes_on);
    }

    /// Ends the program here, by a function of this crate that says how.
    fn end(&mut self, call: Call, left: Value) {
        let place = self.place();
        self.call_outer(call, &[self.context, place, left]);
        self.return_fault();
    }

    /// Ends the program if the budget is used up: continues only where `left` is 0 or more.
    fn within_budget(&mut self, call: Call, left: Value) {
        let (over, goes_on) = (self.cold_block(), self.builder.create_block());
        let negative = self.builder.ins().icmp_imm(IntCC::SignedLessThan, left, 0);
        self.builder.ins().brif(negative, over, &[], goes_on, &[]);
        self.builder.switch_to_block(over);
        self.end(call, left);
        self.builder.switch_to_block(goes_on);
    }

    /// Takes a jump whose instructions are counted.
    fn jump(&mut self, left: Value, target: usize) {
        let (over, block) = (self.cold_block(), self.blocks[&target]);
        let negative = self.builder.ins().icmp_imm(IntCC::SignedLessThan, left, 0);
        self.builder.ins().brif(negative, over, &[], block, &[]);
        self.builder.switch_to_block(over);
        self.end(Call::OverBudget, left);
    }

    /// Jumps if `condition` is not 0; goes on behind the jump otherwise.
    fn jump_if(&mut self, condition: Value, target: usize) {
        let left = self.count();
        let (taken, behind) = (self.builder.create_block(), self.blocks[&(self.pc + 1)]);
        self.builder.ins().brif(condition, taken, &[], behind, &[]);
        self.builder.switch_to_block(taken);
        self.jump(left, target);
        self.builder.switch_to_block(behind);
    }

    /// Translates an instruction.
    fn instruction(&mut self, pc: usize) {
        self.pc = pc;
        if let Some(block) = self.blocks.get(&pc).copied() {
            self.begin_block(block);
        } else if self.ended() {
            // No jump leads here.
            return;
        }
        self.uncounted += 1;
        let insn = self.code.insns[pc];
        match insn.op {
            Op::Ja => {
                let left = self.count();
                self.jump(left, target(pc, insn));
            }
            Op::MayGoto => self.may_goto(target(pc, insn)),
            Op::Call => self.call(insn),
            Op::CallBuiltin | Op::CallHost => self.call_out(),
            Op::CallPlain => self.call_plain(),
            Op::Exit => self.exit(),
            Op::Poison => {
                let left = self.left_now();
                self.end(Call::Poisoned, left);
            }
            _ => self.straight(insn),
        }
    }

    /// Whether the block under way has ended.
    fn ended(&self) -> bool {
        let block = self.builder.current_block();
        let last = block.and_then(|block| self.builder.func.layout.last_inst(block));
        last.is_some_and(|inst| self.builder.func.dfg.insts[inst].opcode().is_terminator())
    }

    /// Goes over to a block from the one before, if that has not ended otherwise.
    fn begin_block(&mut self, block: Block) {
        if self.builder.current_block() != Some(block) {
            if !self.ended() {
                self.count();
                self.builder.ins().jump(block, &[]);
            }
            self.builder.switch_to_block(block);
        }
        self.uncounted = 0;
    }
}
