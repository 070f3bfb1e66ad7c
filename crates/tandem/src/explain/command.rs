// SPDX-License-Identifier: GPL-2.0-only
//! The command line that compares the mechanisms which act with `fair`.

use std::path::Path;

use super::reason::Verdict;
use super::{Explain, Explained};
use crate::arguments::all_settings;
use crate::bundled;

/// `tandem compare …`: all mechanisms that act, beside `fair`. `None` if none acts, or if the workload came from
/// standard input.
pub fn compare(asked: &Explain, mechanisms: &[Explained]) -> Option<String> {
    let workload = asked.workload.as_deref().filter(|workload| *workload != Path::new("-"))?;
    let acting = mechanisms.iter().filter(|mechanism| mechanism.verdict == Verdict::Acts);
    let acting: Vec<&str> = acting.map(|mechanism| mechanism.setting.as_str()).collect();
    if acting.is_empty() {
        return None;
    }
    let governor = match asked.governor.to_string() {
        usual if usual == "default" => String::new(),
        other => format!("+{other}"),
    };
    let tandem = format!("{},{}{governor}", bundled::TANDEM.name, acting.join(","));
    let mut words = ["tandem", "compare"].map(str::to_owned).to_vec();
    words.extend([workload.to_string_lossy().into_owned(), "-m".to_owned(), asked.machine.clone()]);
    if asked.quiet.quiet {
        words.push("--quiet".to_owned());
    }
    // The rest is what the command does anyway.
    for setting in all_settings(&asked.settings) {
        words.extend(["--set".to_owned(), setting.to_string()]);
    }
    words.extend(["-s".to_owned(), format!("fair{governor}"), "-s".to_owned(), tandem]);
    Some(words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "))
}

/// A word in quotes if a shell needs them.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./,:=+-".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_words_as_they_are() {
        assert_eq!(quoted("./a-b_c.json"), "./a-b_c.json");
        assert_eq!(quoted("my app.json"), "'my app.json'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
