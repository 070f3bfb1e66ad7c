// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sources of the bundled machines can be looked up: each names a revision, a place in a document, or says that it is assumed.

use tandem_simulator::machine::{Machine, Provenance, catalogue};

/// Whose files change: a source that names one of these names a revision, too.
const REPOSITORIES: [&str; 9] =
    ["Linux", "LISA", "PARTSim", "freqbench", "Wattson", "Rockchip", ".dtsi", "intel_pstate", "amd-pstate"];

/// What stands for a source where a value means that there is nothing: it is in another key or outside of the model.
const NOTHING: [&str; 14] = [
    "an OPP's own",
    "in the uncore",
    "in the measured",
    "in the A55's",
    "none: ",
    "described with",
    "outside the",
    "not covered",
    "the reference",
    "a single kind",
    "the board is not",
    "the phone is not",
    "the package alone",
    "the sensors see",
];

/// Places in documents without page numbers.
const PLACES: [&str; 4] = ["slide ", "description of the machine", "performance governor", "the governor's rules"];

/// Whether it names a version of Linux (`Linux v7.1`), a commit or a pull request.
fn names_a_revision(source: &str) -> bool {
    let words: Vec<&str> = source.split([' ', ',', ':', ';', '(', ')']).collect();
    let version = |word: &str| {
        let (major, minor) = word.strip_prefix('v').unwrap_or(word).split_once('.').unwrap_or_default();
        major.parse::<u32>().is_ok() && minor.parse::<u32>().is_ok()
    };
    let commit = |word: &&str| (7..=40).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    words.windows(2).any(|pair| pair[0] == "Linux" && version(pair[1]))
        || words.iter().any(commit)
        || source.contains("pull request ")
}

/// Whether somebody who has the source at hand finds the place.
fn can_be_looked_up(entry: &Provenance) -> bool {
    let source = &entry.source;
    if source.starts_with("assumed") || NOTHING.iter().any(|words| source.contains(words)) {
        return true;
    }
    if REPOSITORIES.iter().any(|name| source.contains(name)) {
        return names_a_revision(source);
    }
    source.bytes().any(|byte| byte.is_ascii_digit())
        || PLACES.iter().any(|place| source.contains(place))
        || source.starts_with("as ")
}

#[test]
fn sources_of_bundled_machines_can_be_looked_up() {
    let mut vague = Vec::new();
    for name in catalogue::names() {
        let machine = Machine::load(name).unwrap_or_else(|mistake| panic!("{mistake}"));
        for entry in machine.provenance.iter().filter(|entry| !can_be_looked_up(entry)) {
            vague.push(format!("{name}: {}.{}: {}", entry.table, entry.key, entry.source));
        }
    }
    assert!(vague.is_empty(), "{}", vague.join("\n"));
}
