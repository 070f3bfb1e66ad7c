// SPDX-License-Identifier: GPL-2.0-only
//! mode=auto where the processor chooses clocks: the slow loop beside the scheduler.

use std::path::Path;
use std::sync::Arc;

use tandem_simulator::metrics::Report;
use tandem_simulator::simulation::{Options, Scheduler};
use tandem_simulator::workload::Workload;

use super::run::{for_ms, options, periodic, with};
use crate::long::combinations::scheduler::{audited_run, machine};

/// A run with mode=auto, with the slow loop beside the scheduler or without.
fn under(governor: &str, name: &str, workload: &Workload, steered: bool) -> Report {
    let mut options = Options { governor: governor.parse().unwrap(), ..options(with(&[("mode", "auto")])) };
    let Scheduler::SchedExt(scheduler) = &mut options.scheduler else { unreachable!("it is Tandem") };
    if !steered {
        Arc::make_mut(scheduler).sidecar.as_mut().unwrap().steering = None;
    }
    audited_run(&machine(name), workload, &options)
}

fn on(name: &str, workload: &Workload, steered: bool) -> Report {
    under("default", name, workload, steered)
}

/// What the loop counted under this name; `None`: there was none.
fn counted(report: &Report, name: &str) -> Option<u64> {
    let statistics = &report.sched_ext.as_ref().unwrap().statistics;
    statistics.iter().find(|(known, _)| known == name).map(|(_, count)| *count)
}

/// A millisecond of the fastest CPU in each 20. Firmware sees a burst when it looks next, up to a millisecond later; until then the
/// clock is the lowest, 1600 MHz in place of 800.
#[test]
fn a_clock_below_the_cheapest_one_is_not_used() {
    let light = for_ms(2000, [periodic("light", 1, 20)]);
    let (alone, steered) = (on("i9-12900k", &light, false), on("i9-12900k", &light, true));
    let busy = |report: &Report| report.cpus.iter().map(|cpu| cpu.busy_s).sum::<f64>();
    assert!(busy(&steered) < 0.95 * busy(&alone), "{} s, {} s", busy(&steered), busy(&alone));
    assert!(
        steered.energy_j.cores < 1.01 * alone.energy_j.cores,
        "{} J, {} J",
        steered.energy_j.cores,
        alone.energy_j.cores
    );
    // Ten clocks: a floor each, and once each is lightly used for four looks a preference. One look each 200 ms, the first at once,
    // the last at the end.
    assert_eq!((counted(&steered, "steering_changes"), counted(&steered, "steering_looks")), (Some(20), Some(11)));
    assert_eq!(counted(&alone, "steering_looks"), None);
}

/// Where a thread computes all the time the processor is told nothing. What is short beside it may be done sooner.
#[test]
fn what_computes_is_no_slower_than_without() {
    let computing = Workload::load(Path::new("forkjoin")).unwrap();
    for name in ["i9-12900k", "ryzen-ai-9-hx-370"] {
        let (alone, steered) = (on(name, &computing, false), on(name, &computing, true));
        let ratio = steered.time_s / alone.time_s;
        assert!((0.95..=1.01).contains(&ratio), "{name}: {ratio}");
    }
}

#[test]
fn the_same_run_comes_out_the_same() {
    let locks = Workload::load(Path::new("locks")).unwrap();
    assert_eq!(on("ryzen-ai-9-hx-370", &locks, true), on("ryzen-ai-9-hx-370", &locks, true));
}

/// Where a governor of the kernel chooses clocks, and where one of the driver's does not follow the load, there is nothing to steer.
#[test]
fn where_the_processor_does_not_choose_clocks_nothing_is_different() {
    let locks = Workload::load(Path::new("locks")).unwrap();
    for (governor, name) in
        [("default", "epyc-9554-2s"), ("performance", "i9-12900k"), ("passive:performance", "i9-12900k")]
    {
        let (alone, steered) = (under(governor, name, &locks, false), under(governor, name, &locks, true));
        assert_eq!(counted(&steered, "steering_looks"), None, "{name} {governor}");
        assert_eq!((steered.time_s, steered.energy_j.total), (alone.time_s, alone.energy_j.total), "{name} {governor}");
    }
}

/// Machines on which nothing was chosen.
#[test]
fn on_another_machine_energy_does_not_rise_and_nothing_gets_slower() {
    for name in ["locks", "pipeline", "periodic"] {
        let workload = Workload::load(Path::new(name)).unwrap();
        let (alone, steered) = (on("core-ultra-7-258v", &workload, false), on("core-ultra-7-258v", &workload, true));
        let ratios = (steered.time_s / alone.time_s, steered.energy_j.total / alone.energy_j.total);
        assert!(ratios.0 <= 1.01 && ratios.1 <= 1.01, "{name}: time and energy {ratios:?}");
    }
}
