// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compares two schedulers on a bundled machine and workload, over ten seeds each:
//!
//! ```text
//! cargo run --release --example compare
//! cargo run --release --example compare -- fair+schedutil ./scx_simple.bpf.o
//! ```

use std::env;
use std::error::Error;
use std::path::Path;

use tandem_experiments::{Choice, ComparisonRuns, Estimate, FairOrObject, Linux, Metric, Scenario, Silent};
use tandem_simulator::machine::Machine;
use tandem_simulator::workload::Workload;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let first = arguments.next().unwrap_or_else(|| "fair+schedutil".to_owned());
    let second = arguments.next().unwrap_or_else(|| "fair+performance".to_owned());
    let runs = ComparisonRuns {
        machine: &Machine::load("hikey960")?,
        workload: &Workload::load(Path::new("forkjoin"))?,
        scenario: &Scenario::default(),
        pairs: vec![Choice::parse(&first, &FairOrObject)?.pair(), Choice::parse(&second, &FairOrObject)?.pair()],
        seeds: (0..10).collect(),
        alone: false,
    };
    let comparison = runs.run(&Linux, &Silent)?;
    let [first, second] = &comparison.pairs[..] else { return Err("two pairs give two results".into()) };
    println!("{} on {}: {} over {}", comparison.workload, comparison.machine, second.pair, first.pair);
    for metric in [Metric::Time, Metric::Energy, Metric::Edp] {
        match second.metric(metric).ratio.map(|ratio| ratio.estimate) {
            Some(Estimate { mean, half_width: Some(half) }) => println!("{}: {mean:.3} ± {half:.3}", metric.title()),
            Some(Estimate { mean, half_width: None }) => println!("{}: {mean:.3}", metric.title()),
            None => println!("{}: not measured", metric.title()),
        }
    }
    Ok(())
}
