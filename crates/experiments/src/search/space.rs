// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is searched: settings, the values that each may have, and points that fix them.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Most values of a range whose points lie evenly; those of a wider one lie closer to its low end, as the logarithm does.
const MOST_EVEN: u64 = 1000;

/// A setting and the values that it may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dimension {
    /// The setting's name.
    pub name: String,
    /// The values.
    pub domain: Domain,
    /// The value that the scheduler has by itself, if that is in the domain.
    pub own: Option<String>,
}

/// The values that a setting may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Domain {
    /// Whole numbers from the first to the second, both included.
    Whole(i64, i64),
    /// One of these, at least one.
    Names(Vec<String>),
}

/// A value for each dimension, in their order; `None` leaves the scheduler its own.
pub type Point = Vec<Option<String>>;

impl Domain {
    /// The place of the last value; the first has the place 0.
    fn last(&self) -> u64 {
        match self {
            Self::Whole(low, high) => high.abs_diff(*low),
            Self::Names(names) => names.len() as u64 - 1,
        }
    }

    /// The value at a share of the way, 0 to 1, from the first to the last.
    pub fn at(&self, share: f64) -> String {
        let size = self.last() as f64 + 1.0;
        let place = if self.last() < MOST_EVEN { share * size } else { size.powf(share) - 1.0 };
        let place = (place as u64).min(self.last());
        match self {
            Self::Whole(low, _) => low.wrapping_add_unsigned(place).to_string(),
            Self::Names(names) => names[place as usize].clone(),
        }
    }

    /// The share of the way at which `value` is; `None` if it is none of the values.
    pub fn share(&self, value: &str) -> Option<f64> {
        let size = self.last() as f64 + 1.0;
        let place = match self {
            Self::Whole(low, high) => {
                value.parse::<i64>().ok().filter(|value| (low..=high).contains(&value))?.abs_diff(*low)
            }
            Self::Names(names) => names.iter().position(|name| name == value)? as u64,
        };
        // Among few values, the middle of the value's part of the way.
        let (even, place) = (self.last() < MOST_EVEN, place as f64);
        Some(if even { (place + 0.5) / size } else { (place + 1.0).ln() / size.ln() })
    }
}

/// Settings that a point of the sample changes, about, where there are more than twice as many.
const CHANGED: f64 = 4.0;

/// `count` points, by Latin hypercube sampling: each dimension's way is cut into as many parts as there are points, and each
/// part has one of them. In the first parts, half of them or more, a setting is left as it is, so that a point changes a few settings:
/// most of a scheduler's settings are best as they are, and a point that changes all of them says little of any.
///
/// Source: M. McKay, R. Beckman, W. Conover, "A comparison of three methods for selecting values of input variables in the analysis
/// of output from a computer code", Technometrics 21 (1979).
pub fn latin_hypercube(dimensions: &[Dimension], count: usize, seed: u64) -> Vec<Point> {
    let mut random = Pcg64::seed_from_u64(seed);
    let left = 1.0 - (CHANGED / dimensions.len() as f64).min(0.5);
    let mut points = vec![Point::new(); count];
    for dimension in dimensions {
        let mut parts: Vec<usize> = (0..count).collect();
        parts.shuffle(&mut random);
        for (point, part) in points.iter_mut().zip(parts) {
            let share = (part as f64 + random.random::<f64>()) / count as f64;
            // A setting whose own value is not among those to try is always changed.
            let share = if dimension.own.is_none() { share } else { (share - left) / (1.0 - left) };
            let value = (share >= 0.0).then(|| dimension.domain.at(share));
            point.push(value.filter(|value| dimension.own.as_ref() != Some(value)));
        }
    }
    points
}

/// The points beside `point` in the dimension `index`: one step of `step` of the way up and down, or the other names; and the
/// scheduler's own value.
pub fn neighbours(dimensions: &[Dimension], point: &Point, index: usize, step: f64) -> Vec<Point> {
    let Dimension { domain, own, .. } = &dimensions[index];
    let now = point[index].as_ref().or(own.as_ref());
    let share = now.and_then(|now| domain.share(now)).unwrap_or(0.5);
    let values: Vec<String> = match domain {
        Domain::Names(names) => names.clone(),
        Domain::Whole(..) => [share - step, share + step].map(|share| domain.at(share.clamp(0.0, 1.0))).to_vec(),
    };
    let mut neighbours: Vec<Point> = Vec::new();
    let values = values.into_iter().map(|value| Some(value).filter(|value| own.as_ref() != Some(value)));
    for value in values.chain([None]) {
        let mut neighbour = point.clone();
        neighbour[index] = value;
        if neighbour != *point && !neighbours.contains(&neighbour) {
            neighbours.push(neighbour);
        }
    }
    neighbours
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dimension(domain: Domain, own: &str) -> Dimension {
        let own = domain.share(own).map(|_| own.to_owned());
        Dimension { name: "x".to_owned(), domain, own }
    }

    #[test]
    fn a_value_is_where_its_share_says() {
        let names = Domain::Names(["off", "dedicated", "shared"].map(str::to_owned).to_vec());
        for domain in [Domain::Whole(1, 100), Domain::Whole(-1, 1023), Domain::Whole(100, 1_000_000), names] {
            for value in [domain.at(0.0), domain.at(0.3), domain.at(0.999), domain.at(1.0)] {
                assert_eq!(domain.at(domain.share(&value).unwrap() + 1e-9), value, "{domain:?}");
            }
        }
        let wide = Domain::Whole(100, 1_000_099);
        assert_eq!([wide.at(0.0), wide.at(0.5), wide.at(1.0)], ["100", "1099", "1000099"]);
        assert_eq!(Domain::Whole(1, 4).share("5"), None);
        assert_eq!(Domain::Whole(i64::MIN, i64::MAX).at(1.0).parse(), Ok(i64::MAX));
    }

    #[test]
    fn a_latin_hypercube_has_a_point_in_each_part_of_each_dimension() {
        let dimensions = [dimension(Domain::Whole(0, 9), "none"), dimension(Domain::Whole(0, 9), "0")];
        let points = latin_hypercube(&dimensions, 10, 3);
        let mut first: Vec<&str> = points.iter().map(|point| point[0].as_deref().unwrap()).collect();
        first.sort_unstable();
        assert_eq!(first, ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
        // Half of the points leave the second setting as it is, and so does the one whose value would be its own.
        let second = points.iter().filter(|point| point[1].is_some()).count();
        assert!((4..=5).contains(&second), "{second}");
        assert_eq!(points, latin_hypercube(&dimensions, 10, 3));
        assert_ne!(points, latin_hypercube(&dimensions, 10, 4));
    }

    #[test]
    fn of_many_settings_a_point_changes_about_four() {
        let dimensions = vec![dimension(Domain::Whole(0, 9), "0"); 40];
        let points = latin_hypercube(&dimensions, 100, 1);
        let changed = points.iter().flatten().flatten().count() as f64 / 100.0;
        // One in ten of them would be the own value.
        assert!((3.3..=3.9).contains(&changed), "{changed}");
    }

    #[test]
    fn neighbours_differ_in_one_setting_by_a_step() {
        let names = Domain::Names(["a", "b", "c"].map(str::to_owned).to_vec());
        let dimensions = [dimension(Domain::Whole(1, 100), "50"), dimension(names, "a")];
        let texts = |points: Vec<Point>, index: usize| -> Vec<String> {
            points.into_iter().map(|point| point[index].clone().unwrap_or("own".to_owned())).collect()
        };
        let own: Point = vec![None, None];
        assert_eq!(texts(neighbours(&dimensions, &own, 0, 0.25), 0), ["25", "75"]);
        assert_eq!(texts(neighbours(&dimensions, &own, 1, 0.25), 1), ["b", "c"]);
        let other = vec![Some("100".to_owned()), Some("c".to_owned())];
        assert_eq!(texts(neighbours(&dimensions, &other, 0, 0.25), 0), ["75", "own"]);
        assert_eq!(texts(neighbours(&dimensions, &other, 1, 0.25), 1), ["own", "b"]);
    }
}
