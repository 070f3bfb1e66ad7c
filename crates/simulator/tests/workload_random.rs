// SPDX-License-Identifier: MIT OR Apache-2.0
//! Damaged files are refused or read. The reader never panics, and what it reads is consistent.

use std::path::Path;

use proptest::prelude::*;
use tandem_simulator::workload::bundled::BUNDLED;
use tandem_simulator::workload::{Op, Workload};

use crate::simulation::support::cases;

/// A file with every kind of event and key.
const EVERYTHING: &str = r#"{
  // a comment
  "resources": {"m": {"type": "mutex"}, "c": {"type": "wait"}, "r": {"type": "run", "target": "x"}},
  "tasks": {
    "a": {"instance": 2, "delay": 5, "cpus": [0, 1], "policy": "SCHED_RR", "priority": 4, "loop": 3, "phases": {
      "p": {"loop": 2, "run": 10, "run": 20, "sleep": 5, "runtime2": 7, "barrier": "b", "util_min": 5},
      "q": {"lock": "m", "wait": {"ref": "c", "mutex": "m"}, "unlock": "m", "suspend", "cpus": [3], "priority": 9},
      "r": {"timer": {"ref": "unique", "period": 100, "mode": "absolute"}, "yield": "", "fork": "f", "tandem": {"join": true}}}},
    "b": {"loop": -1, "signal": "c", "broad": "c", "sync": {"ref": "c", "mutex": "m"}, "resume": "a", "barrier": "b",
      "sem_post": "s", "sem_wait": "s", "mem": 100, "iorun": 10, "taskgroup": "/tg", "nodes_membind": [0],
      "memrun": {"type": "chase", "size": 4096, "count": 10, "stride": 64, "pattern": "random", "ref": "x"}},
    "f": {"instance": 0, "loop": 1, "run": 3, "tandem": {"run_spread": {"uniform": 0.5}, "footprint": "4KiB"}},
    "d": {"policy": "SCHED_DEADLINE", "dl-runtime": 5, "dl-period": 50, "dl-deadline": 20, "run": 1},
    "l": {"loop": 1, "tandem": {"parallel_for": {"name": "l", "iterations": 9, "work": 1.5, "schedule": "dynamic", "chunk": 2}}},
    "old": {"exec": 5, "period": 10, "deadline": 10, "lock_order": ["m"], "resources": {}},
  },
  "global": {"duration": 2, "calibration": 100, "ftrace": true, "log_size": 2}
}"#;

fn texts() -> Vec<&'static str> {
    BUNDLED.iter().map(|(_, text)| *text).chain([EVERYTHING]).collect()
}

/// Indices that programs hold must lie within their tables, and jumps must match.
fn check(workload: &Workload) {
    for task in &workload.tasks {
        assert!(task.application < workload.applications.len());
        for (place, op) in task.program.iter().enumerate() {
            match op {
                Op::LoopStart { end, counter, .. } => {
                    assert_eq!(task.program[*end as usize], Op::LoopEnd { start: place as u32 });
                    assert!(*counter < task.counters);
                }
                Op::LoopEnd { start } => assert!(matches!(task.program[*start as usize], Op::LoopStart { .. })),
                _ => {}
            }
        }
    }
    // The listing looks up every other index.
    assert!(workload.listing().to_string().starts_with("workload"));
}

#[test]
fn the_file_with_everything_loads() {
    let workload = Workload::parse(Path::new("w.json"), EVERYTHING).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(workload.tasks.len(), 6);
    check(&workload);
}

/// The text that an edit writes: random bytes, or bytes that are likely to matter.
fn snippet() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..4),
        proptest::sample::select(vec![
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\"",
            "-",
            "0",
            "99999999999",
            "1e400",
            "null",
            "true",
            "\"run\" : 5,",
            "'",
            "/*",
            "\"\"",
            "\"tandem\" : {",
            "\\u",
            "é",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ]
}

proptest! {
    #![proptest_config(cases(3000, 3000))]

    #[test]
    fn damaged_files_never_panic(
        file in 0..8_usize,
        edits in proptest::collection::vec((any::<prop::sample::Index>(), 0..6_usize, snippet()), 1..4),
    ) {
        let mut bytes = texts()[file].as_bytes().to_vec();
        for (place, removed, inserted) in edits {
            let start = place.index(bytes.len() + 1);
            let end = (start + removed).min(bytes.len());
            bytes.splice(start..end, inserted);
        }
        let text = String::from_utf8_lossy(&bytes);
        match Workload::parse(Path::new("w.json"), &text) {
            Ok(workload) => check(&workload),
            Err(error) => prop_assert!(error.to_string().starts_with("w.json:")),
        }
    }
}
