// SPDX-License-Identifier: MIT OR Apache-2.0
//! The expressions that compute a number from runs: Rhai's, without loops, functions or files of its own.
//!
//! `time("mix") / time("mix", #{clock: "2400"})` asks for the run `mix` where the cell is, and where the clock is another.
//! What is asked for and was not run yet is remembered, so that evaluating once finds out what there is to run.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use rhai::packages::{BasicMathPackage, Package};
use rhai::{AST, Array, Dynamic, Engine, EvalAltResult, ImmutableString, Map, Position};
use tandem_simulator::input::valid_names;
use tandem_simulator::metrics::Report;

use crate::axes::{self, AxisError, Place};
use crate::metrics::{self, METRICS};
use crate::paper::Paper;
use crate::runs::{self, Book, Change, Request, Simulation};

/// Steps that one expression may take: no paper's number needs a thousandth of it.
const MOST_OPERATIONS: u64 = 100_000;
/// Depth to which brackets may nest.
const MOST_DEPTH: usize = 32;

/// What expressions call besides [`METRICS`].
const OTHERS: [&str; 12] =
    ["counter", "report", "fairness", "jitter", "number", "mean", "min", "max", "sqrt", "exp", "ln", "abs"];

/// Where an expression is evaluated.
struct Scene {
    paper: Rc<Paper>,
    /// Index of the experiment.
    experiment: usize,
    place: Place,
    /// The runs whose numbers count: the seeds.
    seeds: Vec<usize>,
    change: Option<Change>,
    /// Runs that are needed and not there; numbers are 1 then.
    wanted: BTreeMap<Simulation, Request>,
    /// How many runs each simulation shall have.
    seeds_wanted: u32,
    /// Whether something was asked for that takes several seeds together.
    joint: bool,
}

/// Evaluates expressions over a book of runs.
pub struct Calculator {
    engine: Engine,
    scene: Rc<RefCell<Scene>>,
    /// The runs that there are.
    pub book: Rc<Book>,
}

/// What an evaluation asks of the runs.
#[derive(Debug, Clone)]
pub struct Question<'a> {
    pub experiment: usize,
    pub place: &'a Place,
    pub change: Option<&'a Change>,
    /// How many seeds.
    pub seeds: u32,
}

type Outcome<T> = Result<T, Box<EvalAltResult>>;

impl Calculator {
    /// A calculator for the numbers of `paper`.
    pub fn new(paper: &Rc<Paper>, book: &Rc<Book>) -> Self {
        let scene = Scene {
            paper: Rc::clone(paper),
            experiment: 0,
            place: Place::new(),
            seeds: Vec::new(),
            change: None,
            wanted: BTreeMap::new(),
            seeds_wanted: 0,
            joint: false,
        };
        let mut calculator =
            Self { engine: Engine::new_raw(), scene: Rc::new(RefCell::new(scene)), book: Rc::clone(book) };
        calculator.engine.register_global_module(BasicMathPackage::new().as_shared_module());
        calculator.engine.set_max_operations(MOST_OPERATIONS).set_max_expr_depths(MOST_DEPTH);
        for word in ["eval", "print", "debug"] {
            calculator.engine.disable_symbol(word);
        }
        calculator.register_metrics();
        calculator.register_others();
        calculator.register_arrays();
        calculator.register_mathematics();
        calculator
    }

    /// The expression `text`, read; what is wrong with it, and at which byte, otherwise.
    pub fn compile(&self, text: &str) -> Result<AST, (usize, String)> {
        self.engine
            .compile_expression(text)
            .map_err(|error| (offset(text, error.position()), error.err_type().to_string()))
    }

    /// The value of `ast` with the runs of `seeds`; what is wrong, and at which byte of `text`, otherwise.
    pub fn value(
        &self,
        ast: &AST,
        text: &str,
        question: &Question<'_>,
        seeds: &[usize],
    ) -> Result<f64, (usize, String)> {
        {
            let mut scene = self.scene.borrow_mut();
            scene.experiment = question.experiment;
            scene.place.clone_from(question.place);
            scene.seeds = seeds.to_vec();
            scene.change = question.change.cloned();
            scene.seeds_wanted = question.seeds;
        }
        let value: Dynamic =
            self.engine.eval_ast(ast).map_err(|error| (offset(text, error.position()), plain(&error)))?;
        let number = value.as_float().or_else(|_| value.as_int().map(|whole| whole as f64));
        let number = number.map_err(|kind| (0, format!("the expression's value is no number but {kind}")))?;
        let scene = self.scene.borrow();
        // One run has no jitter: what is divided by it is asked for again with more.
        if number.is_finite() || !scene.wanted.is_empty() || (scene.joint && seeds.len() < 2) {
            return Ok(number);
        }
        Err((0, format!("the expression's value is {number}")))
    }

    /// Takes what was asked for and is still to be run.
    pub fn take_wanted(&self) -> BTreeMap<Simulation, Request> {
        std::mem::take(&mut self.scene.borrow_mut().wanted)
    }

    /// Whether anything since the last call took several seeds together.
    pub fn take_joint(&self) -> bool {
        std::mem::take(&mut self.scene.borrow_mut().joint)
    }

    /// Each metric with a run, with an application, and with other values of axes.
    fn register_metrics(&mut self) {
        for (name, metric) in METRICS {
            let of_runs = over_runs(&self.scene, &self.book, move |reports, app| {
                let values = reports.iter().map(|report| metric(report, app)).collect::<Result<Vec<_>, _>>()?;
                Ok(values.iter().sum::<f64>() / values.len() as f64)
            });
            self.register_metric(name, &Rc::new(of_runs));
        }
        let jitter = over_runs(&self.scene, &self.book, metrics::jitter_of);
        let scene = Rc::clone(&self.scene);
        let joint = move |run: &str, app: Option<&str>, map: Map| {
            scene.borrow_mut().joint = true;
            jitter(run, app, map)
        };
        self.register_metric("jitter", &Rc::new(joint));
    }

    fn register_metric<F>(&mut self, name: &str, metric: &Rc<F>)
    where
        F: Fn(&str, Option<&str>, Map) -> Outcome<f64> + 'static,
    {
        let of = Rc::clone(metric);
        self.engine.register_fn(name, move |run: ImmutableString| of(&run, None, Map::new()));
        let of = Rc::clone(metric);
        self.engine.register_fn(name, move |run: ImmutableString, map: Map| of(&run, None, map));
        let of = Rc::clone(metric);
        self.engine
            .register_fn(name, move |run: ImmutableString, app: ImmutableString| of(&run, Some(&app), Map::new()));
        let of = Rc::clone(metric);
        self.engine
            .register_fn(name, move |run: ImmutableString, app: ImmutableString, map: Map| of(&run, Some(&app), map));
    }

    /// `counter`, `report`, `fairness`, `number`.
    fn register_others(&mut self) {
        for (name, of) in [("counter", metrics::counter as fn(&Report, &str) -> _), ("report", metrics::pointed)] {
            let value = over_runs(&self.scene, &self.book, move |reports, what| {
                let what = what.unwrap_or_default();
                let values = reports.iter().map(|report| of(report, what)).collect::<Result<Vec<_>, _>>()?;
                Ok(values.iter().sum::<f64>() / values.len() as f64)
            });
            let value = Rc::new(value);
            let of = Rc::clone(&value);
            self.engine.register_fn(name, move |run: ImmutableString, what: ImmutableString| {
                of(&run, Some(&what), Map::new())
            });
            self.engine.register_fn(name, move |run: ImmutableString, what: ImmutableString, map: Map| {
                value(&run, Some(&what), map)
            });
        }
        let fairness = Rc::new(fairness(&self.scene, &self.book));
        let with = Rc::clone(&fairness);
        self.engine.register_fn("fairness", move |run: ImmutableString, alone: Array| with(&run, &alone, &Map::new()));
        self.engine
            .register_fn("fairness", move |run: ImmutableString, alone: Array, map: Map| fairness(&run, &alone, &map));
        let scene = Rc::clone(&self.scene);
        self.engine.register_fn("number", move |what: ImmutableString| -> Outcome<f64> {
            let scene = scene.borrow();
            let number = axes::number(&scene.paper.experiments[scene.experiment].axes, &scene.place, &what);
            Ok(number.map_err(said)?)
        });
    }

    /// `abs`, and what the package of mathematics has for broken numbers only.
    fn register_mathematics(&mut self) {
        self.engine.register_fn("abs", f64::abs).register_fn("abs", |whole: i64| (whole as f64).abs());
        self.engine.register_fn("sqrt", |whole: i64| (whole as f64).sqrt());
        self.engine.register_fn("exp", |whole: i64| (whole as f64).exp());
        self.engine.register_fn("ln", |whole: i64| (whole as f64).ln());
    }

    /// `mean`, `min` and `max` of lists.
    fn register_arrays(&mut self) {
        type OfMany = fn(&[f64]) -> f64;
        let folds: [(&str, OfMany); 3] = [
            ("mean", |values| values.iter().sum::<f64>() / values.len() as f64),
            ("min", |values| values.iter().copied().fold(f64::INFINITY, f64::min)),
            ("max", |values| values.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
        ];
        for (name, fold) in folds {
            self.engine.register_fn(name, move |values: Array| -> Outcome<f64> {
                let number = |value: Dynamic| value.as_float().or_else(|_| value.as_int().map(|whole| whole as f64));
                let values = values.into_iter().map(number).collect::<Result<Vec<_>, _>>();
                Ok(fold(&values.map_err(|kind| format!("`{name}` takes numbers, not {kind}"))?))
            });
        }
    }
}

/// A function of a run's reports, one for each seed that counts.
fn over_runs<F>(
    scene: &Rc<RefCell<Scene>>,
    book: &Rc<Book>,
    value: F,
) -> impl Fn(&str, Option<&str>, Map) -> Outcome<f64> + use<F>
where
    F: Fn(&[&Report], Option<&str>) -> Result<f64, String> + 'static,
{
    let (scene, book) = (Rc::clone(scene), Rc::clone(book));
    move |run: &str, what: Option<&str>, map: Map| {
        let maps = scene.borrow().every(&map)?;
        let mut sum = 0.0;
        for map in &maps {
            let reports = scene.borrow_mut().reports(&book, run, map)?;
            sum += reports.map_or(Ok(1.0), |reports| {
                let reports: Vec<&Report> = reports.iter().map(Rc::as_ref).collect();
                value(&reports, what).map_err(|message| format!("run `{run}`: {message}"))
            })?;
        }
        Ok(sum / maps.len() as f64)
    }
}

/// Fairness of a run, for which its applications' performance alone is that in other runs.
fn fairness(scene: &Rc<RefCell<Scene>>, book: &Rc<Book>) -> impl Fn(&str, &Array, &Map) -> Outcome<f64> + use<> {
    let (scene, book) = (Rc::clone(scene), Rc::clone(book));
    move |run: &str, alone: &Array, map: &Map| {
        let name = |run: Dynamic| run.into_string().map_err(|kind| format!("a run's name is text, not {kind}"));
        let alone = alone.iter().cloned().map(name).collect::<Result<Vec<_>, _>>()?;
        let mut scene = scene.borrow_mut();
        let maps = scene.every(map)?;
        let mut sum = 0.0;
        for map in &maps {
            sum += scene.fairness(&book, run, &alone, map)?;
        }
        Ok(sum / maps.len() as f64)
    }
}

impl Scene {
    /// The mean over the seeds that count; 1 if the reports are still to be made.
    fn fairness(&mut self, book: &Book, run: &str, alone: &[String], map: &Map) -> Result<f64, String> {
        let mix = self.reports(book, run, map)?;
        let mut apart = Vec::new();
        for run in alone {
            let map = self.own(run, map);
            apart.push(self.reports(book, run, &map)?);
        }
        let (Some(mix), Some(apart)) = (mix, apart.into_iter().collect::<Option<Vec<_>>>()) else { return Ok(1.0) };
        let mut sum = 0.0;
        for (seed, report) in mix.iter().enumerate() {
            let alone: Vec<&Report> = apart.iter().map(|reports| reports[seed].as_ref()).collect();
            sum += metrics::fairness(report, &alone).map_err(|message| format!("run `{run}`: {message}"))?;
        }
        Ok(sum / mix.len() as f64)
    }

    /// The maps that `map` means: one for each value of the axes that are `*` in it.
    fn every(&self, map: &Map) -> Result<Vec<Map>, String> {
        let axes = &self.paper.experiments[self.experiment].axes;
        let all = map.iter().filter(|(_, value)| value.to_string() == "*").map(|(axis, _)| axis.to_string());
        let all: Vec<String> = all.collect();
        all.iter().try_for_each(|axis| axes.axis(axis).map(drop)).map_err(said)?;
        let with = |place: Place| {
            let mut map = map.clone();
            map.extend(place.into_iter().map(|(axis, value)| (axis.into(), value.into())));
            map
        };
        Ok(axes.combinations(&all).into_iter().map(with).collect())
    }

    /// Of `map`, the axes that `run` depends on.
    fn own(&self, run: &str, map: &Map) -> Map {
        let runs = &self.paper.experiments[self.experiment].runs;
        let axes = runs.iter().find(|known| known.name == run).map_or(&[][..], |run| run.axes.as_slice());
        map.iter()
            .filter(|(axis, _)| axes.iter().any(|own| own == axis.as_str()))
            .map(|(axis, value)| (axis.clone(), value.clone()))
            .collect()
    }

    /// The reports of `run`, where `map` changes the place; `None` if they are still to be made.
    fn reports(&mut self, book: &Book, run: &str, map: &Map) -> Result<Option<Vec<Rc<Report>>>, String> {
        let paper = Rc::clone(&self.paper);
        let experiment = &paper.experiments[self.experiment];
        let mut place = self.place.clone();
        for (axis, value) in map {
            place.insert(axis.to_string(), value.to_string());
        }
        experiment.axes.check(&place).map_err(said)?;
        let names: Vec<&str> = experiment.runs.iter().map(|run| run.name.as_str()).collect();
        let found = experiment.runs.iter().find(|known| known.name == run);
        let run = found.ok_or_else(|| format!("no run `{run}`; {}", valid_names(run, &names)))?;
        if let Some(axis) = map.keys().find(|axis| !run.axes.iter().any(|known| known == axis.as_str())) {
            return Err(format!("run `{}` does not depend on axis `{axis}`", run.name));
        }
        let mut simulation = Simulation::of(&paper.name, experiment, run, &place).map_err(said)?;
        if let Some(change) = &self.change {
            simulation = simulation.with(change);
        }
        let reports = book.reports(&simulation);
        if reports.len() >= self.seeds_wanted as usize {
            return Ok(Some(self.seeds.iter().map(|seed| Rc::clone(&reports[*seed])).collect()));
        }
        let label = runs::label(&paper, experiment, run, &place);
        let request = Request { label, origin: run.origin.clone(), seeds: self.seeds_wanted };
        let known = self.wanted.entry(simulation).or_insert(request);
        known.seeds = known.seeds.max(self.seeds_wanted);
        Ok(None)
    }
}

/// A mistake in a place, as expressions tell it.
fn said(error: AxisError) -> String {
    error.to_string()
}

/// The byte of `text` that a position means.
fn offset(text: &str, position: Position) -> usize {
    let (Some(line), column) = (position.line(), position.position().unwrap_or(1)) else { return 0 };
    let start: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let columns = text[start..].char_indices().map(|(at, _)| at).nth(column - 1);
    start + columns.unwrap_or(text.len() - start)
}

/// The message without its position, which is told otherwise.
fn plain(error: &EvalAltResult) -> String {
    match error {
        EvalAltResult::ErrorRuntime(message, _) => message.to_string(),
        EvalAltResult::ErrorFunctionNotFound(signature, _) => {
            let name = signature.split([' ', '(']).next().unwrap_or_default();
            let names: Vec<&str> = METRICS.iter().map(|(name, _)| *name).chain(OTHERS).collect();
            match names.contains(&name) {
                true => format!("`{name}` does not take that: {signature}"),
                false => format!("no function `{name}`; {}", valid_names(name, &names)),
            }
        }
        error => {
            let text = error.to_string();
            text.rsplit_once(" (line").map_or(text.clone(), |(text, _)| text.to_owned())
        }
    }
}
