// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scheduler that the kernel has accepted.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;

use libbpf_rs::query::ProgInfoIter;
use libbpf_rs::{Link, MapCore, MapFlags, MapImpl, MapType, Program, ProgramInput, ProgramType};
use tandem_bpf_vm::btf::Type;
use tandem_bpf_vm::object::Object;
use tandem_bpf_vm::open::{OpenObject, SettingError};

use crate::counters::{CounterSource, OpenCounter};
use crate::error::LiveError;
use crate::exit::Exit;
use crate::load::{is_struct_ops, section_of};
use crate::messages::collect;
use crate::pmus::Pmus;
use crate::sidecar::{Call, Plan};
use crate::statistics;

/// A loaded scheduler; it goes when this is dropped.
#[derive(Debug)]
pub struct LoadedScheduler {
    // Links go before what they link.
    links: Vec<Link>,
    object: libbpf_rs::Object,
    source: Arc<Object>,
    plan: Plan,
    counters: Vec<OpenCounter>,
    uncounted: Vec<Uncounted>,
}

/// A program that the verifier accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Its name.
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
    /// Its CPU.
    pub cpu: usize,
    /// Why it cannot be opened.
    pub why: io::Error,
}

impl LoadedScheduler {
    pub(crate) fn new(object: libbpf_rs::Object, source: Arc<Object>, plan: Plan) -> Self {
        Self { links: Vec::new(), object, source, plan, counters: Vec::new(), uncounted: Vec::new() }
    }

    /// Whether the object has the maps and names that the file beside it speaks of.
    pub(crate) fn check_maps(&self) -> Result<(), LiveError> {
        let missing = |what, name: &str| LiveError::NoMap { what, name: name.to_owned() };
        if let Some(map) = &self.plan.applications {
            self.hash(map, 4).ok_or_else(|| missing("hash map from 32 bits to 32 bits", map))?;
        }
        if let Some(map) = &self.plan.lengths {
            self.hash(map, 8).ok_or_else(|| missing("hash map from 32 bits to 64 bits", map))?;
        }
        if let Some((map, names)) = &self.plan.statistics.counters {
            let found = self.map(map).filter(|map| map.key_size() == 4 && map.value_size() == 8);
            found.ok_or_else(|| missing("array of 64-bit counters", map))?;
            let found = self.source.btf.find(names, |ty| Type::enumeration(ty).is_some());
            found.ok_or_else(|| missing("enumeration", names))?;
        }
        let now = OpenObject::new(Arc::clone(&self.source));
        let absent = self.plan.statistics.states.iter().find(|name| statistics::state(&now, name).is_none());
        absent.map_or(Ok(()), |name| Err(missing("variable that is an enumeration", name)))
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
        for (name, event) in &self.plan.counters {
            let map = self.map(name).filter(|map| map.map_type() == MapType::PerfEventArray);
            let map = map.ok_or_else(|| LiveError::NoMap { what: "map of counters", name: name.clone() })?;
            let opened: Vec<_> = cpus.iter().map(|cpu| (*cpu, event.open(*cpu, source, &pmus))).collect();
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
        let Some(map) = self.plan.applications.as_ref().and_then(|map| self.hash(map, 4)) else { return Ok(false) };
        enter(&map, process, &number.to_ne_bytes())?;
        Ok(true)
    }

    /// Says that a thread which was there before belongs to the application `number`; false if the object does not ask. Its
    /// process is to be entered before.
    ///
    /// # Errors
    /// [`LiveError::Libbpf`], [`LiveError::Problem`].
    pub fn adopt(&self, thread: u32, number: u32) -> Result<bool, LiveError> {
        let Some(program) = self.plan.adopt.clone() else { return Ok(false) };
        self.run(&Call { program, arguments: vec![thread.cast_signed(), number.cast_signed()] })?;
        Ok(true)
    }

    /// The processes of applications, each with its application's number: those that were entered, and what descends from them
    /// and lives.
    pub fn applications(&self) -> Vec<(u32, u32)> {
        let Some(map) = self.plan.applications.as_ref().and_then(|map| self.hash(map, 4)) else { return Vec::new() };
        let number = |bytes: &[u8]| Some(u32::from_ne_bytes(bytes.try_into().ok()?));
        let entry = |key: Vec<u8>| Some((number(&key)?, number(&map.lookup(&key, MapFlags::ANY).ok()??)?));
        map.keys().filter_map(entry).collect()
    }

    /// Says how long a thread is, relative to other threads of its program; false if the object does not ask.
    ///
    /// # Errors
    /// [`LiveError::Libbpf`]: there is no room.
    pub fn hint(&self, thread: u32, length: u64) -> Result<bool, LiveError> {
        let Some(map) = self.plan.lengths.as_ref().and_then(|map| self.hash(map, 8)) else { return Ok(false) };
        enter(&map, thread, &length.to_ne_bytes())?;
        Ok(true)
    }

    /// Takes back what was said of a thread; no matter if the scheduler has done so itself.
    pub fn forget(&self, thread: u32) {
        if let Some(map) = self.plan.lengths.as_ref().and_then(|map| self.hash(map, 8)) {
            let _ = map.delete(&thread.to_ne_bytes());
        }
    }

    /// What it has counted so far, by name, in its order (`[statistics]`).
    pub fn counters(&self) -> Vec<(String, u64)> {
        let Some((map, names)) = &self.plan.statistics.counters else { return Vec::new() };
        let counters = self.map(map).and_then(|map| statistics::counters(&map, &self.source.btf, names));
        counters.unwrap_or_default()
    }

    /// The states that it is in: names of variables and of their values.
    pub fn states(&self) -> Vec<(String, String)> {
        let now = OpenObject::new(Arc::new(self.now()));
        let state = |name: &String| Some((name.clone(), statistics::state(&now, name)?));
        self.plan.statistics.states.iter().filter_map(state).collect()
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

    /// Runs a program of type `syscall`, whose context is its arguments, 32 bits each. A result below 0 is a refusal.
    pub(crate) fn run(&self, call: &Call) -> Result<(), LiveError> {
        let Some(program) = self.object.progs_mut().find(|program| program.name() == call.program.as_str()) else {
            let problem = Some("the object has no such program".to_owned());
            return Err(LiveError::Problem { program: call.program.clone(), problem });
        };
        let mut context: Vec<u8> = call.arguments.iter().flat_map(|argument| argument.to_ne_bytes()).collect();
        let context_in = (!context.is_empty()).then_some(context.as_mut_slice());
        let (ran, messages) = collect(|| program.test_run(ProgramInput { context_in, ..ProgramInput::default() }));
        let ran = ran.map_err(|why| LiveError::Libbpf { what: format!("running {}", call.program), why, messages })?;
        if (ran.return_value as i32) < 0 {
            let problem = self.text("problem").filter(|text| !text.is_empty());
            return Err(LiveError::Problem { program: call.program.clone(), problem });
        }
        Ok(())
    }

    /// What an array of characters has now, up to its end.
    fn text(&self, name: &str) -> Option<String> {
        let open = OpenObject::new(Arc::new(self.now()));
        let bytes = open.bytes(name).ok()?.split(|byte| *byte == 0).next()?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }

    /// Attaches the programs that watch the kernel, then the scheduler: from now on it schedules all fair tasks.
    ///
    /// # Errors
    /// [`LiveError::Libbpf`]; if `ops.init` refuses, the kernel's log says why.
    pub fn attach(&mut self) -> Result<(), LiveError> {
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
        Ok(())
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
