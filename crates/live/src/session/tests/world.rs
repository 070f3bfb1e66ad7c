// SPDX-License-Identifier: MIT OR Apache-2.0
//! A machine of four CPUs that is a folder, and what can happen to it.

use std::cell::Cell;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nix::unistd::getuid;
use tandem_loader::steering::Mode;

use super::fakes::{
    ALL, Facts, FakeCommand, FakeKernel, FakeProfiles, FakeThreads, Heard, Log, Meanwhile, STATE, governors,
};
use crate::control::peers::named::NamedPeers;
use crate::meter::KernelEvents;
use crate::session::Site;
use crate::session::launch::Command;
use crate::testing::{self, Tree};
use crate::{Exit, LeftOut, LiveError};

/// The governors of the machine's two policies at first.
pub(super) const GOVERNORS: [&str; 2] = ["powersave", "ondemand"];

/// The machine and what happened to it.
pub(super) struct World {
    tree: Tree,
    log: Log,
    facts: Arc<Mutex<Facts>>,
    pub(super) meanwhile: Arc<Mutex<Meanwhile>>,
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
        let meanwhile = Arc::<Mutex<Meanwhile>>::default();
        let threads = FakeThreads { root: root.clone(), meanwhile: Arc::clone(&meanwhile) };
        let (folder, energy) = (root.join("run/tandem"), Box::new(KernelEvents));
        let root_again = root.clone();
        let site = Site {
            root,
            folder,
            kernel: Box::new(kernel),
            threads: Arc::new(threads),
            energy,
            peers: Arc::new(NamedPeers),
            profiles: Box::new(FakeProfiles { root: root_again }),
            cpu_time: || Duration::ZERO,
            patience: testing::PATIENCE,
        };
        let world = Self { tree, log, facts, meanwhile, site };
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
                ("related_cpus", cpus),
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
        self.process_of(getuid().as_raw(), pid, parent, name);
    }

    /// A process of some user.
    pub(super) fn process_of(&self, user: u32, pid: u32, parent: u32, name: &str) {
        process(&self.site.root, user, [pid, parent], name, &format!("{pid}00"));
    }

    /// Another process gets the number of one that has ended.
    pub(super) fn process_again(&self, pid: u32, parent: u32, name: &str) {
        process(&self.site.root, getuid().as_raw(), [pid, parent], name, &format!("{pid}01"));
    }

    /// The kernel does not have a member of the scheduler's.
    pub(super) fn lack(&self, member: &str) {
        self.facts.lock().unwrap().left_out.push(LeftOut::Member { member: member.to_owned() });
    }

    /// The scheduler has room for so many processes of applications more, and for so many lengths.
    pub(super) fn room(&self, processes: usize, lengths: usize) {
        self.facts.lock().unwrap().room = Some((processes, lengths));
    }

    /// From now on each process that the scheduler is told of has a new child then.
    pub(super) fn fork_for_ever(&self) {
        self.facts.lock().unwrap().forks = Some(10_000);
    }

    /// The CPUs that a process's first thread may use.
    pub(super) fn cpus(&self, pid: u32) -> String {
        cpus(&self.site.root, pid)
    }

    /// The processor chooses clocks, and what they draw is known; the scheduler has this mode.
    pub(super) fn hand_clocks_to_the_processor(&self, mode: Mode) {
        self.facts.lock().unwrap().mode = mode;
        for (policy, cpus) in [("policy0", "0 1"), ("policy2", "2 3")] {
            for (file, text) in [
                ("scaling_driver", "intel_pstate"),
                ("scaling_governor", "powersave"),
                ("scaling_available_governors", "performance powersave"),
                ("scaling_available_frequencies", "500000 1000000 2000000"),
                ("energy_performance_preference", "balance_performance"),
            ] {
                self.write(&format!("sys/devices/system/cpu/cpufreq/{policy}/{file}"), text);
            }
            // A watt, 1.1 W and 6 W: work costs least at 1 GHz.
            self.write(&format!("sys/kernel/debug/energy_model/cpu{}/cpus", &cpus[..1]), &cpus.replace(' ', "-"));
            for (khz, microwatts) in [(500_000, 1_000_000), (1_000_000, 1_100_000), (2_000_000, 6_000_000)] {
                let folder = format!("sys/kernel/debug/energy_model/cpu{}/ps:{khz}", &cpus[..1]);
                self.write(&format!("{folder}/frequency"), &khz.to_string());
                self.write(&format!("{folder}/power"), &microwatts.to_string());
            }
        }
        self.busy(&[0; 4]);
    }

    /// For how many hundredths of a second each CPU was busy so far.
    pub(super) fn busy(&self, ticks: &[u64]) {
        let lines: Vec<String> = ticks.iter().enumerate().map(|(cpu, busy)| format!("cpu{cpu} {busy} 0 0 0")).collect();
        self.write("proc/stat", &lines.join("\n"));
    }

    /// What a file of a policy has now.
    pub(super) fn policy(&self, policy: &str, file: &str) -> String {
        self.read(&format!("sys/devices/system/cpu/cpufreq/{policy}/{file}"))
    }

    /// Writes a file of a policy, as another program.
    pub(super) fn set_policy(&self, policy: &str, file: &str, text: &str) {
        self.write(&format!("sys/devices/system/cpu/cpufreq/{policy}/{file}"), text);
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
        self.command_at(false)
    }

    /// A command that has no terminal, if it is apart.
    pub(super) fn command_at(&self, apart: bool) -> io::Result<Box<dyn Command>> {
        self.process(700, std::process::id(), "make");
        Ok(Box::new(FakeCommand { log: Arc::clone(&self.log), apart }))
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

/// The CPUs that the first thread of a process below `root` may use.
pub(super) fn cpus(root: &Path, pid: u32) -> String {
    let status = fs::read_to_string(root.join(format!("proc/{pid}/task/{pid}/status"))).unwrap();
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:\t")).unwrap().to_owned()
}

/// Writes a process's files; `[pid, parent]`.
pub(super) fn process(root: &Path, user: u32, [pid, parent]: [u32; 2], name: &str, start_time: &str) {
    let stat = format!("{pid} ({name}) S {parent} 0 0 0 0 0 0 0 0 0 0 0 0 0 20 0 1 0 {start_time} 0\n");
    let status =
        format!("Name:\t{name}\nTgid:\t{pid}\nUid:\t{user}\t{user}\t{user}\t{user}\nCpus_allowed_list:\t{ALL}\n");
    for folder in [format!("proc/{pid}"), format!("proc/{pid}/task/{pid}")] {
        let folder = root.join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("stat"), &stat).unwrap();
        fs::write(folder.join("status"), &status).unwrap();
    }
}

/// The process 500 begins to fork: the CPUs that its child will have.
pub(super) fn begin_fork(root: &Path) -> String {
    replace(root, "stat", ") S ", ") R ");
    let status = fs::read_to_string(root.join("proc/500/task/500/status")).unwrap();
    status.split_once("Cpus_allowed_list:\t").unwrap().1.trim().to_owned()
}

/// The child, process 501, is there.
pub(super) fn end_fork(root: &Path, cpus: &str) {
    process(root, getuid().as_raw(), [501, 500], "child", &format!("{}99", std::process::id()));
    let file = root.join("proc/501/task/501/status");
    let status = fs::read_to_string(&file).unwrap();
    fs::write(&file, status.replace(&format!("list:\t{ALL}"), &format!("list:\t{cpus}"))).unwrap();
    replace(root, "stat", ") R ", ") S ");
}

/// Changes what a file of process 500 says, for its thread, too.
fn replace(root: &Path, file: &str, old: &str, new: &str) {
    for folder in ["proc/500", "proc/500/task/500"] {
        let path = root.join(folder).join(file);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace(old, new)).unwrap();
    }
}

/// Copies the files of a folder, but for sockets.
pub(super) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let kind = entry.file_type().unwrap();
        let place = to.join(entry.file_name());
        if kind.is_dir() {
            copy(&entry.path(), &place);
        } else if kind.is_file() {
            fs::copy(entry.path(), place).unwrap();
        }
    }
}
