// SPDX-License-Identifier: MIT OR Apache-2.0
//! Many simulations at once; what they yield does not depend on how many threads do it.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::progress::Progress;

/// Runs the jobs on all cores, or on those of the thread pool that the caller is in; `progress` hears that they are for
/// `what`. The results are in the order of the jobs, on any number of threads; those that `progress` stopped are left out.
///
/// # Errors
/// Of several failures the first in the order of the jobs, so that the message is always the same. Jobs behind a failure
/// are skipped, those before it never are.
pub fn run_all<J: Sync, Y: Send, E: Send>(
    jobs: &[J],
    run: impl Fn(&J) -> Result<Y, E> + Sync,
    progress: &dyn Progress,
    what: &str,
) -> Result<Vec<Y>, E> {
    Ok(run_until_stopped(jobs, run, progress, what)?.into_iter().flatten().collect())
}

/// Runs the jobs as [`run_all`] does; `None` stands for each that was not begun before `progress` stopped.
pub fn run_until_stopped<J: Sync, Y: Send, E: Send>(
    jobs: &[J],
    run: impl Fn(&J) -> Result<Y, E> + Sync,
    progress: &dyn Progress,
    what: &str,
) -> Result<Vec<Option<Y>>, E> {
    progress.begin(what, jobs.len());
    let first_failure = AtomicUsize::new(usize::MAX);
    let results: Vec<Option<Result<Y, E>>> = jobs
        .par_iter()
        .enumerate()
        .with_max_len(1)
        .map(|(index, job)| {
            if first_failure.load(Ordering::Relaxed) < index || progress.stopped() {
                return None;
            }
            let result = run(job);
            if result.is_err() {
                first_failure.fetch_min(index, Ordering::Relaxed);
            }
            progress.run_done();
            Some(result)
        })
        .collect();
    progress.end();
    results.into_iter().map(Option::transpose).collect()
}
