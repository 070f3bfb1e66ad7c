// SPDX-License-Identifier: MIT OR Apache-2.0
//! What releases of Linux do differently with the same threads: when a running thread gives way, and when its slice ends.

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Latency;
use tandem_simulator::simulation::{Linux, Options};
use tandem_simulator::units::SEC;

use super::support::{Places, options, run_with, spinning, task};

/// Options of a kernel of this release, with settings.
fn release(linux: Linux, settings: &[(&str, &str)], secs: u64) -> Options {
    let mut options = options(1, secs * SEC);
    options.kernel.linux = linux;
    for (key, value) in settings {
        options.kernel.set(key, value).unwrap();
    }
    options
}

fn smp_8() -> Machine {
    Machine::load("smp-8").unwrap()
}

/// How long a thread waits that sleeps beside a hog on CPU 0 and is woken every 20.3 ms, by its own timer or by a thread on `waker`.
fn wait_beside_a_hog(options: &Options, waker: Option<u32>) -> Latency {
    let mut tasks = vec![spinning("hog", 1, r#", "cpus" : [0]"#)];
    let timer = r#""timer" : { "ref" : "unique", "period" : 20300 }"#;
    match waker {
        None => tasks.push(format!(r#""sleeper" : {{ "cpus" : [0], "loop" : -1, "run" : 500, {timer} }}"#)),
        Some(cpu) => {
            tasks.push(r#""sleeper" : { "cpus" : [0], "loop" : -1, "suspend" : "sleeper", "run" : 500 }"#.to_owned());
            let waker = format!(r#""waker" : {{ "cpus" : [{cpu}], "loop" : -1, "resume" : "sleeper", {timer} }}"#);
            tasks.push(waker);
        }
    }
    task(&run_with(&smp_8(), &tasks, options), "sleeper").timing.wakeup_latency_ns.unwrap()
}

/// A hog that is alone is not protected. Under full preemption a woken thread takes its CPU at once, whoever wakes it.
#[test]
fn under_full_preemption_a_woken_thread_runs_at_once() {
    for linux in [Linux::V6_12, Linux::V6_18] {
        let full = release(linux, &[], 20);
        assert_eq!((wait_beside_a_hog(&full, None).p50, wait_beside_a_hog(&full, Some(1)).p50), (0, 0), "{linux}");
    }
}

/// Under lazy preemption the timer's interrupt is on the hog's own CPU, which looks at its flags when it returns from it. A thread
/// on another CPU of the same cache sends no interrupt: the sleeper waits for the hog's next tick, between 0 and 4 ms. 20.3 ms
/// are 5 ticks and 0.3 ms, so the wake-ups go through the tick evenly: half of them wait for less than 2 ms,
/// 19 of 20 for less than 3.8.
#[test]
fn under_lazy_preemption_a_thread_woken_from_elsewhere_waits_for_a_tick() {
    let lazy = release(Linux::V6_18, &[("preempt", "lazy")], 20);
    assert_eq!(wait_beside_a_hog(&lazy, None).p50, 0);
    let waits = wait_beside_a_hog(&lazy, Some(1));
    assert!(waits.p50.abs_diff(2_000_000) < 150_000 && waits.p95.abs_diff(3_800_000) < 150_000, "{waits:?}");
    assert!((3_800_000..=4_010_000).contains(&waits.max), "{waits:?}");
}

/// 7.1 is lazy unless told otherwise. (Without `HRTICK`, whose timer is an interrupt as well.)
#[test]
fn the_newest_release_is_lazy_by_itself() {
    let as_is = release(Linux::V7_1, &[("hrtick", "false")], 20);
    assert!(wait_beside_a_hog(&as_is, Some(1)).p50 > 1_500_000);
    let full = release(Linux::V7_1, &[("hrtick", "false"), ("preempt", "full")], 20);
    assert_eq!(wait_beside_a_hog(&full, Some(1)).p50, 0);
}

/// On `smp-8` a slice is 2.8 ms. Where ticks of 4 ms end slices, two hogs take turns every 4 ms: in 14 s 3,500 times. Where a timer
/// ends them, every 2.8 ms: 5,000 times.
#[test]
fn a_timer_ends_slices_on_time() {
    let turns = |options: &Options| {
        let hogs = [spinning("a", 1, r#", "cpus" : [0]"#), spinning("b", 1, r#", "cpus" : [0]"#)];
        let places = Places::of(&smp_8(), &hogs, options);
        places.since("a", 0).len() + places.since("b", 0).len()
    };
    let by_tick = turns(&release(Linux::V7_1, &[("hrtick", "false")], 14));
    assert!(by_tick.abs_diff(3_500) <= 10, "{by_tick}");
    let on_time = turns(&release(Linux::V7_1, &[], 14));
    assert!(on_time.abs_diff(5_000) <= 25, "{on_time}");
}

/// Of a machine with several kinds of CPUs and no driver of x86's, as arm64's are, slices end at ticks in 7.1 too.
#[test]
fn arm64_has_no_timer_for_slices() {
    let ends = |machine: &str| {
        let machine = Machine::load(machine).unwrap();
        let hogs = [spinning("a", 1, r#", "cpus" : [0]"#), spinning("b", 1, r#", "cpus" : [0]"#)];
        Places::of(&machine, &hogs, &release(Linux::V7_1, &[], 2)).since("a", 0).len()
    };
    // 2 s, half of them a's, in turns of 4 or of 2.8 ms.
    assert!(ends("hikey960").abs_diff(250) <= 5 && ends("smp-8").abs_diff(357) <= 5);
}
