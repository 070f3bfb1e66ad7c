// SPDX-License-Identifier: MIT OR Apache-2.0
//! What libbpf is told of an object between opening and loading it: the values of its variables, and what of it is left out.

use std::collections::BTreeSet;
use std::path::Path;

use libbpf_rs::{MapCore, MapType, ObjectBuilder, OpenMapMut, OpenObject as Opened};
use tandem_bpf_vm::object::{DataSection, Object, StructOps};
use tandem_bpf_vm::open::{Needs, OpenObject};

use crate::error::LiveError;
use crate::kernel;
use crate::messages::collect;
use crate::open::is_scheduler;
use crate::refusal::Refusal;

/// Bytes of a pointer to a program, which libbpf has in the place of a callback.
const POINTER: usize = 8;

/// Loads the object in `bytes` with the values that `open` has for its variables.
pub(crate) fn load(path: &Path, bytes: &[u8], open: &OpenObject) -> Result<libbpf_rs::Object, LiveError> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let (opened, messages) = collect(|| ObjectBuilder::default().name(name.as_ref())?.open_memory(bytes));
    let failed = |why| LiveError::Libbpf { what: format!("opening {}", path.display()), why, messages };
    let mut opened = opened.map_err(failed)?;
    let object = open.object();
    opened.maps_mut().try_for_each(|mut map| fill(&mut map, object))?;
    leave_out(&mut opened, object, &open.needs());
    let (loaded, messages) = collect(|| opened.load());
    loaded.map_err(|_| LiveError::Refused(Box::new(Refusal::new(&messages))))
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

/// Takes callbacks and programs away that no setting needs, and adds the flags that some do.
fn leave_out(opened: &mut Opened, object: &Object, needs: &Needs) {
    let mut unused = BTreeSet::new();
    let schedulers: Vec<&StructOps> = object.struct_ops.iter().filter(|ops| is_scheduler(object, ops)).collect();
    for mut map in opened.maps_mut().filter(|map| map.map_type() == MapType::StructOps) {
        let name = map.name().to_string_lossy().into_owned();
        let Some(ops) = schedulers.iter().find(|ops| ops.name == name) else { continue };
        let Some(value) = map.initial_value_mut() else { continue };
        for (offset, function) in &ops.callbacks {
            if member_at(object, ops, *offset).is_some_and(|member| needs.leave_out(member)) {
                write(value, *offset, &[0; POINTER]);
                unused.extend(object.functions.get(*function).map(|function| function.name.to_string()));
            }
        }
        add_flags(value, object, ops, needs);
    }
    for mut program in opened.progs_mut() {
        let name = program.name().to_string_lossy().into_owned();
        if unused.contains(&name) || needs.leave_out(&name) {
            program.set_autoload(false);
        }
    }
}

/// Adds needed flags (`SCX_OPS_*`) to those of the scheduler; what the running kernel does not know, it cannot be asked.
fn add_flags(value: &mut [u8], object: &Object, ops: &StructOps, needs: &Needs) {
    let mut names = needs.needed().filter(|name| name.starts_with("SCX_OPS_")).peekable();
    let Some(place) = object.btf.member(ops.type_id, "flags").filter(|_| names.peek().is_some()) else { return };
    let kernel = kernel::types();
    let wanted = names.filter_map(|name| kernel::enumerator(kernel.as_ref()?, name)).fold(0, |all, flag| all | flag);
    let Some(bytes) = usize::try_from(place.offset()).ok().and_then(|at| value.get_mut(at..at + 8)) else { return };
    for (byte, more) in bytes.iter_mut().zip(wanted.to_le_bytes()) {
        *byte |= more;
    }
}

/// The member of a scheduler's structure at an offset.
fn member_at<'o>(object: &'o Object, ops: &StructOps, offset: u64) -> Option<&'o str> {
    let members = &object.btf.bare(ops.type_id)?.composite()?.members;
    let member = members.iter().find(|member| u64::from(member.bit_offset) == offset * 8)?;
    Some(member.name.as_str())
}

fn write(value: &mut [u8], offset: u64, bytes: &[u8]) {
    let at = usize::try_from(offset).unwrap_or(usize::MAX);
    if let Some(place) = at.checked_add(bytes.len()).and_then(|end| value.get_mut(at..end)) {
        place.copy_from_slice(bytes);
    }
}

/// The section whose contents a map of libbpf has. libbpf calls the map of `.rodata` by the object's name, then `.rodata`;
/// that of `.data.private` it calls so. What it fills in itself (`.kconfig`) is no section of the file.
pub(crate) fn section_of<'o>(object: &'o Object, map: &str) -> Option<&'o DataSection> {
    object.data.iter().find(|section| {
        let is_default = section.name.matches('.').count() == 1;
        !section.arena && (map == section.name || is_default && map.ends_with(&section.name))
    })
}

/// Whether a map of a loaded object is a scheduler.
pub(crate) fn is_struct_ops(map: &impl MapCore) -> bool {
    map.map_type() == MapType::StructOps
}
