// SPDX-License-Identifier: GPL-2.0-only
//! A thread that is woken gets the CPU in the simulator that it gets in a kernel, and runs there at once if it does so there: the
//! cases of `scenarios/decisions`, wake-up by wake-up.
//!
//! `scenarios/decisions/kernel` has what a kernel did, as `guest/decisions` recorded it; `DECISIONS=FOLDER` names another
//! recording. `cargo test -p tandem-sched --test all decisions:: -- --nocapture` prints the table of docs/fidelity.md.

mod case;
mod simulated;

use case::{Case, State, Wakeup};
use tandem_simulator::simulation::Scheduler;

use crate::fidelity::simulated::opened;

/// Share of the wake-ups of a case that must be decided alike.
const AGREEMENT: f64 = 0.95;
/// Share of the wake-ups of a case that can be compared at least.
const COMPARABLE: f64 = 0.9;

/// How many wake-ups of a case came out how.
#[derive(Debug, Default, Clone, Copy)]
struct Count {
    all: usize,
    /// The thread had slept on the same CPU in both, and both decided.
    comparable: usize,
    same_cpu: usize,
    /// Of those with the same CPU: it ran there at once in both, or in neither.
    same_turn: usize,
}

impl Count {
    fn add(&mut self, kernel: &Wakeup, here: &Wakeup) {
        self.all += 1;
        let (Some(cpu), Some(at_once)) = (kernel.1, kernel.2) else { return };
        if kernel.0 != here.0 {
            return;
        }
        self.comparable += 1;
        if here.1 == Some(cpu) {
            self.same_cpu += 1;
            self.same_turn += usize::from(here.2 == Some(at_once));
        }
    }

    fn share(part: usize, of: usize) -> f64 {
        part as f64 / of.max(1) as f64
    }
}

/// The wake-ups of a state here. sched_ext takes idle CPUs in turn, and where the turn stands depends on all that the waker's CPU did
/// since the boot: it is taken from the first round, which is not judged.
fn wakeups(case: &Case, scheduler: &Scheduler, state: &State) -> Vec<Wakeup> {
    let with = |turn| simulated::wakeups(case, scheduler, state.busy, state.waker, turn);
    if matches!(scheduler, Scheduler::Fair) {
        return with(None);
    }
    let first_round = |here: &[Wakeup]| {
        let pairs = state.wakeups.iter().zip(here).take(case.cpus());
        pairs.filter(|(kernel, here)| kernel.0 == here.0 && kernel.1 == here.1).count()
    };
    let mut best = with(None);
    for turn in (0..case.cpus() as u32).map(Some) {
        if first_round(&best) == case.cpus() {
            break;
        }
        let here = with(turn);
        if first_round(&here) > first_round(&best) {
            best = here;
        }
    }
    best
}

/// All wake-ups of a case under one scheduler, with what is different.
fn compare(case: &Case, scheduler: &str, kernel: &[State]) -> (Count, Vec<String>) {
    let opened = opened(scheduler);
    let (mut count, mut different) = (Count::default(), Vec::new());
    for state in kernel {
        let here = wakeups(case, &opened, state);
        assert_eq!(here.len(), state.wakeups.len(), "{} under {scheduler}, {:b}", case.name, state.busy);
        // In the first round threads still have, or owe, what they got while they were begun.
        for (number, (kernel, here)) in state.wakeups.iter().zip(&here).enumerate().skip(case.cpus()) {
            let before = count;
            count.add(kernel, here);
            if count.comparable > before.comparable && count.same_turn == before.same_turn {
                let cpus = case.cpus();
                different.push(format!(
                    "busy {:0cpus$b}, waker {}, wake-up {number}: {kernel:?}, here {here:?}",
                    state.busy, state.waker
                ));
            }
        }
    }
    (count, different)
}

#[test]
fn a_thread_that_is_woken_gets_the_cpu_that_a_kernel_gives_it() {
    let mut wrong = Vec::new();
    println!("| case | scheduler | wake-ups | comparable | same CPU % | of these, at once or later alike % |");
    println!("| --- | --- | ---: | ---: | ---: | ---: |");
    for case in Case::all() {
        for (scheduler, kernel) in case.schedulers.iter().zip(case.kernel()) {
            let (count, different) = compare(&case, scheduler, &kernel);
            let cpu = Count::share(count.same_cpu, count.comparable);
            let turn = Count::share(count.same_turn, count.same_cpu);
            let known = case.known.contains(scheduler);
            let row = format!(
                "| {}{} | `{scheduler}` | {} | {} | {:.1} | {:.1} |",
                case.name,
                if known { " (known)" } else { "" },
                count.all,
                count.comparable,
                100.0 * cpu,
                100.0 * turn
            );
            println!("{row}");
            if std::env::var_os("DECISIONS").is_some() {
                different.iter().for_each(|one| eprintln!("{} under {scheduler}: {one}", case.name));
            }
            let enough = Count::share(count.comparable, count.all) >= COMPARABLE;
            if (cpu < AGREEMENT || turn < AGREEMENT || !enough) && !known {
                wrong.push(row);
            }
        }
    }
    assert!(wrong.is_empty(), "the simulator and the kernel decide differently:\n{}", wrong.join("\n"));
}
