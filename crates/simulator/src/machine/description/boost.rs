// SPDX-License-Identifier: MIT OR Apache-2.0
//! Boost limits of a package or a cluster.

use super::range::{MHZ, khz};
use super::reader::{Placed, Table};
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
