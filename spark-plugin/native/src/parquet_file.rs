//! Parquet: the row groups of one part of a file, decoded to the types that Spark asked for.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::arrow::{ProjectionMask, parquet_to_arrow_schema};
use parquet::basic::Type as Physical;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use crate::conform::Columns;
use crate::error::{Error, Result};
use crate::input::Input;
use crate::read::{Batches, DataFile, Part};
use crate::schema::ZONE;

/// The columns of a file, as Arrow knows them.
pub fn schema(file: &DataFile) -> Result<Schema> {
    Ok(metadata(&file.path, &file.input)?.schema().as_ref().clone())
}

/// The rows of the groups whose middle lies in the part: each group belongs to just one part, as with Spark's own reader.
pub fn read(part: Part) -> Result<Batches> {
    let DataFile { path, input } = part.file.clone();
    let metadata = metadata(&path, &input)?;
    let columns = Columns::find(metadata.schema(), &part)?;
    let groups = groups(metadata.metadata(), part.start, part.length);
    let mask = ProjectionMask::roots(metadata.parquet_schema(), columns.roots().iter().copied());
    let input = input.planned(|| chunks(metadata.metadata(), &groups, &mask));
    let batches = ParquetRecordBatchReaderBuilder::new_with_metadata(input, metadata)
        .with_row_groups(groups)
        .with_projection(mask)
        .with_batch_size(part.batch_rows)
        .build()
        .map_err(|why| Error::corrupt(&path, why))?;
    Ok(Box::new(batches.map(move |batch| {
        columns.conform(batch.map_err(|why| Error::corrupt(&path, why))?)
    })))
}

/// The footer. What other Arrow libraries wrote of their types is ignored: the types are those of Parquet, as in Spark.
fn metadata(path: &str, input: &Input) -> Result<ArrowReaderMetadata> {
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let corrupt = |why| Error::corrupt(path, why);
    let found = ArrowReaderMetadata::load(input, options.clone()).map_err(corrupt)?;
    let parquet = found.metadata().file_metadata().schema_descr();
    if !(0..parquet.num_columns()).any(|i| parquet.column(i).physical_type() == Physical::INT96) {
        return Ok(found);
    }
    // Nanoseconds, which they are read as, reach from 1677 to 2262 only.
    let schema = parquet_to_arrow_schema(parquet, None).map_err(corrupt)?;
    let schema = Arc::new(Schema::new(moments(schema.fields())));
    ArrowReaderMetadata::try_new(found.metadata().clone(), options.with_schema(schema)).map_err(corrupt)
}

/// Times in nanoseconds without a zone are those of INT96: moments, which Spark and Impala wrote.
fn moments(fields: &Fields) -> Fields {
    let one = |field: &Arc<Field>| Arc::new(field.as_ref().clone().with_data_type(moment(field.data_type())));
    fields.iter().map(one).collect()
}

fn moment(kind: &DataType) -> DataType {
    match kind {
        DataType::Timestamp(TimeUnit::Nanosecond, None) => {
            DataType::Timestamp(TimeUnit::Microsecond, Some(ZONE.into()))
        }
        DataType::Struct(fields) => DataType::Struct(moments(fields)),
        DataType::List(item) => DataType::List(moments(&Fields::from(vec![item.clone()]))[0].clone()),
        DataType::Map(entries, sorted) => {
            DataType::Map(moments(&Fields::from(vec![entries.clone()]))[0].clone(), *sorted)
        }
        other => other.clone(),
    }
}

/// Where the columns lie that are read, by row group.
fn chunks(metadata: &ParquetMetaData, groups: &[usize], mask: &ProjectionMask) -> Vec<Vec<Range<u64>>> {
    let chunks = |group: &usize| {
        let columns = metadata.row_group(*group).columns().iter().enumerate();
        let asked = columns.filter(|(leaf, _)| mask.leaf_included(*leaf));
        asked
            .map(|(_, column)| column.byte_range())
            .map(|(start, length)| start..start + length)
            .collect()
    };
    groups.iter().map(chunks).collect()
}

fn groups(metadata: &ParquetMetaData, start: u64, length: u64) -> Vec<usize> {
    let within = |group: &RowGroupMetaData| {
        let begin = group
            .columns()
            .iter()
            .map(|column| column.byte_range().0)
            .min()
            .unwrap_or(0);
        let bytes: i64 = group
            .columns()
            .iter()
            .map(|column| column.compressed_size())
            .sum();
        let middle = begin + bytes as u64 / 2;
        middle >= start && middle - start < length
    };
    metadata
        .row_groups()
        .iter()
        .enumerate()
        .filter(|(_, group)| within(group))
        .map(|(index, _)| index)
        .collect()
}
