// SPDX-License-Identifier: MIT OR Apache-2.0
//! A damaged `/sys` and `/proc`, from any text: each line replaces a file of [`FILES`]. `12 4096` is file 12 with this text, in
//! which `\n` begins a new line; `12 -` removes it, and `12` alone empties it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tandem_live::{Host, Meters, Plan, SessionRequest};
use tandem_loader::facts::Word;
use tandem_loader::pmus::Pmus;
use tandem_loader::{Machine, System};
use tandem_simulator::machine::Machine as Described;
use tandem_simulator::machine::detect::detect;
use tempfile::TempDir;

use super::scratch;

/// Lines of an input that are looked at.
const LINES: usize = 12;
/// Bytes of a file that is replaced.
const LONGEST: usize = 512;

/// What is there of an undamaged machine, beside what each of its [`CPUS`] has.
const FILES: &[(&str, &str)] = &[
    ("sys/devices/system/cpu/online", "0-3"),
    ("sys/devices/system/cpu/possible", "0-3"),
    ("sys/devices/system/cpu/present", "0-3"),
    ("sys/devices/system/cpu/smt/control", "on"),
    ("sys/devices/cpu_core/cpus", "0-1"),
    ("sys/devices/cpu_atom/cpus", "2-3"),
    ("sys/devices/system/node/node0/cpulist", "0-3"),
    ("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 8000000 kB"),
    ("proc/meminfo", "MemTotal: 8000000 kB"),
    (
        "proc/cpuinfo",
        "processor : 0\nvendor_id : GenuineIntel\ncpu family : 6\nmodel : 151\nmodel name : X\ncpu MHz : 900.0",
    ),
    ("sys/firmware/devicetree/base/model", "Board"),
    ("sys/kernel/debug/energy_model/cpu0/cpus", "0-3"),
    ("sys/kernel/debug/energy_model/cpu0/flags", "0x1"),
    ("sys/kernel/debug/energy_model/cpu0/ps:1000000/frequency", "1000000"),
    ("sys/kernel/debug/energy_model/cpu0/ps:1000000/power", "300000"),
    ("sys/kernel/debug/energy_model/cpu0/ps:2000000/frequency", "2000000"),
    ("sys/kernel/debug/energy_model/cpu0/ps:2000000/power", "900000"),
    ("sys/class/powercap/intel-rapl:0/name", "package-0"),
    ("sys/class/powercap/intel-rapl:0/energy_uj", "123456"),
    ("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850"),
    ("sys/class/hwmon/hwmon0/name", "board"),
    ("sys/class/hwmon/hwmon0/power1_input", "1500000"),
    ("sys/class/hwmon/hwmon0/energy1_input", "1500000"),
    ("sys/class/power_supply/BAT0/type", "Battery"),
    ("sys/class/power_supply/BAT0/status", "Discharging"),
    ("sys/class/power_supply/BAT0/energy_now", "40000000"),
    ("sys/bus/event_source/devices/cpu_core/cpus", "0-1"),
    ("sys/bus/event_source/devices/cpu_core/type", "4"),
    ("sys/bus/event_source/devices/cpu_core/events/cycles", "event=0x3c"),
    ("sys/bus/event_source/devices/power/type", "12"),
    ("sys/bus/event_source/devices/power/cpumask", "0"),
    ("sys/bus/event_source/devices/power/events/energy-pkg", "event=0x02"),
    ("sys/bus/event_source/devices/power/events/energy-pkg.scale", "2.3283064365386962890625e-10"),
    ("sys/bus/event_source/devices/power/events/energy-pkg.unit", "Joules"),
    ("sys/kernel/sched_ext/state", "disabled"),
    ("sys/kernel/security/lockdown", "[none] integrity confidentiality"),
    ("proc/sys/kernel/osrelease", "6.12.48+deb13-amd64"),
    ("proc/sys/kernel/random/boot_id", "b"),
    ("proc/sys/net/core/bpf_jit_enable", "1"),
    ("proc/self/status", "Name:\tx\nUid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff"),
    ("proc/self/uid_map", "         0          0 4294967295"),
    ("proc/config.gz", ""),
];

/// CPUs of the undamaged machine.
const CPUS: usize = 3;

/// What is there of each CPU.
const OF_CPU: &[(&str, &str)] = &[
    ("topology/core_cpus_list", "{cpu}"),
    ("topology/physical_package_id", "0"),
    ("topology/die_id", "0"),
    ("topology/cluster_cpus_list", "0-3"),
    ("cache/index2/level", "2"),
    ("cache/index2/type", "Unified"),
    ("cache/index2/size", "2048K"),
    ("cache/index2/shared_cpu_list", "0-3"),
    ("cpu_capacity", "1024"),
    ("acpi_cppc/highest_perf", "60"),
    ("acpi_cppc/nominal_freq", "2000"),
    ("cpufreq/base_frequency", "2000000"),
    ("cpufreq/related_cpus", "{cpu}"),
    ("cpufreq/scaling_available_frequencies", "1000000 1500000 2000000"),
    ("cpufreq/scaling_boost_frequencies", "2500000"),
    ("cpufreq/cpuinfo_min_freq", "1000000"),
    ("cpufreq/cpuinfo_max_freq", "2000000"),
    ("cpufreq/cpuinfo_transition_latency", "20000"),
    ("cpufreq/scaling_driver", "acpi-cpufreq"),
    ("cpufreq/scaling_governor", "schedutil"),
    ("cpufreq/scaling_available_governors", "performance schedutil"),
    ("cpuidle/state1/name", "C1"),
    ("cpuidle/state1/latency", "2"),
    ("cpuidle/state1/residency", "4"),
];

/// An undamaged machine.
struct Tree {
    folder: TempDir,
    files: Vec<(String, String)>,
}

thread_local! {
    static TREE: Tree = Tree::new();
}

impl Tree {
    fn new() -> Self {
        let mut files: Vec<(String, String)> =
            FILES.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        for cpu in 0..CPUS {
            for (path, text) in OF_CPU {
                let text = text.replace("{cpu}", &cpu.to_string());
                if let Some(file) = path.strip_prefix("cpufreq/") {
                    files.push((format!("sys/devices/system/cpu/cpufreq/policy{cpu}/{file}"), text.clone()));
                }
                files.push((format!("sys/devices/system/cpu/cpu{cpu}/{path}"), text));
            }
        }
        let folder = scratch::folder();
        files.iter().for_each(|(path, text)| scratch::write(&folder.path().join(path), text));
        Self { folder, files }
    }

    /// Replaces files as `text` says; which.
    fn damage<'t>(&self, text: &'t str) -> BTreeMap<usize, &'t str> {
        let mut damaged = BTreeMap::new();
        for line in text.lines().take(LINES) {
            let (number, contents) = line.split_once(' ').unwrap_or((line, ""));
            let Ok(number) = number.parse::<usize>() else { continue };
            damaged.insert(number % self.files.len(), contents);
        }
        for (number, contents) in &damaged {
            let path = self.folder.path().join(&self.files[*number].0);
            if *contents == "-" {
                assert!(fs::remove_file(&path).is_ok(), "{}", path.display());
            } else {
                let contents = contents.replace("\\n", "\n");
                scratch::write(&path, &contents.as_bytes()[..contents.len().min(LONGEST)]);
            }
        }
        damaged
    }

    fn mend(&self, damaged: &BTreeMap<usize, &str>) {
        for number in damaged.keys() {
            let (path, text) = &self.files[*number];
            scratch::write(&self.folder.path().join(path), text);
        }
    }
}

/// Reads the machine that bytes make of the undamaged one.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    TREE.with(|tree| {
        let damaged = tree.damage(text);
        look(tree.folder.path(), text.len());
        tree.mend(&damaged);
    });
}

/// Reads the machine as one of those who do: each has hundreds of files to read.
fn look(root: &Path, who: usize) {
    match who % 4 {
        0 => facts(root),
        1 => plan(root),
        2 => meters(root),
        _ => describe(root),
    }
}

fn facts(root: &Path) {
    let Ok(machine) = Machine::read(root) else { return };
    let system = System::of(&machine);
    Word::all().for_each(|word| drop(system.all(word)));
    let pmus = Pmus::read(root);
    (0..machine.cpus.len()).for_each(|cpu| {
        let _ = pmus.config(cpu, 1);
    });
}

fn plan(root: &Path) {
    let Ok(host) = Host::probe(root) else { return };
    let _ = (host.kernel.missing(), host.kernel.version());
    let _ = Plan::for_host(&host, &SessionRequest::default());
}

fn meters(root: &Path) {
    let mut meters = Meters::find(root);
    meters.sample();
    let measured = meters.read();
    assert!(measured.total().is_none_or(|total| total.joules.is_finite()));
}

/// A machine that is described can be read.
fn describe(root: &Path) {
    let Ok(described) = detect(root, "fuzz") else { return };
    let read = Described::parse("fuzz", Path::new("fuzz.toml"), &described.toml, None);
    match read {
        Ok(machine) => super::machine::check(&machine),
        Err(error) => panic!("its own reader refuses it: {error}\n{}", described.toml),
    }
}
