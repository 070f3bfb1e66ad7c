use proptest::prelude::*;
use tandem_simulator::kernel::topology::Topology;
use tandem_simulator::machine::Machine;
use tandem_simulator::simulation::{KernelParameters, Options, simulate};
use tandem_simulator::units::{MSEC, Nanos, SEC, seconds};
use tandem_simulator::workload::{Op, Workload};

use crate::support::any_machine::any_machine;
use crate::support::any_workload::any_workload;
use crate::support::starvation::Starvation;
use crate::support::{any_options, cases};

fn bound(machine: &Machine, kernel: &KernelParameters) -> Nanos {
    let topology = Topology::of(machine);
    let levels = topology
        .chains
        .iter()
        .map(|chain| chain.iter().map(|domain| 2 * topology.domains[*domain].min_interval + kernel.tick()).sum());
    levels.max().unwrap_or(0) + kernel.tick()
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn measure(machine in any_machine(), workload in any_workload(), options in any_options()) {
        let machine = machine.build();
        let mut workload = workload;
        if std::env::var_os("AFF").is_none() {
        for task in &mut workload.tasks { task.affinity = None;
            for op in &mut task.program { if let Op::SetAffinity(_) = op { *op = Op::Yield } } }
        }
        if std::env::var_os("RT").is_none() {
        for task in &mut workload.tasks { if !matches!(task.scheduling.policy, tandem_simulator::workload::Policy::Other{..}) { task.scheduling = Default::default() };
            for op in &mut task.program { if let Op::SetScheduling(_) = op { *op = Op::Yield } } }
        }
        let kernel = KernelParameters { load_balance: true, energy_aware: false, ..options.kernel };
        let options = Options { time_limit: Some(2 * SEC), kernel, ..options };
        let mut starvation = Starvation::new(&machine, &workload);
        let report = simulate(&machine, &workload, &options, &mut starvation).unwrap_or_else(|error| panic!("{error}"));
        let b = bound(&machine, &options.kernel);
        let ratio = starvation.worst.0 as f64 / b as f64;
        println!("STAT cpus {} tasks {} events {} switches {} migrations {} time {} worst {:.3} ms bound {:.3} ratio {ratio:.3}", machine.cpus.len(), report.tasks.len(), report.events, report.switches, report.migrations, report.time_s, starvation.worst.0 as f64/1e6, b as f64/1e6);
        prop_assert!(ratio < std::env::var("LIM").map(|s| s.parse().unwrap()).unwrap_or(1.0), "{:?}", starvation.worst);
    }
}
