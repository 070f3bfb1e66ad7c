// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads small files below a root and keeps account of those that could not be used.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::{DetectError, cpulist};

/// A file tree such as `/`, or a test's copy of one.
///
/// A file that is absent is ordinary: kernels differ. A file that exists and cannot be read or makes no sense is
/// remembered and becomes a warning.
pub(super) struct Tree<'a> {
    root: &'a Path,
    complaints: BTreeMap<(String, String), Complaint>,
}

/// Files of one pattern with the same trouble: 256 CPUs without permission are one complaint.
struct Complaint {
    first: PathBuf,
    files: usize,
}

impl<'a> Tree<'a> {
    pub(super) fn new(root: &'a Path) -> Self {
        Self { root, complaints: BTreeMap::new() }
    }

    /// Where `path`, given from the root without a leading slash, is on this machine.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// The trimmed content of a file; `None` if it is absent or cannot be read.
    pub(super) fn text(&mut self, path: &str) -> Option<String> {
        match std::fs::read(self.path(path)) {
            Ok(bytes) => Some(String::from_utf8_lossy(&bytes).trim_matches(['\0', '\n', ' ', '\t']).to_owned()),
            Err(error) => {
                // The kernel answers EBUSY, ENODEV and the like where a device has nothing to say at present.
                if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) {
                    self.complain(path, format!("cannot be read ({})", error.kind()));
                }
                None
            }
        }
    }

    /// The number in a file; `None` if it is absent, cannot be read or holds something else.
    pub(super) fn number<T: FromStr>(&mut self, path: &str) -> Option<T> {
        self.parsed(path, "a number", |text| text.parse().ok())
    }

    /// The CPU list in a file, under the same terms.
    pub(super) fn cpus(&mut self, path: &str) -> Option<Vec<u32>> {
        self.parsed(path, "a CPU list such as 0-3,8", cpulist::parse)
    }

    /// What `parse` makes of a file. `expected` names what `parse` accepts.
    pub(super) fn parsed<T>(&mut self, path: &str, expected: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let text = self.text(path)?;
        let value = parse(&text);
        if value.is_none() {
            self.complain(path, format!("ignored: expected {expected}, found \"{}\"", excerpt(&text)));
        }
        value
    }

    /// The CPU list in a file that must be there, readable and not empty.
    ///
    /// # Errors
    /// [`DetectError::Unreadable`], [`DetectError::Malformed`].
    pub(super) fn required_cpus(&mut self, path: &str) -> Result<Vec<u32>, DetectError> {
        let place = self.path(path);
        let text = std::fs::read_to_string(&place)
            .map_err(|reason| DetectError::Unreadable { path: place.clone(), reason })?;
        cpulist::parse(&text).filter(|cpus| !cpus.is_empty()).ok_or_else(|| DetectError::Malformed {
            path: place,
            expected: "a list of CPUs such as 0-3,8",
            found: excerpt(text.trim()),
        })
    }

    /// Names in a folder, sorted; empty if it is absent or cannot be listed.
    pub(super) fn names(&mut self, path: &str) -> Vec<String> {
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
    pub(super) fn numbered(&mut self, path: &str, prefix: &str) -> Vec<u32> {
        let mut numbers: Vec<u32> =
            self.names(path).iter().filter_map(|name| name.strip_prefix(prefix)?.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    }

    /// One sentence per kind of trouble met so far.
    pub(super) fn warnings(self) -> Vec<String> {
        let sentence = |((_, trouble), complaint): (_, Complaint)| {
            let more = match complaint.files {
                1 => String::new(),
                files => format!(", likewise {} more", files - 1),
            };
            format!("{}{more}: {trouble}", complaint.first.display())
        };
        self.complaints.into_iter().map(sentence).collect()
    }

    fn complain(&mut self, path: &str, trouble: String) {
        let first = self.path(path);
        self.complaints.entry((pattern(path), trouble)).or_insert(Complaint { first, files: 0 }).files += 1;
    }
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
fn excerpt(text: &str) -> String {
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
        let mut tree = Tree::new(folder.path());
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
        let mut tree = Tree::new(folder.path());
        assert_eq!(tree.text("nothing/here"), None);
        assert_eq!(tree.numbered("nothing", "cpu"), Vec::<u32>::new());
        assert!(tree.warnings().is_empty());
    }
}
