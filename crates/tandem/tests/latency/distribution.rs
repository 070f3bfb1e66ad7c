// SPDX-License-Identifier: GPL-2.0-only
//! Latencies as a distribution.

/// Sorted latencies, microseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution(Vec<f64>);

impl Distribution {
    pub fn new(mut latencies: Vec<f64>) -> Self {
        assert!(!latencies.is_empty(), "nothing was measured");
        latencies.sort_by(f64::total_cmp);
        Self(latencies)
    }

    /// The distribution of one that always has the same latency.
    pub fn always(us: f64) -> Self {
        Self(vec![us])
    }

    pub fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    /// The least latency that this share of all does not exceed.
    pub fn quantile(&self, share: f64) -> f64 {
        let rank = (share * self.0.len() as f64).ceil() as usize;
        self.0[rank.clamp(1, self.0.len()) - 1]
    }

    pub fn greatest(&self) -> f64 {
        self.0[self.0.len() - 1]
    }

    /// Wasserstein distance of order 1, microseconds: the mean distance between the same quantiles of both.
    pub fn distance(&self, other: &Self) -> f64 {
        let (here, there) = (self.0.len(), other.0.len());
        let (mut i, mut j, mut done, mut sum) = (0, 0, 0.0, 0.0);
        while i < here && j < there {
            // Both quantile functions are constant up to the nearer of the two next steps.
            let next = ((i + 1) as f64 / here as f64).min((j + 1) as f64 / there as f64);
            sum += (next - done) * (self.0[i] - other.0[j]).abs();
            done = next;
            // Compared as fractions of integers: no rounding decides who steps.
            let (steps_here, steps_there) = ((i + 1) * there, (j + 1) * here);
            i += usize::from(steps_here <= steps_there);
            j += usize::from(steps_there <= steps_here);
        }
        sum
    }
}

#[test]
fn the_distance_is_how_far_one_distribution_has_to_be_moved() {
    let here = Distribution::new(vec![3.0, 1.0]);
    assert_eq!(here.distance(&here), 0.0);
    assert_eq!(here.distance(&Distribution::always(0.0)), 2.0);
    // A third each: 1 to 1, half of it; 1 to 4, a sixth; 3 to 4, a sixth; 3 to 7, a third.
    let there = Distribution::new(vec![1.0, 4.0, 7.0]);
    assert!((here.distance(&there) - (3.0 / 6.0 + 1.0 / 6.0 + 4.0 / 3.0)).abs() < 1e-12);
    assert_eq!(here.distance(&there), there.distance(&here));
}

#[test]
fn a_quantile_is_a_latency_that_occurred() {
    let all = Distribution::new((1..=200).map(f64::from).collect());
    assert_eq!([all.quantile(0.5), all.quantile(0.99), all.greatest()], [100.0, 198.0, 200.0]);
    assert_eq!(all.mean(), 100.5);
}
