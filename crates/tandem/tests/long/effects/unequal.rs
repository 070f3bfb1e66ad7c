// SPDX-License-Identifier: GPL-2.0-only
//! Two applications that are parallel and serial in turn, on one CPU that is twice as fast as three others: what `guest/tests/serial`
//! measures in a guest (docs/fidelity.md, "Effects on unequal CPUs").
//!
//! The guest's kernel cannot see that its CPUs are throttled, and takes them for equals; Tandem is told their clocks. So each
//! scheduler has its own machine here: the same CPUs, with the capacities that it goes by.

use std::fs;
use std::path::PathBuf;

use super::support::{Estimate, Report, Workload, print};

const SERIAL: &str = "tandem,serial_first=true+performance";

/// The machine as its kernel takes it, for equal CPUs (`equal`), and as it is (`known`).
struct Machines {
    _folder: tempfile::TempDir,
    equal: PathBuf,
    known: PathBuf,
}

impl Machines {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let text = include_str!("unequal.toml");
        let [equal, known] = ["equal.toml", "known.toml"].map(|name| folder.path().join(name));
        fs::write(&equal, text).unwrap();
        fs::write(&known, text.replace("capacity_dmips_mhz = 1.0\n", "")).unwrap();
        Self { _folder: folder, equal, known }
    }

    /// How many times as much is done under `SERIAL` as under fair on a machine like `of_fair`.
    fn gain(&self, of_fair: &PathBuf, [seconds, work, workers]: [&str; 3]) -> Estimate {
        Estimate::over_seeds(|seed| {
            let table = seed.to_string();
            let options = ["phases", "--label", "1:2,1:2", "--threads", "4", "--duration", seconds, "--work", work];
            let workload = Workload::generated(&[&options[..], &["--workers", workers, "--seed", &table]].concat());
            let done = |machine: &PathBuf, scheduler| {
                Report::of(&workload, machine.to_str().unwrap(), scheduler, seed, &[]).number("/throughput")
            };
            done(&self.known, SERIAL) / done(of_fair, "fair+performance")
        })
    }
}

/// What the guest runs: four threads that are kept, 150 units of work at a mean, of 0.284 ms each on the fast CPU, 4 s.
const AS_IN_THE_GUEST: [&str; 3] = ["4s", "43ms", "kept"];

#[test]
fn serial_phases_first_gain_over_the_kernels_own_scheduler_what_they_gain_in_the_guest() {
    let machines = Machines::new();
    let gain = machines.gain(&machines.equal, AS_IN_THE_GUEST);
    print("2:1:1:1, 1:2 twice: throughput over fair's", gain, "the guest: 1.09 (1.03 to 1.19)");
    assert!(gain.is_within(1.03..=1.19) && gain.is_above(1.0), "{gain}");
}

/// Why the simulator said 1.19 once: it had the generator's own phases, of 20 ms with new threads in each, which a kernel that
/// knows no fast CPU places anew each time.
#[test]
fn short_phases_of_new_threads_gain_more_than_long_ones_of_threads_that_are_kept() {
    let machines = Machines::new();
    let short = machines.gain(&machines.equal, ["10s", "20ms", "forked"]);
    let long = machines.gain(&machines.equal, AS_IN_THE_GUEST);
    print("the same, phases of 20 ms with new threads", short, "-");
    assert!(short.is_above(long.mean + long.half), "{short}, {long}");
}

/// A kernel that knows which CPU is fast puts serial phases there itself, as far as it can.
#[test]
fn a_kernel_that_knows_the_fast_cpu_leaves_less_to_gain() {
    let machines = Machines::new();
    let short = ["10s", "20ms", "kept"];
    let [known, equal] = [&machines.known, &machines.equal].map(|of_fair| machines.gain(of_fair, short));
    print("the same, threads kept: a kernel that knows", known, "-");
    print("the same, a kernel that does not", equal, "-");
    assert!(known.is_above(1.0) && equal.is_above(known.mean + known.half), "{known}, {equal}");
}
