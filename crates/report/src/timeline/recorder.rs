// SPDX-License-Identifier: MIT OR Apache-2.0
//! The observer that makes a [`Timeline`] of a run.

use tandem_simulator::observer::{Measured, Observer, PrevState, TaskInfo, TimesUpTo};
use tandem_simulator::units::{CpuId, Nanos, PackageId, SEC, TaskId};
use tandem_simulator::{Machine, Workload};

use super::{CpuLine, Distribution, Left, MOST_SLICES, Means, Thread, Timeline, What};

/// Most values of power that are kept, of all CPUs and packages together.
const MOST_POWERS: usize = 1 << 20;
/// Fewest values of power that each may have.
const FEWEST_POWERS: usize = 1 << 10;

/// Watches a run.
#[derive(Debug)]
pub struct Recorder {
    timeline: Timeline,
    /// By CPU: the thread that runs, since when, and for how long it had waited.
    running: Vec<Option<(TaskId, Nanos, Nanos)>>,
    /// By thread: since when it is runnable without a CPU.
    runnable: Vec<Option<Nanos>>,
    /// By CPU: the power, and since when it has not been accounted for.
    drawing: Vec<(Nanos, f64)>,
    /// How much is kept by now.
    kept: usize,
    most: usize,
}

impl Recorder {
    /// Watches a run of `workload` on `machine`.
    pub fn new(machine: &Machine, workload: &Workload) -> Self {
        Self::of(machine.cpus.len(), machine.packages.len(), workload.applications.clone())
    }

    /// Watches a run of these applications on so many CPUs and packages.
    pub(super) fn of(cpus: usize, packages: usize, applications: Vec<String>) -> Self {
        let most = (MOST_POWERS / (cpus + packages).max(1)).max(FEWEST_POWERS);
        let line = || CpuLine { watts: Means::up_to(most), ..CpuLine::default() };
        let timeline = Timeline {
            applications,
            cpus: (0..cpus).map(|_| line()).collect(),
            packages: vec![Means::up_to(most); packages],
            ..Timeline::default()
        };
        Self {
            timeline,
            running: vec![None; cpus],
            runnable: Vec::new(),
            drawing: vec![(0, 0.0); cpus],
            kept: 0,
            most: MOST_SLICES,
        }
    }

    /// What was seen of a run that took `time_s` seconds.
    pub fn finish(mut self, time_s: f64) -> Timeline {
        let end = (time_s * SEC as f64).round() as Nanos;
        for cpu in 0..self.running.len() {
            self.account(end, cpu);
            self.leave(end, cpu, Left::Cut);
        }
        self.timeline.end = end;
        let lines = self.timeline.cpus.iter_mut().map(|cpu| &mut cpu.watts);
        lines.chain(&mut self.timeline.packages).for_each(|means| means.finish(end));
        self.timeline
    }

    /// The applications, for who learns of them only while it reads.
    pub(super) fn applications(&mut self) -> &mut Vec<String> {
        &mut self.timeline.applications
    }

    /// Whether more may be kept; notes when it is too much.
    fn keeps(&mut self, now: Nanos) -> bool {
        if self.kept >= self.most && self.timeline.cut.is_none() {
            self.timeline.cut = Some(now);
        }
        self.timeline.cut.is_none()
    }

    /// The thread on `cpu`, if there is one, leaves it.
    fn leave(&mut self, now: Nanos, cpu: usize, left: Left) {
        let Some((task, since, waited)) = self.running.get_mut(cpu).and_then(Option::take) else { return };
        if now <= since || !self.keeps(since) {
            return;
        }
        let slices = &mut self.timeline.cpus[cpu].slices;
        slices.start.push(since);
        slices.length.push(now - since);
        slices.thread.push(task.0);
        slices.left.push(left);
        slices.waited.push(waited);
        self.kept += 1;
    }

    /// Adds what `cpu` drew up to now to who has it.
    fn account(&mut self, now: Nanos, cpu: usize) {
        let Some((since, watts)) = self.drawing.get_mut(cpu) else { return };
        let joules = *watts * now.saturating_sub(*since) as f64 * 1e-9;
        *since = now;
        if joules != 0.0 {
            *self.share(cpu) += joules;
        }
    }

    /// The energy of who has `cpu`.
    fn share(&mut self, cpu: usize) -> &mut f64 {
        let energy = &mut self.timeline.energy;
        let Some((task, ..)) = self.running.get(cpu).copied().flatten() else { return &mut energy.idle };
        let thread = self.timeline.threads.get(task.index());
        let Some(application) = thread.and_then(|thread| thread.application) else { return &mut energy.system };
        if energy.applications.len() <= application {
            energy.applications.resize(application + 1, 0.0);
        }
        &mut energy.applications[application]
    }

    fn runnable(&mut self, task: TaskId) -> &mut Option<Nanos> {
        if self.runnable.len() <= task.index() {
            self.runnable.resize(task.index() + 1, None);
        }
        &mut self.runnable[task.index()]
    }
}

impl Observer for Recorder {
    fn task_new(&mut self, _now: Nanos, task: &TaskInfo) {
        let threads = &mut self.timeline.threads;
        if threads.len() <= task.id.index() {
            threads.resize(task.id.index() + 1, Thread::default());
        }
        threads[task.id.index()] = Thread { name: task.name.clone(), application: task.application };
    }

    fn sched_switch(&mut self, now: Nanos, cpu: CpuId, prev: Option<(TaskId, PrevState)>, next: Option<TaskId>) {
        self.account(now, cpu.index());
        if let Some((task, state)) = prev {
            let left = match state {
                PrevState::Runnable => Left::Runnable,
                PrevState::Sleeping => Left::Sleeping,
                PrevState::Dead => Left::Dead,
            };
            self.leave(now, cpu.index(), left);
            if state == PrevState::Runnable {
                *self.runnable(task) = Some(now);
            }
        }
        if let Some(task) = next {
            let waited = self.runnable(task).take().map_or(0, |since| now.saturating_sub(since));
            if let Some(running) = self.running.get_mut(cpu.index()) {
                *running = Some((task, now, waited));
            }
        }
    }

    fn sched_wakeup(&mut self, now: Nanos, task: TaskId, _target: CpuId, _waker: CpuId) {
        *self.runnable(task) = Some(now);
    }

    fn cpu_frequency(&mut self, now: Nanos, cpu: CpuId, khz: u32) {
        if self.keeps(now)
            && let Some(line) = self.timeline.cpus.get_mut(cpu.index())
        {
            self.kept += usize::from(line.khz.set(now, khz));
        }
    }

    fn cpu_idle(&mut self, now: Nanos, cpu: CpuId, state: Option<u32>) {
        if self.keeps(now)
            && let Some(line) = self.timeline.cpus.get_mut(cpu.index())
        {
            self.kept += usize::from(line.idle.set(now, state.map_or(0, |state| state + 1)));
        }
    }

    fn wants_details(&self) -> bool {
        true
    }

    fn wants_power(&self) -> bool {
        true
    }

    fn cpu_power(&mut self, now: Nanos, cpu: CpuId, watts: f64) {
        self.account(now, cpu.index());
        if let Some(line) = self.timeline.cpus.get_mut(cpu.index()) {
            line.watts.set(now, watts);
            self.drawing[cpu.index()].1 = watts;
        }
    }

    fn package_power(&mut self, now: Nanos, package: PackageId, watts: f64) {
        if let Some(means) = self.timeline.packages.get_mut(package.index()) {
            means.set(now, watts);
        }
    }

    fn unseen_energy(&mut self, _cpu: CpuId, joules: f64) {
        self.timeline.energy.idle += joules;
    }

    fn distribution(&mut self, application: Option<usize>, what: Measured, times: &[TimesUpTo]) {
        let what = match what {
            Measured::WakeupLatency => What::WakeupLatency,
            Measured::Response => What::Response,
        };
        self.timeline.distributions.push(Distribution { application, what, times: times.to_vec() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tandem_simulator::{Options, simulate};

    const A: TaskId = TaskId(0);
    const B: TaskId = TaskId(1);
    const CPU: CpuId = CpuId(0);

    #[test]
    fn a_slice_has_its_length_its_end_and_the_wait_before_it() {
        let mut recorder = Recorder::of(1, 1, Vec::new());
        recorder.sched_wakeup(10, A, CPU, CPU);
        recorder.sched_switch(15, CPU, None, Some(A));
        recorder.sched_wakeup(20, B, CPU, CPU);
        recorder.sched_switch(40, CPU, Some((A, PrevState::Runnable)), Some(B));
        recorder.sched_switch(50, CPU, Some((B, PrevState::Sleeping)), Some(A));
        let timeline = recorder.finish(60e-9);
        let slices = &timeline.cpus[0].slices;
        assert_eq!(slices.start, [15, 40, 50]);
        assert_eq!(slices.length, [25, 10, 10]);
        assert_eq!(slices.thread, [0, 1, 0]);
        assert_eq!(slices.left, [Left::Runnable, Left::Sleeping, Left::Cut]);
        assert_eq!(slices.waited, [5, 20, 10]);
    }

    #[test]
    fn what_is_too_much_is_left_out_and_said() {
        let mut recorder = Recorder::of(1, 1, Vec::new());
        recorder.most = 2;
        for round in 0..5 {
            recorder.sched_switch(round * 10, CPU, None, Some(A));
            recorder.sched_switch(round * 10 + 5, CPU, Some((A, PrevState::Sleeping)), None);
        }
        let timeline = recorder.finish(1e-6);
        assert_eq!((timeline.slices(), timeline.cut), (2, Some(20)));
    }

    #[test]
    fn a_run_has_all_of_its_cpu_time_in_slices_and_its_latencies_as_the_report_has_them() {
        let machine = Machine::load("hikey960").unwrap();
        let workload = Workload::load("pipeline".as_ref()).unwrap();
        let mut recorder = Recorder::new(&machine, &workload);
        let report = simulate(&machine, &workload, &Options::default(), &mut recorder).unwrap();
        let timeline = recorder.finish(report.time_s);
        let busy: f64 =
            timeline.cpus.iter().flat_map(|cpu| &cpu.slices.length).map(|length| *length as f64 * 1e-9).sum();
        let counted: f64 = report.tasks.iter().map(|task| task.cpu_time_s).sum();
        assert!((busy / counted - 1.0).abs() < 1e-9, "{busy} {counted}");
        let drawn = timeline.energy.total();
        assert!((drawn / report.energy_j.cores - 1.0).abs() < 1e-9, "{drawn} {}", report.energy_j.cores);
        let all = |what| {
            let of = timeline.distributions.iter().find(|it| it.application.is_none() && it.what == what);
            of.unwrap().times.last().unwrap().most
        };
        assert_eq!(all(What::WakeupLatency), report.timing.wakeup_latency_ns.unwrap().max);
        assert_eq!(all(What::Response), report.timing.response_ns.unwrap().max);
    }
}
