// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedulers in different folders whose files have the same name get as much of their paths as tells them apart.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tandem_simulator::simulation::Scheduler;

use crate::scenario::pair::Pair;

/// Gives sched_ext schedulers whose files have the same name as much of their paths as tells them apart in tables.
pub fn tell_apart(pairs: &mut [Pair]) {
    let paths: Vec<Option<PathBuf>> = pairs.iter().map(|pair| place(&pair.scheduler)).collect();
    for (pair, path) in pairs.iter_mut().zip(&paths) {
        let (Scheduler::SchedExt(object), Some(path)) = (&pair.scheduler, path) else { continue };
        let others: Vec<&PathBuf> = paths.iter().flatten().filter(|other| *other != path).collect();
        let name = shortest(path, &others);
        if name.components().count() > 1 {
            pair.scheduler = Scheduler::SchedExt(Arc::new(object.called(&name.to_string_lossy())));
        }
    }
}

/// Where a scheduler's file is, by whatever path it was named.
fn place(scheduler: &Scheduler) -> Option<PathBuf> {
    match scheduler {
        Scheduler::SchedExt(object) => Some(object.path.canonicalize().unwrap_or_else(|_| object.path.clone())),
        Scheduler::Fair => None,
    }
}

/// The shortest end of `path` that is no other's.
fn shortest(path: &Path, others: &[&PathBuf]) -> PathBuf {
    let parts: Vec<_> = path.components().collect();
    let ends = (0..parts.len()).rev().map(|from| parts[from..].iter().collect::<PathBuf>());
    let mut alone = ends.filter(|end| others.iter().all(|other| !other.ends_with(end)));
    alone.next().unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_as_long_as_it_must_be() {
        let paths = ["/a/x/s.bpf.o", "/b/x/s.bpf.o", "/b/y/s.bpf.o", "/b/y/t.bpf.o"].map(PathBuf::from);
        let names = [0, 1, 2, 3].map(|index| {
            let others: Vec<&PathBuf> = paths.iter().filter(|other| **other != paths[index]).collect();
            shortest(&paths[index], &others)
        });
        assert_eq!(names, ["a/x/s.bpf.o", "b/x/s.bpf.o", "y/s.bpf.o", "t.bpf.o"].map(PathBuf::from));
    }
}
