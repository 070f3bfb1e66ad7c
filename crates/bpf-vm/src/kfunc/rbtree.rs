// SPDX-License-Identifier: MIT OR Apache-2.0
//! `struct bpf_rb_root`: sorted trees of objects that programs own (`kernel/bpf/helpers.c`).
//!
//! The nodes are kept in order and found by bisection. A program sees the same order as in the kernel, equal nodes in
//! the order of insertion. A program can tell the difference in two ways: by the shape that `bpf_rbtree_root`, `_left`
//! and `_right` walk (here always as flat as can be; the kernel's may be up to twice as deep), and by how often `less`
//! is called.

use std::ops::Range;

use crate::fault::Fault;
use crate::host::{Args, Builtin, Host};
use crate::instance::Instance;

use super::collection::Collections;
use super::{EINVAL, failed};

/// Sizes of `struct bpf_rb_root` and `struct bpf_rb_node`.
const ROOT_SIZE: u64 = 16;
const NODE_SIZE: u64 = 32;

pub(super) fn find(name: &str) -> Option<Builtin> {
    Some(match name {
        "bpf_rbtree_add_impl" => bpf_rbtree_add_impl,
        "bpf_rbtree_remove" => bpf_rbtree_remove,
        "bpf_rbtree_first" => |vm, _, args| node_at(vm, args[0], |_| Some(0)),
        "bpf_rbtree_root" => |vm, _, args| node_at(vm, args[0], |nodes| top(0..nodes)),
        "bpf_rbtree_left" => |vm, _, args| child(vm, args, |at, below| top(below.start..at)),
        "bpf_rbtree_right" => |vm, _, args| child(vm, args, |at, below| top(at + 1..below.end)),
        _ => return None,
    })
}

/// The node that stands above the others of a subtree.
fn top(nodes: Range<usize>) -> Option<usize> {
    (!nodes.is_empty()).then(|| nodes.start + nodes.len() / 2)
}

/// `bpf_rbtree_add_impl(root, node, less, meta, off)`, `__bpf_rbtree_add`. If the node is queued somewhere the answer
/// is -EINVAL, and the caller's reference to the node's object is dropped.
fn bpf_rbtree_add_impl(vm: &mut Instance, host: &mut dyn Host, args: Args) -> Result<u64, Fault> {
    let [root, node, less, ..] = args;
    vm.check_root("bpf_rbtree_add", root, ROOT_SIZE)?;
    // The nodes behind the new one move on.
    vm.spend(vm.kfuncs.collections.len(root) as u64 / 8)?;
    if !vm.claim("bpf_rbtree_add", root, (node, NODE_SIZE))? {
        vm.drop_container(node)?;
        return failed(EINVAL);
    }
    match place(vm, host, root, node, less) {
        Ok(at) => vm.kfuncs.collections.insert(root, at, node),
        Err(fault) => {
            vm.kfuncs.collections.unclaim(node);
            return Err(fault);
        }
    }
    Ok(0)
}

/// A node's place in the order: behind all nodes that it is not less than.
fn place(vm: &mut Instance, host: &mut dyn Host, root: u64, node: u64, less: u64) -> Result<usize, Fault> {
    let mut within = 0..vm.kfuncs.collections.len(root);
    while let Some(at) = top(within.clone()) {
        let Some(other) = vm.kfuncs.collections.get(root, at) else { break };
        // A `bool` is returned in the lowest byte.
        let before = vm.call(less, [node, other, 0, 0, 0], host)? as u8 != 0;
        within = if before { within.start..at } else { at + 1..within.end };
    }
    Ok(within.start)
}

/// `bpf_rbtree_remove(root, node)`: returns the node, or 0 if the node is not in this tree.
fn bpf_rbtree_remove(vm: &mut Instance, _: &mut dyn Host, args: Args) -> Result<u64, Fault> {
    let [root, node, ..] = args;
    vm.check_root("bpf_rbtree_remove", root, ROOT_SIZE)?;
    let at = vm.kfuncs.collections.position(root, node);
    // All nodes before it were looked at.
    vm.spend(at.unwrap_or(0) as u64)?;
    Ok(at.and_then(|at| vm.kfuncs.collections.remove(root, at)).unwrap_or(0))
}

/// The node of a tree that `choose` picks, given the number of nodes; 0 if it picks none.
fn node_at(vm: &mut Instance, root: u64, choose: fn(usize) -> Option<usize>) -> Result<u64, Fault> {
    vm.check_root("bpf_rbtree", root, ROOT_SIZE)?;
    let collections = &vm.kfuncs.collections;
    Ok(choose(collections.len(root)).and_then(|at| collections.get(root, at)).unwrap_or(0))
}

/// `bpf_rbtree_left(root, node)` and `bpf_rbtree_right(root, node)` (Linux 6.16): return 0 if there is no such node.
fn child(vm: &mut Instance, args: Args, choose: fn(usize, Range<usize>) -> Option<usize>) -> Result<u64, Fault> {
    let [root, node, ..] = args;
    vm.check_root("bpf_rbtree", root, ROOT_SIZE)?;
    let position = vm.kfuncs.collections.position(root, node);
    vm.spend(position.unwrap_or(0) as u64)?;
    let collections = &vm.kfuncs.collections;
    let chosen = position.and_then(|at| choose(at, subtree(collections, root, at)));
    Ok(chosen.and_then(|at| collections.get(root, at)).unwrap_or(0))
}

/// The node number `at` and all nodes below it.
fn subtree(collections: &Collections, root: u64, at: usize) -> Range<usize> {
    let mut within = 0..collections.len(root);
    while let Some(top) = top(within.clone()) {
        match at.cmp(&top) {
            std::cmp::Ordering::Less => within.end = top,
            std::cmp::Ordering::Greater => within.start = top + 1,
            std::cmp::Ordering::Equal => break,
        }
    }
    within
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: u64 = 0x1000;

    fn tree(nodes: u64) -> Collections {
        let mut collections = Collections::default();
        for node in 1..=nodes {
            assert!(collections.claim(ROOT, node));
            collections.insert(ROOT, usize::MAX, node);
        }
        collections
    }

    /// Adds the nodes from `at` down, left to right, as `bpf_rbtree_left` and `_right` reach them.
    fn walk(collections: &Collections, at: Option<usize>, seen: &mut Vec<usize>) {
        let Some(at) = at else { return };
        let below = subtree(collections, ROOT, at);
        walk(collections, top(below.start..at), seen);
        seen.push(at);
        walk(collections, top(at + 1..below.end), seen);
    }

    #[test]
    fn a_walk_by_left_and_right_sees_every_node_once_and_in_order() {
        for nodes in 0..40 {
            let mut seen = Vec::new();
            walk(&tree(nodes), top(0..nodes as usize), &mut seen);
            assert_eq!(seen, (0..nodes as usize).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_node_is_in_one_tree_at_a_time() {
        let mut collections = tree(3);
        assert!(!collections.claim(0x2000, 2));
        assert_eq!(collections.position(0x2000, 2), None);
        assert_eq!(collections.position(ROOT, 2), Some(1));
        assert_eq!(collections.remove(ROOT, 1), Some(2));
        assert_eq!(collections.position(ROOT, 2), None);
        assert!(collections.claim(0x2000, 2));
    }

    #[test]
    fn a_root_that_goes_away_sets_its_nodes_free() {
        let mut collections = tree(3);
        assert!(collections.any_queued(3, 1));
        assert_eq!(collections.drain(ROOT - 8, 8), [0; 0]);
        assert_eq!(collections.drain(ROOT, 16), [1, 2, 3]);
        assert!(!collections.any_queued(0, u64::MAX));
    }
}
