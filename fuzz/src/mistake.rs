// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an error in a file must be like: its place is in the file, and its words do no harm to a terminal.

use std::path::Path;

use tandem_loader::input::InputError;

/// Bytes that a message may have besides what it quotes of the file.
const WORDS: usize = 64 << 10;

/// Asserts that a mistake found in `text`, the file `path`, is within it.
pub fn check(error: &InputError, path: &Path, text: &str) {
    if let Some(at) = error.position.as_ref().filter(|_| error.path == path) {
        let line = at.line.checked_sub(1).and_then(|line| text.split('\n').nth(line));
        let Some(line) = line else { panic!("line {} of {}", at.line, text.split('\n').count()) };
        // A line ends in `\n` or `\r\n`; the last one in nothing.
        assert!(at.text == line || Some(at.text.as_str()) == line.strip_suffix('\r'), "{:?} of {line:?}", at.text);
        assert!((1..=line.chars().count() + 1).contains(&at.column), "column {} of {line:?}", at.column);
    }
    plain(&error.to_string());
    assert!(error.to_string().len() <= WORDS + 4 * text.len());
}

/// Asserts that a message does not control a terminal.
pub fn plain(message: &str) {
    let control = message.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t'));
    assert_eq!(control, None, "{message:?}");
}
