// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines as files, whose counters the tests move.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use super::source::{Amount, Probe};
use super::*;
use crate::testing;

/// A machine's files.
struct Tree(testing::Tree);

impl Tree {
    fn new() -> Self {
        Self(testing::Tree::new())
    }

    fn root(&self) -> &Path {
        self.0.root()
    }

    /// Below `/sys`.
    fn write(&self, path: &str, text: &str) {
        self.0.write(&format!("sys/{path}"), &format!("{text}\n"));
    }

    /// A zone of powercap whose counter starts again after 1 kJ.
    fn zone(&self, zone: &str, name: &str, microjoules: u64) {
        self.write(&format!("class/powercap/{zone}/name"), name);
        self.write(&format!("class/powercap/{zone}/max_energy_range_uj"), "1000000000");
        self.count(zone, microjoules);
    }

    fn count(&self, zone: &str, microjoules: u64) {
        self.write(&format!("class/powercap/{zone}/energy_uj"), &microjoules.to_string());
    }

    fn battery(&self, name: &str, status: &str) {
        self.write(&format!("class/power_supply/{name}/type"), "Battery");
        self.write(&format!("class/power_supply/{name}/status"), status);
    }

    fn meters(&self) -> Meters {
        Meters::find_with(self.root(), &Refuses, Instant::now())
    }
}

/// Nobody may open events.
#[derive(Debug)]
struct Refuses;

impl perf::EnergyEvents for Refuses {
    fn open(&self, _event: perf::EnergyEvent) -> Result<Box<dyn Probe>, Why> {
        Err(Why::NotAllowed)
    }
}

/// Events that were opened; each counts on by its configuration whenever it is read.
#[derive(Debug, Default, Clone)]
struct Opens(Arc<Mutex<Vec<perf::EnergyEvent>>>);

#[derive(Debug)]
struct Counts {
    by: u64,
    value: u64,
}

impl Probe for Counts {
    fn read(&mut self) -> Result<Amount, Why> {
        self.value += self.by;
        Ok(Amount::Count(self.value))
    }
}

impl perf::EnergyEvents for Opens {
    fn open(&self, event: perf::EnergyEvent) -> Result<Box<dyn Probe>, Why> {
        self.0.lock().unwrap().push(event);
        Ok(Box::new(Counts { by: event.config, value: 0 }))
    }
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// What each source counted up to a time.
fn joules(meters: &mut Meters, at: u64) -> Vec<(String, f64)> {
    meters.sample_at(seconds(at));
    meters.measured().energy.into_iter().map(|energy| (energy.source, energy.joules)).collect()
}

fn total(meters: &mut Meters, at: u64) -> (f64, String) {
    meters.sample_at(seconds(at));
    let total = meters.measured().total().expect("a total");
    (total.joules, total.covers)
}

/// Why there is no total, at a time.
fn why_not(meters: &mut Meters, at: u64) -> String {
    meters.sample_at(seconds(at));
    assert_eq!(meters.measured().total(), None);
    meters.measured().why_not()
}

#[test]
fn ten_joules_are_ten_million_counts() {
    let tree = Tree::new();
    tree.zone("intel-rapl:0", "package-0", 5_000_000);
    let mut meters = tree.meters();
    tree.count("intel-rapl:0", 15_000_000);
    assert_eq!(joules(&mut meters, 1), [("powercap intel-rapl:0 package-0".to_owned(), 10.0)]);
    assert_eq!(total(&mut meters, 1), (10.0, "1 package, without memory".to_owned()));
    assert_eq!(meters.measured().time, seconds(1));
}

/// 990 J, then 30 J after the start at 1,000 J, twice: 2 × 1,000 + 30 − 990.
#[test]
fn a_counter_that_starts_again_is_followed_if_it_is_sampled() {
    let tree = Tree::new();
    tree.zone("intel-rapl:0", "package-0", 990_000_000);
    let mut meters = tree.meters();
    for (at, count) in [(1, 500_000_000), (2, 100_000_000), (3, 30_000_000)] {
        tree.count("intel-rapl:0", count);
        meters.sample_at(seconds(at));
    }
    // 510 + 600 + 930.
    assert_eq!(total(&mut meters, 3).0, 2_040.0);
}

#[test]
fn a_counter_that_goes_back_without_a_range_is_no_measurement() {
    let tree = Tree::new();
    tree.zone("intel-rapl:0", "package-0", 9_000_000);
    fs::remove_file(tree.root().join("sys/class/powercap/intel-rapl:0/max_energy_range_uj")).unwrap();
    let mut meters = tree.meters();
    tree.count("intel-rapl:0", 8_000_000);
    assert_eq!(
        why_not(&mut meters, 2),
        "powercap intel-rapl:0 package-0: it was lost after 2.0 s: its count went back"
    );
}

#[test]
fn packages_and_their_memory_are_summed_and_their_cores_are_not() {
    let tree = Tree::new();
    let zones =
        ["intel-rapl:0", "intel-rapl:0:0", "intel-rapl:0:1", "intel-rapl:1", "intel-rapl:1:0", "intel-rapl:1:1"];
    let names = ["package-0", "core", "dram", "package-1", "core", "dram"];
    for (zone, name) in zones.iter().zip(names) {
        tree.zone(zone, name, 0);
    }
    let mut meters = tree.meters();
    for (zone, joules) in zones.iter().zip([100, 80, 10, 50, 30, 5]) {
        tree.count(zone, joules * 1_000_000);
    }
    assert_eq!(total(&mut meters, 1), (165.0, "2 packages and their memory".to_owned()));
    let cores: Vec<(u32, f64)> = meters
        .measured()
        .energy
        .iter()
        .filter(|energy| energy.domain.part == Part::Core)
        .map(|energy| (energy.domain.package, energy.joules))
        .collect();
    assert_eq!(cores, [(0, 80.0), (1, 30.0)]);
}

#[test]
fn the_same_counter_in_another_window_is_not_counted_again() {
    let tree = Tree::new();
    tree.zone("intel-rapl-mmio:0", "package-0", 0);
    tree.zone("intel-rapl:0", "package-0", 0);
    let mut meters = tree.meters();
    tree.count("intel-rapl-mmio:0", 7_000_000);
    tree.count("intel-rapl:0", 7_000_000);
    assert_eq!(joules(&mut meters, 1), [("powercap intel-rapl:0 package-0".to_owned(), 7.0)]);
}

#[test]
fn dies_with_counters_of_their_own_are_one_package() {
    let tree = Tree::new();
    tree.zone("intel-rapl:0", "package-0-die-0", 0);
    tree.zone("intel-rapl:1", "package-0-die-1", 0);
    let mut meters = tree.meters();
    tree.count("intel-rapl:0", 1_000_000);
    tree.count("intel-rapl:1", 2_000_000);
    assert_eq!(total(&mut meters, 1), (3.0, "1 package, without memory".to_owned()));
}

#[test]
fn the_platform_contains_all_unless_it_counts_less_than_that() {
    let tree = Tree::new();
    tree.zone("intel-rapl:0", "package-0", 0);
    tree.zone("intel-rapl:1", "psys", 0);
    let mut meters = tree.meters();
    tree.count("intel-rapl:0", 10_000_000);
    tree.count("intel-rapl:1", 25_000_000);
    assert_eq!(total(&mut meters, 1), (25.0, "the platform, memory included".to_owned()));
    tree.count("intel-rapl:0", 30_000_000);
    assert_eq!(total(&mut meters, 2), (30.0, "1 package, without memory".to_owned()));
    let missing: Vec<String> = meters.measured().missing.iter().map(ToString::to_string).collect();
    assert_eq!(missing, ["powercap intel-rapl:1 psys: it is less than the packages, which are part of it"]);
}

#[test]
fn a_counter_that_does_not_move_measures_nothing() {
    let tree = Tree::new();
    tree.zone("intel-rapl:0", "package-0", 3);
    assert_eq!(why_not(&mut tree.meters(), 3), "powercap intel-rapl:0 package-0: it did not move in 3.0 s");
}

#[test]
fn graphics_may_be_off() {
    let tree = Tree::new();
    tree.zone("intel-rapl:0", "package-0", 0);
    tree.zone("intel-rapl:0:0", "uncore", 0);
    let mut meters = tree.meters();
    tree.count("intel-rapl:0", 1_000_000);
    assert_eq!(joules(&mut meters, 1)[1], ("powercap intel-rapl:0:0 uncore".to_owned(), 0.0));
}

#[test]
fn a_package_that_is_lost_leaves_no_total() {
    let tree = Tree::new();
    tree.zone("intel-rapl:0", "package-0", 0);
    tree.zone("intel-rapl:1", "package-1", 0);
    let mut meters = tree.meters();
    tree.count("intel-rapl:0", 1_000_000);
    fs::remove_dir_all(tree.root().join("sys/class/powercap/intel-rapl:1")).unwrap();
    assert_eq!(
        why_not(&mut meters, 2),
        "powercap intel-rapl:1 package-1: it was lost after 2.0 s: it cannot be read: No such file or directory"
    );
    // That it is back helps nobody.
    tree.zone("intel-rapl:1", "package-1", 5);
    meters.sample_at(seconds(3));
    assert_eq!(meters.measured().energy.len(), 1);
}

#[test]
fn what_no_counter_would_say_is_named() {
    for (text, shown) in
        [("-5", "-5"), ("", ""), ("12 apples and more of them", "12 apples and more o"), ("1\u{1b}x", "1x")]
    {
        let tree = Tree::new();
        tree.zone("intel-rapl:0", "package-0", 0);
        tree.write("class/powercap/intel-rapl:0/energy_uj", text);
        let expected =
            format!("powercap intel-rapl:0 package-0: it says `{shown}`, which is no number that it could have");
        assert_eq!(why_not(&mut tree.meters(), 1), expected);
    }
}

#[test]
fn bytes_that_are_no_text_are_no_number() {
    let tree = Tree::new();
    tree.zone("intel-rapl:0", "package-0", 0);
    fs::write(tree.root().join("sys/class/powercap/intel-rapl:0/energy_uj"), b"\xff\xfe1\n").unwrap();
    assert!(why_not(&mut tree.meters(), 1).contains("bytes that are no text"));
}

#[test]
fn a_counter_behind_a_permission_is_refused_and_not_absent() {
    let why = Why::of(&std::io::Error::from(std::io::ErrorKind::PermissionDenied));
    assert_eq!(why, Why::NotAllowed);
    // Root may read everything, so that the real thing can be seen only without it.
    let tree = Tree::new();
    tree.zone("intel-rapl:0", "package-0", 0);
    let path = tree.root().join("sys/class/powercap/intel-rapl:0/energy_uj");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&path).is_err() {
        assert_eq!(why_not(&mut tree.meters(), 1), "powercap intel-rapl:0 package-0: only root may read it");
    }
}

#[test]
fn zones_without_a_counter_of_energy_are_no_meters() {
    let tree = Tree::new();
    tree.write("class/powercap/dtpm:0/name", "soc");
    tree.write("class/powercap/dtpm:0/power_uw", "5000000");
    tree.write("class/powercap/intel-rapl/enabled", "1");
    assert!(tree.meters().is_empty());
    assert_eq!(why_not(&mut tree.meters(), 1), "nothing here counts energy: no RAPL, no sensor, no battery");
}

/// The events of a machine with two processors, in 2⁻³² J, but those of the platform in millijoules.
fn write_events(tree: &Tree) {
    const FOLDER: &str = "bus/event_source/devices/power";
    tree.write(&format!("{FOLDER}/type"), "9");
    tree.write(&format!("{FOLDER}/cpumask"), "0,8");
    for (name, config, scale) in [
        ("energy-pkg", "event=0x02", "2.3283064365386962890625e-10"),
        ("energy-ram", "event=3", "2.3283064365386962890625e-10"),
        ("energy-psys", "event=0x05", "1e-3"),
        ("energy-odd", "event=0x06", "1e-3"),
    ] {
        tree.write(&format!("{FOLDER}/events/{name}"), config);
        tree.write(&format!("{FOLDER}/events/{name}.scale"), scale);
        tree.write(&format!("{FOLDER}/events/{name}.unit"), "Joules");
    }
    tree.write("devices/system/cpu/cpu8/topology/physical_package_id", "1");
    tree.write("devices/system/cpu/cpu8/topology/die_id", "4");
}

#[test]
fn events_are_opened_on_each_processor_and_the_platforms_once() {
    let tree = Tree::new();
    write_events(&tree);
    let opens = Opens::default();
    let mut meters = Meters::find_with(tree.root(), &opens, Instant::now());
    let event = |config, cpu| perf::EnergyEvent { kind: 9, config, cpu };
    assert_eq!(*opens.0.lock().unwrap(), [event(2, 0), event(2, 8), event(5, 0), event(3, 0), event(3, 8)]);
    meters.sample_at(seconds(1));
    let measured = meters.measured();
    let domains: Vec<(Part, u32, u32)> =
        measured.energy.iter().map(|energy| (energy.domain.part, energy.domain.package, energy.domain.die)).collect();
    assert_eq!(
        domains,
        [(Part::Package, 0, 0), (Part::Package, 1, 0), (Part::Platform, 0, 0), (Part::Dram, 0, 0), (Part::Dram, 1, 0)]
    );
    // 2 counts of 2⁻³² J, and 5 mJ.
    assert_eq!(measured.energy[0].joules, 2.0 / 4_294_967_296.0);
    assert_eq!(measured.total().unwrap().joules, 0.005);
}

#[test]
fn events_stand_in_for_counters_that_only_root_may_read() {
    let tree = Tree::new();
    write_events(&tree);
    tree.zone("intel-rapl:0", "package-0", 0);
    tree.write("class/powercap/intel-rapl:0/energy_uj", "refused");
    let mut meters = Meters::find_with(tree.root(), &Opens::default(), Instant::now());
    meters.sample_at(seconds(1));
    assert!(meters.measured().energy.iter().any(|energy| energy.source == "perf power/energy-pkg/ on CPU 0"));
    assert_eq!(meters.measured().missing, []);
    // With neither, both are named.
    let why = why_not(&mut tree.meters(), 1);
    assert!(why.contains("`refused`") && why.contains("power/energy-pkg/ on CPU 0: only root may read it"), "{why}");
}

#[test]
fn readable_zones_keep_the_events_of_their_packages_closed() {
    let tree = Tree::new();
    write_events(&tree);
    tree.zone("intel-rapl:0", "package-0", 0);
    tree.zone("intel-rapl:1", "package-1", 0);
    let mut meters = Meters::find_with(tree.root(), &Opens::default(), Instant::now());
    tree.count("intel-rapl:0", 4_000_000);
    tree.count("intel-rapl:1", 4_000_000);
    let sources: Vec<String> = joules(&mut meters, 1).into_iter().map(|(source, _)| source).collect();
    assert!(!sources.iter().any(|source| source.contains("energy-pkg")), "{sources:?}");
    assert!(sources.iter().any(|source| source.contains("energy-ram")), "{sources:?}");
}

/// 10 W, then 30 W a second later, then 30 W for another second: 20 J and 30 J.
#[test]
fn powers_are_added_up_between_their_samples() {
    let tree = Tree::new();
    tree.write("class/hwmon/hwmon0/name", "power_meter");
    let watts = |watts: u32| tree.write("class/hwmon/hwmon0/power1_average", &(watts * 1_000_000).to_string());
    watts(10);
    let mut meters = tree.meters();
    watts(30);
    meters.sample_at(seconds(1));
    assert_eq!(total(&mut meters, 2), (50.0, "the machine, by hwmon hwmon0 power_meter 1".to_owned()));
    assert_eq!(meters.measured().energy[0].method, Method::Sampled { longest_gap: seconds(1) });
    assert!(meters.measured().total().unwrap().sampled);
}

#[test]
fn sensors_that_nobody_knows_are_shown_and_not_summed() {
    let tree = Tree::new();
    tree.write("class/hwmon/hwmon0/name", "ina219");
    tree.write("class/hwmon/hwmon0/power1_input", "2000000");
    tree.write("class/hwmon/hwmon1/name", "amdgpu");
    tree.write("class/hwmon/hwmon1/power1_label", "PPT");
    tree.write("class/hwmon/hwmon1/power1_average", "5000000");
    tree.write("class/hwmon/hwmon1/power1_input", "5000000");
    let mut meters = tree.meters();
    assert_eq!(
        joules(&mut meters, 2),
        [("hwmon hwmon0 ina219 1".to_owned(), 4.0), ("hwmon hwmon1 amdgpu PPT".to_owned(), 10.0)]
    );
    assert_eq!(why_not(&mut meters, 2), "no meter says that it covers the whole machine, or a whole processor");
}

#[test]
fn sockets_of_amd_energy_are_packages_and_its_cores_are_in_them() {
    let tree = Tree::new();
    tree.write("class/hwmon/hwmon3/name", "amd_energy");
    for (number, label) in [(1, "Ecore000"), (2, "Esocket0")] {
        tree.write(&format!("class/hwmon/hwmon3/energy{number}_label"), label);
        tree.write(&format!("class/hwmon/hwmon3/energy{number}_input"), "1000000");
    }
    let mut meters = tree.meters();
    tree.write("class/hwmon/hwmon3/energy2_input", "9000000");
    assert_eq!(joules(&mut meters, 1), [("hwmon hwmon3 amd_energy Esocket0".to_owned(), 8.0)]);
    assert_eq!(total(&mut meters, 1).1, "1 package, without memory");
}

/// Ten steps of 10 mWh are 360 J.
#[test]
fn a_battery_gives_what_it_has_less_once_it_counted_often_enough() {
    let tree = Tree::new();
    tree.battery("BAT0", "Discharging");
    let level = |step: u64| tree.write("class/power_supply/BAT0/energy_now", &(50_000_000 - 10_000 * step).to_string());
    level(0);
    let mut meters = tree.meters();
    for step in 1..=9 {
        level(step);
        meters.sample_at(seconds(step));
    }
    assert_eq!(
        why_not(&mut meters, 9),
        "battery BAT0: it counted on 9 times only: its steps are too big for so short a time"
    );
    level(10);
    assert_eq!(total(&mut meters, 10), (360.0, "the machine, by battery BAT0".to_owned()));
}

/// 1 mAh at 10 V are 36 J, ten times.
#[test]
fn a_battery_that_counts_charge_is_worth_its_voltage() {
    let tree = Tree::new();
    tree.battery("BAT0", "Discharging");
    tree.write("class/power_supply/BAT0/voltage_now", "10000000");
    tree.write("class/power_supply/BAT0/charge_now", "2000000");
    let mut meters = tree.meters();
    for step in 1..=10 {
        tree.write("class/power_supply/BAT0/charge_now", &(2_000_000 - 1_000 * step).to_string());
        meters.sample_at(seconds(step));
    }
    assert!((total(&mut meters, 10).0 - 360.0).abs() < 1e-9);
}

#[test]
fn batteries_count_only_while_nothing_feeds_the_machine() {
    let tree = Tree::new();
    tree.battery("BAT0", "Charging");
    tree.write("class/power_supply/BAT0/energy_now", "50000000");
    assert_eq!(why_not(&mut tree.meters(), 1), "battery BAT0: it is not discharging");
    tree.battery("BAT0", "Discharging");
    tree.write("class/power_supply/AC/type", "Mains");
    tree.write("class/power_supply/AC/online", "1");
    assert_eq!(why_not(&mut tree.meters(), 1), "battery BAT0: the machine is on mains power");
    tree.write("class/power_supply/AC/online", "0");
    let mut meters = tree.meters();
    tree.battery("BAT0", "Charging");
    assert_eq!(why_not(&mut meters, 4), "battery BAT0: it was lost after 4.0 s: it is not discharging");
}

#[test]
fn a_mouse_does_not_feed_the_machine() {
    let tree = Tree::new();
    tree.battery("hidpp_battery_0", "Discharging");
    tree.write("class/power_supply/hidpp_battery_0/scope", "Device");
    tree.write("class/power_supply/hidpp_battery_0/energy_now", "1000");
    assert!(tree.meters().is_empty());
}

#[test]
fn a_battery_among_the_sensors_is_not_another_one() {
    let tree = Tree::new();
    tree.write("class/hwmon/hwmon2/name", "BAT0");
    tree.write("class/hwmon/hwmon2/power1_input", "9000000");
    tree.write("class/hwmon/hwmon2/device/type", "Battery");
    assert!(tree.meters().is_empty());
}

#[test]
fn what_was_counted_before_a_new_beginning_is_forgotten() {
    let tree = Tree::new();
    tree.zone("intel-rapl:0", "package-0", 0);
    let mut meters = tree.meters();
    tree.count("intel-rapl:0", 40_000_000);
    meters.restart_at(seconds(10));
    tree.count("intel-rapl:0", 42_000_000);
    assert_eq!(total(&mut meters, 12).0, 2.0);
    assert_eq!(meters.measured().time, seconds(2));
}
