// SPDX-License-Identifier: MIT OR Apache-2.0
//! Folders for fake files, in memory where there is room: a target writes some each time it runs.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

/// A folder that is removed when it is dropped.
pub fn folder() -> TempDir {
    let made = tempfile::Builder::new().prefix("tandem-fuzz-").tempdir_in("/dev/shm");
    match made.or_else(|_| tempfile::tempdir()) {
        Ok(folder) => folder,
        Err(why) => panic!("no temporary folder can be made: {why}"),
    }
}

/// Writes a file, and the folders above it if they are missing.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) {
    let bytes = bytes.as_ref();
    if fs::write(path, bytes).is_err() {
        let made = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, bytes));
        assert!(made.is_ok(), "{}: {made:?}", path.display());
    }
}
