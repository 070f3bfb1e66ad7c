// SPDX-License-Identifier: MIT OR Apache-2.0
//! Puts threads, interrupts and clocks where they belong, and keeps them there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{Duration, Instant};

use super::census::{Census, Found};
use super::places::{Job, Place, Places, clocks};
use super::{AffinityError, AffinityRequest, NotHinted};
use crate::changes::{Applied, Change, ChangeError, Journal, Restored, Setting};
use crate::cpus::CpuList;
use crate::host::Host;
use crate::tasks::Tasks;

/// How often all threads are looked at, new or not: somebody may have changed their affinities.
const THOROUGH: Duration = Duration::from_secs(5);
/// Threads whose lengths are kept, of a process and of all.
const MOST_HINTS: [usize; 2] = [1 << 10, 1 << 16];

/// Affinities and clocks at work.
#[derive(Debug)]
pub struct Affinity {
    request: AffinityRequest,
    places: Places,
    tasks: Tasks,
    census: Census,
    journal: Journal,
    /// Some application was entered; before, nothing is known to be noise.
    begun: bool,
    looked: Option<Instant>,
    jobs: BTreeMap<u32, Job>,
    /// The CPUs that lengths give now, by process and thread.
    given: BTreeMap<(u32, u32), CpuList>,
    /// What became of the clocks that were asked for.
    clocks: &'static str,
    /// Threads that are not where they belong, and why.
    left: BTreeMap<u32, Why>,
    moved: u64,
    interrupts: u64,
    /// Interrupts that the kernel does not let go elsewhere.
    fixed_interrupts: u64,
    placed: u64,
}

/// Why a thread is not where it belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    /// It may not use the CPU that it belongs on.
    Elsewhere,
    /// The kernel does not let anybody change that.
    Fixed,
}

impl Affinity {
    /// Sets the clocks, and waits for an application. What it changes goes into the journal, and is given back by
    /// [`stop`](Self::stop) or when this is dropped.
    ///
    /// # Errors
    /// The machine cannot do it, or a clock cannot be set; then nothing is changed.
    pub fn start(host: &Host, request: &AffinityRequest, journal: Journal) -> Result<Self, AffinityError> {
        let places = Places::of(&host.machine, request)?;
        let root = journal.root().to_owned();
        let mut affinity = Self {
            request: request.clone(),
            places,
            tasks: Tasks::below(&root),
            census: Census::new(&root),
            journal,
            begun: false,
            looked: None,
            jobs: BTreeMap::new(),
            given: BTreeMap::new(),
            clocks: "off",
            left: BTreeMap::new(),
            moved: 0,
            interrupts: 0,
            fixed_interrupts: 0,
            placed: 0,
        };
        affinity.limit_clocks(host)?;
        Ok(affinity)
    }

    fn limit_clocks(&mut self, host: &Host) -> Result<(), AffinityError> {
        let Some(os_cpu) = self.places.os_cpu else { return Ok(()) };
        if self.request.os_mhz.or(self.request.rest_mhz).is_none() {
            return Ok(());
        }
        let changes = clocks(&host.machine, &host.policies, &self.request, os_cpu);
        self.clocks = match changes.len() {
            _ if host.policies.is_empty() => "no_cpufreq",
            0 => "shared_clock",
            _ => "active",
        };
        for change in changes {
            self.journal.apply(&change)?;
        }
        Ok(())
    }

    /// A process is an application, with all that descend from it; the first one makes everything else noise. When this
    /// returns the threads that it has are where they belong. `false`: there is no such process.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn enter_application(&mut self, pid: u32) -> Result<bool, AffinityError> {
        if !self.census.enter(pid) {
            return Ok(false);
        }
        if !self.begun {
            self.begun = true;
            self.move_kernel()?;
        }
        // Whoever was started by a thread that had not been moved yet is seen the second time.
        self.tick()?;
        self.tick()?;
        Ok(true)
    }

    /// Sees to newcomers and to those who have gone. To be called about four times a second.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn tick(&mut self) -> Result<(), AffinityError> {
        self.tick_at(Instant::now())
    }

    /// Does what [`tick`](Self::tick) does, at a time.
    pub(crate) fn tick_at(&mut self, now: Instant) -> Result<(), AffinityError> {
        if !self.begun {
            return Ok(());
        }
        let thorough = self.looked.is_none_or(|looked| now.saturating_duration_since(looked) >= THOROUGH);
        if thorough {
            self.looked = Some(now);
            self.left.clear();
            self.journal.tidy()?;
        }
        for found in self.census.look(thorough) {
            self.place(&found)?;
        }
        let census = &self.census;
        let has_ended = |job: &&Job| !census.lives(job.process, job.tid, job.start_time);
        let ended: Vec<Job> = self.jobs.values().filter(has_ended).copied().collect();
        self.jobs.retain(|tid, _| !ended.iter().any(|job| job.tid == *tid));
        let processes: BTreeSet<u32> = ended.iter().map(|job| job.process).collect();
        processes.into_iter().try_for_each(|process| self.rank(process))
    }

    /// A thread is so long, relative to others of its process; 0 takes that back. It is heeded at once.
    ///
    /// # Errors
    /// [`NotHinted`]; or the journal cannot be written.
    pub fn hint(&mut self, tid: u32, length: u64) -> Result<Result<(), NotHinted>, AffinityError> {
        if !self.request.longest {
            return Ok(Err(NotHinted::NotAsked));
        }
        let Some((process, start_time)) = self.census.of_application(tid) else {
            return Ok(Err(NotHinted::NoApplication { tid }));
        };
        if length == 0 {
            self.jobs.remove(&tid);
        } else if !self.jobs.contains_key(&tid) {
            let of_process = self.jobs.values().filter(|job| job.process == process).count();
            let full = [of_process, self.jobs.len()].into_iter().zip(MOST_HINTS).find(|(count, most)| count >= most);
            if let Some((_, most)) = full {
                return Ok(Err(NotHinted::TooMany { most }));
            }
        }
        if length > 0 {
            self.jobs.insert(tid, Job { tid, process, start_time, length });
        }
        self.rank(process).map(Ok)
    }

    /// What was done, by names; the same names mean the same every time.
    pub fn counters(&self) -> Vec<(String, u64)> {
        let left = |why: Why| self.left.values().filter(|known| **known == why).count() as u64;
        let fast = self.places.kinds.first();
        let on_fast = self.given.values().filter(|cpus| Some(*cpus) == fast).count() as u64;
        let counters = [
            ("isolate_moved", self.moved),
            ("isolate_elsewhere", left(Why::Elsewhere)),
            ("isolate_fixed", left(Why::Fixed)),
            ("isolate_interrupts", self.interrupts),
            ("isolate_fixed_interrupts", self.fixed_interrupts),
            ("longest_hinted", self.jobs.len() as u64),
            ("longest_on_fast", on_fast),
            ("longest_placed", self.placed),
        ];
        counters.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
    }

    /// What each mechanism is doing, with the scheduler's names for it; and whether clocks are limited: `shared_clock`: they are not,
    /// since each policy has a CPU that is to keep its clock.
    pub fn states(&self) -> Vec<(String, String)> {
        let isolate = match self.request.isolate {
            None => "off",
            _ if self.places.os_cpu.is_none() => "one_cpu",
            _ if !self.begun => "no_applications",
            _ => "active",
        };
        let longest = match self.places.kinds.len() {
            _ if !self.request.longest => "off",
            0 | 1 => "one_kind",
            _ if self.jobs.is_empty() => "no_lengths",
            _ => "active",
        };
        let states = [("isolate_state", isolate), ("clocks_state", self.clocks), ("longest_state", longest)];
        states.map(|(name, state)| (name.to_owned(), state.to_owned())).into()
    }

    /// Processes of applications that there are.
    pub fn applications(&self) -> usize {
        self.census.applications()
    }

    /// Gives everything back.
    pub fn stop(self) -> Restored {
        self.journal.restore()
    }

    /// Interrupts and work queues go to the OS CPU. Not every kernel and not every interrupt lets them.
    fn move_kernel(&mut self) -> Result<(), AffinityError> {
        let Some(cpu) = self.places.os_cpu else { return Ok(()) };
        let to = cpu.to_string();
        for setting in [Setting::WorkqueueCpus, Setting::DefaultIrqAffinity] {
            self.try_to(&Change { setting, to: to.clone() })?;
        }
        for irq in interrupts(&self.journal) {
            match self.try_to(&Change { setting: Setting::IrqAffinity { irq }, to: to.clone() })? {
                Outcome::Changed => self.interrupts += 1,
                Outcome::Refused => self.fixed_interrupts += 1,
                Outcome::Nothing => {}
            }
        }
        Ok(())
    }

    fn place(&mut self, found: &Found) -> Result<(), AffinityError> {
        let Found { pid, tid, stat, is_application } = found;
        if !stat.is_movable() {
            self.left.insert(*tid, Why::Fixed);
            return Ok(());
        }
        let setting = Setting::Affinity { pid: *pid, tid: *tid, start_time: stat.start_time };
        let Ok(now) = self.tasks.allowed(*pid, *tid) else { return Ok(()) };
        let had = CpuList::parse(&self.journal.had(&setting, &now.to_string())).unwrap_or_else(|| now.clone());
        let place = match is_application {
            true => self.places.application(&had, self.given.get(&(*pid, *tid))),
            false => self.places.system(&had),
        };
        let Place::On(cpus) = place else {
            self.left.insert(*tid, Why::Elsewhere);
            return Ok(());
        };
        if cpus == now {
            return Ok(());
        }
        match self.try_to(&Change { setting, to: cpus.to_string() })? {
            Outcome::Changed if *is_application => self.placed += u64::from(self.given.contains_key(&(*pid, *tid))),
            Outcome::Changed => self.moved += 1,
            Outcome::Refused => drop(self.left.insert(*tid, Why::Fixed)),
            Outcome::Nothing => {}
        }
        Ok(())
    }

    /// Ranks a process's threads anew, and moves those whose CPUs change by that.
    fn rank(&mut self, process: u32) -> Result<(), AffinityError> {
        let jobs: Vec<Job> = self.jobs.values().filter(|job| job.process == process).copied().collect();
        let given = self.places.jobs(&jobs);
        let before: Vec<u32> = self.given.range((process, 0)..=(process, u32::MAX)).map(|((_, tid), _)| *tid).collect();
        let threads: BTreeSet<u32> = before.into_iter().chain(given.keys().copied()).collect();
        for tid in threads {
            let (key, now) = ((process, tid), given.get(&tid));
            if self.given.get(&key) == now {
                continue;
            }
            match now {
                Some(cpus) => self.given.insert(key, cpus.clone()),
                None => self.given.remove(&key),
            };
            if let Some(stat) = self.tasks.thread(process, tid) {
                self.place(&Found { pid: process, tid, stat, is_application: true })?;
            }
        }
        Ok(())
    }

    /// What is gone or fixed stops nothing.
    fn try_to(&mut self, change: &Change) -> Result<Outcome, AffinityError> {
        match self.journal.apply(change) {
            Ok(Applied::Changed) => Ok(Outcome::Changed),
            Ok(Applied::Already) => Ok(Outcome::Nothing),
            Err(error @ ChangeError::Journal { .. }) => Err(error.into()),
            Err(error) if error.is_gone() => Ok(Outcome::Nothing),
            Err(_) => Ok(Outcome::Refused),
        }
    }
}

/// What became of a change that need not succeed.
enum Outcome {
    Changed,
    Nothing,
    Refused,
}

/// The numbers of all interrupts.
fn interrupts(journal: &Journal) -> Vec<u32> {
    let entries = fs::read_dir(journal.root().join("proc/irq")).into_iter().flatten();
    let mut numbers: Vec<u32> = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}
