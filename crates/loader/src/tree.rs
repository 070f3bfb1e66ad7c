// SPDX-License-Identifier: MIT OR Apache-2.0
//! The files in which a kernel describes itself, below a root that tests choose.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use crate::bounded::Limit;
use crate::cpus::CpuList;

/// The files below a root: `/`, or a copy of a machine's `/sys` and `/proc`.
///
/// A file that is absent is ordinary: kernels differ. A file that exists and cannot be read, or makes no sense, is remembered
/// and becomes a sentence of [`Tree::warnings`].
#[derive(Debug)]
pub struct Tree {
    root: PathBuf,
    complaints: Mutex<BTreeMap<(String, String), Complaint>>,
}

/// Files of one pattern with the same trouble: 256 CPUs without permission are one complaint.
#[derive(Debug)]
struct Complaint {
    first: PathBuf,
    files: usize,
}

impl Tree {
    /// The files below `root`: `/` for the running kernel.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), complaints: Mutex::default() }
    }

    /// Where `path`, given from the root without a leading slash, is on this machine.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// The text of a file, without blanks at its ends; `None` if it is absent, cannot be read or is empty.
    pub fn text(&self, path: &str) -> Option<String> {
        match Limit::DESCRIPTION.read(&self.path(path)) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                let text = text.trim_matches(|c: char| c == '\0' || c.is_whitespace());
                Some(text.to_owned()).filter(|text| !text.is_empty())
            }
            Err(error) => {
                // The kernel answers EBUSY, ENODEV and the like where a device has nothing to say at present.
                if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) {
                    self.complain(path, format!("cannot be read ({})", error.kind()));
                }
                None
            }
        }
    }

    /// The text of a file below `/sys`.
    pub fn sys(&self, path: &str) -> Option<String> {
        self.text(&format!("sys/{path}"))
    }

    /// The number in a file; `None` if it is absent, cannot be read or holds something else.
    pub fn number<T: FromStr>(&self, path: &str) -> Option<T> {
        self.parsed(path, "a number", |text| text.parse().ok())
    }

    /// The CPUs of the list in a file, ascending; `None` if it is absent, cannot be read or holds something else.
    pub fn cpus(&self, path: &str) -> Option<Vec<u32>> {
        self.parsed(path, "a CPU list such as 0-3,8", cpus)
    }

    /// What `parse` makes of a file. `expected` names what `parse` accepts.
    pub fn parsed<T>(&self, path: &str, expected: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let text = self.text(path)?;
        let value = parse(&text);
        if value.is_none() {
            self.complain(path, format!("ignored: expected {expected}, found \"{}\"", excerpt(&text)));
        }
        value
    }

    /// Whether there is a file or a folder below `/sys`.
    pub fn has_sys(&self, path: &str) -> bool {
        self.path("sys").join(path).exists()
    }

    /// The names in a folder below `/sys`, sorted; none if it is absent.
    pub fn names(&self, path: &str) -> Vec<String> {
        self.folder(&format!("sys/{path}"))
    }

    /// The names in a folder, sorted; none if it is absent or cannot be listed.
    pub fn folder(&self, path: &str) -> Vec<String> {
        let entries = match std::fs::read_dir(self.path(path)) {
            Ok(entries) => entries,
            Err(error) => {
                if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) {
                    self.complain(path, format!("cannot be listed ({})", error.kind()));
                }
                return Vec::new();
            }
        };
        let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Numbers that follow `prefix` in the names of a folder, ascending: 0 and 1 for `state0` and `state1`.
    pub fn numbered(&self, path: &str, prefix: &str) -> Vec<u32> {
        let mut numbers: Vec<u32> =
            self.folder(path).iter().filter_map(|name| name.strip_prefix(prefix)?.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    }

    /// One sentence per kind of trouble met so far.
    pub fn warnings(self) -> Vec<String> {
        let sentence = |((_, trouble), complaint): ((String, String), Complaint)| {
            let more = match complaint.files {
                1 => String::new(),
                files => format!(", likewise {} more", files - 1),
            };
            format!("{}{more}: {trouble}", complaint.first.display())
        };
        let complaints = self.complaints.into_inner().unwrap_or_else(PoisonError::into_inner);
        complaints.into_iter().map(sentence).collect()
    }

    fn complain(&self, path: &str, trouble: String) {
        let first = self.path(path);
        let mut complaints = self.complaints.lock().unwrap_or_else(PoisonError::into_inner);
        complaints.entry((pattern(path), trouble)).or_insert(Complaint { first, files: 0 }).files += 1;
    }
}

/// The CPUs of a list, ascending; `None` if it is none.
pub fn list(text: &str) -> Option<Vec<usize>> {
    Some(CpuList::parse(text)?.iter().collect())
}

/// The same as numbers of 32 bits, none of which is larger.
pub(crate) fn cpus(text: &str) -> Option<Vec<u32>> {
    Some(CpuList::parse(text)?.iter().map(|cpu| cpu as u32).collect())
}

/// The path with every run of digits as one `#`, so that files of several CPUs compare equal.
fn pattern(path: &str) -> String {
    let mut pattern = String::new();
    for c in path.chars() {
        match c {
            '0'..='9' if pattern.ends_with('#') => {}
            '0'..='9' => pattern.push('#'),
            other => pattern.push(other),
        }
    }
    pattern
}

/// The first characters of a file, on one line, for a message.
pub(crate) fn excerpt(text: &str) -> String {
    const LONGEST: usize = 40;
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST).collect();
    if text.chars().count() > LONGEST { format!("{line}…") } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_files_with_one_trouble_are_one_warning() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for cpu in 0..12 {
            std::fs::write(folder.path().join(format!("cpu{cpu}")), "many\n").expect("a file");
        }
        let tree = Tree::new(folder.path());
        for cpu in 0..12 {
            assert_eq!(tree.number::<u32>(&format!("cpu{cpu}")), None);
        }
        let warnings = tree.warnings();
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].ends_with("cpu0, likewise 11 more: ignored: expected a number, found \"many\""));
    }

    #[test]
    fn an_absent_file_is_no_trouble() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let tree = Tree::new(folder.path());
        assert_eq!(tree.text("nothing/here"), None);
        assert_eq!(tree.numbered("nothing", "cpu"), Vec::<u32>::new());
        assert!(tree.warnings().is_empty());
    }
}
