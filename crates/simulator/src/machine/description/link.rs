// SPDX-License-Identifier: MIT OR Apache-2.0
//! `[link.NAME]`: how the CPUs of one node reach the memory of another.

use super::cluster::ClusterRow;
use super::range::{FACTOR, GB_PER_S, NODE};
use super::reader::{Named, Placed, Table};
use super::tables::Sources;
use super::{provenance, schema};
use crate::input::InputError;
use crate::machine::{Link, MemoryDomain};
use crate::units::MemoryDomainId;

/// Reads all links. Each direction becomes a path to memory of its own, below that of the node at its end.
pub(super) fn read(
    document: &Table<'_>,
    clusters: &Named<ClusterRow>,
    memories: &mut Named<MemoryDomain>,
    sources: &mut Sources,
) -> Result<Vec<Link>, InputError> {
    let mut links = Vec::new();
    for (name, table) in document.named("link", &schema::LINK)? {
        sources.extend(provenance::read(&table)?);
        let nodes = nodes(&table, clusters)?;
        let latency = table.number("latency", FACTOR)?.value;
        let bytes_per_s = table.number("gb_per_s", GB_PER_S)?.value * 1e9;
        let paths = [(nodes[0], nodes[1]), (nodes[1], nodes[0])].map(|(from, to)| {
            let home = memory_of(to, clusters, memories);
            let far = &memories.rows[home.index()];
            let path = MemoryDomain {
                name: format!("{name}, node {from} to {to}"),
                bytes_per_s,
                // A thread has so many accesses under way: the longer each takes, the less it moves.
                thread_bytes_per_s: (far.thread_bytes_per_s / latency).min(bytes_per_s),
                contention: far.contention,
                static_watts: 0.0,
                joules_per_byte: 0.0,
                latency,
                parent: Some(home),
            };
            memories.names.push(path.name.clone());
            memories.rows.push(path);
            MemoryDomainId::at(memories.rows.len() - 1)
        });
        links.push(Link { name: name.to_owned(), nodes, paths });
    }
    Ok(links)
}

/// The two nodes that a link joins.
fn nodes(table: &Table<'_>, clusters: &Named<ClusterRow>) -> Result<[u32; 2], InputError> {
    let named: Vec<Placed<f64>> = table.numbers("nodes", NODE)?;
    let [first, second] = named[..] else {
        return Err(table.missing("nodes", "an array of two nodes, such as `[0, 1]`"));
    };
    for node in [first, second] {
        if !clusters.rows.iter().any(|cluster| f64::from(cluster.node) == node.value) {
            return Err(table.file.error(node.at, format!("no cluster is on node {}", node.value)));
        }
    }
    if first.value == second.value {
        return Err(table.file.error(second.at, "a link joins two different nodes"));
    }
    Ok([first.value as u32, second.value as u32])
}

/// The widest path to the memory of a node.
fn memory_of(node: u32, clusters: &Named<ClusterRow>, memories: &Named<MemoryDomain>) -> MemoryDomainId {
    let cluster = clusters.rows.iter().find(|cluster| cluster.node == node);
    let mut path = cluster.map_or(MemoryDomainId(0), |cluster| cluster.memory);
    while let Some(parent) = memories.rows[path.index()].parent {
        path = parent;
    }
    path
}
