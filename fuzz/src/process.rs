// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `/proc` says of a process, from any bytes: its `stat`, then, behind an empty line, its `status`. A process names itself.

use std::path::PathBuf;

use tandem_live::process::{Process, threads, tree};
use tempfile::TempDir;

use super::scratch;

/// The process.
const ID: u32 = 7;

thread_local! {
    static ROOT: (TempDir, PathBuf) = {
        let folder = scratch::folder();
        let process = folder.path().join(format!("proc/{ID}"));
        scratch::write(&process.join(format!("task/{ID}/stat")), "");
        (folder, process)
    };
}

/// Reads bytes as the files of a process.
pub fn run(bytes: &[u8]) {
    let end = bytes.windows(2).position(|two| two == b"\n\n").unwrap_or(bytes.len());
    ROOT.with(|(folder, process)| {
        scratch::write(&process.join("stat"), &bytes[..end]);
        scratch::write(&process.join("status"), bytes.get(end + 2..).unwrap_or_default());
        let root = folder.path();
        assert_eq!(threads(root, ID), [ID]);
        assert!(tree(root, ID).contains(&ID) && tree(root, ID + 1).contains(&(ID + 1)));
        if let Some(read) = Process::read(root, ID) {
            assert_eq!(read.id, ID);
            assert_eq!(read.user().is_some(), read.users[..3].iter().all(|user| *user == read.users[0]));
        }
    });
}
