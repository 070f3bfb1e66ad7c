// SPDX-License-Identifier: MIT OR Apache-2.0
//! `[opp_table.NAME]`: clocks and voltages resolved to watts.
//!
//! A measured point gives `watts` of one busy core; another gets `dynamic_power_coefficient · MHz · V²`, the
//! formula of the kernel's energy model (`Documentation/power/energy-model.rst`), plus leakage.

use std::cmp::Ordering;

use super::range::{COEFFICIENT, MHZ, MICROSECONDS, MILLIVOLTS, PART, WATTS, khz, mhz_text, microvolts, nanos};
use super::reader::{Placed, Table};
use super::schema;
use crate::input::InputError;
use crate::machine::Opp;
use crate::units::Nanos;

/// What the performance domains of one table have in common.
#[derive(Debug, Clone)]
pub(super) struct OppTable {
    /// Ascending by clock, duty-cycle steps included; never empty.
    pub(super) opps: Vec<Opp>,
    pub(super) transition_latency: Nanos,
    pub(super) scalable: bool,
}

/// How a table turns voltage into watts.
struct Formula {
    /// µW / MHz / V² of one core.
    coefficient: Option<f64>,
    leakage_per_volt: Option<f64>,
    /// Whether the kernel has an energy model of these points.
    energy_model: bool,
}

pub(super) fn read(table: &Table<'_>) -> Result<OppTable, InputError> {
    let formula = Formula {
        coefficient: table.number_if("dynamic_power_coefficient", COEFFICIENT)?.map(|number| number.value),
        leakage_per_volt: table.number_if("leakage_watts_per_v", WATTS)?.map(|number| number.value),
        energy_model: table.flag_if("energy_model")?.unwrap_or(true),
    };
    let mut opps: Vec<Opp> = Vec::new();
    for row in table.rows("opps", &schema::OPP)? {
        let opp = formula.resolve(&row)?;
        check_ascends(&row, opps.last(), &opp)?;
        opps.push(opp);
    }
    let Some(highest) = opps.last().cloned() else {
        return Err(table.missing("opps", "an array of at least one operating point"));
    };
    for duty in duty_steps(table, &highest)? {
        insert_step(table, &mut opps, step(&highest, duty.value), duty.at)?;
    }
    Ok(OppTable {
        opps,
        transition_latency: nanos(table.number("transition_latency_us", MICROSECONDS)?.value),
        scalable: table.flag_if("scalable")?.unwrap_or(true),
    })
}

fn check_ascends(row: &Table<'_>, below: Option<&Opp>, opp: &Opp) -> Result<(), InputError> {
    match below {
        Some(below) if opp.khz <= below.khz => {
            let at = row.number("mhz", MHZ)?.at;
            let clocks = format!("{} MHz follows {} MHz", mhz_text(opp.khz), mhz_text(below.khz));
            Err(row.file.error(at, format!("`opps` do not ascend: {clocks}")).help("expected a higher clock"))
        }
        _ => Ok(()),
    }
}

impl Formula {
    fn resolve(&self, row: &Table<'_>) -> Result<Opp, InputError> {
        let mhz = row.number("mhz", MHZ)?.value;
        let millivolts = row.number_if("mv", MILLIVOLTS)?.map(|number| number.value);
        let leakage_watts = self.leakage(row, millivolts)?;
        let dynamic_watts = match row.number_if("watts", WATTS)? {
            Some(watts) => measured_dynamic(row, watts, leakage_watts)?,
            None => self.dynamic(row, mhz, millivolts)?,
        };
        let em_watts = self.believed(row, mhz, millivolts, dynamic_watts + leakage_watts)?;
        Ok(Opp {
            khz: khz(mhz),
            microvolts: millivolts.map(microvolts),
            duty: 1.0,
            dynamic_watts,
            leakage_watts,
            em_watts,
            idle_watts: row.number_if("idle_watts", WATTS)?.map(|number| number.value),
            static_watts: row.number_if("static_watts", WATTS)?.map(|number| number.value),
        })
    }

    fn leakage(&self, row: &Table<'_>, millivolts: Option<f64>) -> Result<f64, InputError> {
        if let Some(watts) = row.number_if("leakage_watts", WATTS)? {
            return Ok(watts.value);
        }
        match (self.leakage_per_volt, millivolts) {
            (None, _) => Ok(0.0),
            (Some(per_volt), Some(millivolts)) => Ok(per_volt * millivolts / 1e3),
            (Some(_), None) => Err(row
                .error("the operating point has no voltage to compute its leakage from")
                .help("expected `mv` or `leakage_watts`, because the table has `leakage_watts_per_v`")),
        }
    }

    /// What the kernel's energy model has: `em_watts`, what firmware told it; or else the device tree's coefficient times
    /// V²·f (`_get_power()` of drivers/opp/of.c), which knows no leakage; or else what the point draws.
    fn believed(
        &self,
        row: &Table<'_>,
        mhz: f64,
        millivolts: Option<f64>,
        drawn: f64,
    ) -> Result<Option<f64>, InputError> {
        let told = row.number_if("em_watts", WATTS)?;
        if let (Some(watts), false) = (told, self.energy_model) {
            return Err(row
                .file
                .error(watts.at, "`em_watts` in a table whose kernel has no energy model")
                .help("leave `em_watts` out, or `energy_model = false`"));
        }
        let by_formula = || Some(self.coefficient? * mhz * (millivolts? / 1e3).powi(2) / 1e6);
        Ok(self.energy_model.then(|| told.map(|watts| watts.value).or_else(by_formula).unwrap_or(drawn)))
    }

    fn dynamic(&self, row: &Table<'_>, mhz: f64, millivolts: Option<f64>) -> Result<f64, InputError> {
        match (self.coefficient, millivolts) {
            (Some(coefficient), Some(millivolts)) => {
                let volts = millivolts / 1e3;
                Ok(coefficient * mhz * volts * volts / 1e6)
            }
            _ => Err(row
                .error("the operating point has no power")
                .help("expected `watts`, or `mv` here and `dynamic_power_coefficient` in the table")),
        }
    }
}

fn measured_dynamic(row: &Table<'_>, watts: Placed<f64>, leakage: f64) -> Result<f64, InputError> {
    if watts.value >= leakage {
        return Ok(watts.value - leakage);
    }
    Err(row
        .file
        .error(watts.at, format!("`watts` is less than the leakage it includes: {} < {leakage}", watts.value))
        .help(format!("expected at least {leakage}")))
}

/// The shares of the highest clock that the table's clock modulation offers, in the order of the file.
fn duty_steps(table: &Table<'_>, highest: &Opp) -> Result<Vec<Placed<f64>>, InputError> {
    let shares = table.numbers("duty_cycle", PART)?;
    let clocks = table.numbers("duty_mhz", MHZ)?;
    if let (Some(_), Some(clock)) = (shares.first(), clocks.first()) {
        return Err(table
            .file
            .error(clock.at, "`duty_mhz` and `duty_cycle` are two ways to say the same")
            .help("expected only one of them"));
    }
    let full = f64::from(highest.khz) / 1e3;
    let of_clock = |clock: Placed<f64>| Placed { value: clock.value / full, at: clock.at };
    let steps: Vec<Placed<f64>> = shares.into_iter().chain(clocks.into_iter().map(of_clock)).collect();
    for (index, step) in steps.iter().enumerate() {
        if step.value >= 1.0 {
            return Err(table
                .file
                .error(step.at, "a duty-cycle step is not below the highest clock")
                .help(format!("expected less than {full} MHz, a share below 1")));
        }
        if index > 0 && steps[index - 1].value >= step.value {
            return Err(table.file.error(step.at, "duty-cycle steps do not ascend").help("expected a higher step"));
        }
    }
    Ok(steps)
}

/// The highest operating point with `duty` of its cycles: slower and less switching at the same voltage.
fn step(highest: &Opp, duty: f64) -> Opp {
    Opp {
        khz: (f64::from(highest.khz) * duty).round() as u32,
        duty,
        dynamic_watts: highest.dynamic_watts * duty,
        em_watts: highest.em_watts.map(|watts| watts * duty),
        ..highest.clone()
    }
}

fn insert_step(table: &Table<'_>, opps: &mut Vec<Opp>, step: Opp, at: usize) -> Result<(), InputError> {
    let place = opps.partition_point(|opp| opp.khz < step.khz);
    let taken = opps.get(place).map(|opp| opp.khz.cmp(&step.khz)) == Some(Ordering::Equal);
    if taken || step.khz == 0 {
        let clock = mhz_text(step.khz);
        return Err(table
            .file
            .error(at, format!("a duty-cycle step gives {clock} MHz, which cannot be another operating point"))
            .help("expected a clock that `opps` does not have"));
    }
    opps.insert(place, step);
    Ok(())
}
