// SPDX-License-Identifier: GPL-2.0-only
//! `tandem machine detect --calibrate`: from what was measured of this machine to values of its description.

use tandem_live::calibrate::{Calibration, ClockPoint, MeasuredKind, fit::Curve};
use tandem_simulator::machine::detect::{
    Measured, MeasuredClock, MeasuredCores, MeasuredDram, MeasuredSwitching, MeasuredUncore,
};

/// The values, each with how it was measured. The bandwidth of memory is measured apart.
pub fn values(found: &Calibration) -> Measured {
    let microseconds = |seconds: Option<f64>| seconds.map(|seconds| seconds * 1e6);
    Measured {
        cores: found.kinds.iter().map(cores).collect(),
        uncore: found.uncore.map(|uncore| MeasuredUncore { awake: uncore.awake, idle: uncore.idle }),
        dram: found
            .dram
            .map(|dram| MeasuredDram { static_watts: dram.idle_watts, nj_per_byte: dram.joules_per_byte * 1e9 }),
        switching: MeasuredSwitching {
            context_switch_us: microseconds(found.switch_s),
            migration_us: microseconds(found.move_s),
            migration_llc_us: microseconds(found.move_llc_s),
        },
        source: source(found),
        ..Measured::default()
    }
}

fn source(found: &Calibration) -> String {
    let by = "measured by `tandem machine detect --calibrate`";
    match &found.meter {
        None => by.to_owned(),
        Some(meter) if found.cores_are_metered => format!("{by}, watts by {meter} and its count of cores"),
        Some(meter) => {
            format!(
                "{by}, watts by {meter}: a core beyond one in its deepest idle state, whose own are in the package's"
            )
        }
    }
}

fn cores(kind: &MeasuredKind) -> MeasuredCores {
    let clock = |point: &ClockPoint| MeasuredClock {
        mhz: (point.khz > 0).then(|| f64::from(point.khz) / 1e3),
        real_mhz: point.mhz,
        mv: point.volts.map(|volts| volts * 1e3),
        watts: point.watts.filter(|watts| *watts > 0.0),
    };
    MeasuredCores {
        cpus: kind.cpus.clone(),
        clocks: kind.clocks.iter().map(clock).collect(),
        leakage_watts_per_v: kind.curve.map(|curve| curve.leakage_watts_per_v),
        idle: kind.idle.clone(),
        smt_speed: kind.smt_speed,
        smt_activity: kind.smt_activity,
        stall_activity: kind.stall_activity,
    }
}

/// What people should know: what is doubtful, and what was not measured, with the reason.
pub fn remarks(found: &Calibration) -> Vec<String> {
    let curves = found.kinds.iter().filter_map(|kind| Some((kind.cpus.first()?, kind.curve?)));
    let fits = curves.map(|(cpu, Curve { coefficient, leakage_watts_per_v, worst })| {
        format!(
            "cores like CPU {cpu} draw {coefficient:.0} uW/MHz/V^2 and leak {leakage_watts_per_v:.3} W/V; the point farthest from \
             that is {:.1} % off",
            worst * 100.0
        )
    });
    let missing = found.missing.iter().map(|missing| format!("not measured: {}: {}", missing.what, missing.why));
    fits.chain(found.notes.iter().cloned()).chain(missing).collect()
}

#[cfg(test)]
mod tests {
    use tandem_live::calibrate::{Dram, Missing, Uncore};

    use super::*;

    fn found() -> Calibration {
        let point = ClockPoint { khz: 1_500_000, mhz: Some(1499.0), volts: Some(0.8), watts: Some(2.0) };
        let curve = Curve { coefficient: 1800.4, leakage_watts_per_v: 0.25, worst: 0.012 };
        let kind =
            MeasuredKind { cpus: vec![0, 1], clocks: vec![point], curve: Some(curve), ..MeasuredKind::default() };
        Calibration {
            meter: Some("powercap intel-rapl:0 package-0".to_owned()),
            kinds: vec![kind],
            uncore: Some(Uncore { awake: 6.0, idle: 1.5 }),
            dram: Some(Dram { idle_watts: 1.25, joules_per_byte: 0.2e-9 }),
            switch_s: Some(1.5e-6),
            missing: vec![Missing { what: "cost of a tick".to_owned(), why: "nothing tells it".to_owned() }],
            ..Calibration::default()
        }
    }

    #[test]
    fn what_was_measured_is_in_the_units_of_a_description() {
        let values = values(&found());
        let clock = values.cores[0].clocks[0];
        assert_eq!((clock.mhz, clock.mv, clock.watts), (Some(1500.0), Some(800.0), Some(2.0)));
        assert!((values.dram.unwrap().nj_per_byte - 0.2).abs() < 1e-9);
        assert!((values.switching.context_switch_us.unwrap() - 1.5).abs() < 1e-9);
        assert_eq!(values.switching.migration_us, None);
        assert!(values.source.starts_with("measured by ") && values.source.contains("package-0: a core beyond"));
    }

    #[test]
    fn what_was_not_measured_is_said_with_its_reason() {
        assert_eq!(
            remarks(&found()),
            [
                "cores like CPU 0 draw 1800 uW/MHz/V^2 and leak 0.250 W/V; the point farthest from that is 1.2 % off",
                "not measured: cost of a tick: nothing tells it",
            ]
        );
    }
}
