// SPDX-License-Identifier: MIT OR Apache-2.0
//! What makes two runs the same: the SHA-256 of the program and of everything that a simulation is given.
//!
//! Machines and workloads enter as the digests of their `Debug` texts, options as these texts themselves, which have every
//! field, and of floating-point numbers every digit that tells them apart. Another version of the program, whose texts may differ, has other keys in any case.

use std::fmt::{self, Debug, Write as _};
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

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

/// How many descriptions of a kind are kept with their digests: the machines, or the workloads, of a large matrix.
const KEPT: usize = 64;

/// Descriptions with the digests of their texts. To write a description as text takes far longer than to compare it with
/// those known, and a matrix asks for the same few at each of its runs.
#[derive(Debug)]
struct Known<T>(RwLock<Vec<(T, Digest)>>);

impl<T> Default for Known<T> {
    fn default() -> Self {
        Self(RwLock::default())
    }
}

impl<T: Clone + PartialEq + Debug> Known<T> {
    /// The digest of `value`, which is worked out once unless more than [`KEPT`] others came meanwhile.
    fn digest(&self, value: &T) -> Digest {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, digest)) = known.iter().find(|(other, _)| other == value) {
            return *digest;
        }
        drop(known);
        let mut text = Text(Sha256::new());
        text.add("description", value);
        let digest = text.digest();
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have come first.
        if known.iter().all(|(_, other)| *other != digest) {
            if known.len() == KEPT {
                known.remove(0);
            }
            known.push((value.clone(), digest));
        }
        digest
    }

    #[cfg(test)]
    fn count(&self) -> usize {
        self.0.read().unwrap().len()
    }
}

/// The keys of runs of one program: two runs have the same one if all that they follow from is the same.
#[derive(Debug)]
pub struct Keys {
    program: Digest,
    machines: Known<Machine>,
    workloads: Known<Workload>,
    /// Schedulers, one for each object, with the digests of these. That they are kept keeps the objects' addresses their own.
    objects: Mutex<Vec<(SchedExt, Digest)>>,
}

impl Keys {
    /// The keys of runs of the program whose file has this SHA-256.
    pub fn new(program: Digest) -> Self {
        Self { program, machines: Known::default(), workloads: Known::default(), objects: Mutex::default() }
    }

    /// The key of a run. The memory that it may use is left out, and how BPF programs run: a report depends on neither.
    pub fn of(&self, machine: &Machine, workload: &Workload, options: &Options) -> Digest {
        let Options { scheduler, governor, seed, time_limit, kernel, hotplug, audit, memory: _, bpf: _ } = options;
        let mut text = Text(Sha256::new());
        text.add("program", &self.program);
        text.add("machine", &self.machines.digest(machine));
        text.add("workload", &self.workloads.digest(workload));
        match scheduler {
            Scheduler::Fair => text.add("scheduler", &"fair"),
            Scheduler::SchedExt(scheduler) => self.add_object(&mut text, scheduler),
        }
        text.add("options", &(governor, seed, time_limit, kernel, hotplug, audit));
        text.digest()
    }

    fn add_object(&self, text: &mut Text, scheduler: &SchedExt) {
        let SchedExt { path, name, object: _, sidecar, settings, profile, code: _, linked: _ } = scheduler;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_written_once_and_its_digest_is_that_of_its_text() {
        let known = Known::default();
        let text = |value: &str| {
            let mut text = Text(Sha256::new());
            text.add("description", &value);
            text.digest()
        };
        assert_eq!(known.digest(&"a"), text("a"));
        assert_eq!(known.digest(&"b"), text("b"));
        assert_eq!((known.digest(&"a"), known.count()), (text("a"), 2));
    }

    #[test]
    fn the_first_known_makes_room_and_is_worked_out_again() {
        let known = Known::default();
        let digests: Vec<Digest> = (0..=KEPT).map(|value| known.digest(&value)).collect();
        assert_eq!(known.count(), KEPT);
        assert_eq!((known.digest(&0), known.count()), (digests[0], KEPT));
    }
}
