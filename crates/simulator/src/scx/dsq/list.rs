// SPDX-License-Identifier: MIT OR Apache-2.0
//! The list of a queue (`struct list_head`): tasks, and between them the cursors of iterators.

use super::{DsqRef, Dsqs};
use crate::units::TaskId;

/// What stands in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Node {
    /// A task.
    Task(TaskId),
    /// An iterator's cursor, by its index (`SCX_DSQ_LNODE_ITER_CURSOR`).
    Cursor(u32),
}

/// A node's neighbours; `None`: the list ends.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Links {
    pub(super) prev: Option<Node>,
    pub(super) next: Option<Node>,
}

impl Dsqs {
    /// `list_add`: behind `prev`; `None`: at the head.
    pub(super) fn link_after(&mut self, dsq: DsqRef, node: Node, prev: Option<Node>) {
        let next = prev.map_or(self.queue(dsq).first, |prev| self.links(prev).next);
        self.link_between(dsq, node, Links { prev, next });
    }

    /// `list_add_tail`: before `next`; `None`: at the tail.
    pub(super) fn link_before(&mut self, dsq: DsqRef, node: Node, next: Option<Node>) {
        let prev = next.map_or(self.queue(dsq).last, |next| self.links(next).prev);
        self.link_between(dsq, node, Links { prev, next });
    }

    /// `list_del`.
    pub(super) fn unlink(&mut self, dsq: DsqRef, node: Node) {
        let Links { prev, next } = self.links(node);
        self.set_next(dsq, prev, next);
        self.set_prev(dsq, next, prev);
        self.set_links(node, Links::default());
    }

    /// The next task behind `from`, or before it if `reverse`, over cursors (`nldsq_next_task`); `None`: from the end.
    pub(super) fn next_task(&self, dsq: DsqRef, from: Option<Node>, reverse: bool) -> Option<TaskId> {
        let step = |links: Links| if reverse { links.prev } else { links.next };
        let ends = Links { prev: self.queue(dsq).last, next: self.queue(dsq).first };
        let mut node = step(from.map_or(ends, |from| self.links(from)));
        loop {
            match node? {
                Node::Task(task) => return Some(task),
                cursor @ Node::Cursor(_) => node = step(self.links(cursor)),
            }
        }
    }

    fn link_between(&mut self, dsq: DsqRef, node: Node, links: Links) {
        self.set_next(dsq, links.prev, Some(node));
        self.set_prev(dsq, links.next, Some(node));
        self.set_links(node, links);
    }

    fn links(&self, node: Node) -> Links {
        match node {
            Node::Task(task) => self.entries[task.index()].links,
            Node::Cursor(index) => {
                self.cursors[index as usize].as_ref().map_or(Links::default(), |cursor| cursor.links)
            }
        }
    }

    fn links_mut(&mut self, node: Node) -> Option<&mut Links> {
        match node {
            Node::Task(task) => Some(&mut self.entries[task.index()].links),
            Node::Cursor(index) => self.cursors[index as usize].as_mut().map(|cursor| &mut cursor.links),
        }
    }

    fn set_links(&mut self, node: Node, links: Links) {
        if let Some(place) = self.links_mut(node) {
            *place = links;
        }
    }

    fn set_next(&mut self, dsq: DsqRef, node: Option<Node>, next: Option<Node>) {
        match node {
            None => self.queue_mut(dsq).first = next,
            Some(node) => {
                if let Some(links) = self.links_mut(node) {
                    links.next = next;
                }
            }
        }
    }

    fn set_prev(&mut self, dsq: DsqRef, node: Option<Node>, prev: Option<Node>) {
        match node {
            None => self.queue_mut(dsq).last = prev,
            Some(node) => {
                if let Some(links) = self.links_mut(node) {
                    links.prev = prev;
                }
            }
        }
    }
}
