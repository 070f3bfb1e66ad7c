// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects that programs allocate (`kernel/bpf/helpers.c`).
//!
//! The kernel counts the references to an object in its `bpf_refcount`, if its type has one. Here every object's
//! references are counted, and only `bpf_refcount_acquire_impl` adds any, which the verifier allows only for types with
//! a `bpf_refcount`.

use crate::btf::{Btf, Type, TypeId};
use crate::fault::Fault;
use crate::host::{Args, Builtin, Host};
use crate::instance::Instance;
use crate::map::DroppedKptr;
use crate::memory::Protection;

use super::misuse;

/// The most special fields that the kernel accepts in a type (`BTF_FIELDS_MAX`).
const FIELDS_MAX: usize = 11;
/// The deepest nesting of structures in which the kernel looks for special fields (`MAX_RESOLVE_DEPTH`).
const DEPTH_MAX: usize = 32;
/// The most types that are searched. The search ends too early only for a type with a very long array before its kptrs.
const STEPS_MAX: usize = 1 << 14;

/// An object of a program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Allocated {
    /// The object's type in the object file's BTF.
    type_id: TypeId,
    references: u32,
    /// Bytes from one CPU's copy to the next, if the object has a copy for each CPU.
    stride: Option<u64>,
}

pub(super) fn find(name: &str) -> Option<Builtin> {
    Some(match name {
        "bpf_obj_new_impl" => bpf_obj_new_impl,
        "bpf_percpu_obj_new_impl" => bpf_percpu_obj_new_impl,
        "bpf_obj_drop_impl" | "bpf_percpu_obj_drop_impl" => bpf_obj_drop_impl,
        "bpf_refcount_acquire_impl" => bpf_refcount_acquire_impl,
        _ => return None,
    })
}

/// `bpf_obj_new_impl(local_type_id, meta)`.
fn bpf_obj_new_impl(vm: &mut Instance, _: &mut dyn Host, args: Args) -> Result<u64, Fault> {
    let (type_id, size) = vm.local_type(args[0])?;
    Ok(vm.new_object(size, Allocated { type_id, references: 1, stride: None }))
}

/// `bpf_percpu_obj_new_impl(local_type_id, meta)`.
fn bpf_percpu_obj_new_impl(vm: &mut Instance, _: &mut dyn Host, args: Args) -> Result<u64, Fault> {
    let (type_id, size) = vm.local_type(args[0])?;
    let stride = size.next_multiple_of(8);
    let copies = stride.saturating_mul(u64::from(vm.nr_cpus));
    Ok(vm.new_object(copies, Allocated { type_id, references: 1, stride: Some(stride) }))
}

/// `bpf_obj_drop_impl(object, meta)`.
fn bpf_obj_drop_impl(vm: &mut Instance, _: &mut dyn Host, args: Args) -> Result<u64, Fault> {
    if !vm.kfuncs.objects.contains_key(&args[0]) {
        return Err(not_allocated("bpf_obj_drop", args[0]));
    }
    vm.drop_object(args[0])?;
    Ok(0)
}

/// `bpf_refcount_acquire_impl(object, meta)`.
fn bpf_refcount_acquire_impl(vm: &mut Instance, _: &mut dyn Host, args: Args) -> Result<u64, Fault> {
    let Some(object) = vm.kfuncs.objects.get_mut(&args[0]) else {
        return Err(not_allocated("bpf_refcount_acquire", args[0]));
    };
    object.references = object.references.saturating_add(1);
    Ok(args[0])
}

fn not_allocated(function: &str, address: u64) -> Fault {
    misuse(format!("{function}: {address:#x} is no object of bpf_obj_new")).into()
}

impl Instance {
    /// A type of the object file and its size, by the number that a program gives.
    fn local_type(&self, number: u64) -> Result<(TypeId, u64), Fault> {
        let type_id = u32::try_from(number).ok().map(TypeId);
        type_id
            .and_then(|type_id| Some((type_id, self.object.btf.size_of(type_id)?)))
            .ok_or_else(|| misuse(format!("bpf_obj_new: the object file has no type {number} with a size")).into())
    }

    /// The address of a new object; without memory for it null, as from the kernel's allocator.
    fn new_object(&mut self, size: u64, object: Allocated) -> u64 {
        let Ok(address) = self.memory.alloc(size, Protection::ReadWrite) else { return 0 };
        self.kfuncs.objects.insert(address, object);
        address
    }

    /// Bytes from one CPU's copy to the next of an object of `bpf_percpu_obj_new`, as `bpf_per_cpu_ptr` needs them.
    pub fn percpu_stride(&self, address: u64) -> Option<u64> {
        self.kfuncs.objects.get(&address)?.stride
    }

    /// Drops a reference to an object or cpumask that a program allocated. Dropping the last reference frees it, with
    /// all that it owns. The host is told after the end of the program what only the host can release, a task for
    /// instance.
    ///
    /// # Errors
    /// The object is still in a tree or list.
    pub fn drop_object(&mut self, address: u64) -> Result<(), Fault> {
        self.drop_kptr(address, "")
    }

    /// Drops the reference that a pointer in a value is; `type_name` is the name of the type that it points to.
    pub(crate) fn drop_kptr(&mut self, address: u64, type_name: &str) -> Result<(), Fault> {
        // A chain of objects may be long: no recursion.
        let mut pending = vec![DroppedKptr { address, type_name: type_name.to_owned() }];
        while let Some(kptr) = pending.pop() {
            if self.release_cpumask(kptr.address)? {
                continue;
            }
            match self.kfuncs.objects.contains_key(&kptr.address) {
                true => self.drop_reference(kptr.address, &mut pending)?,
                false => self.kfuncs.foreign.push(kptr),
            }
        }
        Ok(())
    }

    /// Takes the dropped pointers that only the host can release.
    pub(crate) fn take_foreign(&mut self) -> Vec<DroppedKptr> {
        std::mem::take(&mut self.kfuncs.foreign)
    }

    /// Drops the caller's reference to the object in which a node lies.
    pub(super) fn drop_container(&mut self, node: u64) -> Result<(), Fault> {
        match self.memory.object_at(node) {
            Some((object, _)) => self.drop_object(object),
            None => Ok(()),
        }
    }

    /// Empties the trees and lists whose roots lie in a range of memory that goes away, and drops the objects that were
    /// in them.
    ///
    /// # Errors
    /// An object in them is in another tree or list too.
    pub fn drop_collections(&mut self, address: u64, size: u64) -> Result<(), Fault> {
        for node in self.kfuncs.collections.drain(address, size) {
            self.drop_container(node)?;
        }
        Ok(())
    }

    /// Drops a reference. If it was the last one, frees the object and adds what the object owned to `pending`.
    fn drop_reference(&mut self, address: u64, pending: &mut Vec<DroppedKptr>) -> Result<(), Fault> {
        let Some(object) = self.kfuncs.objects.get_mut(&address) else { return Ok(()) };
        if object.references > 1 {
            object.references -= 1;
            return Ok(());
        }
        let type_id = object.type_id;
        let size = self.memory.size_of(address).unwrap_or(0);
        if self.kfuncs.collections.any_queued(address, size) {
            return Err(misuse(format!("bpf_obj_drop: {address:#x} is still in a tree or list")).into());
        }
        self.kfuncs.objects.remove(&address);
        for node in self.kfuncs.collections.drain(address, size) {
            let owner = self.memory.object_at(node);
            pending.extend(owner.map(|(address, _)| DroppedKptr { address, type_name: String::new() }));
        }
        for (offset, type_name) in kptrs(&self.object.btf, type_id) {
            let address = self.memory.load::<8>(address.wrapping_add(offset))?;
            pending.extend((address != 0).then_some(DroppedKptr { address, type_name }));
        }
        self.memory.free(address)?;
        Ok(())
    }
}

/// The pointers that a structure owns (`__kptr`, `__percpu_kptr`): offset in bytes and name of the type pointed to.
fn kptrs(btf: &Btf, type_id: TypeId) -> Vec<(u64, String)> {
    let mut search = Search { btf, found: Vec::new(), steps: STEPS_MAX };
    search.visit(type_id, 0, DEPTH_MAX);
    search.found
}

/// A search for kptrs in a type; it ends even if the type contains itself.
struct Search<'b> {
    btf: &'b Btf,
    found: Vec<(u64, String)>,
    steps: usize,
}

impl Search<'_> {
    fn visit(&mut self, type_id: TypeId, offset: u64, depth: usize) {
        if depth == 0 || self.steps == 0 || self.found.len() >= FIELDS_MAX {
            return;
        }
        self.steps -= 1;
        match self.btf.bare(type_id) {
            Some(Type::Struct(composite)) => {
                for member in &composite.members {
                    self.visit(member.type_id, offset + u64::from(member.bit_offset / 8), depth - 1);
                }
            }
            Some(Type::Array(array)) => {
                let size = self.btf.size_of(array.element).unwrap_or(0);
                for at in 0..u64::from(array.count).min(STEPS_MAX as u64) {
                    self.visit(array.element, offset + at * size, depth - 1);
                }
            }
            Some(Type::Ptr(target)) if is_kptr(self.btf, *target) => {
                let name = self.btf.name(self.btf.skip_modifiers(*target)).to_owned();
                self.found.push((offset, name));
            }
            _ => {}
        }
    }
}

fn is_kptr(btf: &Btf, target: TypeId) -> bool {
    matches!(btf.get(target), Some(Type::TypeTag { tag, .. }) if matches!(tag.as_str(), "kptr" | "percpu_kptr"))
}
