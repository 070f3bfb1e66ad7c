// SPDX-License-Identifier: MIT OR Apache-2.0
//! The description of a map, and what the kernel refuses (`map_alloc_check` of each kind).

use std::sync::Arc;

use super::field::{Field, FieldKind, fields};
use crate::btf::Btf;
use crate::fault::FaultKind;
use crate::memory::{ArenaSpec, PAGE_SIZE};
use crate::object::MapDefinition;

/// Kinds of maps (`enum bpf_map_type`) that this crate knows.
pub mod kind {
    #![allow(missing_docs)]
    pub const HASH: u32 = 1;
    pub const ARRAY: u32 = 2;
    pub const PERF_EVENT_ARRAY: u32 = 4;
    pub const PERCPU_HASH: u32 = 5;
    pub const PERCPU_ARRAY: u32 = 6;
    pub const LRU_HASH: u32 = 9;
    pub const LRU_PERCPU_HASH: u32 = 10;
    pub const ARRAY_OF_MAPS: u32 = 12;
    pub const HASH_OF_MAPS: u32 = 13;
    pub const QUEUE: u32 = 22;
    pub const STACK: u32 = 23;
    pub const RINGBUF: u32 = 27;
    pub const TASK_STORAGE: u32 = 29;
    pub const BLOOM_FILTER: u32 = 30;
    pub const CGRP_STORAGE: u32 = 32;
    pub const ARENA: u32 = 33;

    /// The kernel's names, by number, without `BPF_MAP_TYPE_`.
    const NAMES: [&str; 34] = [
        "UNSPEC",
        "HASH",
        "ARRAY",
        "PROG_ARRAY",
        "PERF_EVENT_ARRAY",
        "PERCPU_HASH",
        "PERCPU_ARRAY",
        "STACK_TRACE",
        "CGROUP_ARRAY",
        "LRU_HASH",
        "LRU_PERCPU_HASH",
        "LPM_TRIE",
        "ARRAY_OF_MAPS",
        "HASH_OF_MAPS",
        "DEVMAP",
        "SOCKMAP",
        "CPUMAP",
        "XSKMAP",
        "SOCKHASH",
        "CGROUP_STORAGE",
        "REUSEPORT_SOCKARRAY",
        "PERCPU_CGROUP_STORAGE",
        "QUEUE",
        "STACK",
        "SK_STORAGE",
        "DEVMAP_HASH",
        "STRUCT_OPS",
        "RINGBUF",
        "INODE_STORAGE",
        "TASK_STORAGE",
        "BLOOM_FILTER",
        "USER_RINGBUF",
        "CGRP_STORAGE",
        "ARENA",
    ];

    /// The kernel's name of a kind, or its number.
    pub fn name(kind: u32) -> String {
        NAMES.get(kind as usize).map_or_else(|| format!("number {kind}"), |name| (*name).to_owned())
    }
}

/// `BPF_F_NO_PREALLOC`.
const NO_PREALLOC: u32 = 1;
/// `BPF_F_NO_COMMON_LRU`.
const NO_COMMON_LRU: u32 = 2;
/// `BPF_F_MMAPABLE`: user space may map the values.
const MMAPABLE: u32 = 1 << 10;
/// `BPF_F_SEGV_ON_FAULT`: user space makes no pages by touching them.
const SEGV_ON_FAULT: u32 = 1 << 17;
/// `BPF_F_NO_USER_CONV`: casts do not make user addresses.
const NO_USER_CONV: u32 = 1 << 18;
/// Page size of the modelled machine: a ring buffer has whole pages.
const PAGE: u32 = 4096;
/// Largest value of a per-CPU map (`PCPU_MIN_UNIT_SIZE`).
const PER_CPU_VALUE: u32 = 32 << 10;
/// Largest value of a queue, stack, storage or hash (`KMALLOC_MAX_SIZE`).
const ALLOCATION: u32 = 4 << 20;

/// The description from which a map is made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MapSpec {
    /// The map's name.
    pub name: String,
    /// The map's kind, one of [`kind`].
    pub kind: u32,
    /// Bytes of a key; 0 if the map has no keys.
    pub key_size: u32,
    /// Bytes of a value.
    pub value_size: u32,
    /// Number of elements; of a ring buffer its bytes.
    pub max_entries: u32,
    /// `BPF_F_*` of `map_flags`.
    pub flags: u32,
    /// `map_extra`: the number of hash functions of a Bloom filter; the user address of an arena.
    pub map_extra: u64,
    /// Special fields of a value, by offset.
    pub fields: Arc<[Field]>,
}

/// Why a map cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MapError {
    /// The kernel refuses such a map.
    #[error("map {map}: {why}")]
    Refused {
        /// The map's name.
        map: String,
        /// What the kernel does not accept.
        why: &'static str,
    },
    /// The kernel has this kind of map; this crate has not.
    #[error("map {map}: maps of type {kind} are not supported")]
    Unsupported {
        /// The map's name.
        map: String,
        /// The kind's name.
        kind: String,
    },
    /// The map's values do not fit the instance's memory.
    #[error("map {map}: {why}")]
    Memory {
        /// The map's name.
        map: String,
        /// Which limit was reached.
        why: FaultKind,
    },
}

impl MapSpec {
    /// The description of an object's map: special fields from its types, and values that libbpf fills in.
    pub fn of(definition: &MapDefinition, btf: &Btf, nr_cpus: u32) -> Self {
        let MapDefinition { kind, key_size, value_size, max_entries, flags, map_extra, .. } = *definition;
        let max_entries = match kind {
            kind::PERF_EVENT_ARRAY if max_entries == 0 => nr_cpus,
            kind::RINGBUF => ring_size(max_entries),
            _ => max_entries,
        };
        let mut fields = fields(btf, definition.value_type);
        fields.retain(|field| field.offset.saturating_add(field.size) <= value_size);
        let fields = fields.into();
        Self { name: definition.name.clone(), kind, key_size, value_size, max_entries, flags, map_extra, fields }
    }

    /// Whether each CPU has its own copy of a value.
    pub fn is_per_cpu(&self) -> bool {
        matches!(self.kind, kind::PERCPU_ARRAY | kind::PERCPU_HASH | kind::LRU_PERCPU_HASH)
    }

    /// Whether a full map makes room by removing the least recently used element.
    pub fn is_lru(&self) -> bool {
        matches!(self.kind, kind::LRU_HASH | kind::LRU_PERCPU_HASH)
    }

    /// Whether values hold a spin lock.
    pub fn has_spin_lock(&self) -> bool {
        self.fields.iter().any(|field| field.kind == FieldKind::SpinLock)
    }

    /// Checks what the kernel checks before it makes the map.
    pub(super) fn check(&self) -> Result<(), MapError> {
        let refused = |why| Err(MapError::Refused { map: self.name.clone(), why });
        match self.kind {
            kind::ARRAY | kind::PERCPU_ARRAY | kind::ARRAY_OF_MAPS | kind::PERF_EVENT_ARRAY if self.key_size != 4 => {
                return refused("the key of an array has 4 bytes");
            }
            kind::QUEUE | kind::STACK | kind::BLOOM_FILTER | kind::RINGBUF if self.key_size != 0 => {
                return refused("this kind has no key");
            }
            kind::RINGBUF if self.value_size != 0 => return refused("a ring buffer has no value size"),
            kind::RINGBUF if !self.max_entries.is_power_of_two() || !self.max_entries.is_multiple_of(PAGE) => {
                return refused("a ring buffer's size is a power of two and whole pages");
            }
            kind::RINGBUF => return Ok(()),
            kind::TASK_STORAGE | kind::CGRP_STORAGE => return self.check_storage(),
            kind::ARENA => return self.check_arena(),
            _ => {}
        }
        if self.max_entries == 0 || self.value_size == 0 {
            return refused("it needs max_entries and a value size");
        }
        self.check_hash()?;
        if self.is_per_cpu() && self.value_size > PER_CPU_VALUE {
            return refused("the value of a per-CPU map has at most 32 KiB");
        }
        Ok(())
    }

    fn check_hash(&self) -> Result<(), MapError> {
        let refused = |why| Err(MapError::Refused { map: self.name.clone(), why });
        let hash = matches!(self.kind, kind::HASH | kind::PERCPU_HASH | kind::HASH_OF_MAPS) || self.is_lru();
        if hash && self.key_size == 0 {
            return refused("a hash needs a key size");
        }
        if self.is_lru() && self.flags & NO_PREALLOC != 0 {
            return refused("an LRU hash is always preallocated (no BPF_F_NO_PREALLOC)");
        }
        if hash && !self.is_lru() && self.flags & NO_COMMON_LRU != 0 {
            return refused("BPF_F_NO_COMMON_LRU is for LRU hashes");
        }
        let array =
            matches!(self.kind, kind::ARRAY | kind::PERCPU_ARRAY | kind::PERF_EVENT_ARRAY | kind::ARRAY_OF_MAPS);
        if !array && u64::from(self.key_size) + u64::from(self.value_size) >= u64::from(ALLOCATION) {
            return refused("key and value have less than 4 MiB");
        }
        Ok(())
    }

    /// `bpf_local_storage_map_alloc_check`.
    fn check_storage(&self) -> Result<(), MapError> {
        let why = if self.flags & NO_PREALLOC == 0 {
            "storage needs BPF_F_NO_PREALLOC"
        } else if self.max_entries != 0 {
            "storage has no max_entries"
        } else if self.key_size != 4 || self.value_size == 0 {
            "the key of storage has 4 bytes, and its value some"
        } else if self.value_size >= ALLOCATION {
            "the value has less than 4 MiB"
        } else {
            return Ok(());
        };
        Err(MapError::Refused { map: self.name.clone(), why })
    }

    /// `arena_map_alloc`.
    fn check_arena(&self) -> Result<(), MapError> {
        let size = u64::from(self.max_entries) * PAGE_SIZE;
        let why = if self.key_size != 0 || self.value_size != 0 || self.max_entries == 0 {
            "an arena has max_entries pages and neither keys nor values"
        } else if self.flags & MMAPABLE == 0 || self.flags & !(MMAPABLE | SEGV_ON_FAULT | NO_USER_CONV) != 0 {
            "an arena needs BPF_F_MMAPABLE, and may have BPF_F_SEGV_ON_FAULT and BPF_F_NO_USER_CONV"
        } else if !self.map_extra.is_multiple_of(PAGE_SIZE) {
            "map_extra of an arena is the user address of a page"
        } else if size > 1 << 32 {
            "an arena has at most 4 GiB"
        } else if self.map_extra.checked_add(size - 1).is_none_or(|last| last >> 32 != self.map_extra >> 32) {
            "an arena's user addresses do not cross a 32-bit boundary"
        } else {
            return Ok(());
        };
        Err(self.refused(why))
    }

    /// The arena's pages, by this description.
    pub(super) fn arena(&self) -> ArenaSpec {
        let converts = self.flags & NO_USER_CONV == 0;
        ArenaSpec { user_start: self.map_extra, pages: self.max_entries, converts }
    }

    /// Whether the kernel allocates all elements when it makes the map.
    pub(super) fn is_preallocated(&self) -> bool {
        self.flags & NO_PREALLOC == 0
    }

    /// The error for a description that the kernel does not accept.
    pub(super) fn refused(&self, why: &'static str) -> MapError {
        MapError::Refused { map: self.name.clone(), why }
    }

    /// The error for values that do not fit.
    pub(super) fn no_memory(&self, why: FaultKind) -> MapError {
        MapError::Memory { map: self.name.clone(), why }
    }
}

/// The next power of two that is a number of whole pages (`adjust_ringbuf_sz`); 0 stays, and so does a size without
/// one.
fn ring_size(size: u32) -> u32 {
    match size.max(PAGE).checked_next_power_of_two() {
        Some(rounded) if size != 0 => rounded,
        _ => size,
    }
}
