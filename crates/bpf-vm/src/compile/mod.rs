// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles decoded instructions to the machine's own, by Cranelift.
//!
//! Compiled code does what the interpreter does: every access to memory is checked, and faults, counts of instructions,
//! budgets and call frames are the same, at the same places. The interpreter is the reference; whatever is rare is left to
//! functions of this crate that compiled code calls.
//!
//! - `translate`: from instructions to Cranelift's. `workshop`: from there to memory. `gate`: the way into compiled code
//!   and out of it.
//!   Without the feature `compiler`, `absent` stands in for these three.
//! - [`Compiled`]: the functions of an object. [`CodeCache`]: keeps them for all instances that are loaded alike.

#[cfg(not(feature = "compiler"))]
mod absent;
#[cfg(feature = "compiler")]
mod gate;
#[cfg(feature = "compiler")]
mod translate;
#[cfg(feature = "compiler")]
mod workshop;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::interp::Code;
#[cfg(not(feature = "compiler"))]
use absent::{Entries, Workshop, instructions_to_reach};
#[cfg(feature = "compiler")]
use gate::Entries;
#[cfg(feature = "compiler")]
use workshop::{Workshop, instructions_to_reach};

#[cfg(not(feature = "compiler"))]
pub(crate) use absent::run;
#[cfg(feature = "compiler")]
pub(crate) use gate::run;

/// Whether there is a compiler for this machine's processor.
pub const AVAILABLE: bool = cfg!(all(feature = "compiler", unix, any(target_arch = "x86_64", target_arch = "aarch64")));

/// Why code cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// No code is compiled for this processor.
    #[error("no compiler for this machine: {0}")]
    Machine(String),
    /// Cranelift refuses a function.
    #[error("function {function} cannot be compiled: {why}")]
    Function {
        /// The function's name.
        function: String,
        /// What Cranelift says.
        why: String,
    },
}

/// When a function is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// When it is first entered.
    Entered,
    /// Once the interpreter has spent about as much time on it as compiling it will take: then all together takes at most twice
    /// as long as it would if that had been known in advance, and a short run compiles next to nothing.
    Worthwhile,
}

/// Instructions that the interpreter executes while one is compiled: about 35 µs and 2.5 ns, measured with Tandem's own scheduler,
/// of which 12,000 instructions run. Nothing but time depends on it.
const INTERPRETED_PER_COMPILED: u64 = 15_000;

/// How much of an object is compiled. The time and memory of compiling a function grow faster than its length, and no scheduler has
/// functions that come near; the rest is interpreted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Instructions of a function.
    pub function: usize,
    /// Instructions of all functions together.
    pub all: usize,
}

impl Limits {
    /// Whether a function is short enough.
    fn allow(self, code: &Code, function: usize) -> bool {
        code.instructions(function).len() <= self.function
    }
}

impl Default for Limits {
    /// 16,384 instructions of a function, 131,072 of all.
    fn default() -> Self {
        Self { function: 1 << 14, all: 1 << 17 }
    }
}

/// The functions of an object for this machine. Each is compiled when it is entered, together with those that it calls.
pub struct Compiled {
    code: Arc<Code>,
    entries: Entries,
    /// Instructions that were interpreted from each function on, in all instances.
    interpreted: Box<[AtomicU64]>,
    /// How many of them make a function worth compiling, with all that it calls; found out when first asked.
    worth: Box<[OnceLock<u64>]>,
    /// Set once nothing more can be compiled.
    closed: AtomicBool,
    limits: Limits,
    workshop: Mutex<Workshop>,
}

impl std::fmt::Debug for Compiled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compiled").finish_non_exhaustive()
    }
}

impl Compiled {
    /// Prepares to compile functions.
    ///
    /// # Errors
    /// [`CompileError::Machine`].
    fn new(code: &Arc<Code>, limits: Limits) -> Result<Self, CompileError> {
        let (entries, workshop) = (Entries::new(code.functions()), Workshop::new(code, limits)?);
        let interpreted = (0..code.functions()).map(|_| AtomicU64::new(0)).collect();
        let worth = (0..code.functions()).map(|_| OnceLock::new()).collect();
        let (code, closed, workshop) = (Arc::clone(code), AtomicBool::new(false), Mutex::new(workshop));
        Ok(Self { code, entries, interpreted, worth, closed, limits, workshop })
    }

    /// Compiles all functions now that the limits allow, rather than when they are first entered.
    ///
    /// # Errors
    /// [`CompileError::Function`]: the first that Cranelift refuses.
    pub(crate) fn all(&self) -> Result<(), CompileError> {
        (0..self.code.functions()).try_for_each(|function| self.compile(function))
    }

    /// Whether a function can be entered; compiles it if it is time.
    #[inline]
    fn has(&self, function: usize, when: When) -> bool {
        self.entries.get(function).is_some() || self.becomes(function, when)
    }

    #[inline(never)]
    fn becomes(&self, function: usize, when: When) -> bool {
        if self.closed.load(Ordering::Relaxed) || !self.limits.allow(&self.code, function) {
            return false;
        }
        let it_is_time = when == When::Entered || self.is_worthwhile(function);
        if !it_is_time || self.compile(function).is_err() {
            return false;
        }
        let compiled = self.entries.get(function).is_some();
        if !compiled {
            // There was no room for it, so hardly for any other.
            self.closed.store(true, Ordering::Relaxed);
        }
        compiled
    }

    fn is_worthwhile(&self, function: usize) -> bool {
        let worth = || INTERPRETED_PER_COMPILED * instructions_to_reach(&self.code, function, self.limits);
        self.interpreted[function].load(Ordering::Relaxed) >= *self.worth[function].get_or_init(worth)
    }

    /// Notes that so many instructions were interpreted from a function on.
    fn was_interpreted(&self, function: usize, instructions: u64) {
        self.interpreted[function].fetch_add(instructions, Ordering::Relaxed);
    }

    /// Compiles a function and all that it calls, as far as that was not done and the limits allow.
    #[cold]
    #[inline(never)]
    fn compile(&self, function: usize) -> Result<(), CompileError> {
        // A thread that panicked has left a workshop that refuses everything.
        let mut workshop = self.workshop.lock().unwrap_or_else(PoisonError::into_inner);
        let made = workshop.make(&self.code, function).inspect_err(|_| self.closed.store(true, Ordering::Relaxed))?;
        self.entries.set(workshop.module(), &made);
        Ok(())
    }
}

/// What an instance has of compiled code, which others may use at the same time. What it writes at each run is its own.
#[derive(Debug)]
pub(crate) struct Used {
    compiled: Arc<Compiled>,
    when: When,
    /// Instructions that were interpreted from each function on and that the others have not been told of.
    untold: Box<[u64]>,
}

impl Used {
    /// Nothing has been interpreted yet.
    pub(crate) fn new(compiled: Arc<Compiled>, when: When) -> Self {
        let untold = vec![0; compiled.interpreted.len()].into();
        Self { compiled, when, untold }
    }

    /// What all instances have.
    #[inline]
    pub(crate) fn compiled(&self) -> &Arc<Compiled> {
        &self.compiled
    }

    /// Whether a function can be entered; compiles it if it is time.
    #[inline]
    pub(crate) fn has(&self, function: usize) -> bool {
        self.compiled.has(function, self.when)
    }

    /// Notes that so many instructions were interpreted from a function on. The others are told once that is as much as compiling
    /// an instruction takes.
    #[inline]
    pub(crate) fn was_interpreted(&mut self, function: usize, instructions: u64) {
        let Some(untold) = self.untold.get_mut(function) else { return };
        *untold += instructions;
        if *untold >= INTERPRETED_PER_COMPILED {
            self.compiled.was_interpreted(function, std::mem::take(untold));
        }
    }
}

impl Drop for Used {
    fn drop(&mut self) {
        for (function, untold) in self.untold.iter().enumerate().filter(|(_, untold)| **untold > 0) {
            self.compiled.was_interpreted(function, *untold);
        }
    }
}

/// Compiled code of objects, for all instances of a process that are loaded with the same settings for the same kernel.
#[derive(Debug, Default)]
pub struct CodeCache {
    entries: Mutex<Vec<Arc<Compiled>>>,
    limits: Limits,
}

impl CodeCache {
    /// Most pieces of code that are kept; the oldest goes first.
    const KEPT: usize = 16;

    /// Without any code, with these limits of what is compiled.
    pub fn with_limits(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// The compiled code, which is begun where there is none yet.
    ///
    /// # Errors
    /// [`CompileError`].
    pub(crate) fn get(&self, code: &Arc<Code>) -> Result<Arc<Compiled>, CompileError> {
        // What another thread has left half done is a list with an entry more or less.
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = entries.iter().find(|entry| entry.code.same_instructions(code)) {
            return Ok(Arc::clone(entry));
        }
        let compiled = Arc::new(Compiled::new(code, self.limits)?);
        if entries.len() == Self::KEPT {
            entries.remove(0);
        }
        entries.push(Arc::clone(&compiled));
        Ok(compiled)
    }
}

#[cfg(all(test, feature = "compiler"))]
mod tests {
    use super::*;
    use crate::fault::Fault;
    use crate::host::{Args, Builtin, Host};
    use crate::instance::Instance;

    struct NoHost;

    impl Host for NoHost {
        fn kfunc(&mut self, _: &mut Instance, _: u32, _: Args) -> Result<u64, Fault> {
            Ok(0)
        }
    }

    /// A program of four instructions: r1 is counted down, two instructions a round, and `result` returned.
    fn counts_down(result: u8) -> Instance {
        let code = [
            [0x17, 1, 0, 0, 1, 0, 0, 0],
            [0x55, 1, 0xfe, 0xff, 0, 0, 0, 0],
            [0xb7, 0, 0, 0, result, 0, 0, 0],
            [0x95, 0, 0, 0, 0, 0, 0, 0],
        ];
        Instance::from_instructions(&code.concat(), &|_| None, 1 << 20).expect("the program decodes")
    }

    fn run(vm: &mut Instance, rounds: u64) -> (u64, u64) {
        let main = vm.program("main").expect("it is the first function");
        let outcome = vm.run_raw(main, [rounds, 0, 0, 0, 0], &mut NoHost).expect("the program ends");
        (outcome.value, outcome.instructions)
    }

    fn compiled(vm: &Instance) -> &Arc<Compiled> {
        vm.compiled.as_ref().expect("the instance may compile").compiled()
    }

    #[test]
    fn a_function_is_compiled_once_that_is_worth_its_time() {
        let mut vm = counts_down(7);
        vm.compile(&CodeCache::default(), When::Worthwhile).expect("there is a compiler for this machine");
        // Four instructions are worth 60,000 interpreted ones: 40,002 are too few, twice as many are enough.
        for (entered, rounds) in [(false, 20_000), (false, 20_000), (true, 5)] {
            assert_eq!(run(&mut vm, rounds), (7, 2 * rounds + 2));
            assert_eq!(compiled(&vm).entries.get(0).is_some(), entered, "{rounds}");
        }
    }

    #[test]
    fn what_short_runs_interpret_counts_for_later_instances() {
        let cache = CodeCache::default();
        // Each of six instances interprets 10,002 instructions, less than it tells at once.
        for number in 0..7 {
            let mut vm = counts_down(7);
            vm.compile(&cache, When::Worthwhile).expect("there is a compiler for this machine");
            assert_eq!(run(&mut vm, 5_000), (7, 10_002));
            assert_eq!(compiled(&vm).entries.get(0).is_some(), number == 6, "{number}");
        }
    }

    #[test]
    fn instances_share_what_is_compiled_of_the_same_instructions() {
        let (cache, mut vms) = (CodeCache::default(), [7, 7, 8].map(counts_down));
        for vm in &mut vms {
            vm.compile(&cache, When::Entered).expect("there is a compiler for this machine");
        }
        assert_eq!([run(&mut vms[0], 3), run(&mut vms[2], 3)], [(7, 8), (8, 8)]);
        let [first, second, third] = [0, 1, 2].map(|number| compiled(&vms[number]));
        assert!(Arc::ptr_eq(first, second) && !Arc::ptr_eq(first, third));
    }

    /// `main` calls `inner` with 5 and adds r6, which is 100; `inner` calls `leaf`, and runs through `padding` instructions.
    fn nested(inner: &str, padding: usize) -> Vec<u8> {
        let slot = |code: u8, registers: u8, off: i16, imm: i32| {
            let ([off0, off1], imm) = (off.to_le_bytes(), imm.to_le_bytes());
            [code, registers, off0, off1, imm[0], imm[1], imm[2], imm[3]]
        };
        let main = [
            slot(0xb7, 6, 0, 100),
            slot(0xb7, 1, 0, 5),
            slot(0x85, 0x10, 0, 2),
            slot(0x0f, 0x60, 0, 0),
            slot(0x95, 0, 0, 0),
        ];
        // Stores r1 on its stack, so that its frame is its own, and adds what the leaf says of it.
        let mut code = main.concat();
        code.extend(slot(0x7b, 0x1a, -8, 0));
        code.extend((0..padding).flat_map(|_| slot(0x07, 7, 0, 1)));
        code.extend(match inner {
            "calls" => [slot(0x85, 0x10, 0, 2), slot(0x79, 0xa1, -8, 0), slot(0x95, 0, 0, 0)].concat(),
            // bpf_loop's way: the leaf's address, and a helper that calls it.
            "calls back" => [slot(0x18, 0x41, 0, 3), [0; 8], slot(0x85, 0, 0, 1), slot(0x95, 0, 0, 0)].concat(),
            "faults" => [slot(0x79, 0x72, 0, 0), slot(0xb7, 0, 0, 0), slot(0x95, 0, 0, 0)].concat(),
            _ => [slot(0x05, 0, -1, 0), slot(0xb7, 0, 0, 0), slot(0x95, 0, 0, 0)].concat(),
        });
        // The leaf: twice its argument.
        code.extend([slot(0xbf, 0x10, 0, 0), slot(0x67, 0, 0, 1), slot(0x95, 0, 0, 0)].concat());
        code
    }

    #[test]
    fn a_function_that_is_too_long_is_interpreted_wherever_it_is_called() {
        let limits = Limits { function: 8, all: 1 << 10 };
        let call_back: Builtin = |vm, host, args| vm.call(args[0], [args[2] + 5, 0, 0, 0, 0], host);
        let helpers = |id: i32| (id == 1).then_some(call_back);
        for inner in ["calls", "calls back", "faults", "loops"] {
            let code = nested(inner, 10);
            for budget in 0..=30 {
                let ran = [None, Some(limits), Some(Limits::default())].map(|limits| {
                    let mut vm = Instance::from_instructions(&code, &helpers, budget).expect("the program decodes");
                    if let Some(limits) = limits {
                        vm.compile(&CodeCache::with_limits(limits), When::Entered).expect("there is a compiler");
                        vm.compile_all().expect("what is short enough compiles");
                        let made = [0, 1].map(|number| compiled(&vm).entries.get(number).is_some());
                        assert_eq!(made, [true, limits == Limits::default()]);
                    }
                    let main = vm.program("main").expect("it is the first function");
                    let result = vm.run_raw(main, [0; 5], &mut NoHost);
                    (result, vm.executed(), vm.locate(&vm.exit_trace()))
                });
                assert!(ran.iter().all(|one| *one == ran[0]), "{inner}, {budget}: {ran:#?}");
                if inner.starts_with("calls") && budget == 30 {
                    assert_eq!(ran[0].0.as_ref().map(|outcome| outcome.value), Ok(110));
                }
            }
        }
    }

    #[test]
    fn what_finds_no_room_is_interpreted() {
        let code = nested("calls", 0);
        // The first function and what it calls, one after the other: 5 instructions, 4 and 3.
        for (all, made) in
            [(12, [true; 3]), (11, [true, true, false]), (8, [true, false, true]), (4, [false, true, false])]
        {
            let mut vm = Instance::from_instructions(&code, &|_| None, 100).expect("the program decodes");
            let limits = Limits { function: 1 << 10, all };
            vm.compile(&CodeCache::with_limits(limits), When::Entered).expect("there is a compiler");
            let main = vm.program("main").expect("it is the first function");
            for _ in 0..2 {
                let outcome = vm.run_raw(main, [0; 5], &mut NoHost).expect("the program ends");
                assert_eq!((outcome.value, outcome.instructions), (110, 12), "{all}");
            }
            assert_eq!([0, 1, 2].map(|number| compiled(&vm).entries.get(number).is_some()), made, "{all}");
        }
    }

    #[test]
    fn a_budget_that_is_set_holds_from_the_next_run_on() {
        let mut vm = counts_down(7);
        vm.compile(&CodeCache::default(), When::Entered).expect("there is a compiler for this machine");
        let main = vm.program("main").expect("it is the first function");
        vm.set_budget(8);
        assert!(vm.run_raw(main, [4, 0, 0, 0, 0], &mut NoHost).is_err());
        assert_eq!(run(&mut vm, 3), (7, 8));
    }
}
