// SPDX-License-Identifier: MIT OR Apache-2.0
//! `/sys/class/powercap`: the processor's counters of energy (RAPL: Intel since 2011, AMD since Zen), read by the kernel.
//!
//! A zone is a folder, `intel-rapl:0`, a part of it another one beside it, `intel-rapl:0:1`; what a zone covers says its
//! name. `intel-rapl-mmio` shows the same counters through another window, so that they come last. Zones without `energy_uj`
//! count nothing (those of `dtpm` have a power from a model of the kernel).

use std::path::Path;

use super::source::{CounterFile, Domain, Found, Part, Unit};
use super::why::{read_number, read_text};
use crate::tree::Tree;

/// Below `/sys`.
const FOLDER: &str = "class/powercap";

/// Every zone that has a counter.
pub(super) fn find(root: &Path) -> Vec<Found> {
    let tree = Tree::new(root);
    let (folder, mut zones) = (tree.path("sys").join(FOLDER), tree.names(FOLDER));
    zones.retain(|zone| zone.contains(':'));
    zones.sort_by_key(|zone| zone.split(':').next().is_some_and(|kind| kind.ends_with("-mmio")));
    zones.iter().filter_map(|zone| found(&folder, zone)).collect()
}

fn found(folder: &Path, zone: &str) -> Option<Found> {
    let counter = folder.join(zone).join("energy_uj");
    // It is there, even if it must not be read.
    counter.symlink_metadata().ok()?;
    let own = name(folder, zone)?;
    let domain = match zone.rsplit_once(':').filter(|(above, _)| above.contains(':')) {
        Some((above, _)) => domain(&name(folder, above).unwrap_or_default(), &own),
        None => domain(&own, &own),
    };
    let range = read_number(&folder.join(zone).join("max_energy_range_uj")).ok().filter(|range| *range > 0);
    Some(Found {
        name: format!("powercap {zone} {own}"),
        domain,
        unit: Unit { range, ..Unit::MICROJOULES },
        probe: Ok(Box::new(CounterFile(counter))),
    })
}

fn name(folder: &Path, zone: &str) -> Option<String> {
    read_text(&folder.join(zone).join("name")).ok()
}

/// By the names that the kernel gives (`rapl_domain_names` and what `rapl_add_package` makes of packages).
fn domain(package: &str, own: &str) -> Domain {
    let (package, die) = numbers(package).unwrap_or((0, 0));
    let part = match own {
        "core" => Part::Core,
        "uncore" => Part::Uncore,
        "dram" => Part::Dram,
        // `psys-1` is that of a machine's second processor.
        _ if own == "psys" || own.starts_with("psys-") => {
            let package = own.strip_prefix("psys-").and_then(|number| number.parse().ok()).unwrap_or(0);
            return Domain { part: Part::Platform, package, die: 0 };
        }
        _ if numbers(own).is_some() => Part::Package,
        _ => Part::Other,
    };
    Domain { part, package, die }
}

/// Of `package-1` or `package-1-die-0`.
fn numbers(name: &str) -> Option<(u32, u32)> {
    let rest = name.strip_prefix("package-")?;
    match rest.split_once("-die-") {
        Some((package, die)) => Some((package.parse().ok()?, die.parse().ok()?)),
        None => Some((rest.parse().ok()?, 0)),
    }
}
