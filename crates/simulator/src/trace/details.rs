// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a trace shows beyond ftrace's events: why threads wait, locks, dispatch queues, callbacks, utilisation, bandwidth.

use std::io::Write;

use super::fields::{debug_annotation, trace_packet, track_event};
use super::protobuf::Message;
use super::tracks::{Track, Tracks};
use super::{TraceWriter, UNKNOWN_COMM};
use crate::observer::detail::{Detail, Queue, WaitReason, WaitsFor};
use crate::observer::names::ObjectNames;
use crate::units::{CpuId, Nanos, TaskId};
use crate::workload::Workload;

/// What is kept to write details.
#[derive(Debug, Default)]
pub(super) struct Details {
    tracks: Tracks,
    names: ObjectNames,
    /// By thread: what it waits for.
    waiting: Vec<Option<WaitReason>>,
    /// By mutex: whether a thread holds it.
    held: Vec<bool>,
    /// By barrier: how many wait.
    at_barrier: Vec<u32>,
    /// By CPU: the utilisation that was last written.
    util: Vec<u32>,
}

/// The entry `index` of a list that grows as far as it is used.
fn entry<T: Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    if list.len() <= index {
        list.resize_with(index + 1, T::default);
    }
    &mut list[index]
}

impl<W: Write> TraceWriter<W> {
    /// Names locks and the like as `workload` does; without it they are numbered.
    #[must_use]
    pub fn naming(mut self, workload: &Workload) -> Self {
        self.details.names = ObjectNames::of(workload);
        self
    }

    /// Says what is run, in an event at the beginning with these names and values: machine, scheduler, seed, version, …
    #[must_use]
    pub fn about(mut self, facts: &[(&str, String)]) -> Self {
        self.event(
            0,
            Track::Run,
            || "Tandem".to_owned(),
            track_event::INSTANT,
            |_, event| {
                event.text(track_event::NAME, "run");
                for (name, value) in facts {
                    annotate(event, name, |annotation| {
                        annotation.text(debug_annotation::STRING_VALUE, value);
                    });
                }
            },
        );
        self
    }

    /// Writes an event of `kind` on a track, which is described first if it is new; `name` is the track's.
    fn event(
        &mut self,
        now: Nanos,
        track: Track,
        name: impl FnOnce() -> String,
        kind: u64,
        fill: impl FnOnce(&Self, &mut Message),
    ) {
        let tgid = match track {
            Track::Thread(task) => self.tgid(task),
            _ => 0,
        };
        for packet in self.details.tracks.describe(track, tgid, name) {
            self.sink.packet(packet);
        }
        let mut packet = Message::default();
        packet.uint(trace_packet::TIMESTAMP, now).message(trace_packet::TRACK_EVENT, |event| {
            event.uint(track_event::TYPE, kind).uint(track_event::TRACK_UUID, track.uuid());
            fill(self, event);
        });
        self.sink.packet(packet);
    }

    fn count(&mut self, now: Nanos, track: Track, name: impl FnOnce() -> String, value: f64) {
        self.event(now, track, name, track_event::COUNTER, |_, event| {
            event.double(track_event::DOUBLE_COUNTER_VALUE, value);
        });
    }

    /// `task` waits for `reason` from now on.
    fn begin_wait(&mut self, now: Nanos, task: TaskId, reason: WaitReason) {
        self.end_wait(now, task);
        *entry(&mut self.details.waiting, task.index()) = Some(reason);
        self.event(now, Track::Thread(task), String::new, track_event::SLICE_BEGIN, |trace, event| {
            event.text(track_event::NAME, &trace.details.names.reason(reason));
        });
        self.at_barrier(now, reason, 1);
    }

    /// `task` waits no longer, if it did.
    pub(super) fn end_wait(&mut self, now: Nanos, task: TaskId) {
        let Some(reason) = entry(&mut self.details.waiting, task.index()).take() else { return };
        self.event(now, Track::Thread(task), String::new, track_event::SLICE_END, |_, _| {});
        self.at_barrier(now, reason, -1);
    }

    fn at_barrier(&mut self, now: Nanos, reason: WaitReason, change: i32) {
        let WaitReason::Object(WaitsFor::Barrier(index)) = reason else { return };
        let waiting = entry(&mut self.details.at_barrier, index as usize);
        *waiting = waiting.saturating_add_signed(change);
        let (value, name) = (f64::from(*waiting), self.details.names.reason(reason));
        self.count(now, Track::Barrier(index), || name, value);
    }

    fn locks(&mut self, now: Nanos, mutex: u32, holder: Option<TaskId>) {
        let track = Track::Mutex(mutex);
        let name = self.details.names.reason(WaitReason::Object(WaitsFor::Mutex(mutex)));
        let held = std::mem::replace(entry(&mut self.details.held, mutex as usize), holder.is_some());
        if held {
            self.event(now, track, || name.clone(), track_event::SLICE_END, |_, _| {});
        }
        let Some(holder) = holder else { return };
        self.event(
            now,
            track,
            || name,
            track_event::SLICE_BEGIN,
            |trace, event| {
                let thread = trace.threads.get(holder.index()).and_then(Option::as_ref);
                event.text(track_event::NAME, thread.map_or(UNKNOWN_COMM, |thread| &thread.name));
            },
        );
    }

    fn utilisation(&mut self, now: Nanos, cpu: CpuId, util: u32) {
        if std::mem::replace(entry(&mut self.details.util, cpu.index()), util) != util {
            self.count(now, Track::Utilisation(cpu), || format!("CPU {cpu} utilisation"), f64::from(util));
        }
    }

    fn depth(&mut self, now: Nanos, queue: Queue, depth: u32) {
        // Of Linux's own run queues only what comes is told.
        if matches!(queue, Queue::RunQueue(_)) {
            return;
        }
        if let Some(track) = self.details.tracks.queue(queue) {
            self.count(now, track, || queue.to_string(), f64::from(depth));
        }
    }

    pub(super) fn write_detail(&mut self, now: Nanos, detail: &Detail) {
        match *detail {
            Detail::Waits { task, on, .. } => self.begin_wait(now, task, on),
            Detail::StopsSpinning { task } => self.end_wait(now, task),
            Detail::Locks { task, mutex } => self.locks(now, mutex, Some(task)),
            Detail::Unlocks { mutex, .. } => self.locks(now, mutex, None),
            Detail::Queued { queue, depth, .. } | Detail::Unqueued { queue, depth, .. } => {
                self.depth(now, queue, depth)
            }
            Detail::Callback { .. } => self.callback(now, detail),
            Detail::Utilisation { cpu, util } => self.utilisation(now, cpu, util),
            Detail::Bandwidth { domain, since, bytes_per_s } => {
                let name = self.memory[domain.index()].clone();
                self.count(since, Track::Bandwidth(domain), || name, bytes_per_s);
            }
            Detail::Scheduling { task, priority, .. } => {
                if let Some(Some(thread)) = self.threads.get_mut(task.index()) {
                    thread.priority = priority;
                }
            }
            Detail::Ejected { ref why } => {
                let name = format!("ejected: {why}");
                self.event(
                    now,
                    Track::Scheduler,
                    || "scheduler".to_owned(),
                    track_event::INSTANT,
                    |_, event| {
                        event.text(track_event::NAME, &name);
                    },
                );
            }
            _ => {}
        }
    }

    fn callback(&mut self, now: Nanos, detail: &Detail) {
        let Detail::Callback { name, cpu, task, result, instructions } = *detail else { return };
        let track = Track::Callbacks(cpu);
        self.event(
            now,
            track,
            || format!("CPU {cpu} callbacks"),
            track_event::INSTANT,
            |_, event| {
                event.text(track_event::NAME, name);
                annotate(event, "instructions", |annotation| {
                    annotation.uint(debug_annotation::UINT_VALUE, instructions);
                });
                if let Some(task) = task {
                    annotate(event, "tid", |annotation| {
                        annotation.uint(debug_annotation::UINT_VALUE, task.pid().into());
                    });
                }
                if result != 0 {
                    annotate(event, "result", |annotation| {
                        annotation.int(debug_annotation::INT_VALUE, result);
                    });
                }
            },
        );
    }
}

/// Adds a name with a value to an event.
fn annotate(event: &mut Message, name: &str, value: impl FnOnce(&mut Message)) {
    event.message(track_event::DEBUG_ANNOTATIONS, |annotation| {
        annotation.text(debug_annotation::NAME, name);
        value(annotation);
    });
}
