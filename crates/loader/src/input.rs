// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mistakes in input files: where, what, and what was expected.

use std::fmt;
use std::path::{Path, PathBuf};

use tandem_bpf_vm::names::is_short_for;

/// A mistake in a machine or workload file.
///
/// Displayed as `path:line:column: message`, then the offending line with a caret, then the help. Line and column
/// count from 1; the column counts characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputError {
    /// The file, as the user named it.
    pub path: PathBuf,
    /// Line of the mistake, from 1; `None` where the file as a whole could not be read.
    pub position: Option<Position>,
    /// What is wrong.
    pub message: String,
    /// What was expected, or the nearest valid name.
    pub help: Option<String>,
}

/// A place in a text file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// The text of that line.
    pub text: String,
}

impl Position {
    /// The place of byte `offset` in `text`.
    pub fn of_offset(text: &str, offset: usize) -> Self {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let start = text[..offset].rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            line: text[..offset].matches('\n').count() + 1,
            column: text[start..offset].chars().count() + 1,
            text: text[start..].lines().next().unwrap_or_default().to_owned(),
        }
    }
}

/// Characters of a line that a message shows before the mistake, and from it on. A file may be one line of megabytes.
const SHOWN_BEFORE: usize = 60;
const SHOWN_FROM: usize = 60;

/// The character, unless it controls a terminal: what is shown comes from files that others wrote.
fn printable(c: char) -> char {
    if c.is_control() && !matches!(c, '\n' | '\t') { char::REPLACEMENT_CHARACTER } else { c }
}

/// The text, printable. Messages quote files.
fn plain(text: &str) -> String {
    text.chars().map(printable).collect()
}

impl Position {
    /// What of the line is worth showing, and the space up to the mistake. Nothing in it controls a terminal.
    fn excerpt(&self) -> (String, String) {
        let skipped = (self.column - 1).saturating_sub(SHOWN_BEFORE);
        let mut characters = self.text.chars().map(printable);
        let before: String = characters.by_ref().skip(skipped).take(self.column - 1 - skipped).collect();
        let behind: String = characters.by_ref().take(SHOWN_FROM).collect();
        let start = if skipped > 0 { "…" } else { "" };
        let end = if characters.next().is_some() { "…" } else { "" };
        let indent = before.chars().map(|c| if c == '\t' { c } else { ' ' }).collect::<String>();
        (format!("{start}{before}{behind}{end}"), " ".repeat(start.chars().count()) + &indent)
    }
}

impl InputError {
    /// A mistake at byte `offset` of `text`, the content of `path`.
    pub fn at(path: &Path, text: &str, offset: usize, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            position: Some(Position::of_offset(text, offset)),
            message: message.into(),
            help: None,
        }
    }

    /// A mistake that has no place in the file, for example a file that cannot be read.
    pub fn whole(path: &Path, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), position: None, message: message.into(), help: None }
    }

    /// Adds what to do next.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, message) = (plain(&self.path.display().to_string()), plain(&self.message));
        write!(f, "{path}")?;
        match &self.position {
            None => write!(f, ": {message}")?,
            Some(at) => {
                writeln!(f, ":{}:{}: {message}", at.line, at.column)?;
                let gutter = at.line.to_string();
                let (line, indent) = at.excerpt();
                writeln!(f, " {gutter} | {line}")?;
                write!(f, " {:width$} | {indent}^", "", width = gutter.len())?;
            }
        }
        if let Some(help) = &self.help {
            write!(f, "\n  help: {}", plain(help))?;
        }
        Ok(())
    }
}

impl std::error::Error for InputError {}

/// The valid name nearest to what was written, if one is near enough to be a slip, or else the first one that it is short
/// for: `fifo` for `fifo_sched`, `gbps` for `gb_per_s`.
pub fn nearest<'a>(written: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let valid: Vec<&str> = valid.into_iter().collect();
    let short_for = || valid.iter().copied().find(|name| is_short_for(written, name));
    valid
        .iter()
        .copied()
        .map(|name| (strsim::damerau_levenshtein(&written.to_lowercase(), &name.to_lowercase()), name))
        .filter(|(distance, name)| *distance <= 1 + name.len() / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
        .or_else(short_for)
}

/// "did you mean `x`? " if a valid name is near, then the list of all valid names.
pub fn valid_names(written: &str, valid: &[&str]) -> String {
    let list = valid.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match nearest(written, valid.iter().copied()) {
        Some(name) => format!("did you mean `{name}`? valid: {list}"),
        None => format!("valid: {list}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_shows_the_line_and_points_at_the_mistake() {
        let text = "first\nsecond lien\n";
        let error = InputError::at(Path::new("m.toml"), text, 13, "unknown word `lien`").help("did you mean `line`?");
        assert_eq!(
            error.to_string(),
            "m.toml:2:8: unknown word `lien`\n 2 | second lien\n   |        ^\n  help: did you mean `line`?"
        );
    }

    #[test]
    fn of_a_long_line_only_the_mistake_is_shown() {
        let text = format!("{}wrong{}", "a".repeat(1_000_000), "b".repeat(1_000_000));
        let message = InputError::at(Path::new("m.json"), &text, 1_000_000, "no").to_string();
        let lines: Vec<&str> = message.lines().collect();
        assert_eq!(lines[1], format!(" 1 | …{}wrong{}…", "a".repeat(60), "b".repeat(55)));
        assert_eq!(lines[2].find('^'), lines[1].replace('…', ".").find("wrong"));
    }

    #[test]
    fn an_excerpt_does_not_control_the_terminal() {
        let message = InputError::at(Path::new("m.json"), "\u{1b}[31mred", 1, "no").to_string();
        assert_eq!(message, "m.json:1:2: no\n 1 | \u{fffd}[31mred\n   |  ^");
    }

    #[test]
    fn what_a_message_quotes_does_not_control_the_terminal() {
        let error = InputError::at(Path::new("\u{7}.json"), "{}", 1, "unknown key `\u{1b}[2J\r`");
        let message = error.help("did you mean `\u{9b}2J`?\nor\tnot").to_string();
        assert!(!message.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')), "{message:?}");
        assert!(message.starts_with("\u{fffd}.json:1:2: unknown key `\u{fffd}[2J\u{fffd}`\n"), "{message:?}");
        assert!(message.ends_with("help: did you mean `\u{fffd}2J`?\nor\tnot"), "{message:?}");
    }

    #[test]
    fn the_nearest_name_must_be_near() {
        let valid = ["performance", "powersave", "schedutil"];
        assert_eq!(nearest("shedutil", valid), Some("schedutil"));
        assert_eq!(nearest("fast", valid), None);
        assert_eq!(nearest("gbps", ["watts", "gb_per_s", "thread_gb_per_s"]), Some("gb_per_s"));
    }

    #[test]
    fn an_offset_past_the_end_is_the_end() {
        assert_eq!(Position::of_offset("a\nbc", 99).column, 3);
    }
}
