// SPDX-License-Identifier: MIT OR Apache-2.0
//! An observer that checks a run while it goes on, and its report afterwards.
//!
//! While it goes on: time never goes back. On each CPU, the thread that leaves is the thread that came last. No thread
//! is on two CPUs. Threads run on CPUs that they may use. Clocks are OPPs within limits and the same throughout a
//! domain. Afterwards: see `Audit::check`. A violation panics, and proptest then shrinks the case.

use std::collections::BTreeSet;

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::observer::{Observer, PrevState, TaskInfo};
use tandem_simulator::simulation::Hotplug;
use tandem_simulator::units::{CpuId, Nanos, PackageId, SEC, TaskId};
use tandem_simulator::workload::{CgroupWrite, Op, TaskSpec, Workload};

use super::observers::PowerSum;

/// The state of a run so far.
pub struct Audit<'r> {
    machine: &'r Machine,
    /// With the kernel workers that a run may have beside it.
    workload: Workload,
    now: Nanos,
    /// The thread that runs on each CPU.
    current: Vec<Option<TaskId>>,
    threads: Vec<Watched>,
    khz: Vec<u32>,
    /// CPUs whose clock the observer was told at this instant.
    told: BTreeSet<CpuId>,
    idle: Vec<bool>,
    cpu_power: Vec<PowerSum>,
    package_power: Vec<PowerSum>,
    /// Joules of each CPU that no power shows.
    unseen: Vec<f64>,
    unseen_uncore: f64,
    switches: u64,
    /// Changes of the CPUs that are online. They may take a thread's affinity away, and an offline CPU's clock is not
    /// told.
    hotplug: &'r [Hotplug],
}

struct Watched {
    /// CPUs that any step of the thread allows; `None`: all.
    allowed: Option<BTreeSet<u32>>,
    on: Option<CpuId>,
    runnable: bool,
    dead: bool,
}

impl<'r> Audit<'r> {
    pub fn new(machine: &'r Machine, workload: &Workload) -> Self {
        Self {
            machine,
            workload: with_workers(machine, workload),
            now: 0,
            current: vec![None; machine.cpus.len()],
            threads: Vec::new(),
            khz: vec![0; machine.cpus.len()],
            told: BTreeSet::new(),
            idle: vec![false; machine.cpus.len()],
            cpu_power: vec![PowerSum::default(); machine.cpus.len()],
            package_power: vec![PowerSum::default(); machine.packages.len()],
            unseen: vec![0.0; machine.cpus.len()],
            unseen_uncore: 0.0,
            switches: 0,
            hotplug: &[],
        }
    }

    /// Audits a run during which CPUs come and go.
    pub fn with_hotplug(machine: &'r Machine, workload: &Workload, hotplug: &'r [Hotplug]) -> Self {
        Self { hotplug, ..Self::new(machine, workload) }
    }

    /// Whether `cpu` has been offline since before this instant.
    fn is_offline(&self, cpu: CpuId) -> bool {
        let before = self.hotplug.iter().filter(|change| change.cpu == cpu && change.at < self.now);
        let now = self.hotplug.iter().any(|change| change.cpu == cpu && change.at == self.now);
        !now && before.max_by_key(|change| change.at).is_some_and(|change| !change.online)
    }

    fn advance(&mut self, now: Nanos) {
        assert!(now >= self.now, "time goes back from {} to {now}", self.now);
        if now > self.now {
            self.check_domains();
            self.told.clear();
        }
        self.now = now;
    }

    /// All online CPUs of a domain have the same clock once an instant is over.
    fn check_domains(&self) {
        for cpu in self.told.iter().filter(|_| self.hotplug.is_empty()) {
            let domain = self.machine.cpus[cpu.index()].performance_domain;
            for other in &self.machine.performance_domains[domain.index()].cpus {
                if self.machine.cpus[other.index()].online {
                    let (a, b) = (self.khz[cpu.index()], self.khz[other.index()]);
                    assert_eq!(a, b, "CPU {cpu} and {other} share a clock");
                }
            }
        }
    }

    /// Checks the report of a run that has ended: sums of time and energy, and what the observer was told against what
    /// was booked.
    pub fn check(&self, report: &Report) {
        let end = (report.time_s * SEC as f64).round() as Nanos;
        assert!(end >= self.now, "the report ends at {end}, before the last event at {}", self.now);
        check_time(self.machine, report);
        check_energy(self.machine, report);
        assert_eq!(report.switches, self.switches);
        self.check_power(report, end);
        if !report.time_limited {
            let alive = self.threads.iter().enumerate().filter(|(_, thread)| !thread.dead);
            let alive = alive.map(|(index, _)| &report.tasks[index]).filter(|task| !task.system);
            let alive: Vec<&str> = alive.map(|task| task.name.as_str()).collect();
            assert!(alive.is_empty(), "application threads live on: {alive:?}");
        }
    }

    /// Checks that the power that was told, integrated, is the energy that was booked, together with what no power shows: the
    /// ways into idle states and out of them.
    fn check_power(&self, report: &Report, end: Nanos) {
        let matches = |told: f64, booked: f64, what: &str| {
            let slack = 1e-9 + 1e-6 * booked;
            assert!((told - booked).abs() <= slack, "{what}: told {told} J, booked {booked} J");
        };
        for ((cpu, power), unseen) in report.cpus.iter().zip(&self.cpu_power).zip(&self.unseen) {
            matches(power.joules_at(end) + unseen, cpu.energy_j, &format!("CPU {}", cpu.cpu));
        }
        let packages: f64 = self.package_power.iter().map(|power| power.joules_at(end)).sum();
        let unseen = self.unseen.iter().sum::<f64>() + self.unseen_uncore;
        matches(packages + unseen, report.energy_j.cores + report.energy_j.uncore, "packages");
    }
}

/// CPU time is conserved: the threads' CPU time is the CPUs' busy time, and every CPU's time is accounted for.
fn check_time(machine: &Machine, report: &Report) {
    let close = |a: f64, b: f64, what: &str| {
        assert!((a - b).abs() <= 1e-9 + 1e-9 * a.abs().max(b.abs()) * 10.0, "{what}: {a} and {b}");
    };
    let used: f64 = report.tasks.iter().map(|task| task.cpu_time_s).sum();
    let busy: f64 = report.cpus.iter().map(|cpu| cpu.busy_s).sum();
    close(used, busy, "time of threads and of CPUs");
    for cpu in &report.cpus {
        let idle: f64 = cpu.idle_residency.values().sum();
        close(cpu.busy_s + idle, report.time_s, "busy and idle");
        close(cpu.freq_residency.values().sum(), report.time_s, "time by clock");
        let domain = &machine.performance_domains[machine.cpus[cpu.cpu as usize].performance_domain.index()];
        assert!(cpu.freq_residency.keys().all(|khz| domain.opps.iter().any(|opp| opp.khz == *khz)));
        assert!(cpu.online || cpu.busy_s == 0.0, "an offline CPU ran");
    }
    for task in &report.tasks {
        let span = task.cpu_time_s + task.wait_time_s;
        assert!(span <= report.time_s + 1e-9, "{} lived {span} of {} s", task.name, report.time_s);
    }
    let online = machine.online().count() as f64;
    if report.time_s > 0.0 {
        close(report.idle_share, 1.0 - busy / online / report.time_s, "idle share");
    }
}

/// Energy is the sum of its parts, and the cores' energy that of their CPUs.
fn check_energy(machine: &Machine, report: &Report) {
    let close = |a: f64, b: f64, what: &str| {
        assert!((a - b).abs() <= 1e-12 + 1e-9 * a.abs().max(b.abs()), "{what}: {a} and {b}");
    };
    let energy = &report.energy_j;
    let parts = [energy.cores, energy.uncore, energy.memory, energy.platform, energy.supply];
    assert!(parts.iter().all(|part| *part >= 0.0), "{energy:?}");
    close(energy.total, parts.iter().sum(), "total and parts");
    close(energy.cores, report.cpus.iter().map(|cpu| cpu.energy_j).sum(), "cores and CPUs");
    let board: f64 = parts[..4].iter().sum();
    close(energy.total * machine.platform.supply_efficiency, board, "wall and board");
    close(energy.platform, machine.platform.watts * report.time_s, "platform");
    let drawn = &report.drawn;
    let clusters = drawn.clusters.iter();
    let cores = clusters.map(|it| it.switching_j + it.leakage_j + it.idle_j + it.static_j + it.asleep_j);
    close(energy.cores, cores.sum(), "cores and what they drew it for");
    let uncore = drawn.packages.iter().map(|it| it.awake_j + it.idle_j + it.asleep_j);
    close(energy.uncore, uncore.sum(), "uncores and what they drew it for");
    close(
        energy.memory,
        drawn.memory.iter().map(|it| it.static_j + it.traffic_j).sum(),
        "memory and what it drew it for",
    );
    if report.time_s > 0.0 {
        assert!(energy.total > 0.0);
        close(report.power_w * report.time_s, energy.total, "power and energy");
        match report.edp_js {
            Some(edp) => close(edp, energy.total * report.time_s, "EDP"),
            None => assert!(report.time_limited, "a run that ended by itself has an EDP"),
        }
    }
}

/// `workload` with all that a run may have beside it.
pub fn with_workers(machine: &Machine, workload: &Workload) -> Workload {
    let online: Vec<u32> = machine.online().map(|cpu| cpu.0).collect();
    workload.disturbed(&online)
}

/// The kind of a thread with this name.
pub fn kind_of<'w>(workload: &'w Workload, name: &str) -> &'w TaskSpec {
    let stem = name.rsplit_once('-').map_or(name, |(stem, _)| stem);
    let kind = workload.tasks.iter().find(|kind| kind.name == name || kind.name == stem);
    kind.unwrap_or_else(|| panic!("no kind of thread for {name}"))
}

/// CPUs that some step of `kind` allows; `None`: all. A set without any online CPU does not count.
pub fn allowed(machine: &Machine, kind: &TaskSpec) -> Option<BTreeSet<u32>> {
    let usable = |cpus: &[u32]| -> Option<BTreeSet<u32>> {
        let online = machine.online().map(|cpu| cpu.0).filter(|cpu| cpus.contains(cpu));
        Some(online.collect()).filter(|cpus: &BTreeSet<u32>| !cpus.is_empty())
    };
    let mut cpus = usable(kind.affinity.as_deref()?)?;
    for op in &kind.program {
        if let Op::SetAffinity(set) = op {
            cpus.extend(usable(set.as_deref()?)?);
        }
    }
    Some(cpus)
}

impl Observer for Audit<'_> {
    fn task_new(&mut self, now: Nanos, task: &TaskInfo) {
        self.advance(now);
        assert_eq!(task.id.index(), self.threads.len(), "threads are numbered in order");
        let kind = kind_of(&self.workload, &task.name);
        assert_eq!(task.application, (!kind.system).then_some(kind.application));
        // Groups with CPUs overrule what a thread asks for; the simulator's own audit knows them.
        let grouped = self
            .workload
            .cgroups
            .iter()
            .any(|group| group.writes.iter().any(|(_, write)| matches!(write, CgroupWrite::Cpus(_))));
        let allowed = allowed(self.machine, kind).filter(|_| !grouped);
        self.threads.push(Watched { allowed, on: None, runnable: false, dead: false });
    }

    fn sched_switch(&mut self, now: Nanos, cpu: CpuId, prev: Option<(TaskId, PrevState)>, next: Option<TaskId>) {
        self.advance(now);
        self.switches += 1;
        assert!(self.machine.cpus[cpu.index()].online, "a switch on CPU {cpu}, which is offline");
        assert_eq!(self.current[cpu.index()], prev.map(|(task, _)| task), "who leaves CPU {cpu} at {now}");
        assert_ne!(prev.map(|(task, _)| task), next, "a switch to the same thread");
        if let Some((task, state)) = prev {
            let thread = &mut self.threads[task.index()];
            thread.on = None;
            thread.runnable = state == PrevState::Runnable;
            thread.dead = state == PrevState::Dead;
        }
        if let Some(task) = next {
            assert!(!self.is_offline(cpu), "thread {task} on CPU {cpu}, which went offline, at {now}");
            let thread = &mut self.threads[task.index()];
            assert_eq!(thread.on.replace(cpu), None, "thread {task} on two CPUs at {now}");
            assert!(thread.runnable && !thread.dead, "thread {task} runs although it was not woken");
            let may = thread.allowed.as_ref().is_none_or(|cpus| cpus.contains(&cpu.0));
            assert!(may || !self.hotplug.is_empty(), "thread {task} on CPU {cpu}, which it may not use");
        }
        self.current[cpu.index()] = next;
    }

    fn sched_wakeup(&mut self, now: Nanos, task: TaskId, target: CpuId, _waker: CpuId) {
        self.advance(now);
        let thread = &mut self.threads[task.index()];
        assert!(!thread.dead, "thread {task} is woken after its end");
        assert!(!thread.runnable || thread.on.is_some(), "thread {task} is woken although it waits for a CPU");
        thread.runnable = true;
        assert!(self.machine.cpus[target.index()].online, "woken on offline CPU {target}");
    }

    fn cpu_frequency(&mut self, now: Nanos, cpu: CpuId, khz: u32) {
        self.advance(now);
        let domain = &self.machine.performance_domains[self.machine.cpus[cpu.index()].performance_domain.index()];
        let opp = domain.opps.iter().position(|opp| opp.khz == khz);
        let opp = opp.unwrap_or_else(|| panic!("{khz} kHz is no OPP of CPU {cpu}"));
        assert!(opp <= domain.max_opp, "{khz} kHz is above the limit of CPU {cpu}");
        let package = &self.machine.packages[self.machine.cluster(cpu).package.index()];
        let lowers = !self.machine.cluster(cpu).boost.is_empty() || !package.boost.is_empty() || package.is_limited();
        assert!(lowers || opp >= domain.min_opp, "{khz} kHz is below the limit of CPU {cpu}");
        self.khz[cpu.index()] = khz;
        self.told.insert(cpu);
    }

    fn cpu_idle(&mut self, now: Nanos, cpu: CpuId, state: Option<u32>) {
        self.advance(now);
        if let Some(state) = state {
            let states = self.machine.cluster(cpu).idle_states.len().max(1);
            assert!((state as usize) < states, "CPU {cpu} has no idle state {state}");
        }
        assert_ne!(self.idle[cpu.index()], state.is_some(), "CPU {cpu} enters or leaves idle twice at {now}");
        self.idle[cpu.index()] = state.is_some();
    }

    fn wants_power(&self) -> bool {
        true
    }

    fn unseen_energy(&mut self, cpu: CpuId, joules: f64) {
        self.unseen[cpu.index()] = joules;
    }

    fn unseen_uncore_energy(&mut self, _package: PackageId, joules: f64) {
        self.unseen_uncore += joules;
    }

    fn cpu_power(&mut self, now: Nanos, cpu: CpuId, watts: f64) {
        self.advance(now);
        assert!(watts >= 0.0 && watts.is_finite());
        self.cpu_power[cpu.index()].set(now, watts);
    }

    fn package_power(&mut self, now: Nanos, package: PackageId, watts: f64) {
        self.advance(now);
        self.package_power[package.index()].set(now, watts);
    }
}
