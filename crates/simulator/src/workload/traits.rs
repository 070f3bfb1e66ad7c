// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a workload has that scheduling mechanisms can act on: threads that run at the same time, phases, lengths, memory, noise.
//!
//! Read from the programs alone, for no machine: how long threads wait for each other or for a CPU is left out, as only a
//! run tells. Numbers of threads are therefore bounds, and loads those of threads that are never kept waiting.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{Op, TaskSpec, Workload};
use crate::units::Nanos;

/// A thread that waits for memory for this share of its work on the reference CPU counts as memory-bound.
pub const MEMORY_BOUND: f64 = 0.5;

/// A memory of usual speed, to weigh steps in bytes and dereferences against steps in nanoseconds: 10 bytes each, and one
/// dereference in 100.
const BYTES_PER_NANO: u64 = 10;
/// See [`BYTES_PER_NANO`].
const NANOS_PER_DEREFERENCE: u64 = 100;

/// What a workload has.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Traits {
    /// Applications that have threads, in the workload's order.
    pub applications: Vec<ApplicationTraits>,
    /// Threads that are system tasks.
    pub system_threads: u32,
    /// Share of the reference CPU that all of them use, at its highest clock; 0 or more.
    pub system_load: f64,
}

/// What an application has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ApplicationTraits {
    /// Its name.
    pub name: String,
    /// Most threads that it can have at once; `None`: it forks for ever.
    pub threads: Option<u32>,
    /// Threads, at the start or of forked kinds, one each, that say how long they are (`relative_length`).
    pub hinted: u32,
    /// Its threads meet: at barriers, in joins or at the end of parallel loops.
    pub meets: bool,
    /// They contend for mutexes.
    pub locks: bool,
    /// Likewise, that are memory-bound; see [`MEMORY_BOUND`].
    pub memory_bound: u32,
    /// The others that work.
    pub compute_bound: u32,
}

impl ApplicationTraits {
    /// Whether it can have more than `threshold` threads at once.
    pub fn exceeds(&self, threshold: u32) -> bool {
        self.threads.is_none_or(|threads| threads > threshold)
    }
}

impl Traits {
    /// What `workload` has.
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

    /// Applications that can have more than `threshold` threads at once.
    pub fn parallel(&self, threshold: u32) -> impl Iterator<Item = &ApplicationTraits> {
        self.applications.iter().filter(move |application| application.exceeds(threshold))
    }

    /// Most threads of applications that there can be at once; `None`: without a bound.
    pub fn threads(&self) -> Option<u32> {
        self.applications.iter().try_fold(0_u32, |sum, application| Some(sum.saturating_add(application.threads?)))
    }
}

/// The traits of the application `index`; `None` if it has no threads.
fn application(workload: &Workload, index: usize, name: &str) -> Option<ApplicationTraits> {
    let its = |kind: &usize| workload.tasks[*kind].application == index && !workload.tasks[*kind].system;
    let starts: Vec<usize> =
        (0..workload.tasks.len()).filter(its).filter(|kind| instances(workload, *kind) > 0).collect();
    if starts.is_empty() {
        return None;
    }
    let kinds: Vec<usize> = reached(workload, &starts).into_iter().filter(its).collect();
    let ops = || kinds.iter().flat_map(|kind| &workload.tasks[*kind].program);
    let (mut memory_bound, mut compute_bound, mut hinted) = (0, 0, 0);
    for kind in &kinds {
        let effort = effort(workload, &workload.tasks[*kind]);
        let threads = instances(workload, *kind).max(1);
        hinted += if workload.tasks[*kind].relative_length.is_some() { threads } else { 0 };
        match effort.memory_share() {
            Some(share) if share >= MEMORY_BOUND => memory_bound += threads,
            Some(_) => compute_bound += threads,
            None => {}
        }
    }
    Some(ApplicationTraits {
        name: name.to_owned(),
        threads: starts.iter().try_fold(0_u32, |sum, kind| {
            let each = at_once(workload, *kind, &mut BTreeSet::new())?;
            Some(sum.saturating_add(each.saturating_mul(instances(workload, *kind))))
        }),
        hinted,
        meets: ops().any(|op| matches!(op, Op::Barrier(_) | Op::Join | Op::ParallelLoop(_))),
        locks: ops().any(|op| matches!(op, Op::Lock(_))),
        memory_bound,
        compute_bound,
    })
}

fn instances(workload: &Workload, kind: usize) -> u32 {
    workload.tasks[kind].instances
}

/// `starts` and all kinds that come of them by forks.
fn reached(workload: &Workload, starts: &[usize]) -> BTreeSet<usize> {
    let mut known = BTreeSet::new();
    let mut open = starts.to_vec();
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

/// A stretch of a program, as far as threads go that it forks. All are taken to live until they are joined.
#[derive(Debug, Clone, Copy, Default)]
struct Forks {
    /// Forked before the first join of the stretch, or at all if it has none.
    before: u32,
    /// It has a join.
    joins: bool,
    /// Still there at its end, of its own.
    left: u32,
    /// Most at once between joins of its own.
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

    /// The stretch, then `next`.
    fn append(&mut self, next: Self) {
        self.peak = self.peak.max(self.left.saturating_add(next.before)).max(next.peak);
        if !self.joins {
            self.before = self.before.saturating_add(next.before);
        }
        self.left = if next.joins { next.left } else { self.left.saturating_add(next.left) };
        self.joins |= next.joins;
    }

    /// The stretch so many times; `None` if that has no bound.
    fn times(self, count: Option<u64>) -> Option<Self> {
        match count {
            Some(0) => return Some(Self::default()),
            None if !self.joins && self.left > 0 => return None,
            _ => {}
        }
        if self.joins {
            // A second round meets what the first one left.
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

/// Most threads that there are of a thread of `kind` and all that it forks; `None` without a bound. `above`: the kinds whose
/// forks these are.
fn at_once(workload: &Workload, kind: usize, above: &mut BTreeSet<usize>) -> Option<u32> {
    if !above.insert(kind) {
        return None;
    }
    // The innermost stretch is the last; a loop's begins with its count.
    let mut open: Vec<(Option<u64>, Forks)> = vec![(Some(1), Forks::default())];
    for op in &workload.tasks[kind].program {
        match op {
            Op::LoopStart { count, .. } => open.push((*count, Forks::default())),
            Op::LoopEnd { .. } if open.len() > 1 => {
                let (count, body) = open.pop()?;
                open.last_mut()?.1.append(body.times(count)?);
            }
            Op::Fork(forked) => {
                let threads = at_once(workload, *forked as usize, above)?;
                open.last_mut()?.1.fork(threads);
            }
            Op::Join => open.last_mut()?.1.join(),
            _ => {}
        }
    }
    above.remove(&kind);
    Some(open.first()?.1.peak.saturating_add(1))
}

/// What a thread does in a stretch of time, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
struct Effort {
    /// Work on the reference CPU.
    work: f64,
    /// Of that, waiting for memory.
    memory: f64,
    /// Sleep.
    sleep: f64,
    /// Periods of timers, which the rest of the time is part of.
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

    /// Share of time that it works; 0 if it never does anything.
    fn load(&self) -> f64 {
        let time = (self.work + self.sleep).max(self.periods);
        if time > 0.0 { self.work / time } else { 0.0 }
    }

    /// Share of its work that waits for memory; `None` if it has none.
    fn memory_share(&self) -> Option<f64> {
        (self.work > 0.0).then(|| self.memory / self.work)
    }
}

/// What a thread of `task` does in its life, or in a round of its endless loop if it has one.
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

/// Adds one step.
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
        // Three at a time, five times, beside the thread that forks them.
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
        // Twice a tenth, and a twentieth.
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
