// SPDX-License-Identifier: MIT OR Apache-2.0
//! A case: everything that a run depends on.

use proptest::prelude::*;
use proptest::strategy::BoxedStrategy;
use tandem_simulator::simulation::{Hotplug, Options};
use tandem_simulator::units::{MSEC, Nanos, SEC};

use super::any_hotplug::any_hotplug;
use super::any_options::any_options;
use super::machines::{MachinePlan, any_machine_plan};
use super::schedulers::{SchedulerPlan, any_scheduler_plan};
use super::workloads::{WorkloadPlan, any_workload_plan};
use crate::objects::Objects;

/// Everything that a run depends on.
#[derive(Debug, Clone)]
pub struct Case {
    /// The machine.
    pub machine: MachinePlan,
    /// What threads do there.
    pub workload: WorkloadPlan,
    /// The scheduler.
    pub scheduler: SchedulerPlan,
    /// Governor, seed, kernel parameters; everything else of it is set by the other parts of the case.
    pub options: Options,
    /// CPUs that come and go; changes that the machine does not allow are left out.
    pub hotplug: Vec<Hotplug>,
    /// Simulated time after which the run ends.
    pub limit: Nanos,
}

/// Any case with these objects.
pub fn any_case(objects: &Objects) -> BoxedStrategy<Case> {
    let hotplug = prop_oneof![2 => Just(Vec::new()), 1 => any_hotplug()];
    // Short runs are many. A few outlast the watchdog of a loaded scheduler.
    let limit = prop_oneof![
        20 => (1..100u64).prop_map(|ms| ms * MSEC),
        3 => (1..10u64).prop_map(|tenths| tenths * SEC / 10),
        1 => Just(10 * SEC),
    ];
    let price = prop_oneof![Just(1_000_u64), Just(0), Just(20_000)];
    let parts = (any_machine_plan(), any_workload_plan(), any_scheduler_plan(objects), any_options(), hotplug);
    (parts, limit, price)
        .prop_map(|((machine, workload, scheduler, mut options, hotplug), limit, price)| {
            options.kernel.bpf_insn_ps = price;
            // A program that loops without end is stopped sooner than by default, as most cases are small.
            options.kernel.bpf_budget = 1_000_000;
            Case { machine, workload, scheduler, options, hotplug, limit }
        })
        .boxed()
}
