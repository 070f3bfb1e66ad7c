// SPDX-License-Identifier: MIT OR Apache-2.0
//! For tests: trees of files as a kernel has them, and real processes in them.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use crate::cpus::CpuList;
use crate::tasks::Tasks;

/// How long tests wait for what must come: nothing takes so long unless it never comes, however busy the machine is.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// Waits until something is so.
#[track_caller]
pub(crate) fn wait_until(mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "waited for {PATIENCE:?}");
        sleep(Duration::from_millis(1));
    }
}

/// A folder with what a test writes below it, and of the running processes those that it names.
pub(crate) struct Tree {
    folder: tempfile::TempDir,
}

impl Tree {
    /// This process is in it.
    pub(crate) fn new() -> Self {
        // In memory where that is: thousands of little files take seconds on a busy disk.
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        let tree = Self { folder: folder.unwrap() };
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
        show(self.root(), pid);
    }

    /// Lists a process no more.
    pub(crate) fn hide(&self, pid: u32) {
        fs::remove_file(self.root().join(format!("proc/{pid}"))).unwrap();
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
pub(crate) struct Running {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Running {
    /// Runs a shell script until it has said its first line.
    pub(crate) fn script(text: &str) -> Self {
        let mut running = Self::start(Command::new("sh").args(["-c", text]));
        running.hear();
        running
    }

    /// Runs an ignored test of this program, told of a tree and of something else.
    pub(crate) fn role(test: &str, tree: &Path, word: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"]);
        Self::start(command.env("TANDEM_TREE", tree).env("TANDEM_WORD", word))
    }

    fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    /// Writes a line to it.
    pub(crate) fn say(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// The next line that the program prints.
    pub(crate) fn hear(&mut self) -> String {
        let mut line = String::new();
        assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "it says nothing more");
        line.trim().to_owned()
    }

    /// What it says behind `word` in the next line that has it.
    pub(crate) fn hear_of(&mut self, word: &str) -> String {
        loop {
            if let Some((_, rest)) = self.hear().split_once(word) {
                return rest.trim().to_owned();
            }
        }
    }

    /// Waits until it ends by itself, told that nothing more will be said to it.
    pub(crate) fn end(&mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn cpus(&self) -> String {
        cpus_of(self.pid())
    }
}

impl Drop for Running {
    /// At the end of its input it may still see to what it has started.
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end && matches!(self.child.try_wait(), Ok(None)) {
            sleep(Duration::from_millis(1));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a role was told: the tree's root and the word.
pub(crate) fn told() -> Option<(PathBuf, String)> {
    Some((std::env::var_os("TANDEM_TREE")?.into(), std::env::var("TANDEM_WORD").ok()?))
}

/// Whether there are CPUs 0 and 1, which tests with threads need.
pub(crate) fn has_two_cpus() -> bool {
    let has = cpus_of(0).starts_with("0-");
    if !has {
        eprintln!("this needs CPUs 0 and 1");
    }
    has
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

/// Lists a running process below a root.
pub(crate) fn show(root: &Path, pid: u32) {
    let _ = symlink(format!("/proc/{pid}"), root.join(format!("proc/{pid}")));
}
