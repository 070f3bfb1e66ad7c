// SPDX-License-Identifier: MIT OR Apache-2.0

use rand_pcg::Pcg32;
use rand_pcg::rand_core::SeedableRng;
use tandem_bpf_vm::fault::AccessKind;

use super::*;
use crate::generated;
use crate::kernel::cpumask::CpuMask;
use crate::kernel::params::KernelParameters;
use crate::kernel::switching::Switching;
use crate::kernel::task::Task;
use crate::scx::abi::types::rq::PerCpu;
use crate::scx::abi::types::task::TaskStruct;
use crate::units::{CgroupId, CpuId, TaskId};
use crate::workload::{Policy, Scheduling};
use access::{at, get};
use args::ExitRecord;

const CPUS: u32 = 4;

struct World {
    memory: Memory,
    kernel: Kernel,
    guest: Guest,
}

fn world() -> World {
    let machine = generated::machine(CPUS).unwrap();
    let mut kernel = Kernel::new(&machine, KernelParameters::default(), Pcg32::seed_from_u64(1));
    for id in 0..3 {
        let policy = Policy::Other { nice: 5, slice: None };
        kernel.tasks.push(Task::new(TaskId(id), Scheduling { policy, ..Scheduling::default() }, None, Switching::Off));
    }
    let mut memory = Memory::new(1 << 24);
    let guest = Guest::new(&mut memory, &kernel, &machine).unwrap();
    World { memory, kernel, guest }
}

fn info(pid: i32, tgid: i32) -> GuestTaskInfo<'static> {
    GuestTaskInfo {
        pid,
        tgid,
        parent: None,
        maker: None,
        comm: "a rather long name",
        flags: 0,
        cgroup: None,
        start_time: 7,
    }
}

impl World {
    fn add(&mut self, task: u32, info: &GuestTaskInfo<'_>) -> u64 {
        self.guest.task_new(&mut self.memory, &self.kernel, TaskId(task), info).unwrap()
    }
}

#[test]
fn a_task_is_found_by_its_address_and_its_number_until_it_is_freed() {
    let mut world = world();
    let address = world.add(2, &info(12, 12));
    assert_eq!(world.guest.task(TaskId(2)), address);
    assert_eq!(world.guest.task_at(&world.memory, address), Some(TaskId(2)));
    assert_eq!(world.guest.task_at(&world.memory, address + 8), None);
    assert_eq!(world.guest.task_at(&world.memory, 0), None);
    assert_eq!(world.guest.task_at(&world.memory, world.guest.idle_task(CpuId(0))), None);
    assert_eq!(world.guest.task_by_pid(12), Some(TaskId(2)));
    world.guest.task_free(&mut world.memory, TaskId(2));
    assert_eq!(world.guest.task_at(&world.memory, address), None);
    assert_eq!((world.guest.task(TaskId(2)), world.guest.task_by_pid(12)), (0, None));
    assert_eq!(world.memory.load::<8>(address).unwrap_err().kind, AccessKind::Freed);
}

#[test]
fn a_program_writes_slice_vtime_and_disallow_and_nothing_else_of_a_task() {
    let mut world = world();
    let address = world.add(0, &info(10, 10));
    let writable = [at!(TaskStruct, scx.slice), at!(TaskStruct, scx.dsq_vtime), at!(TaskStruct, scx.disallow)];
    let size = world.memory.size_of(address).unwrap();
    for offset in (0..size).step_by(8) {
        let allowed = world.memory.store::<8>(address + offset, 1).is_ok();
        assert_eq!(allowed, writable.contains(&offset), "offset {offset}");
    }
    assert_eq!(world.guest.slice(&world.memory, TaskId(0)), 1);
    assert_eq!(world.guest.dsq_vtime(&world.memory, TaskId(0)), 1);
    assert!(world.guest.disallow(&world.memory, TaskId(0)));
    for object in [world.guest.mask(Mask::IdleCpu), world.guest.rq(CpuId(1)), world.guest.idle_task(CpuId(0))] {
        assert_eq!(world.memory.store::<4>(object, 1).unwrap_err().kind, AccessKind::ReadOnly);
    }
}

#[test]
fn a_task_says_who_it_is() {
    let mut world = world();
    let address = world.add(1, &info(11, 10));
    let read4 = |offset: u64| world.memory.load::<4>(address + offset).unwrap() as i32;
    assert_eq!((read4(at!(TaskStruct, pid)), read4(at!(TaskStruct, tgid))), (11, 10));
    assert_eq!((read4(at!(TaskStruct, static_prio)), read4(at!(TaskStruct, prio))), (125, 125));
    assert_eq!(read4(at!(TaskStruct, nr_cpus_allowed)), CPUS as i32);
    let comm = world.memory.read(address + at!(TaskStruct, comm), 16).unwrap();
    assert_eq!(comm, b"a rather long n\0");
    let parent = world.memory.load::<8>(address + at!(TaskStruct, real_parent)).unwrap();
    assert_eq!(world.memory.load::<4>(parent + at!(TaskStruct, pid)), Ok(1));
}

#[test]
fn tasks_with_the_same_affinity_share_a_mask_that_is_padded_with_zeros() {
    let mut world = world();
    world.add(0, &info(10, 10));
    world.add(1, &info(11, 11));
    let cpus_ptr = |world: &World, task| world.guest.cpus_ptr(&world.memory, TaskId(task));
    let all = cpus_ptr(&world, 0);
    assert_eq!(cpus_ptr(&world, 1), all);
    assert_eq!(world.memory.load::<8>(all), Ok(0b1111));
    assert_eq!(world.memory.read(all, 1024).unwrap()[8..], [0; 1016]);
    let some = CpuMask::of(CPUS as usize, [CpuId(1), CpuId(3)]);
    world.guest.set_cpus_mask(&mut world.memory, TaskId(0), Some(&some)).unwrap();
    let restricted = cpus_ptr(&world, 0);
    assert_eq!(world.memory.load::<8>(restricted), Ok(0b1010));
    assert_eq!(world.memory.load::<8>(world.guest.task(TaskId(0)) + at!(TaskStruct, cpus_mask)), Ok(0b1010));
    world.guest.set_cpus_mask(&mut world.memory, TaskId(0), None).unwrap();
    assert_eq!(cpus_ptr(&world, 0), all);
    assert_eq!(world.memory.load::<8>(restricted).unwrap_err().kind, AccessKind::Freed);
}

#[test]
fn the_idle_task_of_each_cpu_is_a_task_with_pf_idle() {
    let world = world();
    let idle = world.guest.idle_task(CpuId(3));
    assert_eq!(world.guest.idle_task_at(&world.memory, idle), Some(CpuId(3)));
    assert_eq!(world.memory.load::<4>(idle + at!(TaskStruct, flags)), Ok(2));
    assert_eq!(world.memory.read_string(idle + at!(TaskStruct, comm), 16).unwrap(), b"swapper/3");
}

#[test]
fn the_current_task_is_named_by_its_run_queue() {
    let mut world = world();
    let task = world.add(0, &info(10, 10));
    let on_cpu = |world: &World, task: u64| world.memory.load::<4>(task + at!(TaskStruct, on_cpu)).unwrap();
    world.guest.set_curr(&mut world.memory, CpuId(2), Some(TaskId(0)));
    assert_eq!((on_cpu(&world, task), on_cpu(&world, world.guest.idle_task(CpuId(2)))), (1, 0));
    world.guest.set_curr(&mut world.memory, CpuId(2), None);
    assert_eq!((on_cpu(&world, task), on_cpu(&world, world.guest.idle_task(CpuId(2)))), (0, 1));
}

#[test]
fn a_per_cpu_variable_lies_a_stride_behind_the_cpu_befores() {
    let world = world();
    let runqueues = world.guest.variable("runqueues").unwrap();
    assert_eq!(runqueues + 2 * world.guest.per_cpu_stride(), world.guest.rq(CpuId(2)));
    let cpu = get::<4>(&world.memory, world.guest.rq(CpuId(2)) + at!(PerCpu, runqueues.cpu));
    assert_eq!(cpu, 2);
    let flags = get::<4>(&world.memory, world.guest.rq(CpuId(2)) + at!(PerCpu, runqueues.clock_update_flags));
    assert_eq!(flags, 4, "the time of each is up to date");
    assert_eq!(world.guest.variable("no_such_variable"), None);
}

#[test]
fn what_takes_capacity_of_a_cpu_can_be_read_there() {
    let mut world = world();
    let World { guest, memory, kernel } = &mut world;
    // A quarter of the clock is missing.
    kernel.update_cpufreq_pressure(CpuId(2), 1500, 2000);
    kernel.update_hw_pressure(CpuId(2), 500, 1000);
    kernel.show_pressed(|cpu, rq| guest.set_pressure(memory, cpu, rq, 1000));
    let capacity = u64::from(kernel.rq(CpuId(2)).capacity_orig);
    let read = |name: &str, cpu: u64| {
        let address = world.guest.variable(name).unwrap() + cpu * world.guest.per_cpu_stride();
        get::<8>(&world.memory, address)
    };
    assert_eq!(["cpufreq_pressure", "hw_pressure"].map(|name| read(name, 2)), [capacity / 4, capacity / 2]);
    assert_eq!(["cpufreq_pressure", "hw_pressure"].map(|name| read(name, 1)), [0, 0]);
    let stamp = world.guest.rq(CpuId(2)) + at!(PerCpu, runqueues.avg_rt.last_update_time) - at!(PerCpu, runqueues);
    assert_eq!(get::<8>(&world.memory, stamp), 1000);
    world.kernel.show_pressed(|cpu, _| panic!("{cpu} has been shown"));
}

#[test]
fn a_mask_holds_the_bits_that_are_set() {
    let mut world = world();
    assert_eq!(world.memory.load::<8>(world.guest.mask(Mask::Online)), Ok(0b1111));
    world.guest.set_mask_bit(&mut world.memory, Mask::IdleCpu, CpuId(2), true);
    world.guest.set_mask_bit(&mut world.memory, Mask::IdleCpu, CpuId(0), true);
    world.guest.set_mask_bit(&mut world.memory, Mask::IdleCpu, CpuId(2), false);
    assert_eq!(world.memory.load::<8>(world.guest.mask(Mask::IdleCpu)), Ok(0b1));
}

#[test]
fn threads_of_a_process_share_its_memory_and_its_leader() {
    let mut world = world();
    let leader = world.add(0, &info(10, 10));
    let thread = world.add(1, &info(11, 10));
    let other = world.add(2, &info(12, 12));
    let member = |world: &World, task: u64, offset: u64| world.memory.load::<8>(task + offset).unwrap();
    let mm = at!(TaskStruct, mm);
    assert_eq!(member(&world, leader, mm), member(&world, thread, mm));
    assert_ne!(member(&world, leader, mm), member(&world, other, mm));
    assert_eq!(member(&world, thread, at!(TaskStruct, group_leader)), leader);
    world.guest.task_free(&mut world.memory, TaskId(0));
    assert_eq!(member(&world, thread, at!(TaskStruct, group_leader)), leader, "a zombie stays");
    assert_eq!((world.guest.task(TaskId(0)), world.guest.task_by_pid(10)), (0, None));
    world.guest.task_free(&mut world.memory, TaskId(1));
    assert_eq!(world.memory.load::<8>(leader).unwrap_err().kind, AccessKind::Freed);
}

#[test]
fn children_of_a_task_that_goes_belong_to_its_process_and_then_to_init() {
    let mut world = world();
    let main = world.add(0, &info(10, 10));
    let _ = world.add(1, &info(11, 10));
    let child = world.add(2, &GuestTaskInfo { parent: Some(TaskId(1)), ..info(12, 12) });
    let parent = |world: &World| {
        let address = world.memory.load::<8>(child + at!(TaskStruct, real_parent)).unwrap();
        (address, world.memory.load::<4>(address + at!(TaskStruct, pid)).unwrap())
    };
    assert_eq!(parent(&world).1, 11);
    world.guest.task_free(&mut world.memory, TaskId(1));
    assert_eq!(parent(&world), (main, 10));
    world.guest.task_free(&mut world.memory, TaskId(0));
    assert_eq!(parent(&world).1, 1);
}

#[test]
fn a_cgroup_knows_its_ancestors() {
    let mut world = world();
    let World { memory, guest, .. } = &mut world;
    let root = guest.cgroup_new(memory, CgroupId(0), None, 1, "").unwrap();
    let child = guest.cgroup_new(memory, CgroupId(1), Some(CgroupId(0)), 23, "a").unwrap();
    let grandchild = guest.cgroup_new(memory, CgroupId(2), Some(CgroupId(1)), 42, "b").unwrap();
    use crate::scx::abi::types::cgroup::{Cgroup, KernfsNode};
    assert_eq!(memory.load::<4>(grandchild + at!(Cgroup, level)), Ok(2));
    assert_eq!(memory.load::<8>(grandchild + at!(Cgroup, ancestors)), Ok(root));
    assert_eq!(memory.load::<8>(grandchild + at!(Cgroup, ancestors) + 8), Ok(child));
    assert_eq!(memory.load::<8>(grandchild + at!(Cgroup, ancestors) + 16), Ok(grandchild));
    assert!(memory.load::<8>(grandchild + at!(Cgroup, ancestors) + 24).is_err());
    assert_eq!(memory.load::<8>(grandchild + at!(Cgroup, css.parent)), Ok(child));
    let kn = memory.load::<8>(child + at!(Cgroup, kn)).unwrap();
    assert_eq!(memory.load::<8>(kn + at!(KernfsNode, id)), Ok(23));
    assert_eq!(guest.cgroup_at(memory, child), Some(CgroupId(1)));
}

#[test]
fn the_exit_record_points_to_its_texts() {
    let mut world = world();
    let World { memory, guest, .. } = &mut world;
    use crate::scx::abi::types::args::ScxExitInfo;
    let long = "m".repeat(2000);
    let record = ExitRecord { kind: 1026, reason: "stall", message: &long, dump: "dump", ..ExitRecord::default() };
    for _ in 0..2 {
        let info = guest.exit_info(memory, &record).unwrap();
        assert_eq!(memory.load::<4>(info + at!(ScxExitInfo, exit_kind)), Ok(1026));
        let text = |offset: u64| memory.read_string(memory.load::<8>(info + offset).unwrap(), 4096).unwrap();
        assert_eq!(text(at!(ScxExitInfo, reason)), b"stall");
        assert_eq!(text(at!(ScxExitInfo, msg)).len(), 1023);
        assert_eq!(text(at!(ScxExitInfo, dump)), b"dump");
    }
}

#[test]
fn a_task_without_room_leaves_nothing_behind() {
    let mut refused = 0;
    // Room for nothing, for the memory map of its process, for the task's object too, and at last for its own mask.
    for left in (0..2048).step_by(16) {
        let mut small = world();
        small.add(0, &info(10, 10));
        let taken = small.memory.available() - left;
        small.memory.reserve(taken).unwrap();
        let allowed = CpuMask::of(CPUS as usize, [CpuId(1)]);
        small.kernel.tasks[1].allowed = Some(std::sync::Arc::new(allowed));
        if small.guest.task_new(&mut small.memory, &small.kernel, TaskId(1), &info(11, 11)).is_ok() {
            break;
        }
        assert_eq!((small.guest.task(TaskId(1)), small.guest.task_by_pid(11)), (0, None), "{left}");
        refused += 1;
    }
    assert!(refused > 10 && refused < 128, "{refused}");
}
