// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions, decoded once: operand kinds are part of the operation, immediates are extended, jumps are checked.

pub mod decode;

use crate::ops::{Atomic, Conversion};

/// Passes the table of arithmetic and of comparisons to a macro: for each operation its name, its function in
/// [`ops::Word`](crate::ops::Word), and its four instructions (64 bits with a register, with an immediate; 32 bits likewise).
macro_rules! with_operations {
    ($then:ident $context:tt) => {
        $then! {
            $context
            alu {
                Add add Add64Reg Add64Imm Add32Reg Add32Imm;
                Sub sub Sub64Reg Sub64Imm Sub32Reg Sub32Imm;
                Mul mul Mul64Reg Mul64Imm Mul32Reg Mul32Imm;
                Div div Div64Reg Div64Imm Div32Reg Div32Imm;
                SignedDiv sdiv Sdiv64Reg Sdiv64Imm Sdiv32Reg Sdiv32Imm;
                Mod modulo Mod64Reg Mod64Imm Mod32Reg Mod32Imm;
                SignedMod smod Smod64Reg Smod64Imm Smod32Reg Smod32Imm;
                Or or Or64Reg Or64Imm Or32Reg Or32Imm;
                And and And64Reg And64Imm And32Reg And32Imm;
                Xor xor Xor64Reg Xor64Imm Xor32Reg Xor32Imm;
                Lsh lsh Lsh64Reg Lsh64Imm Lsh32Reg Lsh32Imm;
                Rsh rsh Rsh64Reg Rsh64Imm Rsh32Reg Rsh32Imm;
                Arsh arsh Arsh64Reg Arsh64Imm Arsh32Reg Arsh32Imm;
                Mov mov Mov64Reg Mov64Imm Mov32Reg Mov32Imm;
            }
            compare {
                Eq jeq Jeq64Reg Jeq64Imm Jeq32Reg Jeq32Imm;
                Ne jne Jne64Reg Jne64Imm Jne32Reg Jne32Imm;
                Set jset Jset64Reg Jset64Imm Jset32Reg Jset32Imm;
                Gt jgt Jgt64Reg Jgt64Imm Jgt32Reg Jgt32Imm;
                Ge jge Jge64Reg Jge64Imm Jge32Reg Jge32Imm;
                Lt jlt Jlt64Reg Jlt64Imm Jlt32Reg Jlt32Imm;
                Le jle Jle64Reg Jle64Imm Jle32Reg Jle32Imm;
                SignedGt jsgt Jsgt64Reg Jsgt64Imm Jsgt32Reg Jsgt32Imm;
                SignedGe jsge Jsge64Reg Jsge64Imm Jsge32Reg Jsge32Imm;
                SignedLt jslt Jslt64Reg Jslt64Imm Jslt32Reg Jslt32Imm;
                SignedLe jsle Jsle64Reg Jsle64Imm Jsle32Reg Jsle32Imm;
            }
        }
    };
}
pub(crate) use decode::is_conditional;
pub(crate) use with_operations;

/// Declares [`Op`] and the functions that choose an operation of the table.
macro_rules! declare {
    (
        ()
        alu { $($alu:ident $f:ident $ar:ident $ai:ident $aw:ident $ax:ident;)* }
        compare { $($cond:ident $g:ident $cr:ident $ci:ident $cw:ident $cx:ident;)* }
    ) => {
        /// What an instruction does.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Op {
            $($ar, $ai, $aw, $ax,)*
            $($cr, $ci, $cw, $cx,)*
            /// `dst = conversion(src)`.
            Convert(Conversion),
            /// `dst = src` between an arena's two address spaces; `imm` 1: to the kernel's, else to user space's.
            AddrSpaceCast,
            /// `dst = imm`, all 64 bits.
            LoadImm,
            /// `dst = *(src + off)`, zero-extended.
            Load8, Load16, Load32, Load64,
            /// `dst = *(src + off)`, sign-extended.
            LoadSigned8, LoadSigned16, LoadSigned32,
            /// `*(dst + off) = src`.
            Store8, Store16, Store32, Store64,
            /// `*(dst + off) = imm`.
            StoreImm8, StoreImm16, StoreImm32, StoreImm64,
            /// Change `*(dst + off)` by `src`; if `imm` is 1, also fetch the value from before.
            Atomic32(Atomic), Atomic64(Atomic),
            /// Jump by `off`.
            Ja,
            /// Jump by `off` once this frame's loops have used up their iterations; until then, count one iteration.
            MayGoto,
            /// Call the function whose first instruction is number `imm`.
            Call,
            /// Call the helper or kernel function number `imm` of [`Code`](crate::interp::Code).
            CallBuiltin,
            /// The same of a function that is [plain](crate::plain).
            CallPlain,
            /// Call the host's kernel function number `imm`.
            CallHost,
            Exit,
            /// Fault with reason number `imm` of [`Code`](crate::interp::Code).
            Poison,
        }

        /// Arithmetic of two operands.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Alu { $($alu),* }

        impl Alu {
            /// The instruction for these operands.
            fn op(self, wide: bool, register: bool) -> Op {
                match (self, wide, register) {
                    $(
                        (Self::$alu, true, true) => Op::$ar,
                        (Self::$alu, true, false) => Op::$ai,
                        (Self::$alu, false, true) => Op::$aw,
                        (Self::$alu, false, false) => Op::$ax,
                    )*
                }
            }
        }

        /// When a conditional jump jumps.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Condition { $($cond),* }

        impl Condition {
            /// The instruction for these operands.
            fn op(self, wide: bool, register: bool) -> Op {
                match (self, wide, register) {
                    $(
                        (Self::$cond, true, true) => Op::$cr,
                        (Self::$cond, true, false) => Op::$ci,
                        (Self::$cond, false, true) => Op::$cw,
                        (Self::$cond, false, false) => Op::$cx,
                    )*
                }
            }
        }
    };
}
with_operations!(declare());

/// A decoded instruction: 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Insn {
    pub op: Op,
    /// Number of the destination register: at most 10, below 16 for the bounds checks.
    pub dst: u8,
    /// Number of the source register: at most 10, below 16 for the bounds checks.
    pub src: u8,
    /// Offset of an address in bytes; distance of a jump in decoded instructions, from the next one on.
    pub off: i32,
    /// Immediate operand, sign-extended.
    pub imm: u64,
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_decoded_instruction_has_16_bytes() {
        assert_eq!(size_of::<super::Insn>(), 16);
    }
}
