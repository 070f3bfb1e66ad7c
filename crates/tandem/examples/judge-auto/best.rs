// SPDX-License-Identifier: GPL-2.0-only
//! Against the best of several in each cell: fair's governors, other schedulers.

use tandem_experiments::{Pair, Scenario, Silent, run_all};

use crate::Page;
use crate::cells::{Cell, Measured, cells};
use crate::contest::{Contest, Outcome};
use crate::default::{geometric_mean, measured};
use crate::pace::ends_by_timers;
use crate::table::{Align, Table};
use crate::worst::worst_cells;

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    /// Energy per work times the time for it.
    EnergyDelay,
    /// Time; only cells whose end depends on speed.
    Time,
}

/// A comparison with the best of several.
pub struct Rivals {
    /// Names and schedulers. Those that cannot be loaded on a machine, or are ejected in a cell, are left out there.
    pub pairs: Vec<(String, Pair)>,
    /// By which number.
    pub number: Number,
    /// What is asked of the geometric mean.
    pub asked: f64,
}

struct Row {
    ratio: f64,
    best: String,
}

/// How to read a line.
const LEGEND: &str = "over the best of the others in the cell, which is named";

/// Judges the half.
pub fn judge(contest: &Contest<'_>, rivals: &Rivals) -> Outcome<Page> {
    let cells = cells(contest)?;
    let rows: Vec<Option<Row>> = run_all(&cells, |cell| row(contest, cell, rivals), &Silent, "")?;
    let columns = [("machine", Align::Left), ("workload", Align::Left), ("threads/CPU", Align::Right)];
    let numbers = [("ratio", Align::Right), ("best other", Align::Left)];
    let mut table =
        Table::with_columns(columns.into_iter().chain(numbers).map(|(title, align)| (title.to_owned(), align)));
    let judged = || cells.iter().zip(&rows).filter_map(|(cell, row)| Some((cell, row.as_ref()?)));
    for (cell, row) in judged() {
        let start = [cell.machine.name.clone(), cell.workload.name.clone(), format!("{:.2}", cell.load)];
        table.row(start.into_iter().chain([format!("{:.3}", row.ratio), row.best.clone()]));
    }
    let ratios = || judged().map(|(cell, row)| (cell, row.ratio));
    let within = ratios().filter(|(_, ratio)| *ratio <= 1.0).count();
    let summary = vec![
        format!(
            "geometric mean {:.3} (asked: {:.2}); {within} of {} cells at most 1",
            geometric_mean(ratios().map(|(_, ratio)| ratio)),
            rivals.asked,
            ratios().count()
        ),
        format!("worst: {}", worst_cells(ratios())),
    ];
    Ok(Page { table, legend: LEGEND, summary })
}

fn row(contest: &Contest<'_>, cell: &Cell, rivals: &Rivals) -> Outcome<Option<Row>> {
    let by_timers = ends_by_timers(contest, &cell.machine, &cell.workload)?;
    if by_timers && rivals.number == Number::Time {
        return Ok(None);
    }
    let seeds = 0..if contest.quick { 2 } else { 4 };
    let value = |runs: &[Measured]| geometric_mean(runs.iter().map(|run| rivals.number.of(run)));
    let own = value(&measured(contest, cell, &contest.judged, by_timers, seeds.clone())?);
    let mut best: Option<(f64, &str)> = None;
    for (name, pair) in &rivals.pairs {
        if Scenario::default().check_on(&cell.machine, pair, 0).is_err() {
            continue;
        }
        let runs = measured(contest, cell, pair, by_timers, seeds.clone())?;
        let theirs = value(&runs);
        if !runs.iter().any(|run| run.ejected) && best.is_none_or(|(least, _)| theirs < least) {
            best = Some((theirs, name));
        }
    }
    Ok(best.map(|(theirs, name)| Row { ratio: own / theirs, best: name.to_owned() }))
}

impl Number {
    fn of(self, run: &Measured) -> f64 {
        match self {
            Self::EnergyDelay => run.energy_delay(),
            Self::Time => run.slowness.first().copied().unwrap_or(f64::NAN),
        }
    }
}
