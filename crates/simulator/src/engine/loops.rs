// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loops whose iterations several threads share.

use super::Engine;
use super::program::Next;
use super::thread::{Segment, sample_sum};
use crate::kernel::sync::WaitsFor;
use crate::units::{CpuId, TaskId};
use crate::workload::LoopId;

impl Engine<'_> {
    /// `parallel_for`: takes the next share of the loop, or waits at its end for the others.
    pub(super) fn take_part(&mut self, cpu: CpuId, task: TaskId, id: LoopId) -> Next {
        let spec = &self.threads.workload.loops[id.0 as usize];
        let state = &mut self.shared.loops[id.0 as usize];
        let thread = &mut self.threads[task];
        let enters = !std::mem::replace(&mut thread.in_loop, true);
        thread.behaviour = spec.behaviour;
        let share = state.deal(spec, enters);
        if share > 0 {
            // The same step again, for the next share.
            thread.pc -= 1;
            let work = sample_sum(spec.work, share, &mut thread.rng);
            thread.rounds.work(work);
            thread.segment = Segment::Work(work as f64);
            return Next::Run;
        }
        thread.in_loop = false;
        match state.end(spec, task) {
            Some(others) => {
                thread.rounds.next(self.agenda.now());
                self.release(cpu, |_| others)
            }
            None => self.wait_for(cpu, task, WaitsFor::Loop(id.0)),
        }
    }
}
