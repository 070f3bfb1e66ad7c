// SPDX-License-Identifier: GPL-2.0-only
//! `--report`: the run as a page for a browser.

use std::io::Write;
use std::path::Path;

use serde::Serialize;
use tandem_report::Page;
use tandem_report::timeline::Recorder;
use tandem_simulator::metrics::Report;
use tandem_simulator::observer::detail::Detail;
use tandem_simulator::observer::{Measured, Observer, PrevState, TaskInfo, TimesUpTo};
use tandem_simulator::units::{CpuId, Nanos, PackageId, TaskId};

use crate::context::Context;
use crate::failure::Failure;
use crate::files::{DASH, Kind, Output, Staged};
use crate::one_run::OneRun;
use crate::report::html;

/// A page that is written when its run is done.
pub struct PageFile {
    /// `None`: standard output.
    file: Option<Staged>,
    /// Watches the run.
    pub recorder: Recorder,
}

impl PageFile {
    /// Opens the file before the run, so that a path that cannot be written costs no work.
    pub fn create(context: &Context<'_>, path: &Path, run: &OneRun, force: bool) -> Result<Self, Failure> {
        // A build without the page says so before the run, too.
        html(&Page::default())?;
        let output = (path != Path::new(DASH)).then_some(Output { path, kind: Kind::Page, force });
        let file = output.map(|output| context.files.create(output)).transpose()?;
        Ok(Self { file, recorder: Recorder::new(&run.machine, &run.workload) })
    }

    /// Writes the page; `produced` is what `--json` writes, `out` is standard output.
    pub fn finish(
        self,
        run: &OneRun,
        report: &Report,
        produced: &impl Serialize,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let name = run.workload.name.as_str();
        let json = serde_json::to_string(produced).map_err(std::io::Error::from)?;
        let mut page = Page::default();
        page.add_run(name, &json).map_err(|error| Failure::System(format!("the page: {error}")))?;
        page.add_timeline(name, self.recorder.finish(report.time_s));
        page.add_machine(&run.machine);
        let text = html(&page)?;
        let Some(mut file) = self.file else { return Ok(out.write_all(text.as_bytes())?) };
        file.write_text(&text)?;
        file.finish()
    }
}

/// Two observers of one run.
pub struct Both<'a>(pub &'a mut dyn Observer, pub &'a mut dyn Observer);

impl Observer for Both<'_> {
    fn task_new(&mut self, now: Nanos, task: &TaskInfo) {
        self.0.task_new(now, task);
        self.1.task_new(now, task);
    }

    fn sched_switch(&mut self, now: Nanos, cpu: CpuId, prev: Option<(TaskId, PrevState)>, next: Option<TaskId>) {
        self.0.sched_switch(now, cpu, prev, next);
        self.1.sched_switch(now, cpu, prev, next);
    }

    fn sched_waking(&mut self, now: Nanos, task: TaskId, prev: CpuId, waker: CpuId) {
        self.0.sched_waking(now, task, prev, waker);
        self.1.sched_waking(now, task, prev, waker);
    }

    fn sched_wakeup(&mut self, now: Nanos, task: TaskId, target: CpuId, waker: CpuId) {
        self.0.sched_wakeup(now, task, target, waker);
        self.1.sched_wakeup(now, task, target, waker);
    }

    fn sched_wakeup_new(&mut self, now: Nanos, task: TaskId, target: CpuId, waker: CpuId) {
        self.0.sched_wakeup_new(now, task, target, waker);
        self.1.sched_wakeup_new(now, task, target, waker);
    }

    fn cpu_frequency(&mut self, now: Nanos, cpu: CpuId, khz: u32) {
        self.0.cpu_frequency(now, cpu, khz);
        self.1.cpu_frequency(now, cpu, khz);
    }

    fn cpu_idle(&mut self, now: Nanos, cpu: CpuId, state: Option<u32>) {
        self.0.cpu_idle(now, cpu, state);
        self.1.cpu_idle(now, cpu, state);
    }

    fn wants_details(&self) -> bool {
        self.0.wants_details() || self.1.wants_details()
    }

    fn detail(&mut self, now: Nanos, detail: &Detail) {
        self.0.detail(now, detail);
        self.1.detail(now, detail);
    }

    fn wants_power(&self) -> bool {
        self.0.wants_power() || self.1.wants_power()
    }

    fn cpu_power(&mut self, now: Nanos, cpu: CpuId, watts: f64) {
        self.0.cpu_power(now, cpu, watts);
        self.1.cpu_power(now, cpu, watts);
    }

    fn package_power(&mut self, now: Nanos, package: PackageId, watts: f64) {
        self.0.package_power(now, package, watts);
        self.1.package_power(now, package, watts);
    }

    fn unseen_energy(&mut self, cpu: CpuId, joules: f64) {
        self.0.unseen_energy(cpu, joules);
        self.1.unseen_energy(cpu, joules);
    }

    fn unseen_uncore_energy(&mut self, package: PackageId, joules: f64) {
        self.0.unseen_uncore_energy(package, joules);
        self.1.unseen_uncore_energy(package, joules);
    }

    fn distribution(&mut self, application: Option<usize>, what: Measured, times: &[TimesUpTo]) {
        self.0.distribution(application, what, times);
        self.1.distribution(application, what, times);
    }
}
