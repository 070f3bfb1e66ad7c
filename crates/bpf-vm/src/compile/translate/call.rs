// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls of functions, helpers and kernel functions; returns; `may_goto`.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};

use super::{Call, Context, FRAMES_AND_SHADOW, Translator};
use crate::insn::Insn;
use crate::interp::{Frame, MAX_LOOPS};

impl Translator<'_, '_> {
    /// A call of another function of the object: `Execution::enter` and `leave`.
    pub(super) fn call(&mut self, insn: Insn) {
        let number = self.code.beginning_with(insn.imm as usize).expect("a call's target begins a function");
        self.push();
        let left = self.count();
        self.within_budget(Call::OverBudget, left);
        self.store_context(std::mem::offset_of!(Context<'_>, left), left);
        let mut args = vec![self.context];
        args.extend((1..=5).map(|register| self.builder.use_var(self.registers[register])));
        let (value, fault) = self.call_function(number, &args);
        self.unless_fault(fault);
        // Not the frame from before: a host may have moved all of them.
        let frame = self.load_context(std::mem::offset_of!(Context<'_>, frame));
        let caller = self.builder.ins().iadd_imm(frame, -(size_of::<Frame>() as i64));
        self.store_context(std::mem::offset_of!(Context<'_>, frame), caller);
        let left = self.load_context(std::mem::offset_of!(Context<'_>, left));
        self.builder.def_var(self.left, left);
        self.set(0, value);
        for register in 1..=5 {
            self.set_constant(register, 0);
        }
    }

    /// Calls another function, whose frame is there, or has it interpreted if it is not compiled; gives r0 and whether a fault ends the
    /// program.
    fn call_function(&mut self, number: usize, args: &[Value]) -> (Value, Value) {
        if !self.functions.compiled[number] {
            let place = self.place();
            self.store_context(std::mem::offset_of!(Context<'_>, place), place);
            let (value, fault) = self.call_outer(Call::Interpret, args);
            return value.zip(fault).expect("interpret has two results");
        }
        let callee = self.callee(self.functions.ids[number]);
        let call = self.builder.ins().call(callee, args);
        let results = self.builder.inst_results(call);
        (results[0], results[1])
    }

    /// Adds a frame behind the innermost one.
    fn push(&mut self) {
        let caller = self.load_context(std::mem::offset_of!(Context<'_>, frame));
        let place = self.place();
        self.builder.ins().store(FRAMES_AND_SHADOW, place, caller, std::mem::offset_of!(Frame, pc) as i32);
        let callee = self.builder.ins().iadd_imm(caller, size_of::<Frame>() as i64);
        let end = self.load_context(std::mem::offset_of!(Context<'_>, frames_end));
        let room = self.builder.ins().icmp(IntCC::UnsignedLessThan, callee, end);
        let (enough, plain, rare, done) =
            (self.builder.create_block(), self.builder.create_block(), self.cold_block(), self.builder.create_block());
        self.builder.ins().brif(room, enough, &[], rare, &[]);

        self.builder.switch_to_block(enough);
        let stack = self.frame_field(callee, std::mem::offset_of!(Frame, stack));
        self.builder.ins().brif(stack, plain, &[], rare, &[]);

        self.builder.switch_to_block(plain);
        let loops = self.constant(MAX_LOOPS);
        self.builder.ins().store(FRAMES_AND_SHADOW, loops, callee, std::mem::offset_of!(Frame, loops) as i32);
        self.store_context(std::mem::offset_of!(Context<'_>, frame), callee);
        self.builder.ins().jump(done, &[]);

        self.builder.switch_to_block(rare);
        let left = self.left_now();
        let (fault, _) = self.call_outer(Call::Push, &[self.context, place, left]);
        self.unless_fault(fault.expect("push has a result"));
        self.builder.ins().jump(done, &[]);
        self.builder.switch_to_block(done);
    }

    /// A call of a helper or kernel function.
    pub(super) fn call_out(&mut self) {
        let left = self.count();
        self.store_context(std::mem::offset_of!(Context<'_>, left), left);
        let place = self.place();
        self.store_context(std::mem::offset_of!(Context<'_>, place), place);
        let mut args = vec![self.context];
        args.extend((1..=5).map(|register| self.builder.use_var(self.registers[register])));
        let (value, fault) = self.call_outer(Call::Kernel, &args);
        self.unless_fault(fault.expect("call_out has two results"));
        let left = self.load_context(std::mem::offset_of!(Context<'_>, left));
        self.builder.def_var(self.left, left);
        self.set(0, value.expect("call_out has two results"));
    }

    /// A call of a plain function of this crate: neither the frame nor the budget change.
    pub(super) fn call_plain(&mut self) {
        let left = self.count();
        self.within_budget(Call::OverBudget, left);
        self.store_context(std::mem::offset_of!(Context<'_>, left), left);
        let place = self.place();
        self.store_context(std::mem::offset_of!(Context<'_>, place), place);
        let mut args = vec![self.context];
        args.extend((1..=5).map(|register| self.builder.use_var(self.registers[register])));
        let (value, fault) = self.call_outer(Call::Plain, &args);
        self.unless_fault(fault.expect("plain has two results"));
        self.set(0, value.expect("plain has two results"));
    }

    /// The function returns r0.
    pub(super) fn exit(&mut self) {
        let left = self.count();
        self.within_budget(Call::OverBudgetAtExit, left);
        let place = self.place();
        self.store_context(std::mem::offset_of!(Context<'_>, place), place);
        self.store_context(std::mem::offset_of!(Context<'_>, left), left);
        let (value, fault) = (self.register(0), self.constant(0));
        self.builder.ins().return_(&[value, fault]);
    }

    /// Jumps once the frame's loops have used up their iterations; counts one until then.
    pub(super) fn may_goto(&mut self, target: usize) {
        let frame = self.load_context(std::mem::offset_of!(Context<'_>, frame));
        let loops = self.frame_field(frame, std::mem::offset_of!(Frame, loops));
        let over = self.builder.ins().icmp_imm(IntCC::Equal, loops, 0);
        let fewer = self.builder.ins().iadd_imm(loops, -1);
        let fewer = self.builder.ins().select(over, loops, fewer);
        self.builder.ins().store(FRAMES_AND_SHADOW, fewer, frame, std::mem::offset_of!(Frame, loops) as i32);
        self.jump_if(over, target);
    }
}
