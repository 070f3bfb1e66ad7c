// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a loader program does before it loads a scheduler, and after it has gone (`SCX_OPS_OPEN`, `SCX_OPS_LOAD`,
//! `UEI_REPORT`).
//!
//! What a particular scheduler's loader does comes from the file beside its object ([`tandem_loader::file`]).
//!
//! - [`scheduler`]: a user's choice, from a file. [`facts`], [`opps`]: what loaders find out about the simulated machine;
//!   [`arena`]: what they set up in an arena; [`perf`]: counters that they open; [`tasks`]: what they know of tasks.
//! - [`ops`]: its `struct sched_ext_ops`. [`listing`]: what is in it. [`check`]: whether it accepts its settings.
//!   [`exit_record`]: what it recorded of its end.

pub mod arena;
pub mod check;
pub mod exit_record;
pub mod facts;
pub mod listing;
pub mod opps;
pub mod ops;
pub mod perf;
pub mod scheduler;
pub mod tasks;

use std::sync::Arc;

use tandem_bpf_vm::LinkCache;
use tandem_bpf_vm::compile::{CodeCache, When};
use tandem_bpf_vm::fault::FaultKind;
use tandem_bpf_vm::instance::{Instance, ProgramId};
use tandem_bpf_vm::link::{Environment, LoadError};
use tandem_bpf_vm::memory::{Account, Memory};
use tandem_bpf_vm::object::{ExternKind, Object};
use tandem_bpf_vm::open::{Needs, OpenObject, SettingError};
use tandem_loader::file::{KernelInterface, LoaderFile};
use tandem_loader::statistics::NoStatistics;
use tandem_loader::steps::{Call, NoSuchMap, Steps};

use crate::input::InputError;
use crate::units::CpuId;
use facts::System;

use super::abi::Guest;
use super::abi::profile::{Profile, Version};
use super::abi::types::kernel as kernel_types;
use super::enable::{InvalidOps, check_member};
use super::ops::Ops;
use super::tracepoints::Tracepoints;
use perf::PerfMap;
use tasks::TaskMaps;

/// Bytes of a debug dump if the scheduler does not say (`SCX_EXIT_DUMP_DFL_LEN`).
const DUMP_LEN: u32 = 32768;

/// The variable of objects that have two ways of giving a CPU's tasks back, of which one works on newer kernels only: whether
/// `scx_bpf_reenqueue_local` may be called from anywhere.
const REENQUEUES_ANYWHERE: &str = "reenqueues_anywhere";

/// Why a scheduler cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchedulerError {
    /// The object has no `struct sched_ext_ops`.
    #[error("the object holds no `struct sched_ext_ops`: it is no scheduler")]
    NoScheduler,
    /// The object has more than one scheduler.
    #[error(
        "the object holds two schedulers, `{first}` and `{second}`: `ops.scheduler` in the file beside it says which"
    )]
    Schedulers {
        /// Name of the first scheduler.
        first: String,
        /// The next.
        second: String,
    },
    /// The structure does not have the bytes that its type says.
    #[error("`struct sched_ext_ops` is cut short at `{0}`")]
    Damaged(String),
    /// A member is set that the kernel does not know.
    #[error("the scheduler sets `{member}` of `struct sched_ext_ops`, which Linux {profile} does not have")]
    UnknownMember {
        /// The member.
        member: String,
        /// The kernel.
        profile: Profile,
    },
    /// A member is set that the simulator does not model.
    #[error("the scheduler sets `{0}` of `struct sched_ext_ops`, which the simulator does not model")]
    Unsupported(String),
    /// A setting could not be made.
    #[error("{0}")]
    Setting(#[from] SettingError),
    /// The scheduler itself refuses its settings, for this reason.
    #[error("{0}")]
    Refused(String),
    /// What the file beside the object sets, the object does not have, or not so.
    #[error("{0}")]
    File(#[from] InputError),
    /// What shall be reported of it does not exist.
    #[error("{0}")]
    Statistics(#[from] NoStatistics),
    /// A program that shall run before the scheduler is attached does not exist.
    #[error("the object has no program `{0}` to run")]
    NoProgram(String),
    /// The library of the crate scx_arena cannot be set up.
    #[error("setting up the arena: {0}")]
    Arena(#[from] arena::ArenaError),
    /// Such a program fails.
    #[error("the program `{name}` fails: {why}")]
    Syscall {
        /// Name of the program.
        name: String,
        /// The negative errno that it returned, or what stopped it.
        why: String,
    },
    /// A map that the file beside the object fills does not exist, or does not take numbers.
    #[error("{0}")]
    Map(#[from] NoSuchMap),
    /// What is known of tasks shall be in a map that does not exist or cannot hold it.
    #[error("the object has no map `{map}` of type HASH with keys of 4 bytes and values of {value_size}")]
    NoTaskMap {
        /// Name of the map.
        map: String,
        /// Bytes of a value.
        value_size: u32,
    },
    /// Counters shall be in a map that does not exist or cannot hold them.
    #[error("the object has no map `{0}` of type PERF_EVENT_ARRAY for counters")]
    NoPerfMap(String),
    /// The CPU that `ops.init` shall run on does not exist.
    #[error("ops.init cannot run on CPU {cpu}: the machine has {nr_cpus}")]
    NoCpu {
        /// The CPU.
        cpu: u32,
        /// How many there are.
        nr_cpus: u32,
    },
    /// A value of the structure is one that the kernel refuses.
    #[error("{0}")]
    Ops(#[from] InvalidOps),
    /// The object cannot be loaded.
    #[error("{0}{hint}", hint = if .0.is_memory() { format!("; {MORE_MEMORY}") } else { String::new() })]
    Load(#[from] LoadError),
    /// The kernel's objects do not fit into the programs' memory.
    #[error("the kernel's objects: {0}; {MORE_MEMORY}")]
    Memory(FaultKind),
}

/// What to do about memory that has run out.
pub(crate) const MORE_MEMORY: &str = "`bpf_memory_mib` says how many MiB there are (1024 unless set)";

/// How a scheduler shall be loaded.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Variables to set: what a user says, after what the sidecar says.
    pub settings: &'a [(String, String)],
    /// What its own loader would do.
    pub sidecar: Option<&'a LoaderFile>,
    /// The kernel version; `None`: the sidecar's, or the one that the object was built for.
    pub profile: Option<Profile>,
    /// Number of a kernel function, by version and name.
    pub kfuncs: fn(Version, &str) -> Option<u32>,
    /// What pays for the programs' memory.
    pub account: &'a Account,
    /// Bytes that programs' memory may grow to.
    pub memory_limit: u64,
    /// Instructions that a call of a program may execute.
    pub budget: u64,
    /// Instructions that all calls together may execute.
    pub run_budget: u64,
    /// What is compiled of the object, and when more is; `None`: it is interpreted.
    pub code: Option<(&'a CodeCache, When)>,
    /// What was linked of the object.
    pub linked: &'a LinkCache,
}

/// A loaded scheduler, not attached yet.
#[derive(Debug)]
pub struct Loaded {
    /// The object.
    pub vm: Instance,
    /// Callbacks and values of the scheduler.
    pub ops: Ops,
    /// The kernel's objects in its memory.
    pub guest: Guest,
    /// The kernel version.
    pub profile: Profile,
    /// The CPU that `syscall` programs and `ops.init` must run on, if that matters to them.
    pub init_cpu: Option<CpuId>,
    /// The `syscall` program that says whether the settings will do; it comes before all others.
    pub check: Option<ProgramId>,
    /// The structure of a task's data, if the library of the crate scx_arena is to be set up.
    pub arena: Option<String>,
    /// `syscall` programs to run before the scheduler is attached.
    pub syscalls: Vec<Syscall>,
    /// `syscall` programs to run after that.
    pub attached: Vec<Syscall>,
    /// Programs at tracepoints.
    pub tracepoints: Tracepoints,
    /// Maps of performance counters.
    pub perf: Vec<PerfMap>,
    /// Maps to fill for tasks.
    pub task_maps: TaskMaps,
    /// The dispatch queue in which threads wait for their group's next period, if the scheduler says so.
    pub limited_queue: Option<u64>,
}

/// A call of a `syscall` program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Syscall {
    /// The program.
    pub program: ProgramId,
    /// Name of the program.
    pub name: String,
    /// Argument structure of the program.
    pub args: Vec<u8>,
}

/// The kernel version that an object asks for. One that must have a name which 6.12 lacks was built for 7.x; one that must
/// have `scx_bpf_dispatch` or its kin was built for 6.12, and all others adapt to the kernel, so that is theirs too.
pub fn detect_profile(object: &Object) -> Profile {
    const RENAMED: &[&str] = &["scx_bpf_dsq_insert", "scx_bpf_dsq_insert_vtime", "scx_bpf_dsq_move_to_local"];
    let must_have = |name: &str| {
        let function = |symbol: &&tandem_bpf_vm::object::Extern| symbol.kind == ExternKind::Function && !symbol.weak;
        object.externs.iter().filter(function).any(|symbol| symbol.name == name)
    };
    if RENAMED.iter().any(|name| must_have(name)) { Profile::V7 } else { Profile::V6_12 }
}

/// Does what every loader program does with an object before loading it: enumerators of the kernel, room for the dump.
///
/// # Errors
/// A variable of one of these names has a type that cannot hold its value.
pub fn open(object: Arc<Object>, profile: Profile, exit_dump_len: u32) -> Result<OpenObject, SchedulerError> {
    let mut open = OpenObject::new(object);
    for variable in open.variables() {
        if let Some(name) = variable.name.strip_prefix("__").filter(|name| name.starts_with("SCX_")) {
            // An enumerator that the kernel lacks is 0.
            let value = profile.enum_value(name).unwrap_or(0);
            open.set_integer(&variable.name, i128::from(value))?;
        }
    }
    if open.has("uei_dump") && open.has("uei_dump_len") {
        let length = if exit_dump_len == 0 { DUMP_LEN } else { exit_dump_len };
        open.set_integer("uei_dump_len", i128::from(length))?;
        open.resize("uei_dump", u64::from(length))?;
    }
    Ok(open)
}

/// Loads a scheduler on `system`.
///
/// # Errors
/// [`SchedulerError`].
pub fn load_object(object: Arc<Object>, request: &Request<'_>, system: &System<'_>) -> Result<Loaded, SchedulerError> {
    let System { kernel, machine, .. } = *system;
    let none = LoaderFile::default();
    let sidecar = request.sidecar.unwrap_or(&none);
    let steps = sidecar.steps(&system.known());
    let profile = profile_of(&object, request.profile, sidecar);
    let nr_cpus = kernel.topology.nr_cpus as u32;
    if let Some(cpu) = steps.init_cpu.filter(|cpu| *cpu >= nr_cpus) {
        return Err(SchedulerError::NoCpu { cpu, nr_cpus });
    }
    let mut read = ops::read(&object, ops::find(&object)?, profile)?;
    set_ops(&mut read.ops, &steps, profile);
    let mut opened = open(object.clone(), profile, read.ops.exit_dump_len)?;
    tell(&mut opened, request, profile)?;
    steps.prepare(sidecar, &mut opened)?;
    request.settings.iter().try_for_each(|(name, value)| opened.choose(name, value))?;
    let needs = opened.needs();
    heed_needs(&mut read, &needs, profile);
    let mut memory = Memory::new(request.memory_limit).paid_by(request.account);
    let guest = Guest::new(&mut memory, kernel, machine).map_err(SchedulerError::Memory)?;
    let mut vm = opened.load_again(
        &Environment {
            btf: profile.kernel_btf(),
            kfuncs: &|name| (request.kfuncs)(profile.version, name),
            variables: &|name| guest.variable(name).filter(|_| kernel_types::has(profile, name)),
            kconfig: &|name| profile.kconfig(name, kernel.params.hz),
            nr_cpus,
            arena_data_last: profile.rules().arena_data_last,
            budget: request.budget,
        },
        memory,
        request.linked,
    )?;
    make_ready(&mut vm, request, &guest);
    steps.fill(&mut vm)?;
    steps.statistics.check(&vm)?;
    let perf = perf::maps(&vm, &steps.counters)?;
    let task_maps = TaskMaps::of(&vm, &steps.tasks)?;
    let ops = with_programs(read, &object, &vm)?;
    let program = |name: &String| vm.program(name).ok_or_else(|| SchedulerError::NoProgram(name.clone()));
    let check = steps.check.as_ref().map(program).transpose()?;
    let syscalls = syscalls(&vm, &steps.calls)?;
    let attached = self::syscalls(&vm, &steps.attached)?;
    let (arena, init_cpu) = (steps.arena, steps.init_cpu.map(CpuId));
    let tracepoints = Tracepoints::of(&object, &vm, &needs);
    let limited_queue = steps.statistics.limited_queue(&vm);
    Ok(Loaded {
        vm,
        ops,
        guest,
        profile,
        init_cpu,
        check,
        arena,
        syscalls,
        attached,
        tracepoints,
        perf,
        task_maps,
        limited_queue,
    })
}

/// Gives a machine its budget, compiled code and the kernel's variables.
fn make_ready(vm: &mut Instance, request: &Request<'_>, guest: &Guest) {
    vm.set_total_budget(request.run_budget);
    if let Some((cache, when)) = request.code {
        // Where nothing can be compiled, the interpreter goes on: the results are the same.
        let _ = vm.compile(cache, when);
    }
    for variable in guest.variables() {
        vm.register_percpu(variable, guest.per_cpu_stride());
    }
}

/// Tells an object what it asks about the kernel.
fn tell(opened: &mut OpenObject, request: &Request<'_>, profile: Profile) -> Result<(), SchedulerError> {
    tell_reenqueues(opened, request, profile)?;
    tell_members(opened, profile)
}

/// Tells an object that asks whether `scx_bpf_reenqueue_local` may be called from anywhere.
fn tell_reenqueues(opened: &mut OpenObject, request: &Request<'_>, profile: Profile) -> Result<(), SchedulerError> {
    if opened.has(REENQUEUES_ANYWHERE) {
        let anywhere = (request.kfuncs)(profile.version, "scx_bpf_reenqueue_local___v2").is_some();
        opened.set_integer(REENQUEUES_ANYWHERE, i128::from(anywhere))?;
    }
    Ok(())
}

/// Tells an object that asks which members the kernel's `struct sched_ext_ops` has.
fn tell_members(opened: &mut OpenObject, profile: Profile) -> Result<(), SchedulerError> {
    for name in opened.variables().into_iter().map(|variable| variable.name) {
        if let Some(member) = name.strip_prefix(ops::OPS_HAS) {
            opened.set_integer(&name, i128::from(profile.has_ops_member(member)))?;
        }
    }
    Ok(())
}

/// The kernel that an object is given: the one asked for, its file's, or the one that it was built for.
fn profile_of(object: &Object, wanted: Option<Profile>, sidecar: &LoaderFile) -> Profile {
    let of_file = sidecar.profile.map(|interface| match interface {
        KernelInterface::V6_12 => Profile::V6_12,
        KernelInterface::V6_18 => Profile::V6_18,
        KernelInterface::V7_1 => Profile::V7,
    });
    wanted.or(of_file).unwrap_or_else(|| detect_profile(object))
}

/// Sets members of `struct sched_ext_ops` as the file beside the object says. Flags that the kernel lacks are left out.
fn set_ops(ops: &mut Ops, steps: &Steps, profile: Profile) {
    for (member, value) in &steps.ops {
        ops::set_number(ops, member, *value);
    }
    for name in &steps.flags {
        ops.flags |= profile.enum_value(name).unwrap_or(0);
    }
}

/// Leaves out callbacks that no setting needs, and adds the flags that some do.
fn heed_needs(read: &mut ops::ReadOps, needs: &Needs, profile: Profile) {
    read.callbacks.retain(|(op, _)| !needs.leave_out(op.name()));
    for flag in needs.needed().filter(|name| name.starts_with("SCX_OPS_")) {
        read.ops.flags |= profile.enum_value(flag).unwrap_or(0);
    }
}

/// The calls of `syscall` programs.
fn syscalls(vm: &Instance, calls: &[Call]) -> Result<Vec<Syscall>, SchedulerError> {
    let syscall = |call: &Call| {
        let name = call.program.clone();
        let program = vm.program(&name).ok_or_else(|| SchedulerError::NoProgram(name.clone()))?;
        Ok(Syscall { program, name, args: call.bytes() })
    };
    calls.iter().map(syscall).collect()
}

/// The scheduler's callbacks as programs of the loaded object.
fn with_programs(read: ops::ReadOps, object: &Object, vm: &Instance) -> Result<Ops, SchedulerError> {
    let mut scheduler = read.ops;
    for (op, function) in read.callbacks {
        let function = object.functions.get(function);
        let name = function.map(|function| function.name.as_str()).unwrap_or_default();
        check_member(op, function.is_some_and(|function| function.section.starts_with("struct_ops.s")))?;
        let program = vm.program(name).ok_or_else(|| SchedulerError::NoProgram(name.to_owned()))?;
        scheduler.set_program(op, program);
    }
    Ok(scheduler)
}

#[cfg(test)]
mod tests;
