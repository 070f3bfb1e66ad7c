// SPDX-License-Identifier: GPL-2.0-only
//! A drawing as PDF: one page, as large as the drawing. The same drawing gives the same bytes.
//!
//! Text is Helvetica, one of the fonts that every reader has, so none is embedded.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref, Str, TextStr};

use super::drawing::{Colour, Drawing, Item};
use super::font;

/// What a file says that made it; it is how an earlier one is known.
pub const PRODUCER: &str = "tandem";
/// How far the ends of a quarter circle's Bézier control points are, as a share of the radius.
const ROUND: f64 = 0.552_284_75;

const FONT: Name<'static> = Name(b"F");

/// The file. `description` becomes the title of the document.
pub fn write(drawing: &Drawing, description: &str) -> Vec<u8> {
    let [info, catalog, pages, page, font, content] = [1, 2, 3, 4, 5, 6].map(Ref::new);
    let mut pdf = Pdf::new();
    pdf.document_info(info).producer(TextStr(PRODUCER)).title(TextStr(description));
    pdf.catalog(catalog).pages(pages);
    pdf.pages(pages).kids([page]).count(1);
    let mut written = pdf.page(page);
    written.media_box(Rect::new(0.0, 0.0, drawing.width as f32, drawing.height as f32)).parent(pages).contents(content);
    written.resources().fonts().pair(FONT, font);
    written.finish();
    pdf.type1_font(font).base_font(Name(b"Helvetica")).encoding_predefined(Name(b"WinAnsiEncoding"));
    let drawn = drawn(drawing);
    match compressed(&drawn) {
        Some(bytes) => drop(pdf.stream(content, &bytes).filter(Filter::FlateDecode)),
        None => drop(pdf.stream(content, &drawn)),
    }
    pdf.finish()
}

fn compressed(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok()
}

/// The page's operators. PDF counts from the lower left corner.
fn drawn(drawing: &Drawing) -> Vec<u8> {
    let mut content = Content::new();
    let point = |(x, y): (f64, f64)| (rounded(x), rounded(drawing.height - y));
    for item in &drawing.items {
        match item {
            Item::Line { from, to, width, colour } => {
                paint(&mut content, None, Some((*width, *colour)));
                let ((x, y), (to_x, to_y)) = (point(*from), point(*to));
                content.move_to(x, y).line_to(to_x, to_y).stroke();
            }
            Item::Polygon { corners, fill, stroke } => {
                paint(&mut content, *fill, *stroke);
                for (index, (x, y)) in corners.iter().copied().map(point).enumerate() {
                    let _ = if index == 0 { content.move_to(x, y) } else { content.line_to(x, y) };
                }
                content.close_path();
                close(&mut content, fill.is_some(), stroke.is_some());
            }
            Item::Circle { centre, radius, fill, stroke } => {
                paint(&mut content, *fill, *stroke);
                circle(&mut content, *centre, *radius, point);
                close(&mut content, fill.is_some(), stroke.is_some());
            }
            Item::Text(text) => {
                paint(&mut content, Some(text.colour), None);
                let (x, y) = point((text.left(), text.at.1));
                content.begin_text().set_font(FONT, rounded(text.size)).next_line(x, y);
                content.show(Str(&font::encoded(&text.text))).end_text();
            }
        }
    }
    content.finish().into_vec()
}

/// A hundredth of a point is enough.
fn rounded(value: f64) -> f32 {
    ((value * 100.0).round() / 100.0) as f32
}

fn paint(content: &mut Content, fill: Option<Colour>, stroke: Option<(f64, Colour)>) {
    let share = |part: u8| ((f64::from(part) / 255.0 * 1000.0).round() / 1000.0) as f32;
    if let Some((red, green, blue)) = fill {
        content.set_fill_rgb(share(red), share(green), share(blue));
    }
    if let Some((width, (red, green, blue))) = stroke {
        content.set_line_width(rounded(width)).set_stroke_rgb(share(red), share(green), share(blue));
    }
}

fn close(content: &mut Content, fill: bool, stroke: bool) {
    match (fill, stroke) {
        (true, true) => content.fill_nonzero_and_stroke(),
        (true, false) => content.fill_nonzero(),
        (false, true) => content.stroke(),
        (false, false) => content.end_path(),
    };
}

/// Four quarters.
fn circle(content: &mut Content, (x, y): (f64, f64), radius: f64, point: impl Fn((f64, f64)) -> (f32, f32)) {
    let at = |dx: f64, dy: f64| point((x + dx * radius, y + dy * radius));
    let (start_x, start_y) = at(1.0, 0.0);
    content.move_to(start_x, start_y);
    for [a, b, to] in [
        [(1.0, ROUND), (ROUND, 1.0), (0.0, 1.0)],
        [(-ROUND, 1.0), (-1.0, ROUND), (-1.0, 0.0)],
        [(-1.0, -ROUND), (-ROUND, -1.0), (0.0, -1.0)],
        [(ROUND, -1.0), (1.0, -ROUND), (1.0, 0.0)],
    ] {
        let ((ax, ay), (bx, by), (to_x, to_y)) = (at(a.0, a.1), at(b.0, b.1), at(to.0, to.1));
        content.cubic_to(ax, ay, bx, by, to_x, to_y);
    }
    content.close_path();
}
