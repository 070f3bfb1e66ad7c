// SPDX-License-Identifier: MIT OR Apache-2.0
//! `scientific`: loop-parallel programs that meet at barriers, beside the operating system's noise.

use super::document::{Document, Memory, Object};
use super::options::{names, options};
use super::value::{Bytes, Cpus, Own, Usec, Value};
use super::{Generator, OptionError};

options! {
    /// A loop-parallel program whose threads meet at barriers, beside system noise. In each iteration thread 0 does its
    /// serial part, then all threads do their share and meet. The noise is daemons of random length and rate, monitors
    /// with a period, and kernel threads that belong to one CPU each; all threads wait for the one that it hits. Several
    /// programs run side by side, each an application of its own with as many threads.
    ///
    /// A program's values stand for a class, not for a measurement: which programs wait for memory is what both papers
    /// say, apsi changing phase most often is from Morad et al., all figures are assumed but for the level of memory
    /// traffic: one factor for all programs is fitted to one number of Grant and Afsahi (papers/noise). The noise, which
    /// neither paper describes, takes 5 % of a CPU, an amount with a source (papers/noise). Values given as options take
    /// the place of the program's.
    "scientific" => Scientific from "Grant & Afsahi, sections 2 and 4.2; Morad, Kolodny & Weiser, section IV (SPEC OMP2001)" {
        /// Which programs' values to take, one for each program that runs.
        "program" program: Vec<Program> = vec![Program::Swim], ();
        /// Threads of a program; thread 0 also does the serial part.
        "threads" threads: u32 = 8, 1..=1024;
        /// Iterations, each with one barrier, or two if there is a serial part.
        "iterations" iterations: u32 = 1000, 1..=10_000_000;
        /// Work of each thread in an iteration.
        "iteration" iteration: Own<Usec> = Own::Program, Usec(1)..=Usec::s(100);
        /// Work of thread 0 before it, while the others wait.
        "serial" serial: Own<Usec> = Own::Program, Usec(0)..=Usec::s(100);
        /// Share of the work's time that waits for memory.
        "memory-bound" memory_bound: Own<f64> = Own::Program, 0.0..=1.0;
        /// Memory traffic of a thread, MB per second of work.
        "bandwidth" bandwidth: Own<f64> = Own::Program, 0.0..=1_000_000.0;
        /// What a thread uses again and again; 0B: a stream that no cache holds.
        "footprint" footprint: Own<Bytes> = Own::Program, Bytes(0)..=Bytes::mib(1 << 20);
        /// Whether each thread has its share of a loop, or takes pieces of an eighth of a share as it gets free.
        "schedule" schedule: Schedule = Schedule::Static, ();
        /// How a share or piece varies from iteration to iteration: uniform around its work by this share.
        "imbalance" imbalance: Own<f64> = Own::Program, 0.0..=1.0;
        /// How long a thread spins at a barrier before it sleeps. Assumed.
        "spin" spin: Usec = Usec(0), Usec(0)..=Usec::s(10);
        /// Which CPUs the program's threads may use.
        "cpus" cpus: Cpus = Cpus::All, ();
        /// Which CPUs daemons and monitors may use.
        "noise-cpus" noise_cpus: Cpus = Cpus::All, ();
        /// Daemons that wake at random (exponential sleep and run time).
        "daemons" daemons: u32 = 3, 0..=1024;
        /// Mean run time of a daemon.
        "daemon-run" daemon_run: Usec = Usec::ms(1), Usec(1)..=Usec::s(10);
        /// Mean sleep of a daemon.
        "daemon-sleep" daemon_sleep: Usec = Usec::ms(100), Usec(1)..=Usec::s(1000);
        /// Monitors that wake with a period.
        "monitors" monitors: u32 = 1, 0..=1024;
        /// Run time of a monitor.
        "monitor-run" monitor_run: Usec = Usec::ms(2), Usec(1)..=Usec::s(10);
        /// Period of a monitor.
        "monitor-period" monitor_period: Usec = Usec::ms(100), Usec(1)..=Usec::s(1000);
        /// What a daemon or monitor pushes out of its CPU's cache each time that it wakes; 0B: nothing.
        "noise-disturbs" noise_disturbs: Bytes = Bytes(0), Bytes(0)..=Bytes::mib(1 << 20);
        /// Kernel threads: the first is bound to CPU 0, the next to CPU 1, and so on.
        "kthreads" kthreads: u32 = 0, 0..=1024;
        /// Run time of a kernel thread.
        "kthread-run" kthread_run: Usec = Usec(50), Usec(1)..=Usec::s(10);
        /// Period of a kernel thread.
        "kthread-period" kthread_period: Usec = Usec::ms(10), Usec(1)..=Usec::s(1000);
    }
}

names! {
    /// Programs of SPEC OMP2001 that the papers ran, and one that only computes.
    Program {
        /// Finite differences over large arrays: streams.
        Swim = "swim",
        /// Multigrid: streams.
        Mgrid = "mgrid",
        /// Solver: streams.
        Applu = "applu",
        /// Neural network that reuses more than most caches hold.
        Art = "art",
        /// Sparse matrices, with serial parts.
        Equake = "equake",
        /// Meteorology: short parallel loops, with serial parts between.
        Apsi = "apsi",
        /// Genetic algorithm with scattered accesses.
        Gafort = "gafort",
        /// Finite elements, unequal ones.
        Fma3d = "fma3d",
        /// Molecular dynamics, unequal neighbourhoods.
        Ammp = "ammp",
        /// Matrix products of physics: mostly computes.
        Wupwise = "wupwise",
        /// Only computes; no program of the suite.
        Compute = "compute",
    }
}

names! {
    /// How loops are dealt to threads.
    Schedule {
        /// Equal shares, which all threads do before they meet.
        Static = "static",
        /// Pieces, each to the next thread that is free, as OpenMP deals them.
        Dynamic = "dynamic",
    }
}

/// Number of pieces of a thread's share.
const PIECES: u32 = 8;

/// The values of a program that no option replaces; all assumed, see the generator.
///
/// Traffic counts what a bus must carry: lines read, lines read because they are written to, and lines written back.
/// The traffic of one program relative to another is assumed. The level is fitted: three threads on three cores of
/// `poweredge-2850` without the system's noise against four with half of a CPU of it, 8.6 % (papers/noise). The bus of
/// this machine then cannot feed two threads of the programs that stream.
pub(super) struct Values {
    /// Work of each thread in an iteration.
    pub iteration: Usec,
    /// Work of thread 0 before it.
    pub serial: Usec,
    pub memory: Memory,
    /// How a share or piece varies, uniformly around its work.
    pub imbalance: f64,
}

impl Program {
    pub(super) fn values(self) -> Values {
        // Microseconds, microseconds, share, MB/s, KiB, share.
        let (iteration, serial, bound, mb_per_s, kib, imbalance) = match self {
            Self::Swim => (10_000, 0, 0.8, 3000.0, 0, 0.02),
            Self::Mgrid => (5_000, 0, 0.7, 2400.0, 0, 0.02),
            Self::Applu => (5_000, 0, 0.6, 2000.0, 0, 0.05),
            Self::Art => (10_000, 0, 0.6, 2400.0, 3_700, 0.1),
            Self::Equake => (4_000, 1_000, 0.6, 1800.0, 0, 0.1),
            Self::Apsi => (1_000, 500, 0.3, 800.0, 1_024, 0.1),
            Self::Gafort => (8_000, 0, 0.5, 1400.0, 0, 0.1),
            Self::Fma3d => (6_000, 500, 0.4, 1000.0, 2_048, 0.2),
            Self::Ammp => (10_000, 0, 0.4, 800.0, 2_048, 0.3),
            Self::Wupwise => (10_000, 0, 0.2, 600.0, 1_024, 0.02),
            Self::Compute => (10_000, 0, 0.0, 0.0, 0, 0.0),
        };
        let memory = Memory { bound, mb_per_s, footprint: Bytes::kib(kib) };
        Values { iteration: Usec(iteration), serial: Usec(serial), memory, imbalance }
    }
}

/// Most programs: a letter names each.
const MAX_PROGRAMS: usize = 26;

impl Generator for Scientific {
    fn document(&self) -> Result<Document, OptionError> {
        let names: Vec<String> = self.program.iter().map(Program::show).collect();
        let mut document = match &self.program[..] {
            [one] => Document::new(format!(
                "{} threads of a program like {}: {} iterations of {} us, after which all meet, beside system noise.",
                self.threads,
                names[0],
                self.iterations,
                self.values(*one).iteration.0
            )),
            several if several.len() <= MAX_PROGRAMS => Document::new(format!(
                "Programs like {}, with {} threads each, which meet after each of {} iterations, beside system noise.",
                names.join(", "),
                self.threads,
                self.iterations
            )),
            _ => return Err(OptionError::conflict("program", format!("at most {MAX_PROGRAMS} programs"))),
        };
        for (index, program) in self.program.iter().enumerate() {
            let prefix = match self.program.len() {
                1 => String::new(),
                _ => format!("{}-", char::from(b'a' + index as u8)),
            };
            self.application(&mut document, &prefix, *program);
        }
        self.noise(&mut document);
        Ok(document)
    }
}

pub(super) fn spread(width: f64) -> Option<Object> {
    (width > 0.0).then(|| Object::new().with("uniform", width))
}

/// A loop dealt in pieces, each thread's share of which is work of `iteration` at the fastest clock.
pub(super) fn pieces(name: String, threads: u32, iteration: Usec) -> Object {
    Object::new()
        .with("name", name)
        .with("iterations", threads * PIECES)
        .with("work", iteration.0 as f64 / f64::from(PIECES))
        .with("schedule", "dynamic")
}

/// What comes before a round's loop: the serial part, if it is this thread's, and the barrier behind it.
pub(super) fn round(task: Object, serial: Option<u64>, begin: Option<String>) -> Object {
    // rt-app wants an event in each phase.
    let event = serial.or(begin.is_none().then_some(0));
    task.with_some("run0", event).with_some("barrier0", begin)
}

impl Scientific {
    /// The tasks of a program; `prefix` distinguishes their names from those of other programs.
    fn application(&self, document: &mut Document, prefix: &str, program: Program) {
        let values = self.values(program);
        let name = format!("{prefix}{}", program.show());
        let work = u64::from(self.threads) * values.iteration.0 + values.serial.0;
        let of = if prefix.is_empty() { String::new() } else { format!(" of {name}") };
        document.note(format!("Work{of}: {} s.", (work * u64::from(self.iterations)) as f64 / 1e6));
        let serial = values.serial.0;
        if serial > 0 {
            document.task(format!("{prefix}main"), self.task(program, prefix, 1, Some(serial)));
        }
        let others = self.threads - u32::from(serial > 0);
        if others > 0 {
            document.task(format!("{prefix}worker"), self.task(program, prefix, others, None));
        }
    }

    /// Threads of a program, all alike; `serial` is the work of the thread for which the others wait.
    fn task(&self, program: Program, prefix: &str, instances: u32, serial: Option<u64>) -> Object {
        let values = self.values(program);
        let tandem = Object::new()
            .with("application", format!("{prefix}{}", program.show()))
            .with_memory(values.memory)
            .with_some("run_spread", spread(values.imbalance))
            .with_some("spin", (self.spin.0 > 0).then_some(self.spin.0));
        let begin = (values.serial.0 > 0).then(|| format!("{prefix}begin"));
        let task = Object::new().with("instance", instances).with_some("cpus", self.cpus.list());
        if self.schedule == Schedule::Static {
            let task = task.with("tandem", tandem).with("loop", self.iterations);
            let task = task.with_some("run0", serial).with_some("barrier0", begin);
            return task.with("run1", values.iteration.0).with("barrier1", format!("{prefix}end"));
        }
        let pieces = pieces(format!("{prefix}loop"), self.threads, values.iteration);
        round(task.with("loop", self.iterations), serial, begin).with("tandem", tandem.with("parallel_for", pieces))
    }

    fn values(&self, program: Program) -> Values {
        let own = program.values();
        let memory = Memory {
            bound: self.memory_bound.or(own.memory.bound),
            mb_per_s: self.bandwidth.or(own.memory.mb_per_s),
            footprint: self.footprint.or(own.memory.footprint),
        };
        Values {
            iteration: self.iteration.or(own.iteration),
            serial: self.serial.or(own.serial),
            memory,
            imbalance: self.imbalance.or(own.imbalance),
        }
    }

    /// The operating system's noise.
    pub(super) fn noise(&self, document: &mut Document) {
        let system = || Object::new().with("system", true);
        let disturbs = (self.noise_disturbs.0 > 0).then_some(self.noise_disturbs.0);
        let timer = |period: Usec| Object::new().with("ref", "unique").with("period", period.0);
        if self.daemons > 0 {
            let tandem = system()
                .with_some("disturbs", disturbs)
                .with("run_spread", "exponential")
                .with("sleep_spread", "exponential");
            let daemon = Object::new().with("instance", self.daemons).with_some("cpus", self.noise_cpus.list());
            let daemon = daemon.with("tandem", tandem);
            document.task("daemon", daemon.with("sleep", self.daemon_sleep.0).with("run", self.daemon_run.0));
        }
        if self.monitors > 0 {
            let monitor = Object::new().with("instance", self.monitors).with_some("cpus", self.noise_cpus.list());
            let monitor = monitor.with("tandem", system().with_some("disturbs", disturbs));
            document.task("monitor", monitor.with("timer", timer(self.monitor_period)).with("run", self.monitor_run.0));
        }
        for cpu in 0..self.kthreads {
            let tandem = system().with("kernel_thread", true);
            let kthread = Object::new().with("cpus", vec![cpu]).with("tandem", tandem);
            let kthread = kthread.with("timer", timer(self.kthread_period)).with("run", self.kthread_run.0);
            document.task(format!("kthread-{cpu}"), kthread);
        }
    }
}
