// SPDX-License-Identifier: GPL-2.0-only
//! Clocks under the scheduler that the command carries: the event-driven governor, the energy-delay factor, fixed clocks.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::command::program;

fn tandem(arguments: &[&str]) -> Output {
    program().args(arguments).output().unwrap()
}

/// The report of a run of `workload`.
fn report(workload: &Path, machine: &str, scheduler: &str) -> Value {
    let output = tandem(&["simulate", workload.to_str().unwrap(), "-m", machine, "-s", scheduler, "--quiet", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["sched_ext"].is_null() || report["sched_ext"]["exit"].is_null(), "{report}");
    report
}

/// A workload as a file that goes with the folder.
fn file(folder: &tempfile::TempDir, workload: &Value) -> std::path::PathBuf {
    let path = folder.path().join("workload.json");
    std::fs::write(&path, workload.to_string()).unwrap();
    path
}

/// One thread of a second's work on CPU 4 that waits for memory for a share of its time, with hardly any traffic.
fn waiting(memory_bound: f64) -> Value {
    json!({ "tasks": { "thread": {
        "cpus": [4], "loop": 100, "run": 10_000, "tandem": { "memory_bound": memory_bound, "application": "a" }
    } } })
}

/// A job of a build: a process after another, each with a few short bursts, and what waits for them.
fn build() -> Value {
    json!({ "tasks": {
        "make": { "loop": 1, "tandem": { "application": "make" }, "phases": {
            "job": { "loop": 100, "run": 300, "sleep": 200, "fork": "cc", "sem_wait": "done" }
        } },
        "cc": { "instance": 0, "loop": 1,
            "tandem": { "application": "make", "memory_bound": 0.11, "run_spread": "exponential" },
            "phases": { "burst": { "loop": 4, "run": 6000, "sleep": 300 }, "end": { "sem_post": "done" } }
        }
    } })
}

fn number(report: &Value, pointer: &str) -> f64 {
    report.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("{pointer}: {report}"))
}

/// The clock, in MHz, at which CPU 4 spent most of its time.
fn usual_mhz(report: &Value) -> u64 {
    let residency = report["cpus"][4]["freq_residency"].as_object().unwrap();
    let longest = residency.iter().max_by(|one, other| one.1.as_f64().unwrap().total_cmp(&other.1.as_f64().unwrap()));
    longest.unwrap().0.parse::<u64>().unwrap() / 1000
}

/// Of the Cortex-A15's clocks, 200 to 2000 MHz, the one with the least energy times time when it is fixed.
fn best_mhz(workload: &Path) -> u64 {
    let product = |mhz: &u64| number(&report(workload, "odroid-xu3", &format!("fair+userspace={mhz}MHz")), "/edp_js");
    let clocks: Vec<u64> = (2..=20).map(|hundred| hundred * 100).collect();
    *clocks.iter().min_by(|one, other| product(one).total_cmp(&product(other))).unwrap()
}

#[test]
fn work_takes_no_longer_for_its_energy_than_is_allowed() {
    for memory_bound in [0.0, 0.3, 0.6, 0.9, 0.97] {
        let folder = tempfile::tempdir().unwrap();
        let workload = file(&folder, &waiting(memory_bound));
        let time = |scheduler: &str| number(&report(&workload, "odroid-xu3", scheduler), "/time_s");
        let longer = time("tandem,speed=true+schedutil") / time("fair+performance");
        assert!(longer <= 1.055, "{memory_bound}: {longer}");
    }
}

/// Richling et al., their results: run time within 3 % of the performance governor's, for less energy; sampling governors lose both.
#[test]
fn a_build_is_as_fast_as_at_the_highest_clock_and_costs_less() {
    let folder = tempfile::tempdir().unwrap();
    let workload = file(&folder, &build());
    let run = |scheduler: &str| {
        let report = report(&workload, "opteron-8435", scheduler);
        (number(&report, "/time_s"), number(&report, "/energy_j/total"))
    };
    let [(time, energy), (fastest, most), (sampled, _)] =
        ["tandem,speed=true+schedutil", "fair+performance", "fair+ondemand"].map(run);
    assert!(time <= fastest * 1.03 && energy < most, "{time} s {energy} J against {fastest} s {most} J");
    assert!(time < sampled, "{time} s against {sampled} s");
}

#[test]
fn clocks_that_are_idle_for_good_go_down_once_and_have_no_timer() {
    let folder = tempfile::tempdir().unwrap();
    let workload = file(&folder, &json!({ "tasks": { "thread": { "loop": 1, "run": 10_000, "sleep": 500_000 } } }));
    let report = report(&workload, "smp-8", "tandem,speed=true+schedutil");
    let count = |name: &str| report["sched_ext"]["statistics"][name].as_u64().unwrap_or(0);
    // Up as the thread begins, down once it has slept for a while, up again as it ends.
    assert_eq!([count("speed_raised"), count("speed_lowered"), count("speed_kept")], [2, 1, 0], "{report}");
    assert!(number(&report, "/events") < 1000.0, "{report}");
}

#[test]
fn a_governor_that_does_not_listen_leaves_speed_inert() {
    let folder = tempfile::tempdir().unwrap();
    let workload = file(&folder, &build());
    for (machine, scheduler, expected) in [
        ("opteron-8435", "tandem,speed=true+performance", "no_cpufreq"),
        ("core2-q6600:slow", "tandem,speed=true+schedutil", "no_cpufreq"),
        ("opteron-8435", "tandem,speed=true+schedutil", "active"),
    ] {
        let report = report(&workload, machine, scheduler);
        assert_eq!(report["sched_ext"]["states"]["speed_state"], expected, "{machine} {scheduler}");
    }
}

#[test]
fn fixed_clocks_that_do_not_exist_are_refused() {
    for (scheduler, expected) in [
        ("tandem,isolate=dedicated,os_mhz=3000+schedutil", "os_mhz=3000: CPU 0 has clocks from 600 to 2800 MHz"),
        ("tandem,isolate=shared,rest_mhz=500+schedutil", "rest_mhz=500: the machine has clocks from 600 to 2800 MHz"),
        ("tandem,isolate=shared,rest_mhz=2400+performance", "need the governor schedutil"),
        ("tandem,os_mhz=2400+schedutil", "isolate=dedicated or isolate=shared only"),
    ] {
        let output = tandem(&["simulate", "noise", "-m", "poweredge-2850", "-s", scheduler, "--quiet"]);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), text.contains(expected)), (Some(2), true), "{scheduler}: {text}");
    }
}

/// Grant & Afsahi, section 6: PS-Sched-1 slows the OS CPU's core, PS-Sched-2 the others.
#[test]
fn fixed_clocks_of_isolation_are_those_that_cpus_run_at() {
    let clocks = |scheduler: &str| {
        let folder = tempfile::tempdir().unwrap();
        let threads = json!({ "instance": 8, "loop": 5, "run": 10_000, "tandem": { "application": "a" } });
        let report = report(&file(&folder, &json!({ "tasks": { "thread": threads } })), "poweredge-2850", scheduler);
        let usual = |cpu: usize| {
            let residency = report["cpus"][cpu]["freq_residency"].as_object().unwrap();
            let most = residency.iter().max_by(|a, b| a.1.as_f64().unwrap().total_cmp(&b.1.as_f64().unwrap()));
            most.unwrap().0.parse::<u64>().unwrap() / 1000
        };
        [0, 1, 2, 7].map(usual)
    };
    assert_eq!(clocks("tandem,isolate=dedicated,os_mhz=1800+schedutil"), [1800, 1800, 2800, 2800]);
    assert_eq!(clocks("tandem,isolate=shared,rest_mhz=2400+schedutil"), [2800, 2800, 2400, 2400]);
}

/// Three threads that compute and noise that works for `run` of each `period`, microseconds, on four cores of their own,
/// the noise on CPU 0, for 5 s.
fn under_noise(run: u32, period: u32, settings: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let threads = json!({ "instance": 3, "loop": -1, "run": 100_000, "tandem": { "application": "a" } });
    let timer = json!({ "ref": "unique", "period": period });
    let noise = json!({ "loop": -1, "run": run, "timer": timer, "tandem": { "system": true } });
    let workload = json!({ "global": { "duration": 5 }, "tasks": { "thread": threads, "noise": noise } });
    let scheduler = format!("tandem,isolate=dedicated{settings}+schedutil");
    report(&file(&folder, &workload), "poweredge-2850:free-htoff-4-2", &scheduler)
}

/// Grant & Afsahi, section 2. Noise of half a CPU needs 1400 of 2800 MHz: 1500 is the lowest clock that carries it, and
/// 1800 the lowest that it loads to less than 90 %.
#[test]
fn the_os_cpus_clock_is_the_lowest_that_noise_fills_no_more_than_allowed() {
    for (settings, mhz) in [(",os_load_pct=100,os_hurry_ms=0", "1500000"), ("", "1800000")] {
        let report = under_noise(5_000, 10_000, settings);
        let share = number(&report, &format!("/cpus/0/freq_residency/{mhz}")) / 5.0;
        assert!(share > 0.8, "{settings} {mhz}: {}", report["cpus"][0]["freq_residency"]);
        let tasks = report["tasks"].as_array().unwrap();
        let noise = tasks.iter().find(|task| task["system"] == true).unwrap();
        assert!(noise["work_s"].as_f64().unwrap() > 0.9 * 2.5, "noise is starved: {noise}");
    }
}

/// Noise that comes in bursts of 60 ms keeps its CPU at work for a while, whether its slice ends meanwhile or not.
#[test]
fn the_os_cpus_clock_goes_up_at_once_where_noise_piles_up_unless_the_letter_counts() {
    let hurried =
        |settings| under_noise(60_000, 600_000, settings)["sched_ext"]["statistics"]["isolate_clock_hurried"].clone();
    assert!(hurried("").as_u64().unwrap() >= 5);
    assert_eq!(hurried(",os_load_pct=100,os_hurry_ms=0"), 0);
}

/// Eight threads compute on eight CPUs, and noise wakes every 50 ms: it waits for a tick that ends a slice, or does not.
#[test]
fn noise_takes_a_shared_cpu_at_once_where_it_may() {
    let folder = tempfile::tempdir().unwrap();
    let threads = json!({ "instance": 8, "loop": 10, "run": 100_000, "tandem": { "application": "a" } });
    let timer = json!({ "ref": "unique", "period": 50_000 });
    let noise = json!({ "loop": -1, "run": 1_000, "timer": timer, "tandem": { "system": true } });
    let workload = file(&folder, &json!({ "tasks": { "thread": threads, "noise": noise } }));
    let of = |settings: &str| {
        let report = report(&workload, "poweredge-2850", &format!("tandem,isolate=shared{settings}+performance"));
        let tasks = report["tasks"].as_array().unwrap();
        let noise = tasks.iter().find(|task| task["system"] == true).unwrap();
        let latency = noise["wakeup_latency_ns"]["max"].as_u64().unwrap();
        (latency, report["sched_ext"]["statistics"]["isolate_preempted"].as_u64().unwrap())
    };
    let (waits, never) = of("");
    let (at_once, preempted) = of(",noise_preempts=true");
    assert!(waits > 5_000_000 && never == 0, "{waits} {never}");
    assert!(at_once < 100_000 && preempted > 20, "{at_once} {preempted}");
}

mod long {
    use super::*;

    #[test]
    fn the_clock_is_within_one_step_of_the_least_energy_times_time() {
        // The scheduler takes the speed of memory for the same at all clocks. On this machine it is not, and for work that does little
        // but wait that makes a difference of three steps.
        for (memory_bound, within) in [(0.0, 100), (0.3, 100), (0.6, 100), (0.9, 100), (0.97, 300)] {
            let folder = tempfile::tempdir().unwrap();
            let workload = file(&folder, &waiting(memory_bound));
            let chosen =
                usual_mhz(&report(&workload, "odroid-xu3", "tandem,speed=true,edp_slowdown_pct=1000+schedutil"));
            let best = best_mhz(&workload);
            assert!(chosen.abs_diff(best) <= within, "{memory_bound}: {chosen} MHz, best is {best} MHz");
        }
    }
}
