// SPDX-License-Identifier: GPL-2.0-only
//! Judges the modes against what distributions run, fair's governors and other schedulers, in the simulator: `make judge-auto`,
//! docs/modes.md.

// The command's own, and judge-base's: what of them is not needed here is needed there.
#[allow(dead_code)]
#[path = "../../src/bundled.rs"]
mod bundled;
#[allow(dead_code)]
#[path = "../judge/contest.rs"]
mod contest;
#[allow(dead_code)]
#[path = "../judge/judging.rs"]
mod judging;
#[path = "../judge/pace.rs"]
mod pace;
#[allow(dead_code)]
#[path = "../../src/table.rs"]
mod table;
#[allow(dead_code)]
#[path = "../judge/workloads.rs"]
mod workloads;

mod best;
mod cells;
mod default;
mod worst;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, ValueEnum};
use rayon::ThreadPoolBuilder;
use tandem_experiments::{Digest, Linux, Pair, Store, Stored};
use tandem_simulator::simulation::{Governor, Scheduler};

use best::{Number, Rivals};
use contest::{Contest, Half, Outcome};
use table::Table;

/// What is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// mode=auto against fair with the machine's own governor: every cell.
    Default,
    /// mode=auto against the best of fair's governors: energy times time.
    Governors,
    /// mode=auto against the best of other schedulers: energy times time.
    Peers,
    /// mode=performance against the best of fair's governors: time.
    Performance,
    /// mode=powersave against fair with the machine's own governor.
    Powersave,
}

/// A half of a part, judged.
pub struct Page {
    /// A line for each cell.
    pub table: Table,
    /// How to read the lines.
    pub legend: &'static str,
    /// What they come to.
    pub summary: Vec<String>,
}

/// Judge Tandem's modes against fair and other schedulers
#[derive(Debug, Parser)]
struct Arguments {
    /// The scheduler, with its settings but for `mode`
    #[arg(long, default_value = "tandem")]
    scheduler: String,
    /// Parts; all unless given
    #[arg(long, value_enum)]
    part: Vec<Part>,
    /// Halves; both unless given
    #[arg(long, value_enum)]
    half: Vec<Half>,
    /// Fewer cells and seeds
    #[arg(long)]
    quick: bool,
    /// First seed of the judging half
    #[arg(long, default_value_t = 2000)]
    judge_seed: u64,
    /// Simulations at a time
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Folder of the objects that `scripts/published` makes
    #[arg(long)]
    published: PathBuf,
    /// Folder where reports of finished runs are kept
    #[arg(long)]
    store: PathBuf,
    /// Run everything again
    #[arg(long)]
    fresh: bool,
}

/// First seed of the choosing half.
const CHOOSING_SEED: u64 = 1;
/// Most bytes of reports that are kept.
const STORE_SIZE: u64 = 8 << 30;
/// What tells the models of two builds apart: reports of another one are of no use. Objects are told apart by themselves.
const MODEL: &str = env!("TANDEM_MODEL");
/// Other schedulers, as published.
const PEERS: [&str; 5] = ["scx_bpfland", "scx_cosmos", "scx_flash", "scx_p2dq", "scx_lavd"];
/// fair's governors.
const GOVERNORS: [&str; 4] = ["default", "performance", "schedutil", "powersave"];

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("judge-auto: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Outcome<()> {
    let threads = ThreadPoolBuilder::new().num_threads(arguments.jobs).build()?;
    let store = Store::open(&arguments.store, STORE_SIZE, Digest::of(format!("judge-auto {MODEL}").as_bytes()))?;
    let simulator = Stored::new(&Linux, Some(&store), arguments.fresh);
    let all = |part: &Part| arguments.part.is_empty() || arguments.part.contains(part);
    let halves = |half: &Half| arguments.half.is_empty() || arguments.half.contains(half);
    let mut summary = Vec::new();
    for part in Part::value_variants().iter().filter(|part| all(part)) {
        for half in Half::value_variants().iter().filter(|half| halves(half)) {
            let contest = Contest {
                simulator: &simulator,
                judged: contest::named(&format!("{},mode={}", arguments.scheduler, part.mode()))?,
                fair: Pair::new(Scheduler::Fair, Governor::Default),
                bpfland: None,
                others: Vec::new(),
                quick: arguments.quick,
                half: *half,
                seed: if *half == Half::Choosing { CHOOSING_SEED } else { arguments.judge_seed },
            };
            let began = Instant::now();
            let Some(judged) = threads.install(|| part.judge(&contest, arguments))? else { continue };
            let name = format!("{part:?}").to_lowercase();
            println!(
                "== {name}, {} half, seeds from {} ({:.0} s)",
                half.name(),
                contest.seed,
                began.elapsed().as_secs_f64()
            );
            println!("{}{}", judged.table.render(), judged.legend);
            let lines: Vec<String> =
                judged.summary.iter().map(|line| format!("{name}, {} half: {line}", half.name())).collect();
            println!("{}\n", lines.join("\n"));
            summary.extend(lines);
        }
    }
    summary.iter().for_each(|line| println!("{line}"));
    eprintln!("{} runs were finished before", simulator.found());
    Ok(())
}

impl Part {
    /// The mode that is judged.
    fn mode(self) -> &'static str {
        match self {
            Self::Default | Self::Governors | Self::Peers => "auto",
            Self::Performance => "performance",
            Self::Powersave => "powersave",
        }
    }

    /// Judges a half; `None` if there is nothing to compare with.
    fn judge(self, contest: &Contest<'_>, arguments: &Arguments) -> Outcome<Option<Page>> {
        match self {
            Self::Default => default::judge(contest, default::AUTO).map(Some),
            Self::Powersave => default::judge(contest, default::POWERSAVE).map(Some),
            Self::Governors => {
                let pairs = governors()?;
                best::judge(contest, &Rivals { pairs, number: Number::EnergyDelay, asked: 0.90 }).map(Some)
            }
            Self::Performance => {
                let pairs = governors()?;
                best::judge(contest, &Rivals { pairs, number: Number::Time, asked: 0.97 }).map(Some)
            }
            Self::Peers => {
                let pairs = peers(arguments)?;
                if pairs.is_empty() {
                    return Ok(None);
                }
                best::judge(contest, &Rivals { pairs, number: Number::EnergyDelay, asked: 0.95 }).map(Some)
            }
        }
    }
}

/// fair with each of its governors.
fn governors() -> Outcome<Vec<(String, Pair)>> {
    GOVERNORS
        .into_iter()
        .map(|governor| Ok((format!("fair+{governor}"), contest::named(&format!("fair+{governor}"))?)))
        .collect()
}

/// The other schedulers that there are; says which are missing.
fn peers(arguments: &Arguments) -> Outcome<Vec<(String, Pair)>> {
    let mut found = Vec::new();
    for name in PEERS {
        match contest::in_folder(&arguments.published, name, Governor::Default)? {
            Some(pair) => found.push((name.to_owned(), pair)),
            None => println!(
                "MISSING: no {name}.bpf.o in {}: it is left out (`scripts/published {}` makes it)",
                arguments.published.display(),
                name.trim_start_matches("scx_")
            ),
        }
    }
    Ok(found)
}
