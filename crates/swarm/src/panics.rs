// SPDX-License-Identifier: MIT OR Apache-2.0
//! Panics as data: where and what, instead of lines on the terminal.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};

thread_local! {
    static LAST: RefCell<Option<Panic>> = const { RefCell::new(None) };
}

/// A panic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Panic {
    /// File and line.
    pub place: String,
    /// What was said.
    pub message: String,
    /// The calls that led there, if `RUST_BACKTRACE` asks for them.
    pub backtrace: String,
}

/// From now on nothing is printed at a panic: [`caught`] returns it.
pub fn silence() {
    panic::set_hook(Box::new(|info| LAST.with(|last| *last.borrow_mut() = Some(of(info)))));
}

fn of(info: &PanicHookInfo<'_>) -> Panic {
    let place = info.location().map_or_else(String::new, |place| format!("{}:{}", place.file(), place.line()));
    let said = info.payload().downcast_ref::<&str>().map(|text| (*text).to_owned());
    let message = said.or_else(|| info.payload().downcast_ref::<String>().cloned()).unwrap_or_default();
    let calls = Backtrace::capture();
    let backtrace = if calls.status() == BacktraceStatus::Captured { calls.to_string() } else { String::new() };
    Panic { place, message, backtrace }
}

/// What `work` returns, or how it panicked.
///
/// # Errors
/// The panic.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Panic> {
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
        let unknown = Panic { place: String::new(), message: "a panic".to_owned(), backtrace: String::new() };
        LAST.with(|last| last.borrow_mut().take()).unwrap_or(unknown)
    })
}
