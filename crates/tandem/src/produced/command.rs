// SPDX-License-Identifier: GPL-2.0-only
//! The words of a command line that its results follow from.

use std::ffi::OsString;

/// Options that only say where results go, how many runs go on at once, or whether finished ones are read: those without a
/// value, or with one behind `=`.
const ALONE: [&str; 6] = ["--json", "--force", "--fresh", "--jsonl", "--csv", "--markdown"];
/// Such options whose value is the next word, or stands behind `=`; how BPF programs run is among them.
const WITH_VALUE: [&str; 8] = ["--bpf", "--trace", "--report", "--write", "--figure", "--jobs", "--save", "--junit"];

/// `words` without the options that results do not depend on. The first word is the program's name.
pub fn without_outputs(words: &[OsString]) -> Vec<String> {
    let mut words = words.iter().map(|word| word.to_string_lossy().into_owned()).skip(1);
    let mut left = vec!["tandem".to_owned()];
    while let Some(word) = words.next() {
        let (option, value) =
            word.split_once('=').map_or((word.as_str(), None), |(option, value)| (option, Some(value)));
        if WITH_VALUE.contains(&option) {
            if value.is_none() {
                words.next();
            }
        } else if !ALONE.contains(&option) {
            left.push(word);
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_results_go_is_left_out() {
        let left =
            |line: &str| without_outputs(&line.split(' ').map(OsString::from).collect::<Vec<_>>())[1..].join(" ");
        let plain = "simulate w.json -m hikey960 --set hz=1000 --reproducible";
        assert_eq!(left(&format!("./tandem {plain}")), plain);
        let outputs = "--json=r.json --force --trace t.perfetto --report r.html --fresh --jobs=4 --bpf compiled";
        assert_eq!(left(&format!("/usr/bin/tandem {plain} {outputs}")), plain);
        let gate = "compare w.json -m hikey960 -s fair --baseline b.json --fail-if energy>1.02";
        assert_eq!(left(&format!("tandem {gate} --save s.json --junit=j.xml --csv=t.csv --jsonl")), gate);
        assert_eq!(left("tandem reproduce --jobs 3 memory --json --write docs"), "reproduce memory");
    }
}
