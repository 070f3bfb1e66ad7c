// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes and threads as `/proc` shows them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The flag of the kernel's own threads (`PF_KTHREAD`).
const PF_KTHREAD: u64 = 0x0020_0000;

/// A process, or one of its threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its number: a thread's, or the process's.
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
    /// Its name (`comm`).
    pub name: String,
}

impl Process {
    /// Reads a process or a thread from the `proc` below `root`; `None` if there is none of this number, or it is just ending.
    pub fn read(root: &Path, id: u32) -> Option<Self> {
        let folder = root.join("proc").join(id.to_string());
        let status = fs::read_to_string(folder.join("status")).ok()?;
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim);
        let mut users = field("Uid")?.split_whitespace().map_while(|user| user.parse().ok());
        let users = [users.next()?, users.next()?, users.next()?, users.next()?];
        let stat = fs::read_to_string(folder.join("stat")).ok()?;
        // A name may hold anything, brackets too: fields are counted from behind the last one. The first there is the state.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        // Zombies have ended, though somebody has yet to hear of it.
        if matches!(fields.first(), Some(&"Z" | &"X") | None) {
            return None;
        }
        Some(Self {
            id,
            group: field("Tgid")?.parse().ok()?,
            parent: field("PPid")?.parse().ok()?,
            users,
            kernel: number(6)? & PF_KTHREAD != 0,
            start_time: number(19)?,
            name: field("Name").unwrap_or_default().to_owned(),
        })
    }

    /// The one user that it is, if it is only one: not while it has somebody else's rights, or has lent its own.
    pub fn user(&self) -> Option<u32> {
        let [real, effective, saved, _] = self.users;
        (real == effective && real == saved).then_some(real)
    }
}

/// The numbers of all processes, ascending.
pub fn ids(root: &Path) -> Vec<u32> {
    numbers(&root.join("proc"))
}

/// The numbers of a process's threads, ascending.
pub fn threads(root: &Path, process: u32) -> Vec<u32> {
    numbers(&root.join("proc").join(process.to_string()).join("task"))
}

fn numbers(folder: &Path) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut numbers: Vec<u32> = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

/// A process and all that descend from it now, ascending. Whose parent has ended belongs to `init` by then, or to whoever
/// adopts orphans.
pub fn tree(root: &Path, process: u32) -> BTreeSet<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for id in ids(root) {
        if let Some(parent) = parent(root, id) {
            children.entry(parent).or_default().push(id);
        }
    }
    let (mut tree, mut open) = (BTreeSet::new(), vec![process]);
    while let Some(next) = open.pop() {
        if tree.insert(next) {
            open.extend(children.get(&next).into_iter().flatten());
        }
    }
    tree
}

fn parent(root: &Path, id: u32) -> Option<u32> {
    let stat = fs::read_to_string(root.join("proc").join(id.to_string()).join("stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
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
    fn this_process_is_its_own() {
        let id = std::process::id();
        let process = Process::read(Path::new("/"), id).unwrap();
        assert_eq!((process.group, process.kernel), (id, false));
        assert!(threads(Path::new("/"), id).contains(&id));
        assert!(tree(Path::new("/"), process.parent).contains(&id));
    }
}
