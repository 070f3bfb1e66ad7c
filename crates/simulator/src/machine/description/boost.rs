// SPDX-License-Identifier: MIT OR Apache-2.0
//! Boost limits of packages and clusters: reading them, and whether they fit the clusters' clocks.

use super::cluster::ClusterRow;
use super::opp::OppTable;
use super::range::{MHZ, khz, mhz_text};
use super::reader::{File, Named, Placed, Table};
use super::tables::Tables;
use super::{MAX_CPUS, schema};
use crate::input::InputError;
use crate::machine::Boost;

/// The `boost` limits of a package or a cluster: active cores ascend, clocks do not.
pub(super) fn read(table: &Table<'_>) -> Result<Vec<Placed<Boost>>, InputError> {
    let mut limits: Vec<Placed<Boost>> = Vec::new();
    for row in table.rows("boost", &schema::BOOST)? {
        let active_cores = row.whole("active_cores", 1..=MAX_CPUS)?;
        let mhz = row.number("mhz", MHZ)?;
        let limit = Boost { active_cores: active_cores.value, max_khz: khz(mhz.value) };
        if let Some(before) = limits.last().map(|before| before.value) {
            if limit.active_cores <= before.active_cores {
                return Err(row
                    .file
                    .error(active_cores.at, "`boost` does not ascend in `active_cores`")
                    .help(format!("expected more than {}", before.active_cores)));
            }
            if limit.max_khz > before.max_khz {
                return Err(row
                    .file
                    .error(mhz.at, "`boost` allows more active cores a higher clock")
                    .help("expected at most the clock of the entry before"));
            }
        }
        limits.push(Placed { value: limit, at: mhz.at });
    }
    Ok(limits)
}

/// Each limit must leave a clock to every cluster it concerns, and one active core its highest: work is given
/// against the fastest CPU at that clock.
pub(super) fn check(file: File<'_>, clusters: &Named<ClusterRow>, tables: &Tables) -> Result<(), InputError> {
    for row in &clusters.rows {
        let opp_table = &tables.opp_tables.rows[row.opp_table.value];
        check_limits(file, &row.name, opp_table, &row.boost)?;
        check_limits(file, &row.name, opp_table, &tables.packages.rows[row.package.index()].boost)?;
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
