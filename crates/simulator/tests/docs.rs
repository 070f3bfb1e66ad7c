// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks the guide against the code: every setting and governor is in the guide, and every file, test and section that
//! the guide names exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use tandem_simulator::simulation::{Governor, KernelParameters};

const MODELS: &str = include_str!("../../../docs/models.md");
const GLOSSARY: &str = include_str!("../../../docs/glossary.md");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All pages of the guide, by name.
fn pages() -> Vec<(String, String)> {
    let mut pages: Vec<(String, String)> = fs::read_dir(root().join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read_to_string(&path).unwrap()))
        .collect();
    pages.sort();
    assert!(pages.len() > 4, "the guide has pages");
    pages
}

/// The texts between backquotes on a line, outside blocks of code.
fn quoted(text: &str) -> Vec<&str> {
    let mut outside = true;
    let lines = text.lines().filter(|line| {
        outside ^= line.starts_with("```");
        outside
    });
    lines.flat_map(|line| line.split('`').skip(1).step_by(2)).collect()
}

/// The anchor that a heading gets on the usual forges.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn every_setting_and_every_governor_is_documented() {
    let pages = pages();
    let text = |wanted: &str| &pages.iter().find(|(name, _)| name == wanted).unwrap().1;
    let words: BTreeSet<&str> = quoted(text("cli.md")).into_iter().chain(quoted(text("models.md"))).collect();
    for name in KernelParameters::KEYS.iter().map(|(key, _)| *key).chain(Governor::NAMES) {
        assert!(words.contains(name), "neither docs/cli.md nor docs/models.md has `{name}`");
    }
}

/// The words in the first column of the glossary's table below `heading`.
fn glossary(heading: &str) -> Vec<&'static str> {
    let section = GLOSSARY.split("\n## ").find(|section| section.starts_with(heading)).expect("a section");
    let rows = section.lines().filter(|line| line.starts_with("| ")).skip(2);
    rows.flat_map(|row| row.split('|').nth(1).unwrap().split(',').map(str::trim)).collect()
}

/// All text below `folder`, in lower case, with underscores as spaces, so that `ranked_hold` has the word `hold`.
fn words_below(folder: &Path, found: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            words_below(&path, found);
        } else {
            *found += &fs::read_to_string(&path).unwrap().to_lowercase().replace('_', " ");
        }
    }
}

#[test]
fn each_word_of_the_glossary_is_used_by_the_scheduler() {
    let words = glossary("The scheduler");
    assert!(words.len() > 20 && words.contains(&"claim"), "{words:?}");
    let mut text = String::new();
    words_below(&root().join("bpf"), &mut text);
    for word in words {
        let lower = word.to_lowercase();
        let is_word = |at: usize| {
            let letter = |c: Option<char>| c.is_some_and(char::is_alphabetic);
            !letter(text[..at].chars().next_back()) && !letter(text[at + lower.len()..].chars().next())
        };
        assert!(text.match_indices(&lower).any(|(at, _)| is_word(at)), "bpf/ does not know `{word}` of the glossary");
    }
}

/// Folders that names of files in the guide may start from.
const FOLDERS: [&str; 2] = [".", "crates/simulator/src"];

/// Whether a word names a file of this project: it has a folder, a known ending and no placeholder. The kernel's files
/// have other endings or are not in this project.
fn is_file(word: &str) -> bool {
    let ours = [".rs", ".toml", ".md", ".json"].iter().any(|ending| word.ends_with(ending));
    ours && word.contains('/') && !word.starts_with('.') && !word.contains(['*', '…', ' ']) && !word.starts_with("lab/")
}

#[test]
fn files_that_the_guide_names_exist() {
    let mut named = 0;
    for (page, text) in pages() {
        for word in quoted(&text).into_iter().filter(|word| is_file(word)) {
            named += 1;
            assert!(FOLDERS.iter().any(|folder| root().join(folder).join(word).is_file()), "docs/{page}: no `{word}`");
        }
    }
    assert!(named > 30, "only {named} names of files found");
}

#[test]
fn links_of_the_guide_lead_somewhere() {
    let pages = pages();
    for (page, text) in &pages {
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if target.contains("://") {
                continue;
            }
            let (file, part) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { page } else { file };
            if file.contains('/') {
                assert!(root().join("docs").join(file).is_file(), "docs/{page}: no {file}");
                continue;
            }
            let Some((_, aim)) = pages.iter().find(|(name, _)| name == file) else {
                panic!("docs/{page}: no page {file}");
            };
            let headings =
                aim.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
            assert!(
                part.is_empty() || headings.into_iter().any(|line| anchor(line) == part),
                "docs/{page}: no {target}"
            );
        }
    }
}

#[test]
fn links_of_the_papers_pages_lead_somewhere() {
    let folder = root().join("docs/results");
    let mut links = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            links += 1;
            assert!(folder.join(target).is_file(), "{}: no {target}", path.display());
        }
    }
    assert!(links >= 15, "each page has its figure, its paper and all results, and there are {links} links");
}

/// All Rust files below `folder`.
fn sources(folder: &Path, found: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}

/// The rows of the table of models: the model's section and the confidence.
fn models() -> Vec<(&'static str, &'static str)> {
    let rows = MODELS.lines().filter(|line| line.starts_with("| ["));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').collect();
        let section = cells[1].split("](#").nth(1).and_then(|rest| rest.split(')').next()).unwrap();
        (section, cells[3])
    })
    .collect()
}

#[test]
fn tests_that_the_table_of_models_names_exist() {
    let mut code = String::new();
    for folder in ["src", "tests"] {
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut code);
    }
    for (section, confidence) in models() {
        for test in quoted(confidence).into_iter().filter(|word| !is_file(word)) {
            assert!(code.contains(&format!("fn {test}(")), "{section}: no test `{test}`");
        }
    }
}

#[test]
fn every_model_is_in_the_table_and_says_the_same_four_things() {
    let in_table: Vec<String> = models().into_iter().map(|(section, _)| section.to_owned()).collect();
    let sections: Vec<(&str, &str)> = MODELS.split("\n## ").skip(1).filter_map(|text| text.split_once('\n')).collect();
    // The first section is an example, the last a verdict.
    let sections = &sections[1..sections.len() - 1];
    let titles: Vec<String> = sections.iter().map(|(title, _)| anchor(title)).collect();
    assert_eq!(titles, in_table);
    for (title, body) in sections {
        let places = ["**Formula.**", "**Source.**", "**Left out.**", "**Who could tell.**"]
            .map(|part| body.find(part).unwrap_or_else(|| panic!("{title} has no {part}")));
        assert!(places.is_sorted(), "{title}: {places:?}");
    }
}

/// The names that the source of the BPF machine's own kernel functions matches.
fn generic_functions() -> BTreeSet<String> {
    let mut code = String::new();
    sources(&root().join("crates/bpf-vm/src/kfunc"), &mut code);
    let arms = code.lines().filter_map(|line| line.trim_start().split_once("=>"));
    let patterns = arms.map(|(pattern, _)| pattern).filter(|pattern| pattern.starts_with("\"bpf_"));
    patterns.flat_map(|pattern| pattern.split('"').skip(1).step_by(2)).map(str::to_owned).collect()
}

#[test]
fn each_kernel_function_of_the_bpf_machine_is_documented() {
    let pages = pages();
    let (_, page) = pages.iter().find(|(name, _)| name == "schedulers.md").unwrap();
    let words: BTreeSet<&str> = quoted(page).into_iter().collect();
    let functions = generic_functions();
    assert!(functions.contains("bpf_cpumask_create"));
    let missing: Vec<&String> = functions.iter().filter(|name| !words.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "docs/schedulers.md does not have {missing:?}");
}
