// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every file of Debian's rt-app package, and every bundled file, loads.

use std::path::{Path, PathBuf};

use tandem_simulator::workload::bundled::BUNDLED;
use tandem_simulator::workload::{Op, Workload};

/// The folder in which Debian's `rt-app` package puts its examples; `RT_APP_EXAMPLES` names another one.
const DEBIAN: &str = "/usr/share/doc/rt-app/examples";

fn json_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            json_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            found.push(path);
        }
    }
    found.sort();
}

#[test]
fn debians_examples_load() {
    let folder = std::env::var_os("RT_APP_EXAMPLES").map_or_else(|| PathBuf::from(DEBIAN), PathBuf::from);
    let mut files = Vec::new();
    json_files(&folder, &mut files);
    if files.is_empty() {
        println!("skipped: no examples in {} (Debian: install rt-app)", folder.display());
        return;
    }
    let mut steps = 0;
    for file in files {
        let workload = match Workload::load(&file) {
            // Some are parts of a workload, which another program joins.
            Err(error) if error.message == "no tasks: there is nothing to run" => continue,
            workload => workload.unwrap_or_else(|error| panic!("{error}")),
        };
        steps += workload.tasks.iter().map(|task| task.program.len()).sum::<usize>();
    }
    assert!(steps > 100, "only {steps} steps in all examples together");
}

#[test]
fn bundled_workloads_load_without_complaint() {
    for (name, text) in BUNDLED {
        let workload = Workload::load(Path::new(name)).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(workload.name, *name);
        assert!(text.contains("\"description\""), "{name} says what it is");
        let unexpected: Vec<_> =
            workload.warnings.iter().filter(|w| !w.contains("has no meaning in a simulation")).collect();
        assert!(unexpected.is_empty(), "{unexpected:#?}");
        for task in workload.tasks.iter().filter(|task| !task.system) {
            let endless = task.program.iter().any(|op| matches!(op, Op::LoopStart { count: None, .. }));
            assert!(!endless, "{name}: {} never ends", task.name);
        }
    }
}

#[test]
fn an_unknown_name_gets_the_nearest_one() {
    let error = Workload::load(Path::new("forkjion")).unwrap_err().to_string();
    assert!(error.contains("did you mean `forkjoin`?"), "{error}");
    assert!(error.contains("`mixed-memory`"), "{error}");
}

#[test]
fn the_documented_example_loads() {
    let text = include_str!("../../../docs/workloads.md");
    let (_, after) = text.split_once("```json\n").unwrap();
    let (example, _) = after.split_once("```").unwrap();
    let workload = Workload::parse(Path::new("example.json"), example).unwrap_or_else(|error| panic!("{error}"));
    assert!(workload.warnings.is_empty(), "{:?}", workload.warnings);
    assert_eq!(workload.objects.barriers, [("step".to_owned(), 4)]);
}

#[test]
fn the_documentation_names_every_bundled_workload() {
    let text = include_str!("../../../docs/workloads.md");
    for (name, _) in BUNDLED {
        assert!(text.contains(&format!("| `{name}` |")), "{name}");
    }
}
