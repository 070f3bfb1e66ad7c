// SPDX-License-Identifier: GPL-2.0-only
//! The simulator does what a kernel did: the files in `scenarios`, each run by both, compared.
//!
//! `scenarios/kernel` has what a kernel did, as `guest/tests/fidelity` recorded it; `FIDELITY=FOLDER` names another recording.
//! `cargo test -p tandem-sched --test all fidelity:: -- --nocapture` prints the tables of docs/fidelity.md.

mod normal;
mod run;
mod scenario;
pub mod simulated;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use run::Run;
use scenario::{Compared, Scenario};

/// Points of a CPU's time by which a thread's share may differ.
const POINTS: f64 = 3.0;
/// Points of a CPU's time by which a share may differ if the host took more than `NOISY` percent of the guest's time.
const NOISY_POINTS: f64 = 10.0;
const NOISY: f64 = 10.0;
/// Share by which the time that a group waits for its limit may differ.
const THROTTLED: f64 = 0.05;
/// Where it took more of the guest's time than it gave, nothing can be said.
const HOPELESS: f64 = 100.0;

/// Every scenario that compares `what`, under each of its schedulers, with what the kernel did and what the simulator does.
fn runs(what: Compared) -> Vec<(Scenario, String, Run, Run)> {
    let all = Scenario::all();
    assert!(!all.is_empty(), "there are no scenarios");
    let mut runs = Vec::new();
    for scenario in all.into_iter().filter(|scenario| scenario.compare.contains(&what)) {
        for (number, scheduler) in scenario.schedulers.iter().enumerate() {
            let kernel = scenario.kernel(number);
            let simulated = simulated::run(&scenario, scheduler);
            runs.push((scenario.clone(), scheduler.clone(), kernel, simulated));
        }
    }
    runs
}

/// Fails with all that is wrong, unless the scenario says that it is known.
fn judge(wrong: &[String]) {
    assert!(wrong.is_empty(), "the simulator and the kernel differ:\n{}", wrong.join("\n"));
}

#[test]
fn threads_get_the_shares_of_cpu_time_that_a_kernel_gives_them() {
    let mut table =
        String::from("| scenario | scheduler | thread | kernel % | simulator % | difference | stolen % |\n");
    table += "| --- | --- | --- | ---: | ---: | ---: | ---: |\n";
    let mut wrong = Vec::new();
    for (scenario, scheduler, kernel, simulated) in runs(Compared::Shares) {
        assert!(kernel.shares.keys().eq(simulated.shares.keys()), "{}: {kernel:?}, {simulated:?}", scenario.name);
        for (thread, in_kernel) in &kernel.shares {
            let here = simulated.shares[thread];
            let difference = here - in_kernel;
            let known = scenario.knows(&scheduler);
            let undecided = kernel.stolen > HOPELESS;
            let mark = if known {
                " (known)"
            } else if undecided {
                " (undecided)"
            } else {
                ""
            };
            let row = format!(
                "| {} | `{scheduler}` | {thread} | {in_kernel:.1} | {here:.1} | {difference:+.1}{mark} | {:.0} |",
                scenario.name, kernel.stolen
            );
            let _ = writeln!(table, "{row}");
            let allowed = if kernel.stolen > NOISY { NOISY_POINTS } else { POINTS };
            if difference.abs() > allowed && !known && !undecided {
                wrong.push(row);
            }
        }
    }
    println!("{table}");
    judge(&wrong);
}

#[test]
fn limited_groups_wait_as_long_as_a_kernel_lets_them() {
    let mut wrong = Vec::new();
    println!(
        "| scenario | scheduler | group | kernel % | simulator % | ratio |\n| --- | --- | --- | ---: | ---: | ---: |"
    );
    for (scenario, scheduler, kernel, simulated) in runs(Compared::Throttled) {
        assert!(kernel.throttled.keys().eq(simulated.throttled.keys()), "{}: {kernel:?}", scenario.name);
        for (group, in_kernel) in &kernel.throttled {
            let here = simulated.throttled[group];
            let ratio = here / in_kernel;
            let row =
                format!("| {} | `{scheduler}` | {group} | {in_kernel:.1} | {here:.1} | {ratio:.3} |", scenario.name);
            println!("{row}");
            if (ratio - 1.0).abs() > THROTTLED && !scenario.knows(&scheduler) && kernel.stolen <= NOISY {
                wrong.push(row);
            }
        }
    }
    judge(&wrong);
}

#[test]
fn threads_end_in_the_order_in_which_a_kernel_ends_them() {
    let mut wrong = Vec::new();
    println!("| scenario | scheduler | order of finishing |\n| --- | --- | --- |");
    for (scenario, scheduler, kernel, simulated) in runs(Compared::Order) {
        println!("| {} | `{scheduler}` | {} |", scenario.name, kernel.order.join(", "));
        if kernel.order != simulated.order && !scenario.knows(&scheduler) {
            wrong.push(format!("{} under {scheduler}: {:?}, not {:?}", scenario.name, simulated.order, kernel.order));
        }
    }
    judge(&wrong);
}

/// Per thread: what one hears, and what the other does.
fn unequal(kernel: &BTreeMap<String, Vec<String>>, simulated: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let threads = kernel.keys().chain(simulated.keys().filter(|thread| !kernel.contains_key(*thread)));
    let of = |seen: &BTreeMap<String, Vec<String>>, thread| seen.get(thread).cloned().unwrap_or_default();
    let mut found = Vec::new();
    for thread in threads {
        let (kernel, simulated) = (of(kernel, thread), of(simulated, thread));
        if kernel != simulated {
            let same = kernel.iter().zip(&simulated).take_while(|(kernel, simulated)| kernel == simulated).count();
            found.push(format!(
                "{thread}, from callback {same} on: {:?}, not {:?}",
                &simulated[same..],
                &kernel[same..]
            ));
        }
    }
    found
}

#[test]
fn each_thread_hears_the_callbacks_that_a_kernel_makes_in_that_order() {
    let formed =
        |run: &Run| run.callbacks.iter().map(|(thread, heard)| (thread.clone(), normal::form(heard))).collect();
    let mut wrong = Vec::new();
    println!("| scenario | scheduler | callbacks of each thread |\n| --- | --- | --- |");
    for (scenario, scheduler, kernel, simulated) in runs(Compared::Callbacks) {
        let (kernel, simulated): (BTreeMap<_, _>, BTreeMap<_, _>) = (formed(&kernel), formed(&simulated));
        assert!(kernel.values().all(|heard: &Vec<String>| !heard.is_empty()), "{}: {kernel:?}", scenario.name);
        let counts: Vec<String> = kernel.iter().map(|(thread, heard)| format!("{thread} {}", heard.len())).collect();
        println!("| {} | `{scheduler}` | {} |", scenario.name, counts.join(", "));
        if !scenario.knows(&scheduler) {
            let found = unequal(&kernel, &simulated);
            wrong.extend(found.iter().map(|found| format!("{} under {scheduler}: {found}", scenario.name)));
        }
    }
    judge(&wrong);
}
