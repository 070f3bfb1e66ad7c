// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clocks that the processor chooses, steered by a session beside other programs that turn the same knobs.

use std::time::Duration;

use nix::libc::SIGTERM;
use tandem_loader::steering::Mode;

use super::script::request;
use super::*;
use crate::session::status::SessionStatus;
use crate::session::{Resident, stay};

type Doing<'w> = Box<dyn FnOnce() + 'w>;

fn wanted() -> Resident {
    Resident { request: request("isolate=shared"), ..Resident::default() }
}

/// A machine whose processor chooses clocks, under a scheduler of this mode.
fn world(mode: Mode) -> World {
    let world = World::new();
    world.hand_clocks_to_the_processor(mode);
    world
}

/// Lives through what happens at these milliseconds, and a second more; what is said of clocks.
fn live<'w>(world: &'w World, steps: Vec<(u64, Doing<'w>)>) -> Vec<String> {
    let end = steps.iter().map(|(ms, _)| *ms).max().unwrap_or(0) + 1000;
    let steps = steps.into_iter().map(|(ms, doing)| (ms, Step::Do(doing)));
    let mut script = Script::new(world, steps.chain([(end, Step::signal(SIGTERM))]));
    let mut wanted = wanted();
    // The driver has no schedutil.
    wanted.request.governor = None;
    stay(&world.site, &wanted, &mut script, &mut world.listener()).unwrap();
    let of_clocks = |line: &String| line.contains("clocks: ") || line.contains("wish");
    world.log().into_iter().filter(of_clocks).map(|line| line.trim_start_matches("session: ").to_owned()).collect()
}

/// Preference, lowest and highest clock of a policy.
fn knobs(world: &World, policy: &str) -> [String; 3] {
    ["energy_performance_preference", "scaling_min_freq", "scaling_max_freq"].map(|file| world.policy(policy, file))
}

#[test]
fn the_lowest_clock_is_where_work_costs_least_and_is_given_back() {
    let world = world(Mode::Auto);
    let seen = std::cell::RefCell::new(Vec::new());
    let look: Doing<'_> = Box::new(|| seen.borrow_mut().push(knobs(&world, "policy2")));
    let said = live(&world, vec![(900, look)]);
    assert_eq!(*seen.borrow(), [["balance_performance", "1000000", "2000000"].map(str::to_owned)]);
    assert_eq!(
        said,
        ["clocks: the mode is balanced, as energy_performance_preference says", "kernel: the wish is balanced",]
    );
    assert_eq!(knobs(&world, "policy2"), ["balance_performance", "500000", "2000000"]);
}

/// A phone's clocks follow the scheduler, which places by what is wished.
#[test]
fn where_clocks_follow_the_scheduler_it_hears_the_wish_all_the_same() {
    let world = World::new();
    world.hand_clocks_to_the_processor(Mode::Auto);
    for policy in ["policy0", "policy2"] {
        world.set_policy(policy, "scaling_driver", "cpufreq-dt");
    }
    world.write("sys/firmware/acpi/platform_profile", "balanced");
    let saves: Doing<'_> = Box::new(|| world.write("sys/firmware/acpi/platform_profile", "low-power"));
    let said = live(&world, vec![(1000, saves)]);
    assert_eq!(
        said,
        [
            "clocks: the mode is balanced, as the platform profile says",
            "kernel: the wish is balanced",
            "clocks: the mode is powersave, as the platform profile says",
            "kernel: the wish is powersave",
        ]
    );
    assert_eq!(knobs(&world, "policy0"), ["balance_performance", "500000", "2000000"]);
}

#[test]
fn without_a_mode_nothing_is_turned() {
    let world = world(Mode::None);
    let said = live(&world, vec![(900, Box::new(|| assert_eq!(knobs(&world, "policy0")[1], "500000")))]);
    assert!(said.is_empty());
}

#[test]
fn light_use_is_told_to_the_processor_and_load_takes_that_back() {
    let world = world(Mode::Auto);
    let preference = |expected: &'static str| -> Doing<'_> {
        let world = &world;
        Box::new(move || assert_eq!(world.policy("policy0", "energy_performance_preference"), expected))
    };
    // CPU 1 is busy for a tenth of the time at first, then all the time.
    let busy = |ticks: u64| -> Doing<'_> {
        let world = &world;
        Box::new(move || world.busy(&[0, ticks, 0, 0]))
    };
    let light = (1..=20).map(|tenth: u64| (tenth * 100, busy(tenth)));
    let loaded = (21..=30).map(|tenth: u64| (tenth * 100, busy(20 + (tenth - 20) * 10)));
    let looks = [(2005, preference("144")), (3005, preference("balance_performance"))];
    let mut steps: Vec<(u64, Doing<'_>)> = light.chain(loaded).chain(looks).collect();
    steps.sort_by_key(|(ms, _)| *ms);
    live(&world, steps);
    assert_eq!(knobs(&world, "policy0")[0], "balance_performance");
}

/// power-profiles-daemon says what it wants at its name on the bus, and turns EPP itself.
#[test]
fn a_profile_of_power_profiles_daemon_wins_and_its_preference_stays() {
    let world = world(Mode::Auto);
    world.write("profile", "balanced");
    let saves: Doing<'_> = Box::new(|| {
        world.write("profile", "power-saver");
        for policy in ["policy0", "policy2"] {
            world.set_policy(policy, "energy_performance_preference", "power");
        }
    });
    let said = live(&world, vec![(2000, saves)]);
    let stays = |policy| {
        format!(
            "clocks: energy_performance_preference of {policy}: somebody has changed that from 144 to power, which stays"
        )
    };
    assert_eq!(
        said,
        [
            "clocks: the mode is balanced, as the power profile says".to_owned(),
            "kernel: the wish is balanced".to_owned(),
            stays("policy0"),
            stays("policy2"),
            "clocks: the mode is powersave, as the power profile says".to_owned(),
            "kernel: the wish is powersave".to_owned(),
        ]
    );
    assert_eq!(knobs(&world, "policy0"), ["power", "500000", "2000000"]);
}

/// TLP writes preferences and limits when the mains come or go, thermald lowers the highest clock, tuned raises the lowest.
#[test]
fn limits_of_tlp_thermald_and_tuned_win_and_stay() {
    let world = world(Mode::Powersave);
    let others: Doing<'_> = Box::new(|| {
        world.set_policy("policy0", "scaling_max_freq", "1500000");
        world.set_policy("policy0", "energy_performance_preference", "power");
        world.set_policy("policy2", "scaling_min_freq", "800000");
    });
    let look: Doing<'_> = Box::new(|| {
        assert_eq!(knobs(&world, "policy0"), ["power", "1000000", "1500000"]);
        assert_eq!(knobs(&world, "policy2"), ["balance_power", "800000", "2000000"]);
    });
    let said = live(&world, vec![(2000, others), (3000, look)]);
    assert_eq!(said.iter().filter(|line| line.contains("somebody has changed")).count(), 3);
    assert_eq!(knobs(&world, "policy0"), ["power", "500000", "1500000"]);
    assert_eq!(knobs(&world, "policy2"), ["balance_performance", "800000", "2000000"]);
}

/// GameMode chooses the governor `performance`, under which drivers take no preference and read `performance`.
#[test]
fn a_governor_that_gamemode_chooses_is_a_wish_for_speed() {
    let world = world(Mode::Auto);
    let game: Doing<'_> = Box::new(|| {
        for policy in ["policy0", "policy2"] {
            world.set_policy(policy, "scaling_governor", "performance");
            world.set_policy(policy, "energy_performance_preference", "performance");
        }
    });
    let said = live(&world, vec![(1000, game)]);
    assert_eq!(said.last().unwrap(), "kernel: the wish is performance");
    assert_eq!(world.governors(), ["performance", "performance"]);
    assert_eq!(knobs(&world, "policy2"), ["performance", "500000", "2000000"]);
}

/// Then drivers take no other preference: it is not given back, and nothing is left to be tried again.
#[test]
fn under_a_governor_that_somebody_chose_our_preference_is_the_governors() {
    let world = world(Mode::Performance);
    let game: Doing<'_> = Box::new(|| {
        assert_eq!(knobs(&world, "policy0")[0], "performance");
        world.set_policy("policy0", "scaling_governor", "performance");
    });
    live(&world, vec![(1000, game)]);
    assert_eq!(
        [knobs(&world, "policy0"), knobs(&world, "policy2")].map(|knobs| knobs[0].clone()),
        ["performance", "balance_performance"]
    );
    assert_eq!(std::fs::read_dir(world.site.root.join("run/tandem/changes")).unwrap().count(), 0);
}

#[test]
fn what_somebody_sets_to_a_value_that_we_had_set_stays_theirs() {
    let world = world(Mode::Auto);
    let one: Doing<'_> = Box::new(|| world.set_policy("policy0", "scaling_min_freq", "700000"));
    let ours: Doing<'_> = Box::new(|| world.set_policy("policy0", "scaling_min_freq", "1000000"));
    live(&world, vec![(1000, one), (2000, ours)]);
    assert_eq!(knobs(&world, "policy0")[1], "1000000");
}

thread_local! {
    static SPENT: std::cell::Cell<Duration> = const { std::cell::Cell::new(Duration::ZERO) };
}

/// A processor time that is 100 us later at each question: two are asked in a look.
fn each_look_takes_100_us() -> Duration {
    SPENT.set(SPENT.get() + Duration::from_micros(100));
    SPENT.get()
}

#[test]
fn a_status_says_what_is_wished_what_others_have_turned_and_what_looks_take() {
    let mut world = world(Mode::Auto);
    world.site.cpu_time = each_look_takes_100_us;
    world.write("sys/firmware/acpi/platform_profile", "low-power");
    let steps = [
        (1000, Step::Do(Box::new(|| world.set_policy("policy2", "scaling_max_freq", "1200000")))),
        (2000, Step::AskAs(0, "status")),
        (2500, Step::signal(SIGTERM)),
    ];
    let mut script = Script::new(&world, steps);
    let mut wanted = wanted();
    wanted.request.governor = None;
    stay(&world.site, &wanted, &mut script, &mut world.listener()).unwrap();
    let status: SessionStatus = serde_json::from_str(script.answers[0].1.as_ref().unwrap()).unwrap();
    let steered = status.steered.unwrap();
    assert_eq!((steered.wish.as_str(), steered.wish_of.as_str()), ("powersave", "the platform profile"));
    // Preference and lowest clock of both.
    assert_eq!((steered.clocks, steered.held, steered.unknown.len()), (2, 4, 0));
    assert_eq!(steered.foreign, ["scaling_max_freq of policy2: somebody has changed that to 1200000, which stays"]);
    // Every 200 ms at most, until the status is asked for after 2 s.
    assert!((9..=11).contains(&steered.looks), "{} looks", steered.looks);
    let share = steered.looks as f64 * 1e-4 / 2.0;
    assert!((steered.cpu_share / share - 1.0).abs() < 0.02, "{} for {share}", steered.cpu_share);
}

/// The processor takes 5 W, and each busy CPU 0.5 W and 0.4 W/GHz³ besides: 0.5 / f + 0.4 f² is least at 0.855 GHz.
#[test]
fn where_nothing_says_what_clocks_cost_energy_counters_do_after_a_while() {
    let world = world(Mode::Auto);
    world.remove("sys/kernel/debug");
    let state = std::cell::RefCell::new((0.0_f64, [0_u64; 4]));
    let second = |number: u32| -> Doing<'_> {
        let (world, state) = (&world, &state);
        Box::new(move || {
            let (joules, ticks) = &mut *state.borrow_mut();
            let spread = |of: f64| (f64::from(number) * 0.618_033_988 * of).fract();
            *joules += 5.0;
            for (policy, cpus, of) in [("policy0", [0, 1], 1.0), ("policy2", [2, 3], 2.3)] {
                let khz = 500_000 + (1_500_000.0 * spread(of)) as u32;
                world.set_policy(policy, "scaling_cur_freq", &khz.to_string());
                for cpu in cpus {
                    let busy = 20 + (60.0 * spread(of * 1.7 + f64::from(cpu))) as u64;
                    ticks[cpu as usize] += busy;
                    *joules += busy as f64 / 100.0 * (0.5 + 0.4 * (f64::from(khz) / 1e6).powi(3));
                }
            }
            world.busy(&ticks[..]);
            world.write("sys/class/powercap/intel-rapl:0/energy_uj", &((*joules * 1e6) as u64).to_string());
        })
    };
    // Within three hundredths of the least is 1 GHz. A sample may be of two seconds, with the clock of the second one.
    let floor: Doing<'_> = Box::new(|| {
        let lowest: u32 = knobs(&world, "policy0")[1].parse().unwrap();
        assert!(lowest.abs_diff(1_000_000) <= 100_000, "{lowest} kHz");
    });
    // Just before each second's sample.
    let mut steps: Vec<(u64, Doing<'_>)> =
        (1..140).map(|number| (u64::from(number) * 1000 - 5, second(number))).collect();
    steps.push((141_000, floor));
    live(&world, steps);
    assert_eq!(knobs(&world, "policy0")[1], "500000");
}
