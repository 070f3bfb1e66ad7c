// SPDX-License-Identifier: MIT OR Apache-2.0
//! From the encoding of RFC 9669, section 3, to `Insn`.
//!
//! A mistake in one instruction poisons that instruction: executing it is a fault. An object may contain code for
//! kernels other than this one, and only instructions that run must make sense. A jump to anything but an instruction
//! of its function is an error of the whole function.

use super::{Alu, Condition, Insn, Op};
use crate::host::Builtin;
use crate::ops::{Atomic, Conversion};
use crate::plain;

/// What loading found out about an instruction that refers to something: the second operand of `ld_imm64`, or a callee.
#[derive(Debug, Clone)]
pub enum Resolved {
    /// The value that `ld_imm64` loads.
    Value(u64),
    /// Call the function of this number in the instance; with `ld_imm64`, its address.
    Callee(usize),
    /// Call a helper or kernel function of this crate.
    Builtin(Builtin),
    /// Call the host's kernel function of this number.
    HostKfunc(u32),
    /// The instruction cannot work; the text says why.
    Poison(String),
}

/// Why a function cannot be decoded at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The function's bytes are not a whole number of instructions, or there are none.
    #[error("function {function}: {bytes} bytes are no instructions (8 bytes each)")]
    Length {
        /// The function's name.
        function: String,
        /// The function's size in bytes.
        bytes: usize,
    },
    /// A jump leaves its function, or goes into the middle of `ld_imm64`.
    #[error("function {function}, instruction {slot}: jump to {target}, which is no instruction of the function")]
    Jump {
        /// The function's name.
        function: String,
        /// Number of the jump in the function.
        slot: usize,
        /// Number of the slot that the jump goes to.
        target: i64,
    },
    /// A call of a function that was never added.
    #[error("call of function {0}, which does not exist")]
    Callee(usize),
}

/// An instruction's fields.
#[derive(Debug, Clone, Copy)]
struct Raw {
    code: u8,
    dst: u8,
    src: u8,
    off: i16,
    imm: i32,
}

impl Raw {
    fn new([code, registers, off0, off1, imm @ ..]: [u8; 8]) -> Self {
        let (dst, src) = (registers & 15, registers >> 4);
        Self { code, dst, src, off: i16::from_le_bytes([off0, off1]), imm: i32::from_le_bytes(imm) }
    }

    fn class(self) -> u8 {
        self.code & 7
    }

    /// Whether the second operand is a register.
    fn by_register(self) -> bool {
        self.code & 8 != 0
    }
}

/// Instruction classes.
mod class {
    pub const LD: u8 = 0;
    pub const LDX: u8 = 1;
    pub const ST: u8 = 2;
    pub const STX: u8 = 3;
    pub const ALU: u8 = 4;
    pub const JMP: u8 = 5;
    pub const JMP32: u8 = 6;
    pub const ALU64: u8 = 7;
}

const LD_IMM64: u8 = 0x18;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const MAY_GOTO: u8 = 0xe5;
/// Frame pointer, which no instruction may write.
const R10: u8 = 10;

/// What decoding a function needs, and where the things that the function refers to are kept.
pub(crate) struct Decoder<'d> {
    pub function: &'d str,
    pub helpers: &'d dyn Fn(i32) -> Option<Builtin>,
    pub resolve: &'d dyn Fn(usize) -> Option<Resolved>,
    pub builtins: &'d mut Vec<Builtin>,
    pub reasons: &'d mut Vec<String>,
}

/// A decoded function.
pub(crate) struct Decoded {
    pub insns: Vec<Insn>,
    /// For each decoded instruction, its number in the encoded function.
    pub slots: Vec<u32>,
}

/// Why an instruction is poisoned.
type Decoding = Result<Insn, String>;

impl Decoder<'_> {
    /// Decodes a function's bytes. A call of another function has that function's number in `imm` until all are decoded.
    pub fn decode(mut self, code: &[u8]) -> Result<Decoded, DecodeError> {
        let (raws, rest) = code.as_chunks::<8>();
        if raws.is_empty() || !rest.is_empty() || u32::try_from(raws.len()).is_err() {
            return Err(DecodeError::Length { function: self.function.to_owned(), bytes: code.len() });
        }
        let raws: Vec<Raw> = raws.iter().map(|raw| Raw::new(*raw)).collect();
        let (slots, index) = number(&raws);
        let mut insns = Vec::with_capacity(slots.len() + 1);
        for slot in &slots {
            let slot = *slot as usize;
            let insn = self.insn(&raws, slot).unwrap_or_else(|reason| self.poison(reason));
            insns.push(self.link_jump(&raws, &index, slot, insn)?);
        }
        let mut decoded = Decoded { insns, slots };
        if !matches!(decoded.insns.last(), Some(Insn { op: Op::Exit | Op::Ja | Op::Poison, .. })) {
            decoded.insns.push(self.poison(format!("{} runs over its end", self.function)));
            decoded.slots.push(raws.len() as u32 - 1);
        }
        Ok(decoded)
    }

    fn poison(&mut self, reason: String) -> Insn {
        self.reasons.push(reason);
        Insn { op: Op::Poison, dst: 0, src: 0, off: 0, imm: self.reasons.len() as u64 - 1 }
    }

    /// Turns a jump's distance from slots to decoded instructions.
    fn link_jump(&self, raws: &[Raw], index: &[u32], slot: usize, insn: Insn) -> Result<Insn, DecodeError> {
        if !matches!(insn.op, Op::Ja | Op::MayGoto) && !is_conditional(insn.op) {
            return Ok(insn);
        }
        let raw = raws[slot];
        let distance = if insn.op == Op::Ja && raw.class() == class::JMP32 { raw.imm } else { i32::from(raw.off) };
        let target = slot as i64 + 1 + i64::from(distance);
        let place = usize::try_from(target).ok().and_then(|target| index.get(target)).filter(|at| **at != HOLE);
        let Some(place) = place else {
            return Err(DecodeError::Jump { function: self.function.to_owned(), slot, target });
        };
        Ok(Insn { off: (i64::from(*place) - i64::from(index[slot]) - 1) as i32, ..insn })
    }

    fn insn(&mut self, raws: &[Raw], slot: usize) -> Decoding {
        let raw = raws[slot];
        if raw.dst > R10 || raw.src > R10 {
            return Err(format!("register r{} does not exist", raw.dst.max(raw.src)));
        }
        if let Some(Resolved::Poison(reason)) = (self.resolve)(slot) {
            return Err(reason);
        }
        match raw.class() {
            class::LD => self.ld(raws, slot),
            class::LDX => ldx(raw),
            class::ST => st(raw),
            class::STX if raw.code & 0xe0 == 0xc0 => atomic(raw),
            class::STX => stx(raw),
            class::ALU | class::ALU64 => alu(raw),
            _ if raw.code & 0xf0 == 0x80 => self.call(raw, slot),
            _ => jump(raw),
        }
    }

    /// `ld_imm64`, which takes two slots.
    fn ld(&mut self, raws: &[Raw], slot: usize) -> Decoding {
        let raw = raws[slot];
        if raw.code != LD_IMM64 {
            return Err(match raw.code & 0xe0 {
                0x20 | 0x40 => format!("legacy packet access {:#04x} is not supported", raw.code),
                _ => unknown(raw),
            });
        }
        let Some(high) = raws.get(slot + 1) else {
            return Err("ld_imm64 without its second half".to_owned());
        };
        if raw.off != 0 || high.code != 0 || high.dst != 0 || high.src != 0 || high.off != 0 {
            return Err(reserved(raw));
        }
        writable(raw.dst)?;
        let value = u64::from(raw.imm as u32) | u64::from(high.imm as u32) << 32;
        let imm = match (self.resolve)(slot) {
            Some(Resolved::Value(value)) => value,
            Some(Resolved::Callee(function)) => crate::interp::code_address(function),
            Some(_) => return Err("ld_imm64 of a helper or kernel function".to_owned()),
            None if raw.src == 0 => value,
            None => return Err(format!("ld_imm64 of kind {} that nothing resolves", raw.src)),
        };
        Ok(Insn { op: Op::LoadImm, dst: raw.dst, src: 0, off: 0, imm })
    }

    fn call(&mut self, raw: Raw, slot: usize) -> Decoding {
        if raw.code != CALL {
            return Err(if raw.code == CALL | 8 { "callx is not supported".to_owned() } else { unknown(raw) });
        }
        // `off` of a call of a kernel function says which module has it; names have replaced that.
        if raw.dst != 0 || raw.off != 0 && raw.src != 2 {
            return Err(reserved(raw));
        }
        let (op, imm) = match (self.resolve)(slot) {
            Some(Resolved::Callee(function)) => (Op::Call, function as u64),
            Some(Resolved::Builtin(builtin)) => self.builtin(builtin),
            Some(Resolved::HostKfunc(kfunc)) => (Op::CallHost, u64::from(kfunc)),
            Some(Resolved::Value(value)) => return Err(format!("call of the value {value:#x}")),
            Some(Resolved::Poison(reason)) => return Err(reason),
            None if raw.src == 0 => match (self.helpers)(raw.imm) {
                Some(builtin) => self.builtin(builtin),
                None => return Err(format!("unknown helper {}", raw.imm)),
            },
            None => return Err(format!("call of kind {} that nothing resolves", raw.src)),
        };
        Ok(Insn { op, dst: 0, src: 0, off: 0, imm })
    }

    fn builtin(&mut self, builtin: Builtin) -> (Op, u64) {
        self.builtins.push(builtin);
        let op = if plain::is(builtin) { Op::CallPlain } else { Op::CallBuiltin };
        (op, self.builtins.len() as u64 - 1)
    }
}

/// Mark of the second half of `ld_imm64` among [`number`]'s indices.
const HOLE: u32 = u32::MAX;

/// The slots where instructions begin, and by slot the number of the instruction.
fn number(raws: &[Raw]) -> (Vec<u32>, Vec<u32>) {
    let (mut slots, mut index) = (Vec::with_capacity(raws.len()), vec![HOLE; raws.len()]);
    let mut slot = 0;
    while let Some(raw) = raws.get(slot) {
        index[slot] = slots.len() as u32;
        slots.push(slot as u32);
        slot += if raw.code == LD_IMM64 { 2 } else { 1 };
    }
    (slots, index)
}

/// Splits code without symbols into functions: the numbers of the slots where a function begins. As in the kernel, each
/// slot that a call or an address-taking `ld_imm64` refers to (by a distance from the next instruction) begins one.
pub(crate) fn function_starts(code: &[u8]) -> Vec<usize> {
    let slots = code.len() / 8;
    let mut starts: Vec<usize> = (0..slots).filter_map(|slot| callee_slot(code, slot)).collect();
    starts.push(0);
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// The slot that a call of a local function means, or an address of one, in code without relocations.
pub(crate) fn callee_slot(code: &[u8], slot: usize) -> Option<usize> {
    let (raws, _) = code.as_chunks::<8>();
    let raw = Raw::new(*raws.get(slot)?);
    if (raw.code, raw.src) != (CALL, 1) && (raw.code, raw.src) != (LD_IMM64, 4) {
        return None;
    }
    usize::try_from(slot as i64 + 1 + i64::from(raw.imm)).ok().filter(|target| *target < raws.len())
}

pub(crate) fn is_conditional(op: Op) -> bool {
    macro_rules! conditional {
        (() alu $alu:tt compare { $($cond:ident $g:ident $r:ident $i:ident $w:ident $x:ident;)* }) => {
            matches!(op, $(Op::$r | Op::$i | Op::$w | Op::$x)|*)
        };
    }
    super::with_operations!(conditional())
}

fn unknown(raw: Raw) -> String {
    format!("unknown instruction {:#04x}", raw.code)
}

fn reserved(raw: Raw) -> String {
    format!("instruction {:#04x} uses a reserved field", raw.code)
}

fn writable(register: u8) -> Result<(), String> {
    if register == R10 { Err("write to r10, the frame pointer".to_owned()) } else { Ok(()) }
}

/// The size of a memory access, as one of four.
fn by_size(raw: Raw, [byte, half, word, double]: [Op; 4]) -> Op {
    match raw.code & 0x18 {
        0x10 => byte,
        0x08 => half,
        0x00 => word,
        _ => double,
    }
}

fn ldx(raw: Raw) -> Decoding {
    let op = match raw.code & 0xe0 {
        0x60 => by_size(raw, [Op::Load8, Op::Load16, Op::Load32, Op::Load64]),
        0x80 if raw.code & 0x18 != 0x18 => {
            by_size(raw, [Op::LoadSigned8, Op::LoadSigned16, Op::LoadSigned32, Op::Poison])
        }
        _ => return Err(unknown(raw)),
    };
    if raw.imm != 0 {
        return Err(reserved(raw));
    }
    writable(raw.dst)?;
    Ok(Insn { op, dst: raw.dst, src: raw.src, off: raw.off.into(), imm: 0 })
}

fn st(raw: Raw) -> Decoding {
    if raw.code & 0xe0 != 0x60 {
        return Err(unknown(raw));
    }
    if raw.src != 0 {
        return Err(reserved(raw));
    }
    let op = by_size(raw, [Op::StoreImm8, Op::StoreImm16, Op::StoreImm32, Op::StoreImm64]);
    Ok(Insn { op, dst: raw.dst, src: 0, off: raw.off.into(), imm: raw.imm as u64 })
}

fn stx(raw: Raw) -> Decoding {
    if raw.code & 0xe0 != 0x60 {
        return Err(unknown(raw));
    }
    if raw.imm != 0 {
        return Err(reserved(raw));
    }
    let op = by_size(raw, [Op::Store8, Op::Store16, Op::Store32, Op::Store64]);
    Ok(Insn { op, dst: raw.dst, src: raw.src, off: raw.off.into(), imm: 0 })
}

fn atomic(raw: Raw) -> Decoding {
    let unknown = || format!("unknown atomic operation {:#x} of instruction {:#04x}", raw.imm, raw.code);
    match raw.imm {
        // Load-acquire and store-release, of all sizes: in one thread they are a plain load and store.
        0x100 => return ldx(Raw { code: 0x60 | raw.code & 0x18 | class::LDX, imm: 0, ..raw }),
        0x110 => return stx(Raw { code: 0x60 | raw.code & 0x18 | class::STX, imm: 0, ..raw }),
        _ => {}
    }
    let atomic = match raw.imm & !1 {
        0x00 => Atomic::Add,
        0x40 => Atomic::Or,
        0x50 => Atomic::And,
        0xa0 => Atomic::Xor,
        0xe0 if raw.imm & 1 != 0 => Atomic::Exchange,
        0xf0 if raw.imm & 1 != 0 => Atomic::CompareExchange,
        _ => return Err(unknown()),
    };
    let op = match raw.code & 0x18 {
        0x00 => Op::Atomic32(atomic),
        0x18 => Op::Atomic64(atomic),
        _ => return Err(unknown()),
    };
    let fetch = raw.imm & 1;
    if fetch != 0 && atomic != Atomic::CompareExchange {
        writable(raw.src)?;
    }
    Ok(Insn { op, dst: raw.dst, src: raw.src, off: raw.off.into(), imm: fetch as u64 })
}

fn alu(raw: Raw) -> Decoding {
    writable(raw.dst)?;
    let alu = match (raw.code & 0xf0, raw.off) {
        (0x00, 0) => Alu::Add,
        (0x10, 0) => Alu::Sub,
        (0x20, 0) => Alu::Mul,
        (0x30, 0) => Alu::Div,
        (0x30, 1) => Alu::SignedDiv,
        (0x40, 0) => Alu::Or,
        (0x50, 0) => Alu::And,
        (0x60, 0) => Alu::Lsh,
        (0x70, 0) => Alu::Rsh,
        (0x80, _) => return negate(raw),
        (0x90, 0) => Alu::Mod,
        (0x90, 1) => Alu::SignedMod,
        (0xa0, 0) => Alu::Xor,
        (0xb0, 0) => Alu::Mov,
        (0xb0, _) => return move_extended(raw),
        (0xc0, 0) => Alu::Arsh,
        (0xd0, _) => return swap(raw),
        (0xe0.., _) => return Err(unknown(raw)),
        _ => return Err(reserved(raw)),
    };
    two_operands(raw, alu.op(raw.class() == class::ALU64, raw.by_register()))
}

/// Arithmetic or a comparison, whose unused operand must be zero.
fn two_operands(raw: Raw, op: Op) -> Decoding {
    let unused = if raw.by_register() { raw.imm } else { raw.src.into() };
    if unused != 0 {
        return Err(reserved(raw));
    }
    Ok(Insn { op, dst: raw.dst, src: raw.src, off: 0, imm: raw.imm as u64 })
}

fn negate(raw: Raw) -> Decoding {
    if raw.by_register() || raw.src != 0 || raw.off != 0 || raw.imm != 0 {
        return Err(reserved(raw));
    }
    let conversion = if raw.class() == class::ALU64 { Conversion::Neg64 } else { Conversion::Neg32 };
    Ok(Insn { op: Op::Convert(conversion), dst: raw.dst, src: raw.dst, off: 0, imm: 0 })
}

/// `movsx`, and the move between an arena's address spaces.
fn move_extended(raw: Raw) -> Decoding {
    let wide = raw.class() == class::ALU64;
    if wide && raw.by_register() && raw.off == 1 && matches!(raw.imm, 1 | 0x10000) {
        return Ok(Insn { op: Op::AddrSpaceCast, dst: raw.dst, src: raw.src, off: 0, imm: raw.imm as u64 });
    }
    let conversion = match (wide, raw.off) {
        (true, 8) => Conversion::Sign8,
        (true, 16) => Conversion::Sign16,
        (true, 32) => Conversion::Sign32,
        (false, 8) => Conversion::Sign8To32,
        (false, 16) => Conversion::Sign16To32,
        _ => return Err(reserved(raw)),
    };
    if !raw.by_register() || raw.imm != 0 {
        return Err(reserved(raw));
    }
    Ok(Insn { op: Op::Convert(conversion), dst: raw.dst, src: raw.src, off: 0, imm: 0 })
}

/// `le`, `be` (32-bit class; the register bit says which) and `bswap` (64-bit class).
fn swap(raw: Raw) -> Decoding {
    let wide = raw.class() == class::ALU64;
    let conversion = match (raw.imm, wide || raw.by_register()) {
        (16, false) => Conversion::Little16,
        (32, false) => Conversion::Little32,
        (64, false) => Conversion::Little64,
        (16, true) => Conversion::Swap16,
        (32, true) => Conversion::Swap32,
        (64, true) => Conversion::Swap64,
        _ => return Err(format!("byte swap of {} bits", raw.imm)),
    };
    if raw.src != 0 || raw.off != 0 || wide && raw.by_register() {
        return Err(reserved(raw));
    }
    Ok(Insn { op: Op::Convert(conversion), dst: raw.dst, src: raw.dst, off: 0, imm: 0 })
}

fn jump(raw: Raw) -> Decoding {
    let condition = match raw.code & 0xf0 {
        0x00 => return unconditional(raw),
        0x10 => Condition::Eq,
        0x20 => Condition::Gt,
        0x30 => Condition::Ge,
        0x40 => Condition::Set,
        0x50 => Condition::Ne,
        0x60 => Condition::SignedGt,
        0x70 => Condition::SignedGe,
        0x90 => return exit(raw),
        0xa0 => Condition::Lt,
        0xb0 => Condition::Le,
        0xc0 => Condition::SignedLt,
        0xd0 => Condition::SignedLe,
        _ => return may_goto(raw),
    };
    two_operands(raw, condition.op(raw.class() == class::JMP, raw.by_register()))
}

/// `ja` by `off`, or in the 32-bit class (`gotol`) by `imm`.
fn unconditional(raw: Raw) -> Decoding {
    if raw.by_register() {
        return Err(unknown(raw));
    }
    let unused = if raw.class() == class::JMP { raw.imm } else { raw.off.into() };
    if unused != 0 || raw.dst != 0 || raw.src != 0 {
        return Err(reserved(raw));
    }
    Ok(Insn { op: Op::Ja, dst: 0, src: 0, off: 0, imm: 0 })
}

fn exit(raw: Raw) -> Decoding {
    if raw.code != EXIT {
        return Err(unknown(raw));
    }
    if raw.dst != 0 || raw.src != 0 || raw.off != 0 || raw.imm != 0 {
        return Err(reserved(raw));
    }
    Ok(Insn { op: Op::Exit, dst: 0, src: 0, off: 0, imm: 0 })
}

fn may_goto(raw: Raw) -> Decoding {
    if raw.code != MAY_GOTO {
        return Err(unknown(raw));
    }
    if raw.dst != 0 || raw.src != 0 || raw.imm != 0 {
        return Err(reserved(raw));
    }
    Ok(Insn { op: Op::MayGoto, dst: 0, src: 0, off: 0, imm: 0 })
}
