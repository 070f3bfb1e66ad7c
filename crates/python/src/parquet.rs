// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parquet files. The same table gives the same bytes.

use std::fs;
use std::io::Write;
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

use crate::errors::mistake;

/// What files are called while they are written.
const TEMPORARY: &str = ".tandem-";

/// The file of a table; `about` is said of the file as a whole, names and values.
pub fn encode(batch: &RecordBatch, about: &[(&str, String)]) -> PyResult<Vec<u8>> {
    let about = about.iter().map(|(name, value)| KeyValue::new((*name).to_owned(), value.clone()));
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(concat!("tandem ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(about.collect()))
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).map_err(mistake)?;
    writer.write(batch).map_err(mistake)?;
    writer.close().map_err(mistake)?;
    Ok(bytes)
}

/// The table in a file's bytes.
///
/// # Errors
/// The bytes are no Parquet file, or not all of one.
pub fn decode(bytes: Vec<u8>) -> Result<RecordBatch, Box<dyn std::error::Error + Send + Sync>> {
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
    let written = fs::File::create(&beside).and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_data()));
    let written = written.and_then(|()| fs::rename(&beside, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&beside);
        PyOSError::new_err(format!("{}: cannot be written: {error}", path.display()))
    })
}
