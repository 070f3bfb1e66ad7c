// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a member of a structure lies.

use std::collections::BTreeSet;

use super::Btf;
use super::types::{Composite, Member, Type, TypeId};

/// Where a member lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberPlace {
    /// First bit, from the beginning of the structure.
    pub bit_offset: u64,
    /// Bits; 0 for a flexible array.
    pub bit_size: u64,
    /// Whether the member is a bitfield.
    pub bitfield: bool,
    /// The member's type.
    pub type_id: TypeId,
}

/// A member that was looked for by name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Located {
    /// The structure or union that the member stands in directly.
    pub(crate) composite: TypeId,
    /// Index of the member in `composite`.
    pub(crate) index: usize,
    /// First bit, from the beginning of the outermost structure.
    pub(crate) bit_offset: u64,
}

impl MemberPlace {
    /// First byte of the member, from the beginning of the structure.
    pub fn offset(&self) -> u64 {
        self.bit_offset / 8
    }

    /// Number of bytes that the member reaches into.
    pub fn size(&self) -> u64 {
        (self.bit_offset % 8 + self.bit_size).div_ceil(8)
    }
}

impl Btf {
    /// The member that a path leads to: `a`, `a.b`, `a[3].b`, through anonymous structures and unions.
    pub fn member(&self, structure: TypeId, path: &str) -> Option<MemberPlace> {
        let mut place =
            MemberPlace { bit_offset: 0, bit_size: self.size_of(structure)? * 8, bitfield: false, type_id: structure };
        for step in path.split('.') {
            let (name, indexes) = step.split_once('[').map_or((step, None), |(name, rest)| (name, Some(rest)));
            let (member, offset) = self.find_member(place.type_id, name)?;
            place = self.place(member, place.bit_offset.checked_add(offset)?);
            let Some(indexes) = indexes else { continue };
            for index in indexes.strip_suffix(']')?.split("][") {
                place = self.element(place, index.parse().ok()?)?;
            }
        }
        Some(place)
    }

    /// The member of this name and its first bit in the structure; the members of anonymous structures and unions are
    /// searched too. If several members have the name, which C forbids, the outermost is taken.
    pub fn find_member(&self, structure: TypeId, name: &str) -> Option<(&Member, u64)> {
        let found = self.locate(structure, name)?;
        let member = self.bare(found.composite)?.composite()?.members.get(found.index)?;
        Some((member, found.bit_offset))
    }

    /// Which member of which structure or union a name means.
    pub(crate) fn locate(&self, structure: TypeId, name: &str) -> Option<Located> {
        // Depth first, as in the source. Each type is searched once: damaged types may contain themselves.
        let mut seen = BTreeSet::new();
        let mut open = vec![(structure, 0u64)];
        while let Some((id, base)) = open.pop() {
            let Some(Composite { members, .. }) = self.bare(id).and_then(Type::composite) else { continue };
            if !seen.insert(self.skip_modifiers(id)) {
                continue;
            }
            if let Some(index) = members.iter().position(|member| !name.is_empty() && member.name == *name) {
                let bit_offset = base.checked_add(u64::from(members[index].bit_offset))?;
                return Some(Located { composite: self.skip_modifiers(id), index, bit_offset });
            }
            let anonymous = members.iter().filter(|member| member.name.is_empty()).rev();
            open.extend(anonymous.map(|member| (member.type_id, base.saturating_add(u64::from(member.bit_offset)))));
        }
        None
    }

    fn place(&self, member: &Member, bit_offset: u64) -> MemberPlace {
        let bitfield = member.bitfield != 0;
        let bit_size = if bitfield {
            u64::from(member.bitfield)
        } else {
            self.size_of(member.type_id).unwrap_or(0).saturating_mul(8)
        };
        MemberPlace { bit_offset, bit_size, bitfield, type_id: member.type_id }
    }

    fn element(&self, place: MemberPlace, index: u64) -> Option<MemberPlace> {
        let Some(Type::Array(array)) = self.bare(place.type_id) else { return None };
        // A flexible array has count 0, and any index.
        if array.count != 0 && index >= u64::from(array.count) {
            return None;
        }
        let bit_size = self.size_of(array.element)?.checked_mul(8)?;
        let bit_offset = place.bit_offset.checked_add(bit_size.checked_mul(index)?)?;
        Some(MemberPlace { bit_offset, bit_size, bitfield: false, type_id: array.element })
    }
}
