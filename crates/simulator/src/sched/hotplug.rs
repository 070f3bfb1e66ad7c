// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs come and go while tasks run (`sched_cpu_activate`, `sched_cpu_deactivate`).
//!
//! A CPU goes at once: a kernel takes some milliseconds, in which it parks the CPU's own threads. The reservations of
//! deadline tasks are not checked against the CPUs that are left (a kernel would refuse to take the CPU).

use super::core::Sched;
use crate::kernel::Kernel;
use crate::kernel::cpumask::CpuMask;
use crate::kernel::task::TaskState;
use crate::kernel::topology::Topology;
use crate::machine::Machine;
use crate::units::{CpuId, TaskId};

/// Why a CPU cannot come or go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HotplugError {
    /// There is no such CPU.
    #[error("there is no CPU {0}")]
    NoCpu(CpuId),
    /// The CPU is online or offline already, as it shall become.
    #[error("CPU {0} is so already")]
    Already(CpuId),
    /// The CPU is the last one that is online.
    #[error("CPU {0} is the last one")]
    Last(CpuId),
}

impl Sched {
    /// `cpu` of `machine` comes or goes. Its tasks go to other CPUs when the caller drains [`Sched::next_switch`]; a
    /// task that may use none of those that are left may then use all.
    ///
    /// # Errors
    /// There is no such CPU, it is online or offline already, or it is the last one.
    pub fn set_cpu_online(&mut self, machine: &Machine, cpu: CpuId, online: bool) -> Result<(), HotplugError> {
        if cpu.index() >= self.kernel.topology.nr_cpus {
            return Err(HotplugError::NoCpu(cpu));
        }
        let mut cpus = self.kernel.topology.online.clone();
        if cpus.test(cpu) == online {
            return Err(HotplugError::Already(cpu));
        }
        if online {
            cpus.set(cpu);
        } else {
            cpus.clear(cpu);
        }
        if cpus.is_empty() {
            return Err(HotplugError::Last(cpu));
        }
        self.rebuild_sched_domains(machine, cpus);
        if online {
            self.sched_cpu_activate(cpu)
        } else {
            self.sched_cpu_deactivate(cpu)
        }
        Ok(())
    }

    fn rebuild_sched_domains(&mut self, machine: &Machine, online: CpuMask) {
        self.kernel.topology = Topology::with_online(machine, online);
        self.fair.rebuild_sched_domains(&self.kernel, machine);
        // `init_sched_groups_capacity`
        for cpu in (0..self.kernel.topology.nr_cpus).map(CpuId::at) {
            self.kernel.update_cpu_capacity(cpu);
        }
    }

    fn sched_cpu_activate(&mut self, cpu: CpuId) {
        self.fair.set_runtime_enabled(&mut self.kernel, cpu, true);
        self.kernel.set_idle(cpu, true);
        self.kernel.resched_curr(cpu);
        if let Some(ext) = &mut self.ext {
            ext.with(&mut self.kernel).scx_rq_activate(cpu);
        }
    }

    fn sched_cpu_deactivate(&mut self, cpu: CpuId) {
        self.fair.set_runtime_enabled(&mut self.kernel, cpu, false);
        self.kernel.set_idle(cpu, false);
        self.release_migration_disabled(cpu);
        if let Some(ext) = &mut self.ext {
            ext.with(&mut self.kernel).scx_rq_deactivate(cpu);
        }
        let all = (0..self.kernel.tasks.len()).map(TaskId::at);
        let mut leaving: Vec<TaskId> = all
            .filter(|task| {
                let entry = self.kernel.task(*task);
                entry.cpu == cpu && entry.state == TaskState::Runnable
            })
            .collect();
        // The last of these moves first: those that wait, before the CPU could turn to one of them.
        leaving.sort_by_key(|task| !self.kernel.task(*task).on_cpu);
        for task in leaving {
            self.push_away(task);
        }
    }

    /// `balance_push`, `select_fallback_rq`: a runnable task leaves its CPU, which goes.
    fn push_away(&mut self, task: TaskId) {
        let usable = |kernel: &Kernel| kernel.topology.online.iter().find(|cpu| kernel.task(task).may_use(*cpu));
        if usable(&self.kernel).is_none() {
            self.set_affinity(task, None);
        }
        if let Some(dst) = usable(&self.kernel) {
            self.kernel.stop_moves.push((task, dst));
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_pcg::Pcg32;

    use super::*;
    use crate::kernel::params::KernelParameters;
    use crate::workload::Scheduling;

    fn scheduler(machine: &Machine) -> Sched {
        Sched::new(Kernel::new(machine, KernelParameters::default(), Pcg32::seed_from_u64(1)), None)
    }

    fn settle(scheduler: &mut Sched) {
        while scheduler.next_switch().is_some() {}
    }

    #[test]
    fn a_task_leaves_a_cpu_that_goes_even_if_it_may_use_no_other() {
        let machine = Machine::load("smp-8").expect("a bundled machine");
        let mut scheduler = scheduler(&machine);
        let nr_cpus = scheduler.kernel.topology.nr_cpus;
        let pinned = std::sync::Arc::new(CpuMask::of(nr_cpus, [CpuId(1)]));
        let task = scheduler.task_new(Scheduling::default(), Some(pinned));
        scheduler.wake_up_new_task(task, CpuId(1));
        settle(&mut scheduler);
        assert_eq!(scheduler.kernel.rq(CpuId(1)).curr, Some(task));
        assert_eq!(scheduler.set_cpu_online(&machine, CpuId(1), false), Ok(()));
        settle(&mut scheduler);
        assert_eq!(scheduler.kernel.rq(CpuId(1)).curr, None);
        let cpu = scheduler.kernel.task(task).cpu;
        assert_eq!((cpu == CpuId(1), scheduler.kernel.rq(cpu).curr), (false, Some(task)));
        assert!(!scheduler.kernel.idle_cpu(CpuId(1)), "no task is placed on a CPU that is gone");
        assert_eq!(scheduler.set_cpu_online(&machine, CpuId(1), true), Ok(()));
        assert!(scheduler.kernel.idle_cpu(CpuId(1)));
    }

    #[test]
    fn the_last_cpu_stays() {
        let machine = Machine::load("smp-8").expect("a bundled machine");
        let mut scheduler = scheduler(&machine);
        let cpus: Vec<CpuId> = scheduler.kernel.topology.online.iter().collect();
        for cpu in &cpus[1..] {
            assert_eq!(scheduler.set_cpu_online(&machine, *cpu, false), Ok(()));
        }
        assert_eq!(scheduler.set_cpu_online(&machine, cpus[0], false), Err(HotplugError::Last(cpus[0])));
        assert_eq!(scheduler.set_cpu_online(&machine, cpus[0], true), Err(HotplugError::Already(cpus[0])));
        assert_eq!(scheduler.set_cpu_online(&machine, CpuId(999), true), Err(HotplugError::NoCpu(CpuId(999))));
    }
}
