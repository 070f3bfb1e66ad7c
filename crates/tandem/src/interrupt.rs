// SPDX-License-Identifier: GPL-2.0-only
//! Ctrl-C for commands that end in order: the first one asks them to stop, the second one ends the program.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// A command asked to be told of the first interrupt. Before, an interrupt ends the program at once.
const AWAITED: u8 = 1;
/// The first interrupt came.
const ARRIVED: u8 = 2;

/// Whether an interrupt is awaited, and whether one came. Clones share that.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicU8>);

impl Interrupt {
    /// From now on the first interrupt is only remembered.
    pub fn awaited(&self) {
        self.0.store(AWAITED, Ordering::Relaxed);
    }

    /// Takes note of an interrupt. Whether it was the first awaited one, so that the program goes on.
    pub fn arrive(&self) -> bool {
        self.0.compare_exchange(AWAITED, ARRIVED, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Whether an awaited interrupt came.
    pub fn has_arrived(&self) -> bool {
        self.0.load(Ordering::Relaxed) == ARRIVED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_interrupt_of_those_awaited_is_survived() {
        let interrupt = Interrupt::default();
        assert!(!interrupt.arrive() && !interrupt.has_arrived());
        interrupt.awaited();
        assert!(!interrupt.has_arrived());
        assert!(interrupt.arrive() && interrupt.has_arrived());
        assert!(!interrupt.arrive());
    }
}
