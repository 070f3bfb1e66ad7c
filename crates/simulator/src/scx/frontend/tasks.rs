// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is entered in an object's maps for tasks, by those who start them: `[hints]` and `[applications]` of the file
//! beside it.
//!
//! ```toml
//! [hints]
//! relative_length = "lengths"     # HASH: thread (u32) to its relative length (u64), as its program says it
//! [applications]
//! tgids = "applications"          # HASH: first process of an application (u32) to its number (u32), from 1
//! adopt = "adopt"                 # never run: a program for threads that are there before their application is known
//! ```
//!
//! Nobody takes an entry away: a number is not given to another task in a run.

use tandem_bpf_vm::instance::Instance;
use tandem_bpf_vm::map::{Item, MapId, kind};
use tandem_loader::file;

use super::SchedulerError;

/// Maps to fill for tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskMaps {
    /// From a thread's number to its relative length.
    relative_length: Option<MapId>,
    /// From a process's number to that of the application that it begins.
    tgids: Option<MapId>,
}

impl TaskMaps {
    /// The maps of the loaded object that its file names.
    ///
    /// # Errors
    /// [`SchedulerError::NoTaskMap`].
    pub(super) fn of(vm: &Instance, named: &file::TaskMaps) -> Result<Self, SchedulerError> {
        let find = |name: &Option<String>, value_size: u32| {
            let Some(name) = name else { return Ok(None) };
            let map = vm.map(name).filter(|map| {
                let spec = vm.map_spec(*map);
                spec.is_some_and(|spec| (spec.kind, spec.key_size, spec.value_size) == (kind::HASH, 4, value_size))
            });
            match map {
                Some(map) => Ok(Some(map)),
                None => Err(SchedulerError::NoTaskMap { map: name.clone(), value_size }),
            }
        };
        Ok(Self { relative_length: find(&named.relative_length, 8)?, tgids: find(&named.tgids, 4)? })
    }

    /// The thread `pid` is so long; false if there is no room.
    pub fn hint(&self, vm: &mut Instance, pid: u32, length: u64) -> bool {
        enter(vm, self.relative_length, pid, &length.to_le_bytes())
    }

    /// The process `tgid` begins an application; false if there is no room.
    pub fn enter_application(&self, vm: &mut Instance, tgid: u32, application: u32) -> bool {
        enter(vm, self.tgids, tgid, &application.to_le_bytes())
    }
}

fn enter(vm: &mut Instance, map: Option<MapId>, key: u32, value: &[u8]) -> bool {
    map.is_none_or(|map| vm.map_update(map, Item { key: &key.to_le_bytes(), value, flags: 0 }, 0).is_ok())
}
