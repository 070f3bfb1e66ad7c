// SPDX-License-Identifier: MIT OR Apache-2.0
//! What of measured energy is for everybody on the machine, and not for root alone.

use super::measured::{Energy, Measured};

/// The step of what everybody may know, in joules.
const STEP: f64 = 1.0;

impl Measured {
    /// The same in steps of a joule, rounded down, for whoever is not root. It is made of a sample that is taken once a
    /// second ([`Meters::INTERVAL`](super::Meters::INTERVAL)), whoever asks and however often; time is that of the sample.
    ///
    /// **Why.** A processor's energy tells what it computes: with thousands of samples a second PLATYPUS (Lipp and others,
    /// IEEE S&P 2021, CVE-2020-8694 and -8695) told instructions, operands and keys apart. Linux therefore lets only root
    /// read `energy_uj` (commit 949dd0104c49), and who runs as root must not hand it on.
    ///
    /// **Why a second.** The counters move a thousand times a second. One sample a second leaves nothing of what happens
    /// within it, and an attack that averages over samples takes a thousand times as long.
    ///
    /// **Why a joule.** The counters' own step is 15 or 61 microjoules: a joule is 16,000 of them or more, and its rounding
    /// error of up to 0.3 J (standard deviation) is far above the micro- and millijoules by which secrets differ. The counter
    /// is rounded, not the difference between two samples, so errors do not add up: a minute at 10 W is known to 0.2 %.
    ///
    /// **What is left.** The mean power over many seconds, which says how busy the machine is, and an attacker with days, a
    /// computation that repeats, and no noise. A sum is one of rounded numbers: it tells no more than its parts.
    pub fn for_everybody(&self) -> Self {
        let rounded = |energy: &Energy| Energy { joules: (energy.joules / STEP).floor() * STEP, ..energy.clone() };
        Self { energy: self.energy.iter().map(rounded).collect(), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::meter::{Domain, Method, Part};

    fn package(package: u32, joules: f64) -> Energy {
        let domain = Domain { part: Part::Package, package, die: 0 };
        Energy { source: format!("package {package}"), domain, method: Method::Counted, joules }
    }

    #[test]
    fn everybody_knows_whole_joules_of_each_meter_and_sums_of_these() {
        let energy = vec![package(0, 12.999_985), package(1, 7.6)];
        let measured = Measured { time: Duration::from_secs(2), energy, missing: Vec::new() };
        let public = measured.for_everybody();
        assert_eq!(public.energy, [package(0, 12.0), package(1, 7.0)]);
        assert_eq!((public.total().unwrap().joules, public.time), (19.0, Duration::from_secs(2)));
    }
}
