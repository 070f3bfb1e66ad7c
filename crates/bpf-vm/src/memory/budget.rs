// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much memory a process may spend on what its inputs ask for: on programs' memory, and on what a host counts beside it.
//!
//! Several users of a [`Budget`] work at once, each with an [`Account`]. What one may have depends on the others, so that
//! being refused is never an answer that a program sees: the account remembers it, and whoever owns the account gives up, or
//! begins again [alone](Budget::alone).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Memory that a process may spend. Clones share it.
#[derive(Debug, Clone)]
pub struct Budget(Arc<Pool>);

#[derive(Debug)]
struct Pool {
    limit: u64,
    spent: AtomicU64,
    turns: RwLock<()>,
}

/// More memory was wanted than the budget has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} are wanted beside {} in use{}, over a budget of {}",
    mib(.wanted),
    mib(.used),
    if *.others > 0 { format!(" and {} of other simulations", mib(.others)) } else { String::new() },
    mib(.limit)
)]
pub struct OverBudget {
    /// Bytes that were wanted.
    pub wanted: u64,
    /// Bytes that the account has.
    pub used: u64,
    /// Bytes that other accounts have.
    pub others: u64,
    /// Bytes that all may have together.
    pub limit: u64,
}

fn mib(bytes: &u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}

impl Budget {
    /// A budget of so many bytes.
    pub fn new(limit: u64) -> Self {
        Self(Arc::new(Pool { limit, spent: AtomicU64::new(0), turns: RwLock::new(()) }))
    }

    /// An account, with nothing in use; what it uses is free again once all its clones are dropped.
    pub fn open(&self) -> Account {
        Account(Arc::new(Use { pool: self.0.clone(), used: AtomicU64::new(0), refused: OnceLock::new() }))
    }

    /// Works beside others until the guard is dropped; waits for one that works alone.
    pub fn beside(&self) -> RwLockReadGuard<'_, ()> {
        self.0.turns.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for all others, and works alone until the guard is dropped.
    pub fn alone(&self) -> RwLockWriteGuard<'_, ()> {
        self.0.turns.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Budget {
    /// 4 GiB.
    fn default() -> Self {
        Self::new(4 << 30)
    }
}

/// What one user of a budget has. Clones share it.
#[derive(Debug, Clone)]
pub struct Account(Arc<Use>);

#[derive(Debug)]
struct Use {
    pool: Arc<Pool>,
    used: AtomicU64,
    refused: OnceLock<OverBudget>,
}

impl Account {
    /// Takes so many bytes, before they are spent.
    ///
    /// # Errors
    /// The budget does not have them; the first such error stays with the account.
    pub fn take(&self, bytes: u64) -> Result<(), OverBudget> {
        let Use { pool, used, refused } = &*self.0;
        let spend = |spent: u64| spent.checked_add(bytes).filter(|sum| *sum <= pool.limit);
        match pool.spent.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend) {
            Ok(_) => {
                used.fetch_add(bytes, Ordering::Relaxed);
                Ok(())
            }
            Err(spent) => {
                let used = used.load(Ordering::Relaxed);
                let over = OverBudget { wanted: bytes, used, others: spent.saturating_sub(used), limit: pool.limit };
                Err(*refused.get_or_init(|| over))
            }
        }
    }

    /// Why the account was refused memory, if it was.
    pub fn refused(&self) -> Option<OverBudget> {
        self.0.refused.get().copied()
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        self.pool.spent.fetch_sub(self.used.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_share_a_budget_and_give_back_what_they_had() {
        let budget = Budget::new(10 << 20);
        let (one, other) = (budget.open(), budget.open());
        one.take(6 << 20).unwrap();
        let refused = other.take(5 << 20).unwrap_err();
        assert_eq!((refused.used, refused.others), (0, 6 << 20));
        let message = "5 MiB are wanted beside 0 MiB in use and 6 MiB of other simulations, over a budget of 10 MiB";
        assert_eq!((refused.to_string(), other.refused()), (message.to_owned(), Some(refused)));
        drop(one);
        other.take(10 << 20).unwrap();
        assert_eq!(other.take(u64::MAX), Err(refused), "the first error counts, whatever comes later");
    }
}
