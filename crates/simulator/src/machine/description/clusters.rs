// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every `[[cluster]]`, and whether they fit together with what they refer to.

use super::cluster::{self, ClusterRow};
use super::opp::OppTable;
use super::range::mhz_text;
use super::reader::{File, Named, Placed, Table};
use super::tables::{Sources, Tables};
use super::{provenance, schema};
use crate::input::{InputError, valid_names};
use crate::machine::{Boost, VoltageFollows};

/// The clusters, and for each the rail it shares with another.
pub(super) type Clusters = (Named<ClusterRow>, Vec<Option<VoltageFollows>>);

/// Reads every `[[cluster]]`; there must be one.
pub(super) fn read(document: &Table<'_>, tables: &Tables, sources: &mut Sources) -> Result<Clusters, InputError> {
    let mut written = document.rows("cluster", &schema::CLUSTER)?;
    let mut clusters: Named<ClusterRow> = Named { kind: "cluster", names: Vec::new(), rows: Vec::new() };
    for table in &mut written {
        let name = table.text("name")?;
        if clusters.names.iter().any(|other| other == name.value) {
            return Err(table
                .file
                .error(name.at, format!("a cluster `{}` is described already", name.value))
                .help("expected another name"));
        }
        table.label = format!("cluster.{}", name.value);
        clusters.rows.push(cluster::read(table, tables)?);
        clusters.names.push(name.value.to_owned());
        sources.extend(provenance::read(table)?);
    }
    if written.is_empty() {
        return Err(document.missing("cluster", "at least one table `[[cluster]]`"));
    }
    check_packages(document, &clusters, tables)?;
    let follows = written
        .iter()
        .enumerate()
        .map(|(index, table)| cluster::read_voltage_follows(table, index, &clusters, tables))
        .collect::<Result<Vec<_>, _>>()?;
    Ok((clusters, follows))
}

/// A package without a cluster would draw power for nothing.
fn check_packages(document: &Table<'_>, clusters: &Named<ClusterRow>, tables: &Tables) -> Result<(), InputError> {
    for (name, table) in document.named("package", &schema::PACKAGE)? {
        let used = |row: &ClusterRow| tables.packages.names[row.package.index()] == name;
        if !clusters.rows.iter().any(used) {
            return Err(table
                .error(format!("package `{name}` has no cluster"))
                .help(format!("expected a `[[cluster]]` with `package = \"{name}\"`")));
        }
    }
    Ok(())
}

/// Each limit must leave a clock to every cluster it concerns, and one active core its highest: work is given
/// against the fastest CPU at that clock.
pub(super) fn check_boost(file: File<'_>, clusters: &Named<ClusterRow>, tables: &Tables) -> Result<(), InputError> {
    for row in &clusters.rows {
        let opp_table = &tables.opp_tables.rows[row.opp_table.value];
        check_limits(file, &row.name, opp_table, &row.boost)?;
        check_limits(file, &row.name, opp_table, &tables.packages.rows[row.package.index()].boost)?;
    }
    Ok(())
}

/// Each core of a package must be able to get where an idle state of the package wants it, and deeper states of the package
/// want no shallower ones.
pub(super) fn check_package_states(
    file: File<'_>,
    clusters: &Named<ClusterRow>,
    tables: &Tables,
) -> Result<(), InputError> {
    for row in &clusters.rows {
        let states = &tables.idle_tables.rows[row.idle_table];
        let mut shallowest = 0;
        for wanted in &tables.packages.rows[row.package.index()].core_states {
            let Some(index) = states.iter().position(|state| state.name == wanted.value) else {
                let names: Vec<&str> = states.iter().map(|state| state.name.as_str()).collect();
                let message = format!("cluster `{}` has no idle state `{}`", row.name, wanted.value);
                return Err(file.error(wanted.at, message).help(valid_names(&wanted.value, &names)));
            };
            if index < shallowest {
                return Err(file
                    .error(wanted.at, "a deeper state of the package wants a shallower one of the cores")
                    .help(format!("expected `{}` or deeper", states[shallowest].name)));
            }
            shallowest = index;
        }
    }
    Ok(())
}

fn check_limits(file: File<'_>, cluster: &str, table: &OppTable, limits: &[Placed<Boost>]) -> Result<(), InputError> {
    let (Some(lowest), Some(highest)) = (table.opps.first(), table.opps.last()) else {
        return Ok(());
    };
    if let Some(limit) = limits.iter().find(|limit| limit.value.max_khz < lowest.khz) {
        return Err(file
            .error(limit.at, format!("`boost` leaves cluster `{cluster}` no operating point"))
            .help(format!("expected at least {}, its lowest clock", mhz_text(lowest.khz))));
    }
    match limits.first() {
        Some(first) if first.value.max_khz < highest.khz => Err(file
            .error(first.at, format!("`boost` never lets cluster `{cluster}` reach its highest operating point"))
            .help(format!("expected at least {} for the fewest active cores", mhz_text(highest.khz)))),
        _ => Ok(()),
    }
}
