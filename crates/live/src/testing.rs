// SPDX-License-Identifier: MIT OR Apache-2.0
//! For tests: trees of files as a kernel has them, and real processes in them.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use crate::cpus::CpuList;
use crate::tasks::Tasks;

/// A folder with what a test writes below it, and of the running processes those that it names.
pub(crate) struct Tree {
    folder: tempfile::TempDir,
}

impl Tree {
    /// This process is in it.
    pub(crate) fn new() -> Self {
        let tree = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(tree.root().join("proc")).unwrap();
        tree.show(std::process::id());
        tree
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    /// Where journals go.
    pub(crate) fn run(&self) -> PathBuf {
        self.root().join("run/tandem")
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap()
    }

    /// Lists a running process.
    pub(crate) fn show(&self, pid: u32) {
        let _ = symlink(format!("/proc/{pid}"), self.root().join(format!("proc/{pid}")));
    }

    /// Lists a running process and all that descend from it.
    pub(crate) fn show_family(&self, pid: u32) {
        let tasks = Tasks::below(Path::new("/"));
        let mut family = vec![pid];
        for process in tasks.processes() {
            if tasks.process(process).is_some_and(|stat| family.contains(&stat.parent)) {
                family.push(process);
            }
        }
        family.into_iter().for_each(|pid| self.show(pid));
    }
}

/// A child process that ends with the test.
pub(crate) struct Running(pub Child);

impl Running {
    /// Runs a shell script until it has said its first line.
    pub(crate) fn script(text: &str) -> Self {
        let mut command = Command::new("sh");
        let mut running =
            Self(command.args(["-c", text]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
        running.hear();
        running
    }

    /// Writes a line to it.
    pub(crate) fn say(&mut self, line: &str) {
        writeln!(self.0.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Its next line. It must not be many lines ahead.
    pub(crate) fn hear(&mut self) -> String {
        let mut line = String::new();
        BufReader::new(self.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn cpus(&self) -> String {
        cpus_of(self.pid())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The CPUs that a thread may use and that are there.
pub(crate) fn cpus_of(tid: u32) -> String {
    let set = sched_getaffinity(Pid::from_raw(tid as i32)).unwrap();
    (0..CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap()).collect::<CpuList>().to_string()
}

/// Somebody lets a thread use one CPU only.
pub(crate) fn pin(tid: u32, cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu).unwrap();
    sched_setaffinity(Pid::from_raw(tid as i32), &set).unwrap();
}

/// When a process began, in clock ticks.
pub(crate) fn start_time(pid: u32) -> u64 {
    Tasks::below(Path::new("/")).process(pid).unwrap().start_time
}
