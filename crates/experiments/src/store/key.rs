// SPDX-License-Identifier: MIT OR Apache-2.0
//! What makes two runs the same: the SHA-256 of the program and of everything that a simulation is given.
//!
//! Machines, workloads and options enter as their `Debug` texts, which have every field, and of floating-point numbers every
//! digit that tells them apart. Another version of the program, whose texts may differ, has other keys in any case.

use std::fmt::{self, Debug, Write as _};
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest as _, Sha256};
use tandem_simulator::machine::Machine;
use tandem_simulator::simulation::{Options, SchedExt, Scheduler};
use tandem_simulator::workload::Workload;

/// A SHA-256, shown in hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of all that can be read.
    ///
    /// # Errors
    /// Reading fails.
    pub fn of_reader(mut reader: impl Read) -> io::Result<Self> {
        let mut sha = Sha256::new();
        let mut buffer = vec![0; 1 << 16];
        loop {
            match reader.read(&mut buffer)? {
                0 => return Ok(Self(sha.finalize().into())),
                length => sha.update(&buffer[..length]),
            }
        }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Takes text.
struct Text(Sha256);

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

impl Text {
    fn add(&mut self, what: &str, value: &dyn Debug) {
        // A `Text` takes all that is written, so that this never fails.
        let _ = write!(self, "\0{what}\0{value:?}");
    }

    fn digest(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

/// The keys of runs of one program.
#[derive(Debug)]
pub struct Keys {
    program: Digest,
    /// Schedulers, one for each object, with the digests of these. That they are kept keeps the objects' addresses their own.
    objects: Mutex<Vec<(SchedExt, Digest)>>,
}

impl Keys {
    pub fn new(program: Digest) -> Self {
        Self { program, objects: Mutex::default() }
    }

    /// The key of a run. The memory that it may use is left out: a report does not depend on that.
    pub fn of(&self, machine: &Machine, workload: &Workload, options: &Options) -> Digest {
        let Options { scheduler, governor, seed, time_limit, kernel, hotplug, audit, memory: _ } = options;
        let mut text = Text(Sha256::new());
        text.add("program", &self.program);
        text.add("machine", machine);
        text.add("workload", workload);
        match scheduler {
            Scheduler::Fair => text.add("scheduler", &"fair"),
            Scheduler::SchedExt(scheduler) => self.add_object(&mut text, scheduler),
        }
        text.add("options", &(governor, seed, time_limit, kernel, hotplug, audit));
        text.digest()
    }

    fn add_object(&self, text: &mut Text, scheduler: &SchedExt) {
        let SchedExt { path, name, object: _, sidecar, settings, profile } = scheduler;
        text.add("object", &self.of_object(scheduler));
        text.add("scheduler", &(path, name, sidecar, settings, profile));
    }

    /// The digest of a scheduler's object, which is worked out once.
    fn of_object(&self, scheduler: &SchedExt) -> Digest {
        let mut known = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, digest)) = known.iter().find(|(other, _)| Arc::ptr_eq(&other.object, &scheduler.object)) {
            return *digest;
        }
        let mut text = Text(Sha256::new());
        text.add("object", &scheduler.object);
        let digest = text.digest();
        known.push((scheduler.clone(), digest));
        digest
    }
}
