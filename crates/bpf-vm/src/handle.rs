// SPDX-License-Identifier: MIT OR Apache-2.0
//! Handles: iterators and dynptrs. Their bytes lie in the program's memory, where it can write anything. So what a handle stands for
//! is kept here, by the address of its bytes, and nothing of what it stands for is read from there.
//!
//! The kernel's verifier proves that a program makes a handle before it uses it, and destroys an iterator before it ends. Here both are
//! checked when it runs, and breaking either rule is a fault. (`bpf_iter_num` is no handle: its two numbers, whatever they are, give the
//! program nothing but numbers.)

use std::collections::BTreeMap;

use crate::fault::{Fault, FaultKind};
use crate::host::Host;
use crate::instance::Instance;
use crate::memory::Kept;

/// What a handle stands for, in words whose meaning its kind has.
pub type HandleState = [u64; 4];

/// Bytes that a handle takes here, at most.
const PER_HANDLE: u64 = 128;

/// Kinds of handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandleKind {
    /// `bpf_iter_bits`.
    Bits,
    /// `bpf_dynptr`.
    Dynptr,
    /// An iterator of the host, by its name.
    Host(&'static str),
}

impl HandleKind {
    /// The kernel's name of the structure.
    fn name(self) -> &'static str {
        match self {
            Self::Bits => "bpf_iter_bits",
            Self::Dynptr => "bpf_dynptr",
            Self::Host(name) => name,
        }
    }

    /// Whether a program must destroy the handle.
    fn is_iterator(self) -> bool {
        self != Self::Dynptr
    }
}

/// The handles of an instance, by the addresses of their bytes.
#[derive(Debug, Default)]
pub(crate) struct Handles {
    open: BTreeMap<u64, (HandleKind, HandleState)>,
    most: Kept,
}

impl Instance {
    /// Makes a handle whose bytes are at `address`. The caller has written there: the bytes are the program's.
    ///
    /// # Errors
    /// [`FaultKind::Misuse`]: an iterator that is there was not destroyed. [`FaultKind::Exhausted`]: the memory limit.
    pub fn open_handle(&mut self, address: u64, kind: HandleKind, state: HandleState) -> Result<(), FaultKind> {
        let Handles { open, most } = &mut self.handles;
        match open.get(&address) {
            Some((other, _)) if other.is_iterator() => {
                let (name, other) = (kind.name(), other.name());
                return Err(FaultKind::Misuse(format!("{name} at {address:#x}, where a {other} was not destroyed")));
            }
            Some(_) => {}
            None => most.one_more(&mut self.memory, open.len(), PER_HANDLE)?,
        }
        open.insert(address, (kind, state));
        Ok(())
    }

    /// What the handle at `address` stands for.
    ///
    /// # Errors
    /// [`FaultKind::Misuse`]: there is none of this kind.
    pub fn handle(&mut self, address: u64, kind: HandleKind) -> Result<&mut HandleState, FaultKind> {
        match self.handles.open.get_mut(&address) {
            Some((found, state)) if *found == kind => Ok(state),
            _ => Err(no_handle(address, kind)),
        }
    }

    /// Removes the handle at `address`; returns what it stood for.
    ///
    /// # Errors
    /// [`FaultKind::Misuse`]: there is none of this kind.
    pub fn close_handle(&mut self, address: u64, kind: HandleKind) -> Result<HandleState, FaultKind> {
        self.handle(address, kind)?;
        let closed = self.handles.open.remove(&address);
        closed.map(|(_, state)| state).ok_or_else(|| no_handle(address, kind))
    }

    /// Removes what the outermost program has left, which has ended.
    ///
    /// # Errors
    /// A fault if an iterator was left.
    pub(crate) fn drop_handles(&mut self, host: &mut dyn Host) -> Result<(), Fault> {
        if self.handles.open.is_empty() {
            return Ok(());
        }
        let mut left = None;
        for (address, (kind, state)) in std::mem::take(&mut self.handles.open) {
            match kind {
                HandleKind::Bits => self.free_bits(&state)?,
                HandleKind::Dynptr => continue,
                HandleKind::Host(name) => host.iterator_dropped(name, state),
            }
            left = left.or(Some((address, kind)));
        }
        left.map_or(Ok(()), |(address, kind)| {
            let text = format!("the program ended without destroying the {} at {address:#x}", kind.name());
            Err(FaultKind::Misuse(text).into())
        })
    }
}

fn no_handle(address: u64, kind: HandleKind) -> FaultKind {
    FaultKind::Misuse(format!("no {} was made at {address:#x}", kind.name()))
}
