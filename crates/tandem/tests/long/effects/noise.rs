// SPDX-License-Identifier: GPL-2.0-only
//! Grant & Afsahi, "Improving energy efficiency of asymmetric chip multithreaded multiprocessors through reduced OS noise
//! scheduling", on their PowerEdge 2850.
//!
//! The paper does not say how long and how frequent its noise is; here it takes 5 % of one CPU, as the generator
//! `scientific` has it: three daemons of 1 ms in 100 ms, exponential, and a monitor of 2 ms in 100 ms (papers/noise has the
//! source of that amount). A program's work is the same
//! with any number of threads, in static shares, as loops under OpenMP are. Runs take half a second to two and a half
//! instead of minutes. The default is the fair class, all contexts with a thread, all cores at 2.8 GHz.
//!
//! What appears of the paper: with one thread less and noise on a CPU of its own, programs that saturate the memory are
//! faster on eight contexts and on one chip, and both schedulers save energy on eight. What does not: that the others are
//! faster as well. A thread less takes 10 % and more from them. The 17 % of the paper would need more noise than is
//! assumed here, or what it did to caches.

use std::ops::Range;

use serde_json::json;

use super::support::{Estimate, FEW, Report, SEEDS, Workload, print};

/// The six programs of the paper, and the length of an iteration of theirs in microseconds, of the whole program's threads.
const PROGRAMS: [(&str, u32); 6] =
    [("swim", 10_000), ("mgrid", 5_000), ("art", 10_000), ("apsi", 1_000), ("fma3d", 6_000), ("wupwise", 10_000)];
/// Those whose threads ask for more than the memory gives on eight contexts.
const STREAMS: Range<usize> = 0..3;
const ALL: Range<usize> = 0..6;

const HTON_8_2: &str = "poweredge-2850";
const HTON_4_1: &str = "poweredge-2850:free-hton-4-1";
const HTOFF_4_2: &str = "poweredge-2850:free-htoff-4-2";
const DEFAULT: &str = "fair+performance";

/// A program of half a second's work for each of `contexts`, divided among `threads`.
fn program(number: usize, threads: u32, contexts: u32) -> Workload {
    let (name, iteration) = PROGRAMS[number];
    let iterations = (500_000 / iteration).to_string();
    let share = format!("{}us", iteration * contexts / threads);
    let threads = threads.to_string();
    let options = ["--program", name, "--threads", &threads, "--iterations", &iterations, "--iteration", &share];
    Workload::generated(&[&["scientific"], &options[..]].concat())
}

/// Programs under a scheduler against the same under a baseline.
struct Contest {
    machine: &'static str,
    tried: Vec<Workload>,
    /// Of each seed those of each program.
    baseline: Vec<Vec<Report>>,
    seeds: Range<u64>,
}

/// Shares of the baseline's time and energy that a scheduler spares, and its energy times time over the baseline's.
struct Outcome {
    speedup: Estimate,
    saving: Estimate,
    edp: Estimate,
}

fn run(workloads: &[Workload], machine: &str, scheduler: &str, seeds: Range<u64>) -> Vec<Vec<Report>> {
    let all = |seed| workloads.iter().map(|it| Report::of(it, machine, scheduler, seed, &[])).collect();
    seeds.map(all).collect()
}

impl Contest {
    /// With a thread on each of `contexts` under `baseline`, and `fewer` less under the scheduler that is to be tried.
    fn new(machine: &'static str, contexts: u32, fewer: u32, programs: Range<usize>, baseline: &str) -> Self {
        Self::over(SEEDS, machine, [contexts, fewer], programs, baseline)
    }

    fn over(
        seeds: Range<u64>,
        machine: &'static str,
        [contexts, fewer]: [u32; 2],
        programs: Range<usize>,
        baseline: &str,
    ) -> Self {
        let with = |threads| programs.clone().map(|it| program(it, threads, contexts)).collect::<Vec<_>>();
        let baseline = run(&with(contexts), machine, baseline, seeds.clone());
        Self { machine, tried: with(contexts - fewer), baseline, seeds }
    }

    /// The means over the programs.
    fn outcome(&self, scheduler: &str) -> Outcome {
        let tried = run(&self.tried, self.machine, scheduler, self.seeds.clone());
        let mean = |value: &dyn Fn(&Report, &Report) -> f64| {
            let pairs = tried.iter().zip(&self.baseline);
            let of_seed = |(new, old): (&Vec<Report>, &Vec<Report>)| {
                new.iter().zip(old).map(|(new, old)| value(new, old)).sum::<f64>() / new.len() as f64
            };
            Estimate::of(&pairs.map(of_seed).collect::<Vec<_>>())
        };
        Outcome {
            speedup: mean(&|new, old| 1.0 - new.time() / old.time()),
            saving: mean(&|new, old| 1.0 - new.energy() / old.energy()),
            edp: mean(&|new, old| new.edp() / old.edp()),
        }
    }
}

/// Sections 5 and 7.1: 5.3 % and 1.4 % for the mean of six programs.
#[test]
fn streams_are_faster_with_a_thread_less_once_noise_has_its_own_cpu() {
    let contest = Contest::new(HTON_8_2, 8, 1, STREAMS, DEFAULT);
    let speedup = contest.outcome("tandem,isolate=dedicated,os_mhz=2800+schedutil").speedup;
    print("HTon-7-2, swim, mgrid, art: PS-Sched-1 at 2.8 GHz, speedup", speedup, "0.014 and 0.053 (six programs)");
    assert!(speedup.is_above(0.0) && speedup.is_within(0.005..=0.16), "{speedup}");
}

/// 17.2 % on HTon-3-1 and 8.6 % on HToff-3-2 in the paper, the mean of six programs. Those that stream gain a little on one
/// chip, whose bus three threads fill as well as four do. On two chips only swim and mgrid do; of art each thread has an L2.
#[test]
fn on_four_contexts_a_thread_less_costs_streams_little() {
    let cases = [(HTON_4_1, "HTon-3-1", "0.172", 0.005..=0.172), (HTOFF_4_2, "HToff-3-2", "0.086", -0.05..=0.086)];
    for (machine, name, paper, range) in cases {
        let contest = Contest::new(machine, 4, 1, STREAMS, DEFAULT);
        let speedup = contest.outcome("tandem,isolate=dedicated,os_mhz=2800+schedutil").speedup;
        print(&format!("{name}, swim, mgrid, art: PS-Sched-1 at 2.8 GHz, speedup"), speedup, paper);
        assert!(speedup.is_within(range), "{name} {speedup}");
    }
}

/// Section 7.3: over all programs and clocks 1.6 % are saved for 0.7 % of time.
#[test]
fn a_slower_core_for_noise_saves_energy() {
    let contest = Contest::new(HTON_8_2, 8, 1, STREAMS, DEFAULT);
    let full = contest.outcome("tandem,isolate=dedicated,os_mhz=2800+schedutil").saving;
    let mut savings = vec![full];
    for mhz in [2400, 2100] {
        let scheduler = format!("tandem,isolate=dedicated,os_mhz={mhz}+schedutil");
        let Outcome { saving, speedup, .. } = contest.outcome(&scheduler);
        print(&format!("AMP-HTon-7-2, swim, mgrid, art: OS core at {mhz} MHz, saving"), saving, "0.016 (six programs)");
        print(&format!("AMP-HTon-7-2, swim, mgrid, art: OS core at {mhz} MHz, speedup"), speedup, "-0.007");
        assert!(saving.mean > savings.last().unwrap().mean && saving.is_within(0.005..=0.05), "{saving} {full}");
        assert!(speedup.is_within(-0.02..=0.05), "{speedup}");
        savings.push(saving);
    }
    // A step of the clock adds less than the interval, both do more.
    assert!(savings.last().unwrap().is_above(full.mean), "{full}");
}

/// Section 7.3: 3.8 % are saved for 0.8 % of time, apsi at 2.4 GHz left out.
#[test]
fn slower_cores_beside_a_fast_one_for_noise_save_energy() {
    let contest = Contest::new(HTON_8_2, 8, 0, STREAMS, DEFAULT);
    let scheduler = "tandem,isolate=shared,rest_mhz=2400+schedutil";
    let Outcome { saving, speedup, .. } = contest.outcome(scheduler);
    print("AMP-HTon-8-2, swim, mgrid, art: others at 2400 MHz, saving", saving, "0.038");
    print("AMP-HTon-8-2, swim, mgrid, art: others at 2400 MHz, speedup", speedup, "-0.008");
    assert!(saving.is_above(0.0) && saving.is_within(0.005..=0.115), "{saving}");
    assert!(speedup.is_within(-0.025..=0.025), "{speedup}");
}

/// Beyond the paper, which fixes clocks: the OS CPU's follows the noise, and noise gets what it needs all the same. It
/// saves nothing here: the machine's clocks stop and go at the same voltage, so that the same work costs the same.
#[test]
fn a_clock_that_follows_the_noise_is_low_and_starves_nobody() {
    let workload = [program(5, 3, 4)];
    let follows = run(&workload, HTOFF_4_2, "tandem,isolate=dedicated+schedutil", SEEDS);
    let fixed = run(&workload, HTOFF_4_2, "tandem,isolate=dedicated,os_mhz=2800+schedutil", SEEDS);
    let noise = |report: &Report| {
        let tasks = report.0["tasks"].as_array().unwrap();
        let of_system = tasks.iter().filter(|task| task["system"] == true);
        of_system.map(|task| task["work_s"].as_f64().unwrap()).sum::<f64>() / report.time()
    };
    let each = |value: &dyn Fn(&Report, &Report) -> f64| {
        Estimate::of(&follows.iter().zip(&fixed).map(|(one, other)| value(&one[0], &other[0])).collect::<Vec<_>>())
    };
    let below = each(&|follows, _| follows.share_at(0, 2800));
    let done = each(&|follows, fixed| noise(follows) / noise(fixed));
    let energy = each(&|follows, fixed| follows.energy() / fixed.energy());
    assert!(follows.iter().all(|seed| seed[0].count("isolate_noise") > 0), "noise never ran on its CPU");
    print("HToff-3-2, wupwise: OS CPU's time at 2.8 GHz", below, "1 (fixed)");
    print("HToff-3-2, wupwise: noise done, clock follows it / 2.8 GHz", done, "not in the paper");
    print("HToff-3-2, wupwise: energy, clock follows noise / 2.8 GHz", energy, "not in the paper");
    assert!(
        below.is_below(0.25) && done.is_within(0.85..=1.05) && energy.is_within(0.99..=1.01),
        "{below} {done} {energy}"
    );
}

/// The six programs with everything on, against the fair class under schedutil.
#[test]
fn all_mechanisms_together_lower_energy_times_time_of_noisy_programs() {
    // On eight contexts 5 % are saved, ten times what seeds differ by; on four 1 %.
    for (machine, name, contexts, seeds) in [(HTON_8_2, "HTon-8-2", 8, FEW), (HTON_4_1, "HTon-4-1", 4, SEEDS)] {
        let contest = Contest::over(seeds, machine, [contexts, 0], ALL, "fair+schedutil");
        let edp = contest.outcome("tandem,all=true+schedutil").edp;
        print(&format!("{name}, six programs: all / fair+schedutil, EDP"), edp, "not in the paper");
        assert!(edp.is_below(1.0), "{name} {edp}");
    }
}

/// Section 7.1: PS-Sched-2 with all cores at 2.8 GHz is 0.9 and 8.4 % slower on HTon-4-1 and HTon-8-2, as its thread beside the noise
/// is late, and all wait for it. Noise of 5 % of a CPU costs no more than a percent here, over a fair class with noise anywhere, whose
/// ticks come at 250 Hz; it is no less where noise runs when it wakes (papers/noise has ticks at 1000 Hz).
#[test]
fn noise_beside_a_thread_costs_programs_little() {
    for (machine, name, contexts, paper) in [(HTON_4_1, "HTon-4-1", 4, "-0.009"), (HTON_8_2, "HTon-8-2", 8, "-0.084")] {
        let contest = Contest::new(machine, contexts, 0, ALL, DEFAULT);
        let speedup = |settings| contest.outcome(&format!("tandem,isolate=shared{settings}+performance")).speedup;
        let (letter, waits) = (speedup(",noise_preempts=true"), speedup(""));
        print(&format!("{name}, six programs: PS-Sched-2 at 2.8 GHz, speedup"), letter, paper);
        print(&format!("{name}, six programs: the same, noise waits for a tick"), waits, "not in the paper");
        assert!(letter.is_within(-0.01..=0.01) && letter.mean < waits.mean + waits.half, "{name} {letter} {waits}");
    }
}

/// Two threads that share the one fast CPU look half as busy as they are, so that their work seems to cost least there: they do not
/// stay beside an idle slow CPU. Four times 2 s of work on a CPU and three that are a seventh slower are 8 / (1 + 3 * 2.4 / 2.8) = 2.24 s;
/// turns on the fast CPU refill caches.
#[test]
fn threads_that_compute_use_the_slow_cpus_too() {
    let thread = json!({ "instance": 4, "loop": 200, "run": 10_000, "tandem": { "application": "a" } });
    let workload = Workload::new(&json!({ "tasks": { "thread": thread } }));
    for scheduler in ["tandem+performance", "tandem,isolate=shared+performance"] {
        let report = Report::of(&workload, "poweredge-2850:ps2-htoff-4-2-2400", scheduler, 0, &[]);
        assert!((2.24..2.4).contains(&report.time()), "{scheduler}: {} s", report.time());
    }
}
