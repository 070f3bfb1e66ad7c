// SPDX-License-Identifier: MIT OR Apache-2.0
//! After the ejection: the run goes on under `fair`, and what came later is unknown to the scheduler that has gone.

use super::support::{exit, options, try_run};

#[test]
fn a_thread_that_comes_after_the_ejection_changes_its_group() {
    let text = r#"{ "tasks": {
        "parent": { "loop": 1, "phases": { "a": { "loop": 12, "run": 1000, "sleep": 500 }, "b": { "fork": "child" } } },
        "child": { "instance": 0, "loop": 1, "taskgroup": "/a", "phases": {
            "c": { "run": 1000 }, "d": { "taskgroup": "/b", "run": 1000 } } } } }"#;
    let report = try_run(text, &options("faulty", ",fault=FAULT_ERROR")).unwrap();
    assert!(exit(&report).at_s < 0.018, "the child comes later: {}", exit(&report).at_s);
    let child = report.tasks.iter().find(|task| task.name.starts_with("child")).expect("a child was forked");
    assert_eq!(child.work_s, 0.002);
}
