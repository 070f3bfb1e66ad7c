// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a type is: one variant per kind of BTF.

use super::name::Name;

/// Number of a type in its [`Btf`](super::Btf); 0 is `void`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct TypeId(pub u32);

impl TypeId {
    /// `void`.
    pub const VOID: Self = Self(0);
}

/// A type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// `void`, type 0.
    Void,
    /// An integer, `char` and `bool` included.
    Int(Int),
    /// A pointer.
    Ptr(TypeId),
    /// An array.
    Array(Array),
    /// A structure.
    Struct(Composite),
    /// A union.
    Union(Composite),
    /// An enumeration whose values have at most 32 bits.
    Enum(Enum),
    /// An enumeration with values of 64 bits.
    Enum64(Enum),
    /// A structure (or union) that is only declared.
    Fwd {
        /// The tag of the structure or union.
        name: Name,
        /// Whether a union is declared, not a structure.
        union: bool,
    },
    /// Another name of a type.
    Typedef {
        /// The new name.
        name: Name,
        /// The type that gets the new name.
        target: TypeId,
    },
    /// `const`.
    Const(TypeId),
    /// `volatile`.
    Volatile(TypeId),
    /// `restrict`.
    Restrict(TypeId),
    /// A function.
    Func {
        /// The function's name.
        name: Name,
        /// The function's [`Type::FuncProto`].
        proto: TypeId,
        /// Which files see the function.
        linkage: Linkage,
    },
    /// What a function takes and returns.
    FuncProto(Prototype),
    /// A variable.
    Var {
        /// The variable's name.
        name: Name,
        /// The variable's type.
        type_id: TypeId,
        /// Which files see the variable.
        linkage: Linkage,
    },
    /// The variables (or external functions) of an ELF section.
    DataSec(DataSec),
    /// A floating-point number.
    Float {
        /// The number's name, for instance `double`.
        name: Name,
        /// Size in bytes.
        size: u32,
    },
    /// `btf_decl_tag`: a remark on a declaration.
    DeclTag {
        /// The remark.
        tag: Name,
        /// The type, variable or function that the remark is on.
        target: TypeId,
        /// Index of the member or parameter that the remark is on; `None`: the remark is on the whole declaration.
        component: Option<u32>,
    },
    /// `btf_type_tag`: a remark on what a pointer points to (`__kptr`, `__rcu`, ...).
    TypeTag {
        /// The remark.
        tag: Name,
        /// The type that the pointer points to.
        target: TypeId,
    },
}

/// An integer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Int {
    /// The integer's name.
    pub name: Name,
    /// Bytes that the integer takes.
    pub size: u32,
    /// Number of bits that hold the value.
    pub bits: u8,
    /// First of the bits that hold the value; 0 except for the bitfields of old compilers.
    pub bit_offset: u8,
    /// `BTF_INT_SIGNED`.
    pub signed: bool,
    /// `BTF_INT_CHAR`.
    pub character: bool,
    /// `BTF_INT_BOOL`.
    pub boolean: bool,
}

/// An array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Array {
    /// Type of an element.
    pub element: TypeId,
    /// Type of an index.
    pub index: TypeId,
    /// Elements; 0 for a flexible array.
    pub count: u32,
}

/// A structure or union.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Composite {
    /// The tag of the structure or union; empty if there is none.
    pub name: Name,
    /// Size in bytes.
    pub size: u32,
    /// The members, in order.
    pub members: Vec<Member>,
}

/// A member of a structure or union.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The member's name; empty for an anonymous structure or union.
    pub name: Name,
    /// The member's type.
    pub type_id: TypeId,
    /// First bit of the member, from the beginning of the structure.
    pub bit_offset: u32,
    /// Bits of a bitfield; 0 for an ordinary member.
    pub bitfield: u8,
}

/// An enumeration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enum {
    /// The enumeration's tag; empty if there is none.
    pub name: Name,
    /// Size in bytes.
    pub size: u32,
    /// Whether the values are signed.
    pub signed: bool,
    /// The values, in order.
    pub values: Vec<EnumValue>,
}

/// A value of an enumeration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnumValue {
    /// The enumerator's name.
    pub name: Name,
    /// The enumerator's number, sign-extended to 64 bits if the enumeration is signed.
    pub value: u64,
}

/// What a function takes and returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prototype {
    /// Type returned.
    pub ret: TypeId,
    /// Parameters in order. The last one is `void` without a name if there may be more (`...`).
    pub params: Vec<Param>,
}

/// A parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Param {
    /// The parameter's name; empty if there is none.
    pub name: Name,
    /// The parameter's type.
    pub type_id: TypeId,
}

/// The variables of an ELF section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataSec {
    /// The section's name.
    pub name: Name,
    /// Size in bytes; 0 in what clang writes, before a linker fills it in.
    pub size: u32,
    /// The variables (or functions) of the section.
    pub variables: Vec<SecVariable>,
}

/// A variable in a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecVariable {
    /// The variable's [`Type::Var`], or a [`Type::Func`] in `.ksyms`.
    pub type_id: TypeId,
    /// First byte of the variable in the section; 0 for global variables in what clang writes.
    pub offset: u32,
    /// Size of the variable in bytes.
    pub size: u32,
}

/// Which files see a function or variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linkage {
    /// Only the file that defines it.
    Static,
    /// All files.
    Global,
    /// Another file defines it.
    Extern,
}

/// A kind of type, for lookups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "one for each variant of Type")]
pub enum Kind {
    Void,
    Int,
    Ptr,
    Array,
    Struct,
    Union,
    Enum,
    Enum64,
    Fwd,
    Typedef,
    Const,
    Volatile,
    Restrict,
    Func,
    FuncProto,
    Var,
    DataSec,
    Float,
    DeclTag,
    TypeTag,
}

impl Kind {
    /// Whether types of the two kinds can stand for each other: the same, or both enumerations.
    pub(crate) fn is_like(self, other: Self) -> bool {
        let enumeration = |kind| matches!(kind, Self::Enum | Self::Enum64);
        self == other || enumeration(self) && enumeration(other)
    }
}

impl Type {
    /// The kind of this type.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Void => Kind::Void,
            Self::Int(_) => Kind::Int,
            Self::Ptr(_) => Kind::Ptr,
            Self::Array(_) => Kind::Array,
            Self::Struct(_) => Kind::Struct,
            Self::Union(_) => Kind::Union,
            Self::Enum(_) => Kind::Enum,
            Self::Enum64(_) => Kind::Enum64,
            Self::Fwd { .. } => Kind::Fwd,
            Self::Typedef { .. } => Kind::Typedef,
            Self::Const(_) => Kind::Const,
            Self::Volatile(_) => Kind::Volatile,
            Self::Restrict(_) => Kind::Restrict,
            Self::Func { .. } => Kind::Func,
            Self::FuncProto(_) => Kind::FuncProto,
            Self::Var { .. } => Kind::Var,
            Self::DataSec(_) => Kind::DataSec,
            Self::Float { .. } => Kind::Float,
            Self::DeclTag { .. } => Kind::DeclTag,
            Self::TypeTag { .. } => Kind::TypeTag,
        }
    }

    /// The type's name (for a tag: the remark); empty if there is none.
    pub fn name(&self) -> &str {
        match self {
            Self::Int(int) => &int.name,
            Self::Struct(composite) | Self::Union(composite) => &composite.name,
            Self::Enum(enumeration) | Self::Enum64(enumeration) => &enumeration.name,
            Self::DataSec(section) => &section.name,
            Self::Fwd { name, .. }
            | Self::Typedef { name, .. }
            | Self::Func { name, .. }
            | Self::Var { name, .. }
            | Self::Float { name, .. } => name,
            Self::DeclTag { tag, .. } | Self::TypeTag { tag, .. } => tag,
            Self::Void
            | Self::Ptr(_)
            | Self::Array(_)
            | Self::Const(_)
            | Self::Volatile(_)
            | Self::Restrict(_)
            | Self::FuncProto(_) => "",
        }
    }

    /// The type that a typedef, qualifier or type tag stands for; `None` for all other types.
    pub fn modified(&self) -> Option<TypeId> {
        match self {
            Self::Typedef { target, .. }
            | Self::Const(target)
            | Self::Volatile(target)
            | Self::Restrict(target)
            | Self::TypeTag { target, .. } => Some(*target),
            _ => None,
        }
    }

    /// The structure or union that the type is, if it is one.
    pub fn composite(&self) -> Option<&Composite> {
        match self {
            Self::Struct(composite) | Self::Union(composite) => Some(composite),
            _ => None,
        }
    }

    /// The enumeration of either kind that the type is, if it is one.
    pub fn enumeration(&self) -> Option<&Enum> {
        match self {
            Self::Enum(enumeration) | Self::Enum64(enumeration) => Some(enumeration),
            _ => None,
        }
    }

    /// The types that this type refers to.
    pub fn references(&self) -> impl Iterator<Item = TypeId> {
        let (first, second) = match self {
            Self::Ptr(to) => (Some(*to), None),
            Self::Array(array) => (Some(array.element), Some(array.index)),
            Self::Func { proto: to, .. } | Self::Var { type_id: to, .. } | Self::DeclTag { target: to, .. } => {
                (Some(*to), None)
            }
            Self::FuncProto(proto) => (Some(proto.ret), None),
            _ => (self.modified(), None),
        };
        let members =
            self.composite().map_or(&[][..], |composite| &composite.members).iter().map(|member| member.type_id);
        let params = if let Self::FuncProto(proto) = self { &proto.params[..] } else { &[] };
        let variables = if let Self::DataSec(section) = self { &section.variables[..] } else { &[] };
        let several = params.iter().map(|param| param.type_id).chain(variables.iter().map(|variable| variable.type_id));
        first.into_iter().chain(second).chain(members).chain(several)
    }
}
