// SPDX-License-Identifier: MIT OR Apache-2.0
//! Control groups whose CPU time is limited (`cpu.max`).
//!
//! The kernel's own scheduler keeps these limits. Under sched_ext nobody does unless the scheduler itself does: Linux 6.12 does not
//! tell it of them, later ones do (`ops.cgroup_set_bandwidth`). Left out: version 1 of control groups, and what a container does not
//! see of the hierarchy that it is in.

use std::fs;
use std::path::{Path, PathBuf};

use crate::tree::Tree;

/// Where the hierarchy mostly is, below the root.
const USUAL: &str = "sys/fs/cgroup";

/// Groups that have a limit, as the hierarchy names them: `/system.slice/backup.service`; sorted. `root` is where the kernel's files
/// are, `/` for the running one.
pub fn limited_groups(root: &Path) -> Vec<String> {
    let top = hierarchy(root);
    let mut limited = Vec::new();
    let mut folders = subfolders(&top);
    while let Some(folder) = folders.pop() {
        // Without the controller for CPU time nothing below has it, either.
        let Ok(limit) = fs::read_to_string(folder.join("cpu.max")) else { continue };
        if is_limit(&limit) {
            let group = folder.strip_prefix(&top).unwrap_or(&folder);
            limited.push(format!("/{}", group.to_string_lossy()));
        }
        folders.extend(subfolders(&folder));
    }
    limited.sort();
    limited
}

/// Whether a `cpu.max` limits: `50000 100000` are so many µs of so many, `max 100000` is all.
fn is_limit(text: &str) -> bool {
    text.split_whitespace().next().is_some_and(|quota| quota != "max")
}

/// Where the hierarchy of version 2 is mounted.
fn hierarchy(root: &Path) -> PathBuf {
    let mounts = Tree::new(root).text("proc/self/mounts").unwrap_or_default();
    let place = |line: &str| {
        let mut words = line.split(' ').skip(1);
        let (place, kind) = (words.next()?, words.next()?);
        (kind == "cgroup2").then(|| place.trim_start_matches('/').to_owned())
    };
    root.join(mounts.lines().find_map(place).unwrap_or_else(|| USUAL.to_owned()))
}

/// The folders in a folder, no links among them; a group that has just gone has none.
fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    entries.filter_map(Result::ok).filter(is_folder).map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Tree as Files;

    #[test]
    fn groups_with_a_quota_are_found_wherever_they_are() {
        let files = Files::new();
        for (group, limit) in [
            ("a", "50000 100000"),
            ("a/b", "max 100000"),
            ("a/b/c", "200000 100000"),
            ("free", "max 100000"),
            ("empty", ""),
        ] {
            files.write(&format!("sys/fs/cgroup/{group}/cpu.max"), &format!("{limit}\n"));
        }
        // Without the controller no limit holds below, whatever stands there.
        files.write("sys/fs/cgroup/without/cgroup.procs", "1\n");
        files.write("sys/fs/cgroup/without/below/cpu.max", "1000 100000\n");
        assert_eq!(limited_groups(files.root()), ["/a", "/a/b/c"]);
    }

    #[test]
    fn the_hierarchy_is_where_it_is_mounted() {
        let files = Files::new();
        files.write("sys/fs/cgroup/cpu/a/cpu.max", "50000 100000\n");
        files.write("mnt/groups/b/cpu.max", "50000 100000\n");
        let mounts =
            "proc /proc proc rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\ncgroup2 /mnt/groups cgroup2 rw 0 0\n";
        files.write(&format!("proc/{}/mounts", "self"), mounts);
        assert_eq!(limited_groups(files.root()), ["/b"]);
    }

    #[test]
    fn a_machine_without_groups_has_none_that_are_limited() {
        assert_eq!(limited_groups(Files::new().root()), Vec::<String>::new());
    }
}
