// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interrupts as a described load, and what every system does beside its workload.

use tandem_simulator::metrics::Report;
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Options, simulate};
use tandem_simulator::units::SEC;

use super::support::{machine, options, run, task, try_run, workload};

/// Interrupts of 10 us each, on all CPUs unless `more` says otherwise, a thousand per second at even distances.
fn interrupted(more: &str, tasks: &str) -> String {
    format!(
        r#"{{ "tasks": {{ {tasks} }}, "tandem": {{ "interrupts": {{ "device": {{
            "per_s": 1000, "us": 4, "softirq_us": 6, "gap_spread": {{ "uniform": 0 }} {more} }} }} }} }}"#
    )
}

#[track_caller]
fn near(value: f64, expected: f64, within: f64) {
    assert!((value - expected).abs() <= within, "{value} instead of {expected}");
}

/// 1 s of work is interrupted 1010 times: 1.0101 s.
#[test]
fn an_interrupt_takes_time_from_the_thread_that_runs() {
    let report = run(&machine(1), &interrupted("", r#""t": { "loop": 1, "run": 1000000 }"#));
    near(report.time_s, 1.0101, 15e-6);
    near(task(&report, "t").work_s, 1.0, 1e-9);
}

#[test]
fn only_the_cpus_that_are_named_are_interrupted() {
    let both = r#""a": { "loop": 1, "cpus": [0], "run": 100000 }, "b": { "loop": 1, "cpus": [1], "run": 100000 }"#;
    let report = run(&machine(2), &interrupted(r#", "cpus": [1]"#, both));
    near(task(&report, "a").cpu_time_s, 0.1, 1e-9);
    near(task(&report, "b").cpu_time_s, 0.101, 15e-6);
}

/// An idle CPU wakes for each: 1000 times 10 us at 1 W. Then it idles again, for nothing.
#[test]
fn an_idle_cpu_pays_for_interrupts() {
    let report = run(&machine(1), &interrupted("", r#""t": { "loop": 1, "sleep": 1000000 }"#));
    near(report.energy_j.total, 0.010, 15e-6);
    near(report.cpus[0].busy_s, 0.0, 1e-6);
}

/// The time of interrupts is no thread's: of two equal threads on one CPU neither loses more of its share, and a thread that
/// is interrupted is not further in virtual time than one that is not. Two pinned threads on each of two CPUs: the pair that
/// is interrupted for a tenth of the time stays even.
#[test]
fn interrupted_threads_keep_equal_shares() {
    let tasks = r#""a": { "loop": -1, "run": 1000 }, "b": { "loop": -1, "run": 1000 }"#;
    let text = interrupted("", tasks).replace(r#""us": 4"#, r#""us": 94"#);
    let options = Options { time_limit: Some(4 * SEC), ..options() };
    let report = simulate(&machine(1), &workload(&text), &options, &mut NoObserver).unwrap();
    let work = ["a", "b"].map(|name| task(&report, name).work_s);
    near(work[0] + work[1], 3.6, 0.005);
    near(work[0] - work[1], 0.0, 0.01);
}

#[test]
fn interrupts_without_a_rate_or_a_length_are_refused() {
    let text = |fields: &str| {
        format!(
            r#"{{ "tasks": {{ "t": {{ "run": 1000 }} }}, "tandem": {{ "interrupts": {{ "device": {{ {fields} }} }} }} }}"#
        )
    };
    let refused = |fields: &str| {
        let path = std::path::Path::new("interrupts.json");
        tandem_simulator::workload::Workload::parse(path, &text(fields)).unwrap_err().to_string()
    };
    assert!(refused(r#""us": 3"#).contains("interrupts of `device` have no `per_s`"), "{}", refused(r#""us": 3"#));
    assert!(refused(r#""per_s": 3"#).contains("take no time"), "{}", refused(r#""per_s": 3"#));
}

/// Three threads that never sleep, on two CPUs.
fn three_on_two(disturbances: bool, seed: u64) -> Report {
    let text = r#"{ "tasks": { "t": { "instance": 3, "loop": -1, "run": 1000 } } }"#;
    let mut options = Options { time_limit: Some(30 * SEC), seed, ..options() };
    options.kernel.disturbances = disturbances;
    simulate(&machine(2), &workload(text), &options, &mut NoObserver).unwrap()
}

/// Where nothing disturbs, the same thread moves each time that the CPUs are balanced. What every system does breaks the
/// step: chance decides which thread has a CPU for itself up to the next balancing, 128 ms later. Of 234 such times in 30 s
/// a thread has a third, and so a share of 0.5 + 0.5 / 3; its standard deviation is 0.5 · sqrt(1/3 · 2/3 / 234) = 0.0154.
/// All are within three of these, and the mean of four runs within two of its own.
#[test]
fn disturbances_break_the_step_of_three_threads_on_two_cpus() {
    let shares = |report: &Report| {
        let of = |task: &tandem_simulator::metrics::TaskReport| task.cpu_time_s / 30.0;
        report.tasks.iter().filter(|task| !task.system).map(of).collect::<Vec<_>>()
    };
    let mut sums = [0.0; 3];
    for seed in 1..=4 {
        for (share, sum) in shares(&three_on_two(true, seed)).into_iter().zip(&mut sums) {
            near(share, 0.667, 3.0 * 0.0154);
            *sum += share;
        }
    }
    for sum in sums {
        near(sum / 4.0, 0.667, 0.0154);
    }
    let step = shares(&three_on_two(false, 1));
    assert!(step.iter().any(|share| (share - 0.667).abs() > 0.03), "{step:?}");
}

/// The same seed disturbs in the same way, another one in another.
#[test]
fn disturbances_follow_the_seed() {
    let energy = |seed| three_on_two(true, seed).tasks[0].cpu_time_s;
    assert_eq!(energy(1), energy(1));
    assert_ne!(energy(1), energy(2));
}

/// CPU 0 is busy for 10 s, CPU 1 never: one has 25 runs of its worker on the mean, within three standard deviations of 7; the other,
/// whose tick has stopped, none, and only 8.4 interrupts a second of 2.85 µs, which are no time of threads.
#[test]
fn an_idle_cpu_has_interrupts_and_no_workers() {
    let text = r#"{ "tasks": { "t": { "loop": -1, "run": 1000, "cpus": [0] } } }"#;
    let mut options = Options { time_limit: Some(10 * SEC), ..options() };
    options.kernel.disturbances = true;
    let report = simulate(&machine(2), &workload(text), &options, &mut NoObserver).unwrap();
    let runs = |name: &str| report.tasks.iter().find(|task| task.name == name).unwrap().cpu_time_s / 60e-6;
    assert!((4.0..46.0).contains(&runs("kworker/0")), "{}", runs("kworker/0"));
    assert_eq!(runs("kworker/1"), 0.0);
    assert!(report.cpus[1].busy_s < 0.001, "{}", report.cpus[1].busy_s);
}

/// Kernel workers are there for nobody: a workload that waits for ever is found out as without them.
#[test]
fn disturbances_keep_no_run_alive() {
    let text = r#"{ "tasks": { "t": { "loop": 1, "lock": "m", "wait": { "ref": "never", "mutex": "m" } } } }"#;
    let mut options = options();
    options.kernel.disturbances = true;
    let error = simulate(&machine(2), &workload(text), &options, &mut NoObserver).unwrap_err().to_string();
    let quiet = try_run(&machine(2), text).unwrap_err().to_string();
    assert_eq!(error.split(" at ").next(), quiet.split(" at ").next());
}

/// The timer that ends a deadline thread's budget is set by a clock that interrupts do not hold back: it lies ahead. (It was set
/// by the clock of tasks once, and went off at the same instant for ever.) 3 ms of work in a budget of 4 ms each 10 ms.
#[test]
fn a_deadline_threads_timer_lies_ahead_whatever_interrupts_took() {
    let deadline = r#""d": { "policy": "SCHED_DEADLINE", "dl-runtime": 4000, "dl-period": 10000, "dl-deadline": 10000, "loop": 50,
        "run": 3000, "timer": { "ref": "t", "period": 10000 } }"#;
    let mut options = options();
    options.kernel.hrtick_dl = true;
    let report = simulate(&machine(1), &workload(&interrupted("", deadline)), &options, &mut NoObserver).unwrap();
    near(task(&report, "d").work_s, 0.150, 1e-9);
    assert!(report.time_s < 0.51, "{}", report.time_s);
}
