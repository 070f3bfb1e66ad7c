// SPDX-License-Identifier: MIT OR Apache-2.0
//! The analytical model: compared with values that its formulas give by hand, with placements counted one by one, and
//! with properties that must hold for every machine.

use proptest::prelude::*;
use tandem_simulator::analysis::Phase::{Parallel, Serial};
use tandem_simulator::analysis::Policy::{Baseline, Proposed};
use tandem_simulator::analysis::{Model, ModelError, NotCovered, OneLargeCore, Speedup, State, fixed_state};
use tandem_simulator::machine::Machine;
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Governor, Options, simulate};
use tandem_simulator::units::{CpuId, SEC};

const SS: State = State { a: Serial, b: Serial };
const SP: State = State { a: Serial, b: Parallel };
const PS: State = State { a: Parallel, b: Serial };
const PP: State = State { a: Parallel, b: Parallel };

fn model(cores: u32, asymmetry: f64) -> Model {
    Model::new(cores, asymmetry).unwrap()
}

/// Minimum, average, maximum and spread, to four decimals.
fn rounded(speedup: Speedup) -> [f64; 4] {
    [speedup.min, speedup.average, speedup.max, speedup.spread()].map(|value| (value * 1e4).round() / 1e4)
}

fn assert_close(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-12, "{value} is not {expected}");
}

#[test]
fn eight_equal_cores_have_the_values_of_table_2() {
    let of = |state| rounded(model(8, 1.0).speedup(Baseline, state));
    assert_eq!(of(SS), [1.0, 1.0, 1.0, 1.0]);
    assert_eq!(of(SP), [0.5, 0.8889, 1.0, 2.0]);
    assert_eq!(of(PS), [0.875, 0.8889, 0.9375, 1.0714]);
    assert_eq!(of(PP), [0.5, 0.5, 0.5, 1.0]);
}

#[test]
fn eight_cores_one_twice_as_fast_have_the_values_of_table_1() {
    let of = |state| rounded(model(8, 2.0).speedup(Baseline, state));
    assert_eq!(of(SS), [0.5, 0.75, 1.0, 2.0]);
    assert_eq!(of(SP), [0.25, 0.5, 1.0, 4.0]);
    assert_eq!(of(PS), [0.7778, 0.8889, 0.9444, 1.2143]);
    assert_eq!(of(PP), [0.4444, 0.5, 0.5556, 1.25]);
}

#[test]
fn the_proposed_scheduler_differs_in_the_mixed_states_only() {
    for (asymmetry, parallel) in [(1.0, 0.875), (2.0, 0.7778)] {
        let model = model(8, asymmetry);
        assert_eq!(rounded(model.speedup(Proposed, SP)), [1.0; 4]);
        assert_eq!(rounded(model.speedup(Proposed, PS)), [parallel, parallel, parallel, 1.0]);
        assert_eq!(model.speedup(Proposed, SS), model.speedup(Baseline, SS));
        assert_eq!(model.speedup(Proposed, PP), model.speedup(Baseline, PP));
    }
}

#[test]
fn fairness_cannot_fall_below_the_values_of_table_3() {
    for (asymmetry, expected) in [(1.0, [1.0, 0.5333, 0.875, 1.0]), (2.0, [0.5, 0.2647, 0.7778, 0.8])] {
        let bound = model(8, asymmetry).fairness(Baseline);
        let bounds = [bound.serial, bound.mixed_serial_worst, bound.mixed_serial_best, bound.parallel];
        assert_eq!(bounds.map(|value| (value * 1e4).round() / 1e4), expected);
    }
}

#[test]
fn four_applications_on_eight_cores_have_the_bounds_of_tables_4_and_6() {
    // 1/(4·2); 8/(4·9), (9 − 3/2)/9, 4·7.5/8; then 1/2; (8 − 4 + 1)/9, 4·5/8.
    let many = model(8, 2.0).many(4).unwrap();
    let of = |policy, phase| {
        let bounds = many.bounds(policy, phase);
        [bounds.min, bounds.max, bounds.spread()].map(|value| (value * 1e4).round() / 1e4)
    };
    assert_eq!(of(Baseline, Serial), [0.125, 1.0, 8.0]);
    assert_eq!(of(Baseline, Parallel), [0.2222, 0.8333, 3.75]);
    assert_eq!(of(Proposed, Serial), [0.5, 1.0, 2.0]);
    assert_eq!(of(Proposed, Parallel), [0.2222, 0.5556, 2.5]);
}

/// The performance of threads on the cores `of` beside others on the cores `others`. Each core is shared equally by its
/// threads; core 0 has speed `a`.
fn performance(of: &[usize], others: &[usize], a: f64) -> f64 {
    let threads = |core: usize| of.iter().chain(others).filter(|other| **other == core).count();
    of.iter().map(|&core| if core == 0 { a } else { 1.0 } / threads(core) as f64).sum()
}

/// Minimum, average and maximum of equally likely cases.
fn over(cases: &[f64]) -> Speedup {
    Speedup {
        min: cases.iter().copied().fold(f64::INFINITY, f64::min),
        average: cases.iter().sum::<f64>() / cases.len() as f64,
        max: cases.iter().copied().fold(0.0, f64::max),
    }
}

fn assert_same(formula: Speedup, counted: Speedup) {
    assert_close(formula.min, counted.min);
    assert_close(formula.average, counted.average);
    assert_close(formula.max, counted.max);
}

/// Both serial: A has the large core and B a small one, or the other way round.
fn serial_placements(a: f64) -> Vec<f64> {
    [([0], [1]), ([1], [0])].iter().map(|(own, other)| performance(own, other, a) / a).collect()
}

/// One application serial, one parallel: the core that has two threads, and the place of the serial thread among the n
/// + 1. Returns the speedups of both.
fn mixed_placements(n: usize, a: f64) -> (Vec<f64>, Vec<f64>) {
    let mut speedups = (Vec::new(), Vec::new());
    for shared in 0..n {
        let places: Vec<usize> = (0..n).chain([shared]).collect();
        for serial in 0..=n {
            let mut parallel = places.clone();
            let serial = [parallel.remove(serial)];
            speedups.0.push(performance(&serial, &parallel, a) / a);
            speedups.1.push(performance(&parallel, &serial, a) / (n as f64 - 1.0 + a));
        }
    }
    speedups
}

/// Both parallel: each way to give A n of the 2n places, two on each core.
fn parallel_placements(n: usize, a: f64) -> Vec<f64> {
    let place = |mask: u32, own: bool| -> Vec<usize> {
        (0..2 * n).filter(|place| (mask >> place & 1 == 1) == own).map(|place| place / 2).collect()
    };
    let masks = (0..1u32 << (2 * n)).filter(|mask| mask.count_ones() as usize == n);
    masks.map(|mask| performance(&place(mask, true), &place(mask, false), a) / (n as f64 - 1.0 + a)).collect()
}

#[test]
fn the_formulas_are_what_counting_all_placements_gives() {
    for n in 2..=6 {
        for a in [1.0, 1.3, 1.9, 2.0, 3.5] {
            let model = model(n as u32, a);
            assert_same(model.speedup(Baseline, SS), over(&serial_placements(a)));
            let (serial, parallel) = mixed_placements(n, a);
            assert_same(model.speedup(Baseline, SP), over(&serial));
            assert_same(model.speedup(Baseline, PS), over(&parallel));
            assert_same(model.speedup(Baseline, PP), over(&parallel_placements(n, a)));
        }
    }
}

#[test]
fn the_proposed_scheduler_leaves_the_small_cores_to_the_parallel_application() {
    for n in 2..=6usize {
        let a = 1.7;
        // The serial thread on core 0, and n threads on the other n-1 cores, any one of which has two.
        for shared in 1..n {
            let parallel: Vec<usize> = (1..n).chain([shared]).collect();
            assert_close(
                model(n as u32, a).speedup(Proposed, PS).average,
                performance(&parallel, &[0], a) / (n as f64 - 1.0 + a),
            );
        }
    }
}

#[test]
fn the_bounds_for_many_applications_are_those_of_the_placements_they_name() {
    let (n, a) = (6, 1.5);
    let alone = n as f64 - 1.0 + a;
    let cores: Vec<usize> = (0..n).collect();
    for k in 2..=n {
        let many = model(n as u32, a).many(k as u32).unwrap();
        // One core for a thread of each application; a parallel application on all cores beside k-1 serial threads on
        // small ones.
        assert_close(many.bounds(Baseline, Serial).min, performance(&[1], &vec![1; k - 1], a) / a);
        let serial: Vec<usize> = (1..k).collect();
        assert_close(many.bounds(Baseline, Parallel).max, performance(&cores, &serial, a) / alone);
        // The serial threads have cores 0 to k-2 for themselves.
        assert_close(many.bounds(Proposed, Parallel).max, performance(&cores[k - 1..], &cores[..k - 1], a) / alone);
        // k threads on each core; the k threads on core 0 are all another application's, or all this one's.
        let others: Vec<usize> = (1..n).flat_map(|core| vec![core; k]).collect();
        let (own, beside) = others.split_at(n);
        assert_close(many.bounds(Proposed, Parallel).min, performance(own, beside, a) / alone);
        let on_large = [vec![0; k], (1..=n - k).collect()].concat();
        let others: Vec<usize> = (1..n).flat_map(|core| vec![core; k - usize::from(core <= n - k)]).collect();
        assert_close(many.all_parallel_max(), performance(&on_large, &others, a) / alone);
    }
}

#[test]
fn what_the_model_does_not_cover_is_an_error() {
    assert_eq!(Model::new(1, 1.0), Err(ModelError::Cores(1)));
    assert_eq!(Model::new(0, 1.0), Err(ModelError::Cores(0)));
    assert_eq!(Model::new(8, 0.99), Err(ModelError::Asymmetry(0.99)));
    assert_eq!(Model::new(8, 1024.5), Err(ModelError::Asymmetry(1024.5)));
    assert_eq!(Model::new(8, f64::INFINITY), Err(ModelError::Asymmetry(f64::INFINITY)));
    assert!(Model::new(8, f64::NAN).is_err());
    for applications in [0, 1, 9] {
        let error = model(8, 2.0).many(applications).unwrap_err();
        assert_eq!(error, ModelError::Applications { applications, cores: 8 });
    }
    assert_eq!(
        Model::new(8, 0.5).unwrap_err().to_string(),
        "the asymmetry must be a number from 1 (all cores alike) to 1024, not 0.5"
    );
}

#[test]
fn the_papers_own_machine_is_just_outside_its_assumption() {
    assert!(model(8, 1.999).within_assumption());
    assert!(!model(8, 2.0).within_assumption());
}

#[test]
fn the_papers_machine_is_covered_by_the_clocks_that_its_configuration_allows() {
    let fit = |name| OneLargeCore::of(&Machine::load(name).unwrap());
    let large = fit("proliant-dl580:asymmetric").unwrap();
    assert_eq!((large.model, large.large), (model(8, 2666.0 / 1333.0), Some(CpuId(0))));
    assert_close(large.small_speed, 0.5);
    let equal = fit("proliant-dl580:symmetric").unwrap();
    assert_eq!((equal.model, equal.large, equal.small_speed), (model(8, 1.0), None, 1.0));
}

#[test]
fn other_machines_are_refused_with_the_reason() {
    let why = |name| OneLargeCore::of(&Machine::load(name).unwrap()).unwrap_err();
    assert_eq!(why("hikey960"), NotCovered::NotOneLarge { online: 8, fastest: 4, kinds: 2 });
    assert_eq!(why("pixel6"), NotCovered::NotOneLarge { online: 8, fastest: 2, kinds: 3 });
    assert!(matches!(why("poweredge-2850"), NotCovered::Smt { .. }));
    assert_eq!(why("apple-m1"), NotCovered::Boost);
}

#[test]
fn an_application_alone_attains_in_the_simulator_what_the_model_says() {
    let machine = Machine::load("proliant-dl580:asymmetric").unwrap();
    let fit = OneLargeCore::of(&machine).unwrap();
    for phase in [Serial, Parallel] {
        let workload = fixed_state(&[phase], fit.model.cores());
        let options = Options { governor: Governor::Performance, time_limit: Some(2 * SEC), ..Options::default() };
        let report = simulate(&machine, &workload, &options, &mut NoObserver).unwrap();
        let ratio = report.apps[0].performance / fit.small_speed / fit.model.alone(phase);
        assert!((0.97..=1.0).contains(&ratio), "{phase:?}: {ratio} of what was expected");
    }
}

proptest! {
    #[test]
    fn averages_lie_between_the_extremes(cores in 2u32..2000, asymmetry in 1.0f64..1024.0) {
        let model = model(cores, asymmetry);
        for state in State::ALL {
            for policy in [Baseline, Proposed] {
                let Speedup { min, average, max } = model.speedup(policy, state);
                prop_assert!(0.0 < min && min <= average + 1e-12 && average <= max + 1e-12, "{:?}", state);
                prop_assert!(max <= 1.0);
            }
        }
    }

    #[test]
    fn on_equal_cores_the_proposed_scheduler_leaves_nothing_to_chance(cores in 2u32..2000) {
        let model = model(cores, 1.0);
        for state in State::ALL {
            prop_assert!((model.speedup(Proposed, state).spread() - 1.0).abs() < 1e-12);
        }
        prop_assert!(model.speedup(Baseline, SP).spread() > 1.9);
    }

    #[test]
    fn fairness_is_bounded_by_the_printed_formulas(cores in 2u32..2000, a in 1.0f64..1024.0) {
        let n = f64::from(cores);
        let bound = model(cores, a).fairness(Baseline);
        let same = |value: f64, formula: f64| (value - formula).abs() < 1e-12;
        prop_assert!(same(bound.serial, 1.0 / a));
        prop_assert!(same(bound.parallel, n / (n - 2.0 + 2.0 * a)));
        prop_assert!(same(bound.mixed_serial_worst, (n - 1.0 + a) / (2.0 * a * (n - 1.5 + a))));
        prop_assert!(same(bound.mixed_serial_best, (n - 1.0) / (n - 1.0 + a)));
    }

    #[test]
    fn wider_asymmetry_lowers_the_bound_of_fairness(cores in 2u32..2000, a in 1.0f64..1000.0) {
        let (bound, wider) = (model(cores, a).fairness(Baseline), model(cores, a + 0.5).fairness(Baseline));
        prop_assert!(wider.serial < bound.serial);
        prop_assert!(wider.mixed_serial_worst < bound.mixed_serial_worst);
        prop_assert!(wider.mixed_serial_best < bound.mixed_serial_best);
        prop_assert!(wider.parallel < bound.parallel);
    }

    #[test]
    fn bounds_for_two_applications_are_the_extremes_over_their_states(cores in 2u32..2000, a in 1.0f64..2.0) {
        let model = model(cores, a);
        let many = model.many(2).unwrap();
        let same = |value: f64, other: f64| (value - other).abs() < 1e-12;
        for (policy, serial_min) in [(Baseline, SP), (Proposed, SS)] {
            let (serial, parallel) = (many.bounds(policy, Serial), many.bounds(policy, Parallel));
            prop_assert!(same(serial.min, model.speedup(policy, serial_min).min) && serial.max == 1.0);
            prop_assert!(same(parallel.min, model.speedup(policy, PP).min));
            prop_assert!(same(parallel.max, model.speedup(policy, PS).max));
        }
        prop_assert!(same(many.all_parallel_max(), model.speedup(Baseline, PP).max));
    }

    #[test]
    fn more_applications_widen_the_baselines_spread(cores in 3u32..500, a in 1.0f64..2.0, pick in 0.0f64..1.0) {
        let k = 2 + (pick * f64::from(cores - 2)) as u32;
        let spread = |k, phase| model(cores, a).many(k).unwrap().bounds(Baseline, phase).spread();
        prop_assert!(spread(k + 1, Serial) > spread(k, Serial));
        prop_assert!(spread(k + 1, Parallel) > spread(k, Parallel));
    }
}
