// SPDX-License-Identifier: MIT OR Apache-2.0
//! `[configuration.NAME]`: which CPUs are online, and which clocks they may use.

use super::cpu_list;
use super::range::{MHZ, khz, mhz_text};
use super::reader::{Placed, Table};
use super::schema;
use super::topology::Topology;
use crate::input::InputError;
use crate::machine::{Machine, PerformanceDomain};

/// A configuration, checked against the machine.
#[derive(Debug, Clone)]
pub(super) struct Configuration {
    pub(super) title: String,
    online: Vec<bool>,
    limits: Vec<Limit>,
}

/// The OPPs that a performance domain may use.
#[derive(Debug, Clone)]
struct Limit {
    domain: usize,
    min_opp: usize,
    max_opp: usize,
}

/// The clocks of one entry of `limits`.
struct Clocks {
    min: Option<Placed<f64>>,
    max: Option<Placed<f64>>,
}

pub(super) fn read(table: &Table<'_>, topology: &Topology) -> Result<Configuration, InputError> {
    let online = read_online(table, topology)?;
    let mut limits: Vec<Limit> = Vec::new();
    for row in table.rows("limits", &schema::LIMIT)? {
        read_limit(&row, topology, &online, &mut limits)?;
    }
    Ok(Configuration { title: table.text("title")?.value.to_owned(), online, limits })
}

impl Configuration {
    /// Switches CPUs off and narrows the clocks.
    pub(super) fn apply(&self, machine: &mut Machine) {
        for (cpu, online) in machine.cpus.iter_mut().zip(&self.online) {
            cpu.online = *online;
        }
        for limit in &self.limits {
            let domain = &mut machine.performance_domains[limit.domain];
            (domain.min_opp, domain.max_opp) = (limit.min_opp, limit.max_opp);
        }
    }
}

fn read_online(table: &Table<'_>, topology: &Topology) -> Result<Vec<bool>, InputError> {
    let Some(list) = table.text_if("online")? else {
        return Ok(vec![true; topology.cpus.len()]);
    };
    let mut online = vec![false; topology.cpus.len()];
    for number in read_cpus(table, list, topology)? {
        online[number.value as usize] = true;
    }
    Ok(online)
}

/// The CPUs of `list`, all of which exist.
fn read_cpus(table: &Table<'_>, list: Placed<&str>, topology: &Topology) -> Result<Vec<Placed<u32>>, InputError> {
    let numbers = cpu_list::parse(table.file, list)?;
    match numbers.iter().find(|number| number.value as usize >= topology.cpus.len()) {
        None => Ok(numbers),
        Some(absent) => Err(table
            .file
            .error(absent.at, format!("the machine has no CPU {}", absent.value))
            .help(format!("expected CPUs 0 to {}", topology.cpus.len() - 1))),
    }
}

fn read_limit(
    row: &Table<'_>,
    topology: &Topology,
    online: &[bool],
    limits: &mut Vec<Limit>,
) -> Result<(), InputError> {
    let mut listed: Vec<Option<usize>> = vec![None; topology.cpus.len()];
    for cpu in read_cpus(row, row.text("cpus")?, topology)? {
        listed[cpu.value as usize] = Some(cpu.at);
    }
    let clocks = read_clocks(row)?;
    for (index, domain) in topology.performance_domains.iter().enumerate() {
        let Some((inside, at)) = domain.cpus.iter().find_map(|cpu| listed[cpu.index()].map(|at| (cpu, at))) else {
            continue;
        };
        // An offline CPU has no say in its domain's clock, so a list may leave it out.
        if let Some(outside) = domain.cpus.iter().find(|cpu| online[cpu.index()] && listed[cpu.index()].is_none()) {
            return Err(row
                .file
                .error(at, format!("the limit cuts through the performance domain of CPU {inside}"))
                .help(format!("expected CPU {outside} with it: they share a clock")));
        }
        if limits.iter().any(|limit| limit.domain == index) {
            return Err(row
                .file
                .error(at, format!("CPU {inside} has a limit already"))
                .help("expected each performance domain in one entry of `limits`"));
        }
        limits.push(clocks.resolve(row, index, domain)?);
    }
    Ok(())
}

fn read_clocks(row: &Table<'_>) -> Result<Clocks, InputError> {
    let exact = row.number_if("mhz", MHZ)?;
    let min = row.number_if("min_mhz", MHZ)?;
    let max = row.number_if("max_mhz", MHZ)?;
    if let (Some(_), Some(bound)) = (exact, min.or(max)) {
        return Err(row
            .file
            .error(bound.at, "`mhz` sets both limits already")
            .help("expected either `mhz`, or `min_mhz` and `max_mhz`"));
    }
    match (exact.or(min), exact.or(max)) {
        (None, None) => Err(row.missing("mhz", "`mhz`, or `min_mhz`, `max_mhz` or both")),
        (min, max) => Ok(Clocks { min, max }),
    }
}

impl Clocks {
    fn resolve(&self, row: &Table<'_>, index: usize, domain: &PerformanceDomain) -> Result<Limit, InputError> {
        let find = |clock: Option<Placed<f64>>, default: usize| match clock {
            Some(clock) => find_opp(row, domain, clock),
            None => Ok(default),
        };
        let min_opp = find(self.min, 0)?;
        let max_opp = find(self.max, domain.opps.len() - 1)?;
        match self.min {
            Some(min) if min_opp > max_opp => Err(row
                .file
                .error(min.at, "`min_mhz` is above `max_mhz`")
                .help(format!("expected at most {} MHz", mhz_text(domain.opps[max_opp].khz)))),
            _ => Ok(Limit { domain: index, min_opp, max_opp }),
        }
    }
}

fn find_opp(row: &Table<'_>, domain: &PerformanceDomain, clock: Placed<f64>) -> Result<usize, InputError> {
    let wanted = khz(clock.value);
    if let Some(index) = domain.opps.iter().position(|opp| opp.khz == wanted) {
        return Ok(index);
    }
    let nearest = domain.opps.iter().map(|opp| opp.khz).min_by_key(|khz| khz.abs_diff(wanted)).unwrap_or(wanted);
    let list = domain.opps.iter().map(|opp| mhz_text(opp.khz)).collect::<Vec<_>>().join(", ");
    let cpu = domain.cpus[0];
    Err(row
        .file
        .error(clock.at, format!("CPU {cpu} has no operating point of {} MHz", mhz_text(wanted)))
        .help(format!("the nearest is {}; valid: {list}", mhz_text(nearest))))
}
