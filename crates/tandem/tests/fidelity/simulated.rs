// SPDX-License-Identifier: GPL-2.0-only
//! A scenario in the simulator.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use tandem_simulator::metrics::{GroupReport, Report};
use tandem_simulator::observer::{NoObserver, Observer, PrevState, TaskInfo};
use tandem_simulator::simulation::{Options, SchedExt, Scheduler, simulate};
use tandem_simulator::units::{CpuId, Nanos, SEC, TaskId};
use tandem_simulator::workload::Workload;

use super::run::Run;
use super::scenario::{Compared, Scenario};
use crate::compiled::object_path;
use crate::equal;
use crate::schedulers::carried;

/// When callbacks begin to count: before that threads start, and then sleep.
const BEGIN: Nanos = SEC;

/// What is compared of the run under one of its schedulers.
#[track_caller]
pub fn run(scenario: &Scenario, scheduler: &str) -> Run {
    let workload =
        Workload::parse(Path::new(&scenario.name), &scenario.workload).unwrap_or_else(|error| panic!("{error}"));
    let options = Options { scheduler: opened(scheduler), ..Options::default() };
    let mut watch =
        Watch { window: scenario.window_s.map(|window| window.map(|s| (s * SEC as f64) as Nanos)), ..Watch::default() };
    let report = simulate(&equal::machine(scenario.cpus), &workload, &options, &mut watch)
        .unwrap_or_else(|error| panic!("{error}"));
    let throttled = if scenario.compare.contains(&Compared::Throttled) {
        throttled(scenario, &workload, &options, &report)
    } else {
        BTreeMap::new()
    };
    let lines = report.sched_ext.map(|scx| {
        assert_eq!(scx.exit, None, "{} under {scheduler}", scenario.name);
        scx.output
    });
    let has = |what| scenario.compare.contains(&what);
    Run {
        scheduler: scheduler.to_owned(),
        stolen: 0.0,
        throttled,
        shares: if scenario.window_s.is_some() { watch.shares() } else { BTreeMap::new() },
        order: if has(Compared::Order) {
            watch.order.iter().map(|task| watch.names[task].clone()).collect()
        } else {
            Vec::new()
        },
        callbacks: if has(Compared::Callbacks) { watch.callbacks(&lines.unwrap_or_default()) } else { BTreeMap::new() },
    }
}

/// How long groups waited for their limits since [`BEGIN`], from when on the player in the guest counts, in per cent of that time.
fn throttled(scenario: &Scenario, workload: &Workload, options: &Options, whole: &Report) -> BTreeMap<String, f64> {
    let options = Options { time_limit: Some(BEGIN), ..options.clone() };
    let before = simulate(&equal::machine(scenario.cpus), workload, &options, &mut NoObserver)
        .unwrap_or_else(|error| panic!("{error}"));
    let time = whole.time_s - before.time_s;
    let groups = whole.groups.iter().zip(&before.groups);
    let waited = |group: &GroupReport| group.throttled_s.expect("the scheduler says which threads wait");
    groups.map(|(all, first)| (all.path.clone(), 100.0 * (waited(all) - waited(first)) / time)).collect()
}

/// `fair`, `tandem`, `single` or an object of `scripts/objects`, with settings.
#[track_caller]
pub fn opened(scheduler: &str) -> Scheduler {
    let (name, settings) = scheduler.split_once(',').map_or((scheduler, ""), |(name, settings)| (name, settings));
    let object = match name {
        "fair" => return Scheduler::Fair,
        "tandem" => carried("tandem"),
        "single" => carried("single"),
        name => object_path(name),
    };
    let comma = if settings.is_empty() { "" } else { "," };
    let text = format!("{}{comma}{settings}", object.display());
    Scheduler::SchedExt(Arc::new(SchedExt::open(&text).unwrap_or_else(|error| panic!("{error}"))))
}

/// Names, CPU time in the window, ends.
#[derive(Debug, Default)]
struct Watch {
    window: Option<[Nanos; 2]>,
    names: BTreeMap<TaskId, String>,
    spent: BTreeMap<TaskId, Nanos>,
    running: BTreeMap<u32, (Nanos, TaskId)>,
    order: Vec<TaskId>,
}

impl Observer for Watch {
    fn task_new(&mut self, _now: Nanos, task: &TaskInfo) {
        // A forked thread has a number behind its task's name.
        let name = task.name.split_once('-').map_or(task.name.as_str(), |(name, _)| name);
        self.names.insert(task.id, name.to_owned());
        self.spent.insert(task.id, 0);
    }

    fn sched_switch(&mut self, now: Nanos, cpu: CpuId, prev: Option<(TaskId, PrevState)>, next: Option<TaskId>) {
        self.pay(now, cpu.0);
        if let Some(next) = next {
            self.running.insert(cpu.0, (now, next));
        }
        if let Some((task, PrevState::Dead)) = prev {
            self.order.push(task);
        }
    }
}

impl Watch {
    /// Who ran on a CPU until now.
    fn pay(&mut self, now: Nanos, cpu: u32) {
        if let (Some((since, task)), Some([begin, end])) = (self.running.remove(&cpu), self.window) {
            *self.spent.entry(task).or_default() += now.min(end).saturating_sub(since.max(begin));
        }
    }

    /// Percent of one CPU's time.
    fn shares(&mut self) -> BTreeMap<String, f64> {
        let [begin, end] = self.window.expect("a window");
        // Who still runs at the end ran to the window's.
        for cpu in self.running.keys().copied().collect::<Vec<_>>() {
            self.pay(end, cpu);
        }
        let percent = |spent: Nanos| 100.0 * spent as f64 / (end - begin) as f64;
        self.spent.iter().map(|(task, spent)| (self.names[task].clone(), percent(*spent))).collect()
    }

    /// What the recorder printed of each thread after all had started: time, PID, CPU, callback.
    fn callbacks(&self, lines: &[String]) -> BTreeMap<String, Vec<String>> {
        let of: BTreeMap<u32, &String> = self.names.iter().map(|(task, name)| (task.pid(), name)).collect();
        let mut heard: BTreeMap<String, Vec<String>> =
            self.names.values().map(|name| (name.clone(), Vec::new())).collect();
        for line in lines {
            let [at, pid, rest] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else {
                panic!("no time and PID in {line}")
            };
            let name = pid.parse().ok().and_then(|pid| of.get(&pid));
            if let Some(name) = name.filter(|_| at.parse::<Nanos>().unwrap() >= BEGIN) {
                heard.get_mut(*name).expect("all are there").push(rest.to_owned());
            }
        }
        heard
    }
}
