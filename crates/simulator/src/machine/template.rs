// SPDX-License-Identifier: MIT OR Apache-2.0
//! A description to fill in, made from a bundled one: its values, each with a source that says whose they are.

use super::{Machine, catalogue};

/// What the notes of every template begin with.
pub const NOTE: &str = "A template by tandem machine new, to be filled in.";

/// What to look up for each kind of table, by how its header begins. docs/machines.md has the ranges, "Typical values".
const HINTS: [(&str, &str); 8] = [
    (
        "[core_type.",
        "ipc: work per clock, only ratios count. What a stall and an SMT sibling take: detect --calibrate.",
    ),
    ("[opp_table.", "Clocks, mV and watts of one busy core: cpufreq, debugfs opp, a data sheet, detect --calibrate."),
    (
        "[idle_table.",
        "/sys/devices/system/cpu/cpu0/cpuidle has names, latencies, residencies; watts: detect --calibrate.",
    ),
    ("[memory.", "gb_per_s, thread_gb_per_s: detect --measure. contention, nj_per_byte: typical values."),
    (
        "[package.",
        "Watts beyond the cores while one is awake, and while all sleep: detect --calibrate; limits: a data sheet.",
    ),
    ("[[cluster]]", "CPUs and caches: lscpu --extended, --caches. hit_cost: a hit's time over a memory access's."),
    ("[platform]", "Watts outside the packages at the wall, the supply's efficiency, cpufreq's driver."),
    ("[scheduling]", "Costs of switching and of migrating: detect --calibrate."),
];

/// A description named `name` with the values of the bundled machine `like`; `None` if there is no such machine.
///
/// Every source begins with `assumed as LIKE`, so that `tandem machine show --sources` marks what nobody has looked up yet.
pub fn template(name: &str, like: &str) -> Option<String> {
    let mut text = String::new();
    for line in catalogue::text(like)?.lines() {
        if let Some((_, hint)) = HINTS.iter().find(|(header, _)| line.starts_with(header)) {
            text += &format!("# Fill in. {hint}\n");
        }
        text += &filled(line, name, like);
        text.push('\n');
    }
    Some(text)
}

/// A line of the description of `like`, as the template has it.
fn filled(line: &str, name: &str, like: &str) -> String {
    let Some((key, value)) = line.split_once(" = ") else { return line.to_owned() };
    let basic = value.strip_prefix('"');
    match key {
        "title" => format!("title = \"{} (values of {like})\"", escaped(name)),
        "notes" => {
            format!(
                "notes = \"{NOTE} docs/machines.md has typical values, tandem machine detect measures some. Values of {like}: replace each `assumed as {like}` by where yours come from.\""
            )
        }
        _ if key == "source" || key.starts_with("sources.") => match basic {
            Some(rest) => format!("{key} = \"assumed as {like}: {rest}"),
            None => line.to_owned(),
        },
        _ => line.to_owned(),
    }
}

/// As the text of a basic string in TOML.
fn escaped(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).collect::<String>().replace('\\', "\\\\").replace('"', "\\\"")
}

/// The bundled machine that is nearest to `machine`: by kinds of core, threads of a core, packages, number of CPUs and highest clock.
///
/// A factor of 2 in number or clock weighs 1, a package or a thread more or less 1, and a kind of core more or less 2: kinds
/// are what is hardest to write by hand.
pub fn nearest(machine: &Machine) -> &'static str {
    let own = Shape::of(machine);
    let distance = |name: &str| Machine::load(name).map_or(f64::INFINITY, |other| own.distance(&Shape::of(&other)));
    let all = catalogue::names().map(|name| (name, distance(name)));
    all.min_by(|one, other| one.1.total_cmp(&other.1)).map_or("", |(name, _)| name)
}

/// What machines are compared by.
struct Shape {
    kinds: f64,
    threads: f64,
    packages: f64,
    cpus: f64,
    khz: f64,
}

impl Shape {
    fn of(machine: &Machine) -> Self {
        let domains = machine.performance_domains.iter();
        let khz = domains.flat_map(|domain| &domain.opps).map(|opp| opp.khz).max().unwrap_or(1);
        Self {
            kinds: machine.core_types.len() as f64,
            threads: machine.cpus.len() as f64 / machine.cores.len().max(1) as f64,
            packages: machine.packages.len() as f64,
            cpus: machine.cpus.len().max(1) as f64,
            khz: f64::from(khz.max(1)),
        }
    }

    fn distance(&self, other: &Self) -> f64 {
        2.0 * (self.kinds - other.kinds).abs()
            + (self.threads - other.threads).abs()
            + (self.packages - other.packages).abs()
            + (self.cpus / other.cpus).log2().abs()
            + (self.khz / other.khz).log2().abs()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn each_template_is_that_machine_with_all_sources_assumed() {
        for like in catalogue::names() {
            let text = template("mine", like).unwrap();
            let machine = Machine::parse("mine", Path::new("mine.toml"), &text, None);
            let machine = machine.unwrap_or_else(|error| panic!("{like}: {error}"));
            let original = Machine::load(like).unwrap();
            assert_eq!((&machine.clusters, &machine.cpus), (&original.clusters, &original.cpus), "{like}");
            assert_eq!(machine.provenance.len(), original.provenance.len(), "{like}");
            for source in &machine.provenance {
                assert!(source.source.starts_with(&format!("assumed as {like}: ")), "{like}: {}", source.source);
            }
            assert_eq!(machine.title, format!("mine (values of {like})"));
        }
        assert_eq!(template("mine", "no-such-machine"), None);
    }

    #[test]
    fn a_machine_is_nearest_to_itself_and_one_more_core_changes_little() {
        for name in ["hikey960", "i9-12900k", "epyc-9554-2s", "core2-q6600"] {
            assert_eq!(nearest(&Machine::load(name).unwrap()), name);
        }
    }

    #[test]
    fn names_are_texts_of_toml() {
        let text = template("my \"own\" \\ machine\n", "hikey960").unwrap();
        let machine = Machine::parse("mine", Path::new("mine.toml"), &text, None).unwrap();
        assert_eq!(machine.title, "my \"own\" \\ machine (values of hikey960)");
    }
}
