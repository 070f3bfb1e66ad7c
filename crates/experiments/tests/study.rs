// SPDX-License-Identifier: MIT OR Apache-2.0
//! A paper of one table, studied with the simulator itself.

use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tandem_experiments::{
    Book, Environment, ExperimentError, FairOrObject, Library, Linux, Paper, PaperResult, Progress, Silent, Study,
    Verdict,
};

const PAPER: &str = "title = \"On clocks\"\nsource = \"A. Author\"\n";

/// Two governors for 50 ms: four simulations, with two seeds.
const TABLE: &str = r#"title = "Table 1"
about = "Power of two governors."
seeds = 2

[axes]
governor = ["performance", "powersave"]

[run.all]
machine = "hikey960"
workload = "periodic"
scheduler = "fair+{governor}"
options = ["--duration", "50ms"]

[[series]]
where = "Table 1"
what = "power"
unit = "ratio"
ours = 'power("all") / power("all", #{governor: "performance"})'
[[series.cell]]
at = { governor = "performance" }
published = 1
[[series.cell]]
at = { governor = "powersave" }
"#;

/// Counts the runs that begin.
#[derive(Default)]
struct Counted(AtomicUsize);

impl Progress for Counted {
    fn begin(&self, _what: &str, runs: usize) {
        self.0.fetch_add(runs, Ordering::Relaxed);
    }
}

fn library(table: &str) -> Library {
    Library::of_texts(Path::new("papers"), [("clocks/paper.toml", PAPER), ("clocks/table1.toml", table)])
}

/// The results of the paper with the runs of `book`, and how many runs had to be made for them.
fn studied(table: &str, book: &Rc<Book>) -> Result<(PaperResult, usize), ExperimentError> {
    let (library, counted) = (library(table), Counted::default());
    let environment =
        Environment { library: &library, schedulers: &FairOrObject, simulator: &Linux, progress: &counted };
    let result = Study::new(Paper::read(&library, "clocks")?, book, None)?.run(environment)?;
    Ok((result, counted.0.into_inner()))
}

fn book(jobs: usize) -> Rc<Book> {
    Rc::new(Book::new(Some(jobs)).unwrap())
}

#[test]
fn a_number_stands_beside_the_published_one() {
    let (result, _) = studied(TABLE, &book(2)).unwrap();
    let [performance, powersave] = &result.experiments[0].series[0].cells[..] else { panic!("two cells") };
    // Over itself: exactly 1, with every seed.
    assert_eq!(performance.ours.map(|ours| (ours.mean, ours.half_width)), Some((1.0, Some(0.0))));
    assert_eq!((performance.verdict, powersave.verdict), (Verdict::Agrees, Verdict::Predicted));
    assert!(powersave.ours.unwrap().mean < 1.0);
}

#[test]
fn a_mean_of_other_numbers_is_judged_but_not_counted() {
    let derived = "published = 1\nderived = \"the mean of the others\"\n";
    let (counted, not) = (studied(TABLE, &book(2)).unwrap().0, TABLE.replace("published = 1\n", derived));
    let not = studied(&not, &book(2)).unwrap().0;
    assert_eq!((counted.counts.published(), counted.counts.judged()), (1, 1));
    assert_eq!((not.counts.published(), not.counts.judged()), (0, 0));
    assert_eq!(not.counts.count(Verdict::Predicted), 1);
    assert_eq!(not.experiments[0].series[0].cells[0].verdict, Verdict::Agrees);
    // Of a series it holds for all that is published.
    let series = TABLE.replace("unit = \"ratio\"\n", "unit = \"ratio\"\nderived = \"the mean of the others\"\n");
    assert_eq!(studied(&series, &book(2)).unwrap().0.counts, not.counts);
    let wrong = format!("{TABLE}derived = \"of nothing\"\n");
    let Err(ExperimentError::Input(error)) = studied(&wrong, &book(1)) else { panic!("a derived prediction") };
    assert!(error.message.contains("a prediction has no published value"), "{}", error.message);
}

/// The table with one number, `ours`.
fn computed(ours: &str) -> Result<f64, String> {
    let table =
        format!("title = \"T\"\nseeds = 1\n[[series]]\nwhat = \"x\"\nunit = \"s\"\nours = '{ours}'\n[[series.cell]]\n");
    let (result, runs) = studied(&table, &book(1)).map_err(|error| error.to_string())?;
    assert_eq!(runs, 0);
    Ok(result.experiments[0].series[0].cells[0].ours.unwrap().mean)
}

#[test]
fn mathematics_is_that_of_the_guide() {
    for (ours, value) in [
        ("abs(1 - 3)", 2.0),
        ("abs(-2.5)", 2.5),
        ("sqrt(4) + sqrt(2.25)", 3.5),
        ("ln(exp(1)) + exp(0.0)", 2.0),
        ("mean([1, 2.5]) + min([3, 4]) + max([5, 6])", 10.75),
        ("2 ** 3", 8.0),
    ] {
        assert_eq!(computed(ours), Ok(value), "{ours}");
    }
}

#[test]
fn the_guide_has_the_functions_that_there_are() {
    let guide = include_str!("../../../papers/README.md");
    let (_, table) = guide.split_once("| function | value |").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    let functions =
        table.lines().flat_map(|line| line.split('|').nth(1).unwrap_or_default().split('`').skip(1).step_by(2));
    let told: Vec<&str> = functions.filter_map(|call| Some(call.split_once('(')?.0)).collect();
    let message = computed("nothing()").unwrap_err();
    let (_, valid) = message.split_once("valid: ").unwrap();
    let there: Vec<&str> = valid.split('`').skip(1).step_by(2).collect();
    assert!(there.len() > 20 && there.iter().all(|name| told.contains(name)), "{there:?} and {told:?}");
    for name in &told {
        let message = computed(&format!("{name}()")).unwrap_err();
        assert!(message.contains(&format!("`{name}` does not take that")), "{message}");
    }
}

#[test]
fn each_simulation_is_run_once_however_many_ask() {
    let book = book(2);
    assert_eq!(studied(TABLE, &book).unwrap().1, 4);
    assert_eq!(studied(TABLE, &book).unwrap().1, 0);
}

#[test]
fn a_result_moves_with_a_number_of_the_machine_whatever_was_run_before() {
    let parameter =
        "[[parameter]]\nmachine = \"hikey960\"\npath = \"memory.dram.static_watts\"\nwhat = \"idle memory\"\n";
    let paper = format!("{PAPER}{parameter}");
    let table =
        TABLE.replace("at = { governor = \"powersave\" }", "at = { governor = \"powersave\" }\nheadline = true");
    let texts = [("clocks/paper.toml", paper.as_str()), ("clocks/table1.toml", table.as_str())];
    let library = Library::of_texts(Path::new("papers"), texts);
    let environment =
        Environment { library: &library, schedulers: &FairOrObject, simulator: &Linux, progress: &Silent };
    let study = Study::new(Paper::read(&library, "clocks").unwrap(), &book(2), None).unwrap();
    let rows = study.sensitivity(environment).unwrap();
    let moved = &rows[0].headlines[0];
    // More of what both draw brings the ratio nearer to 1.
    assert!(moved.smaller.unwrap() < moved.unchanged && moved.unchanged < moved.larger.unwrap(), "{moved:?}");
    assert!(moved.larger.unwrap() < 1.0, "{moved:?}");
}

#[test]
fn results_are_the_same_on_any_number_of_threads() {
    let json = |jobs: usize| serde_json::to_string(&studied(TABLE, &book(jobs)).unwrap().0).unwrap();
    assert_eq!(json(1), json(4));
}

#[test]
fn a_mistake_in_a_run_has_its_place() {
    for (wrong, expected) in [
        ("\"--duration\", \"50\"", "invalid value '50' for '--duration <TIME>'"),
        ("\"--seed\", \"1\"", "`--seed` cannot be among the options"),
        ("\"--set\", \"hzz=1\"", "--set: unknown setting `hzz`; did you mean `hz`?"),
    ] {
        let error = studied(&TABLE.replace("\"--duration\", \"50ms\"", wrong), &book(1)).unwrap_err();
        let ExperimentError::Input(error) = error else { panic!("{error}") };
        assert!(error.message.contains(expected), "{}", error.message);
        assert_eq!(error.position.as_ref().map(|at| at.line), Some(8), "{error}");
    }
}
