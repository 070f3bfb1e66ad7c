// SPDX-License-Identifier: MIT OR Apache-2.0
//! BTF: the types of an object or of a kernel.

/// Number of a type in its [`Btf`]; 0 is `void`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct TypeId(pub u32);

/// All types of an object or a kernel.
#[derive(Debug, Clone, Default)]
pub struct Btf {}
