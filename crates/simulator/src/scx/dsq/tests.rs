// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queues against a naive model.

use proptest::prelude::*;

use super::iter::{DSQ_ITER_REV, DsqIter};
use super::*;

const QUEUE: u64 = 7;

fn dsqs() -> (Dsqs, DsqRef) {
    let mut dsqs = Dsqs::new(2, 1);
    let dsq = dsqs.create(QUEUE).unwrap();
    (dsqs, dsq)
}

fn order(dsqs: &Dsqs, dsq: DsqRef) -> Vec<u32> {
    dsqs.tasks(dsq).map(|task| task.0).collect()
}

fn insert(dsqs: &mut Dsqs, dsq: DsqRef, tasks: &[u32]) {
    for task in tasks {
        assert_eq!(dsqs.insert(dsq, TaskId(*task), Place::Tail), None);
    }
}

#[test]
fn head_goes_before_and_tail_behind() {
    let (mut dsqs, dsq) = dsqs();
    insert(&mut dsqs, dsq, &[1, 2]);
    dsqs.insert(dsq, TaskId(3), Place::Head);
    assert_eq!((order(&dsqs, dsq), dsqs.nr(dsq)), (vec![3, 1, 2], 3));
    assert_eq!((dsqs.remove(TaskId(1)), dsqs.remove(TaskId(1))), (Some(dsq), None));
    assert_eq!((order(&dsqs, dsq), dsqs.dsq_of(TaskId(2)), dsqs.dsq_of(TaskId(1))), (vec![3, 2], Some(dsq), None));
}

#[test]
fn virtual_time_orders_over_the_wrap_and_keeps_arrival_among_equals() {
    let (mut dsqs, dsq) = dsqs();
    for (task, vtime) in [(1, 5), (2, u64::MAX - 1), (3, 5), (4, u64::MAX), (5, 0)] {
        assert_eq!(dsqs.insert(dsq, TaskId(task), Place::Vtime(vtime)), None);
    }
    assert_eq!(order(&dsqs, dsq), [2, 4, 5, 1, 3]);
}

#[test]
fn mixing_both_orders_is_noticed_as_long_as_the_other_is_there() {
    let (mut dsqs, dsq) = dsqs();
    insert(&mut dsqs, dsq, &[1]);
    assert_eq!(dsqs.insert(dsq, TaskId(2), Place::Vtime(9)), Some(Mixed::HadFifo));
    assert_eq!(dsqs.insert(dsq, TaskId(3), Place::Vtime(9)), None, "the tree is no longer empty");
    assert_eq!(dsqs.insert(dsq, TaskId(4), Place::Tail), Some(Mixed::HadPriq));
    assert_eq!(order(&dsqs, dsq), [2, 3, 1, 4], "the first ordered one goes to the head");
    for task in [2, 3] {
        dsqs.remove(TaskId(task));
    }
    assert_eq!(dsqs.insert(dsq, TaskId(5), Place::Tail), None);
}

#[test]
fn ids_are_the_schedulers_own_and_unique() {
    let (mut dsqs, _) = dsqs();
    assert_eq!(dsqs.create(QUEUE), Err(-17));
    assert_eq!(dsqs.create(SCX_DSQ_GLOBAL), Err(-22));
    assert_eq!((dsqs.find_user_dsq(QUEUE).is_some(), dsqs.find_user_dsq(SCX_DSQ_GLOBAL)), (true, None));
    assert_eq!(dsqs.user_ids(), [QUEUE]);
    assert_eq!((dsqs.local_cpu(dsqs.local(CpuId(1))), dsqs.local_cpu(dsqs.global(0))), (Some(CpuId(1)), None));
}

#[test]
fn only_an_empty_queue_is_destroyed() {
    let (mut dsqs, dsq) = dsqs();
    insert(&mut dsqs, dsq, &[1, 2]);
    assert_eq!(dsqs.destroy(QUEUE), Err(2));
    dsqs.remove(TaskId(1));
    dsqs.remove(TaskId(2));
    assert_eq!((dsqs.destroy(QUEUE), dsqs.destroy(QUEUE)), (Ok(()), Ok(())));
    assert_eq!(dsqs.find_user_dsq(QUEUE), None);
    assert_eq!(dsqs.create(8), Ok(dsq), "its memory is used again");
    assert_eq!(dsqs.id(dsq), 8);
}

#[test]
fn an_iterator_keeps_a_destroyed_queue_from_being_another() {
    let (mut dsqs, dsq) = dsqs();
    let iter = dsqs.iter_new(QUEUE, 0).unwrap();
    dsqs.destroy(QUEUE).unwrap();
    let other = dsqs.create(8).unwrap();
    assert_ne!(other, dsq);
    insert(&mut dsqs, other, &[1]);
    assert_eq!(dsqs.iter_next(iter).0, None);
    dsqs.iter_destroy(iter);
    assert_eq!(dsqs.create(9), Ok(dsq));
}

#[test]
fn an_iterator_gives_what_was_there_at_first_in_either_direction() {
    let (mut dsqs, dsq) = dsqs();
    insert(&mut dsqs, dsq, &[1, 2, 3]);
    let forward = dsqs.iter_new(QUEUE, 0).unwrap();
    let back = dsqs.iter_new(QUEUE, DSQ_ITER_REV).unwrap();
    dsqs.insert(dsq, TaskId(4), Place::Head);
    insert(&mut dsqs, dsq, &[5]);
    let walk =
        |dsqs: &mut Dsqs, iter| std::iter::from_fn(|| dsqs.iter_next(iter).0).map(|task| task.0).collect::<Vec<_>>();
    assert_eq!(walk(&mut dsqs, forward), [1, 2, 3]);
    assert_eq!(walk(&mut dsqs, back), [3, 2, 1]);
    assert_eq!(dsqs.iter_next(forward).0, Some(TaskId(1)), "after the end it begins again");
    assert!(!dsqs.iter_sees(forward, TaskId(5)) && dsqs.iter_sees(forward, TaskId(3)));
}

#[test]
fn the_task_that_an_iterator_stands_at_may_leave() {
    let (mut dsqs, dsq) = dsqs();
    insert(&mut dsqs, dsq, &[1, 2, 3]);
    let iter = dsqs.iter_new(QUEUE, 0).unwrap();
    assert_eq!(dsqs.iter_next(iter).0, Some(TaskId(1)));
    dsqs.remove(TaskId(1));
    dsqs.remove(TaskId(2));
    assert_eq!(order(&dsqs, dsq), [3], "a cursor is no task");
    assert_eq!((dsqs.nr(dsq), dsqs.iter_next(iter).0), (1, Some(TaskId(3))));
    // It came back later, so the iterator does not see it.
    insert(&mut dsqs, dsq, &[1]);
    assert_eq!(dsqs.iter_next(iter).0, None);
}

#[test]
fn iterators_refuse_what_the_kernel_refuses() {
    let (mut dsqs, _) = dsqs();
    assert_eq!(dsqs.iter_new(QUEUE, 1), Err(-22));
    assert_eq!(dsqs.iter_new(8, 0), Err(-2));
    assert_eq!(dsqs.iter_new(SCX_DSQ_GLOBAL, 0), Err(-2));
    assert_eq!(dsqs.iter_next(DsqIter(5)), (None, 0));
    dsqs.iter_destroy(DsqIter(5));
}

#[test]
fn a_moved_task_is_not_counted_as_new() {
    let (mut dsqs, dsq) = dsqs();
    insert(&mut dsqs, dsq, &[1, 2]);
    dsqs.remove(TaskId(1));
    dsqs.insert_moved(CpuId(1), TaskId(1), Place::Tail);
    assert_eq!(dsqs.seq_of(TaskId(1)), 1);
    dsqs.insert(dsqs.local(CpuId(1)), TaskId(9), Place::Tail);
    assert_eq!(dsqs.seq_of(TaskId(9)), 1);
}

#[derive(Debug, Clone)]
enum Step {
    Insert(u32, Place),
    Remove(u32),
    New(bool),
    Next(usize),
    Destroy(usize),
}

fn step(fifo: bool) -> impl Strategy<Value = Step> {
    let near_wrap = (0u64..8).prop_map(|offset| Place::Vtime(offset.wrapping_sub(4)));
    let place = if fifo { prop_oneof![Just(Place::Head), Just(Place::Tail)].boxed() } else { near_wrap.boxed() };
    prop_oneof![
        4 => (0u32..12, place).prop_map(|(task, place)| Step::Insert(task, place)),
        2 => (0u32..12).prop_map(Step::Remove),
        1 => any::<bool>().prop_map(Step::New),
        3 => (0usize..4).prop_map(Step::Next),
        1 => (0usize..4).prop_map(Step::Destroy),
    ]
}

/// A queue as a vector, in which iterators are items too: `(task or !iterator, vtime, seq)`.
#[derive(Default)]
struct Naive {
    items: Vec<(i64, u64, u32)>,
    seq: u32,
    /// Iterators: reverse, seq.
    iters: Vec<Option<(bool, u32)>>,
}

impl Naive {
    fn position(&self, key: i64) -> Option<usize> {
        self.items.iter().position(|item| item.0 == key)
    }

    fn insert(&mut self, task: u32, place: Place) {
        self.seq += 1;
        let (index, vtime) = match place {
            Place::Head => (0, 0),
            Place::Tail => (self.items.len(), 0),
            Place::Vtime(vtime) => {
                let not_later = |item: &(i64, u64, u32)| item.0 >= 0 && (vtime.wrapping_sub(item.1) as i64) >= 0;
                (self.items.iter().rposition(not_later).map_or(0, |index| index + 1), vtime)
            }
        };
        self.items.insert(index, (i64::from(task), vtime, self.seq));
    }

    fn next(&mut self, iter: usize) -> Option<u32> {
        let (reverse, seq) = self.iters[iter]?;
        let key = !(iter as i64);
        let at = self.position(key);
        let seen = |item: &(i64, u64, u32)| item.0 >= 0 && item.2 <= seq;
        let found = if reverse {
            self.items[..at.unwrap_or(self.items.len())].iter().rposition(seen)
        } else {
            let start = at.map_or(0, |at| at + 1);
            self.items[start..].iter().position(seen).map(|offset| start + offset)
        };
        let task = found.map(|index| self.items[index].0);
        self.items.retain(|item| item.0 != key);
        let index = self.position(task?)?;
        self.items.insert(if reverse { index } else { index + 1 }, (key, 0, 0));
        u32::try_from(task?).ok()
    }

    fn tasks(&self) -> Vec<u32> {
        self.items.iter().filter_map(|item| u32::try_from(item.0).ok()).collect()
    }
}

fn apply(dsqs: &mut Dsqs, dsq: DsqRef, naive: &mut Naive, step: &Step) {
    match *step {
        Step::Insert(task, place) if dsqs.dsq_of(TaskId(task)).is_none() => {
            assert_eq!(dsqs.insert(dsq, TaskId(task), place), None);
            naive.insert(task, place);
        }
        Step::Insert(..) => {}
        Step::Remove(task) => {
            let there = naive.position(i64::from(task));
            assert_eq!(dsqs.remove(TaskId(task)).is_some(), there.is_some());
            naive.items.retain(|item| item.0 != i64::from(task));
        }
        Step::New(reverse) => {
            let iter = dsqs.iter_new(QUEUE, if reverse { DSQ_ITER_REV } else { 0 }).unwrap();
            let index = iter.0 as usize;
            naive.iters.resize(naive.iters.len().max(index + 1), None);
            naive.iters[index] = Some((reverse, naive.seq));
        }
        Step::Next(iter) if iter < naive.iters.len() => {
            assert_eq!(dsqs.iter_next(DsqIter(iter as u32)).0.map(|task| task.0), naive.next(iter));
        }
        Step::Destroy(iter) if iter < naive.iters.len() => {
            dsqs.iter_destroy(DsqIter(iter as u32));
            naive.iters[iter] = None;
            naive.items.retain(|item| item.0 != !(iter as i64));
        }
        Step::Next(_) | Step::Destroy(_) => {}
    }
}

proptest! {
    #[test]
    fn queues_do_what_a_vector_does(
        steps in any::<bool>().prop_flat_map(|fifo| proptest::collection::vec(step(fifo), 0..80))
    ) {
        let (mut dsqs, dsq) = dsqs();
        let mut naive = Naive::default();
        for step in &steps {
            apply(&mut dsqs, dsq, &mut naive, step);
            prop_assert_eq!(order(&dsqs, dsq), naive.tasks());
            prop_assert_eq!(dsqs.nr(dsq) as usize, naive.tasks().len());
            let mut back = Vec::new();
            let mut node = dsqs.next_task(dsq, None, true);
            while let Some(task) = node {
                back.push(task.0);
                node = dsqs.next_task(dsq, Some(list::Node::Task(task)), true);
            }
            back.reverse();
            prop_assert_eq!(back, naive.tasks());
        }
    }
}
