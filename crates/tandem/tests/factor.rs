// SPDX-License-Identifier: GPL-2.0-only
//! The energy-delay factor: what it takes to know it, and by which line it decides where power is not known
//! (Merkel & Bellosa, sections 4.2 and 5). And the governor's delays, where several CPUs share a clock.

use std::path::Path;

use serde_json::{Value, json};

use crate::command::shown;
use crate::equal;

/// Settings of `tandem` with the paper's line instead of power: for microbenchmarks and for real programs, without a limit.
const MICRO: &str = "edp_base_pct=167,edp_slope_pct=79,edp_slowdown_pct=1000";
const REAL: &str = "edp_base_pct=140,edp_slope_pct=80,edp_slowdown_pct=1000";

/// A folder with programs, and with an object whose loader finds out no more than one for Linux does: neither power nor bandwidth.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        shown(folder.path(), &["scheduler", "export", "tandem", "-o", "blind.bpf.o"]);
        let beside = folder.path().join("blind.toml");
        let unknown = [
            "memory_bandwidth",
            "idle_power",
            "opp_table.power",
            "opp_table.static_power",
            "opp_table.nr_idle_states",
            "opp_table.idle_power",
            "opp_table.idle_residency",
        ];
        let unknown = unknown.map(|word| format!("\"{word}\""));
        let text = std::fs::read_to_string(&beside).unwrap();
        let known: Vec<&str> =
            text.lines().filter(|line| !unknown.iter().any(|word| line.contains(word.as_str()))).collect();
        assert_eq!(text.lines().count() - known.len(), unknown.len());
        std::fs::write(&beside, known.join("\n")).unwrap();
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// The report of half a second's work of each of `programs`, as in `lbm:3,hmmer:1`.
    fn programs(&self, programs: &str, machine: &str, scheduler: &str) -> Value {
        shown(
            self.path(),
            &["workload", "programs", "--programs", programs, "--work", "500ms", "-o", "w.json", "--force"],
        );
        self.report(machine, scheduler)
    }

    /// The report of a workload.
    fn workload(&self, workload: &Value, machine: &str, scheduler: &str) -> Value {
        std::fs::write(self.path().join("w.json"), workload.to_string()).unwrap();
        self.report(machine, scheduler)
    }

    fn report(&self, machine: &str, scheduler: &str) -> Value {
        let json = shown(self.path(), &["simulate", "w.json", "-m", machine, "-s", scheduler, "--quiet", "--json"]);
        let report: Value = serde_json::from_str(&json).unwrap();
        assert!(report["sched_ext"].is_null() || report["sched_ext"]["exit"].is_null(), "{report}");
        report
    }
}

fn number(report: &Value, pointer: &str) -> f64 {
    report.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("{pointer}: {report}"))
}

fn time(report: &Value) -> f64 {
    number(report, "/time_s")
}

/// The longest time of the copies of a program.
fn time_of(report: &Value, program: &str) -> f64 {
    let mine = |app: &&Value| app["name"].as_str().unwrap().starts_with(program);
    report["apps"]
        .as_array()
        .unwrap()
        .iter()
        .filter(mine)
        .map(|app| app["time_s"].as_f64().unwrap())
        .fold(0.0, f64::max)
}

/// The share of all CPUs' time at clocks up to `mhz`.
fn share_up_to(report: &Value, mhz: u64) -> f64 {
    let (mut below, mut all) = (0.0, 0.0);
    for cpu in report["cpus"].as_array().unwrap() {
        for (khz, seconds) in cpu["freq_residency"].as_object().unwrap() {
            let seconds = seconds.as_f64().unwrap();
            all += seconds;
            below += if khz.parse::<u64>().unwrap() <= mhz * 1000 { seconds } else { 0.0 };
        }
    }
    below / all
}

fn state(report: &Value) -> &str {
    report["sched_ext"]["states"]["edp_state"].as_str().unwrap()
}

#[test]
fn a_lone_program_that_computes_keeps_its_clock_where_nobody_knows_the_bandwidth() {
    let place = Place::new();
    for machine in ["opteron-8435", "phenom-9950", "core2-q6600"] {
        let fastest = place.programs("hmmer:1", machine, "fair+performance");
        // Its second clock is half of the first, of which the line says nothing.
        let known = if machine == "phenom-9950" { "no_clock" } else { "active" };
        for (settings, expected) in
            [("speed=true", "no_bandwidth"), ("all=true", "no_bandwidth"), ("speed=true,memory_mbps=5600", known)]
        {
            let report = place.programs("hmmer:1", machine, &format!("./blind.bpf.o,{settings}+schedutil"));
            assert_eq!(state(&report), expected, "{machine} {settings}");
            let longer = time(&report) / time(&fastest);
            assert!(longer < 1.01, "{machine} {settings}: {longer}");
            let energy = number(&report, "/energy_j/total") / number(&fastest, "/energy_j/total");
            assert!(energy < 1.005, "{machine} {settings}: {energy}");
        }
    }
}

#[test]
fn programs_that_wait_lower_the_clock_once_the_bandwidth_is_said() {
    let place = Place::new();
    let run = |settings: &str| place.programs("lbm:4", "core2-q6600", &format!("./blind.bpf.o,{settings}+schedutil"));
    let (unknown, known) = (run("speed=true"), run("speed=true,memory_mbps=5600"));
    assert_eq!((state(&unknown), state(&known)), ("no_bandwidth", "active"));
    assert!(share_up_to(&unknown, 1600) < 0.05 && share_up_to(&known, 1600) > 0.9, "{known}");
    // One that says more than the bus has sees a bus that is never busy.
    assert!(share_up_to(&run("speed=true,memory_mbps=50000"), 1600) < 0.05);
}

#[test]
fn the_factor_is_off_with_speed_and_waits_for_counters() {
    let place = Place::new();
    let state_of = |scheduler: &str| state(&place.programs("hmmer:1", "core2-q6600", scheduler)).to_owned();
    assert_eq!(state_of("tandem,sorted=true+schedutil"), "off");
    assert_eq!(state_of("tandem,speed=true,edp=false+schedutil"), "off");
    assert_eq!(state_of("tandem,speed=true+performance"), "off");
    assert_eq!(state_of("tandem,speed=true+schedutil"), "active");
    let blind = ["simulate", "w.json", "-m", "core2-q6600", "-s", "tandem,speed=true+schedutil", "--quiet", "--json"];
    let blind = shown(place.path(), &[&blind[..], &["--set", "perf_counters=false"]].concat());
    assert_eq!(state(&serde_json::from_str(&blind).unwrap()), "no_counters");
}

#[test]
fn threads_are_sorted_by_relative_intensity_where_nobody_knows_the_bandwidth() {
    let place = Place::new();
    std::fs::write(place.path().join("two.toml"), equal::description(2)).unwrap();
    let workload = json!({ "global": { "duration": 5 }, "tasks": {
        "waits": { "instance": 2, "loop": -1, "tandem": { "memory_bound": 0.8, "bytes_per_work": 10000 }, "run": 100_000 },
        "computes": { "instance": 2, "loop": -1, "run": 100_000 },
    } });
    let report = place.workload(&workload, "./two.toml", "./blind.bpf.o,sorted=true");
    let count = |name: &str| report["sched_ext"]["statistics"][name].as_f64().unwrap();
    let mixed = count("sorted_mixed") / (count("sorted_mixed") + count("sorted_alike"));
    assert!(mixed > 0.85, "{mixed}");
}

/// Of the Opteron's clocks from 800 to 2,600 MHz those from two thirds on; the Phenom's other one, a half, is none.
#[test]
fn the_line_is_not_used_below_two_thirds_of_the_highest_clock() {
    let place = Place::new();
    for (programs, machine, below) in
        [("soplex:24", "opteron-8435", 1700), ("lbm:24", "opteron-8435", 1700), ("lbm:4", "phenom-9950", 1300)]
    {
        let fastest = place.programs(programs, machine, "fair+performance");
        for settings in ["edp_base_pct=140", MICRO, REAL] {
            let report = place.programs(programs, machine, &format!("tandem,speed=true,{settings}+schedutil"));
            let (low, product) =
                (share_up_to(&report, below), number(&report, "/edp_js") / number(&fastest, "/edp_js"));
            assert!(low < 0.05 && product < 1.01, "{programs} {settings}: {low} {product}");
        }
    }
}

/// A program on CPU 0, and on another CPU of the same clock what wakes for an instant now and then.
fn beside_blips(rounds: u32, run: u32, sleep: u32) -> Value {
    json!({ "global": { "duration": 8 }, "tasks": {
        "program": { "cpus": [0], "loop": rounds, "run": run, "sleep": sleep, "tandem": { "application": "program" } },
        "blips": { "cpus": [1], "loop": -1, "run": 100, "sleep": 5000, "tandem": { "application": "blips" } },
    } })
}

#[test]
fn a_cpu_that_becomes_loaded_does_not_take_back_anothers_rise() {
    let place = Place::new();
    let time = |workload: &Value, settings: &str| {
        let scheduler = format!("tandem,speed=true,{settings}+schedutil");
        time_of(&place.workload(workload, "core2-q6600", &scheduler), "program")
    };
    // At 1.6 GHz for the delay, at 2.4 from then on.
    for (up_delay_us, more) in [("up_delay_us=20000", 0.007), ("up_delay_us=200000,down_delay_us=0", 0.067)] {
        let took = time(&beside_blips(1, 1_000_000, 1000), up_delay_us);
        assert!((took - 1.0 - more).abs() < 0.01, "{up_delay_us}: {took} s");
    }
    // After each pause the delay passes anew, and the shortest time at the low clock; the clock rises all the same.
    let pauses = beside_blips(20, 100_000, 50_000);
    for settings in ["up_delay_us=20000", "up_delay_us=20000,min_low_us=30000", "up_delay_us=10000,min_high_us=50000"] {
        let took = time(&pauses, settings);
        assert!((2.95..3.2).contains(&took), "{settings}: {took} s");
    }
    // A rise that comes later than the work lasts does not come.
    assert!(time(&beside_blips(20, 50_000, 20_000), "up_delay_us=100000") > 1.85);
}

mod long {
    use super::*;

    /// Section 3.2, Table 1: at 1.6 GHz the mean of four tasks' factors is below 1 for four that wait alone; of three beside one that
    /// computes that holds by the line for microbenchmarks, and by the limit to slowing down that is there by default.
    #[test]
    fn the_clock_is_high_while_one_program_computes() {
        let place = Place::new();
        let run = |programs: &str, settings: &str| {
            place.programs(programs, "core2-q6600", &format!("tandem,speed=true,{settings}+schedutil"))
        };
        for programs in ["hmmer:4", "lbm:1,hmmer:3", "lbm:2,hmmer:2", "lbm:3,hmmer:1"] {
            let fastest = place.programs(programs, "core2-q6600", "fair+performance");
            for settings in ["edp=true", "edp_base_pct=140", MICRO] {
                let longer = time_of(&run(programs, settings), "hmmer") / time_of(&fastest, "hmmer");
                assert!(longer < 1.02, "{programs} {settings}: {longer}");
            }
        }
        for settings in ["edp=true", "edp_base_pct=140", MICRO, REAL] {
            assert!(share_up_to(&run("lbm:4", settings), 1600) > 0.9, "{settings}");
        }
        // Section 5: with sorting two that compute always run beside two that wait, and the low clock is never used.
        let sorted = "sorted=true,sorted_slice_us=100000,intensity_weight_pct=100";
        for settings in ["edp=true", "edp_base_pct=140", MICRO] {
            let report = run("hmmer,gamess,lbm,mcf,soplex,namd,gromacs,libquantum", &format!("{sorted},{settings}"));
            let ended = report["apps"].as_array().unwrap().iter().map(|app| app["time_s"].as_f64().unwrap());
            let first = ended.fold(f64::MAX, f64::min);
            let low = share_up_to(&report, 1600) * time(&report);
            assert!(
                low <= time(&report) - first + 0.02,
                "{settings}: {low} s of {} s, the first ends at {first} s",
                time(&report)
            );
        }
        // The paper's letter for real programs has 0.8 for three that take all of their shares beside one that takes nothing.
        assert!(time_of(&run("lbm:3,hmmer:1", REAL), "hmmer") > 1.4 * time_of(&run("lbm:3,hmmer:1", MICRO), "hmmer"));
    }
}
