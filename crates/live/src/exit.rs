// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a scheduler ended: its `struct user_exit_info`, which it fills in itself (`UEI_RECORD` in its `ops.exit`).

use std::fmt;
use std::sync::Arc;

use tandem_bpf_vm::object::Object;
use tandem_bpf_vm::open::OpenObject;

/// The first kind that is an error (`SCX_EXIT_ERROR`).
const ERROR: i64 = 1024;
/// What an exit code asks of the loader (`SCX_ECODE_ACT_MASK`): to load it again (`SCX_ECODE_ACT_RESTART`).
const ACTION: i64 = 0xffff << 48;
const RESTART: i64 = 1 << 48;

/// How a scheduler ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// `SCX_EXIT_*`: 64 to 67 as somebody wished, from 1024 on an error.
    pub kind: i64,
    /// Its exit code: `SCX_ECODE_*` and, in the lower 32 bits, its own.
    pub code: i64,
    /// The kind in words.
    pub reason: String,
    /// Details; may be empty.
    pub message: String,
    /// What CPUs and tasks were doing, after an error; may be empty.
    pub dump: String,
}

impl Exit {
    /// Reads the record out of the object with its data as it is now; `None` if it has not ended, or keeps no record.
    pub(crate) fn read(now: &Arc<Object>) -> Option<Self> {
        let open = OpenObject::new(Arc::clone(now));
        let number = |name: &str| open.integer(name).ok().and_then(|number| i64::try_from(number).ok());
        let kind = number("uei.kind").filter(|kind| *kind != 0)?;
        let text = |name: &str| text(&open, name);
        Some(Self {
            kind,
            code: number("uei.exit_code").unwrap_or(0),
            reason: text("uei.reason"),
            message: text("uei.msg"),
            dump: text("uei_dump"),
        })
    }

    /// Whether it is to be loaded again, as after a CPU came or went.
    pub fn wants_restart(&self) -> bool {
        !self.is_error() && self.code & ACTION == RESTART
    }

    /// Whether the kernel threw it out, or it reported an error itself.
    pub fn is_error(&self) -> bool {
        self.kind >= ERROR
    }
}

/// An array of characters up to its end.
fn text(open: &OpenObject, name: &str) -> String {
    let bytes = open.bytes(name).unwrap_or_default();
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.reason)?;
        if !self.message.is_empty() {
            write!(f, " ({})", self.message)?;
        }
        if self.code != 0 { write!(f, ", exit code {:#x}", self.code) } else { Ok(()) }
    }
}
