//! Which row groups of a Parquet file can hold rows that Spark asked for, by what the file says of them.

use std::cell::RefCell;
use std::collections::HashMap;

use arrow_array::ArrayRef;
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::bloom_filter::Sbbf;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::statistics::Statistics;

use crate::calendar::Calendar;
use crate::conform::Columns;
use crate::filter::{Facts, Filter, Known};
use crate::input::Input;
use crate::parquet_leaf::{Leaf, Named};
use crate::value::Value;

/// A row group, of which filters ask whether it could hold rows.
pub struct Group<'a> {
    pub index: usize,
    pub columns: &'a Columns,
    pub metadata: &'a ArrowReaderMetadata,
    pub calendar: &'a Calendar,
    input: &'a Input,
    /// By leaf.
    blooms: RefCell<HashMap<usize, Option<Sbbf>>>,
}

impl<'a> Group<'a> {
    pub fn new(
        index: usize,
        columns: &'a Columns,
        metadata: &'a ArrowReaderMetadata,
        calendar: &'a Calendar,
        input: &'a Input,
    ) -> Self {
        Group {
            index,
            columns,
            metadata,
            calendar,
            input,
            blooms: RefCell::default(),
        }
    }

    /// False only if no row of the group is what the filters ask for.
    pub fn could_match(&self, filters: &[Filter]) -> bool {
        filters.iter().all(|filter| filter.could_be_true(self))
    }

    pub fn rows(&self) -> usize {
        self.written().num_rows().try_into().unwrap_or(0)
    }

    fn written(&self) -> &RowGroupMetaData {
        self.metadata.metadata().row_group(self.index)
    }
}

impl Known for Group<'_> {
    fn facts(&self, column: &[String]) -> Option<Facts> {
        let leaf = match Leaf::named(column, self)? {
            Named::Nulls => return Some(Facts::NULLS),
            Named::Leaf(leaf) => leaf,
        };
        let statistics = self.written().column(leaf.index).statistics();
        let ordered =
            statistics.is_some_and(|known| leaf.ordered(self.metadata, known.is_min_max_deprecated()));
        let converter = leaf.converter(self.metadata).filter(|_| ordered);
        let bound = |of: fn(&_, _) -> parquet::errors::Result<ArrayRef>| {
            let bounds = of(converter.as_ref()?, [self.written()]).ok()?;
            leaf.values(bounds)?.pop()?
        };
        Some(leaf.facts(
            bound(|converter, group| converter.row_group_mins(group)),
            bound(|converter, group| converter.row_group_maxes(group)),
            self.rows(),
            statistics.and_then(Statistics::null_count_opt),
            statistics.and_then(Statistics::nan_count_opt),
        ))
    }

    fn value(&self, column: &[String], text: &str) -> Option<Value> {
        Value::parse(text, self.columns.asked(column)?)
    }

    fn could_hold(&self, column: &[String], value: &Value) -> bool {
        let Some(Named::Leaf(leaf)) = Leaf::named(column, self) else {
            return true;
        };
        let Some(bytes) = leaf.written(value) else {
            return true;
        };
        let mut blooms = self.blooms.borrow_mut();
        let bloom = blooms.entry(leaf.index).or_insert_with(|| {
            let column = self.written().column(leaf.index);
            Sbbf::read_from_column_chunk(column, self.input).ok().flatten()
        });
        bloom.as_ref().is_none_or(|bloom| bloom.check(&bytes[..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::sync::Arc;

    use parquet::arrow::arrow_reader::ArrowReaderOptions;
    use parquet::basic::{ColumnOrder, SortOrder};
    use parquet::data_type::ByteArray;
    use parquet::file::metadata::{ColumnChunkMetaData, FileMetaData, ParquetMetaDataBuilder};
    use parquet::schema::parser::parse_message_type;
    use parquet::schema::types::SchemaDescriptor;

    use crate::calendar::Parquet;
    use crate::input::Source;
    use crate::read::{DataFile, Format, Part};
    use crate::schema::from_json;

    struct Nothing;

    impl Source for Nothing {
        fn read_exact_at(&self, _: &mut [u8], _: u64) -> io::Result<()> {
            unreachable!("there is no bloom filter")
        }
    }

    /// Whether the one group of a file, of whose one column `a` this is known, could hold rows that are asked for.
    fn could(column: &str, asked: &str, order: Option<ColumnOrder>, known: Statistics, filter: &str) -> bool {
        let message = format!("message m {{ optional {column}; }}");
        let parquet = Arc::new(SchemaDescriptor::new(Arc::new(
            parse_message_type(&message).unwrap(),
        )));
        let chunk = ColumnChunkMetaData::builder(parquet.column(0))
            .set_statistics(known)
            .build();
        let group = RowGroupMetaData::builder(parquet.clone())
            .set_num_rows(10)
            .add_column_metadata(chunk.unwrap())
            .build();
        let orders = order.map(|order| vec![order]);
        let file = FileMetaData::new(1, 10, None, None, parquet, orders);
        let metadata = ParquetMetaDataBuilder::new(file)
            .add_row_group(group.unwrap())
            .build();
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = ArrowReaderMetadata::try_new(Arc::new(metadata), options).unwrap();
        let asked = format!(r#"{{"fields": [{{"name": "a", "type": "{asked}"}}]}}"#);
        let input = Input::new(Nothing, 0);
        let part = Part {
            file: DataFile {
                path: "f".into(),
                input: input.clone(),
            },
            format: Format::Parquet(Parquet::default()),
            start: 0,
            length: u64::MAX,
            schema: Arc::new(from_json(&asked.parse().unwrap()).unwrap()),
            first: None,
            case_sensitive: false,
            batch_rows: 10,
            batch_bytes: usize::MAX,
            limit: None,
            filters: vec![serde_json::from_str(filter).unwrap()],
            calendars: None,
        };
        let columns = Columns::find(metadata.schema(), &part).unwrap();
        let calendar = Calendar::of(metadata.metadata().file_metadata(), &Parquet::default(), None);
        Group::new(0, &columns, &metadata, &calendar, &input).could_match(&part.filters)
    }

    const TYPED: ColumnOrder = ColumnOrder::TYPE_DEFINED_ORDER(SortOrder::UNSIGNED);

    fn above(value: &str) -> String {
        format!(r#"{{"is": "compared", "column": ["a"], "how": ">", "value": "{value}"}}"#)
    }

    fn texts(deprecated: bool) -> Statistics {
        let bound = |text: &str| Some(ByteArray::from(text));
        Statistics::byte_array(bound("a"), bound("f"), None, Some(0), deprecated)
    }

    #[test]
    fn bounds_of_text_count_only_in_an_order_that_is_known() {
        let could =
            |order, deprecated| could("binary a (UTF8)", "string", order, texts(deprecated), &above("x"));
        assert!(!could(Some(TYPED), false));
        assert!(could(Some(TYPED), true));
        assert!(could(Some(ColumnOrder::UNKNOWN), false));
        assert!(could(None, false));
    }

    #[test]
    fn bounds_of_signed_numbers_count_as_writers_of_old_gave_them() {
        let known = |deprecated| Statistics::int32(Some(1), Some(5), None, Some(0), deprecated);
        assert!(!could("int32 a", "long", None, known(true), &above("7")));
        assert!(could("int32 a", "long", None, known(true), &above("3")));
        assert!(could(
            "int32 a",
            "long",
            Some(ColumnOrder::UNKNOWN),
            known(false),
            &above("7")
        ));
        // As signed numbers, -1 is below 5; as unsigned ones it is the largest.
        let unsigned = |deprecated| Statistics::int32(Some(-1), Some(5), None, Some(0), deprecated);
        assert!(could(
            "int32 a (UINT_32)",
            "long",
            Some(TYPED),
            unsigned(true),
            &above("7")
        ));
    }

    #[test]
    fn bounds_that_are_not_numbers_count_for_nothing() {
        let known = |least, greatest| Statistics::double(Some(least), Some(greatest), None, Some(0), false);
        let below = above("-1").replace('>', "<");
        assert!(!could("double a", "double", Some(TYPED), known(0.0, 1.0), &below));
        assert!(could(
            "double a",
            "double",
            Some(TYPED),
            known(0.0, f64::NAN),
            &below
        ));
        assert!(could(
            "double a",
            "double",
            Some(TYPED),
            known(f64::NAN, 1.0),
            &below
        ));
        // Values that are NaN are above all, and within no bounds.
        assert!(could(
            "double a",
            "double",
            Some(TYPED),
            known(0.0, 1.0),
            &above("7")
        ));
    }

    #[test]
    fn nulls_that_were_not_counted_could_be_there() {
        let null = r#"{"is": "null", "column": ["a"]}"#;
        let known = |nulls| Statistics::int32(Some(1), Some(5), None, nulls, false);
        assert!(!could("int32 a", "integer", None, known(Some(0)), null));
        assert!(could("int32 a", "integer", None, known(None), null));
    }

    #[test]
    fn a_column_that_was_not_asked_for_could_be_anything() {
        let filter = above("7").replace("\"a\"", "\"b\"");
        assert!(could(
            "int32 a",
            "integer",
            None,
            Statistics::int32(Some(1), Some(5), None, Some(0), false),
            &filter
        ));
    }
}
