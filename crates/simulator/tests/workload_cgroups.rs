// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cgroups of a workload: how they are read, and which callbacks a scheduler gets.

use std::path::Path;

use tandem_simulator::machine::Machine;
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Options, Scheduler, simulate};
use tandem_simulator::workload::{CgroupSpec, CgroupWrite, Workload};

use crate::objects;

const TASKS: &str = r#""tasks": {"t": {"taskgroup": "/in/t", "loop": 10, "run": 50000}}"#;

fn parse(cgroups: &str) -> Result<Workload, String> {
    let text = format!("{{{TASKS}, \"tandem\": {{\"cgroups\": {cgroups}}}}}");
    Workload::parse(Path::new("w.json"), &text).map_err(|error| error.message)
}

#[test]
fn weights_and_times_are_read_in_order_of_time() {
    let text = r#"{"/in/t": {"changes": [{"at": 9, "weight": 3}, {"at": 5, "weight": 2}], "weight": 1},
                   "/late": {"made": 7, "removed": 8}}"#;
    let cgroups = parse(text).unwrap().cgroups;
    let writes = [(0, 1), (5_000, 2), (9_000, 3)].map(|(at, weight)| (at, CgroupWrite::Weight(weight))).to_vec();
    let inner = CgroupSpec { path: "/in/t".to_owned(), writes, ..CgroupSpec::default() };
    let late = CgroupSpec { path: "/late".to_owned(), made: 7_000, removed: Some(8_000), ..CgroupSpec::default() };
    assert_eq!(cgroups, [inner, late]);
}

#[test]
fn clamps_are_read() {
    let cgroups = parse(r#"{"/in/t": {"util_min": 0, "util_max": 1024}, "/in": {"util_max": 300}}"#).unwrap().cgroups;
    let clamps: Vec<_> = cgroups.iter().map(|group| (group.util_min, group.util_max)).collect();
    assert_eq!(clamps, [(Some(0), Some(1024)), (None, Some(300))]);
}

#[test]
fn mistakes_are_named() {
    let table = [
        (r#"{"late": {}}"#, "cgroup \"late\" must begin with `/` and end with a name"),
        (r#"{"/": {}}"#, "cgroup \"/\" must begin with `/` and end with a name"),
        (r#"{"/a": {"weight": 0}}"#, "`weight` must be an integer from 1 to 10000, not 0"),
        (r#"{"/a": {"made": 5, "removed": 5}}"#, "cgroup /a is removed before it is made"),
        (
            r#"{"/a": {"changes": [{"at": 1}]}}"#,
            "a change of cgroup /a has no `weight`, `weight_nice`, `idle`, `max` or `cpus`",
        ),
        (r#"{"/a": {"util_max": 1025}}"#, "`util_max` must be an integer from 0 to 1024, not 1025"),
        (r#"{"/a": {"idle": 1}}"#, "`idle` must be `true` or `false`, not 1"),
        (r#"{"/a": {"max": 999}}"#, "`max` must be an integer from 1000 to 86400000000, not 999"),
        (
            r#"{"/a": {"max": 5000, "period": 2000000}}"#,
            "`period` must be an integer from 1000 to 1000000, not 2000000",
        ),
        (r#"{"/a": {"max": 5000, "burst": 5001}}"#, "`burst` must not be above `max`"),
        (r#"{"/a": {"period": 5000}}"#, "`period` needs `max`"),
        (r#"{"/a": {"shares": 1}}"#, "`shares` is no key of cgroup /a"),
    ];
    for (text, message) in table {
        assert_eq!(parse(text).unwrap_err(), message, "{text}");
    }
}

/// Calls of the cgroup callbacks of scx_flatcg, by name.
fn callbacks(cgroups: &str) -> (Vec<(String, u64)>, Vec<String>) {
    let path = objects::object_path("scx_flatcg");
    let scheduler: Scheduler = path.to_str().expect("a path of this test is text").parse().expect("an object");
    let machine = Machine::load("hikey960").expect("a bundled machine");
    let options = Options { scheduler, ..Options::default() };
    let report = simulate(&machine, &parse(cgroups).unwrap(), &options, &mut NoObserver).expect("it ends");
    let sched_ext = report.sched_ext.expect("a scheduler was loaded");
    assert_eq!(sched_ext.exit, None);
    let all = sched_ext.callbacks.into_iter().filter(|(name, _)| name.starts_with("cgroup_"));
    (all.map(|(name, callback)| (name, callback.calls)).collect(), report.warnings)
}

#[test]
fn a_scheduler_hears_of_groups_that_come_go_and_change() {
    // The root, /in and /in/t come at the start; /late comes at 0.1 s and goes at 0.2 s; the others go with the
    // scheduler.
    let (calls, warnings) = callbacks(r#"{"/late": {"made": 100000, "removed": 200000}}"#);
    assert_eq!(calls, [("cgroup_exit".to_owned(), 4), ("cgroup_init".to_owned(), 4)]);
    assert_eq!(warnings, Vec::<String>::new());
    // A weight that does not change gives no callback.
    let (calls, _) =
        callbacks(r#"{"/in": {"changes": [{"at": 100000, "weight": 100}, {"at": 200000, "weight": 300}]}}"#);
    assert_eq!(calls[2], ("cgroup_set_weight".to_owned(), 1));
}

#[test]
fn a_group_in_use_stays() {
    let (calls, warnings) = callbacks(r#"{"/in": {"removed": 100000}}"#);
    assert_eq!(calls[0], ("cgroup_exit".to_owned(), 3));
    assert_eq!(warnings, ["cgroup /in is in use: it is not removed"]);
}
