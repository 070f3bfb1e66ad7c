// SPDX-License-Identifier: MIT OR Apache-2.0
//! Looks for mistakes of the simulator: random cases, one after another, until one fails or the time is over.
//!
//! A case is a machine, a workload, a scheduler and options ([`random`]), and a function of a seed and a number. It must
//! run, be refused or end in an ejection, keep what always holds, and do the same again ([`trial`]). One that does not is
//! made simpler ([`shrink`]) and described ([`words`]), with the command that tries it again.

mod objects;
mod panics;
mod random;
mod shrink;
mod summary;
mod trial;
mod watchdog;
mod words;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Parser;
use objects::Objects;
use panics::Panic;
use proptest::strategy::{BoxedStrategy, ValueTree};
use random::case::{Case, any_case};
use summary::Summary;
use watchdog::Watchdog;

/// Seconds between two lines that say how far it is.
const REPORT_EVERY: Duration = Duration::from_secs(30);

/// Cases take milliseconds. One that takes so long is worth a look.
const SLOW: Duration = Duration::from_secs(10);

/// Looks for mistakes of the simulator by random cases.
#[derive(Debug, Parser)]
struct Arguments {
    /// Seed of all cases [default: from the clock]
    #[arg(long)]
    seed: Option<u64>,
    /// How long to look
    #[arg(long, default_value_t = 120)]
    seconds: u64,
    /// Try this case only
    #[arg(long)]
    case: Option<u64>,
    /// Number of the first case
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Go on after a failure, and say each way of failing once
    #[arg(long)]
    keep_going: bool,
    /// Folder of the compiled schedulers
    #[arg(long, default_value = "out/swarm/objects")]
    objects: PathBuf,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let objects = match Objects::read(&arguments.objects) {
        Ok(objects) => objects,
        Err(error) => {
            eprintln!("{error}\n`make swarm` compiles the schedulers that it tries.");
            return ExitCode::from(2);
        }
    };
    let seed = arguments.seed.unwrap_or_else(fresh_seed);
    println!("Seed {seed}");
    panics::silence();
    let mut search = Search {
        cases: any_case(&objects),
        watchdog: Watchdog::start(seed),
        objects,
        seed,
        summary: Summary::default(),
        known: BTreeSet::new(),
    };
    search.run(&arguments);
    println!("{}", search.summary);
    if search.known.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Short enough to be typed.
    now.as_nanos() as u64 % 1_000_000_000
}

/// The search for failures.
struct Search {
    cases: BoxedStrategy<Case>,
    watchdog: Watchdog,
    objects: Objects,
    seed: u64,
    summary: Summary,
    /// Places of failures that were described.
    known: BTreeSet<String>,
}

impl Search {
    fn run(&mut self, arguments: &Arguments) {
        if let Some(number) = arguments.case {
            if let Some(tree) = shrink::drawn(&self.cases, self.seed, number) {
                println!("{}", words::words(&tree.current(), &self.objects));
            }
            self.try_case(number);
            return;
        }
        let start = Instant::now();
        let mut said = start;
        let mut number = arguments.from;
        while start.elapsed() < Duration::from_secs(arguments.seconds) {
            self.try_case(number);
            if !self.known.is_empty() && !arguments.keep_going {
                return;
            }
            number += 1;
            if said.elapsed() >= REPORT_EVERY {
                println!("{number} cases in {} s", start.elapsed().as_secs());
                said = Instant::now();
            }
        }
    }

    fn try_case(&mut self, number: u64) {
        let Some(mut tree) = shrink::drawn(&self.cases, self.seed, number) else { return };
        self.watchdog.begins(number);
        let case = tree.current();
        let start = Instant::now();
        let tried = trial::tried(&case, &self.objects);
        if start.elapsed() > SLOW {
            println!("Case {number} of seed {} took {:.0} s", self.seed, start.elapsed().as_secs_f64());
        }
        self.summary.count(&case, &self.objects, tried.as_ref().ok());
        if let Err(panic) = tried
            && !self.known.contains(&panic.place)
        {
            self.describe(number, tree.as_mut(), panic);
        }
        self.watchdog.ends();
    }

    fn describe(&mut self, number: u64, tree: &mut dyn ValueTree<Value = Case>, panic: Panic) {
        self.known.insert(panic.place.clone());
        self.watchdog.ends();
        println!("Case {number} of seed {} fails at {}: {}", self.seed, panic.place, panic.message);
        let failure = shrink::shrunk(tree, panic, &self.objects);
        println!("The simplest case of {} that fails so: {}", failure.tries, failure.panic.message);
        print!("{}{}", failure.panic.backtrace, words::words(&failure.case, &self.objects));
        println!("To try it again: make swarm SEED={} CASE={number}", self.seed);
    }
}
