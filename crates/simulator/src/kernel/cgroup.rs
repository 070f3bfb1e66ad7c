// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tree of cgroups that a workload's threads are in (`kernel/cgroup/cgroup.c`).
//!
//! All groups that a workload names, and those above them, exist from the start unless it says otherwise. Loaded
//! schedulers see them; the fair class does not share time by group.

use std::collections::VecDeque;

use crate::units::CgroupId;
use crate::workload::{Op, Workload};

/// `CGROUP_WEIGHT_DFL`.
pub const CGROUP_WEIGHT_DFL: u32 = 100;

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
    /// `cpu.weight`, 1..=10000.
    pub weight: u32,
    /// Whether the group has been made and not been removed.
    pub online: bool,
}

/// All cgroups, by [`CgroupId`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CgroupTree {
    groups: Vec<Cgroup>,
}

impl Default for CgroupTree {
    fn default() -> Self {
        Self { groups: vec![Cgroup::new("", None, 0)] }
    }
}

impl Cgroup {
    fn new(name: &str, parent: Option<CgroupId>, level: u32) -> Self {
        Self { name: name.to_owned(), parent, children: Vec::new(), level, weight: CGROUP_WEIGHT_DFL, online: true }
    }
}

impl CgroupTree {
    /// The root.
    pub const ROOT: CgroupId = CgroupId(0);

    /// The groups that `workload` names, in the order of its tasks and their steps.
    pub fn of(workload: &Workload) -> Self {
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
            let group = tree.make(&spec.path);
            let group = tree.get_mut(group);
            group.online = spec.made == 0;
            group.weight =
                spec.weights.iter().find(|(at, _)| *at == 0).map_or(CGROUP_WEIGHT_DFL, |(_, weight)| *weight);
        }
        tree
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
    use crate::workload::TaskSpec;

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
    fn the_groups_of_tasks_and_of_their_steps_exist_from_the_start() {
        let mut first = TaskSpec::new("first", vec![Op::SetTaskGroup(Some("/late".into())), Op::SetTaskGroup(None)]);
        first.task_group = Some("/early".into());
        let tasks = vec![TaskSpec::new("none", Vec::new()), first];
        let forkjoin = Workload::load(std::path::Path::new("forkjoin")).expect("a bundled workload");
        let workload = Workload { tasks, ..forkjoin };
        let tree = CgroupTree::of(&workload);
        assert_eq!(paths(&tree, &tree.pre_order()), ["/", "/early", "/late"]);
    }
}
