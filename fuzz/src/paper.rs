// SPDX-License-Identifier: MIT OR Apache-2.0
//! The files of a paper from any text, which is read as the paper's own file and as an experiment's. What the runs name is
//! not looked for: [`super::expression`] computes.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use tandem_experiments::{Book, Library, Paper, Study};

use super::mistake;

const PAPER: &str = "title = \"T\"\nsource = \"S\"\n";
const EXPERIMENT: &str = "title = \"T\"\nabout = \"A\"\n";

thread_local! {
    static BOOK: Option<Rc<Book>> = Book::new(Some(1)).ok().map(Rc::new);
}

/// Reads bytes as the files of a paper.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    read(
        &Library::of_texts(Path::new("papers"), [("p/paper.toml", text), ("p/e.toml", EXPERIMENT)]),
        "paper.toml",
        text,
    );
    read(&Library::of_texts(Path::new("papers"), [("p/paper.toml", PAPER), ("p/e.toml", text)]), "e.toml", text);
}

fn read(library: &Library, file: &str, text: &str) {
    let path = PathBuf::from("papers/p").join(file);
    let book = BOOK.with(|book| book.clone());
    let Some(book) = book else { panic!("no book of runs can be made") };
    if let Err(error) = Paper::read(library, "p").and_then(|paper| Study::new(paper, &book, None)) {
        mistake::check(&error, &path, text);
    }
}
