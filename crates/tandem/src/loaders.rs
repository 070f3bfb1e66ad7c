// SPDX-License-Identifier: GPL-2.0-only
//! The promise that what the simulator runs, Linux loads: every bundled file beside an object says the same to both.

use std::fs;
use std::path::{Path, PathBuf};

use tandem_live::{LINUX, LiveError, OpenScheduler};
use tandem_loader::facts::System;
use tandem_loader::file::LoaderFile;
use tandem_loader::hosts::Files;
use tandem_loader::machine::Machine as Read;
use tandem_loader::steps::Steps;
use tandem_simulator::machine::{Machine, PerformanceDomain};
use tandem_simulator::simulation::{Options, SchedExt, facts};
use tandem_simulator::units::CpuId;

use crate::bundled::{NAMES, named};

/// Machines with two kinds of CPU, with threads and two kinds, with four nodes.
const MACHINES: [&str; 3] = ["hikey960", "i9-12900k", "opteron-8350"];
/// What no file of a kernel has, as the bundled files call it, what it rounds otherwise, and what follows from the energy model,
/// which is not among the files that are written here (debugfs).
const UNKNOWN: [&str; 10] = [
    "memory_bandwidth",
    "fixed_power",
    "package_power",
    "].static_power[",
    "].busy_power[",
    "].power[",
    "].nr_idle_states",
    "].idle_",
    "pco_",
    "no_use_em",
];

/// The bundled files.
fn files() -> Vec<LoaderFile> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = fs::read_dir(root.join("schedulers")).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = folder.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    paths.push(root.join("bpf/tandem.toml"));
    paths.sort();
    let read = |path: &PathBuf| LoaderFile::parse(path, &fs::read_to_string(path).unwrap());
    let files: Vec<LoaderFile> =
        paths.iter().map(read).collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{error}"));
    assert!(files.len() >= 10, "{paths:?}");
    files
}

fn list(cpus: &[CpuId]) -> String {
    cpus.iter().map(CpuId::to_string).collect::<Vec<_>>().join(",")
}

/// The files that a machine's kernel shows to loaders.
fn shown(machine: &Machine) -> Files {
    let all = || (0..machine.cpus.len()).map(CpuId::at);
    let mut files = Files::with_cpus(&list(&all().collect::<Vec<_>>()));
    for (number, cpu) in machine.cpus.iter().enumerate() {
        let siblings = list(&machine.cores[cpu.core.index()].cpus);
        files = files.each([number], "topology/core_cpus_list", siblings);
        files = match cpu.itmt_priority {
            0 => files.each([number], "cpu_capacity", cpu.capacity),
            rank => files.each([number], "acpi_cppc/highest_perf", rank),
        };
        let package = machine.cluster(CpuId::at(number)).package.0;
        files = files.each([number], "topology/physical_package_id", package);
        if let Some(cache) = cpu.llc.map(|llc| &machine.caches[llc.index()]) {
            files = files.cache([number], cache.level, &format!("{}K", cache.bytes / 1024), &list(&cache.cpus));
        }
        let nodes: Vec<CpuId> = all().filter(|other| machine.cpus[other.index()].node == cpu.node).collect();
        files = files.file(&format!("sys/devices/system/node/node{}/cpulist", cpu.node), list(&nodes));
    }
    machine.performance_domains.iter().fold(files, clocks)
}

fn clocks(files: Files, domain: &PerformanceDomain) -> Files {
    let cpus: Vec<usize> = domain.cpus.iter().map(|cpu| cpu.index()).collect();
    let clocks: Vec<String> = domain.opps.iter().map(|opp| opp.khz.to_string()).collect();
    let files = files.each(cpus.clone(), "cpufreq/related_cpus", list(&domain.cpus));
    let files = files.each(cpus.clone(), "cpufreq/scaling_governor", "schedutil");
    files.each(cpus, "cpufreq/scaling_available_frequencies", clocks.join(" "))
}

/// What a loader for Linux reads of a machine whose files these are.
fn read(files: &Files) -> Read {
    let root = tempfile::tempdir().unwrap();
    files.write(root.path()).unwrap();
    Read::read(root.path()).unwrap()
}

/// Steps without the settings that depend on what no file of a kernel has.
fn comparable(mut steps: Steps) -> Steps {
    steps.set.retain(|step| !UNKNOWN.iter().any(|name| step.name.contains(name)));
    steps
}

#[test]
fn every_bundled_file_says_the_same_to_the_simulator_and_to_linux() {
    for name in MACHINES {
        let machine = Machine::load(name).unwrap();
        let simulated = facts(&machine, &Options::default());
        let linux = System::of(&read(&shown(&machine)));
        for file in files() {
            let (one, other) = (comparable(file.steps(&simulated)), comparable(file.steps(&linux)));
            assert_eq!(one, other, "{} on {name}", file.path().display());
            // A single queue needs to know nothing of the machine.
            assert_eq!(one.set.is_empty(), file.path().ends_with("single.toml"), "{}", file.path().display());
        }
    }
}

#[test]
fn linux_refuses_an_arena_and_nothing_else() {
    let refused: Vec<String> =
        files().iter().filter_map(|file| LINUX.accepts(file).err()).map(|it| it.to_string()).collect();
    let [lavd, p2dq] = &refused[..] else { panic!("{refused:#?}") };
    assert!(lavd.contains("scx_lavd.toml:") && lavd.contains("the loader for Linux cannot follow `run.arena`"));
    assert!(p2dq.contains("scx_p2dq.toml:") && p2dq.contains("the loader for Linux cannot follow `run.arena`"));
}

#[test]
fn bundled_objects_are_opened_for_linux_as_for_the_simulator() {
    for name in NAMES {
        let bundled = named(name).unwrap();
        let machine = Machine::load("i9-12900k").unwrap();
        SchedExt::embedded(name, bundled.object, bundled.sidecar, "").unwrap_or_else(|error| panic!("{error}"));
        OpenScheduler::embedded(name, bundled.object, bundled.sidecar, &read(&shown(&machine)))
            .unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn both_show_a_mistake_with_its_line_and_the_nearest_name() {
    let bundled = named("o1").unwrap();
    let sidecar = "[set]\nnr_cpu = \"nr_cpus\"\n";
    let expected = "o1.toml:2:10: there is no variable nr_cpu; did you mean nr_cpus?";
    let simulated = SchedExt::embedded("o1", bundled.object, sidecar, "").unwrap_err().to_string();
    let machine = read(&shown(&Machine::load("hikey960").unwrap()));
    let linux = OpenScheduler::embedded("o1", bundled.object, sidecar, &machine).unwrap_err();
    assert!(matches!(linux, LiveError::File(_)));
    assert_eq!([simulated.lines().next(), linux.to_string().lines().next()], [Some(expected); 2]);
    let old = "[each.cpu]\n\"sibling[{}]\" = \"sibling\"\n";
    let linux = OpenScheduler::embedded("o1", bundled.object, old, &machine).unwrap_err().to_string();
    assert!(linux.contains("o1.toml:2:1:") && linux.contains("\"sibling[{cpu}]\" = \"cpu.sibling\""), "{linux}");
}
