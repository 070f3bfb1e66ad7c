// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether fields and types of an object agree with those of a kernel.

use std::collections::BTreeMap;

use crate::btf::{Btf, Composite, Enum, Kind, MAX_DEPTH, Type, TypeId, essential_name};

/// Whether a field of one type may be accessed as one of another (`bpf_core_fields_are_compat`): structures and unions,
/// pointers, and integers among each other; enumerations of the same name; arrays by their elements.
pub(super) fn fields_compatible(local: &Btf, mine: TypeId, target: &Btf, theirs: TypeId) -> bool {
    let (mut mine, mut theirs) = (mine, theirs);
    for _ in 0..MAX_DEPTH {
        let (Some(a), Some(b)) = (local.bare(mine), target.bare(theirs)) else { return false };
        return match (a, b) {
            (Type::Struct(_) | Type::Union(_), Type::Struct(_) | Type::Union(_))
            | (Type::Ptr(_), Type::Ptr(_))
            | (Type::Float { .. }, Type::Float { .. }) => true,
            (Type::Fwd { .. }, Type::Fwd { .. })
            | (Type::Enum(_) | Type::Enum64(_), Type::Enum(_) | Type::Enum64(_)) => {
                let (a, b) = (essential_name(a.name()), essential_name(b.name()));
                a.is_empty() || b.is_empty() || a == b
            }
            (Type::Int(a), Type::Int(b)) => a.bit_offset == 0 && b.bit_offset == 0,
            (Type::Array(a), Type::Array(b)) => {
                (mine, theirs) = (a.element, b.element);
                continue;
            }
            _ => false,
        };
    }
    false
}

/// Whether a type of the object matches one of the kernel (`bpf_core_types_match`): the kernel's type has each member
/// of the object's, with a matching type, down to pointers. Of what pointers point to, only names and kinds are
/// compared.
pub(super) fn types_match(local: &Btf, mine: TypeId, target: &Btf, theirs: TypeId) -> bool {
    Matcher { local, target, known: BTreeMap::new() }.types(mine, theirs, false, MAX_DEPTH)
}

/// Compares types; each pair once, as types refer to each other in circles and many times.
struct Matcher<'a> {
    local: &'a Btf,
    target: &'a Btf,
    /// Answers; a pair under way counts as matching.
    known: BTreeMap<(TypeId, TypeId, bool), bool>,
}

impl Matcher<'_> {
    fn types(&mut self, mine: TypeId, theirs: TypeId, behind_pointer: bool, depth: u32) -> bool {
        let key = (self.local.skip_modifiers(mine), self.target.skip_modifiers(theirs), behind_pointer);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let Some(depth) = depth.checked_sub(1) else { return false };
        self.known.insert(key, true);
        let matched = self.compare(key, depth).unwrap_or(false);
        self.known.insert(key, matched);
        matched
    }

    fn compare(&mut self, (mine, theirs, behind_pointer): (TypeId, TypeId, bool), depth: u32) -> Option<bool> {
        let (local, target) = (self.local, self.target);
        let (a, b) = (local.get(mine)?, target.get(theirs)?);
        if !names_match(a.name(), b.name()) {
            return Some(false);
        }
        Some(match (a, b) {
            (Type::Void, Type::Void) => true,
            (Type::Fwd { union: a, .. }, Type::Fwd { union: b, .. }) => a == b,
            (Type::Fwd { union, .. }, Type::Struct(_) | Type::Union(_)) => {
                behind_pointer && *union == (b.kind() == Kind::Union)
            }
            (Type::Struct(_) | Type::Union(_), Type::Fwd { union, .. }) => {
                behind_pointer && *union == (a.kind() == Kind::Union)
            }
            (Type::Struct(a), Type::Struct(b)) | (Type::Union(a), Type::Union(b)) => {
                behind_pointer || self.composites(a, b, depth)
            }
            (Type::Enum(a) | Type::Enum64(a), Type::Enum(b) | Type::Enum64(b)) => enums_match(a, b),
            (Type::Int(a), Type::Int(b)) => a.size == b.size && a.signed == b.signed,
            (Type::Ptr(a), Type::Ptr(b)) => self.types(*a, *b, true, depth),
            (Type::Array(a), Type::Array(b)) => {
                a.count == b.count && self.types(a.element, b.element, behind_pointer, depth)
            }
            (Type::FuncProto(a), Type::FuncProto(b)) => {
                let mut params = a.params.iter().zip(&b.params);
                a.params.len() == b.params.len()
                    && params.all(|(a, b)| self.types(a.type_id, b.type_id, behind_pointer, depth))
                    && self.types(a.ret, b.ret, behind_pointer, depth)
            }
            _ => false,
        })
    }

    fn composites(&mut self, mine: &Composite, theirs: &Composite, depth: u32) -> bool {
        mine.members.len() <= theirs.members.len()
            && mine.members.iter().all(|a| {
                let mut named = theirs.members.iter().filter(|b| names_match(&a.name, &b.name));
                named.any(|b| self.types(a.type_id, b.type_id, false, depth))
            })
    }
}

fn enums_match(mine: &Enum, theirs: &Enum) -> bool {
    mine.size == theirs.size
        && mine.values.len() <= theirs.values.len()
        && mine.values.iter().all(|a| theirs.values.iter().any(|b| names_match(&a.name, &b.name)))
}

fn names_match(mine: &str, theirs: &str) -> bool {
    essential_name(mine) == essential_name(theirs)
}
