// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes and threads as `/proc` shows them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::tasks::{Listing, Tasks};

/// The flag of the kernel's own threads (`PF_KTHREAD`).
const PF_KTHREAD: u64 = 0x0020_0000;

/// A process, or one of its threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Number of the thread or process.
    pub id: u32,
    /// The process that it belongs to (`Tgid`).
    pub group: u32,
    /// That one's parent.
    pub parent: u32,
    /// Real, effective, saved and file system user (`Uid`).
    pub users: [u32; 4],
    /// Whether it is one of the kernel's own threads.
    pub kernel: bool,
    /// When it began, in the kernel's ticks since the machine started: a number that is used again begins later.
    pub start_time: u64,
    /// Name of the thread or process (`comm`).
    pub name: String,
}

impl Process {
    /// Reads a process or a thread from the `proc` below `root`; `None` if there is none of this number, or it has ended.
    pub fn read(root: &Path, id: u32) -> Option<Self> {
        let status = fs::read_to_string(root.join(format!("proc/{id}/status"))).ok()?;
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let mut users = field("Uid")?.split_whitespace().map_while(|user| user.parse().ok());
        let users = [users.next()?, users.next()?, users.next()?, users.next()?];
        let stat = Tasks::below(root).process(id).filter(|stat| !stat.is_dead())?;
        Some(Self {
            id,
            group: field("Tgid")?.trim().parse().ok()?,
            parent: stat.parent,
            users,
            kernel: stat.flags & PF_KTHREAD != 0,
            start_time: stat.start_time,
            name: stat.name,
        })
    }

    /// The one user that it is, if it is only one: not while it has somebody else's rights, or has lent its own.
    pub fn user(&self) -> Option<u32> {
        let [real, effective, saved, _] = self.users;
        (real == effective && real == saved).then_some(real)
    }
}

/// The numbers of a process's threads, ascending; none if it is gone.
pub fn threads(root: &Path, process: u32) -> Vec<u32> {
    Tasks::below(root).threads(process)
}

/// A process and all that descend from it now. Whose parent has ended belongs to `init` by then, or to whoever
/// adopts orphans.
pub fn tree(root: &Path, process: u32) -> BTreeSet<u32> {
    let mut walk = Walk::begin(root);
    while walk.go_on(usize::MAX) {}
    walk.family().below(process, |_| false).into_iter().collect()
}

/// A look at all processes, in portions: where there are tens of thousands, or more all the time, it takes seconds.
#[derive(Debug)]
pub struct Walk {
    tasks: Tasks,
    listing: Listing,
    family: Family,
}

impl Walk {
    /// Begins to look.
    pub fn begin(root: &Path) -> Self {
        let tasks = Tasks::below(root);
        Self { listing: tasks.listing(), tasks, family: Family::default() }
    }

    /// Looks at so many more processes; false once all have been seen.
    pub fn go_on(&mut self, most: usize) -> bool {
        let mut seen = 0;
        while seen < most {
            let Some(id) = self.listing.next() else { return false };
            seen += 1;
            if let Some(stat) = self.tasks.process(id) {
                self.family.children.entry(stat.parent).or_default().push(id);
            }
        }
        true
    }

    /// What was seen.
    pub fn family(self) -> Family {
        self.family
    }
}

/// Who is whose child.
#[derive(Debug, Default)]
pub struct Family {
    children: BTreeMap<u32, Vec<u32>>,
}

impl Family {
    /// A process and all that descend from it, parents before their children; but not those that `apart` says are apart, nor
    /// what descends from these.
    pub fn below(&self, process: u32, apart: impl Fn(u32) -> bool) -> Vec<u32> {
        let (mut known, mut found) = (BTreeSet::from([process]), vec![process]);
        let mut at = 0;
        while let Some(next) = found.get(at) {
            at += 1;
            let children = self.children.get(next).into_iter().flatten().copied();
            let new: Vec<u32> = children.filter(|child| !apart(*child) && known.insert(*child)).collect();
            found.extend(new);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process in a fake tree.
    fn write(root: &Path, id: u32, parent: u32, name: &str, state: &str, flags: u64) {
        let folder = root.join(format!("proc/{id}"));
        fs::create_dir_all(&folder).unwrap();
        let status = format!("Name:\t{name}\nTgid:\t{id}\nPPid:\t{parent}\nUid:\t7\t7\t7\t7\n");
        fs::write(folder.join("status"), status).unwrap();
        let stat = format!("{id} ({name}) {state} {parent} 0 0 0 0 {flags} 0 0 0 0 0 0 0 0 20 0 1 0 4321 0");
        fs::write(folder.join("stat"), stat).unwrap();
    }

    #[test]
    fn a_name_with_brackets_hides_no_field() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), 5, 1, "a) Z 9 (b", "S", 0);
        let process = Process::read(root.path(), 5).unwrap();
        assert_eq!((process.parent, process.start_time, process.kernel, process.user()), (1, 4321, false, Some(7)));
    }

    #[test]
    fn who_has_ended_is_none() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), 5, 1, "gone", "Z", 0);
        assert_eq!((Process::read(root.path(), 5), Process::read(root.path(), 6)), (None, None));
    }

    #[test]
    fn the_kernels_own_threads_are_known_by_their_flag() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), 2, 0, "kthreadd", "S", 0x0020_8040);
        assert!(Process::read(root.path(), 2).unwrap().kernel);
    }

    #[test]
    fn who_runs_with_anothers_rights_is_nobody_in_particular() {
        let process = Process {
            id: 5,
            group: 5,
            parent: 1,
            users: [1000, 0, 0, 0],
            kernel: false,
            start_time: 1,
            name: "sudo".to_owned(),
        };
        assert_eq!(process.user(), None);
    }

    #[test]
    fn a_tree_has_children_of_children_and_nobody_else() {
        let root = tempfile::tempdir().unwrap();
        for (id, parent) in [(10, 1), (11, 10), (12, 11), (13, 1), (14, 13)] {
            write(root.path(), id, parent, "p", "S", 0);
        }
        assert_eq!(tree(root.path(), 10), BTreeSet::from([10, 11, 12]));
        assert_eq!(tree(root.path(), 99), BTreeSet::from([99]));
    }

    #[test]
    fn a_walk_in_portions_sees_what_one_at_once_sees() {
        let root = tempfile::tempdir().unwrap();
        (10..20).for_each(|id| write(root.path(), id, id - 1, "p", "S", 0));
        let mut walk = Walk::begin(root.path());
        let portions = (0..20).take_while(|_| walk.go_on(3)).count();
        assert_eq!(portions, 3);
        let family = walk.family();
        assert_eq!(family.below(12, |_| false), (12..20).collect::<Vec<_>>());
        assert_eq!(family.below(12, |process| process == 15), [12, 13, 14]);
    }

    #[test]
    fn this_process_is_its_own() {
        let id = std::process::id();
        let process = Process::read(Path::new("/"), id).unwrap();
        assert_eq!((process.group, process.kernel), (id, false));
        assert!(threads(Path::new("/"), id).contains(&id));
        assert!(tree(Path::new("/"), process.parent).contains(&id));
    }
}
