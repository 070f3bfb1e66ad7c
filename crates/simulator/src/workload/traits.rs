// SPDX-License-Identifier: MIT OR Apache-2.0
//! Properties of a workload that scheduling mechanisms can act on: threads that run at the same time, phases, lengths,
//! memory, noise.
//!
//! The properties are read from the programs alone, for no machine. How long threads wait for each other or for a CPU
//! is left out, as only a run tells. Numbers of threads are therefore bounds, and loads are those of threads that never
//! wait.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{Op, TaskSpec, Workload};
use crate::units::Nanos;

/// A thread that waits for memory for this share of its work on the reference CPU counts as memory-bound.
pub const MEMORY_BOUND: f64 = 0.5;

/// Bytes per nanosecond of a memory of usual speed, to weigh steps in bytes against steps in nanoseconds.
/// dereference in 100.
const BYTES_PER_NANO: u64 = 10;
/// Nanoseconds per dereference of a memory of usual speed, to weigh steps in dereferences against steps in nanoseconds.
const NANOS_PER_DEREFERENCE: u64 = 100;

/// The traits of a workload.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WorkloadTraits"))]
pub struct Traits {
    /// Applications that have threads, in the workload's order.
    pub applications: Vec<ApplicationTraits>,
    /// Threads that are system tasks.
    pub system_threads: u32,
    /// Share of the reference CPU that all system tasks use together, at its highest clock; 0 or more.
    pub system_load: f64,
}

/// The traits of an application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApplicationTraits {
    /// Name of the application.
    pub name: String,
    /// Most threads that the application can have at once; `None`: no bound, as a thread forks for ever or other
    /// applications fork all of its threads.
    pub threads: Option<u32>,
    /// Most threads that one process of the application can have at once (kernels see a process as a program); `None`:
    /// no bound.
    pub program_threads: Option<u32>,
    /// Number of threads that say how long they are (`relative_length`): those at the start, and one of each forked
    /// kind.
    pub hinted: u32,
    /// Whether threads of the application meet: at barriers, in joins or at the end of parallel loops.
    pub meets: bool,
    /// Whether threads of the application contend for mutexes.
    pub locks: bool,
    /// Number of threads that are memory-bound, which is to wait for memory for half of their work on the reference CPU or
    /// more: those at the start, and one of each forked kind.
    pub memory_bound: u32,
    /// Number of other threads that work: those at the start, and one of each forked kind.
    pub compute_bound: u32,
}

impl ApplicationTraits {
    /// Whether a process of the application can have more than `threshold` threads at once.
    pub fn exceeds(&self, threshold: u32) -> bool {
        self.program_threads.is_none_or(|threads| threads > threshold)
    }
}

impl Traits {
    /// The traits of `workload`.
    pub fn of(workload: &Workload) -> Self {
        let names = workload.applications.iter().enumerate();
        let applications = names.filter_map(|(index, name)| application(workload, index, name)).collect();
        let system = workload.tasks.iter().filter(|task| task.system && task.instances > 0);
        Self {
            applications,
            system_threads: system.clone().map(|task| task.instances).sum(),
            system_load: system.map(|task| f64::from(task.instances) * effort(workload, task).load()).sum(),
        }
    }

    /// Applications with a process that can have more than `threshold` threads at once.
    pub fn parallel(&self, threshold: u32) -> impl Iterator<Item = &ApplicationTraits> {
        self.applications.iter().filter(move |application| application.exceeds(threshold))
    }

    /// Most threads of applications that can exist at once; `None`: no bound.
    pub fn threads(&self) -> Option<u32> {
        self.applications.iter().try_fold(0_u32, |sum, application| Some(sum.saturating_add(application.threads?)))
    }
}

/// The traits of the application `index`; `None` if it has no threads.
fn application(workload: &Workload, index: usize, name: &str) -> Option<ApplicationTraits> {
    let kinds: Vec<&TaskSpec> = reached(workload).into_iter().map(|kind| &workload.tasks[kind]).collect();
    let kinds: Vec<&TaskSpec> = kinds.into_iter().filter(|task| task.application == index && !task.system).collect();
    if kinds.is_empty() {
        return None;
    }
    let ops = || kinds.iter().flat_map(|task| &task.program);
    let (mut memory_bound, mut compute_bound, mut hinted) = (0, 0, 0);
    for task in &kinds {
        let threads = task.instances.max(1);
        hinted += if task.relative_length.is_some() { threads } else { 0 };
        match effort(workload, task).memory_share() {
            Some(share) if share >= MEMORY_BOUND => memory_bound += threads,
            Some(_) => compute_bound += threads,
            None => {}
        }
    }
    Some(ApplicationTraits {
        name: name.to_owned(),
        threads: threads(workload, &kinds),
        program_threads: program_threads(workload, &kinds),
        hinted,
        meets: ops().any(|op| matches!(op, Op::Barrier(_) | Op::Join | Op::ParallelLoop(_))),
        locks: ops().any(|op| matches!(op, Op::Lock(_))),
        memory_bound,
        compute_bound,
    })
}

/// Most threads of an application at once; `None`: no bound.
fn threads(workload: &Workload, kinds: &[&TaskSpec]) -> Option<u32> {
    let starts = kinds.iter().filter(|task| task.instances > 0);
    let each = |task: &&&TaskSpec| {
        Some(at_once(workload, task, Count::Application, &mut BTreeSet::new())?.saturating_mul(task.instances))
    };
    let all: Vec<u32> = starts.map(|task| each(&task)).collect::<Option<_>>()?;
    // If other applications fork all threads, their number is not known here.
    (!all.is_empty()).then(|| all.into_iter().fold(0, u32::saturating_add))
}

/// Most threads of a process at once: of the application's main one, or of one that begins with a task of its own.
fn program_threads(workload: &Workload, kinds: &[&TaskSpec]) -> Option<u32> {
    threads(workload, kinds)?;
    let each = |task: &TaskSpec| at_once(workload, task, Count::Process, &mut BTreeSet::new());
    let mut main = 0_u32;
    let mut most = 0_u32;
    for task in kinds {
        match task.process {
            true => most = most.max(each(task)?),
            false => main = main.saturating_add(each(task)?.saturating_mul(task.instances)),
        }
    }
    Some(most.max(main))
}

/// Kinds of thread that come into being: at the start, or by forks.
fn reached(workload: &Workload) -> BTreeSet<usize> {
    let mut known = BTreeSet::new();
    let mut open: Vec<usize> = (0..workload.tasks.len()).filter(|kind| workload.tasks[*kind].instances > 0).collect();
    while let Some(kind) = open.pop() {
        if known.insert(kind) {
            let forked = workload.tasks[kind].program.iter().filter_map(|op| match op {
                Op::Fork(kind) => Some(*kind as usize),
                _ => None,
            });
            open.extend(forked);
        }
    }
    known
}

/// The threads that a stretch of a program forks. All threads are taken to live until they are joined.
#[derive(Debug, Clone, Copy, Default)]
struct Forks {
    /// Threads forked before the first join of the stretch, or in all of it if it has no join.
    before: u32,
    /// Whether the stretch has a join.
    joins: bool,
    /// Threads forked in the stretch that are still there at its end.
    left: u32,
    /// Most threads forked in the stretch that exist at once.
    peak: u32,
}

impl Forks {
    fn fork(&mut self, threads: u32) {
        self.append(Self { before: threads, joins: false, left: threads, peak: threads });
    }

    fn join(&mut self) {
        self.joins = true;
        self.left = 0;
    }

    /// Appends `next` to the stretch.
    fn append(&mut self, next: Self) {
        self.peak = self.peak.max(self.left.saturating_add(next.before)).max(next.peak);
        if !self.joins {
            self.before = self.before.saturating_add(next.before);
        }
        self.left = if next.joins { next.left } else { self.left.saturating_add(next.left) };
        self.joins |= next.joins;
    }

    /// The stretch repeated `count` times; `None` if the number of threads has no bound.
    fn times(self, count: Option<u64>) -> Option<Self> {
        match count {
            Some(0) => return Some(Self::default()),
            None if !self.joins && self.left > 0 => return None,
            _ => {}
        }
        if self.joins {
            // A second round begins with the threads that the first one left.
            let mut twice = self;
            if count != Some(1) {
                twice.append(self);
            }
            return Some(twice);
        }
        let count = u32::try_from(count.unwrap_or(1)).unwrap_or(u32::MAX);
        let all = self.left.saturating_mul(count);
        Some(Self { before: all, joins: false, left: all, peak: all })
    }
}

/// Which threads are counted, beside the one that forks them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Count {
    /// Threads of the same application.
    Application,
    /// Threads of the same application and the same process.
    Process,
}

/// Most threads that exist at once of a thread of `task` and all that it forks; `None`: no bound. `above`: the names of
/// the tasks on the way from the first fork to `task`.
fn at_once<'w>(workload: &'w Workload, task: &'w TaskSpec, count: Count, above: &mut BTreeSet<&'w str>) -> Option<u32> {
    if !above.insert(&task.name) {
        return None;
    }
    let counts = |forked: &TaskSpec| {
        let process = count == Count::Application || !forked.process;
        !forked.system && forked.application == task.application && process
    };
    // The innermost stretch is the last one; the stretch of a loop stands with the loop's count.
    let mut open: Vec<(Option<u64>, Forks)> = vec![(Some(1), Forks::default())];
    for op in &task.program {
        match op {
            Op::LoopStart { count, .. } => open.push((*count, Forks::default())),
            Op::LoopEnd { .. } if open.len() > 1 => {
                let (count, body) = open.pop()?;
                open.last_mut()?.1.append(body.times(count)?);
            }
            Op::Fork(forked) => {
                let forked = workload.tasks.get(*forked as usize).filter(|forked| counts(forked));
                if let Some(forked) = forked {
                    let threads = at_once(workload, forked, count, above)?;
                    open.last_mut()?.1.fork(threads);
                }
            }
            Op::Join => open.last_mut()?.1.join(),
            _ => {}
        }
    }
    above.remove(task.name.as_str());
    Some(open.first()?.1.peak.saturating_add(1))
}

/// What a thread does in a stretch of time, by kind; in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
struct Effort {
    /// Work on the reference CPU.
    work: f64,
    /// Part of the work that waits for memory.
    memory: f64,
    /// Time asleep.
    sleep: f64,
    /// Periods of timers; the rest of the time is part of them.
    periods: f64,
}

impl Effort {
    fn work(&mut self, nanos: f64, memory_share: f64) {
        self.work += nanos;
        self.memory += nanos * memory_share;
    }

    fn add(&mut self, more: Self, times: f64) {
        self.work += more.work * times;
        self.memory += more.memory * times;
        self.sleep += more.sleep * times;
        self.periods += more.periods * times;
    }

    /// Share of time that the thread works; 0 if it never does anything.
    fn load(&self) -> f64 {
        let time = (self.work + self.sleep).max(self.periods);
        if time > 0.0 { self.work / time } else { 0.0 }
    }

    /// Share of the work that waits for memory; `None` if there is no work.
    fn memory_share(&self) -> Option<f64> {
        (self.work > 0.0).then(|| self.memory / self.work)
    }
}

/// The effort of a thread of `task` in its life, or in a round of its endless loop if it has one.
fn effort(workload: &Workload, task: &TaskSpec) -> Effort {
    let mut open: Vec<(Option<u64>, Effort)> = vec![(Some(1), Effort::default())];
    for op in &task.program {
        match op {
            Op::LoopStart { count, .. } => open.push((*count, Effort::default())),
            Op::LoopEnd { .. } if open.len() > 1 => {
                let Some((count, body)) = open.pop() else { break };
                match (count, open.last_mut()) {
                    (Some(count), Some((_, outer))) => outer.add(body, count as f64),
                    _ => return body,
                }
            }
            op => {
                if let Some((_, effort)) = open.last_mut() {
                    step(workload, op, effort);
                }
            }
        }
    }
    open.first().map_or_else(Effort::default, |(_, effort)| *effort)
}

/// Adds one step to `effort`.
fn step(workload: &Workload, op: &Op, effort: &mut Effort) {
    let share = |behaviour: super::BehaviourId| {
        workload.behaviours.get(behaviour.0 as usize).map_or(0.0, |behaviour| behaviour.memory_bound)
    };
    let nanos = |time: Nanos| time as f64;
    match op {
        Op::Run { work, behaviour } => effort.work(nanos(work.mean), share(*behaviour)),
        Op::Runtime { time, behaviour } => effort.work(nanos(time.mean), share(*behaviour)),
        Op::Memory { bytes, .. } => effort.work(nanos(bytes / BYTES_PER_NANO), 1.0),
        Op::Chase { count, .. } => effort.work(nanos(count.saturating_mul(NANOS_PER_DEREFERENCE)), 1.0),
        Op::ParallelLoop(id) => {
            if let Some(each) = workload.loops.get(id.0 as usize) {
                let all = nanos(each.work.mean) * each.iterations as f64;
                effort.work(all / f64::from(each.participants.max(1)), share(each.behaviour));
            }
        }
        Op::Sleep(time) => effort.sleep += nanos(time.mean),
        Op::Timer { period, .. } => effort.periods += nanos(period.mean),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn traits(tasks: &str) -> Traits {
        let text = format!("{{ \"tasks\": {{ {tasks} }} }}");
        Traits::of(&Workload::parse(Path::new("w.json"), &text).unwrap())
    }

    fn only(tasks: &str) -> ApplicationTraits {
        let mut all = traits(tasks).applications;
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    #[test]
    fn threads_that_are_joined_make_room_for_the_next() {
        let child = r#""child": { "instance": 0, "loop": 1, "run": 1000 }"#;
        // Three threads at a time, five times, beside the thread that forks them.
        let joined = format!(
            r#""main": {{ "loop": 5, "phases": {{
                "p": {{ "run": 10, "fork0": "child", "fork1": "child", "fork2": "child", "tandem": {{ "join": true }} }}
            }} }}, {child}"#
        );
        assert_eq!(only(&joined).threads, Some(4));
        assert!(only(&joined).meets);
        let kept = r#""main": { "loop": 5, "run": 10, "fork": "child" }"#;
        assert_eq!(only(&format!("{kept}, {child}")).threads, Some(6));
        let endless = r#""main": { "loop": -1, "run": 10, "fork": "child" }"#;
        assert_eq!(only(&format!("{endless}, {child}")).threads, None);
        assert!(only(&format!("{endless}, {child}")).exceeds(u32::MAX));
    }

    #[test]
    fn processes_of_an_application_are_programs_of_their_own() {
        let all = only(
            r#""make": { "loop": 4, "run": 10, "fork": "job" },
               "job": { "instance": 0, "loop": 2, "run": 10, "fork": "thread", "tandem": { "process": true } },
               "thread": { "instance": 0, "loop": 1, "run": 10 }"#,
        );
        // make, four jobs and two threads of each; the process of a job has three threads.
        assert_eq!((all.threads, all.program_threads), (Some(13), Some(3)));
        assert!(all.exceeds(2) && !all.exceeds(3));
    }

    #[test]
    fn a_thread_that_forks_itself_has_no_bound() {
        assert_eq!(only(r#""bomb": { "loop": 1, "run": 10, "fork": "bomb" }"#).threads, None);
    }

    #[test]
    fn work_that_waits_for_memory_half_of_the_time_is_memory_bound() {
        let all = only(
            r#""stream": { "instance": 3, "loop": 1, "run": 1000, "tandem": { "memory_bound": 0.9 } },
               "half": { "loop": 1, "phases": {
                   "a": { "run": 1000, "tandem": { "memory_bound": 1.0 } }, "b": { "run": 1001 } } },
               "alu": { "instance": 2, "loop": 1, "run": 1000 },
               "sleeper": { "loop": 1, "sleep": 1000 }"#,
        );
        // 1000 of 2001 µs is less than half.
        assert_eq!((all.memory_bound, all.compute_bound, all.threads), (3, 3, Some(7)));
    }

    #[test]
    fn noise_is_the_share_of_time_that_system_tasks_work() {
        let noise = traits(
            r#""app": { "loop": 1, "run": 1000 },
               "sleeps": { "instance": 2, "loop": -1, "run": 1000, "sleep": 9000, "tandem": { "system": true } },
               "ticks": { "loop": -1, "run": 1000, "timer": { "ref": "unique", "period": 20000 },
                          "tandem": { "system": true } }"#,
        );
        assert_eq!(noise.system_threads, 3);
        // Two times a tenth, and a twentieth.
        assert!((noise.system_load - 0.25).abs() < 1e-9, "{}", noise.system_load);
        assert_eq!((noise.applications.len(), noise.threads()), (1, Some(1)));
    }

    #[test]
    fn hints_locks_and_meetings_are_seen() {
        let all = traits(
            r#""a": { "instance": 2, "loop": 1, "run": 1000, "barrier": "b",
                      "tandem": { "application": "one", "relative_length": 3 } },
               "c": { "instance": 2, "loop": 1, "run": 1000, "lock": "m", "unlock": "m",
                      "tandem": { "application": "two" } }"#,
        );
        let seen: Vec<_> = all.applications.iter().map(|app| (app.hinted, app.meets, app.locks)).collect();
        assert_eq!(seen, [(2, true, false), (0, false, true)]);
        assert_eq!((all.parallel(1).count(), all.parallel(2).count()), (2, 0));
    }
}
