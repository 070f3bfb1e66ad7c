// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedulers to load, machines without costs, and checks of runs.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::{Report, SchedExtReport};
use tandem_simulator::observer::{Observer, PrevState, TaskInfo};
use tandem_simulator::simulation::{Governor, KernelParameters, Options, SchedExt, Scheduler};
use tandem_simulator::units::{CpuId, MSEC, Nanos, TaskId, USEC};

use crate::common::{watch, workload};
use crate::equal::machine;
use crate::objects::object_path;

/// A scheduler by the name of its source, with variables to set (`a=1,b=2`) and with the loader file that this project
/// has for it, if there is one.
#[track_caller]
pub fn open(name: &str, settings: &str) -> Arc<SchedExt> {
    let sidecar = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../schedulers/{name}.toml"));
    open_with(name, settings, &std::fs::read_to_string(sidecar).unwrap_or_default())
}

/// A scheduler by the name of its source, with variables to set (`a=1,b=2`) and with this loader file.
#[track_caller]
pub fn open_with(name: &str, settings: &str, sidecar: &str) -> Arc<SchedExt> {
    let folder = tempfile::tempdir().unwrap();
    let object = folder.path().join(format!("{name}.bpf.o"));
    std::fs::create_dir_all(object.parent().unwrap()).unwrap();
    std::fs::copy(object_path(name), &object).unwrap();
    std::fs::write(folder.path().join(format!("{name}.toml")), sidecar).unwrap();
    let mut text = object.display().to_string();
    if !settings.is_empty() {
        text = format!("{text},{settings}");
    }
    let mut scheduler = SchedExt::open(&text).unwrap_or_else(|error| panic!("{error}"));
    scheduler.name = name.to_owned();
    Arc::new(scheduler)
}

/// 1000 ticks a second, callbacks that cost nothing, clocks at their highest.
pub fn options(scheduler: &Arc<SchedExt>, limit: Nanos) -> Options {
    Options {
        scheduler: Scheduler::SchedExt(scheduler.clone()),
        governor: Governor::Performance,
        time_limit: Some(limit),
        kernel: KernelParameters { hz: 1000, bpf_insn_ps: 0, ..KernelParameters::default() },
        ..Options::default()
    }
}

/// What the scheduler did; it must not have been ejected.
#[track_caller]
pub fn survived(report: &Report) -> &SchedExtReport {
    let scx = report.sched_ext.as_ref().expect("a scheduler was loaded");
    assert_eq!(scx.exit, None, "{} on {} under {}", report.workload, report.machine, report.scheduler);
    scx
}

/// A context switch: time, CPU, next thread; `-` is the idle thread.
pub type Turn = (Nanos, u32, &'static str);

/// Context switches as they happen.
#[derive(Debug, Default)]
pub struct Turns {
    names: BTreeMap<TaskId, String>,
    seen: Vec<(Nanos, u32, String)>,
}

impl Observer for Turns {
    fn task_new(&mut self, _now: Nanos, task: &TaskInfo) {
        self.names.insert(task.id, task.name.clone());
    }

    fn sched_switch(&mut self, now: Nanos, cpu: CpuId, _prev: Option<(TaskId, PrevState)>, next: Option<TaskId>) {
        let name = next.map_or("-", |task| self.names[&task].as_str());
        self.seen.push((now, cpu.0, name.to_owned()));
    }
}

/// Runs `tasks` (rt-app's `"name" : { … }`) up to `limit` and compares every context switch with `expected`. Switches
/// on several CPUs at the same instant are ordered by CPU.
#[track_caller]
pub fn assert_turns(cpus: usize, scheduler: &Arc<SchedExt>, tasks: &[&str], limit: Nanos, expected: &[Turn]) -> Report {
    assert_turns_on(&machine(cpus), scheduler, tasks, limit, expected)
}

/// As [`assert_turns`], on this machine.
#[track_caller]
pub fn assert_turns_on(
    machine: &Machine,
    scheduler: &Arc<SchedExt>,
    tasks: &[&str],
    limit: Nanos,
    expected: &[Turn],
) -> Report {
    let mut turns = Turns::default();
    let report = watch(machine, &tasks_of(tasks), &options(scheduler, limit), &mut turns);
    survived(&report);
    let seen = turns.seen.iter().map(|(at, cpu, next)| (*at, *cpu, next.as_str()));
    let (seen, expected) = (by_cpu(seen), by_cpu(expected.iter().copied()));
    assert!(seen == expected, "seen:\n{}\nexpected:\n{}", seen.join("\n"), expected.join("\n"));
    report
}

/// One line for each turn, ordered by time, then by CPU.
fn by_cpu<'t>(turns: impl Iterator<Item = (Nanos, u32, &'t str)>) -> Vec<String> {
    let mut turns: Vec<_> = turns.collect();
    turns.sort_by_key(|(at, cpu, _)| (*at, *cpu));
    turns.iter().map(|(at, cpu, next)| format!("{:>12} us on {cpu}: {next}", *at as f64 / USEC as f64)).collect()
}

/// A workload of these tasks.
#[track_caller]
pub fn tasks_of(tasks: &[&str]) -> tandem_simulator::workload::Workload {
    workload(&format!(r#"{{ "tasks" : {{ {} }} }}"#, tasks.join(", ")))
}

/// Milliseconds in nanoseconds.
pub const fn ms(count: u64) -> Nanos {
    count * MSEC
}

/// Microseconds in nanoseconds.
pub const fn us(count: u64) -> Nanos {
    count * USEC
}

/// Tick number `count` of a busy CPU. Ticks come every millisecond; the first comes between 0.05 and 0.4 ms, which
/// these tests rely on and the scheduler `recorder` measures.
#[track_caller]
pub fn tick(count: u64) -> Nanos {
    static FIRST: OnceLock<Nanos> = OnceLock::new();
    let first = *FIRST.get_or_init(|| {
        let tasks = [r#""hog" : { "run" : 1000000, "loop" : 1 }"#];
        let lines = recorded(1, &open("recorder", "print_tick=true"), &tasks, ms(1));
        lines.iter().find(|(_, line)| line.contains("tick")).expect("a tick in the first millisecond").0
    });
    assert!((us(50)..us(400)).contains(&first), "the first tick comes at {first} ns");
    first + ms(count)
}

/// What `recorder` printed in a run up to `limit`: the time, and the line without time and PID.
#[track_caller]
pub fn recorded(cpus: usize, scheduler: &Arc<SchedExt>, tasks: &[&str], limit: Nanos) -> Vec<(Nanos, String)> {
    let report = watch(&machine(cpus), &tasks_of(tasks), &options(scheduler, limit), &mut Turns::default());
    let parse = |line: &String| {
        let [at, _pid, rest] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("no time and PID in {line}") };
        (at.parse().unwrap_or_else(|_| panic!("no time in {line}")), rest.to_owned())
    };
    survived(&report).output.iter().map(parse).collect()
}
