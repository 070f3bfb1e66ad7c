// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pacing: whose pace has changed, what it is now, and when each thread will be through at that.

use super::Engine;
use super::agenda::Agenda;
use super::events::Event;
use super::hardware::Hardware;
use super::progress::{Progress, Running};
use super::thread::{Segment, Thread};
use super::threads::Threads;
use super::users::Slowed;
use crate::kernel::topology::Topology;
use crate::machine::speed::Pace;
use crate::units::{CpuId, MemoryDomainId, Nanos};
use crate::workload::{Behaviour, BehaviourId};

impl Progress<'_> {
    /// The pace of the thread on `cpu` at the present clock, whether it contends or not.
    fn repace(&mut self, cpu: CpuId, threads: &mut Threads<'_>, hardware: &Hardware<'_>) {
        let Some(task) = self[cpu].task else { return };
        self.show_siblings(cpu, threads);
        let smt = self.shared_speed(cpu, threads, hardware);
        let pace = self.pace_at(cpu, smt, &threads[task].demand, hardware);
        let before = std::mem::replace(&mut threads[task].pace, pace);
        let uses = pace.uses_memory();
        if uses || before.uses_memory() {
            self.memory.set_user(self.machine, cpu, uses.then_some(pace));
        }
    }

    /// The thread on `cpu`, if any, is to be paced anew before time goes on.
    pub fn pace_later(&mut self, cpu: CpuId) {
        pace_later(&mut self.cpus[cpu.index()], cpu, &mut self.to_pace);
    }

    /// Where more depends on the pace of each, users of paths to memory are paced one by one as all others are.
    fn pace_users_singly(&mut self) {
        let mut paths = std::mem::take(&mut self.changed_paths);
        for path in paths.drain(..) {
            let Self { memory, cpus, to_pace, .. } = self;
            for cpu in memory.users(path) {
                pace_later(&mut cpus[cpu.index()], cpu, to_pace);
            }
        }
        self.changed_paths = paths;
    }

    /// SMT siblings of `cpu` go faster or slower when it stops or starts.
    pub fn pace_siblings(&mut self, cpu: CpuId, topology: &Topology) {
        if !topology.online.test(cpu) {
            // It is no sibling any more, but has just been one.
            let machine = self.machine;
            for sibling in &machine.cores[machine.cpus[cpu.index()].core.index()].cpus {
                self.pace_later(*sibling);
            }
        }
        for sibling in topology.smt[cpu.index()].iter().filter(|sibling| **sibling != cpu) {
            self.pace_later(*sibling);
        }
    }

    /// Whether threads are to be paced anew.
    pub fn paces_change(&self) -> bool {
        !self.to_pace.is_empty() || self.memory.is_dirty()
    }

    /// Works out the pace of all threads for which something changed: clocks, siblings, caches, contention. They stand in
    /// `to_pace` afterwards.
    fn repace_all(&mut self, threads: &mut Threads<'_>, hardware: &Hardware<'_>) {
        let changes = if self.memory.caches_changed() { self.memory.cache_changes() } else { Vec::new() };
        for cpu in changes {
            if let Some(task) = self[cpu].task {
                self.use_caches(cpu, task, threads);
                self.pace_later(cpu);
            }
        }
        let mut index = 0;
        while index < self.to_pace.len() {
            self.repace(self.to_pace[index], threads, hardware);
            index += 1;
        }
        if !self.memory.is_dirty() {
            return;
        }
        let Self { memory, machine, cpus, .. } = self;
        let pace = |cpu: CpuId| cpus[cpu.index()].task.map_or(Pace::default(), |task| threads[task].pace);
        let mut paths = std::mem::take(&mut self.changed_paths);
        for cpu in memory.solve(machine, pace, &mut paths) {
            self.pace_later(cpu);
        }
        self.changed_paths = paths;
    }

    /// Sets when the thread on `cpu` will be through with its segment, and what the CPU draws meanwhile.
    fn set_pace(&mut self, cpu: CpuId, threads: &mut Threads<'_>, hardware: &mut Hardware<'_>, agenda: &mut Agenda) {
        let Some(task) = self[cpu].task else { return };
        let thread = &mut threads[task];
        let slowed = self.memory.slowed(self.machine, cpu, &thread.pace);
        let (start, stall) = (self[cpu].start, self.stall[cpu.index()]);
        let behaviours = &threads.workload.behaviours;
        set_slowed(cpu, (&mut threads[task], behaviours), (start, stall), slowed, hardware, agenda);
    }

    /// Paces all users of a path to memory, other than those that have been paced in this round: books what each did, and sets when it
    /// will be through. What [`Self::account`] and [`Self::set_pace`] do where nothing but the latency has changed; on a big machine
    /// every switch asks for this of all threads of a package.
    pub(super) fn pace_users(
        &mut self,
        path: MemoryDomainId,
        threads: &mut Threads<'_>,
        hardware: &mut Hardware<'_>,
        agenda: &mut Agenda,
    ) {
        let (now, round, workload) = (agenda.now(), self.memory.round(), threads.workload);
        for place in 0.. {
            let Some(user) = self.memory.user(path, place) else { return };
            let cpu = user.cpu;
            let running = &mut self.cpus[cpu.index()];
            if running.paced_in == round {
                continue;
            }
            let Some(task) = running.task else { continue };
            let thread = &mut threads[task];
            let span = running.pass(thread, now);
            let bytes = thread.get_on(span);
            if bytes > 0.0 {
                self.memory.cross(path, bytes);
            }
            let slowed = match self.memory.known(path, user) {
                Some(slowed) => slowed,
                None => self.memory.slowed(self.machine, cpu, &thread.pace),
            };
            let place = (running.start, self.stall[cpu.index()]);
            set_slowed(cpu, (thread, &workload.behaviours), place, slowed, hardware, agenda);
        }
    }
}

/// Sets when `thread` on `cpu` will be through with its segment now that it is slowed like this, and what the CPU draws meanwhile;
/// it goes on at `start`, and waits for memory at `stall` of the activity of computing.
#[inline(always)]
fn set_slowed(
    cpu: CpuId,
    (thread, behaviours): (&mut Thread<'_>, &[Behaviour]),
    (start, stall): (Nanos, f64),
    Slowed { unit_time, computing }: Slowed,
    hardware: &mut Hardware<'_>,
    agenda: &mut Agenda,
) {
    (thread.unit_time, thread.unit_bytes) = (unit_time, thread.pace.bytes);
    let activity = |behaviour: BehaviourId| {
        let behaviour = &behaviours[behaviour.0 as usize];
        behaviour.activity * (computing + (1.0 - computing) * stall)
    };
    let own = thread.behaviour;
    let (left, activity) = match thread.segment {
        Segment::None => return,
        Segment::Time(left) => (left, activity(own)),
        // Not the thread's own kind of work, but that of the machine's default.
        Segment::Spin(left) => (left, activity(BehaviourId(0))),
        Segment::Plain { left, stalled } => (left, if stalled { stall } else { 1.0 }),
        Segment::Work(left) => (rounded_up(left * unit_time), activity(own)),
    };
    agenda.set(Event::Run(cpu), start.max(agenda.now()).saturating_add(left));
    hardware.run(cpu, activity);
}

/// Puts a CPU into the list of those to be paced, unless it is there.
#[inline]
fn pace_later(running: &mut Running, cpu: CpuId, to_pace: &mut Vec<CpuId>) {
    if !std::mem::replace(&mut running.to_be_paced, true) {
        to_pace.push(cpu);
    }
}

/// Whole nanoseconds, rounded up, as `f64::ceil` does: that is a call into the C library on processors without SSE 4.1.
#[inline]
fn rounded_up(time: f64) -> Nanos {
    // Signed numbers are converted in one instruction.
    if (0.0..1e18).contains(&time) {
        let whole = time as i64;
        return (whole + i64::from((whole as f64) < time)) as Nanos;
    }
    let whole = time as Nanos;
    whole.saturating_add(Nanos::from((whole as f64) < time))
}

impl Engine<'_> {
    /// Paces everything anew for which something changed.
    pub(super) fn pace_all(&mut self) {
        self.running.repace_all(&mut self.threads, &self.hardware);
        if self.running.disturbed || self.sched.kernel.pmu.is_open() {
            self.running.pace_users_singly();
        }
        let mut to_pace = std::mem::take(&mut self.running.to_pace);
        let round = self.running.memory.begin_round();
        for cpu in to_pace.iter().copied() {
            let running = &mut self.running[cpu];
            (running.to_be_paced, running.paced_in) = (false, round);
            self.account(cpu);
            self.running.set_pace(cpu, &mut self.threads, &mut self.hardware, &mut self.agenda);
            self.count(cpu);
        }
        to_pace.clear();
        if self.running.to_pace.is_empty() {
            self.running.to_pace = to_pace;
        }
        self.pace_changed_paths();
    }

    /// Paces the users of paths to memory whose latency has changed.
    fn pace_changed_paths(&mut self) {
        let Self { running, threads, hardware, agenda, .. } = self;
        let mut paths = std::mem::take(&mut running.changed_paths);
        for path in paths.iter().copied() {
            running.pace_users(path, threads, hardware, agenda);
        }
        paths.clear();
        running.changed_paths = paths;
    }
}

#[cfg(test)]
mod tests {
    use super::rounded_up;

    #[test]
    fn times_are_rounded_up_as_the_c_library_does() {
        for time in [0.0, 0.1, 1.0, 1.5, 2.999, 1e9 + 0.5, 9_007_199_254_740_993.0, 1e19, 1e300, -0.5, -3.0, f64::NAN] {
            assert_eq!(rounded_up(time), time.ceil() as u64, "{time}");
        }
    }
}
