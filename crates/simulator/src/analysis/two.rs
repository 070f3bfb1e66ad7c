// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two applications, A and B, each of which stays in its phase.

use serde::Serialize;

use super::model::Phase::{self, Parallel, Serial};
use super::model::{Model, Policy};

/// The phases of A and B.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct State {
    /// Phase of A.
    pub a: Phase,
    /// Phase of B.
    pub b: Phase,
}

/// Speedup of A over all places that the threads of A and B may have got.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Speedup {
    /// Speedup in the worst placement.
    pub min: f64,
    /// Mean over all placements, each as likely as any other.
    pub average: f64,
    /// Speedup in the best placement.
    pub max: f64,
}

/// Lower bounds of fairness, from 0 (unfair) to 1: the smaller one of A's and B's speedups over the larger one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fairness {
    /// Both applications are serial (20).
    pub serial: f64,
    /// One application is serial and has the least speedup that it can get (22).
    pub mixed_serial_worst: f64,
    /// One application is serial and has the highest speedup that it can get (23).
    pub mixed_serial_best: f64,
    /// Both applications are parallel (21).
    pub parallel: f64,
}

impl State {
    /// All four states, in the order of the tables.
    pub const ALL: [Self; 4] = [
        Self { a: Serial, b: Serial },
        Self { a: Serial, b: Parallel },
        Self { a: Parallel, b: Serial },
        Self { a: Parallel, b: Parallel },
    ];
}

impl Speedup {
    /// How much A's time may differ from one run to the next: `max / min`.
    pub fn spread(&self) -> f64 {
        self.max / self.min
    }

    fn always(value: f64) -> Self {
        Self { min: value, average: value, max: value }
    }
}

impl Model {
    /// A's speedup in `state`: Table 1 (Table 2 if a = 1) for the baseline, Table 5 for the proposed scheduler. The two
    /// differ in the mixed states only.
    pub fn speedup(&self, policy: Policy, state: State) -> Speedup {
        match (state.a, state.b, policy) {
            (Serial, Serial, _) => self.both_serial(),
            (Serial, Parallel, Policy::Baseline) => self.serial_beside_parallel(),
            (Parallel, Serial, Policy::Baseline) => self.parallel_beside_serial(),
            (Parallel, Parallel, _) => self.both_parallel(),
            // The serial thread has the large core for itself …
            (Serial, Parallel, Policy::Proposed) => Speedup::always(1.0),
            // … and the parallel threads have the others: (18).
            (Parallel, Serial, Policy::Proposed) => Speedup::always((self.n() - 1.0) / self.alone(Parallel)),
        }
    }

    /// Speedup if both are serial, (8), (9), (10): one of the two has the large core.
    fn both_serial(&self) -> Speedup {
        let a = self.asymmetry();
        Speedup { min: 1.0 / a, average: (1.0 + 1.0 / a) / 2.0, max: 1.0 }
    }

    /// Speedup if both are parallel, (11), (12), (13): 2n threads, two on each core. A has two, one or none of the two
    /// threads on the large core.
    fn both_parallel(&self) -> Speedup {
        let (n, a, alone) = (self.n(), self.asymmetry(), self.alone(Parallel));
        Speedup { min: n / (2.0 * alone), average: 0.5, max: (n - 2.0 + 2.0 * a) / (2.0 * alone) }
    }

    /// Speedup of a serial application beside a parallel one, (14), (15), (16): n + 1 threads, so that two share one
    /// core. The serial thread is one of the two with probability 2/(n+1). In either case its core is the large one
    /// with probability 1/n.
    fn serial_beside_parallel(&self) -> Speedup {
        let (n, a) = (self.n(), self.asymmetry());
        Speedup { min: 1.0 / (2.0 * a), average: (n - 1.0 + a) / (a * (n + 1.0)), max: 1.0 }
    }

    /// Speedup of a parallel application beside a serial one, (17), (18), (19), in the same placements. The best is
    /// that the serial thread shares a small core, the worst that it has the large core for itself.
    fn parallel_beside_serial(&self) -> Speedup {
        let (n, a, alone) = (self.n(), self.asymmetry(), self.alone(Parallel));
        Speedup { min: (n - 1.0) / alone, average: n / (n + 1.0), max: (n - 1.5 + a) / alone }
    }

    /// Table 3: lower bounds of fairness, by definition (3) from the extremes of [`Model::speedup`]. The paper prints
    /// the table for the baseline only.
    pub fn fairness(&self, policy: Policy) -> Fairness {
        let [both_serial, serial, parallel, both_parallel] = State::ALL.map(|state| self.speedup(policy, state));
        Fairness {
            serial: fairness(both_serial.min, both_serial.max),
            mixed_serial_worst: fairness(serial.min, parallel.max),
            mixed_serial_best: fairness(serial.max, parallel.min),
            parallel: fairness(both_parallel.min, both_parallel.max),
        }
    }
}

/// Fairness by definition (3).
fn fairness(a: f64, b: f64) -> f64 {
    (a / b).min(b / a)
}
