// SPDX-License-Identifier: GPL-2.0-only
//! Judges a scheduler without mechanisms against Linux's own and scx_bpfland, in the simulator: `make judge-base`, docs/base.md.

// The command's own: what of them is not needed here is needed there.
#[allow(dead_code)]
#[path = "../../src/bundled.rs"]
mod bundled;
#[allow(dead_code)]
#[path = "../../src/table.rs"]
mod table;

#[path = "../judge/asked.rs"]
mod asked;
#[path = "../judge/contest.rs"]
mod contest;
#[path = "../judge/judging.rs"]
mod judging;
#[path = "../judge/pace.rs"]
mod pace;
#[path = "../judge/page.rs"]
mod page;
#[path = "../judge/workloads.rs"]
mod workloads;

mod cost;
mod latency;
mod scale;
mod shares;
mod time;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, ValueEnum};
use tandem_experiments::{Linux, Pair, Stored};
use tandem_simulator::simulation::{Governor, Scheduler};

use asked::{Asked, CHOOSING_SEED};
use contest::{Contest, Half, Outcome};
use page::Page;

/// What is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// How long workloads take.
    Time,
    /// How late threads are.
    Latency,
    /// How CPU time is shared.
    Shares,
    /// BPF instructions.
    Cost,
    /// Machines of hundreds of CPUs.
    Scale,
}

/// Judge a scheduler without mechanisms against fair and scx_bpfland
#[derive(Debug, Parser)]
struct Arguments {
    /// The scheduler, with its settings and governor
    #[arg(long, default_value = "tandem,mode=none")]
    scheduler: String,
    /// Parts; all unless given
    #[arg(long, value_enum)]
    part: Vec<Part>,
    #[command(flatten)]
    asked: Asked,
    /// Folder of the objects that `make objects` makes
    #[arg(long)]
    objects: PathBuf,
}

/// Most bytes of reports that are kept.
const STORE_SIZE: u64 = 4 << 30;

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("judge-base: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Outcome<()> {
    let asked = &arguments.asked;
    let threads = asked.threads()?;
    let store = asked.store("judge-base", STORE_SIZE)?;
    let simulator = Stored::new(&Linux, Some(&store), asked.fresh);
    let mut contest = contest(arguments, &simulator)?;
    let all = |part: &Part| arguments.part.is_empty() || arguments.part.contains(part);
    let mut summary = Vec::new();
    for part in Part::value_variants().iter().filter(|part| all(part)) {
        for (half, seed) in asked.halves() {
            (contest.half, contest.seed) = (half, seed);
            let began = Instant::now();
            let judged = threads.install(|| part.judge(&contest))?;
            summary.extend(judged.print(&format!("{part:?}").to_lowercase(), &contest, began));
        }
    }
    println!("== {}", contest.judged);
    summary.iter().for_each(|line| println!("{line}"));
    eprintln!("{} runs were finished before", simulator.found());
    Ok(())
}

/// The schedulers that there are; says which are missing.
fn contest<'a>(arguments: &Arguments, simulator: &'a Stored<'a>) -> Outcome<Contest<'a>> {
    let judged = contest::named(&arguments.scheduler)?;
    let governor: Governor = judged.governor;
    let mut others = Vec::new();
    let bpfland = contest::in_folder(&arguments.asked.published, "scx_bpfland", governor)?;
    let folders = [
        (&arguments.objects, "scx_simple", "make objects"),
        (&arguments.asked.published, "scx_cosmos", "scripts/published cosmos"),
    ];
    for (folder, name, how) in folders {
        match contest::in_folder(folder, name, governor)? {
            Some(pair) => others.push((name.to_owned(), pair)),
            None => {
                println!("MISSING: no {name}.bpf.o in {}: its costs are left out (`{how}` makes it)", folder.display())
            }
        }
    }
    match &bpfland {
        Some(pair) => others.push(("scx_bpfland".to_owned(), pair.clone())),
        None => println!(
            "MISSING: no scx_bpfland.bpf.o in {}: latency is judged against fair ALONE (`scripts/published bpfland` makes it)",
            arguments.asked.published.display()
        ),
    }
    let fair = Pair::new(Scheduler::Fair, governor);
    Ok(Contest {
        simulator,
        judged,
        fair,
        bpfland,
        others,
        quick: arguments.asked.quick,
        half: Half::Choosing,
        seed: CHOOSING_SEED,
    })
}

impl Part {
    fn judge(self, contest: &Contest<'_>) -> Outcome<Page> {
        match self {
            Self::Time => time::judge(contest),
            Self::Latency => latency::judge(contest),
            Self::Shares => shares::judge(contest),
            Self::Cost => cost::judge(contest),
            Self::Scale => scale::judge(contest),
        }
    }
}
