// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types as C spells them, for messages.

use std::fmt;

use super::types::{Prototype, Type, TypeId};
use super::{Btf, MAX_DEPTH};

/// A type as C spells it; made by [`Btf::spell`].
#[derive(Debug, Clone, Copy)]
pub struct TypeName<'a> {
    btf: &'a Btf,
    id: TypeId,
}

impl Btf {
    /// The type as C spells it: `const struct task_struct *`, `u64[4]`, `int (*)(void *)`.
    pub fn spell(&self, id: TypeId) -> TypeName<'_> {
        TypeName { btf: self, id }
    }
}

impl fmt::Display for TypeName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&spell(self.btf, self.id, String::new(), MAX_DEPTH))
    }
}

/// The type around a declarator: from `[4]` to `u64[4]`. Deeper than `depth` it is left out.
fn spell(btf: &Btf, id: TypeId, declarator: String, depth: u32) -> String {
    let Some(depth) = depth.checked_sub(1) else { return format!("...{declarator}") };
    match btf.get(id) {
        None => join(&format!("type {}", id.0), &declarator),
        Some(Type::Void) => join("void", &declarator),
        Some(Type::Ptr(to)) => {
            let binds = matches!(btf.get(*to), Some(Type::Array(_) | Type::FuncProto(_)));
            spell(btf, *to, if binds { format!("(*{declarator})") } else { format!("*{declarator}") }, depth)
        }
        Some(Type::Array(array)) => {
            let count = if array.count == 0 { String::new() } else { array.count.to_string() };
            spell(btf, array.element, format!("{declarator}[{count}]"), depth)
        }
        Some(Type::FuncProto(proto)) => {
            let params = spell_params(btf, proto, depth);
            spell(btf, proto.ret, format!("{declarator}({params})"), depth)
        }
        Some(Type::Const(of)) => qualified(btf, *of, "const", declarator, depth),
        Some(Type::Volatile(of)) => qualified(btf, *of, "volatile", declarator, depth),
        Some(Type::Restrict(of)) => qualified(btf, *of, "restrict", declarator, depth),
        Some(Type::TypeTag { target, .. }) => spell(btf, *target, declarator, depth),
        Some(Type::Func { name, proto, .. }) => spell(btf, *proto, format!("{name}{declarator}"), depth),
        Some(Type::Var { name, type_id, .. }) => spell(btf, *type_id, format!("{name}{declarator}"), depth),
        Some(ty @ Type::Struct(_)) => tagged("struct", ty, &declarator),
        Some(ty @ Type::Union(_)) => tagged("union", ty, &declarator),
        Some(ty @ (Type::Enum(_) | Type::Enum64(_))) => tagged("enum", ty, &declarator),
        Some(ty @ Type::Fwd { union, .. }) => tagged(if *union { "union" } else { "struct" }, ty, &declarator),
        Some(ty) => join(ty.name(), &declarator),
    }
}

/// A prototype's parameters. Prototypes among them are not followed: damaged types may hold themselves many times over.
fn spell_params(btf: &Btf, proto: &Prototype, depth: u32) -> String {
    if proto.params.is_empty() {
        return "void".into();
    }
    let depth = depth.min(5);
    let mut text = String::new();
    for param in proto.params.iter().take(MAX_PARAMS) {
        let last = param.type_id == TypeId::VOID && param.name.is_empty();
        let param = if last { "...".into() } else { spell(btf, param.type_id, String::new(), depth) };
        text = if text.is_empty() { param } else { format!("{text}, {param}") };
    }
    text
}

/// Parameters that are shown; a BPF function has at most 5, a kernel function called from BPF at most 12.
const MAX_PARAMS: usize = 12;

/// A qualifier stands before a plain type, and behind a pointer's star.
fn qualified(btf: &Btf, of: TypeId, qualifier: &str, declarator: String, depth: u32) -> String {
    if matches!(btf.get(of), Some(Type::Ptr(_))) {
        return spell(btf, of, join(qualifier, &declarator), depth);
    }
    format!("{qualifier} {}", spell(btf, of, declarator, depth))
}

fn tagged(keyword: &str, ty: &Type, declarator: &str) -> String {
    let name = if ty.name().is_empty() { "(anonymous)" } else { ty.name() };
    join(&format!("{keyword} {name}"), declarator)
}

/// `u64[4]` but `u64 *`, `int (*)(void)`.
fn join(name: &str, declarator: &str) -> String {
    let close = declarator.is_empty() || declarator.starts_with('[');
    if close { format!("{name}{declarator}") } else { format!("{name} {declarator}") }
}
