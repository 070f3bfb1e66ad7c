// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which tasks a sweep has, and which cells need no more runs.
//!
//! Neighbouring cells form a block. A task is some repeats of all cells of a block, so that the tasks of a sweep, and the files that
//! come of them, follow from the grid alone. Where cells stop by themselves, a block's next task is known once the one before is
//! done, and has those cells that go on; other blocks do not wait for it.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Sweep;
use crate::comparison::Metric;
use crate::statistics::Estimate;

/// How often each cell is run.
#[derive(Debug, Clone, PartialEq)]
pub enum Repeats {
    /// So often.
    Fixed(u32),
    /// Until the intervals are narrow enough.
    Until {
        /// Runs after which that is looked at first; then after twice as many, and so on.
        least: u32,
        /// Runs after which a cell ends in any case.
        most: u32,
        /// What is narrow enough; all of it must be.
        enough: Vec<Enough>,
    },
}

/// When the interval of a metric's mean is narrow enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Enough {
    /// The metric.
    pub metric: Metric,
    /// Half the width of the 95 % confidence interval over the mean, at most.
    pub relative: f64,
}

/// Runs that one process does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The block of cells.
    pub block: u32,
    /// Which of the block's tasks, from 0 on.
    pub stage: u32,
    /// The cells, ascending.
    pub cells: Vec<u32>,
    /// Which repeats of each.
    pub repeats: Range<u32>,
}

impl Task {
    /// The runs: cells and repeats, in the order of the rows.
    pub fn runs(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.cells.iter().flat_map(|cell| self.repeats.clone().map(|repeat| (*cell, repeat)))
    }
}

/// Knows which tasks there are, and what each cell's runs gave so far.
#[derive(Debug, Default)]
pub struct Tracker {
    /// For each cell that stops by itself, and for each metric that says when, the values so far.
    values: BTreeMap<u32, Vec<Vec<f64>>>,
}

impl Sweep {
    /// The tasks that can be done at once.
    pub fn tasks(&self) -> Vec<Task> {
        let mut tasks = Vec::new();
        for block in 0..self.cells().div_ceil(self.block()) {
            let cells: Vec<u32> = (block * self.block()..self.cells().min((block + 1) * self.block())).collect();
            let stages = match self.repeats {
                Repeats::Fixed(runs) => runs.div_ceil(self.batch),
                Repeats::Until { .. } => 1,
            };
            tasks.extend((0..stages).map(|stage| {
                let (cells, repeats) = (cells.clone(), self.stage(stage));
                Task { block, stage, cells, repeats }
            }));
        }
        tasks
    }

    /// The most runs that there can be.
    pub fn most_runs(&self) -> u64 {
        let (Repeats::Fixed(runs) | Repeats::Until { most: runs, .. }) = self.repeats;
        u64::from(self.cells()) * u64::from(runs)
    }

    /// Cells of a block.
    fn block(&self) -> u32 {
        let (Repeats::Fixed(first) | Repeats::Until { least: first, .. }) = self.repeats;
        (self.batch / first.max(1)).max(1)
    }

    /// The repeats of a stage.
    fn stage(&self, stage: u32) -> Range<u32> {
        match self.repeats {
            Repeats::Fixed(runs) => stage * self.batch..runs.min((stage + 1) * self.batch),
            Repeats::Until { least, most, .. } => {
                let after = |stages: u32| u64::from(least).checked_shl(stages).unwrap_or(u64::MAX).min(u64::from(most));
                let begin = stage.checked_sub(1).map_or(0, after);
                begin as u32..after(stage) as u32
            }
        }
    }

    /// The columns whose values say when a cell has enough.
    fn watched(&self) -> Vec<(usize, f64)> {
        let Repeats::Until { enough, .. } = &self.repeats else { return Vec::new() };
        let titles = self.titles();
        let column = |enough: &Enough| titles.iter().position(|title| title == enough.metric.key());
        enough.iter().filter_map(|enough| Some((column(enough)?, enough.relative))).collect()
    }
}

impl Tracker {
    /// Takes the rows of a task, and says which task comes of them: the next one of its block, with the cells that go on. A
    /// cell with a run that failed does not: it would fail again.
    pub fn finished(&mut self, sweep: &Sweep, task: &Task, rows: &[Vec<Value>]) -> Option<Task> {
        let Repeats::Until { most, .. } = sweep.repeats else { return None };
        let watched = sweep.watched();
        let error = sweep.titles().len() - 2;
        let mut going = Vec::new();
        for (cell, rows) in task.cells.iter().zip(rows.chunks(task.repeats.len().max(1))) {
            let values = self.values.entry(*cell).or_insert_with(|| vec![Vec::new(); watched.len()]);
            for ((column, _), values) in watched.iter().zip(values.iter_mut()) {
                values.extend(rows.iter().filter_map(|row| row[*column].as_f64()));
            }
            let narrow = watched.iter().zip(values.iter()).all(|((_, relative), values)| is_narrow(values, *relative));
            let failed = rows.iter().any(|row| !row[error].is_null());
            if narrow || failed {
                self.values.remove(cell);
            } else {
                going.push(*cell);
            }
        }
        let (block, stage) = (task.block, task.stage + 1);
        let goes_on = !going.is_empty() && task.repeats.end < most;
        goes_on.then(|| Task { block, stage, cells: going, repeats: sweep.stage(stage) })
    }
}

/// Whether the interval of the mean is narrow enough; nothing that was measured in no run gets narrower.
fn is_narrow(values: &[f64], relative: f64) -> bool {
    match Estimate::of_mean(values) {
        None => true,
        Some(Estimate { mean, half_width }) => half_width.is_some_and(|half| half <= relative * mean.abs()),
    }
}
