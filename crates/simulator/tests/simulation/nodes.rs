// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that is on another node takes longer, and its traffic crosses the link between them.

use std::path::Path;

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::simulation::Options;

use super::support::same;
use crate::common;

/// Two nodes of two CPUs each, whose link takes `latency` times as long and carries so many GB/s, of the 40 of a node.
fn two_nodes(latency: f64, gb_per_s: f64) -> Machine {
    let cluster = |number: u32| {
        format!(
            "[[cluster]]\nname = \"c{number}\"\npackage = \"p{number}\"\ncore_type = \"core\"\ncores = 2\nnode = {number}\n\
             opp_table = \"one\"\nidle_table = \"none\"\nperformance_domain = \"cpu\"\nmemory = \"m{number}\"\n\
             static_watts = 0\nsource = \"test\"\n"
        )
    };
    let memory = |number: u32| {
        format!(
            "[memory.m{number}]\ngb_per_s = 40\nthread_gb_per_s = 20\ncontention = 0\nstatic_watts = 0\nnj_per_byte = 0\n\
             source = \"test\"\n[package.p{number}]\nuncore_watts = 0\nuncore_idle_watts = 0\nsource = \"test\"\n"
        )
    };
    let text = format!(
        "schema = 1\ntitle = \"test\"\n\
         [core_type.core]\nipc = 1\nmemory_speed = 1\nstall_activity = 1\nsource = \"test\"\n\
         [opp_table.one]\ntransition_latency_us = 0\nopps = [{{ mhz = 1000, watts = 1 }}]\nsource = \"test\"\n\
         [idle_table.none]\nstates = [{{ name = \"WFI\", entry_us = 0, exit_us = 0, residency_us = 0, watts = 0 }}]\n\
         source = \"test\"\n{}{}\
         [link.bridge]\nnodes = [0, 1]\nlatency = {latency}\ngb_per_s = {gb_per_s}\nsource = \"test\"\n{}{}\
         [platform]\nwatts = 0\nsupply_efficiency = 1\nsource = \"test\"\n\
         [scheduling]\ncontext_switch_us = 0\nmigration_us = 0\nmigration_llc_us = 0\ntick_us = 0\nsource = \"test\"\n",
        memory(0),
        memory(1),
        cluster(0),
        cluster(1)
    );
    Machine::parse("nodes", Path::new("nodes.toml"), &text, None).unwrap_or_else(|error| panic!("{error}"))
}

/// A second of work that waits for memory in nine tenths of its time, on these CPUs one after the other, with more fields.
fn moving(machine: &Machine, cpus: &[u32], task: &str, traits: &str) -> Report {
    let share = 1_000_000 / cpus.len();
    let phase = |(number, cpu): (usize, &u32)| format!(r#""p{number}" : {{ "cpus" : [{cpu}], "run" : {share} }}"#);
    let phases: Vec<String> = cpus.iter().enumerate().map(phase).collect();
    let text = format!(
        r#"{{ "tasks" : {{ "t" : {{ "loop" : 1 {task}, "tandem" : {{ "memory_bound" : 0.9 {traits} }},
            "phases" : {{ {} }} }} }} }}"#,
        phases.join(", ")
    );
    common::run_with(machine, &common::workload(&text), &Options::default())
}

#[test]
fn who_moves_away_from_its_memory_takes_longer() {
    // Half a second on its own node, and half on the other, where nine tenths take 1.6 to 2 times as long: 1.27 to 1.45 s.
    for (latency, time) in [(1.0, 1.0), (1.6, 1.27), (2.0, 1.45)] {
        same(moving(&two_nodes(latency, 40.0), &[0, 2], "", "").time_s, time);
    }
    let machine = two_nodes(1.6, 40.0);
    // It was first used on the second node, and is near again after the first half.
    same(moving(&machine, &[2, 0, 3], "", "").time_s, 1.0 + 0.9 * 0.6 / 3.0);
}

#[test]
fn policies_say_where_memory_is() {
    let machine = two_nodes(1.6, 40.0);
    same(moving(&machine, &[0], r#", "nodes_membind" : [1]"#, "").time_s, 1.54);
    same(moving(&machine, &[0], r#", "nodes_membind" : [0, 1]"#, "").time_s, 1.0);
    // Half of all accesses are far, wherever the thread is.
    for cpus in [&[0][..], &[2], &[0, 2]] {
        same(moving(&machine, cpus, "", r#", "memory_policy" : "interleave""#).time_s, 1.0 + 0.9 * 0.3);
    }
    same(moving(&machine, &[0, 2], "", r#", "memory_policy" : "local""#).time_s, 1.0);
}

#[test]
fn a_link_carries_what_it_can() {
    // A stream moves 20 GB/s: alone over a link of 5 GB/s it takes four times as long, and two over one of 20 GB/s twice. Both nodes'
    // threads use their own direction.
    let stream = |cpus: &[u32], link: f64| {
        let task = |cpu: &u32| {
            format!(
                r#""t{cpu}" : {{ "loop" : 1, "cpus" : [{cpu}], "nodes_membind" : [{}], "run" : 100000,
                    "tandem" : {{ "memory_bound" : 1.0, "bytes_per_work" : 20000 }} }}"#,
                1 - cpu / 2
            )
        };
        let tasks: Vec<String> = cpus.iter().map(task).collect();
        let text = format!(r#"{{ "tasks" : {{ {} }} }}"#, tasks.join(", "));
        common::run_with(&two_nodes(1.0, link), &common::workload(&text), &Options::default()).time_s
    };
    same(stream(&[0], 5.0), 0.4);
    same(stream(&[0, 1], 20.0), 0.2);
    same(stream(&[0, 2], 20.0), 0.1);
}

#[test]
fn a_link_joins_two_nodes_that_are_there() {
    let wrong = |nodes: &str| {
        let text = format!(
            "{}\n[link.x]\nnodes = {nodes}\nlatency = 2\ngb_per_s = 1\nsource = \"test\"\n",
            crate::equal::description(2)
        );
        Machine::parse("x", Path::new("x.toml"), &text, None).unwrap_err().message
    };
    assert_eq!(wrong("[0, 1]"), "no cluster is on node 1");
    assert_eq!(wrong("[0, 0]"), "a link joins two different nodes");
    assert!(wrong("[0]").contains("nodes"), "{}", wrong("[0]"));
}
