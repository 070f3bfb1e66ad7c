// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which CPU numbers the cores of each cluster have.

use std::collections::BTreeMap;

use super::MAX_CPUS;
use super::cluster::ClusterRow;
use super::reader::{File, Named};
use crate::input::InputError;

/// The CPU numbers of a cluster, core by core, siblings in order.
pub(super) type Cores = Vec<Vec<u32>>;

/// The numbers of every cluster: together 0 to n-1, each once.
///
/// Clusters with `cpus` have these; the others take the lowest numbers left, in the order of the file.
pub(super) fn assign(file: File<'_>, clusters: &Named<ClusterRow>) -> Result<Vec<Cores>, InputError> {
    let count = count_cpus(file, clusters)?;
    let claimed = claims(file, clusters, count)?;
    let mut free = (0..count).filter(|number| !claimed.contains_key(number));
    let mut take = |smt: u32| free.by_ref().take(smt as usize).collect::<Vec<u32>>();
    let numbers = clusters.rows.iter().map(|row| match &row.numbers {
        Some(written) => written.iter().map(|core| core.iter().map(|number| number.value).collect()).collect(),
        None => (0..row.cores).map(|_| take(row.smt)).collect(),
    });
    Ok(numbers.collect())
}

fn count_cpus(file: File<'_>, clusters: &Named<ClusterRow>) -> Result<u32, InputError> {
    let mut count: u32 = 0;
    for row in &clusters.rows {
        count = count.saturating_add(row.cores.saturating_mul(row.smt));
        if count > MAX_CPUS {
            return Err(file
                .error(row.at, format!("cluster `{}` brings the machine to {count} CPUs", row.name))
                .help(format!("expected at most {MAX_CPUS} CPUs")));
        }
    }
    Ok(count)
}

/// Which cluster claims which number by its `cpus`.
fn claims(file: File<'_>, clusters: &Named<ClusterRow>, count: u32) -> Result<BTreeMap<u32, usize>, InputError> {
    let mut claimed = BTreeMap::new();
    for (index, row) in clusters.rows.iter().enumerate() {
        for number in row.numbers.iter().flatten().flatten() {
            if let Some(other) = claimed.insert(number.value, index) {
                let other = &clusters.names[other];
                return Err(file
                    .error(number.at, format!("CPU {} is in cluster `{other}` already", number.value))
                    .help("expected each CPU in one cluster"));
            }
        }
    }
    let mut written = clusters.rows.iter().flat_map(|row| &row.numbers).flatten().flatten();
    match written.find(|number| number.value >= count) {
        Some(beyond) => Err(file
            .error(beyond.at, format!("CPU {} leaves a gap: the machine has {count} CPUs", beyond.value))
            .help(format!("expected CPUs 0 to {}, each in one cluster", count - 1))),
        None => Ok(claimed),
    }
}
