// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs walk a queue (`bpf_iter_scx_dsq_new`, `_next`, `_destroy`).
//!
//! A cursor stands in the list behind the task that it gave last (before it, if it walks backwards), so that the task
//! may leave and others come. It gives only tasks that were in the queue when it was made.

use super::list::{Links, Node};
use super::{DsqRef, Dsqs};
use crate::scx::errno::{EINVAL, ENOENT};
use crate::units::TaskId;

/// `SCX_DSQ_ITER_REV`: from the last task to the first.
pub const DSQ_ITER_REV: u64 = 1 << 16;

/// An iterator (`struct bpf_iter_scx_dsq_kern`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DsqIter(pub u32);

/// Where an iterator is.
#[derive(Debug)]
pub(super) struct Cursor {
    dsq: DsqRef,
    reverse: bool,
    /// The queue's `seq` when it was made (`cursor.priv`).
    seq: u32,
    /// Whether it stands in the list; at first and after the last task it does not.
    linked: bool,
    pub(super) links: Links,
}

impl Dsqs {
    /// `bpf_iter_scx_dsq_new`: an iterator over the scheduler's queue `id`.
    ///
    /// # Errors
    /// `-EINVAL`: unknown flags; `-ENOENT`: no such queue.
    pub fn iter_new(&mut self, id: u64, flags: u64) -> Result<DsqIter, i64> {
        if flags & !DSQ_ITER_REV != 0 {
            return Err(-EINVAL);
        }
        let dsq = self.find_user_dsq(id).ok_or(-ENOENT)?;
        let queue = self.queue_mut(dsq);
        queue.cursors += 1;
        let (reverse, seq) = (flags & DSQ_ITER_REV != 0, queue.seq);
        let cursor = Some(Cursor { dsq, reverse, seq, linked: false, links: Links::default() });
        match self.cursors.iter().position(Option::is_none) {
            Some(unused) => {
                self.cursors[unused] = cursor;
                Ok(DsqIter(unused as u32))
            }
            None => {
                self.cursors.push(cursor);
                Ok(DsqIter((self.cursors.len() - 1) as u32))
            }
        }
    }

    /// `bpf_iter_scx_dsq_next`, and how many tasks it passed over. After `None` it begins again, as the kernel's.
    pub fn iter_next(&mut self, iter: DsqIter) -> (Option<TaskId>, u64) {
        let Some(cursor) = self.cursor(iter) else { return (None, 0) };
        let (dsq, reverse, seq, linked) = (cursor.dsq, cursor.reverse, cursor.seq, cursor.linked);
        let node = Node::Cursor(iter.0);
        let mut found = self.next_task(dsq, linked.then_some(node), reverse);
        let mut passed = 0;
        while let Some(task) = found
            && seq_before(seq, self.seq_of(task))
        {
            passed += 1;
            found = self.next_task(dsq, Some(Node::Task(task)), reverse);
        }
        if linked {
            self.unlink(dsq, node);
        }
        match found.map(Node::Task) {
            Some(task) if reverse => self.link_before(dsq, node, Some(task)),
            Some(task) => self.link_after(dsq, node, Some(task)),
            None => {}
        }
        if let Some(cursor) = self.cursors[iter.0 as usize].as_mut() {
            cursor.linked = found.is_some();
        }
        (found, passed)
    }

    /// `bpf_iter_scx_dsq_destroy`; nothing happens if there is no such iterator.
    pub fn iter_destroy(&mut self, iter: DsqIter) {
        let Some(cursor) = self.cursor(iter) else { return };
        let (dsq, linked) = (cursor.dsq, cursor.linked);
        if linked {
            self.unlink(dsq, Node::Cursor(iter.0));
        }
        self.cursors[iter.0 as usize] = None;
        self.queue_mut(dsq).cursors -= 1;
        self.reuse(dsq);
    }

    /// Whether `task` is in the queue that `iter` walks and was so when `iter` was made.
    pub fn iter_sees(&self, iter: DsqIter, task: TaskId) -> bool {
        self.cursor(iter)
            .is_some_and(|cursor| self.dsq_of(task) == Some(cursor.dsq) && !seq_before(cursor.seq, self.seq_of(task)))
    }

    fn cursor(&self, iter: DsqIter) -> Option<&Cursor> {
        self.cursors.get(iter.0 as usize)?.as_ref()
    }
}

/// `u32_before`: whether `a` comes before `b`, though counters wrap.
fn seq_before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}
