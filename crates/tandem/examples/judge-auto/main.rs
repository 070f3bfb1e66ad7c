// SPDX-License-Identifier: GPL-2.0-only
//! Judges the modes against what distributions run, fair's governors and other schedulers, in the simulator: `make judge-auto`,
//! docs/modes.md.

// The command's own, and judge-base's: what of them is not needed here is needed there.
#[path = "../judge/asked.rs"]
mod asked;
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
#[path = "../judge/page.rs"]
mod page;
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

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, ValueEnum};
use tandem_experiments::{Linux, Pair, Stored};
use tandem_simulator::simulation::{Governor, Scheduler};

use asked::Asked;
use best::{Number, Rivals};
use cells::{cells, long_cells};
use contest::{Contest, Outcome};
use page::Page;

/// What is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// mode=auto against fair with the machine's own governor: every cell.
    Default,
    /// The same for two minutes where limits of power and heat bind.
    Limits,
    /// mode=auto against the best of fair's governors: energy times time.
    Governors,
    /// mode=auto against the best of other schedulers: energy times time.
    Peers,
    /// mode=performance against the best of fair's governors: time.
    Performance,
    /// mode=powersave against fair with the machine's own governor.
    Powersave,
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
    #[command(flatten)]
    asked: Asked,
}

/// Most bytes of reports that are kept.
const STORE_SIZE: u64 = 8 << 30;
/// Other schedulers, as published: as they are by default, and what saves energy in them. scx_lavd `--powersave`; scx_p2dq `--sched-mode
/// efficiency`, but for EPP, turbo and the uncore, which its loader turns. What scx_bpfland, scx_cosmos and scx_flash call powersave keeps
/// work on slow cores by calls of their loaders for each of these, which no file of schedulers/ can say: it is left out.
const PEERS: [&str; 7] = [
    "scx_bpfland",
    "scx_cosmos",
    "scx_flash",
    "scx_p2dq",
    "scx_p2dq,p2dq_config.sched_mode=2",
    "scx_lavd",
    "scx_lavd,is_autopilot_on=false,is_powersave_mode=true",
];
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
    let asked = &arguments.asked;
    let threads = asked.threads()?;
    let store = asked.store("judge-auto", STORE_SIZE)?;
    let simulator = Stored::new(&Linux, Some(&store), asked.fresh);
    let all = |part: &Part| arguments.part.is_empty() || arguments.part.contains(part);
    let mut summary = Vec::new();
    for part in Part::value_variants().iter().filter(|part| all(part)) {
        for (half, seed) in asked.halves() {
            let contest = Contest {
                simulator: &simulator,
                judged: contest::named(&format!("{},mode={}", arguments.scheduler, part.mode()))?,
                fair: Pair::new(Scheduler::Fair, Governor::Default),
                bpfland: None,
                others: Vec::new(),
                quick: asked.quick,
                half,
                seed,
            };
            let began = Instant::now();
            let Some(judged) = threads.install(|| part.judge(&contest, &asked.published))? else { continue };
            summary.extend(judged.print(&format!("{part:?}").to_lowercase(), &contest, began));
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
            Self::Default | Self::Limits | Self::Governors | Self::Peers => "auto",
            Self::Performance => "performance",
            Self::Powersave => "powersave",
        }
    }

    /// Judges a half; `None` if there is nothing to compare with.
    fn judge(self, contest: &Contest<'_>, published: &Path) -> Outcome<Option<Page>> {
        match self {
            Self::Default => default::judge(contest, &cells(contest)?, default::AUTO).map(Some),
            Self::Limits => default::judge(contest, &long_cells(contest)?, default::AUTO).map(Some),
            Self::Powersave => default::judge(contest, &cells(contest)?, default::POWERSAVE).map(Some),
            Self::Governors => {
                let pairs = governors()?;
                best::judge(contest, &Rivals { pairs, number: Number::EnergyDelay, asked: 0.90 }).map(Some)
            }
            Self::Performance => {
                let pairs = governors()?;
                best::judge(contest, &Rivals { pairs, number: Number::Time, asked: 0.97 }).map(Some)
            }
            Self::Peers => {
                let pairs = peers(published)?;
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
fn peers(published: &Path) -> Outcome<Vec<(String, Pair)>> {
    let mut found = Vec::new();
    for name in PEERS {
        match contest::in_folder(published, name, Governor::Default)? {
            Some(pair) => found.push((name.to_owned(), pair)),
            None => println!(
                "MISSING: no object of {name} in {}: it is left out (`scripts/published {}` makes it)",
                published.display(),
                name.trim_start_matches("scx_").split(',').next().unwrap_or(name)
            ),
        }
    }
    Ok(found)
}
