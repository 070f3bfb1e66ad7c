// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines that are pretended: files that say what there is, and counters that move as a power model has it, by what the files'
//! settings are and who is busy. What was pretended must come back.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use super::*;
use crate::changes::left_behind;
use crate::meter::{EnergyEvent, EnergyEvents, Probe, Why};
use crate::testing;

/// How far off what comes back may be.
const TOLERANCE: f64 = 0.05;
const STEP: Duration = Duration::from_millis(100);
const CPU: &str = "sys/devices/system/cpu";

/// Cores that are alike.
#[derive(Debug, Clone)]
struct Cores {
    cores: Vec<Vec<u32>>,
    policy: &'static str,
    capacity: u32,
    /// kHz and volts.
    clocks: Vec<(u32, f64)>,
    coefficient: f64,
    leakage: f64,
    /// Number, name and watts, shallow to deep.
    states: Vec<(u32, &'static str, f64)>,
    smt_speed: f64,
    smt_activity: f64,
    stall_activity: f64,
    /// So many cores reach the highest clock together.
    boosted: usize,
}

/// A machine.
#[derive(Debug)]
struct Pretended {
    root: std::path::PathBuf,
    now: Duration,
    cores: Vec<Cores>,
    uncore: Uncore,
    dram: Dram,
    /// Microjoules of package, cores and memory.
    counted: [f64; 3],
    noise: u64,
    /// Cores stay in their shallowest state, whatever is switched off.
    stubborn: bool,
    /// Of CPUs that sleep, in which state, and for how many microseconds that nobody has counted yet.
    asleep: BTreeMap<u32, (u32, u64)>,
    /// The count of all cores is that of the first.
    counts_one_core: bool,
    /// Something else takes CPUs for half of the time while several are busy.
    taken: bool,
    /// Clocks are held while somebody is busy.
    holds: bool,
    /// The bench panics after so many measurements.
    panics_after: Option<usize>,
}

impl Pretended {
    fn number(&self, path: &str) -> u32 {
        fs::read_to_string(self.root.join(path)).unwrap().trim().parse().unwrap()
    }

    fn write(&self, path: &str, value: u64) {
        fs::write(self.root.join(path), format!("{value}\n")).unwrap();
    }

    /// The state that a CPU sleeps in; for one that begins to, the deepest that it has.
    fn state<'a>(&self, cores: &'a Cores, cpu: u32) -> &'a (u32, &'static str, f64) {
        let is_on =
            |(state, ..): &&(u32, &str, f64)| self.number(&format!("{CPU}/cpu{cpu}/cpuidle/state{state}/disable")) == 0;
        let first = cores.states.first().unwrap();
        match self.asleep.get(&cpu) {
            Some((number, _)) => cores.states.iter().find(|state| state.0 == *number).unwrap(),
            None if self.stubborn => first,
            None => cores.states.iter().rev().find(is_on).unwrap_or(first),
        }
    }

    /// As in the kernel: only now it counts, and looks which states it has.
    fn wakes(&mut self, cpu: u32) {
        if let Some((state, slept)) = self.asleep.remove(&cpu) {
            let path = format!("{CPU}/cpu{cpu}/cpuidle/state{state}/time");
            self.write(&path, u64::from(self.number(&path)) + slept);
        }
    }

    /// The clock that busy cores of a kind have now.
    fn clock(&self, cores: &Cores, busy: &[u32]) -> (u32, f64) {
        let khz = self.number(&format!("{CPU}/cpufreq/{}/scaling_max_freq", cores.policy));
        let lowest = self.number(&format!("{CPU}/cpufreq/{}/scaling_min_freq", cores.policy));
        assert!(khz == lowest || !self.holds, "it is held");
        let at = cores.clocks.iter().position(|(known, _)| *known == khz).expect("a clock that there is");
        let active = cores.cores.iter().filter(|core| core.iter().any(|cpu| busy.contains(cpu))).count();
        let is_boosted = at + 1 < cores.clocks.len() || active <= cores.boosted;
        cores.clocks[if is_boosted { at } else { at - 1 }]
    }

    /// Watts of package, cores and memory.
    fn watts(&self, busy: &[u32], work: Work) -> [f64; 3] {
        let (mut cores_watts, mut is_awake, mut first) = (0.0, false, None);
        for cores in &self.cores {
            for core in &cores.cores {
                first = first.or((cores_watts > 0.0).then_some(cores_watts));
                let threads = core.iter().filter(|cpu| busy.contains(cpu)).count();
                if threads == 0 {
                    let state = core.iter().map(|cpu| self.state(cores, *cpu)).min_by_key(|state| state.0).unwrap();
                    is_awake |= Some(state.0) != cores.states.last().map(|last| last.0);
                    cores_watts += state.2;
                    continue;
                }
                let (khz, volts) = self.clock(cores, busy);
                let smt = if threads > 1 { cores.smt_activity } else { 1.0 };
                let activity = if work == Work::Compute { smt } else { smt * cores.stall_activity };
                cores_watts +=
                    cores.coefficient * 1e-9 * f64::from(khz) * volts * volts * activity + cores.leakage * volts;
                is_awake = true;
            }
        }
        let uncore = if is_awake { self.uncore.awake } else { self.uncore.idle };
        let bytes = if matches!(work, Work::Read { .. }) { busy.len() as f64 * 4e9 } else { 0.0 };
        let counted = first.filter(|_| self.counts_one_core).unwrap_or(cores_watts);
        [cores_watts + uncore, counted, self.dram.idle_watts + bytes * self.dram.joules_per_byte]
    }

    /// Up to 2 % more or less.
    fn error(&mut self) -> f64 {
        self.noise ^= self.noise << 13;
        self.noise ^= self.noise >> 7;
        self.noise ^= self.noise << 17;
        0.98 + 0.04 * (self.noise % 1000) as f64 / 1000.0
    }

    fn step(&mut self, busy: &[u32], work: Work) {
        self.now += STEP;
        let watts = self.watts(busy, work);
        for (zone, watts) in watts.into_iter().enumerate() {
            self.counted[zone] += watts * self.error() * STEP.as_micros() as f64;
            for path in ["intel-rapl:0", "intel-rapl:0:0", "intel-rapl:0:1"].iter().skip(zone).take(1) {
                let path = format!("sys/class/powercap/{path}/energy_uj");
                if self.root.join(&path).exists() {
                    self.write(&path, self.counted[zone] as u64);
                }
            }
        }
        for cores in self.cores.clone() {
            for cpu in cores.cores.iter().flatten().filter(|cpu| !busy.contains(cpu)) {
                let state = self.state(&cores, *cpu).0;
                self.asleep.entry(*cpu).or_insert((state, 0)).1 += STEP.as_micros() as u64;
            }
        }
    }

    fn per_s(&self, cpu: u32, busy: &[u32], work: Work) -> Done {
        let cores = self.cores.iter().find(|cores| cores.cores.iter().flatten().any(|other| *other == cpu)).unwrap();
        let core = cores.cores.iter().find(|core| core.contains(&cpu)).unwrap();
        let mhz = f64::from(self.clock(cores, busy).0) / 1e3;
        let shared = if core.iter().filter(|cpu| busy.contains(cpu)).count() > 1 { cores.smt_speed } else { 1.0 };
        let per_s = match work {
            Work::Compute if self.taken && busy.len() > 1 => mhz * 0.5e6 * shared,
            Work::Compute => mhz * 1e6 * shared,
            Work::Chase { .. } => 1e7 / busy.len() as f64,
            Work::Read { .. } => 4e9,
        };
        Done { per_s, mhz: Some(mhz) }
    }
}

impl Bench for Pretended {
    fn now(&self) -> Duration {
        self.now
    }

    fn run(
        &mut self,
        cpus: &[u32],
        work: Work,
        time: Duration,
        each: &mut dyn FnMut(Duration) -> ControlFlow<()>,
    ) -> io::Result<Vec<Done>> {
        if let Some(left) = &mut self.panics_after {
            *left = left.checked_sub(1).expect("it panics");
        }
        cpus.iter().for_each(|cpu| self.wakes(*cpu));
        let end = self.now + time;
        while each(self.now).is_continue() && self.now < end {
            self.step(cpus, work);
        }
        Ok(cpus.iter().map(|cpu| self.per_s(*cpu, cpus, work)).collect())
    }

    fn wake(&mut self, cpus: &[u32]) -> io::Result<()> {
        cpus.iter().for_each(|cpu| self.wakes(*cpu));
        Ok(())
    }

    fn switch(&mut self, _: u32) -> io::Result<f64> {
        Ok(1.5e-6)
    }

    fn moved(&mut self, _: u32, to: u32) -> io::Result<f64> {
        Ok(if to < 4 { 2e-6 } else { 9e-6 })
    }
}

/// Nobody may open events.
#[derive(Debug)]
struct Refuses;

impl EnergyEvents for Refuses {
    fn open(&self, _: EnergyEvent) -> Result<Box<dyn Probe>, Why> {
        Err(Why::NotAllowed)
    }
}

/// The files of a machine.
fn files(tree: &testing::Tree, cores: &[Cores], zones: &[(&str, &str)]) {
    let write = |path: &str, text: &str| tree.write(path, &format!("{text}\n"));
    let all: Vec<u32> = cores.iter().flat_map(|cores| cores.cores.iter().flatten().copied()).collect();
    let list = |cpus: &[u32]| cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    write(&format!("{CPU}/online"), &list(&all));
    write(&format!("{CPU}/present"), &list(&all));
    for (zone, name) in zones {
        write(&format!("sys/class/powercap/{zone}/name"), name);
        write(&format!("sys/class/powercap/{zone}/energy_uj"), "0");
    }
    for Cores { cores, policy, capacity, clocks, states, .. } in cores {
        let (own, policy) = (cores.concat(), format!("{CPU}/cpufreq/{policy}"));
        let khz: Vec<u32> = clocks.iter().map(|(khz, _)| *khz).collect();
        write(&format!("{policy}/related_cpus"), &list(&own).replace(',', " "));
        write(&format!("{policy}/scaling_available_frequencies"), &list(&khz).replace(',', " "));
        for (file, khz) in [("cpuinfo_min_freq", khz[0]), ("cpuinfo_max_freq", khz[khz.len() - 1])] {
            write(&format!("{policy}/{file}"), &khz.to_string());
            write(&format!("{policy}/{}", file.replace("cpuinfo", "scaling")), &khz.to_string());
        }
        for core in cores {
            for cpu in core {
                let cpu = format!("{CPU}/cpu{cpu}");
                write(&format!("{cpu}/topology/core_cpus_list"), &list(core));
                write(&format!("{cpu}/topology/physical_package_id"), "0");
                write(&format!("{cpu}/cpu_capacity"), &capacity.to_string());
                write(&format!("{cpu}/cache/index3/level"), "3");
                write(&format!("{cpu}/cache/index3/type"), "Unified");
                write(&format!("{cpu}/cache/index3/size"), "2048K");
                write(&format!("{cpu}/cache/index3/shared_cpu_list"), &list(&own));
                for (state, name, _) in states {
                    write(&format!("{cpu}/cpuidle/state{state}/name"), name);
                    write(&format!("{cpu}/cpuidle/state{state}/disable"), "0");
                    write(&format!("{cpu}/cpuidle/state{state}/time"), "0");
                }
            }
        }
    }
}

/// Voltages, as the kernel's OPP library shows them.
fn voltages(tree: &testing::Tree, cores: &[Cores]) {
    for Cores { cores, clocks, .. } in cores {
        for (cpu, (khz, volts)) in cores.iter().flatten().flat_map(|cpu| clocks.iter().map(move |clock| (cpu, clock))) {
            let opp = format!("sys/kernel/debug/opp/cpu{cpu}/opp:{khz}000/supply-0/u_volt_target");
            tree.write(&opp, &format!("{:.0}\n", volts * 1e6));
        }
    }
}

fn pretended(tree: &testing::Tree, cores: Vec<Cores>) -> Pretended {
    Pretended {
        root: tree.root().to_owned(),
        now: Duration::ZERO,
        cores,
        uncore: Uncore { awake: 6.0, idle: 1.5 },
        dram: Dram { idle_watts: 2.0, joules_per_byte: 0.2e-9 },
        counted: [0.0; 3],
        noise: 0x1234_5678_9ABC_DEF1,
        stubborn: false,
        asleep: BTreeMap::new(),
        counts_one_core: false,
        taken: false,
        holds: true,
        panics_after: None,
    }
}

/// Four cores with two threads each, of which two reach the highest clock.
fn x86() -> Vec<Cores> {
    vec![Cores {
        cores: (0..4).map(|core| vec![core, core + 4]).collect(),
        policy: "policy0",
        capacity: 1024,
        clocks: vec![(800_000, 0.7), (1_600_000, 0.8), (2_400_000, 0.9), (3_200_000, 1.0), (4_000_000, 1.2)],
        coefficient: 1800.0,
        leakage: 0.5,
        states: vec![(1, "C1", 0.6), (2, "C6", 0.1)],
        smt_speed: 0.6,
        smt_activity: 1.2,
        stall_activity: 0.5,
        boosted: 2,
    }]
}

/// Four little cores and two big ones, without SMT.
fn big_little() -> Vec<Cores> {
    let little = Cores {
        cores: (0..4).map(|core| vec![core]).collect(),
        capacity: 462,
        clocks: vec![(500_000, 0.7), (1_000_000, 0.8), (1_400_000, 0.9), (1_800_000, 1.1)],
        coefficient: 110.0,
        leakage: 0.02,
        states: vec![(0, "WFI", 0.05), (1, "cpu-sleep", 0.0)],
        boosted: 4,
        ..x86().remove(0)
    };
    let big = Cores {
        cores: vec![vec![4], vec![5]],
        policy: "policy4",
        capacity: 1024,
        coefficient: 550.0,
        leakage: 0.1,
        states: vec![(0, "WFI", 0.12), (1, "cpu-sleep", 0.0)],
        ..little.clone()
    };
    vec![little, big]
}

fn measured(tree: &testing::Tree, bench: &mut Pretended) -> Calibration {
    let meters = Meters::find_with(tree.root(), &Refuses, Instant::now());
    calibrate_with(tree.root(), &tree.run(), bench, meters, &|| false).unwrap()
}

#[track_caller]
fn near(what: &str, measured: f64, pretended: f64) {
    assert!((measured / pretended - 1.0).abs() <= TOLERANCE, "{what}: {measured} instead of {pretended}");
}

fn missing<'a>(found: &'a Calibration, what: &str) -> &'a str {
    let one = found.missing.iter().find(|missing| missing.what.contains(what));
    &one.unwrap_or_else(|| panic!("{what} is not missing: {:?}", found.missing)).why
}

/// All settings, by file.
fn settings(root: &Path, cores: &[Cores]) -> Vec<String> {
    let clocks =
        cores.iter().flat_map(|cores| ["min", "max"].map(|end| format!("cpufreq/{}/scaling_{end}_freq", cores.policy)));
    let states = cores.iter().flat_map(|cores| {
        let cpus = cores.cores.iter().flatten();
        cpus.flat_map(|cpu| cores.states.iter().map(move |state| format!("cpu{cpu}/cpuidle/state{}/disable", state.0)))
    });
    clocks.chain(states).map(|path| fs::read_to_string(root.join(CPU).join(path)).unwrap().trim().to_owned()).collect()
}

/// Package, cores and memory are counted apart, and voltages are known.
#[test]
fn what_is_pretended_of_a_processor_comes_back() {
    let (tree, cores) = (testing::Tree::new(), x86());
    files(&tree, &cores, &[("intel-rapl:0", "package-0"), ("intel-rapl:0:0", "core"), ("intel-rapl:0:1", "dram")]);
    voltages(&tree, &cores);
    let before = settings(tree.root(), &cores);
    let found = measured(&tree, &mut pretended(&tree, cores.clone()));
    assert!(found.cores_are_metered);
    let (kind, own) = (&found.kinds[0], &cores[0]);
    assert_eq!((found.kinds.len(), kind.cpus.as_slice(), kind.clocks.len()), (1, &[0, 1, 2, 3, 4, 5, 6, 7][..], 5));
    for (clock, (khz, volts)) in kind.clocks.iter().zip(&own.clocks) {
        // 1800 · 4000 MHz · 1.44 V² = 10.368 W and 0.6 W leakage at the top.
        let watts = own.coefficient * 1e-9 * f64::from(*khz) * volts * volts + own.leakage * volts;
        near("a busy core", clock.watts.unwrap(), watts);
        assert_eq!((clock.khz, clock.mhz), (*khz, Some(f64::from(*khz) / 1e3)));
    }
    let curve = kind.curve.unwrap();
    near("coefficient", curve.coefficient, 1800.0);
    assert!((curve.watts(800.0, 0.7) - 1.0556).abs() < 0.05, "{curve:?}: 0.7056 W and 0.35 W");
    let idle: Vec<&str> = kind.idle.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(idle, ["C1", "C6"]);
    near("C1", kind.idle[0].1, 0.6);
    near("C6", kind.idle[1].1, 0.1);
    assert_eq!(kind.smt_speed, Some(0.6));
    near("smt_activity", kind.smt_activity.unwrap(), 1.2);
    near("stall_activity", kind.stall_activity.unwrap(), 0.5);
    let (uncore, dram) = (found.uncore.unwrap(), found.dram.unwrap());
    near("uncore", uncore.awake, 6.0);
    near("idle uncore", uncore.idle, 1.5);
    near("memory", dram.idle_watts, 2.0);
    near("energy of a byte", dram.joules_per_byte, 0.2e-9);
    assert_eq!((found.switch_s, found.move_s, found.move_llc_s), (Some(1.5e-6), Some(2e-6), None));
    assert!(missing(&found, "migration to another cache").contains("no two cores"));
    assert_eq!(settings(tree.root(), &cores), before, "all is given back");
    assert_eq!(left_behind(tree.root(), &tree.run()).unwrap().dead, []);
}

/// One counter for all: a core in its deepest state is taken to draw nothing, which these do. Four at the highest clock of the
/// little ones are measured together, and two big ones.
#[test]
fn what_is_pretended_of_two_kinds_comes_back_from_one_counter() {
    let (tree, cores) = (testing::Tree::new(), big_little());
    files(&tree, &cores, &[("intel-rapl:0", "package-0")]);
    let mut bench = pretended(&tree, cores.clone());
    bench.uncore = Uncore { awake: 0.4, idle: 0.1 };
    bench.noise = 7;
    let found = measured(&tree, &mut bench);
    assert!(!found.cores_are_metered && found.kinds.len() == 2);
    for (kind, own) in found.kinds.iter().zip(&cores) {
        assert_eq!((kind.curve, kind.clocks.len(), kind.smt_speed), (None, 4, None));
        for (clock, (khz, volts)) in kind.clocks.iter().zip(&own.clocks) {
            let watts = own.coefficient * 1e-9 * f64::from(*khz) * volts * volts + own.leakage * volts;
            near("a busy core", clock.watts.unwrap(), watts);
        }
        near("WFI", kind.idle[0].1, own.states[0].2);
        assert_eq!(kind.idle[1], ("cpu-sleep".to_owned(), 0.0));
    }
    near("uncore", found.uncore.unwrap().awake, 0.4);
    near("idle uncore", found.uncore.unwrap().idle, 0.1);
    near("a move to another cache", found.move_llc_s.unwrap(), 7e-6);
    assert!(missing(&found, "memory").contains("no meter counts memory"));
    assert!(missing(&found, "leakage of CPUs 4-5").contains("voltages"));
    assert!(missing(&found, "cost of a tick").contains("no file"));
}

/// AMD's count of one core, shown as that of all: more busy cores do not move it.
#[test]
fn a_count_of_one_core_is_not_taken_for_all() {
    let (tree, cores) = (testing::Tree::new(), x86());
    files(&tree, &cores, &[("intel-rapl:0", "package-0"), ("intel-rapl:0:0", "core")]);
    let mut bench = pretended(&tree, cores);
    (bench.counts_one_core, bench.cores[0].states[1].2) = (true, 0.0);
    let found = measured(&tree, &mut bench);
    assert!(!found.cores_are_metered);
    near("C1", found.kinds[0].idle[0].1, 0.6);
}

#[test]
fn cores_that_do_not_go_to_their_state_are_not_measured_in_it() {
    let (tree, cores) = (testing::Tree::new(), x86());
    files(&tree, &cores, &[("intel-rapl:0", "package-0")]);
    let mut bench = pretended(&tree, cores);
    bench.cores[0].states.insert(1, (2, "C1E", 0.3));
    bench.cores[0].states[2].0 = 3;
    files(&tree, &bench.cores, &[("intel-rapl:0", "package-0")]);
    bench.stubborn = true;
    let found = measured(&tree, &mut bench);
    assert!(missing(&found, "in C1E").starts_with("CPUs were in it for 0 % of the time"));
    assert!(found.kinds[0].idle.iter().all(|(name, _)| name != "C1E"));
    assert!(found.notes.iter().any(|note| note.starts_with("CPUs 0-7 have idle states that were not measured")));
}

/// The machine that this runs on, with measurements that take a thousandth of their time.
#[derive(Debug, Default)]
struct Hasty(ThisMachine);

impl Bench for Hasty {
    fn now(&self) -> Duration {
        self.0.now()
    }

    fn run(
        &mut self,
        cpus: &[u32],
        work: Work,
        time: Duration,
        each: &mut dyn FnMut(Duration) -> ControlFlow<()>,
    ) -> io::Result<Vec<Done>> {
        self.0.run(cpus, work, time / 1000, each)
    }

    fn wake(&mut self, cpus: &[u32]) -> io::Result<()> {
        self.0.wake(cpus)
    }

    fn switch(&mut self, cpu: u32) -> io::Result<f64> {
        self.0.switch(cpu)
    }

    fn moved(&mut self, from: u32, to: u32) -> io::Result<f64> {
        self.0.moved(from, to)
    }
}

#[test]
fn a_machine_without_meters_clocks_and_idle_states_says_so() {
    let tree = testing::Tree::new();
    tree.write(&format!("{CPU}/online"), "0\n");
    let meters = Meters::find_with(tree.root(), &Refuses, Instant::now());
    let found = calibrate_with(tree.root(), &tree.run(), &mut Hasty::default(), meters, &|| false).unwrap();
    assert_eq!((found.meter.as_ref(), found.uncore, found.dram), (None, None, None));
    assert_eq!(missing(&found, "watts of clocks"), "nothing here counts energy: no RAPL, no sensor, no battery");
    assert!(missing(&found, "clocks of CPUs 0").contains("no cpufreq"));
    assert!(found.switch_s.is_some_and(|seconds| seconds.is_finite() && seconds >= 0.0));
    let kind = &found.kinds[0];
    assert!(kind.clocks.iter().all(|clock| clock.khz == 0 && clock.watts.is_none()) && kind.idle.is_empty());
}

#[test]
fn whoever_is_interrupted_gives_everything_back() {
    let (tree, cores) = (testing::Tree::new(), x86());
    files(&tree, &cores, &[("intel-rapl:0", "package-0")]);
    let before = settings(tree.root(), &cores);
    let meters = Meters::find_with(tree.root(), &Refuses, Instant::now());
    let asked = std::cell::Cell::new(0);
    // 15 times in a measurement of 1.3 s, 45 times in one of 4.3 s.
    let stop = || asked.replace(asked.get() + 1) > 200;
    let mut bench = pretended(&tree, cores.clone());
    let stopped = calibrate_with(tree.root(), &tree.run(), &mut bench, meters, &stop);
    assert_eq!(stopped.unwrap_err().to_string(), "clocks and idle states are as they were before");
    assert!(bench.now < Duration::from_secs(20), "it goes on for {:?}", bench.now);
    assert_eq!(settings(tree.root(), &cores), before);
}

#[test]
fn a_panic_gives_everything_back() {
    let (tree, cores) = (testing::Tree::new(), x86());
    files(&tree, &cores, &[("intel-rapl:0", "package-0")]);
    let before = settings(tree.root(), &cores);
    let mut bench = pretended(&tree, cores.clone());
    bench.panics_after = Some(7);
    catch_unwind(AssertUnwindSafe(|| measured(&tree, &mut bench))).expect_err("it panics");
    assert_eq!(settings(tree.root(), &cores), before);
    assert_eq!(left_behind(tree.root(), &tree.run()).unwrap().dead, []);
}

#[test]
fn what_somebody_else_changed_meanwhile_stays_theirs_and_is_said() {
    let (tree, cores) = (testing::Tree::new(), x86());
    files(&tree, &cores, &[("intel-rapl:0", "package-0")]);
    let theirs = format!("{CPU}/cpu2/cpuidle/state1/disable");
    let meters = Meters::find_with(tree.root(), &Refuses, Instant::now());
    let asked = std::cell::Cell::new(0);
    let stop = || {
        let stops = asked.replace(asked.get() + 1) > 100;
        if stops {
            tree.write(&theirs, "2\n");
        }
        stops
    };
    let stopped = calibrate_with(tree.root(), &tree.run(), &mut pretended(&tree, cores), meters, &stop);
    let said = stopped.unwrap_err().to_string();
    assert!(said.starts_with("whether CPU 2 goes without its idle state 1: somebody has changed that"), "{said}");
    assert_eq!(tree.read(&theirs), "2\n");
}

/// A processor whose cores count apart needs no two of them at one clock.
#[test]
fn one_core_is_enough_where_cores_are_counted_apart() {
    let (tree, cores) = (testing::Tree::new(), x86());
    files(&tree, &cores, &[("intel-rapl:0", "package-0"), ("intel-rapl:0:0", "core")]);
    let mut bench = pretended(&tree, cores);
    bench.cores[0].boosted = 1;
    let found = measured(&tree, &mut bench);
    // 1800 uW/MHz/V^2 * 4000 MHz * 1.44 V^2 + 0.5 W/V * 1.2 V
    near("a busy core", found.kinds[0].clocks[4].watts.unwrap(), 10.968);
    near("uncore", found.uncore.unwrap().awake, 6.0);
    assert_eq!(found.notes, Vec::<String>::new(), "the rest is the same at that clock, too");
}

/// A core whose time something else takes has the same clock, and draws as much.
#[test]
fn cores_that_are_slower_together_at_the_same_clock_are_measured_together() {
    let (tree, cores) = (testing::Tree::new(), x86());
    files(&tree, &cores, &[("intel-rapl:0", "package-0")]);
    let mut bench = pretended(&tree, cores);
    (bench.taken, bench.cores[0].states[1].2) = (true, 0.0);
    let found = measured(&tree, &mut bench);
    near("a busy core", found.kinds[0].clocks[4].watts.unwrap(), 10.968);
    assert_eq!(found.notes, Vec::<String>::new());
}

#[test]
fn what_cannot_be_held_is_not_measured() {
    let (tree, cores) = (testing::Tree::new(), x86());
    files(&tree, &cores, &[("intel-rapl:0", "package-0")]);
    tree.write("run/tandem", "not a folder");
    let before = settings(tree.root(), &cores);
    let mut bench = pretended(&tree, cores.clone());
    bench.holds = false;
    let found = measured(&tree, &mut bench);
    assert!(missing(&found, "CPUs 0-7 at each of their clocks").contains("journal"));
    assert!(missing(&found, "idle watts of CPUs 0-7").contains("journal"));
    assert_eq!((found.kinds[0].clocks.len(), found.kinds[0].idle.len()), (0, 0));
    assert_eq!(settings(tree.root(), &cores), before);
}
