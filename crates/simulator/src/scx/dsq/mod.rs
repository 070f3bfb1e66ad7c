// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dispatch queues (`struct scx_dispatch_q`): one local per CPU, one global per NUMA node, and those of the scheduler.
//!
//! A queue is a list of tasks in the order of dispatch. Tasks go in at the tail or the head, or, ordered by virtual
//! time, behind the last one that is not later: the list is then in that order too (the kernel keeps a tree beside it
//! only to find the place). A task is in at most one queue. Nothing here calls the scheduler; [`dispatch`] does.
//!
//! - this file: the queues and which task is in which. `list`: links. [`iter`]: cursors of programs that walk a queue.
//!
//! Virtual time is read when a task goes in. The kernel reads it again at each comparison, which only a program can
//! tell that changes `dsq_vtime` of a queued task; the kernel says that this may mangle the order.
//!
//! [`dispatch`]: super::dispatch

pub mod iter;
mod list;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::abi::profile::{SCX_DSQ_FLAG_BUILTIN, SCX_DSQ_GLOBAL, SCX_DSQ_INVALID, SCX_DSQ_LOCAL};
use super::errno::{EEXIST, EINVAL};
use crate::kernel::Kernel;
use crate::kernel::paths::Lock;
use crate::units::{CpuId, TaskId};
use iter::Cursor;
use list::{Links, Node};

/// A queue, as the kernel's pointer to it; it stays valid while a task or a cursor is in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DsqRef(u32);

/// Where in a queue a task goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Before all others.
    Head,
    /// Behind all others.
    Tail,
    /// By virtual time, behind its equals.
    Vtime(u64),
}

/// What a queue held that does not fit how a task went in; it went in nevertheless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mixed {
    /// Ordered by virtual time into a queue of tasks that are not.
    HadFifo,
    /// Not ordered by virtual time into a queue of tasks that are.
    HadPriq,
}

/// All dispatch queues.
#[derive(Debug, Default)]
pub struct Dsqs {
    /// Local ones by CPU, then global ones by node, then those of the scheduler.
    queues: Vec<Dsq>,
    nr_cpus: usize,
    nodes: usize,
    /// Queues of the scheduler (`dsq_hash`), ascending by id: they are made once and looked for at each dispatch.
    users: Vec<(u64, DsqRef)>,
    /// Entries of `queues` to use again.
    unused: Vec<DsqRef>,
    /// Per task.
    entries: Vec<Entry>,
    cursors: Vec<Option<Cursor>>,
    /// Tasks ordered by virtual time so far: orders equals.
    ordered: u64,
    /// So many entries of `queues` have been counted against the memory.
    with_room: usize,
}

/// `struct scx_dispatch_q`.
#[derive(Debug, Default)]
struct Dsq {
    id: u64,
    /// Address of the queue's object in the programs' memory; 0: none.
    address: u64,
    first: Option<Node>,
    last: Option<Node>,
    /// Tasks ordered by virtual time.
    priq: BTreeMap<VtimeKey, TaskId>,
    /// Virtual time of the task that came first into the empty `priq`.
    base: u64,
    nr: u32,
    seq: u32,
    /// Iterators that refer to it.
    cursors: u32,
    destroyed: bool,
}

/// Virtual time relative to the queue's base, so that order survives wrapping (`time_before64`), and the order of
/// arrival. The kernel compares pairs, which is the same unless a queue spans more than half of all virtual time.
type VtimeKey = (i64, u64);

/// A task's part of `struct sched_ext_entity`.
#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    dsq: Option<DsqRef>,
    links: Links,
    /// `dsq_seq`.
    seq: u32,
    /// The task's place in the tree (`SCX_TASK_DSQ_ON_PRIQ`).
    key: Option<VtimeKey>,
}

impl Dsqs {
    /// The queues of the kernel, without any of a scheduler.
    pub fn new(nr_cpus: usize, nodes: usize) -> Self {
        let queue = |id| Dsq { id, ..Dsq::default() };
        let locals = (0..nr_cpus).map(|_| queue(SCX_DSQ_LOCAL));
        let globals = (0..nodes).map(|_| queue(SCX_DSQ_GLOBAL));
        Self { queues: locals.chain(globals).collect(), nr_cpus, nodes, ..Self::default() }
    }

    /// Number of NUMA nodes (`nr_node_ids`).
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// The local queue of `cpu`.
    pub fn local(&self, cpu: CpuId) -> DsqRef {
        debug_assert!(cpu.index() < self.nr_cpus, "a CPU of the machine");
        DsqRef(cpu.0)
    }

    /// The global queue of NUMA node `node`.
    pub fn global(&self, node: usize) -> DsqRef {
        debug_assert!(node < self.nodes, "a node of the machine");
        DsqRef((self.nr_cpus + node) as u32)
    }

    /// `find_global_dsq`: the global queue of the node whose CPU `task` is on.
    pub fn global_of(&self, kernel: &Kernel, task: TaskId) -> DsqRef {
        self.global(kernel.topology.node_of(kernel.task(task).cpu))
    }

    /// The CPU whose local queue `dsq` is.
    pub fn local_cpu(&self, dsq: DsqRef) -> Option<CpuId> {
        ((dsq.0 as usize) < self.nr_cpus).then_some(CpuId(dsq.0))
    }

    /// The NUMA node whose global queue `dsq` is.
    pub fn node_of(&self, dsq: DsqRef) -> Option<u32> {
        let node = (dsq.0 as usize).checked_sub(self.nr_cpus)?;
        (node < self.nodes).then_some(node as u32)
    }

    /// The queue's id; that of all local queues is [`SCX_DSQ_LOCAL`], of global ones [`SCX_DSQ_GLOBAL`].
    pub fn id(&self, dsq: DsqRef) -> u64 {
        self.queue(dsq).id
    }

    /// Address of the queue's object in the programs' memory; 0: none.
    pub fn address(&self, dsq: DsqRef) -> u64 {
        self.queue(dsq).address
    }

    /// The queue's object is at `address` now.
    pub fn set_address(&mut self, dsq: DsqRef, address: u64) {
        self.queue_mut(dsq).address = address;
    }

    /// `find_user_dsq`: the scheduler's queue `id`.
    pub fn find_user_dsq(&self, id: u64) -> Option<DsqRef> {
        self.user(id).ok().map(|at| self.users[at].1)
    }

    /// Ids of the scheduler's queues, ascending.
    pub fn user_ids(&self) -> Vec<u64> {
        self.users.iter().map(|(id, _)| *id).collect()
    }

    /// How many queues of the scheduler have higher ids than `id`.
    pub fn behind(&self, id: u64) -> u64 {
        let (Ok(place) | Err(place)) = self.user(id);
        (self.users.len() - place) as u64
    }

    /// Where the scheduler's queue `id` stands among the others, or would.
    #[inline]
    fn user(&self, id: u64) -> Result<usize, usize> {
        self.users.binary_search_by_key(&id, |(id, _)| *id)
    }

    /// `create_dsq`.
    ///
    /// # Errors
    /// `-EINVAL`: the id is one of the kernel's; `-EEXIST`.
    pub fn create(&mut self, id: u64) -> Result<DsqRef, i64> {
        if id & SCX_DSQ_FLAG_BUILTIN != 0 {
            return Err(-EINVAL);
        }
        let Err(place) = self.user(id) else { return Err(-EEXIST) };
        let queue = Dsq { id, ..Dsq::default() };
        let dsq = match self.unused.pop() {
            Some(unused) => {
                *self.queue_mut(unused) = queue;
                unused
            }
            None => {
                self.queues.push(queue);
                DsqRef((self.queues.len() - 1) as u32)
            }
        };
        self.users.insert(place, (id, dsq));
        Ok(dsq)
    }

    /// Whether room has not been found yet for what is kept of the queue `dsq`; queues come one by one.
    pub fn takes_room(&self, dsq: DsqRef) -> bool {
        dsq.0 as usize >= self.with_room.max(self.nr_cpus + self.nodes)
    }

    /// There is room for the queue `dsq`, also when another takes its place.
    pub fn has_room(&mut self, dsq: DsqRef) {
        self.with_room = self.with_room.max(dsq.0 as usize + 1);
    }

    /// `destroy_dsq`; no such queue: nothing happens.
    ///
    /// # Errors
    /// The number of tasks in the queue, which stays.
    pub fn destroy(&mut self, id: u64) -> Result<(), u32> {
        let Ok(place) = self.user(id) else { return Ok(()) };
        let (_, dsq) = self.users[place];
        let queue = self.queue_mut(dsq);
        if queue.nr > 0 {
            return Err(queue.nr);
        }
        queue.id = SCX_DSQ_INVALID;
        queue.destroyed = true;
        self.users.remove(place);
        self.reuse(dsq);
        Ok(())
    }

    /// Number of tasks in the queue.
    pub fn nr(&self, dsq: DsqRef) -> u32 {
        self.queue(dsq).nr
    }

    /// The lock of `dsq`; a local queue has that of its CPU's run queue.
    pub fn lock(&self, dsq: DsqRef) -> Option<Lock> {
        dsq.0.checked_sub(self.nr_cpus as u32).map(Lock::Dsq)
    }

    /// Levels of a balanced tree of the tasks in `dsq`.
    pub fn levels(&self, dsq: DsqRef) -> u32 {
        self.nr(dsq).checked_ilog2().map_or(0, |levels| levels + 1)
    }

    /// Number of tasks in the local queue of `cpu`.
    pub fn local_nr(&self, cpu: CpuId) -> u32 {
        self.nr(self.local(cpu))
    }

    /// The queue that `task` is in.
    pub fn dsq_of(&self, task: TaskId) -> Option<DsqRef> {
        self.entries.get(task.index()).and_then(|entry| entry.dsq)
    }

    /// `dsq_seq` of `task`: counts what went into its queue until it did.
    pub fn seq_of(&self, task: TaskId) -> u32 {
        self.entries.get(task.index()).map_or(0, |entry| entry.seq)
    }

    /// Whether `task` is in a queue by virtual time (`SCX_TASK_DSQ_ON_PRIQ`).
    pub fn is_on_priq(&self, task: TaskId) -> bool {
        self.entries.get(task.index()).is_some_and(|entry| entry.key.is_some())
    }

    /// Puts `task`, which is in no queue, into `dsq`; in the way that the queue is not used so far: what it held.
    pub fn insert(&mut self, dsq: DsqRef, task: TaskId, place: Place) -> Option<Mixed> {
        debug_assert_eq!(self.dsq_of(task), None, "a task is in one queue");
        let ordered = !self.queue(dsq).priq.is_empty();
        let mixed = match place {
            Place::Vtime(_) => (!ordered && self.first(dsq).is_some()).then_some(Mixed::HadFifo),
            Place::Head | Place::Tail => ordered.then_some(Mixed::HadPriq),
        };
        self.link_task(dsq, task, place);
        let queue = self.queue_mut(dsq);
        queue.seq = queue.seq.wrapping_add(1);
        let seq = queue.seq;
        self.entries[task.index()].seq = seq;
        mixed
    }

    /// Puts `task` into the local queue of `cpu` as `move_local_task_to_local_dsq` does: without counting it as new.
    pub fn insert_moved(&mut self, cpu: CpuId, task: TaskId, place: Place) {
        debug_assert_eq!(self.dsq_of(task), None, "a task is in one queue");
        self.link_task(self.local(cpu), task, place);
    }

    /// Takes `task` out of its queue (`task_unlink_from_dsq`); which that was.
    pub fn remove(&mut self, task: TaskId) -> Option<DsqRef> {
        let dsq = self.dsq_of(task)?;
        if let Some(key) = self.entries[task.index()].key.take() {
            self.queue_mut(dsq).priq.remove(&key);
        }
        self.unlink(dsq, Node::Task(task));
        self.entries[task.index()].dsq = None;
        self.queue_mut(dsq).nr -= 1;
        Some(dsq)
    }

    /// The first task of the queue.
    pub fn first(&self, dsq: DsqRef) -> Option<TaskId> {
        self.next_task(dsq, None, false)
    }

    /// `nldsq_next_task` between tasks: the one after `task`, which is in the queue.
    pub fn after(&self, dsq: DsqRef, task: TaskId) -> Option<TaskId> {
        self.next_task(dsq, Some(Node::Task(task)), false)
    }

    /// All tasks of the queue in the order of dispatch.
    pub fn tasks(&self, dsq: DsqRef) -> impl Iterator<Item = TaskId> + '_ {
        std::iter::successors(self.first(dsq), move |task| self.after(dsq, *task))
    }

    /// Asserts that queues and tasks agree on which task is where.
    pub fn audit(&self) {
        let mut found = vec![false; self.entries.len()];
        let used = |dsq: &DsqRef| self.queue(*dsq).nr > 0 || self.queue(*dsq).first.is_some();
        for dsq in (0..self.queues.len()).map(|index| DsqRef(index as u32)).filter(used) {
            let mut count = 0;
            for task in self.tasks(dsq) {
                assert!(!std::mem::replace(&mut found[task.index()], true), "task {task} is in two queues");
                assert_eq!(self.dsq_of(task), Some(dsq), "the queue of task {task}");
                count += 1;
            }
            let queue = self.queue(dsq);
            assert_eq!(queue.nr, count, "tasks in queue {:#x}", queue.id);
            assert!(queue.priq.is_empty() || queue.priq.len() as u32 == count, "a queue is ordered in part");
        }
        for (task, entry) in self.entries.iter().enumerate() {
            assert_eq!(entry.dsq.is_some(), found[task], "whether task {task} is in a queue");
        }
    }

    fn link_task(&mut self, dsq: DsqRef, task: TaskId, place: Place) {
        if self.entries.len() <= task.index() {
            self.entries.resize(task.index() + 1, Entry::default());
        }
        match place {
            Place::Head => self.link_after(dsq, Node::Task(task), None),
            Place::Tail => self.link_before(dsq, Node::Task(task), None),
            Place::Vtime(vtime) => self.link_by_vtime(dsq, task, vtime),
        }
        self.entries[task.index()].dsq = Some(dsq);
        self.queue_mut(dsq).nr += 1;
    }

    /// Behind the last task that is not later.
    fn link_by_vtime(&mut self, dsq: DsqRef, task: TaskId, vtime: u64) {
        self.ordered += 1;
        let ordered = self.ordered;
        let queue = self.queue_mut(dsq);
        if queue.priq.is_empty() {
            queue.base = vtime;
        }
        let key = (vtime.wrapping_sub(queue.base) as i64, ordered);
        let prev = queue.priq.range(..key).next_back().map(|(_, prev)| Node::Task(*prev));
        queue.priq.insert(key, task);
        self.entries[task.index()].key = Some(key);
        self.link_after(dsq, Node::Task(task), prev);
    }

    /// Lets the memory of a destroyed queue be used again once no iterator refers to it.
    fn reuse(&mut self, dsq: DsqRef) {
        let queue = self.queue_mut(dsq);
        if queue.destroyed && queue.cursors == 0 {
            queue.destroyed = false;
            self.unused.push(dsq);
        }
    }

    fn queue(&self, dsq: DsqRef) -> &Dsq {
        &self.queues[dsq.0 as usize]
    }

    fn queue_mut(&mut self, dsq: DsqRef) -> &mut Dsq {
        &mut self.queues[dsq.0 as usize]
    }
}
