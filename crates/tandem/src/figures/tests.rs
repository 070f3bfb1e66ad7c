// SPDX-License-Identifier: GPL-2.0-only
//! Nothing is printed over anything, in the figures of docs/ and with any labels.

use std::rc::Rc;

use proptest::prelude::*;
use tandem_experiments::{Book, Paper, Recorded, SeriesResult, Study};

use super::drawing::{Item, Text};
use super::*;

/// Half of what a line's width may take of a letter's room, in points.
const TOUCH: f64 = 0.01;

/// A rectangle: left, top, right, bottom.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Area {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

/// The room that a text takes.
fn room(text: &Text) -> Area {
    let left = text.left();
    Area {
        left,
        top: text.at.1 - font::ASCENT * text.size,
        right: left + font::width(&text.text, text.size),
        bottom: text.at.1 + font::DESCENT * text.size,
    }
}

fn overlap(a: Area, b: Area) -> bool {
    a.left + TOUCH < b.right && b.left + TOUCH < a.right && a.top + TOUCH < b.bottom && b.top + TOUCH < a.bottom
}

fn areas(drawing: &Drawing) -> Vec<(String, Area)> {
    let text = |item: &Item| match item {
        Item::Text(text) => Some((text.text.clone(), room(text))),
        _ => None,
    };
    drawing.items.iter().filter_map(text).collect()
}

/// The room of marks, which no text may be in. Lines of the axis are thinner than what is between them and text.
fn marks(drawing: &Drawing) -> Vec<Area> {
    let around = |points: &[(f64, f64)], by: f64| Area {
        left: points.iter().map(|at| at.0).fold(f64::INFINITY, f64::min) - by,
        top: points.iter().map(|at| at.1).fold(f64::INFINITY, f64::min) - by,
        right: points.iter().map(|at| at.0).fold(f64::NEG_INFINITY, f64::max) + by,
        bottom: points.iter().map(|at| at.1).fold(f64::NEG_INFINITY, f64::max) + by,
    };
    let mark = |item: &Item| match item {
        Item::Polygon { corners, .. } => Some(around(corners, 0.0)),
        Item::Circle { centre, radius, .. } => Some(around(&[*centre], *radius)),
        Item::Line { from, to, width, .. } => Some(around(&[*from, *to], width / 2.0)),
        Item::Text(_) => None,
    };
    drawing.items.iter().filter_map(mark).collect()
}

/// What is wrong with a figure: text over text, over a mark or a line, or outside the page.
fn mistakes(figure: &Figure) -> Vec<String> {
    let (areas, marks) = (areas(&figure.drawing), marks(&figure.drawing));
    let mut mistakes = Vec::new();
    for (index, (text, area)) in areas.iter().enumerate() {
        let over = areas[index + 1..].iter().filter(|(_, other)| overlap(*area, *other));
        mistakes.extend(over.map(|(other, _)| format!("{}: `{text}` over `{other}`", figure.name)));
        let crossed = marks.iter().filter(|mark| overlap(*area, **mark));
        mistakes.extend(crossed.map(|mark| format!("{}: `{text}` over a mark: {area:?} {mark:?}", figure.name)));
        let page = &figure.drawing;
        if area.left < 0.0 || area.top < 0.0 || area.right > page.width || area.bottom > page.height {
            mistakes.push(format!("{}: `{text}` leaves the page: {area:?}", figure.name));
        }
    }
    let inside = |mark: &Area| {
        mark.left >= 0.0
            && mark.right <= figure.drawing.width
            && mark.bottom <= figure.drawing.height
            && mark.top >= 0.0
    };
    mistakes.extend(marks.iter().filter(|mark| !inside(mark)).map(|mark| format!("{}: {mark:?}", figure.name)));
    mistakes
}

/// All papers' results, as docs/results.json has them.
fn results() -> Vec<PaperResult> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results.json");
    let recorded = Recorded::parse(&path, &std::fs::read_to_string(&path).unwrap()).unwrap();
    let library = crate::reproduce::bundled();
    let book = Rc::new(Book::new(Some(1)).unwrap());
    let judged = |name: &str| {
        let paper = Paper::read(&library, name).unwrap();
        Study::new(paper, &book, None).unwrap().judged_anew(&recorded).unwrap()
    };
    library.names(&[]).unwrap().into_iter().map(judged).collect()
}

#[test]
fn nothing_is_printed_over_anything_in_the_figures_of_the_documentation() {
    let figures: Vec<Figure> = results().iter().flat_map(of_paper).collect();
    assert!(figures.len() > 50, "{} figures", figures.len());
    let mistakes: Vec<String> = figures.iter().flat_map(mistakes).collect();
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}

#[test]
fn every_figure_fits_a_page_and_every_number_is_drawn_once() {
    for paper in results() {
        for experiment in &paper.experiments {
            let figures = of_experiment(experiment);
            let height = figures.iter().map(|figure| figure.drawing.height).fold(0.0, f64::max);
            assert!(height < 9.0 * 72.0, "{}: {height} points", experiment.name);
            let numbers = experiment.series.iter().flat_map(|series| &series.cells).filter(|cell| cell.ours.is_some());
            let panels = panel::panels(experiment);
            assert_eq!(panels.iter().map(|panel| panel.rows.len()).sum::<usize>(), numbers.count());
            // One quantity and unit on each axis.
            for panel in panels {
                let units: Vec<&SeriesResult> = experiment
                    .series
                    .iter()
                    .filter(|series| series.cells.iter().any(|cell| std::ptr::eq(cell, panel.rows[0].cell)))
                    .collect();
                assert!(units.iter().all(|series| series.unit == *panel.unit), "{}", panel.quantity);
            }
        }
    }
}

#[test]
fn the_files_of_the_documentation_are_those_of_its_numbers() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results");
    let mut names = Vec::new();
    for figure in results().iter().flat_map(of_paper) {
        for (format, bytes) in [("svg", figure.svg().into_bytes()), ("pdf", figure.pdf())] {
            let name = format!("{}.{format}", figure.name);
            let is = std::fs::read(folder.join(&name)).unwrap_or_default() == bytes;
            assert!(is, "{name}: run `tandem reproduce --papers papers --from docs/results.json --write docs`");
            names.push(name);
        }
    }
    let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> = files.filter(|name| !name.ends_with(".md") && !names.contains(name)).collect();
    assert!(left.is_empty(), "no panel any more: {left:?}");
}

/// An experiment whose texts and numbers are as given.
fn experiment(title: &str, what: &str, rows: &[(String, f64, f64, Option<f64>)]) -> ExperimentResult {
    let cells = rows.iter().map(|(label, mean, half, published)| {
        serde_json::json!({ "at": { "axis": label }, "mean": mean, "half": half, "published": published })
    });
    let cell = |value: serde_json::Value| tandem_experiments::CellResult {
        at: [("axis".to_owned(), value["at"]["axis"].as_str().unwrap().to_owned())].into(),
        published: value["published"].as_f64(),
        bound: None,
        ours: Some(tandem_experiments::Estimate {
            mean: value["mean"].as_f64().unwrap(),
            half_width: value["half"].as_f64(),
        }),
        deviation: None,
        verdict: tandem_experiments::Verdict::Agrees,
        score: None,
        reason: None,
        derived: None,
        derived_from: None,
        note: None,
        headline: false,
    };
    let series = SeriesResult {
        place: String::new(),
        what: what.to_owned(),
        unit: tandem_experiments::Unit::of("W"),
        expression: None,
        cells: cells.map(cell).collect(),
    };
    ExperimentResult {
        name: "any".to_owned(),
        title: title.to_owned(),
        about: String::new(),
        seeds: 1,
        correlations: Vec::new(),
        series: vec![series],
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn nothing_is_printed_over_anything_with_any_labels_and_numbers(
        title in ".{0,200}",
        what in ".{0,150}",
        rows in proptest::collection::vec((".{0,120}", -1e12..1e12_f64, 0.0..1e11_f64, proptest::option::of(-1e9..1e9_f64)), 1..70),
    ) {
        let mut mistaken = Vec::new();
        for figure in of_experiment(&experiment(&title, &what, &rows)) {
            mistaken.extend(mistakes(&figure));
            prop_assert!(figure.drawing.height < 9.5 * 72.0, "{} points high", figure.drawing.height);
        }
        prop_assert!(mistaken.is_empty(), "{}", mistaken.join("\n"));
    }
}
