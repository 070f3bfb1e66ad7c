// SPDX-License-Identifier: GPL-2.0-only
//! Numbers with their intervals as dot plots for papers: one file for each panel, SVG and PDF.
//!
//! [`panel`]: which numbers share an axis. [`layout`]: where everything stands, in points, as a [`drawing`], which [`svg`] and [`pdf`]
//! write. [`font`]: how wide text is, so that nothing is printed over anything. [`ticks`]: round numbers for axes. [`marks`]: how a
//! verdict looks, in print without colour, too.

mod drawing;
mod font;
mod layout;
mod marks;
mod panel;
mod pdf;
mod svg;
mod ticks;

use std::collections::BTreeMap;

use tandem_experiments::{ExperimentResult, PaperResult};

use drawing::Drawing;

/// A panel that is drawn.
pub struct Figure {
    /// What its files are called, without what says the format: letters, digits and hyphens.
    pub name: String,
    /// What the panel shows, in a sentence for those who do not see it.
    pub description: String,
    drawing: Drawing,
}

impl Figure {
    /// The figure as SVG.
    pub fn svg(&self) -> String {
        svg::write(&self.drawing, &self.description)
    }

    /// The figure as PDF.
    pub fn pdf(&self) -> Vec<u8> {
        pdf::write(&self.drawing, &self.description)
    }
}

/// The figures of an experiment, named for it and what they show. Numbers that are not simulated are left out.
pub fn of_experiment(experiment: &ExperimentResult) -> Vec<Figure> {
    let mut taken: BTreeMap<String, usize> = BTreeMap::new();
    let panels = panel::panels(experiment).into_iter().flat_map(layout::parts);
    let figure = |panel: panel::Panel<'_>| {
        let name = slug(&format!("{} {}", experiment.name, panel.quantity));
        let times = taken.entry(name.clone()).or_default();
        *times += 1;
        let name = if *times == 1 { name } else { format!("{name}-{times}") };
        Figure { name, description: panel.description(), drawing: layout::draw(&panel) }
    };
    panels.map(figure).collect()
}

/// The figures of all experiments of a paper, their names behind that of the paper.
pub fn of_paper(paper: &PaperResult) -> Vec<Figure> {
    let of = |experiment| of_experiment(experiment).into_iter();
    let named = |figure: Figure| Figure { name: format!("{}-{}", slug(&paper.name), figure.name), ..figure };
    paper.experiments.iter().flat_map(of).map(named).collect()
}

/// All figures of an experiment on one page, one below the other; `None` if there is none.
pub fn page(experiment: &ExperimentResult) -> Option<Figure> {
    let figures = of_experiment(experiment);
    let description = figures.iter().map(|figure| figure.description.as_str()).collect::<Vec<_>>().join(" ");
    let drawings: Vec<Drawing> = figures.into_iter().map(|figure| figure.drawing).collect();
    (!drawings.is_empty()).then(|| Figure {
        name: slug(&experiment.name),
        description,
        drawing: Drawing::below_each_other(drawings),
    })
}

/// Most letters of a file's name.
const MOST_LETTERS: usize = 64;

/// `text` as a part of a file's name: lower-case letters and digits, with hyphens between words.
fn slug(text: &str) -> String {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut slug = String::new();
    for word in words.map(str::to_ascii_lowercase) {
        if slug.len() + word.len() >= MOST_LETTERS {
            break;
        }
        slug += &format!("{}{word}", if slug.is_empty() { "" } else { "-" });
    }
    if slug.is_empty() { "figure".to_owned() } else { slug }
}

#[cfg(test)]
mod tests;
