// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much SMT siblings slow each other: by the share of its time in which the other computes.

use super::hardware::Hardware;
use super::progress::Progress;
use super::thread::Segment;
use super::threads::Threads;
use crate::machine::speed::{Core, Demand, Pace};
use crate::units::CpuId;

/// Rounds in which two threads that slow each other are brought in line. Each round divides what is missing by three and more, as a
/// sibling takes no more than about 40 % of a core's speed: after ten it is below 1e-4.
const ROUNDS: usize = 10;

/// What runs beside a thread.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) enum Beside {
    /// What computes all of its time: kernel code, a thread that spins.
    #[default]
    Computing,
    /// What only waits for memory.
    Stalled,
    /// A thread that computes and waits for memory, with what it demands.
    Mixed(Demand),
}

impl Progress<'_> {
    /// The speed at which the thread on `cpu` computes beside its siblings, 0..=1, as a share of that alone. Of several siblings the one
    /// that computes most counts.
    pub(super) fn shared_speed(&self, cpu: CpuId, threads: &Threads<'_>, hardware: &Hardware<'_>) -> f64 {
        let kind = self.machine.core_type(cpu);
        if kind.smt_speed >= 1.0 || !hardware.sibling_busy(cpu) {
            return 1.0;
        }
        let core = &self.machine.cores[self.machine.cpus[cpu.index()].core.index()];
        let others = core.cpus.iter().filter(|other| **other != cpu && hardware.is_busy(**other));
        let taken = others.map(|other| match self.beside(*other, threads) {
            Beside::Stalled => 0.0,
            Beside::Computing => 1.0,
            Beside::Mixed(demand) => self.mutual(cpu, (*other, &demand), threads, hardware),
        });
        slowed(kind.smt_speed, taken.fold(0.0, f64::max))
    }

    fn beside(&self, cpu: CpuId, threads: &Threads<'_>) -> Beside {
        let Some(task) = self[cpu].task else { return Beside::Computing };
        match threads[task].segment {
            Segment::Plain { stalled: true, .. } => Beside::Stalled,
            Segment::None | Segment::Plain { stalled: false, .. } | Segment::Spin(_) => Beside::Computing,
            Segment::Work(_) | Segment::Time(_) if threads[task].demand.is_clock_bound() => Beside::Computing,
            Segment::Work(_) | Segment::Time(_) => Beside::Mixed(threads[task].demand),
        }
    }

    /// The share of its time in which the thread on `other` computes, given that it and the thread on `cpu` slow each other.
    fn mutual(&self, cpu: CpuId, other: (CpuId, &Demand), threads: &Threads<'_>, hardware: &Hardware<'_>) -> f64 {
        let smt_speed = self.machine.core_type(cpu).smt_speed;
        let own = self.beside(cpu, threads);
        let mut others = 1.0;
        for _ in 0..ROUNDS {
            let computes = match &own {
                Beside::Stalled => 0.0,
                Beside::Computing => 1.0,
                Beside::Mixed(demand) => self.computes((cpu, demand), slowed(smt_speed, others), hardware),
            };
            others = self.computes(other, slowed(smt_speed, computes), hardware);
        }
        others
    }

    /// The share of its time in which a thread with such a demand computes, at this speed beside its sibling and without contention for
    /// memory.
    fn computes(&self, (cpu, demand): (CpuId, &Demand), smt: f64, hardware: &Hardware<'_>) -> f64 {
        let pace = self.pace_at(cpu, smt, demand, hardware);
        pace.clock / pace.base
    }

    /// The thread on `cpu` is paced anew: if it computes for another share of its time than before, its siblings are, too.
    pub(super) fn show_siblings(&mut self, cpu: CpuId, threads: &Threads<'_>) {
        let core = &self.machine.cores[self.machine.cpus[cpu.index()].core.index()];
        if core.cpus.len() == 1 || self.machine.core_type(cpu).smt_speed >= 1.0 {
            return;
        }
        let shown = self.beside(cpu, threads);
        if std::mem::replace(&mut self[cpu].shown, shown) != shown {
            for sibling in core.cpus.iter().filter(|sibling| **sibling != cpu) {
                self.pace_later(*sibling);
            }
        }
    }

    /// The pace of a thread with this demand on `cpu`, at the present clock.
    pub(super) fn pace_at(&self, cpu: CpuId, smt: f64, demand: &Demand, hardware: &Hardware<'_>) -> Pace {
        let core_type = self.machine.core_type(cpu);
        let core =
            Core { khz: f64::from(hardware.khz(cpu)), ipc: core_type.ipc, smt, overlap: core_type.memory_overlap };
        if demand.is_clock_bound() {
            return Pace::of_computing(demand.clock, &self.machine.reference, core);
        }
        Pace::new(demand, &self.machine.reference, core, self.bandwidth(cpu))
    }
}

/// The speed that is left where a sibling computes for this share of its time; `smt_speed` where it always does.
fn slowed(smt_speed: f64, computes: f64) -> f64 {
    1.0 / (1.0 + (1.0 / smt_speed - 1.0) * computes)
}

#[cfg(test)]
mod tests {
    use super::slowed;

    #[test]
    fn a_sibling_takes_in_proportion_to_what_it_computes() {
        // 1 / 0.6 is 1.667 times as long beside one that always computes, 1.333 times beside one that does half of the time.
        assert!((slowed(0.6, 1.0) - 0.6).abs() < 1e-12);
        assert!((slowed(0.6, 0.5) - 0.75).abs() < 1e-12);
        assert!((slowed(0.6, 0.0) - 1.0).abs() < 1e-12);
    }
}
