// SPDX-License-Identifier: GPL-2.0-only
//! Words and numbers agree with the object, on all bundled workloads; and explanations read well.

use std::path::Path;

use clap::Parser;
use rayon::prelude::*;
use serde_json::Value;
use tandem_simulator::machine::Machine;
use tandem_simulator::machine::traits::{Kind, SharedMemory, Traits as MachineTraits};
use tandem_simulator::metrics::SchedExtReport;
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Governor, Options, Scheduler, simulate};
use tandem_simulator::units::MSEC;
use tandem_simulator::workload::Workload;
use tandem_simulator::workload::bundled::BUNDLED;
use tandem_simulator::workload::traits::Traits as WorkloadTraits;

use super::advice::{Advice, Candidate};
use super::auto::{Auto, Rule};
use super::reason::Place;
use super::trial::Trial;
use super::{Explained, Explanation, Named, text};
use crate::arguments::object;
use crate::cli::Cli;
use crate::context::Context;
use crate::files::Files;
use crate::mechanism::mechanisms;
use tandem_experiments::{Estimate, Linux};

/// Machines with equal CPUs, with two and three kinds of CPU, and with several packages.
const MACHINES: [&str; 4] = ["smp-8", "hikey960", "pixel6", "proliant-dl580"];

/// What `tandem explain …` prints, or why it fails.
fn explain(arguments: &str) -> Result<String, String> {
    let words = ["tandem", "explain"].into_iter().chain(arguments.split_whitespace());
    let cli = Cli::try_parse_from(words).map_err(|error| error.to_string())?;
    let mut out = Vec::new();
    let mut context = Context {
        simulator: &Linux,
        out: &mut out,
        width: Some(80),
        progress: false,
        files: Files::default(),
        interrupt: Default::default(),
        store: None,
        command: Vec::new(),
    };
    cli.run(&mut context).map_err(|failure| failure.to_string())?;
    Ok(String::from_utf8(out).unwrap())
}

fn json(arguments: &str) -> Value {
    serde_json::from_str(&explain(&format!("{arguments} --json")).unwrap()).unwrap()
}

/// The scheduler's report of a short run with these settings.
fn simulated(settings: &str, workload: &str, machine: &str) -> SchedExtReport {
    let scheduler = Scheduler::SchedExt(object(&format!("tandem,{settings}")).unwrap());
    let options = Options { scheduler, seed: 0, time_limit: Some(300 * MSEC), ..Options::default() };
    let (machine, workload) = (Machine::load(machine).unwrap(), Workload::load(Path::new(workload)).unwrap());
    simulate(&machine, &workload, &options, &mut NoObserver).unwrap().sched_ext.unwrap()
}

/// The entry of a mechanism in the JSON.
fn of<'j>(json: &'j Value, mechanism: &str) -> &'j Value {
    json["mechanisms"].as_array().unwrap().iter().find(|entry| entry["name"] == mechanism).unwrap()
}

#[test]
fn the_names_of_counters_and_states_are_the_objects() {
    let report = simulated("all=true", "noise", "smp-8");
    let known: Vec<&str> =
        mechanisms().iter().flat_map(|mechanism| &mechanism.counters).map(|counter| counter.name.as_str()).collect();
    let shared = |name: &str| name.starts_with("base_") || name.starts_with("pull_");
    let mut counted: Vec<&str> =
        report.statistics.iter().map(|(name, _)| name.as_str()).filter(|name| !shared(name)).collect();
    // The object has the mechanisms in another order.
    let place = |name: &&str| known.iter().position(|known| known == name);
    counted.sort_by_key(place);
    assert_eq!(counted, known);
    for mechanism in mechanisms() {
        let mine = known.iter().filter(|name| name.starts_with(&mechanism.prefix)).count();
        assert_eq!(mine, mechanism.counters.len(), "{}", mechanism.name);
        assert!(report.states.iter().any(|(name, _)| *name == mechanism.state()), "{}", mechanism.name);
    }
}

#[test]
fn a_machine_alone_says_what_can_act() {
    let verdicts = |arguments: &str| -> Vec<String> {
        let json = json(arguments);
        let entries = json["mechanisms"].as_array().unwrap().clone();
        entries.iter().map(|entry| format!("{} {}", entry["verdict"].as_str().unwrap(), entry["state"])).collect()
    };
    assert_eq!(verdicts("-m hikey960"), [r#"can_act "active""#; 5]);
    let equal = verdicts("-m smp-8 -g performance --set perf_counters=false");
    let inert = [r#"inert "one_kind""#, r#"can_act "active""#, r#"inert "no_counters""#, r#"inert "no_cpufreq""#];
    assert_eq!(equal[1..], inert);
    let blind = json("-m hikey960 --set perf_counters=false");
    let speed = of(&blind, "speed");
    assert_eq!((&speed["verdict"], &speed["state"]), (&"can_act".into(), &"active".into()), "{speed}");
    let (why, needs) = (speed["why"].as_str().unwrap(), speed["needs"].as_str().unwrap());
    assert!(
        why.ends_with(
            "Its part edp is inert: performance counters cannot be read: what threads do to the memory is not known."
        ),
        "{why}"
    );
    assert!(needs.contains("; for edp: counters that a scheduler can read"), "{needs}");
    let text = explain("-m hikey960 -g performance").unwrap();
    assert!(text.contains("The governor performance does not follow"), "{text}");
    assert!(text.ends_with("tandem explain WORKLOAD -m hikey960\n"), "{text}");
}

#[test]
fn noise_is_isolated_where_there_is_some() {
    let noisy = json("noise -m smp-8 --limit 200ms --no-advice --set isolate=dedicated");
    let isolate = of(&noisy, "isolate");
    assert_eq!((&isolate["verdict"], &isolate["setting"]), (&"acts".into(), &"isolate=dedicated".into()), "{isolate}");
    assert_eq!(isolate["counters"][0]["name"], "isolate_noise");
    let command = noisy["compare"].as_str().unwrap();
    assert!(
        command.starts_with("tandem compare noise -m smp-8 --set isolate=dedicated -s fair -s tandem,"),
        "{command}"
    );
    let quiet = json("mixed-memory -m smp-8 --limit 200ms --no-advice");
    let isolate = of(&quiet, "isolate");
    assert_eq!(isolate["verdict"], "nothing_to_do", "{isolate}");
    assert!(isolate["why"].as_str().unwrap().contains("no system tasks"), "{isolate}");
}

#[test]
fn settings_that_the_scheduler_refuses_are_refused_before_anything_runs() {
    let refused = explain("forkjoin -m smp-8 --set serial_threshold=65").unwrap_err();
    assert!(refused.contains("serial_threshold") && refused.contains("64"), "{refused}");
    let refused = explain("forkjoin -m smp-8 --set isolate=shared,os_cpu=8").unwrap_err();
    assert!(refused.contains("the machine has CPUs 0 to 7"), "{refused}");
    assert!(explain("forkjoin -m smp-8 --set serial_frist=true").unwrap_err().contains("serial_first"));
}

#[test]
fn every_field_is_documented() {
    let (_, document) = include_str!("../../../../docs/reports.md").split_once("## An explanation").unwrap();
    let document = document.split("\n## ").next().unwrap();
    let mut open = vec![json("noise -m smp-8 --limit 200ms")];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(fields) => {
                for (field, value) in fields {
                    assert!(document.contains(&field), "docs/reports.md does not describe `{field}` of an explanation");
                    open.push(value);
                }
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
}

/// An explanation with these states and counters in its trials.
fn explanation(workload: Option<&str>, states: [&str; 5], counters: &[(&str, u64)]) -> Explanation {
    let machine = MachineTraits {
        cpus: 8,
        kinds: vec![Kind { performance: 1024, cpus: 4 }, Kind { performance: 462, cpus: 4 }],
        clocks: 2,
        changeable_clocks: 2,
        memory: Some(SharedMemory { cpus: 8, bytes_per_s: 12.8e9 }),
    };
    let workload = workload.map(|name| Workload::load(Path::new(name)).unwrap());
    let traits = workload.as_ref().map(WorkloadTraits::of);
    let governor = Governor::Performance;
    let place = Place { machine: &machine, workload: traits.as_ref(), governor, serial_threshold: 2 };
    let mechanisms = mechanisms().iter().zip(states).map(|(mechanism, state)| {
        let its = counters.iter().filter(|(name, _)| name.starts_with(&mechanism.prefix));
        let counters = its.map(|(name, count)| ((*name).to_owned(), *count)).collect();
        let trial = Trial { on: mechanism.on(), state: state.to_owned(), counters, ..Trial::default() };
        Explained::of(&place, mechanism, trial)
    });
    Explanation {
        schema: super::SCHEMA,
        mechanisms: mechanisms.collect(),
        machine: Named { name: "some".to_owned(), traits: machine.clone() },
        limit_s: workload.is_some().then_some(2.0),
        workload: workload.map(|workload| workload.name).zip(traits).map(|(name, traits)| Named { name, traits }),
        governor: governor.to_string(),
        auto: Auto { rule: Rule::Nothing, clocks: Vec::new() },
        seed: 0,
        compare: None,
        advice: None,
    }
}

#[test]
fn a_person_reads_a_block_for_each_mechanism() {
    let counters = [("isolate_noise", 1234), ("serial_phases", 56), ("serial_preempted", 7), ("sorted_turns", 5)];
    let states = ["active", "active", "active", "active", "no_cpufreq"];
    let text = text::text(&explanation(Some("forkjoin"), states, &counters), Some(80));
    assert!(text.lines().all(|line| console::measure_text_width(line) <= 80), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn a_person_reads_what_a_machine_can_do() {
    let states = ["one_cpu", "one_kind", "active", "no_counters", "no_cpufreq"];
    insta::assert_snapshot!(text::text(&explanation(None, states, &[]), Some(80)));
}

/// Ratios of time and energy, each with its half width.
type Ratios = [(f64, f64); 2];

/// Advice with these ratios for Tandem alone and with `sorted=true`.
fn advice(ratios: [Ratios; 2]) -> Advice {
    let estimate = |(mean, half): (f64, f64)| Estimate { mean, half_width: Some(half) };
    let plain = ratios[0][0].0 * ratios[0][1].0;
    let candidate = |(settings, [time, energy]): (&str, Ratios)| {
        let edp = (time.0 * energy.0, time.1 + energy.1);
        let beside_fair = Candidate::new(settings.to_owned(), [time, energy, edp].map(|ratio| Some(estimate(ratio))));
        let beside_tandem = (!settings.is_empty()).then(|| estimate((edp.0 / plain, edp.1)));
        Candidate { edp_beside_tandem: beside_tandem, ..beside_fair }
    };
    Advice::new(vec![0, 1, 2, 3, 4], false, ["", "sorted=true"].into_iter().zip(ratios).map(candidate).collect())
}

#[test]
fn a_person_reads_what_to_turn_on_or_that_nothing_is_better_or_that_it_is_undecided() {
    let told = |ratios| {
        let acting = ["active", "active", "active", "active", "no_cpufreq"];
        let explained = explanation(Some("forkjoin"), acting, &[("sorted_turns", 5)]);
        let text = text::text(&Explanation { advice: Some(advice(ratios)), ..explained }, Some(90));
        text[text.find("beside fair").unwrap()..].to_owned()
    };
    let better = told([[(0.99, 0.02), (1.0, 0.01)], [(0.93, 0.004), (0.97, 0.002)]]);
    let worse = told([[(1.04, 0.01), (1.0, 0.0)], [(1.1, 0.01), (1.02, 0.01)]]);
    let open = told([[(1.01, 0.2), (1.0, 0.0)], [(0.95, 0.1), (0.98, 0.01)]]);
    let same = told([[(1.0, 0.0), (1.0, 0.0)], [(1.001, 0.0), (1.0, 0.0)]]);
    // Better than fair, but so is tandem without the mechanism, or nearly.
    let chance = told([[(0.95, 0.01), (1.0, 0.0)], [(0.94, 0.01), (1.0, 0.0)]]);
    let nearly = told([[(0.99, 0.02), (1.0, 0.0)], [(0.97, 0.02), (1.0, 0.0)]]);
    insta::assert_snapshot!([better, worse, open, same, chance, nearly].join("\n"));
}

mod long {
    use super::*;

    #[test]
    fn advice_is_measured_beside_fair_and_the_same_each_time() {
        let ask = || json("noise -m smp-8 --limit 200ms");
        let explained = ask();
        let advice = &explained["advice"];
        assert_eq!(advice["seeds"], serde_json::json!([0, 1, 2, 3, 4]));
        let candidates = advice["candidates"].as_array().unwrap();
        let acting =
            explained["mechanisms"].as_array().unwrap().iter().filter(|entry| entry["verdict"] == "acts").count();
        assert!(acting > 0);
        // Nothing, each that acts, and all of them if there are several.
        assert_eq!(candidates.len(), 1 + acting + usize::from(acting > 1));
        assert_eq!(candidates[0]["settings"], "");
        for candidate in candidates {
            assert!(candidate["time"]["mean"].as_f64().unwrap() > 0.1, "{candidate}");
            assert!(candidate["edp"]["half_width"].is_number(), "{candidate}");
        }
        if let Some(best) = advice["best"].as_u64() {
            assert_eq!(candidates[best as usize]["verdict"], "better");
        }
        assert_eq!(explained, ask());
        assert!(!explain("noise -m smp-8 --limit 200ms --no-advice").unwrap().contains("Advice"));
        assert_eq!(json("-m smp-8")["advice"], Value::Null);
    }

    #[test]
    fn what_is_called_inert_is_inert_wherever_it_is_simulated() {
        let places: Vec<(&str, &str)> = MACHINES
            .iter()
            .flat_map(|machine| BUNDLED.iter().map(move |(workload, _)| (*workload, *machine)))
            .collect();
        places.par_iter().for_each(|(workload, machine)| {
            let explained = json(&format!("{workload} -m {machine} --limit 300ms --no-advice"));
            let report = simulated("all=true", workload, machine);
            for mechanism in mechanisms() {
                let entry = of(&explained, &mechanism.name);
                let place = format!("{} for {workload} on {machine}: {entry}", mechanism.name);
                let variable = mechanism.state();
                let state = &report.states.iter().find(|(name, _)| *name == variable).unwrap().1;
                let its = || report.statistics.iter().filter(|(name, _)| name.starts_with(&mechanism.prefix));
                if entry["verdict"] == "inert" {
                    assert_eq!(entry["state"], state.as_str(), "{place}");
                    assert_eq!(its().map(|(_, count)| count).sum::<u64>(), 0, "{place}");
                    assert!(entry["counters"].as_array().unwrap().is_empty(), "{place}");
                } else {
                    assert_eq!((&entry["state"], state.as_str()), (&"active".into(), "active"), "{place}");
                }
                let acts = mechanism.counters.iter().filter(|counter| counter.acts).any(|counter| {
                    let named = |entry: &&Value| entry["name"] == counter.name.as_str();
                    entry["counters"].as_array().unwrap().iter().any(|entry| named(&entry))
                });
                assert_eq!(entry["verdict"] == "acts", acts, "{place}");
                // Every state has words of its own.
                assert!(!entry["why"].as_str().unwrap().contains("The scheduler says"), "{place}");
            }
        });
    }
}
