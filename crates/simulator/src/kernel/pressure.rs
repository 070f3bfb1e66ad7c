// SPDX-License-Identifier: MIT OR Apache-2.0
//! Capacity that is missing because something outside the scheduler holds clocks down: cooling devices
//! (`cpufreq_update_pressure`), and firmware whose driver says so (`arch_update_hw_pressure`).

use super::{Kernel, Rq};
use crate::units::CpuId;

impl Kernel {
    /// A cooling device allows `cpu` so many kHz of `top` (`cpufreq_update_pressure`).
    pub fn update_cpufreq_pressure(&mut self, cpu: CpuId, khz: u32, top: u32) {
        let rq = &mut self.rqs[cpu.index()];
        let pressure = rq.missing_capacity(khz, top);
        if std::mem::replace(&mut rq.cpufreq_pressure, pressure) != pressure {
            self.pressure_changed(cpu);
        }
    }

    /// Firmware holds `cpu` at so many kHz of `top`, and its driver says so (`topology_update_hw_pressure`). What the
    /// scheduler makes of it is an average, which the tick brings up to date.
    pub fn update_hw_pressure(&mut self, cpu: CpuId, khz: u32, top: u32) {
        let rq = &mut self.rqs[cpu.index()];
        rq.hw_pressure = rq.missing_capacity(khz, top);
        self.hw_pressure_active |= rq.hw_pressure > 0;
        self.note_pressure(cpu, true);
    }

    /// Brings the average of what firmware takes away to now (`update_hw_load_avg`); whether it changed.
    pub fn update_hw_load_avg(&mut self, cpu: CpuId) -> bool {
        let now = self.now;
        let rq = &mut self.rqs[cpu.index()];
        let decayed = rq.avg_hw.update_hw_load_avg(now, u64::from(rq.hw_pressure));
        if decayed {
            self.pressure_changed(cpu);
        }
        decayed
    }

    /// Notes whether something of what a loaded scheduler may look at has changed on `cpu`, and returns that.
    #[inline]
    pub(super) fn note_pressure(&mut self, cpu: CpuId, changed: bool) -> bool {
        if changed && !std::mem::replace(&mut self.rqs[cpu.index()].is_pressed, true) {
            self.pressed.push(cpu);
        }
        changed
    }

    /// Gives each CPU of [`Kernel::pressed`] to `show`, and forgets it.
    #[inline]
    pub fn show_pressed(&mut self, mut show: impl FnMut(CpuId, &Rq)) {
        for cpu in self.pressed.drain(..) {
            let rq = &mut self.rqs[cpu.index()];
            rq.is_pressed = false;
            show(cpu, rq);
        }
    }

    fn pressure_changed(&mut self, cpu: CpuId) {
        let rq = &mut self.rqs[cpu.index()];
        rq.capacity_limit = rq.capacity_allowed.min(rq.capacity_orig - rq.pressure());
        self.note_pressure(cpu, true);
    }
}

impl Rq {
    /// Capacity that is missing because clocks are held down (`hw_load_avg`, `cpufreq_get_pressure`: the greater).
    pub(super) fn pressure(&self) -> u32 {
        let averaged = self.avg_hw.load_avg.min(u64::from(self.capacity_orig)) as u32;
        averaged.max(self.cpufreq_pressure)
    }

    /// Capacity that `khz` of `top` leave out.
    fn missing_capacity(&self, khz: u32, top: u32) -> u32 {
        let capacity = u64::from(self.capacity_orig);
        (capacity - capacity * u64::from(khz.min(top)) / u64::from(top)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::params::KernelParameters;
    use crate::machine::Machine;
    use crate::units::MSEC;
    use rand::SeedableRng;
    use rand_pcg::Pcg32;

    const CPU: CpuId = CpuId(0);

    fn kernel() -> Kernel {
        let machine = Machine::load("smp-8").unwrap();
        Kernel::new(&machine, KernelParameters::default(), Pcg32::seed_from_u64(1))
    }

    #[test]
    fn what_a_cooling_device_takes_is_known_at_once_and_balancing_sees_it_next_time() {
        let mut kernel = kernel();
        // A quarter of the clock is missing: 1024 - 1024 · 3/4 = 256.
        kernel.update_cpufreq_pressure(CPU, 1500, 2000);
        assert_eq!((kernel.rq(CPU).capacity, kernel.rq(CPU).capacity_limit), (1024, 768));
        kernel.update_cpu_capacity(CPU);
        assert_eq!((kernel.rq(CPU).capacity, kernel.rq(CPU).capacity_limit), (768, 768));
        assert_eq!(kernel.glance(CPU).capacity, 768);
        kernel.update_cpufreq_pressure(CPU, 2000, 2000);
        kernel.update_cpu_capacity(CPU);
        assert_eq!((kernel.rq(CPU).capacity, kernel.rq(CPU).capacity_limit), (1024, 1024));
    }

    #[test]
    fn what_firmware_takes_is_averaged_as_load_is() {
        let mut kernel = kernel();
        kernel.update_hw_pressure(CPU, 1000, 2000);
        assert!(kernel.hw_pressure_active);
        assert_eq!(kernel.rq(CPU).capacity, 1024, "an average knows nothing of what has just begun");
        // Half of 512 after 32 periods of 1024 · 1024 ns, all of it after 345.
        kernel.now = 32 << 20;
        kernel.update_hw_load_avg(CPU);
        kernel.update_cpu_capacity(CPU);
        assert!((1024 - 256 - 2..=1024 - 256 + 2).contains(&kernel.rq(CPU).capacity), "{}", kernel.rq(CPU).capacity);
        kernel.now = 345 << 20;
        kernel.update_hw_load_avg(CPU);
        kernel.update_cpu_capacity(CPU);
        assert!((512..=513).contains(&kernel.rq(CPU).capacity), "{}", kernel.rq(CPU).capacity);
        // It goes as it came.
        kernel.update_hw_pressure(CPU, 2000, 2000);
        kernel.now += 1000 * MSEC;
        // An idle CPU has no ticks: what others do for its load brings this up to date, too.
        assert!(kernel.update_other_load_avgs(CPU));
        assert_eq!(kernel.rq(CPU).capacity_limit, 1024);
    }
}
