// SPDX-License-Identifier: MIT OR Apache-2.0
//! `programs`: sets of compute- and memory-bound programs that run long against a slice.

use super::document::{Document, Memory, Object};
use super::options::{names, options};
use super::value::{Bytes, Cpus, Usec, Value};
use super::{Generator, OptionError, value};

options! {
    /// Compute- and memory-bound programs, side by side or one set after the other. Each copy is an application of one
    /// thread. The default is the paper's first set, four programs that compute and four that wait for memory. Its second
    /// is `hmmer:4,lbm:4` with `--sequential`, its third `hmmer,GemsFDTD,lbm,libquantum,mcf,milc,omnetpp,soplex`, and
    /// `soplex:4,hmmer:4` compares grouping with mixing.
    ///
    /// Which programs compute and which wait for memory is what the paper says. The figures within these two classes are
    /// round assumptions, not measurements: memory-bound 0.65 to 0.85 of the time, at 1.5 to 3.5 GB/s; compute-bound up to
    /// 0.05, at 10 to 60 MB/s, as the paper has them make some accesses too.
    "programs" => Programs from "Merkel & Bellosa, sections 3 and 5 (SPEC CPU2006)" {
        /// Programs, each with a number of copies behind a colon if wanted.
        "programs" programs: Vec<Copies> = Copies::FIRST_SET.to_vec(), ();
        /// Work of each copy, a multiple of 10 ms.
        "work" work: Usec = Usec::s(10), Usec::ms(10)..=Usec::s(100_000);
        /// Each entry of the list starts when the one before it has ended.
        "sequential" sequential: bool = false, ();
        /// CPUs to bind the copies to, one each, around: the list's first copy has the first CPU.
        "cpus" cpus: Cpus = Cpus::All, ();
    }
}

names! {
    /// Programs of SPEC CPU2006 that the paper ran.
    Program {
        /// Quantum chemistry: computes.
        Gamess = "gamess",
        /// Molecular dynamics: computes.
        Gromacs = "gromacs",
        /// Protein sequences: computes.
        Hmmer = "hmmer",
        /// Molecular dynamics: computes.
        Namd = "namd",
        /// Fluid dynamics: waits for memory.
        Lbm = "lbm",
        /// Quantum computer: waits for memory, and takes more of a bus than the others.
        Libquantum = "libquantum",
        /// Vehicle scheduling: waits for memory.
        Mcf = "mcf",
        /// Linear programming: waits for memory.
        Soplex = "soplex",
        /// Lattice physics: waits for memory.
        Milc = "milc",
        /// Network simulation: waits for memory.
        Omnetpp = "omnetpp",
        /// Electromagnetics: waits for memory.
        GemsFdtd = "GemsFDTD",
    }
}

impl Program {
    /// Assumed, see the options. The memory-bound programs work on far more than a cache holds: they stream.
    fn memory(self) -> Memory {
        let (bound, mb_per_s) = match self {
            Self::Gamess => (0.01, 10.0),
            Self::Hmmer => (0.02, 20.0),
            Self::Namd => (0.03, 30.0),
            Self::Gromacs => (0.05, 60.0),
            Self::Omnetpp => (0.65, 1500.0),
            Self::Soplex => (0.7, 2000.0),
            Self::Mcf => (0.75, 2000.0),
            Self::Milc => (0.75, 2500.0),
            Self::GemsFdtd => (0.75, 2500.0),
            Self::Lbm => (0.8, 3000.0),
            Self::Libquantum => (0.85, 3500.0),
        };
        Memory { bound, mb_per_s, footprint: Bytes(0) }
    }
}

/// A program and how many copies of it run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copies {
    /// The program.
    pub program: Program,
    /// Copies.
    pub count: u32,
}

impl Copies {
    /// Most copies.
    const MAX: u32 = 1024;

    const fn one(program: Program) -> Self {
        Self { program, count: 1 }
    }

    const FIRST_SET: [Self; 8] = [
        Self::one(Program::Gamess),
        Self::one(Program::Gromacs),
        Self::one(Program::Hmmer),
        Self::one(Program::Namd),
        Self::one(Program::Lbm),
        Self::one(Program::Libquantum),
        Self::one(Program::Mcf),
        Self::one(Program::Soplex),
    ];
}

impl Value for Copies {
    type Limits = ();
    const NAME: &'static str = "NAME[:N]";

    fn read(text: &str) -> Option<Self> {
        let (name, count) = text.split_once(':').unwrap_or((text, "1"));
        Some(Self { program: Program::read(name.trim())?, count: count.trim().parse().ok()? })
    }

    fn within(&self, _limits: &()) -> bool {
        (1..=Self::MAX).contains(&self.count)
    }

    fn valid(limits: &()) -> String {
        format!("{}, with 1 to {} copies behind a colon as in hmmer:4", Program::valid(limits), Self::MAX)
    }

    fn show(&self) -> String {
        match self.count {
            1 => self.program.show(),
            count => format!("{}:{count}", self.program.show()),
        }
    }
}

/// A copy's step.
const STEP: Usec = Usec::ms(10);

impl Generator for Programs {
    fn document(&self) -> Result<Document, OptionError> {
        let order = if self.sequential { "one entry after the other" } else { "side by side" };
        let mut document = Document::new(format!(
            "Programs of one thread each, {order}: {}.",
            self.programs.show().replace(',', ", ")
        ));
        let copies: u64 = self.programs.iter().map(|entry| u64::from(entry.count)).sum();
        let steps = value::steps("work", self.work, STEP)?;
        document.note(format!("Work: {} s of each of {copies} copies.", self.work.0 as f64 / 1e6));
        let mut made: Vec<Program> = Vec::new();
        for (stage, entry) in self.programs.iter().enumerate() {
            for _ in 0..entry.count {
                let index = made.iter().filter(|program| **program == entry.program).count();
                let task = Object::new().with_some("cpus", self.cpus.dealt(made.len()));
                made.push(entry.program);
                let name = format!("{}-{index}", entry.program.show());
                document.task(name.as_str(), self.copy(task, &name, entry.program, stage, steps));
            }
        }
        Ok(document)
    }
}

impl Programs {
    fn copy(&self, task: Object, name: &str, program: Program, stage: usize, steps: u64) -> Object {
        let tandem = Object::new().with("application", name).with_memory(program.memory());
        let task = task.with("tandem", tandem);
        let work = |object: Object| object.with("loop", steps).with("run", STEP.0);
        if !self.sequential || self.programs.len() == 1 {
            return work(task);
        }
        let barrier = |stage: usize| Object::new().with("barrier", format!("end-of-{stage}"));
        let mut phases = Object::new();
        if stage > 0 {
            phases = phases.with("wait", barrier(stage - 1));
        }
        phases = phases.with("work", work(Object::new()));
        if stage + 1 < self.programs.len() {
            phases = phases.with("end", barrier(stage));
        }
        task.with("loop", 1u32).with("phases", phases)
    }
}
