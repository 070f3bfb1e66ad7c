// SPDX-License-Identifier: MIT OR Apache-2.0
//! A machine for people: drawn, and with the sources of its values.
//!
//! `picture` draws what shares what, `detail` says what each kind of cluster can do, `belief` how far the kernel's energy model is
//! from that, `nodes` how far memory is, `sources` where values come
//! from. Clusters that differ in nothing but their CPU numbers are one entry (`groups`).

mod belief;
mod detail;
mod groups;
mod nodes;
mod paper;
mod picture;
mod sources;
mod units;

use crate::machine::Machine;

/// Narrowest drawing; below it lines are this long all the same.
const NARROWEST: usize = 24;
/// From this width on there is room for boxes; below it the machine is an indented tree.
const BOXES: usize = 60;

/// Draws `machine` in lines of at most `width` characters (24 at least): packages, clusters, cores with their CPU
/// numbers, caches and memory under what shares them, then clocks, power and idle states of each kind of cluster.
///
/// Below 60 characters the boxes become an indented tree. Every line ends with a line feed and has no blanks before
/// it. CPUs that the configuration in force does not use are in parentheses.
pub fn show(machine: &Machine, width: usize) -> String {
    let width = width.max(NARROWEST);
    let groups = groups::find(machine);
    let mut lines = paper::wrap(&machine.title, width, 0);
    lines.extend(paper::wrap(&summary(machine), width, 0));
    lines.push(String::new());
    if width < BOXES {
        lines.extend(picture::tree(machine, &groups, width));
    } else {
        lines.extend(picture::boxes(machine, &groups, width));
    }
    for group in groups::of_one_ability(machine) {
        lines.push(String::new());
        lines.extend(detail::of(machine, &group, width));
    }
    let nodes = nodes::of(machine, width);
    if !nodes.is_empty() {
        lines.push(String::new());
        lines.extend(nodes);
    }
    let belief = belief::of(machine, width);
    if !belief.is_empty() {
        lines.push(String::new());
        lines.extend(belief);
    }
    join(lines)
}

/// Lists where the values of `machine` come from, a line per source, in the order of its description.
///
/// Values that were measured are marked with `*`, computed ones with `=`, calibrated ones with `~`, assumed ones with `?`; the
/// first line counts them. Tables that differ only in their name are one entry.
pub fn provenance(machine: &Machine) -> String {
    join(sources::list(machine))
}

fn summary(machine: &Machine) -> String {
    let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let mut parts = vec![
        counted(machine.packages.len(), "package"),
        counted(machine.clusters.len(), "cluster"),
        counted(machine.cores.len(), "core"),
        counted(machine.cpus.len(), "CPU"),
    ];
    let offline = machine.cpus.len() - machine.online().count();
    if offline > 0 {
        parts.push(format!("{offline} of them offline"));
    }
    let platform = &machine.platform;
    if platform.watts > 0.0 || platform.supply_efficiency < 1.0 {
        let share = units::number(platform.supply_efficiency * 100.0, 1);
        parts.push(format!("{} W outside the packages, power supply {share} %", units::watts(platform.watts)));
    }
    format!("{}: {}", machine.name, parts.join(", "))
}

fn join(lines: Vec<String>) -> String {
    lines.iter().map(|line| format!("{}\n", line.replace(units::TIE, " ").trim_end())).collect()
}
