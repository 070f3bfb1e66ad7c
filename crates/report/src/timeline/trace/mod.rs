// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads the trace that `tandem simulate --trace` writes, as an observer would have seen the run.
//!
//! Of other programs' traces nothing is taken: threads and power have other names there. `fields` takes messages apart.
//!
//! **Limits.** A trace does not say what passes between the switch to a thread and its first instruction, so that how late threads
//! were is counted up to the switch; nor does it have rounds.

mod fields;

use std::collections::BTreeMap;

use tandem_simulator::observer::{Observer, PrevState, TaskInfo, TimesUpTo};
use tandem_simulator::trace::fields::{
    cpu_state, debug_annotation, ftrace_event, ftrace_event_bundle, process_tree, sched_switch, sched_waking,
    system_info, trace, trace_packet, track_descriptor, track_event,
};
use tandem_simulator::trace::is_trace;
use tandem_simulator::units::{CpuId, Nanos, PackageId, TaskId, seconds};

use self::fields::{Bytes, Damaged};
use super::{Distribution, Recorder, Timeline, What};
use crate::error::ReportError;

/// Most CPUs that a machine has.
const MOST_CPUS: u64 = 8192;
/// Most threads that a run has.
const MOST_THREADS: u32 = 2_000_000;
/// What the process of all system tasks is called.
const SYSTEM: &str = "system";
/// `cpu_idle` of a CPU that leaves idle.
const AWAKE: u64 = u32::MAX as u64;

/// What a trace says.
#[derive(Debug, Clone, PartialEq)]
pub struct Traced {
    /// What was run, by name: `machine`, `workload`, `scheduler`, `governor`, `seed`, `version`, `command`, `settings`.
    pub facts: BTreeMap<String, String>,
    /// The run.
    pub timeline: Timeline,
}

/// Something that happened.
#[derive(Debug, Clone, Copy)]
enum Event {
    Switch { cpu: CpuId, prev: Option<(TaskId, PrevState)>, next: Option<TaskId> },
    Waking { task: TaskId, cpu: CpuId },
    Frequency { cpu: CpuId, khz: u32 },
    Idle { cpu: CpuId, state: Option<u32> },
    Power { of: Powered, watts: f64 },
}

/// What a power track is of.
#[derive(Debug, Clone, Copy)]
enum Powered {
    Cpu(CpuId),
    Package(PackageId),
}

/// What is gathered while a trace is read.
#[derive(Debug, Default)]
struct Reader {
    facts: BTreeMap<String, String>,
    cpus: usize,
    powers: BTreeMap<u64, Powered>,
    /// Names of applications, and their numbers by process.
    applications: Vec<String>,
    by_process: BTreeMap<u64, Option<usize>>,
    threads: Vec<TaskInfo>,
    events: Vec<(Nanos, Event)>,
}

/// Reads the trace that `bytes` are, of the file `file`.
///
/// # Errors
/// What is no trace of the command, or is damaged, has the number of the byte at which that is.
pub fn of_trace(file: &str, bytes: &[u8]) -> Result<Traced, ReportError> {
    if !is_trace(bytes) {
        return Err(ReportError::whole(file, "is no trace of `tandem simulate --trace`"));
    }
    let mut reader = Reader::default();
    reader
        .read(Bytes { bytes, at: 0 })
        .map_err(|Damaged { at }| ReportError::byte(file, at, "the trace is damaged, or ends too early, here"))?;
    Ok(reader.finish())
}

impl Reader {
    fn read(&mut self, bytes: Bytes<'_>) -> Result<(), Damaged> {
        for field in bytes.fields() {
            let (number, value) = field?;
            if number == trace::PACKET {
                self.packet(value.bytes())?;
            }
        }
        Ok(())
    }

    fn packet(&mut self, packet: Bytes<'_>) -> Result<(), Damaged> {
        let mut at = 0;
        for field in packet.fields() {
            let (number, value) = field?;
            match number {
                trace_packet::TIMESTAMP => at = value.number(),
                trace_packet::FTRACE_EVENTS => self.bundle(value.bytes())?,
                trace_packet::PROCESS_TREE => self.processes(value.bytes())?,
                trace_packet::TRACK_EVENT => self.track_event(at, value.bytes())?,
                trace_packet::TRACK_DESCRIPTOR => self.track(value.bytes())?,
                trace_packet::SYSTEM_INFO => {
                    let cpus = find(value.bytes(), system_info::NUM_CPUS)?;
                    self.cpus = usize::try_from(cpus.min(MOST_CPUS)).unwrap_or(0);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Which CPU or package a power track is of.
    fn track(&mut self, descriptor: Bytes<'_>) -> Result<(), Damaged> {
        let (mut uuid, mut name) = (0, String::new());
        for field in descriptor.fields() {
            match field? {
                (track_descriptor::UUID, value) => uuid = value.number(),
                (track_descriptor::NAME, value) => name = value.bytes().text(),
                _ => {}
            }
        }
        let number = |kind: &str| name.strip_prefix(kind)?.strip_suffix(" power")?.parse().ok();
        let powered = number("CPU ").map(|cpu| Powered::Cpu(CpuId(cpu)));
        let powered = powered.or_else(|| number("Package ").map(|package| Powered::Package(PackageId(package))));
        self.powers.extend(powered.map(|powered| (uuid, powered)));
        Ok(())
    }

    /// A power, or what is said of the run.
    fn track_event(&mut self, at: Nanos, event: Bytes<'_>) -> Result<(), Damaged> {
        let (mut kind, mut track, mut watts, mut name) = (0, 0, None, &b""[..]);
        let mut annotations = Vec::new();
        for field in event.fields() {
            let (number, value) = field?;
            match number {
                track_event::TYPE => kind = value.number(),
                track_event::TRACK_UUID => track = value.number(),
                track_event::NAME => name = value.bytes().bytes,
                track_event::DEBUG_ANNOTATIONS => annotations.push(value.bytes()),
                track_event::DOUBLE_COUNTER_VALUE => {
                    if let fields::Value::Eight(bits) = value {
                        watts = Some(f64::from_bits(bits));
                    }
                }
                _ => {}
            }
        }
        match (self.powers.get(&track), watts) {
            (Some(&of), Some(watts)) if watts.is_finite() => self.events.push((at, Event::Power { of, watts })),
            _ if kind == track_event::INSTANT && name == b"run" && at == 0 => self.facts(&annotations)?,
            _ => {}
        }
        Ok(())
    }

    fn facts(&mut self, annotations: &[Bytes<'_>]) -> Result<(), Damaged> {
        for annotation in annotations {
            let (mut name, mut text) = (String::new(), None);
            for field in annotation.fields() {
                match field? {
                    (debug_annotation::NAME, value) => name = value.bytes().text(),
                    (debug_annotation::STRING_VALUE, value) => text = Some(value.bytes().text()),
                    _ => {}
                }
            }
            self.facts.extend(text.map(|text| (name, text)));
        }
        Ok(())
    }

    fn processes(&mut self, tree: Bytes<'_>) -> Result<(), Damaged> {
        for field in tree.fields() {
            let (number, value) = field?;
            match number {
                process_tree::PROCESSES => {
                    let process = value.bytes();
                    let pid = find(process, process_tree::process::PID)?;
                    let name = find_bytes(process, process_tree::process::CMDLINE)?.text();
                    let application = (name != SYSTEM).then_some(self.applications.len());
                    self.applications.extend(application.map(|_| name));
                    self.by_process.insert(pid, application);
                }
                process_tree::THREADS => {
                    let thread = value.bytes();
                    let tid = find(thread, process_tree::thread::TID)?;
                    let tgid = find(thread, process_tree::thread::TGID)?;
                    let name = find_bytes(thread, process_tree::thread::NAME)?.text();
                    let application = self.by_process.get(&tgid).copied().flatten();
                    let info = |id| TaskInfo { id, name, application, priority: 0 };
                    self.threads.extend(task(tid).map(info));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn bundle(&mut self, bundle: Bytes<'_>) -> Result<(), Damaged> {
        let mut cpu = CpuId(0);
        for field in bundle.fields() {
            let (number, value) = field?;
            match number {
                ftrace_event_bundle::CPU => cpu = CpuId(value.number() as u32),
                ftrace_event_bundle::EVENT => self.event(cpu, value.bytes())?,
                _ => {}
            }
        }
        Ok(())
    }

    fn event(&mut self, cpu: CpuId, event: Bytes<'_>) -> Result<(), Damaged> {
        let mut at = 0;
        for field in event.fields() {
            let (number, value) = field?;
            let event = match number {
                ftrace_event::TIMESTAMP => {
                    at = value.number();
                    continue;
                }
                ftrace_event::SCHED_SWITCH => Some(switch(cpu, value.bytes())?),
                ftrace_event::SCHED_WAKING => {
                    task(find(value.bytes(), sched_waking::PID)?).map(|task| Event::Waking { task, cpu })
                }
                ftrace_event::CPU_FREQUENCY => {
                    let khz = find(value.bytes(), cpu_state::STATE)? as u32;
                    Some(Event::Frequency { cpu: CpuId(find(value.bytes(), cpu_state::CPU_ID)? as u32), khz })
                }
                ftrace_event::CPU_IDLE => {
                    let state = find(value.bytes(), cpu_state::STATE)?;
                    let state = (state != AWAKE).then_some(state as u32);
                    Some(Event::Idle { cpu: CpuId(find(value.bytes(), cpu_state::CPU_ID)? as u32), state })
                }
                _ => None,
            };
            self.events.extend(event.map(|event| (at, event)));
        }
        Ok(())
    }

    /// Shows all events to a recorder, in order of time.
    fn finish(mut self) -> Traced {
        let package = |powered: &Powered| match powered {
            Powered::Package(package) => package.index() + 1,
            Powered::Cpu(_) => 0,
        };
        let packages = self.powers.values().map(package).max().unwrap_or(0).min(MOST_CPUS as usize);
        let mut recorder = Recorder::of(self.cpus, packages, Vec::new());
        *recorder.applications() = std::mem::take(&mut self.applications);
        self.threads.iter().for_each(|thread| recorder.task_new(0, thread));
        // Events of one CPU stand in their order; a stable sort keeps that. A wakeup on another CPU comes before the switch that it
        // leads to in the same nanosecond.
        self.events.sort_by_key(|(at, event)| (*at, !matches!(event, Event::Waking { .. })));
        // By thread: when it was woken. The first time is its birth, which reports count as no wakeup.
        let mut woken: BTreeMap<TaskId, Option<Nanos>> = BTreeMap::new();
        let mut waits = Vec::new();
        let end = self.events.last().map_or(0, |(at, _)| *at);
        for (now, event) in self.events {
            match event {
                Event::Switch { cpu, prev, next } => {
                    let wait = |task| Some((task, now - woken.get_mut(&task)?.take()?));
                    waits.extend(next.and_then(wait));
                    recorder.sched_switch(now, cpu, prev, next);
                }
                Event::Waking { task, cpu } => {
                    woken.entry(task).and_modify(|since| *since = Some(now)).or_insert(None);
                    recorder.sched_wakeup(now, task, cpu, cpu);
                }
                Event::Frequency { cpu, khz } => recorder.cpu_frequency(now, cpu, khz),
                Event::Idle { cpu, state } => recorder.cpu_idle(now, cpu, state),
                Event::Power { of: Powered::Cpu(cpu), watts } => recorder.cpu_power(now, cpu, watts),
                Event::Power { of: Powered::Package(package), watts } => recorder.package_power(now, package, watts),
            }
        }
        let mut timeline = recorder.finish(seconds(end));
        timeline.distributions = until_switch(&timeline, waits);
        Traced { facts: self.facts, timeline }
    }
}

/// How long threads waited from their wakeups to the switch: of all applications, and of each.
fn until_switch(timeline: &Timeline, waits: Vec<(TaskId, Nanos)>) -> Vec<Distribution> {
    let mut by_application: BTreeMap<Option<usize>, BTreeMap<Nanos, u32>> = BTreeMap::new();
    for (task, wait) in waits {
        let thread = timeline.threads.get(task.index());
        let Some(application) = thread.and_then(|thread| thread.application) else { continue };
        // Six bits are kept, as in the histograms of reports.
        let low = (1_u64 << wait.max(1).ilog2().saturating_sub(6)) - 1;
        for key in [None, Some(application)] {
            *by_application.entry(key).or_default().entry(wait | low).or_default() += 1;
        }
    }
    let distribution = |(application, times): (Option<usize>, BTreeMap<Nanos, u32>)| Distribution {
        application,
        what: What::UntilSwitch,
        times: times.into_iter().map(|(most, count)| TimesUpTo { most, count }).collect(),
    };
    by_application.into_iter().map(distribution).collect()
}

fn switch(cpu: CpuId, event: Bytes<'_>) -> Result<Event, Damaged> {
    let state = match find(event, sched_switch::PREV_STATE)? {
        0 => PrevState::Runnable,
        1 => PrevState::Sleeping,
        _ => PrevState::Dead,
    };
    let prev = task(find(event, sched_switch::PREV_PID)?).map(|task| (task, state));
    Ok(Event::Switch { cpu, prev, next: task(find(event, sched_switch::NEXT_PID)?) })
}

/// The thread of a `tid`; 0 is the idle thread.
fn task(tid: u64) -> Option<TaskId> {
    u32::try_from(tid).ok()?.checked_sub(TaskId(0).pid()).filter(|id| *id < MOST_THREADS).map(TaskId)
}

/// The number in a field of a message; 0 if the field is not there.
fn find(message: Bytes<'_>, wanted: u32) -> Result<u64, Damaged> {
    let mut found = 0;
    for field in message.fields() {
        let (number, value) = field?;
        if number == wanted {
            found = value.number();
        }
    }
    Ok(found)
}

/// The bytes in a field of a message; none if the field is not there.
fn find_bytes(message: Bytes<'_>, wanted: u32) -> Result<Bytes<'_>, Damaged> {
    let mut found = Bytes { bytes: &[], at: message.at };
    for field in message.fields() {
        let (number, value) = field?;
        if number == wanted {
            found = value.bytes();
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tandem_simulator::trace::TraceWriter;
    use tandem_simulator::{Machine, Options, Workload, simulate};

    /// A run, as it was watched and as its trace has it.
    fn both(workload: &Workload) -> (Timeline, Vec<u8>) {
        let machine = Machine::load("hikey960").unwrap();
        let mut recorder = Recorder::new(&machine, workload);
        let report = simulate(&machine, workload, &Options::default(), &mut recorder).unwrap();
        let facts = [("machine", machine.name.clone()), ("seed", "0".to_owned())];
        let writer = TraceWriter::new(Vec::new(), &machine, &workload.applications);
        let mut writer = writer.naming(workload).about(&facts);
        simulate(&machine, workload, &Options::default(), &mut writer).unwrap();
        (recorder.finish(report.time_s), writer.finish().unwrap())
    }

    #[test]
    fn a_trace_has_what_an_observer_sees() {
        let (watched, trace) = both(&Workload::load("pipeline".as_ref()).unwrap());
        let Traced { facts, mut timeline } = of_trace("run.pftrace", &trace).unwrap();
        assert_eq!(facts["machine"], "hikey960");
        let until_switch = timeline.distributions.iter().find(|of| of.application.is_none()).unwrap();
        let latency = watched.distributions.iter().find(|of| of.what == What::WakeupLatency).unwrap();
        let count = |of: &Distribution| of.times.iter().map(|times| times.count).sum::<u32>();
        assert_eq!(count(until_switch), count(latency));
        let of_cores = |timeline: &Timeline| timeline.energy.total();
        // A trace has no energy of going into idle states and out of them.
        assert!((of_cores(&timeline) / of_cores(&watched) - 1.0).abs() < 0.05);
        timeline.energy = watched.energy.clone();
        timeline.distributions = watched.distributions.clone();
        assert_eq!(timeline.end, watched.end);
        assert_eq!(timeline.cpus, watched.cpus);
        assert_eq!(timeline, watched);
    }

    #[test]
    fn a_damaged_trace_has_the_place_and_never_panics() {
        // Short, so that 500 places are many of all.
        let text = r#"{ "tasks": { "a": { "instance": 3, "loop": 4, "run": 700, "sleep": 300 } } }"#;
        let (_, trace) = both(&Workload::parse("short.json".as_ref(), text).unwrap());
        let error = of_trace("t", &trace[..trace.len() / 2]).unwrap_err();
        assert!(error.to_string().starts_with("t: byte "), "{error}");
        assert!(of_trace("t", b"[1, 2]").unwrap_err().to_string().contains("is no trace of"));
        for at in (0..trace.len()).step_by(trace.len() / 500) {
            let mut damaged = trace.clone();
            damaged[at] ^= 0xFF;
            let _ = of_trace("t", &damaged);
        }
    }
}
