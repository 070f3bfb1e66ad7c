// SPDX-License-Identifier: GPL-2.0-only
//! A drawing as SVG.

use super::drawing::{Anchor, Colour, Drawing, Item, Text};
use super::font;

/// Fonts with the widths that everything was laid out with.
const FONTS: &str = "Helvetica,Arial,'Liberation Sans','Nimbus Sans',Arimo,sans-serif";

/// The file. `description` is for those who do not see it.
pub fn write(drawing: &Drawing, description: &str) -> String {
    let (width, height) = (number(drawing.width), number(drawing.height));
    let described = escaped(description);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}pt\" height=\"{height}pt\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" aria-label=\"{described}\" font-family=\"{FONTS}\">\n<title>{described}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    for item in &drawing.items {
        svg += &of(item);
        svg.push('\n');
    }
    svg + "</svg>\n"
}

fn of(item: &Item) -> String {
    match item {
        Item::Line { from, to, width, colour } => format!(
            "<path d=\"M{} {}L{} {}\" stroke=\"{}\" stroke-width=\"{}\"/>",
            number(from.0),
            number(from.1),
            number(to.0),
            number(to.1),
            hex(*colour),
            number(*width)
        ),
        Item::Polygon { corners, fill, stroke } => {
            let points: Vec<String> = corners.iter().map(|(x, y)| format!("{} {}", number(*x), number(*y))).collect();
            format!("<path d=\"M{}Z\"{}/>", points.join("L"), painted(*fill, *stroke))
        }
        Item::Circle { centre: (x, y), radius, fill, stroke } => format!(
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\"{}/>",
            number(*x),
            number(*y),
            number(*radius),
            painted(*fill, *stroke)
        ),
        Item::Text(text) => of_text(text),
    }
}

/// A text takes exactly the room that it was laid out with, whatever font a viewer has.
fn of_text(text: &Text) -> String {
    let anchor = match text.anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    format!(
        "<text x=\"{}\" y=\"{}\" font-size=\"{}\"{anchor} textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\" fill=\"{}\">{}</text>",
        number(text.at.0),
        number(text.at.1),
        number(text.size),
        number(font::width(&text.text, text.size)),
        hex(text.colour),
        escaped(&text.text)
    )
}

fn painted(fill: Option<Colour>, stroke: Option<(f64, Colour)>) -> String {
    let fill = fill.map_or("none".to_owned(), hex);
    let stroke = stroke.map_or(String::new(), |(width, colour)| {
        format!(" stroke=\"{}\" stroke-width=\"{}\"", hex(colour), number(width))
    });
    format!(" fill=\"{fill}\"{stroke}")
}

/// A hundredth of a point is enough.
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

fn hex((red, green, blue): Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Text between tags and in attributes; what XML does not allow at all is left out.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars().filter(|letter| !letter.is_control() && !matches!(letter, '\u{fffe}' | '\u{ffff}')) {
        match letter {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            _ => escaped.push(letter),
        }
    }
    escaped
}
