// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a scheduler went (`struct scx_exit_info`), and what may make it go.
//!
//! The first that claims the exit wins; what comes after is not heard. The program that erred runs on to its end: the
//! scheduler is taken down when the hook is done. See [`dump`](super::dump) for what is written down before that.

use std::fmt::Display;

use tandem_bpf_vm::fault::{Fault, FaultKind, Location};

use super::Ctx;
use super::dump::DumpData;
use super::errno::EPROTO;
use super::frontend::MORE_MEMORY;
use super::ops::Op;
use super::origin::{Blame, Culprit};
use crate::units::{CpuId, Nanos};

/// Longest message, its null byte included (`SCX_EXIT_MSG_LEN`).
pub const SCX_EXIT_MSG_LEN: usize = 1024;
/// Deepest backtrace (`SCX_EXIT_BT_LEN`).
pub const SCX_EXIT_BT_LEN: usize = 64;
/// Size of the dump where the scheduler does not say one (`SCX_EXIT_DUMP_DFL_LEN`).
pub const SCX_EXIT_DUMP_DFL_LEN: u32 = 32768;

/// Exit code: a CPU came or went (`SCX_ECODE_RSN_HOTPLUG`).
pub const SCX_ECODE_RSN_HOTPLUG: i64 = 1 << 32;
/// Exit code: the scheduler shall be loaded again (`SCX_ECODE_ACT_RESTART`).
pub const SCX_ECODE_ACT_RESTART: i64 = 1 << 48;

/// Bits of an exit code that say what the loader shall do.
const ECODE_ACTION: i64 = 0xffff << 48;

/// The kind of reason (`enum scx_exit_kind`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum ExitKind {
    /// User space unloads the scheduler.
    Unreg = 64,
    /// The scheduler unloads itself (`scx_bpf_exit`).
    UnregBpf = 65,
    /// The kernel unloads the scheduler, for instance because a CPU comes or goes.
    UnregKern = 66,
    /// A person at the keyboard unloads the scheduler.
    Sysrq = 67,
    /// The scheduler above it goes (7.x).
    Parent = 68,
    /// The scheduler misused the kernel's interface.
    Error = 1024,
    /// The scheduler reports an error (`scx_bpf_error`).
    ErrorBpf = 1025,
    /// The scheduler left a task waiting for too long.
    ErrorStall = 1026,
}

impl ExitKind {
    /// All kinds.
    pub const ALL: [Self; 8] = [
        Self::Unreg,
        Self::UnregBpf,
        Self::UnregKern,
        Self::Sysrq,
        Self::Parent,
        Self::Error,
        Self::ErrorBpf,
        Self::ErrorStall,
    ];

    /// The kernel's number.
    pub fn value(self) -> u32 {
        self as u32
    }

    /// The kernel's name (`SCX_EXIT_*`).
    pub fn name(self) -> &'static str {
        match self {
            Self::Unreg => "SCX_EXIT_UNREG",
            Self::UnregBpf => "SCX_EXIT_UNREG_BPF",
            Self::UnregKern => "SCX_EXIT_UNREG_KERN",
            Self::Sysrq => "SCX_EXIT_SYSRQ",
            Self::Parent => "SCX_EXIT_PARENT",
            Self::Error => "SCX_EXIT_ERROR",
            Self::ErrorBpf => "SCX_EXIT_ERROR_BPF",
            Self::ErrorStall => "SCX_EXIT_ERROR_STALL",
        }
    }

    /// What the kernel calls it in messages (`scx_exit_reason`).
    pub fn reason(self) -> &'static str {
        match self {
            Self::Unreg => "unregistered from user space",
            Self::UnregBpf => "unregistered from BPF",
            Self::UnregKern => "unregistered from the main kernel",
            Self::Sysrq => "disabled by sysrq-S",
            Self::Parent => "parent exiting",
            Self::Error => "runtime error",
            Self::ErrorBpf => "scx_bpf_error",
            Self::ErrorStall => "runnable task stall",
        }
    }

    /// Whether it is an error (`SCX_EXIT_ERROR` and up): then there is a dump.
    pub fn is_error(self) -> bool {
        self >= Self::Error
    }
}

/// Why a scheduler goes or went (`struct scx_exit_info`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExitInfo {
    /// What kind of exit it is.
    pub kind: ExitKind,
    /// `SCX_ECODE_*` and the scheduler's own code in the lower 32 bits.
    pub exit_code: i64,
    /// The kind in words.
    pub reason: &'static str,
    /// What happened, in words (`msg`).
    pub message: String,
    /// State of CPUs and tasks after an error; empty otherwise.
    pub dump: String,
    /// The callback that caused it, if one did.
    pub op: Option<Op>,
    /// The CPU that executed the callback, else the one where it happened.
    pub cpu: CpuId,
    /// Where in the programs, innermost first: where the wrong decision was made, which may have failed only after the
    /// callback. (A kernel has the place where it failed, its own functions included, and for errors only.)
    pub backtrace: Vec<Location>,
    /// When it happened.
    pub at: Nanos,
}

impl ExitInfo {
    /// An exit at `at`, by `culprit`; its message and backtrace are cut to what the kernel keeps.
    fn new(kind: ExitKind, exit_code: i64, message: String, (op, cpu, mut backtrace): Culprit, at: Nanos) -> Self {
        backtrace.truncate(SCX_EXIT_BT_LEN);
        let message = cut(message, SCX_EXIT_MSG_LEN);
        Self { kind, exit_code, reason: kind.reason(), message, dump: String::new(), op, cpu, backtrace, at }
    }

    /// Whether the loader is asked to load the scheduler again.
    pub fn wants_restart(&self) -> bool {
        self.exit_code & ECODE_ACTION == SCX_ECODE_ACT_RESTART
    }
}

/// Whether the exit can be claimed (`scx_exit_kind`).
#[derive(Debug, Default)]
enum Claim {
    /// There is no scheduler, or it has been taken down (`SCX_EXIT_DONE`).
    #[default]
    Done,
    /// The exit has not been claimed (`SCX_EXIT_NONE`).
    None,
    /// The exit has been claimed, and is to be carried out.
    Claimed(Box<ExitInfo>),
}

/// Whether and why the scheduler goes or went.
#[derive(Debug, Default)]
pub struct ExitState {
    /// What is being dumped.
    pub(super) dumping: Option<DumpData>,
    /// The decision that is being carried out.
    pub(super) blame: Option<Blame>,
    claim: Claim,
}

impl ExitState {
    /// Whether the scheduler must be taken down as soon as the present hook is done.
    pub fn pending(&self) -> bool {
        matches!(self.claim, Claim::Claimed(_))
    }

    /// The claimed exit that has not been carried out.
    pub fn claimed(&self) -> Option<&ExitInfo> {
        match &self.claim {
            Claim::Claimed(info) => Some(info),
            Claim::Done | Claim::None => None,
        }
    }

    /// The dump under way.
    pub(super) fn dump(&mut self) -> &mut DumpData {
        self.dumping.get_or_insert_default()
    }

    /// From now on the exit may be claimed: a scheduler is being loaded.
    pub fn arm(&mut self) {
        self.claim = Claim::None;
    }

    /// Whether the exit may still be claimed.
    pub fn open(&self) -> bool {
        matches!(self.claim, Claim::None)
    }

    /// Claims the exit (`scx_claim_exit`): the first wins. True if it was this one.
    pub fn claim(&mut self, info: ExitInfo) -> bool {
        if !self.open() {
            return false;
        }
        self.claim = Claim::Claimed(Box::new(info));
        true
    }

    /// Takes the claimed exit to carry it out; no other can be claimed any more (`SCX_EXIT_DONE`).
    pub fn take(&mut self) -> Option<ExitInfo> {
        match std::mem::take(&mut self.claim) {
            Claim::Claimed(info) => Some(*info),
            Claim::None => {
                self.claim = Claim::None;
                None
            }
            Claim::Done => None,
        }
    }
}

/// `text` cut to less than `limit` bytes, as `vscnprintf` leaves room for the null byte.
pub(super) fn cut(mut text: String, limit: usize) -> String {
    let mut end = limit.saturating_sub(1);
    if text.len() > end {
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
    }
    text
}

impl Ctx<'_> {
    /// Claims the exit with a code and a message; without effect if it was claimed before (`scx_ops_exit_kind`). The caller
    /// goes on; the scheduler is taken down when the hook is done.
    pub fn scx_ops_exit_kind(&mut self, kind: ExitKind, exit_code: i64, message: String) {
        if !self.scx.exit.open() {
            return;
        }
        let culprit = self.scx.exit.culprit(&self.scx.calls, self.vm);
        self.scx.exit.claim(ExitInfo::new(kind, exit_code, message, culprit, self.kernel.now));
    }

    /// A program was stopped: there is no such thing in a kernel, whose verifier would have refused it; here it is an
    /// error of the scheduler.
    pub fn scx_fault(&mut self, fault: &Fault) {
        let (op, cpu, _) = self.scx.exit.culprit(&self.scx.calls, self.vm);
        let culprit = (op, cpu, fault.backtrace().to_vec());
        let message = match fault.kind() {
            FaultKind::Exhausted(why) => format!("{why}; {MORE_MEMORY}"),
            FaultKind::Total(_) => format!("{}; `bpf_run_budget` says how many", fault.kind()),
            kind => kind.to_string(),
        };
        self.scx.exit.claim(ExitInfo::new(ExitKind::Error, 0, message, culprit, self.kernel.now));
    }

    /// What `result` has; if it is a refusal, the scheduler erred.
    #[inline]
    pub fn accept<T>(&mut self, result: Result<T, impl Display>) -> Option<T> {
        result.map_err(|refusal| self.ops_error(refusal.to_string())).ok()
    }

    /// An error number that a callback returned: as it is if it is one, else the scheduler erred and it is `-EPROTO`
    /// (`ops_sanitize_err`).
    pub fn ops_sanitize_err(&mut self, op: Op, value: i64) -> i32 {
        const MAX_ERRNO: i32 = 4095;
        let value = value as i32;
        if (-MAX_ERRNO..0).contains(&value) {
            return value;
        }
        let message = format!("ops.{}() returned an invalid errno {value}", op.name());
        self.ops_error(message);
        -(EPROTO as i32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(kind: ExitKind, message: &str) -> ExitInfo {
        ExitInfo {
            kind,
            exit_code: 0,
            reason: kind.reason(),
            message: message.to_owned(),
            dump: String::new(),
            op: None,
            cpu: CpuId(0),
            backtrace: Vec::new(),
            at: 7,
        }
    }

    #[test]
    fn the_kinds_have_the_numbers_of_the_kernel() {
        let numbers = ExitKind::ALL.map(ExitKind::value);
        assert_eq!(numbers, [64, 65, 66, 67, 68, 1024, 1025, 1026]);
        assert_eq!(ExitKind::ALL.map(ExitKind::is_error), [false, false, false, false, false, true, true, true]);
        assert_eq!(ExitKind::ErrorStall.reason(), "runnable task stall");
    }

    #[test]
    fn the_first_claim_wins() {
        let mut exit = ExitState::default();
        exit.arm();
        assert!(exit.claim(info(ExitKind::ErrorBpf, "first")));
        assert!(!exit.claim(info(ExitKind::Error, "second")));
        assert!(exit.pending());
        assert_eq!(exit.take().map(|info| info.message), Some("first".to_owned()));
    }

    #[test]
    fn without_a_scheduler_nothing_can_be_claimed() {
        let mut exit = ExitState::default();
        assert!(!exit.claim(info(ExitKind::Error, "too early")));
        exit.arm();
        assert!(exit.claim(info(ExitKind::Unreg, "")));
        exit.take();
        assert!(!exit.claim(info(ExitKind::Error, "too late")));
        assert!(!exit.pending());
        assert_eq!(exit.take(), None);
    }

    #[test]
    fn taking_nothing_leaves_the_exit_open() {
        let mut exit = ExitState::default();
        exit.arm();
        assert_eq!(exit.take(), None);
        assert!(exit.open());
    }

    #[test]
    fn a_restart_is_an_action_whatever_the_reason() {
        let code = |exit_code| ExitInfo { exit_code, ..info(ExitKind::UnregKern, "") }.wants_restart();
        assert!(code(SCX_ECODE_ACT_RESTART | SCX_ECODE_RSN_HOTPLUG));
        assert!(code(SCX_ECODE_ACT_RESTART | 5));
        assert!(!code(SCX_ECODE_RSN_HOTPLUG));
        assert!(!code(3 << 48));
    }

    #[test]
    fn a_long_message_is_cut_between_letters() {
        assert_eq!(cut("abc".to_owned(), 4), "abc");
        assert_eq!(cut("abcd".to_owned(), 4), "abc");
        assert_eq!(cut("aä".to_owned(), 3), "a");
        assert_eq!(cut("abc".to_owned(), 0), "");
    }
}
