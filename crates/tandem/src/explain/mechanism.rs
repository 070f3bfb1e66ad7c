// SPDX-License-Identifier: GPL-2.0-only
//! The mechanisms of Tandem's scheduler (`bpf/`), by the names that the object gives to settings, states and counters.

/// A mechanism of the scheduler.
#[derive(Debug)]
pub struct Mechanism {
    /// Name of the mechanism and of the setting that turns it on.
    pub name: &'static str,
    /// Value of the setting that turns the mechanism on.
    pub value: &'static str,
    /// First word of the names of the mechanism's counters.
    pub prefix: &'static str,
    /// Counters of the mechanism, in the object's order.
    pub counters: &'static [Counter],
}

/// A counter of the scheduler.
#[derive(Debug)]
pub struct Counter {
    /// Name of the counter.
    pub name: &'static str,
    /// What the counter counts.
    pub meaning: &'static str,
    /// Whether the counter counts decisions that would be different without the mechanism. Other counters count what
    /// leads to such decisions.
    pub acts: bool,
}

const fn acts(name: &'static str, meaning: &'static str) -> Counter {
    Counter { name, meaning, acts: true }
}

const fn sees(name: &'static str, meaning: &'static str) -> Counter {
    Counter { name, meaning, acts: false }
}

impl Mechanism {
    /// Name of the variable that says in which state the mechanism is.
    pub fn state(&self) -> String {
        format!("{}_state", self.name)
    }

    /// The setting that turns the mechanism on, as written behind `tandem,`.
    pub fn on(&self) -> String {
        format!("{}={}", self.name, self.value)
    }
}

/// All mechanisms, in the order in which they decide about a task: where it runs, on which CPU, when, beside which
/// tasks, how fast.
pub const MECHANISMS: [Mechanism; 5] = [
    Mechanism {
        name: "isolate",
        value: "shared",
        prefix: "isolate_",
        counters: &[
            acts("isolate_noise", "system tasks that began to run on the OS CPU"),
            acts("isolate_clock_changed", "changes of that CPU's clock for what the noise needs"),
            acts("isolate_clock_hurried", "times that its clock went up at once, as noise piled up"),
        ],
    },
    Mechanism {
        name: "longest",
        value: "true",
        prefix: "longest_",
        counters: &[
            sees("longest_hinted", "threads whose program said how long they are"),
            sees("longest_recalled", "threads that got the length of an earlier round or run"),
            sees("longest_learned", "lengths learned or corrected"),
            sees("longest_lock_holders", "threads that got a lock which others wait for"),
            acts("longest_on_fast", "long threads that began to run on one of the fastest CPUs"),
            acts("longest_swapped", "fast CPUs taken from shorter threads"),
            sees("longest_crowded", "threads beyond those of a program that are compared"),
        ],
    },
    Mechanism {
        name: "serial_first",
        value: "true",
        prefix: "serial_",
        counters: &[
            sees("serial_parallel_phases", "parallel phases that began"),
            sees("serial_phases", "serial phases that began"),
            acts("serial_promoted", "waiting threads that went ahead of others"),
            acts("serial_preempted", "CPUs that serial threads took from other threads"),
            acts("serial_raised", "serial threads that went on on a faster CPU"),
            acts("serial_kept", "slices that serial threads went on for"),
            sees("serial_limited", "times that serial threads had used up their share"),
            acts("serial_juniors", "threads that waited as juniors"),
            acts("serial_senior", "times that an application became the senior"),
            sees("serial_seniority_crowded", "large applications beyond those that seniority watches"),
        ],
    },
    Mechanism {
        name: "sorted",
        value: "true",
        prefix: "sorted_",
        counters: &[
            sees("sorted_epochs", "epochs of pairs of CPUs"),
            acts("sorted_turns", "turns in sorted queues"),
            sees("sorted_mixed", "ticks beside a thread of the other half of intensities"),
            sees("sorted_alike", "ticks beside one of the same half"),
            sees("sorted_newcomers", "threads that waited as newcomers, in no sorted queue"),
            acts("sorted_balanced", "threads taken from longer queues"),
            acts("sorted_stolen", "threads taken by CPUs with nothing else to do"),
            acts("sorted_exchanged", "pairs of threads exchanged between queues"),
        ],
    },
    Mechanism {
        name: "speed",
        value: "true",
        prefix: "speed_",
        counters: &[
            acts("speed_raised", "clocks raised"),
            acts("speed_lowered", "clocks lowered, all of their CPUs being idle"),
            acts("speed_edp_lowered", "clocks lowered, their CPUs waiting for memory"),
            sees("speed_kept", "changes dropped, as load flipped back in time"),
            sees("speed_repeated", "requests made again, which the governor may have missed"),
            acts("speed_warm", "threads woken where the clock was high already"),
            acts("speed_light", "light threads woken where they cost less"),
        ],
    },
];
