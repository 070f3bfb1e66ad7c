// SPDX-License-Identifier: GPL-2.0-only
//! mode=auto: work where it costs least, and clocks that do not cost much more than that. On hikey960, whose CPUs 0 to 3 are the little
//! ones.

use std::path::Path;

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::simulation::Options;
use tandem_simulator::workload::{Scheduling, Workload};

use super::run::{for_ms, hog, of, options, periodic, then_forever, threads, with, within};
use crate::long::combinations::scheduler::{audited_run, machine};
use crate::long::combinations::support::workload::{thread, timer, work};

fn on_hikey960(workload: &Workload, mode: &str) -> Report {
    on(&machine("hikey960"), workload, mode)
}

fn on(machine: &Machine, workload: &Workload, mode: &str) -> Report {
    let options = Options { governor: "schedutil".parse().unwrap(), ..options(with(&[("mode", mode)])) };
    audited_run(machine, workload, &options)
}

/// Seconds for which the CPUs of a cluster were busy.
fn busy(report: &Report, cpus: std::ops::Range<usize>) -> f64 {
    report.cpus[cpus].iter().map(|cpu| cpu.busy_s).sum()
}

/// It computes for a while, for which it gets a big CPU; then it needs 1 ms in each 20, and would keep that.
#[test]
fn what_needs_little_runs_where_it_costs_least() {
    let light = thread("light", then_forever([work(500)], [work(1), timer(20)]));
    let light = for_ms(4000, [light]);
    let (none, auto) = (on_hikey960(&light, "none"), on_hikey960(&light, "auto"));
    let more = busy(&none, 4..8) - busy(&auto, 4..8);
    assert!(more > 0.05, "{more} s on big CPUs");
    assert!(busy(&auto, 0..4) > 0.3, "{} s on little CPUs", busy(&auto, 0..4));
}

/// The kernel was told that the little CPUs draw a hundred times what they do: the description says better.
#[test]
fn a_description_says_better_than_the_kernel_what_work_costs() {
    let mut mistold = machine("hikey960");
    let little = mistold.performance_domains.iter_mut().min_by_key(|domain| domain.cpus[0]).unwrap();
    little.opps.iter_mut().for_each(|opp| opp.em_watts = opp.em_watts.map(|watts| 100.0 * watts));
    let light = for_ms(2000, [periodic("light", 1, 20)]);
    let (told, mistold) = (on_hikey960(&light, "auto"), on(&mistold, &light, "auto"));
    within(busy(&mistold, 0..4), busy(&told, 0..4), 0.01);
    assert!(busy(&mistold, 0..4) > 0.1, "{} s on little CPUs", busy(&mistold, 0..4));
}

/// It begins as something that needs little, and does not sleep once it needs much.
#[test]
fn what_computes_has_the_fastest_cpu_at_the_highest_clock() {
    let light = [work(1), timer(20)].into_iter().cycle().take(40);
    let grows = of([thread("grows", light.chain([work(2000)]).collect::<Vec<_>>())]);
    within(on_hikey960(&grows, "auto").time_s, 2.45, 0.1);
}

/// Eight threads that meet at a barrier: what the big CPUs take over beside their own work does not have the highest clock.
#[test]
fn what_is_taken_over_does_not_have_the_highest_clock() {
    let noise = Workload::load(Path::new("noise")).unwrap();
    let (none, auto) = (on_hikey960(&noise, "none"), on_hikey960(&noise, "auto"));
    let per_work = |report: &Report| report.energy_j.cores / report.tasks.iter().map(|task| task.work_s).sum::<f64>();
    assert!(per_work(&auto) < 0.9 * per_work(&none), "{} J/s, {} J/s", per_work(&auto), per_work(&none));
    assert!(auto.time_s < 1.3 * none.time_s, "{} s, {} s", auto.time_s, none.time_s);
}

/// A thread with clamps that computes for 4 ms in each 20.
fn clamped(util_min: u32, util_max: u32) -> Workload {
    let mut task = periodic("clamped", 4, 20);
    task.scheduling = Scheduling { util_min: Some(util_min), util_max: Some(util_max), ..task.scheduling };
    for_ms(2000, [task])
}

/// What it needs fits on a little CPU: it goes to a big one only if it is to be taken for more (`uclamp.min`).
#[test]
fn a_lower_clamp_brings_the_cpu_that_it_asks_for() {
    for mode in ["none", "auto"] {
        let (free, clamped) = (on_hikey960(&clamped(0, 1024), mode), on_hikey960(&clamped(1024, 1024), mode));
        assert!(busy(&clamped, 4..8) > 0.9 * (busy(&clamped, 0..8)), "{mode}: {} s", busy(&clamped, 4..8));
        assert!(busy(&free, 4..8) < 0.5 * busy(&free, 0..8), "{mode}: {} s on big CPUs", busy(&free, 4..8));
    }
}

/// What computes without a pause is no misfit on a little CPU if it is to be taken for little (`uclamp.max`): it need not have
/// a big one, which a thread without a clamp takes.
#[test]
fn an_upper_clamp_leaves_big_cpus_to_others() {
    let workload = |util_max| {
        let mut task = hog("clamped");
        task.scheduling = Scheduling { util_max: Some(util_max), ..task.scheduling };
        let others = (0..4).map(|number| hog(&format!("other-{number}")));
        for_ms(2000, [task].into_iter().chain(others).collect::<Vec<_>>())
    };
    for mode in ["none", "auto"] {
        let (free, clamped) = (on_hikey960(&workload(1024), mode), on_hikey960(&workload(100), mode));
        let work = |report: &Report| threads(report, "clamped")[0].work_s;
        assert!(work(&clamped) < 0.75 * work(&free), "{mode}: {} s, {} s", work(&clamped), work(&free));
    }
}
