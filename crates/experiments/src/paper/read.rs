// SPDX-License-Identifier: MIT OR Apache-2.0
//! The files of a paper, read: every mistake with its file, line and column, and the nearest valid name.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::rc::Rc;

use serde::de::DeserializeOwned;
use tandem_simulator::input::{InputError, nearest, valid_names};
use toml::{Spanned, Value};

use super::choice::read_choice;
use super::neutral;
use super::series::read_series;
use super::{Experiment, Origin, Paper, Parameter, Run, Target, Work, raw};
use crate::axes::{Axes, Axis, AxisValue};
use crate::library::Library;
use crate::template::Template;

/// Seeds of an experiment that says nothing of them.
const SEEDS: u32 = 5;
/// Most runs of each simulation.
const MOST_SEEDS: u32 = 1000;
/// Most headlines of a paper: its sensitivity table has as many columns.
const MOST_HEADLINES: usize = 5;
/// The file that is no experiment.
const PAPER: &str = "paper.toml";

impl Paper {
    /// Reads and checks the files of the paper `name`. Nothing that they name is looked for: machines, workloads and
    /// schedulers are, before they run.
    ///
    /// # Errors
    /// A mistake in a file, with its place and the nearest valid name.
    pub fn read(library: &Library, name: &str) -> Result<Self, InputError> {
        let file = File::open(library, name, PAPER)?;
        let raw: raw::Paper = file.parse()?;
        let parameters =
            raw.parameter.into_iter().map(|parameter| read_parameter(&file, parameter)).collect::<Result<_, _>>()?;
        let mut experiments = Vec::new();
        for path in order(&file, library.experiments(name).collect(), raw.experiments)? {
            let (experiment, parameters) = read_experiment(&File::open(library, name, &path)?, true)?;
            if let Some(Parameter { origin, .. }) = parameters.first() {
                return Err(origin.error("the parameters of a paper stand in its paper.toml"));
            }
            experiments.push(experiment);
        }
        let choices = raw.choice.into_iter().map(|choice| read_choice(&file, choice)).collect::<Result<_, _>>()?;
        let (name, unknown) = (name.to_owned(), raw.unknown.unwrap_or_default());
        let paper = Self { name, title: raw.title, source: raw.source, parameters, unknown, choices, experiments };
        paper.with_few_headlines(&file)
    }

    /// The paper, unless it has too many headlines; `file` is what a mistake is told of.
    pub(super) fn with_few_headlines(self, file: &File) -> Result<Self, InputError> {
        let cells = self.experiments.iter().flat_map(|experiment| &experiment.series).flat_map(|series| &series.cells);
        match cells.filter(|cell| cell.headline).count() {
            0..=MOST_HEADLINES => Ok(self),
            count => Err(InputError::whole(&file.path, format!("there are {count} headlines")).help(format!(
                "expected at most {MOST_HEADLINES} cells with `headline = true`, their own or their series'"
            ))),
        }
    }
}

/// A file being read.
pub(super) struct File {
    path: PathBuf,
    text: Rc<str>,
}

impl File {
    pub(super) fn open(library: &Library, paper: &str, file: &str) -> Result<Self, InputError> {
        let path = library.path(paper, file);
        match library.text(paper, file) {
            Some(text) => Ok(Self { path, text: text.into() }),
            None => Err(InputError::whole(&path, "no such file")),
        }
    }

    fn stem(&self) -> String {
        self.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// The file as `T`. Of an unknown key the nearest valid one is named.
    fn parse<T: DeserializeOwned>(&self) -> Result<T, InputError> {
        toml::from_str(&self.text).map_err(|error| {
            let message = error.message().trim_end().replace('\n', "; ");
            let at = error.span().unwrap_or_default();
            let found = self.error(&at, message.clone());
            // "unknown field `runs`, expected one of `run`, `series`": the first name in ticks is the wrong one.
            let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
            match names.split_first().filter(|_| message.starts_with("unknown")) {
                Some((wrong, valid)) => match nearest(wrong, valid.iter().copied()) {
                    Some(near) => found.help(format!("did you mean `{near}`?")),
                    None => found,
                },
                None => found,
            }
        })
    }

    pub(super) fn error(&self, span: &Range<usize>, message: impl Into<String>) -> InputError {
        InputError::at(&self.path, &self.text, span.start, message)
    }

    pub(super) fn origin(&self, span: Range<usize>) -> Origin {
        Origin { path: self.path.clone(), text: Rc::clone(&self.text), span }
    }
}

/// The experiments' files: as they stand in `wanted`, which must name all; ascending where there is no such list.
fn order(file: &File, files: Vec<&str>, wanted: Option<Vec<Spanned<String>>>) -> Result<Vec<String>, InputError> {
    let Some(wanted) = wanted else { return Ok(files.into_iter().map(str::to_owned).collect()) };
    let stems: Vec<&str> = files.iter().filter_map(|file| file.strip_suffix(".toml")).collect();
    for (index, name) in wanted.iter().enumerate() {
        let (text, span) = (name.get_ref(), name.span());
        if !stems.contains(&text.as_str()) {
            let help = valid_names(text, &stems);
            return Err(file.error(&span, format!("no experiment `{text}`: there is no {text}.toml")).help(help));
        }
        if wanted[..index].iter().any(|other| other.get_ref() == text) {
            return Err(file.error(&span, format!("experiment `{text}` is listed twice")));
        }
    }
    if let Some(missing) = stems.iter().find(|stem| !wanted.iter().any(|name| name.get_ref() == *stem)) {
        return Err(InputError::whole(&file.path, format!("`experiments` does not list `{missing}`")));
    }
    Ok(wanted.into_iter().map(|name| format!("{}.toml", name.into_inner())).collect())
}

fn read_parameter(file: &File, parameter: Spanned<raw::Parameter>) -> Result<Parameter, InputError> {
    let span = parameter.span();
    let raw = parameter.into_inner();
    let (target, span) = match (raw.machine, raw.path, raw.generate) {
        (Some(machine), Some(path), None) => {
            let span = path.span();
            (Target::Machine { machine: machine.into_inner(), path: path.into_inner() }, span)
        }
        (None, None, Some(option)) => {
            let span = option.span();
            if !option.get_ref().starts_with("--") {
                return Err(file.error(&span, "not an option of a generator").help("expected one such as `--length`"));
            }
            (Target::Generate(option.into_inner()), span)
        }
        _ => {
            return Err(file
                .error(&span, "the parameter is nowhere, or in two places")
                .help("expected either `machine` and `path`, or `generate`"));
        }
    };
    Ok(Parameter { what: raw.what, target, origin: file.origin(span) })
}

/// The experiment of a file, and the parameters that the file names. `quiet` is what it is where the file says nothing of it.
pub(super) fn read_experiment(file: &File, quiet: bool) -> Result<(Experiment, Vec<Parameter>), InputError> {
    let raw: raw::Experiment = file.parse()?;
    let seeds = match raw.seeds {
        Some(seeds) if !(1..=MOST_SEEDS).contains(seeds.get_ref()) => {
            let found = file.error(&seeds.span(), format!("`seeds` is out of range: {}", seeds.get_ref()));
            return Err(found.help(format!("expected a whole number, 1 to {MOST_SEEDS}")));
        }
        seeds => seeds.map_or(SEEDS, Spanned::into_inner),
    };
    let axes = read_axes(file, raw.axes)?;
    let mut runs = Vec::new();
    for (name, run) in raw.run {
        runs.push(read_run(file, &axes, name.into_inner(), run)?);
    }
    let series = raw.series.into_iter().map(|series| read_series(file, &axes, series));
    let (series, declared) = series.collect::<Result<(Vec<_>, Vec<_>), _>>()?;
    let series = neutral::resolve(file, &axes, declared, series)?;
    let parameters = raw.parameter.into_iter().map(|parameter| read_parameter(file, parameter));
    let parameters = parameters.collect::<Result<_, _>>()?;
    let quiet = raw.quiet.unwrap_or(quiet);
    Ok((
        Experiment { name: file.stem(), title: raw.title, about: raw.about, seeds, quiet, axes, runs, series },
        parameters,
    ))
}

fn read_axes(file: &File, raw: BTreeMap<Spanned<String>, Spanned<Value>>) -> Result<Axes, InputError> {
    let mut axes = Axes::default();
    for (name, value) in raw {
        let at = value.span();
        let (name, wrong) = (name.into_inner(), |message: String| file.error(&at, message).help(EXPECTED_AXIS));
        let values = match value.get_ref() {
            Value::Array(values) => values
                .iter()
                .map(|value| {
                    let name = text_of(value).ok_or_else(|| wrong(format!("a value of axis `{name}` is no text")))?;
                    Ok(AxisValue { name, fields: BTreeMap::new() })
                })
                .collect::<Result<Vec<_>, InputError>>()?,
            Value::Table(values) => values
                .iter()
                .map(|(value, fields)| {
                    let fields =
                        fields_of(fields).map_err(|message| wrong(format!("`{value}` of axis `{name}`: {message}")))?;
                    Ok(AxisValue { name: value.clone(), fields })
                })
                .collect::<Result<Vec<_>, InputError>>()?,
            _ => return Err(wrong(format!("axis `{name}` is neither a list nor a table"))),
        };
        if values.is_empty() {
            return Err(wrong(format!("axis `{name}` has no value")));
        }
        axes.0.push(Axis { name, values });
    }
    Ok(axes)
}

const EXPECTED_AXIS: &str = "expected a list of texts, `clock = [\"1600\", \"2400\"]`, or a table of fields for each value, `[axes.mix.\"3-1\"]`";

/// A text or a number, as text.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        _ => None,
    }
}

fn fields_of(value: &Value) -> Result<BTreeMap<String, Vec<String>>, String> {
    let Value::Table(fields) = value else { return Err("is no table of fields".to_owned()) };
    let field = |(name, value): (&String, &Value)| {
        let texts = match value {
            Value::Array(values) => values.iter().map(text_of).collect::<Option<Vec<_>>>(),
            value => text_of(value).map(|text| vec![text]),
        };
        let texts = texts.ok_or_else(|| format!("`{name}` is neither a text, nor a number, nor a list of these"))?;
        Ok((name.clone(), texts))
    };
    fields.iter().map(field).collect()
}

fn read_run(file: &File, axes: &Axes, name: String, run: Spanned<raw::Run>) -> Result<Run, InputError> {
    let span = run.span();
    let raw = run.into_inner();
    let template = |text: &Spanned<String>| read_template(file, axes, text);
    let machine = template(&raw.machine)?;
    let workload = match (&raw.generate, &raw.workload) {
        (Some(arguments), None) => Work::Generate(arguments.get_ref().iter().map(template).collect::<Result<_, _>>()?),
        (None, Some(name)) => Work::Named(template(name)?),
        _ => {
            let found = file.error(&span, format!("run `{name}` has no workload, or two"));
            return Err(found
                .help("expected either `generate`, arguments of `tandem workload`, or `workload`, a name or a file"));
        }
    };
    let scheduler = template(&raw.scheduler)?;
    let options = raw.options.iter().map(template).collect::<Result<Vec<_>, _>>()?;
    let work: Vec<&Template> = match &workload {
        Work::Generate(arguments) => arguments.iter().collect(),
        Work::Named(name) => vec![name],
    };
    let mut used: Vec<String> = Vec::new();
    for axis in [&machine, &scheduler].into_iter().chain(work).chain(&options).flat_map(Template::axes) {
        if !used.iter().any(|known| known == axis) {
            used.push(axis.to_owned());
        }
    }
    Ok(Run { name, machine, workload, scheduler, options, axes: used, origin: file.origin(span) })
}

fn read_template(file: &File, axes: &Axes, text: &Spanned<String>) -> Result<Template, InputError> {
    let template = Template::parse(text.get_ref()).map_err(|error| file.error(&text.span(), error.to_string()))?;
    template.check(axes).map_err(|error| file.error(&text.span(), error.to_string()))?;
    Ok(template)
}
