// SPDX-License-Identifier: GPL-2.0-only
//! How long the lowest weights wait.

use std::path::Path;

use tandem_simulator::workload::Workload;

use super::scheduler::{audited_run, options, tandem};
use crate::equal;

/// Sixty threads on two CPUs, and one of nice 19. For a slice of 20 ms its weight of 1 costs two seconds of virtual time, and of
/// these half a minute has one: it would wait for a minute, and the watchdog ejects after half of one. With ten slices at most
/// it waits for six seconds.
#[test]
fn who_has_the_lowest_weight_waits_for_less_than_the_watchdog_does() {
    let text = r#"{"global": {"duration": 75},
        "tasks": {
            "many": {"instance": 60, "loop": -1, "run": 100000},
            "nice": {"loop": -1, "priority": 19, "run": 100000}}}"#;
    let workload = Workload::parse(Path::new("patience.json"), text).unwrap_or_else(|error| panic!("{error}"));
    let report = audited_run(&equal::machine(2), &workload, &options(tandem("base=single"), 0));
    let nice = report.tasks.iter().find(|task| task.name.starts_with("nice")).unwrap();
    // 75 s / 6 s = 12 turns of 20 ms.
    assert!((0.1..1.2).contains(&nice.cpu_time_s), "{} s", nice.cpu_time_s);
}
