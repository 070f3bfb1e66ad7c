// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks.

use std::collections::{BTreeMap, BTreeSet};

use tandem_bpf_vm::fault::{Fault, FaultKind};
use tandem_bpf_vm::memory::{Memory, Protection};

use crate::kernel::Kernel;
use crate::kernel::cpumask::CpuMask;
use crate::kernel::task::Task;
use crate::scx::abi::profile::PF_KTHREAD;
use crate::scx::abi::types::task::{MmStruct, TaskStruct, UclampSe};
use crate::units::{CgroupId, CpuId, Nanos, TaskId};
use crate::workload::Policy;

use super::Guest;
use super::access::{self, at, get, put};
use super::affinity::Affinities;

/// `owner` of an idle task's object.
pub(super) const OWNER_IDLE: u32 = u32::MAX;
/// `owner` of the object of init, which is no task of the simulator.
pub(super) const OWNER_INIT: u32 = u32::MAX - 1;

/// What a new task's object says beside what the kernel knows of it.
#[derive(Debug, Clone, Copy)]
pub struct GuestTaskInfo<'a> {
    /// Thread's number; each task has one of its own, above 1.
    pub pid: i32,
    /// Process's number.
    pub tgid: i32,
    /// The thread that made its process; `None`, or once that is gone: init.
    pub parent: Option<TaskId>,
    /// The thread that makes it; `None`: init.
    pub maker: Option<TaskId>,
    /// Name; what is longer than 15 bytes is cut.
    pub comm: &'a str,
    /// `PF_*`.
    pub flags: u32,
    /// The task's cgroup, if cgroups are modelled.
    pub cgroup: Option<CgroupId>,
    /// When it was made.
    pub start_time: Nanos,
}

/// Processes, by `tgid`, and tasks by `pid`.
#[derive(Debug, Default)]
pub(super) struct ThreadGroups {
    groups: BTreeMap<i32, ThreadGroup>,
    pids: BTreeMap<i32, TaskId>,
}

#[derive(Debug, Default)]
struct ThreadGroup {
    mm: u64,
    members: BTreeSet<TaskId>,
    /// The object of its first thread, once that has ended before the others.
    zombie: Option<u64>,
    /// Tasks whose parent is one of them.
    children: BTreeSet<TaskId>,
}

/// Bytes of a task's object: `cpus_mask`, the last member, has only the words that hold CPUs.
fn task_size(affinities: &Affinities) -> u64 {
    at!(TaskStruct, cpus_mask) + 8 * affinities.words() as u64
}

/// Makes an object whose `scx.{slice,dsq_vtime,disallow}` programs may write.
pub(super) fn alloc_task(memory: &mut Memory, affinities: &Affinities, owner: u32) -> Result<u64, FaultKind> {
    let address = memory.alloc(task_size(affinities), Protection::ReadOnly)?;
    for offset in [at!(TaskStruct, scx.slice), at!(TaskStruct, scx.dsq_vtime), at!(TaskStruct, scx.disallow)] {
        memory.protect(address + offset, 8, Protection::ReadWrite)?;
    }
    put::<4>(memory, address + at!(TaskStruct, owner), u64::from(owner));
    Ok(address)
}

/// Writes which CPUs the task at `address` may use, in place of what it had.
pub(super) fn write_affinity(
    memory: &mut Memory,
    affinities: &mut Affinities,
    address: u64,
    mask: Option<&CpuMask>,
) -> Result<(), FaultKind> {
    let old = get::<8>(memory, address + at!(TaskStruct, cpus_ptr));
    let new = affinities.acquire(memory, mask)?;
    put::<8>(memory, address + at!(TaskStruct, cpus_ptr), new.address);
    put::<4>(memory, address + at!(TaskStruct, nr_cpus_allowed), new.weight);
    access::put_words(memory, address + at!(TaskStruct, cpus_mask), &new.words);
    if old != 0 {
        affinities.release(memory, old);
    }
    Ok(())
}

/// Writes what a task that was just made is called and where it is.
pub(super) fn write_identity(memory: &mut Memory, address: u64, info: &GuestTaskInfo<'_>, cpu: CpuId) {
    put::<4>(memory, address + at!(TaskStruct, pid), info.pid as u64);
    put::<4>(memory, address + at!(TaskStruct, tgid), info.tgid as u64);
    put::<4>(memory, address + at!(TaskStruct, flags), u64::from(info.flags));
    access::put_text(memory, address + at!(TaskStruct, comm), 16, info.comm);
    put::<8>(memory, address + at!(TaskStruct, start_time), info.start_time);
    put::<8>(memory, address + at!(TaskStruct, start_boottime), info.start_time);
    put::<4>(memory, address + at!(TaskStruct, thread_info.cpu), u64::from(cpu.0));
    put::<4>(memory, address + at!(TaskStruct, wake_cpu), u64::from(cpu.0));
    put::<4>(memory, address + at!(TaskStruct, recent_used_cpu), u64::from(cpu.0));
    put::<8>(memory, address + at!(TaskStruct, group_leader), address);
    for offset in [at!(TaskStruct, prio), at!(TaskStruct, static_prio), at!(TaskStruct, normal_prio)] {
        put::<4>(memory, address + offset, 120);
    }
    for offset in [at!(TaskStruct, scx.sticky_cpu), at!(TaskStruct, scx.holding_cpu)] {
        put::<4>(memory, address + offset, -1_i64 as u64);
    }
}

impl Guest {
    /// Makes the object of `task`, with its affinity, CPU and priority as in `kernel`.
    ///
    /// # Errors
    /// [`FaultKind::Exhausted`] if it does not fit into the memory; then there is none.
    pub fn task_new(
        &mut self,
        memory: &mut Memory,
        kernel: &Kernel,
        task: TaskId,
        info: &GuestTaskInfo<'_>,
    ) -> Result<u64, FaultKind> {
        let known = kernel.task(task);
        let mm = self.mm_of(memory, info)?;
        let object = self.alloc_with_affinity(memory, task, known.allowed.as_deref());
        let address = object.inspect_err(|_| self.release_mm(memory, info.tgid, mm))?;
        if self.tasks.len() <= task.index() {
            self.tasks.resize(task.index() + 1, 0);
        }
        self.tasks[task.index()] = address;
        write_identity(memory, address, info, known.cpu);
        self.set_migration_disabled(memory, task, known.migration_disabled);
        self.join_thread_group(memory, task, info, mm);
        self.set_parent(memory, task, info.parent);
        self.set_scheduling(memory, known);
        if let Some(cgroup) = info.cgroup {
            self.set_task_cgroup(memory, task, cgroup);
        }
        if known.narrowed {
            let only = CpuMask::of(kernel.topology.nr_cpus, [known.cpu]);
            let narrowed = self.narrow_cpus_ptr(memory, task, &only);
            narrowed.inspect_err(|_| self.task_free(memory, task))?;
        }
        Ok(address)
    }

    /// Makes an object that has nothing but its affinity.
    fn alloc_with_affinity(
        &mut self,
        memory: &mut Memory,
        task: TaskId,
        allowed: Option<&CpuMask>,
    ) -> Result<u64, FaultKind> {
        let address = alloc_task(memory, &self.affinities, task.0)?;
        let written = write_affinity(memory, &mut self.affinities, address, allowed);
        written.inspect_err(|_| access::free(memory, address))?;
        Ok(address)
    }

    /// The memory map of the process that a task comes into, made if the task is its first; 0 for a kernel thread.
    fn mm_of(&self, memory: &mut Memory, info: &GuestTaskInfo<'_>) -> Result<u64, FaultKind> {
        if info.flags & PF_KTHREAD != 0 {
            return Ok(0);
        }
        match self.groups.groups.get(&info.tgid).map_or(0, |group| group.mm) {
            0 => memory.alloc(size_of::<MmStruct>() as u64, Protection::ReadOnly),
            mm => Ok(mm),
        }
    }

    /// The memory map was made for a task that does not come.
    fn release_mm(&self, memory: &mut Memory, tgid: i32, mm: u64) {
        let in_use = self.groups.groups.get(&tgid).is_some_and(|group| group.mm == mm);
        if mm != 0 && !in_use {
            access::free(memory, mm);
        }
    }

    fn join_thread_group(&mut self, memory: &mut Memory, task: TaskId, info: &GuestTaskInfo<'_>, mm: u64) {
        let address = self.task(task);
        let leader = self.groups.pids.get(&info.tgid).map(|leader| self.tasks[leader.index()]);
        self.groups.pids.insert(info.pid, task);
        let group = self.groups.groups.entry(info.tgid).or_default();
        put::<8>(memory, address + at!(TaskStruct, group_leader), leader.or(group.zombie).unwrap_or(address));
        group.members.insert(task);
        if mm != 0 {
            group.mm = mm;
            put::<8>(memory, address + at!(TaskStruct, mm), mm);
            put::<8>(memory, address + at!(TaskStruct, active_mm), mm);
        }
    }

    /// Frees the object of `task`; programs that still use it fault. That of a process's first thread stays until its other
    /// threads have gone, too, as that of a zombie does.
    pub fn task_free(&mut self, memory: &mut Memory, task: TaskId) {
        let address = self.task(task);
        self.unhash_pid(memory, task);
        self.forget_original_parent(memory, task);
        let leads = get::<8>(memory, address + at!(TaskStruct, group_leader)) == address;
        self.tasks[task.index()] = 0;
        let tgid = get::<4>(memory, address + at!(TaskStruct, tgid)) as i32;
        let Some(group) = self.groups.groups.get_mut(&tgid) else { return };
        group.members.remove(&task);
        if !group.members.is_empty() {
            if leads {
                group.zombie = Some(address);
            } else {
                self.free_object(memory, address);
            }
            return;
        }
        let (mm, zombie) = (group.mm, group.zombie);
        self.groups.groups.remove(&tgid);
        if mm != 0 {
            access::free(memory, mm);
        }
        for address in [Some(address), zombie].into_iter().flatten() {
            self.free_object(memory, address);
        }
    }

    fn free_object(&mut self, memory: &mut Memory, address: u64) {
        let mask = get::<8>(memory, address + at!(TaskStruct, cpus_ptr));
        self.affinities.release(memory, mask);
        access::free(memory, address);
    }

    /// The parent of `task` is `parent`, or init if that is none or gone.
    fn set_parent(&mut self, memory: &mut Memory, task: TaskId, parent: Option<TaskId>) {
        let address = self.task(task);
        let parent = parent.filter(|parent| self.task(*parent) != 0);
        if let Some(group) = parent.and_then(|parent| self.group_of(memory, parent)) {
            group.children.insert(task);
        }
        let parent = parent.map_or(self.cpus.init_task, |parent| self.task(parent));
        put::<8>(memory, address + at!(TaskStruct, real_parent), parent);
        put::<8>(memory, address + at!(TaskStruct, parent), parent);
    }

    /// `task` is being made by `maker`, or init: until that is done it has the parent of that one, whose copy it is
    /// (`copy_process`, which calls the scheduler before it sets the parent). Addresses: the maker's, and the parent's
    /// to be.
    pub fn begin_fork(&mut self, memory: &mut Memory, task: TaskId, maker: Option<TaskId>) -> (u64, u64) {
        let maker = maker.map_or(0, |maker| self.task(maker));
        let maker = if maker == 0 { self.cpus.init_task } else { maker };
        let address = self.task(task);
        let parent = get::<8>(memory, address + at!(TaskStruct, real_parent));
        let grandparent = get::<8>(memory, maker + at!(TaskStruct, real_parent));
        put::<8>(memory, address + at!(TaskStruct, real_parent), grandparent);
        (maker, parent)
    }

    /// `task` gets its parent, which [`Guest::begin_fork`] has told.
    pub fn end_fork(&mut self, memory: &mut Memory, task: TaskId, parent: u64) {
        put::<8>(memory, self.task(task) + at!(TaskStruct, real_parent), parent);
    }

    /// The process of `task`.
    fn group_of(&mut self, memory: &Memory, task: TaskId) -> Option<&mut ThreadGroup> {
        let tgid = get::<4>(memory, self.task(task) + at!(TaskStruct, tgid)) as i32;
        self.groups.groups.get_mut(&tgid)
    }

    /// `task` goes: another thread of its process is its children's parent now, else init. Its own parent forgets it.
    fn forget_original_parent(&mut self, memory: &mut Memory, task: TaskId) {
        let address = self.task(task);
        let own = get::<8>(memory, address + at!(TaskStruct, real_parent));
        let own = self.task_at(memory, own);
        if let Some(group) = own.and_then(|parent| self.group_of(memory, parent)) {
            group.children.remove(&task);
        }
        let Some(group) = self.group_of(memory, task) else { return };
        let heir = group.members.iter().copied().find(|member| *member != task);
        let children: Vec<TaskId> = group.children.iter().copied().collect();
        for child in children {
            if get::<8>(memory, self.task(child) + at!(TaskStruct, real_parent)) == address {
                self.set_parent(memory, child, heir);
            }
        }
    }

    /// `task` can no longer be found by its number (`__unhash_process`).
    pub fn unhash_pid(&mut self, memory: &Memory, task: TaskId) {
        let pid = self.pid(memory, task);
        if self.groups.pids.get(&pid) == Some(&task) {
            self.groups.pids.remove(&pid);
        }
    }

    /// The task with this number (`find_task_by_pid_ns`).
    pub fn task_by_pid(&self, pid: i32) -> Option<TaskId> {
        self.groups.pids.get(&pid).copied()
    }

    /// Address of a task's object; 0 if it has none.
    #[inline]
    pub fn task(&self, task: TaskId) -> u64 {
        self.tasks.get(task.index()).copied().unwrap_or(0)
    }

    /// The task whose object begins at `address`; idle tasks and init are none.
    #[inline]
    pub fn task_at(&self, memory: &Memory, address: u64) -> Option<TaskId> {
        let owner = memory.load::<4>(address.wrapping_add(at!(TaskStruct, owner))).ok()? as u32;
        let task = TaskId(owner);
        (address != 0 && self.task(task) == address).then_some(task)
    }

    /// Whether a task's object begins at `address`, also one of an idle task, of init or of a zombie.
    pub fn is_task(&self, memory: &Memory, address: u64) -> bool {
        let zombie = || {
            let tgid = memory.load::<4>(address.wrapping_add(at!(TaskStruct, tgid))).ok()? as i32;
            self.groups.groups.get(&tgid)?.zombie
        };
        address == self.cpus.init_task
            || self.task_at(memory, address).is_some()
            || self.idle_task_at(memory, address).is_some()
            || zombie() == Some(address)
    }

    /// The task whose object a program gives.
    ///
    /// # Errors
    /// There is none there; nor is an idle task one that could be inserted or moved.
    #[inline]
    pub fn expect_task(&self, memory: &Memory, address: u64) -> Result<TaskId, Fault> {
        let task = self.task_at(memory, address);
        task.ok_or_else(|| FaultKind::Misuse(format!("{address:#x} is no task")).into())
    }

    /// The CPU whose idle task's object begins at `address`.
    #[inline]
    pub fn idle_task_at(&self, memory: &Memory, address: u64) -> Option<CpuId> {
        let cpu = memory.load::<4>(address.wrapping_add(at!(TaskStruct, thread_info.cpu))).ok()? as u32;
        (self.cpus.idle_tasks.get(cpu as usize) == Some(&address)).then_some(CpuId(cpu))
    }

    /// `comm`.
    pub fn comm(&self, memory: &Memory, task: TaskId) -> String {
        let name = memory.read_string(self.task(task) + at!(TaskStruct, comm), 16);
        String::from_utf8_lossy(name.unwrap_or_default()).into_owned()
    }

    /// `pid`.
    pub fn pid(&self, memory: &Memory, task: TaskId) -> i32 {
        get::<4>(memory, self.task(task) + at!(TaskStruct, pid)) as i32
    }

    /// The task as messages name it: `comm[pid]`.
    pub fn comm_pid(&self, memory: &Memory, task: TaskId) -> String {
        format!("{}[{}]", self.comm(memory, task), self.pid(memory, task))
    }

    /// `scx.slice`, ns.
    #[inline]
    pub fn slice(&self, memory: &Memory, task: TaskId) -> u64 {
        get::<8>(memory, self.task(task) + at!(TaskStruct, scx.slice))
    }

    /// Sets `scx.slice`, ns.
    #[inline]
    pub fn set_slice(&self, memory: &mut Memory, task: TaskId, slice: u64) {
        put::<8>(memory, self.task(task) + at!(TaskStruct, scx.slice), slice);
    }

    /// `scx.dsq_vtime`.
    #[inline]
    pub fn dsq_vtime(&self, memory: &Memory, task: TaskId) -> u64 {
        get::<8>(memory, self.task(task) + at!(TaskStruct, scx.dsq_vtime))
    }

    /// Sets `scx.dsq_vtime`.
    #[inline]
    pub fn set_dsq_vtime(&self, memory: &mut Memory, task: TaskId, vtime: u64) {
        put::<8>(memory, self.task(task) + at!(TaskStruct, scx.dsq_vtime), vtime);
    }

    /// `scx.disallow`.
    pub fn disallow(&self, memory: &Memory, task: TaskId) -> bool {
        get::<1>(memory, self.task(task) + at!(TaskStruct, scx.disallow)) != 0
    }

    /// Sets `scx.disallow`.
    pub fn set_disallow(&self, memory: &mut Memory, task: TaskId, disallow: bool) {
        put::<1>(memory, self.task(task) + at!(TaskStruct, scx.disallow), u64::from(disallow));
    }

    /// Sets `scx.weight`, 1..=10000.
    pub fn set_weight(&self, memory: &mut Memory, task: TaskId, weight: u32) {
        put::<4>(memory, self.task(task) + at!(TaskStruct, scx.weight), u64::from(weight));
    }

    /// Sets `scx.flags` (`SCX_TASK_*`).
    #[inline]
    pub fn set_scx_flags(&self, memory: &mut Memory, task: TaskId, flags: u32) {
        put::<4>(memory, self.task(task) + at!(TaskStruct, scx.flags), u64::from(flags));
    }

    /// Sets `scx.runnable_at`, in ticks.
    #[inline]
    pub fn set_runnable_at(&self, memory: &mut Memory, task: TaskId, jiffies: u64) {
        put::<8>(memory, self.task(task) + at!(TaskStruct, scx.runnable_at), jiffies);
    }

    /// `PF_*` of a task.
    pub fn task_flags(&self, memory: &Memory, task: TaskId) -> u32 {
        get::<4>(memory, self.task(task) + at!(TaskStruct, flags)) as u32
    }

    /// Sets `flags` (`PF_*`).
    pub fn set_task_flags(&self, memory: &mut Memory, task: TaskId, flags: u32) {
        put::<4>(memory, self.task(task) + at!(TaskStruct, flags), u64::from(flags));
    }

    /// Sets which CPUs the task may use (`cpus_ptr`, `cpus_mask`, `nr_cpus_allowed`); `None` is all.
    ///
    /// # Errors
    /// [`FaultKind::Exhausted`] if a new mask does not fit into the memory.
    pub fn set_cpus_mask(
        &mut self,
        memory: &mut Memory,
        task: TaskId,
        mask: Option<&CpuMask>,
    ) -> Result<(), FaultKind> {
        let address = self.task(task);
        write_affinity(memory, &mut self.affinities, address, mask)
    }

    /// Makes `cpus_ptr` have `only`, and leaves `cpus_mask` and `nr_cpus_allowed` as they are.
    ///
    /// # Errors
    /// [`FaultKind::Exhausted`] if a new mask does not fit into the memory.
    pub fn narrow_cpus_ptr(&mut self, memory: &mut Memory, task: TaskId, only: &CpuMask) -> Result<(), FaultKind> {
        let place = self.task(task) + at!(TaskStruct, cpus_ptr);
        let new = self.affinities.acquire(memory, Some(only))?;
        let old = get::<8>(memory, place);
        put::<8>(memory, place, new.address);
        self.affinities.release(memory, old);
        Ok(())
    }

    /// Sets `migration_disabled`.
    pub fn set_migration_disabled(&self, memory: &mut Memory, task: TaskId, count: u16) {
        put::<2>(memory, self.task(task) + at!(TaskStruct, migration_disabled), u64::from(count));
    }

    /// Adds `more` to `migration_disabled` of the task whose object begins at `address`. It may be gone: then nothing happens.
    #[inline]
    pub fn add_migration_disabled(&self, memory: &mut Memory, address: u64, more: i16) {
        let place = address + at!(TaskStruct, migration_disabled);
        if let Ok(count) = memory.host_load::<2>(place) {
            memory.own_store::<2>(place, u64::from((count as u16).wrapping_add_signed(more)));
        }
    }

    /// Sets `uclamp[UCLAMP_MIN].value` and `uclamp[UCLAMP_MAX].value`, 0..=1024.
    pub fn set_uclamp(&self, memory: &mut Memory, task: TaskId, (min, max): (u64, u64)) {
        let clamps = self.task(task) + at!(TaskStruct, uclamp);
        put::<4>(memory, clamps, min);
        put::<4>(memory, clamps + size_of::<UclampSe>() as u64, max);
    }

    /// Address of the mask that `cpus_ptr` points to.
    pub fn cpus_ptr(&self, memory: &Memory, task: TaskId) -> u64 {
        get::<8>(memory, self.task(task) + at!(TaskStruct, cpus_ptr))
    }

    /// Sets the CPU that the task is on (`thread_info.cpu`, `wake_cpu`).
    #[inline]
    pub fn set_task_cpu(&self, memory: &mut Memory, task: TaskId, cpu: CpuId) {
        let address = self.task(task);
        put::<4>(memory, address + at!(TaskStruct, thread_info.cpu), u64::from(cpu.0));
        put::<4>(memory, address + at!(TaskStruct, wake_cpu), u64::from(cpu.0));
    }

    /// Sets `se.sum_exec_runtime`, ns.
    #[inline]
    pub fn set_sum_exec_runtime(&self, memory: &mut Memory, task: TaskId, runtime: Nanos) {
        put::<8>(memory, self.task(task) + at!(TaskStruct, se.sum_exec_runtime), runtime);
    }

    /// `se.sum_exec_runtime`, ns.
    #[inline]
    pub fn sum_exec_runtime(&self, memory: &Memory, task: TaskId) -> Nanos {
        get::<8>(memory, self.task(task) + at!(TaskStruct, se.sum_exec_runtime))
    }

    /// Sets `on_rq` and `__state`: whether the task is runnable or sleeps (`TASK_INTERRUPTIBLE`).
    #[inline]
    pub fn set_runnable(&self, memory: &mut Memory, task: TaskId, runnable: bool) {
        let address = self.task(task);
        put::<4>(memory, address + at!(TaskStruct, on_rq), u64::from(runnable));
        put::<4>(memory, address + at!(TaskStruct, state), u64::from(!runnable));
    }

    /// Writes policy and priorities as the kernel has them.
    pub fn set_scheduling(&self, memory: &mut Memory, task: &Task) {
        let address = self.task(task.id);
        let policy = policy_of(task.scheduling.policy);
        let static_prio = 120 + i64::from(task.nice);
        let prio = i64::from(task.kernel_priority());
        put::<4>(memory, address + at!(TaskStruct, policy), policy);
        put::<4>(memory, address + at!(TaskStruct, static_prio), static_prio as u64);
        put::<4>(memory, address + at!(TaskStruct, prio), prio as u64);
        put::<4>(memory, address + at!(TaskStruct, normal_prio), prio as u64);
        let rt_priority = if (0..100).contains(&prio) { 99 - prio } else { 0 };
        put::<4>(memory, address + at!(TaskStruct, rt_priority), rt_priority as u64);
        put::<8>(memory, address + at!(TaskStruct, se.load.weight), u64::from(task.weight));
    }
}

/// `SCHED_*` of a policy.
fn policy_of(policy: Policy) -> u64 {
    match policy {
        Policy::Other { .. } => 0,
        Policy::Fifo { .. } => 1,
        Policy::RoundRobin { .. } => 2,
        Policy::Batch { .. } => 3,
        Policy::Idle => 5,
        Policy::Deadline { .. } => 6,
        Policy::Ext { .. } => 7,
    }
}
