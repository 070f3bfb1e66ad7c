// SPDX-License-Identifier: GPL-2.0-only
//! Workloads made for a machine: bundled ones several times side by side or with less work, generated ones, and files written here.

use std::path::Path;

use serde_json::Value;
use tandem_simulator::units::Nanos;
use tandem_simulator::workload::bundled::BUNDLED;
use tandem_simulator::workload::generate::{self, generators};
use tandem_simulator::workload::{Op, TimerRef, Workload};

use crate::contest::Outcome;

/// Generators whose threads wait for somebody, and the application whose lateness counts; `None`: all.
pub const INTERACTIVE: [(&str, Option<&str>); 5] = [
    ("schbench", None),
    ("rpc", Some("frontends")),
    ("desktop", Some("interactive")),
    ("frames", Some("pipeline")),
    ("cyclictest", Some("cyclictest")),
];

/// Names of the bundled workloads.
pub fn bundled() -> impl Iterator<Item = &'static str> {
    BUNDLED.iter().map(|(name, _)| *name)
}

/// The bundled workload of this name.
pub fn load(name: &str) -> Outcome<Workload> {
    Ok(Workload::load(Path::new(name))?)
}

/// What a generator writes with these options.
pub fn generated(name: &str, options: &[(&str, String)]) -> Outcome<Workload> {
    let known = generators().into_iter().find(|generator| generator.command() == name);
    let mut generator = known.ok_or_else(|| format!("no generator `{name}`"))?;
    for (option, value) in options {
        generator.set(option, value)?;
    }
    parsed(name, &generate::text(generator.as_ref())?)
}

/// A workload of this name that an rt-app file describes.
pub fn written(name: &str, file: &Value) -> Outcome<Workload> {
    parsed(name, &file.to_string())
}

fn parsed(name: &str, text: &str) -> Outcome<Workload> {
    Ok(Workload::parse(Path::new(&format!("{name}.json")), text)?)
}

/// Threads that the applications begin with.
pub fn threads(workload: &Workload) -> u32 {
    workload.tasks.iter().filter(|task| !task.system).map(|task| task.instances).sum()
}

/// `copies` of the applications side by side, each with its own locks, barriers, loops and timers; the system's threads once.
pub fn copied(workload: &Workload, copies: u32) -> Workload {
    let mut all = workload.clone();
    for copy in 1..copies {
        for task in &workload.tasks {
            let mut task = task.clone();
            task.name = format!("{}.{copy}", task.name);
            task.instances = if task.system { 0 } else { task.instances };
            task.program.iter_mut().for_each(|op| renumber(op, workload, copy));
            all.tasks.push(task);
        }
        all.objects.mutexes.extend(workload.objects.mutexes.iter().cloned());
        all.objects.conditions.extend(workload.objects.conditions.iter().cloned());
        all.objects.barriers.extend(workload.objects.barriers.iter().cloned());
        all.objects.semaphores.extend(workload.objects.semaphores.iter().cloned());
        all.objects.timers.extend(workload.objects.timers.iter().cloned());
        all.loops.extend(workload.loops.iter().cloned());
    }
    all
}

/// As many copies of a workload as come nearest to each of `loads` threads per CPU, one at least, with the load that they are.
/// Loads that come to as many copies are one.
pub fn at_loads(workload: &Workload, cpus: f64, loads: &[f64]) -> Vec<(Workload, f64)> {
    let each = f64::from(threads(workload));
    let mut copies: Vec<u32> = loads.iter().map(|load| ((load * cpus / each).round() as u32).max(1)).collect();
    copies.dedup();
    copies.into_iter().map(|copies| (copied(workload, copies), f64::from(copies) * each / cpus)).collect()
}

/// The workload of an interactive generator with `threads` threads on a machine of `cpus` CPUs, for so many seconds: workers, or those
/// that compute beside the others.
pub fn at_load(name: &str, cpus: u32, threads: u32, seconds: u32) -> Outcome<Workload> {
    let text = |number: u32| number.max(1).to_string();
    let (duration, beside) = (format!("{seconds}s"), threads.to_string());
    match name {
        "schbench" => generated(name, &[("threads", text(threads)), ("runtime", duration)]),
        "rpc" => generated(name, &[("frontends", text(threads / 5)), ("duration", duration)]),
        "desktop" => {
            let pause = "50ms".to_owned();
            generated(
                name,
                &[("programs", text(cpus / 2)), ("background", beside), ("pause", pause), ("duration", duration)],
            )
        }
        "frames" => generated(name, &[("background", beside), ("duration", duration)]),
        _ => {
            let distance = "50us".to_owned();
            generated(
                name,
                &[("threads", text(cpus / 2)), ("load", beside), ("distance", distance), ("duration", duration)],
            )
        }
    }
}

/// Makes a step of `workload` one of a further copy, whose objects follow those of the copies before it.
fn renumber(op: &mut Op, workload: &Workload, copy: u32) {
    let objects = &workload.objects;
    let behind = |all: usize| copy * all as u32;
    match op {
        Op::Lock(mutex) | Op::Unlock(mutex) => *mutex += behind(objects.mutexes.len()),
        Op::Wait { condition, mutex } => {
            *condition += behind(objects.conditions.len());
            *mutex += behind(objects.mutexes.len());
        }
        Op::Signal(condition) | Op::Broadcast(condition) => *condition += behind(objects.conditions.len()),
        Op::Barrier(barrier) => *barrier += behind(objects.barriers.len()),
        Op::SemPost(semaphore) | Op::SemWait(semaphore) => *semaphore += behind(objects.semaphores.len()),
        Op::Timer { timer: TimerRef::Shared(timer), .. } => *timer += behind(objects.timers.len()),
        Op::Fork(task) | Op::Resume(task) => *task += behind(workload.tasks.len()),
        Op::ParallelLoop(shared) => shared.0 += behind(workload.loops.len()),
        _ => {}
    }
}

/// The workload with its applications' work multiplied by `percent` / 100; sleeps and timers stay.
pub fn with_work(workload: &Workload, percent: u64) -> Workload {
    let part = |amount: &mut u64| *amount = *amount * percent / 100;
    let mut less = workload.clone();
    for op in less.tasks.iter_mut().filter(|task| !task.system).flat_map(|task| &mut task.program) {
        match op {
            Op::Run { work: span, .. } | Op::Runtime { time: span, .. } => part(&mut span.mean),
            Op::Memory { bytes: amount, .. } | Op::Chase { count: amount, .. } => part(amount),
            _ => {}
        }
    }
    less.loops.iter_mut().for_each(|shared| part(&mut shared.work.mean));
    less
}

/// Whether timers and sleeps set a workload's end: with a tenth less work it is `shorter` instead of `whole` seconds long, which
/// is less than a fiftieth shorter.
pub fn set_by_timers(whole: f64, shorter: f64) -> bool {
    shorter > 0.98 * whole
}

/// Seconds in nanoseconds.
pub const fn seconds(seconds: u64) -> Nanos {
    seconds * 1_000_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_share_nothing_but_the_system() {
        let locks = load("locks").unwrap();
        let three = copied(&locks, 3);
        assert_eq!(three.objects.mutexes.len(), 3 * locks.objects.mutexes.len());
        let mutexes = |task: &str| {
            let task = three.tasks.iter().find(|other| other.name == task).unwrap();
            let of = |op: &Op| if let Op::Lock(mutex) = op { Some(*mutex) } else { None };
            task.program.iter().filter_map(of).collect::<Vec<_>>()
        };
        let first = mutexes("client");
        let apart = locks.objects.mutexes.len() as u32;
        assert_eq!(mutexes("client.2"), first.iter().map(|mutex| mutex + 2 * apart).collect::<Vec<_>>());
        let noise = load("noise").unwrap();
        let two = copied(&noise, 2);
        assert_eq!(threads(&two), 2 * threads(&noise));
        let system = |of: &Workload| of.tasks.iter().filter(|task| task.system).map(|task| task.instances).sum::<u32>();
        assert_eq!(system(&two), system(&noise));
    }

    #[test]
    fn all_bundled_workloads_can_be_copied_and_shortened() {
        for name in bundled() {
            let workload = load(name).unwrap();
            assert_eq!(copied(&workload, 1), workload);
            assert_eq!(with_work(&workload, 100), workload);
            assert_ne!(with_work(&workload, 90), workload);
        }
    }

    #[test]
    fn a_tenth_less_work_that_ends_no_sooner_was_no_matter_of_speed() {
        assert!(set_by_timers(5.0, 4.95) && !set_by_timers(5.0, 4.5));
    }

    #[test]
    fn generated_workloads_have_the_threads_that_were_asked_for() {
        for (name, _) in INTERACTIVE {
            let (few, many) = (threads(&at_load(name, 8, 4, 2).unwrap()), threads(&at_load(name, 8, 24, 2).unwrap()));
            let more = if name == "rpc" { 15 } else { 20 };
            assert_eq!(many - few, more, "{name}");
        }
    }

    #[test]
    fn loads_of_as_many_copies_are_one() {
        let noise = load("noise").unwrap();
        let each = f64::from(threads(&noise));
        let loads: Vec<f64> =
            at_loads(&noise, 2.0 * each, &[0.1, 0.5, 1.0]).into_iter().map(|(_, load)| load).collect();
        assert_eq!(loads, [0.5, 1.0]);
    }
}
