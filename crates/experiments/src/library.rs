// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the files of papers are: in a folder, or in the program that uses this crate.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tandem_simulator::bounded::Limit;
use tandem_simulator::input::{InputError, valid_names};

use crate::error::ExperimentError;

/// The kinds of files that belong to a paper.
const KINDS: [&str; 2] = ["toml", "json"];

/// The texts of all files of all papers. What a paper is, `papers/README.md` says.
#[derive(Debug)]
pub struct Library {
    /// How messages call the folder: of all papers, or of the one experiment.
    root: PathBuf,
    /// Whether the files of the one paper lie in `root` itself.
    flat: bool,
    /// By paper, then by path in its folder.
    papers: BTreeMap<String, BTreeMap<String, String>>,
}

impl Library {
    /// The files of `texts`: paths such as `memory/table1.toml`, a folder for each paper, with their contents. Messages
    /// call the folder of all papers `root`.
    pub fn of_texts<'t>(root: &Path, texts: impl IntoIterator<Item = (&'t str, &'t str)>) -> Self {
        let mut library = Self { root: root.to_owned(), flat: false, papers: BTreeMap::new() };
        for (path, text) in texts {
            if let Some((paper, path)) = path.split_once('/') {
                library.add(paper, path, text.to_owned());
            }
        }
        library
    }

    /// The TOML and JSON files of the folder `root`, which has a folder for each paper.
    ///
    /// # Errors
    /// A file or folder that cannot be read; no folder has a `paper.toml`.
    pub fn of_folder(root: &Path) -> Result<Self, InputError> {
        let mut library = Self { root: root.to_owned(), flat: false, papers: BTreeMap::new() };
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).map_err(|error| unreadable(&folder, &error))? {
                let path = entry.map_err(|error| unreadable(&folder, &error))?.path();
                let known = path.extension().is_some_and(|kind| KINDS.iter().any(|known| kind == *known));
                if path.is_dir() {
                    folders.push(path);
                } else if known
                    && let Some((paper, rest)) = below(root, &path).as_deref().and_then(|path| path.split_once('/'))
                {
                    let text = Limit::DESCRIPTION.read_text(&path).map_err(|error| unreadable(&path, &error))?;
                    library.add(paper, rest, text);
                }
            }
        }
        // A folder is a paper if it says so; others may lie beside it.
        library.papers.retain(|_, files| files.contains_key("paper.toml"));
        match library.papers.is_empty() {
            true => Err(InputError::whole(root, "no folder in it has a paper.toml")),
            false => Ok(library),
        }
    }

    /// The file at `path` alone, as the experiment of a paper that has its name.
    ///
    /// # Errors
    /// The file cannot be read, or its path ends in no name.
    pub(crate) fn of_file(path: &Path) -> Result<(Self, String, String), InputError> {
        let name = |part: Option<&std::ffi::OsStr>| part.and_then(|part| part.to_str()).map(str::to_owned);
        let (Some(file), Some(paper)) = (name(path.file_name()), name(path.file_stem())) else {
            return Err(InputError::whole(path, "is no name of a file"));
        };
        let text = Limit::DESCRIPTION.read_text(path).map_err(|error| unreadable(path, &error))?;
        let root = path.parent().unwrap_or(Path::new("")).to_owned();
        let mut library = Self { root, flat: true, papers: BTreeMap::new() };
        library.add(&paper, &file, text);
        Ok((library, paper, file))
    }

    /// Adds the file `path` of `paper` if there is one.
    ///
    /// # Errors
    /// The file is there and cannot be read.
    pub(crate) fn add_file(&mut self, paper: &str, file: &str) -> Result<(), InputError> {
        let path = self.path(paper, file);
        if self.text(paper, file).is_none() && path.is_file() {
            let text = Limit::DESCRIPTION.read_text(&path).map_err(|error| unreadable(&path, &error))?;
            self.add(paper, file, text);
        }
        Ok(())
    }

    fn add(&mut self, paper: &str, path: &str, text: String) {
        self.papers.entry(paper.to_owned()).or_default().insert(path.to_owned(), text);
    }

    /// The names of the papers `wanted`, in the order of the library; all names if none is wanted.
    ///
    /// # Errors
    /// [`ExperimentError::NoPaper`].
    pub fn names(&self, wanted: &[String]) -> Result<Vec<&str>, ExperimentError> {
        let names: Vec<&str> = self.papers.keys().map(String::as_str).collect();
        if let Some(unknown) = wanted.iter().find(|name| !names.contains(&name.as_str())) {
            let (paper, folder) = (unknown.clone(), self.root.clone());
            return Err(ExperimentError::NoPaper { paper, folder, valid: valid_names(unknown, &names) });
        }
        Ok(names.into_iter().filter(|name| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name)).collect())
    }

    /// How messages call a file of `paper`.
    pub fn path(&self, paper: &str, file: &str) -> PathBuf {
        if self.flat { self.root.join(file) } else { self.root.join(paper).join(file) }
    }

    /// The paths of all files of all papers, as messages call them.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.papers.iter().flat_map(|(paper, files)| files.keys().map(|file| self.path(paper, file)))
    }

    /// The files of `paper`, ascending, with their texts.
    pub fn texts(&self, paper: &str) -> impl Iterator<Item = (&str, &str)> {
        let files = self.papers.get(paper).into_iter().flatten();
        files.map(|(file, text)| (file.as_str(), text.as_str()))
    }

    /// The text of a file of `paper`, if there is such a file.
    pub fn text(&self, paper: &str, file: &str) -> Option<&str> {
        self.papers.get(paper)?.get(file).map(String::as_str)
    }

    /// The files of the experiments of `paper`, ascending.
    pub fn experiments(&self, paper: &str) -> impl Iterator<Item = &str> {
        let files = self.papers.get(paper).into_iter().flat_map(BTreeMap::keys).map(String::as_str);
        files.filter(|file| file.ends_with(".toml") && !file.contains('/') && *file != "paper.toml")
    }
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> InputError {
    InputError::whole(path, format!("cannot be read: {error}"))
}

/// `path` without `root`, with slashes.
fn below(root: &Path, path: &Path) -> Option<String> {
    let parts = path.strip_prefix(root).ok()?.components();
    Some(parts.map(|part| part.as_os_str().to_str()).collect::<Option<Vec<_>>>()?.join("/"))
}
