// SPDX-License-Identifier: GPL-2.0-only
//! Panels, drawn.

use plotters::backend::SVGBackend;
use plotters::coord::Shift;
use plotters::coord::ranged1d::Ranged;
use plotters::coord::types::RangedCoordf64;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::{Circle, PathElement};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, IntoTextStyle, RGBColor, WHITE};

use tandem_experiments::{CellResult, Verdict};

use super::layout::{Panel, places};

/// Pixels.
const WIDTH: i32 = 1000;
const MARGIN: i32 = 14;
const TOP: i32 = 76;
const COLUMN: i32 = (WIDTH - 3 * MARGIN) / 2;
const TITLE: i32 = 38;
const ROW: i32 = 17;
const AXIS: i32 = 26;
const GAP: i32 = 16;
/// The widest labels left of rows; longer ones stand above them.
const MOST_LABEL: i32 = 190;
/// A line of text above a row.
const LINE: i32 = 15;
/// Of a letter at the size of labels, about.
const LETTER: f64 = 6.3;
/// Width of a letter of long texts, in which wide letters and narrow ones even out.
const LETTER_OF_MANY: f64 = 5.7;

const BLACK: RGBColor = RGBColor(30, 30, 30);
const GREY: RGBColor = RGBColor(125, 125, 125);
const PALE: RGBColor = RGBColor(222, 222, 222);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// Colours that colour-blind people tell apart (M. Okabe and K. Ito, "Color Universal Design").
fn colour(verdict: Verdict) -> RGBColor {
    match verdict {
        Verdict::Agrees => RGBColor(0, 114, 178),
        Verdict::SameDirection => RGBColor(230, 159, 0),
        Verdict::Differs => RGBColor(213, 94, 0),
        Verdict::Calibrated | Verdict::NotModelled => RGBColor(140, 140, 140),
        Verdict::Predicted => RGBColor(0, 158, 115),
    }
}

/// The page as SVG.
pub fn draw(title: &str, panels: &[Panel<'_>]) -> Result<String, String> {
    let heights: Vec<i32> = panels.iter().map(|panel| TITLE + Rows::of(panel).height() + AXIS + GAP).collect();
    let (places, bottom) = places(&heights, TOP);
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (WIDTH as u32, bottom as u32)).into_drawing_area();
        let drawn = page(&area, title, panels, &places).and_then(|()| area.present());
        drawn.map_err(|error| error.to_string())?;
    }
    Ok(svg)
}

fn page(area: &Area<'_>, title: &str, panels: &[Panel<'_>], places: &[(usize, i32)]) -> Drawn {
    area.fill(&WHITE)?;
    text(area, title, (MARGIN, 22), (19, HPos::Left, BLACK))?;
    legend(area)?;
    for (panel, (column, top)) in panels.iter().zip(places) {
        let left = MARGIN + *column as i32 * (COLUMN + MARGIN);
        draw_panel(area, panel, (left, *top))?;
    }
    Ok(())
}

/// What the marks mean.
fn legend(area: &Area<'_>) -> Drawn {
    let y = 50;
    let mut x = MARGIN + 6;
    published(area, (x, y))?;
    text(area, "published", (x + 12, y), (14, HPos::Left, BLACK))?;
    x += 100;
    text(area, "ours, with 95 % interval:", (x, y), (14, HPos::Left, BLACK))?;
    x += 180;
    for verdict in Verdict::ALL.into_iter().filter(|verdict| *verdict != Verdict::NotModelled) {
        area.draw(&Circle::new((x, y), 4, colour(verdict).filled()))?;
        text(area, verdict.name(), (x + 10, y), (14, HPos::Left, BLACK))?;
        x += 36 + 7 * verdict.name().len() as i32;
    }
    Ok(())
}

fn draw_panel(area: &Area<'_>, panel: &Panel<'_>, (left, top): (i32, i32)) -> Drawn {
    let right = left + COLUMN;
    text(area, &cut(&panel.place), (left, top + 8), (14, HPos::Left, BLACK))?;
    text(area, &cut(&panel.what), (left, top + 25), (14, HPos::Left, GREY))?;
    let rows = Rows::of(panel);
    let (low, high) = panel.range();
    let axis = Axis { coord: (low..high).into(), left: left + rows.labels, right: right - 6 };
    let first = top + TITLE;
    draw_axis(area, panel, &axis, (first, &rows))?;
    for (index, row) in panel.rows.iter().enumerate() {
        let bottom = first + rows.each * (index as i32 + 1);
        match rows.above {
            true => text(area, &cut(&row.label), (left + 8, bottom - ROW - LINE / 2), (13, HPos::Left, BLACK))?,
            false => text(area, &row.label, (axis.left - 8, bottom - ROW / 2), (13, HPos::Right, BLACK))?,
        }
        draw_cell(area, row.cell, &axis, bottom - ROW / 2)?;
    }
    Ok(())
}

/// How the rows of a panel stand.
struct Rows {
    count: i32,
    /// Whether labels stand above, not left.
    above: bool,
    /// Room left of the axis.
    labels: i32,
    /// Height of one.
    each: i32,
}

impl Rows {
    fn of(panel: &Panel<'_>) -> Self {
        let longest = panel.rows.iter().map(|row| row.label.chars().count()).max().unwrap_or(0);
        let room = (longest as f64 * LETTER) as i32 + 14;
        let count = panel.rows.len() as i32;
        match room > MOST_LABEL {
            true => Self { count, above: true, labels: 8, each: ROW + LINE },
            false => Self { count, above: false, labels: room, each: ROW },
        }
    }

    fn height(&self) -> i32 {
        self.count * self.each
    }
}

/// Where values stand.
struct Axis {
    coord: RangedCoordf64,
    left: i32,
    right: i32,
}

impl Axis {
    fn x(&self, value: f64) -> i32 {
        self.coord.map(&value, (self.left, self.right))
    }
}

fn draw_axis(area: &Area<'_>, panel: &Panel<'_>, axis: &Axis, (first, rows): (i32, &Rows)) -> Drawn {
    let last = first + rows.height();
    let line = |from: (i32, i32), to: (i32, i32), colour: RGBColor| {
        area.draw(&PathElement::new(vec![from, to], colour.stroke_width(1)))
    };
    for tick in axis.coord.key_points(6) {
        let x = axis.x(tick);
        line((x, first), (x, last), PALE)?;
        text(area, &number(tick), (x, last + 10), (12, HPos::Center, GREY))?;
    }
    if let Some(neutral) = panel.unit.neutral() {
        line((axis.x(neutral), first), (axis.x(neutral), last), GREY)?;
    }
    for y in (first..=last).step_by(rows.each as usize) {
        line((axis.left, y), (axis.right, y), PALE)?;
    }
    Ok(())
}

fn draw_cell(area: &Area<'_>, cell: &CellResult, axis: &Axis, y: i32) -> Drawn {
    let colour = colour(cell.verdict);
    if let Some(ours) = cell.ours {
        let half = ours.half_width.unwrap_or(0.0);
        let ends = vec![(axis.x(ours.mean - half), y), (axis.x(ours.mean + half), y)];
        area.draw(&PathElement::new(ends, colour.stroke_width(2)))?;
        area.draw(&Circle::new((axis.x(ours.mean), y), 4, colour.filled()))?;
    }
    cell.published.map_or(Ok(()), |value| published(area, (axis.x(value), y)))
}

/// A hollow diamond, over a dot of ours still both to be seen.
fn published(area: &Area<'_>, (x, y): (i32, i32)) -> Drawn {
    let corners = [(x - 6, y), (x, y - 6), (x + 6, y), (x, y + 6), (x - 6, y)];
    area.draw(&PathElement::new(corners.to_vec(), BLACK.stroke_width(1)))
}

fn text(area: &Area<'_>, text: &str, at: (i32, i32), (size, anchor, colour): (i32, HPos, RGBColor)) -> Drawn {
    let style = ("sans-serif", size).into_text_style(area).pos(Pos::new(anchor, VPos::Center));
    area.draw_text(text, &plotters::style::TextStyle { color: colour.to_backend_color(), ..style }, at)
}

/// A tick's number without a tail of zeros.
fn number(value: f64) -> String {
    let text = format!("{value:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// `text`, its end left out where a column has no room for it.
fn cut(text: &str) -> String {
    let most = (f64::from(COLUMN) / LETTER_OF_MANY) as usize;
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}
