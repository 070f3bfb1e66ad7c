// SPDX-License-Identifier: MIT OR Apache-2.0
//! The model's situations as workloads.

use super::model::Phase;
use crate::units::MSEC;
use crate::workload::{Behaviour, BehaviourId, Objects, Op, Span, TaskSpec, Workload};

/// Applications that stay in their phases for ever: `app1`, `app2` and so on, in the order of `phases`. A serial one is a
/// single thread that computes, a parallel one `cores` such threads. They share no data, use no memory, and start together.
pub fn fixed_state(phases: &[Phase], cores: u32) -> Workload {
    let applications: Vec<String> = (1..=phases.len()).map(|number| format!("app{number}")).collect();
    let tasks = phases.iter().zip(&applications).enumerate().map(|(application, (phase, name))| TaskSpec {
        instances: match phase {
            Phase::Serial => 1,
            Phase::Parallel => cores,
        },
        application,
        counters: 1,
        ..TaskSpec::new(name.clone(), endless())
    });
    Workload {
        name: "fixed-state".to_owned(),
        tasks: tasks.collect(),
        applications,
        objects: Objects::default(),
        loops: Vec::new(),
        behaviours: vec![Behaviour::default()],
        duration: None,
        priority_inheritance: false,
        cgroups: Vec::new(),
        interrupts: Vec::new(),
        warnings: Vec::new(),
    }
}

/// Computes for ever. The length of a step does not matter, as no thread waits for another.
fn endless() -> Vec<Op> {
    let work = Op::Run { work: Span::fixed(100 * MSEC), behaviour: BehaviourId(0) };
    vec![Op::LoopStart { counter: 0, count: None, end: 2 }, work, Op::LoopEnd { start: 0 }]
}
