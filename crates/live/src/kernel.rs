// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a kernel says of sched_ext, in `/sys/kernel/sched_ext`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{Enum, Enum64, Func, Var};
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

/// The flags of `struct sched_ext_ops` that have these names. What the running kernel does not know, it cannot be asked.
pub(crate) fn ops_flags(names: &[&str]) -> u64 {
    const FLAGS: &str = "scx_ops_flags";
    let Ok(btf) = Btf::from_vmlinux() else { return 0 };
    let wanted = |name: Option<&OsStr>| name.and_then(OsStr::to_str).is_some_and(|name| names.contains(&name));
    let all = |flags: u64, flag: u64| flags | flag;
    if let Some(flags) = btf.type_by_name::<Enum64<'_>>(FLAGS) {
        return flags.iter().filter(|flag| wanted(flag.name)).map(|flag| flag.value as u64).fold(0, all);
    }
    let Some(flags) = btf.type_by_name::<Enum<'_>>(FLAGS) else { return 0 };
    flags.iter().filter(|flag| wanted(flag.name)).map(|flag| flag.value as u64).fold(0, all)
}

/// Whether `scx_bpf_cpuperf_set` locks the CPU's run queue if its caller has none locked, so that timers may call it. It does
/// since Linux 6.15, which brought a variable of each CPU for what is locked.
pub(crate) fn cpuperf_locks() -> bool {
    let Ok(btf) = Btf::from_vmlinux() else { return false };
    ["scx_locked_rq_state", "locked_rq"].iter().any(|name| btf.type_by_name::<Var<'_>>(name).is_some())
}

/// Whether `scx_bpf_reenqueue_local` may be called from anywhere: since Linux 6.19, which has that as a function of its own.
pub(crate) fn reenqueues_anywhere() -> bool {
    let Ok(btf) = Btf::from_vmlinux() else { return false };
    btf.type_by_name::<Func<'_>>("scx_bpf_reenqueue_local___v2").is_some()
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
