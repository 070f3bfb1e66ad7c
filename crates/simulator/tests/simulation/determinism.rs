// SPDX-License-Identifier: MIT OR Apache-2.0
//! The same inputs give the same bytes, whatever else runs in other threads.

use proptest::prelude::*;
use tandem_simulator::machine::Machine;
use tandem_simulator::simulation::{Options, simulate};
use tandem_simulator::units::SEC;
use tandem_simulator::workload::Workload;

use super::support::any_machine::any_machine;
use super::support::any_workload::any_workload;
use super::support::observers::{Event, Recorder};
use super::support::{any_options, cases, governed};

/// The report as bytes, and everything that an observer saw.
fn outcome(machine: &Machine, workload: &Workload, options: &Options) -> (String, Recorder) {
    let options = Options { time_limit: Some(SEC), ..options.clone() };
    let mut recorder = Recorder::default();
    let report = simulate(machine, workload, &options, &mut recorder).unwrap_or_else(|error| panic!("{error}"));
    (serde_json::to_string(&report).expect("a report is plain data"), recorder)
}

proptest! {
    #![proptest_config(cases(100, 300))]

    #[test]
    fn the_same_seed_gives_the_same_bytes_and_events(
        spec in any_machine(), workload in any_workload(), options in any_options(),
    ) {
        let machine = spec.build();
        let first = outcome(&machine, &workload, &options);
        let second = outcome(&spec.build(), &workload.clone(), &options);
        prop_assert_eq!(first.0, second.0);
        prop_assert_eq!(first.1, second.1);
    }

    #[test]
    fn an_observer_changes_nothing(spec in any_machine(), workload in any_workload(), options in any_options()) {
        let machine = spec.build();
        let limited = Options { time_limit: Some(SEC), ..options.clone() };
        let unseen = super::support::run_with(&machine, &workload, &limited);
        prop_assert_eq!(outcome(&machine, &workload, &options).0, serde_json::to_string(&unseen).expect("plain data"));
    }
}

#[test]
fn a_batch_gives_the_same_bytes_on_one_thread_and_on_four() {
    let machine = Machine::load("hikey960").expect("a bundled machine");
    let workload = super::support::workload::noisy();
    let runs: Vec<Options> = (0..16).map(|seed| Options { seed, ..governed("schedutil") }).collect();
    let one: Vec<_> = runs.iter().map(|options| outcome(&machine, &workload, options)).collect();
    let four: Vec<_> = std::thread::scope(|scope| {
        let part = |chunk: Vec<Options>| {
            let (machine, workload) = (&machine, &workload);
            scope.spawn(move || chunk.iter().map(|options| outcome(machine, workload, options)).collect::<Vec<_>>())
        };
        let workers: Vec<_> = runs.chunks(4).map(|chunk| part(chunk.to_vec())).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("no panic")).collect()
    });
    assert!(one == four);
    let seeds_differ = one.windows(2).any(|pair| pair[0].1 != pair[1].1);
    assert!(seeds_differ, "noise must vary from seed to seed, or this test compares nothing");
    assert!(
        one.iter().all(|(_, recorder)| recorder.events.iter().any(|(_, event)| matches!(event, Event::Switch(..))))
    );
}
