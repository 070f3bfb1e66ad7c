// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helpers that call a program's functions back: loops, walks through maps, timers.

use crate::assembler::assemble;
use crate::engine::prepared;
use tandem_bpf_vm::fault::Fault;
use tandem_bpf_vm::helper::helper;
use tandem_bpf_vm::host::{Args, Clock, Host};
use tandem_bpf_vm::instance::Instance;
use tandem_bpf_vm::map::{Field, FieldKind, Item, MapId, MapSpec, kind};
use tandem_bpf_vm::timer::TimerStart;

#[derive(Default)]
struct TestHost {
    started: Vec<TimerStart>,
}

impl Host for TestHost {
    fn now(&mut self, _: Clock) -> u64 {
        1000
    }

    fn timer_start(&mut self, start: TimerStart) {
        self.started.push(start);
    }

    fn kfunc(&mut self, _: &mut Instance, _: u32, _: Args) -> Result<u64, Fault> {
        Ok(0)
    }
}

fn load(text: &str) -> Instance {
    prepared(Instance::from_instructions(&assemble(text).unwrap(), &helper, 1_000_000).unwrap())
}

fn run(vm: &mut Instance, host: &mut TestHost, args: Args) -> u64 {
    let main = vm.program("main").unwrap();
    vm.run_raw(main, args, host).unwrap().value
}

fn spec(kind: u32) -> MapSpec {
    MapSpec { name: "m".to_owned(), kind, key_size: 4, value_size: 8, max_entries: 8, ..MapSpec::default() }
}

fn fill(vm: &mut Instance, map: MapId, elements: &[(u32, u64)]) {
    for (key, value) in elements {
        let item = Item { key: &key.to_le_bytes(), value: &value.to_le_bytes(), flags: 0 };
        vm.map_update(map, item, 0).unwrap();
    }
}

/// Adds the index to the sum at the context, and stops at index 5.
const LOOP: &str = "
    stdw [%r10-8], 0
    mov %r1, 10
    lddw %r2, function body
    mov %r3, %r10
    add %r3, -8
    mov %r4, 0
    call 181
    lsh %r0, 32
    ldxdw %r1, [%r10-8]
    or %r0, %r1
    exit
body:
    ldxdw %r3, [%r2]
    add %r3, %r1
    stxdw [%r2], %r3
    mov %r0, 0
    jne %r1, 5, out
    mov %r0, 1
out:
    exit
";

#[test]
fn a_loop_ends_when_its_callback_says_so() {
    crate::engine::on_every_engine(|| {
        let mut vm = load(LOOP);
        // Six calls, of which the indexes sum up to 15.
        assert_eq!(run(&mut vm, &mut TestHost::default(), [0; 5]), 6 << 32 | 15);
    });
}

/// Sums key * value over a map, and deletes each element on the way.
const WALK: &str = "
    stdw [%r10-8], 0
    lddw %r2, function body
    mov %r3, %r10
    add %r3, -8
    mov %r4, 0
    call 164
    lsh %r0, 32
    ldxdw %r1, [%r10-8]
    or %r0, %r1
    exit
body:
    ldxw %r5, [%r2]
    ldxdw %r3, [%r3]
    mul %r5, %r3
    ldxdw %r0, [%r4]
    add %r0, %r5
    stxdw [%r4], %r0
    call 3
    mov %r0, 0
    exit
";

#[test]
fn a_walk_sees_every_element_though_its_callback_deletes_them() {
    crate::engine::on_every_engine(|| {
        let mut vm = load(WALK);
        let map = vm.map_create(spec(kind::HASH)).unwrap();
        fill(&mut vm, map, &[(1, 10), (2, 20), (3, 30)]);
        assert_eq!(run(&mut vm, &mut TestHost::default(), [map.handle(), 0, 0, 0, 0]), 3 << 32 | 140);
        assert_eq!(vm.map_keys(map), Ok(Vec::new()));
    });
}

#[test]
fn a_walk_through_an_array_sees_every_index() {
    crate::engine::on_every_engine(|| {
        let mut vm = load(WALK);
        let map = vm.map_create(spec(kind::ARRAY)).unwrap();
        fill(&mut vm, map, &[(1, 10), (7, 2)]);
        assert_eq!(run(&mut vm, &mut TestHost::default(), [map.handle(), 0, 0, 0, 0]), 8 << 32 | 24);
    });
}

/// Arms the timer at r2 of the map at r1; its callback adds its key to the 8 bytes behind it.
const TIMER: &str = "
    mov %r6, %r2
    mov %r2, %r1
    mov %r1, %r6
    mov %r3, 1
    call 169
    mov %r1, %r6
    lddw %r2, function fired
    call 170
    mov %r1, %r6
    mov %r2, 500
    mov %r3, 0
    call 171
    exit
fired:
    ldxw %r4, [%r2]
    ldxdw %r5, [%r3+16]
    add %r5, %r4
    stxdw [%r3+16], %r5
    mov %r0, 0
    exit
";

#[test]
fn a_timer_gives_its_callback_the_key_and_the_value() {
    crate::engine::on_every_engine(|| {
        let (mut vm, mut host) = (load(TIMER), TestHost::default());
        let fields = [Field { offset: 0, size: 16, kind: FieldKind::Timer }].into();
        let map = vm.map_create(MapSpec { value_size: 24, fields, ..spec(kind::ARRAY) }).unwrap();
        let value = vm.maps().peek_address(map, &3_u32.to_le_bytes(), 0).unwrap();
        assert_eq!(run(&mut vm, &mut host, [map.handle(), value, 0, 0, 0]), 0);
        let start = TimerStart { timer: value, expires: 1500, clock: Clock::Monotonic, pinned: false };
        assert_eq!(host.started, [start]);
        for _ in 0..2 {
            vm.timer_fired(value, &mut host).unwrap();
        }
        assert_eq!(vm.memory.load::<8>(value + 16), Ok(6));
        let unknown = vm.timer_fired(value + 8, &mut host).unwrap();
        assert_eq!(unknown.instructions, 0);
    });
}
