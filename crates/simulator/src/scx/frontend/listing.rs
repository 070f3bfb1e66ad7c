// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is in a scheduler's object: for a look before it runs.

use rand::SeedableRng;
use rand_pcg::Pcg32;
use serde::Serialize;
use tandem_bpf_vm::btf::Kind;
use tandem_bpf_vm::link::Environment;
use tandem_bpf_vm::map::kind;
use tandem_bpf_vm::memory::Budget;
use tandem_bpf_vm::object::Object;
use tandem_bpf_vm::open::{OpenObject, Setting};
use tandem_bpf_vm::survey::{Need, Needs, survey};
use tandem_loader::file::{LoaderFile, Setting as Line, Value};

use super::facts::System;
use super::scheduler::SchedExt;
use super::{SchedulerError, load_object, ops, profile_of};
use crate::generated;
use crate::kernel::Kernel;
use crate::kernel::cpufreq::{Governor, SchedutilTunables};
use crate::kernel::params::KernelParameters;
use crate::scx::abi::profile::Profile;
use crate::scx::enable::check_ops;
use crate::scx::kfuncs;
use crate::scx::ops::Ops;
use crate::scx::watchdog::SCX_WATCHDOG_MAX_TIMEOUT_MS;

/// CPUs of the machine that loading is tried on.
const CPUS: u32 = 8;
/// Flags of `struct sched_ext_ops`, without `SCX_OPS_`.
const FLAGS: [&str; 9] = [
    "KEEP_BUILTIN_IDLE",
    "ENQ_LAST",
    "ENQ_EXITING",
    "SWITCH_PARTIAL",
    "ENQ_MIGRATION_DISABLED",
    "ALLOW_QUEUED_WAKEUP",
    "BUILTIN_IDLE_PER_NODE",
    "ALWAYS_ENQ_IMMED",
    "HAS_CGROUP_WEIGHT",
];

/// What is in a scheduler's object.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Listing {
    /// The object's file, as it was named.
    pub path: String,
    /// The scheduler's own name (`ops.name`).
    pub name: String,
    /// The object's licence.
    pub license: String,
    /// The kernel whose interface it is given: the sidecar's, or the one it was built for.
    pub kernel: String,
    /// The file beside the object, if there is one.
    pub sidecar: Option<String>,
    /// Where that would be.
    pub sidecar_path: String,
    /// `ops.flags`, by name; bits without a name as a number.
    pub flags: Vec<String>,
    /// Milliseconds after which a task that waits ends the scheduler.
    pub timeout_ms: u32,
    /// Tasks that one `dispatch` may dispatch, if it says.
    pub dispatch_max_batch: Option<u32>,
    /// Callbacks that it has, in the order of the kernel's structure.
    pub callbacks: Vec<Callback>,
    /// Maps of the object.
    pub maps: Vec<MapListing>,
    /// Variables that can be set, constants first.
    pub variables: Vec<VariableListing>,
    /// Kernel functions that it calls or asks for.
    pub functions: Vec<Needed>,
    /// BPF helpers that it calls.
    pub helpers: Vec<Needed>,
    /// Kernel variables that it reads.
    pub kernel_variables: Vec<Needed>,
    /// Values of the kernel's configuration that it reads.
    pub kernel_config: Vec<Needed>,
    /// Fields, types and enumerators of the kernel that the simulator lacks; executing such an instruction is a fault.
    pub unresolved: Vec<UnresolvedListing>,
    /// Why it cannot be loaded, if it cannot, tried on a machine of 8 CPUs.
    pub problem: Option<String>,
}

/// A callback, and the program that it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Callback {
    /// Member of `struct sched_ext_ops`.
    pub name: String,
    /// The function.
    pub program: String,
}

/// A map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MapListing {
    /// Name of the map.
    pub name: String,
    /// Kind of the map, without `BPF_MAP_TYPE_`.
    pub kind: String,
    /// Bytes of a key.
    pub key_size: u32,
    /// Bytes of a value.
    pub value_size: u32,
    /// Entries; bytes of a ring buffer; 0 where it is as large as it has to be.
    pub max_entries: u32,
}

/// A variable that can be set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VariableListing {
    /// Name of the variable.
    pub name: String,
    /// Its type as C spells it, without `const` and `volatile`.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Its value, with what the sidecar and the user set; `{…}` is one that is not shown, `nr_cpus` the machine's number.
    pub value: String,
    /// Value of the variable if the user sets nothing.
    pub default: String,
    /// Programs cannot change it: a setting, not a state.
    pub constant: bool,
    /// The object says that it is a setting (`btf_decl_tag`). If any is, a user can set no others.
    pub setting: bool,
    /// The least and the largest number that the object allows.
    pub range: Option<(i64, i64)>,
    /// The unit of its numbers.
    pub unit: Option<String>,
    /// What it does.
    pub help: Option<String>,
    /// Which value is as the paper has it that describes the mechanism, and where in the paper.
    pub letter: Option<String>,
    /// How the machine is, which the variable says: no search chooses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fact: Option<String>,
    /// The names that it can be set to, of an enumeration.
    pub names: Vec<String>,
}

/// Something of the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Needed {
    /// Name as the object spells it.
    pub name: String,
    /// The scheduler asks whether it is there and does without.
    pub weak: bool,
    /// The simulator has it.
    pub found: bool,
}

/// Something of the kernel's types that the simulator lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnresolvedListing {
    /// The function that needs it.
    pub function: String,
    /// Where in the source, as `file:line`.
    pub place: Option<String>,
    /// What is not there.
    pub why: String,
}

impl SchedExt {
    /// What is in the object.
    ///
    /// # Errors
    /// Its `struct sched_ext_ops` cannot be read. Why it cannot be loaded otherwise is part of the listing.
    pub fn listing(&self) -> Result<Listing, SchedulerError> {
        let none = LoaderFile::default();
        let sidecar = self.sidecar.as_ref().unwrap_or(&none);
        let profile = profile_of(&self.object, self.profile, sidecar);
        let mut read = ops::read(&self.object, ops::find(&self.object)?, profile)?;
        for (member, value) in &sidecar.ops.numbers {
            ops::set_number(&mut read.ops, member, *value);
        }
        let needs = needs(&OpenObject::new(self.object.clone()), profile);
        let unresolved = needs.unresolved.into_iter().map(|unresolved| UnresolvedListing {
            function: unresolved.function,
            place: unresolved.place.map(|(file, line)| format!("{file}:{line}")),
            why: unresolved.why,
        });
        let timeout = read.ops.timeout_ms;
        Ok(Listing {
            path: self.path.display().to_string(),
            name: read.ops.name.clone(),
            license: self.object.license.clone(),
            kernel: profile.to_string(),
            sidecar: self.sidecar.as_ref().map(|_| self.sidecar_path().display().to_string()),
            sidecar_path: self.sidecar_path().display().to_string(),
            flags: flag_names(&read.ops, profile),
            timeout_ms: if timeout == 0 { SCX_WATCHDOG_MAX_TIMEOUT_MS } else { timeout },
            dispatch_max_batch: Some(read.ops.dispatch_max_batch).filter(|batch| *batch != 0),
            callbacks: callbacks(&self.object, &read),
            maps: maps(&self.object),
            variables: self.variable_listing(),
            functions: needed(needs.functions),
            helpers: needed(needs.helpers),
            kernel_variables: needed(needs.variables),
            kernel_config: needed(needs.settings),
            unresolved: unresolved.collect(),
            problem: self.try_to_load().err().map(|error| error.to_string()),
        })
    }

    /// The variables with what is set, settings first, then constants; sizes that depend on the machine are left as they are
    /// in the file.
    fn variable_listing(&self) -> Vec<VariableListing> {
        let mut open = OpenObject::new(self.object.clone());
        let beside = self.sidecar.as_ref().map_or(&[][..], |sidecar| &sidecar.set);
        let always = |line: &&Line| line.condition.is_none();
        let constants = beside.iter().filter(always).filter_map(|line| match &line.value {
            Value::Text(text) => Some((&line.name, text)),
            Value::Fact(_) => None,
        });
        for (name, text) in constants {
            // What cannot be set was refused when the scheduler was chosen, but for indexes that depend on the machine.
            let _ = open.set(name, text);
        }
        let by_machine = |name: &str| {
            let set = |line: &&Line| always(line) && line.name == name && !matches!(line.value, Value::Text(_));
            beside.iter().find(set).map(|line| line.value.word())
        };
        let by_itself = open.clone();
        let default = |name: &str| by_machine(name).unwrap_or_else(|| by_itself.text(name).unwrap_or_default());
        for (name, text) in &self.settings {
            // A setting that cannot be made was refused when the scheduler was chosen.
            let _ = open.set(name, text);
        }
        let chosen = |name: &str| self.settings.iter().any(|(other, _)| place_in(other, name));
        let value = |name: &str| if chosen(name) { open.text(name).unwrap_or_default() } else { default(name) };
        let mut variables: Vec<VariableListing> =
            self.variables().into_iter().map(|it| listed(value(&it.name), default(&it.name), it)).collect();
        // Stable: within each kind they stay in the order of the object.
        variables.sort_by_key(|variable| (!variable.setting, !variable.constant));
        variables
    }

    fn try_to_load(&self) -> Result<(), SchedulerError> {
        let Ok(machine) = generated::machine(CPUS) else { return Ok(()) };
        let kernel = Kernel::new(&machine, KernelParameters::default(), Pcg32::seed_from_u64(0));
        let governor = Governor::Schedutil(SchedutilTunables::default());
        let system = System { kernel: &kernel, machine: &machine, governor };
        let parameters = KernelParameters { bpf_budget: 0, ..KernelParameters::default() };
        let account = Budget::default().open();
        let request = self.request(&parameters, &account, None);
        let loaded = load_object(self.object.clone(), &request, &system)?;
        Ok(check_ops(&loaded.ops, loaded.profile)?)
    }
}

/// Whether a setting's name is a variable's, or a place's in it.
fn place_in(name: &str, variable: &str) -> bool {
    name.strip_prefix(variable).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

fn listed(value: String, default: String, variable: Setting) -> VariableListing {
    let tags = variable.tags.as_ref();
    let number = |number: i128| i64::try_from(number).unwrap_or_default();
    VariableListing {
        value,
        default,
        constant: variable.section.starts_with(".rodata"),
        setting: tags.is_some(),
        range: tags.and_then(|tags| tags.range).map(|(least, largest)| (number(least), number(largest))),
        unit: tags.and_then(|tags| tags.unit.clone()),
        help: tags.and_then(|tags| tags.help.clone()),
        letter: tags.and_then(|tags| tags.letter.clone()),
        fact: tags.and_then(|tags| tags.fact.clone()),
        names: variable.names,
        name: variable.name,
        type_name: variable.type_name.trim_start_matches("const ").trim_start_matches("volatile ").to_owned(),
    }
}

/// What the object needs of a kernel, and what of it the simulator offers.
fn needs(object: &OpenObject, profile: Profile) -> Needs {
    let btf = profile.kernel_btf();
    let hz = KernelParameters::default().hz;
    survey(
        object,
        &Environment {
            btf: btf.clone(),
            kfuncs: &|name| kfuncs::number(profile.version, name),
            // Whether there is one, not where.
            variables: &|name| btf.find_kind(name, Kind::Var).map(|_| 0),
            kconfig: &|name| profile.kconfig(name, hz),
            nr_cpus: CPUS,
            arena_data_last: profile.rules().arena_data_last,
            budget: 0,
        },
    )
}

fn flag_names(ops: &Ops, profile: Profile) -> Vec<String> {
    let mut left = ops.flags;
    let mut names = Vec::new();
    for name in FLAGS {
        let bit = profile.enum_value(&format!("SCX_OPS_{name}")).unwrap_or(0);
        if bit != 0 && left & bit != 0 {
            left &= !bit;
            names.push(name.to_owned());
        }
    }
    if left != 0 {
        names.push(format!("{left:#x}"));
    }
    names
}

fn callbacks(object: &Object, read: &ops::ReadOps) -> Vec<Callback> {
    let mut callbacks = read.callbacks.clone();
    callbacks.sort_by_key(|(op, _)| *op);
    let program = |function: usize| object.functions.get(function).map(|function| function.name.clone());
    let named = |(op, function): (crate::scx::ops::Op, usize)| Callback {
        name: op.name().to_owned(),
        program: program(function).unwrap_or_default(),
    };
    callbacks.into_iter().map(named).collect()
}

fn maps(object: &Object) -> Vec<MapListing> {
    let listed = |map: &tandem_bpf_vm::object::MapDefinition| MapListing {
        name: map.name.clone(),
        kind: kind::name(map.kind),
        key_size: map.key_size,
        value_size: map.value_size,
        max_entries: map.max_entries,
    };
    object.maps.iter().map(listed).collect()
}

fn needed(needs: Vec<Need>) -> Vec<Needed> {
    needs.into_iter().map(|Need { name, weak, found }| Needed { name, weak, found }).collect()
}
