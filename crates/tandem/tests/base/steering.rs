// SPDX-License-Identifier: GPL-2.0-only
//! mode=auto where the processor chooses clocks: the slow loop beside the scheduler.

use std::path::Path;

use tandem_simulator::metrics::Report;
use tandem_simulator::simulation::Options;
use tandem_simulator::workload::Workload;

use super::run::{for_ms, options, periodic, with, within};
use crate::long::combinations::scheduler::{audited_run, machine};

fn under(governor: &str, name: &str, workload: &Workload, mode: &str) -> Report {
    let options = Options { governor: governor.parse().unwrap(), ..options(with(&[("mode", mode)])) };
    audited_run(&machine(name), workload, &options)
}

fn on(name: &str, workload: &Workload, mode: &str) -> Report {
    under("default", name, workload, mode)
}

/// What the loop counted under this name; `None`: there was none.
fn counted(report: &Report, name: &str) -> Option<u64> {
    let statistics = &report.sched_ext.as_ref().unwrap().statistics;
    statistics.iter().find(|(known, _)| known == name).map(|(_, count)| *count)
}

/// 200 us of the fastest P-core in each 2 ms. As found it runs at 1250 to 800 MHz: the share of a millisecond that it is busy,
/// times 1.25, of 5200 MHz, and half of the way down each time. At 1600 MHz, where work costs least, it is done sooner.
#[test]
fn a_clock_below_the_cheapest_one_is_not_used() {
    let light = for_ms(2000, [periodic("light", 1, 20)]);
    let (none, auto) = (on("i9-12900k", &light, "none"), on("i9-12900k", &light, "auto"));
    let busy = |report: &Report| report.cpus.iter().map(|cpu| cpu.busy_s).sum::<f64>();
    assert!(busy(&auto) < 0.95 * busy(&none), "{} s, {} s", busy(&auto), busy(&none));
    assert!(auto.energy_j.cores < 1.01 * none.energy_j.cores, "{} J, {} J", auto.energy_j.cores, none.energy_j.cores);
    // Ten clocks: a floor each, and once each is lightly used for four looks a preference. One look each 200 ms, the first at once.
    assert_eq!((counted(&auto, "steering_changes"), counted(&auto, "steering_looks")), (Some(20), Some(10)));
    assert_eq!(counted(&none, "steering_looks"), None);
}

/// A thread that computes all the time is told nothing: its clock is the highest with and without.
#[test]
fn what_computes_is_as_fast_as_without() {
    let computing = Workload::load(Path::new("forkjoin")).unwrap();
    for name in ["i9-12900k", "ryzen-ai-9-hx-370"] {
        let (none, auto) = (on(name, &computing, "none"), on(name, &computing, "auto"));
        within(auto.time_s / none.time_s, 1.0, 0.01);
    }
}

#[test]
fn the_same_run_comes_out_the_same() {
    let locks = Workload::load(Path::new("locks")).unwrap();
    assert_eq!(on("ryzen-ai-9-hx-370", &locks, "auto"), on("ryzen-ai-9-hx-370", &locks, "auto"));
}

/// Where a governor of the kernel chooses clocks, and where one of the driver's does not follow the load, there is nothing to steer.
#[test]
fn where_the_processor_does_not_choose_clocks_nothing_is_different() {
    let locks = Workload::load(Path::new("locks")).unwrap();
    for (governor, name) in
        [("default", "epyc-9554-2s"), ("performance", "i9-12900k"), ("passive:performance", "i9-12900k")]
    {
        let (none, auto) = (under(governor, name, &locks, "none"), under(governor, name, &locks, "auto"));
        assert_eq!(counted(&auto, "steering_looks"), None, "{name} {governor}");
        assert_eq!((auto.time_s, auto.energy_j.total), (none.time_s, none.energy_j.total), "{name} {governor}");
    }
}

/// Machines on which nothing was chosen.
#[test]
fn on_another_machine_energy_does_not_rise_and_nothing_gets_slower() {
    for name in ["locks", "pipeline", "periodic"] {
        let workload = Workload::load(Path::new(name)).unwrap();
        let (none, auto) = (on("core-ultra-7-258v", &workload, "none"), on("core-ultra-7-258v", &workload, "auto"));
        let ratios = (auto.time_s / none.time_s, auto.energy_j.total / none.energy_j.total);
        assert!(ratios.0 <= 1.01 && ratios.1 <= 1.01, "{name}: time and energy {ratios:?}");
    }
}
