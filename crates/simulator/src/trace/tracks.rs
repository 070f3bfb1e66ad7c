// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tracks of what ftrace does not know: their identifiers, and the packets that describe them.
//!
//! A track is described when its first event comes, so that a trace has no empty ones.

use std::collections::{BTreeMap, BTreeSet};

use super::fields::{counter_descriptor, thread_descriptor, trace_packet, track_descriptor as track};
use super::protobuf::Message;
use crate::observer::detail::Queue;
use crate::units::{CpuId, MemoryDomainId, TaskId};

/// Most dispatch queues that have a track; those that come later have none.
const MOST_QUEUES: usize = 1024;

/// A track. Identifiers of tracks are free to choose; those of power are in `preamble`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Track {
    /// What was run, one event at the beginning.
    Run,
    /// A thread's own track: what it waits for.
    Thread(TaskId),
    /// Utilisation of a CPU.
    Utilisation(CpuId),
    /// Traffic of a memory domain.
    Bandwidth(MemoryDomainId),
    /// A mutex: which thread holds it.
    Mutex(u32),
    /// A barrier: how many wait.
    Barrier(u32),
    /// Callbacks on a CPU.
    Callbacks(CpuId),
    /// The loaded scheduler as a whole.
    Scheduler,
    /// A dispatch queue, by the order of their appearance.
    Queue(u32),
}

/// A folder of tracks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    Utilisation = 3,
    Bandwidth,
    Locks,
    SchedExt,
    Queues,
}

impl Group {
    fn name(self) -> &'static str {
        match self {
            Self::Utilisation => "CPU utilisation",
            Self::Bandwidth => "Memory bandwidth",
            Self::Locks => "Locks",
            Self::SchedExt => "sched_ext",
            Self::Queues => "Dispatch queues",
        }
    }
}

impl Track {
    /// The track's identifier.
    pub fn uuid(self) -> u64 {
        let of = |kind: u64, index: u32| (kind << 32) + u64::from(index);
        match self {
            Self::Run => 2,
            Self::Thread(task) => of(3, task.pid()),
            Self::Utilisation(cpu) => of(4, cpu.0),
            Self::Bandwidth(domain) => of(5, domain.0),
            Self::Mutex(index) => of(6, index),
            Self::Barrier(index) => of(7, index),
            Self::Callbacks(cpu) => of(8, cpu.0),
            Self::Scheduler => of(8, u32::MAX),
            Self::Queue(index) => of(9, index),
        }
    }

    fn group(self) -> Option<Group> {
        match self {
            Self::Run | Self::Thread(_) => None,
            Self::Utilisation(_) => Some(Group::Utilisation),
            Self::Bandwidth(_) => Some(Group::Bandwidth),
            Self::Mutex(_) | Self::Barrier(_) => Some(Group::Locks),
            Self::Callbacks(_) | Self::Scheduler => Some(Group::SchedExt),
            Self::Queue(_) => Some(Group::Queues),
        }
    }

    /// The unit of a counter; `None`: the track has slices or instants.
    fn unit(self) -> Option<&'static str> {
        match self {
            Self::Utilisation(_) => Some("of 1024"),
            Self::Bandwidth(_) => Some("B/s"),
            Self::Barrier(_) | Self::Queue(_) => Some("threads"),
            Self::Run | Self::Thread(_) | Self::Mutex(_) | Self::Callbacks(_) | Self::Scheduler => None,
        }
    }
}

/// The tracks that have been described.
#[derive(Debug, Default)]
pub(super) struct Tracks {
    known: BTreeSet<u64>,
    queues: BTreeMap<Queue, u32>,
}

impl Tracks {
    /// The packets that describe `track` and its folder, unless that was done; `name` is the track's.
    pub fn describe(&mut self, track: Track, tgid: u32, name: impl FnOnce() -> String) -> Vec<Message> {
        if !self.known.insert(track.uuid()) {
            return Vec::new();
        }
        let group = track.group().filter(|group| self.known.insert(*group as u64));
        group.map(group_packet).into_iter().chain([packet(track, tgid, &name())]).collect()
    }

    /// The track of a dispatch queue; `None` if there are too many.
    pub fn queue(&mut self, queue: Queue) -> Option<Track> {
        let next = self.queues.len();
        if next >= MOST_QUEUES && !self.queues.contains_key(&queue) {
            return None;
        }
        Some(Track::Queue(*self.queues.entry(queue).or_insert(next as u32)))
    }
}

fn group_packet(group: Group) -> Message {
    let mut packet = Message::default();
    packet.message(trace_packet::TRACK_DESCRIPTOR, |descriptor| {
        descriptor.uint(track::UUID, group as u64).text(track::NAME, group.name());
    });
    packet
}

fn packet(of: Track, tgid: u32, name: &str) -> Message {
    let mut packet = Message::default();
    packet.message(trace_packet::TRACK_DESCRIPTOR, |descriptor| {
        descriptor.uint(track::UUID, of.uuid());
        if let Track::Thread(task) = of {
            // Its slices stand with the thread's states; the name comes from the process tree.
            descriptor.message(track::THREAD, |thread| {
                thread.uint(thread_descriptor::PID, tgid.into()).uint(thread_descriptor::TID, task.pid().into());
            });
            return;
        }
        descriptor.text(track::NAME, name);
        if let Some(group) = of.group() {
            descriptor.uint(track::PARENT_UUID, group as u64);
        }
        if let Some(unit) = of.unit() {
            descriptor.message(track::COUNTER, |counter| {
                counter.text(counter_descriptor::UNIT_NAME, unit);
            });
        }
    });
    packet
}
