// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a kernel's types say of schedulers: which members its `struct sched_ext_ops` has, and which flags.
//!
//! Both grow with the kernel. An object that was built for a newer one may set what an older one lacks, and objects for an older one
//! set flags that a newer one has dropped ([`crate::fitting`]).

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{Enum, Enum64, Struct};

/// The structure of a scheduler.
const OPS: &str = "sched_ext_ops";
/// The enumeration of its flags.
const FLAGS: &str = "scx_ops_flags";
/// All of them that a scheduler may have.
const ALL_FLAGS: &str = "SCX_OPS_ALL_FLAGS";
/// A kernel's types, below the root of its files.
const TYPES: &str = "sys/kernel/btf/vmlinux";
/// What types begin with (`BTF_MAGIC`), the low byte first.
const MAGIC: [u8; 2] = [0x9f, 0xeb];

/// What the kernel passes limits of groups on with.
pub(crate) const CGROUP_SET_BANDWIDTH: &str = "cgroup_set_bandwidth";

/// Members and flags of a kernel's `struct sched_ext_ops`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct OpsTypes {
    /// Names of the members.
    pub(crate) members: BTreeSet<String>,
    /// The flags that the kernel takes (`SCX_OPS_ALL_FLAGS`); `None` if it does not describe them.
    pub(crate) flags: Option<u64>,
}

impl OpsTypes {
    /// Those of the kernel whose `/sys` is below `root`; `None` if it does not describe them.
    pub(crate) fn below(root: &Path) -> Option<Self> {
        let path = root.join(TYPES);
        let mut magic = [0; MAGIC.len()];
        File::open(&path).ok()?.read_exact(&mut magic).ok()?;
        if magic != MAGIC {
            return None;
        }
        let btf = Btf::from_path(&path).ok()?;
        let ops = btf.type_by_name::<Struct<'_>>(OPS)?;
        let members = ops.iter().filter_map(|member| text(member.name)).collect();
        Some(Self { members, flags: flags(&btf) })
    }

    /// Whether the kernel has a member.
    pub(crate) fn has(&self, member: &str) -> bool {
        self.members.contains(member)
    }
}

/// The enumeration has 64 bits in some kernels, 32 in others.
fn flags(btf: &Btf<'_>) -> Option<u64> {
    let is_all = |name: Option<&OsStr>| name == Some(OsStr::new(ALL_FLAGS));
    if let Some(flags) = btf.type_by_name::<Enum64<'_>>(FLAGS) {
        return flags.iter().find(|flag| is_all(flag.name)).map(|flag| flag.value as u64);
    }
    let flags = btf.type_by_name::<Enum<'_>>(FLAGS)?;
    flags.iter().find(|flag| is_all(flag.name)).map(|flag| flag.value as u32).map(u64::from)
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
        let Some(types) = OpsTypes::below(Path::new("/")) else { return };
        assert!(["enqueue", "dispatch", "cgroup_init", "name"].iter().all(|member| types.has(member)), "{types:?}");
        assert!(!types.has("no_such_member"), "{types:?}");
        // KEEP_BUILTIN_IDLE, ENQ_LAST, ENQ_EXITING, SWITCH_PARTIAL.
        assert_eq!(types.flags.map(|flags| flags & 0xf), Some(0xf));
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
