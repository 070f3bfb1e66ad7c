// SPDX-License-Identifier: GPL-2.0-only
//! All mechanisms on very small machines and on a large one.

use rayon::prelude::*;
use tandem_simulator::machine::Machine;
use tandem_simulator::simulation::Scheduler;

use super::scheduler::{assert_same_work, audited_run, machine, options, tandem, workloads};
use crate::equal;

fn does_everything(machine: &Machine) {
    workloads(10).par_iter().for_each(|workload| {
        let fair = audited_run(machine, workload, &options(Scheduler::Fair, 0));
        assert_same_work(&audited_run(machine, workload, &options(tandem("all=true"), 0)), &fair);
    });
}

#[test]
fn one_cpu_does_all_work() {
    does_everything(&equal::machine(1));
}

#[test]
fn two_cpus_do_all_work() {
    does_everything(&equal::machine(2));
}

#[test]
fn three_cpus_do_all_work() {
    does_everything(&equal::machine(3));
}

#[test]
fn a_machine_of_256_cpus_does_all_work() {
    does_everything(&machine("epyc-9554-2s"));
}
