// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end of a run: everything that was counted, as a report.

use std::collections::BTreeMap;

use super::Engine;
use super::hardware::Hardware;
use super::hardware::limits::LimitState;
use super::loader::LoadedLimits;
use super::meter::Cause;
use super::rounds::Gathered;
use super::thread::Thread;
use super::threads::Threads;
use crate::kernel::Kernel;
use crate::kernel::fair::BandwidthStat;
use crate::kernel::task::TaskState;
use crate::machine::Machine;
use crate::metrics::{
    AppMemory, AppReport, ClusterDrawn, CpuReport, Drawn, Energy, GroupReport, LimitReport, MemoryDrawn, PackageDrawn,
    Report, SCHEMA, TaskReport, Timing,
};
use crate::observer::Observer;
use crate::units::{CgroupId, ClusterId, CpuId, Nanos, PackageId, TaskId, seconds};

/// The sum, and 0 of nothing: of no floating-point numbers `sum` makes -0.
fn total(parts: impl Iterator<Item = f64>) -> f64 {
    parts.fold(0.0, |sum, part| sum + part)
}

impl Engine<'_> {
    /// Tells what is only known at the end of a run.
    fn show_end(&mut self) {
        if self.hardware.observe {
            self.hardware.show_unseen(self.observer);
        }
        if self.details.wanted {
            self.threads.show_distributions(self.observer);
        }
    }

    /// The report of the run up to now.
    pub fn report(mut self) -> Report {
        let mut sched_ext = self.loader.report(&mut self.sched);
        if let Some((report, counts)) = sched_ext.as_mut().zip(self.steering_counts()) {
            let named = [("steering_looks", counts.looks), ("steering_changes", counts.changes)];
            report.statistics.extend(named.map(|(name, count)| (name.to_owned(), count)));
        }
        let now = self.agenda.now();
        for cpu in self.machine.online() {
            self.running.account(cpu, &mut self.threads, now);
            self.pay_idle_kernel(cpu);
        }
        self.account_waits();
        if let Some(scheduler) = &mut sched_ext {
            scheduler.ignored = self.ignored();
        }
        let groups = self.group_reports(now);
        let time_s = seconds(now);
        let cpus: Vec<CpuReport> = (0..self.machine.cpus.len())
            .map(|cpu| cpu_report(self.machine, &mut self.hardware, CpuId::at(cpu)))
            .collect();
        let energy = self.energy(cpus.iter().map(|cpu| cpu.energy_j).sum());
        let drawn = self.drawn();
        self.show_end();
        let apps = self.threads.app_reports(now, self.running.memory.network.is_some());
        let work_s = total(apps.iter().map(|app| app.work_s));
        let rate = |amount: f64| if time_s > 0.0 { amount / time_s } else { 0.0 };
        // A limit's length is no time of the workload's, and neither is what is computed from it.
        let measured = |value: f64| (!self.outcome.time_limited).then_some(value);
        // Of a million threads there is either this or a report at a time.
        self.sched.forget_tasks();
        let tasks = self.threads.ids().map(|task| self.threads.task_report(task, now)).collect();
        let online = self.machine.online().count() as f64;
        let busy_s: f64 = cpus.iter().map(|cpu| cpu.busy_s).sum();
        Report {
            schema: SCHEMA,
            workload: self.threads.workload.name.clone(),
            machine: self.machine.name.clone(),
            scheduler: self.options.scheduler.to_string(),
            governor: self.options.governor.to_string(),
            seed: self.options.seed,
            time_s,
            time_limited: self.outcome.time_limited,
            energy_j: energy,
            drawn,
            power_w: rate(energy.total),
            edp_js: measured(energy.total * time_s),
            ed2p_js2: measured(energy.total * time_s * time_s),
            throughput: rate(work_s),
            idle_share: 1.0 - rate(busy_s) / online,
            switches: self.outcome.switches,
            migrations: self.threads.iter().map(|thread| thread.stats.migrations).sum(),
            events: self.outcome.events,
            timing: self.threads.timing(time_s),
            wall_s: None,
            apps,
            tasks,
            cpus,
            limits: self.hardware.limit_states().iter().map(limit_report).collect(),
            groups,
            sched_ext,
            warnings: self.outcome.warnings,
        }
    }

    /// Of each group with a limit.
    fn group_reports(&mut self, now: Nanos) -> Vec<GroupReport> {
        let limits = self.loader.limits(&self.sched, now);
        let report = |stat| group_report(&self.sched.kernel, stat, limits.as_ref());
        self.sched.fair.bandwidth_stats(now).map(report).collect()
    }

    /// Threads that still wait for a CPU at the end have waited up to now.
    fn account_waits(&mut self) {
        for task in self.threads.ids() {
            let known = self.sched.kernel.task(task);
            if known.state == TaskState::Runnable && self.running[known.cpu].task != Some(task) {
                let thread = &mut self.threads[task];
                thread.stats.wait_time += self.agenda.now() - thread.runnable_since;
            }
        }
    }

    /// The energy of cores, uncores and memory by what it was drawn for.
    fn drawn(&mut self) -> Drawn {
        let (machine, time_s) = (self.machine, seconds(self.agenda.now()));
        let (awake, leakage, idle, asleep) =
            (Cause::Awake as usize, Cause::Leakage as usize, Cause::Idle as usize, Cause::Asleep as usize);
        let hardware = &mut self.hardware;
        let clusters = machine.clusters.iter().enumerate().map(|(index, cluster)| {
            let (cores, shared) = hardware.cluster_causes(ClusterId::at(index));
            ClusterDrawn {
                cluster: cluster.name.clone(),
                switching_j: cores[awake],
                leakage_j: cores[leakage],
                idle_j: cores[idle],
                static_j: shared[awake],
                asleep_j: shared[asleep],
            }
        });
        let clusters = clusters.collect();
        let packages = (0..machine.packages.len()).map(PackageId::at).map(|package| {
            let causes = hardware.uncore_causes(package);
            let package = package.0;
            PackageDrawn { package, awake_j: causes[awake], idle_j: causes[idle], asleep_j: causes[asleep] }
        });
        let packages = packages.collect();
        // Links of caches draw nothing of their own.
        let described = machine.memory_domains.iter().zip(self.running.memory.traffic());
        let memory = described.filter(|(domain, _)| domain.link_of.is_none()).map(|(domain, bytes)| MemoryDrawn {
            memory: domain.name.clone(),
            static_j: domain.static_watts * time_s,
            traffic_j: domain.joules_per_byte * bytes,
        });
        Drawn { clusters, packages, memory: memory.collect() }
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
}

fn limit_report(state: &LimitState) -> LimitReport {
    LimitReport {
        package: state.package.0,
        limited_s: seconds(state.limited),
        average_watts_max: state.average_watts_max,
        celsius_max: state.celsius_max,
    }
}

/// What became of a group's limit: under the fair class, and, if there is a loaded scheduler, under that.
fn group_report(
    kernel: &Kernel,
    (group, stat): (CgroupId, BandwidthStat),
    loaded: Option<&LoadedLimits>,
) -> GroupReport {
    let under = loaded.and_then(|loaded| loaded.stats.get(&group)).copied().unwrap_or_default();
    let told = loaded.is_none_or(|loaded| loaded.told);
    GroupReport {
        path: kernel.cgroups.path(group),
        periods: stat.nr_periods + under.nr_periods,
        throttled_periods: told.then_some(stat.nr_throttled + under.nr_throttled),
        throttled_s: told.then(|| seconds(stat.throttled_time + under.throttled_time)),
        bursts: loaded.is_none().then_some(stat.nr_bursts),
        burst_s: loaded.is_none().then(|| seconds(stat.burst_time)),
    }
}

fn cpu_report(machine: &Machine, hardware: &mut Hardware<'_>, cpu: CpuId) -> CpuReport {
    let domain = machine.cpus[cpu.index()].performance_domain;
    let khz = machine.performance_domains[domain.index()].opps.iter().map(|opp| opp.khz);
    let at_clock = hardware.frequency_residency(domain).iter().copied().map(seconds);
    let freq_residency = khz.zip(at_clock).filter(|(_, spent)| *spent > 0.0).collect();
    let states = &machine.cluster(cpu).idle_states;
    let residency = hardware.cpu_residency(cpu);
    let (idle, busy) = residency.split_at(residency.len() - 1);
    let names = states.iter().map(|state| state.name.clone()).chain(["C0".to_owned()]);
    let idle_residency: BTreeMap<String, f64> =
        names.zip(idle).filter(|(_, spent)| **spent > 0).map(|(name, spent)| (name, seconds(*spent))).collect();
    CpuReport {
        cpu: cpu.0,
        online: machine.cpus[cpu.index()].online,
        busy_s: busy.iter().copied().map(seconds).sum(),
        freq_residency,
        idle_residency,
        energy_j: hardware.cpu_joules(cpu),
    }
}

fn app_memory(threads: &[&Thread<'_>]) -> AppMemory {
    AppMemory {
        local_bytes: total(threads.iter().map(|thread| thread.stats.local_bytes)),
        remote_bytes: total(threads.iter().map(|thread| thread.stats.remote_bytes)),
    }
}

impl Threads<'_> {
    fn app_reports(&self, now: Nanos, with_nodes: bool) -> Vec<AppReport> {
        let names = self.workload.applications.iter().enumerate();
        names.map(|name| self.app_report(name, now, with_nodes)).filter(|app| app.threads > 0).collect()
    }

    fn app_report(&self, (index, name): (usize, &String), now: Nanos, with_nodes: bool) -> AppReport {
        let of_app = |thread: &&Thread<'_>| !thread.kind.system && thread.kind.application == index;
        let threads: Vec<&Thread<'_>> = self.iter().filter(of_app).collect();
        let mut gathered = Gathered::default();
        threads.iter().for_each(|thread| gathered.add(thread));
        let ended: Option<Vec<Nanos>> = threads.iter().map(|thread| thread.stats.ended).collect();
        let time = ended.and_then(|times| times.into_iter().max());
        let work_s = threads.iter().map(|thread| thread.stats.work).sum::<f64>() * 1e-9;
        let span = seconds(time.unwrap_or(now));
        AppReport {
            name: name.clone(),
            time_s: time.map(seconds),
            work_s,
            performance: if span > 0.0 { work_s / span } else { 0.0 },
            cpu_time_s: threads.iter().map(|thread| seconds(thread.stats.cpu_time)).sum(),
            threads: threads.len() as u32,
            memory: with_nodes.then(|| app_memory(&threads)),
            timing: gathered.timing(span),
        }
    }

    /// Tells how late the threads of each application were, and those of all.
    fn show_distributions(&self, observer: &mut dyn Observer) {
        let applications = (0..self.workload.applications.len()).map(Some);
        for application in std::iter::once(None).chain(applications) {
            let mut gathered = Gathered::default();
            let of = |thread: &&Thread<'_>| application.is_none_or(|index| thread.kind.application == index);
            self.iter().filter(|thread| !thread.kind.system).filter(of).for_each(|thread| gathered.add(thread));
            for (what, times) in gathered.distributions() {
                if !times.is_empty() {
                    observer.distribution(application, what, &times);
                }
            }
        }
    }

    /// How late the threads of all applications were in a run of `time_s` seconds.
    fn timing(&self, time_s: f64) -> Timing {
        let mut gathered = Gathered::default();
        self.iter().filter(|thread| !thread.kind.system).for_each(|thread| gathered.add(thread));
        gathered.timing(time_s)
    }

    fn task_report(&self, task: TaskId, now: Nanos) -> TaskReport {
        let applications = &self.workload.applications;
        let thread = &self[task];
        let mut gathered = Gathered::default();
        gathered.add(thread);
        let (kind, stats) = (thread.kind, &thread.stats);
        TaskReport {
            name: thread.name(),
            app: (!kind.system).then(|| applications[kind.application].clone()),
            system: kind.system,
            cpu_time_s: seconds(stats.cpu_time),
            wait_time_s: seconds(stats.wait_time),
            work_s: stats.work * 1e-9,
            timing: gathered.timing(seconds(stats.ended.unwrap_or(now))),
            switches: stats.switches,
            migrations: stats.migrations,
        }
    }
}
