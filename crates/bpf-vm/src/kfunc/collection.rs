// SPDX-License-Identifier: MIT OR Apache-2.0
//! The order of nodes in trees and lists. The order is kept here, not in the nodes, whose bytes programs cannot read.

use std::collections::{BTreeMap, VecDeque};

/// The nodes of every tree and list, by the address of its root or head, and where each node is.
#[derive(Debug, Default)]
pub(super) struct Collections {
    members: BTreeMap<u64, VecDeque<u64>>,
    /// The root or head of the collection that a node is in (`owner` in the kernel's nodes).
    owners: BTreeMap<u64, u64>,
}

impl Collections {
    /// The nodes of `root` in order.
    pub fn len(&self, root: u64) -> usize {
        self.members.get(&root).map_or(0, VecDeque::len)
    }

    /// Node number `at` of `root`.
    pub fn get(&self, root: u64, at: usize) -> Option<u64> {
        self.members.get(&root)?.get(at).copied()
    }

    /// Position of `node` in `root`; `None` if the node is elsewhere or in no collection.
    pub fn position(&self, root: u64, node: u64) -> Option<usize> {
        if self.owners.get(&node) != Some(&root) {
            return None;
        }
        self.members.get(&root)?.iter().position(|member| *member == node)
    }

    /// Reserves a node for `root`, before its place is known; whether the node was free.
    pub fn claim(&mut self, root: u64, node: u64) -> bool {
        let free = !self.owners.contains_key(&node);
        if free {
            self.owners.insert(node, root);
        }
        free
    }

    /// Frees a node that was claimed and has no place yet.
    pub fn unclaim(&mut self, node: u64) {
        self.owners.remove(&node);
    }

    /// Gives a claimed node its place: before the node that is now number `at`, or at the end.
    pub fn insert(&mut self, root: u64, at: usize, node: u64) {
        let members = self.members.entry(root).or_default();
        members.insert(at.min(members.len()), node);
    }

    /// Takes node number `at` out.
    pub fn remove(&mut self, root: u64, at: usize) -> Option<u64> {
        let members = self.members.get_mut(&root)?;
        let node = members.remove(at)?;
        if members.is_empty() {
            self.members.remove(&root);
        }
        self.owners.remove(&node);
        Some(node)
    }

    /// How many nodes are in trees and lists.
    pub fn queued(&self) -> usize {
        self.owners.len()
    }

    /// Whether a node that lies in this range of addresses is in a collection.
    pub fn any_queued(&self, address: u64, size: u64) -> bool {
        self.owners.range(address..address.saturating_add(size)).next().is_some()
    }

    /// Empties the collections whose root lies in this range of addresses; returns their nodes.
    pub fn drain(&mut self, address: u64, size: u64) -> Vec<u64> {
        let range = address..address.saturating_add(size);
        let roots: Vec<u64> = self.members.range(range).map(|(root, _)| *root).collect();
        let nodes: Vec<u64> = roots.iter().filter_map(|root| self.members.remove(root)).flatten().collect();
        for node in &nodes {
            self.owners.remove(node);
        }
        nodes
    }
}
