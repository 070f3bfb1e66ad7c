// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happened in a run, as tables: who ran where and when, clocks, power, what threads waited for.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use tandem_simulator::machine::Machine;
use tandem_simulator::observer::detail::{Detail, WaitReason};
use tandem_simulator::observer::names::ObjectNames;
use tandem_simulator::observer::{Observer, PrevState, TaskInfo};
use tandem_simulator::units::{CpuId, Nanos, PackageId, TaskId};
use tandem_simulator::workload::Workload;

use crate::interruptible::Flag;
use crate::table::{Columns, Table};

/// The trace of a run; the manual is the package's `__init__.pyi`.
#[pyclass(frozen, get_all, module = "tandem")]
#[derive(Debug, Clone)]
pub struct Trace {
    /// Threads on CPUs.
    slices: Table,
    /// Changes of clocks.
    clocks: Table,
    /// Changes of power.
    power: Table,
    /// What threads waited for.
    waits: Table,
}

/// A thread on a CPU.
struct Slice {
    task: TaskId,
    cpu: CpuId,
    start: Nanos,
    end: Nanos,
    left: &'static str,
}

/// A thread that waits.
struct Wait {
    task: TaskId,
    start: Nanos,
    end: Nanos,
    on: On,
}

/// What for.
#[derive(Clone, Copy)]
enum On {
    Cpu,
    Reason(WaitReason),
}

/// Whose power changed.
#[derive(Clone, Copy)]
enum Whose {
    Cpu(CpuId),
    Package(PackageId),
}

/// Records a run.
pub struct Recorder<'a> {
    flag: &'a Flag,
    names: ObjectNames,
    applications: &'a [String],
    tasks: BTreeMap<TaskId, (String, Option<usize>)>,
    /// By CPU: who runs, since when.
    running: Vec<Option<(TaskId, Nanos)>>,
    /// Who waits, since when.
    waiting: BTreeMap<TaskId, (Nanos, On)>,
    slices: Vec<Slice>,
    waits: Vec<Wait>,
    clocks: Vec<(Nanos, CpuId, u32)>,
    power: Vec<(Nanos, Whose, f64)>,
    now: Nanos,
}

impl<'a> Recorder<'a> {
    /// Nothing has happened yet. The run ends when `flag` is set.
    pub fn new(machine: &Machine, workload: &'a Workload, flag: &'a Flag) -> Self {
        Self {
            flag,
            names: ObjectNames::of(workload),
            applications: &workload.applications,
            tasks: BTreeMap::new(),
            running: vec![None; machine.cpus.len()],
            waiting: BTreeMap::new(),
            slices: Vec::new(),
            waits: Vec::new(),
            clocks: Vec::new(),
            power: Vec::new(),
            now: 0,
        }
    }

    fn begin_wait(&mut self, task: TaskId, now: Nanos, on: On) {
        self.end_wait(task, now);
        self.waiting.insert(task, (now, on));
    }

    fn end_wait(&mut self, task: TaskId, now: Nanos) {
        if let Some((start, on)) = self.waiting.remove(&task)
            && start < now
        {
            self.waits.push(Wait { task, start, end: now, on });
        }
    }

    fn leaves(&mut self, cpu: CpuId, now: Nanos, left: &'static str) {
        if let Some((task, start)) = self.running[cpu.index()].take() {
            self.slices.push(Slice { task, cpu, start, end: now, left });
        }
    }

    fn name(&self, task: TaskId) -> Option<&str> {
        self.tasks.get(&task).map(|(name, _)| name.as_str())
    }

    fn application(&self, task: TaskId) -> Option<&str> {
        let index = self.tasks.get(&task)?.1?;
        self.applications.get(index).map(String::as_str)
    }

    /// The tables. What was under way at the end of the run ends there.
    pub fn finish(mut self) -> PyResult<Trace> {
        let now = self.now;
        (0..self.running.len()).for_each(|cpu| self.leaves(CpuId::at(cpu), now, "end of run"));
        let open: Vec<TaskId> = self.waiting.keys().copied().collect();
        open.into_iter().for_each(|task| self.end_wait(task, now));
        Ok(Trace {
            slices: self.table_of_slices()?,
            clocks: self.table_of_clocks()?,
            power: self.table_of_power()?,
            waits: self.table_of_waits()?,
        })
    }

    fn table_of_slices(&self) -> PyResult<Table> {
        let slices = &self.slices;
        Columns::default()
            .counts("start_ns", slices.iter().map(|slice| slice.start).collect())
            .counts("end_ns", slices.iter().map(|slice| slice.end).collect())
            .counts("cpu", slices.iter().map(|slice| u64::from(slice.cpu.0)).collect())
            .words("task", slices.iter().map(|slice| self.name(slice.task)))
            .words("app", slices.iter().map(|slice| self.application(slice.task)))
            .words("left", slices.iter().map(|slice| Some(slice.left)))
            .table()
    }

    fn table_of_clocks(&self) -> PyResult<Table> {
        Columns::default()
            .counts("at_ns", self.clocks.iter().map(|(at, ..)| *at).collect())
            .counts("cpu", self.clocks.iter().map(|(_, cpu, _)| u64::from(cpu.0)).collect())
            .counts("khz", self.clocks.iter().map(|(.., khz)| u64::from(*khz)).collect())
            .table()
    }

    fn table_of_power(&self) -> PyResult<Table> {
        let cpu = |whose| match whose {
            Whose::Cpu(cpu) => Some(u64::from(cpu.0)),
            Whose::Package(_) => None,
        };
        let package = |whose| match whose {
            Whose::Package(package) => Some(u64::from(package.0)),
            Whose::Cpu(_) => None,
        };
        Columns::default()
            .counts("at_ns", self.power.iter().map(|(at, ..)| *at).collect())
            .count("cpu", self.power.iter().map(|(_, whose, _)| cpu(*whose)))
            .count("package", self.power.iter().map(|(_, whose, _)| package(*whose)))
            .floats("watts", self.power.iter().map(|(.., watts)| *watts).collect())
            .table()
    }

    fn table_of_waits(&self) -> PyResult<Table> {
        let on: Vec<String> = self
            .waits
            .iter()
            .map(|wait| match wait.on {
                On::Cpu => "cpu".to_owned(),
                On::Reason(reason) => self.names.reason(reason),
            })
            .collect();
        Columns::default()
            .counts("start_ns", self.waits.iter().map(|wait| wait.start).collect())
            .counts("end_ns", self.waits.iter().map(|wait| wait.end).collect())
            .words("task", self.waits.iter().map(|wait| self.name(wait.task)))
            .words("app", self.waits.iter().map(|wait| self.application(wait.task)))
            .words("on", on.iter().map(|on| Some(on.as_str())))
            .table()
    }
}

impl Observer for Recorder<'_> {
    fn stopped(&mut self) -> bool {
        self.flag.is_set()
    }

    fn task_new(&mut self, now: Nanos, task: &TaskInfo) {
        self.tasks.insert(task.id, (task.name.clone(), task.application));
        self.begin_wait(task.id, now, On::Cpu);
    }

    fn sched_switch(&mut self, now: Nanos, cpu: CpuId, prev: Option<(TaskId, PrevState)>, next: Option<TaskId>) {
        self.now = now;
        let left = match prev {
            Some((_, PrevState::Runnable)) => "runnable",
            Some((_, PrevState::Dead)) => "ended",
            Some((_, PrevState::Sleeping)) | None => "sleeping",
        };
        self.leaves(cpu, now, left);
        if let Some((task, PrevState::Runnable)) = prev {
            self.begin_wait(task, now, On::Cpu);
        }
        if let Some(task) = next {
            self.end_wait(task, now);
            self.running[cpu.index()] = Some((task, now));
        }
    }

    fn sched_wakeup(&mut self, now: Nanos, task: TaskId, _target: CpuId, _waker: CpuId) {
        self.now = now;
        self.begin_wait(task, now, On::Cpu);
    }

    fn cpu_frequency(&mut self, now: Nanos, cpu: CpuId, khz: u32) {
        self.clocks.push((now, cpu, khz));
    }

    fn wants_details(&self) -> bool {
        true
    }

    fn detail(&mut self, now: Nanos, detail: &Detail) {
        self.now = now;
        match detail {
            Detail::Waits { task, on, .. } => self.begin_wait(*task, now, On::Reason(*on)),
            Detail::StopsSpinning { task } => self.end_wait(*task, now),
            _ => {}
        }
    }

    fn wants_power(&self) -> bool {
        true
    }

    fn cpu_power(&mut self, now: Nanos, cpu: CpuId, watts: f64) {
        self.power.push((now, Whose::Cpu(cpu), watts));
    }

    fn package_power(&mut self, now: Nanos, package: PackageId, watts: f64) {
        self.power.push((now, Whose::Package(package), watts));
    }
}
