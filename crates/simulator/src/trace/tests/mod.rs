// SPDX-License-Identifier: MIT OR Apache-2.0
//! A trace is read back by a decoder that shares nothing with the writer.

mod decode;
mod machine;

use std::io::{self, Write};

use super::*;
use crate::observer::detail::{Queue, WaitReason, WaitsFor};
use crate::units::MemoryDomainId;

const TRACE_PACKET: u32 = 1;
const PACKET_FTRACE_EVENTS: u32 = 1;
const BUNDLE_CPU: u32 = 1;
const BUNDLE_EVENT: u32 = 2;
const EVENT_TIMESTAMP: u32 = 1;

const CPU0: CpuId = CpuId(0);
const CPU1: CpuId = CpuId(1);
const A0: TaskId = TaskId(0);
const A1: TaskId = TaskId(1);
const NOISE: TaskId = TaskId(2);

fn writer<W: Write>(output: W) -> TraceWriter<W> {
    TraceWriter::new(output, &machine::two_cpus(), &["app".to_owned()])
}

fn thread(id: TaskId, name: &str, application: Option<usize>, priority: i32) -> TaskInfo {
    TaskInfo { id, name: name.to_owned(), application, priority }
}

/// The encoded bundles of a trace, in file order.
fn bundles(trace: &[u8]) -> Vec<Vec<u8>> {
    let packets = decode::nested(trace, TRACE_PACKET);
    packets.iter().flat_map(|packet| decode::nested(packet, PACKET_FTRACE_EVENTS)).collect()
}

/// Two threads of one application and one of the system: they are created, woken, run, preempted, sleep and end.
fn script(trace: &mut impl Observer) {
    trace.cpu_frequency(0, CPU0, 533_000);
    trace.cpu_frequency(0, CPU1, 903_000);
    trace.cpu_power(0, CPU0, 0.25);
    trace.package_power(0, PackageId(0), 1.5);
    trace.task_new(0, &thread(A0, "app-0", Some(0), 120));
    trace.task_new(0, &thread(A1, "app-1", Some(0), 110));
    trace.sched_switch(100, CPU0, None, Some(A0));
    trace.sched_waking(250, A1, CPU0, CPU0);
    trace.sched_wakeup_new(250, A1, CPU1, CPU0);
    trace.cpu_idle(260, CPU1, None);
    trace.sched_switch(300, CPU1, None, Some(A1));
    trace.task_new(400, &thread(NOISE, "kworker", None, 49));
    trace.sched_waking(400, NOISE, CPU1, CPU1);
    trace.sched_wakeup_new(400, NOISE, CPU0, CPU1);
    trace.sched_switch(410, CPU0, Some((A0, PrevState::Runnable)), Some(NOISE));
    trace.sched_switch(500, CPU1, Some((A1, PrevState::Dead)), None);
    trace.cpu_idle(520, CPU1, Some(0));
    trace.sched_switch(600, CPU0, Some((NOISE, PrevState::Sleeping)), Some(A0));
    trace.cpu_power(600, CPU0, 0.75);
}

#[test]
fn a_tiny_schedule_reads_back_whole() {
    let mut trace = writer(Vec::new());
    script(&mut trace);
    insta::assert_snapshot!(decode::text(&trace.finish().unwrap()));
}

/// The packets behind the preamble and the threads, of a trace that `tell` is told to.
fn told(tell: impl FnOnce(&mut TraceWriter<Vec<u8>>)) -> String {
    let mut trace = writer(Vec::new());
    trace.task_new(0, &thread(A0, "app-0", Some(0), 120));
    trace.task_new(0, &thread(A1, "app-1", Some(0), 120));
    tell(&mut trace);
    let text = decode::text(&trace.finish().unwrap());
    let last = text.lines().position(|line| line.contains("\"app-1\"")).unwrap();
    text.lines().skip(last + 1).map(|line| format!("{}\n", line.trim_end())).collect()
}

#[test]
fn a_wait_is_a_slice_of_the_thread_and_a_mutex_shows_its_holder() {
    let text = told(|trace| {
        trace.detail(100, &Detail::Locks { task: A0, mutex: 0 });
        trace.detail(200, &Detail::Waits { task: A1, on: WaitReason::Object(WaitsFor::Mutex(0)), owner: Some(A0) });
        trace.detail(300, &Detail::Unlocks { task: A0, mutex: 0 });
        trace.detail(300, &Detail::StopsSpinning { task: A1 });
        trace.detail(300, &Detail::Locks { task: A1, mutex: 0 });
    });
    insta::assert_snapshot!(text);
}

#[test]
fn a_thread_that_wakes_or_spins_no_longer_ends_its_wait_once() {
    let waits = Detail::Waits { task: A1, on: WaitReason::Sleep, owner: None };
    let text = told(|trace| {
        trace.detail(100, &waits);
        trace.sched_waking(200, A1, CPU0, CPU0);
        trace.sched_waking(300, A1, CPU0, CPU0);
        trace.detail(300, &Detail::StopsSpinning { task: A1 });
    });
    // Types of track events: 1 begins a slice, 2 ends it.
    assert_eq!((text.matches("type=1 ").count(), text.matches("type=2 ").count()), (1, 1), "{text}");
}

/// The values of the counter track of this name, in order.
fn values<'t>(text: &'t str, track: &str) -> Vec<&'t str> {
    let named = format!("name={track:?}");
    let described = text.lines().find(|line| line.contains("descriptor") && line.contains(&named)).expect(track);
    let uuid = described.split_whitespace().find_map(|word| word.strip_prefix("uuid=")).unwrap();
    let of_track = text.lines().filter(|line| line.contains(&format!("track_uuid={uuid} ")));
    of_track.filter_map(|line| line.split_once("double_counter_value=")?.1.split_whitespace().next()).collect()
}

#[test]
fn barriers_and_queues_count_their_threads() {
    let queue = Queue::User(0x2a);
    let text = told(|trace| {
        for (task, now) in [(A0, 100), (A1, 200)] {
            trace.detail(now, &Detail::Waits { task, on: WaitReason::Object(WaitsFor::Barrier(0)), owner: None });
            trace.detail(now, &Detail::Queued { task, queue, depth: 3, by: None });
        }
        trace.sched_waking(300, A0, CPU0, CPU0);
        trace.detail(300, &Detail::Unqueued { task: A0, queue, depth: 2 });
        // What comes into a run queue is told, but not what leaves it.
        trace.detail(300, &Detail::Queued { task: A0, queue: Queue::RunQueue(CPU0), depth: 9, by: None });
    });
    assert_eq!(values(&text, "barrier 0"), ["1", "2", "1"]);
    assert_eq!(values(&text, "DSQ 0x2a"), ["3", "3", "2"]);
    assert!(!text.contains("=9"), "{text}");
}

#[test]
fn a_scheduler_shows_what_it_says_and_why_it_goes() {
    let text = told(|trace| {
        let callback = Detail::Callback { name: "select_cpu", cpu: CPU1, task: Some(A0), result: 1, instructions: 77 };
        trace.detail(100, &callback);
        trace.detail(100, &callback);
        trace.detail(200, &Detail::Utilisation { cpu: CPU1, util: 512 });
        trace.detail(300, &Detail::Utilisation { cpu: CPU1, util: 512 });
        trace.detail(400, &Detail::Bandwidth { domain: MemoryDomainId(0), since: 250, bytes_per_s: 1e9 });
        trace.detail(500, &Detail::Ejected { why: "runnable task stall: app-0[2]".to_owned() });
    });
    insta::assert_snapshot!(text);
}

#[test]
fn a_fork_and_an_exit_are_events_of_the_cpu() {
    let text = told(|trace| {
        trace.sched_switch(100, CPU0, None, Some(A0));
        trace.task_new(200, &thread(NOISE, "child", Some(0), 120));
        trace.sched_waking(200, NOISE, CPU0, CPU0);
        // Another one begins only at its delay: the thread that runs then did not make it.
        trace.task_new(250, &thread(TaskId(3), "late", Some(0), 120));
        trace.sched_waking(300, TaskId(3), CPU1, CPU0);
        trace.sched_switch(400, CPU0, Some((A0, PrevState::Dead)), None);
    });
    assert_eq!(text.matches("sched_process_fork").count(), 1, "{text}");
    assert!(text.contains(r#"parent_comm="app-0" parent_pid=2 child_comm="child" child_pid=4"#), "{text}");
    assert!(text.contains(r#"sched_process_exit { comm="app-0" pid=2 tgid=2 prio=120 }"#), "{text}");
}

#[test]
fn a_trace_says_at_its_beginning_what_was_run() {
    let trace = writer(Vec::new()).about(&[("machine", "two".to_owned()), ("seed", "7".to_owned())]);
    let bytes = trace.finish().unwrap();
    assert!(is_trace(&bytes));
    let text = decode::text(&bytes);
    for said in [r#"name="machine" string_value="two""#, r#"name="seed" string_value="7""#] {
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn a_scheduler_with_very_many_queues_gets_no_more_tracks_than_there_are_screens_for() {
    let text = told(|trace| {
        for id in 0..3000 {
            trace.detail(id, &Detail::Queued { task: A0, queue: Queue::User(id), depth: 1, by: None });
        }
    });
    // The folder, and 1024 queues with one value each.
    assert_eq!(text.matches("track_descriptor").count(), 1 + 1024);
    assert_eq!(text.matches("track_event").count(), 1024);
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let run = || {
        let mut trace = writer(Vec::new());
        script(&mut trace);
        trace.finish().unwrap()
    };
    assert_eq!(run(), run());
}

#[test]
fn leaving_idle_has_the_kernels_value() {
    let mut trace = writer(Vec::new());
    trace.cpu_idle(7, CPU1, None);
    assert!(decode::text(&trace.finish().unwrap()).contains("cpu_idle { state=4294967295 cpu_id=1 }"));
}

#[test]
fn prev_state_has_the_kernels_values() {
    for (state, value) in [(PrevState::Runnable, 0), (PrevState::Sleeping, 1), (PrevState::Dead, 16)] {
        let mut trace = writer(Vec::new());
        trace.sched_switch(7, CPU0, Some((A0, state)), None);
        let text = decode::text(&trace.finish().unwrap());
        assert!(text.contains(&format!("prev_prio=120 prev_state={value} next_comm=\"swapper/0\"")), "{text}");
    }
}

#[test]
fn a_negative_priority_is_sign_extended() {
    let mut trace = writer(Vec::new());
    trace.task_new(0, &thread(A0, "deadline", Some(0), -1));
    trace.sched_switch(7, CPU0, None, Some(A0));
    assert!(decode::text(&trace.finish().unwrap()).contains("next_comm=\"deadline\" next_pid=2 next_prio=-1"));
}

#[test]
fn power_that_did_not_change_is_not_written() {
    let mut trace = writer(Vec::new());
    for now in 0..10 {
        trace.cpu_power(now, CPU0, 0.5);
        trace.package_power(now, PackageId(0), 2.0);
    }
    assert_eq!(decode::text(&trace.finish().unwrap()).matches("track_event").count(), 2);
}

#[test]
fn a_bundle_is_of_one_cpu_and_in_order_and_bounded() {
    let mut trace = writer(Vec::new());
    for now in 0..10_000 {
        trace.cpu_frequency(now, if now % 3 == 0 { CPU0 } else { CPU1 }, 533_000 + now as u32);
    }
    let trace = trace.finish().unwrap();
    let mut times = [Vec::new(), Vec::new()];
    for bundle in bundles(&trace) {
        assert!(bundle.len() < BUNDLE_BYTES + 100, "{} bytes", bundle.len());
        let cpu = decode::number(&bundle, BUNDLE_CPU).unwrap() as usize;
        for event in decode::nested(&bundle, BUNDLE_EVENT) {
            times[cpu].push(decode::number(&event, EVENT_TIMESTAMP).unwrap());
        }
    }
    assert!(bundles(&trace).len() > 4, "nothing was flushed before the end");
    assert_eq!(times[0], (0..10_000).filter(|now| now % 3 == 0).collect::<Vec<_>>());
    assert_eq!(times[1], (0..10_000).filter(|now| now % 3 != 0).collect::<Vec<_>>());
}

/// Takes `left` bytes, then fails.
#[derive(Debug)]
struct FullDisk {
    left: usize,
}

impl Write for FullDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.left {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.left -= bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_write_error_is_kept_until_the_end() {
    for left in [0, 20_000] {
        let mut trace = writer(FullDisk { left });
        for now in 0..10_000 {
            trace.cpu_frequency(now, CPU0, 533_000);
        }
        assert_eq!(trace.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
