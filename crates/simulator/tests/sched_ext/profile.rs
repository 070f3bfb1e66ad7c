// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions by source line.

use tandem_simulator::metrics::Report;
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Bpf, Options, simulate};

use crate::equal::machine;

use super::support::{ms, open, options, survived, tasks_of};

fn run(bpf: Bpf) -> Report {
    let workload = tasks_of(&[r#""a" : { "run" : 1000000 }"#, r#""b" : { "run" : 3000, "sleep" : 2000 }"#]);
    let options = Options { bpf, ..options(&open("scx_simple", ""), ms(100)) };
    simulate(&machine(2), &workload, &options, &mut NoObserver).unwrap()
}

#[test]
fn a_profile_has_every_instruction_and_changes_nothing_else() {
    let (mut profiled, plain) = (run(Bpf::Profiled), run(Bpf::Interpreter));
    let lines = std::mem::take(&mut profiled.sched_ext.as_mut().unwrap().lines);
    assert_eq!(survived(&profiled), survived(&plain));
    assert!(survived(&plain).lines.is_empty());
    let executed: u64 = survived(&plain).callbacks.values().map(|callback| callback.instructions).sum();
    assert_eq!(lines.iter().map(|line| line.instructions).sum::<u64>(), executed);
    assert!(lines.is_sorted_by_key(|line| std::cmp::Reverse(line.instructions)));
    let charged = lines.iter().find(|line| line.function == "simple_stopping").unwrap();
    assert!(charged.line > 0 && charged.file.ends_with(".c") && !charged.text.is_empty(), "{charged:?}");
}
