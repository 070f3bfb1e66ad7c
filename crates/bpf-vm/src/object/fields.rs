// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which members of the kernel's structures an object's code names.

use super::Object;
use crate::btf::{Type, TypeId, essential_name};
use crate::core_relo::{CoreKind, CoreRelocation};

impl Object {
    /// Whether some function accesses `member` of the kernel's structure `composite`, as far as relocations say: code that was
    /// compiled for one kernel only has none.
    pub fn accesses(&self, composite: &str, member: &str) -> bool {
        let places = self.functions.iter().flat_map(|function| &function.core);
        places
            .filter(|place| place.kind == CoreKind::FieldByteOffset)
            .any(|place| self.passes(place, composite, member))
    }

    /// Whether the way to the field leads through `member` of `composite`.
    fn passes(&self, place: &CoreRelocation, composite: &str, member: &str) -> bool {
        let mut at = self.btf.skip_modifiers(place.type_id);
        // The first number is an index behind a pointer to the root.
        for index in place.access.iter().skip(1) {
            at = match self.btf.bare(at) {
                Some(Type::Struct(of) | Type::Union(of)) => {
                    let Some(field) = of.members.get(*index as usize) else { return false };
                    if field.name.as_str() == member && self.is_called(at, composite) {
                        return true;
                    }
                    field.type_id
                }
                Some(Type::Array(array)) => array.element,
                _ => return false,
            };
            at = self.btf.skip_modifiers(at);
        }
        false
    }

    fn is_called(&self, at: TypeId, name: &str) -> bool {
        essential_name(self.btf.name(at)) == name
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::Function;
    use super::*;
    use crate::btf::Builder;

    /// An object whose one function reads `task_struct.scx.weight`, of a flavour of the structure.
    fn object(kind: CoreKind) -> Object {
        let mut btf = Builder::new();
        let int = btf.int("u32", 4, false);
        let entity = btf.structure("sched_ext_entity", 8, &[("slice", int, 0), ("weight", int, 4)]);
        let task = btf.structure("task_struct___old", 12, &[("prio", int, 0), ("scx", entity, 4)]);
        let core = vec![CoreRelocation { insn: 0, type_id: task, access: vec![0, 1, 1], kind }];
        let functions = vec![Function { core, ..Function::default() }];
        Object { btf: Arc::new(btf.finish()), functions: Arc::new(functions), ..Object::default() }
    }

    #[test]
    fn each_member_on_the_way_is_accessed_and_no_other() {
        let object = object(CoreKind::FieldByteOffset);
        assert!(object.accesses("sched_ext_entity", "weight") && object.accesses("task_struct", "scx"));
        assert!(!object.accesses("sched_ext_entity", "slice") && !object.accesses("task_struct", "prio"));
        assert!(!object.accesses("task_struct", "weight"), "of another structure");
    }

    #[test]
    fn whoever_asks_whether_a_member_exists_has_not_read_the_member() {
        assert!(!self::object(CoreKind::FieldExists).accesses("sched_ext_entity", "weight"));
    }
}
