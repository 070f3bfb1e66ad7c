// SPDX-License-Identifier: GPL-2.0-only
//! How numbers look: each verdict has a shape of its own, so that a print without colour tells it, too.

use tandem_experiments::Verdict;

use super::drawing::{Colour, Drawing, Item};

/// Half of a mark's size, in points.
pub const HALF: f64 = 2.4;
/// Half the size of the mark of a published value, which may lie over ours.
const PUBLISHED: f64 = 3.7;

pub const BLACK: Colour = (20, 20, 20);
pub const GREY: Colour = (105, 105, 105);
pub const PALE: Colour = (214, 214, 214);
const WHITE: Colour = (255, 255, 255);

/// What a number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// A value of a paper.
    Published,
    /// Ours, where none of the panel has a published one.
    Alone,
    /// Ours, judged.
    Judged(Verdict),
}

impl Mark {
    /// The mark's name in a legend.
    pub fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Alone => "mean and 95 % interval",
            Self::Judged(verdict) => verdict.name(),
        }
    }

    /// Colours that colour-blind people tell apart (M. Okabe and K. Ito, "Color Universal Design"), of different lightness.
    pub fn colour(self) -> Colour {
        match self {
            Self::Published => BLACK,
            Self::Alone | Self::Judged(Verdict::Agrees) => (0, 114, 178),
            Self::Judged(Verdict::SameDirection) => (230, 159, 0),
            Self::Judged(Verdict::Differs) => (213, 94, 0),
            Self::Judged(Verdict::Calibrated | Verdict::NotModelled) => (105, 105, 105),
            Self::Judged(Verdict::Predicted) => (0, 158, 115),
        }
    }

    /// Draws the mark around a point: a full disc agrees, a triangle has the same direction, a cross differs, a hollow square was
    /// calibrated, a full one is predicted, a large hollow diamond is published.
    pub fn draw(self, drawing: &mut Drawing, centre @ (x, y): (f64, f64)) {
        let colour = self.colour();
        let around = |corners: &[(f64, f64)]| corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect::<Vec<_>>();
        let edge = Some((0.5, BLACK));
        match self {
            Self::Published => {
                let half = PUBLISHED;
                let corners = around(&[(-half, 0.0), (0.0, -half), (half, 0.0), (0.0, half)]);
                drawing.items.push(Item::Polygon { corners, fill: None, stroke: Some((0.8, BLACK)) });
            }
            Self::Alone | Self::Judged(Verdict::Agrees) => {
                drawing.items.push(Item::Circle { centre, radius: HALF, fill: Some(colour), stroke: None });
            }
            Self::Judged(Verdict::SameDirection) => {
                let corners = around(&[(-HALF, HALF * 0.8), (0.0, -HALF), (HALF, HALF * 0.8)]);
                drawing.items.push(Item::Polygon { corners, fill: Some(colour), stroke: edge });
            }
            Self::Judged(Verdict::Differs) => {
                let half = HALF * 0.85;
                for (from, to) in [((-half, -half), (half, half)), ((-half, half), (half, -half))] {
                    let ends = around(&[from, to]);
                    drawing.line(ends[0], ends[1], (1.5, colour));
                }
            }
            Self::Judged(verdict) => {
                let half = HALF * 0.85;
                let corners = around(&[(-half, -half), (half, -half), (half, half), (-half, half)]);
                let (fill, stroke) = match verdict {
                    Verdict::Predicted => (colour, None),
                    _ => (WHITE, Some((0.9, colour))),
                };
                drawing.items.push(Item::Polygon { corners, fill: Some(fill), stroke });
            }
        }
    }
}
