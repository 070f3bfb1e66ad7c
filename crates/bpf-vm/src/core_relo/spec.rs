// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which part of a type a relocation means: numbers say so in the object, names in a kernel.

use super::{CoreError, CoreKind, CoreRelocation, matches};
use crate::btf::{Array, Btf, Type, TypeId, essential_name};

/// A part of a type.
#[derive(Debug, Clone)]
pub(super) struct Spec {
    /// The type.
    pub(super) root: TypeId,
    /// The way to the part; anonymous structures and unions on it are left out.
    pub(super) steps: Vec<Step>,
    /// The part's first bit.
    pub(super) bit_offset: u64,
    kind: CoreKind,
}

/// A step from a type to a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// An element of an array of this type. A field's first step is an element: pointers are arrays in C.
    Element { type_id: TypeId, index: u32 },
    /// A member with a name.
    Member { composite: TypeId, index: usize },
    /// A value of an enumeration.
    Value { enumeration: TypeId, index: usize },
}

impl CoreKind {
    pub(super) fn is_field(self) -> bool {
        matches!(
            self,
            Self::FieldByteOffset
                | Self::FieldByteSize
                | Self::FieldExists
                | Self::FieldSigned
                | Self::FieldLeftShift
                | Self::FieldRightShift
        )
    }

    pub(super) fn is_enum_value(self) -> bool {
        matches!(self, Self::EnumValueExists | Self::EnumValue)
    }
}

impl Spec {
    /// What the access numbers of an object's relocation mean in its own types.
    pub(super) fn parse(btf: &Btf, relocation: &CoreRelocation) -> Result<Self, CoreError> {
        let kind = relocation.kind;
        let error = || CoreError::Access { what: btf.spell(relocation.type_id).to_string(), kind };
        let mut spec = Self { root: relocation.type_id, steps: Vec::new(), bit_offset: 0, kind };
        let parsed = match relocation.access.split_first() {
            Some((first, rest)) if kind.is_field() => spec.parse_field(btf, *first, rest),
            Some((first, [])) if kind.is_enum_value() => spec.parse_value(btf, *first),
            Some((0, [])) if btf.get(spec.root).is_some() => Some(()),
            _ => None,
        };
        parsed.ok_or_else(error).map(|()| spec)
    }

    fn parse_value(&mut self, btf: &Btf, index: u32) -> Option<()> {
        let enumeration = btf.skip_modifiers(self.root);
        let index = index as usize;
        btf.get(enumeration)?.enumeration()?.values.get(index)?;
        self.steps.push(Step::Value { enumeration, index });
        Some(())
    }

    fn parse_field(&mut self, btf: &Btf, first: u32, rest: &[u32]) -> Option<()> {
        let mut at = btf.skip_modifiers(self.root);
        self.element(btf, at, first)?;
        for index in rest {
            at = btf.skip_modifiers(at);
            match btf.get(at)? {
                Type::Struct(composite) | Type::Union(composite) => {
                    let member = composite.members.get(*index as usize)?;
                    self.bit_offset = self.bit_offset.checked_add(u64::from(member.bit_offset))?;
                    if !member.name.is_empty() {
                        self.steps.push(Step::Member { composite: at, index: *index as usize });
                    }
                    at = member.type_id;
                }
                Type::Array(array) => {
                    if *index >= array.count && !self.is_flexible(btf, array) {
                        return None;
                    }
                    at = btf.skip_modifiers(array.element);
                    self.element(btf, at, *index)?;
                }
                _ => return None,
            }
        }
        Some(())
    }

    fn element(&mut self, btf: &Btf, type_id: TypeId, index: u32) -> Option<()> {
        let bits = btf.size_of(type_id)?.checked_mul(8)?.checked_mul(u64::from(index))?;
        self.bit_offset = self.bit_offset.checked_add(bits)?;
        self.steps.push(Step::Element { type_id, index });
        Some(())
    }

    /// Whether the array that was just reached is the last member of its structure, and open-ended.
    fn is_flexible(&self, btf: &Btf, array: &Array) -> bool {
        let Some(Step::Member { composite, index }) = self.steps.last() else { return false };
        let members = btf.get(*composite).and_then(Type::composite).map_or(0, |composite| composite.members.len());
        array.count == 0 && index + 1 == members
    }

    /// The same part of a type of the kernel, if that has it.
    pub(super) fn find(&self, local: &Btf, target: &Btf, candidate: TypeId) -> Option<Self> {
        let mut found = Self { root: candidate, steps: Vec::new(), bit_offset: 0, kind: self.kind };
        let matched = match self.kind {
            CoreKind::TypeMatches => matches::types_match(local, self.root, target, candidate),
            kind if kind.is_field() => found.find_field(self, local, target).is_some(),
            kind if kind.is_enum_value() => found.find_value(self, local, target).is_some(),
            _ => local.is_compatible(self.root, target, candidate),
        };
        matched.then_some(found)
    }

    fn find_value(&mut self, wanted: &Self, local: &Btf, target: &Btf) -> Option<()> {
        let name = essential_name(wanted.steps.last()?.name(local)?);
        let enumeration = target.skip_modifiers(self.root);
        let values = &target.get(enumeration)?.enumeration()?.values;
        let index = values.iter().position(|value| essential_name(&value.name) == name)?;
        self.steps.push(Step::Value { enumeration, index });
        Some(())
    }

    fn find_field(&mut self, wanted: &Self, local: &Btf, target: &Btf) -> Option<()> {
        let mut at = target.skip_modifiers(self.root);
        for (number, step) in wanted.steps.iter().enumerate() {
            at = target.skip_modifiers(at);
            match step {
                Step::Member { composite, index } => {
                    let member = local.get(*composite)?.composite()?.members.get(*index)?;
                    let found = target.locate(at, &member.name)?;
                    let theirs = target.get(found.composite)?.composite()?.members.get(found.index)?;
                    if !matches::fields_compatible(local, member.type_id, target, theirs.type_id) {
                        return None;
                    }
                    self.bit_offset = self.bit_offset.checked_add(found.bit_offset)?;
                    self.steps.push(Step::Member { composite: found.composite, index: found.index });
                    at = theirs.type_id;
                }
                Step::Element { index, .. } => {
                    // The first step is into the memory that the pointer points to, not into an array member.
                    if number > 0 {
                        let Type::Array(array) = target.get(at)? else { return None };
                        if *index >= array.count && !self.is_flexible(target, array) {
                            return None;
                        }
                        at = target.skip_modifiers(array.element);
                    }
                    self.element(target, at, *index)?;
                }
                Step::Value { .. } => return None,
            }
        }
        Some(())
    }

    /// The part as C would write it: `struct task_struct.scx.flags`, `enum scx_kick_flags::SCX_KICK_IDLE`.
    pub(super) fn describe(&self, btf: &Btf) -> String {
        let mut text = btf.spell(self.root).to_string();
        for (number, step) in self.steps.iter().enumerate() {
            let name = step.name(btf).unwrap_or_default();
            match step {
                Step::Element { index: 0, .. } if number == 0 => {}
                Step::Element { index, .. } => text += &format!("[{index}]"),
                Step::Member { .. } => text += &format!(".{name}"),
                Step::Value { .. } => text += &format!("::{name}"),
            }
        }
        text
    }
}

impl Step {
    /// Name of the member or value that the step leads to.
    fn name(self, btf: &Btf) -> Option<&str> {
        match self {
            Self::Element { .. } => None,
            Self::Member { composite, index } => Some(&btf.get(composite)?.composite()?.members.get(index)?.name),
            Self::Value { enumeration, index } => Some(&btf.get(enumeration)?.enumeration()?.values.get(index)?.name),
        }
    }
}
