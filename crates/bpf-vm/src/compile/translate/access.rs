// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory: loads and stores, each checked by the arena's shadow, and atomic changes.
//!
//! The check is [`Memory`](crate::memory::Memory)'s for an access within one granule. Any other access, to pages of a BPF arena
//! for instance, is left to that type.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, Value};

use super::{ARENA, Call, Context, FRAMES_AND_SHADOW, Translator};
use crate::insn::{Insn, Op};
use crate::interp::{Fetched, STACK_SIZE, fetched};
use crate::memory::{BASE, GRANULE, LENGTH, WRITABLE};
use crate::ops::{Atomic, Conversion};

/// Register of the frame pointer, which no instruction writes.
const R10: u8 = 10;

/// Where an access goes.
#[derive(Debug, Clone, Copy)]
struct Access {
    /// Register with the address.
    base: u8,
    /// What is added, in bytes.
    off: i64,
    /// Bytes: 1, 2, 4 or 8.
    size: u64,
}

impl Access {
    /// Whether the bytes are certainly the function's own stack, which it may read and write.
    fn is_on_stack(self) -> bool {
        self.base == R10 && self.off >= -(STACK_SIZE as i64) && self.off <= -(self.size as i64)
    }
}

impl Translator<'_, '_> {
    /// An instruction that reads or writes memory.
    pub(super) fn memory(&mut self, insn: Insn) {
        let signed = |conversion| Some(conversion);
        match insn.op {
            Op::Load8 => self.load(insn, 1, None),
            Op::Load16 => self.load(insn, 2, None),
            Op::Load32 => self.load(insn, 4, None),
            Op::Load64 => self.load(insn, 8, None),
            Op::LoadSigned8 => self.load(insn, 1, signed(Conversion::Sign8)),
            Op::LoadSigned16 => self.load(insn, 2, signed(Conversion::Sign16)),
            Op::LoadSigned32 => self.load(insn, 4, signed(Conversion::Sign32)),
            Op::Store8 => self.store(insn, 1, false),
            Op::Store16 => self.store(insn, 2, false),
            Op::Store32 => self.store(insn, 4, false),
            Op::Store64 => self.store(insn, 8, false),
            Op::StoreImm8 => self.store(insn, 1, true),
            Op::StoreImm16 => self.store(insn, 2, true),
            Op::StoreImm32 => self.store(insn, 4, true),
            Op::StoreImm64 => self.store(insn, 8, true),
            Op::Atomic32(by) => self.atomic(insn, (by, 4)),
            Op::Atomic64(by) => self.atomic(insn, (by, 8)),
            op => unreachable!("{op:?} is no access to memory"),
        }
    }

    fn load(&mut self, insn: Insn, size: u64, conversion: Option<Conversion>) {
        let access = Access { base: insn.src, off: insn.off.into(), size };
        let value = if access.is_on_stack() {
            let offset = self.arena_offset(access);
            self.load_arena(offset, size)
        } else {
            self.load_checked(access)
        };
        let value = conversion.map_or(value, |conversion| self.convert(conversion, value));
        self.set(insn.dst, value);
    }

    fn load_checked(&mut self, access: Access) -> Value {
        let offset = self.arena_offset(access);
        let (far, done) = (self.cold_block(), self.builder.create_block());
        let result = self.builder.append_block_param(done, I64);
        self.check(offset, access.size, 0, far);
        let value = self.load_arena(offset, access.size);
        self.builder.ins().jump(done, &[value.into()]);

        self.builder.switch_to_block(far);
        let (address, size) = (self.address(access), self.constant(access.size));
        let (place, left) = (self.place(), self.left_now());
        let (value, fault) = self.call_outer(Call::Load, &[self.context, address, size, place, left]);
        self.unless_fault(fault.expect("load has two results"));
        self.builder.ins().jump(done, &[value.expect("load has two results").into()]);
        self.builder.switch_to_block(done);
        result
    }

    fn store(&mut self, insn: Insn, size: u64, immediate: bool) {
        let access = Access { base: insn.dst, off: insn.off.into(), size };
        let value = if immediate { self.constant(insn.imm) } else { self.register(insn.src) };
        let offset = self.arena_offset(access);
        if access.is_on_stack() {
            self.store_arena(offset, value, size);
            return;
        }
        let (far, done) = (self.cold_block(), self.builder.create_block());
        self.check(offset, size, WRITABLE, far);
        self.store_arena(offset, value, size);
        self.builder.ins().jump(done, &[]);

        self.builder.switch_to_block(far);
        let (address, size) = (self.address(access), self.constant(size));
        let (place, left) = (self.place(), self.left_now());
        let (fault, _) = self.call_outer(Call::Store, &[self.context, address, value, size, place, left]);
        self.unless_fault(fault.expect("store has a result"));
        self.builder.ins().jump(done, &[]);
        self.builder.switch_to_block(done);
    }

    /// An atomic change, which is one by being made in one step: nothing else runs meanwhile.
    fn atomic(&mut self, insn: Insn, (by, size): (Atomic, u64)) {
        let access = Access { base: insn.dst, off: insn.off.into(), size };
        let offset = self.arena_offset(access);
        let (src, r0) = (self.register(insn.src), self.register(0));
        let (far, done) = (self.cold_block(), self.builder.create_block());
        let result = self.builder.append_block_param(done, I64);
        self.check(offset, size, WRITABLE, far);
        let old = self.load_arena(offset, size);
        let new = self.changed(by, old, src, (r0, size));
        self.store_arena(offset, new, size);
        self.builder.ins().jump(done, &[old.into()]);

        self.builder.switch_to_block(far);
        let address = self.address(access);
        let (place, left) = (self.place(), self.left_now());
        let (old, fault) = self.call_outer(Call::Atomic, &[self.context, address, src, r0, place, left]);
        self.unless_fault(fault.expect("atomic has two results"));
        self.builder.ins().jump(done, &[old.expect("atomic has two results").into()]);
        self.builder.switch_to_block(done);
        match fetched(insn, by) {
            Some(Fetched::R0) => self.set(0, result),
            Some(Fetched::Src) => self.set(insn.src, result),
            None => {}
        }
    }

    /// [`Atomic::apply`], given r0 and the access's size.
    fn changed(&mut self, by: Atomic, old: Value, src: Value, (r0, size): (Value, u64)) -> Value {
        let ins = self.builder.ins();
        match by {
            Atomic::Add => ins.iadd(old, src),
            Atomic::Or => ins.bor(old, src),
            Atomic::And => ins.band(old, src),
            Atomic::Xor => ins.bxor(old, src),
            Atomic::Exchange => src,
            Atomic::CompareExchange => {
                let expected = if size == 8 { r0 } else { self.low_half(r0) };
                let same = self.builder.ins().icmp(IntCC::Equal, old, expected);
                self.builder.ins().select(same, src, old)
            }
        }
    }

    fn address(&mut self, access: Access) -> Value {
        let base = self.register(access.base);
        self.builder.ins().iadd_imm(base, access.off)
    }

    /// The address less that of the arena's first byte.
    fn arena_offset(&mut self, access: Access) -> Value {
        let base = self.register(access.base);
        let distance = self.constant((access.off as u64).wrapping_sub(BASE));
        self.builder.ins().iadd(base, distance)
    }

    /// Continues where all bytes of an access lie in one granule and belong to an object (and `flag` is in its shadow); goes to
    /// `far` otherwise.
    fn check(&mut self, offset: Value, size: u64, flag: u8, far: cranelift_codegen::ir::Block) {
        let granule = self.builder.ins().ushr_imm(offset, i64::from(GRANULE.trailing_zeros()));
        let granules = self.load_context(std::mem::offset_of!(Context<'_>, granules));
        let inside = self.builder.ins().icmp(IntCC::UnsignedLessThan, granule, granules);
        let next = self.builder.create_block();
        self.builder.ins().brif(inside, next, &[], far, &[]);
        self.builder.switch_to_block(next);

        let shadow = self.load_context(std::mem::offset_of!(Context<'_>, shadow));
        let shadow = self.builder.ins().iadd(shadow, granule);
        let shadow = self.builder.ins().uload8(I64, FRAMES_AND_SHADOW, shadow, 0);
        // The flag stands above the length: one comparison tells both.
        let there = self.builder.ins().band_imm(shadow, i64::from(LENGTH | flag));
        let within = self.builder.ins().band_imm(offset, GRANULE as i64 - 1);
        let needed = self.builder.ins().iadd_imm(within, size as i64 + i64::from(flag));
        let allowed = self.builder.ins().icmp(IntCC::UnsignedLessThanOrEqual, needed, there);
        let near = self.builder.create_block();
        self.builder.ins().brif(allowed, near, &[], far, &[]);
        self.builder.switch_to_block(near);
    }

    fn load_arena(&mut self, offset: Value, size: u64) -> Value {
        let bytes = self.load_context(std::mem::offset_of!(Context<'_>, bytes));
        let at = self.builder.ins().iadd(bytes, offset);
        match size {
            1 => self.builder.ins().uload8(I64, ARENA, at, 0),
            2 => self.builder.ins().uload16(I64, ARENA, at, 0),
            4 => self.builder.ins().uload32(ARENA, at, 0),
            _ => self.builder.ins().load(I64, ARENA, at, 0),
        }
    }

    fn store_arena(&mut self, offset: Value, value: Value, size: u64) {
        let bytes = self.load_context(std::mem::offset_of!(Context<'_>, bytes));
        let at = self.builder.ins().iadd(bytes, offset);
        match size {
            1 => self.builder.ins().istore8(ARENA, value, at, 0),
            2 => self.builder.ins().istore16(ARENA, value, at, 0),
            4 => self.builder.ins().istore32(ARENA, value, at, 0),
            _ => self.builder.ins().store(ARENA, value, at, 0),
        };
    }
}
