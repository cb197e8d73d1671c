//! A part of a file, as batches of the columns that Spark asked for.

use std::any::Any;
use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::calendar::{Calendars, Parquet};
use crate::csv::Csv;
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::input::Input;
use crate::orc_file::{self, Orc};
use crate::{csv, ipc_file, parquet_file, schema};

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
    Parquet(Parquet),
    Csv(Box<Csv>),
    Ipc,
    Orc(Orc),
}

/// A part of a file whose types are to be found out.
pub struct Untyped {
    pub file: DataFile,
    pub format: Format,
    pub start: u64,
    pub length: u64,
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
    /// The file whose columns these are, if nobody gave a schema.
    pub first: Option<String>,
    /// Whether names of columns that differ in case alone are different names.
    pub case_sensitive: bool,
    /// Rows of a batch, at most.
    pub batch_rows: usize,
    /// Bytes of a batch, at most, as far as the file tells how wide its rows are.
    pub batch_bytes: usize,
    /// Rows that are enough.
    pub limit: Option<usize>,
    /// Rows of which any of these is not true need not be read.
    pub filters: Vec<Filter>,
    /// Who knows by which calendars days of old were counted.
    pub calendars: Option<Arc<dyn Calendars>>,
}

/// The row groups of a part, or whatever else of it can be skipped as a whole.
#[derive(Clone, Copy, Default)]
pub struct Groups {
    pub read: usize,
    pub skipped: usize,
}

/// Batches of just the schema that was asked for.
pub type Batches = Box<dyn Iterator<Item = Result<RecordBatch>>>;

/// The columns of a file, as Spark knows them, and as Spark itself wrote them down, as `FileSchema.scala` reads it.
pub fn schema(file: &DataFile, format: &Format) -> Result<Value> {
    unbroken(&file.path, || {
        let columns = match format {
            Format::Parquet(_) => {
                let (schema, own) = parquet_file::schema(file)?;
                let columns = schema::to_json(&schema, &file.path);
                return match (own, columns) {
                    (None, columns) => Ok(json!({"columns": columns?})),
                    (Some(own), Ok(columns)) => Ok(json!({"spark": own, "columns": columns})),
                    // What Spark wrote may say more of the column.
                    (Some(own), Err(why)) => Ok(json!({"spark": own, "refused": why.to_string()})),
                };
            }
            Format::Csv(csv) => csv::schema(file, csv)?,
            Format::Ipc => schema::to_json(&ipc_file::schema(file)?, &file.path)?,
            Format::Orc(_) => schema::to_json(&orc_file::schema(file)?, &file.path)?,
        };
        Ok(json!({"columns": columns}))
    })
}

/// What the values of each column are in a part of a file that does not say so itself.
pub fn kinds(part: &Untyped) -> Result<Value> {
    unbroken(&part.file.path, || match &part.format {
        Format::Csv(csv) => Ok(json!(csv::kinds(&part.file, part.start, part.length, csv)?)),
        _ => Err(Error::Unsupported(format!(
            "{} is no CSV, and says of what types it is itself: inferSchema is for folders of CSV alone",
            part.file.path
        ))),
    })
}

/// Opens a part of a file. Nothing but what the file says of its rows is read before the first batch is asked for.
pub fn read(part: Part) -> Result<(Batches, Groups)> {
    let path = part.file.path.clone();
    let (mut batches, groups) = unbroken(&path, || match &part.format {
        Format::Parquet(parquet) => parquet_file::read(&part, parquet),
        Format::Csv(csv) => Ok((csv::read(&part, csv)?, Groups::default())),
        Format::Ipc => Ok((ipc_file::read(part)?, Groups::default())),
        Format::Orc(orc) => Ok((orc_file::read(&part, orc)?, Groups::default())),
    })?;
    let batches = iter::from_fn(move || unbroken(&path, || batches.next().transpose()).transpose());
    Ok((Box::new(batches), groups))
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
