// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's error numbers, as helpers and map operations answer them.

use crate::fault::{AccessError, Fault, FaultKind};

/// An error number of the kernel, positive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub i32);

impl Errno {
    /// No such file, map element, counter.
    pub const ENOENT: Self = Self(2);
    /// An argument list or a container is too long.
    pub const E2BIG: Self = Self(7);
    /// Try again.
    pub const EAGAIN: Self = Self(11);
    /// No memory.
    pub const ENOMEM: Self = Self(12);
    /// A bad address.
    pub const EFAULT: Self = Self(14);
    /// Busy.
    pub const EBUSY: Self = Self(16);
    /// The thing to create exists already.
    pub const EEXIST: Self = Self(17);
    /// An invalid argument.
    pub const EINVAL: Self = Self(22);
    /// No room left.
    pub const ENOSPC: Self = Self(28);
    /// A number out of range.
    pub const ERANGE: Self = Self(34);
    /// Waiting would be a deadlock.
    pub const EDEADLK: Self = Self(35);
    /// This kind of map has no such operation.
    pub const EOPNOTSUPP: Self = Self(95);

    /// The value a helper returns: the negated number.
    pub fn value(self) -> i64 {
        -i64::from(self.0)
    }
}

/// Why an operation did not happen: an errno that the kernel answers, or a fault that stops the program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpError {
    /// The program, or the host, gets this error number.
    #[error("error {}", .0.0)]
    Errno(Errno),
    /// The program is stopped.
    #[error("{0}")]
    Fault(FaultKind),
}

impl From<Errno> for OpError {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}

impl From<FaultKind> for OpError {
    fn from(kind: FaultKind) -> Self {
        Self::Fault(kind)
    }
}

impl From<AccessError> for OpError {
    fn from(error: AccessError) -> Self {
        Self::Fault(FaultKind::Access(error))
    }
}

/// What a helper returns to its program: a value, or a negative error number.
pub(crate) fn answer(result: Result<u64, OpError>) -> Result<u64, Fault> {
    match result {
        Ok(value) => Ok(value),
        Err(OpError::Errno(errno)) => Ok(errno.value() as u64),
        Err(OpError::Fault(kind)) => Err(kind.into()),
    }
}

/// What a helper that gives a pointer returns: null in place of an error number.
pub(crate) fn pointer(result: Result<u64, OpError>) -> Result<u64, Fault> {
    match result {
        Err(OpError::Errno(_)) => Ok(0),
        other => answer(other),
    }
}
