// SPDX-License-Identifier: MIT OR Apache-2.0
//! What map values own, when they go: the host is told of what is its own.

use crate::engine::prepared;
use tandem_bpf_vm::fault::{AccessKind, Fault};
use tandem_bpf_vm::helper::helper;
use tandem_bpf_vm::host::{Args, Builtin, Host};
use tandem_bpf_vm::instance::Instance;
use tandem_bpf_vm::kfunc::kfunc;
use tandem_bpf_vm::map::{Field, FieldKind, Item, MapId, MapSpec, kind};
use tandem_bpf_vm::memory::Protection;

/// `call 1000` is `bpf_cpumask_create`; r0 is its result.
const CREATE: [u8; 16] = [0x85, 0, 0, 0, 0xe8, 3, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0];

#[derive(Default)]
struct Kernel {
    dropped: Vec<(String, u64)>,
}

impl Host for Kernel {
    fn current_cgroup_id(&self) -> u64 {
        42
    }

    fn kptr_dropped(&mut self, type_name: &str, address: u64) {
        self.dropped.push((type_name.to_owned(), address));
    }

    fn kfunc(&mut self, _: &mut Instance, _: u32, _: Args) -> Result<u64, Fault> {
        Ok(0)
    }
}

fn call(id: i32) -> Option<Builtin> {
    if id == 1000 { kfunc("bpf_cpumask_create") } else { helper(id) }
}

/// A map whose values are one pointer, and one with key 1 that holds `pointer`.
fn owner(vm: &mut Instance, kind: u32, type_name: &str, pointer: u64) -> MapId {
    let fields = [Field { offset: 0, size: 8, kind: FieldKind::Kptr(type_name.to_owned()) }].into();
    let spec = MapSpec { kind, key_size: 4, value_size: 8, max_entries: 2, fields, ..MapSpec::default() };
    let map = vm.map_create(spec).unwrap();
    set(vm, map);
    let value = vm.maps().peek_address(map, &[1, 0, 0, 0], 0).unwrap();
    vm.memory.host_store::<8>(value, pointer).unwrap();
    map
}

fn set(vm: &mut Instance, map: MapId) {
    vm.map_update(map, Item { key: &[1, 0, 0, 0], value: &[0; 8], flags: 0 }, 0).unwrap();
}

fn run(vm: &mut Instance, kernel: &mut Kernel) -> u64 {
    let main = vm.program("main").unwrap();
    vm.run_raw(main, [0; 5], kernel).unwrap().value
}

#[test]
fn a_cpumask_goes_with_the_element_that_owned_it() {
    crate::engine::on_every_engine(|| {
        let mut vm = prepared(Instance::from_instructions(&CREATE, &call, 1000).unwrap());
        let mut kernel = Kernel::default();
        let mask = run(&mut vm, &mut kernel);
        let map = owner(&mut vm, kind::HASH, "bpf_cpumask", mask);
        vm.map_delete(map, &[1, 0, 0, 0]).unwrap();
        assert_eq!(vm.memory.load::<8>(mask), Ok(0));
        run(&mut vm, &mut kernel);
        assert_eq!(vm.memory.load::<8>(mask).unwrap_err().kind, AccessKind::Freed);
        assert_eq!(kernel.dropped, []);
    });
}

#[test]
fn a_pointer_to_a_task_goes_back_to_the_host() {
    crate::engine::on_every_engine(|| {
        for kind in [kind::HASH, kind::ARRAY, kind::PERCPU_HASH] {
            let mut vm = prepared(Instance::from_instructions(&CREATE, &call, 1000).unwrap());
            let mut kernel = Kernel::default();
            let task = vm.memory.alloc(64, Protection::ReadWrite).unwrap();
            let map = owner(&mut vm, kind, "task_struct", task);
            // Overwriting a value drops what it owned.
            set(&mut vm, map);
            run(&mut vm, &mut kernel);
            assert_eq!(kernel.dropped, [("task_struct".to_owned(), task)], "map of type {kind}");
            run(&mut vm, &mut kernel);
            assert_eq!(kernel.dropped.len(), 1);
            assert_eq!(vm.memory.load::<8>(task), Ok(0));
        }
    });
}

#[test]
fn programs_ask_for_the_current_cgroup() {
    crate::engine::on_every_engine(|| {
        let code = [0x85, 0, 0, 0, 80, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0];
        let mut vm = prepared(Instance::from_instructions(&code, &helper, 100).unwrap());
        assert_eq!(run(&mut vm, &mut Kernel::default()), 42);
    });
}
