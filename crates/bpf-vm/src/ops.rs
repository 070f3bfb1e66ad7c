// SPDX-License-Identifier: MIT OR Apache-2.0
//! The meaning of each operation, as pure functions on values: RFC 9669, sections 4.1 to 4.3 and 5.3.
//!
//! All engines call these, so that each meaning is written once. Registers are 64 bits wide. A 32-bit operation takes
//! the low halves and zero-extends its result; both are up to the caller. The machine is little-endian.

/// A value of one of the two widths that arithmetic and comparisons have.
///
/// No operation fails. Division by zero gives 0, and modulo by zero the dividend. The smallest number divided by −1 is
/// itself. A shift counts modulo the width.
pub trait Word: Copy + Eq + Ord {
    /// `dst + src`, wrapping.
    fn add(self, src: Self) -> Self;
    /// `dst - src`, wrapping.
    fn sub(self, src: Self) -> Self;
    /// `dst * src`, wrapping.
    fn mul(self, src: Self) -> Self;
    /// `dst / src`, unsigned.
    fn div(self, src: Self) -> Self;
    /// `dst / src`, signed, towards zero.
    fn sdiv(self, src: Self) -> Self;
    /// `dst % src`, unsigned.
    fn modulo(self, src: Self) -> Self;
    /// `dst % src`, signed, with the dividend's sign.
    fn smod(self, src: Self) -> Self;
    /// `dst | src`.
    fn or(self, src: Self) -> Self;
    /// `dst & src`.
    fn and(self, src: Self) -> Self;
    /// `dst ^ src`.
    fn xor(self, src: Self) -> Self;
    /// `dst << src`.
    fn lsh(self, src: Self) -> Self;
    /// `dst >> src`, zeros moving in.
    fn rsh(self, src: Self) -> Self;
    /// `dst >> src`, the sign moving in.
    fn arsh(self, src: Self) -> Self;
    /// `src`.
    fn mov(self, src: Self) -> Self;

    /// `dst == src`.
    fn jeq(self, src: Self) -> bool;
    /// `dst != src`.
    fn jne(self, src: Self) -> bool;
    /// Whether `dst & src` has a bit.
    fn jset(self, src: Self) -> bool;
    /// `dst > src`, unsigned.
    fn jgt(self, src: Self) -> bool;
    /// `dst >= src`, unsigned.
    fn jge(self, src: Self) -> bool;
    /// `dst < src`, unsigned.
    fn jlt(self, src: Self) -> bool;
    /// `dst <= src`, unsigned.
    fn jle(self, src: Self) -> bool;
    /// `dst > src`, signed.
    fn jsgt(self, src: Self) -> bool;
    /// `dst >= src`, signed.
    fn jsge(self, src: Self) -> bool;
    /// `dst < src`, signed.
    fn jslt(self, src: Self) -> bool;
    /// `dst <= src`, signed.
    fn jsle(self, src: Self) -> bool;
}

/// One inlined method per operation.
macro_rules! methods {
    ($result:ty: $($name:ident($dst:ident, $src:ident) $body:expr;)*) => {
        $(#[inline(always)] fn $name(self, $src: Self) -> $result { let $dst = self; $body })*
    };
}

macro_rules! word {
    ($unsigned:ident, $signed:ident) => {
        impl Word for $unsigned {
            methods! { Self:
                add(dst, src) dst.wrapping_add(src);
                sub(dst, src) dst.wrapping_sub(src);
                mul(dst, src) dst.wrapping_mul(src);
                div(dst, src) dst.checked_div(src).unwrap_or(0);
                sdiv(dst, src) if src == 0 { 0 } else { (dst as $signed).wrapping_div(src as $signed) as $unsigned };
                modulo(dst, src) dst.checked_rem(src).unwrap_or(dst);
                smod(dst, src) if src == 0 { dst } else { (dst as $signed).wrapping_rem(src as $signed) as $unsigned };
                or(dst, src) dst | src;
                and(dst, src) dst & src;
                xor(dst, src) dst ^ src;
                lsh(dst, src) dst.wrapping_shl(src as u32);
                rsh(dst, src) dst.wrapping_shr(src as u32);
                arsh(dst, src) (dst as $signed).wrapping_shr(src as u32) as $unsigned;
                mov(_dst, src) src;
            }
            methods! { bool:
                jeq(dst, src) dst == src;
                jne(dst, src) dst != src;
                jset(dst, src) dst & src != 0;
                jgt(dst, src) dst > src;
                jge(dst, src) dst >= src;
                jlt(dst, src) dst < src;
                jle(dst, src) dst <= src;
                jsgt(dst, src) dst as $signed > src as $signed;
                jsge(dst, src) dst as $signed >= src as $signed;
                jslt(dst, src) (dst as $signed) < src as $signed;
                jsle(dst, src) dst as $signed <= src as $signed;
            }
        }
    };
}

word!(u64, i64);
word!(u32, i32);

/// An operation on one register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conversion {
    /// 64-bit two's complement.
    Neg64,
    /// 32-bit two's complement.
    Neg32,
    /// `movsx`, 8 bits to 64.
    Sign8,
    /// `movsx`, 16 bits to 64.
    Sign16,
    /// `movsx`, 32 bits to 64.
    Sign32,
    /// `movsx`, 8 bits to 32.
    Sign8To32,
    /// `movsx`, 16 bits to 32.
    Sign16To32,
    /// To little-endian, 16 bits: the low 16 bits as they are.
    Little16,
    /// To little-endian, 32 bits: the low 32 bits as they are.
    Little32,
    /// To little-endian, 64 bits: all bits as they are.
    Little64,
    /// To big-endian, or `bswap16`: the low 16 bits, bytes reversed.
    Swap16,
    /// To big-endian, or `bswap32`: the low 32 bits, bytes reversed.
    Swap32,
    /// To big-endian, or `bswap64`: all bytes reversed.
    Swap64,
}

impl Conversion {
    /// The converted value.
    #[inline(always)]
    pub fn apply(self, value: u64) -> u64 {
        match self {
            Self::Neg64 => value.wrapping_neg(),
            Self::Neg32 => u64::from((value as u32).wrapping_neg()),
            Self::Sign8 => value as i8 as u64,
            Self::Sign16 => value as i16 as u64,
            Self::Sign32 => value as i32 as u64,
            Self::Sign8To32 => u64::from(value as i8 as u32),
            Self::Sign16To32 => u64::from(value as i16 as u32),
            Self::Little16 => u64::from(value as u16),
            Self::Little32 => u64::from(value as u32),
            Self::Little64 => value,
            Self::Swap16 => u64::from((value as u16).swap_bytes()),
            Self::Swap32 => u64::from((value as u32).swap_bytes()),
            Self::Swap64 => value.swap_bytes(),
        }
    }
}

/// An atomic read, change and write of memory. One instance is one thread, so each is atomic by being one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Atomic {
    /// `*memory += src`.
    Add,
    /// `*memory |= src`.
    Or,
    /// `*memory &= src`.
    And,
    /// `*memory ^= src`.
    Xor,
    /// `*memory = src`.
    Exchange,
    /// `*memory = src` if it was `r0`.
    CompareExchange,
}

impl Atomic {
    /// The value that the memory holds afterwards. As many low bytes of the result count as the access has; `old` and
    /// `expected` (r0) must already be cut to this size.
    #[inline(always)]
    pub fn apply(self, old: u64, src: u64, expected: u64) -> u64 {
        match self {
            Self::Add => old.wrapping_add(src),
            Self::Or => old | src,
            Self::And => old & src,
            Self::Xor => old ^ src,
            Self::Exchange => src,
            Self::CompareExchange if old == expected => src,
            Self::CompareExchange => old,
        }
    }
}
