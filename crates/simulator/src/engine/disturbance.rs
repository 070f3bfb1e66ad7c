// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a thread brings into a cache in passing pushes out what others keep there: the system's noise, above all.
//!
//! Lines fall anywhere in a cache, so each thread loses in proportion to what it holds, whether it runs beside the one
//! that disturbs it, waits for a CPU, or sleeps. It fetches what it lost when it next gets on with work: as it gets a CPU,
//! at its next step, or at the next tick. docs/models.md (Caches) says what is left out.

use super::Engine;
use super::memory::Memory;
use super::progress::Progress;
use super::thread::{Segment, Thread};
use super::threads::Threads;
use crate::machine::Machine;
use crate::units::{CacheId, CpuId, Nanos, TaskId};

/// Books what `thread` brought into the cache of `cpu` in a span there, ns: no more since it woke than it disturbs, and no
/// faster than one thread can.
pub(super) fn bring_in(machine: &Machine, memory: &mut Memory, cpu: CpuId, thread: &mut Thread<'_>, span: Nanos) {
    let left = thread.kind.disturbs as f64 - thread.brought;
    let Some(cache) = machine.cpus[cpu.index()].llc.filter(|_| left > 0.0) else { return };
    let bytes = left.min(span as f64 * thread_bandwidth(machine, cpu));
    thread.brought += bytes;
    memory.pass_through(cache, bytes);
}

/// What one thread on `cpu` can move, bytes per nanosecond.
fn thread_bandwidth(machine: &Machine, cpu: CpuId) -> f64 {
    machine.memory_domains[machine.cpus[cpu.index()].memory_domain.index()].thread_bytes_per_s * 1e-9
}

impl Progress<'_> {
    /// Bytes of what the thread `task` on `cpu` holds that were pushed out of its cache since it had all of it.
    fn pushed_out(&self, cache: CacheId, task: TaskId, threads: &Threads<'_>) -> f64 {
        let footprint = threads.latest_behaviour(task).footprint;
        let before = threads[task].complete.filter(|(known, _)| *known == cache && footprint > 0);
        // What another cache lost does not matter here, where all was fetched on arrival.
        let Some((_, before)) = before else { return 0.0 };
        let passed = self.memory.passed(cache) - before;
        if passed <= 0.0 {
            return 0.0;
        }
        let size = self.machine.caches[cache.index()].bytes as f64;
        self.memory.share(self.machine, cache, footprint) * (passed / size).min(1.0)
    }

    /// Whether all that the thread `task` reuses was pushed out of the cache of `cpu` by threads that ran there since, so
    /// that the switch to it already costs all of it.
    fn lost_all(&self, cpu: CpuId, task: TaskId, threads: &Threads<'_>) -> bool {
        let thread = &threads[task];
        let came = self[cpu].footprints.saturating_sub(thread.footprints_seen);
        thread.last_cpu == Some(cpu) && came >= threads.latest_behaviour(task).footprint
    }
}

impl Engine<'_> {
    /// The thread `task` comes to `cpu`, and what its switch costs is known: what it will fetch for that it has.
    #[inline]
    pub(super) fn refilled(&mut self, cpu: CpuId, task: TaskId) {
        if self.running.disturbed && self.running.lost_all(cpu, task, &self.threads) {
            self.threads[task].complete = None;
        }
    }

    /// The thread on `cpu` fetches what others pushed out of its cache, if it works.
    #[inline]
    pub(super) fn refetch(&mut self, cpu: CpuId) {
        if self.running.disturbed {
            self.refetch_pushed_out(cpu);
        }
    }

    #[inline(never)]
    fn refetch_pushed_out(&mut self, cpu: CpuId) {
        let (task, cache) = (self.running[cpu].task, self.machine.cpus[cpu.index()].llc);
        let Some((task, cache)) = task.zip(cache) else { return };
        if !matches!(self.threads[task].segment, Segment::Work(_) | Segment::Time(_)) {
            return;
        }
        let bytes = self.running.pushed_out(cache, task, &self.threads);
        self.threads[task].complete = Some((cache, self.running.memory.passed(cache)));
        if bytes <= 0.0 {
            return;
        }
        let farther = self.running.memory.latency_factor(cpu);
        let time = (bytes / thread_bandwidth(self.machine, cpu) * farther) as Nanos;
        self.running.move_bytes(cpu, &mut self.threads[task], bytes);
        self.sched.kernel.pmu.add_bytes(cpu, bytes);
        self.charge(cpu, time);
        // What is not fetched before the thread loses its CPU stays to be fetched.
        let (now, running) = (self.agenda.now(), &mut self.running[cpu]);
        running.cold = (running.cold + time).min(running.start.saturating_sub(now));
    }
}
