// SPDX-License-Identifier: GPL-2.0-only
//! A drawing: lines, shapes and text on a page, in points (1/72 inch) from its upper left corner.

use super::font;

/// Red, green and blue.
pub type Colour = (u8, u8, u8);

/// Where text stands relative to its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// What is drawn, in the order in which it is.
#[derive(Debug, Clone)]
pub enum Item {
    /// A line from one point to another.
    Line { from: (f64, f64), to: (f64, f64), width: f64, colour: Colour },
    /// A closed shape with straight edges.
    Polygon { corners: Vec<(f64, f64)>, fill: Option<Colour>, stroke: Option<(f64, Colour)> },
    /// A circle.
    Circle { centre: (f64, f64), radius: f64, fill: Option<Colour>, stroke: Option<(f64, Colour)> },
    /// A line of text.
    Text(Text),
}

/// A line of text.
#[derive(Debug, Clone)]
pub struct Text {
    pub text: String,
    /// On the line that letters stand on.
    pub at: (f64, f64),
    pub size: f64,
    pub anchor: Anchor,
    pub colour: Colour,
}

impl Text {
    /// Where its first letter begins.
    pub fn left(&self) -> f64 {
        let width = font::width(&self.text, self.size);
        match self.anchor {
            Anchor::Start => self.at.0,
            Anchor::Middle => self.at.0 - width / 2.0,
            Anchor::End => self.at.0 - width,
        }
    }
}

/// A page with what is on it.
#[derive(Debug, Clone)]
pub struct Drawing {
    pub width: f64,
    pub height: f64,
    pub items: Vec<Item>,
}

/// Room between drawings on one page, in points.
const BETWEEN: f64 = 12.0;

impl Drawing {
    /// An empty page of this width; the height grows by [`Self::reaching`].
    pub fn new(width: f64) -> Self {
        Self { width, height: 0.0, items: Vec::new() }
    }

    /// The page ends there, or below.
    pub fn reaching(&mut self, bottom: f64) {
        self.height = self.height.max(bottom);
    }

    /// Draws a line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), (width, colour): (f64, Colour)) {
        self.items.push(Item::Line { from, to, width, colour });
    }

    /// Writes text; nothing if it is empty.
    pub fn text(&mut self, text: &str, at: (f64, f64), (size, anchor, colour): (f64, Anchor, Colour)) {
        if !text.is_empty() {
            self.items.push(Item::Text(Text { text: text.to_owned(), at, size, anchor, colour }));
        }
    }

    /// All on one page, one below the other.
    pub fn below_each_other(drawings: Vec<Self>) -> Self {
        let width = drawings.iter().map(|drawing| drawing.width).fold(0.0, f64::max);
        let mut page = Self::new(width);
        for drawing in drawings {
            let top = if page.height > 0.0 { page.height + BETWEEN } else { 0.0 };
            page.items.extend(drawing.items.into_iter().map(|item| item.lowered(top)));
            page.reaching(top + drawing.height);
        }
        page
    }
}

impl Item {
    fn lowered(self, by: f64) -> Self {
        let low = |(x, y): (f64, f64)| (x, y + by);
        match self {
            Self::Line { from, to, width, colour } => Self::Line { from: low(from), to: low(to), width, colour },
            Self::Polygon { corners, fill, stroke } => {
                Self::Polygon { corners: corners.into_iter().map(low).collect(), fill, stroke }
            }
            Self::Circle { centre, radius, fill, stroke } => Self::Circle { centre: low(centre), radius, fill, stroke },
            Self::Text(text) => Self::Text(Text { at: low(text.at), ..text }),
        }
    }
}
