// SPDX-License-Identifier: GPL-2.0-only
//! How much of the energy of runs rests on values of the machine that nobody measured.
//!
//! Reports say what their joules were drawn for (`drawn`). Each such part was computed from one value of the description, or a few:
//! watts, or a coefficient and voltages. A part rests on assumed values if any of these is assumed. What the power supply loses does
//! so in the share of what it feeds, or all of it where its efficiency is assumed. Values that move time are left out: what they
//! do to energy only further runs can tell (`--sensitivity`).

use tandem_simulator::input::InputError;
use tandem_simulator::machine::Trust;
use tandem_simulator::machine::description::Description;
use tandem_simulator::machine::description::values::{ClusterTables, Value, Values};
use tandem_simulator::metrics::{ClusterDrawn, Energy, MemoryDrawn, PackageDrawn, Report};

use crate::quantity::percent;

/// What a machine's results rest on.
#[derive(Debug, Clone, PartialEq)]
pub struct Rests {
    /// Name of the machine, with its configuration.
    pub machine: String,
    /// How many values the description has.
    pub values: usize,
    /// How many of them are assumed.
    pub assumed: usize,
    /// How much of the energy rests on them, 0 to 1; `None` of runs without energy.
    pub energy: Option<f64>,
    /// The assumed value that most of the energy rests on.
    most: Option<String>,
}

/// Joules that were computed from values.
struct Part<'v> {
    joules: f64,
    /// The assumed ones among these values.
    assumed: Vec<&'v Value>,
}

impl Rests {
    /// What `reports` of runs on the machine `name`, which `description` describes, rest on.
    ///
    /// # Errors
    /// A mistake in the description.
    pub fn of<'r>(
        name: &str,
        description: &Description,
        reports: impl Iterator<Item = &'r Report>,
    ) -> Result<Self, InputError> {
        let values = description.values()?;
        let (mut total, mut resting) = (0.0, 0.0);
        let mut by_value: Vec<(&Value, f64)> = Vec::new();
        for report in reports {
            total += report.energy_j.total;
            for Part { joules, assumed } in parts(&values, report) {
                if !assumed.is_empty() {
                    resting += joules;
                }
                for value in assumed {
                    match by_value.iter_mut().find(|(known, _)| std::ptr::eq(*known, value)) {
                        Some((_, sum)) => *sum += joules,
                        None => by_value.push((value, joules)),
                    }
                }
            }
        }
        let most = by_value.iter().filter(|(_, joules)| *joules > 0.0).max_by(|(_, a), (_, b)| a.total_cmp(b));
        Ok(Self {
            machine: name.to_owned(),
            values: values.all.len(),
            assumed: values.assumed(),
            energy: (total > 0.0).then(|| (resting / total).clamp(0.0, 1.0)),
            most: most.map(|(value, _)| format!("{} {}", value.table, value.key)),
        })
    }

    /// A sentence of it; `None` of a machine without assumed values.
    fn sentence(&self, who: &str) -> Option<String> {
        let Self { values, assumed, energy, most, .. } = self;
        let rests = match (energy, most) {
            (_, _) if *assumed == 0 => return None,
            (Some(share), Some(most)) => format!("; {} of the energy rests on them, most on {most}", percent(*share)),
            (Some(_), None) => "; no energy rests on them directly".to_owned(),
            (None, _) => String::new(),
        };
        Some(format!("{assumed} of {values} values of {who} are assumed{rests}"))
    }
}

/// What the results of these machines rest on, as the last lines of a report; nothing where nothing is assumed. `asked`: the report
/// says already which values matter.
pub fn lines(rests: &[Rests], asked: bool) -> Vec<String> {
    let sentences: Vec<String> = match rests {
        [only] => only.sentence("this machine").into_iter().collect(),
        several => several.iter().filter_map(|it| it.sentence(&it.machine)).collect(),
    };
    let last = sentences.len().saturating_sub(1);
    let hint = |(index, sentence): (usize, String)| match index == last && !asked {
        true => format!("{sentence} (`tandem compare --sensitivity` says which matter)."),
        false => format!("{sentence}."),
    };
    sentences.into_iter().enumerate().map(hint).collect()
}

/// The energy of a run, part by part.
fn parts<'v>(values: &'v Values, report: &Report) -> Vec<Part<'v>> {
    let drawn = &report.drawn;
    let mut parts = Vec::new();
    for (cluster, tables) in drawn.clusters.iter().zip(&values.clusters) {
        parts.extend(of_cluster(values, cluster, tables));
    }
    for (package, name) in drawn.packages.iter().zip(&values.packages) {
        parts.extend(of_package(values, package, name));
    }
    for memory in &drawn.memory {
        parts.extend(of_memory(values, memory));
    }
    parts.push(part(values, report.energy_j.platform, "platform", &["watts"]));
    parts.extend(of_supply(values, &report.energy_j, &parts));
    parts
}

fn of_cluster<'v>(values: &'v Values, drawn: &ClusterDrawn, tables: &ClusterTables) -> Vec<Part<'v>> {
    let ClusterTables { cluster, opp_table, idle_table } = tables;
    let (cluster, clocks) = (format!("cluster.{cluster}"), format!("opp_table.{opp_table}"));
    let idle = format!("idle_table.{idle_table}");
    let has = |key: &str| values.all.iter().any(|value| value.table == clocks && value.key == key);
    // An operating point's own value takes the place of the formula's, or of another table's.
    let by_point =
        |key: &'static str, others: &'static [&'static str]| if has(key) { vec![key] } else { others.to_vec() };
    let switching = by_point("opps.watts", &["dynamic_power_coefficient", "opps.mv"]);
    let leakage = by_point("opps.leakage_watts", &["leakage_watts_per_v", "opps.mv"]);
    let (idles, shared) = (by_point("opps.idle_watts", &[]), by_point("opps.static_watts", &[]));
    vec![
        part(values, drawn.switching_j, &clocks, &switching),
        part(values, drawn.leakage_j, &clocks, &leakage),
        match idles.is_empty() {
            true => part(values, drawn.idle_j, &idle, &["states.watts"]),
            false => part(values, drawn.idle_j, &clocks, &idles),
        },
        match shared.is_empty() {
            true => part(values, drawn.static_j, &cluster, &["static_watts"]),
            false => part(values, drawn.static_j, &clocks, &shared),
        },
        part(values, drawn.asleep_j, &idle, &["states.cluster_watts"]),
    ]
}

fn of_package<'v>(values: &'v Values, drawn: &PackageDrawn, name: &str) -> [Part<'v>; 3] {
    let table = format!("package.{name}");
    let awake = ["uncore_watts", "uncore_clock.min_mv", "uncore_clock.max_mv"];
    [
        part(values, drawn.awake_j, &table, &awake),
        part(values, drawn.idle_j, &table, &["uncore_idle_watts"]),
        part(values, drawn.asleep_j, &table, &["idle_states.watts"]),
    ]
}

fn of_memory<'v>(values: &'v Values, drawn: &MemoryDrawn) -> [Part<'v>; 2] {
    let table = format!("memory.{}", drawn.memory);
    [part(values, drawn.static_j, &table, &["static_watts"]), part(values, drawn.traffic_j, &table, &["nj_per_byte"])]
}

/// The loss in the power supply, in proportion to what the supply feeds.
fn of_supply<'v>(values: &'v Values, energy: &Energy, fed: &[Part<'v>]) -> Vec<Part<'v>> {
    let efficiency = part(values, energy.supply, "platform", &["supply_efficiency"]);
    let board = energy.total - energy.supply;
    if !efficiency.assumed.is_empty() || board <= 0.0 {
        return vec![efficiency];
    }
    let lost = energy.supply / board;
    fed.iter().map(|part| Part { joules: part.joules * lost, assumed: part.assumed.clone() }).collect()
}

fn part<'v>(values: &'v Values, joules: f64, table: &str, keys: &[&str]) -> Part<'v> {
    let assumed =
        |value: &&Value| value.trust == Trust::Assumed && value.table == table && keys.contains(&value.key.as_str());
    Part { joules, assumed: values.all.iter().filter(assumed).collect() }
}

#[cfg(test)]
mod tests {
    use tandem_simulator::metrics::Drawn;

    use super::*;
    use crate::stories::report;

    /// A run on `hikey960` of 100 J: 60 J computing and 10 J leaking of the big cores, 5 J of uncore, 20 J of memory, 5 J of board.
    fn run() -> Report {
        let big = ClusterDrawn { cluster: "big".into(), switching_j: 60.0, leakage_j: 10.0, ..ClusterDrawn::default() };
        let drawn = Drawn {
            clusters: vec![ClusterDrawn::default(), big],
            packages: vec![PackageDrawn { awake_j: 5.0, ..PackageDrawn::default() }],
            memory: vec![MemoryDrawn { memory: "dram".into(), static_j: 15.0, traffic_j: 5.0 }],
        };
        let energy_j = Energy { total: 100.0, cores: 70.0, uncore: 5.0, memory: 20.0, platform: 5.0, supply: 0.0 };
        Report { energy_j, drawn, ..report("w") }
    }

    fn rests(change: impl Fn(&str) -> String, run: &Report) -> Rests {
        let mut description = Description::load("hikey960").unwrap();
        description.text = change(&description.text);
        Rests::of("hikey960", &description, [run, run].into_iter()).unwrap()
    }

    #[test]
    fn joules_rest_on_what_they_were_computed_from() {
        // Of hikey960 uncore and memory are assumed.
        let found = rests(str::to_owned, &run());
        assert_eq!((found.energy, found.most.as_deref()), (Some(0.25), Some("memory.dram static_watts")));
        let line = &lines(std::slice::from_ref(&found), false)[0];
        let expected = format!(
            "{} of {} values of this machine are assumed; 25.0 % of the energy rests on them",
            found.assumed, found.values
        );
        assert!(line.starts_with(&expected), "{line}");
        // With the watts of the big cores, 60 J more: these have no leakage of their own.
        let watts = "sources.watts = \"computed: LISA 83c6169c6, hikey960_energy.py, a73_cpu_active";
        let found = rests(|text| text.replace(watts, &watts.replace("computed", "assumed")), &run());
        assert_eq!((found.energy, found.most.as_deref()), (Some(0.85), Some("opp_table.a73 opps.watts")));
    }

    #[test]
    fn a_supply_loses_in_the_share_of_what_it_feeds() {
        let mut lossy = run();
        (lossy.energy_j.total, lossy.energy_j.supply) = (125.0, 25.0);
        let close = |found: Rests, share: f64| assert!((found.energy.unwrap() - share).abs() < 1e-12, "{found:?}");
        close(rests(str::to_owned, &lossy), 0.25);
        // Nobody measured the efficiency, nor the board: 25 + 25 + 5 of 125 J.
        let board = "source = \"the board";
        close(rests(|text| text.replace(board, "source = \"assumed: the board"), &lossy), 55.0 / 125.0);
    }

    #[test]
    fn nothing_is_said_of_a_machine_without_assumed_values() {
        let found = rests(|text| text.replace("= \"assumed", "= \"measured"), &run());
        assert_eq!((found.assumed, found.energy), (0, Some(0.0)));
        assert!(
            lines(std::slice::from_ref(&found), false).is_empty() && lines(&[found.clone(), found], true).is_empty()
        );
    }
}
