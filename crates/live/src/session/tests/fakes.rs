// SPDX-License-Identifier: MIT OR Apache-2.0
//! A kernel, threads, a command and a listener that do what they are told, and write down in one log what that was.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::Signal;
use tandem_loader::steering::{Mode, Wish};

use crate::changes::Threads;
use crate::cpus::CpuList;
use crate::machine::Machine;
use crate::meter::Measured;
use crate::session::launch::Command;
use crate::session::{Kernel, Listener, Loaded, Notice, SessionError};
use crate::{Exit, LeftOut, LiveError, Uncounted};

/// What sched_ext is doing.
pub(super) const STATE: &str = "sys/kernel/sched_ext/state";
/// The name of its scheduler.
const OPS: &str = "sys/kernel/sched_ext/root/ops";
/// All CPUs of the machine.
pub(super) const ALL: &str = "0-3";

/// What happened, a line each, in its order.
pub(super) type Log = Arc<Mutex<Vec<String>>>;

/// What the fake kernel knows of its scheduler.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) exit: Option<Exit>,
    pub(super) counters: Vec<(String, u64)>,
    pub(super) states: BTreeMap<String, String>,
    /// Why the next scheduler is not loaded.
    pub(super) refuses: Option<LiveError>,
    /// Processes and lengths for which the scheduler's maps have room.
    pub(super) room: Option<(usize, usize)>,
    /// What of the scheduler the kernel does not have.
    pub(super) left_out: Vec<LeftOut>,
    /// The next child of a process that forks whenever the scheduler is told of one.
    pub(super) forks: Option<u32>,
    /// What the scheduler is after besides time.
    pub(super) mode: Mode,
}

/// Loads a scheduler that has all settings but `nonsense`.
#[derive(Debug, Clone)]
pub(super) struct FakeKernel {
    pub(super) root: PathBuf,
    pub(super) log: Log,
    pub(super) facts: Arc<Mutex<Facts>>,
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
        let left_out = facts.left_out.clone();
        Ok(Box::new(FakeScheduler { kernel: self.clone(), attached: false, left_out }))
    }
}

/// A daemon whose profile is a file.
#[derive(Debug)]
pub(super) struct FakeProfiles {
    pub(super) root: PathBuf,
}

impl crate::steered::Profiles for FakeProfiles {
    fn active(&self) -> Option<String> {
        fs::read_to_string(self.root.join("profile")).ok().map(|text| text.trim().to_owned())
    }
}

#[derive(Debug)]
struct FakeScheduler {
    kernel: FakeKernel,
    attached: bool,
    left_out: Vec<LeftOut>,
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

    fn mode(&self) -> Mode {
        self.kernel.facts.lock().unwrap().mode
    }

    fn set_wish(&self, wish: Wish) -> Result<bool, LiveError> {
        self.kernel.note(format!("the wish is {wish}"));
        Ok(true)
    }

    fn exit(&self) -> Option<Exit> {
        self.kernel.facts.lock().unwrap().exit.clone()
    }

    fn uncounted(&self) -> &[Uncounted] {
        &[]
    }

    fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    fn enter_application(&self, process: u32, number: u32) -> Result<bool, LiveError> {
        let mut facts = self.kernel.facts.lock().unwrap();
        take_room(facts.room.as_mut().map(|(processes, _)| processes))?;
        self.kernel.note(format!("process {process} is of application {number}"));
        if let Some(child) = facts.forks.as_mut() {
            super::world::process(&self.kernel.root, 7, [*child, process], "bomb", "7");
            *child += 1;
        }
        Ok(true)
    }

    fn adopt(&self, thread: u32, number: u32) -> Result<bool, LiveError> {
        self.kernel.note(format!("thread {thread} is of application {number}"));
        Ok(true)
    }

    fn hint(&self, thread: u32, length: u64) -> Result<bool, LiveError> {
        take_room(self.kernel.facts.lock().unwrap().room.as_mut().map(|(_, lengths)| lengths))?;
        self.kernel.note(format!("thread {thread} has the length {length}"));
        Ok(true)
    }

    fn hint_next(&self, thread: u32, length: u64) -> Result<bool, LiveError> {
        take_room(self.kernel.facts.lock().unwrap().room.as_mut().map(|(_, lengths)| lengths))?;
        self.kernel.note(format!("the next thread of {thread} has the length {length}"));
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

/// An entry of a map, if there is one left.
fn take_room(room: Option<&mut usize>) -> Result<(), LiveError> {
    let Some(room) = room else { return Ok(()) };
    let full = || LiveError::Problem { program: "the map".to_owned(), problem: "it is full".to_owned() };
    *room = room.checked_sub(1).ok_or_else(full)?;
    Ok(())
}

/// As the kernel's: a scheduler goes with its last user.
impl Drop for FakeScheduler {
    fn drop(&mut self) {
        self.detach();
    }
}

/// Threads whose CPUs stand in the files of the folder.
#[derive(Debug)]
pub(super) struct FakeThreads {
    pub(super) root: PathBuf,
    pub(super) meanwhile: Arc<Mutex<Meanwhile>>,
}

/// What happens while threads are moved.
#[derive(Debug, Default)]
pub(super) struct Meanwhile {
    /// Moves so far.
    pub(super) moves: usize,
    /// The move before which a fork of process 500 begins.
    pub(super) fork_before: Option<usize>,
    /// The fork that is under way, with the CPUs that the child will have.
    pub(super) fork: Option<String>,
    /// A process that ends when it is moved, and the child that it has started before.
    pub(super) ends_at_move: Option<(u32, u32)>,
    /// The move before which a copy of the folder is made, and where.
    pub(super) copy_before: Option<(usize, PathBuf)>,
}

impl FakeThreads {
    fn before_move(&self) {
        let mut meanwhile = self.meanwhile.lock().unwrap();
        if meanwhile.fork_before == Some(meanwhile.moves) {
            meanwhile.fork = Some(super::world::begin_fork(&self.root));
        }
        if let Some((_, place)) = meanwhile.copy_before.as_ref().filter(|(at, _)| *at == meanwhile.moves) {
            super::world::copy(&self.root, place);
        }
        meanwhile.moves += 1;
    }
}

impl Threads for FakeThreads {
    /// The fork that is under way ends.
    fn pause(&self, _: Duration) {
        if let Some(cpus) = self.meanwhile.lock().unwrap().fork.take() {
            super::world::end_fork(&self.root, &cpus);
        }
    }

    fn allow(&self, pid: u32, tid: u32, cpus: &CpuList) -> io::Result<()> {
        self.before_move();
        let ends = self.meanwhile.lock().unwrap().ends_at_move.take_if(|(process, _)| *process == pid);
        if let Some((process, child)) = ends {
            super::world::process(&self.root, 7, [child, 500], "child", &format!("{}99", std::process::id()));
            fs::write(self.root.join(format!("proc/{child}/task/{child}/status")), "Cpus_allowed_list:\t0\n")?;
            fs::remove_dir_all(self.root.join(format!("proc/{process}")))?;
            return Err(Errno::ESRCH.into());
        }
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

pub(super) struct FakeCommand {
    pub(super) log: Log,
    pub(super) apart: bool,
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

    fn is_apart(&self) -> bool {
        self.apart
    }
}

/// Writes down what a session says.
pub(super) struct Heard {
    pub(super) log: Log,
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
            Notice::NoJournal(why) => format!("no journal: {why}"),
            Notice::Note(note) => format!("note: {note}"),
            Notice::LeftOut(part) => format!("note: {part}"),
            Notice::Uncounted(missing) => format!("no counter for {}", missing.map),
            Notice::Attached { backend, metrics } => {
                *self.metrics.lock().unwrap() = metrics;
                format!("acts by {}", backend.name())
            }
            Notice::NoMetrics(_) => "no metrics".to_owned(),
            Notice::Metrics(address) => {
                *self.metrics.lock().unwrap() = Some(address);
                "metrics now".to_owned()
            }
            Notice::Steered(words) => format!("clocks: {words}"),
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

/// What a scheduler says that its user detached (`SCX_EXIT_UNREG`).
pub(super) fn unregistered() -> Exit {
    Exit { kind: 64, code: 0, reason: "unregistered".to_owned(), message: String::new(), dump: String::new() }
}

/// The governors of the two policies.
pub(super) fn governors(root: &Path) -> [String; 2] {
    ["policy0", "policy2"].map(|policy| {
        let file = root.join(format!("sys/devices/system/cpu/cpufreq/{policy}/scaling_governor"));
        fs::read_to_string(file).unwrap().trim().to_owned()
    })
}
