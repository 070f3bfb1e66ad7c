// SPDX-License-Identifier: MIT OR Apache-2.0
//! A description on its way to a machine: read and checked as a whole, then narrowed to one configuration.

use std::path::Path;

use super::cluster::ClusterRow;
use super::configuration::{self, Configuration};
use super::reader::{Named, Table};
use super::tables::{Sources, Tables, read_named, read_single};
use super::topology::{self, Topology};
use super::{clusters, nodes, numbering, package, provenance, reference, schema};
use crate::input::{InputError, valid_names};
use crate::machine::{Cluster, Machine, VoltageFollows};

/// A machine as built, and the configurations it can run in.
pub(super) struct Draft {
    machine: Machine,
    sources: Sources,
    configurations: Named<ConfigurationRow>,
}

/// A configuration, and its sources, which count only where it is selected.
struct ConfigurationRow {
    configuration: Configuration,
    sources: Sources,
}

impl Draft {
    pub(super) fn read(document: &Table<'_>) -> Result<Self, InputError> {
        check_version(document)?;
        let title = document.text("title")?.value.to_owned();
        // Notes are for readers of the file; a wrong type is still a mistake.
        document.text_if("notes")?;
        let mut sources = Sources::new();
        let tables = Tables::read(document, &mut sources)?;
        let (clusters, follows) = clusters::read(document, &tables, &mut sources)?;
        clusters::check_boost(document.file, &clusters, &tables)?;
        clusters::check_package_states(document.file, &clusters, &tables)?;
        let numbers = numbering::assign(document.file, &clusters)?;
        let mut topology = topology::build(document.file, &clusters, &numbers, &tables)?;
        let platform = read_single(document, "platform", &schema::PLATFORM, &mut sources, package::read_platform)?;
        let reference = reference::rate(document.file, &mut topology, &clusters, &tables, platform.cpufreq_driver)?;
        let configurations = read_configurations(document, &topology)?;
        let nodes = nodes::read(document, &clusters, &tables, &mut sources)?;
        let costs = read_single(document, "scheduling", &schema::SCHEDULING, &mut sources, package::read_scheduling)?;
        let machine = Machine {
            name: String::new(),
            title,
            clusters: resolve_clusters(clusters, follows, &topology, &tables),
            cpus: topology.cpus,
            cores: topology.cores,
            packages: tables.packages.rows.into_iter().map(|row| row.package).collect(),
            core_types: tables.core_types.rows.into_iter().map(|row| row.core_type).collect(),
            caches: topology.caches,
            memory_domains: tables.memories.rows.into_iter().chain(topology.links).collect(),
            nodes,
            performance_domains: topology.performance_domains,
            platform,
            costs,
            reference,
            provenance: Vec::new(),
        };
        Ok(Self { machine, sources, configurations })
    }

    /// The machine under its name, in the configuration asked for.
    pub(super) fn finish(
        mut self,
        name: &str,
        path: &Path,
        configuration: Option<&str>,
    ) -> Result<Machine, InputError> {
        self.machine.name = name.to_owned();
        if let Some(wanted) = configuration {
            self.select(path, wanted)?;
        }
        self.sources.sort_by_key(|source| source.at);
        self.machine.provenance = self.sources.into_iter().map(|source| source.value).collect();
        Ok(self.machine)
    }

    fn select(&mut self, path: &Path, wanted: &str) -> Result<(), InputError> {
        let Some(index) = self.configurations.names.iter().position(|name| name == wanted) else {
            return Err(unknown_configuration(path, wanted, &self.configurations.names));
        };
        let row = self.configurations.rows.swap_remove(index);
        row.configuration.apply(&mut self.machine);
        self.machine.name = format!("{}:{wanted}", self.machine.name);
        self.machine.title = format!("{}: {}", self.machine.title, row.configuration.title);
        self.sources.extend(row.sources);
        Ok(())
    }

    /// Names and titles of the configurations.
    pub(super) fn configuration_titles(self) -> Vec<(String, String)> {
        let titles = self.configurations.rows.into_iter().map(|row| row.configuration.title);
        self.configurations.names.into_iter().zip(titles).collect()
    }
}

fn check_version(document: &Table<'_>) -> Result<(), InputError> {
    let expected = schema::VERSION;
    match document.whole_if("schema", 0..=u32::MAX)? {
        Some(version) if version.value == expected => Ok(()),
        Some(version) => Err(document
            .file
            .error(version.at, format!("schema {} is unknown", version.value))
            .help(format!("expected schema = {expected}"))),
        None => Err(document.missing("schema", &expected.to_string())),
    }
}

fn read_configurations(document: &Table<'_>, topology: &Topology) -> Result<Named<ConfigurationRow>, InputError> {
    let read = |_: &str, table: &Table<'_>| {
        let configuration = configuration::read(table, topology)?;
        Ok(ConfigurationRow { configuration, sources: provenance::read(table)? })
    };
    let mut ignored = Sources::new();
    read_named(document, ("configuration", "configuration"), &schema::CONFIGURATION, &mut ignored, read)
}

fn resolve_clusters(
    clusters: Named<ClusterRow>,
    follows: Vec<Option<VoltageFollows>>,
    topology: &Topology,
    tables: &Tables,
) -> Vec<Cluster> {
    let rows = clusters.rows.into_iter().zip(follows).zip(&topology.cluster_cores);
    rows.map(|((row, voltage_follows), cores)| Cluster {
        name: row.name,
        package: row.package,
        core_type: row.core_type,
        cores: cores.clone(),
        static_watts: row.static_watts,
        idle_states: tables.idle_tables.rows[row.idle_table].clone(),
        boost: row.boost.into_iter().map(|limit| limit.value).collect(),
        voltage_follows,
    })
    .collect()
}

fn unknown_configuration(path: &Path, wanted: &str, names: &[String]) -> InputError {
    let error = InputError::whole(path, format!("no configuration is named `{wanted}`"));
    if names.is_empty() {
        return error.help("the machine has no configurations; leave the colon and what follows out");
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    error.help(valid_names(wanted, &names))
}
