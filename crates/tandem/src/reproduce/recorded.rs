// SPDX-License-Identifier: GPL-2.0-only
//! Numbers of an earlier run, judged by the papers' files as they are today. Nothing is simulated.

use std::path::Path;
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use tandem_experiments::{Book, Paper, Recorded, Results, SCHEMA, Study};
use tandem_simulator::bounded::Limit;
use tandem_simulator::input::InputError;

use super::report::documents::Documents;
use super::report::text;
use crate::context::Context;
use crate::failure::Failure;
use crate::json::Destination;
use crate::produced::ProducedBy;

/// The part of an earlier report that says what its numbers were produced by; the numbers are still of that.
#[derive(Deserialize)]
struct Earlier {
    produced_by: Option<ProducedBy>,
}

/// The results as they are written.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    results: &'a Results,
    #[serde(skip_serializing_if = "Option::is_none")]
    produced_by: Option<ProducedBy>,
}

/// Judges the numbers in the file at `path` and writes what comes out. The file may be one of the `documents`: it is read before
/// these are put in their places.
///
/// # Errors
/// A file that cannot be read, or lacks a number; an output that cannot be written.
pub fn judged_anew(
    path: &Path,
    papers: Vec<Paper>,
    documents: Option<Documents>,
    destination: Destination,
    context: &mut Context<'_>,
) -> Result<(), Failure> {
    let read = Limit::REPORT.read_text(path);
    let read = read.map_err(|error| InputError::whole(path, format!("cannot be read: {error}")))?;
    let recorded = Recorded::parse(path, &read)?;
    let Earlier { produced_by } =
        serde_json::from_str(&read).map_err(|error| InputError::whole(path, format!("`produced_by`: {error}")))?;
    let book = Rc::new(Book::new(Some(1))?);
    let judged = papers.into_iter().map(|paper| Study::new(paper, &book, None)?.judged_anew(&recorded));
    let results = Results { schema: SCHEMA, papers: judged.collect::<Result<_, _>>()?, missing: Vec::new() };
    let document = Document { results: &results, produced_by };
    if let Some(documents) = documents {
        documents.write(&results, &document)?;
    }
    let width = context.width;
    destination.write(context, &document, || text::render(&results, width))
}
