// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arithmetic, conversions and comparisons: the meanings of [`crate::ops`] in Cranelift's instructions.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I16, I32, I64};
use cranelift_codegen::ir::{InstBuilder, Type, Value};

use super::{Context, Translator, target};
use crate::insn::{Alu, Condition, Insn, Op, with_operations};
use crate::ops::Conversion;

/// What a table operation is: its kind, whether it is 64 bits wide, whether its second operand is a register.
enum Table {
    Alu(Alu, bool, bool),
    Compare(Condition, bool, bool),
}

/// The operation of the table that an instruction is, if it is one.
fn in_table(op: Op) -> Option<Table> {
    macro_rules! find {
        (
            ()
            alu { $($alu:ident $f:ident $ar:ident $ai:ident $aw:ident $ax:ident;)* }
            compare { $($cond:ident $g:ident $cr:ident $ci:ident $cw:ident $cx:ident;)* }
        ) => {
            match op {
                $(
                    Op::$ar => Some(Table::Alu(Alu::$alu, true, true)),
                    Op::$ai => Some(Table::Alu(Alu::$alu, true, false)),
                    Op::$aw => Some(Table::Alu(Alu::$alu, false, true)),
                    Op::$ax => Some(Table::Alu(Alu::$alu, false, false)),
                )*
                $(
                    Op::$cr => Some(Table::Compare(Condition::$cond, true, true)),
                    Op::$ci => Some(Table::Compare(Condition::$cond, true, false)),
                    Op::$cw => Some(Table::Compare(Condition::$cond, false, true)),
                    Op::$cx => Some(Table::Compare(Condition::$cond, false, false)),
                )*
                _ => None,
            }
        };
    }
    with_operations!(find())
}

impl Translator<'_, '_> {
    /// An instruction behind which the next one follows.
    pub(super) fn straight(&mut self, insn: Insn) {
        match in_table(insn.op) {
            Some(Table::Alu(alu, wide, by_register)) => {
                let (dst, src) = self.operands(insn, wide, by_register);
                let result = self.alu(alu, dst, src);
                let result = if wide { result } else { self.builder.ins().uextend(I64, result) };
                self.set(insn.dst, result);
            }
            Some(Table::Compare(condition, wide, by_register)) => {
                let (dst, src) = self.operands(insn, wide, by_register);
                let holds = self.compare(condition, dst, src);
                self.jump_if(holds, target(self.pc, insn));
            }
            None => self.other(insn),
        }
    }

    fn other(&mut self, insn: Insn) {
        match insn.op {
            Op::Convert(conversion) => {
                let value = self.register(insn.src);
                let converted = self.convert(conversion, value);
                self.set(insn.dst, converted);
            }
            Op::AddrSpaceCast => {
                let pointer = self.register(insn.src);
                let cast = self.cast(pointer, insn.imm != 1);
                self.set(insn.dst, cast);
            }
            Op::LoadImm => self.set_constant(insn.dst, insn.imm),
            _ => self.memory(insn),
        }
    }

    /// Both operands, in their width.
    fn operands(&mut self, insn: Insn, wide: bool, by_register: bool) -> (Value, Value) {
        let dst = self.register(insn.dst);
        let src = if by_register { self.register(insn.src) } else { self.constant(insn.imm) };
        if wide {
            return (dst, src);
        }
        (self.builder.ins().ireduce(I32, dst), self.builder.ins().ireduce(I32, src))
    }

    fn alu(&mut self, alu: Alu, dst: Value, src: Value) -> Value {
        let ins = self.builder.ins();
        match alu {
            Alu::Add => ins.iadd(dst, src),
            Alu::Sub => ins.isub(dst, src),
            Alu::Mul => ins.imul(dst, src),
            Alu::Or => ins.bor(dst, src),
            Alu::And => ins.band(dst, src),
            Alu::Xor => ins.bxor(dst, src),
            // Cranelift, too, counts shifts modulo the width.
            Alu::Lsh => ins.ishl(dst, src),
            Alu::Rsh => ins.ushr(dst, src),
            Alu::Arsh => ins.sshr(dst, src),
            Alu::Mov => src,
            Alu::Div | Alu::Mod => self.divide(alu, dst, src),
            Alu::SignedDiv | Alu::SignedMod => self.divide_signed(alu, dst, src),
        }
    }

    /// Unsigned division; by zero it gives 0, and the dividend as the rest.
    fn divide(&mut self, alu: Alu, dst: Value, src: Value) -> Value {
        let kind = self.kind(src);
        let one = self.builder.ins().iconst(kind, 1);
        let by_zero = self.builder.ins().icmp_imm(IntCC::Equal, src, 0);
        let divisor = self.builder.ins().select(by_zero, one, src);
        let (result, otherwise) = if alu == Alu::Div {
            (self.builder.ins().udiv(dst, divisor), self.builder.ins().iconst(kind, 0))
        } else {
            (self.builder.ins().urem(dst, divisor), dst)
        };
        self.builder.ins().select(by_zero, otherwise, result)
    }

    /// Signed division; by zero as [`Self::divide`], and by −1 it negates, wrapping.
    ///
    /// Cranelift 0.125 takes the least number, where it is a constant, for the power of two above the greatest: it is divided by
    /// here, which leaves that number alone whole.
    fn divide_signed(&mut self, alu: Alu, dst: Value, src: Value) -> Value {
        let kind = self.kind(src);
        let least = if kind == I64 { i64::MIN } else { i64::from(i32::MIN) };
        let (zero, one) = (self.builder.ins().iconst(kind, 0), self.builder.ins().iconst(kind, 1));
        let is = |this: &mut Self, value, number| this.builder.ins().icmp_imm(IntCC::Equal, value, number);
        let (by_zero, by_minus_one, by_least) = (is(self, src, 0), is(self, src, -1), is(self, src, least));
        let of_least = is(self, dst, least);
        let special = self.builder.ins().bor(by_zero, by_minus_one);
        let special = self.builder.ins().bor(special, by_least);
        let divisor = self.builder.ins().select(special, one, src);
        let mut choose = |condition, then, otherwise| self.builder.ins().select(condition, then, otherwise);
        let (whole, rest) = (choose(of_least, one, zero), choose(of_least, zero, dst));
        let (result, of_zero, of_minus_one, of_least) = if alu == Alu::SignedDiv {
            (self.builder.ins().sdiv(dst, divisor), zero, self.builder.ins().ineg(dst), whole)
        } else {
            (self.builder.ins().srem(dst, divisor), dst, zero, rest)
        };
        let result = self.builder.ins().select(by_least, of_least, result);
        let result = self.builder.ins().select(by_minus_one, of_minus_one, result);
        self.builder.ins().select(by_zero, of_zero, result)
    }

    fn kind(&self, value: Value) -> Type {
        self.builder.func.dfg.value_type(value)
    }

    fn compare(&mut self, condition: Condition, dst: Value, src: Value) -> Value {
        let code = match condition {
            Condition::Eq => IntCC::Equal,
            Condition::Ne => IntCC::NotEqual,
            Condition::Gt => IntCC::UnsignedGreaterThan,
            Condition::Ge => IntCC::UnsignedGreaterThanOrEqual,
            Condition::Lt => IntCC::UnsignedLessThan,
            Condition::Le => IntCC::UnsignedLessThanOrEqual,
            Condition::SignedGt => IntCC::SignedGreaterThan,
            Condition::SignedGe => IntCC::SignedGreaterThanOrEqual,
            Condition::SignedLt => IntCC::SignedLessThan,
            Condition::SignedLe => IntCC::SignedLessThanOrEqual,
            Condition::Set => {
                let common = self.builder.ins().band(dst, src);
                return self.builder.ins().icmp_imm(IntCC::NotEqual, common, 0);
            }
        };
        self.builder.ins().icmp(code, dst, src)
    }

    /// [`Conversion::apply`].
    pub(super) fn convert(&mut self, conversion: Conversion, value: Value) -> Value {
        match conversion {
            Conversion::Neg64 => self.builder.ins().ineg(value),
            Conversion::Neg32 => {
                let low = self.builder.ins().ireduce(I32, value);
                let negated = self.builder.ins().ineg(low);
                self.builder.ins().uextend(I64, negated)
            }
            Conversion::Sign8 => self.sign_extended(value, I8, I64),
            Conversion::Sign16 => self.sign_extended(value, I16, I64),
            Conversion::Sign32 => self.sign_extended(value, I32, I64),
            Conversion::Sign8To32 => self.sign_extended(value, I8, I32),
            Conversion::Sign16To32 => self.sign_extended(value, I16, I32),
            Conversion::Little16 => self.builder.ins().band_imm(value, 0xffff),
            Conversion::Little32 => self.low_half(value),
            Conversion::Little64 => value,
            Conversion::Swap16 => self.swapped(value, I16),
            Conversion::Swap32 => self.swapped(value, I32),
            Conversion::Swap64 => self.builder.ins().bswap(value),
        }
    }

    fn sign_extended(&mut self, value: Value, from: Type, to: Type) -> Value {
        let low = self.builder.ins().ireduce(from, value);
        let extended = self.builder.ins().sextend(to, low);
        if to == I64 { extended } else { self.builder.ins().uextend(I64, extended) }
    }

    fn swapped(&mut self, value: Value, width: Type) -> Value {
        let low = self.builder.ins().ireduce(width, value);
        let swapped = self.builder.ins().bswap(low);
        self.builder.ins().uextend(I64, swapped)
    }

    pub(super) fn low_half(&mut self, value: Value) -> Value {
        let low = self.builder.ins().ireduce(I32, value);
        self.builder.ins().uextend(I64, low)
    }

    /// [`Memory::cast`](crate::memory::Memory).
    fn cast(&mut self, pointer: Value, to_user: bool) -> Value {
        let low = self.low_half(pointer);
        if !to_user {
            return low;
        }
        let half = self.load_context(std::mem::offset_of!(Context<'_>, user_half));
        let whole = self.builder.ins().bor(low, half);
        let null = self.builder.ins().icmp_imm(IntCC::Equal, low, 0);
        self.builder.ins().select(null, low, whole)
    }
}
