//! A part of a file, as batches of the columns that Spark asked for.

use std::any::Any;
use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use serde::Deserialize;

use crate::error::{Error, Result};
use crate::input::Input;
use crate::parquet_file;

/// A file, and its bytes.
#[derive(Clone)]
pub struct DataFile {
    /// Where it lies, as users know it.
    pub path: String,
    pub input: Input,
}

/// How the rows of a file are written down.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Format {
    Parquet,
}

/// What of a file one task reads.
pub struct Part {
    pub file: DataFile,
    pub format: Format,
    /// Bytes of the file: what begins in them is read, and nothing is read twice by tasks whose parts meet.
    pub start: u64,
    pub length: u64,
    /// The columns asked for, of the types that Spark's vectors know.
    pub schema: SchemaRef,
    /// Whether names of columns that differ in case alone are different names.
    pub case_sensitive: bool,
    /// Rows of a batch, at most.
    pub batch_rows: usize,
}

/// Batches of just the schema that was asked for.
pub type Batches = Box<dyn Iterator<Item = Result<RecordBatch>>>;

/// The columns of a file, as Arrow knows them.
pub fn schema(file: &DataFile, format: &Format) -> Result<Schema> {
    unbroken(&file.path, || match format {
        Format::Parquet => parquet_file::schema(file),
    })
}

/// Opens a part of a file. Nothing but its footer is read before the first batch is asked for.
pub fn read(part: Part) -> Result<Batches> {
    let path = part.file.path.clone();
    let mut batches = unbroken(&path, || match part.format {
        Format::Parquet => parquet_file::read(part),
    })?;
    Ok(Box::new(iter::from_fn(move || {
        unbroken(&path, || batches.next().transpose()).transpose()
    })))
}

/// Some decoders of damaged files panic: that, too, is an error of the file.
fn unbroken<T>(path: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| Err(Error::corrupt(path, told(&*payload))))
}

/// What a panic said.
pub fn told(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("its reader broke")
}
