// SPDX-License-Identifier: GPL-2.0-only
//! What both judges are asked on the command line, and where their runs are kept.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rayon::{ThreadPool, ThreadPoolBuilder};
use tandem_experiments::{Digest, Store};

use crate::contest::{Half, Outcome};

/// What tells the models of two builds apart: reports of another one are of no use. Objects are told apart by themselves.
const MODEL: &str = env!("TANDEM_MODEL");
/// First seed of the choosing half.
pub const CHOOSING_SEED: u64 = 1;

/// What is asked of a judge, whatever it judges.
#[derive(Debug, Args)]
pub struct Asked {
    /// Halves; both unless given
    #[arg(long, value_enum)]
    half: Vec<Half>,
    /// Fewer cells and seeds
    #[arg(long)]
    pub quick: bool,
    /// First seed of the judging half
    #[arg(long, default_value_t = 2000)]
    judge_seed: u64,
    /// Simulations at a time
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Folder of the objects that `scripts/published` makes
    #[arg(long)]
    pub published: PathBuf,
    /// Folder where reports of finished runs are kept
    #[arg(long)]
    store: PathBuf,
    /// Run everything again
    #[arg(long)]
    pub fresh: bool,
}

impl Asked {
    /// The halves that are judged, each with its first seed.
    pub fn halves(&self) -> impl Iterator<Item = (Half, u64)> {
        let asked = Half::value_variants().iter().filter(|half| self.half.is_empty() || self.half.contains(half));
        asked.map(|half| (*half, if *half == Half::Choosing { CHOOSING_SEED } else { self.judge_seed }))
    }

    /// The store of a judge, for `bytes` of reports at most.
    pub fn store(&self, judge: &str, bytes: u64) -> Outcome<Store> {
        Ok(Store::open(&self.store, bytes, Digest::of(format!("{judge} {MODEL}").as_bytes()))?)
    }

    /// The threads on which simulations run.
    pub fn threads(&self) -> Outcome<ThreadPool> {
        Ok(ThreadPoolBuilder::new().num_threads(self.jobs).build()?)
    }
}
