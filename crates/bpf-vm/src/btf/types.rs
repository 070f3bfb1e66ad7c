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
        /// Its tag.
        name: Name,
        /// A union.
        union: bool,
    },
    /// Another name of a type.
    Typedef {
        /// The new name.
        name: Name,
        /// The type.
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
        /// Its name.
        name: Name,
        /// Its [`Type::FuncProto`].
        proto: TypeId,
        /// Who sees it.
        linkage: Linkage,
    },
    /// What a function takes and returns.
    FuncProto(Prototype),
    /// A variable.
    Var {
        /// Its name.
        name: Name,
        /// Its type.
        type_id: TypeId,
        /// Who sees it.
        linkage: Linkage,
    },
    /// The variables (or external functions) of an ELF section.
    DataSec(DataSec),
    /// A floating-point number.
    Float {
        /// Its name.
        name: Name,
        /// Bytes.
        size: u32,
    },
    /// `btf_decl_tag`: a remark on a declaration.
    DeclTag {
        /// The remark.
        tag: Name,
        /// What it is on.
        target: TypeId,
        /// On which member or parameter; `None`: on the whole.
        component: Option<u32>,
    },
    /// `btf_type_tag`: a remark on what a pointer points to (`__kptr`, `__rcu`, ...).
    TypeTag {
        /// The remark.
        tag: Name,
        /// The type.
        target: TypeId,
    },
}

/// An integer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Int {
    /// Its name.
    pub name: Name,
    /// Bytes that it takes.
    pub size: u32,
    /// Bits that count.
    pub bits: u8,
    /// Where they begin in it; 0 but for the bitfields of old compilers.
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
    /// Its tag; empty if it has none.
    pub name: Name,
    /// Bytes.
    pub size: u32,
    /// Its members in order.
    pub members: Vec<Member>,
}

/// A member of a structure or union.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name; empty for an anonymous structure or union.
    pub name: Name,
    /// Its type.
    pub type_id: TypeId,
    /// Where it begins, in bits from the beginning of the structure.
    pub bit_offset: u32,
    /// Bits of a bitfield; 0 for an ordinary member.
    pub bitfield: u8,
}

/// An enumeration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enum {
    /// Its tag; empty if it has none.
    pub name: Name,
    /// Bytes.
    pub size: u32,
    /// Whether its values are signed.
    pub signed: bool,
    /// Its values in order.
    pub values: Vec<EnumValue>,
}

/// A value of an enumeration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnumValue {
    /// Its name.
    pub name: Name,
    /// Its value, sign-extended to 64 bits if the enumeration is signed.
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
    /// Its name; empty if it has none.
    pub name: Name,
    /// Its type.
    pub type_id: TypeId,
}

/// The variables of an ELF section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataSec {
    /// The section's name.
    pub name: Name,
    /// Bytes; 0 in what clang writes, before a linker has filled it in.
    pub size: u32,
    /// Its variables.
    pub variables: Vec<SecVariable>,
}

/// A variable in a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecVariable {
    /// Its [`Type::Var`], or a [`Type::Func`] in `.ksyms`.
    pub type_id: TypeId,
    /// Where it begins, in bytes; 0 for global variables in what clang writes.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
}

/// Who sees a function or variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linkage {
    /// This file only.
    Static,
    /// Everyone.
    Global,
    /// It is defined elsewhere.
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
    /// Its kind.
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

    /// Its name (for a tag: the remark); empty if it has none.
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

    /// What it is another name of, or a qualified form of: typedefs, qualifiers and type tags have one.
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

    /// Its members, if it is a structure or union.
    pub fn composite(&self) -> Option<&Composite> {
        match self {
            Self::Struct(composite) | Self::Union(composite) => Some(composite),
            _ => None,
        }
    }

    /// Its values, if it is an enumeration of either kind.
    pub fn enumeration(&self) -> Option<&Enum> {
        match self {
            Self::Enum(enumeration) | Self::Enum64(enumeration) => Some(enumeration),
            _ => None,
        }
    }

    /// The types that it refers to.
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
