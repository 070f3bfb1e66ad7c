// SPDX-License-Identifier: GPL-2.0-only
//! Stories of runs that were finished before.

use std::fs;
use std::sync::atomic::Ordering;

use tandem_simulator::simulation::Bpf;

use super::{Mock, Story};
use crate::failure::Failure;
use crate::store::Place;

/// A story whose store is a folder of its own.
fn story() -> Story {
    let story = Story::new();
    let place = Place { folder: story.path("store"), limit: 1 << 20, named: true, bpf: Bpf::default() };
    Story { store: Some(place), ..story }
}

impl Story {
    /// How many simulations there were since this was asked last.
    fn simulations(&self) -> usize {
        self.mock.calls.swap(0, Ordering::Relaxed)
    }
}

const COMPARE: &str = "compare @two.json -m hikey960 -s fair -s fair+powersave --runs 3 --json";

#[test]
fn a_comparison_is_not_simulated_twice_unless_asked_to() {
    let story = story();
    let first = story.tandem(COMPARE).unwrap();
    // Two pairs and three seeds: the mix, and two applications alone.
    assert_eq!(story.simulations(), 18);
    assert_eq!((story.tandem(COMPARE).unwrap(), story.simulations()), (first.clone(), 0));
    // Of four seeds three are there.
    story.tandem(&COMPARE.replace("--runs 3", "--runs 4")).unwrap();
    assert_eq!(story.simulations(), 6);
    assert_eq!((story.tandem(&format!("{COMPARE} --fresh")).unwrap(), story.simulations()), (first.clone(), 18));
    assert_eq!((Story { store: None, ..story }).tandem(COMPARE).unwrap(), first);
}

#[test]
fn a_workload_that_has_changed_is_run_again() {
    let story = story();
    story.tandem(COMPARE).unwrap();
    let path = story.path("two.json");
    let changed = fs::read_to_string(&path).unwrap().replace("1000", "1001");
    fs::write(path, changed).unwrap();
    story.simulations();
    story.tandem(COMPARE).unwrap();
    assert_eq!(story.simulations(), 18);
}

#[test]
fn an_interrupted_reproduction_goes_on_where_it_stopped() {
    let interrupted = Mock { interrupted_in: 4, ..Mock::default() };
    let story = Story { mock: interrupted, ..story() };
    let folder = story.path("papers/tiny");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("paper.toml"), "title = \"On governors\"\nsource = \"A. Author\"\n").unwrap();
    let table = r#"title = "Table 1"
about = "Power."
seeds = 3
[axes]
governor = ["performance", "schedutil", "powersave"]
[run.all]
machine = "hikey960"
workload = "periodic"
scheduler = "fair+{governor}"
[[series]]
where = "Table 1"
what = "power"
unit = "W"
ours = 'power("all")'
over = "governor"
[[series.cell]]
"#;
    fs::write(folder.join("table1.toml"), table).unwrap();
    let command = "reproduce --papers @papers --jobs 1 --json";
    let (_, result) = story.run(command).unwrap();
    assert!(matches!(result, Err(Failure::Interrupted(_))));
    let done = story.simulations();
    assert!((4..9).contains(&done), "{done}");
    let again = Story { mock: Mock::default(), ..story };
    let whole = again.tandem(command).unwrap();
    assert_eq!(done + again.simulations(), 9);
    assert_eq!((Story { store: None, ..again }).tandem(command).unwrap(), whole);
}

#[test]
fn shards_together_run_everything_once_and_the_command_without_one_prints_it() {
    let story = story();
    let file = super::experimenting::story("seeds = 1", "seeds = 2");
    for name in ["governors.toml", "one.json", "two.json"] {
        fs::copy(file.path(name), story.path(name)).unwrap();
    }
    let command = "experiment @governors.toml";
    let said: Vec<String> =
        (1..=3).map(|shard| story.tandem(&format!("{command} --shard {shard}/3")).unwrap()).collect();
    assert_eq!(said[1], "shard 2/3: 4 of 12 runs are done and kept\n");
    assert_eq!(story.simulations(), 12);
    let printed = story.tandem(command).unwrap();
    assert_eq!(story.simulations(), 0, "all runs were there");
    assert_eq!(file.tandem(command).unwrap(), printed);
}

#[test]
fn a_shard_without_a_store_would_be_lost() {
    let story = super::experimenting::story("title", "title");
    let message = story.tandem("experiment @governors.toml --shard 1/2").unwrap_err().to_string();
    assert!(message.contains("there is none"), "{message}");
}
