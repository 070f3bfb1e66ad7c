// SPDX-License-Identifier: GPL-2.0-only
//! Tandem's object on each kernel that the simulator knows: functions of sched_ext have other names, parameters and results there.

use serde_json::{Value, json};

use crate::command::shown;

const KERNELS: [&str; 3] = ["6.12", "6.18", "7.1"];

/// The report of a workload on eight equal CPUs.
fn report(workload: &Value, scheduler: &str, kernel: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("w.json"), workload.to_string()).unwrap();
    let arguments = ["simulate", "w.json", "-m", "smp-8", "-s", scheduler, "--kernel", kernel, "--quiet", "--json"];
    let report: Value = serde_json::from_str(&shown(folder.path(), &arguments)).unwrap();
    assert_eq!((&report["sched_ext"]["exit"], &report["sched_ext"]["kernel"]), (&Value::Null, &json!(kernel)));
    report
}

/// How often a callback or a tracepoint's program ran; `None` if the scheduler has no such.
fn calls(report: &Value, callback: &str) -> Option<u64> {
    report["sched_ext"]["callbacks"][callback]["calls"].as_u64()
}

/// Sixteen threads that compute and sleep on eight CPUs: some wait in queues.
fn crowd() -> Value {
    let phases = json!({ "round": { "loop": 10, "run": 3000, "sleep": 500 } });
    json!({ "tasks": { "busy": { "instance": 16, "loop": 1, "phases": phases } } })
}

#[test]
fn one_object_schedules_on_each_kernel() {
    for kernel in KERNELS {
        for scheduler in ["tandem", "tandem,all=true"] {
            let report = report(&crowd(), scheduler, kernel);
            let counted = |name: &str| report["sched_ext"]["statistics"][name].as_u64().unwrap();
            assert!(counted("base_queued") > 0 && counted("base_idle") > 0, "{scheduler} on {kernel}: {report}");
            // 16 threads × 10 × 3 ms on 8 CPUs take 60 ms at least.
            let time = report["time_s"].as_f64().unwrap();
            assert!((0.06..0.09).contains(&time), "{scheduler} on {kernel}: {time} s");
        }
    }
}

/// Real-time threads take CPU 1 for 8 ms, and from 10 ms on CPU 0 for 100 ms; an ordinary thread may use these two.
fn taken() -> Value {
    let fifo = |cpu: u32, phases: Value| json!({ "policy": "SCHED_FIFO", "priority": 50, "cpus": [cpu], "loop": 1, "phases": phases });
    let sleeps = |us: u32| json!({ "loop": 1, "sleep": us });
    let runs = |us: u32| json!({ "loop": 1, "run": us });
    json!({ "tasks": {
        "first": fifo(1, json!({ "1": runs(8000) })),
        "taker": fifo(0, json!({ "1": sleeps(10_000), "2": runs(100_000) })),
        "worker": { "cpus": [0, 1], "loop": 1, "phases": { "1": sleeps(1000), "2": runs(30_000) } },
    } })
}

/// Kernels from 6.19 on warn of `ops.cpu_release`: there a tracepoint does the same.
#[test]
fn what_a_real_time_thread_takes_the_cpu_from_goes_elsewhere_on_each_kernel() {
    for kernel in KERNELS {
        for scheduler in ["tandem", "tandem,serial_first=true", "tandem,all=true"] {
            let report = report(&taken(), scheduler, kernel);
            let (release, switch) = (calls(&report, "cpu_release"), calls(&report, "tp_btf/sched_switch"));
            let newer = kernel == "7.1";
            assert_eq!((release.is_some(), switch.is_some()), (!newer, newer), "{scheduler} on {kernel}: {report}");
            let worker = report["tasks"].as_array().unwrap().iter().find(|task| task["name"] == "worker").unwrap();
            let waited = worker["wait_time_s"].as_f64().unwrap();
            assert!(waited < 0.001, "{scheduler} on {kernel}: waited {waited} s");
        }
    }
}

/// From one queue nothing is sent to a CPU that would have to be given back.
#[test]
fn with_a_single_queue_nothing_watches_for_taken_cpus() {
    for kernel in KERNELS {
        let report = report(&taken(), "single", kernel);
        assert_eq!((calls(&report, "cpu_release"), calls(&report, "tp_btf/sched_switch")), (None, None), "{kernel}");
    }
}
