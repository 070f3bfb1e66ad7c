// SPDX-License-Identifier: GPL-2.0-only
//! How long the lowest weights wait.

use std::path::Path;

use tandem_simulator::workload::Workload;

use super::scheduler::{audited_run, options, tandem};
use crate::equal;

/// Sixty threads on two CPUs, and one of nice 19. Its weight is a 68th of the others' each: of 150 s of two CPUs that is 37 ms, and
/// beside threads of more weight it would wait for longer than the watchdog does. A thread that has waited for 5 s runs next, within the half
/// second after which CPUs look for it: 75 s are 13 to 15 turns, each until the tick after 4 ms.
#[test]
fn who_has_the_lowest_weight_waits_for_less_than_the_watchdog_does() {
    let text = r#"{"global": {"duration": 75},
        "tasks": {
            "many": {"instance": 60, "loop": -1, "run": 100000},
            "nice": {"loop": -1, "priority": 19, "run": 100000}}}"#;
    let workload = Workload::parse(Path::new("patience.json"), text).unwrap_or_else(|error| panic!("{error}"));
    for settings in ["", "all=true"] {
        let report = audited_run(&equal::machine(2), &workload, &options(tandem(settings), 0));
        let nice = report.tasks.iter().find(|task| task.name.starts_with("nice")).unwrap();
        assert!((13..=15).contains(&nice.switches), "{settings}: {} turns", nice.switches);
        assert!((0.037..0.065).contains(&nice.cpu_time_s), "{settings}: {} s", nice.cpu_time_s);
    }
}
