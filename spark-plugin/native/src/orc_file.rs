//! ORC: the stripes of one part of a file, decoded by `orc-rust`.

use std::collections::HashMap;
use std::io::{self, Empty};
use std::iter;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};
use bytes::Bytes;
use orc_rust::array_decoder::NaiveStripeDecoder;
use orc_rust::projection::ProjectionMask;
use orc_rust::proto::{StripeFooter, Type};
use orc_rust::reader::ChunkReader;
use orc_rust::reader::metadata::FileMetadata;
use orc_rust::schema::{ArrowSchemaOptions, RootDataType, TimestampPrecision};
use orc_rust::stripe::{Stripe, StripeMetadata};
use prost::Message;
use serde::Deserialize;

use crate::conform::Columns;
use crate::error::{Error, Result};
use crate::input::Input;
use crate::orc_lengths::Lengths;
use crate::orc_schema;
use crate::orc_tail::{Packing, Tail, unpacked};
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
    orc_schema::schema(&Tail::read(file)?.footer, &file.path)
}

/// The rows of the stripes that begin in the part.
pub fn read(part: &Part, orc: &Orc) -> Result<Batches> {
    let Tail {
        footer,
        metadata,
        packing,
    } = Tail::read(&part.file)?;
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
        types: footer.types,
        packing,
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
    types: Vec<Type>,
    packing: Packing,
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
        let corrupt = |why| Error::corrupt(&self.file.path, why);
        let streams = self.streams(stripe)?;
        let options = ArrowSchemaOptions::new().with_timestamp_precision(TimestampPrecision::Microsecond);
        let kinds = self
            .projected
            .create_arrow_schema_with_options(&HashMap::new(), options);
        let decoder = Stripe::new(&mut Held(streams), &self.metadata, &self.projected, stripe)
            .and_then(|stripe| NaiveStripeDecoder::new(stripe, Arc::new(kinds), self.batch_rows))
            .map_err(corrupt)?;
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

    /// The footer of a stripe, and the streams of the columns that are read, by where they lie.
    ///
    /// # Errors
    /// Corrupt: among others, lengths for which there cannot be as many values.
    fn streams(&self, stripe: &StripeMetadata) -> Result<HashMap<(u64, u64), Bytes>> {
        let corrupt = |why: &str| Error::corrupt(&self.file.path, why);
        let read = |input: &Input, start: u64, length: u64| {
            let bytes = input.bytes(start, length);
            let bytes = bytes.map_err(|why| Error::io(&self.file.path, &why))?;
            let most = self.packing.check(&bytes).map_err(corrupt)?;
            Ok((bytes, most))
        };
        let start = [stripe.index_length(), stripe.data_length()];
        let start = start
            .iter()
            .try_fold(stripe.offset(), |sum, length| sum.checked_add(*length));
        let start = start.ok_or_else(|| corrupt("a stripe reaches beyond it"))?;
        let (packed, _) = read(&self.file.input, start, stripe.footer_length())?;
        let mut held = HashMap::from([((start, stripe.footer_length()), packed.clone())]);
        let footer = unpacked(packed, self.metadata.compression());
        let footer = footer.and_then(|bytes| StripeFooter::decode(bytes.as_slice()).ok());
        let footer = footer.ok_or_else(|| corrupt("the footer of a stripe is damaged"))?;

        let mut end = Some(stripe.offset());
        let mut places = Vec::new();
        for stream in &footer.streams {
            let start = end.ok_or_else(|| corrupt("a stripe reaches beyond it"))?;
            end = start.checked_add(stream.length());
            if self.projected.contains_column_index(stream.column() as usize) {
                places.push((stream, start));
            }
        }
        let ranges = || {
            places
                .iter()
                .map(|(stream, start)| *start..start.saturating_add(stream.length()))
        };
        let input = self
            .file
            .input
            .planned(|| vec![ranges().filter(|range| !range.is_empty()).collect()]);
        let mut lengths = Lengths::new(&self.types, &footer);
        for (stream, start) in &places {
            let (bytes, most) = read(&input, *start, stream.length())?;
            lengths.add(stream, most, || {
                unpacked(bytes.clone(), self.metadata.compression())
            });
            held.insert((*start, stream.length()), bytes);
        }
        let columns = self.projected.children().iter().zip(self.schema.fields());
        for (column, field) in columns {
            let checked = lengths.check(column.data_type().column_index());
            checked.map_err(|why| corrupt(&format!("the column '{}': {why}", field.name())))?;
        }
        Ok(held)
    }
}

/// Parts of a file that `orc-rust` asks for, by where they lie.
struct Held(HashMap<(u64, u64), Bytes>);

impl ChunkReader for Held {
    type T = Empty;

    fn len(&self) -> u64 {
        0
    }

    fn get_read(&self, _: u64) -> io::Result<Self::T> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn get_bytes(&self, start: u64, length: u64) -> io::Result<Bytes> {
        let held = self.0.get(&(start, length)).cloned();
        held.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}
