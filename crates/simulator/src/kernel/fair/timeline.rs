// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fair class's timeline: queued entities sorted by virtual deadline, searchable by eligibility.
//!
//! The kernel uses an augmented red-black tree (`tasks_timeline`); this is a treap with the same order (equal deadlines
//! stay first come, first served) and the same augmentation (least `vruntime` of each subtree), so that the same
//! entity is picked. Its links live in the entities, as the kernel's do.

use super::entity::{NIL, SchedEntity};

/// A tree of entities, by index.
#[derive(Debug)]
pub(super) struct Timeline {
    root: u32,
    sequence: u64,
}

impl Default for Timeline {
    fn default() -> Self {
        Self { root: NIL, sequence: 0 }
    }
}

impl Timeline {
    /// `__enqueue_entity`.
    pub fn insert(&mut self, entities: &mut [SchedEntity], node: u32) {
        self.sequence += 1;
        let entity = &mut entities[node as usize];
        (entity.sequence, entity.left, entity.right) = (self.sequence, NIL, NIL);
        entity.min_vruntime = entity.vruntime;
        self.root = insert(entities, self.root, node);
    }

    /// `__dequeue_entity`.
    pub fn remove(&mut self, entities: &mut [SchedEntity], node: u32) {
        self.root = remove(entities, self.root, node);
    }

    /// The entity with the earliest deadline (`__pick_first_entity`).
    pub fn first(&self, entities: &[SchedEntity]) -> Option<u32> {
        let mut node = self.root;
        if node == NIL {
            return None;
        }
        while entities[node as usize].left != NIL {
            node = entities[node as usize].left;
        }
        Some(node)
    }

    /// All entities, in no order.
    pub fn iter<'a>(&self, entities: &'a [SchedEntity]) -> impl Iterator<Item = u32> + 'a {
        let mut stack = vec![self.root];
        std::iter::from_fn(move || {
            let node = loop {
                match stack.pop()? {
                    NIL => {}
                    node => break node,
                }
            };
            stack.extend([entities[node as usize].left, entities[node as usize].right]);
            Some(node)
        })
    }

    /// The eligible entity with the earliest deadline: the heap search of `pick_eevdf`.
    pub fn first_eligible(&self, entities: &[SchedEntity], eligible: impl Fn(i64) -> bool) -> Option<u32> {
        let mut node = self.root;
        while node != NIL {
            let entity = &entities[node as usize];
            if entity.left != NIL && eligible(entities[entity.left as usize].min_vruntime) {
                node = entity.left;
            } else if eligible(entity.vruntime) {
                return Some(node);
            } else {
                node = entity.right;
            }
        }
        None
    }
}

fn before(entities: &[SchedEntity], a: u32, b: u32) -> bool {
    let (a, b) = (&entities[a as usize], &entities[b as usize]);
    (a.deadline, a.sequence) < (b.deadline, b.sequence)
}

/// Recomputes the augmentation of `node` from its children.
fn refresh(entities: &mut [SchedEntity], node: u32) {
    let entity = &entities[node as usize];
    let mut least = entity.vruntime;
    for child in [entity.left, entity.right] {
        if child != NIL {
            least = least.min(entities[child as usize].min_vruntime);
        }
    }
    entities[node as usize].min_vruntime = least;
}

fn insert(entities: &mut [SchedEntity], root: u32, node: u32) -> u32 {
    if root == NIL {
        return node;
    }
    if entities[node as usize].heap > entities[root as usize].heap {
        let (left, right) = split(entities, root, node);
        (entities[node as usize].left, entities[node as usize].right) = (left, right);
        refresh(entities, node);
        return node;
    }
    if before(entities, node, root) {
        entities[root as usize].left = insert(entities, entities[root as usize].left, node);
    } else {
        entities[root as usize].right = insert(entities, entities[root as usize].right, node);
    }
    refresh(entities, root);
    root
}

/// Splits the tree into what comes before `node` and what comes after.
fn split(entities: &mut [SchedEntity], root: u32, node: u32) -> (u32, u32) {
    if root == NIL {
        return (NIL, NIL);
    }
    if before(entities, root, node) {
        let (left, right) = split(entities, entities[root as usize].right, node);
        entities[root as usize].right = left;
        refresh(entities, root);
        (root, right)
    } else {
        let (left, right) = split(entities, entities[root as usize].left, node);
        entities[root as usize].left = right;
        refresh(entities, root);
        (left, root)
    }
}

fn remove(entities: &mut [SchedEntity], root: u32, node: u32) -> u32 {
    debug_assert_ne!(root, NIL, "the entity is in the tree");
    if root == node {
        return merge(entities, entities[node as usize].left, entities[node as usize].right);
    }
    if before(entities, node, root) {
        entities[root as usize].left = remove(entities, entities[root as usize].left, node);
    } else {
        entities[root as usize].right = remove(entities, entities[root as usize].right, node);
    }
    refresh(entities, root);
    root
}

fn merge(entities: &mut [SchedEntity], left: u32, right: u32) -> u32 {
    if left == NIL || right == NIL {
        return if left == NIL { right } else { left };
    }
    let root = if entities[left as usize].heap > entities[right as usize].heap {
        entities[left as usize].right = merge(entities, entities[left as usize].right, right);
        left
    } else {
        entities[right as usize].left = merge(entities, left, entities[right as usize].left);
        right
    };
    refresh(entities, root);
    root
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entity(deadline: i64, vruntime: i64, heap: u32) -> SchedEntity {
        SchedEntity { deadline, vruntime, ..SchedEntity::new(1024, None, 0, heap) }
    }

    proptest! {
        /// Whatever is inserted and removed, the picks are those of a sorted list.
        #[test]
        fn picks_equal_a_sorted_list(
            specs in prop::collection::vec((0i64..20, 0i64..20, any::<u32>(), any::<bool>()), 1..60),
            threshold in 0i64..20,
        ) {
            let mut entities: Vec<_> = specs.iter().map(|(d, v, h, _)| entity(*d, *v, *h)).collect();
            let mut timeline = Timeline::default();
            for node in 0..entities.len() as u32 {
                timeline.insert(&mut entities, node);
            }
            let mut kept: Vec<u32> = Vec::new();
            for (node, spec) in specs.iter().enumerate() {
                if spec.3 { timeline.remove(&mut entities, node as u32) } else { kept.push(node as u32) }
            }
            kept.sort_by_key(|node| (entities[*node as usize].deadline, *node));
            prop_assert_eq!(timeline.first(&entities), kept.first().copied());
            let expected = kept.iter().copied().find(|node| entities[*node as usize].vruntime <= threshold);
            prop_assert_eq!(timeline.first_eligible(&entities, |vruntime| vruntime <= threshold), expected);
        }
    }
}
