// SPDX-License-Identifier: MIT OR Apache-2.0
//! The way into compiled code, and out of it to the functions of this crate that it calls. All of the crate's `unsafe` is here.
//!
//! # Why it is sound
//!
//! - Compiled code is entered by [`run`] alone, which holds the instance and the host by unique references. Compiled code gets
//!   them by pointers in a [`Context`], uses nothing of them itself, and hands them to one function of this file at a time, while
//!   [`run`] does not touch them. So there is one user at any time.
//! - Compiled code reads and writes the fields of the context that [`translate`](super::translate) names, the call frames below
//!   `frames_end`, which are at most all, and bytes of the arena whose shadow it has checked: granules below `granules`, so
//!   within `shadow`, and bytes of objects, so within `bytes`. Its own frame's stack needs no check: it is part of the arena, which
//!   never shrinks, and [`Context::refresh`] stops where a host has exchanged it. Every function here that could move the arena or
//!   the frames refreshes these pointers before it returns.
//! - The code stands in memory that is written first, then made executable, and never both (`JITModule::finalize_definitions`).
//!   It lives as long as the [`Compiled`], which [`run`] borrows.
//! - Compiled functions and those that they call have the C calling convention of this machine, and the types that
//!   [`translate::Outer`](super::translate::Outer) declares are those below. No panic crosses compiled code: what a host's function
//!   panics with is kept, and goes on in [`run`].
#![allow(unsafe_code, reason = "compiled code cannot be called otherwise; the file's head says why it is sound")]

use std::any::Any;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::OnceLock;

use cranelift_jit::JITModule;
use cranelift_module::FuncId;

use super::Compiled;
use crate::fault::{AccessError, Fault, FaultKind};
use crate::host::{Args, Host};
use crate::instance::Instance;
use crate::interp::{self, Code, Frame};
use crate::memory::{BASE, GRANULE};

/// What compiled code and the functions that it calls share. The first fields are compiled code's.
#[repr(C)]
pub(super) struct Context<'h> {
    /// Instructions that may still be executed: budget less executed. Up to date at calls.
    pub left: i64,
    /// The innermost call frame in use, of which there is one, and the end of those that may be used.
    pub frame: *mut Frame,
    pub frames_end: *mut Frame,
    /// First byte of the arena, its shadow, and the number of the shadow's bytes.
    pub bytes: *mut u8,
    pub shadow: *const u8,
    pub granules: u64,
    /// The upper half of the BPF arena's user addresses.
    pub user_half: u64,
    /// The instruction that calls out, or the last one that returned.
    pub place: u64,
    /// The first call frame, how many may be used, and how many were when the function was entered that was entered first.
    frames: *mut Frame,
    most_frames: usize,
    root: usize,
    /// The highest address behind a stack of a frame that is, or was, in use.
    stacks_end: u64,
    vm: *mut Instance,
    host: *mut (dyn Host + 'h),
    code: *const Code,
    fault: Option<Fault>,
    panic: Option<Box<dyn Any + Send>>,
}

/// A value and whether a fault ends the program: 1 if so, else 0.
#[repr(C)]
pub(super) struct Returned {
    value: u64,
    fault: u64,
}

impl Returned {
    const FAULT: Self = Self { value: 0, fault: 1 };

    fn value(value: u64) -> Self {
        Self { value, fault: 0 }
    }
}

/// A compiled function: of the context and the arguments r1 to r5.
type Function = unsafe extern "C" fn(*mut Context<'_>, u64, u64, u64, u64, u64) -> Returned;

/// A module whose memory goes with it.
pub(super) struct Owned(Option<JITModule>);

impl Owned {
    /// Takes a module none of whose functions was entered.
    pub(super) fn new(module: JITModule) -> Self {
        Self(Some(module))
    }
}

impl Deref for Owned {
    type Target = JITModule;

    fn deref(&self) -> &JITModule {
        self.0.as_ref().expect("only dropping takes it")
    }
}

impl DerefMut for Owned {
    fn deref_mut(&mut self) -> &mut JITModule {
        self.0.as_mut().expect("only dropping takes it")
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if let Some(module) = self.0.take() {
            // SAFETY: the module is part of what also has the entries (`Compiled`), which `run` borrows while it runs one.
            unsafe { module.free_memory() };
        }
    }
}

/// Where functions are entered, by their numbers, once they are compiled.
pub(super) struct Entries(Box<[OnceLock<Function>]>);

impl Entries {
    /// Entries of functions that are not compiled yet.
    pub(super) fn new(functions: usize) -> Self {
        Self((0..functions).map(|_| OnceLock::new()).collect())
    }

    /// The entry of a function that is compiled.
    #[inline]
    pub(super) fn get(&self, function: usize) -> Option<&Function> {
        self.0.get(function)?.get()
    }

    /// Takes functions of a module that are finished.
    pub(super) fn set(&self, module: &JITModule, made: &[(usize, FuncId)]) {
        for (number, id) in made {
            let address = module.get_finalized_function(*id);
            // SAFETY: the function was compiled with this signature (`translate::signature`).
            let function = unsafe { std::mem::transmute::<*const u8, Function>(address) };
            // One thread compiles at a time, and a function once.
            let _ = self.0[*number].set(function);
        }
    }
}

/// Runs a function whose frame is the innermost one until it returns; returns r0.
pub(crate) fn run(
    vm: &mut Instance,
    host: &mut dyn Host,
    code: &Code,
    compiled: &Compiled,
    number: usize,
    args: Args,
) -> Result<u64, Fault> {
    let Some(function) = compiled.entries.get(number) else {
        return Err(FaultKind::BadJump(interp::code_address(number)).into());
    };
    let mut context = Context {
        left: 0,
        frame: vm.execution.frames.as_mut_ptr().wrapping_add(vm.execution.depth - 1),
        frames_end: std::ptr::null_mut(),
        bytes: std::ptr::null_mut(),
        shadow: std::ptr::null(),
        granules: 0,
        user_half: vm.memory.user_half(),
        frames: vm.execution.frames.as_mut_ptr(),
        most_frames: vm.execution.most_frames(),
        root: vm.execution.depth,
        place: 0,
        stacks_end: 0,
        vm: std::ptr::from_mut(vm),
        host: std::ptr::from_mut(host),
        code: std::ptr::from_ref(code),
        fault: None,
        panic: None,
    };
    // SAFETY: see the head of this file.
    unsafe { context.refresh() };
    let [r1, r2, r3, r4, r5] = args;
    // SAFETY: see the head of this file.
    let returned = unsafe { function(&raw mut context, r1, r2, r3, r4, r5) };
    if let Some(panic) = context.panic {
        resume_unwind(panic);
    }
    if let Some(fault) = context.fault {
        return Err(fault);
    }
    vm.execution.executed = executed(vm.execution.budget, context.left);
    vm.execution.exited = context.place as usize;
    Ok(returned.value)
}

/// A budget as compiled code counts; none is larger in effect.
fn countable(budget: u64) -> i64 {
    i64::try_from(budget).unwrap_or(i64::MAX)
}

fn executed(budget: u64, left: i64) -> u64 {
    countable(budget).wrapping_sub(left) as u64
}

impl Context<'_> {
    /// Number of call frames in use.
    fn depth(&self) -> usize {
        (self.frame.addr() - self.frames.addr()) / size_of::<Frame>() + 1
    }

    /// # Safety
    /// As this file's head says: compiled code has called out, or is about to be entered.
    unsafe fn vm(&mut self) -> &mut Instance {
        // SAFETY: `run` holds the instance and does not use it meanwhile.
        unsafe { &mut *self.vm }
    }

    /// Takes from the instance what compiled code uses of it.
    ///
    /// # Safety
    /// As [`Context::vm`].
    unsafe fn refresh(&mut self) {
        // SAFETY: the caller's.
        let vm = unsafe { &mut *self.vm };
        self.left = countable(vm.execution.budget).wrapping_sub_unsigned(vm.execution.executed);
        (self.bytes, self.shadow, self.granules) = vm.memory.parts();
        let (depth, frames) = (self.depth(), vm.execution.frames.as_mut_ptr());
        self.set_frames(frames, depth);
        self.stacks_end = self.stacks_end.max(vm.execution.stacks_end);
        let end = BASE + self.granules * GRANULE;
        assert!(self.stacks_end <= end, "the memory was exchanged under programs that have their stacks there");
    }

    /// The call frames stand there, and so many are in use.
    fn set_frames(&mut self, frames: *mut Frame, depth: usize) {
        (self.frames, self.frame) = (frames, frames.wrapping_add(depth - 1));
        self.frames_end = frames.wrapping_add(self.most_frames);
    }

    /// Tells the instance where the program is.
    ///
    /// # Safety
    /// As [`Context::vm`].
    unsafe fn settle(&mut self, pc: u64, left: i64) {
        let depth = self.depth();
        // SAFETY: the caller's.
        let vm = unsafe { self.vm() };
        vm.execution.depth = depth;
        vm.execution.executed = executed(vm.execution.budget, left);
        vm.execution.note(pc as usize);
    }

    /// Ends the program with a fault at an instruction.
    ///
    /// # Safety
    /// As [`Context::vm`].
    unsafe fn fail(&mut self, pc: u64, left: i64, fault: Fault) -> Returned {
        // SAFETY: the caller's.
        unsafe { self.settle(pc, left) };
        self.fault = Some(fault);
        Returned::FAULT
    }

    /// What an access gives; `absent` where the BPF arena has no page.
    ///
    /// # Safety
    /// As [`Context::vm`].
    unsafe fn accessed(&mut self, pc: u64, left: i64, access: Result<u64, AccessError>, absent: u64) -> Returned {
        let error = match access {
            Ok(value) => return Returned::value(value),
            Err(error) => error,
        };
        // SAFETY: the caller's; the code lives as long as `run` runs.
        unsafe {
            self.settle(pc, left);
            let code = &*self.code;
            match interp::no_page(self.vm(), code, pc as usize, error) {
                Ok(()) => Returned::value(absent),
                Err(fault) => self.fail(pc, left, fault),
            }
        }
    }
}

/// A load that is no plain one: from pages, over the end of a granule, or wrong.
unsafe extern "C" fn load(context: *mut Context<'_>, address: u64, size: u64, pc: u64, left: i64) -> Returned {
    // SAFETY: compiled code passes the context that it got.
    unsafe {
        let context = &mut *context;
        let memory = &context.vm().memory;
        let loaded = match size {
            1 => memory.load::<1>(address),
            2 => memory.load::<2>(address),
            4 => memory.load::<4>(address),
            _ => memory.load::<8>(address),
        };
        context.accessed(pc, left, loaded, 0)
    }
}

/// A store that is no plain one.
unsafe extern "C" fn store(context: *mut Context<'_>, address: u64, value: u64, size: u64, pc: u64, left: i64) -> u64 {
    // SAFETY: compiled code passes the context that it got.
    unsafe {
        let context = &mut *context;
        let memory = &mut context.vm().memory;
        let stored = match size {
            1 => memory.store::<1>(address, value),
            2 => memory.store::<2>(address, value),
            4 => memory.store::<4>(address, value),
            _ => memory.store::<8>(address, value),
        };
        context.accessed(pc, left, stored.map(|()| 0), 0).fault
    }
}

/// An atomic change of memory; gives what the register gets that the instruction fetches into.
unsafe extern "C" fn atomic(
    context: *mut Context<'_>,
    address: u64,
    src: u64,
    r0: u64,
    pc: u64,
    left: i64,
) -> Returned {
    // SAFETY: compiled code passes the context that it got.
    unsafe {
        let context = &mut *context;
        let code = &*context.code;
        let (changed, unchanged) = interp::atomic_at(&mut context.vm().memory, code, pc as usize, address, src, r0);
        context.accessed(pc, left, changed, unchanged)
    }
}

/// Calls a helper or kernel function with r1 to r5; `place` and `left` of the context say where.
unsafe extern "C" fn call_out(context: *mut Context<'_>, r1: u64, r2: u64, r3: u64, r4: u64, r5: u64) -> Returned {
    // SAFETY: compiled code passes the context that it got; its host and code live as long as `run` runs.
    unsafe {
        let context = &mut *context;
        let (pc, left) = (context.place, context.left);
        context.settle(pc, left);
        if left < 0 {
            let limit = context.vm().execution.budget;
            return context.fail(pc, left, FaultKind::Budget(limit).into());
        }
        let (vm, host, code) = (&mut *context.vm, &mut *context.host, &*context.code);
        let args = [r1, r2, r3, r4, r5];
        let called = catch_unwind(AssertUnwindSafe(|| interp::call_out(vm, host, code, pc as usize, args)));
        context.refresh();
        match called {
            Ok(Ok(value)) => Returned::value(value),
            // What ran inside the function that failed does not count, as in the interpreter.
            Ok(Err(fault)) => context.fail(pc, left, fault),
            Err(panic) => {
                context.panic = Some(panic);
                Returned::FAULT
            }
        }
    }
}

/// Calls a function that is not compiled with r1 to r5; `place` and `left` of the context say where. Its frame is the innermost one.
unsafe extern "C" fn interpret(context: *mut Context<'_>, r1: u64, r2: u64, r3: u64, r4: u64, r5: u64) -> Returned {
    // SAFETY: compiled code passes the context that it got; its host and code live as long as `run` runs.
    unsafe {
        let context = &mut *context;
        let (pc, depth, left) = (context.place as usize, context.depth(), context.left);
        let (vm, host, code) = (&mut *context.vm, &mut *context.host, &*context.code);
        vm.execution.depth = depth;
        vm.execution.executed = executed(vm.execution.budget, left);
        let args = [r1, r2, r3, r4, r5];
        let called = catch_unwind(AssertUnwindSafe(|| interp::interpret(vm, host, code, pc, args)));
        context.refresh();
        match called {
            Ok(Ok(value)) => Returned::value(value),
            // The interpreter has told the instance where.
            Ok(Err(fault)) => {
                context.fault = Some(fault);
                Returned::FAULT
            }
            Err(panic) => {
                context.panic = Some(panic);
                Returned::FAULT
            }
        }
    }
}

/// Calls a plain function with r1 to r5; `place` and `left` of the context say where, which only a fault asks.
unsafe extern "C" fn plain(context: *mut Context<'_>, r1: u64, r2: u64, r3: u64, r4: u64, r5: u64) -> Returned {
    // SAFETY: compiled code passes the context that it got; its host and code live as long as `run` runs.
    unsafe {
        let context = &mut *context;
        let (vm, host, code) = (&mut *context.vm, &mut *context.host, &*context.code);
        let (pc, args) = (context.place as usize, [r1, r2, r3, r4, r5]);
        let called = catch_unwind(AssertUnwindSafe(|| interp::call_builtin(vm, host, code, pc, args)));
        // The arena moves only where it grows.
        if (*context.vm).memory.parts().2 != context.granules {
            let left = context.left;
            context.settle(pc as u64, left);
            context.refresh();
        }
        match called {
            Ok(Ok(value)) => Returned::value(value),
            Ok(Err(fault)) => context.fail(pc as u64, context.left, fault),
            Err(panic) => {
                context.panic = Some(panic);
                Returned::FAULT
            }
        }
    }
}

/// Adds a frame where the plain way does not: there are too many, or the frame has no stack yet.
unsafe extern "C" fn push(context: *mut Context<'_>, pc: u64, left: i64) -> u64 {
    // SAFETY: compiled code passes the context that it got.
    unsafe {
        let context = &mut *context;
        context.settle(pc, left);
        let vm = context.vm();
        let pushed = vm.execution.push(&mut vm.memory, pc as usize);
        let depth = vm.execution.depth;
        context.refresh();
        if let Err(kind) = pushed {
            return context.fail(pc, left, kind.into()).fault;
        }
        let frames = context.frames;
        context.set_frames(frames, depth);
        0
    }
}

/// The budget is used up at a jump or a call.
unsafe extern "C" fn over_budget(context: *mut Context<'_>, pc: u64, left: i64) {
    // SAFETY: compiled code passes the context that it got.
    unsafe {
        let context = &mut *context;
        let limit = context.vm().execution.budget;
        context.fail(pc, left, FaultKind::Budget(limit).into());
    }
}

/// The budget is used up where a function returns.
unsafe extern "C" fn over_budget_at_exit(context: *mut Context<'_>, pc: u64, left: i64) {
    // SAFETY: compiled code passes the context that it got.
    unsafe {
        if (*context).depth() > (*context).root {
            (*context).frame = (*context).frame.wrapping_sub(1);
        } else {
            (*context).vm().execution.exited = pc as usize;
        }
        over_budget(context, pc, left);
    }
}

/// An instruction that loading could make no sense of.
unsafe extern "C" fn poisoned(context: *mut Context<'_>, pc: u64, left: i64) {
    // SAFETY: compiled code passes the context that it got.
    unsafe {
        let context = &mut *context;
        let fault = interp::poisoned_at(&*context.code, pc as usize);
        context.fail(pc, left, fault);
    }
}

/// A function of this file that compiled code calls.
pub(super) struct Symbol {
    /// The function's name, for the linker.
    pub name: &'static str,
    /// Number of 64-bit arguments and results.
    pub args: usize,
    pub results: usize,
    address: fn() -> *const u8,
}

impl Symbol {
    /// Where the function stands.
    pub(super) fn address(&self) -> *const u8 {
        (self.address)()
    }
}

macro_rules! symbols {
    ($($name:ident($args:literal) -> $results:literal;)*) => {
        /// What compiled code calls, in the order of [`Call`].
        pub(super) const SYMBOLS: &[Symbol] = &[$(
            Symbol { name: stringify!($name), args: $args, results: $results, address: || $name as *const u8 },
        )*];
    };
}

symbols! {
    load(5) -> 2;
    store(6) -> 1;
    atomic(6) -> 2;
    call_out(6) -> 2;
    plain(6) -> 2;
    interpret(6) -> 2;
    push(3) -> 1;
    over_budget(3) -> 0;
    over_budget_at_exit(3) -> 0;
    poisoned(3) -> 0;
}

/// The functions that compiled code calls: their numbers in [`SYMBOLS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    Load,
    Store,
    Atomic,
    Kernel,
    Plain,
    Interpret,
    Push,
    OverBudget,
    OverBudgetAtExit,
    Poisoned,
}
