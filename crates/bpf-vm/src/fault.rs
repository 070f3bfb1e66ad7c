// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can go wrong while a program runs, and where it did.

use std::fmt;

/// A place in a program: what a line of a backtrace shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Location {
    /// Name of the function (program or subprogram).
    pub function: String,
    /// Number of the instruction in that function.
    pub insn: usize,
    /// Source file, from BTF line information; empty if there is none.
    pub file: String,
    /// Source line, from 1; 0 if there is none.
    pub line: u32,
    /// Source column, from 1; 0 if there is none.
    pub column: u32,
    /// Text of the source line; empty if there is none.
    pub text: String,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            return write!(f, "{} (instruction {})", self.function, self.insn);
        }
        write!(f, "{} at {}:{}:{}", self.function, self.file, self.line, self.column)
    }
}

/// What a memory access did wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessKind {
    /// The address is within a page of 0: a null pointer or a member of one.
    Null,
    /// No object covers all bytes of the access.
    OutOfBounds,
    /// The object at the address was freed.
    Freed,
    /// The program may read the object but not write it.
    ReadOnly,
    /// The BPF arena has no page there. This stops no program: it reads 0, and its writes are lost.
    NoPage,
}

/// A memory access that is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessError {
    /// What the access did wrong.
    pub kind: AccessKind,
    /// Address of the first byte.
    pub address: u64,
    /// Size of the access in bytes.
    pub size: u64,
    /// Whether the access was a write.
    pub write: bool,
}

/// Why a program was stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    /// A memory access was refused.
    #[error("{0}")]
    Access(AccessError),
    /// The program executed more instructions than it may.
    #[error("the program executed more than {0} instructions: an endless loop?")]
    Budget(u64),
    /// The helpers and kernel functions that the program called had to copy, compare or search more than it may make them.
    #[error(
        "the functions that the program called did as much work as {0} instructions: what it gives them is too large"
    )]
    Work(u64),
    /// All programs together executed more instructions than they may, the work of their helpers included.
    #[error("the programs executed more than {0} instructions in all, with what their helpers did")]
    Total(u64),
    /// The program nested more calls than the kernel allows (`MAX_CALL_FRAMES`), or its stack has no room left.
    #[error("more than {0} nested calls")]
    CallDepth(usize),
    /// The program executed an instruction that loading could not make sense of, for instance a relocation against a
    /// missing field.
    #[error("{0}")]
    Poisoned(String),
    /// A jump or callback to an address that is no instruction.
    #[error("jump to {0:#x}, which is no instruction")]
    BadJump(u64),
    /// A helper or kernel function was misused: what and how.
    #[error("{0}")]
    Misuse(String),
    /// The arena or a limit is exhausted.
    #[error("{0}")]
    Exhausted(String),
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, address, size, write } = self;
        let verb = if *write { "write" } else { "read" };
        match kind {
            AccessKind::Null => write!(f, "null pointer: {verb} of {size} bytes at {address:#x}"),
            AccessKind::OutOfBounds => write!(f, "out of bounds: {verb} of {size} bytes at {address:#x}"),
            AccessKind::Freed => write!(f, "use after free: {verb} of {size} bytes at {address:#x}"),
            AccessKind::NoPage => write!(f, "no page in the BPF arena: {verb} of {size} bytes at {address:#x}"),
            AccessKind::ReadOnly => write!(f, "read-only memory: {verb} of {size} bytes at {address:#x}"),
        }
    }
}

impl From<AccessError> for FaultKind {
    fn from(error: AccessError) -> Self {
        Self::Access(error)
    }
}

/// A stopped program: why and where. Boxed, as results are passed on in the interpreter's loop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.kind)]
pub struct Fault(Box<FaultAt>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct FaultAt {
    kind: FaultKind,
    backtrace: Vec<Location>,
}

impl Fault {
    /// Why the program was stopped.
    pub fn kind(&self) -> &FaultKind {
        &self.0.kind
    }

    /// Where the program was stopped, innermost call first; empty until the interpreter has filled it in.
    pub fn backtrace(&self) -> &[Location] {
        &self.0.backtrace
    }

    /// The same fault with its place, unless it has one already.
    #[must_use]
    pub fn located(mut self, backtrace: impl FnOnce() -> Vec<Location>) -> Self {
        if self.0.backtrace.is_empty() {
            self.0.backtrace = backtrace();
        }
        self
    }
}

impl From<FaultKind> for Fault {
    fn from(kind: FaultKind) -> Self {
        Self(Box::new(FaultAt { kind, backtrace: Vec::new() }))
    }
}

impl From<AccessError> for Fault {
    fn from(error: AccessError) -> Self {
        FaultKind::Access(error).into()
    }
}
