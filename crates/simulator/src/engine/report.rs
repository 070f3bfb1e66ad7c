// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end of a run: everything that was counted, as a report.

use std::collections::BTreeMap;

use super::Engine;
use super::thread::Thread;
use crate::kernel::task::TaskState;
use crate::metrics::{AppReport, CpuReport, Energy, Report, SCHEMA, TaskReport};
use crate::units::{CpuId, Nanos, PerformanceDomainId, TaskId, seconds};

/// The sum, and 0 of nothing: of no floating-point numbers `sum` makes -0.
fn total(parts: impl Iterator<Item = f64>) -> f64 {
    parts.fold(0.0, |sum, part| sum + part)
}

impl Engine<'_> {
    /// The report of the run up to now.
    pub fn report(mut self) -> Report {
        let sched_ext = self.loader.report(&mut self.sched);
        for cpu in self.machine.online() {
            self.account(cpu);
        }
        for task in self.threads.ids() {
            self.account_wait(task);
        }
        let time_s = seconds(self.agenda.now());
        let cpus = self.cpu_reports();
        let energy = self.energy(cpus.iter().map(|cpu| cpu.energy_j).sum());
        let apps = self.app_reports();
        let work_s = total(apps.iter().map(|app| app.work_s));
        let rate = |amount: f64| if time_s > 0.0 { amount / time_s } else { 0.0 };
        let tasks = self.threads.ids().map(|task| self.task_report(task)).collect();
        let online = self.machine.online().count() as f64;
        let busy_s: f64 = cpus.iter().map(|cpu| cpu.busy_s).sum();
        Report {
            schema: SCHEMA,
            workload: self.workload.name.clone(),
            machine: self.machine.name.clone(),
            scheduler: self.options.scheduler.to_string(),
            governor: self.options.governor.to_string(),
            seed: self.options.seed,
            time_s,
            time_limited: self.outcome.time_limited,
            energy_j: energy,
            power_w: rate(energy.total),
            edp_js: energy.total * time_s,
            ed2p_js2: energy.total * time_s * time_s,
            throughput: rate(work_s),
            idle_share: 1.0 - rate(busy_s) / online,
            switches: self.outcome.switches,
            migrations: self.threads.iter().map(|thread| thread.stats.migrations).sum(),
            events: self.outcome.events,
            wall_s: None,
            apps,
            tasks,
            cpus,
            sched_ext,
            warnings: self.outcome.warnings,
        }
    }

    /// A thread that still waits for a CPU at the end has waited up to now.
    fn account_wait(&mut self, task: TaskId) {
        let kernel_task = self.sched.kernel.task(task);
        let thread = &mut self.threads[task];
        let runnable = kernel_task.state == TaskState::Runnable;
        if runnable && self.running[kernel_task.cpu].task != Some(task) {
            thread.stats.wait_time += self.agenda.now() - thread.runnable_since;
        }
    }

    fn energy(&mut self, cores: f64) -> Energy {
        let time_s = seconds(self.agenda.now());
        let domains = self.machine.memory_domains.iter().zip(self.running.memory.traffic());
        let memory =
            total(domains.map(|(domain, bytes)| domain.static_watts * time_s + domain.joules_per_byte * bytes));
        let uncore = self.hardware.uncore_joules();
        let platform = self.machine.platform.watts * time_s;
        let board: f64 = cores + uncore + memory + platform;
        let supply = board / self.machine.platform.supply_efficiency - board;
        Energy { total: cores + uncore + memory + platform + supply, cores, uncore, memory, platform, supply }
    }

    fn cpu_reports(&mut self) -> Vec<CpuReport> {
        (0..self.machine.cpus.len()).map(|cpu| self.cpu_report(CpuId::at(cpu))).collect()
    }

    fn cpu_report(&mut self, cpu: CpuId) -> CpuReport {
        let domain = self.machine.cpus[cpu.index()].performance_domain;
        let opps = &self.machine.performance_domains[domain.index()].opps;
        let khz = opps.iter().map(|opp| opp.khz);
        let freq_residency = khz.zip(self.frequency_seconds(domain)).filter(|(_, spent)| *spent > 0.0).collect();
        let states = &self.machine.cluster(cpu).idle_states;
        let residency: Vec<Nanos> = self.hardware.cpu_residency(cpu).to_vec();
        let (idle, busy) = residency.split_at(residency.len() - 1);
        let names = states.iter().map(|state| state.name.clone()).chain(["C0".to_owned()]);
        let idle_residency: BTreeMap<String, f64> =
            names.zip(idle).filter(|(_, spent)| **spent > 0).map(|(name, spent)| (name, seconds(*spent))).collect();
        CpuReport {
            cpu: cpu.0,
            online: self.machine.cpus[cpu.index()].online,
            busy_s: busy.iter().copied().map(seconds).sum(),
            freq_residency,
            idle_residency,
            energy_j: self.hardware.cpu_joules(cpu),
        }
    }

    fn frequency_seconds(&mut self, domain: PerformanceDomainId) -> Vec<f64> {
        self.hardware.frequency_residency(domain).iter().copied().map(seconds).collect()
    }

    fn app_reports(&self) -> Vec<AppReport> {
        let names = self.workload.applications.iter().enumerate();
        names.map(|(index, name)| self.app_report(index, name)).filter(|app| app.threads > 0).collect()
    }

    fn app_report(&self, index: usize, name: &str) -> AppReport {
        let of_app = |thread: &&Thread<'_>| {
            let kind = thread.kind;
            !kind.system && kind.application == index
        };
        let threads: Vec<&Thread<'_>> = self.threads.iter().filter(of_app).collect();
        let ended: Option<Vec<Nanos>> = threads.iter().map(|thread| thread.stats.ended).collect();
        let time = ended.and_then(|times| times.into_iter().max());
        let work_s = threads.iter().map(|thread| thread.stats.work).sum::<f64>() * 1e-9;
        let span = seconds(time.unwrap_or(self.agenda.now()));
        AppReport {
            name: name.to_owned(),
            time_s: time.map(seconds),
            work_s,
            performance: if span > 0.0 { work_s / span } else { 0.0 },
            cpu_time_s: threads.iter().map(|thread| seconds(thread.stats.cpu_time)).sum(),
            threads: threads.len() as u32,
        }
    }

    fn task_report(&mut self, task: TaskId) -> TaskReport {
        let thread = &mut self.threads[task];
        let wakeup_latency_ns = thread.stats.latencies.summary();
        let kind = thread.kind;
        let stats = &thread.stats;
        TaskReport {
            name: thread.name(),
            app: (!kind.system).then(|| self.workload.applications[kind.application].clone()),
            system: kind.system,
            cpu_time_s: seconds(stats.cpu_time),
            wait_time_s: seconds(stats.wait_time),
            work_s: stats.work * 1e-9,
            wakeup_latency_ns,
            switches: stats.switches,
            migrations: stats.migrations,
        }
    }
}
