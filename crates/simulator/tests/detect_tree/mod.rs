// SPDX-License-Identifier: MIT OR Apache-2.0
//! Builds small copies of /sys and /proc in a temporary folder, and looks into the descriptions made from them.

use std::fmt::Display;
use std::fs;
use std::path::Path;

use tandem_simulator::machine::Machine;
use tandem_simulator::machine::detect::{Detected, detect};

/// A file tree under construction. Numbers are in the units of sysfs.
pub struct Tree {
    folder: tempfile::TempDir,
}

impl Tree {
    /// An empty tree.
    pub fn empty() -> Self {
        // A large machine is ten thousand files. In memory, where the machine has such a folder, writing them takes no
        // time.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Self { folder: folder.expect("a temporary folder") }
    }

    /// A tree with the list of online CPUs.
    pub fn with_online(online: &str) -> Self {
        Self::empty().file("sys/devices/system/cpu/online", online)
    }

    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file, with the line end that the kernel writes.
    pub fn file(self, path: &str, content: impl Display) -> Self {
        let place = self.folder.path().join(path);
        let text = format!("{content}\n");
        if fs::write(&place, &text).is_err() {
            fs::create_dir_all(place.parent().expect("a file has a folder")).expect("a folder");
            fs::write(&place, &text).expect("a file");
        }
        self
    }

    /// A file of a CPU.
    pub fn cpu(self, cpu: u32, path: &str, content: impl Display) -> Self {
        self.file(&format!("sys/devices/system/cpu/cpu{cpu}/{path}"), content)
    }

    /// Package and siblings of a CPU.
    pub fn topology(self, cpu: u32, package: u32, siblings: &str) -> Self {
        self.cpu(cpu, "topology/physical_package_id", package).cpu(cpu, "topology/core_cpus_list", siblings)
    }

    /// A unified cache, as each of `cpus` shows it.
    pub fn cache(self, cpus: &[u32], level: u32, size: &str, shared: &str) -> Self {
        cpus.iter().fold(self, |tree, cpu| {
            let folder = format!("cache/index{level}");
            tree.cpu(*cpu, &format!("{folder}/level"), level)
                .cpu(*cpu, &format!("{folder}/type"), "Unified")
                .cpu(*cpu, &format!("{folder}/size"), size)
                .cpu(*cpu, &format!("{folder}/shared_cpu_list"), shared)
        })
    }

    /// A cpufreq policy with its range.
    pub fn policy(self, number: u32, cpus: &str, min_khz: u32, max_khz: u32) -> Self {
        self.policy_file(number, "related_cpus", cpus)
            .policy_file(number, "cpuinfo_min_freq", min_khz)
            .policy_file(number, "cpuinfo_max_freq", max_khz)
            .policy_file(number, "scaling_driver", "test")
    }

    /// A file of a cpufreq policy.
    pub fn policy_file(self, number: u32, name: &str, content: impl Display) -> Self {
        self.file(&format!("sys/devices/system/cpu/cpufreq/policy{number}/{name}"), content)
    }

    /// An idle state of each of `cpus`.
    pub fn idle(self, cpus: &[u32], state: u32, name: &str, latency_us: u32, residency_us: u32) -> Self {
        cpus.iter().fold(self, |tree, cpu| {
            let folder = format!("cpuidle/state{state}");
            tree.cpu(*cpu, &format!("{folder}/name"), name).cpu(*cpu, &format!("{folder}/latency"), latency_us).cpu(
                *cpu,
                &format!("{folder}/residency"),
                residency_us,
            )
        })
    }

    /// A domain of the energy model; `states` is (kHz, power in the file's unit), `prefix` `ps` or `cs`.
    pub fn energy_model(self, name: &str, cpus: &str, prefix: &str, states: &[(u32, u64)]) -> Self {
        let folder = format!("sys/kernel/debug/energy_model/{name}");
        let tree = self.file(&format!("{folder}/cpus"), cpus);
        states.iter().fold(tree, |tree, (khz, power)| {
            tree.file(&format!("{folder}/{prefix}:{khz}/frequency"), khz)
                .file(&format!("{folder}/{prefix}:{khz}/power"), power)
        })
    }
}

/// The description, as text with warnings and as a table.
pub fn describe(tree: &Tree) -> (Detected, toml::Table) {
    let detected = detect(tree.root(), "sample").expect("a description");
    let again = detect(tree.root(), "sample").expect("a description");
    assert_eq!(detected, again, "the same tree gives the same text");
    if let Err(mistake) = Machine::parse("sample", Path::new("sample.toml"), &detected.toml, None) {
        panic!("{mistake}");
    }
    let table = toml::from_str(&detected.toml).expect("valid TOML");
    (detected, table)
}

/// Number of warnings that contain `part`.
pub fn warned(detected: &Detected, part: &str) -> usize {
    detected.warnings.iter().filter(|warning| warning.contains(part)).count()
}

/// The value at a path of keys; numbers are indices.
pub fn at<'a>(table: &'a toml::Table, path: &str) -> &'a toml::Value {
    let mut keys = path.split('/');
    let first = keys.next().and_then(|key| table.get(key)).unwrap_or_else(|| panic!("no {path}"));
    keys.fold(first, |value, key| {
        let inner = key.parse::<usize>().ok().and_then(|index| value.get(index)).or_else(|| value.get(key));
        inner.unwrap_or_else(|| panic!("no {key} of {path}"))
    })
}

/// The text at a path of keys.
pub fn text<'a>(table: &'a toml::Table, path: &str) -> &'a str {
    at(table, path).as_str().unwrap_or_else(|| panic!("{path} is no text"))
}

/// The number at a path of keys.
pub fn number(table: &toml::Table, path: &str) -> f64 {
    let value = at(table, path);
    value.as_float().or_else(|| value.as_integer().map(|n| n as f64)).unwrap_or_else(|| panic!("{path} is no number"))
}

/// Where the value `key` of a table comes from.
pub fn source_of<'a>(table: &'a toml::Table, path: &str, key: &str) -> &'a str {
    let own = at(table, path).get("sources").and_then(|sources| sources.get(key)).and_then(toml::Value::as_str);
    own.unwrap_or_else(|| text(table, &format!("{path}/source")))
}
