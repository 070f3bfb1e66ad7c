// SPDX-License-Identifier: MIT OR Apache-2.0
//! `/sys/class/power_supply`: what batteries give, while one of them discharges and nothing feeds the machine.
//!
//! `energy_now` is in µWh. Batteries that count charge have `charge_now` in µAh, which is worth the voltage of the time; that
//! comes from the same controller, and is measured. Several batteries are one source: the machine draws from either.

use std::path::{Path, PathBuf};

use super::source::{Amount, Domain, Found, Part, Probe, Unit};
use super::why::{Why, read_number, read_text};
use crate::tree::Tree;

/// Below `/sys`.
const FOLDER: &str = "class/power_supply";

/// Microjoules in a µWh, and microcoulombs in a µAh.
const SECONDS: f64 = 3600.0;

/// The machine's batteries, if it has any.
pub(super) fn find(root: &Path) -> Option<Found> {
    let tree = Tree::new(root);
    let folder = tree.path("sys").join(FOLDER);
    let kind = |name: &String| read_text(&folder.join(name).join("type")).ok();
    let (mut batteries, mut feeds) = (Vec::new(), Vec::new());
    for name in tree.names(FOLDER) {
        match kind(&name).as_deref() {
            Some("Battery") if !is_of_a_device(&folder.join(&name)) => batteries.push(name),
            Some("Mains" | "USB" | "Wireless") => feeds.push(folder.join(&name)),
            _ => {}
        }
    }
    if batteries.is_empty() {
        return None;
    }
    let name = format!("battery {}", batteries.join(" and "));
    let cells: Result<Vec<Cell>, Why> = batteries.iter().map(|name| Cell::open(folder.join(name))).collect();
    let probe = cells.map(|cells| Box::new(Batteries { cells, feeds }) as Box<dyn Probe>);
    Some(Found { name, domain: Domain::of(Part::Battery), unit: Unit::MICROJOULES, probe })
}

/// Whether it is that of a mouse or a headset.
fn is_of_a_device(battery: &Path) -> bool {
    read_text(&battery.join("scope")).is_ok_and(|scope| scope == "Device")
}

#[derive(Debug)]
struct Batteries {
    cells: Vec<Cell>,
    /// Folders of what could feed the machine.
    feeds: Vec<PathBuf>,
}

impl Probe for Batteries {
    fn read(&mut self) -> Result<Amount, Why> {
        if self.feeds.iter().any(|feed| read_number(&feed.join("online")).is_ok_and(|online| online > 0)) {
            return Err(Why::OnMains);
        }
        let states: Result<Vec<String>, Why> =
            self.cells.iter().map(|cell| read_text(&cell.folder.join("status"))).collect();
        let states = states?;
        // One of two may wait for its turn, but none may charge.
        if states.iter().any(|state| state == "Charging") || !states.iter().any(|state| state == "Discharging") {
            return Err(Why::NotDischarging);
        }
        let mut given = 0.0;
        for cell in &mut self.cells {
            given += cell.given()?;
        }
        Ok(Amount::Given(given))
    }
}

/// A battery.
#[derive(Debug)]
struct Cell {
    folder: PathBuf,
    level: Level,
    /// Joules since it was opened.
    given: f64,
}

/// What it said last.
#[derive(Debug, Clone, Copy)]
enum Level {
    /// In µWh.
    Energy(u64),
    /// In µAh, and µV.
    Charge(u64, u64),
}

impl Cell {
    fn open(folder: PathBuf) -> Result<Self, Why> {
        let level = Level::read(&folder)?;
        Ok(Self { folder, level, given: 0.0 })
    }

    fn given(&mut self) -> Result<f64, Why> {
        let now = Level::read(&self.folder)?;
        self.given += match (self.level, now) {
            (Level::Energy(before), Level::Energy(now)) => (before as f64 - now as f64) * SECONDS * 1e-6,
            (Level::Charge(before, volts_before), Level::Charge(now, volts_now)) => {
                let volts = (volts_before as f64 + volts_now as f64) / 2.0 * 1e-6;
                (before as f64 - now as f64) * SECONDS * 1e-6 * volts
            }
            // Its files changed under us.
            _ => return Err(Why::WentBack),
        };
        self.level = now;
        Ok(self.given)
    }
}

impl Level {
    fn read(folder: &Path) -> Result<Self, Why> {
        let number = |file: &str| read_number(&folder.join(file));
        if folder.join("energy_now").exists() {
            return number("energy_now").map(Self::Energy);
        }
        Ok(Self::Charge(number("charge_now")?, number("voltage_now")?))
    }
}
