// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scheduler that the kernel has accepted.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;

use libbpf_rs::query::ProgInfoIter;
use libbpf_rs::{Link, MapCore, MapFlags, MapImpl, MapType, Program, ProgramInput, ProgramType};
use tandem_bpf_vm::object::{DataSection, Object};
use tandem_bpf_vm::open::{OpenObject, SettingError};
use tandem_loader::statistics::{self, ArrayShape, Counting};
use tandem_loader::steering::{Mode, Wish};
use tandem_loader::steps::{Call, Filled, Steps};

use crate::counters::{CounterSource, OpenCounter, open_counter};
use crate::error::LiveError;
use crate::exit::Exit;
use crate::fitting::LeftOut;
use crate::load::{is_struct_ops, section_of};
use crate::messages::collect;
use crate::pinned::Pinned;
use crate::pmus::Pmus;

/// A loaded scheduler; it goes when this is dropped.
#[derive(Debug)]
pub struct LoadedScheduler {
    // Links go before what they link.
    links: Vec<Link>,
    object: libbpf_rs::Object,
    source: Arc<Object>,
    steps: Steps,
    counters: Vec<OpenCounter>,
    uncounted: Vec<Uncounted>,
    left_out: Vec<LeftOut>,
}

/// A program that the verifier accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Name of the program.
    pub name: String,
    /// Its instructions, with those of the functions that it calls.
    pub instructions: usize,
    /// How many instructions the verifier followed, on all paths; a million are too many.
    pub followed: u32,
}

/// A counter that is missing.
#[derive(Debug)]
pub struct Uncounted {
    /// The object's map that it should be in.
    pub map: String,
    /// CPU of the counter.
    pub cpu: usize,
    /// Why it cannot be opened.
    pub why: io::Error,
}

/// Behind a thread's number with this bit, which no number has, an object finds the length of the next thread that it creates.
const NEXT_THREAD: u32 = 1 << 31;

impl LoadedScheduler {
    pub(crate) fn new(object: libbpf_rs::Object, source: Arc<Object>, steps: Steps, left_out: Vec<LeftOut>) -> Self {
        Self { links: Vec::new(), object, source, steps, counters: Vec::new(), uncounted: Vec::new(), left_out }
    }

    /// Whether the object has the maps and names that the file beside it speaks of.
    pub(crate) fn check_maps(&self) -> Result<(), LiveError> {
        let missing = |what, name: &str| LiveError::NoMap { what, name: name.to_owned() };
        if let Some(map) = &self.steps.tasks.tgids {
            self.hash(map, 4).ok_or_else(|| missing("hash map from 32 bits to 32 bits", map))?;
        }
        if let Some(map) = &self.steps.tasks.relative_length {
            self.hash(map, 8).ok_or_else(|| missing("hash map from 32 bits to 64 bits", map))?;
        }
        Ok(self.steps.statistics.check(self)?)
    }

    /// Opens a counter for each of these CPUs and each map that wants one, if a program was loaded that can read them: the
    /// processor has few, and the kernel's own cost time. What they do not count is noted, no error.
    pub(crate) fn open_counters(&mut self, cpus: &[usize], source: CounterSource) -> Result<(), LiveError> {
        // The kernel lets no callback of a scheduler and no system call read them.
        if !self.object.progs().any(|program| program.autoload() && attaches_itself(program.prog_type())) {
            return Ok(());
        }
        let (mut counters, mut uncounted) = (Vec::new(), Vec::new());
        let pmus = Pmus::read(Path::new("/"));
        for (name, event) in &self.steps.counters {
            let map = self.map(name).filter(|map| map.map_type() == MapType::PerfEventArray);
            let map = map.ok_or_else(|| LiveError::NoMap { what: "map of counters", name: name.clone() })?;
            let opened: Vec<_> = cpus.iter().map(|cpu| (*cpu, open_counter(*event, *cpu, source, &pmus))).collect();
            // For all CPUs it is mostly the same reason.
            let mut failed = None;
            for (cpu, counter) in opened {
                match counter {
                    Ok(counter) => {
                        enter(&map, cpu as u32, &counter.value())?;
                        counters.push(counter);
                    }
                    Err(why) => failed = failed.or(Some(Uncounted { map: name.clone(), cpu, why })),
                }
            }
            uncounted.extend(failed);
        }
        self.counters = counters;
        self.uncounted = uncounted;
        Ok(())
    }

    /// What should be counted (`[perf]`) and is not: for each map the first CPU where it is so.
    pub fn uncounted(&self) -> &[Uncounted] {
        &self.uncounted
    }

    /// What of the scheduler was left out, as the kernel does not have it.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    fn map(&self, name: &str) -> Option<MapImpl<'_>> {
        self.object.maps().find(|map| map.name() == name)
    }

    fn hash(&self, name: &str, value_size: u32) -> Option<MapImpl<'_>> {
        let kinds = [MapType::Hash, MapType::LruHash];
        let fits = |map: &MapImpl<'_>| (map.key_size(), map.value_size()) == (4, value_size);
        self.map(name).filter(|map| kinds.contains(&map.map_type()) && fits(map))
    }

    /// Says that a process and all that will descend from it are the application `number`, from 1; false if the object does
    /// not ask which applications there are.
    ///
    /// # Errors
    /// [`LiveError::Libbpf`]: there is no room.
    pub fn enter_application(&self, process: u32, number: u32) -> Result<bool, LiveError> {
        let Some(map) = self.steps.tasks.tgids.as_ref().and_then(|map| self.hash(map, 4)) else { return Ok(false) };
        enter(&map, process, &number.to_ne_bytes())?;
        Ok(true)
    }

    /// Says that a thread which was there before belongs to the application `number`; false if the object does not ask. Its
    /// process is to be entered before.
    ///
    /// # Errors
    /// [`LiveError::Libbpf`], [`LiveError::Problem`].
    pub fn adopt(&self, thread: u32, number: u32) -> Result<bool, LiveError> {
        let Some(program) = self.steps.tasks.adopt.clone() else { return Ok(false) };
        self.run(&Call { program, arguments: vec![thread.cast_signed(), number.cast_signed()] })?;
        Ok(true)
    }

    /// The processes of applications, each with its application's number: those that were entered, and what descends from them
    /// and lives.
    pub fn applications(&self) -> Vec<(u32, u32)> {
        let Some(map) = self.steps.tasks.tgids.as_ref().and_then(|map| self.hash(map, 4)) else { return Vec::new() };
        let number = |bytes: &[u8]| Some(u32::from_ne_bytes(bytes.try_into().ok()?));
        let entry = |key: Vec<u8>| Some((number(&key)?, number(&map.lookup(&key, MapFlags::ANY).ok()??)?));
        map.keys().filter_map(entry).collect()
    }

    /// Says how long a thread is, relative to other threads of its program; false if the object does not ask.
    ///
    /// # Errors
    /// [`LiveError::Libbpf`]: there is no room.
    pub fn hint(&self, thread: u32, length: u64) -> Result<bool, LiveError> {
        let Some(map) = self.steps.tasks.relative_length.as_ref().and_then(|map| self.hash(map, 8)) else {
            return Ok(false);
        };
        enter(&map, thread, &length.to_ne_bytes())?;
        Ok(true)
    }

    /// Says how long the next thread is that a thread creates, relative to others of its program; false if the object does
    /// not ask.
    ///
    /// # Errors
    /// [`LiveError::Libbpf`]: there is no room.
    pub fn hint_next(&self, thread: u32, length: u64) -> Result<bool, LiveError> {
        self.hint(thread | NEXT_THREAD, length)
    }

    /// Takes back what was said of a thread; no matter if the scheduler has done so itself.
    pub fn forget(&self, thread: u32) {
        if let Some(map) = self.steps.tasks.relative_length.as_ref().and_then(|map| self.hash(map, 8)) {
            for key in [thread, thread | NEXT_THREAD] {
                let _ = map.delete(&key.to_ne_bytes());
            }
        }
    }

    /// What it has counted so far, by name, in its order (`[statistics]`).
    pub fn counters(&self) -> Vec<(String, u64)> {
        self.steps.statistics.counters(self)
    }

    /// The states that it is in: names of variables and of their values.
    pub fn states(&self) -> Vec<(String, String)> {
        self.steps.statistics.states(self)
    }

    /// What the variables have now that the file beside the object wants printed (`run.print`), by name, as texts.
    pub fn values(&self) -> Vec<(String, String)> {
        statistics::values(self, &self.steps.print)
    }

    /// The programs that were loaded, in the order of the object.
    pub fn programs(&self) -> Vec<Verified> {
        let infos: Vec<_> = ProgInfoIter::default().collect();
        let verified = |program: Program<'_>| {
            let id = Program::id_from_fd(program.as_fd()).ok()?;
            let followed = infos.iter().find(|info| info.id == id)?.verified_insns;
            let name = program.name().to_string_lossy().into_owned();
            Some(Verified { name, instructions: program.insn_cnt(), followed })
        };
        self.object.progs().filter(|program| program.autoload()).filter_map(verified).collect()
    }

    /// Runs what comes before the scheduler is attached: first the program that says whether the settings will do.
    pub(crate) fn run_before_attaching(&self) -> Result<(), LiveError> {
        let check = self.steps.check.clone().map(|program| Call { program, arguments: Vec::new() });
        let _pinned = self.pinned()?;
        check.iter().chain(&self.steps.calls).try_for_each(|call| self.run(call))
    }

    /// Has this thread run where its file says that programs and `ops.init` must (`init_cpu`), until the result is dropped.
    fn pinned(&self) -> Result<Option<Pinned>, LiveError> {
        let Some(cpu) = self.steps.init_cpu else { return Ok(None) };
        Pinned::on(cpu).map(Some).map_err(|why| LiveError::NoCpu { cpu, why })
    }

    /// Runs a program of type `syscall`, whose context is its arguments, 32 bits each. A result that is not 0 is a refusal.
    pub(crate) fn run(&self, call: &Call) -> Result<(), LiveError> {
        let refused = |problem: String| LiveError::Problem { program: call.program.clone(), problem };
        let Some(program) = self.object.progs_mut().find(|program| program.name() == call.program.as_str()) else {
            return Err(refused("the object has no such program".to_owned()));
        };
        let mut context = call.bytes();
        let context_in = (!context.is_empty()).then_some(context.as_mut_slice());
        let (ran, messages) = collect(|| program.test_run(ProgramInput { context_in, ..ProgramInput::default() }));
        let ran = ran.map_err(|why| LiveError::Libbpf { what: format!("running {}", call.program), why, messages })?;
        if ran.return_value != 0 {
            let problem = self.text("problem").filter(|text| !text.is_empty());
            return Err(refused(problem.unwrap_or_else(|| format!("it returned {}", ran.return_value.cast_signed()))));
        }
        Ok(())
    }

    /// What an array of characters has now, up to its end.
    fn text(&self, name: &str) -> Option<String> {
        let open = OpenObject::new(Arc::new(self.now()));
        let bytes = open.bytes(name).ok()?.split(|byte| *byte == 0).next()?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }

    /// Attaches the programs that watch the kernel, then the scheduler: from now on it schedules all fair tasks. Then runs
    /// what its file says is to run after that.
    ///
    /// # Errors
    /// [`LiveError::Libbpf`]; if `ops.init` refuses, the kernel's log says why. [`LiveError::NoCpu`], [`LiveError::Problem`].
    pub fn attach(&mut self) -> Result<(), LiveError> {
        let _pinned = self.pinned()?;
        for program in
            self.object.progs_mut().filter(|program| program.autoload() && attaches_itself(program.prog_type()))
        {
            let (link, messages) = collect(|| program.attach());
            let what = || format!("attaching {}", program.name().to_string_lossy());
            self.links.push(link.map_err(|why| LiveError::Libbpf { what: what(), why, messages })?);
        }
        for mut map in self.object.maps_mut().filter(is_struct_ops) {
            let (link, messages) = collect(|| map.attach_struct_ops());
            let what = || format!("attaching the scheduler {}", map.name().to_string_lossy());
            self.links.push(link.map_err(|why| LiveError::Libbpf { what: what(), why, messages })?);
        }
        self.steps.attached.iter().try_for_each(|call| self.run(call))
    }

    /// Detaches it: tasks are fair again when this returns. Its maps can still be read.
    pub fn detach(&mut self) {
        // The scheduler was attached last.
        while self.links.pop().is_some() {}
    }

    /// How it ended; `None` if it has not, or does not say.
    pub fn exit(&self) -> Option<Exit> {
        Exit::read(&Arc::new(self.now()))
    }

    /// The value that a global variable, or part of one, has now, as a text.
    ///
    /// # Errors
    /// There is no such variable.
    pub fn variable(&self, name: &str) -> Result<String, SettingError> {
        OpenObject::new(Arc::new(self.now())).text(name)
    }

    /// What it is after besides time; none if it has no such setting.
    pub fn mode(&self) -> Mode {
        let variable = self.steps.steering.as_ref().map(|lines| lines.mode.as_str());
        let bytes = variable.and_then(|name| Counting::variable(self, name));
        let number = |bytes: Vec<u8>| bytes.iter().take(8).rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
        bytes.map_or(Mode::None, |bytes| Mode::of_number(number(bytes)))
    }

    /// Says what people wish while it runs; false if it does not ask. The variable must be alone in its data section: a section
    /// is written as a whole, over what the scheduler writes there meanwhile.
    ///
    /// # Errors
    /// [`LiveError::Libbpf`], [`LiveError::NoMap`]: there is no such variable, or it is not alone.
    pub fn set_wish(&self, wish: Wish) -> Result<bool, LiveError> {
        let Some(name) = self.steps.steering.as_ref().and_then(|lines| lines.wish.as_deref()) else { return Ok(false) };
        let lone = |section: &&DataSection| {
            section.bytes.len() == size_of::<u32>() && section.variables.iter().any(|variable| variable.name == *name)
        };
        let section = self.source.data.iter().find(lone);
        let of = |map: &MapImpl<'_>| {
            section_of(&self.source, &map.name().to_string_lossy())
                .is_some_and(|known| section.is_some_and(|section| section.name == known.name))
        };
        let missing = || LiveError::NoMap { what: "data section of its own for the number", name: name.to_owned() };
        let map = self.object.maps().find(of).ok_or_else(missing)?;
        enter(&map, 0, &wish.number().to_ne_bytes())?;
        Ok(true)
    }

    /// The object with its global data as it is now.
    fn now(&self) -> Object {
        let mut now = Object::clone(&self.source);
        for map in self.object.maps() {
            let name = map.name().to_string_lossy();
            let Some(section) = section_of(&self.source, &name).map(|section| &section.name) else { continue };
            let Ok(Some(value)) = map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY) else { continue };
            let into = now.data.iter_mut().find(|data| data.name == *section);
            if let Some(into) = into.filter(|into| into.bytes.len() <= value.len()) {
                let length = into.bytes.len();
                into.bytes.copy_from_slice(&value[..length]);
            }
        }
        now
    }
}

impl Filled for LoadedScheduler {
    type Error = LiveError;

    fn enter(&mut self, map: &str, key: u32, value: u32) -> Result<(), LiveError> {
        let fits = |map: &MapImpl<'_>| (map.key_size(), map.value_size()) == (4, 4);
        let missing = || LiveError::NoMap { what: "map with keys and values of 4 bytes", name: map.to_owned() };
        enter(&self.map(map).filter(fits).ok_or_else(missing)?, key, &value.to_ne_bytes())
    }
}

impl Counting for LoadedScheduler {
    fn object(&self) -> &Object {
        &self.source
    }

    fn array(&self, name: &str) -> Option<ArrayShape> {
        let map = self.map(name)?;
        Some(ArrayShape { key_size: map.key_size(), value_size: map.value_size(), entries: map.max_entries() })
    }

    fn entry(&self, map: &str, key: u32) -> Vec<u8> {
        let Some(map) = self.map(map) else { return Vec::new() };
        let key = key.to_ne_bytes();
        if map.map_type().is_percpu() {
            return map.lookup_percpu(&key, MapFlags::ANY).ok().flatten().unwrap_or_default().concat();
        }
        map.lookup(&key, MapFlags::ANY).ok().flatten().unwrap_or_default()
    }

    fn variable(&self, name: &str) -> Option<Vec<u8>> {
        let now = OpenObject::new(Arc::new(self.now()));
        now.bytes(name).ok().map(<[u8]>::to_vec)
    }
}

/// Enters a value in a map of 32-bit keys.
fn enter(map: &MapImpl<'_>, key: u32, value: &[u8]) -> Result<(), LiveError> {
    map.update(&key.to_ne_bytes(), value, MapFlags::ANY).map_err(|why| LiveError::Libbpf {
        what: format!("entering {key} in {}", map.name().to_string_lossy()),
        why,
        messages: String::new(),
    })
}

/// Whether a program is attached by what its section says, not by the scheduler or as a system call.
fn attaches_itself(kind: ProgramType) -> bool {
    matches!(
        kind,
        ProgramType::Tracing
            | ProgramType::Kprobe
            | ProgramType::Tracepoint
            | ProgramType::RawTracepoint
            | ProgramType::RawTracepointWritable
    )
}
