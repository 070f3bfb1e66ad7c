// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loading: gives maps and data their addresses, resolves externs, applies relocations, decodes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::btf::{Btf, Kind, Type, TypeId};
use crate::core_relo;
use crate::fault::{FaultKind, Location};
use crate::handle::Handles;
use crate::helper::{HelperState, helper};
use crate::host::Builtin;
use crate::insn::decode::{DecodeError, Resolved};
use crate::instance::Instance;
use crate::interp::{Code, CodeBuilder, Execution};
use crate::kfunc::{KfuncState, kfunc};
use crate::linked::{LinkCache, Links};
use crate::map::{MapError, MapId, MapSpec, Maps, fields, set_apart};
use crate::memory::{Memory, PAGE_SIZE, Protection};
use crate::object::{DataSection, Extern, ExternKind, Function, Object, Target};
use crate::open::OpenObject;
use crate::timer::Timers;

/// The kernel that an object is loaded into.
pub struct Environment<'k> {
    /// The kernel's types. A kernel function exists only if the types have it (`FUNC`), one that this crate brings
    /// included.
    pub btf: Arc<Btf>,
    /// Number of a host's kernel function by its name; [`Host::kfunc`](crate::host::Host::kfunc) gets this number.
    pub kfuncs: &'k dyn Fn(&str) -> Option<u32>,
    /// Address of a kernel variable (`__ksym`) in the arena.
    pub variables: &'k dyn Fn(&str) -> Option<u64>,
    /// Value of a `__kconfig` variable.
    pub kconfig: &'k dyn Fn(&str) -> Option<u64>,
    /// Number of CPUs (`nr_cpu_ids`), and so of copies of per-CPU data.
    pub nr_cpus: u32,
    /// Whether data in a BPF arena lies in the arena's last pages, as libbpf 1.7 places it on kernels that can (Linux
    /// 7.0), and not in the first ones.
    pub arena_data_last: bool,
    /// Instructions that one call of a program may execute, callbacks and nested programs included.
    pub budget: u64,
}

/// Why an object cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// A map cannot be made.
    #[error("{0}")]
    Map(#[from] MapError),
    /// The arena is too small for the object.
    #[error("{what}: {why}")]
    Memory {
        /// What did not fit.
        what: String,
        /// Which limit was reached.
        why: FaultKind,
    },
    /// The object has data in an arena, but has no arena, or one without enough room.
    #[error("data section {section} lies in a BPF arena, and {why}")]
    Arena {
        /// The section.
        section: String,
        /// What is wrong.
        why: &'static str,
    },
    /// The kernel lacks functions, variables or settings that the object must have.
    #[error("the kernel does not have {}", .0.join(", "))]
    Missing(Vec<String>),
    /// A relocation against the kernel's types makes no sense, or several types fit it.
    #[error("function {function}, instruction {insn}: {why}")]
    Core {
        /// The function.
        function: String,
        /// Number of the instruction in the function.
        insn: usize,
        /// What is wrong.
        why: core_relo::CoreError,
    },
    /// A function cannot be decoded.
    #[error("{0}")]
    Decode(#[from] DecodeError),
}

impl LoadError {
    /// Whether the object does not fit into the memory.
    pub fn is_memory(&self) -> bool {
        matches!(self, Self::Memory { .. } | Self::Map(MapError::Memory { .. }))
    }
}

/// What an extern turned out to be.
#[derive(Debug, Clone)]
pub(crate) enum Symbol {
    Builtin(Builtin),
    Host(u32),
    Address(u64),
    /// A weak symbol that the kernel lacks: its address is 0, and a call of it must never happen.
    Absent,
}

impl PartialEq for Symbol {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            // Functions that are at one address do the same.
            (Self::Builtin(mine), Self::Builtin(theirs)) => std::ptr::fn_addr_eq(*mine, *theirs),
            (Self::Host(mine), Self::Host(theirs)) => mine == theirs,
            (Self::Address(mine), Self::Address(theirs)) => mine == theirs,
            (Self::Absent, Self::Absent) => true,
            _ => false,
        }
    }
}

impl OpenObject {
    /// Loads the object into a kernel whose own objects are already in `memory`.
    ///
    /// # Errors
    /// [`LoadError`]. An instruction that makes no sense for this kernel is an error only when it is executed.
    pub fn load(self, environment: &Environment<'_>, memory: Memory) -> Result<Instance, LoadError> {
        self.load_again(environment, memory, &LinkCache::default())
    }

    /// [`Self::load`], with the code of an instance before, if that was linked alike.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn load_again(
        self,
        environment: &Environment<'_>,
        mut memory: Memory,
        known: &LinkCache,
    ) -> Result<Instance, LoadError> {
        let loaded = self.loaded();
        let object = self.into_object();
        let mut maps = Maps::default();
        let handles = make_maps(&object, environment.nr_cpus, &mut maps, &mut memory)?;
        let place = |section| place(section, &object.btf, environment, &mut memory);
        let data = object.data.iter().map(place).collect::<Result<Vec<_>, _>>()?;
        let symbols = resolve_externs(&object, &loaded, environment, &mut memory)?;
        let links = Links {
            functions: object.functions.clone(),
            types: [object.btf.clone(), environment.btf.clone()],
            loaded,
            handles,
            data: data.clone(),
            symbols,
        };
        let code = known.get(links, |links| Linker { object: &object, environment, links }.code())?;
        Ok(Instance {
            memory,
            object,
            code,
            compiled: None,
            held: None,
            maps,
            timers: Timers::default(),
            helpers: HelperState::default(),
            kfuncs: KfuncState::default(),
            execution: Execution::new(environment.budget),
            handles: Handles::default(),
            data,
            nr_cpus: environment.nr_cpus,
            missing_pages: 0,
            missing_page: None,
        })
    }
}

fn make_maps(object: &Object, nr_cpus: u32, maps: &mut Maps, memory: &mut Memory) -> Result<Vec<u64>, LoadError> {
    let mut ids: Vec<MapId> = Vec::new();
    for definition in &object.maps {
        ids.push(maps.create(memory, MapSpec::of(definition, &object.btf, nr_cpus), nr_cpus)?);
    }
    for (definition, outer) in object.maps.iter().zip(&ids) {
        for (slot, inner) in definition.initial.iter().enumerate() {
            let Some(inner) = inner.and_then(|inner| ids.get(inner)) else { continue };
            let refused = |_| MapError::Refused { map: definition.name.clone(), why: "it has no room for its maps" };
            maps.set_inner(*outer, &(slot as u32).to_le_bytes(), *inner).map_err(refused)?;
        }
    }
    Ok(ids.into_iter().map(MapId::handle).collect())
}

/// Gives a data section its place.
fn place(
    section: &DataSection,
    btf: &Btf,
    environment: &Environment<'_>,
    memory: &mut Memory,
) -> Result<u64, LoadError> {
    if section.arena {
        return place_in_arena(section, environment.arena_data_last, memory);
    }
    let protection = if section.read_only { Protection::ReadOnly } else { Protection::ReadWrite };
    let full = |why| LoadError::Memory { what: format!("data section {}", section.name), why };
    let size = section.bytes.len() as u64;
    let address = memory.alloc(size, protection).map_err(full)?;
    let room = memory.host_write(address, size).map_err(|error| full(error.into()))?;
    room.copy_from_slice(&section.bytes);
    for variable in &section.variables {
        let mut fields = fields(btf, variable.type_id);
        fields.retain(|field| u64::from(field.offset) + u64::from(field.size) <= variable.size);
        set_apart(memory, &fields, address + variable.offset).map_err(|error| full(error.into()))?;
    }
    Ok(address)
}

/// Gives a data section a place in the BPF arena; returns its user address.
fn place_in_arena(section: &DataSection, last: bool, memory: &mut Memory) -> Result<u64, LoadError> {
    let wrong = |why| LoadError::Arena { section: section.name.clone(), why };
    let size = section.bytes.len() as u64;
    let Some(arena) = memory.arena() else { return Err(wrong("the object has no map of type ARENA")) };
    let (start, end) = (arena.user_start(), arena.user_end());
    if size > end - start {
        return Err(wrong("the arena is too small for it"));
    }
    let address = if last { end - size.next_multiple_of(PAGE_SIZE) } else { start };
    let full = |why| LoadError::Memory { what: format!("data section {}", section.name), why };
    match memory.write_user(address, &section.bytes).map_err(full)? {
        true => Ok(address),
        false => Err(wrong("the arena's pages are taken")),
    }
}

/// Resolves the externs. An extern may be missing if only functions need it that are not loaded.
fn resolve_externs(
    object: &Object,
    loaded: &[bool],
    environment: &Environment<'_>,
    memory: &mut Memory,
) -> Result<Vec<Symbol>, LoadError> {
    let mut missing = Vec::new();
    let mut symbols = Vec::new();
    let needed = needed(object, loaded);
    for (number, symbol) in object.externs.iter().enumerate() {
        let found = match symbol.kind {
            ExternKind::Function => function(symbol, &object.btf, environment),
            ExternKind::Variable => (environment.variables)(essential_name(&symbol.name)).map(Symbol::Address),
            ExternKind::Kconfig => kconfig(symbol, &object.btf, environment, memory)?.map(Symbol::Address),
        };
        if found.is_none() && !symbol.weak && needed.contains(&number) {
            missing.push(format!("{} {}", noun(symbol.kind), symbol.name));
        }
        symbols.push(found.unwrap_or(Symbol::Absent));
    }
    if missing.is_empty() { Ok(symbols) } else { Err(LoadError::Missing(missing)) }
}

/// Numbers of the externs that loaded functions refer to.
pub(crate) fn needed(object: &Object, loaded: &[bool]) -> BTreeSet<usize> {
    let functions = object.functions.iter().zip(loaded).filter(|(_, loaded)| **loaded);
    let relocations = functions.flat_map(|(function, _)| &function.relocations);
    relocations
        .filter_map(|relocation| match relocation.target {
            Target::Extern(number) => Some(number),
            _ => None,
        })
        .collect()
}

fn noun(kind: ExternKind) -> &'static str {
    match kind {
        ExternKind::Function => "function",
        ExternKind::Variable => "variable",
        ExternKind::Kconfig => "setting",
    }
}

/// The kernel's function for an extern, if the kernel's types have one with that name and prototype. The types also
/// tell which of BPF's own functions this version of the kernel has.
pub(crate) fn function(symbol: &Extern, local: &Btf, environment: &Environment<'_>) -> Option<Symbol> {
    let name = essential_name(&symbol.name);
    let offered = environment.btf.find_kind(name, Kind::Func)?;
    if let Some(wanted) = symbol.type_id
        && let Some(Type::Func { proto, .. }) = environment.btf.get(offered)
        && !callable(local, wanted, &environment.btf, *proto)
    {
        return None;
    }
    match (environment.kfuncs)(name) {
        Some(number) => Some(Symbol::Host(number)),
        None => kfunc(name).map(Symbol::Builtin),
    }
}

/// Whether two prototypes have the same number of parameters and the same kinds of types at each place. Any pointer is
/// like any other, and so is any integer. (libbpf also compares what pointers point to.)
fn callable(local: &Btf, wanted: TypeId, kernel: &Btf, offered: TypeId) -> bool {
    let (Some(Type::FuncProto(wanted)), Some(Type::FuncProto(offered))) = (local.bare(wanted), kernel.bare(offered))
    else {
        return true;
    };
    let like = |mine: TypeId, theirs: TypeId| shape(local, mine) == shape(kernel, theirs);
    wanted.params.len() == offered.params.len()
        && like(wanted.ret, offered.ret)
        && wanted.params.iter().zip(&offered.params).all(|(mine, theirs)| like(mine.type_id, theirs.type_id))
}

/// The property of a type that decides how a value is passed.
#[derive(PartialEq, Eq)]
enum Shape {
    Nothing,
    Pointer,
    Number,
    Aggregate,
}

fn shape(btf: &Btf, id: TypeId) -> Shape {
    match btf.bare(id) {
        None | Some(Type::Void) => Shape::Nothing,
        Some(Type::Ptr(_)) => Shape::Pointer,
        Some(Type::Struct(_) | Type::Union(_) | Type::Array(_)) => Shape::Aggregate,
        Some(_) => Shape::Number,
    }
}

/// Makes the variable that holds a setting of the kernel's configuration.
fn kconfig(
    symbol: &Extern,
    local: &Btf,
    environment: &Environment<'_>,
    memory: &mut Memory,
) -> Result<Option<u64>, LoadError> {
    let value = (environment.kconfig)(&symbol.name);
    let Some(value) = value.or(symbol.weak.then_some(0)) else { return Ok(None) };
    let full = |why| LoadError::Memory { what: format!("setting {}", symbol.name), why };
    let size = symbol.type_id.and_then(|id| local.size_of(id)).unwrap_or(8).clamp(1, 8);
    let address = memory.alloc(size, Protection::ReadOnly).map_err(full)?;
    let room = memory.host_write(address, size).map_err(|error| full(error.into()))?;
    room.copy_from_slice(&value.to_le_bytes()[..size as usize]);
    Ok(Some(address))
}

/// The name without its last `___suffix`, by which one program may declare several versions of a function
/// (`bpf_core_essential_name_len`).
pub(crate) fn essential_name(name: &str) -> &str {
    match name.rfind("___") {
        Some(at) if at > 0 && !name[at + 3..].is_empty() => &name[..at],
        _ => name,
    }
}

/// An object and everything that its relocations refer to, with its place.
struct Linker<'l> {
    object: &'l Object,
    environment: &'l Environment<'l>,
    links: &'l Links,
}

impl Linker<'_> {
    fn code(&self) -> Result<Code, LoadError> {
        let mut builder = CodeBuilder::new(&helper);
        for (function, loaded) in self.object.functions.iter().zip(&self.links.loaded) {
            if !loaded {
                let reason = format!("{} was not loaded: it is optional, or was turned off", function.name);
                let poison = |_| Some(Resolved::Poison(reason.clone()));
                builder.push_function(&function.name, &NOT_LOADED, lines(function), &poison)?;
                continue;
            }
            let mut encoding = function.code.clone();
            let poisoned = self.apply_core(function, &mut encoding)?;
            let resolve = |slot: usize| match poisoned.get(&slot) {
                Some(reason) => Some(Resolved::Poison(reason.clone())),
                None => self.resolve(function, slot),
            };
            builder.push_function(&function.name, &encoding, lines(function), &resolve)?;
        }
        Ok(builder.finish()?)
    }

    /// Adapts a function to the kernel's types; returns the instructions for which that is impossible, each with the
    /// reason.
    fn apply_core(&self, function: &Function, encoding: &mut [u8]) -> Result<BTreeMap<usize, String>, LoadError> {
        let mut poisoned = BTreeMap::new();
        for relocation in &function.core {
            let applied = core_relo::apply(&self.object.btf, relocation, &self.environment.btf, encoding);
            let wrong = |why| LoadError::Core { function: function.name.clone(), insn: relocation.insn, why };
            if let Some(reason) = applied.map_err(wrong)? {
                poisoned.insert(relocation.insn, reason);
            }
        }
        Ok(poisoned)
    }

    /// What the instruction in a slot refers to.
    fn resolve(&self, function: &Function, slot: usize) -> Option<Resolved> {
        let at = function.relocations.binary_search_by_key(&slot, |relocation| relocation.insn).ok()?;
        let dangling = || Resolved::Poison("relocation against what the object does not have".to_owned());
        let resolved = match function.relocations[at].target {
            Target::Map(map) => self.links.handles.get(map).map(|handle| Resolved::Value(*handle)),
            Target::Data { section, offset } => {
                self.links.data.get(section).map(|address| Resolved::Value(address.wrapping_add(offset)))
            }
            Target::Function(callee) => Some(Resolved::Callee(callee)),
            Target::Extern(symbol) => {
                self.links.symbols.get(symbol).map(|found| self.symbol(symbol, found, function, slot))
            }
        };
        Some(resolved.unwrap_or_else(dangling))
    }

    fn symbol(&self, number: usize, symbol: &Symbol, function: &Function, slot: usize) -> Resolved {
        // ld_imm64 takes the address; programs test the address of a function only for being there.
        let is_address = function.code.get(8 * slot).is_some_and(|code| *code == LD_IMM64);
        let name = &self.object.externs[number].name;
        match symbol {
            Symbol::Address(address) => Resolved::Value(*address),
            Symbol::Absent if is_address => Resolved::Value(0),
            Symbol::Absent => Resolved::Poison(format!("call of {name}, which this kernel does not have")),
            Symbol::Builtin(_) | Symbol::Host(_) if is_address => Resolved::Value(KERNEL_TEXT + 16 * number as u64),
            Symbol::Builtin(builtin) => Resolved::Builtin(*builtin),
            Symbol::Host(kfunc) => Resolved::HostKfunc(*kfunc),
        }
    }
}

const LD_IMM64: u8 = 0x18;
/// In place of a function that is not loaded: a call, which is poisoned, and `exit`.
const NOT_LOADED: [u8; 16] = [0x85, 0, 0, 0, 0, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0];
/// Where kernel functions would be, for programs that test whether one exists.
const KERNEL_TEXT: u64 = 0xffff_ffff_8100_0000;

/// The source lines of a function, as faults name them.
fn lines(function: &Function) -> Vec<Location> {
    let location = |line: &crate::object::LineInfo| Location {
        function: String::new(),
        insn: line.insn,
        file: line.file.to_string(),
        line: line.line,
        column: line.column,
        text: line.text.as_str().trim().to_owned(),
    };
    function.lines.iter().map(location).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_suffix_of_a_name_is_cut() {
        assert_eq!(essential_name("scx_bpf_consume___old"), "scx_bpf_consume");
        assert_eq!(essential_name("scx_bpf_dsq_insert___v2___compat"), "scx_bpf_dsq_insert___v2");
        for name in ["bpf_iter_num_new", "___x", "x___", "a__b"] {
            assert_eq!(essential_name(name), name);
        }
    }
}
