// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tree of cgroups that a workload's threads are in (`kernel/cgroup/cgroup.c`).
//!
//! All groups that a workload names, and those above them, exist from the start unless it says otherwise. The fair class shares time
//! among them (`fair::groups`), loaded schedulers see them.

use std::collections::VecDeque;
use std::sync::Arc;

use super::cpumask::CpuMask;
use super::task::{NICE_0_WEIGHT, WEIGHT_IDLEPRIO, weight_of_nice};
use crate::units::{CAPACITY_SCALE, CgroupId, CpuId};
use crate::workload::{CgroupWrite, CpuMax, Op, Workload};

/// `CGROUP_WEIGHT_DFL`.
pub const CGROUP_WEIGHT_DFL: u32 = 100;
/// The least weight of a group, and of its entity on a CPU (`MIN_SHARES`).
pub const MIN_SHARES: u32 = 2;
/// The most that a group may weigh (`MAX_SHARES`).
pub const MAX_SHARES: u32 = 1 << 18;

/// `sched_weight_from_cgroup`.
fn sched_weight_from_cgroup(weight: u32) -> u32 {
    ((weight * 1024 + CGROUP_WEIGHT_DFL / 2) / CGROUP_WEIGHT_DFL).clamp(MIN_SHARES, MAX_SHARES)
}

/// `sched_weight_to_cgroup`.
fn sched_weight_to_cgroup(weight: u32) -> u32 {
    ((weight * CGROUP_WEIGHT_DFL + 512) / 1024).clamp(1, 10_000)
}

/// Why the kernel does not take what is written to a group's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// `sched_group_set_shares`.
    #[error("an idle group takes no weight")]
    Idle,
    /// `update_cpumask`.
    #[error("the machine has none of these CPUs")]
    NoCpu,
}

/// A group's clamps of utilisation, each 0..=1024 (`uclamp` of `struct task_group`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupClamps {
    /// `cpu.uclamp.min`.
    pub min: u32,
    /// `cpu.uclamp.max`.
    pub max: u32,
}

impl GroupClamps {
    /// Those of a group of which nothing was said. Threads in the root are not restricted either.
    pub const NONE: Self = Self { min: 0, max: CAPACITY_SCALE as u32 };

    /// What bounds the groups directly below the root: nothing (`init_uclamp` gives the root the highest of both).
    const OF_ROOT: Self = Self { min: CAPACITY_SCALE as u32, max: CAPACITY_SCALE as u32 };

    /// What comes of a request in a group whose effective clamps are `parent` (`cpu_util_update_eff`): no more than the
    /// parent has, and no more protection than the limit allows.
    fn effective(self, parent: Self) -> Self {
        let max = self.max.min(parent.max);
        Self { min: self.min.min(parent.min).min(max), max }
    }
}

/// A cgroup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cgroup {
    /// Last part of its path; empty for the root.
    pub name: String,
    /// The group that it is in; `None` for the root.
    pub parent: Option<CgroupId>,
    /// Groups in it, in the order of their making.
    pub children: Vec<CgroupId>,
    /// Steps from the root, which has 0.
    pub level: u32,
    /// `cpu.weight`, 1..=10000, as loaded schedulers know it (`tg->scx_weight`).
    pub weight: u32,
    /// What the group weighs among fair tasks, 2..=2^18: 1024 is `cpu.weight` 100, an idle one has 3 (`tg->shares`, scaled down).
    pub shares: u32,
    /// `cpu.idle`: its tasks get what idle ones do.
    pub idle: bool,
    /// `cpu.max`; `None`: no limit.
    pub max: Option<CpuMax>,
    /// `cpuset.cpus`; `None`: whatever the group above has.
    pub cpus: Option<CpuMask>,
    /// The CPUs that its tasks may use; `None`: all (`cpuset.cpus.effective`, but for CPUs that are offline).
    pub effective_cpus: Option<Arc<CpuMask>>,
    /// Effective clamps of utilisation: `min` is not above `max`.
    pub uclamp: GroupClamps,
    /// Whether the group has been made and not been removed.
    pub online: bool,
    /// Whether it is no cgroup, but a session's task group (`struct autogroup`), which only the fair class knows.
    pub autogroup: bool,
}

/// All cgroups, by [`CgroupId`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CgroupTree {
    groups: Vec<Cgroup>,
    /// The session's group, by kind of task; nothing unless there are such groups.
    sessions: Vec<Option<CgroupId>>,
}

impl Default for CgroupTree {
    fn default() -> Self {
        Self { groups: vec![Cgroup::new("", None, 0)], sessions: Vec::new() }
    }
}

impl Cgroup {
    fn new(name: &str, parent: Option<CgroupId>, level: u32) -> Self {
        Self {
            name: name.to_owned(),
            parent,
            children: Vec::new(),
            level,
            weight: CGROUP_WEIGHT_DFL,
            shares: NICE_0_WEIGHT as u32,
            idle: false,
            max: None,
            cpus: None,
            effective_cpus: None,
            uclamp: GroupClamps::NONE,
            online: true,
            autogroup: false,
        }
    }
}

impl CgroupTree {
    /// The root.
    pub const ROOT: CgroupId = CgroupId(0);

    /// The groups that `workload` names, in the order of its tasks and their steps, on so many CPUs.
    pub fn of(workload: &Workload, nr_cpus: usize) -> Self {
        let mut tree = Self::default();
        for task in &workload.tasks {
            let later = task.program.iter().filter_map(|op| match op {
                Op::SetTaskGroup(group) => group.as_deref(),
                _ => None,
            });
            for path in task.task_group.as_deref().into_iter().chain(later) {
                tree.make(path);
            }
        }
        for spec in &workload.cgroups {
            let id = tree.make(&spec.path);
            for (_, write) in spec.writes.iter().filter(|(at, _)| *at == 0) {
                let _refused = tree.write(id, write, nr_cpus);
            }
            let group = tree.get_mut(id);
            group.online = spec.made == 0;
            group.uclamp.min = spec.util_min.unwrap_or(group.uclamp.min);
            group.uclamp.max = spec.util_max.unwrap_or(group.uclamp.max);
        }
        tree.update_effective_clamps();
        tree.update_effective_cpus();
        tree
    }

    /// Gives each session a task group of its own below the root (`sched_autogroup_create_attach`). An application is a session, and so
    /// is each of the system's daemons; kernel threads are in none.
    pub fn add_autogroups(&mut self, workload: &Workload) {
        let mut applications = vec![None; workload.applications.len()];
        let (mut sessions, mut count) = (Vec::with_capacity(workload.tasks.len()), 0);
        for kind in &workload.tasks {
            let mut own = None;
            let session = if kind.system { &mut own } else { &mut applications[kind.application] };
            if session.is_none() && !kind.kernel_thread {
                count += 1;
                let name = format!("autogroup-{count}");
                *session = Some(CgroupId::at(self.groups.len()));
                self.groups.push(Cgroup { autogroup: true, ..Cgroup::new(&name, Some(Self::ROOT), 1) });
            }
            sessions.push(session.filter(|_| !kind.kernel_thread));
        }
        self.sessions = sessions;
    }

    /// The session's group of tasks of kind `spec`, if sessions have groups.
    pub fn session(&self, spec: u32) -> Option<CgroupId> {
        self.sessions.get(spec as usize).copied().flatten()
    }

    /// Takes over what is written to a file of `id`; schedulers and tasks hear of it from the caller.
    ///
    /// # Errors
    /// The kernel refuses the write, and nothing changes.
    pub fn write(&mut self, id: CgroupId, write: &CgroupWrite, nr_cpus: usize) -> Result<(), Refused> {
        let group = self.get_mut(id);
        match write {
            CgroupWrite::Weight(_) | CgroupWrite::WeightNice(_) if group.idle => return Err(Refused::Idle),
            CgroupWrite::Weight(weight) => (group.weight, group.shares) = (*weight, sched_weight_from_cgroup(*weight)),
            CgroupWrite::WeightNice(nice) => {
                group.shares = weight_of_nice(*nice).clamp(MIN_SHARES, MAX_SHARES);
                group.weight = sched_weight_to_cgroup(weight_of_nice(*nice));
            }
            CgroupWrite::Idle(idle) if group.idle == *idle => {}
            CgroupWrite::Idle(idle) => {
                group.idle = *idle;
                // What it weighed before is forgotten.
                group.shares = if *idle { WEIGHT_IDLEPRIO } else { NICE_0_WEIGHT as u32 };
            }
            CgroupWrite::Max(max) => group.max = *max,
            CgroupWrite::Cpus(cpus) => {
                // A kernel wants all of them to be there; a workload is for many machines.
                let usable = cpus.iter().filter(|cpu| (**cpu as usize) < nr_cpus).map(|cpu| CpuId(*cpu));
                let mask = CpuMask::of(nr_cpus, usable);
                if mask.is_empty() {
                    return Err(Refused::NoCpu);
                }
                group.cpus = Some(mask);
            }
        }
        Ok(())
    }

    /// Finds which CPUs each group leaves its tasks (`update_cpumasks_hier`): what it asks for of what the group above has, or all
    /// of that where it asks for nothing or for nothing of it.
    pub fn update_effective_cpus(&mut self) {
        for id in (1..self.groups.len()).map(CgroupId::at) {
            let above = self.get(id).parent.and_then(|parent| self.get(parent).effective_cpus.clone());
            let group = self.get_mut(id);
            group.effective_cpus = match (&group.cpus, above) {
                (None, above) => above,
                (Some(own), None) => Some(Arc::new(own.clone())),
                (Some(own), Some(above)) => {
                    let both = own.and(&above);
                    Some(if both.is_empty() { above } else { Arc::new(both) })
                }
            };
        }
    }

    /// Makes effective clamps of what the groups ask for (`cpu_util_update_eff`).
    fn update_effective_clamps(&mut self) {
        for id in (1..self.groups.len()).map(CgroupId::at) {
            // A group is numbered after the one that it is in.
            let parent = match self.get(id).parent {
                Some(parent) if parent != Self::ROOT => self.get(parent).uclamp,
                _ => GroupClamps::OF_ROOT,
            };
            let group = self.get_mut(id);
            group.uclamp = group.uclamp.effective(parent);
        }
    }

    /// Whether some group has clamps.
    pub fn has_clamps(&self) -> bool {
        self.groups.iter().any(|group| group.uclamp != GroupClamps::NONE)
    }

    /// The group with this path, made if there is none, as are those above it (`mkdir -p`).
    pub fn make(&mut self, path: &str) -> CgroupId {
        parts(path).fold(Self::ROOT, |parent, name| self.child(parent, name).unwrap_or_else(|| self.add(parent, name)))
    }

    /// The group with this path.
    pub fn find(&self, path: &str) -> Option<CgroupId> {
        parts(path).try_fold(Self::ROOT, |parent, name| self.child(parent, name))
    }

    /// The group `id`.
    pub fn get(&self, id: CgroupId) -> &Cgroup {
        &self.groups[id.index()]
    }

    /// The group `id`, to change.
    pub fn get_mut(&mut self, id: CgroupId) -> &mut Cgroup {
        &mut self.groups[id.index()]
    }

    /// `id`, the group that it is in, and so on up to the root.
    pub fn ancestors(&self, id: CgroupId) -> impl Iterator<Item = CgroupId> + '_ {
        std::iter::successors(Some(id), |id| self.get(*id).parent)
    }

    /// All groups, by number.
    pub fn all(&self) -> impl Iterator<Item = &Cgroup> {
        self.groups.iter()
    }

    /// Number of groups, the root included.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// The group's number in its file system (`kn->id`): the root has 1, the others follow in the order of their making.
    /// (A kernel also numbers the files in each group.)
    pub fn kernfs_id(id: CgroupId) -> u64 {
        u64::from(id.0) + 1
    }

    /// The path from the root: `/` or `/a/b`.
    pub fn path(&self, id: CgroupId) -> String {
        let mut names = VecDeque::new();
        let mut group = self.get(id);
        while let Some(parent) = group.parent {
            names.push_front(group.name.as_str());
            group = self.get(parent);
        }
        names.iter().fold(String::new(), |path, name| path + "/" + name) + if names.is_empty() { "/" } else { "" }
    }

    /// Whether it may be removed: nothing is in it but groups that are gone.
    pub fn is_empty(&self, id: CgroupId) -> bool {
        !self.get(id).children.iter().any(|child| self.get(*child).online)
    }

    /// All groups, each before those in it (`css_for_each_descendant_pre`).
    pub fn pre_order(&self) -> Vec<CgroupId> {
        let (mut order, mut stack) = (Vec::new(), vec![Self::ROOT]);
        while let Some(id) = stack.pop() {
            order.push(id);
            stack.extend(self.get(id).children.iter().rev().filter(|child| self.get(**child).online));
        }
        order
    }

    /// All groups, each after those in it (`css_for_each_descendant_post`).
    pub fn post_order(&self) -> Vec<CgroupId> {
        // The same walk with the children the other way round, backwards.
        let (mut order, mut stack) = (Vec::new(), vec![Self::ROOT]);
        while let Some(id) = stack.pop() {
            order.push(id);
            stack.extend(self.get(id).children.iter().filter(|child| self.get(**child).online));
        }
        order.reverse();
        order
    }

    fn child(&self, parent: CgroupId, name: &str) -> Option<CgroupId> {
        self.get(parent).children.iter().copied().find(|child| self.get(*child).name == name)
    }

    fn add(&mut self, parent: CgroupId, name: &str) -> CgroupId {
        let id = CgroupId::at(self.groups.len());
        let level = self.get(parent).level + 1;
        self.groups.push(Cgroup::new(name, Some(parent), level));
        self.get_mut(parent).children.push(id);
        id
    }
}

/// The names in a path; `//` is one separator, as in any path.
fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{CgroupSpec, TaskSpec};

    fn tree(paths: &[&str]) -> CgroupTree {
        let mut tree = CgroupTree::default();
        for path in paths {
            tree.make(path);
        }
        tree
    }

    fn paths(tree: &CgroupTree, order: &[CgroupId]) -> Vec<String> {
        order.iter().map(|id| tree.path(*id)).collect()
    }

    #[test]
    fn the_groups_above_a_group_are_made_with_it_and_only_once() {
        let tree = tree(&["/a/b", "/a/c/", "//a"]);
        assert_eq!(tree.len(), 4);
        assert_eq!(tree.find("/a/c").map(|id| (id.0, tree.get(id).level)), Some((3, 2)));
        assert_eq!(tree.find("/"), Some(CgroupTree::ROOT));
        assert_eq!(tree.find("/b"), None);
    }

    #[test]
    fn numbers_count_from_the_roots_one() {
        let tree = tree(&["/a", "/b"]);
        let ids = ["/", "/a", "/b"].map(|path| tree.find(path).map(CgroupTree::kernfs_id));
        assert_eq!(ids, [Some(1), Some(2), Some(3)]);
    }

    #[test]
    fn both_orders_keep_siblings_as_they_were_made() {
        let tree = tree(&["/b/x", "/b/y", "/a/z"]);
        assert_eq!(paths(&tree, &tree.pre_order()), ["/", "/b", "/b/x", "/b/y", "/a", "/a/z"]);
        assert_eq!(paths(&tree, &tree.post_order()), ["/b/x", "/b/y", "/b", "/a/z", "/a", "/"]);
    }

    #[test]
    fn a_group_gets_no_more_than_the_one_that_it_is_in() {
        let spec = |path: &str, util_min, util_max| CgroupSpec {
            path: path.to_owned(),
            util_min,
            util_max,
            ..CgroupSpec::default()
        };
        let cgroups = vec![
            spec("/top/app", Some(600), None),
            spec("/top", Some(400), Some(800)),
            spec("/top/none", None, None),
            spec("/back", None, Some(300)),
            spec("/back/app", Some(500), Some(900)),
            spec("/odd", Some(700), Some(200)),
        ];
        let forkjoin = Workload::load(std::path::Path::new("forkjoin")).expect("a bundled workload");
        let tree = CgroupTree::of(&Workload { cgroups, ..forkjoin }, 8);
        let clamps = |path| tree.find(path).map(|id| (tree.get(id).uclamp.min, tree.get(id).uclamp.max));
        assert_eq!(clamps("/top"), Some((400, 800)));
        assert_eq!(clamps("/top/app"), Some((400, 800)), "600 and none, capped by the group above");
        assert_eq!(clamps("/top/none"), Some((0, 800)), "protection is not inherited, a limit is");
        assert_eq!(clamps("/back/app"), Some((0, 300)), "a group without protection has none to give");
        assert_eq!(clamps("/odd"), Some((200, 200)), "the limit counts more than protection");
        assert!(tree.has_clamps());
    }

    #[test]
    fn the_groups_of_tasks_and_of_their_steps_exist_from_the_start() {
        let mut first = TaskSpec::new("first", vec![Op::SetTaskGroup(Some("/late".into())), Op::SetTaskGroup(None)]);
        first.task_group = Some("/early".into());
        let tasks = vec![TaskSpec::new("none", Vec::new()), first];
        let forkjoin = Workload::load(std::path::Path::new("forkjoin")).expect("a bundled workload");
        let workload = Workload { tasks, ..forkjoin };
        let tree = CgroupTree::of(&workload, 8);
        assert_eq!(paths(&tree, &tree.pre_order()), ["/", "/early", "/late"]);
    }
}
