// SPDX-License-Identifier: GPL-2.0-only
//! Many simulations at once; what they yield does not depend on how many threads do it.

use std::sync::atomic::{AtomicUsize, Ordering};

use indicatif::ProgressBar;
use rayon::prelude::*;

/// Runs the jobs on all cores. Of several failures the first in order counts, so that the message is always the same;
/// jobs behind a failure are skipped, those before it never are.
pub fn run_all<J: Sync, Y: Send, E: Send>(
    jobs: &[J],
    run: impl Fn(&J) -> Result<Y, E> + Sync,
    bar: &ProgressBar,
) -> Result<Vec<Y>, E> {
    let first_failure = AtomicUsize::new(usize::MAX);
    let results: Vec<Option<Result<Y, E>>> = jobs
        .par_iter()
        .enumerate()
        .with_max_len(1)
        .map(|(index, job)| {
            if first_failure.load(Ordering::Relaxed) < index {
                return None;
            }
            let result = run(job);
            if result.is_err() {
                first_failure.fetch_min(index, Ordering::Relaxed);
            }
            bar.inc(1);
            Some(result)
        })
        .collect();
    results.into_iter().flatten().collect()
}
