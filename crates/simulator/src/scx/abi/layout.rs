// SPDX-License-Identifier: MIT OR Apache-2.0
//! C structures written once: as Rust types whose layout the compiler computes. Accessors take offsets from them
//! (`offset_of!`), and [`Described`] tells the same offsets to BTF.
//!
//! No value of these types is ever made; what they describe lies in the programs' memory.

use std::marker::PhantomData;

/// What a C type is.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// An integer.
    Int {
        /// C's name.
        name: &'static str,
        /// Bytes.
        size: u64,
        /// Whether it has a sign.
        signed: bool,
    },
    /// A pointer.
    Pointer(fn() -> Kind),
    /// An array.
    Array(fn() -> Kind, u64),
    /// A structure.
    Struct(&'static Composite),
    /// Another name.
    Typedef(&'static str, fn() -> Kind),
    /// An enumeration of the kernel, 32 bits wide.
    Enum(&'static str),
}

/// A structure.
#[derive(Debug)]
pub struct Composite {
    /// C's name.
    pub name: &'static str,
    /// Bytes.
    pub size: u64,
    /// Members, in the order of their offsets. One without a name is private to the simulator.
    pub members: &'static [Member],
}

/// A member of a structure.
#[derive(Debug)]
pub struct Member {
    /// C's name.
    pub name: &'static str,
    /// Bytes from the beginning of the structure.
    pub offset: u64,
    /// Type.
    pub kind: fn() -> Kind,
}

/// A type that C has too.
pub trait Described {
    /// What it is there.
    fn kind() -> Kind;
}

/// A pointer in the programs' memory.
#[repr(transparent)]
pub struct Ptr<T>(u64, PhantomData<*const T>);

/// `char`.
#[repr(transparent)]
pub struct Char(u8);

impl<T: Described> Described for Ptr<T> {
    fn kind() -> Kind {
        Kind::Pointer(T::kind)
    }
}

impl<T: Described, const N: usize> Described for [T; N] {
    fn kind() -> Kind {
        Kind::Array(T::kind, N as u64)
    }
}

macro_rules! integers {
    ($($rust:ty = $name:literal $signed:literal),* $(,)?) => {
        $(impl Described for $rust {
            fn kind() -> Kind {
                Kind::Int { name: $name, size: size_of::<$rust>() as u64, signed: $signed }
            }
        })*
    };
}

integers! {
    Char = "char" true,
    bool = "_Bool" false,
    u8 = "unsigned char" false,
    u16 = "short unsigned int" false,
    u32 = "unsigned int" false,
    i32 = "int" true,
    u64 = "long unsigned int" false,
    i64 = "long int" true,
}

/// Structures: `Rust = "c_name" { member: Type, … }`. A member whose C name is no Rust name has it after `as`; an empty
/// one keeps the member out of BTF.
macro_rules! structures {
    ($($(#[$doc:meta])* $rust:ident = $name:literal {
        $($member:ident $(as $alias:literal)? : $kind:ty),* $(,)?
    })*) => {
        $(
            $(#[$doc])*
            #[repr(C)]
            #[allow(dead_code, missing_docs)] // Members are only asked for their offsets; their names are the kernel's.
            pub struct $rust { $(pub $member: $kind),* }

            impl $crate::scx::abi::layout::Described for $rust {
                fn kind() -> $crate::scx::abi::layout::Kind {
                    #[allow(unused_imports)] // A structure may have no members.
                    use $crate::scx::abi::layout::{Composite, Described, Kind, Member};
                    static COMPOSITE: Composite = Composite {
                        name: $name,
                        size: size_of::<$rust>() as u64,
                        members: &[$(Member {
                            name: $crate::scx::abi::layout::member_name(stringify!($member), &[$($alias)?]),
                            offset: std::mem::offset_of!($rust, $member) as u64,
                            kind: <$kind as Described>::kind,
                        }),*],
                    };
                    Kind::Struct(&COMPOSITE)
                }
            }
        )*
    };
}

pub(crate) use structures;

/// C's name of a member: the one given for it, else Rust's.
pub(crate) const fn member_name(name: &'static str, alias: &[&'static str]) -> &'static str {
    match alias {
        [alias, ..] => alias,
        [] => name,
    }
}
