// SPDX-License-Identifier: MIT OR Apache-2.0
//! BTF: the types of an object or of a kernel.
//!
//! [`Btf::parse`] reads it, [`Builder`] makes it. Whatever the bytes say, no method here takes more than time linear in
//! their number; parsing refuses chains of types that never end.

mod builder;
mod compat;
mod display;
mod error;
mod ext;
mod member;
mod name;
mod parse;
mod types;

use std::ops::Range;

pub use builder::Builder;
pub use display::TypeName;
pub use error::BtfError;
pub(crate) use ext::{BtfExt, ExtError, ExtSection, parse_both};
pub use member::MemberPlace;
pub use name::{Name, essential_name};
pub(crate) use parse::MAX_NAME;
pub use types::{
    Array, Composite, DataSec, Enum, EnumValue, Int, Kind, Linkage, Member, Param, Prototype, SecVariable, Type, TypeId,
};

/// How deep arrays and other nested types are followed, as in libbpf. Real types do not reach a tenth of this depth.
pub(crate) const MAX_DEPTH: u32 = 32;
/// Bytes of a pointer in BPF.
pub const POINTER_SIZE: u64 = 8;

/// All types of an object or a kernel.
#[derive(Debug, Clone)]
pub struct Btf {
    /// By number; the first is `void`.
    types: Vec<Type>,
    /// Numbers of the types that have a name, ordered by name, then number.
    by_name: Vec<u32>,
    /// What each type is without typedefs, qualifiers and type tags.
    bare: Vec<TypeId>,
}

impl Default for Btf {
    /// No types but `void`.
    fn default() -> Self {
        Self { types: vec![Type::Void], by_name: Vec::new(), bare: vec![TypeId::VOID] }
    }
}

impl Btf {
    /// Reads the contents of a `.BTF` section, or of `/sys/kernel/btf/vmlinux`.
    ///
    /// # Errors
    /// Says what is wrong and where.
    pub fn parse(bytes: &[u8]) -> Result<Self, BtfError> {
        parse::parse(bytes).map(|(btf, _)| btf)
    }

    /// Types in order of their numbers, `void` included.
    pub fn types(&self) -> impl Iterator<Item = (TypeId, &Type)> {
        self.types.iter().enumerate().map(|(id, ty)| (TypeId(id as u32), ty))
    }

    /// Number of types, `void` included.
    pub fn len(&self) -> usize {
        self.types.len()
    }

    /// Whether there is no type but `void`.
    pub fn is_empty(&self) -> bool {
        self.types.len() <= 1
    }

    /// The type of a number.
    pub fn get(&self, id: TypeId) -> Option<&Type> {
        self.types.get(id.0 as usize)
    }

    /// Name of a type; empty if it has none or does not exist.
    pub fn name(&self, id: TypeId) -> &str {
        self.get(id).map_or("", Type::name)
    }

    /// The first type of this name that the predicate accepts.
    pub fn find(&self, name: &str, accept: impl Fn(&Type) -> bool) -> Option<TypeId> {
        self.find_all(name).find(|id| self.get(*id).is_some_and(&accept))
    }

    /// The first type of this name and kind.
    pub fn find_kind(&self, name: &str, kind: Kind) -> Option<TypeId> {
        self.find(name, |ty| ty.kind() == kind)
    }

    /// All types of this name, in order of their numbers.
    pub fn find_all(&self, name: &str) -> impl Iterator<Item = TypeId> {
        let first = self.by_name.partition_point(|id| self.name_at(*id) < name);
        let end = self.by_name.partition_point(|id| self.name_at(*id) <= name);
        self.named(first..end)
    }

    /// All types whose name begins with `prefix`, ordered by name.
    pub fn find_prefix(&self, prefix: &str) -> impl Iterator<Item = TypeId> {
        let first = self.by_name.partition_point(|id| self.name_at(*id) < prefix);
        let beyond = |id: &u32| self.name_at(*id).starts_with(prefix);
        let count = self.by_name.get(first..).map_or(0, |rest| rest.partition_point(beyond));
        self.named(first..first + count)
    }

    /// The type without typedefs, qualifiers and type tags; a number without a type stays as it is.
    pub fn skip_modifiers(&self, id: TypeId) -> TypeId {
        self.bare.get(id.0 as usize).copied().unwrap_or(id)
    }

    /// [`Btf::get`] of [`Btf::skip_modifiers`].
    pub fn bare(&self, id: TypeId) -> Option<&Type> {
        self.get(self.skip_modifiers(id))
    }

    /// Bytes of a value of the type; `None` if it has no values (`void`, functions, what is only declared).
    pub fn size_of(&self, id: TypeId) -> Option<u64> {
        let mut id = id;
        let mut count = 1u64;
        for _ in 0..MAX_DEPTH {
            let size = match self.bare(id)? {
                Type::Int(int) => int.size,
                Type::Float { size, .. } => *size,
                Type::Struct(composite) | Type::Union(composite) => composite.size,
                Type::Enum(enumeration) | Type::Enum64(enumeration) => enumeration.size,
                Type::DataSec(section) => section.size,
                Type::Ptr(_) => POINTER_SIZE as u32,
                Type::Var { type_id, .. } => {
                    id = *type_id;
                    continue;
                }
                Type::Array(array) => {
                    count = count.checked_mul(u64::from(array.count))?;
                    id = array.element;
                    continue;
                }
                _ => return None,
            };
            return count.checked_mul(u64::from(size));
        }
        None
    }

    /// The types of which `all` are made, without modifiers resolved; for the parser and the builder.
    fn new(types: Vec<Type>) -> Result<Self, BtfError> {
        check_references(&types)?;
        let bare = bare_types(&types)?;
        let mut by_name: Vec<u32> = (0..types.len() as u32).filter(|id| is_named(&types[*id as usize])).collect();
        by_name.sort_unstable_by(|a, b| types[*a as usize].name().cmp(types[*b as usize].name()).then(a.cmp(b)));
        Ok(Self { types, by_name, bare })
    }

    fn name_at(&self, id: u32) -> &str {
        self.name(TypeId(id))
    }

    fn named(&self, range: Range<usize>) -> impl Iterator<Item = TypeId> {
        self.by_name.get(range).unwrap_or_default().iter().copied().map(TypeId)
    }
}

/// Whether a type can be found by its name; the texts of tags are no names.
fn is_named(ty: &Type) -> bool {
    !matches!(ty.kind(), Kind::DeclTag | Kind::TypeTag) && !ty.name().is_empty()
}

/// Every type that is referred to must exist.
fn check_references(types: &[Type]) -> Result<(), BtfError> {
    let count = types.len();
    for (ty, id) in types.iter().zip(0..) {
        let missing = ty.references().find(|to| to.0 as usize >= count);
        if let Some(to) = missing {
            return Err(BtfError::Reference { id: TypeId(id), to, count });
        }
    }
    Ok(())
}

/// What each type is without modifiers; every chain is walked once.
fn bare_types(types: &[Type]) -> Result<Vec<TypeId>, BtfError> {
    let mut bare: Vec<Option<TypeId>> = types.iter().zip(0..).map(|(ty, id)| end_of_chain(ty, TypeId(id))).collect();
    let mut chain = Vec::new();
    for first in 0..types.len() {
        let mut at = first;
        while bare[at].is_none() {
            chain.push(at);
            if chain.len() > types.len() {
                return Err(BtfError::Endless { id: TypeId(first as u32) });
            }
            at = types[at].modified().map_or(0, |next| next.0 as usize);
        }
        let end = bare[at];
        for at in chain.drain(..) {
            bare[at] = end;
        }
    }
    Ok(bare.into_iter().map(Option::unwrap_or_default).collect())
}

/// The type itself if it is no modifier.
fn end_of_chain(ty: &Type, id: TypeId) -> Option<TypeId> {
    ty.modified().is_none().then_some(id)
}
