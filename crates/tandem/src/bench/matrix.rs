// SPDX-License-Identifier: GPL-2.0-only
//! What a matrix of runs costs beside its simulations: the CPU time of `tandem compare` over that of the same simulations, called
//! one after another.
//!
//! Nothing is found in a store of finished runs: `compare` writes into an empty one, and looks into none (`--fresh`). All that it
//! does counts, so also that writing; a simulation by itself writes nothing.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use rayon::ThreadPoolBuilder;
use tandem_experiments::Simulator;
use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::observer::{NoObserver, Observer};
use tandem_simulator::simulation::{Bpf, Options, SimulationError};
use tandem_simulator::workload::Workload;
use tandem_simulator::workload::bundled::BUNDLED;

use crate::cli::Cli;
use crate::context::Context;
use crate::failure::Failure;
use crate::files::Files;
use crate::quantity::{SECONDS, count, quantity};
use crate::store::Place;

/// Machines of 6 to 256 CPUs, of one to three kinds, of one or two packages.
const MACHINES: [&str; 10] = [
    "smp-8",
    "hikey960",
    "pixel6",
    "rk3399",
    "odroid-xu3",
    "sdm845",
    "apple-m1",
    "i9-12900k",
    "ryzen-ai-9-hx-370",
    "epyc-9554-2s",
];
const SCHEDULERS: [&str; 4] = ["fair", "tandem", "tandem,all=true", "o1"];
const SEEDS: u32 = 3;
/// The most that `compare` shall take on the whole matrix, over the simulations alone.
const TARGET: f64 = 1.05;
/// Bytes that the store of the matrix may have: so many that nothing is removed.
const STORE: u64 = 1 << 30;

/// A matrix of the bundled workloads.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    machines: &'static [&'static str],
    seeds: u32,
}

impl Size {
    /// The matrix that [`TARGET`] is about: 10 machines, 7 workloads, 4 schedulers, 3 seeds.
    pub const WHOLE: Self = Self { machines: &MACHINES, seeds: SEEDS };
    /// Half of the machines and one seed. What `compare` does once, such as opening its store, weighs more here.
    pub const QUICK: Self = Self { machines: MACHINES.split_at(MACHINES.len() / 2).0, seeds: 1 };
}

/// CPU times of a matrix, in seconds.
#[derive(Debug)]
pub struct Cost {
    size: Size,
    /// Simulations, those of applications alone included.
    simulations: u64,
    compare_s: f64,
    simulations_s: f64,
}

impl Cost {
    /// Measures the cost of a matrix on so many threads.
    ///
    /// # Errors
    /// A simulation fails; Ctrl-C.
    pub fn measure(context: &Context<'_>, size: Size, threads: u32) -> Result<Self, Failure> {
        let folder = tempfile::tempdir().map_err(|error| Failure::System(format!("no temporary folder: {error}")))?;
        let simulator = Twice::new(context.simulator);
        let before_us = cpu_time_us(UsageWho::RUSAGE_SELF);
        compare(&simulator, context, size, threads, folder.path())?;
        let all_us = cpu_time_us(UsageWho::RUSAGE_SELF) - before_us;
        let alone_us = simulator.alone_us.into_inner();
        Ok(Self {
            size,
            simulations: simulator.simulations.into_inner(),
            compare_s: (all_us - alone_us) as f64 / 1e6,
            simulations_s: alone_us as f64 / 1e6,
        })
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { size: Size { machines, seeds }, simulations, compare_s, simulations_s } = self;
        let (workloads, schedulers) = (BUNDLED.len(), SCHEDULERS.len());
        write!(
            f,
            "matrix of {} machines × {workloads} workloads × {schedulers} schedulers × {seeds} seed{}: ×{:.3} of the CPU time of \
             its simulations, {} over {} of {} one after another; at most ×{TARGET} is wanted of the whole matrix",
            machines.len(),
            if *seeds == 1 { "" } else { "s" },
            compare_s / simulations_s,
            quantity(*compare_s, SECONDS),
            quantity(*simulations_s, SECONDS),
            count(*simulations)
        )
    }
}

/// Runs `tandem compare` on a matrix, with a store of its own in `folder`, which is empty.
fn compare(
    simulator: &Twice<'_>,
    context: &Context<'_>,
    size: Size,
    threads: u32,
    folder: &Path,
) -> Result<(), Failure> {
    let store = Place { folder: folder.to_owned(), limit: STORE, named: true, bpf: Bpf::default() };
    let mut words = vec!["tandem".to_owned(), "compare".to_owned()];
    words.extend(BUNDLED.iter().map(|(name, _)| (*name).to_owned()));
    words.extend(size.machines.iter().flat_map(|name| ["-m".to_owned(), (*name).to_owned()]));
    words.extend(SCHEDULERS.iter().flat_map(|name| ["-s".to_owned(), (*name).to_owned()]));
    words.extend(["--runs".to_owned(), size.seeds.to_string(), "--fresh".to_owned(), "--json".to_owned()]);
    let cli = Cli::read(&words).map_err(|error| Failure::System(error.to_string()))?;
    let pool = ThreadPoolBuilder::new().num_threads(threads as usize).build();
    let pool = pool.map_err(|error| Failure::System(format!("no threads: {error}")))?;
    let (progress, interrupt) = (context.progress, context.interrupt.clone());
    pool.install(|| {
        let mut out = Vec::new();
        let (width, files, store) = (None, Files::default(), Some(store));
        cli.run(&mut Context { simulator, out: &mut out, width, progress, files, interrupt, store, command: words })
    })
}

/// A simulator that makes each simulation twice: for its caller, and by itself, for the CPU time that this takes.
///
/// Both follow each other at once, since other work on this computer makes it slower and faster from one second to the next. The
/// second of both finds warm caches: the two take turns in being the first.
struct Twice<'a> {
    simulator: &'a dyn Simulator,
    simulations: AtomicU64,
    /// CPU time of those by themselves, in microseconds.
    alone_us: AtomicI64,
}

impl<'a> Twice<'a> {
    fn new(simulator: &'a dyn Simulator) -> Self {
        Self { simulator, simulations: AtomicU64::new(0), alone_us: AtomicI64::new(0) }
    }

    /// Simulates by itself. An error is the caller's to tell.
    fn alone(&self, machine: &Machine, workload: &Workload, options: &Options) {
        let before = cpu_time_us(UsageWho::RUSAGE_THREAD);
        let report = self.simulator.simulate(machine, workload, options, &mut NoObserver);
        drop(report);
        self.alone_us.fetch_add(cpu_time_us(UsageWho::RUSAGE_THREAD) - before, Ordering::Relaxed);
    }
}

impl Simulator for Twice<'_> {
    fn simulate(
        &self,
        machine: &Machine,
        workload: &Workload,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Result<Report, SimulationError> {
        // In the order of Thue and Morse no kind of run, of which every fourth may be one, is always the first.
        let first = self.simulations.fetch_add(1, Ordering::Relaxed).count_ones().is_multiple_of(2);
        if first {
            self.alone(machine, workload, options);
        }
        let report = self.simulator.simulate(machine, workload, options, observer);
        if !first {
            self.alone(machine, workload, options);
        }
        report
    }
}

/// CPU time so far of this process or thread, in programs and in the kernel, in microseconds. The system refuses that to nobody.
fn cpu_time_us(who: UsageWho) -> i64 {
    getrusage(who).map_or(0, |usage| (usage.user_time() + usage.system_time()).num_microseconds())
}
