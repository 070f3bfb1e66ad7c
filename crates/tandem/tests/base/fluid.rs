// SPDX-License-Identifier: GPL-2.0-only
//! The fluid model: CPU time divided as finely as one likes among threads that compute for ever, each of which may use some of equal CPUs.
//! No thread can have more for its weight but by taking it from one that has no more for its own (weighted max-min fairness).
//!
//! By Hall's theorem rates are possible if the threads that are confined to a set of CPUs have no more together than the set, for each set.
//! So all rates grow in proportion to weights until some set is full, or a thread has a whole CPU; these stay, and the others go on.

/// A thread that computes from `since_ms` on, on the CPUs whose bits are set.
#[derive(Clone, Debug)]
pub struct Hog {
    pub weight: f64,
    pub cpus: u32,
    pub since_ms: u64,
}

/// Two numbers that differ by rounding only are one.
const SAME: f64 = 1e-9;

/// The CPU time of each until `end_ms`, in milliseconds.
pub fn times(hogs: &[Hog], cpus: u32, end_ms: u64) -> Vec<f64> {
    let mut moments: Vec<u64> = hogs.iter().map(|hog| hog.since_ms).chain([end_ms]).collect();
    moments.sort_unstable();
    moments.dedup();
    let mut times = vec![0.0; hogs.len()];
    for span in moments.windows(2) {
        let present: Vec<usize> = (0..hogs.len()).filter(|&at| hogs[at].since_ms <= span[0]).collect();
        let running: Vec<&Hog> = present.iter().map(|&at| &hogs[at]).collect();
        for (at, rate) in present.into_iter().zip(rates(&running, cpus)) {
            times[at] += rate * (span[1] - span[0]) as f64;
        }
    }
    times
}

/// The part of a CPU that each has.
pub fn rates(hogs: &[&Hog], cpus: u32) -> Vec<f64> {
    let mut rates = vec![None; hogs.len()];
    while rates.contains(&None) {
        let grown = |at: usize, level: f64| (hogs[at].weight * level).min(1.0);
        let open = |at: &usize| rates[*at].is_none();
        let whole = (0..hogs.len()).filter(open).map(|at| 1.0 / hogs[at].weight).fold(f64::INFINITY, f64::min);
        let full: Vec<(f64, u32)> =
            (1..1 << cpus).filter_map(|set| Some((level_when_full(hogs, &rates, set)?, set))).collect();
        let level = full.iter().map(|(level, _)| *level).fold(whole, f64::min);
        let stays = |at: usize| {
            let in_full = |(when, set): &(f64, u32)| *when <= level + SAME * level && hogs[at].cpus & !set == 0;
            grown(at, level) >= 1.0 - SAME || full.iter().any(in_full)
        };
        let settled: Vec<usize> = (0..hogs.len()).filter(open).filter(|&at| stays(at)).collect();
        settled.into_iter().for_each(|at| rates[at] = Some(grown(at, level)));
    }
    rates.into_iter().map(Option::unwrap).collect()
}

/// The level, rate over weight, at which the threads confined to a set fill it. None: nothing that is still to grow is confined to it.
fn level_when_full(hogs: &[&Hog], rates: &[Option<f64>], set: u32) -> Option<f64> {
    let inside = || hogs.iter().zip(rates).filter(|(hog, _)| hog.cpus & !set == 0);
    let weight: f64 = inside().filter(|(_, rate)| rate.is_none()).map(|(hog, _)| hog.weight).sum();
    let left = f64::from(set.count_ones()) - inside().filter_map(|(_, rate)| *rate).sum::<f64>();
    (weight > 0.0).then(|| left.max(0.0) / weight)
}

fn rates_of(hogs: &[(f64, u32)], cpus: u32) -> Vec<f64> {
    let hogs: Vec<Hog> = hogs.iter().map(|&(weight, cpus)| Hog { weight, cpus, since_ms: 0 }).collect();
    rates(&hogs.iter().collect::<Vec<_>>(), cpus)
}

#[track_caller]
fn are(hogs: &[(f64, u32)], cpus: u32, expected: &[f64]) {
    let rates = rates_of(hogs, cpus);
    assert!(
        rates.iter().zip(expected).all(|(rate, expected)| (rate - expected).abs() < 1e-6),
        "{rates:?} for {expected:?}"
    );
}

#[test]
fn weights_share_what_all_may_use() {
    are(&[(3.0, 0b1), (1.0, 0b1)], 1, &[0.75, 0.25]);
    are(&[(1.0, 0b11), (1.0, 0b11), (1.0, 0b11)], 2, &[2.0 / 3.0; 3]);
}

#[test]
fn no_thread_has_more_than_a_cpu() {
    are(&[(10.0, 0b11), (1.0, 0b11), (1.0, 0b11)], 2, &[1.0, 0.5, 0.5]);
}

/// Two on the first CPU only, so that the one that may use both stays away from there.
#[test]
fn what_has_a_choice_goes_where_there_is_more() {
    are(&[(1.0, 0b01), (1.0, 0b01), (1.0, 0b11)], 2, &[0.5, 0.5, 1.0]);
    are(&[(1.0, 0b01), (1.0, 0b11), (1.0, 0b10), (1.0, 0b10)], 2, &[0.5; 4]);
}

/// A chain: the middle one makes room for the first where the last one has less to do.
#[test]
fn sets_that_overlap_share_in_a_chain() {
    are(&[(2.0, 0b001), (1.0, 0b011), (1.0, 0b110), (1.0, 0b100)], 3, &[1.0, 2.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0]);
}
