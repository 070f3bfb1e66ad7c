// SPDX-License-Identifier: GPL-2.0-only
//! The guide's pages, and the commands in them: what stands in blocks marked `sh`, and what stands in the text between backticks.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A line of a page.
#[derive(Debug, Clone)]
pub struct Line {
    pub page: PathBuf,
    /// Counted from 1.
    pub number: usize,
    pub text: String,
}

impl Line {
    /// Where it stands, as messages say it.
    pub fn place(&self) -> String {
        format!("{}:{}", self.page.display(), self.number)
    }
}

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The README and all pages of the guide, below the repository.
pub fn pages() -> Vec<PathBuf> {
    let mut pages = vec!["README.md".into(), "CONTRIBUTING.md".into(), "SECURITY.md".into(), "guest/README.md".into()];
    for entry in fs::read_dir(repository().join("docs")).unwrap() {
        let name = PathBuf::from(entry.unwrap().file_name());
        if name.extension().is_some_and(|kind| kind == "md") {
            pages.push(Path::new("docs").join(name));
        }
    }
    pages.sort();
    pages
}

/// The lines of a page with the language of the block that each is in; `None` is text, and `script` an `sh` block with a `#!`.
pub fn lines(page: &Path) -> Vec<(Option<String>, Line)> {
    let text = fs::read_to_string(repository().join(page)).unwrap();
    let mut language: Option<String> = None;
    let mut lines = Vec::new();
    for (index, text) in text.lines().enumerate() {
        match (text.trim_start().strip_prefix("```"), &language) {
            (Some(name), None) => language = Some(name.trim().to_owned()),
            (Some(_), Some(_)) => language = None,
            // A whole script is not a list of commands.
            (None, Some(name)) if name == "sh" && text.starts_with("#!") => language = Some("script".to_owned()),
            (None, _) => {
                let line = Line { page: page.to_owned(), number: index + 1, text: text.to_owned() };
                lines.push((language.clone(), line));
            }
        }
    }
    assert!(language.is_none(), "{}: a block has no end", page.display());
    lines
}

/// The lines of commands of a page: those of its `sh` blocks, each with what continues it: the line that follows `\`, or all up to the
/// end of what `<<'END'` begins.
pub fn commands(page: &Path) -> Vec<Line> {
    let mut commands: Vec<Line> = Vec::new();
    let mut goes_on = false;
    let mut until: Option<String> = None;
    for (language, line) in lines(page) {
        if language.as_deref() != Some("sh") {
            continue;
        }
        if let Some(end) = &until {
            let command = commands.last_mut().expect("the line with `<<`");
            command.text += &format!("\n{}", line.text);
            until = until.clone().filter(|_| line.text != *end);
            continue;
        }
        until = line.text.split_once("<<'").and_then(|(_, end)| Some(end.split_once('\'')?.0.to_owned()));
        let text = line.text.strip_suffix('\\').unwrap_or(&line.text).to_owned();
        let continued = line.text.ends_with('\\');
        match commands.last_mut().filter(|_| goes_on) {
            Some(command) => command.text += &text,
            None if text.trim().is_empty() || text.trim_start().starts_with('#') => {}
            None => commands.push(Line { text, ..line }),
        }
        goes_on = continued;
    }
    commands
}

/// The simple commands of a line: what stands between `|`, `&&` and `;`, as words, without `sudo`, variables that are set before it
/// and redirections.
pub fn simple(line: &Line) -> Vec<Vec<String>> {
    // What stands behind `<<` is no command.
    let first = line.text.lines().next().unwrap_or_default();
    let words: Vec<String> = shlex::Shlex::new(first).collect();
    let parts = words.split(|word| ["|", "&&", ";", "||"].contains(&word.as_str()));
    parts.map(words_of_command).filter(|words| !words.is_empty()).collect()
}

fn words_of_command(words: &[String]) -> Vec<String> {
    let is_variable = |word: &&String| {
        word.split_once('=').is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
    };
    let words = words.iter().skip_while(|word| *word == "sudo" || is_variable(word));
    let is_redirection = |word: &&String| word.starts_with('>') || word.starts_with("2>") || *word == "&";
    words.take_while(|word| !is_redirection(word)).cloned().collect()
}

/// The targets of the links in a line of text, those to other sites left out.
pub fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
    targets.filter(|target| !target.contains("://"))
}

/// The places of a page that links lead to: its headings, as sites that show Markdown name them.
pub fn places(page: &Path) -> BTreeSet<String> {
    let mut places = BTreeSet::new();
    for (_, line) in lines(page).into_iter().filter(|(language, line)| language.is_none() && line.text.starts_with('#'))
    {
        let heading = line.text.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
        let name: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let mut unique = name.clone();
        for number in 1.. {
            if places.insert(unique) {
                break;
            }
            unique = format!("{name}-{number}");
        }
    }
    places
}
