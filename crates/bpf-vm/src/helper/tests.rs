// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::errno::{Errno, OpError};
use crate::host::{Args, Clock};
use crate::map::{Field, FieldKind, MapSpec, kind};
use crate::memory::{Protection, Special};
use crate::timer::TimerStart;

/// A host whose answers are numbers that a test can tell apart.
#[derive(Default)]
struct TestHost {
    cpu: u32,
    lines: Vec<String>,
    started: Vec<TimerStart>,
    cancelled: Vec<u64>,
}

impl Host for TestHost {
    fn cpu(&self) -> u32 {
        self.cpu
    }

    fn now(&mut self, clock: Clock) -> u64 {
        match clock {
            Clock::Realtime => 9_000_000,
            Clock::Monotonic => 5_000_000,
            Clock::Boottime => 7_000_000,
        }
    }

    fn current(&self) -> u64 {
        0xabc0
    }

    fn current_comm(&self) -> Option<String> {
        Some("a-name-of-more-than-16".to_owned())
    }

    fn printk(&mut self, line: &str) {
        self.lines.push(line.to_owned());
    }

    fn timer_start(&mut self, start: TimerStart) {
        self.started.push(start);
    }

    fn timer_cancel(&mut self, timer: u64) -> bool {
        self.cancelled.push(timer);
        true
    }

    fn perf_event_value(&mut self, map: &str, index: u32) -> Result<(u64, u64, u64), OpError> {
        match (map, index) {
            ("m", 0) => Err(Errno::ENOENT.into()),
            ("m", 1) => Ok((11, 22, 33)),
            _ => Err(Errno::EINVAL.into()),
        }
    }

    fn kfunc(&mut self, _: &mut Instance, _: u32, _: Args) -> Result<u64, Fault> {
        Ok(0)
    }
}

struct Fixture {
    vm: Instance,
    host: TestHost,
}

impl Fixture {
    fn new() -> Self {
        Self { vm: Instance::bare(2, 1 << 20), host: TestHost::default() }
    }

    fn call(&mut self, id: i32, args: &[u64]) -> i64 {
        self.try_call(id, args).unwrap() as i64
    }

    fn try_call(&mut self, id: i32, args: &[u64]) -> Result<u64, Fault> {
        let mut registers = [0; 5];
        registers[..args.len()].copy_from_slice(args);
        helper(id).unwrap()(&mut self.vm, &mut self.host, registers)
    }

    /// Bytes that programs may write.
    fn put(&mut self, bytes: &[u8]) -> u64 {
        let address = self.vm.memory.alloc(bytes.len() as u64, Protection::ReadWrite).unwrap();
        self.vm.memory.host_write(address, bytes.len() as u64).unwrap().copy_from_slice(bytes);
        address
    }

    fn get(&self, address: u64, size: u64) -> Vec<u8> {
        self.vm.memory.read(address, size).unwrap().to_vec()
    }

    /// A map from u32 to 8 bytes of four elements; its handle.
    fn map(&mut self, change: impl FnOnce(&mut MapSpec)) -> u64 {
        let mut spec = MapSpec {
            name: "m".to_owned(),
            kind: kind::HASH,
            key_size: 4,
            value_size: 8,
            max_entries: 4,
            ..MapSpec::default()
        };
        change(&mut spec);
        self.vm.maps.create(&mut self.vm.memory, spec, 2).unwrap().handle()
    }
}

const EFAULT: i64 = -14;
const EINVAL: i64 = -22;

#[test]
fn helpers_are_known_by_number_and_name() {
    assert_eq!(helper_name(1), Some("bpf_map_lookup_elem"));
    assert_eq!(helper_name(181), Some("bpf_loop"));
    assert_eq!(helper_name(211), Some("bpf_cgrp_storage_delete"));
    assert_eq!((helper_name(0), helper_name(-1), helper_name(212)), (None, None, None));
    assert!(helper(12).is_none() && helper(0).is_none() && helper(i32::MIN).is_none());
}

#[test]
fn map_elements_are_stored_found_and_deleted() {
    let mut at = Fixture::new();
    let map = at.map(|_| {});
    let (key, value) = (at.put(&[1, 0, 0, 0]), at.put(&[7; 8]));
    assert_eq!(at.call(1, &[map, key]), 0);
    assert_eq!(at.call(3, &[map, key]), -2);
    assert_eq!(at.call(2, &[map, key, value, 0]), 0);
    assert_eq!(at.call(2, &[map, key, value, 1]), -17);
    let found = at.call(1, &[map, key]) as u64;
    assert_eq!(at.get(found, 8), [7; 8]);
    assert_eq!(at.call(3, &[map, key]), 0);
    assert_eq!(at.get(found, 8), [7; 8]);
    at.vm.call_ended(&mut at.host).unwrap();
    assert!(at.vm.memory.read(found, 8).is_err());
}

#[test]
fn a_bad_key_or_map_is_a_fault() {
    let mut at = Fixture::new();
    let map = at.map(|_| {});
    assert!(at.try_call(1, &[map, 0]).is_err());
    let key = at.put(&[0; 4]);
    assert!(at.try_call(1, &[key, key]).is_err());
}

#[test]
fn per_cpu_lookup_stops_at_the_number_of_cpus() {
    let mut at = Fixture::new();
    let map = at.map(|spec| spec.kind = kind::PERCPU_ARRAY);
    let key = at.put(&[0; 4]);
    let first = at.call(195, &[map, key, 0]);
    let second = at.call(195, &[map, key, 1]);
    assert!(first != 0 && second != 0 && first != second);
    assert_eq!(at.call(195, &[map, key, 2]), 0);
    at.host.cpu = 1;
    assert_eq!(at.call(1, &[map, key]), second);
}

#[test]
fn queues_answer_with_errnos_and_zero_what_they_cannot_fill() {
    let mut at = Fixture::new();
    let map = at.map(|spec| (spec.kind, spec.key_size) = (kind::QUEUE, 0));
    let (value, to) = (at.put(&[7; 8]), at.put(&[9; 8]));
    assert_eq!(at.call(88, &[map, to]), -2);
    assert_eq!(at.get(to, 8), [0; 8]);
    assert_eq!(at.call(87, &[map, value, 0]), 0);
    assert_eq!(at.call(89, &[map, to]), 0);
    assert_eq!(at.call(88, &[map, to]), 0);
    assert_eq!(at.get(to, 8), [7; 8]);
    (0..4).for_each(|_| assert_eq!(at.call(87, &[map, value, 0]), 0));
    assert_eq!(at.call(87, &[map, value, 0]), -7);
}

#[test]
fn storage_is_made_only_when_asked_for() {
    let mut at = Fixture::new();
    let map = at.map(|spec| (spec.kind, spec.max_entries, spec.flags) = (kind::TASK_STORAGE, 0, 1));
    let owner = at.put(&[0; 8]);
    assert_eq!(at.call(156, &[map, owner, 0, 0]), 0);
    assert_eq!(at.call(156, &[map, 0, 0, 1]), 0);
    let value = at.call(156, &[map, owner, 0, 1]);
    assert_ne!(value, 0);
    assert_eq!(at.call(156, &[map, owner, 0, 0]), value);
    assert_eq!(at.call(157, &[map, owner]), 0);
    assert_eq!(at.call(157, &[map, owner]), -2);
    assert_eq!(at.call(156, &[map, owner + 4, 0, 0]), 0);
    assert!(at.try_call(156, &[map, owner + 4, 0, 1]).is_err(), "no object begins there");
}

#[test]
fn reads_that_may_fail_fill_with_zeros() {
    let mut at = Fixture::new();
    let (from, to) = (at.put(b"abcdefg\0"), at.put(&[9; 8]));
    assert_eq!(at.call(113, &[to, 8, from]), 0);
    assert_eq!(at.get(to, 8), b"abcdefg\0");
    assert_eq!(at.call(113, &[to, 8, 0]), EFAULT);
    assert_eq!(at.get(to, 8), [0; 8]);
    assert_eq!(at.call(115, &[to, 4, from]), 4);
    assert_eq!(at.get(to, 4), b"abc\0");
    assert_eq!(at.call(115, &[to, 8, from]), 8);
    assert_eq!(at.call(115, &[to, 8, 0x10]), EFAULT);
    assert_eq!(at.call(115, &[to, 0, from]), 0);
    assert!(at.try_call(113, &[0, 8, from]).is_err());
}

#[test]
fn clocks_and_the_current_task_come_from_the_host() {
    let mut at = Fixture::new();
    assert_eq!(at.call(5, &[]), 5_000_000);
    assert_eq!(at.call(125, &[]), 7_000_000);
    assert_eq!(at.call(208, &[]), 9_000_000);
    // 300 s before 2^32 jiffies of 1 ms, and 5 ms on.
    assert_eq!(at.call(118, &[]), (1 << 32) - 300_000 + 5);
    assert_eq!((at.call(35, &[]), at.call(158, &[])), (0xabc0, 0xabc0));
    let to = at.put(&[9; 16]);
    assert_eq!(at.call(16, &[to, 16]), 0);
    assert_eq!(at.get(to, 16), b"a-name-of-more-\0");
}

#[test]
fn a_spin_lock_is_taken_once_and_given_back() {
    let mut at = Fixture::new();
    let (lock, other) = (at.put(&[0; 4]), at.put(&[0; 4]));
    assert_eq!(at.call(93, &[lock]), 0);
    assert_eq!(at.get(lock, 4), [1, 0, 0, 0]);
    assert!(at.try_call(93, &[lock]).is_err());
    assert!(at.try_call(93, &[other]).is_err());
    assert!(at.try_call(94, &[other]).is_err());
    assert_eq!(at.call(94, &[lock]), 0);
    assert_eq!(at.vm.call_ended(&mut at.host), Ok(()));
    at.call(93, &[lock]);
    let fault = at.vm.call_ended(&mut at.host).unwrap_err();
    assert_eq!(fault.to_string(), format!("the program ended with the spin lock at {lock:#x} held"));
}

#[test]
fn texts_are_printed_formatted_and_compared() {
    let mut at = Fixture::new();
    let (fmt, to) = (at.put(b"cpu %d of %d\0"), at.put(&[9; 8]));
    assert_eq!(at.call(6, &[fmt, 13, 3, 4]), 10);
    assert_eq!(at.host.lines, ["cpu 3 of 4"]);
    assert_eq!(at.call(6, &[fmt, 12, 3, 4]), EINVAL);
    let args = at.put(&[3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(at.call(165, &[to, 8, fmt, args, 16]), 11);
    assert_eq!(at.get(to, 8), b"cpu 3 o\0");
    assert_eq!(at.call(165, &[to, 8, fmt, args, 8]), EINVAL);
    assert_eq!(at.call(165, &[to, 8, fmt, args, 7]), EINVAL);
    assert_eq!(at.call(177, &[fmt, 13, args, 16]), 10);
    let (left, right) = (at.put(b"abc\0"), at.put(b"abd\0"));
    assert_eq!(at.call(182, &[left, 4, right]), -1);
    assert_eq!(at.call(182, &[right, 4, left]), 1);
    assert_eq!(at.call(182, &[left, 2, right]), 0);
}

#[test]
fn numbers_are_parsed_as_the_kernel_does() {
    let table: [(&str, u64, i64, u64); 11] = [
        ("42", 10, 2, 42),
        (" \t-42x", 0, 5, -42_i64 as u64),
        ("0x1fg", 0, 4, 0x1f),
        ("0x1f", 16, 4, 0x1f),
        ("017", 0, 3, 15),
        ("-9223372036854775808", 10, 20, i64::MIN as u64),
        ("9223372036854775808", 10, -34, 0),
        ("99999999999999999999", 10, -34, 0),
        ("x", 10, EINVAL, 0),
        ("-", 10, EINVAL, 0),
        ("1", 3, EINVAL, 0),
    ];
    let mut at = Fixture::new();
    let to = at.put(&[9; 8]);
    for (text, base, used, value) in table {
        let buf = at.put(text.as_bytes());
        assert_eq!(at.call(105, &[buf, text.len() as u64, base, to]), used, "{text}");
        assert_eq!(at.vm.memory.load::<8>(to), Ok(value), "{text}");
    }
    let buf = at.put(b"-1");
    assert_eq!(at.call(106, &[buf, 2, 10, to]), EINVAL);
}

#[test]
fn per_cpu_variables_have_a_copy_for_each_cpu() {
    let mut at = Fixture::new();
    at.vm.register_percpu(0x10_0000, 64);
    assert_eq!(at.call(153, &[0x10_0000, 1]), 0x10_0040);
    assert_eq!(at.call(153, &[0x10_0000, 2]), 0);
    at.host.cpu = 1;
    assert_eq!(at.call(154, &[0x10_0000]), 0x10_0040);
    assert!(at.try_call(153, &[0x20_0000, 0]).is_err());
}

#[test]
fn counters_come_from_the_host_or_are_missing() {
    let mut at = Fixture::new();
    let map = at.map(|spec| (spec.kind, spec.value_size) = (kind::PERF_EVENT_ARRAY, 4));
    let to = at.put(&[9; 24]);
    assert_eq!(at.call(55, &[map, 1, to, 24]), 0);
    assert_eq!(at.get(to, 24)[..9], [11, 0, 0, 0, 0, 0, 0, 0, 22]);
    assert_eq!(at.call(55, &[map, 0xffff_ffff, to, 24]), -2);
    assert_eq!(at.get(to, 24), [0; 24]);
    assert_eq!(at.call(55, &[map, 2, to, 24]), EINVAL);
    assert_eq!(at.call(55, &[map, 4, to, 24]), -7);
    assert_eq!(at.call(55, &[map, 1, to, 16]), EINVAL);
    assert_eq!(at.call(22, &[map, 1]), 11);
    assert_eq!(at.call(25, &[0, map, 0, to, 8]), -2);
}

#[test]
fn ring_buffer_records_reach_the_host() {
    let mut at = Fixture::new();
    let ring = |spec: &mut MapSpec| {
        (spec.kind, spec.key_size, spec.value_size, spec.max_entries) = (kind::RINGBUF, 0, 0, 4096);
    };
    let map = at.map(ring);
    let id = at.vm.map("m").unwrap();
    let record = at.call(131, &[map, 8, 0]) as u64;
    at.vm.memory.store::<8>(record, 5).unwrap();
    assert_eq!(at.call(134, &[map, 0]), 16);
    assert_eq!(at.call(132, &[record, 0]), 0);
    assert_eq!(at.call(131, &[map, 8, 1]), 0);
    let data = at.put(b"xyz");
    assert_eq!(at.call(130, &[map, data, 3, 0]), 0);
    assert_eq!(at.call(130, &[map, data, 3, 4]), EINVAL);
    assert_eq!(at.vm.ringbuf_consume(id).unwrap(), [5_u64.to_le_bytes().to_vec(), b"xyz".to_vec()]);
    assert!(at.try_call(133, &[record, 0]).is_err());
}

#[test]
fn dynptrs_check_what_they_are_asked_for() {
    let mut at = Fixture::new();
    let (data, dynptr, to) = (at.put(b"abcdefgh"), at.put(&[0; 16]), at.put(&[0; 4]));
    assert!(at.try_call(201, &[to, 4, dynptr, 0, 0]).is_err(), "there is no dynptr");
    assert_eq!(at.call(197, &[data, 8, 0, dynptr]), 0);
    assert_eq!(at.call(201, &[to, 4, dynptr, 4, 0]), 0);
    assert_eq!(at.get(to, 4), b"efgh");
    assert_eq!(at.call(201, &[to, 4, dynptr, 5, 0]), -7);
    assert_eq!(at.call(202, &[dynptr, 0, to, 4, 0]), 0);
    assert_eq!(at.get(data, 8), b"efghefgh");
    assert_eq!(at.call(203, &[dynptr, 2, 6]) as u64, data + 2);
    assert_eq!(at.call(203, &[dynptr, 2, 7]), 0);
    assert_eq!(at.call(197, &[data, 1 << 24, 0, dynptr]), -7);
    assert_eq!(at.get(dynptr, 16), [0; 16]);
    assert_eq!(at.call(201, &[to, 4, dynptr, 0, 0]), EINVAL);
}

#[test]
fn what_a_program_writes_into_a_dynptr_changes_nothing() {
    let mut at = Fixture::new();
    let (data, secret, dynptr, to) = (at.put(b"abcdefgh"), at.put(b"12345678"), at.put(&[0; 16]), at.put(&[0; 8]));
    let forged = [secret.to_le_bytes(), [8, 0, 0, 0x10, 0, 0, 0, 0]].concat();
    at.vm.memory.write(dynptr, 16).unwrap().copy_from_slice(&forged);
    assert!(at.try_call(201, &[to, 8, dynptr, 0, 0]).is_err());
    assert!(at.try_call(199, &[dynptr, 0]).is_err());
    assert_eq!(at.call(197, &[data, 8, 0, dynptr]), 0);
    at.vm.memory.write(dynptr, 16).unwrap().copy_from_slice(&forged);
    assert_eq!(at.call(201, &[to, 8, dynptr, 0, 0]), 0);
    assert_eq!(at.get(to, 8), b"abcdefgh");
}

#[test]
fn an_owned_pointer_is_exchanged() {
    let mut at = Fixture::new();
    let (slot, object, plain) = (at.put(&[0; 8]), at.put(&[0; 8]), at.put(&[0; 8]));
    at.vm.memory.set_apart(slot, 8, Special::Kptr).unwrap();
    assert_eq!(at.call(194, &[slot, object]), 0);
    assert_eq!(at.call(194, &[slot, 0]) as u64, object);
    assert!(at.try_call(194, &[slot, object + 1]).is_err(), "no object begins there");
    assert!(at.try_call(194, &[plain, object]).is_err(), "it is no slot");
    assert!(at.vm.memory.store::<8>(slot, object).is_err(), "programs do not write slots");
}

#[test]
fn a_loop_has_a_limit() {
    let mut at = Fixture::new();
    assert_eq!(at.call(181, &[(8 << 20) + 1, 0, 0, 0]), -7);
    assert_eq!(at.call(181, &[1, 0, 0, 1]), EINVAL);
    assert_eq!(at.call(181, &[0, 0, 0, 0]), 0);
}

/// A map whose values are a timer.
fn timers(at: &mut Fixture, kind: u32) -> (u64, u64) {
    let map = at.map(|spec| {
        spec.fields = [Field { offset: 0, size: 16, kind: FieldKind::Timer }].into();
        (spec.kind, spec.value_size) = (kind, 16);
    });
    let (key, value) = (at.put(&[1, 0, 0, 0]), at.put(&[0; 16]));
    at.call(2, &[map, key, value, 0]);
    (map, at.call(1, &[map, key]) as u64)
}

#[test]
fn a_timer_is_set_up_in_order() {
    let mut at = Fixture::new();
    let (map, timer) = timers(&mut at, kind::ARRAY);
    assert_eq!(at.call(170, &[timer, 8]), EINVAL);
    assert_eq!(at.call(172, &[timer]), EINVAL);
    assert_eq!(at.call(169, &[timer, map, 2]), EINVAL);
    assert_eq!(at.call(169, &[timer, map, 7]), 0);
    assert_eq!(at.call(169, &[timer, map, 7]), -16);
    assert_eq!(at.call(171, &[timer, 100, 0]), EINVAL);
    assert_eq!(at.call(170, &[timer, 8]), 0);
    assert_eq!(at.call(171, &[timer, 100, 4]), EINVAL);
    assert_eq!(at.call(171, &[timer, 100, 2]), 0);
    assert_eq!(at.call(171, &[timer, 100, 1]), 0);
    let start = TimerStart { timer, expires: 7_000_100, clock: Clock::Boottime, pinned: true };
    assert_eq!(at.host.started, [start, TimerStart { expires: 100, pinned: false, ..start }]);
    assert_eq!(at.call(172, &[timer]), 1);
    assert_eq!(at.call(171, &[timer, 100, 0]), EINVAL);
}

#[test]
fn a_timer_must_be_where_the_map_has_one() {
    let mut at = Fixture::new();
    let (map, timer) = timers(&mut at, kind::ARRAY);
    assert!(at.try_call(169, &[timer + 8, map, 1]).is_err());
    let elsewhere = at.put(&[0; 16]);
    assert!(at.try_call(169, &[elsewhere, map, 1]).is_err());
}

#[test]
fn deleting_an_element_disarms_its_timer() {
    let mut at = Fixture::new();
    let (map, timer) = timers(&mut at, kind::HASH);
    at.call(169, &[timer, map, 1]);
    at.call(170, &[timer, 8]);
    at.call(171, &[timer, 100, 0]);
    let key = at.put(&[1, 0, 0, 0]);
    assert_eq!(at.call(3, &[map, key]), 0);
    assert_eq!(at.host.cancelled, [timer]);
    assert_eq!(at.call(171, &[timer, 100, 0]), EINVAL);
}

#[test]
fn what_helpers_touch_is_limited_by_the_budget() {
    let strncmp = |at: &mut Fixture| {
        let (left, right) = (at.put(&[7; 4096]), at.put(&[7; 4096]));
        at.try_call(182, &[left, 4096, right])
    };
    let mut at = Fixture::new();
    at.vm.set_budget(10_000);
    assert_eq!([strncmp(&mut at), strncmp(&mut at)], [Ok(0), Ok(0)]);
    let fault = strncmp(&mut at).unwrap_err();
    assert_eq!(fault.kind(), &FaultKind::Work(10_000));
}

#[test]
fn pages_that_are_freed_are_limited_by_the_budget() {
    let mut at = Fixture::new();
    let map = at.map(|spec| {
        (spec.kind, spec.key_size, spec.value_size) = (kind::ARENA, 0, 0);
        (spec.max_entries, spec.flags) = (1 << 20, 1 << 10);
    });
    at.vm.set_budget(40_000_000);
    let mut free = || {
        let function = crate::kfunc::kfunc("bpf_arena_free_pages").unwrap();
        let start = at.vm.memory.arena().unwrap().user_start();
        function(&mut at.vm, &mut at.host, [map, start, 1 << 20, 0, 0]).map_err(|fault| fault.kind().clone())
    };
    assert_eq!([free(), free(), free()], [Ok(0), Ok(0), Err(FaultKind::Work(40_000_000))]);
}

#[test]
fn every_helper_survives_any_arguments() {
    for id in 0..212 {
        let Some(call) = helper(id) else { continue };
        let mut at = Fixture::new();
        let map = at.map(|_| {});
        let data = at.put(&[0xff; 64]);
        for args in [[0; 5], [u64::MAX; 5], [map; 5], [data; 5], [map, data, data, 0, 0], [data, 16, data, data, 8]] {
            // bpf_loop with a count and a callback needs code to call.
            if id != 181 {
                let _ = call(&mut at.vm, &mut at.host, args);
            }
        }
        assert_eq!(at.get(data, 64).len(), 64);
    }
}
