// SPDX-License-Identifier: GPL-2.0-only
//! Judges a scheduler without mechanisms against Linux's own and scx_bpfland, in the simulator: `make judge-base`, docs/base.md.

// The command's own: what of them is not needed here is needed there.
#[allow(dead_code)]
#[path = "../../src/bundled.rs"]
mod bundled;
#[allow(dead_code)]
#[path = "../../src/table.rs"]
mod table;

#[path = "../judge/contest.rs"]
mod contest;
#[path = "../judge/judging.rs"]
mod judging;
#[path = "../judge/pace.rs"]
mod pace;
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
use rayon::ThreadPoolBuilder;
use tandem_experiments::{Digest, Linux, Pair, Store, Stored};
use tandem_simulator::simulation::{Governor, Scheduler};

use contest::{Contest, Half, Outcome};
use table::Table;

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

/// A half of a part, judged.
pub struct Page {
    /// A line for each cell.
    pub table: Table,
    /// How to read the lines.
    pub legend: &'static str,
    /// What they come to.
    pub summary: Vec<String>,
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
    /// Folder of the objects that `make objects` makes
    #[arg(long)]
    objects: PathBuf,
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
const STORE_SIZE: u64 = 4 << 30;
/// What tells the models of two builds apart: reports of another one are of no use. Objects are told apart by themselves.
const MODEL: &str = env!("TANDEM_MODEL");

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
    let threads = ThreadPoolBuilder::new().num_threads(arguments.jobs).build()?;
    let store = Store::open(&arguments.store, STORE_SIZE, Digest::of(format!("judge-base {MODEL}").as_bytes()))?;
    let simulator = Stored::new(&Linux, Some(&store), arguments.fresh);
    let mut contest = contest(arguments, &simulator)?;
    let all = |part: &Part| arguments.part.is_empty() || arguments.part.contains(part);
    let halves = |half: &Half| arguments.half.is_empty() || arguments.half.contains(half);
    let mut summary = Vec::new();
    for part in Part::value_variants().iter().filter(|part| all(part)) {
        for half in Half::value_variants().iter().filter(|half| halves(half)) {
            contest.half = *half;
            contest.seed = if *half == Half::Choosing { CHOOSING_SEED } else { arguments.judge_seed };
            let began = Instant::now();
            let judged = threads.install(|| part.judge(&contest))?;
            let name = format!("{part:?}").to_lowercase();
            println!(
                "== {name}, {} half, seeds from {} ({:.0} s)",
                half.name(),
                contest.seed,
                began.elapsed().as_secs_f64()
            );
            println!("{}{}", judged.table.render(), judged.legend);
            let lines = judged.summary.iter().map(|line| format!("{name}, {} half: {line}", half.name()));
            let lines: Vec<String> = lines.collect();
            println!("{}\n", lines.join("\n"));
            summary.extend(lines);
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
    let bpfland = contest::in_folder(&arguments.published, "scx_bpfland", governor)?;
    let folders = [
        (&arguments.objects, "scx_simple", "make objects"),
        (&arguments.published, "scx_cosmos", "scripts/published cosmos"),
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
            arguments.published.display()
        ),
    }
    let fair = Pair::new(Scheduler::Fair, governor);
    Ok(Contest {
        simulator,
        judged,
        fair,
        bpfland,
        others,
        quick: arguments.quick,
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
