// SPDX-License-Identifier: MIT OR Apache-2.0
//! What libbpf is told of an object between opening and loading it: the values of its variables, and what of it is left out.

use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::path::Path;

use libbpf_rs::libbpf_sys::bpf_map_create_opts;
use libbpf_rs::{MapCore, MapHandle, MapType, ObjectBuilder, OpenMapMut, OpenObject as Opened};
use tandem_bpf_vm::btf::Type;
use tandem_bpf_vm::object::{DataSection, MapDefinition, Object, StructOps};
use tandem_bpf_vm::open::{Needs, OpenObject};

use crate::error::LiveError;
use crate::fitting::{Lacking, LeftOut, fit};
use crate::messages::collect;
use crate::ops_types::{CGROUP_SET_BANDWIDTH, OpsTypes};
use crate::refusal::Refusal;

/// The structure of a scheduler.
const OPS: &str = "sched_ext_ops";
/// Where the fair class has a group's limits.
const FAIR_LIMITS: &str = "cfs_bandwidth";
/// Bytes of a pointer to a program, which libbpf has in the place of a callback.
const POINTER: usize = 8;

/// What is changed of a `struct sched_ext_ops`, and of maps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpsChanges<'a> {
    /// Members, and the numbers that they get.
    pub numbers: &'a [(String, u64)],
    /// Flags to add, as far as the kernel has them.
    pub flags: &'a [String],
    /// `timeout_ms`, whatever else it would be.
    pub watchdog_ms: Option<u32>,
    /// Maps, and maps in them (`outer.inner`), that get the number of entries which the open object has for them.
    pub sized: &'a [&'a str],
}

/// Loads the object in `bytes` with the values that `open` has for its variables; what of its scheduler is left out, as the kernel
/// lacks it.
pub(crate) fn load(
    path: &Path,
    bytes: &[u8],
    open: &OpenObject,
    changes: &OpsChanges<'_>,
) -> Result<(libbpf_rs::Object, Vec<LeftOut>), LiveError> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let (opened, messages) = collect(|| ObjectBuilder::default().name(name.as_ref())?.open_memory(bytes));
    let failed = |why| LiveError::Libbpf { what: format!("opening {}", path.display()), why, messages };
    let mut opened = opened.map_err(failed)?;
    let object = open.object();
    opened.maps_mut().try_for_each(|mut map| fill(&mut map, object))?;
    // libbpf takes their descriptors when the object is loaded.
    let _inner = changes.sized.iter().map(|map| resize(&mut opened, object, map)).collect::<Result<Vec<_>, _>>()?;
    let left_out = change_scheduler(&mut opened, object, &open.needs(), changes)
        .map_err(|Lacking(member)| LiveError::NoMember { path: path.to_owned(), member })?;
    let (loaded, messages) = collect(|| opened.load());
    let loaded = loaded.map_err(|_| LiveError::Refused(Box::new(Refusal::new(&messages))))?;
    Ok((loaded, left_out))
}

/// Gives a map of global variables their values.
fn fill(map: &mut OpenMapMut<'_>, object: &Object) -> Result<(), LiveError> {
    let name = map.name().to_string_lossy().into_owned();
    let Some(section) = section_of(object, &name) else { return Ok(()) };
    // libbpf allocates in whole pages, and keeps the rest to itself.
    let sized = map.value_size() as usize == section.bytes.len();
    let written = if sized { Ok(()) } else { map.set_value_size(section.bytes.len() as u32) };
    written.and_then(|()| map.set_initial_value(&section.bytes)).map_err(|why| LiveError::Libbpf {
        what: format!("setting the initial value of {name}"),
        why,
        messages: String::new(),
    })
}

/// Gives a map, or the maps that one holds, the number of entries that `object` has for it; of those in a map, one as all of them
/// are.
fn resize(opened: &mut Opened, object: &Object, name: &str) -> Result<Option<MapHandle>, LiveError> {
    let failed = |why| LiveError::Libbpf { what: format!("resizing {name}"), why, messages: String::new() };
    let outer = name.strip_suffix(".inner").filter(|outer| object.maps.iter().any(|map| map.name == *outer));
    let known = |wanted: &str| object.maps.iter().find(|map| map.name == wanted);
    let mut maps = opened.maps_mut();
    let (Some(definition), Some(mut map)) =
        (known(outer.unwrap_or(name)), maps.find(|map| map.name() == outer.unwrap_or(name)))
    else {
        return Ok(None);
    };
    let Some(inner) = definition.inner.as_deref().filter(|_| outer.is_some()) else {
        return map.set_max_entries(definition.max_entries).map(|()| None).map_err(failed);
    };
    let made = one_inner(inner).map_err(failed)?;
    map.set_inner_map_fd(made.as_fd()).map_err(failed)?;
    Ok(Some(made))
}

/// A map as all those in another one are.
fn one_inner(definition: &MapDefinition) -> libbpf_rs::Result<MapHandle> {
    let MapDefinition { kind, key_size, value_size, max_entries, flags, map_extra, .. } = definition;
    let options = bpf_map_create_opts {
        sz: size_of::<bpf_map_create_opts>() as _,
        map_flags: *flags,
        map_extra: *map_extra,
        ..Default::default()
    };
    MapHandle::create(MapType::from(*kind), None::<&str>, *key_size, *value_size, *max_entries, &options)
}

/// Takes callbacks and programs away that no setting needs, makes changes, adds the flags that settings need, and leaves out what
/// the kernel lacks.
fn change_scheduler(
    opened: &mut Opened,
    object: &Object,
    needs: &Needs,
    changes: &OpsChanges<'_>,
) -> Result<Vec<LeftOut>, Lacking> {
    let (mut unused, mut left_out) = (BTreeSet::new(), Vec::new());
    // Of a kernel that does not describe its types libbpf says what is wrong.
    let kernel = OpsTypes::running();
    let flags = known_flags(needs, changes.flags);
    for mut map in opened.maps_mut().filter(|map| map.map_type() == MapType::StructOps) {
        let name = map.name().to_string_lossy().into_owned();
        let ops = object.struct_ops.iter().find(|ops| ops.name == name && is_scheduler(object, ops));
        if ops.is_none() && object.struct_ops.iter().any(|ops| ops.name == name && ops.optional) {
            // libbpf leaves its programs out with it; only a loaded map refuses that.
            let _loaded = map.set_autocreate(false);
        }
        let (Some(ops), Some(value)) = (ops, map.initial_value_mut()) else { continue };
        unused.extend(take_away(value, object, ops, needs));
        change(value, object, ops, changes, flags);
        if let Some(kernel) = kernel {
            let fitted = fit(value, object, ops, kernel)?;
            unused.extend(fitted.programs);
            left_out.extend(fitted.left_out);
        }
    }
    for mut program in opened.progs_mut() {
        let name = program.name().to_string_lossy().into_owned();
        if unused.contains(&name) || needs.leave_out(&name) {
            program.set_autoload(false);
        }
    }
    Ok(left_out)
}

/// Changes members of a scheduler's value that are numbers; what its type does not have is left out.
fn change(value: &mut [u8], object: &Object, ops: &StructOps, changes: &OpsChanges<'_>, flags: u64) {
    let mut set = |name: &str, change: &dyn Fn(u64) -> u64| {
        let Some(place) = object.btf.member(ops.type_id, name) else { return };
        let size = usize::try_from(place.size()).unwrap_or(0).min(size_of::<u64>());
        let old = number_at(value, place.offset(), size);
        write(value, place.offset(), &change(old).to_le_bytes()[..size]);
    };
    for (name, number) in changes.numbers {
        set(name, &|_| *number);
    }
    set("flags", &|old| old | flags);
    if let Some(ms) = changes.watchdog_ms {
        set("timeout_ms", &|_| u64::from(ms));
    }
}

/// Removes callbacks from a scheduler's value; the names of their programs.
fn take_away(value: &mut [u8], object: &Object, ops: &StructOps, needs: &Needs) -> BTreeSet<String> {
    let mut programs = BTreeSet::new();
    for (offset, function) in &ops.callbacks {
        if member_at(object, ops, *offset).is_some_and(|member| needs.leave_out(member)) {
            write(value, *offset, &[0; POINTER]);
            programs.extend(object.functions.get(*function).map(|function| function.name.clone()));
        }
    }
    programs
}

/// The flags of a scheduler (`SCX_OPS_*`) that settings need, and others, as far as the running kernel has them.
fn known_flags(needs: &Needs, others: &[String]) -> u64 {
    let needed = needs.needed().filter(|name| name.starts_with("SCX_OPS_"));
    let names: Vec<&str> = needed.chain(others.iter().map(String::as_str)).collect();
    OpsTypes::running().map_or(0, |kernel| kernel.flags_named(&names))
}

/// The member of a scheduler's structure at an offset.
fn member_at<'o>(object: &'o Object, ops: &StructOps, offset: u64) -> Option<&'o str> {
    let members = &object.btf.bare(ops.type_id)?.composite()?.members;
    let member = members.iter().find(|member| u64::from(member.bit_offset) == offset * 8)?;
    Some(member.name.as_str())
}

pub(crate) fn write(value: &mut [u8], offset: u64, bytes: &[u8]) {
    let at = usize::try_from(offset).unwrap_or(usize::MAX);
    if let Some(place) = at.checked_add(bytes.len()).and_then(|end| value.get_mut(at..end)) {
        place.copy_from_slice(bytes);
    }
}

/// The number in so many bytes of a value; those beyond its end are 0.
pub(crate) fn number_at(value: &[u8], offset: u64, size: usize) -> u64 {
    let bytes = usize::try_from(offset).ok().and_then(|at| value.get(at..)).unwrap_or_default();
    bytes.iter().take(size).rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The section whose contents a map of libbpf has. libbpf calls the map of `.rodata` by the object's name, then `.rodata`;
/// that of `.data.private` it calls so. What it fills in itself (`.kconfig`) is no section of the file.
pub(crate) fn section_of<'o>(object: &'o Object, map: &str) -> Option<&'o DataSection> {
    object.data.iter().find(|section| {
        let is_default = section.name.matches('.').count() == 1;
        !section.arena && (map == section.name || is_default && map.ends_with(&section.name))
    })
}

/// Whether a value is a scheduler.
pub(crate) fn is_scheduler(object: &Object, ops: &StructOps) -> bool {
    !ops.optional && object.btf.name(object.btf.skip_modifiers(ops.type_id)) == OPS
}

/// How a scheduler comes to keep limits of groups (`cpu.max`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KeepsLimits {
    /// Limits do not hold under it.
    #[default]
    Never,
    /// Limits hold where the kernel tells of them (`ops.cgroup_set_bandwidth`, since Linux 6.17).
    WhereTold,
    /// Limits hold also where the scheduler has to read them itself.
    Always,
}

/// Whether the scheduler of an object keeps limits of groups: one that does has `ops.cgroup_set_bandwidth`, and knows the type in
/// which older kernels have them (`struct cfs_bandwidth`) if it reads them there.
pub fn keeps_limits(object: &Object) -> KeepsLimits {
    let keeps = |ops: &StructOps| {
        let members = ops.callbacks.iter().filter_map(|(offset, _)| member_at(object, ops, *offset));
        members.into_iter().any(|member| member == CGROUP_SET_BANDWIDTH)
    };
    let reads = object.btf.types().any(|(_, ty)| matches!(ty, Type::Struct(_)) && ty.name() == FAIR_LIMITS);
    match object.struct_ops.iter().filter(|ops| is_scheduler(object, ops)).any(keeps) {
        false => KeepsLimits::Never,
        true if reads => KeepsLimits::Always,
        true => KeepsLimits::WhereTold,
    }
}

/// Whether a map of a loaded object is a scheduler.
pub(crate) fn is_struct_ops(map: &impl MapCore) -> bool {
    map.map_type() == MapType::StructOps
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tandem_bpf_vm::btf::{Builder, Linkage};
    use tandem_bpf_vm::object::{Function, Variable};

    use super::*;

    /// `struct sched_ext_ops` with `enqueue`, `runnable` and `flags`; `bool serial` needs `runnable`.
    fn object(serial: u8) -> OpenObject {
        let mut btf = Builder::new();
        let boolean = btf.int("_Bool", 1, false);
        let long = btf.int("unsigned long", 8, false);
        let ops =
            btf.structure("sched_ext_ops", 24, &[("enqueue", long, 0), ("runnable", long, 8), ("flags", long, 16)]);
        let serial_first = btf.var("serial", boolean, Linkage::Global);
        btf.decl_tag("needs runnable", serial_first);
        let variable = Variable { name: "serial".into(), offset: 0, size: 1, type_id: boolean };
        let section = DataSection {
            name: ".rodata".to_owned(),
            bytes: vec![serial],
            variables: vec![variable],
            ..DataSection::default()
        };
        let function = |name: &str| Function { name: name.to_owned(), ..Function::default() };
        let ops = StructOps { type_id: ops, callbacks: vec![(0, 0), (8, 1)], ..StructOps::default() };
        OpenObject::new(Arc::new(Object {
            btf: Arc::new(btf.finish()),
            data: vec![section],
            functions: Arc::new(vec![function("t_enqueue"), function("t_runnable")]),
            struct_ops: vec![ops],
            ..Object::default()
        }))
    }

    fn left_of(open: &OpenObject) -> ([u8; 24], Vec<String>) {
        let (object, mut value) = (open.object(), [7; 24]);
        let programs = take_away(&mut value, object, &object.struct_ops[0], &open.needs());
        (value, programs.into_iter().collect())
    }

    #[test]
    fn a_callback_that_no_setting_needs_is_taken_away() {
        let (value, programs) = left_of(&object(0));
        assert_eq!((value[..8] == [7; 8], value[8..16] == [0; 8], value[16..] == [7; 8]), (true, true, true));
        assert_eq!(programs, ["t_runnable"]);
    }

    #[test]
    fn a_callback_that_a_setting_needs_stays() {
        assert_eq!(left_of(&object(1)), ([7; 24], Vec::new()));
    }

    /// `flags` has 8 bytes from 16 on; `exit_dump_len` there is not.
    #[test]
    fn members_that_are_numbers_are_changed_and_flags_are_added() {
        let (open, mut value) = (object(0), [7; 24]);
        let numbers = [("flags".to_owned(), 0x10), ("exit_dump_len".to_owned(), 5)];
        let changes = OpsChanges { numbers: &numbers, flags: &[], watchdog_ms: Some(9), sized: &[] };
        change(&mut value, open.object(), &open.object().struct_ops[0], &changes, 2);
        assert_eq!((&value[..16], &value[16..]), (&[7; 16][..], &[0x12, 0, 0, 0, 0, 0, 0, 0][..]));
    }

    #[test]
    fn what_is_written_beyond_the_end_is_not_written() {
        let mut value = [1, 2, 3, 4];
        write(&mut value, 2, &[9, 9]);
        write(&mut value, 3, &[8, 8]);
        write(&mut value, u64::MAX, &[8]);
        assert_eq!((value, number_at(&value, 2, 8), number_at(&value, 9, 8)), ([1, 2, 9, 9], 0x0909, 0));
    }
}
