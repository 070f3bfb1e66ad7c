// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the running kernel says of sched_ext, in `/sys/kernel/sched_ext`.

use std::fs;

use tandem_bpf_vm::btf::{Btf, Type};

use crate::error::LiveError;

const FOLDER: &str = "/sys/kernel/sched_ext";

/// What sched_ext is doing: `disabled`, `enabling`, `enabled`, `disabling`; `None` if the kernel has none.
pub fn state() -> Option<String> {
    file("state")
}

/// The name of the scheduler that runs (`sched_ext_ops.name`).
pub fn scheduler() -> Option<String> {
    file("root/ops")
}

/// How many tasks were turned away by schedulers and are fair (`SCX_TASK_REQ_...`), since the kernel started.
pub fn rejected() -> Option<u64> {
    file("nr_rejected")?.parse().ok()
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

/// The running kernel's types; `None` if it has none to show.
pub(crate) fn types() -> Option<Btf> {
    Btf::parse(&fs::read("/sys/kernel/btf/vmlinux").ok()?).ok()
}

/// The value of an enumerator.
pub(crate) fn enumerator(btf: &Btf, name: &str) -> Option<u64> {
    let mut enums = btf.types().filter_map(|(_, ty)| Type::enumeration(ty));
    enums.find_map(|values| values.values.iter().find(|value| value.name == *name)).map(|value| value.value)
}

fn file(name: &str) -> Option<String> {
    fs::read_to_string(format!("{FOLDER}/{name}")).ok().map(|text| text.trim().to_owned())
}
