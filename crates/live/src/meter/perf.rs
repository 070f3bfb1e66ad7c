// SPDX-License-Identifier: MIT OR Apache-2.0
//! The processor's counters of energy as performance events: `/sys/bus/event_source/devices/power`.
//!
//! The kernel opens them for who has CAP_PERFMON, adds them up in 64 bits, and reads them often enough itself.

use std::fmt::Debug;
use std::path::Path;

use perf_event::events::Raw;
use perf_event::{Builder, Counter};

use super::source::{Amount, Domain, Found, Part, Probe, Unit};
use super::why::{Why, read_number, read_text};
use crate::tree::{Tree, list};

/// Below `/sys`.
const FOLDER: &str = "bus/event_source/devices/power";

/// Which event to open, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnergyEvent {
    /// `perf_event_attr.type`.
    pub kind: u32,
    /// `perf_event_attr.config`.
    pub config: u64,
    /// The CPU to ask: its package is measured.
    pub cpu: usize,
}

/// Opens performance events that count energy.
pub trait EnergyEvents: Debug {
    /// Opens an event, which counts from then on.
    ///
    /// # Errors
    /// Why nothing can be read of it.
    fn open(&self, event: EnergyEvent) -> Result<Box<dyn Probe>, Why>;
}

/// The events of the running kernel (`perf_event_open`).
#[derive(Debug, Clone, Copy, Default)]
pub struct KernelEvents;

impl EnergyEvents for KernelEvents {
    fn open(&self, event: EnergyEvent) -> Result<Box<dyn Probe>, Why> {
        let mut builder = Builder::new(Raw::new(event.config));
        builder.attrs_mut().type_ = event.kind;
        // These count the package, whoever runs: the kernel refuses what asks them to leave something out.
        builder.any_pid().one_cpu(event.cpu).include_kernel().include_hv();
        let mut counter = builder.build().map_err(|error| Why::of(&error))?;
        counter.enable().map_err(|error| Why::of(&error))?;
        Ok(Box::new(OpenEvent(counter)))
    }
}

#[derive(Debug)]
struct OpenEvent(Counter);

impl Probe for OpenEvent {
    fn read(&mut self) -> Result<Amount, Why> {
        self.0.read().map(Amount::Count).map_err(|error| Why::of(&error))
    }
}

/// Every event, on each processor that has it.
pub(super) fn find(root: &Path, open: &dyn EnergyEvents) -> Vec<Found> {
    let tree = Tree::new(root);
    let folder = tree.path("sys").join(FOLDER);
    let Some(kind) = read_number(&folder.join("type")).ok().and_then(|kind| u32::try_from(kind).ok()) else {
        return Vec::new();
    };
    let cpus = read_text(&folder.join("cpumask")).ok().and_then(|text| list(&text)).unwrap_or_default();
    let places = places(&tree, &cpus);
    let mut found = Vec::new();
    for name in tree.names(&format!("{FOLDER}/events")).iter().filter(|name| !name.contains('.')) {
        let Some((part, config, joules)) = described(&folder, name) else { continue };
        // What the platform draws, all processors would count.
        let here = if part == Part::Platform { 1 } else { places.len() };
        found.extend(places.iter().take(here).map(|&(cpu, package, die)| Found {
            name: format!("perf power/{name}/ on CPU {cpu}"),
            domain: Domain { part, package, die },
            unit: Unit { joules, range: None },
            probe: open.open(EnergyEvent { kind, config, cpu }),
        }));
    }
    found
}

/// What an event counts, its number, and the joules of one count.
fn described(folder: &Path, name: &str) -> Option<(Part, u64, f64)> {
    let part = match name {
        "energy-pkg" => Part::Package,
        "energy-cores" => Part::Core,
        "energy-gpu" => Part::Uncore,
        "energy-ram" => Part::Dram,
        "energy-psys" => Part::Platform,
        _ => return None,
    };
    let text = |suffix: &str| read_text(&folder.join("events").join(format!("{name}{suffix}"))).ok();
    let joules = text(".scale")?.parse().ok().filter(|joules: &f64| joules.is_finite() && *joules > 0.0)?;
    (text(".unit")? == "Joules").then_some(())?;
    let config = text("")?;
    let config = config.strip_prefix("event=")?;
    let config = match config.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None => config.parse().ok()?,
    };
    Some((part, config, joules))
}

/// The processor, and the die in it, that each of these CPUs stands for. Dies count only where they are counted apart.
fn places(tree: &Tree, cpus: &[usize]) -> Vec<(usize, u32, u32)> {
    let number = |cpu: usize, file: &str| {
        // Where there is one die, the kernel says 0, 65535 or -1.
        tree.number(&format!("sys/devices/system/cpu/cpu{cpu}/topology/{file}")).unwrap_or(0)
    };
    let packages: Vec<u32> = cpus.iter().map(|cpu| number(*cpu, "physical_package_id")).collect();
    let several = |package: u32| packages.iter().filter(|other| **other == package).count() > 1;
    let die = |cpu: usize, package: u32| if several(package) { number(cpu, "die_id") } else { 0 };
    cpus.iter().zip(&packages).map(|(&cpu, &package)| (cpu, package, die(cpu, package))).collect()
}
