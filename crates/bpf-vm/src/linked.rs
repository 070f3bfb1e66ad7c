// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linked code of an object, for all instances of a process that are linked alike: a sweep of short runs loads one object again and
//! again, and nearly always everything in it gets the same place.

use std::sync::{Arc, Mutex, PoisonError};

use crate::btf::Btf;
use crate::interp::Code;
use crate::link::{LoadError, Symbol};
use crate::object::Function;

/// Everything that linked code follows from. What is shared is compared by where it is: objects of one file share it, whatever their
/// data was set to.
#[derive(Debug)]
pub(crate) struct Links {
    pub functions: Arc<Vec<Function>>,
    /// The types of the object, and of the kernel.
    pub types: [Arc<Btf>; 2],
    /// For each function, whether it is loaded.
    pub loaded: Vec<bool>,
    /// For each map, how programs name it.
    pub handles: Vec<u64>,
    /// For each data section, its address.
    pub data: Vec<u64>,
    /// What each extern is.
    pub symbols: Vec<Symbol>,
}

impl PartialEq for Links {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.functions, &other.functions)
            && self.types.iter().zip(&other.types).all(|(mine, theirs)| Arc::ptr_eq(mine, theirs))
            && self.loaded == other.loaded
            && self.handles == other.handles
            && self.data == other.data
            && self.symbols == other.symbols
    }
}

/// Code that was linked, with what it follows from.
#[derive(Debug, Default)]
pub struct LinkCache {
    entries: Mutex<Vec<(Links, Arc<Code>)>>,
}

impl LinkCache {
    /// Most pieces of code that are kept; the oldest goes first.
    const KEPT: usize = 16;

    /// The code that follows from `links`, which `link` makes where there is none yet.
    pub(crate) fn get(
        &self,
        links: Links,
        link: impl FnOnce(&Links) -> Result<Code, LoadError>,
    ) -> Result<Arc<Code>, LoadError> {
        if let Some(code) = self.find(&links) {
            return Ok(code);
        }
        // Other threads that want the same meanwhile link it themselves: none waits for another.
        let code = Arc::new(link(&links)?);
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() == Self::KEPT {
            entries.remove(0);
        }
        entries.push((links, code.clone()));
        Ok(code)
    }

    fn find(&self, links: &Links) -> Option<Arc<Code>> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.iter().find(|(known, _)| known == links).map(|(_, code)| code.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Memory;
    use crate::object::{DataSection, Object};
    use crate::open::OpenObject;
    use crate::{Environment, Instance};

    /// An object with a program that returns 0, and eight bytes of data.
    fn object() -> Object {
        let code = vec![0xb7, 0, 0, 0, 0, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0];
        let main = Function { name: "main".to_owned(), section: "syscall".to_owned(), code, ..Function::default() };
        let data = DataSection { name: ".data".to_owned(), bytes: vec![0; 8], ..DataSection::default() };
        Object { functions: Arc::new(vec![main]), data: vec![data], ..Object::default() }
    }

    fn load(object: &Object, kernel: &Arc<Btf>, before: u64, known: &LinkCache) -> Instance {
        let environment = Environment {
            btf: kernel.clone(),
            kfuncs: &|_| None,
            variables: &|_| None,
            kconfig: &|_| None,
            nr_cpus: 1,
            arena_data_last: false,
            budget: 1000,
        };
        let mut memory = Memory::new(1 << 20);
        memory.alloc(before, crate::memory::Protection::ReadWrite).expect("there is room");
        OpenObject::new(Arc::new(object.clone())).load_again(&environment, memory, known).expect("it loads")
    }

    #[test]
    fn what_is_linked_alike_is_linked_once() {
        let (known, kernel, object) = (LinkCache::default(), Arc::new(Btf::default()), object());
        let first = load(&object, &kernel, 8, &known);
        let mut set = object.clone();
        set.data[0].bytes[0] = 1;
        assert!(Arc::ptr_eq(&first.code, &load(&set, &kernel, 8, &known).code), "other values at the same places");
        let others = [
            load(&object, &kernel, 1 << 16, &known),
            load(&object, &Arc::new(Btf::default()), 8, &known),
            load(&self::object(), &kernel, 8, &known),
        ];
        for (index, other) in others.iter().enumerate() {
            assert!(!Arc::ptr_eq(&first.code, &other.code), "another place, kernel or file: {index}");
        }
    }
}
