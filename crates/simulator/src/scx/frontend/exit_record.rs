// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads what a scheduler recorded of its end (`struct user_exit_info`), as its loader program would.

use tandem_bpf_vm::instance::Instance;

/// What a scheduler recorded of its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserExitInfo {
    /// `SCX_EXIT_*`; 0 if it has not ended.
    pub kind: i32,
    /// Exit code.
    pub exit_code: i64,
    /// The kind in words.
    pub reason: String,
    /// The message.
    pub message: String,
    /// The debug dump.
    pub dump: String,
}

/// The record of an object that keeps one in a variable `uei`.
pub fn read(vm: &Instance) -> Option<UserExitInfo> {
    let global = vm.global("uei")?;
    let member = |path: &str| {
        let place = vm.object().btf.member(global.type_id, path)?;
        vm.memory.read(global.address + place.offset(), place.size()).ok()
    };
    let number = |path: &str| {
        let bytes = member(path)?;
        let value = bytes.iter().take(8).rev().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
        Some(value as i64)
    };
    Some(UserExitInfo {
        kind: number("kind")? as i32,
        exit_code: number("exit_code").unwrap_or(0),
        reason: text(member("reason")?),
        message: text(member("msg")?),
        dump: vm.global_bytes("uei_dump").map(text).unwrap_or_default(),
    })
}

/// The text that bytes hold up to the first null byte.
pub(super) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
