// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cases by number, and the simplest one that fails as another did.

use std::time::{Duration, Instant};

use proptest::strategy::{BoxedStrategy, Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::objects::Objects;
use crate::panics::Panic;
use crate::random::case::Case;
use crate::trial::tried;

/// Most cases that are tried to find a simpler one.
const MOST_TRIES: u32 = 2_000;
/// Longest time that this may take.
const LONGEST: Duration = Duration::from_secs(60);

/// A case that fails.
#[derive(Debug)]
pub struct Failure {
    /// The simplest case that was found.
    pub case: Case,
    /// How it fails.
    pub panic: Panic,
    /// How many cases were tried.
    pub tries: u32,
}

/// Case number `number` of `seed`. The same pair gives the same case, whatever was drawn before.
pub fn drawn(cases: &BoxedStrategy<Case>, seed: u64, number: u64) -> Option<Box<dyn ValueTree<Value = Case>>> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..16].copy_from_slice(&number.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let config = Config { failure_persistence: None, ..Config::default() };
    cases.new_tree(&mut TestRunner::new_with_rng(config, rng)).ok()
}

/// The simplest case below `tree`, which fails with `panic`, that fails at the same place.
pub fn shrunk(tree: &mut dyn ValueTree<Value = Case>, panic: Panic, objects: &Objects) -> Failure {
    let mut best = Failure { case: tree.current(), panic, tries: 0 };
    let start = Instant::now();
    let mut simpler = tree.simplify();
    while simpler && best.tries < MOST_TRIES && start.elapsed() < LONGEST {
        best.tries += 1;
        let case = tree.current();
        match tried(&case, objects) {
            Err(panic) if panic.place == best.panic.place => {
                (best.case, best.panic) = (case, panic);
                simpler = tree.simplify();
            }
            _ => simpler = tree.complicate(),
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::case::any_case;

    #[test]
    fn a_case_is_a_function_of_seed_and_number() {
        let cases = any_case(&Objects(Vec::new()));
        let drawn = |seed, number| format!("{:?}", drawn(&cases, seed, number).map(|tree| tree.current()));
        let first = drawn(7, 3);
        assert_ne!(first, drawn(7, 4));
        assert_ne!(first, drawn(8, 3));
        assert_eq!(first, drawn(7, 3));
    }
}
