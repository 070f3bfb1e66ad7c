// SPDX-License-Identifier: MIT OR Apache-2.0
//! The code of an instance: its functions decoded one behind the other, their names and source lines.

use crate::fault::Location;
use crate::host::Builtin;
use crate::insn::decode::{DecodeError, Decoder, Resolved};
use crate::insn::{Insn, Op};

/// Addresses of functions that programs hold begin here, 8 for each function. They lie outside the arena, so no load
/// reads them.
pub const CODE_BASE: u64 = 0xffff_ffff_c000_0000;

/// The address of a function by its number; programs hold it for callbacks.
pub fn code_address(function: usize) -> u64 {
    CODE_BASE.wrapping_add(8 * function as u64)
}

/// Decoded instructions of all functions of an instance, and where each function and source line begins.
#[derive(Debug, Default)]
pub struct Code {
    pub(crate) insns: Vec<Insn>,
    /// For each instruction, its number in its function's encoding.
    slots: Vec<u32>,
    functions: Vec<CodeFunction>,
    pub(super) builtins: Vec<Builtin>,
    /// Reasons of poisoned instructions.
    pub(super) reasons: Vec<String>,
}

#[derive(Debug)]
struct CodeFunction {
    name: String,
    /// Number in [`Code`] of the function's first instruction.
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

    /// How many functions there are.
    pub(crate) fn functions(&self) -> usize {
        self.functions.len()
    }

    /// Numbers of a function's instructions.
    pub(crate) fn instructions(&self, function: usize) -> std::ops::Range<usize> {
        let end = self.functions.get(function + 1).map_or(self.insns.len(), |next| next.start);
        self.functions[function].start..end
    }

    /// Number of the function that begins with an instruction.
    pub(crate) fn beginning_with(&self, start: usize) -> Option<usize> {
        self.functions.binary_search_by_key(&start, |function| function.start).ok()
    }

    /// Whether the same instructions stand in both, function by function: whatever is compiled of one serves for the other.
    pub(crate) fn same_instructions(&self, other: &Self) -> bool {
        let starts = |code: &Self| code.functions.iter().map(|function| function.start).collect::<Vec<_>>();
        std::ptr::eq(self, other) || (self.insns == other.insns && starts(self) == starts(other))
    }

    /// Number of a function's first instruction.
    pub(super) fn start(&self, function: usize) -> Option<usize> {
        Some(self.functions.get(function)?.start)
    }

    /// Number of the function that an instruction is in.
    pub(crate) fn function_of(&self, pc: usize) -> usize {
        self.functions.partition_point(|function| function.start <= pc).saturating_sub(1)
    }

    /// The place of an instruction, with the last source line that begins at or before it.
    pub(crate) fn location(&self, pc: usize) -> Location {
        let Some(function) = self.functions.get(self.function_of(pc)) else {
            return Location::default();
        };
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

    /// Adds a function and returns its number. Given are its encoding with field relocations already applied, its
    /// source lines in ascending order (the function's name in each [`Location`] is not used), and what the instruction
    /// at a slot refers to. A function may refer to later ones.
    ///
    /// # Errors
    /// [`DecodeError`], where the mistake is not in a single instruction.
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

    /// The finished code, with the calls between its functions joined.
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
