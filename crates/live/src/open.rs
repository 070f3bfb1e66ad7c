// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scheduler before it is loaded: an object file and its settings.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tandem_bpf_vm::object::Object;
use tandem_bpf_vm::open::{OpenObject, SettingError};
use tandem_loader::backend::BackendLimits;
use tandem_loader::bounded::Limit;
use tandem_loader::facts::System;
use tandem_loader::file::LoaderFile;
use tandem_loader::input::InputError;
use tandem_loader::steps::Steps;

use crate::counters::CounterSource;
use crate::error::LiveError;
use crate::kernel::{self, Enumerators};
use crate::load::{self, OpsChanges, is_scheduler, number_at};
use crate::machine::Machine;
use crate::ops_types::OpsTypes;
use crate::scheduler::LoadedScheduler;

/// The variable that objects which ask for clocks have for whether they may from timers ([`OpsTypes::cpuperf_locks`]).
const CPUPERF_LOCKS: &str = "cpuperf_locks";
/// The variable of objects that have two ways of giving a CPU's tasks back, of which one works on newer kernels only
/// ([`OpsTypes::reenqueues_anywhere`]).
const REENQUEUES_ANYWHERE: &str = "reenqueues_anywhere";
/// What the variables of objects begin with that have callbacks which only some kernels know; a member of `struct sched_ext_ops` follows.
const OPS_HAS: &str = "ops_has_";
/// The variable that objects which count transactions with memory have for their size.
const TRANSACTION_BYTES: &str = "transaction_bytes";
/// Bytes for the debug dump if the scheduler does not say how many (`UEI_DUMP_DFL_LEN`).
const DUMP_LEN: u64 = 32768;

/// What a kernel cannot be asked for from here.
pub const LINUX: BackendLimits = BackendLimits {
    name: "the loader for Linux",
    lacks: &[(
        "run.arena",
        "setting up the library of scx_arena means writing to an arena's memory, which libbpf's safe interface does not \
         give access to; the simulator can (`tandem simulate`)",
    )],
};

/// A sched_ext object whose settings may still be changed.
#[derive(Debug, Clone)]
pub struct OpenScheduler {
    path: PathBuf,
    bytes: Vec<u8>,
    open: OpenObject,
    steps: Steps,
    cpus: Vec<usize>,
    counters: CounterSource,
    watchdog_ms: Option<u32>,
}

impl OpenScheduler {
    /// Reads an object file and the file beside it, tells the object of the machine, and makes room for its exit record as
    /// every loader does (`UEI_SET_SIZE`).
    ///
    /// # Errors
    /// [`LiveError::Read`], [`LiveError::Object`], [`LiveError::NoScheduler`]; [`LiveError::File`] and [`LiveError::Unable`]
    /// of the file beside it.
    pub fn open(path: &Path, machine: &Machine) -> Result<Self, LiveError> {
        let bytes = Limit::OBJECT.read(path).map_err(|why| LiveError::Read { path: path.to_owned(), why })?;
        Self::of_bytes(path, bytes, machine, || Ok(LoaderFile::beside(path)?.unwrap_or_default()))
    }

    /// Does the same for an object that a program carries: `name` stands for the file's, `sidecar` is the text of the file beside
    /// it.
    ///
    /// # Errors
    /// As [`OpenScheduler::open`].
    pub fn embedded(name: &str, bytes: &[u8], sidecar: &str, machine: &Machine) -> Result<Self, LiveError> {
        let described = || LoaderFile::parse(&LoaderFile::path_beside(Path::new(name)), sidecar);
        Self::of_bytes(Path::new(name), bytes.to_owned(), machine, described)
    }

    fn of_bytes(
        path: &Path,
        bytes: Vec<u8>,
        machine: &Machine,
        sidecar: impl FnOnce() -> Result<LoaderFile, InputError>,
    ) -> Result<Self, LiveError> {
        let mut object = Object::parse(&bytes).map_err(|why| LiveError::Object { path: path.to_owned(), why })?;
        let file = sidecar()?;
        file.choose_scheduler(&mut object)?;
        let count = object.struct_ops.iter().filter(|ops| is_scheduler(&object, ops)).count();
        if count != 1 {
            return Err(LiveError::NoScheduler { path: path.to_owned(), count });
        }
        LINUX.accepts(&file)?;
        let mut open = Self {
            path: path.to_owned(),
            bytes,
            open: OpenObject::new(Arc::new(object)),
            steps: file.steps(&System::of(machine)),
            cpus: (0..machine.cpus.len()).filter(|cpu| machine.cpus[*cpu].online).collect(),
            counters: CounterSource::default(),
            watchdog_ms: None,
        };
        open.tell_enumerators()?;
        open.make_room_for_dump()?;
        open.steps.prepare(&file, &mut open.open)?;
        let kernel = OpsTypes::running();
        open.tell(CPUPERF_LOCKS, i128::from(kernel.is_some_and(|types| types.cpuperf_locks)))?;
        open.tell(REENQUEUES_ANYWHERE, i128::from(kernel.is_some_and(|types| types.reenqueues_anywhere)))?;
        open.tell_members()?;
        Ok(open)
    }

    /// Sets the variables that ask whether the kernel's `struct sched_ext_ops` has a member.
    fn tell_members(&mut self) -> Result<(), LiveError> {
        let names = self.open.variables().into_iter().map(|it| it.name).filter(|name| name.starts_with(OPS_HAS));
        let names: Vec<String> = names.collect();
        for name in names {
            let has = OpsTypes::running().is_some_and(|ops| ops.has(name.trim_start_matches(OPS_HAS)));
            self.tell(&name, i128::from(has))?;
        }
        Ok(())
    }

    /// Sets the variables that have the kernel's enumerators (`SCX_ENUM_INIT`): one that it lacks is 0.
    fn tell_enumerators(&mut self) -> Result<(), LiveError> {
        let is_enumerator = |name: &String| name.starts_with("__SCX_");
        let names: Vec<String> = self.open.variables().into_iter().map(|it| it.name).filter(is_enumerator).collect();
        let known = if names.is_empty() { Enumerators::default() } else { Enumerators::of_running_kernel() };
        for name in names {
            self.tell(&name, i128::from(known.value(name.trim_start_matches('_')).unwrap_or(0)))?;
        }
        Ok(())
    }

    fn make_room_for_dump(&mut self) -> Result<(), LiveError> {
        if !self.open.has("uei_dump") || !self.open.has("uei_dump_len") {
            return Ok(());
        }
        let of_file =
            self.steps.ops.iter().rev().find(|(member, _)| member == "exit_dump_len").map(|(_, length)| *length);
        let length = of_file.or_else(|| self.ops_number("exit_dump_len")).filter(|length| *length > 0);
        let length = length.unwrap_or(DUMP_LEN);
        let room = self.open.resize("uei_dump", length);
        let room = room.and_then(|()| self.open.set_integer("uei_dump_len", i128::from(length)));
        room.map_err(|why| self.setting(why))
    }

    /// What a member of the `struct sched_ext_ops` is, if it is a number.
    fn ops_number(&self, member: &str) -> Option<u64> {
        let object = self.open.object();
        let ops = object.struct_ops.iter().find(|ops| is_scheduler(object, ops))?;
        let place = object.btf.member(ops.type_id, member)?;
        let size = usize::try_from(place.size()).ok()?.min(size_of::<u64>());
        Some(number_at(&ops.bytes, place.offset(), size))
    }

    /// Sets a global variable, or part of one: `set("slice_ns", "5000000")`, `set("cpus[3].capacity", "512")`.
    ///
    /// # Errors
    /// [`LiveError::Setting`]: there is no such variable, or this is no value of its type.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), LiveError> {
        self.open.set(name, text).map_err(|why| self.setting(why))
    }

    /// Sets one of its settings as a user does: of an object that says which of its variables are settings, only those.
    ///
    /// # Errors
    /// [`LiveError::Setting`].
    pub fn choose(&mut self, name: &str, text: &str) -> Result<(), LiveError> {
        self.open.choose(name, text).map_err(|why| self.setting(why))
    }

    /// Whether it has a global variable of this name.
    pub fn has(&self, name: &str) -> bool {
        self.open.has(name)
    }

    /// Where the counters shall come from that it wants (`[perf]`); its variable `transaction_bytes`, if it has one, is told
    /// what a transaction with memory moves then.
    ///
    /// # Errors
    /// [`LiveError::Setting`]: the variable cannot hold it.
    pub fn count_by(&mut self, source: CounterSource) -> Result<(), LiveError> {
        self.counters = source;
        self.tell(TRANSACTION_BYTES, source.transaction_bytes())
    }

    /// Sets a variable if the object has it.
    fn tell(&mut self, name: &str, value: i128) -> Result<(), LiveError> {
        if !self.open.has(name) {
            return Ok(());
        }
        self.open.set_integer(name, value).map_err(|why| self.setting(why))
    }

    /// Has the kernel eject it if a task that is ready waits this long, whatever it says itself (`ops.timeout_ms`). At most
    /// 30,000 ms (`SCX_WATCHDOG_MAX_TIMEOUT`): the kernel refuses more.
    pub fn watch(&mut self, ms: u32) {
        self.watchdog_ms = Some(ms);
    }

    fn setting(&self, why: SettingError) -> LiveError {
        LiveError::Setting { path: self.path.clone(), why }
    }

    /// Loads it: its maps are made, the kernel's verifier checks its programs, and those that the file beside it names are
    /// run. What its settings do not need is left out. Nothing is scheduled by it yet.
    ///
    /// # Errors
    /// [`LiveError::NoSchedExt`], [`LiveError::Busy`]; [`LiveError::NoMember`]; [`LiveError::Refused`] with the verifier's log; [`LiveError::Problem`];
    /// [`LiveError::NoMap`]; [`LiveError::NoCpu`]; [`LiveError::Libbpf`].
    pub fn load(&self) -> Result<LoadedScheduler, LiveError> {
        kernel::check_free()?;
        let sized: Vec<&str> = self.steps.max_entries.iter().map(|step| step.name.as_str()).collect();
        let (numbers, flags) = (self.steps.ops.as_slice(), self.steps.flags.as_slice());
        let changes = OpsChanges { numbers, flags, watchdog_ms: self.watchdog_ms, sized: &sized };
        let (loaded, left_out) = load::load(&self.path, &self.bytes, &self.open, &changes)?;
        let mut scheduler = LoadedScheduler::new(loaded, Arc::clone(self.open.object()), self.steps.clone(), left_out);
        scheduler.check_maps()?;
        self.steps.fill(&mut scheduler)?;
        scheduler.open_counters(&self.cpus, self.counters)?;
        scheduler.run_before_attaching()?;
        Ok(scheduler)
    }
}
