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

/// Runs the jobs as [`run_all`] does; `None` stands for each that was not begun before `progress` stopped. They are begun in their
/// order, so that of those behind each other that belong together no more are unfinished then than there are threads.
pub fn run_until_stopped<J: Sync, Y: Send, E: Send>(
    jobs: &[J],
    run: impl Fn(&J) -> Result<Y, E> + Sync,
    progress: &dyn Progress,
    what: &str,
) -> Result<Vec<Option<Y>>, E> {
    progress.begin(what, jobs.len());
    let (next, first_failure) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
    let one = |_| {
        let index = next.fetch_add(1, Ordering::Relaxed);
        if first_failure.load(Ordering::Relaxed) < index || progress.stopped() {
            return (index, None);
        }
        let result = run(&jobs[index]);
        if result.is_err() {
            first_failure.fetch_min(index, Ordering::Relaxed);
        }
        progress.run_done();
        (index, Some(result))
    };
    // The threads share the work by halves; which job each does is not theirs to say.
    let mut results: Vec<(usize, Option<Result<Y, E>>)> =
        (0..jobs.len()).into_par_iter().with_max_len(1).map(one).collect();
    progress.end();
    results.sort_unstable_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result.transpose()).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;
    use crate::progress::Silent;

    /// Stops after so many jobs were begun.
    struct After(usize, AtomicUsize);

    impl Progress for After {
        fn stopped(&self) -> bool {
            self.1.fetch_add(1, Ordering::Relaxed) >= self.0
        }
    }

    #[test]
    fn what_was_done_before_a_stop_is_the_beginning() {
        let threads = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
        // Four jobs are always done together, each on a thread, however busy the machine is.
        let (jobs, four) = ((0..40).collect::<Vec<usize>>(), Barrier::new(4));
        let run = |job: &usize| {
            four.wait();
            Ok::<_, ()>(*job)
        };
        let stop = After(8, AtomicUsize::new(0));
        let done = threads.install(|| run_until_stopped(&jobs, run, &stop, "")).unwrap();
        let places: Vec<usize> = done.iter().flatten().copied().collect();
        assert_eq!((places.len(), done.len()), (8, 40));
        // Each other thread may have been the first to ask whether to stop.
        assert!(places.iter().all(|place| *place < 8 + 3), "{places:?}");
    }

    #[test]
    fn results_are_in_the_order_of_the_jobs() {
        let jobs: Vec<usize> = (0..1000).collect();
        assert_eq!(run_all(&jobs, |job| Ok::<_, ()>(*job), &Silent, "").unwrap(), jobs);
        let failed = |job: &usize| if *job % 100 == 99 { Err(*job) } else { Ok(()) };
        assert_eq!(run_all(&jobs, failed, &Silent, ""), Err(99));
    }
}
