//! Parquet: the row groups of one part of a file, decoded to the types that Spark asked for.

use std::iter;
use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, RowGroups, RowSelection, RowSelector,
};
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels, parquet_to_arrow_schema};
use parquet::basic::Type as Physical;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};

use crate::calendar::{Calendar, Parquet};
use crate::conform::Columns;
use crate::error::{Error, Result};
use crate::input::Input;
use crate::parquet_bytes::Pages;
use crate::parquet_chunks::Chunks;
use crate::parquet_footer::footer;
use crate::parquet_groups::Group;
use crate::parquet_pages::select;
use crate::read::{Batches, DataFile, Groups, Part};
use crate::schema::ZONE;

/// What Parquet files begin with.
const MAGIC: &[u8] = b"PAR1";

/// Under this name Spark keeps the schema of what it wrote.
const SPARK_SCHEMA: &str = "org.apache.spark.sql.parquet.row.metadata";

/// The columns of a file, as Arrow knows them, and what Spark wrote of them if it wrote the file.
pub fn schema(file: &DataFile) -> Result<(Schema, Option<String>)> {
    let metadata = metadata(&file.path, &file.input)?;
    let told = metadata.metadata().file_metadata().key_value_metadata();
    // Of several, Spark takes the last.
    let own = told.into_iter().flatten().rfind(|pair| pair.key == SPARK_SCHEMA);
    let own = own.and_then(|pair| pair.value.clone());
    Ok((metadata.schema().as_ref().clone(), own))
}

/// The rows of the groups whose middle lies in the part: each group belongs to just one part, as with Spark's own reader.
pub fn read(part: &Part, parquet: &Parquet) -> Result<(Batches, Groups)> {
    let DataFile { path, input } = part.file.clone();
    let metadata = metadata(&path, &input)?;
    let columns = Columns::find(metadata.schema(), part)?;
    let calendar = Calendar::of(
        metadata.metadata().file_metadata(),
        parquet,
        part.calendars.clone(),
    );
    let within = groups(metadata.metadata(), part.start, part.length);
    let whole = within
        .iter()
        .map(|group| Group::new(*group, &columns, &metadata, &calendar, &input));
    let asked: Vec<_> = whole.filter(|group| group.could_match(&part.filters)).collect();
    let groups: Vec<_> = asked.iter().map(|group| group.index).collect();
    let counts = Groups {
        read: groups.len(),
        skipped: within.len() - groups.len(),
    };
    let mask = ProjectionMask::roots(metadata.parquet_schema(), columns.roots().iter().copied());
    let fitting = part.batch_bytes / width(metadata.metadata(), &groups, &mask);
    let rows = part.batch_rows.min(fitting).min(part.limit.unwrap_or(usize::MAX));
    let selected = select(&part.filters, &asked, |leaf| mask.leaf_included(leaf), &input);
    let (metadata, selection) = match selected {
        Some((paged, selection)) => (paged, Some(selection)),
        None => (metadata.clone(), None),
    };
    let input = input.planned(|| chunks(metadata.metadata(), &groups, &mask, selection.as_ref()));
    let leaves = metadata.metadata().file_metadata().schema_descr_ptr();
    let broken = |why| Error::corrupt(&path, why);
    let levels =
        parquet_to_arrow_field_levels(&leaves, mask, Some(metadata.schema().fields())).map_err(broken)?;
    let chunks = Chunks {
        pages: Arc::new(Pages::new(input, metadata.metadata(), &groups)),
        metadata: metadata.metadata().clone(),
        groups,
    };
    let selection = limited(selection, chunks.num_rows(), part.limit);
    let rows = rows.clamp(1, chunks.num_rows().max(1));
    let batches = ParquetRecordBatchReader::try_new_with_row_groups(&levels, &chunks, rows, selection);
    let batches = batches.map_err(broken)?;
    let batches = batches.map(move |batch| {
        let batch = batch.map_err(|why| Error::corrupt(&path, why))?;
        columns.conform(calendar.counted(batch, columns.roots(), &leaves, &path)?)
    });
    Ok((Box::new(batches), counts))
}

/// The rows that are selected, all if none are, up to so many.
fn limited(selection: Option<RowSelection>, rows: usize, limit: Option<usize>) -> Option<RowSelection> {
    let Some(mut left) = limit else {
        return selection;
    };
    let all = || vec![RowSelector::select(rows)];
    let parts: Vec<RowSelector> = selection.map_or_else(all, Into::into);
    let within = parts.into_iter().map_while(|part| {
        let taken = if part.skip {
            part.row_count
        } else {
            part.row_count.min(left)
        };
        let over = left == 0;
        left -= if part.skip { 0 } else { taken };
        (!over).then_some(RowSelector {
            row_count: taken,
            ..part
        })
    });
    Some(within.collect::<Vec<_>>().into())
}

/// The footer. What other Arrow libraries wrote of their types is ignored: the types are those of Parquet, as in Spark.
fn metadata(path: &str, input: &Input) -> Result<ArrowReaderMetadata> {
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let corrupt = |why| Error::corrupt(path, why);
    let told = footer(path, input).map_err(|why| foreign(path, input).unwrap_or(why))?;
    let found = ArrowReaderMetadata::try_new(Arc::new(told), options.clone()).map_err(corrupt)?;
    let parquet = found.metadata().file_metadata().schema_descr();
    let int96: Vec<bool> = (0..parquet.num_columns())
        .map(|i| parquet.column(i).physical_type() == Physical::INT96)
        .collect();
    if !int96.contains(&true) {
        return Ok(found);
    }
    // Nanoseconds, which they are read as, reach from 1677 to 2262 only.
    let schema = parquet_to_arrow_schema(parquet, None).map_err(corrupt)?;
    let schema = Arc::new(Schema::new(moments(schema.fields(), &mut int96.into_iter())));
    ArrowReaderMetadata::try_new(found.metadata().clone(), options.with_schema(schema)).map_err(corrupt)
}

/// What is to be said of a file that does not begin as Parquet does.
fn foreign(path: &str, input: &Input) -> Option<Error> {
    let begin = input.bytes(0, MAGIC.len() as u64).ok();
    let told = "it is no Parquet file, as it does not begin with PAR1: say which format it has by the option format, as in \
                .option(\"format\", \"csv\"), or orc, or ipc, where its name does not end so";
    (begin.as_deref() != Some(MAGIC)).then(|| Error::corrupt(path, told))
}

/// The columns with times of INT96 as moments, as which Spark and Impala wrote them.
///
/// * `int96`: which of the columns without others inside are of that type, in their order.
fn moments(fields: &Fields, int96: &mut impl Iterator<Item = bool>) -> Fields {
    fields.iter().map(|field| with_moments(field, int96)).collect()
}

fn with_moments(field: &Arc<Field>, int96: &mut impl Iterator<Item = bool>) -> Arc<Field> {
    let kind = match field.data_type() {
        DataType::Struct(fields) => DataType::Struct(moments(fields, int96)),
        DataType::List(item) => DataType::List(with_moments(item, int96)),
        DataType::Map(entries, sorted) => DataType::Map(with_moments(entries, int96), *sorted),
        _ if int96.next() == Some(true) => DataType::Timestamp(TimeUnit::Microsecond, Some(ZONE.into())),
        other => other.clone(),
    };
    Arc::new(field.as_ref().clone().with_data_type(kind))
}

/// Where the bytes lie that are read, by row group: the columns, or of them the pages with rows that are selected.
fn chunks(
    metadata: &ParquetMetaData,
    groups: &[usize],
    mask: &ProjectionMask,
    selection: Option<&RowSelection>,
) -> Vec<Vec<Range<u64>>> {
    let mut left = selection.cloned();
    let chunks = |group: &usize| {
        let written = metadata.row_group(*group);
        let rows = left
            .as_mut()
            .map(|left| left.split_off(written.num_rows() as usize));
        let columns = written.columns().iter().enumerate();
        let asked = columns.filter(|(leaf, _)| mask.leaf_included(*leaf));
        let ranges = asked.flat_map(|(leaf, column)| {
            let (start, length) = column.byte_range();
            let pages = metadata
                .page_index()
                .and_then(|pages| pages.offset_index(*group, leaf));
            match (&rows, pages) {
                (Some(rows), Some(pages)) => {
                    let pages = pages.page_locations();
                    let first = pages.first().map_or(start, |page| page.offset as u64);
                    let dictionary = start..first;
                    iter::once(dictionary).chain(rows.scan_ranges(pages)).collect()
                }
                _ => vec![start..start + length],
            }
        });
        ranges.filter(|range| !range.is_empty()).collect()
    };
    groups.iter().map(chunks).collect()
}

/// Bytes that a row takes in memory, on average; 1 at least.
fn width(metadata: &ParquetMetaData, groups: &[usize], mask: &ProjectionMask) -> usize {
    let groups = groups.iter().map(|group| metadata.row_group(*group));
    let (bytes, rows) = groups.fold((0, 0), |(bytes, rows), group| {
        let columns = group.columns().iter().enumerate();
        let read = columns.filter(|(leaf, _)| mask.leaf_included(*leaf));
        (
            bytes + read.map(|(_, column)| decoded(column)).sum::<i64>(),
            rows + group.num_rows(),
        )
    });
    usize::try_from(bytes / rows.max(1)).unwrap_or(0).max(1)
}

/// Bytes that the values of a column take in memory.
fn decoded(column: &ColumnChunkMetaData) -> i64 {
    let each = match column.column_type() {
        // With the offset of each; the file tells of dictionaries' values once, if it does not tell of all.
        Physical::BYTE_ARRAY => {
            let bytes = column.unencoded_byte_array_data_bytes();
            return bytes
                .unwrap_or(column.uncompressed_size())
                .saturating_add(4 * column.num_values());
        }
        Physical::BOOLEAN => 1,
        Physical::INT32 | Physical::FLOAT => 4,
        Physical::INT64 | Physical::DOUBLE | Physical::INT96 => 8,
        Physical::FIXED_LEN_BYTE_ARRAY => 16,
    };
    column.num_values().saturating_mul(each)
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
