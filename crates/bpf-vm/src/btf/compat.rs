// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a type of one BTF may stand for a type of another.

use std::collections::BTreeSet;

use super::Btf;
use super::types::{Type, TypeId};

impl Btf {
    /// Whether `mine` and `theirs` are compatible as libbpf understands it (`bpf_core_types_are_compat`): same shape of
    /// pointers, arrays and prototypes, same kinds at their ends. Names, sizes and members do not matter, so any integer
    /// is compatible with any other, as any enumeration is; `void` only with `void`.
    ///
    /// Prototypes that contain themselves are followed once, where libbpf gives up.
    pub fn is_compatible(&self, mine: TypeId, other: &Btf, theirs: TypeId) -> bool {
        let mut seen = BTreeSet::new();
        let mut open = vec![(mine, theirs)];
        while let Some((mine, theirs)) = open.pop() {
            let (mine, theirs) = (self.skip_modifiers(mine), other.skip_modifiers(theirs));
            let (Some(a), Some(b)) = (self.get(mine), other.get(theirs)) else { return false };
            if !seen.insert((mine, theirs)) {
                continue;
            }
            match (a, b) {
                (Type::Void, Type::Void)
                | (Type::Struct(_), Type::Struct(_))
                | (Type::Union(_), Type::Union(_))
                | (Type::Fwd { .. }, Type::Fwd { .. })
                | (Type::Enum(_) | Type::Enum64(_), Type::Enum(_) | Type::Enum64(_)) => {}
                (Type::Int(a), Type::Int(b)) if a.bit_offset == 0 && b.bit_offset == 0 => {}
                (Type::Ptr(a), Type::Ptr(b)) => open.push((*a, *b)),
                (Type::Array(a), Type::Array(b)) => open.push((a.element, b.element)),
                (Type::FuncProto(a), Type::FuncProto(b)) if a.params.len() == b.params.len() => {
                    open.push((a.ret, b.ret));
                    open.extend(a.params.iter().zip(&b.params).map(|(a, b)| (a.type_id, b.type_id)));
                }
                _ => return false,
            }
        }
        true
    }
}
