//! Which rows of row groups can be what Spark asked for, by what the file says of their pages.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, UInt64Array};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, RowSelection};
use parquet::errors::Result;
use parquet::file::metadata::page_index::PageIndexProvider;
use parquet::file::metadata::{ColumnChunkMask, PageIndexPolicy, ParquetMetaDataReader};

use crate::filter::{Facts, Filter, Known};
use crate::input::Input;
use crate::parquet_bytes::Indexes;
use crate::parquet_groups::Group;
use crate::parquet_leaf::{Leaf, Named};
use crate::value::Value;

/// The rows of groups, one after the other, that are to be read, and the metadata with which their pages are found;
/// none where all are.
pub fn select(
    filters: &[Filter],
    groups: &[Group],
    leaves: impl Fn(usize) -> bool,
    input: &Input,
) -> Option<(ArrowReaderMetadata, RowSelection)> {
    let first = groups.first()?;
    let mut named = Vec::new();
    filters.iter().for_each(|filter| filter.columns(&mut named));
    let indexed = |column: &&[String]| match Leaf::named(column, first) {
        Some(Named::Leaf(leaf)) => {
            let column = first
                .metadata
                .metadata()
                .row_group(first.index)
                .column(leaf.index);
            column.column_index_range().map(|_| leaf.index)
        }
        _ => None,
    };
    let asked: Vec<_> = named.iter().filter_map(indexed).collect();
    if asked.is_empty() {
        return None;
    }
    let metadata = with_pages(groups, &asked, leaves, input).ok()?;
    let pages = metadata.metadata().page_index()?.as_ref();
    let mut ranges = Vec::new();
    let mut before = 0;
    for group in groups {
        let could = Pages::new(group, pages, &named).could_match(filters);
        ranges.extend(
            could
                .into_iter()
                .map(|rows| before + rows.start..before + rows.end),
        );
        before += group.rows();
    }
    let read: usize = ranges.iter().map(Range::len).sum();
    let selection = RowSelection::from_consecutive_ranges(ranges.into_iter(), before);
    (read < before).then(|| (metadata.clone(), selection))
}

/// The metadata with the bounds of pages of some leaves, and the places of pages of all that are read.
fn with_pages(
    groups: &[Group],
    asked: &[usize],
    leaves: impl Fn(usize) -> bool,
    input: &Input,
) -> Result<ArrowReaderMetadata> {
    let metadata = groups[0].metadata;
    let indices = || groups.iter().map(|group| group.index);
    let read = (0..metadata.parquet_schema().num_columns()).filter(|leaf| leaves(*leaf));
    let mut reader = ParquetMetaDataReader::new_with_metadata(metadata.metadata().as_ref().clone())
        .with_page_index_policy(PageIndexPolicy::Optional)
        .with_column_index_mask(ColumnChunkMask::row_groups_and_columns(
            indices(),
            asked.iter().copied(),
        ))
        .with_offset_index_mask(ColumnChunkMask::row_groups_and_columns(indices(), read));
    reader.read_page_indexes(&Indexes::new(input.clone(), metadata.metadata()))?;
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let options = options.with_schema(metadata.schema().clone());
    ArrowReaderMetadata::try_new(Arc::new(reader.finish()?), options)
}

/// The pages of some columns in a row group.
struct Pages<'a> {
    group: &'a Group<'a>,
    /// By column: where in the group each page begins, and what is known of its rows.
    columns: HashMap<&'a [String], Vec<(usize, Facts)>>,
}

impl<'a> Pages<'a> {
    fn new(group: &'a Group<'a>, pages: &dyn PageIndexProvider, named: &[&'a [String]]) -> Self {
        let facts = |column: &&'a [String]| Some((*column, facts(group, pages, column)?));
        Pages {
            group,
            columns: named.iter().filter_map(facts).collect(),
        }
    }

    /// The rows that could be what filters ask for.
    fn could_match(&self, filters: &[Filter]) -> Vec<Range<usize>> {
        let mut starts: Vec<_> = self.columns.values().flatten().map(|(start, _)| *start).collect();
        starts.extend([0, self.group.rows()]);
        starts.sort_unstable();
        starts.dedup();
        let parts = starts.windows(2).map(|part| part[0]..part[1]);
        parts
            .filter(|rows| {
                let from = From {
                    pages: self,
                    row: rows.start,
                };
                filters.iter().all(|filter| filter.could_be_true(&from))
            })
            .collect()
    }
}

/// What is known of the pages of a column; none if the file does not say.
fn facts(group: &Group, pages: &dyn PageIndexProvider, column: &[String]) -> Option<Vec<(usize, Facts)>> {
    let Named::Leaf(leaf) = Leaf::named(column, group)? else {
        return None;
    };
    let converter = leaf.converter(group.metadata)?;
    let index = pages.column_index(group.index, leaf.index)?;
    let mut starts = Vec::new();
    for page in pages.offset_index(group.index, leaf.index)?.page_locations() {
        starts.push(usize::try_from(page.first_row_index).ok()?);
    }
    let mut least = leaf.values(converter.data_page_mins(pages, [&group.index]).ok()?)?;
    let mut greatest = leaf.values(converter.data_page_maxes(pages, [&group.index]).ok()?)?;
    let nulls = converter.data_page_null_counts(pages, [&group.index]).ok()?;
    let nans = converter.data_page_nan_counts(pages, [&group.index]).ok()?;
    let whole = [
        least.len(),
        greatest.len(),
        nulls.len(),
        nans.len(),
        index.num_pages() as usize,
    ];
    if whole != [starts.len(); 5] || !starts.is_sorted() || starts.first() != Some(&0) {
        return None;
    }
    let ordered = leaf.ordered(group.metadata, false);
    let count = |counts: &UInt64Array, page| (!counts.is_null(page)).then(|| counts.value(page));
    let facts = (0..starts.len()).map(|page| {
        let rows = starts.get(page + 1).map_or(group.rows(), |next| *next) - starts[page];
        let nulls = if index.is_null_page(page) {
            Some(rows as u64)
        } else {
            count(&nulls, page)
        };
        let (least, greatest) = (least[page].take(), greatest[page].take());
        let bounds = if ordered { (least, greatest) } else { (None, None) };
        (
            starts[page],
            leaf.facts(bounds.0, bounds.1, rows, nulls, count(&nans, page)),
        )
    });
    Some(facts.collect())
}

/// The rows from one on, to the next at which any page begins.
struct From<'a> {
    pages: &'a Pages<'a>,
    row: usize,
}

impl Known for From<'_> {
    fn facts(&self, column: &[String]) -> Option<Facts> {
        let Some(pages) = self.pages.columns.get(column) else {
            return self.pages.group.facts(column);
        };
        let page = pages.partition_point(|(start, _)| *start <= self.row) - 1;
        Some(pages[page].1.clone())
    }

    fn value(&self, column: &[String], text: &str) -> Option<Value> {
        self.pages.group.value(column, text)
    }

    fn could_hold(&self, column: &[String], value: &Value) -> bool {
        self.pages.group.could_hold(column, value)
    }
}
