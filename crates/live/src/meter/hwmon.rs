// SPDX-License-Identifier: MIT OR Apache-2.0
//! `/sys/class/hwmon`: counters of energy (`energy*_input`, µJ) and powers (`power*_average`, `power*_input`, µW) that
//! sensors on the board have. Powers are sampled.
//!
//! hwmon does not say what a sensor measures. Some drivers are known, and some labels are plain; the others are shown, and
//! are part of no sum.

use std::path::{Path, PathBuf};

use super::source::{Amount, CounterFile, Domain, Found, Part, Probe, Unit};
use super::why::{Why, read_number, read_text};
use crate::tree::Tree;

/// Below `/sys`.
const FOLDER: &str = "class/hwmon";

/// Drivers of graphics cards.
const GRAPHICS: [&str; 5] = ["amdgpu", "i915", "nouveau", "radeon", "xe"];

/// Labels of what a machine draws in all: those of PowerNV, of Apple's controller and of power supplies by Corsair.
const WHOLE_MACHINE: [&str; 3] = ["system", "total system power", "power total"];

/// The driver of ACPI's power meters, which measure what the machine draws.
const ACPI_POWER_METER: &str = "power_meter";

/// A file with a power in µW.
#[derive(Debug)]
struct PowerFile(PathBuf);

impl Probe for PowerFile {
    fn read(&mut self) -> Result<Amount, Why> {
        read_number(&self.0).map(|microwatts| Amount::Watts(microwatts as f64 * 1e-6))
    }
}

/// Every sensor of energy or power.
pub(super) fn find(root: &Path) -> Vec<Found> {
    let tree = Tree::new(root);
    tree.names(FOLDER).iter().flat_map(|device| sensors(&tree, device)).collect()
}

fn sensors(tree: &Tree, device: &str) -> Vec<Found> {
    let below = format!("{FOLDER}/{device}");
    let (folder, files) = (tree.path("sys").join(&below), tree.names(&below));
    let driver = read_text(&folder.join("name")).unwrap_or_default();
    // Power supplies appear here once more, batteries among them.
    if read_text(&folder.join("device/type")).is_ok_and(|kind| SUPPLIES.contains(&kind.as_str())) {
        return Vec::new();
    }
    let mut found: Vec<Found> = Vec::new();
    for (kind, ending) in [("energy", "_input"), ("power", "_average"), ("power", "_input")] {
        let number = |file: &String| file.strip_prefix(kind)?.strip_suffix(ending)?.parse::<u32>().ok();
        let mut numbers: Vec<u32> = files.iter().filter_map(number).collect();
        numbers.sort_unstable();
        for number in numbers {
            let label = read_text(&folder.join(format!("{kind}{number}_label"))).ok();
            let label = label.filter(|label| !label.is_empty());
            // A core of a processor, whose package has a counter, too.
            if label.as_ref().is_some_and(|label| label.starts_with("Ecore")) {
                continue;
            }
            let name = format!("hwmon {device} {driver} {}", label.clone().unwrap_or_else(|| number.to_string()));
            // The same sensor in another way.
            if found.iter().any(|known| known.name == name) {
                continue;
            }
            let path = folder.join(format!("{kind}{number}{ending}"));
            let probe: Box<dyn Probe> =
                if kind == "energy" { Box::new(CounterFile(path)) } else { Box::new(PowerFile(path)) };
            let domain = domain(&driver, label.as_deref().unwrap_or_default());
            found.push(Found { name, domain, unit: Unit::MICROJOULES, probe: Ok(probe) });
        }
    }
    found
}

/// Kinds of power supplies (`power_supply_type`).
const SUPPLIES: [&str; 5] = ["Battery", "Mains", "UPS", "USB", "Wireless"];

fn domain(driver: &str, label: &str) -> Domain {
    let label = label.to_lowercase();
    // amd_energy numbers its processors.
    if let Some(package) = label.strip_prefix("esocket").and_then(|number| number.parse().ok()) {
        return Domain { part: Part::Package, package, die: 0 };
    }
    Domain::of(match () {
        () if driver == ACPI_POWER_METER || WHOLE_MACHINE.contains(&label.as_str()) => Part::Machine,
        () if GRAPHICS.contains(&driver) => Part::Gpu,
        () => Part::Other,
    })
}
