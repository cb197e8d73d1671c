//! Files decoded to Arrow, whose buffers the JVM reads where they lie.
//!
//! [`schema`] tells Spark what types a file's columns have; [`read`] opens a part of a file, and gives its rows as
//! batches of just the types that Spark asked for; [`flight`] has rows of Headrace's service come so, too; [`java`] is
//! the thin shell that the JVM calls.

mod calendar;
mod conform;
mod csv;
mod error;
mod filter;
mod flight;
mod input;
mod ipc_file;
mod ipc_layout;
mod java;
mod java_calendars;
mod java_source;
mod memory;
mod names;
mod orc_file;
mod orc_lengths;
mod orc_schema;
mod orc_tail;
mod packed;
mod parquet_bytes;
mod parquet_chunks;
mod parquet_file;
mod parquet_footer;
mod parquet_groups;
mod parquet_leaf;
mod parquet_pages;
mod plain;
mod read;
mod request;
mod schema;
mod value;
mod widen;
mod windows;
mod zones;

pub use calendar::{Calendars, Mode, Parquet};
pub use error::{Error, Result};
pub use filter::{Comparison, Filter};
pub use input::{Input, Source};
pub use read::{Batches, DataFile, Format, Groups, Part, read};
pub use schema::{from_json, to_json};
