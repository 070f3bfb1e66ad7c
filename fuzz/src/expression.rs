// SPDX-License-Identifier: MIT OR Apache-2.0
//! An expression of a paper from any text, computed from runs whose reports are always the same.

use std::path::Path;
use std::rc::Rc;
use std::sync::OnceLock;

use tandem_experiments::{
    Book, Environment, ExperimentError, FairOrObject, Library, Linux, Paper, Silent, Simulator, Study,
};
use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::observer::Observer;
use tandem_simulator::simulation::{Options, SimulationError};
use tandem_simulator::workload::Workload;

use super::mistake;

/// Bytes of an expression that is looked at: those of papers have a hundred.
const LONGEST: usize = 4096;

const PAPER: &str = "title = \"T\"\nsource = \"S\"\n";
const BEFORE: &str = r#"title = "T"
about = "A"
seeds = 2
[axes]
governor = ["performance", "powersave"]
clock = ["1", "2"]
[axes.mix.a]
number = 1
[axes.mix.b]
number = 2
[run.all]
machine = "smp-8"
workload = "periodic"
scheduler = "fair+{governor}"
options = ["--duration", "1ms"]
[[series]]
where = "W"
what = "w"
unit = "s"
"#;
const BEHIND: &str =
    "[[series.cell]]\nat = { governor = \"performance\", clock = \"1\", mix = \"a\" }\npublished = 1.5\n";

thread_local! {
    static BOOK: Option<Rc<Book>> = Book::new(Some(1)).ok().map(Rc::new);
}

/// Answers every question with one report.
struct Same;

impl Simulator for Same {
    fn simulate(
        &self,
        machine: &Machine,
        workload: &Workload,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Result<Report, SimulationError> {
        static REPORT: OnceLock<Result<Report, SimulationError>> = OnceLock::new();
        REPORT.get_or_init(|| Linux.simulate(machine, workload, options, observer)).clone()
    }
}

/// Computes bytes as an expression.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if text.len() > LONGEST {
        return;
    }
    let experiment = format!("{BEFORE}ours = {}\n{BEHIND}", toml::Value::from(text));
    let library = Library::of_texts(Path::new("papers"), [("p/paper.toml", PAPER), ("p/e.toml", experiment.as_str())]);
    if let Err(error) = compute(&library) {
        match error {
            ExperimentError::Input(error) => mistake::check(&error, Path::new("papers/p/e.toml"), &experiment),
            error => panic!("{error}"),
        }
    }
}

fn compute(library: &Library) -> Result<(), ExperimentError> {
    let book = BOOK.with(|book| book.clone());
    let Some(book) = book else { panic!("no book of runs can be made") };
    let environment = Environment { library, schedulers: &FairOrObject, simulator: &Same, progress: &Silent };
    let result = Study::new(Paper::read(library, "p")?, &book, None)?.run(environment)?;
    let ours = result.experiments[0].series[0].cells[0].ours;
    assert!(ours.is_some_and(|ours| ours.mean.is_finite()), "{ours:?}");
    Ok(())
}
