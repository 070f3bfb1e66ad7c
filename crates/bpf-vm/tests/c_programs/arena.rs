// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects with a BPF arena.

use tandem_bpf_vm::instance::Instance;
use tandem_bpf_vm::link::{Environment, LoadError};
use tandem_bpf_vm::memory::Memory;
use tandem_bpf_vm::object::{MapDefinition, Object};
use tandem_bpf_vm::open::OpenObject;

use super::kernel::{Kernel, run, run_tests, types};

/// User address at which the map of `arena.bpf.c` begins.
const START: u64 = 1 << 44;
const PAGE: u64 = 4096;

fn object() -> Object {
    Object::clone(&super::objects::object("arena"))
}

fn load(object: Object, arena_data_last: bool, limit: u64) -> Result<Instance, LoadError> {
    let environment = Environment {
        btf: types(&object),
        kfuncs: &|_| None,
        variables: &|_| None,
        kconfig: &|_| None,
        nr_cpus: 1,
        arena_data_last,
        budget: 1_000_000,
    };
    OpenObject::new(object.into()).load(&environment, Memory::new(limit)).map(crate::engine::prepared)
}

fn message(object: Object, limit: u64) -> String {
    load(object, true, limit).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn every_check_of_the_arena_program_holds() {
    crate::engine::on_every_engine(|| {
        let mut vm = load(object(), true, 1 << 20).unwrap();
        assert_eq!(run_tests(&mut vm, 0, &mut Kernel::default()), 8);
        assert_eq!(vm.global_bytes("counter"), Some(&42_u64.to_le_bytes()[..]));
    });
}

#[test]
fn accesses_to_missing_pages_are_counted_and_the_first_is_shown() {
    crate::engine::on_every_engine(|| {
        let mut vm = load(object(), true, 1 << 20).unwrap();
        assert_eq!(vm.missing_pages().0, 0);
        run(&mut vm, "pages_are_allocated", 0, &mut Kernel::default()).unwrap();
        // A load of the freed page, a store to it, and the load that shows that nothing was stored.
        let (count, first) = vm.missing_pages();
        assert_eq!(count, 3);
        let first = first.unwrap();
        assert_eq!(first.to_string(), "no page in the BPF arena: read of 8 bytes at 0x1000");
        let lines: Vec<&str> = include_str!("../c/arena.bpf.c").lines().collect();
        assert_eq!(lines[first.backtrace()[0].line as usize - 1].trim(), "CHECK(two[0] == 0 && two[1023] == 2);");
    });
}

#[test]
fn data_lies_in_the_first_pages_or_the_last() {
    crate::engine::on_every_engine(|| {
        let place = |last| load(object(), last, 1 << 20).unwrap().global("counter").unwrap().address;
        let size = 8 + 300 * 16;
        assert!((START..START + size).contains(&place(false)));
        assert!((START + 98 * PAGE..START + 98 * PAGE + size).contains(&place(true)));
    });
}

#[test]
fn user_space_makes_the_pages_that_it_writes() {
    crate::engine::on_every_engine(|| {
        let mut vm = load(object(), true, 1 << 20).unwrap();
        let across = START + 10 * PAGE - 2;
        assert_eq!(vm.memory.load::<2>(across as u32 as u64).unwrap_err().address, 10 * PAGE - 2);
        assert_eq!(vm.memory.write_user(across, &[1, 2, 3, 4]), Ok(true));
        assert_eq!(vm.memory.load::<4>(10 * PAGE - 2), Ok(0x0403_0201));
        assert_eq!(vm.memory.arena().unwrap().user_read(across, 4), Some(&[1, 2, 3, 4][..]));
        assert_eq!(vm.memory.write_user(START + 100 * PAGE - 2, &[1, 2, 3, 4]), Ok(false));
        assert_eq!(vm.memory.write_user(START - 2, &[1, 2, 3, 4]), Ok(false));
        assert_eq!(vm.memory.arena().unwrap().user_read(START + 50 * PAGE, 1), None);
    });
}

#[test]
fn an_arena_that_does_not_say_where_it_is_lies_in_one_4_gib() {
    crate::engine::on_every_engine(|| {
        let start = |pages: u32| {
            let mut object = object();
            (object.maps[0].map_extra, object.maps[0].max_entries) = (0, pages);
            load(object, true, 1 << 20).unwrap().memory.arena().unwrap().user_start()
        };
        assert_eq!(start(100), 0x7f7d_2620_0000);
        assert_eq!(start(1 << 20), 0x7f7e_0000_0000);
    });
}

#[test]
fn arenas_that_cannot_be_are_refused() {
    crate::engine::on_every_engine(|| {
        let with = |change: &dyn Fn(&mut MapDefinition)| {
            let mut object = object();
            change(&mut object.maps[0]);
            message(object, 1 << 20)
        };
        assert_eq!(
            with(&|map| map.max_entries = 1),
            "data section .addr_space.1 lies in a BPF arena, and the arena is too small for it"
        );
        assert_eq!(
            with(&|map| map.max_entries = 0),
            "map arena: an arena has max_entries pages and neither keys nor values"
        );
        assert_eq!(with(&|map| map.max_entries = (1 << 20) + 1), "map arena: an arena has at most 4 GiB");
        assert_eq!(with(&|map| map.map_extra = 8), "map arena: map_extra of an arena is the user address of a page");
        assert!(with(&|map| map.map_extra = START - PAGE).ends_with("do not cross a 32-bit boundary"));
        assert!(with(&|map| map.flags = 0).contains("needs BPF_F_MMAPABLE"));
        let mut two = object();
        two.maps.push(two.maps[0].clone());
        assert_eq!(message(two, 1 << 20), "map arena: an object has one arena at most");
        let mut none = object();
        none.maps.clear();
        assert!(message(none, 1 << 20).ends_with("the object has no map of type ARENA"));
        assert!(message(object(), 8 << 10).contains("over a limit of 8192"));
    });
}
