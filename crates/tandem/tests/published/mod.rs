// SPDX-License-Identifier: GPL-2.0-only
//! Published schedulers give threads the same shares in the simulator as in a kernel, and are called as often: the cases of
//! `scenarios/published`, compared.
//!
//! `scenarios/published/kernel` has what a kernel did, as `guest/published` recorded it; `PUBLISHED=FOLDER` names another recording.
//! `cargo test -p tandem-sched --test all published:: -- --ignored --nocapture` prints the tables of docs/fidelity.md.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tandem_simulator::simulation::{KernelParameters, SchedExt, Scheduler};

use crate::compiled::object_path;
use crate::recorded;
use crate::switches::case::{Case, Recorded};
use crate::switches::simulated;

/// The simulator's runs, of which the mean counts.
const SEEDS: u64 = 5;
/// Points of a CPU's time by which a thread's share may differ.
const POINTS: f64 = 3.0;
/// By which share of the kernel's number that of calls may differ, or by how many a second, whichever is more: threads that are not
/// the case's wake up four times a second in the guest, where nothing else runs, and ten times in the simulator, as on a desktop.
const APART: f64 = 0.1;
const FEW: f64 = 10.0;
/// Characters that a kernel keeps of a program's name.
const NAME: usize = 15;

/// Where `scripts/published` puts objects, or the kernel's example.
fn object(scheduler: &str) -> PathBuf {
    if scheduler == "scx_simple" {
        return object_path(scheduler).to_owned();
    }
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.unwrap_or_else(|| Path::new(&std::env::var_os("HOME").expect("a home")).join(".cache"));
    let path = cache.join("tandem/tools/published").join(format!("{scheduler}.bpf.o"));
    assert!(path.exists(), "{} is missing: scripts/published builds it", path.display());
    path
}

fn opened(scheduler: &str) -> Scheduler {
    let text = object(scheduler).display().to_string();
    Scheduler::SchedExt(Arc::new(SchedExt::open(&text).unwrap_or_else(|error| panic!("{error}"))))
}

/// Each case with each of its schedulers, and what the kernel did.
fn runs() -> Vec<(Case, String, Recorded)> {
    let cases = recorded::cases::<Case>("published").into_iter();
    let runs = cases.flat_map(|case| {
        let kernel = case.kernel("published", "PUBLISHED");
        let schedulers = case.schedulers.clone().into_iter();
        schedulers.zip(kernel).map(|(scheduler, kernel)| (case.clone(), scheduler, kernel)).collect::<Vec<_>>()
    });
    runs.collect()
}

/// A kernel that is disturbed, as all are; sleepers have no slack in the guest.
fn parameters() -> KernelParameters {
    KernelParameters { disturbances: true, timer_slack: Some(0), ..KernelParameters::default() }
}

/// Whether shares are known to differ.
fn mark(case: &Case, scheduler: &str) -> &'static str {
    if case.known.iter().any(|known| known == scheduler) { " (known)" } else { "" }
}

/// Mean shares over all seeds.
fn shares(case: &Case, scheduler: &Scheduler) -> Vec<f64> {
    let runs: Vec<_> = (0..SEEDS).map(|seed| simulated::run(case, scheduler, &parameters(), seed).shares).collect();
    (0..runs[0].len()).map(|thread| runs.iter().map(|run| run[thread]).sum::<f64>() / SEEDS as f64).collect()
}

#[test]
#[ignore = "scripts/published builds its objects"]
fn threads_get_the_shares_that_a_kernel_gives_them() {
    let mut wrong = Vec::new();
    println!(
        "| case | scheduler | shares of threads in %: kernel | simulator | farthest apart |\n| --- | --- | --- | --- | ---: |"
    );
    for (case, scheduler, kernel) in runs() {
        let (kernel, here) = (kernel.shares(&case), shares(&case, &opened(&scheduler)));
        assert_eq!(kernel.len(), here.len(), "{}", case.name);
        let apart = kernel.iter().zip(&here).map(|(kernel, here)| (kernel - here).abs()).fold(0.0, f64::max);
        let text = |shares: &[f64]| shares.iter().map(|share| format!("{share:.0}")).collect::<Vec<_>>().join(" ");
        let row = format!(
            "| {} | {scheduler}{} | {} | {} | {apart:.1} |",
            case.name,
            mark(&case, &scheduler),
            text(&kernel),
            text(&here),
        );
        println!("{row}");
        if apart > POINTS && mark(&case, &scheduler).is_empty() {
            wrong.push(row);
        }
    }
    assert!(wrong.is_empty(), "the simulator and the kernel differ:\n{}", wrong.join("\n"));
}

/// How often the kernel called a callback of a scheduler, by the name that it keeps of the program.
fn in_kernel(kernel: &Recorded, scheduler: &str, callback: &str) -> u64 {
    let prefix = scheduler.strip_prefix("scx_").unwrap_or(scheduler);
    let mut name = format!("{prefix}_{callback}");
    name.truncate(NAME);
    kernel.calls.get(&name).copied().unwrap_or(0)
}

/// Mean calls over all seeds, in a second.
fn calls(case: &Case, scheduler: &Scheduler) -> BTreeMap<String, f64> {
    let mut sums = BTreeMap::<String, f64>::new();
    for seed in 0..SEEDS {
        for (name, calls) in simulated::calls(case, scheduler, &parameters(), seed) {
            *sums.entry(name).or_default() += calls / SEEDS as f64;
        }
    }
    sums
}

#[test]
#[ignore = "scripts/published builds its objects"]
fn callbacks_are_called_as_often_as_by_a_kernel() {
    let mut wrong = Vec::new();
    println!("| case | scheduler | calls per s: kernel | simulator |\n| --- | --- | --- | --- |");
    for (case, scheduler, kernel) in runs() {
        let here = calls(&case, &opened(&scheduler));
        let (mut recorded, mut simulated, mut apart) = (Vec::new(), Vec::new(), Vec::new());
        for (callback, here) in here {
            let kernel = in_kernel(&kernel, &scheduler, &callback) as f64 / case.seconds as f64;
            if kernel < 1.0 && here < 1.0 {
                continue;
            }
            recorded.push(format!("{callback} {kernel:.0}"));
            simulated.push(format!("{here:.0}"));
            if (here - kernel).abs() > FEW.max(APART * kernel) {
                apart.push(callback);
            }
        }
        println!("| {} | {scheduler} | {} | {} |", case.name, recorded.join(", "), simulated.join(", "));
        if !apart.is_empty() {
            wrong.push(format!("{} under {scheduler}: {}", case.name, apart.join(", ")));
        }
    }
    assert!(wrong.is_empty(), "the simulator and the kernel differ:\n{}", wrong.join("\n"));
}
