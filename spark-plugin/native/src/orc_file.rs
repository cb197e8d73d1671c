//! ORC: the stripes of one part of a file, decoded by `orc-rust`.

use std::collections::HashMap;
use std::io::{self, BufReader, Read};
use std::iter;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};
use bytes::Bytes;
use orc_rust::array_decoder::NaiveStripeDecoder;
use orc_rust::compression::Decompressor;
use orc_rust::projection::ProjectionMask;
use orc_rust::proto::StripeFooter;
use orc_rust::reader::ChunkReader;
use orc_rust::reader::metadata::{FileMetadata, read_metadata};
use orc_rust::schema::{ArrowSchemaOptions, RootDataType, TimestampPrecision};
use orc_rust::stripe::{Stripe, StripeMetadata};
use parquet::file::reader::ChunkReader as _;
use prost::Message;
use serde::Deserialize;

use crate::conform::Columns;
use crate::error::{Error, Result};
use crate::input::{At, Input};
use crate::orc_schema;
use crate::read::{Batches, DataFile, Part};
use crate::zones::Clock;

/// How ORC is read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Orc {
    /// The zone whose clocks show the times of files: that of the JVM, as with Spark's own reader.
    zone: String,
}

/// The columns of a file, as Spark takes them.
pub fn schema(file: &DataFile) -> Result<Schema> {
    let metadata = metadata(file)?;
    orc_schema::schema(&orc_schema::footer(file, &metadata)?, &file.path)
}

/// The rows of the stripes that begin in the part.
pub fn read(part: &Part, orc: &Orc) -> Result<Batches> {
    let metadata = metadata(&part.file)?;
    let footer = orc_schema::footer(&part.file, &metadata)?;
    let schema = orc_schema::schema(&footer, &part.file.path)?;
    let columns = Columns::find(&schema, part)?;
    let end = part.start.saturating_add(part.length);
    let mut stripes = metadata.stripe_metadatas().to_vec();
    stripes.retain(|stripe| (part.start..end).contains(&stripe.offset()));
    let clock = Clock {
        zone: orc.zone.parse().ok(),
        proleptic: orc_schema::is_proleptic(&footer),
    };
    let roots = columns.roots();
    let places = roots.iter().map(|root| footer.types[0].subtypes[*root] as usize);
    let mask = ProjectionMask::roots(metadata.root_data_type(), places);
    let schema = schema
        .project(roots)
        .map_err(|why| Error::corrupt(&part.file.path, why))?;
    let reader = Arc::new(Reader {
        file: part.file.clone(),
        projected: metadata.root_data_type().project(&mask),
        schema: Arc::new(schema),
        metadata,
        clock,
        batch_rows: part.batch_rows,
    });
    let batches = stripes.into_iter().flat_map(move |stripe| {
        let batches = reader.clone().stripe(&stripe);
        batches.unwrap_or_else(|error| Box::new(iter::once(Err(error))))
    });
    Ok(Box::new(batches.map(move |batch| columns.conform(batch?))))
}

struct Reader {
    file: DataFile,
    metadata: FileMetadata,
    /// The columns that are read, as ORC knows them, and as Spark takes them.
    projected: RootDataType,
    schema: SchemaRef,
    clock: Clock,
    batch_rows: usize,
}

impl Reader {
    fn stripe(self: Arc<Self>, stripe: &StripeMetadata) -> Result<Batches> {
        if self.schema.fields().is_empty() {
            return Ok(self.counted(stripe.number_of_rows() as usize));
        }
        // A plan is of use alone: what is wrong with the stripe's footer is told by who reads it next.
        let input = self
            .file
            .input
            .planned(|| vec![self.streams(stripe).unwrap_or_default()]);
        let options = ArrowSchemaOptions::new().with_timestamp_precision(TimestampPrecision::Microsecond);
        let kinds = self
            .projected
            .create_arrow_schema_with_options(&HashMap::new(), options);
        let decoder = Stripe::new(&mut Chunks(input), &self.metadata, &self.projected, stripe)
            .and_then(|stripe| NaiveStripeDecoder::new(stripe, Arc::new(kinds), self.batch_rows))
            .map_err(|why| Error::corrupt(&self.file.path, why))?;
        Ok(Box::new(decoder.map(move |batch| {
            let batch = batch.map_err(|why| Error::corrupt(&self.file.path, why))?;
            self.taken(batch)
        })))
    }

    /// Batches of rows without columns.
    fn counted(self: Arc<Self>, rows: usize) -> Batches {
        let starts = (0..rows).step_by(self.batch_rows);
        Box::new(starts.map(move |start| {
            let rows = RecordBatchOptions::new().with_row_count(Some(self.batch_rows.min(rows - start)));
            RecordBatch::try_new_with_options(self.schema.clone(), Vec::new(), &rows)
                .map_err(|why| Error::corrupt(&self.file.path, why))
        }))
    }

    /// A batch with the times that Spark takes its times for.
    fn taken(&self, batch: RecordBatch) -> Result<RecordBatch> {
        let corrupt = |why: String| Error::corrupt(&self.file.path, why);
        let columns = batch.columns().iter().zip(self.schema.fields());
        let columns = columns.map(|(column, field)| {
            let read = self.clock.read(column, field.data_type());
            read.map_err(|why| corrupt(format!("the column '{}': {why}", field.name())))
        });
        let columns = columns.collect::<Result<_>>()?;
        RecordBatch::try_new(self.schema.clone(), columns).map_err(|why| corrupt(why.to_string()))
    }

    /// Where the bytes of the columns lie that are read.
    fn streams(&self, stripe: &StripeMetadata) -> Option<Vec<Range<u64>>> {
        let packed = self
            .file
            .input
            .bytes(stripe.footer_offset(), stripe.footer_length())
            .ok()?;
        let mut bytes = Vec::new();
        let mut unpacked = Decompressor::new(packed, self.metadata.compression(), Vec::new());
        unpacked.read_to_end(&mut bytes).ok()?;
        let mut start = stripe.offset();
        let mut ranges = Vec::new();
        for stream in StripeFooter::decode(bytes.as_slice()).ok()?.streams {
            let end = start.checked_add(stream.length())?;
            if self.projected.contains_column_index(stream.column() as usize) && end > start {
                ranges.push(start..end);
            }
            start = end;
        }
        Some(ranges)
    }
}

fn metadata(file: &DataFile) -> Result<FileMetadata> {
    read_metadata(&mut Chunks(file.input.clone())).map_err(|why| Error::corrupt(&file.path, why))
}

/// A file as `orc-rust` reads it.
struct Chunks(Input);

impl ChunkReader for Chunks {
    type T = BufReader<At>;

    fn len(&self) -> u64 {
        self.0.length()
    }

    fn get_read(&self, start: u64) -> io::Result<Self::T> {
        self.0.get_read(start).map_err(io::Error::other)
    }

    fn get_bytes(&self, start: u64, length: u64) -> io::Result<Bytes> {
        self.0.bytes(start, length)
    }
}
