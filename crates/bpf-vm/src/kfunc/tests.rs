// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions as programs call them, on an instance whose one program is `less` of a tree.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::btf::Builder;
use crate::host::{Args, Host};
use crate::interp::CODE_BASE;
use crate::memory::{Memory, Protection, Special};
use crate::object::Object;

/// Where the members of an `item` are: a key, a node for trees, a node for lists, a `__kptr` to another item, a tree.
const RB: u64 = 8;
const LIST: u64 = 40;
const NEXT: u64 = 64;
const ROOT: u64 = 72;
const ITEM_SIZE: u32 = 88;

/// `return a->key < b->key`, of nodes 8 bytes behind the keys.
const LESS: [[u8; 8]; 6] = [
    [0x79, 0x11, 0xf8, 0xff, 0, 0, 0, 0],
    [0x79, 0x22, 0xf8, 0xff, 0, 0, 0, 0],
    [0xb7, 0x00, 0, 0, 1, 0, 0, 0],
    [0xad, 0x21, 1, 0, 0, 0, 0, 0],
    [0xb7, 0x00, 0, 0, 0, 0, 0, 0],
    [0x95, 0, 0, 0, 0, 0, 0, 0],
];

struct OnCpu(u32);

impl Host for OnCpu {
    fn cpu(&self) -> u32 {
        self.0
    }

    fn kfunc(&mut self, _: &mut Instance, kfunc: u32, _: Args) -> Result<u64, Fault> {
        Err(misuse(format!("no kernel function {kfunc}")).into())
    }
}

struct Vm {
    vm: Instance,
    item: u64,
}

impl Vm {
    fn new(nr_cpus: u32) -> Self {
        let mut btf = Builder::new();
        let number = btf.int("u64", 8, false);
        let words = btf.array(number, 4);
        let rb = btf.structure("bpf_rb_node", 32, &[("opaque", words, 0)]);
        let list = btf.structure("bpf_list_node", 24, &[("opaque", number, 0)]);
        let root = btf.structure("bpf_rb_root", 16, &[("opaque", number, 0)]);
        let item = btf.declare_struct("item");
        let tagged = btf.type_tag("kptr", item);
        let next = btf.pointer(tagged);
        let plain = btf.pointer(item);
        btf.define(
            item,
            ITEM_SIZE + 8,
            &[
                ("key", number, 0),
                ("rb", rb, RB as u32),
                ("list", list, LIST as u32),
                ("next", next, NEXT as u32),
                ("root", root, ROOT as u32),
                ("plain", plain, ITEM_SIZE),
            ],
        );
        let mut vm = Instance::from_instructions(&LESS.concat(), &|_| None, 1 << 30).unwrap();
        vm.object = Arc::new(Object { btf: Arc::new(btf.finish()), ..Object::default() });
        vm.nr_cpus = nr_cpus;
        Self { vm, item: u64::from(item.0) }
    }

    fn try_call(&mut self, name: &str, args: &[u64]) -> Result<u64, Fault> {
        self.call_on(0, name, args)
    }

    fn call_on(&mut self, cpu: u32, name: &str, args: &[u64]) -> Result<u64, Fault> {
        let mut all = [0; 5];
        all[..args.len()].copy_from_slice(args);
        kfunc(name).unwrap()(&mut self.vm, &mut OnCpu(cpu), all)
    }

    fn call(&mut self, name: &str, args: &[u64]) -> u64 {
        self.try_call(name, args).unwrap()
    }

    fn new_item(&mut self, key: u64) -> u64 {
        let item = self.call("bpf_obj_new_impl", &[self.item, 0]);
        self.vm.memory.store::<8>(item, key).unwrap();
        item
    }

    fn add(&mut self, root: u64, item: u64) -> u64 {
        self.call("bpf_rbtree_add_impl", &[root, item + RB, CODE_BASE, 0, 0])
    }

    fn key(&self, item: u64) -> u64 {
        self.vm.memory.load::<8>(item).unwrap()
    }

    fn is_live(&self, item: u64) -> bool {
        self.vm.memory.size_of(item).is_some()
    }

    /// Some words in an object of their own.
    fn words(&mut self, words: &[u64]) -> u64 {
        let object = self.vm.memory.alloc(8 * words.len() as u64, Protection::ReadWrite).unwrap();
        for (at, word) in words.iter().enumerate() {
            self.vm.memory.store::<8>(object + 8 * at as u64, *word).unwrap();
        }
        object
    }

    /// A tree's root or a list's head.
    fn root(&mut self) -> u64 {
        let root = self.words(&[0, 0]);
        self.vm.memory.set_apart(root, 16, Special::Graph).unwrap();
        root
    }

    fn own(&mut self, slot: u64, pointer: u64) {
        let mut args = [0; 5];
        args[..2].copy_from_slice(&[slot, pointer]);
        assert_eq!(crate::helper::helper(194).unwrap()(&mut self.vm, &mut OnCpu(0), args), Ok(0));
    }

    fn mask(&mut self, cpus: &[u32]) -> u64 {
        let mut words = vec![0; self.vm.nr_cpus.div_ceil(64) as usize];
        for cpu in cpus {
            words[*cpu as usize / 64] |= 1 << (cpu % 64);
        }
        self.words(&words)
    }
}

fn einval() -> u64 {
    -22i64 as u64
}

#[test]
fn a_tree_gives_its_nodes_in_order_and_equal_ones_as_they_came() {
    let mut vm = Vm::new(1);
    let root = vm.root();
    assert_eq!(vm.call("bpf_rbtree_first", &[root]), 0);
    let items: Vec<u64> = [5, 1, 4, 1, 9].iter().map(|key| vm.new_item(*key)).collect();
    for item in &items {
        assert_eq!(vm.add(root, *item), 0);
    }
    for expected in [1, 3, 2, 0, 4] {
        let node = vm.call("bpf_rbtree_first", &[root]);
        assert_eq!(node, items[expected] + RB);
        assert_eq!(vm.call("bpf_rbtree_remove", &[root, node]), node);
        assert_eq!(vm.call("bpf_rbtree_remove", &[root, node]), 0);
    }
}

#[test]
fn a_node_that_is_queued_cannot_be_queued_again() {
    let mut vm = Vm::new(1);
    let (root, other) = (vm.root(), vm.root());
    let item = vm.new_item(1);
    assert_eq!(vm.call("bpf_refcount_acquire_impl", &[item]), item);
    assert_eq!(vm.add(root, item), 0);
    assert_eq!(vm.add(other, item), einval());
    assert_eq!(vm.call("bpf_rbtree_remove", &[other, item + RB]), 0);
    assert_eq!(vm.call("bpf_rbtree_remove", &[root, item + RB]), item + RB);
    // The failed addition took one reference, so this is the last.
    vm.call("bpf_obj_drop_impl", &[item]);
    assert!(!vm.is_live(item));
}

#[test]
fn a_comparison_that_faults_leaves_the_node_out() {
    let mut vm = Vm::new(1);
    let root = vm.root();
    let (first, second) = (vm.new_item(1), vm.new_item(2));
    vm.add(root, first);
    assert!(vm.try_call("bpf_rbtree_add_impl", &[root, second + RB, 0x1234, 0, 0]).is_err());
    assert_eq!(vm.add(root, second), 0);
}

#[test]
fn a_list_has_two_ends() {
    let mut vm = Vm::new(1);
    let head = vm.root();
    let items: Vec<u64> = (0..3).map(|key| vm.new_item(key)).collect();
    assert_eq!(vm.call("bpf_list_pop_back", &[head]), 0);
    vm.call("bpf_list_push_back_impl", &[head, items[0] + LIST]);
    vm.call("bpf_list_push_back_impl", &[head, items[1] + LIST]);
    vm.call("bpf_list_push_front_impl", &[head, items[2] + LIST]);
    assert_eq!(vm.call("bpf_list_front", &[head]), items[2] + LIST);
    assert_eq!(vm.call("bpf_list_back", &[head]), items[1] + LIST);
    assert_eq!(vm.call("bpf_list_pop_back", &[head]), items[1] + LIST);
    assert_eq!(vm.call("bpf_list_pop_front", &[head]), items[2] + LIST);
    assert_eq!(vm.call("bpf_list_pop_front", &[head]), items[0] + LIST);
    assert_eq!(vm.call("bpf_list_pop_front", &[head]), 0);
}

#[test]
fn an_object_in_a_tree_and_a_list_has_its_place_in_both() {
    let mut vm = Vm::new(1);
    let (root, head) = (vm.root(), vm.root());
    let item = vm.new_item(1);
    vm.call("bpf_refcount_acquire_impl", &[item]);
    assert_eq!(vm.add(root, item), 0);
    assert_eq!(vm.call("bpf_list_push_back_impl", &[head, item + LIST]), 0);
    assert_eq!(vm.call("bpf_rbtree_first", &[root]), item + RB);
    assert_eq!(vm.call("bpf_list_pop_front", &[head]), item + LIST);
}

#[test]
fn dropping_what_is_queued_or_no_object_is_a_fault() {
    let mut vm = Vm::new(1);
    let root = vm.root();
    let item = vm.new_item(1);
    vm.add(root, item);
    let fault = vm.try_call("bpf_obj_drop_impl", &[item]).unwrap_err();
    assert_eq!(fault.to_string(), format!("bpf_obj_drop: {item:#x} is still in a tree or list"));
    assert!(vm.try_call("bpf_obj_drop_impl", &[root]).is_err());
    assert!(vm.try_call("bpf_obj_drop_impl", &[0]).is_err());
    assert!(vm.try_call("bpf_refcount_acquire_impl", &[root]).is_err());
    assert!(vm.try_call("bpf_obj_new_impl", &[u64::MAX, 0]).is_err());
}

#[test]
fn dropping_an_object_drops_what_it_owns() {
    let mut vm = Vm::new(1);
    let (owner, queued, held) = (vm.new_item(1), vm.new_item(2), vm.new_item(3));
    let plain = vm.new_item(4);
    vm.add(owner + ROOT, queued);
    vm.own(owner + NEXT, held);
    vm.vm.memory.store::<8>(owner + u64::from(ITEM_SIZE), plain).unwrap();
    vm.call("bpf_obj_drop_impl", &[owner]);
    assert!(![owner, queued, held].iter().any(|item| vm.is_live(*item)));
    assert!(vm.is_live(plain));
}

#[test]
fn a_long_chain_is_dropped_without_recursion() {
    let mut vm = Vm::new(1);
    let items: Vec<u64> = (0..100_000).map(|key| vm.new_item(key)).collect();
    for pair in items.windows(2) {
        vm.own(pair[0] + NEXT, pair[1]);
    }
    vm.call("bpf_obj_drop_impl", &[items[0]]);
    assert!(!items.iter().any(|item| vm.is_live(*item)));
}

#[test]
fn an_object_for_each_cpu_has_as_many_copies() {
    let mut vm = Vm::new(3);
    let object = vm.call("bpf_percpu_obj_new_impl", &[vm.item, 0]);
    assert_eq!(vm.vm.memory.size_of(object), Some(3 * 96));
    assert_eq!(vm.vm.percpu_stride(object), Some(96));
    vm.call("bpf_percpu_obj_drop_impl", &[object, 0]);
    assert_eq!(vm.vm.percpu_stride(object), None);
}

#[test]
fn a_cpumask_lives_until_its_last_release() {
    let mut vm = Vm::new(4);
    let mask = vm.call("bpf_cpumask_create", &[]);
    vm.call("bpf_cpumask_acquire", &[mask]);
    vm.call("bpf_cpumask_release", &[mask]);
    vm.call("bpf_cpumask_set_cpu", &[3, mask]);
    assert_eq!(vm.call("bpf_cpumask_first", &[mask]), 3);
    vm.call("bpf_cpumask_release", &[mask]);
    assert!(vm.try_call("bpf_cpumask_first", &[mask]).is_err());
    assert!(vm.try_call("bpf_cpumask_release", &[mask]).is_err());
}

#[test]
fn a_cpu_that_does_not_exist_is_never_in_a_mask() {
    let mut vm = Vm::new(4);
    let mask = vm.mask(&[]);
    assert_eq!(vm.call("bpf_cpumask_test_and_set_cpu", &[4, mask]), 0);
    assert_eq!(vm.call("bpf_cpumask_test_cpu", &[4, mask]), 0);
    assert_eq!(vm.call("bpf_cpumask_empty", &[mask]), 1);
    assert_eq!(vm.call("bpf_cpumask_first", &[mask]), 4);
    vm.call("bpf_cpumask_setall", &[mask]);
    assert_eq!(vm.key(mask), 0xf);
    assert_eq!(vm.call("bpf_cpumask_full", &[mask]), 1);
    assert_eq!(vm.call("bpf_cpumask_first_zero", &[mask]), 4);
}

#[test]
fn any_cpu_goes_around_on_a_cursor_of_the_executing_cpu() {
    let mut vm = Vm::new(70);
    let (mask, other, none) = (vm.mask(&[0, 1, 69]), vm.mask(&[0, 69]), vm.mask(&[]));
    let mut any = |cpu, masks: &[u64]| match masks {
        [one] => vm.call_on(cpu, "bpf_cpumask_any_distribute", &[*one]).unwrap(),
        _ => vm.call_on(cpu, "bpf_cpumask_any_and_distribute", masks).unwrap(),
    };
    assert_eq!(any(0, &[none]), 70);
    assert_eq!([any(0, &[mask]), any(0, &[mask]), any(0, &[mask])], [1, 69, 0]);
    assert_eq!([any(0, &[mask, other]), any(0, &[mask, other])], [69, 0]);
    assert_eq!(any(5, &[mask]), 1);
    assert_eq!(any(0, &[mask]), 1);
    *vm.vm.distribute_cursor(0) = 1;
    assert_eq!(vm.call("bpf_cpumask_any_distribute", &[mask]), 69);
}

#[test]
fn a_mask_is_filled_from_memory_that_is_large_enough() {
    let mut vm = Vm::new(4);
    let (mask, source) = (vm.mask(&[]), vm.words(&[0xf6]));
    assert_eq!(vm.call("bpf_cpumask_populate", &[mask, source, 7]), -13i64 as u64);
    assert_eq!(vm.call("bpf_cpumask_populate", &[mask, source, 8]), 0);
    assert_eq!(vm.key(mask), 6);
}

#[test]
fn bits_are_found_in_one_word_and_in_several() {
    let mut vm = Vm::new(1);
    for (words, expected) in [(vec![1 << 63 | 1], vec![0, 63]), (vec![0, 1 << 5, 0], vec![69]), (vec![0], vec![])] {
        let (it, source) = (vm.words(&[0, 0]), vm.words(&words));
        assert_eq!(vm.call("bpf_iter_bits_new", &[it, source, words.len() as u64]), 0);
        let mut found = Vec::new();
        while let at @ 1.. = vm.call("bpf_iter_bits_next", &[it]) {
            found.push(vm.vm.memory.load::<4>(at).unwrap());
        }
        assert_eq!(found, expected);
        assert_eq!(vm.call("bpf_iter_bits_next", &[it]), 0);
        vm.call("bpf_iter_bits_destroy", &[it]);
        let twice = vm.try_call("bpf_iter_bits_destroy", &[it]).unwrap_err();
        assert_eq!(twice.to_string(), format!("no bpf_iter_bits was made at {it:#x}"));
    }
}

#[test]
fn wrong_bits_fail_and_are_empty() {
    let mut vm = Vm::new(1);
    let it = vm.words(&[7, 7]);
    for (source, words, errno) in [(0, 1, 22i64), (it, 0, 22), (it, 512, 7), (it, 3, 14), (8, 1, 14)] {
        assert_eq!(vm.call("bpf_iter_bits_new", &[it, source, words]), -errno as u64);
        assert_eq!(vm.call("bpf_iter_bits_next", &[it]), 0);
        vm.call("bpf_iter_bits_destroy", &[it]);
    }
}

#[test]
fn what_a_program_writes_into_an_iterator_frees_and_finds_nothing() {
    let mut vm = Vm::new(1);
    let (it, source, other) = (vm.words(&[0, 0]), vm.words(&[1, 1 << 5]), vm.words(&[7]));
    // Never made: its bytes are what the state of one over 128 bits at `other` was.
    for (at, word) in [(0, other), (8, 128)] {
        vm.vm.memory.store::<8>(it + at, word).unwrap();
    }
    assert!(vm.try_call("bpf_iter_bits_next", &[it]).is_err());
    assert!(vm.try_call("bpf_iter_bits_destroy", &[it]).is_err());
    assert!(vm.is_live(other));
    // Made, and written over.
    assert_eq!(vm.call("bpf_iter_bits_new", &[it, source, 2]), 0);
    for (at, word) in [(0, other), (8, 128)] {
        vm.vm.memory.store::<8>(it + at, word).unwrap();
    }
    let mut found = Vec::new();
    while let at @ 1.. = vm.call("bpf_iter_bits_next", &[it]) {
        found.push(vm.vm.memory.load::<4>(at).unwrap());
    }
    assert_eq!(found, [0, 69]);
    vm.call("bpf_iter_bits_destroy", &[it]);
    assert!(vm.is_live(other));
}

#[test]
fn a_node_or_root_is_where_types_say() {
    let mut vm = Vm::new(1);
    let (head, item, plain) = (vm.root(), vm.new_item(1), vm.words(&[0; 4]));
    for function in ["bpf_list_push_back_impl", "bpf_rbtree_add_impl"] {
        for (head, node) in
            [(plain, item + LIST), (head + 8, item + LIST), (head, plain), (head, item), (head, item + LIST + 1)]
        {
            assert!(vm.try_call(function, &[head, node, CODE_BASE]).is_err(), "{function} {head:#x} {node:#x}");
        }
    }
    for function in ["bpf_list_pop_front", "bpf_list_front", "bpf_rbtree_first", "bpf_rbtree_root"] {
        assert!(vm.try_call(function, &[plain]).is_err(), "{function}");
    }
    for at in [RB, LIST, NEXT, ROOT] {
        let refused = vm.vm.memory.store::<8>(item + at, plain).unwrap_err();
        assert_eq!(refused.kind, crate::fault::AccessKind::ReadOnly);
    }
}

#[test]
fn what_is_kept_of_objects_and_nodes_counts_against_the_limit() {
    let mut vm = Vm::new(1);
    let head = vm.root();
    let before = vm.vm.memory.available();
    let items: Vec<u64> = (0..1000).map(|key| vm.new_item(key)).collect();
    let made = before - vm.vm.memory.available();
    let block = Memory::cost(u64::from(ITEM_SIZE) + 8).unwrap();
    assert!(made >= 1000 * (block + 64), "{made} bytes for 1000 objects, of {block} each");
    for item in &items {
        assert_eq!(vm.call("bpf_list_push_back_impl", &[head, item + LIST]), 0);
    }
    assert_eq!(before - made - vm.vm.memory.available(), 1000 * PER_NODE);
    // Room that was counted once serves again.
    for item in &items {
        assert_eq!(vm.call("bpf_list_pop_front", &[head]), item + LIST);
        vm.call("bpf_obj_drop_impl", &[*item]);
    }
    let left = vm.vm.memory.available();
    for key in 0..1000 {
        let item = vm.new_item(key);
        vm.call("bpf_list_push_back_impl", &[head, item + LIST]);
    }
    assert_eq!(vm.vm.memory.available(), left);
}

#[test]
fn an_exception_is_a_fault() {
    assert!(Vm::new(1).try_call("bpf_throw", &[3]).is_err());
}

proptest! {
    #[test]
    fn a_tree_is_a_stable_sort(keys in proptest::collection::vec(0u64..20, 0..80)) {
        let mut vm = Vm::new(1);
        let root = vm.root();
        let items: Vec<u64> = keys.iter().map(|key| vm.new_item(*key)).collect();
        for item in &items {
            prop_assert_eq!(vm.add(root, *item), 0);
        }
        let mut sorted = items;
        sorted.sort_by_key(|item| vm.key(*item));
        for item in sorted {
            let node = vm.call("bpf_rbtree_first", &[root]);
            prop_assert_eq!(node, item + RB);
            vm.call("bpf_rbtree_remove", &[root, node]);
            vm.call("bpf_obj_drop_impl", &[item]);
        }
        prop_assert_eq!(vm.call("bpf_rbtree_first", &[root]), 0);
    }

    #[test]
    fn masks_are_sets(nr_cpus in 1u32..200, seeds in proptest::collection::vec((0u32..200, 0u32..200), 0..60)) {
        let a: Vec<bool> = (0..nr_cpus).map(|cpu| seeds.iter().any(|seed| seed.0 == cpu)).collect();
        let b: Vec<bool> = (0..nr_cpus).map(|cpu| seeds.iter().any(|seed| seed.1 == cpu)).collect();
        let list = |set: &[bool]| (0..nr_cpus).filter(|cpu| set[*cpu as usize]).collect::<Vec<_>>();
        let both: Vec<bool> = a.iter().zip(&b).map(|(a, b)| *a && *b).collect();
        let first = |set: &[bool]| set.iter().position(|set| *set).unwrap_or(set.len()) as u64;

        let mut vm = Vm::new(nr_cpus);
        let (one, two, out) = (vm.mask(&list(&a)), vm.mask(&list(&b)), vm.mask(&[]));
        prop_assert_eq!(vm.call("bpf_cpumask_weight", &[one]), list(&a).len() as u64);
        prop_assert_eq!(vm.call("bpf_cpumask_first", &[one]), first(&a));
        prop_assert_eq!(vm.call("bpf_cpumask_first_and", &[one, two]), first(&both));
        prop_assert_eq!(vm.call("bpf_cpumask_and", &[out, one, two]), u64::from(both.contains(&true)));
        prop_assert_eq!(vm.call("bpf_cpumask_weight", &[out]), list(&both).len() as u64);
        prop_assert_eq!(vm.call("bpf_cpumask_intersects", &[one, two]), u64::from(both.contains(&true)));
        prop_assert_eq!(vm.call("bpf_cpumask_subset", &[one, two]), u64::from(both == a));
        prop_assert_eq!(vm.call("bpf_cpumask_equal", &[one, two]), u64::from(a == b));
        prop_assert_eq!(vm.call("bpf_cpumask_full", &[one]), u64::from(!a.contains(&false)));
        vm.call("bpf_cpumask_xor", &[out, one, two]);
        prop_assert_eq!(vm.call("bpf_cpumask_weight", &[out]), a.iter().zip(&b).filter(|(a, b)| a != b).count() as u64);
        vm.call("bpf_cpumask_or", &[out, out, two]);
        prop_assert_eq!(vm.call("bpf_cpumask_weight", &[out]), a.iter().zip(&b).filter(|(a, b)| **a || **b).count() as u64);
        vm.call("bpf_cpumask_copy", &[out, two]);
        prop_assert_eq!(vm.call("bpf_cpumask_equal", &[out, two]), 1);
    }
}
