// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a kernel's types say of schedulers: which members its `struct sched_ext_ops` has, which flags, and how some functions behave.
//!
//! Both grow with the kernel. An object that was built for a newer one may set what an older one lacks, and objects for an older one
//! set flags that a newer one has dropped ([`crate::fitting`]).

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::OnceLock;

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{Enum, Enum64, Func, Struct, Var};

/// The structure of a scheduler.
const OPS: &str = "sched_ext_ops";
/// The enumeration of its flags.
const FLAGS: &str = "scx_ops_flags";
/// All of them that a scheduler may have.
const ALL_FLAGS: &str = "SCX_OPS_ALL_FLAGS";
/// The root of the running kernel's files.
const RUNNING: &str = "/";
/// A kernel's types, below the root of its files.
const TYPES: &str = "sys/kernel/btf/vmlinux";
/// What types begin with (`BTF_MAGIC`), the low byte first.
const MAGIC: [u8; 2] = [0x9f, 0xeb];

/// What the kernel passes limits of groups on with.
pub(crate) const CGROUP_SET_BANDWIDTH: &str = "cgroup_set_bandwidth";

/// Members and flags of a kernel's `struct sched_ext_ops`, and what tells how its functions behave.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct OpsTypes {
    /// Names of the members.
    pub(crate) members: BTreeSet<String>,
    /// The flags (`SCX_OPS_*`) by name; none if the kernel does not describe them.
    pub(crate) flags: BTreeMap<String, u64>,
    /// Whether `scx_bpf_cpuperf_set` locks the CPU's run queue if its caller has none locked, so that timers may call it. It does
    /// since Linux 6.15, which brought a variable of each CPU for the one that is locked.
    pub(crate) cpuperf_locks: bool,
    /// Whether `scx_bpf_reenqueue_local` may be called from anywhere: since Linux 6.19, which has that as a function of its own.
    pub(crate) reenqueues_anywhere: bool,
}

impl OpsTypes {
    /// Those of the running kernel, read once: its types are megabytes. `None` if it does not describe them.
    pub(crate) fn running() -> Option<&'static Self> {
        static TYPES: OnceLock<Option<OpsTypes>> = OnceLock::new();
        TYPES.get_or_init(|| Self::read(Path::new(RUNNING))).as_ref()
    }

    /// Those of the kernel whose `/sys` is below `root`; `None` if it does not describe them.
    pub(crate) fn below(root: &Path) -> Option<Self> {
        if root == Path::new(RUNNING) { Self::running().cloned() } else { Self::read(root) }
    }

    fn read(root: &Path) -> Option<Self> {
        let path = root.join(TYPES);
        let mut magic = [0; MAGIC.len()];
        File::open(&path).ok()?.read_exact(&mut magic).ok()?;
        if magic != MAGIC {
            return None;
        }
        let btf = Btf::from_path(&path).ok()?;
        let ops = btf.type_by_name::<Struct<'_>>(OPS)?;
        let has_var = |name: &&str| btf.type_by_name::<Var<'_>>(name).is_some();
        Some(Self {
            members: ops.iter().filter_map(|member| text(member.name)).collect(),
            flags: flags(&btf),
            cpuperf_locks: ["scx_locked_rq_state", "locked_rq"].iter().any(has_var),
            reenqueues_anywhere: btf.type_by_name::<Func<'_>>("scx_bpf_reenqueue_local___v2").is_some(),
        })
    }

    /// Whether the kernel has a member.
    pub(crate) fn has(&self, member: &str) -> bool {
        self.members.contains(member)
    }

    /// All flags that a scheduler may have (`SCX_OPS_ALL_FLAGS`); `None` if the kernel does not describe them.
    pub(crate) fn all_flags(&self) -> Option<u64> {
        self.flags.get(ALL_FLAGS).copied()
    }

    /// The flags that have these names; one that the kernel does not know, it cannot be asked.
    pub(crate) fn flags_named(&self, names: &[&str]) -> u64 {
        names.iter().filter_map(|name| self.flags.get(*name)).fold(0, |all, flag| all | flag)
    }
}

/// The enumeration has 64 bits in some kernels, 32 in others.
fn flags(btf: &Btf<'_>) -> BTreeMap<String, u64> {
    if let Some(flags) = btf.type_by_name::<Enum64<'_>>(FLAGS) {
        return flags.iter().filter_map(|flag| Some((text(flag.name)?, flag.value as u64))).collect();
    }
    let Some(flags) = btf.type_by_name::<Enum<'_>>(FLAGS) else { return BTreeMap::new() };
    flags.iter().filter_map(|flag| Some((text(flag.name)?, u64::from(flag.value as u32)))).collect()
}

fn text(name: Option<&OsStr>) -> Option<String> {
    name.and_then(OsStr::to_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the kernel that runs the tests has sched_ext: each has what came with 6.12.
    #[test]
    fn a_kernel_says_what_members_and_flags_it_has() {
        let Some(types) = OpsTypes::running() else { return };
        assert!(["enqueue", "dispatch", "cgroup_init", "name"].iter().all(|member| types.has(member)), "{types:?}");
        assert!(!types.has("no_such_member"), "{types:?}");
        // KEEP_BUILTIN_IDLE, ENQ_LAST, ENQ_EXITING, SWITCH_PARTIAL.
        assert_eq!(types.all_flags().map(|flags| flags & 0xf), Some(0xf));
    }

    #[test]
    fn what_is_no_description_of_types_says_nothing() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(OpsTypes::below(root.path()), None);
        let folder = root.path().join("sys/kernel/btf");
        std::fs::create_dir_all(&folder).unwrap();
        for bytes in [&b"types"[..], &MAGIC, b""] {
            std::fs::write(folder.join("vmlinux"), bytes).unwrap();
            assert_eq!(OpsTypes::below(root.path()), None);
        }
    }
}
