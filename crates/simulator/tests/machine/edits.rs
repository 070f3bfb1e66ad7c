// SPDX-License-Identifier: MIT OR Apache-2.0
//! Any change of a description gives a machine, or a mistake with a place in the file.

use std::path::Path;

use super::{example, invariants};
use proptest::prelude::*;
use tandem_simulator::machine::{Machine, catalogue};

use crate::simulation::support::cases;

/// The text that an edit puts into the file: pieces that TOML and the schema give a meaning, or any text at all.
fn piece() -> impl Strategy<Value = String> {
    let pieces = [
        "",
        "\n",
        "=",
        "[",
        "]",
        "{",
        "}",
        "\"",
        "'",
        ",",
        ".",
        "#",
        "-",
        "0",
        "1",
        "1e308",
        "-1",
        "0x7fffffffffffffff",
        "99999999999",
        "inf",
        "nan",
        "true",
        "1979-05-27",
        "[[cluster]]\n",
        "[platform]\n",
        "sources.watts = \"x\"\n",
        "\"0-8191\"",
        "\"7-0\"",
        "cpus = [[0]]\n",
        "parent = \"dram\"\n",
        "smt = 2\n",
        "cores = 4294967295\n",
        "µ",
        "duty_cycle = [0.5]\n",
        "online = \"\"\n",
        "\u{feff}",
        "\r",
        "\0",
    ];
    prop_oneof![4 => prop::sample::select(pieces.to_vec()).prop_map(str::to_owned), 1 => ".{0,12}"]
}

/// A number as a file may have it.
fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        (0..12u32).prop_map(|number| number.to_string()),
        any::<i64>().prop_map(|number| number.to_string()),
        (0.0..3000.0).prop_map(|number: f64| format!("{number:?}")),
        any::<f64>()
            .prop_filter_map("TOML has them as words", |number| number.is_finite().then(|| format!("{number:?}"))),
        prop::sample::select(vec!["inf", "-nan", "8192", "8191", "4294967295", "1e-9", "0xff"]).prop_map(str::to_owned),
    ]
}

/// Where to cut, how many bytes to drop, and what to put there; a place beyond the end counts from the beginning again.
fn edits() -> impl Strategy<Value = Vec<(usize, usize, String)>> {
    prop::collection::vec((any::<usize>(), 0..24usize, piece()), 1..4)
}

fn apply(text: &str, edits: &[(usize, usize, String)]) -> String {
    let mut text: Vec<char> = text.chars().collect();
    for (place, drop, piece) in edits {
        let start = place % (text.len() + 1);
        let end = (start + drop).min(text.len());
        text.splice(start..end, piece.chars());
    }
    text.into_iter().collect()
}

/// Puts `number` in the place of one of the numbers in `text`.
fn with_number(text: &str, which: usize, number: &str) -> String {
    let is_part = |c: char| c.is_ascii_digit() || c == '.';
    let starts: Vec<usize> = text
        .char_indices()
        .filter(|(at, c)| c.is_ascii_digit() && !text[..*at].ends_with(|before: char| is_part(before)))
        .map(|(at, _)| at)
        .collect();
    let start = starts[which % starts.len()];
    let end = text[start..].find(|c| !is_part(c)).map_or(text.len(), |length| start + length);
    format!("{}{number}{}", &text[..start], &text[end..])
}

fn check(text: &str, configuration: Option<&str>) -> Result<(), TestCaseError> {
    let mistake = match Machine::parse("edited", Path::new("edited.toml"), text, configuration) {
        Ok(machine) => {
            invariants::check(&machine, text);
            return Ok(());
        }
        Err(mistake) => mistake,
    };
    let Some(at) = &mistake.position else {
        // Only a configuration that the file does not have is a mistake without a place in the file.
        prop_assert!(configuration.is_some() && mistake.message.starts_with("no configuration"), "{mistake}");
        return Ok(());
    };
    let line = text.split('\n').nth(at.line - 1);
    prop_assert!(line.is_some_and(|line| at.column <= line.chars().count() + 1), "{mistake}");
    prop_assert!(!mistake.message.is_empty());
    Ok(())
}

proptest! {
    #![proptest_config(cases(400, 3000))]

    #[test]
    fn an_edited_example_is_a_machine_or_a_mistake_in_its_place(edits in edits()) {
        check(&apply(example(), &edits), Some("quiet"))?;
    }

    #[test]
    fn an_edited_hikey960_is_a_machine_or_a_mistake_in_its_place(edits in edits()) {
        check(&apply(catalogue::text("hikey960").expect("it is bundled"), &edits), None)?;
    }

    /// Most of these texts are valid TOML, so the mistakes are those of the machine.
    #[test]
    fn an_example_with_other_numbers_is_a_machine_or_a_mistake_in_its_place(
        changes in prop::collection::vec((any::<usize>(), number()), 1..4)
    ) {
        let mut text = example().to_owned();
        for (which, number) in changes {
            text = with_number(&text, which, &number);
        }
        check(&text, Some("quiet"))?;
    }
}
