// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel functions that programs may call (`scx_bpf_*`), and from where.
//!
//! [`TABLE`] has all of them; a function's number is its place there. Which of them a kernel has depends on its version,
//! as does what a name stands for: see [`number`]. What BPF itself brings (cpumasks, trees, objects) is in the VM.
//!
//! 7.1 has two forms of `scx_bpf_dsq_move_to_local`, one with flags. Loaders cut the last `___` off the names in an object,
//! so which one it gets depends on what else is behind its name.
//!
//! Left out of 7.1's, all weak in the headers, so that programs do without: `scx_bpf_events` (the kernel's counters) and
//! `scx_bpf_sub_dispatch`.
//!
//! - [`context`]: from which callbacks a function may be called. [`table`]: names, prototypes and versions.
//! - [`select`], [`insert`], [`dispatch`], [`moves`], [`idle`], [`any`], [`exit`]: sched_ext's own.
//! - [`task`], [`cgroup`]: tasks and cgroups.

pub mod any;
pub mod cgroup;
pub mod context;
pub mod dispatch;
pub mod exit;
pub mod idle;
pub mod insert;
pub mod moves;
pub mod select;
pub mod table;
pub mod task;

use tandem_bpf_vm::fault::Fault;
use tandem_bpf_vm::host::Args;

use super::Ctx;
use super::abi::profile::Version;
use context::Context;
pub use table::TABLE;

/// What a function does. Its result is as wide as [`Prototype::ret`] says; narrower ones may have any bits above.
pub type Handler = fn(&mut Ctx<'_>, Args) -> Result<u64, Fault>;

/// A type of a parameter or result, as far as loaders compare them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// No result.
    Void,
    /// `bool`.
    Bool,
    /// `s32`, `int`.
    S32,
    /// `u32`.
    U32,
    /// `s64`, `long`.
    S64,
    /// `u64`.
    U64,
    /// A pointer.
    Ptr,
}

/// A function's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prototype {
    /// What it returns.
    pub ret: Kind,
    /// What it takes, without the trailing parameter that newer kernels add themselves.
    pub params: &'static [Kind],
}

/// Which kernels have a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Versions {
    /// All versions.
    All,
    /// Up to 6.12.
    Old,
    /// 6.18 and 7.1.
    Later,
    /// 7.1.
    New,
}

impl Versions {
    /// Whether `version` is among them.
    pub fn include(self, version: Version) -> bool {
        match self {
            Self::All => true,
            Self::Old => version == Version::V6_12,
            Self::Later => version >= Version::V6_18,
            Self::New => version >= Version::V7,
        }
    }
}

/// A kernel function.
#[derive(Debug, Clone, Copy)]
pub struct Kfunc {
    /// The function's name.
    pub name: &'static str,
    /// The function's type, which tests compare with what objects are given as the kernel's.
    #[cfg_attr(not(test), expect(dead_code, reason = "only tests ask"))]
    pub prototype: Prototype,
    /// Which kernels have it so.
    pub versions: Versions,
    /// From where it may be called; the function itself asks.
    #[cfg_attr(not(test), expect(dead_code, reason = "only tests ask"))]
    pub context: Context,
    /// What it does.
    pub handler: Handler,
}

/// The functions that `version` has, with their numbers.
pub fn offered(version: Version) -> impl Iterator<Item = (u32, &'static Kfunc)> {
    (0..).zip(TABLE).filter(move |(_, kfunc)| kfunc.versions.include(version))
}

/// Number of the function `name` in `version`; `None` if it has none.
pub fn number(version: Version, name: &str) -> Option<u32> {
    offered(version).find(|(_, kfunc)| kfunc.name == name).map(|(number, _)| number)
}

/// A negative errno as a result.
fn errno(errno: i64) -> Result<u64, Fault> {
    Ok(errno.wrapping_neg() as u64)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::scx::abi::profile::Profile;
    use crate::scx::abi::types::prototype::{Spelling, parse};
    use crate::scx::abi::types::prototypes;

    /// The kind of a type as C spells it.
    fn kind(spelling: Spelling<'_>) -> Kind {
        match (spelling.base, spelling.pointers) {
            (_, 1..) => Kind::Ptr,
            ("void", _) => Kind::Void,
            ("bool", _) => Kind::Bool,
            ("s32" | "int", _) => Kind::S32,
            ("u32" | "unsigned int", _) => Kind::U32,
            ("s64" | "long", _) => Kind::S64,
            ("u64" | "size_t", _) => Kind::U64,
            (other, _) => panic!("no kind for {other}"),
        }
    }

    /// What programs can see of a function (its BTF) is what they can call, and the other way round.
    #[test]
    fn functions_are_declared_as_they_are_offered() {
        for profile in Profile::ALL {
            let mut declared = BTreeMap::new();
            for text in prototypes::of(profile) {
                let prototype = parse(text).unwrap();
                let params: Vec<Kind> = prototype.params.iter().map(|(_, spelling)| kind(*spelling)).collect();
                assert!(declared.insert(prototype.name, (kind(prototype.ret), params)).is_none(), "{text}");
            }
            for (_, kfunc) in offered(profile.version) {
                let offered = (kfunc.prototype.ret, kfunc.prototype.params.to_vec());
                assert_eq!(declared.remove(kfunc.name), Some(offered), "{} of {profile}", kfunc.name);
            }
            let nobody: Vec<&&str> =
                declared.keys().filter(|name| tandem_bpf_vm::kfunc::kfunc(name).is_none()).collect();
            assert!(nobody.is_empty(), "declared in {profile}, but not there: {nobody:?}");
        }
    }

    #[test]
    fn a_version_has_each_name_once() {
        for version in [Version::V6_12, Version::V6_18, Version::V7] {
            let mut names: Vec<&str> = offered(version).map(|(_, kfunc)| kfunc.name).collect();
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count);
        }
    }

    #[test]
    fn old_names_are_gone_in_new_kernels_and_new_ones_unknown_to_old_ones() {
        for name in ["scx_bpf_dispatch", "scx_bpf_dispatch_vtime", "scx_bpf_consume", "scx_bpf_dispatch_from_dsq"] {
            assert!(number(Version::V6_12, name).is_some() && number(Version::V7, name).is_none(), "{name}");
        }
        for name in ["scx_bpf_dsq_insert___v2", "scx_bpf_dsq_move_to_local", "scx_bpf_now", "scx_bpf_cpu_node"] {
            assert!(number(Version::V6_12, name).is_none() && number(Version::V7, name).is_some(), "{name}");
        }
        for name in ["scx_bpf_select_cpu_dfl", "scx_bpf_kick_cpu", "bpf_task_from_pid", "scx_bpf_create_dsq"] {
            assert!(number(Version::V6_12, name).is_some() && number(Version::V7, name).is_some(), "{name}");
        }
    }

    #[test]
    fn moving_to_the_local_queue_has_a_form_with_flags_in_7_1() {
        let prototype = |name| TABLE[number(Version::V7, name).unwrap() as usize].prototype;
        let (old, new) = (prototype("scx_bpf_dsq_move_to_local"), prototype("scx_bpf_dsq_move_to_local___v2"));
        assert_eq!(old, Prototype { ret: Kind::Bool, params: &[Kind::U64] });
        assert_eq!(new, Prototype { ret: Kind::Bool, params: &[Kind::U64, Kind::U64] });
    }

    #[test]
    fn no_function_takes_more_than_five_arguments() {
        assert!(
            TABLE.iter().all(|kfunc| kfunc.prototype.params.len() <= 5
                && kfunc.prototype.params.iter().all(|kind| *kind != Kind::Void))
        );
    }

    #[test]
    fn a_context_is_the_one_of_the_functions_group() {
        let context = |version, name| TABLE[number(version, name).unwrap() as usize].context;
        assert_eq!(context(Version::V6_12, "scx_bpf_select_cpu_dfl"), Context::Mask(context::SELECT_CPU));
        assert_eq!(
            context(Version::V7, "scx_bpf_select_cpu_dfl"),
            Context::MaskOrUnlocked(context::SELECT_CPU | context::ENQUEUE)
        );
        assert_eq!(context(Version::V6_12, "scx_bpf_task_cgroup"), Context::ArgTask);
        assert_eq!(context(Version::V6_12, "scx_bpf_create_dsq"), Context::Sleepable);
        assert_eq!(context(Version::V6_12, "scx_bpf_kick_cpu"), Context::Any);
        assert_eq!(context(Version::V6_12, "scx_bpf_reenqueue_local"), Context::Mask(context::CPU_RELEASE));
    }
}
