// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report of a run.

use pyo3::prelude::*;
use tandem_simulator::metrics::{self, Deadlines, Latency, Timing};

use crate::errors::mistake;
use crate::json;
use crate::table::{Columns, Table};
use crate::trace::Trace;

/// The report of a run; the manual is the package's `__init__.pyi`.
#[pyclass(frozen, module = "tandem")]
#[derive(Debug)]
pub struct Report {
    report: metrics::Report,
    trace: Option<Trace>,
}

/// Energy by part, in joules.
#[pyclass(frozen, get_all, module = "tandem")]
#[derive(Debug)]
pub struct Energy {
    total: f64,
    cores: f64,
    uncore: f64,
    memory: f64,
    platform: f64,
    supply: f64,
}

#[pymethods]
impl Energy {
    fn __repr__(&self) -> String {
        let Self { total, cores, uncore, memory, platform, supply } = self;
        format!(
            "Energy(total={total}, cores={cores}, uncore={uncore}, memory={memory}, platform={platform}, supply={supply})"
        )
    }
}

impl Report {
    /// The report of a run, with its trace if there is one.
    pub fn new(report: metrics::Report, trace: Option<Trace>) -> Self {
        Self { report, trace }
    }
}

/// Takes one number of a distribution.
type Percentile = fn(&Latency) -> u64;

/// The columns of how late threads were.
fn timing<'a, T: 'a>(columns: Columns, of: &'a [T], timing: impl Fn(&T) -> &Timing + Copy) -> Columns {
    let all = move || of.iter().map(timing);
    let latency = |columns: Columns, name: &str, get: fn(&Timing) -> Option<Latency>| {
        let percentiles: [(&str, Percentile); 4] =
            [("p50", |it| it.p50), ("p95", |it| it.p95), ("p99", |it| it.p99), ("max", |it| it.max)];
        percentiles.into_iter().fold(columns, |columns, (which, value)| {
            columns.count(&format!("{name}_{which}_ns"), all().map(|timing| get(timing).as_ref().map(value)))
        })
    };
    let columns = latency(columns, "wakeup_latency", |timing| timing.wakeup_latency_ns);
    let columns = latency(columns, "response", |timing| timing.response_ns);
    let deadline = |get: fn(&Deadlines) -> u64| all().map(move |timing| timing.deadlines.as_ref().map(get));
    columns
        .count("rounds", all().map(|timing| Some(timing.rounds)))
        .float("rounds_per_s", all().map(|timing| Some(timing.rounds_per_s)))
        .count("deadlines_rounds", deadline(|it| it.rounds))
        .count("deadlines_missed", deadline(|it| it.missed))
        .count("deadlines_worst_miss_ns", deadline(|it| it.worst_miss_ns))
        .count("frames_count", all().map(|timing| timing.frames.as_ref().map(|it| it.count)))
        .count("frames_late", all().map(|timing| timing.frames.as_ref().map(|it| it.late)))
}

macro_rules! getters {
    ($($name:ident: $type:ty = $doc:literal),+ $(,)?) => {
        #[pymethods]
        impl Report {
            $(
                #[doc = $doc]
                #[getter]
                fn $name(&self) -> $type {
                    self.report.$name.clone()
                }
            )+
        }
    };
}

getters! {
    workload: String = "Workload name.",
    machine: String = "Machine name, with its configuration.",
    scheduler: String = "Scheduler name.",
    governor: String = "Governor name.",
    seed: u64 = "Seed of all random streams.",
    time_s: f64 = "Simulated seconds to the end of the last application thread, or to the time limit.",
    time_limited: bool = "Whether a time limit ended the run.",
    power_w: f64 = "Mean power in watts.",
    edp_js: Option<f64> = "Energy times time, in joule-seconds.",
    ed2p_js2: Option<f64> = "Energy times the square of time.",
    throughput: f64 = "Completed application work per second of run.",
    idle_share: f64 = "Share of the CPUs' time spent idle.",
    switches: u64 = "Context switches.",
    migrations: u64 = "Times a thread moved to another CPU.",
    events: u64 = "Processed events.",
    wall_s: Option<f64> = "Real seconds that the simulation took.",
    warnings: Vec<String> = "What the simulation could not do as asked.",
}

#[pymethods]
impl Report {
    /// Energy by part, in joules.
    #[getter]
    fn energy_j(&self) -> Energy {
        let metrics::Energy { total, cores, uncore, memory, platform, supply } = self.report.energy_j;
        Energy { total, cores, uncore, memory, platform, supply }
    }

    /// Applications: a row for each.
    #[getter]
    fn apps(&self) -> PyResult<Table> {
        let apps = &self.report.apps;
        let columns = Columns::default()
            .text("name", apps.iter().map(|app| Some(app.name.as_str())))
            .float("time_s", apps.iter().map(|app| app.time_s))
            .float("work_s", apps.iter().map(|app| Some(app.work_s)))
            .float("performance", apps.iter().map(|app| Some(app.performance)))
            .float("cpu_time_s", apps.iter().map(|app| Some(app.cpu_time_s)))
            .count("threads", apps.iter().map(|app| Some(u64::from(app.threads))));
        timing(columns, apps, |app| &app.timing).table()
    }

    /// Threads: a row for each, in order of creation.
    #[getter]
    fn tasks(&self) -> PyResult<Table> {
        let tasks = &self.report.tasks;
        let columns = Columns::default()
            .text("name", tasks.iter().map(|task| Some(task.name.as_str())))
            .text("app", tasks.iter().map(|task| task.app.as_deref()))
            .truth("system", tasks.iter().map(|task| Some(task.system)))
            .float("cpu_time_s", tasks.iter().map(|task| Some(task.cpu_time_s)))
            .float("wait_time_s", tasks.iter().map(|task| Some(task.wait_time_s)))
            .float("work_s", tasks.iter().map(|task| Some(task.work_s)))
            .count("switches", tasks.iter().map(|task| Some(task.switches)))
            .count("migrations", tasks.iter().map(|task| Some(task.migrations)));
        timing(columns, tasks, |task| &task.timing).table()
    }

    /// CPUs: a row for each.
    #[getter]
    fn cpus(&self) -> PyResult<Table> {
        let cpus = &self.report.cpus;
        Columns::default()
            .count("cpu", cpus.iter().map(|cpu| Some(u64::from(cpu.cpu))))
            .truth("online", cpus.iter().map(|cpu| Some(cpu.online)))
            .float("busy_s", cpus.iter().map(|cpu| Some(cpu.busy_s)))
            .float("energy_j", cpus.iter().map(|cpu| Some(cpu.energy_j)))
            .table()
    }

    /// Seconds by CPU and clock: a row for each clock that a CPU had.
    #[getter]
    fn freq_residency(&self) -> PyResult<Table> {
        let of = |cpu: &metrics::CpuReport| {
            cpu.freq_residency.iter().map(|(khz, s)| (cpu.cpu, *khz, *s)).collect::<Vec<_>>()
        };
        let rows: Vec<(u32, u32, f64)> = self.report.cpus.iter().flat_map(of).collect();
        Columns::default()
            .count("cpu", rows.iter().map(|(cpu, ..)| Some(u64::from(*cpu))))
            .count("khz", rows.iter().map(|(_, khz, _)| Some(u64::from(*khz))))
            .float("time_s", rows.iter().map(|(.., time)| Some(*time)))
            .table()
    }

    /// Seconds by CPU and idle state: a row for each state that a CPU was in.
    #[getter]
    fn idle_residency(&self) -> PyResult<Table> {
        let rows: Vec<(u32, &str, f64)> = self
            .report
            .cpus
            .iter()
            .flat_map(|cpu| cpu.idle_residency.iter().map(|(state, s)| (cpu.cpu, state.as_str(), *s)))
            .collect();
        Columns::default()
            .count("cpu", rows.iter().map(|(cpu, ..)| Some(u64::from(*cpu))))
            .text("state", rows.iter().map(|(_, state, _)| Some(*state)))
            .float("time_s", rows.iter().map(|(.., time)| Some(*time)))
            .table()
    }

    /// What a loaded sched_ext scheduler did, as the JSON report has it; `None` under Linux's own.
    #[getter]
    fn sched_ext<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_python(py, &self.report.sched_ext)
    }

    /// Why the scheduler was ejected, if it was; the results are partly those of fair then.
    #[getter]
    fn ejected(&self) -> Option<String> {
        let exit = self.report.sched_ext.as_ref()?.exit.as_ref()?;
        Some(format!("{}: {}", exit.reason, exit.message))
    }

    /// The trace of the run, if it was asked for.
    #[getter]
    fn trace(&self) -> Option<Trace> {
        self.trace.clone()
    }

    /// The report as `tandem simulate --json` prints it, without what it was produced by and `wall_s`.
    fn to_json(&self) -> PyResult<String> {
        let report = metrics::Report { wall_s: None, ..self.report.clone() };
        serde_json::to_string_pretty(&report).map_err(mistake)
    }

    /// The same as dictionaries and lists.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let report = metrics::Report { wall_s: None, ..self.report.clone() };
        json::to_python(py, &report)
    }

    fn __repr__(&self) -> String {
        let metrics::Report { workload, machine, scheduler, governor, time_s, energy_j, .. } = &self.report;
        format!(
            "<tandem.Report {workload} on {machine} under {scheduler}+{governor}: {time_s:.4} s, {:.4} J>",
            energy_j.total
        )
    }
}
