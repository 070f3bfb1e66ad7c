// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interrupts as a described load: each takes time from whatever its CPU does, and wakes one that idles.
//!
//! The time is no thread's ([`Kernel::irq_enter`](crate::kernel::Kernel::irq_enter)). docs/models.md (Interrupts) says what is left out.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand::RngExt;
use rand_pcg::Pcg32;

use super::Engine;
use super::events::Event;
use super::thread::sample;
use crate::machine::Machine;
use crate::streams::{Stream, Streams};
use crate::units::{CpuId, Nanos};
use crate::workload::{InterruptSpec, Span, Spread};

/// Interrupts that are still to come.
#[derive(Debug)]
pub(super) struct Interrupts<'r> {
    sources: &'r [InterruptSpec],
    rng: Pcg32,
    /// When each source next interrupts each of its CPUs: time, source, CPU.
    due: BinaryHeap<Reverse<(Nanos, usize, CpuId)>>,
}

impl<'r> Interrupts<'r> {
    /// The interrupts of `sources` on the CPUs of `machine` that are online.
    pub fn new(sources: &'r [InterruptSpec], machine: &Machine, streams: Streams) -> Self {
        let mut interrupts = Self { sources, rng: streams.of(Stream::Interrupts), due: BinaryHeap::new() };
        for (index, source) in sources.iter().enumerate() {
            let asked = |cpu: &CpuId| source.cpus.as_ref().is_none_or(|cpus| cpus.contains(&cpu.0));
            for cpu in machine.online().filter(asked) {
                let first = first(source.gap, &mut interrupts.rng);
                interrupts.due.push(Reverse((first, index, cpu)));
            }
        }
        interrupts
    }

    /// When the next interrupt comes.
    pub fn next(&self) -> Option<Nanos> {
        self.due.peek().map(|Reverse((time, ..))| *time)
    }

    /// Takes out the next interrupt that comes at `now`: its CPU, what it takes, and whether it follows the tick. The next of its
    /// kind is set.
    fn pop(&mut self, now: Nanos) -> Option<(CpuId, Nanos, bool)> {
        let Reverse((_, index, cpu)) = self.due.peek().filter(|Reverse((time, ..))| *time <= now).copied()?;
        self.due.pop();
        let source = &self.sources[index];
        let span = sample(source.hard, &mut self.rng) + sample(source.soft, &mut self.rng);
        let gap = sample(source.gap, &mut self.rng).max(1);
        self.due.push(Reverse((now + gap, index, cpu)));
        Some((cpu, span, source.follows_tick))
    }
}

/// When the first interrupt comes. One that comes at fixed intervals begins at any time of the first.
fn first(gap: Span, rng: &mut Pcg32) -> Nanos {
    match gap.spread {
        Spread::Fixed => rng.random_range(0..gap.mean.max(1)),
        Spread::Uniform(_) | Spread::Exponential | Spread::LogNormal(_) => sample(gap, rng),
    }
}

impl Engine<'_> {
    /// The interrupts of this instant come.
    pub(super) fn interrupts_come(&mut self) {
        while let Some((cpu, span, follows_tick)) = self.interrupts.pop(self.agenda.now()) {
            let spared = follows_tick && self.running[cpu].task.is_none();
            if self.sched.kernel.topology.online.test(cpu) && !spared {
                self.interrupt(cpu, span);
            }
        }
        self.agenda.set_to(Event::Interrupt, self.interrupts.next());
    }

    /// `cpu` handles an interrupt that takes `span`.
    fn interrupt(&mut self, cpu: CpuId, span: Nanos) {
        self.sched.kernel.irq_enter(cpu, span);
        let latency = match self.running[cpu].task {
            Some(_) => 0,
            None => self.interrupt_idle(cpu, span),
        };
        if self.running[cpu].start <= self.agenda.now() {
            // Its caches have long been warm: a thread that comes now does not leave with this cost.
            self.running[cpu].cold = 0;
        }
        self.charge(cpu, latency + span);
        self.expire_soft(cpu);
    }
}
