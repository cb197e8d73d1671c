//! What the JVM asks for, as JSON.

use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::calendar::Calendars;
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::input::{Input, Listed, Source};
use crate::read::{DataFile, Format, Part, Untyped};
use crate::schema;

/// Which file is meant.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileRequest {
    pub path: String,
    pub format: Format,
    /// Its bytes, when Spark listed it.
    size: u64,
    /// When it had last been changed then, in milliseconds since 1970.
    modified: i64,
}

/// Which rows and columns of it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PartRequest {
    #[serde(flatten)]
    file: FileRequest,
    start: u64,
    length: u64,
    schema: Value,
    first: Option<String>,
    case_sensitive: bool,
    batch_rows: usize,
    batch_bytes: usize,
    limit: Option<usize>,
    filters: Vec<Filter>,
}

/// Which part of it is looked through.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UntypedRequest {
    #[serde(flatten)]
    file: FileRequest,
    start: u64,
    length: u64,
}

impl UntypedRequest {
    pub fn open(self, far: Option<impl Source + 'static>) -> Result<Untyped> {
        Ok(Untyped {
            file: self.file.open(far)?,
            format: self.file.format,
            start: self.start,
            length: self.length,
        })
    }
}

impl FileRequest {
    /// Local, unless it is told where its bytes come from.
    pub fn open(&self, far: Option<impl Source + 'static>) -> Result<DataFile> {
        let listed = Listed {
            length: self.size,
            modified: self.modified,
        };
        Ok(DataFile {
            path: self.path.clone(),
            input: match far {
                Some(source) => Input::far(source, self.size),
                None => Input::listed(&self.path, listed)?,
            },
        })
    }
}

impl PartRequest {
    pub fn open(
        self,
        far: Option<impl Source + 'static>,
        calendars: impl Calendars + 'static,
    ) -> Result<Part> {
        Ok(Part {
            file: self.file.open(far)?,
            format: self.file.format,
            start: self.start,
            length: self.length,
            schema: Arc::new(schema::from_json(&self.schema)?),
            first: self.first,
            case_sensitive: self.case_sensitive,
            batch_rows: self.batch_rows,
            batch_bytes: self.batch_bytes,
            limit: self.limit,
            filters: self.filters,
            calendars: Some(Arc::new(calendars)),
        })
    }
}

pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|why| Error::Unsupported(format!("no request of this reader: {why}")))
}
