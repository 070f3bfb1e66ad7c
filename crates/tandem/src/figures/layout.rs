// SPDX-License-Identifier: GPL-2.0-only
//! Where everything of a panel stands: a title, rows with their labels left of the axis, its numbers and title, a legend.

use super::drawing::{Anchor, Drawing};
use super::font::{ASCENT, DESCENT, width, wrap};
use super::marks::{BLACK, GREY, HALF, Mark, PALE};
use super::panel::{Panel, Row};
use super::ticks::ticks;

/// The width of a column of a paper with two, 3.5 inches, in points.
const WIDTH: f64 = 252.0;
/// The most that a panel is high: it fits a page of letters with its caption.
const MOST_HEIGHT: f64 = 646.0;
/// What a panel has above and below its rows beside its title and that of its axis, with a legend of two lines.
const AROUND: f64 = 46.0;
/// Room at the edges.
const EDGE: f64 = 3.0;
/// Letters, and the lines they stand in.
const SIZE: f64 = 7.0;
const LINE: f64 = 8.0;
/// Of the title.
const TITLE: f64 = 7.5;
const TITLE_LINE: f64 = 9.0;
/// Room between rows.
const BETWEEN: f64 = 2.4;
/// The share of the width that labels may have.
const LABELS: f64 = 0.44;
/// Between labels and the axis, between the axis and its numbers, and between these and what is below.
const GAP: f64 = 5.0;
/// Least room between the numbers of an axis.
const APART: f64 = 5.0;

/// The widest label of a panel that is not broken.
const fn most_label() -> f64 {
    LABELS * WIDTH
}

/// A row with its label in lines.
struct Placed {
    lines: Vec<String>,
    height: f64,
}

fn placed(row: &Row<'_>) -> Placed {
    let lines = wrap(&row.label, SIZE, most_label());
    let height = lines.len().max(1) as f64 * LINE + BETWEEN;
    Placed { lines, height }
}

fn title(panel: &Panel<'_>) -> Vec<String> {
    wrap(&panel.title, TITLE, WIDTH - 2.0 * EDGE)
}

fn axis_title(panel: &Panel<'_>) -> Vec<String> {
    wrap(&panel.axis(), SIZE, WIDTH - 2.0 * EDGE)
}

/// The panel in parts that fit a page each, with the same axis.
pub fn parts(panel: Panel<'_>) -> Vec<Panel<'_>> {
    let titles = title(&panel).len() as f64 * TITLE_LINE + axis_title(&panel).len() as f64 * LINE;
    let most = MOST_HEIGHT - AROUND - titles;
    let (mut parts, mut height) = (vec![Vec::new()], 0.0);
    for row in &panel.rows {
        let own = placed(row).height;
        if height + own > most && height > 0.0 {
            parts.push(Vec::new());
            height = 0.0;
        }
        height += own;
        if let Some(part) = parts.last_mut() {
            part.push(row.clone());
        }
    }
    let of = parts.len();
    let part = |(index, rows)| {
        let part = if of == 1 { String::new() } else { format!(" ({} of {of})", index + 1) };
        Panel { rows, title: format!("{}{part}", panel.title), ..panel.clone() }
    };
    parts.into_iter().enumerate().map(part).collect()
}

/// The axis: which values stand where.
struct Axis {
    range: (f64, f64),
    left: f64,
    right: f64,
}

impl Axis {
    fn x(&self, value: f64) -> f64 {
        let (low, high) = self.range;
        self.left + (value - low) / (high - low) * (self.right - self.left)
    }

    /// Whether the numbers stand apart, and on the page.
    fn fits(&self, ticks: &[(f64, String)]) -> bool {
        let ends = |(value, text): &(f64, String)| {
            let half = width(text, SIZE) / 2.0;
            (self.x(*value) - half, self.x(*value) + half)
        };
        ticks.windows(2).all(|pair| ends(&pair[0]).1 + APART <= ends(&pair[1]).0)
    }
}

/// Draws the panel.
pub fn draw(panel: &Panel<'_>) -> Drawing {
    let mut drawing = Drawing::new(WIDTH);
    let mut y = EDGE;
    for line in title(panel) {
        drawing.text(&line, (EDGE, y + ASCENT * TITLE), (TITLE, Anchor::Start, BLACK));
        y += TITLE_LINE;
    }
    y += GAP;
    let rows: Vec<Placed> = panel.rows.iter().map(placed).collect();
    let labels = rows.iter().flat_map(|row| &row.lines).map(|line| width(line, SIZE)).fold(0.0, f64::max);
    let left = EDGE + if labels > 0.0 { labels + GAP } else { GAP };
    let axis = Axis { range: panel.range, left, right: WIDTH - EDGE - 2.0 * HALF };
    let bottom = y + rows.iter().map(|row| row.height).sum::<f64>();
    grid(&mut drawing, panel, &axis, (y, bottom));
    for (row, place) in panel.rows.iter().zip(&rows) {
        draw_row(&mut drawing, panel, (row, place), &axis, y);
        y += place.height;
    }
    y += GAP + ASCENT * SIZE + DESCENT * SIZE;
    for line in axis_title(panel) {
        // Below the middle of the axis, and on the page.
        let half = width(&line, SIZE) / 2.0;
        let middle = f64::midpoint(axis.left, axis.right).clamp(EDGE + half, (WIDTH - EDGE - half).max(EDGE + half));
        y += LINE;
        drawing.text(&line, (middle, y), (SIZE, Anchor::Middle, BLACK));
    }
    legend(&mut drawing, panel, y + GAP);
    drawing
}

/// Lines of the axis, its numbers, and "no effect".
fn grid(drawing: &mut Drawing, panel: &Panel<'_>, axis: &Axis, (top, bottom): (f64, f64)) {
    let (low, high) = axis.range;
    for (value, text) in ticks(low, high, |ticks| axis.fits(ticks)) {
        let x = axis.x(value);
        drawing.line((x, top), (x, bottom), (0.4, PALE));
        drawing.line((x, bottom), (x, bottom + 2.0), (0.5, GREY));
        let half = width(&text, SIZE) / 2.0;
        if x - half >= EDGE && x + half <= WIDTH {
            drawing.text(&text, (x, bottom + GAP + ASCENT * SIZE), (SIZE, Anchor::Middle, BLACK));
        }
    }
    if let Some(neutral) = panel.unit.neutral() {
        drawing.line((axis.x(neutral), top), (axis.x(neutral), bottom), (0.8, GREY));
    }
    drawing.line((axis.left, bottom), (axis.right, bottom), (0.5, GREY));
}

fn draw_row(drawing: &mut Drawing, panel: &Panel<'_>, (row, placed): (&Row<'_>, &Placed), axis: &Axis, top: f64) {
    let middle = top + placed.height / 2.0;
    drawing.line((axis.left, middle), (axis.right, middle), (0.25, PALE));
    let first = top + BETWEEN / 2.0 + (LINE - SIZE) / 2.0 + ASCENT * SIZE;
    for (index, line) in placed.lines.iter().enumerate() {
        let at = (axis.left - GAP, first + index as f64 * LINE);
        drawing.text(line, at, (SIZE, Anchor::End, BLACK));
    }
    let mark = panel.mark(row.cell);
    if let Some(ours) = row.cell.ours {
        let half = ours.half_width.filter(|half| half.is_finite()).unwrap_or(0.0);
        let (from, to) = (axis.x(ours.mean - half), axis.x(ours.mean + half));
        if to - from > 2.0 * HALF {
            drawing.line((from, middle), (to, middle), (1.1, mark.colour()));
            for end in [from, to] {
                drawing.line((end, middle - 1.6), (end, middle + 1.6), (0.8, mark.colour()));
            }
        }
        mark.draw(drawing, (axis.x(ours.mean), middle));
    }
    if let Some(published) = row.cell.published {
        Mark::Published.draw(drawing, (axis.x(published), middle));
    }
}

/// What the marks mean that the panel has.
fn legend(drawing: &mut Drawing, panel: &Panel<'_>, top: f64) {
    let mut marks: Vec<Mark> = panel.rows.iter().map(|row| panel.mark(row.cell)).collect();
    if panel.is_judged() {
        marks.push(Mark::Published);
    }
    marks.sort_unstable();
    marks.dedup();
    let (mut x, mut y) = (EDGE, top);
    let mut text = |drawing: &mut Drawing, mark: Option<Mark>, text: &str| {
        let before = if mark.is_some() { 4.0 * HALF } else { 0.0 };
        let wide = before + width(text, SIZE);
        if x > EDGE && x + wide > WIDTH - EDGE {
            (x, y) = (EDGE, y + LINE + 1.0);
        }
        if let Some(mark) = mark {
            mark.draw(drawing, (x + 1.6 * HALF, y + LINE / 2.0));
        }
        let at = (x + before, y + (LINE - SIZE) / 2.0 + ASCENT * SIZE);
        drawing.text(text, at, (SIZE, Anchor::Start, BLACK));
        x += wide + 8.0;
        drawing.reaching(y + LINE + EDGE);
    };
    for mark in marks {
        if mark == Mark::Published {
            text(drawing, Some(mark), mark.name());
            text(drawing, None, "ours, with 95 % interval:");
        } else {
            text(drawing, Some(mark), mark.name());
        }
    }
}
