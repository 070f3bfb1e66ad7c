// SPDX-License-Identifier: MIT OR Apache-2.0
//! What libbpf says while something is done. libbpf gives its messages, the verifier's log among them, to one function for
//! the whole process; here they are collected for whoever is doing something.

use std::sync::{Mutex, MutexGuard, PoisonError};

use libbpf_rs::PrintLevel;

/// Held while messages are collected: those of two at once could not be told apart.
static COLLECTING: Mutex<()> = Mutex::new(());
static COLLECTED: Mutex<String> = Mutex::new(String::new());

/// Does something, and returns what libbpf warned of meanwhile.
pub fn collect<T>(work: impl FnOnce() -> T) -> (T, String) {
    let _alone = lock(&COLLECTING);
    lock(&COLLECTED).clear();
    let before = libbpf_rs::set_print(Some((PrintLevel::Warn, append)));
    let done = work();
    libbpf_rs::set_print(before);
    let messages = std::mem::take(&mut *lock(&COLLECTED));
    (done, messages)
}

fn append(_: PrintLevel, message: String) {
    lock(&COLLECTED).push_str(&message);
}

/// A text cannot be half written: what another thread's panic left is fit to be used.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_libbpf_warns_of_is_returned_and_nothing_is_left_for_the_next() {
        let (opened, messages) = collect(|| libbpf_rs::ObjectBuilder::default().open_memory(b"no object"));
        assert!(opened.is_err());
        assert!(messages.contains("libbpf:"), "{messages:?}");
        assert_eq!(collect(|| 5), (5, String::new()));
    }
}
