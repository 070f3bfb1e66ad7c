// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a kernel says of sched_ext, in `/sys/kernel/sched_ext`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tandem_bpf_vm::btf::Btf as Types;

use crate::error::LiveError;
use crate::ops_types::{CGROUP_SET_BANDWIDTH, OpsTypes};

const FOLDER: &str = "sys/kernel/sched_ext";
/// The root of the running kernel's files.
const RUNNING: &str = "/";

/// What sched_ext is doing: `disabled`, `enabling`, `enabled`, `disabling`; `None` if the kernel has none.
pub fn state() -> Option<String> {
    state_below(Path::new(RUNNING))
}

/// What the sched_ext of the kernel whose `/sys` is below `root` is doing, as [`state`].
pub fn state_below(root: &Path) -> Option<String> {
    file(root, "state")
}

/// The name of the scheduler that runs (`sched_ext_ops.name`).
pub fn scheduler() -> Option<String> {
    scheduler_below(Path::new(RUNNING))
}

/// The name of the scheduler that runs in the kernel whose `/sys` is below `root`.
pub fn scheduler_below(root: &Path) -> Option<String> {
    file(root, "root/ops")
}

/// Whether the kernel whose `/sys` is below `root` tells schedulers of limits of groups (`ops.cgroup_set_bandwidth`, since Linux
/// 6.17). Where it does not, `cpu.max` holds under no scheduler but its own.
pub fn passes_limits_below(root: &Path) -> bool {
    OpsTypes::below(root).is_some_and(|ops| ops.has(CGROUP_SET_BANDWIDTH))
}

/// Checks that a scheduler could be loaded now.
///
/// # Errors
/// [`LiveError::NoSchedExt`], [`LiveError::Busy`].
pub fn check_free() -> Result<(), LiveError> {
    match state() {
        None => Err(LiveError::NoSchedExt),
        Some(state) if state == "disabled" => Ok(()),
        Some(state) => Err(LiveError::Busy { state }),
    }
}

/// The kernel's enumerators for sched_ext (`SCX_*`), which objects that adapt to a kernel have in variables.
#[derive(Debug, Default)]
pub(crate) struct Enumerators(BTreeMap<String, u64>);

impl Enumerators {
    /// Those of the running kernel; none if it does not describe its types.
    pub(crate) fn of_running_kernel() -> Self {
        fs::read("/sys/kernel/btf/vmlinux").map_or_else(|_| Self::default(), |bytes| Self::of(&bytes))
    }

    /// The values in a kernel's types.
    fn of(btf: &[u8]) -> Self {
        let Ok(btf) = Types::parse(btf) else { return Self::default() };
        let values = btf.types().filter_map(|(_, ty)| ty.enumeration()).flat_map(|names| &names.values);
        let known = values.filter(|value| value.name.starts_with("SCX_"));
        Self(known.map(|value| (value.name.as_str().to_owned(), value.value)).collect())
    }

    /// What an enumerator is; `None`: the kernel does not have it.
    pub(crate) fn value(&self, name: &str) -> Option<u64> {
        self.0.get(name).copied()
    }
}

fn file(root: &Path, name: &str) -> Option<String> {
    fs::read_to_string(root.join(FOLDER).join(name)).ok().map(|text| text.trim().to_owned())
}
