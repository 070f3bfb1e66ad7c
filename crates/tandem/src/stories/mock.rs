// SPDX-License-Identifier: GPL-2.0-only
//! A simulator whose results follow from the request.
//!
//! | governor | time | power |
//! | --- | --- | --- |
//! | performance | 1 s | 10 W |
//! | schedutil | 1.25 s | 6 W |
//! | powersave | 2 s | 4 W |
//!
//! With the seeds 0, 1, 2, 3 … the time is 1 % shorter, as in the table, 1 % longer, 1 % shorter … If applications run
//! together, the first one has half its speed and each further one 0.4 of it: fairness is 0.8. If a task has frames, all
//! are late in the same way; else nothing is said of that.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use signal_hook::consts::SIGINT;
use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::{
    AppReport, CallbackReport, ClusterDrawn, CpuReport, Deadlines, Drawn, Energy, ExitReport, FinalValue, Frame,
    Frames, Latency, MemoryDrawn, PackageDrawn, RecordedExit, Report, SCHEMA, SchedExtReport, TaskReport, Timing,
};
use tandem_simulator::observer::{Observer, TaskInfo};
use tandem_simulator::simulation::{Options, SimulationError, Waiter};
use tandem_simulator::units::{CpuId, TaskId};
use tandem_simulator::workload::Workload;

use tandem_experiments::Simulator;

use crate::interrupt::Interrupt;

/// The simulator of the [module](self).
#[derive(Debug, Default)]
pub struct Mock {
    /// Number of simulations so far.
    pub calls: AtomicUsize,
    /// The simulation, by its number from 1 on, while which Ctrl-C is pressed; 0: none.
    pub interrupted_in: usize,
    /// How much more energy each run takes than the table says, in percent.
    pub more_energy_percent: u32,
    /// What Ctrl-C reaches.
    pub interrupt: Interrupt,
}

impl Simulator for Mock {
    fn simulate(
        &self,
        machine: &Machine,
        workload: &Workload,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Result<Report, SimulationError> {
        let earlier = self.calls.fetch_add(1, Ordering::Relaxed);
        if earlier + 1 == self.interrupted_in {
            self.interrupt.arrive(SIGINT);
        }
        let running: Vec<&str> =
            workload.tasks.iter().filter(|task| task.instances > 0).map(|task| task.name.as_str()).collect();
        if running.contains(&"deadlock") || running == ["needs-partner"] {
            let waiter = |thread: &str, what: &str| Waiter { thread: thread.into(), waits_for: what.into(), step: 1 };
            let waiters = vec![waiter("a", "mutex `m`, held by b"), waiter("b", "mutex `n`, held by a")];
            return Err(SimulationError::Stuck { at: 0, waiters });
        }
        let first = TaskInfo { id: TaskId(0), name: "f".to_owned(), application: Some(0), priority: 120 };
        observer.task_new(0, &first);
        observer.sched_switch(0, CpuId(0), None, Some(TaskId(0)));
        let mut report = respond(machine, workload, options);
        report.energy_j.total *= 1.0 + f64::from(self.more_energy_percent) / 100.0;
        Ok(report)
    }
}

fn respond(machine: &Machine, workload: &Workload, options: &Options) -> Report {
    let (time, power) = match options.governor.to_string().as_str() {
        "performance" => (1.0, 10.0),
        "schedutil" => (1.25, 6.0),
        "powersave" => (2.0, 4.0),
        other => panic!("the mock does not know {other}"),
    };
    let limit = options.time_limit.map(|nanos| nanos as f64 / 1e9);
    let time_s = limit.unwrap_or(time * (0.99 + 0.01 * (options.seed % 3) as f64));
    let running = |index: usize| workload.tasks.iter().any(|task| task.application == index && task.instances > 0);
    let mixed = (0..workload.applications.len()).filter(|index| running(*index)).count() > 1;
    let how_late = if workload.tasks.iter().any(|task| task.frame) { timing() } else { Timing::default() };
    let app = |(index, name): (usize, &String)| AppReport {
        name: name.clone(),
        time_s: limit.is_none().then_some(time_s),
        performance: if !running(index) {
            0.0
        } else if !mixed {
            1.0 / time
        } else {
            (if index == 0 { 0.5 } else { 0.4 }) / time
        },
        timing: how_late,
        ..report("").apps.remove(0)
    };
    let total = power * time_s;
    Report {
        workload: workload.name.clone(),
        machine: machine.name.clone(),
        scheduler: options.scheduler.to_string(),
        governor: options.governor.to_string(),
        seed: options.seed,
        time_s,
        time_limited: limit.is_some(),
        energy_j: Energy { total, cores: total * 0.75, memory: total * 0.25, ..Energy::default() },
        drawn: drawn(total),
        power_w: power,
        throughput: 1.0 / time,
        edp_js: limit.is_none().then_some(total * time_s),
        ed2p_js2: limit.is_none().then_some(total * time_s * time_s),
        apps: workload.applications.iter().enumerate().map(app).collect(),
        timing: how_late,
        limits: Vec::new(),
        groups: Vec::new(),
        sched_ext: sched_ext(workload, options),
        ..report("")
    }
}

/// Three quarters are for computing on little cores, a quarter for memory whatever is moved.
fn drawn(joules: f64) -> Drawn {
    let (cluster, memory) = ("little".to_owned(), "dram".to_owned());
    Drawn {
        clusters: vec![ClusterDrawn { cluster, switching_j: joules * 0.75, ..ClusterDrawn::default() }],
        packages: vec![PackageDrawn::default()],
        memory: vec![MemoryDrawn { memory, static_j: joules * 0.25, traffic_j: 0.0 }],
    }
}

/// A report with something in every field.
pub fn report(workload: &str) -> Report {
    Report {
        schema: SCHEMA,
        workload: workload.to_owned(),
        machine: "hikey960".to_owned(),
        scheduler: "fair".to_owned(),
        governor: "schedutil".to_owned(),
        seed: 0,
        time_s: 2.0,
        time_limited: false,
        energy_j: Energy { total: 8.0, cores: 4.0, uncore: 2.0, memory: 1.0, platform: 0.5, supply: 0.5 },
        drawn: drawn(8.0),
        power_w: 4.0,
        edp_js: Some(16.0),
        ed2p_js2: Some(32.0),
        throughput: 1.5,
        idle_share: 0.25,
        switches: 1234,
        migrations: 12,
        events: 5678,
        timing: timing(),
        wall_s: None,
        apps: vec![AppReport {
            name: "app".to_owned(),
            time_s: Some(2.0),
            work_s: 3.0,
            performance: 1.5,
            cpu_time_s: 3.5,
            threads: 2,
            memory: None,
            timing: timing(),
        }],
        tasks: vec![task("calm", 0.0), task("hungry", 0.75)],
        cpus: vec![CpuReport {
            online: true,
            cpu: 0,
            busy_s: 1.0,
            // A mean of 1.25 GHz.
            freq_residency: BTreeMap::from([(1_000_000, 1.5), (2_000_000, 0.5)]),
            idle_residency: BTreeMap::from([("WFI".to_owned(), 0.5)]),
            energy_j: 4.0,
        }],
        limits: Vec::new(),
        groups: Vec::new(),
        sched_ext: Some(scheduler(Some(erring()))),
        warnings: Vec::new(),
    }
}

/// A scheduler with two callbacks and twelve lines of output.
fn scheduler(exit: Option<ExitReport>) -> SchedExtReport {
    let callback = |name: &str, calls, instructions| (name.to_owned(), CallbackReport { calls, instructions });
    SchedExtReport {
        name: "faulty".to_owned(),
        kernel: "6.12".to_owned(),
        without: None,
        ignored: Vec::new(),
        callbacks: BTreeMap::from([callback("dispatch", 2000, 30_000), callback("enqueue", 1000, 45_678)]),
        lines: Vec::new(),
        overhead_s: 0.000_75,
        statistics: [("base_idle", 1234), ("serial_first_preempted", 0), ("base_queued_twice", 5), ("kicks", 7)]
            .map(|(name, count)| (name.to_owned(), count))
            .to_vec(),
        states: [("base_state", "active"), ("sorted_state", "no_counters")]
            .map(|(name, state)| (name.to_owned(), state.to_owned()))
            .to_vec(),
        values: [("nr_errors", "3"), ("least", "-1"), ("mode", "MODE_FAST")]
            .map(|(name, value)| (name.to_owned(), FinalValue::of(value.to_owned())))
            .to_vec(),
        restarts: Vec::new(),
        exit,
        output: (1..=12).map(|line| format!("line\t{line}\u{1b}")).collect(),
    }
}

/// An exit because of an error two calls deep.
fn erring() -> ExitReport {
    let frame = |function: &str, line, text: &str| Frame {
        function: function.to_owned(),
        file: "schedulers/faulty.bpf.c".to_owned(),
        line,
        column: 3,
        text: text.to_owned(),
    };
    let (reason, message) = ("runtime error", "non-existent DSQ 0xdead for worker[3]");
    ExitReport {
        at_s: 0.0125,
        kind: "SCX_EXIT_ERROR".to_owned(),
        code: 0,
        reason: reason.to_owned(),
        message: message.to_owned(),
        callback: Some("dispatch".to_owned()),
        cpu: 2,
        backtrace: vec![
            frame("queue_wrong", 162, "\t\tscx_bpf_dispatch(p, NO_SUCH_DSQ, slice, enq_flags);\t/* a mistake */"),
            frame("faulty_dispatch", 211, "\tif (!queue_wrong(p, enq_flags))"),
        ],
        dump: dump(),
        recorded: Some(RecordedExit {
            kind: "SCX_EXIT_ERROR".to_owned(),
            code: 0,
            reason: reason.to_owned(),
            message: message.to_owned(),
        }),
    }
}

/// An exit by which the scheduler asks to be loaded again.
fn leaving() -> ExitReport {
    ExitReport {
        kind: "SCX_EXIT_UNREG_BPF".to_owned(),
        code: 1 << 48 | 7,
        reason: "unregistered from BPF".to_owned(),
        message: "a CPU came".to_owned(),
        callback: None,
        backtrace: Vec::new(),
        dump: String::new(),
        ..erring()
    }
}

/// The sched_ext report of a workload that has one; see [`super::ERRING`].
fn sched_ext(workload: &Workload, options: &Options) -> Option<SchedExtReport> {
    let has = |name: &str| workload.tasks.iter().any(|task| task.name == name);
    if has("leaving") {
        return Some(scheduler(Some(leaving())));
    }
    let well = options.governor.to_string() == "performance" || options.seed % 3 == 2;
    has("erring").then(|| scheduler((!well).then(erring)))
}

/// How late a thread may be.
fn timing() -> Timing {
    let latency = |p50: u64, max: u64| Some(Latency { p50, p95: p50 * 10, p99: p50 * 15, max });
    Timing {
        wakeup_latency_ns: latency(20_000, 1_000_000),
        response_ns: latency(2_000_000, 31_000_000),
        rounds: 120,
        rounds_per_s: 60.0,
        deadlines: Some(Deadlines {
            rounds: 120,
            missed: 3,
            missed_share: 0.025,
            worst_miss_ns: 14_334_000,
            least_slack_ns: -14_334_000,
            mean_slack_ns: 9_500_000.0,
        }),
        frames: Some(Frames { count: 120, per_s: 60.0, late: 3 }),
    }
}

fn task(name: &str, wait_time_s: f64) -> TaskReport {
    TaskReport {
        name: name.to_owned(),
        app: Some("app".to_owned()),
        system: false,
        cpu_time_s: 1.75,
        wait_time_s,
        work_s: 1.5,
        timing: timing(),
        switches: 600,
        migrations: 6,
    }
}

/// The state of so many CPUs that not all are printed, and nothing that a terminal obeys.
fn dump() -> String {
    let cpus: String =
        (0..30).map(|cpu| format!("\nCPU {cpu:<4}: nr_run=1 flags=0x1\n  curr=\u{1b}worker[{cpu}]\n")).collect();
    format!("worker[3] triggered exit kind 1024:\n{cpus}")
}
