// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects that programs allocate (`kernel/bpf/helpers.c`).
//!
//! The kernel counts the references to an object in its `bpf_refcount`, if its type has one. Here every object's
//! references are counted, and only `bpf_refcount_acquire_impl` adds any, which the verifier allows only for types with
//! a `bpf_refcount`.

use std::sync::Arc;

use crate::btf::TypeId;
use crate::fault::Fault;
use crate::host::{Args, Builtin, Host};
use crate::instance::Instance;
use crate::map::{DroppedKptr, Field, FieldKind, fields, set_apart};
use crate::memory::Protection;

use super::{KfuncState, misuse};

/// Bytes that an object takes in the list of objects, at most; a type in the list of types, and each of its special fields there.
const PER_OBJECT: u64 = 64;
const PER_TYPE: u64 = 96;
const PER_FIELD: u64 = 96;

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
    let fields = vm.special_fields(type_id)?;
    let object = vm.new_object(size, Allocated { type_id, references: 1, stride: None })?;
    if object != 0 {
        set_apart(&mut vm.memory, &fields, object)?;
    }
    Ok(object)
}

/// `bpf_percpu_obj_new_impl(local_type_id, meta)`.
fn bpf_percpu_obj_new_impl(vm: &mut Instance, _: &mut dyn Host, args: Args) -> Result<u64, Fault> {
    let (type_id, size) = vm.local_type(args[0])?;
    let stride = size.next_multiple_of(8);
    let copies = stride.saturating_mul(u64::from(vm.nr_cpus));
    vm.new_object(copies, Allocated { type_id, references: 1, stride: Some(stride) })
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

    /// The special fields of a type, which are found once.
    fn special_fields(&mut self, type_id: TypeId) -> Result<Arc<[Field]>, Fault> {
        if let Some(fields) = self.kfuncs.types.get(&type_id) {
            return Ok(Arc::clone(fields));
        }
        let fields: Arc<[Field]> = fields(&self.object.btf, type_id).into();
        self.memory.reserve(PER_TYPE + PER_FIELD * fields.len() as u64)?;
        self.kfuncs.types.insert(type_id, Arc::clone(&fields));
        Ok(fields)
    }

    /// The address of a new object; without memory for it null, as from the kernel's allocator.
    fn new_object(&mut self, size: u64, object: Allocated) -> Result<u64, Fault> {
        self.spend(size / 8)?;
        let there_are = self.kfuncs.objects.len();
        if self.kfuncs.most_objects.one_more(&mut self.memory, there_are, PER_OBJECT).is_err() {
            return Ok(0);
        }
        let Ok(address) = self.memory.alloc(size, Protection::ReadWrite) else { return Ok(0) };
        self.kfuncs.objects.insert(address, object);
        Ok(address)
    }

    /// Whether a program made what is at an address: an object or a cpumask.
    pub(crate) fn allocated(&self, address: u64) -> bool {
        self.kfuncs.cpumasks.contains_key(&address) || self.kfuncs.objects.contains_key(&address)
    }

    /// Whether an address is in an object that a program made.
    pub(super) fn in_object(&self, address: u64) -> bool {
        self.memory.object_at(address).is_some_and(|(object, _)| self.kfuncs.objects.contains_key(&object))
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
                false => self.keep_foreign(kptr)?,
            }
        }
        Ok(())
    }

    /// The host is told of a dropped pointer later.
    fn keep_foreign(&mut self, kptr: DroppedKptr) -> Result<(), Fault> {
        let KfuncState { foreign, most_foreign, .. } = &mut self.kfuncs;
        most_foreign.one_more(&mut self.memory, foreign.len(), PER_OBJECT + kptr.type_name.len() as u64)?;
        foreign.push(kptr);
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
        // The verifier lets no object with a copy for each CPU have special fields.
        let type_id = object.stride.is_none().then_some(object.type_id);
        let size = self.memory.size_of(address).unwrap_or(0);
        if self.kfuncs.collections.any_queued(address, size) {
            return Err(misuse(format!("bpf_obj_drop: {address:#x} is still in a tree or list")).into());
        }
        self.kfuncs.objects.remove(&address);
        for node in self.kfuncs.collections.drain(address, size) {
            let owner = self.memory.object_at(node);
            pending.extend(owner.map(|(address, _)| DroppedKptr { address, type_name: String::new() }));
        }
        let fields = type_id.and_then(|type_id| self.kfuncs.types.get(&type_id).cloned()).unwrap_or_default();
        for field in &*fields {
            let FieldKind::Kptr(type_name) = &field.kind else { continue };
            let address = self.memory.load::<8>(address.wrapping_add(field.offset.into()))?;
            let kptr = DroppedKptr { address, type_name: type_name.clone() };
            pending.extend((address != 0).then_some(kptr));
        }
        self.memory.free(address)?;
        Ok(())
    }
}
