// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parquet files. The same table gives the same bytes, and a file says the SHA-256 of its own, so that a bit that has changed since is
//! found. (Parquet's own checksums are of pages alone, and the library writes none.)

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;

use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use tandem_experiments::Digest;

use crate::errors::mistake;

/// What files are called while they are written.
const TEMPORARY: &str = ".tandem-";

/// The name, in a file's metadata, of the SHA-256 of the file's bytes with [`NO_SUM`] in that value's place.
const SUM: &str = "tandem_sha256";
const NO_SUM: &str = "0000000000000000000000000000000000000000000000000000000000000000";
/// What stands between a name and a value of this length in the metadata: a field of the kind `binary`, and its length.
const BETWEEN: [u8; 2] = [0x18, NO_SUM.len() as u8];

/// The file of a table; `about` is said of the file as a whole, names and values.
pub fn encode(batch: &RecordBatch, about: &[(&str, String)]) -> PyResult<Vec<u8>> {
    let about = about.iter().map(|(name, value)| KeyValue::new((*name).to_owned(), value.clone()));
    let about = about.chain([KeyValue::new(SUM.to_owned(), NO_SUM.to_owned())]);
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(concat!("tandem ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(about.collect()))
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).map_err(mistake)?;
    writer.write(batch).map_err(mistake)?;
    writer.close().map_err(mistake)?;
    let sum = Digest::of(&bytes).to_string();
    place_of_sum(&mut bytes)
        .ok_or_else(|| mistake("a Parquet file without its own metadata"))?
        .copy_from_slice(sum.as_bytes());
    Ok(bytes)
}

/// Where a file's bytes have the SHA-256.
fn place_of_sum(bytes: &mut [u8]) -> Option<&mut [u8]> {
    let before = [SUM.as_bytes(), &BETWEEN].concat();
    // The metadata stand at the end.
    let at = bytes.windows(before.len()).rposition(|window| window == before)? + before.len();
    bytes.get_mut(at..at + NO_SUM.len())
}

/// The table in a file's bytes.
///
/// # Errors
/// The bytes are no Parquet file, not all of one, or others than [`encode`] gave.
pub fn decode(mut bytes: Vec<u8>) -> Result<RecordBatch, Box<dyn std::error::Error + Send + Sync>> {
    let place = place_of_sum(&mut bytes).ok_or("it does not say its own SHA-256")?;
    let said = place.to_vec();
    place.copy_from_slice(NO_SUM.as_bytes());
    if Digest::of(&bytes).to_string().as_bytes() != said {
        return Err("its bytes have changed since it was written: their SHA-256 is another one".into());
    }
    let builder = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes))?;
    let rows = builder.metadata().file_metadata().num_rows() as usize;
    let schema = builder.schema().clone();
    let mut batches = builder.with_batch_size(rows.max(1)).build()?;
    match batches.next() {
        Some(batch) => Ok(batch?),
        None => Ok(RecordBatch::new_empty(schema)),
    }
}

/// Writes a file whole or not at all, whatever happens meanwhile.
///
/// # Errors
/// `OSError`.
pub fn write(path: &Path, bytes: &[u8]) -> PyResult<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside: PathBuf = path.with_file_name(format!("{TEMPORARY}{}-{name}.tmp", process::id()));
    let written = created(&beside).and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_data()));
    let written = written.and_then(|()| fs::rename(&beside, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&beside);
        PyOSError::new_err(format!("{}: cannot be written: {error}", path.display()))
    })
}

/// A new file. What is there from before, an earlier process's file or a symbolic link that somebody made, is removed and not
/// written to.
fn created(path: &Path) -> io::Result<File> {
    let create = || OpenOptions::new().write(true).create_new(true).open(path);
    match create() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            create()
        }
        created => created,
    }
}
