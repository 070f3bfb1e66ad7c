// SPDX-License-Identifier: GPL-2.0-only
//! Morad, Kolodny & Weiser, "Task Scheduling Based On Thread Essence and Resource Limitations": two applications that are
//! in turn parallel and serial, on their ProLiant DL580, symmetric and with one CPU twice as fast as the others.
//!
//! Their baseline is Linux 2.6.18, told of each CPU's speed (`o1` with `cpu_power`). Tandem with all mechanisms off is the second
//! one: it says what the mechanism itself does. Runs of 3 s instead of 60 s, of fewer pairs: the published means of all are
//! compared in `papers/essence`, here only what a change could break. What the paper calls random work is drawn from the
//! seed, 20 ms at a mean, which is assumed.

use super::support::{Estimate, Report, SEEDS, Workload, print};

/// Linux 2.6.18, whose decisions take no time.
const OLD: (&str, &[&str]) = ("o1,cpu_power=true+performance", &["--set", "bpf_insn_ps=0"]);
const BASE: (&str, &[&str]) = ("tandem+performance", &[]);
const SERIAL: (&str, &[&str]) = ("tandem,serial_first=true+performance", &[]);

/// Pairs of labels, and the gain of each in Table 7, percent: corners, and what lies between.
const PAIRS: [(&str, f64); 6] = [
    ("inf:1,inf:1", 1.0),
    ("8:1,1:1", 1.0),
    ("1:2,1:2", 7.0),
    ("1:1,1:inf", 12.0),
    ("1:2,1:8", 15.0),
    ("1:inf,inf:1", -2.0),
];

/// The applications of these labels together, for each seed.
fn together(labels: &str, machine: &str, (scheduler, options): (&str, &[&str])) -> Vec<Report> {
    let of_seed = |seed: u64| {
        let table = seed.to_string();
        let arguments = ["phases", "--label", labels, "--duration", "3s", "--seed", &table];
        Report::of(&Workload::generated(&arguments), &format!("proliant-dl580:{machine}"), scheduler, seed, options)
    };
    SEEDS.map(of_seed).collect()
}

/// By how much more is done, percent, for each seed.
fn gains(runs: &[Report], before: &[Report]) -> Vec<f64> {
    let both = runs.iter().zip(before);
    both.map(|(run, before)| 100.0 * (run.number("/throughput") / before.number("/throughput") - 1.0)).collect()
}

/// The mean of several values for each seed.
fn means(of_pairs: &[Vec<f64>]) -> Estimate {
    let mean = |seed: usize| of_pairs.iter().map(|pair| pair[seed]).sum::<f64>() / of_pairs.len() as f64;
    Estimate::of(&(0..of_pairs[0].len()).map(mean).collect::<Vec<_>>())
}

/// What some pairs gain, percent, and which share of time CPUs are idle less, percent of all time.
struct Gain {
    over_old: Estimate,
    over_base: Estimate,
    idle_less_than_old: Estimate,
    idle_less_than_base: Estimate,
}

fn gain<'a>(groups: impl IntoIterator<Item = (&'a str, Option<f64>)>, machine: &str) -> Gain {
    let [mut over_old, mut over_base, mut idle_old, mut idle_base] = [const { Vec::new() }; 4];
    for (labels, published) in groups {
        let [old, base, serial] = [OLD, BASE, SERIAL].map(|scheduler| together(labels, machine, scheduler));
        let idle = |before: &[Report]| {
            let both = serial.iter().zip(before);
            both.map(|(run, before)| 100.0 * (before.number("/idle_share") - run.number("/idle_share"))).collect()
        };
        let published = published.map_or_else(|| "not printed".to_owned(), |percent| percent.to_string());
        let of_base = gains(&serial, &base);
        print(&format!("{machine}, {labels}: gain over base, %"), Estimate::of(&of_base), &published);
        over_old.push(gains(&serial, &old));
        over_base.push(of_base);
        idle_old.push(idle(&old));
        idle_base.push(idle(&base));
    }
    Gain {
        over_old: means(&over_old),
        over_base: means(&over_base),
        idle_less_than_old: means(&idle_old),
        idle_less_than_base: means(&idle_base),
    }
}

impl Gain {
    fn print(&self, what: &str, gain: &str, idle: &str) {
        print(&format!("{what}: gain over Linux 2.6.18, %"), self.over_old, gain);
        print(&format!("{what}: gain over base, %"), self.over_base, gain);
        print(&format!("{what}: less idle than with it, %"), self.idle_less_than_old, idle);
        print(&format!("{what}: less idle than base, %"), self.idle_less_than_base, idle);
    }
}

/// Table 7. The gain over the base is the mechanism's own; it is compared with the paper's for the same pairs, 5.7 % at a
/// mean (4.5 % of all 45 pairs).
#[test]
fn serial_phases_first_do_more_work_on_the_asymmetric_machine() {
    let published = PAIRS.map(|(_, gain)| gain).iter().sum::<f64>() / PAIRS.len() as f64;
    let gain = gain(PAIRS.map(|(labels, gain)| (labels, Some(gain))), "asymmetric");
    gain.print("asymmetric, six pairs", &format!("{published:.1}; all pairs 4.5"), "all pairs 2.8");
    assert!(gain.over_base.is_above(0.0) && gain.over_base.is_within(published / 3.0..=published * 3.0));
    assert!(gain.over_old.is_above(0.0) && gain.over_old.mean > gain.over_base.mean);
    assert!(gain.idle_less_than_base.is_above(0.0) && gain.idle_less_than_old.is_above(0.0));
}

/// On equal CPUs the base runs a serial thread soon, too, as it has slept: the mechanism adds less. The paper
/// gains 3 % over a scheduler with a queue for each CPU.
#[test]
fn serial_phases_first_do_more_work_on_the_symmetric_machine() {
    let gain = gain([("8:1,1:1", None), ("1:1,1:1", None), ("1:2,1:8", None)], "symmetric");
    gain.print("symmetric, three pairs", "all pairs 3", "all pairs 2.8");
    assert!(gain.over_old.is_above(1.0) && gain.idle_less_than_old.is_above(0.0));
    assert!(gain.over_base.is_above(0.0), "{}", gain.over_base);
}

/// Two applications that are always parallel: seniority lets one of them end its iteration first, and what is left of
/// the other's no longer fills the machine. The paper has 0 to 4 % here, over a scheduler that leaves CPUs idle; against
/// one that does not, seniority costs.
#[test]
fn seniority_gains_over_linux_2_6_18_and_costs_little_over_the_base() {
    let gain = gain([("inf:1,inf:1", None)], "symmetric");
    gain.print("symmetric, inf:1 twice", "0 to 4", "-");
    assert!(gain.over_old.is_above(0.0) && gain.over_base.is_above(-4.0));
}

/// With a third application it is rarer that all are serial, and less is idle that a serial phase could end sooner than under the
/// paper's kernel. Over the base, which leaves less idle, two and three gain the same within their intervals (2.1 and 2.9 %).
#[test]
fn three_applications_gain_less_than_two() {
    let two = gain([("1:2,1:2", Some(7.0))], "asymmetric");
    let three = gain([("1:2,1:2,1:2", None)], "asymmetric");
    two.print("asymmetric, 1:2 twice", "7", "-");
    three.print("asymmetric, 1:2 three times", "less than two", "-");
    assert!(three.over_base.is_above(0.0) && three.over_old.is_above(0.0) && three.over_old.mean < two.over_old.mean);
}

/// Equation (5): how far an application's time for a unit of work is off its mean from run to run; thousandths. Equation (3):
/// how equal two applications' speeds are, relative to each alone under the same scheduler; percent. All runs have the same
/// random work, so that they differ by scheduling alone.
fn jitter_and_fairness(labels: [&str; 2], (scheduler, options): (&str, &[&str])) -> (f64, f64) {
    let runs = |labels: &str| {
        let workload = Workload::generated(&["phases", "--label", labels, "--duration", "3s", "--seed", "1"]);
        SEEDS
            .map(|seed| Report::of(&workload, "proliant-dl580:symmetric", scheduler, seed, options))
            .collect::<Vec<_>>()
    };
    let (alone, both) = (labels.map(runs), runs(&labels.join(",")));
    let n = both.len();
    let time = |seed: usize, app: usize| 1.0 / both[seed].number(&format!("/apps/{app}/performance"));
    let jitter = |app| {
        let mean = (0..n).map(|seed| time(seed, app)).sum::<f64>() / n as f64;
        ((0..n).map(|seed| (time(seed, app) / mean - 1.0).powi(2)).sum::<f64>() / n as f64).sqrt()
    };
    let speed = |seed: usize, app: usize| 1.0 / time(seed, app) / alone[app][seed].number("/apps/0/performance");
    let fairness = |seed| (speed(seed, 0) / speed(seed, 1)).min(speed(seed, 1) / speed(seed, 0));
    (500.0 * (jitter(0) + jitter(1)), 100.0 * (0..n).map(fairness).sum::<f64>() / n as f64)
}

/// Table 9, synthetic pairs on the symmetric machine: 9.07 to 3.66 thousandths and 75.9 to 90.7 % from the paper's baseline. In short
/// phases the mechanism takes jitter away from the base, too, which looks into lines drawn at random (12.8 to 9.3 thousandths); the model
/// of the paper's kernel draws nothing, and has less (4.0). Fairness rises over that kernel's, and stays as high as the base's.
#[test]
fn run_times_differ_less_from_run_to_run_than_without_the_mechanism() {
    let pairs = [["1:2", "1:2"], ["1:1", "1:inf"], ["1:2", "1:8"]];
    let [old, base, serial] = [OLD, BASE, SERIAL].map(|scheduler| {
        let all = pairs.map(|labels| jitter_and_fairness(labels, scheduler));
        let mean = |values: [f64; 3]| values.iter().sum::<f64>() / 3.0;
        (mean(all.map(|it| it.0)), mean(all.map(|it| it.1)))
    });
    println!("symmetric, three pairs, jitter x 1000: {:.1} o1, {:.1} base, {:.1} serial", old.0, base.0, serial.0);
    println!("symmetric, three pairs, fairness, %: {:.0} o1, {:.0} base, {:.0} serial", old.1, base.1, serial.1);
    assert!(serial.0 < 0.85 * base.0 && serial.1 > old.1 && serial.1 > base.1 - 2.0);
}
