// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rounds of a thread: from what activates it to the end of its work, and the deadlines in between.
//!
//! docs/models.md, "Rounds and deadlines", says what begins and ends a round.

use super::latency::Latencies;
use super::thread::Thread;
use crate::metrics::{Deadlines, Frames, Timing};
use crate::observer::{Measured, TimesUpTo};
use crate::units::Nanos;
use crate::workload::{Policy, TaskSpec};

/// The present round of a thread, and the counts of those before.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    /// When the present round was activated; `None` while the thread waits for the next.
    since: Option<Nanos>,
    /// The thread has worked in this round.
    worked: bool,
    /// Something else than its start has activated the thread.
    activated: bool,
    /// Waits are part of the round for now.
    same: bool,
    /// From activation to deadline, as the workload says or the policy does.
    deadline: Option<Nanos>,
    /// The rounds that ended.
    pub ended: Tally,
}

/// Counts of rounds.
#[derive(Debug, Default)]
pub(super) struct Tally {
    rounds: u64,
    response: Latencies,
    /// Of the rounds those that had a deadline, and of these those that ended later.
    deadlines: u64,
    missed: u64,
    /// Sum and least of the times left to the deadlines.
    slack: i128,
    least_slack: i64,
}

impl Rounds {
    /// The thread of `kind` starts: its first round begins.
    pub fn start(&mut self, now: Nanos) {
        self.since = Some(now);
    }

    /// From now on the deadline is that of `policy`, unless the workload names one.
    pub fn set_policy(&mut self, kind: &TaskSpec, policy: Policy) {
        self.deadline = kind.deadline.or(match policy {
            Policy::Deadline { deadline, .. } => Some(deadline),
            _ => None,
        });
    }

    /// What the thread waited for came at `at`: a round begins, unless the wait was part of one.
    #[inline]
    pub fn activate(&mut self, at: Nanos) {
        if self.since.is_none() {
            self.since = Some(at);
            self.activated = true;
        }
    }

    /// The thread does `work` in its round, if that is anything.
    #[inline]
    pub fn work(&mut self, work: Nanos) {
        self.worked |= work > 0;
    }

    /// Whether waits are part of the round from now on.
    pub fn keep(&mut self, same: bool) {
        self.same = same;
    }

    /// The thread begins to wait: its round ends, unless the wait is part of the round. `expiry` is when a timer is due
    /// for which the thread waits.
    #[inline]
    pub fn end(&mut self, now: Nanos, expiry: Option<Nanos>) {
        if self.same {
            return;
        }
        // A thread that only looks whether there is something to do has no round.
        let (Some(since), true) = (self.since.take(), std::mem::take(&mut self.worked)) else { return };
        let due = self.deadline.map(|deadline| since.saturating_add(deadline)).or(expiry);
        self.ended.add(now - since.min(now), due.map(|due| due as i64 - now as i64));
    }

    /// The thread goes on at once with what it could have waited for: another round.
    pub fn next(&mut self, now: Nanos) {
        self.end(now, None);
        self.activate(now);
    }

    /// The thread goes on at once with what was posted at `posted`: another round if it has worked, which has waited since
    /// then, and since whatever else it needed came.
    pub fn take(&mut self, now: Nanos, posted: Nanos) {
        if self.same {
            return;
        }
        let other = self.since.filter(|_| !self.worked);
        self.end(now, None);
        self.activate(other.map_or(posted, |other| other.max(posted)));
    }

    /// The thread ends. One that never waited for anything has no round.
    pub fn exit(&mut self, now: Nanos) {
        if self.activated {
            self.same = false;
            self.end(now, None);
        }
    }
}

impl Tally {
    #[inline]
    fn add(&mut self, response: Nanos, slack: Option<i64>) {
        self.rounds += 1;
        self.response.add(response);
        if let Some(slack) = slack {
            self.least_slack = if self.deadlines == 0 { slack } else { self.least_slack.min(slack) };
            self.deadlines += 1;
            self.missed += u64::from(slack < 0);
            self.slack += i128::from(slack);
        }
    }

    fn merge(&mut self, other: &Self) {
        self.rounds += other.rounds;
        self.response.merge(&other.response);
        if other.deadlines > 0 {
            let least = if self.deadlines == 0 { i64::MAX } else { self.least_slack };
            self.least_slack = least.min(other.least_slack);
            self.deadlines += other.deadlines;
            self.missed += other.missed;
            self.slack += other.slack;
        }
    }

    fn deadlines(&self) -> Option<Deadlines> {
        let rounds = self.deadlines as f64;
        (self.deadlines > 0).then(|| Deadlines {
            rounds: self.deadlines,
            missed: self.missed,
            missed_share: self.missed as f64 / rounds,
            worst_miss_ns: self.least_slack.min(0).unsigned_abs(),
            least_slack_ns: self.least_slack,
            mean_slack_ns: self.slack as f64 / rounds,
        })
    }
}

/// What several threads, or one, say of how late they were.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    latencies: Latencies,
    rounds: Tally,
    /// Rounds of threads whose rounds are frames; `None` without such a thread.
    frames: Option<(u64, u64)>,
}

impl Gathered {
    /// Adds what `thread` did.
    pub fn add(&mut self, thread: &Thread<'_>) {
        let ended = &thread.rounds.ended;
        self.latencies.merge(&thread.stats.latencies);
        self.rounds.merge(ended);
        if thread.kind.frame {
            let (count, late) = self.frames.unwrap_or_default();
            self.frames = Some((count + ended.rounds, late + ended.missed));
        }
    }

    /// All times that were measured.
    pub fn distributions(&mut self) -> [(Measured, Vec<TimesUpTo>); 2] {
        let response = self.rounds.response.steps();
        [(Measured::WakeupLatency, self.latencies.steps()), (Measured::Response, response)]
    }

    /// Everything as the report has it; the threads had `span_s` seconds.
    pub fn timing(mut self, span_s: f64) -> Timing {
        let per_s = |count: u64| if span_s > 0.0 { count as f64 / span_s } else { 0.0 };
        Timing {
            wakeup_latency_ns: self.latencies.summary(),
            response_ns: self.rounds.response.summary(),
            rounds: self.rounds.rounds,
            rounds_per_s: per_s(self.rounds.rounds),
            deadlines: self.rounds.deadlines(),
            frames: self.frames.map(|(count, late)| Frames { count, per_s: per_s(count), late }),
        }
    }
}
