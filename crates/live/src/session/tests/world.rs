// SPDX-License-Identifier: MIT OR Apache-2.0
//! A machine of four CPUs that is a folder, and a kernel that does what it is told and writes that down.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use nix::errno::Errno;
use nix::sys::signal::Signal;
use nix::unistd::getuid;

use crate::changes::Threads;
use crate::cpus::CpuList;
use crate::machine::Machine;
use crate::meter::{KernelEvents, Measured};
use crate::session::launch::Command;
use crate::session::{Kernel, Listener, Loaded, Notice, SessionError, Site};
use crate::testing::Tree;
use crate::{Exit, LiveError, Uncounted};

/// The governors of the machine's two policies at first.
pub(super) const GOVERNORS: [&str; 2] = ["powersave", "ondemand"];
const STATE: &str = "sys/kernel/sched_ext/state";
const OPS: &str = "sys/kernel/sched_ext/root/ops";
/// All CPUs of the machine.
const ALL: &str = "0-3";

/// What happened, a line each, in its order.
pub(super) type Log = Arc<Mutex<Vec<String>>>;

/// What the fake kernel knows of its scheduler.
#[derive(Debug, Default)]
struct Facts {
    exit: Option<Exit>,
    counters: Vec<(String, u64)>,
    states: BTreeMap<String, String>,
    /// Why the next scheduler is not loaded.
    refuses: Option<LiveError>,
}

/// The machine and what happened to it.
pub(super) struct World {
    tree: Tree,
    log: Log,
    facts: Arc<Mutex<Facts>>,
    pub(super) site: Site,
}

impl World {
    /// A kernel that has everything; CPUs 0 and 1 are twice as fast as 2 and 3. This process is in it, and is root.
    pub(super) fn new() -> Self {
        let tree = Tree::new();
        // A test must not act on the running process of the same number.
        tree.hide(std::process::id());
        let (log, facts) = (Log::default(), Arc::<Mutex<Facts>>::default());
        let root = tree.root().to_owned();
        let kernel = FakeKernel { root: root.clone(), log: Arc::clone(&log), facts: Arc::clone(&facts) };
        let threads = FakeThreads { root: root.clone() };
        let (folder, energy) = (root.join("run/tandem"), Box::new(KernelEvents));
        let site = Site { root, folder, kernel: Box::new(kernel), threads: Arc::new(threads), energy };
        let world = Self { tree, log, facts, site };
        world.furnish();
        world.process(std::process::id(), 1, "tandem");
        world
    }

    fn furnish(&self) {
        for (path, text) in [
            ("proc/sys/kernel/osrelease", "6.12.9-test"),
            ("proc/sys/net/core/bpf_jit_enable", "1"),
            // CAP_SYS_ADMIN, CAP_SYS_NICE, CAP_PERFMON, CAP_BPF.
            ("proc/self/status", "CapEff:\t000000c000a00000"),
            ("proc/self/uid_map", "0 0 4294967295"),
            (STATE, "disabled"),
            ("sys/kernel/btf/vmlinux", "types"),
            ("sys/devices/system/cpu/possible", ALL),
            ("sys/bus/event_source/devices/cpu/events/cycles", "event=0x3c"),
            ("sys/class/powercap/intel-rapl:0/name", "package-0"),
            ("sys/class/powercap/intel-rapl:0/energy_uj", "0"),
        ] {
            self.write(path, text);
        }
        for (cpu, capacity) in [1024, 1024, 512, 512].iter().enumerate() {
            self.write(&format!("sys/devices/system/cpu/cpu{cpu}/cpu_capacity"), &capacity.to_string());
        }
        for ((policy, cpus), governor) in [("policy0", "0 1"), ("policy2", "2 3")].into_iter().zip(GOVERNORS) {
            for (file, text) in [
                ("affected_cpus", cpus),
                ("scaling_driver", "cpufreq-dt"),
                ("scaling_governor", governor),
                ("scaling_available_governors", "powersave ondemand schedutil"),
                ("scaling_min_freq", "500000"),
                ("scaling_max_freq", "2000000"),
                ("cpuinfo_min_freq", "500000"),
                ("cpuinfo_max_freq", "2000000"),
            ] {
                self.write(&format!("sys/devices/system/cpu/cpufreq/{policy}/{file}"), text);
            }
        }
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        self.tree.write(path, &format!("{text}\n"));
    }

    pub(super) fn read(&self, path: &str) -> String {
        self.tree.read(path).trim().to_owned()
    }

    pub(super) fn exists(&self, path: &str) -> bool {
        self.site.root.join(path).exists()
    }

    pub(super) fn remove(&self, path: &str) {
        let path = self.site.root.join(path);
        if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
    }

    /// A process of this user, with one thread that may run everywhere.
    pub(super) fn process(&self, pid: u32, parent: u32, name: &str) {
        process(&self.site.root, pid, parent, name);
    }

    /// The CPUs that a process's first thread may use.
    pub(super) fn cpus(&self, pid: u32) -> String {
        let status = self.read(&format!("proc/{pid}/task/{pid}/status"));
        status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:\t")).unwrap().to_owned()
    }

    pub(super) fn governors(&self) -> [String; 2] {
        governors(&self.site.root)
    }

    /// What the processor has taken since it began, in joules.
    pub(super) fn joules(&self, joules: u64) {
        self.write("sys/class/powercap/intel-rapl:0/energy_uj", &(joules * 1_000_000).to_string());
    }

    pub(super) fn count(&self, counters: &[(&str, u64)]) {
        self.facts.lock().unwrap().counters =
            counters.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
    }

    pub(super) fn set_state(&self, name: &str, state: &str) {
        self.facts.lock().unwrap().states.insert(name.to_owned(), state.to_owned());
    }

    /// The kernel will not load the next scheduler.
    pub(super) fn refuse(&self, why: LiveError) {
        self.facts.lock().unwrap().refuses = Some(why);
    }

    /// The kernel takes the scheduler away, which says why.
    pub(super) fn eject(&self, exit: Exit) {
        self.note(format!("kernel: ejects the scheduler: {exit}"));
        self.facts.lock().unwrap().exit = Some(exit);
        self.eject_silently();
    }

    /// The kernel takes the scheduler away, which does not say why.
    pub(super) fn eject_silently(&self) {
        self.write(STATE, "disabled");
        self.remove("sys/kernel/sched_ext/root");
    }

    pub(super) fn note(&self, line: String) {
        self.log.lock().unwrap().push(line);
    }

    /// What happened so far; it is forgotten then.
    pub(super) fn log(&self) -> Vec<String> {
        std::mem::take(&mut *self.log.lock().unwrap())
    }

    /// A command that waits: the process 700.
    pub(super) fn command(&self) -> io::Result<Box<dyn Command>> {
        self.process(700, std::process::id(), "make");
        Ok(Box::new(FakeCommand { log: Arc::clone(&self.log) }))
    }

    pub(super) fn listener(&self) -> Heard {
        Heard { log: Arc::clone(&self.log), metrics: Arc::default(), deaf: Cell::new(false) }
    }

    /// Checks that a session has left nothing behind, and changed nothing but what it was told to.
    pub(super) fn assert_given_back(&self) {
        assert_eq!(self.governors(), GOVERNORS);
        assert_eq!(self.read(STATE), "disabled");
        assert!(!self.exists("run/tandem/control.sock"), "the socket is still there");
        let journals = self.site.root.join("run/tandem/changes");
        let left = fs::read_dir(journals).map(|entries| entries.count()).unwrap_or(0);
        assert_eq!(left, 0, "a journal is still there");
        drop(super::super::lock::lock(&self.site.folder).expect("the lock is free"));
    }
}

/// What a scheduler says that its user detached (`SCX_EXIT_UNREG`).
pub(super) fn unregistered() -> Exit {
    Exit { kind: 64, code: 0, reason: "unregistered".to_owned(), message: String::new(), dump: String::new() }
}

/// What a scheduler says that starved a task (`SCX_EXIT_ERROR_STALL`).
pub(super) fn stalled() -> Exit {
    let message = "make[700] failed to run for 30 s".to_owned();
    Exit { kind: 1026, code: 0, reason: "runnable task stall".to_owned(), message, dump: "CPU states".to_owned() }
}

/// What a scheduler says that has to be loaded again, as a CPU came or went (`SCX_EXIT_UNREG_KERN`,
/// `SCX_ECODE_ACT_RESTART | SCX_ECODE_RSN_HOTPLUG`).
pub(super) fn hotplug() -> Exit {
    let message = "cpu 3 going offline, exiting scheduler".to_owned();
    let code = 1 << 48 | 1 << 32;
    Exit { kind: 65, code, reason: "unregistered from the main kernel".to_owned(), message, dump: String::new() }
}

fn process(root: &Path, pid: u32, parent: u32, name: &str) {
    let user = getuid();
    let stat = format!("{pid} ({name}) S {parent} 0 0 0 0 0 0 0 0 0 0 0 0 0 20 0 1 0 {pid}00 0\n");
    let status =
        format!("Name:\t{name}\nTgid:\t{pid}\nUid:\t{user}\t{user}\t{user}\t{user}\nCpus_allowed_list:\t{ALL}\n");
    for folder in [format!("proc/{pid}"), format!("proc/{pid}/task/{pid}")] {
        let folder = root.join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("stat"), &stat).unwrap();
        fs::write(folder.join("status"), &status).unwrap();
    }
}

fn governors(root: &Path) -> [String; 2] {
    ["policy0", "policy2"].map(|policy| {
        let file = root.join(format!("sys/devices/system/cpu/cpufreq/{policy}/scaling_governor"));
        fs::read_to_string(file).unwrap().trim().to_owned()
    })
}

/// Loads a scheduler that has all settings but `nonsense`.
#[derive(Debug, Clone)]
struct FakeKernel {
    root: PathBuf,
    log: Log,
    facts: Arc<Mutex<Facts>>,
}

impl FakeKernel {
    fn note(&self, line: String) {
        self.log.lock().unwrap().push(format!("kernel: {line}"));
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

impl Kernel for FakeKernel {
    fn scheduler(&self) -> &str {
        "tandem"
    }

    fn check(&self, _: &Machine, settings: &[(String, String)]) -> Result<(), SessionError> {
        let Some((name, value)) = settings.iter().find(|(name, _)| name == "nonsense") else { return Ok(()) };
        Err(SessionError::Setting { name: name.clone(), value: value.clone(), why: LiveError::NoSchedExt })
    }

    fn load(&self, machine: &Machine, settings: &[(String, String)]) -> Result<Box<dyn Loaded>, SessionError> {
        let mut facts = self.facts.lock().unwrap();
        let words: Vec<String> = settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let online = machine.cpus.iter().filter(|cpu| cpu.online).count();
        let [one, other] = governors(&self.root);
        self.note(format!("loads [{}] for {online} CPUs under {one} and {other}", words.join(" ")));
        if let Some(why) = facts.refuses.take() {
            return Err(SessionError::Load(why));
        }
        facts.exit = None;
        Ok(Box::new(FakeScheduler { kernel: self.clone(), attached: false }))
    }
}

#[derive(Debug)]
struct FakeScheduler {
    kernel: FakeKernel,
    attached: bool,
}

impl Loaded for FakeScheduler {
    fn attach(&mut self) -> Result<(), LiveError> {
        self.kernel.note("attaches the scheduler".to_owned());
        self.kernel.write(STATE, "enabled\n");
        self.kernel.write(OPS, "tandem\n");
        self.attached = true;
        Ok(())
    }

    fn detach(&mut self) {
        if !std::mem::take(&mut self.attached) {
            return;
        }
        let mut facts = self.kernel.facts.lock().unwrap();
        if self.kernel.root.join(OPS).exists() {
            let [one, other] = governors(&self.kernel.root);
            self.kernel.note(format!("detaches the scheduler under {one} and {other}"));
            self.kernel.write(STATE, "disabled\n");
            fs::remove_dir_all(self.kernel.root.join("sys/kernel/sched_ext/root")).unwrap();
            facts.exit = Some(unregistered());
        }
    }

    fn exit(&self) -> Option<Exit> {
        self.kernel.facts.lock().unwrap().exit.clone()
    }

    fn uncounted(&self) -> &[Uncounted] {
        &[]
    }

    fn enter_application(&self, process: u32, number: u32) -> Result<bool, LiveError> {
        self.kernel.note(format!("process {process} is of application {number}"));
        Ok(true)
    }

    fn adopt(&self, thread: u32, number: u32) -> Result<bool, LiveError> {
        self.kernel.note(format!("thread {thread} is of application {number}"));
        Ok(true)
    }

    fn hint(&self, thread: u32, length: u64) -> Result<bool, LiveError> {
        self.kernel.note(format!("thread {thread} has the length {length}"));
        Ok(true)
    }

    fn forget(&self, thread: u32) {
        self.kernel.note(format!("thread {thread} has no length any more"));
    }

    fn states(&self) -> Vec<(String, String)> {
        let facts = self.kernel.facts.lock().unwrap();
        facts.states.iter().map(|(name, state)| (name.clone(), state.clone())).collect()
    }

    fn counters(&self) -> Vec<(String, u64)> {
        self.kernel.facts.lock().unwrap().counters.clone()
    }
}

/// As the kernel's: a scheduler goes with its last user.
impl Drop for FakeScheduler {
    fn drop(&mut self) {
        self.detach();
    }
}

/// Threads whose CPUs stand in the files of the folder.
#[derive(Debug)]
struct FakeThreads {
    root: PathBuf,
}

impl Threads for FakeThreads {
    fn allow(&self, pid: u32, tid: u32, cpus: &CpuList) -> io::Result<()> {
        let file = self.root.join(format!("proc/{pid}/task/{tid}/status"));
        let text = fs::read_to_string(&file)?;
        let cpus = cpus.and(&CpuList::parse(ALL).unwrap());
        if cpus.is_empty() {
            return Err(Errno::EINVAL.into());
        }
        let (before, _) = text.split_once("Cpus_allowed_list:").unwrap();
        fs::write(file, format!("{before}Cpus_allowed_list:\t{cpus}\n"))
    }
}

struct FakeCommand {
    log: Log,
}

impl Command for FakeCommand {
    fn process(&self) -> u32 {
        700
    }

    fn go(&mut self) -> io::Result<()> {
        self.log.lock().unwrap().push("command: begins".to_owned());
        Ok(())
    }

    fn send(&self, process: u32, signal: Signal) {
        self.log.lock().unwrap().push(format!("command: process {process} gets {signal}"));
    }
}

/// Writes down what a session says.
pub(super) struct Heard {
    log: Log,
    /// Where the session said that metrics are.
    pub(super) metrics: Arc<Mutex<Option<SocketAddr>>>,
    /// Nothing can be said any more of what was done lately.
    pub(super) deaf: Cell<bool>,
}

impl Listener for Heard {
    fn hear(&mut self, notice: Notice<'_>) {
        let line = match notice {
            Notice::LeftBehind(owner, restored) => {
                format!("process {} had left {} changes", owner.pid, restored.given_back)
            }
            Notice::Note(note) => format!("note: {note}"),
            Notice::Uncounted(missing) => format!("no counter for {}", missing.map),
            Notice::Attached { backend, metrics } => {
                *self.metrics.lock().unwrap() = metrics;
                format!("acts by {}", backend.name())
            }
            Notice::Reloading(exit) => format!("loads again: {}", exit.message),
            Notice::Ejected { gone, command_runs: true } => format!("ejected while the command runs: {gone}"),
            Notice::Ejected { gone, command_runs: false } => format!("ejected at the command's end: {gone}"),
            Notice::GivenBackEarly => "given back early".to_owned(),
            Notice::Killing => "kills the command".to_owned(),
            Notice::Ending => "ends".to_owned(),
            Notice::GivenBack(restored) => {
                let kept: Vec<String> = restored.kept.iter().map(ToString::to_string).collect();
                format!("gave back {} changes {}", restored.given_back, kept.join("; ")).trim_end().to_owned()
            }
            Notice::Ended(exit) => format!("ended: {}", exit.map_or_else(String::new, ToString::to_string)),
        };
        self.log.lock().unwrap().push(format!("session: {line}"));
    }

    fn activity(&mut self, measured: &Measured, counters: &[(String, u64)]) -> io::Result<()> {
        if self.deaf.get() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let joules = measured.total().map_or(0.0, |total| total.joules);
        let counted: Vec<String> = counters.iter().map(|(name, count)| format!(" {name} {count}")).collect();
        let line = format!("session: {:.1} s {joules:.1} J{}", measured.time.as_secs_f64(), counted.concat());
        self.log.lock().unwrap().push(line);
        Ok(())
    }
}
