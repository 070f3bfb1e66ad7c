// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time that interrupts take from a CPU, as a kernel with `CONFIG_IRQ_TIME_ACCOUNTING` counts it: it is no task's.

use super::{Kernel, Rq};
use crate::kernel::pelt::SchedAvg;
use crate::units::{CAPACITY_SCALE, CpuId, Nanos};

/// Time that interrupts took on a CPU so far (`irq_time_read`).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct IrqTime {
    /// All of it, what is not over yet included.
    total: Nanos,
    /// When the latest interrupt is over.
    until: Nanos,
    /// What the PELT clock has been told of (`prev_irq_time`).
    booked: Nanos,
}

impl IrqTime {
    /// Whether there has been an interrupt.
    #[inline]
    pub fn happens(&self) -> bool {
        self.total > 0
    }

    /// The time that is over by `now`.
    #[inline]
    pub fn elapsed(&self, now: Nanos) -> Nanos {
        self.total - self.until.saturating_sub(now)
    }
}

impl Kernel {
    /// `cpu` gets an interrupt that takes `span`, now, or once that which it handles already is over.
    pub fn irq_enter(&mut self, cpu: CpuId, span: Nanos) {
        self.update_rq_clock(cpu);
        let irq = &mut self.rqs[cpu.index()].irq;
        irq.until = irq.until.max(self.now) + span;
        irq.total += span;
    }
}

impl Rq {
    /// Brings the load of interrupts to `now` (`update_irq_load_avg`); returns how much of the time since the last call they
    /// took. When they came in that time is not known: as in the kernel, they count as having come last.
    pub(super) fn update_irq_load_avg(&mut self, now: Nanos) -> Nanos {
        let elapsed = self.irq.elapsed(now);
        let taken = elapsed - std::mem::replace(&mut self.irq.booked, elapsed);
        if taken > 0 {
            let running = scaled(scaled(taken, self.freq_scale), self.capacity_orig);
            self.avg_irq.update_class_load_avg(now - running, false);
            self.avg_irq.update_class_load_avg(now, true);
        }
        taken
    }

    /// Lets the load of interrupts decay up to `now`; whether it changed.
    pub(super) fn decay_irq_load_avg(&mut self, now: Nanos) -> bool {
        self.irq.happens() && SchedAvg::update_class_load_avg(&mut self.avg_irq, now, false)
    }
}

/// `cap_scale`.
fn scaled(span: Nanos, scale: u32) -> Nanos {
    span * u64::from(scale) / CAPACITY_SCALE
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_pcg::Pcg32;

    use super::*;
    use crate::kernel::params::KernelParameters;
    use crate::machine::Machine;
    use crate::units::{MSEC, USEC};

    const CPU: CpuId = CpuId(0);

    fn kernel() -> Kernel {
        let machine = Machine::load("smp-8").unwrap();
        Kernel::new(&machine, KernelParameters::default(), Pcg32::seed_from_u64(1))
    }

    #[test]
    fn the_clock_of_tasks_stands_still_while_an_interrupt_is_handled() {
        let mut kernel = kernel();
        kernel.now = 100 * USEC;
        kernel.irq_enter(CPU, 10 * USEC);
        kernel.irq_enter(CPU, 5 * USEC);
        let clock = |kernel: &mut Kernel, at: Nanos| {
            kernel.now = at * USEC;
            kernel.rq_clock_task(CPU) / USEC
        };
        assert_eq!([100, 104, 115, 120].map(|at| clock(&mut kernel, at)), [100, 100, 100, 105]);
        assert_eq!(kernel.rq_clock_task(CpuId(1)), 120 * USEC, "other CPUs have their own");
    }

    #[test]
    fn what_interrupts_take_is_missing_from_the_pelt_clock_and_from_capacity() {
        let mut kernel = kernel();
        // A tenth of each millisecond, for 345 periods and more: the load settles at a tenth of 1024.
        for millisecond in 0..400 {
            kernel.now = millisecond * MSEC;
            kernel.irq_enter(CPU, 100 * USEC);
            kernel.now += MSEC - 1;
            kernel.update_rq_clock(CPU);
        }
        assert_eq!(kernel.rq(CPU).clock.task / MSEC, 359);
        let util = kernel.rq(CPU).avg_irq.util_avg;
        assert!((98..=106).contains(&util), "{util}");
        kernel.update_cpu_capacity(CPU);
        assert_eq!(u64::from(kernel.rq(CPU).capacity), 1024 * (1024 - util) / 1024);
    }
}
