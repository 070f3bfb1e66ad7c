// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads what this machine is, and what a scheduler's loader would tell a scheduler of it.
//!
//! `cargo run -p tandem-loader --example this_machine [ROOT]`; ROOT is a folder with a copy of /sys and /proc.

use std::error::Error;
use std::path::PathBuf;

use tandem_loader::cpus::CpuList;
use tandem_loader::{LoaderFile, Machine, System};

fn main() -> Result<(), Box<dyn Error>> {
    let root = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("/"), PathBuf::from);
    let (machine, capacities) = Machine::read_with_capacities(&root)?;
    println!("{} CPUs on {} NUMA nodes; capacities from {}", machine.cpus.len(), machine.nr_nodes, capacities.source);
    for kind in &capacities.kinds {
        let cpus: CpuList = kind.cpus.iter().copied().collect();
        let clocks = &machine.opp_tables[machine.cpus[kind.cpus[0]].opp_table as usize].frequency;
        let mhz = clocks.last().map_or_else(|| "unknown".to_owned(), |khz| (khz / 1000).to_string());
        println!("  {}: CPUs {cpus}, capacity {}, highest clock in MHz: {mhz}", kind.core_type, kind.capacity);
    }
    for doubt in &capacities.doubts {
        println!("  doubtful: {doubt}");
    }

    let file =
        LoaderFile::parse("example.toml".as_ref(), "[set]\nnr_cpus = \"nr_cpus\"\ncapacity = \"cpu.capacity\"\n")?;
    for step in file.steps(&System::of(&machine)).set {
        println!("{} = {}", step.name, step.value);
    }
    Ok(())
}
