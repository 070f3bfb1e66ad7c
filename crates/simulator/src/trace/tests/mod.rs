// SPDX-License-Identifier: MIT OR Apache-2.0
//! A trace is read back by a decoder that shares nothing with the writer.

mod decode;
mod machine;

use std::io::{self, Write};

use super::*;

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
    trace.sched_waking(250, A1, CPU1, CPU0);
    trace.cpu_idle(260, CPU1, None);
    trace.sched_switch(300, CPU1, None, Some(A1));
    trace.task_new(400, &thread(NOISE, "kworker", None, 49));
    trace.sched_waking(400, NOISE, CPU0, CPU1);
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
