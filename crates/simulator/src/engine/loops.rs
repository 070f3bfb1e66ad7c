// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loops whose iterations several threads share.

use super::Engine;
use super::program::Next;
use super::thread::{Segment, sample_sum};
use crate::kernel::sync::WaitsFor;
use crate::units::{CpuId, TaskId};
use crate::workload::{LoopId, LoopSchedule};

/// A parallel loop in execution.
#[derive(Debug, Default)]
pub(super) struct LoopState {
    /// Iterations not dealt yet; `None`: not in execution.
    left: Option<u64>,
    /// Participants that have come.
    entered: u32,
    /// Participants that found nothing left to do, and wait.
    waiting: Vec<TaskId>,
}

impl Engine<'_> {
    /// `parallel_for`: takes the next share of the loop, or waits at its end for the others.
    pub(super) fn take_part(&mut self, cpu: CpuId, task: TaskId, id: LoopId) -> Next {
        let spec = &self.workload.loops[id.0 as usize];
        let state = &mut self.loops[id.0 as usize];
        let thread = &mut self.threads[task.index()];
        let left = state.left.get_or_insert(spec.iterations);
        let parties = u64::from(spec.participants.max(1));
        let first_time = !thread.in_loop;
        if first_time {
            thread.in_loop = true;
            state.entered += 1;
        }
        let share = match spec.schedule {
            LoopSchedule::Static if first_time => {
                // Equal shares; the first ones take what is left of the division.
                let (base, extra) = (spec.iterations / parties, spec.iterations % parties);
                base + u64::from(u64::from(state.entered) <= extra)
            }
            LoopSchedule::Static => 0,
            LoopSchedule::Dynamic { chunk } => chunk,
            LoopSchedule::Guided { chunk } => (*left / parties).max(chunk),
        }
        .min(*left);
        *left -= share;
        if share > 0 {
            // The same step again, for the next share.
            thread.pc -= 1;
            thread.behaviour = spec.behaviour;
            thread.segment = Segment::Work(sample_sum(spec.work, share, &mut thread.rng) as f64);
            return Next::Run;
        }
        thread.in_loop = false;
        thread.behaviour = spec.behaviour;
        if (state.waiting.len() as u64) + 1 < parties {
            state.waiting.push(task);
            return self.wait_for(cpu, task, WaitsFor::Loop(id.0));
        }
        let others = std::mem::take(&mut state.waiting);
        (state.left, state.entered) = (None, 0);
        self.release(cpu, others)
    }

    /// Participants of a loop that wait at its end, of how many.
    pub(super) fn loop_arrivals(&self, id: u32) -> (usize, u32) {
        (self.loops[id as usize].waiting.len(), self.workload.loops[id as usize].participants)
    }
}
