// SPDX-License-Identifier: MIT OR Apache-2.0
//! Puts a value into an instruction.

use super::{CoreError, CoreValue};

/// Lowest three bits of an operation code.
const CLASS: u8 = 0x07;
/// Classes of instructions.
const LD: u8 = 0x00;
const LDX: u8 = 0x01;
const ST: u8 = 0x02;
const STX: u8 = 0x03;
const ALU: u8 = 0x04;
const ALU64: u8 = 0x07;
/// The bit of an arithmetic operation code that says that the operand is a register.
const SOURCE_REGISTER: u8 = 0x08;
/// The bits of a load's or store's operation code that say how many bytes.
const SIZE: u8 = 0x18;
/// `ld_imm64`.
const LD_IMM64: u8 = 0x18;

impl CoreValue {
    /// Puts the value into slot `insn` of a function: into the immediate of arithmetic or of `ld_imm64`, or into the
    /// offset of a load or store, whose size follows the field's. Returns why the instruction must not run, if it must
    /// not: it loads a field whose size differs and whose sign would be lost.
    ///
    /// # Errors
    /// The instruction is of a kind that no relocation changes, does not have the old value, or has no room for the new
    /// one.
    pub fn patch(&self, code: &mut [u8], insn: usize) -> Result<Option<String>, CoreError> {
        let missing = CoreError::Instruction { insn, code: 0 };
        let rest = insn.checked_mul(8).and_then(|at| code.get_mut(at..)).ok_or(missing.clone())?;
        let (slot, rest) = rest.split_first_chunk_mut::<8>().ok_or(missing)?;
        let unknown = Err(CoreError::Instruction { insn, code: slot[0] });
        match slot[0] & CLASS {
            ALU | ALU64 if slot[0] & SOURCE_REGISTER == 0 => self.patch_immediate(slot, insn),
            LDX | ST | STX => self.patch_offset(slot, insn),
            LD if slot[0] == LD_IMM64 => match rest.first_chunk_mut::<8>() {
                Some(second) if second[..4] == [0; 4] && slot[1] >> 4 == 0 => {
                    self.patch_immediate64(slot, second, insn)
                }
                _ => unknown,
            },
            _ => unknown,
        }
    }

    fn expect(&self, insn: usize, found: u64, matches: bool) -> Result<(), CoreError> {
        if self.check && !matches {
            return Err(CoreError::Unexpected { insn, found, expected: self.old });
        }
        Ok(())
    }

    fn patch_immediate(&self, slot: &mut [u8; 8], insn: usize) -> Result<Option<String>, CoreError> {
        let found = i32::from_le_bytes([slot[4], slot[5], slot[6], slot[7]]);
        // The instruction has only the lower half of the old value, so the upper half cannot be compared.
        self.expect(insn, found as u64, found as u32 == self.old as u32)?;
        slot[4..].copy_from_slice(&(self.new as u32).to_le_bytes());
        Ok(None)
    }

    fn patch_immediate64(
        &self,
        slot: &mut [u8; 8],
        second: &mut [u8; 8],
        insn: usize,
    ) -> Result<Option<String>, CoreError> {
        let found =
            u64::from_le_bytes([slot[4], slot[5], slot[6], slot[7], second[4], second[5], second[6], second[7]]);
        self.expect(insn, found, found == self.old || found == u64::from(self.old as u32))?;
        let [a, b, c, d, e, f, g, h] = self.new.to_le_bytes();
        slot[4..].copy_from_slice(&[a, b, c, d]);
        second[4..].copy_from_slice(&[e, f, g, h]);
        Ok(None)
    }

    fn patch_offset(&self, slot: &mut [u8; 8], insn: usize) -> Result<Option<String>, CoreError> {
        let found = i16::from_le_bytes([slot[2], slot[3]]);
        self.expect(insn, found as u64, i64::from(found) as u64 == self.old)?;
        let too_big = CoreError::TooBig { insn, value: self.new };
        let offset = i16::try_from(self.new).map_err(|_| too_big)?;
        if let Some(resize) = self.resize {
            if !resize.safe {
                let (old, new) = (resize.old, resize.new);
                return Ok(Some(format!(
                    "the field has {old} bytes in the object, {new} in the kernel, and may be signed"
                )));
            }
            let bytes = match slot[0] & SIZE {
                0x00 => 4,
                0x08 => 2,
                0x10 => 1,
                _ => 8,
            };
            if bytes != resize.old {
                return Err(CoreError::Unexpected { insn, found: bytes, expected: resize.old });
            }
            let size = match resize.new {
                4 => 0x00,
                2 => 0x08,
                1 => 0x10,
                8 => 0x18,
                value => return Err(CoreError::TooBig { insn, value }),
            };
            slot[0] = slot[0] & !SIZE | size;
        }
        slot[2..4].copy_from_slice(&offset.to_le_bytes());
        Ok(None)
    }
}
