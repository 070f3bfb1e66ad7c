// SPDX-License-Identifier: GPL-2.0-only
//! The guide names no command and no option that there is not.

use std::fs;
use std::path::Path;

use clap::CommandFactory;

use super::documents_common::{Line, commands, lines, links, pages, places, repository, simple};
use crate::cli::Cli;

/// Programs of others that the guide's commands call.
const OTHERS: [&str; 12] =
    ["apt", "cargo", "cat", "cp", "git", "jq", "makepkg", "mkdir", "pip", "rpmbuild", "systemctl", "tar"];

#[test]
fn every_command_of_the_guide_is_one() {
    let mut count = 0;
    let mut mistakes = Vec::new();
    for line in pages().iter().flat_map(|page| commands(page)) {
        for words in simple(&line) {
            count += 1;
            if let Err(why) = known(&words) {
                mistakes.push(format!("{}: {}\n    {why}", line.place(), line.text));
            }
        }
    }
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
    assert!(count >= 100, "{count} commands");
}

/// Whether the command's parser takes a command of Tandem, and whether the targets and files of others are there.
fn known(words: &[String]) -> Result<(), String> {
    let (first, rest) = words.split_first().ok_or("nothing")?;
    match first.as_str() {
        "tandem" => match Cli::read(words) {
            // An object that a reader has and the parser looks for: `long::documents` runs these with such files.
            Err(error) if error.to_string().contains("cannot be read: No such file") => Ok(()),
            result => result.map(|_| ()).map_err(|error| error.to_string()),
        },
        "make" => {
            rest.iter().filter(|word| !word.contains('=') && !word.starts_with('-')).try_for_each(|target| made(target))
        }
        path if path.contains('/') => {
            if repository().join(path).exists() {
                Ok(())
            } else {
                Err("there is no such file".to_owned())
            }
        }
        other if OTHERS.contains(&other) => Ok(()),
        other => Err(format!("{other}: what is that?")),
    }
}

fn made(target: &str) -> Result<(), String> {
    let makefile = fs::read_to_string(repository().join("Makefile")).map_err(|error| error.to_string())?;
    let found = makefile.lines().any(|line| line.strip_prefix(target).is_some_and(|rest| rest.starts_with(':')));
    if found { Ok(()) } else { Err(format!("make has no target {target}")) }
}

/// A command that stands in a block of another kind would escape the tests.
#[test]
fn commands_stand_in_blocks_marked_as_commands() {
    for (language, line) in pages().iter().flat_map(|page| lines(page)) {
        let is_command = ["tandem ", "sudo tandem ", "make "].iter().any(|start| line.text.starts_with(start));
        let marked = language.as_deref().is_none_or(|language| ["sh", "script", "text"].contains(&language));
        assert!(!is_command || marked, "{}: a command in a block that is not marked `sh`", line.place());
    }
}

/// What the text and usage lines name: words of theirs are placeholders, but options and subcommands must be there.
#[test]
fn every_option_that_the_guide_names_with_its_command_is_one() {
    let mut count = 0;
    let mut mistakes = Vec::new();
    for page in pages() {
        for (language, line) in lines(&page) {
            let named = match language.as_deref() {
                None => line.text.split('`').skip(1).step_by(2).collect(),
                Some("text" | "script") => vec![line.text.as_str()],
                Some(_) => continue,
            };
            for text in named {
                let text = text.trim_start().trim_start_matches("$ ").trim_start_matches("sudo ");
                let Some(words) = text.strip_prefix("tandem ") else { continue };
                count += 1;
                mistakes.extend(unknown(&line, words));
            }
        }
    }
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
    assert!(count >= 100, "{count} commands");
}

/// What a command's words name that is not there.
fn unknown(line: &Line, words: &str) -> Option<String> {
    let mut cli = Cli::command();
    cli.build();
    let mut command = &cli;
    let mut words = words.split_whitespace().peekable();
    while let Some(found) = words.peek().and_then(|word| command.find_subcommand(word)) {
        command = found;
        words.next();
    }
    let wrong =
        |what: &str| Some(format!("{}: `{}` has no {what}", line.place(), command.get_bin_name().unwrap_or_default()));
    if command.has_subcommands() && command.is_subcommand_required_set() {
        let next = words.peek().copied().unwrap_or("…");
        if next.starts_with(|c: char| c.is_ascii_lowercase()) {
            return wrong(next);
        }
    }
    for word in words.take_while(|word| !["--", "|", "&&"].contains(word)) {
        let word = word.trim_matches(|c: char| "[]().,;".contains(c));
        let name = word.split(['=', '[']).next().unwrap_or_default();
        let has = match name.strip_prefix("--") {
            Some(long) => long.is_empty() || command.get_arguments().any(|argument| has_long(argument, long)),
            None => match name.strip_prefix('-').map(|short| short.chars().collect::<Vec<_>>()).as_deref() {
                Some([short]) if short.is_ascii_alphabetic() => {
                    command.get_arguments().any(|argument| argument.get_short() == Some(*short))
                }
                _ => true,
            },
        };
        if !has {
            return wrong(name);
        }
    }
    None
}

fn has_long(argument: &clap::Arg, long: &str) -> bool {
    argument.get_long() == Some(long) || argument.get_all_aliases().is_some_and(|aliases| aliases.contains(&long))
}

#[test]
fn links_lead_to_files_and_to_places_in_them() {
    let mut mistakes = Vec::new();
    let mut count = 0;
    for page in pages() {
        let folder = page.parent().unwrap_or(Path::new(""));
        for (_, line) in lines(&page).into_iter().filter(|(language, _)| language.is_none()) {
            for link in links(&line.text) {
                count += 1;
                let (file, place) = link.split_once('#').unwrap_or((link, ""));
                let target = if file.is_empty() { page.clone() } else { folder.join(file) };
                let is_page = target.extension().is_some_and(|kind| kind == "md");
                if !repository().join(&target).exists()
                    || !place.is_empty() && is_page && !places(&target).contains(place)
                {
                    mistakes.push(format!("{}: {link} leads nowhere", line.place()));
                }
            }
        }
    }
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
    assert!(count >= 200, "{count} links");
}
