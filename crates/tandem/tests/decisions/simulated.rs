// SPDX-License-Identifier: GPL-2.0-only
//! The wake-ups of one state in the simulator: what `guest/fidelity/decide.c` does, as a workload.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;
use tandem_simulator::machine::Machine;
use tandem_simulator::observer::{Observer, PrevState, TaskInfo};
use tandem_simulator::simulation::{Governor, Options, Scheduler, simulate};
use tandem_simulator::units::{CpuId, MSEC, Nanos, TaskId, USEC};
use tandem_simulator::workload::Workload;

use super::case::{Case, Wakeup};
use crate::equal;

/// Until the tick before the first wake-up, about: all threads have begun by then.
const BEGIN: Nanos = 200 * MSEC;
/// From that tick until the waker's timer.
const PHASE: Nanos = 500 * USEC;
const TICK: Nanos = 4 * MSEC;
/// What a tick takes: 2,601 instructions (`guest/paths`) of 2 ns (`guest/decisions`).
const TICK_COST: Nanos = 5_202;

/// Each wake-up while the CPUs of `busy` have something to do and the waker is tied to `waker`. `turn` is the CPU after which the
/// waker's CPU goes on when it takes CPUs in turn; none leaves what the threads' own affinities make of it.
#[track_caller]
pub fn wakeups(case: &Case, scheduler: &Scheduler, busy: u32, waker: u32, turn: Option<u32>) -> Vec<Wakeup> {
    let options = Options { scheduler: scheduler.clone(), governor: Governor::Performance, ..Options::default() };
    let mut watch = Watch { tick_phase: tick_phase(&options), ..Watch::default() };
    let workload = parsed(&workload(case, busy, waker, turn, BEGIN + watch.tick_phase + PHASE));
    let report = simulate(&machine(case), &workload, &options, &mut watch).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.sched_ext.and_then(|scx| scx.exit), None, "{}", case.name);
    watch.wakeups
}

#[track_caller]
fn parsed(workload: &str) -> Workload {
    Workload::parse(Path::new("decisions.json"), workload).unwrap_or_else(|error| panic!("{error}"))
}

/// Where the seed places ticks: two threads on one CPU change places only there.
fn tick_phase(options: &Options) -> Nanos {
    let hogs = json!({ "instance": 2, "cpus": [0], "run": 100_000 });
    let workload = parsed(&json!({ "global": { "duration": 1 }, "tasks": { "hog": hogs } }).to_string());
    let options = Options { scheduler: Scheduler::Fair, ..options.clone() };
    let mut switches = Switches::default();
    simulate(&equal::machine(1), &workload, &options, &mut switches).unwrap_or_else(|error| panic!("{error}"));
    let phase = switches.0[10] % TICK;
    assert!(switches.0[10..100].iter().all(|at| at % TICK == phase), "{:?}", switches.0);
    phase
}

/// When a thread followed another.
#[derive(Debug, Default)]
struct Switches(Vec<Nanos>);

impl Observer for Switches {
    fn sched_switch(&mut self, now: Nanos, _cpu: CpuId, prev: Option<(TaskId, PrevState)>, next: Option<TaskId>) {
        if prev.is_some() && next.is_some() {
            self.0.push(now);
        }
    }
}

/// `smp-8` with a case's sockets, each a package with a cache.
fn machine(case: &Case) -> Machine {
    let cores = format!("cores = {}\nsmt = {}\n", case.cores, case.threads);
    let one = equal::description(8).replace("cores = 8\n", &cores);
    let one = one.replace("memory_speed = 1.0\n", "memory_speed = 1.0\nsmt_speed = 1.0\nsmt_activity = 1.0\n");
    let cluster = table(&one, "[[cluster]]");
    let package = table(&one, "[package.package]");
    let mut text = one.clone();
    for socket in 1..case.sockets {
        let next = cluster.replace("\"cores\"", &format!("\"cores{socket}\""));
        let _ = write!(text, "\n{}", next.replace("\"package\"\ncore", &format!("\"package{socket}\"\ncore")));
        let _ = write!(text, "\n{}", package.replace("package.package", &format!("package.package{socket}")));
    }
    let machine = Machine::parse("small", Path::new("small.toml"), &text, None);
    let mut machine = machine.unwrap_or_else(|error| panic!("{error}\n{text}"));
    machine.costs.tick = TICK_COST;
    machine
}

/// The lines of a table.
fn table<'t>(text: &'t str, head: &str) -> &'t str {
    let rest = &text[text.find(head).unwrap()..];
    &rest[..rest.find("\n\n").map_or(rest.len(), |end| end + 1)]
}

/// As rt-app JSON: a text, for the order of steps counts.
fn workload(case: &Case, busy: u32, waker: u32, turn: Option<u32>, begin: Nanos) -> String {
    let (cpus, rounds, period) = (case.cpus(), case.rounds, case.period_us);
    let all: Vec<String> = (0..cpus).map(|cpu| cpu.to_string()).collect();
    let mut tasks = String::new();
    for cpu in (0..cpus).filter(|cpu| busy >> cpu & 1 == 1) {
        let _ = write!(tasks, r#""hog{cpu}": {{ "cpus": [{cpu}], "run": 100000 }}, "#);
    }
    if let Some(turn) = turn {
        // Who may use one CPU only, as of now, leaves the turn of the CPU on which it asked there.
        let _ = write!(
            tasks,
            r#""turner": {{ "delay": {}, "loop": 1, "phases": {{
                "on": {{ "cpus": [{waker}], "run": 10 }}, "to": {{ "cpus": [{turn}], "run": 10 }} }} }}, "#,
            BEGIN / USEC / 2
        );
    }
    let mut phases = Vec::new();
    for cpu in 0..cpus {
        phases.push(format!(r#""on{cpu}": {{ "cpus": [{cpu}], "run": 1000 }}"#));
        phases.push(format!(r#""from{cpu}": {{ "cpus": [{}], "suspend": "sleeper", "run": 20 }}"#, all.join(", ")));
    }
    // The timer expires a period after the thread came.
    let delay = begin / USEC - period;
    let seconds = (begin / USEC + (rounds * cpus) as u64 * period).div_ceil(1_000_000) + 1;
    format!(
        r#"{{ "global": {{ "duration": {seconds} }}, "tasks": {{ {tasks}
            "sleeper": {{ "loop": {rounds}, "phases": {{ {} }} }},
            "waker": {{
                "delay": {delay}, "cpus": [{waker}], "loop": {},
                "timer": {{ "ref": "unique", "period": {period}, "mode": "absolute" }},
                "run0": 200, "resume": "sleeper", "run1": 600
            }} }} }}"#,
        phases.join(", "),
        rounds * cpus
    )
}

/// What became of each wake-up of the sleeper.
#[derive(Debug, Default)]
struct Watch {
    tick_phase: Nanos,
    sleeper: Option<TaskId>,
    /// Where it ran last.
    slept_on: Option<CpuId>,
    woken: Option<Nanos>,
    wakeups: Vec<Wakeup>,
}

impl Observer for Watch {
    fn task_new(&mut self, _now: Nanos, task: &TaskInfo) {
        if task.name.starts_with("sleeper") {
            self.sleeper = Some(task.id);
        }
    }

    fn sched_wakeup(&mut self, now: Nanos, task: TaskId, target: CpuId, _waker: CpuId) {
        if Some(task) == self.sleeper && self.slept_on.is_some() {
            self.woken = Some(now);
            self.wakeups.push(Wakeup(self.slept_on.map(|cpu| cpu.0), Some(target.0), None));
        }
    }

    fn sched_switch(&mut self, now: Nanos, cpu: CpuId, prev: Option<(TaskId, PrevState)>, next: Option<TaskId>) {
        if prev.is_some_and(|(prev, _)| Some(prev) == self.sleeper) {
            self.slept_on = Some(cpu);
        }
        if next == self.sleeper
            && let (Some(woken), Some(wakeup)) = (self.woken.take(), self.wakeups.last_mut())
        {
            let tick = |at: Nanos| (at - self.tick_phase) / TICK;
            wakeup.2 = Some(u8::from(Some(cpu.0) == wakeup.1 && tick(now) == tick(woken)));
        }
    }
}
