// SPDX-License-Identifier: MIT OR Apache-2.0
//! Makes BTF by hand: a host's kernel types, and tests.

use super::types::{
    Array, Composite, DataSec, Enum, EnumValue, Int, Linkage, Member, Param, Prototype, SecVariable, Type, TypeId,
};
use super::{Btf, Name};

/// Makes BTF type by type. Types get ascending numbers from 1. A type can refer only to types that exist already or
/// that [`Builder::declare_struct`] has announced.
#[derive(Debug, Clone)]
pub struct Builder {
    types: Vec<Type>,
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// No types but `void`.
    pub fn new() -> Self {
        Self { types: vec![Type::Void] }
    }

    /// Any type.
    pub fn add(&mut self, ty: Type) -> TypeId {
        self.types.push(ty);
        TypeId(self.types.len() as u32 - 1)
    }

    /// An integer of `size` bytes; the names `bool` and `_Bool` make it a boolean.
    pub fn int(&mut self, name: &str, size: u32, signed: bool) -> TypeId {
        let boolean = matches!(name, "bool" | "_Bool");
        let bits = size.saturating_mul(8).min(128) as u8;
        self.add(Type::Int(Int { name: name.into(), size, bits, bit_offset: 0, signed, character: false, boolean }))
    }

    /// A floating-point number of `size` bytes.
    pub fn float(&mut self, name: &str, size: u32) -> TypeId {
        self.add(Type::Float { name: name.into(), size })
    }

    /// A pointer.
    pub fn pointer(&mut self, to: TypeId) -> TypeId {
        self.add(Type::Ptr(to))
    }

    /// An array. The type of its index is left `void`, as nothing asks for it.
    pub fn array(&mut self, element: TypeId, count: u32) -> TypeId {
        self.add(Type::Array(Array { element, index: TypeId::VOID, count }))
    }

    /// A structure of `size` bytes: name, type and byte offset of each member. A member without a name is anonymous.
    pub fn structure(&mut self, name: &str, size: u32, members: &[(&str, TypeId, u32)]) -> TypeId {
        self.add(Type::Struct(composite(name, size, members)))
    }

    /// A union of `size` bytes: name and type of each member.
    pub fn union(&mut self, name: &str, size: u32, members: &[(&str, TypeId)]) -> TypeId {
        let members: Vec<_> = members.iter().map(|(member, ty)| (*member, *ty, 0)).collect();
        self.add(Type::Union(composite(name, size, &members)))
    }

    /// A structure without members, until [`Builder::define`] or [`Builder::define_members`] gives it some.
    pub fn declare_struct(&mut self, name: &str) -> TypeId {
        self.structure(name, 0, &[])
    }

    /// Defines a declared structure or union. Does nothing to other types.
    pub fn define(&mut self, id: TypeId, size: u32, members: &[(&str, TypeId, u32)]) {
        self.define_members(id, size, composite("", 0, members).members);
    }

    /// Defines a declared structure or union whose members may be bitfields. Does nothing to other types.
    pub fn define_members(&mut self, id: TypeId, size: u32, members: Vec<Member>) {
        if let Some(Type::Struct(composite) | Type::Union(composite)) = self.types.get_mut(id.0 as usize) {
            composite.size = size;
            composite.members = members;
        }
    }

    /// An enumeration of 4 bytes, or of 8 if a value needs them; signed if a value is negative.
    pub fn enumeration(&mut self, name: &str, values: &[(&str, i128)]) -> TypeId {
        let signed = values.iter().any(|(_, value)| *value < 0);
        let fits = |value: i128| if signed { i32::try_from(value).is_ok() } else { u32::try_from(value).is_ok() };
        let long = values.iter().any(|(_, value)| !fits(*value));
        // The lowest 64 bits, as C keeps them.
        let values =
            values.iter().map(|(name, value)| EnumValue { name: (*name).into(), value: *value as u64 }).collect();
        let enumeration = Enum { name: name.into(), size: if long { 8 } else { 4 }, signed, values };
        self.add(if long { Type::Enum64(enumeration) } else { Type::Enum(enumeration) })
    }

    /// A structure that is only declared.
    pub fn forward(&mut self, name: &str) -> TypeId {
        self.add(Type::Fwd { name: name.into(), union: false })
    }

    /// Another name of a type.
    pub fn typedef(&mut self, name: &str, to: TypeId) -> TypeId {
        self.add(Type::Typedef { name: name.into(), target: to })
    }

    /// `const`.
    pub fn constant(&mut self, of: TypeId) -> TypeId {
        self.add(Type::Const(of))
    }

    /// `volatile`.
    pub fn volatile(&mut self, of: TypeId) -> TypeId {
        self.add(Type::Volatile(of))
    }

    /// `btf_type_tag`.
    pub fn type_tag(&mut self, tag: &str, of: TypeId) -> TypeId {
        self.add(Type::TypeTag { tag: tag.into(), target: of })
    }

    /// `btf_decl_tag` on a whole declaration.
    pub fn decl_tag(&mut self, tag: &str, on: TypeId) -> TypeId {
        self.add(Type::DeclTag { tag: tag.into(), target: on, component: None })
    }

    /// A prototype: type returned, name and type of each parameter.
    pub fn func_proto(&mut self, ret: TypeId, params: &[(&str, TypeId)]) -> TypeId {
        let params = params.iter().map(|(name, ty)| Param { name: (*name).into(), type_id: *ty }).collect();
        self.add(Type::FuncProto(Prototype { ret, params }))
    }

    /// A function that other files see.
    pub fn func(&mut self, name: &str, proto: TypeId) -> TypeId {
        self.func_with_linkage(name, proto, Linkage::Global)
    }

    /// A function with this linkage.
    pub fn func_with_linkage(&mut self, name: &str, proto: TypeId, linkage: Linkage) -> TypeId {
        self.add(Type::Func { name: name.into(), proto, linkage })
    }

    /// A variable.
    pub fn var(&mut self, name: &str, type_id: TypeId, linkage: Linkage) -> TypeId {
        self.add(Type::Var { name: name.into(), type_id, linkage })
    }

    /// A section: type ([`Builder::var`] or [`Builder::func`]), byte offset and size of each variable.
    pub fn section(&mut self, name: &str, size: u32, variables: &[(TypeId, u32, u32)]) -> TypeId {
        let variable = |(type_id, offset, size): &(TypeId, u32, u32)| SecVariable {
            type_id: *type_id,
            offset: *offset,
            size: *size,
        };
        let variables = variables.iter().map(variable).collect();
        self.add(Type::DataSec(DataSec { name: name.into(), size, variables }))
    }

    /// The types made.
    ///
    /// # Panics
    /// A type refers to a number that no type has, or is defined by itself: a bug of the host.
    pub fn finish(self) -> Btf {
        match Btf::new(self.types) {
            Ok(btf) => btf,
            Err(error) => panic!("types made by hand: {error}"),
        }
    }
}

fn composite(name: &str, size: u32, members: &[(&str, TypeId, u32)]) -> Composite {
    let member = |(name, type_id, offset): &(&str, TypeId, u32)| Member {
        name: Name::from(*name),
        type_id: *type_id,
        bit_offset: offset * 8,
        bitfield: 0,
    };
    Composite { name: name.into(), size, members: members.iter().map(member).collect() }
}
