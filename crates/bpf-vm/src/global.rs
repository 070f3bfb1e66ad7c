// SPDX-License-Identifier: MIT OR Apache-2.0
//! Global variables of a loaded object, by name.

use crate::btf::TypeId;
use crate::instance::Instance;
use crate::object::{DataSection, Variable};

/// A global variable of a loaded object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Global {
    /// Address of the variable; in a BPF arena, the user address.
    pub address: u64,
    /// Size in bytes.
    pub size: u64,
    /// The variable's type in the object.
    pub type_id: TypeId,
}

impl Instance {
    /// The global variable of this name.
    pub fn global(&self, name: &str) -> Option<Global> {
        let of = |(section, address): (&DataSection, &u64)| {
            let named = |variable: &&Variable| variable.name == *name;
            let variable = section.variables.iter().find(named)?;
            let address = address.wrapping_add(variable.offset);
            Some(Global { address, size: variable.size, type_id: variable.type_id })
        };
        self.object.data.iter().zip(&self.data).find_map(of)
    }

    /// The bytes of a global variable now.
    pub fn global_bytes(&self, name: &str) -> Option<&[u8]> {
        let Global { address, size, .. } = self.global(name)?;
        let pages = || self.memory.arena()?.user_read(address, size);
        self.memory.read(address, size).ok().or_else(pages)
    }

    /// The object that was loaded, with its settings.
    pub fn object(&self) -> &crate::object::Object {
        &self.object
    }

    /// The object that was loaded, to keep while the instance runs.
    pub fn object_arc(&self) -> std::sync::Arc<crate::object::Object> {
        std::sync::Arc::clone(&self.object)
    }
}
