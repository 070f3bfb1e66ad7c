// SPDX-License-Identifier: GPL-2.0-only
//! A paper's numbers as a page of dot plots (SVG): each published value beside ours with its interval.
//!
//! A panel for each series, or for several short ones of an experiment with the same unit; a row for each number. `layout`
//! says what stands where, `page` draws it.

mod layout;
mod page;

use tandem_experiments::PaperResult;

/// The page, as SVG; `None` if nothing of the paper is simulated.
pub fn svg(paper: &PaperResult) -> Result<Option<String>, String> {
    let panels = layout::panels(paper);
    if panels.is_empty() {
        return Ok(None);
    }
    page::draw(&format!("{}: {}", paper.name, paper.title), &panels).map(Some)
}
