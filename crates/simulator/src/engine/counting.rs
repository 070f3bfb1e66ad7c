// SPDX-License-Identifier: MIT OR Apache-2.0
//! What performance counters are told: what each CPU does, whenever that changes.

use super::Engine;
use super::progress::Running;
use super::thread::{Segment, Thread};
use crate::kernel::pmu::Stay;
use crate::machine::Machine;
use crate::units::{CpuId, TaskId};

/// Instructions per cycle of a core whose type has `ipc` 1, while it does not wait for memory.
///
/// Machine descriptions say how fast work goes, not how many instructions it has. With one per cycle, a nanosecond of work
/// is as many instructions as the reference CPU has cycles in it, times its `ipc`, whatever the work waits for. Somebody
/// who knows how many instructions a real program has could tell.
const REFERENCE_IPC: f64 = 1.0;

impl Engine<'_> {
    /// Opens the counters of all CPUs, if a scheduler's loader wants some and there are any; else closes them.
    pub(super) fn open_counters(&mut self, wanted: bool) {
        let kernel = &mut self.sched.kernel;
        if !wanted || !kernel.params.perf_counters {
            kernel.pmu.close();
            return;
        }
        kernel.pmu.open(kernel.now, kernel.topology.nr_cpus, &kernel.topology.online);
        for cpu in self.machine.online() {
            self.count(cpu);
        }
    }

    /// The counters of `cpu` learn what runs there, and how fast, from now on.
    #[inline]
    pub(super) fn count(&mut self, cpu: CpuId) {
        if self.sched.kernel.pmu.is_open() {
            self.count_stay(cpu);
        }
    }

    #[inline(never)]
    fn count_stay(&mut self, cpu: CpuId) {
        let stay =
            |task: TaskId| stay(self.machine, (cpu, self.hardware.khz(cpu)), &self.running[cpu], &self.threads[task]);
        let stay = self.running[cpu].task.map_or_else(Stay::default, stay);
        self.sched.kernel.pmu.enter(self.agenda.now(), cpu, stay);
    }
}

/// What counters see of `thread` on `cpu`, which runs at `khz`.
fn stay(machine: &Machine, (cpu, khz): (CpuId, u32), running: &Running, thread: &Thread<'_>) -> Stay {
    let cycles = f64::from(khz) * 1e-6;
    let kernel_instructions = cycles * machine.core_type(cpu).ipc * REFERENCE_IPC;
    let overhead = Stay {
        refill_at: running.start.saturating_sub(running.cold),
        work_at: running.start,
        work_ns: f64::INFINITY,
        cycles,
        kernel_instructions,
        ..Stay::default()
    };
    let of_its_kind = |work_ns: f64| Stay {
        work_ns,
        instructions: machine.reference.khz_ipc * 1e-6 * REFERENCE_IPC / thread.unit_time,
        bytes: thread.unit_bytes / thread.unit_time,
        stalled: cycles * (1.0 - thread.pace.clock / thread.unit_time),
        ..overhead
    };
    match thread.segment {
        Segment::None => overhead,
        Segment::Work(left) => of_its_kind(left * thread.unit_time),
        Segment::Time(left) | Segment::Spin(left) => of_its_kind(left as f64),
        Segment::Plain { stalled: false, .. } => Stay { instructions: kernel_instructions, ..overhead },
        // What it moves was counted when it began.
        Segment::Plain { stalled: true, .. } => Stay { stalled: cycles, ..overhead },
    }
}
