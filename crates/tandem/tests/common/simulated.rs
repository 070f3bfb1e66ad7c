// SPDX-License-Identifier: GPL-2.0-only
//! Reports of `tandem simulate`, without a process for each: a scheduler is opened and compiled once for all runs.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tandem_experiments::{Choice, Scenario, Schedulers, Settings, parse_duration};
use tandem_simulator::machine::Machine;
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Scheduler, simulate};
use tandem_simulator::workload::Workload;

use crate::schedulers::{Opened, carried};

/// Schedulers as the command names them, and objects by their paths.
impl Schedulers for Opened {
    fn named(&self, text: &str) -> Result<Scheduler, Box<dyn Error + Send + Sync>> {
        let name = text.split(',').next().unwrap_or_default();
        let path = match name {
            "fair" => return Ok(Scheduler::Fair),
            "tandem" => carried("tandem"),
            "single" => carried("single"),
            "o1" => carried("o1"),
            path => path.into(),
        };
        Ok(Scheduler::SchedExt(self.get(&format!("{}{}", path.display(), &text[name.len()..]))))
    }
}

/// A workload from rt-app JSON.
#[track_caller]
pub fn workload(json: &str) -> Workload {
    Workload::parse(Path::new("workload.json"), json).unwrap_or_else(|error| panic!("{error}"))
}

/// A machine by its name or file, read once.
#[track_caller]
fn read(name: &str) -> Arc<Machine> {
    static MACHINES: Mutex<BTreeMap<String, Arc<Machine>>> = Mutex::new(BTreeMap::new());
    let mut machines = MACHINES.lock().unwrap_or_else(PoisonError::into_inner);
    let load = || Arc::new(Machine::load(name).unwrap_or_else(|error| panic!("{error}")));
    Arc::clone(machines.entry(name.to_owned()).or_insert_with(load))
}

/// What `tandem simulate WORKLOAD -m MACHINE -s SCHEDULER --seed SEED --quiet --json OPTIONS` reports: `options` are `--set` and
/// `--duration` with their values. A run whose scheduler is ejected has a report, too.
#[track_caller]
pub fn report(
    opened: &Opened,
    workload: &Workload,
    machine: &str,
    scheduler: &str,
    seed: u64,
    options: &[&str],
) -> Value {
    let mut scenario = Scenario::default();
    for option in options.chunks(2) {
        match option {
            ["--set", settings] => scenario.settings.extend(settings.parse::<Settings>().unwrap().0),
            ["--duration", time] => scenario.time_limit = Some(parse_duration(time).unwrap()),
            other => panic!("no option {other:?}"),
        }
    }
    let machine = read(machine);
    let pair = Choice::parse(scheduler, opened).unwrap_or_else(|error| panic!("{scheduler}: {error}")).pair();
    let options = scenario.options_on(&machine, &pair, seed).unwrap_or_else(|error| panic!("{scheduler}: {error}"));
    let report = simulate(&machine, workload, &options, &mut NoObserver).unwrap_or_else(|error| panic!("{error}"));
    serde_json::to_value(report).unwrap()
}

/// Effects and variants of the scheduler are tested by these reports.
#[test]
fn a_report_of_this_process_is_that_of_the_command() {
    let json = r#"{ "tasks": { "waits": { "instance": 3, "loop": 20, "run": 700, "sleep": 300 }, "computes": { "loop": 1, "run": 9000 } } }"#;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("workload.json");
    std::fs::write(&path, json).unwrap();
    for (machine, scheduler, options) in [
        ("proliant-dl580:asymmetric", "fair+schedutil", &["--set", "base_slice_us=100000"][..]),
        ("hikey960", "tandem,all=true", &["--duration", "8ms"]),
        ("hikey960", "single,slice_us=5000", &["--duration", "8ms"]),
        ("smp-8", "tandem+performance", &["--set", "lock_turns=false,hz=1000"]),
        ("core2-q6600:fast", "o1,cpu_power=true+performance", &["--set", "bpf_insn_ps=0"]),
    ] {
        let mut command = crate::command::program();
        command.arg("simulate").arg(&path).args(["-m", machine, "-s", scheduler, "--seed", "7", "--quiet", "--json"]);
        let output = command.args(["--reproducible"]).args(options).output().unwrap();
        let mut printed: Value = serde_json::from_slice(&output.stdout).unwrap();
        printed.as_object_mut().unwrap().remove("produced_by").unwrap();
        let mut report = report(&Opened::new(), &workload(json), machine, scheduler, 7, options);
        // The command knows the name by which it carries an object, and not the object's file.
        for report in [&mut printed, &mut report] {
            report.as_object_mut().unwrap().remove("scheduler").unwrap();
        }
        assert_eq!(report, printed, "{scheduler} on {machine}");
    }
}
