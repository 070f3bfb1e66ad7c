// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a session lives: which files it reads and changes, where it keeps its own, and what acts on the kernel for it.

use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike as _};
use tandem_loader::steering::{Mode, Wish};

use super::error::SessionError;
use crate::changes::{KernelThreads, System, Threads};
use crate::control::{KernelPeers, Peers};
use crate::host::Host;
use crate::machine::Machine;
use crate::meter::{EnergyEvents, KernelEvents};
use crate::metrics;
use crate::steered::{Bus, Profiles};
use crate::{Exit, LeftOut, LiveError, LoadedScheduler, OpenScheduler, Uncounted};

/// Where the running kernel's files are.
pub const ROOT: &str = "/";
/// What a running Tandem keeps: its lock, its control socket, the journal of what it has changed.
pub const FOLDER: &str = "/run/tandem";
/// The control socket of a running Tandem.
pub const SOCKET: &str = "/run/tandem/control.sock";

/// All that a session touches. A test puts a temporary folder in place of the files, and fakes in place of the kernel.
#[derive(Debug)]
pub struct Site {
    /// The folder that has `sys`, `proc`, `boot` and `lib/modules`.
    pub root: PathBuf,
    /// The folder for the lock, the control socket and the journals.
    pub folder: PathBuf,
    /// What loads the scheduler.
    pub kernel: Box<dyn Kernel>,
    /// What moves threads.
    pub threads: Arc<dyn Threads>,
    /// What opens performance events that count energy.
    pub energy: Box<dyn EnergyEvents>,
    /// Who is at the other end of the control socket.
    pub peers: Arc<dyn Peers>,
    /// Who knows which power profile is chosen.
    pub profiles: Box<dyn Profiles>,
    /// The processor time that the calling thread has had.
    pub cpu_time: fn() -> Duration,
    /// How long somebody may take who asks for metrics.
    pub patience: Duration,
}

impl Site {
    /// This machine and its running kernel, into which `scheduler` is loaded.
    pub fn of_this_machine(scheduler: Embedded) -> Self {
        Self {
            root: PathBuf::from(ROOT),
            folder: PathBuf::from(FOLDER),
            kernel: Box::new(scheduler),
            threads: Arc::new(KernelThreads),
            energy: Box::new(KernelEvents),
            peers: Arc::new(KernelPeers),
            profiles: Box::new(Bus::default()),
            cpu_time: of_this_thread,
            patience: metrics::PATIENCE,
        }
    }

    /// The control socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.join("control.sock")
    }

    /// What journals change.
    pub(super) fn system(&self) -> System {
        System::new(&self.root, Arc::clone(&self.threads))
    }

    pub(super) fn host(&self) -> Result<Host, SessionError> {
        Host::probe(&self.root).map_err(SessionError::Machine)
    }

    pub(super) fn machine(&self) -> Result<Machine, SessionError> {
        Machine::read(&self.root).map_err(|error| SessionError::Machine(error.into()))
    }
}

/// The processor time of the calling thread, in the kernel and out of it; none if the system does not say.
fn of_this_thread() -> Duration {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_THREAD) else { return Duration::ZERO };
    let micros = |time: TimeVal| u64::try_from(time.num_microseconds()).unwrap_or(0);
    Duration::from_micros(micros(usage.user_time()) + micros(usage.system_time()))
}

/// Loads Tandem's scheduler.
pub trait Kernel: Debug {
    /// The name by which sched_ext knows the scheduler (`sched_ext_ops.name`).
    fn scheduler(&self) -> &str;

    /// Says whether the scheduler has these settings. Nothing is loaded, and no rights are needed.
    ///
    /// # Errors
    /// [`SessionError::Setting`], [`SessionError::Object`].
    fn check(&self, machine: &Machine, settings: &[(String, String)]) -> Result<(), SessionError>;

    /// Gives the scheduler to the kernel. It does not schedule yet.
    ///
    /// # Errors
    /// The errors of [`check`](Self::check), and [`SessionError::Load`].
    fn load(&self, machine: &Machine, settings: &[(String, String)]) -> Result<Box<dyn Loaded>, SessionError>;
}

/// A scheduler that the kernel has accepted; it goes when this is dropped. [`LoadedScheduler`] says more of each method.
pub trait Loaded: Debug {
    /// Lets it schedule.
    ///
    /// # Errors
    /// The kernel or the scheduler refuses.
    fn attach(&mut self) -> Result<(), LiveError>;
    /// Ends it. What it counted can still be read.
    fn detach(&mut self);
    /// How it ended; `None` if it has not, or does not say.
    fn exit(&self) -> Option<Exit>;
    /// What it should count and cannot.
    fn uncounted(&self) -> &[Uncounted];
    /// What of it was left out, as the kernel does not have it.
    fn left_out(&self) -> &[LeftOut];
    /// Says that a process is of the application `number`, with all that it will start.
    ///
    /// # Errors
    /// There is no room.
    fn enter_application(&self, process: u32, number: u32) -> Result<bool, LiveError>;
    /// Says that a thread which was there before is of the application `number`.
    ///
    /// # Errors
    /// The scheduler refuses.
    fn adopt(&self, thread: u32, number: u32) -> Result<bool, LiveError>;
    /// Says how long a thread is, relative to others of its program.
    ///
    /// # Errors
    /// There is no room.
    fn hint(&self, thread: u32, length: u64) -> Result<bool, LiveError>;
    /// Says how long the next thread is that a thread creates.
    ///
    /// # Errors
    /// There is no room.
    fn hint_next(&self, thread: u32, length: u64) -> Result<bool, LiveError>;
    /// Takes back what was said of a thread's length.
    fn forget(&self, thread: u32);
    /// The mechanisms' states, by name.
    fn states(&self) -> Vec<(String, String)>;
    /// What it counted, by name.
    fn counters(&self) -> Vec<(String, u64)>;
    /// What it is after besides time.
    fn mode(&self) -> Mode {
        Mode::None
    }
    /// Says what people wish; false if it does not ask.
    ///
    /// # Errors
    /// The scheduler asks, and cannot be told.
    fn set_wish(&self, _wish: Wish) -> Result<bool, LiveError> {
        Ok(false)
    }
}

impl Loaded for LoadedScheduler {
    fn attach(&mut self) -> Result<(), LiveError> {
        self.attach()
    }

    fn detach(&mut self) {
        self.detach();
    }

    fn exit(&self) -> Option<Exit> {
        self.exit()
    }

    fn uncounted(&self) -> &[Uncounted] {
        self.uncounted()
    }

    fn left_out(&self) -> &[LeftOut] {
        self.left_out()
    }

    fn enter_application(&self, process: u32, number: u32) -> Result<bool, LiveError> {
        self.enter_application(process, number)
    }

    fn adopt(&self, thread: u32, number: u32) -> Result<bool, LiveError> {
        self.adopt(thread, number)
    }

    fn hint(&self, thread: u32, length: u64) -> Result<bool, LiveError> {
        self.hint(thread, length)
    }

    fn hint_next(&self, thread: u32, length: u64) -> Result<bool, LiveError> {
        self.hint_next(thread, length)
    }

    fn forget(&self, thread: u32) {
        self.forget(thread);
    }

    fn states(&self) -> Vec<(String, String)> {
        self.states()
    }

    fn counters(&self) -> Vec<(String, u64)> {
        self.counters()
    }

    fn mode(&self) -> Mode {
        self.mode()
    }

    fn set_wish(&self, wish: Wish) -> Result<bool, LiveError> {
        self.set_wish(wish)
    }
}

/// A scheduler that a program carries, for the running kernel.
#[derive(Debug, Clone, Copy)]
pub struct Embedded {
    /// Its name, which is also that of its `struct sched_ext_ops`.
    pub name: &'static str,
    /// The object file.
    pub object: &'static [u8],
    /// The text of the file beside it.
    pub sidecar: &'static str,
}

impl Embedded {
    fn open(&self, machine: &Machine, settings: &[(String, String)]) -> Result<OpenScheduler, SessionError> {
        let opened = OpenScheduler::embedded(self.name, self.object, self.sidecar, machine);
        let mut open = opened.map_err(SessionError::Object)?;
        for (name, value) in settings {
            let refused = |why| SessionError::Setting { name: name.clone(), value: value.clone(), why };
            open.choose(name, value).map_err(refused)?;
        }
        Ok(open)
    }
}

impl Kernel for Embedded {
    fn scheduler(&self) -> &str {
        self.name
    }

    fn check(&self, machine: &Machine, settings: &[(String, String)]) -> Result<(), SessionError> {
        self.open(machine, settings).map(drop)
    }

    fn load(&self, machine: &Machine, settings: &[(String, String)]) -> Result<Box<dyn Loaded>, SessionError> {
        let loaded = self.open(machine, settings)?.load().map_err(SessionError::Load)?;
        Ok(Box::new(loaded))
    }
}
