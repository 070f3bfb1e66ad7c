// SPDX-License-Identifier: MIT OR Apache-2.0
use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;

use super::*;
use crate::fault::AccessKind;
use crate::memory::Protection;

/// Maps with their memory, and a place for keys.
struct Fixture {
    memory: Memory,
    maps: Maps,
    key: u64,
}

impl Fixture {
    fn new() -> Self {
        let mut memory = Memory::new(1 << 20);
        let key = memory.alloc(8, Protection::ReadWrite).unwrap();
        Self { memory, maps: Maps::default(), key }
    }

    fn create(&mut self, spec: MapSpec) -> MapId {
        self.maps.create(&mut self.memory, spec, 2).unwrap()
    }

    fn update(&mut self, id: MapId, key: u32, value: u64, flags: u64) -> Result<(), OpError> {
        let item = Item { key: &key.to_le_bytes(), value: &value.to_le_bytes(), flags };
        self.maps.update(&mut self.memory, id, item, 0)
    }

    fn lookup(&mut self, id: MapId, key: u32) -> Result<u64, OpError> {
        self.lookup_on(id, key, 0)
    }

    fn lookup_on(&mut self, id: MapId, key: u32, cpu: u32) -> Result<u64, OpError> {
        self.memory.store::<4>(self.key, key.into()).unwrap();
        self.maps.lookup(&self.memory, id, self.key, cpu)
    }

    fn value(&mut self, id: MapId, key: u32) -> Option<u64> {
        let address = self.lookup(id, key).ok()?;
        Some(self.memory.load::<8>(address).unwrap())
    }

    fn delete(&mut self, id: MapId, key: u32) -> Result<(), OpError> {
        self.maps.delete(id, &key.to_le_bytes())
    }

    fn keys(&self, id: MapId) -> Vec<u32> {
        let mut keys: Vec<Vec<u8>> = Vec::new();
        while let Some(key) = self.maps.next_key(id, keys.last().map(|key| &**key)).unwrap() {
            keys.push(key);
        }
        keys.iter().map(|key| array_index(key)).collect()
    }
}

/// A map from u32 to u64 of four elements.
fn spec(kind: u32) -> MapSpec {
    MapSpec { name: "m".to_owned(), kind, key_size: 4, value_size: 8, max_entries: 4, ..MapSpec::default() }
}

fn errno<T: std::fmt::Debug>(result: Result<T, OpError>) -> Errno {
    match result {
        Err(OpError::Errno(errno)) => errno,
        other => panic!("no errno: {other:?}"),
    }
}

#[test]
fn an_array_has_all_its_elements_and_no_more() {
    let mut at = Fixture::new();
    let id = at.create(spec(kind::ARRAY));
    assert_eq!(at.value(id, 3), Some(0));
    assert_eq!(errno(at.lookup(id, 4)), Errno::ENOENT);
    assert_eq!(at.update(id, 3, 7, EXIST), Ok(()));
    assert_eq!(at.value(id, 3), Some(7));
    assert_eq!(errno(at.update(id, 4, 7, 0)), Errno::E2BIG);
    assert_eq!(errno(at.update(id, 3, 7, NOEXIST)), Errno::EEXIST);
    assert_eq!(errno(at.update(id, 3, 7, 3)), Errno::EINVAL);
    assert_eq!(errno(at.update(id, 3, 7, LOCK)), Errno::EINVAL);
    assert_eq!(errno(at.delete(id, 3)), Errno::EINVAL);
    assert_eq!(at.keys(id), [0, 1, 2, 3]);
}

#[test]
fn an_overrun_of_an_array_element_does_not_reach_the_next() {
    let mut at = Fixture::new();
    let id = at.create(spec(kind::ARRAY));
    let address = at.lookup(id, 0).unwrap();
    assert_eq!(at.memory.store::<8>(address + 8, 1).unwrap_err().kind, AccessKind::OutOfBounds);
}

#[test]
fn each_cpu_has_its_own_copy_in_per_cpu_maps() {
    let mut at = Fixture::new();
    for kind in [kind::PERCPU_ARRAY, kind::PERCPU_HASH, kind::LRU_PERCPU_HASH] {
        let id = at.create(spec(kind));
        at.update(id, 1, 5, 0).unwrap();
        let other = at.lookup_on(id, 1, 1).unwrap();
        assert_eq!(at.value(id, 1), Some(5));
        assert_eq!(at.memory.load::<8>(other), Ok(0));
        assert_eq!(errno(at.lookup_on(id, 1, 2)), Errno::ENOENT);
        at.update(id, 1, 6, 0).unwrap();
        assert_eq!(at.lookup_on(id, 1, 1), Ok(other));
    }
}

#[test]
fn a_hash_is_full_at_max_entries_and_obeys_the_flags() {
    let mut at = Fixture::new();
    let id = at.create(spec(kind::HASH));
    assert_eq!(errno(at.update(id, 9, 1, EXIST)), Errno::ENOENT);
    for key in [7, 5, 3, 1] {
        at.update(id, key, u64::from(key) * 10, NOEXIST).unwrap();
    }
    assert_eq!(errno(at.update(id, 9, 1, 0)), Errno::E2BIG);
    assert_eq!(errno(at.update(id, 7, 1, NOEXIST)), Errno::EEXIST);
    assert_eq!(at.update(id, 7, 71, EXIST), Ok(()));
    assert_eq!(at.value(id, 7), Some(71));
    assert_eq!(at.keys(id), [1, 3, 5, 7]);
    assert_eq!(at.delete(id, 5), Ok(()));
    assert_eq!(errno(at.delete(id, 5)), Errno::ENOENT);
    assert_eq!(at.update(id, 9, 1, 0), Ok(()));
}

#[test]
fn a_deleted_value_is_readable_until_the_program_has_ended() {
    let mut at = Fixture::new();
    let id = at.create(spec(kind::HASH));
    at.update(id, 1, 5, 0).unwrap();
    let address = at.lookup(id, 1).unwrap();
    at.delete(id, 1).unwrap();
    assert_eq!(at.memory.load::<8>(address), Ok(5));
    at.maps.free_retired(&mut at.memory).unwrap();
    assert_eq!(at.memory.load::<8>(address).unwrap_err().kind, AccessKind::Freed);
}

#[test]
fn an_updated_hash_element_has_a_new_value_and_the_old_pointer_keeps_the_old_one() {
    let mut at = Fixture::new();
    let id = at.create(spec(kind::HASH));
    at.update(id, 1, 5, 0).unwrap();
    let old = at.lookup(id, 1).unwrap();
    at.update(id, 1, 6, 0).unwrap();
    assert_ne!(at.lookup(id, 1).unwrap(), old);
    assert_eq!((at.memory.load::<8>(old), at.value(id, 1)), (Ok(5), Some(6)));
}

#[test]
fn huge_hashes_and_queues_take_nothing_until_they_are_filled_and_huge_arrays_are_refused() {
    let mut at = Fixture::new();
    let before = at.memory.available();
    for kind in [kind::HASH, kind::LRU_HASH] {
        at.create(MapSpec { max_entries: u32::MAX, ..spec(kind) });
    }
    at.create(MapSpec { max_entries: u32::MAX, key_size: 0, ..spec(kind::QUEUE) });
    assert_eq!(at.memory.available(), before);
    let huge = MapSpec { max_entries: u32::MAX, ..spec(kind::ARRAY) };
    assert!(matches!(at.maps.create(&mut at.memory, huge, 2), Err(MapError::Memory { .. })));
}

#[test]
fn an_lru_hash_evicts_what_was_looked_up_longest_ago() {
    let mut at = Fixture::new();
    let id = at.create(spec(kind::LRU_HASH));
    for key in 1..=4 {
        at.update(id, key, 0, 0).unwrap();
    }
    at.lookup(id, 1).unwrap();
    at.update(id, 5, 0, 0).unwrap();
    assert_eq!(at.keys(id), [1, 3, 4, 5]);
    // Looking at a value as the host does is no use of it.
    assert!(at.maps.peek_address(id, &3_u32.to_le_bytes(), 0).is_some());
    at.update(id, 6, 0, 0).unwrap();
    assert_eq!(at.keys(id), [1, 4, 5, 6]);
}

#[test]
fn a_queue_gives_the_oldest_and_a_stack_the_newest() {
    let mut at = Fixture::new();
    for (kind, first) in [(kind::QUEUE, 1), (kind::STACK, 4)] {
        let id = at.create(MapSpec { key_size: 0, ..spec(kind) });
        for value in 1..=4_u64 {
            at.maps.push(&mut at.memory, id, &value.to_le_bytes(), 0).unwrap();
        }
        assert_eq!(errno(at.maps.push(&mut at.memory, id, &[0; 8], 0)), Errno::E2BIG);
        assert_eq!(errno(at.maps.push(&mut at.memory, id, &[0; 8], NOEXIST)), Errno::EINVAL);
        assert_eq!(at.maps.peek(id).unwrap()[0], first);
        assert_eq!(at.maps.pop(id).unwrap()[0], first);
        at.maps.push(&mut at.memory, id, &[8; 8], 0).unwrap();
        // The stack is full again: BPF_EXIST drops the oldest value.
        at.maps.push(&mut at.memory, id, &[9; 8], EXIST).unwrap();
        assert_eq!(at.maps.queued(id), Some(4));
        while at.maps.pop(id).is_ok() {}
        assert_eq!(errno(at.maps.pop(id)), Errno::ENOENT);
        assert_eq!(errno(at.maps.peek(id).map(<[u8]>::to_vec)), Errno::ENOENT);
    }
}

#[test]
fn a_ring_buffer_is_read_in_order_and_up_to_the_first_record_being_filled() {
    let mut at = Fixture::new();
    let ring = MapSpec { key_size: 0, value_size: 0, max_entries: 4096, ..spec(kind::RINGBUF) };
    let id = at.create(ring);
    let first = at.maps.ring_reserve(&mut at.memory, id, 8).unwrap();
    let second = at.maps.ring_reserve(&mut at.memory, id, 4).unwrap();
    at.memory.store::<8>(first, 11).unwrap();
    at.maps.ring_commit(&mut at.memory, second, true).unwrap();
    at.maps.ring_output(&mut at.memory, id, b"abc".to_vec()).unwrap();
    assert!(at.maps.ring_consume(id).unwrap().is_empty());
    at.maps.ring_commit(&mut at.memory, first, false).unwrap();
    assert!(at.memory.load::<8>(first).is_err());
    // 8 bytes of header each, to whole 8 bytes: 16 + 16 + 16.
    assert_eq!(at.maps.ring_state(id).unwrap().available, 48);
    assert_eq!(at.maps.ring_consume(id).unwrap(), [11_u64.to_le_bytes().to_vec(), b"abc".to_vec()]);
    assert_eq!(at.maps.ring_state(id).unwrap().available, 0);
    assert!(at.maps.ring_commit(&mut at.memory, first, false).is_err());
}

#[test]
fn a_ring_buffer_is_full_one_byte_before_its_size() {
    let mut at = Fixture::new();
    let ring = MapSpec { key_size: 0, value_size: 0, max_entries: 4096, ..spec(kind::RINGBUF) };
    let id = at.create(ring);
    assert_eq!(errno(at.maps.ring_output(&mut at.memory, id, vec![0; 4088])), Errno::EAGAIN);
    at.maps.ring_output(&mut at.memory, id, vec![0; 4080]).unwrap();
    assert_eq!(errno(at.maps.ring_output(&mut at.memory, id, Vec::new())), Errno::EAGAIN);
    at.maps.ring_consume(id).unwrap();
    at.maps.ring_output(&mut at.memory, id, Vec::new()).unwrap();
}

#[test]
fn storage_goes_with_its_owner() {
    let mut at = Fixture::new();
    let id = at.create(MapSpec { max_entries: 0, flags: 1, ..spec(kind::TASK_STORAGE) });
    assert_eq!(errno(at.maps.storage_get(id, 100)), Errno::ENOENT);
    let value = at.maps.storage_create(&mut at.memory, id, 100, None).unwrap();
    let other = at.maps.storage_create(&mut at.memory, id, 200, Some(&[1; 8])).unwrap();
    assert_eq!(at.memory.load::<8>(other), Ok(0x0101_0101_0101_0101));
    assert_eq!(at.maps.storage_get(id, 100), Ok(value));
    at.maps.storage_owner_gone(100);
    assert_eq!(at.maps.storage_values(id), [(200, other)]);
    at.maps.free_retired(&mut at.memory).unwrap();
    assert!(at.memory.load::<8>(value).is_err());
    assert_eq!(errno(at.maps.storage_delete(id, 100)), Errno::ENOENT);
    assert_eq!(at.maps.storage_delete(id, 200), Ok(()));
}

#[test]
fn maps_of_maps_give_handles_of_inner_maps() {
    let mut at = Fixture::new();
    let inner = at.create(spec(kind::HASH));
    for kind in [kind::ARRAY_OF_MAPS, kind::HASH_OF_MAPS] {
        let outer = at.create(MapSpec { value_size: 4, ..spec(kind) });
        assert_eq!(errno(at.lookup(outer, 2)), Errno::ENOENT);
        at.maps.set_inner(outer, &2_u32.to_le_bytes(), inner).unwrap();
        let handle = at.lookup(outer, 2).unwrap();
        assert_eq!(at.maps.by_handle(handle), Some(inner));
        let item = Item { key: &[0; 4], value: &[0; 4], flags: 0 };
        assert_eq!(errno(at.maps.update(&mut at.memory, outer, item, 0)), Errno::EINVAL);
    }
    assert_eq!(errno(at.maps.set_inner(inner, &[0; 4], inner)), Errno::EINVAL);
    assert_eq!(at.maps.by_handle(inner.handle() + 8), None);
    assert_eq!(at.maps.by_handle(MAP_BASE + 3 * 0x100), None);
}

#[test]
fn a_bloom_filter_never_denies_what_was_added() {
    let mut at = Fixture::new();
    let bloom = MapSpec { key_size: 0, max_entries: 100, ..spec(kind::BLOOM_FILTER) };
    let id = at.create(bloom);
    for value in 0..100_u64 {
        at.maps.push(&mut at.memory, id, &value.to_le_bytes(), 0).unwrap();
    }
    assert!((0..100_u64).all(|value| at.maps.may_contain(id, &value.to_le_bytes()) == Some(true)));
    let mistaken = (100..1100_u64).filter(|value| at.maps.may_contain(id, &value.to_le_bytes()) == Some(true)).count();
    // 1,024 bits with 5 functions and 100 values: about 1 in 110 is mistaken.
    assert!(mistaken < 50, "{mistaken} of 1000");
    assert_eq!(errno(at.maps.push(&mut at.memory, id, &[0; 8], EXIST)), Errno::EINVAL);
}

#[test]
fn kinds_that_are_not_supported_are_named() {
    let mut at = Fixture::new();
    let message = |at: &mut Fixture, kind| at.maps.create(&mut at.memory, spec(kind), 1).unwrap_err().to_string();
    assert_eq!(message(&mut at, 31), "map m: maps of type USER_RINGBUF are not supported");
    assert_eq!(message(&mut at, 99), "map m: maps of type number 99 are not supported");
}

#[test]
fn what_the_kernel_refuses_is_refused() {
    let refused = [
        MapSpec { key_size: 8, ..spec(kind::ARRAY) },
        MapSpec { max_entries: 0, ..spec(kind::HASH) },
        MapSpec { value_size: 0, ..spec(kind::HASH) },
        MapSpec { key_size: 0, ..spec(kind::HASH) },
        MapSpec { flags: 1, ..spec(kind::LRU_HASH) },
        spec(kind::QUEUE),
        MapSpec { key_size: 0, value_size: 0, max_entries: 5000, ..spec(kind::RINGBUF) },
        spec(kind::TASK_STORAGE),
        MapSpec { value_size: 1 << 16, ..spec(kind::PERCPU_ARRAY) },
    ];
    for spec in refused {
        let mut at = Fixture::new();
        let result = at.maps.create(&mut at.memory, spec.clone(), 1);
        assert!(matches!(result, Err(MapError::Refused { .. })), "{spec:?}: {result:?}");
    }
}

/// A value of 24 bytes: a lock at 0, plain bytes at 4, an owned pointer at 8, plain bytes at 16.
fn special() -> MapSpec {
    let fields = [
        Field { offset: 0, size: 4, kind: FieldKind::SpinLock },
        Field { offset: 8, size: 8, kind: FieldKind::Kptr("node".to_owned()) },
    ];
    MapSpec { value_size: 24, fields: fields.into(), ..spec(kind::ARRAY) }
}

#[test]
fn special_fields_are_not_overwritten_and_pointers_are_given_back() {
    let mut at = Fixture::new();
    let id = at.create(special());
    let address = at.lookup(id, 0).unwrap();
    at.memory.store::<4>(address, 1).unwrap();
    at.memory.host_store::<8>(address + 8, 0x1234).unwrap();
    let item = Item { key: &[0; 4], value: &[0xff; 24], flags: LOCK };
    at.maps.update(&mut at.memory, id, item, 0).unwrap();
    assert_eq!(at.memory.load::<4>(address), Ok(1));
    assert_eq!(at.memory.load::<4>(address + 4), Ok(0xffff_ffff));
    assert_eq!(at.memory.load::<8>(address + 8), Ok(0));
    assert_eq!(at.memory.load::<8>(address + 16), Ok(u64::MAX));
    let dropped = DroppedKptr { address: 0x1234, type_name: "node".to_owned() };
    assert_eq!(at.maps.take_dropped(), std::slice::from_ref(&dropped));

    let hash = at.create(MapSpec { kind: kind::HASH, ..special() });
    at.maps.update(&mut at.memory, hash, Item { flags: 0, ..item }, 0).unwrap();
    let address = at.lookup(hash, 0).unwrap();
    at.memory.host_store::<8>(address + 8, 0x1234).unwrap();
    at.delete(hash, 0).unwrap();
    assert_eq!(at.maps.take_dropped(), []);
    at.maps.free_retired(&mut at.memory).unwrap();
    assert_eq!(at.maps.take_dropped(), [dropped]);
}

#[test]
fn special_fields_are_found_in_types() {
    let mut btf = crate::btf::Builder::new();
    let word = btf.int("unsigned int", 4, false);
    let lock = btf.structure("bpf_spin_lock", 4, &[("val", word, 0)]);
    let opaque = btf.int("u64", 8, false);
    let pair = btf.array(opaque, 2);
    let timer = btf.structure("bpf_timer", 16, &[("__opaque", pair, 0)]);
    let node = btf.structure("node", 4, &[("x", word, 0)]);
    let tagged = btf.type_tag("kptr", node);
    let owned = btf.pointer(tagged);
    let plain = btf.pointer(node);
    let inner = btf.structure("inner", 16, &[("p", plain, 0), ("k", owned, 8)]);
    let inners = btf.array(inner, 2);
    let members = [("timer", timer, 8), ("lock", lock, 0), ("inners", inners, 24)];
    let value = btf.structure("value", 56, &members);
    let kptr = FieldKind::Kptr("node".to_owned());
    let found = field::fields(&btf.finish(), value);
    let expected = [
        Field { offset: 0, size: 4, kind: FieldKind::SpinLock },
        Field { offset: 8, size: 16, kind: FieldKind::Timer },
        Field { offset: 32, size: 8, kind: kptr.clone() },
        Field { offset: 48, size: 8, kind: kptr },
    ];
    assert_eq!(found, expected);
}

#[derive(Debug, Clone)]
enum Step {
    Lookup(u32),
    Update(u32, u64, u64),
    Delete(u32),
    End,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..8_u32).prop_map(Step::Lookup),
        (0..8_u32, any::<u64>(), 0..3_u64).prop_map(|(key, value, flags)| Step::Update(key, value, flags)),
        (0..8_u32).prop_map(Step::Delete),
        Just(Step::End),
    ]
}

/// What a hash of four elements holds, the least recently used first.
#[derive(Default)]
struct Model {
    lru: bool,
    order: VecDeque<u32>,
    values: BTreeMap<u32, u64>,
}

impl Model {
    fn touch(&mut self, key: u32) {
        self.order.retain(|other| *other != key);
        self.order.push_back(key);
    }

    fn update(&mut self, key: u32, value: u64, flags: u64) -> Result<(), Errno> {
        match (self.values.contains_key(&key), flags) {
            (true, NOEXIST) => return Err(Errno::EEXIST),
            (false, EXIST) => return Err(Errno::ENOENT),
            (false, _) if self.values.len() == 4 && !self.lru => return Err(Errno::E2BIG),
            (false, _) if self.values.len() == 4 => {
                let oldest = self.order.pop_front().unwrap();
                self.values.remove(&oldest);
            }
            _ => {}
        }
        self.values.insert(key, value);
        self.touch(key);
        Ok(())
    }
}

proptest! {
    #[test]
    fn hashes_behave_as_their_model(lru: bool, steps in prop::collection::vec(step(), 1..200)) {
        let mut at = Fixture::new();
        let id = at.create(spec(if lru { kind::LRU_HASH } else { kind::HASH }));
        let mut model = Model { lru, ..Model::default() };
        for step in steps {
            match step {
                Step::Lookup(key) => {
                    prop_assert_eq!(at.value(id, key), model.values.get(&key).copied());
                    if model.values.contains_key(&key) {
                        model.touch(key);
                    }
                }
                Step::Update(key, value, flags) => {
                    let expected = model.update(key, value, flags).map_err(OpError::Errno);
                    prop_assert_eq!(at.update(id, key, value, flags), expected);
                }
                Step::Delete(key) => {
                    let known = model.values.remove(&key).is_some();
                    model.order.retain(|other| *other != key);
                    prop_assert_eq!(at.delete(id, key).is_ok(), known);
                }
                Step::End => at.maps.free_retired(&mut at.memory).unwrap(),
            }
            prop_assert_eq!(at.keys(id), model.values.keys().copied().collect::<Vec<_>>());
        }
    }

    #[test]
    fn queues_and_stacks_behave_as_their_model(
        stack: bool,
        steps in prop::collection::vec(prop::option::of((any::<u64>(), prop::bool::ANY)), 1..100),
    ) {
        let mut at = Fixture::new();
        let id = at.create(MapSpec { key_size: 0, ..spec(if stack { kind::STACK } else { kind::QUEUE }) });
        let mut model: VecDeque<u64> = VecDeque::new();
        for step in steps {
            let Some((value, force)) = step else {
                let expected = if stack { model.pop_back() } else { model.pop_front() };
                let popped = at.maps.pop(id).ok().map(|bytes| u64::from_le_bytes((*bytes).try_into().unwrap()));
                prop_assert_eq!(popped, expected);
                continue;
            };
            let pushed = at.maps.push(&mut at.memory, id, &value.to_le_bytes(), if force { EXIST } else { 0 });
            prop_assert_eq!(pushed.is_ok(), model.len() < 4 || force);
            if pushed.is_ok() {
                if model.len() == 4 {
                    model.pop_front();
                }
                model.push_back(value);
            }
        }
    }
}

#[test]
fn maps_that_cannot_fit_are_refused_before_a_start_is_made() {
    let huge = |kind, value_size| MapSpec { kind, value_size, max_entries: u32::MAX, ..spec(kind) };
    let keyless = |kind, max_entries| MapSpec { kind, key_size: 0, value_size: 0, max_entries, ..spec(kind) };
    let filter = MapSpec { key_size: 0, ..huge(kind::BLOOM_FILTER, 8) };
    let specs = [
        huge(kind::ARRAY, 1),
        huge(kind::ARRAY, u32::MAX),
        huge(kind::PERCPU_ARRAY, 8),
        keyless(kind::RINGBUF, 1 << 31),
        filter,
    ];
    for spec in specs {
        let mut at = Fixture::new();
        let before = at.memory.available();
        assert!(matches!(at.maps.create(&mut at.memory, spec, 2), Err(MapError::Memory { .. })));
        assert_eq!(at.memory.available(), before);
    }
}

#[test]
fn keys_and_queued_values_count_against_the_limit() {
    let mut at = Fixture::new();
    let wide = MapSpec { key_size: 1 << 16, max_entries: u32::MAX, ..spec(kind::HASH) };
    let queue = MapSpec { key_size: 0, value_size: 1 << 16, max_entries: u32::MAX, ..spec(kind::QUEUE) };
    for (spec, each) in [(wide, 2 << 16), (queue, 1 << 16)] {
        let fits = at.memory.available() / each;
        let id = at.create(spec.clone());
        let mut bytes = vec![0; 1 << 16];
        let mut stored = 0_u32;
        let fault = loop {
            bytes[..4].copy_from_slice(&stored.to_le_bytes());
            let result = match spec.kind {
                kind::QUEUE => at.maps.push(&mut at.memory, id, &bytes, 0),
                _ => at.maps.update(&mut at.memory, id, Item { key: &bytes, value: &[0; 8], flags: 0 }, 0),
            };
            match result {
                Ok(()) => stored += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(fault, OpError::Fault(FaultKind::Exhausted(_))));
        assert!(u64::from(stored) + 1 >= fits && u64::from(stored) <= fits, "{stored} of {fits}");
    }
}

#[test]
fn an_element_that_the_kernel_allocates_by_itself_may_find_no_memory() {
    let mut at = Fixture::new();
    let hash = at.create(MapSpec { max_entries: 10, flags: 1, ..spec(kind::HASH) });
    let preallocated = at.create(MapSpec { max_entries: 10, ..spec(kind::HASH) });
    let left = at.memory.available();
    at.memory.reserve(left).unwrap();
    let item = Item { key: &[1, 0, 0, 0], value: &[0; 8], flags: 0 };
    assert_eq!(at.maps.update(&mut at.memory, hash, item, 0), Err(Errno::ENOMEM.into()));
    let fault = at.maps.update(&mut at.memory, preallocated, item, 0).unwrap_err();
    assert!(matches!(fault, OpError::Fault(FaultKind::Exhausted(_))), "{fault}");
}
