// SPDX-License-Identifier: MIT OR Apache-2.0
//! A workload as text, for people: one line per task, one per step.

use std::fmt;

use super::{
    CgroupSpec, CgroupWrite, CpuMax, LoopSchedule, Op, Policy, Scheduling, Span, Spread, TaskSpec, TimerRef, Workload,
};
use crate::units::{MSEC, Nanos, SEC, USEC};

/// The programs of a workload as text; made by [`Workload::listing`].
pub struct Listing<'a>(&'a Workload);

impl Workload {
    /// What every thread does, as indented text.
    pub fn listing(&self) -> Listing<'_> {
        Listing(self)
    }
}

impl fmt::Display for Listing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(workload) = self;
        write!(f, "workload {}", workload.name)?;
        if let Some(duration) = workload.duration {
            write!(f, ", ends after {}", Time(duration))?;
        }
        writeln!(f)?;
        for group in &workload.cgroups {
            self.group(f, group)?;
        }
        for task in &workload.tasks {
            self.task(f, task)?;
        }
        Ok(())
    }
}

impl Listing<'_> {
    fn group(&self, f: &mut fmt::Formatter<'_>, group: &CgroupSpec) -> fmt::Result {
        write!(f, "group {}", group.path)?;
        if group.made > 0 {
            write!(f, ", made after {}", Time(group.made))?;
        }
        if let Some(at) = group.removed {
            write!(f, ", removed after {}", Time(at))?;
        }
        for (at, write) in &group.writes {
            match write {
                CgroupWrite::Weight(weight) => write!(f, ", weight {weight}")?,
                CgroupWrite::WeightNice(nice) => write!(f, ", weight of nice {nice}")?,
                CgroupWrite::Idle(true) => f.write_str(", idle")?,
                CgroupWrite::Idle(false) => f.write_str(", not idle")?,
                CgroupWrite::Max(None) => f.write_str(", no limit")?,
                CgroupWrite::Max(Some(CpuMax { quota, period, burst })) => {
                    write!(f, ", {} of {}, burst {}", Time(*quota), Time(*period), Time(*burst))?;
                }
                CgroupWrite::Cpus(cpus) => write!(f, ", cpus {cpus:?}")?,
            }
            if *at > 0 {
                write!(f, " after {}", Time(*at))?;
            }
        }
        writeln!(f)
    }

    fn task(&self, f: &mut fmt::Formatter<'_>, task: &TaskSpec) -> fmt::Result {
        write!(f, "task {} x{}", task.name, task.instances)?;
        match task.system {
            true => write!(f, ", system")?,
            false => write!(f, ", application {}", self.0.applications[task.application])?,
        }
        if task.delay > 0 {
            write!(f, ", after {}", Time(task.delay))?;
        }
        if task.scheduling != Scheduling::default() {
            write!(f, ", {}", task.scheduling)?;
        }
        if let Some(cpus) = &task.affinity {
            write!(f, ", cpus {cpus:?}")?;
        }
        if let Some(group) = &task.task_group {
            write!(f, ", group {group}")?;
        }
        if let Some(length) = task.relative_length {
            write!(f, ", length {length}")?;
        }
        let kinds = [(task.process, "a process each"), (task.kernel_thread, "kernel thread")];
        for (_, kind) in kinds.iter().filter(|(is, _)| *is) {
            write!(f, ", {kind}")?;
        }
        if task.disturbs > 0 {
            write!(f, ", disturbs {} B", task.disturbs)?;
        }
        if let Some(deadline) = task.deadline {
            write!(f, ", deadline {}", Time(deadline))?;
        }
        if task.frame {
            write!(f, ", frames")?;
        }
        writeln!(f)?;
        let mut depth = 1;
        for op in &task.program {
            if matches!(op, Op::LoopEnd { .. }) {
                depth -= 1;
            } else {
                writeln!(f, "{:width$}{}", "", self.op(op), width = 2 * depth)?;
            }
            depth += usize::from(matches!(op, Op::LoopStart { .. }));
        }
        Ok(())
    }

    fn op(&self, op: &Op) -> String {
        let objects = &self.0.objects;
        let mutex = |index: u32| &objects.mutexes[index as usize];
        let condition = |index: u32| &objects.conditions[index as usize];
        let task = |index: u32| &self.0.tasks[index as usize].name;
        match op {
            Op::Run { work, behaviour } => format!("run {work}{}", self.behaviour(behaviour.0)),
            Op::Runtime { time, behaviour } => format!("runtime {time}{}", self.behaviour(behaviour.0)),
            Op::Memory { bytes, buffer } => format!("memory {bytes} B in {buffer} B"),
            Op::Chase { count, buffer } => format!("chase {count} in {buffer} B"),
            Op::Sleep(time) => format!("sleep {time}"),
            Op::Timer { timer, period, absolute } => {
                format!("timer {} {period}{}", self.timer(*timer), if *absolute { " absolute" } else { "" })
            }
            Op::Lock(index) => format!("lock {}", mutex(*index)),
            Op::Unlock(index) => format!("unlock {}", mutex(*index)),
            Op::Wait { condition: waited, mutex: held } => format!("wait {} with {}", condition(*waited), mutex(*held)),
            Op::Signal(index) => format!("signal {}", condition(*index)),
            Op::Broadcast(index) => format!("broadcast {}", condition(*index)),
            Op::Barrier(index) => {
                let (name, users) = &objects.barriers[*index as usize];
                format!("barrier {name} of {users}")
            }
            Op::Suspend => "suspend".into(),
            Op::Resume(index) => format!("resume {}", task(*index)),
            Op::SemPost(index) => format!("sem_post {}", objects.semaphores[*index as usize]),
            Op::SemWait(index) => format!("sem_wait {}", objects.semaphores[*index as usize]),
            Op::Yield => "yield".into(),
            Op::Fork(index) => format!("fork {}", task(*index)),
            Op::Join => "join".into(),
            Op::MigrateDisable => "disable migration".into(),
            Op::MigrateEnable => "enable migration".into(),
            Op::SameRound(true) => "waits in the round".into(),
            Op::SameRound(false) => "waits end the round".into(),
            Op::ParallelLoop(id) => self.parallel_loop(id.0),
            Op::Behave(behaviour) => format!("behave{}", self.behaviour(behaviour.0)),
            Op::SetScheduling(scheduling) => format!("set {scheduling}"),
            Op::SetAffinity(Some(cpus)) => format!("set cpus {cpus:?}"),
            Op::SetAffinity(None) => "set cpus all".into(),
            Op::SetTaskGroup(group) => format!("set group {}", group.as_deref().unwrap_or("none")),
            Op::LoopStart { count: Some(count), .. } => format!("loop {count}"),
            Op::LoopStart { count: None, .. } => "loop".into(),
            Op::LoopEnd { .. } => "end".into(),
        }
    }

    fn timer(&self, timer: TimerRef) -> String {
        match timer {
            TimerRef::Shared(index) => self.0.objects.timers[index as usize].clone(),
            TimerRef::Unique(index) => format!("own#{index}"),
        }
    }

    /// The name of the behaviour, unless it is the default one.
    fn behaviour(&self, index: u32) -> String {
        if index == 0 {
            return String::new();
        }
        let it = &self.0.behaviours[index as usize];
        format!(
            " [memory {}, {} B/us, footprint {} B, activity {}, spin {}]",
            it.memory_bound,
            it.bytes_per_work * USEC as f64,
            it.footprint,
            it.activity,
            Time(it.spin)
        )
    }

    fn parallel_loop(&self, index: u32) -> String {
        let it = &self.0.loops[index as usize];
        let schedule = match it.schedule {
            LoopSchedule::Static => "static".to_owned(),
            LoopSchedule::Dynamic { chunk } => format!("dynamic {chunk}"),
            LoopSchedule::Guided { chunk } => format!("guided {chunk}"),
        };
        let behaviour = self.behaviour(it.behaviour.0);
        format!("parallel {} {} x {} {schedule} of {}{behaviour}", it.name, it.iterations, it.work, it.participants)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Time(self.mean))?;
        match self.spread {
            Spread::Fixed => Ok(()),
            Spread::Uniform(width) => write!(f, " ±{width}"),
            Spread::Exponential => write!(f, " exponential"),
            Spread::LogNormal(sigma) => write!(f, " log-normal {sigma}"),
        }
    }
}

impl fmt::Display for Scheduling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.policy {
            Policy::Other { nice, slice: None } => write!(f, "SCHED_OTHER nice {nice}")?,
            Policy::Other { nice, slice: Some(slice) } => write!(f, "SCHED_OTHER nice {nice} slice {}", Time(slice))?,
            Policy::Batch { nice } => write!(f, "SCHED_BATCH nice {nice}")?,
            Policy::Idle => write!(f, "SCHED_IDLE")?,
            Policy::Ext { nice } => write!(f, "SCHED_EXT nice {nice}")?,
            Policy::Fifo { priority } => write!(f, "SCHED_FIFO {priority}")?,
            Policy::RoundRobin { priority } => write!(f, "SCHED_RR {priority}")?,
            Policy::Deadline { runtime, deadline, period } => {
                write!(f, "SCHED_DEADLINE {}/{}/{}", Time(runtime), Time(deadline), Time(period))?;
            }
        }
        if let Some(min) = self.util_min {
            write!(f, " util_min {min}")?;
        }
        if let Some(max) = self.util_max {
            write!(f, " util_max {max}")?;
        }
        Ok(())
    }
}

/// A time in the largest unit that keeps it whole.
struct Time(Nanos);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(SEC, "s"), (MSEC, "ms"), (USEC, "us")];
        match units.iter().find(|(unit, _)| self.0 > 0 && self.0.is_multiple_of(*unit)) {
            Some((unit, name)) => write!(f, "{}{name}", self.0 / unit),
            None => write!(f, "{}ns", self.0),
        }
    }
}
