//! Row groups that are skipped hold no row that was asked for: random files, random conditions, each row looked at.

use std::cmp::Ordering;
use std::fs::File;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{
    Array, ArrayRef, Decimal128Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    UInt64Array,
};
use arrow_schema::DataType;
use headrace_spark::{DataFile, Filter, Format, Input, Parquet, Part, from_json, read};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use serde_json::{Value as Json, json};

const ROWS: usize = 60;
/// `n` is of 32 bits in the file, `u` unsigned of 64.
const ASKED: &str = r#"{"type": "struct", "fields": [{"name": "id", "type": "long"}, {"name": "n", "type": "long"},
  {"name": "u", "type": "decimal(20,0)"}, {"name": "f", "type": "double"}, {"name": "s", "type": "string"},
  {"name": "d", "type": "decimal(30,4)"}, {"name": "gone", "type": "long"}]}"#;
const NAMES: [&str; 6] = ["n", "u", "f", "s", "d", "gone"];

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % limit
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    /// Values that lie close together in each ten rows, some of them null.
    fn column<T>(&mut self, mut value: impl FnMut(&mut Random, i64) -> T) -> Vec<Option<T>> {
        let mut column = Vec::new();
        while column.len() < ROWS {
            let (middle, nulls) = (self.below(30) as i64, self.one(&[0, 0, 3, 10]));
            for _ in 0..10 {
                let near = middle + self.below(5) as i64 - 15;
                column.push((self.below(10) >= nulls).then(|| value(self, near)));
            }
        }
        column
    }

    fn table(&mut self) -> RecordBatch {
        let numbers = self.column(|_, near| near as i32);
        let unsigned = self.column(|_, near| near as u64);
        let floating = self
            .column(|random, near| random.one(&[near as f64, near as f64, near as f64, f64::NAN, -0.0, 0.0]));
        let texts = self.column(|random, near| {
            let tail = char::from_u32((100 + near) as u32).unwrap();
            format!("{}{tail}", random.one(&["", "ab", "ÿ", "\u{10ffff}"]))
        });
        let decimals = self.column(|_, near| i128::from(near) * 25);
        let decimals = Decimal128Array::from(decimals)
            .with_precision_and_scale(25, 2)
            .unwrap();
        RecordBatch::try_from_iter_with_nullable([
            (
                "id",
                Arc::new(Int64Array::from_iter_values(0..ROWS as i64)) as ArrayRef,
                true,
            ),
            ("n", Arc::new(Int32Array::from(numbers)), true),
            ("u", Arc::new(UInt64Array::from(unsigned)), true),
            ("f", Arc::new(Float64Array::from(floating)), true),
            ("s", Arc::new(StringArray::from(texts)), true),
            ("d", Arc::new(decimals), true),
        ])
        .unwrap()
    }

    fn value(&mut self, name: &str) -> Json {
        let near = self.below(34) as i64 - 17;
        match name {
            _ if self.below(30) == 0 => Json::Null,
            "u" => json!((near as u64).to_string()),
            "f" => json!(self.one(&[format!("{near}.0"), "NaN".into(), "-0.0".into(), "0.0".into()])),
            "s" => json!(format!(
                "{}{}",
                self.one(&["", "ab", "ÿ", "\u{10ffff}"]),
                char::from_u32((100 + near) as u32).unwrap()
            )),
            "d" => json!(format!(
                "{}{}",
                near / 4,
                self.one(&["", ".25", ".2500", ".0001"])
            )),
            _ => json!(near.to_string()),
        }
    }

    fn filter(&mut self, depth: usize) -> Json {
        let name = self.one(&NAMES);
        match self.below(if depth == 0 { 4 } else { 7 }) {
            0 => json!({"is": "null", "column": [name]}),
            1 => {
                let values: Vec<_> = (0..=self.below(3)).map(|_| self.value(name)).collect();
                json!({"is": "in", "column": [name], "values": values})
            }
            2 => {
                json!({"is": "prefix", "column": ["s"], "value": self.one(&["", "a", "abc", "ÿ", "d", "\u{10ffff}"])})
            }
            3 => {
                let how = self.one(&["=", "!=", "<", "<=", ">", ">="]);
                json!({"is": "compared", "column": [name], "how": how, "value": self.value(name)})
            }
            4 => json!({"is": "not", "filter": self.filter(depth - 1)}),
            other => {
                let is = if other == 5 { "and" } else { "or" };
                json!({"is": is, "filters": [self.filter(depth - 1), self.filter(depth - 1)]})
            }
        }
    }
}

/// Whether a condition is true of a row; none where it is null.
fn truth(filter: &Json, batch: &RecordBatch, row: usize) -> Option<bool> {
    let column = || {
        batch
            .column_by_name(filter["column"][0].as_str().unwrap())
            .unwrap()
            .as_ref()
    };
    match filter["is"].as_str().unwrap() {
        "null" => Some(column().is_null(row)),
        "not" => truth(&filter["filter"], batch, row).map(|truth| !truth),
        "compared" => {
            let order = order(column(), row, filter["value"].as_str()?)?;
            Some(match filter["how"].as_str().unwrap() {
                "=" => order.is_eq(),
                "!=" => order.is_ne(),
                "<" => order.is_lt(),
                "<=" => order.is_le(),
                ">" => order.is_gt(),
                _ => order.is_ge(),
            })
        }
        "in" => {
            let equal = |value: &Json| Some(order(column(), row, value.as_str()?)?.is_eq());
            either(filter["values"].as_array().unwrap().iter().map(equal))
        }
        "prefix" if column().is_null(row) => None,
        "prefix" => {
            let text = column().as_string::<i32>().value(row);
            Some(text.starts_with(filter["value"].as_str().unwrap()))
        }
        is => {
            let parts = filter["filters"].as_array().unwrap().iter();
            let truths = parts.map(|part| truth(part, batch, row));
            match is {
                "or" => either(truths),
                _ => either(truths.map(|truth| Some(!truth?))).map(|truth| !truth),
            }
        }
    }
}

fn either(all: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let all: Vec<_> = all.collect();
    match all.contains(&Some(true)) {
        true => Some(true),
        false if all.contains(&None) => None,
        false => Some(false),
    }
}

/// How the value of a row compares with another, in Spark's order; none if it is null.
fn order(column: &dyn Array, row: usize, with: &str) -> Option<Ordering> {
    if column.is_null(row) {
        return None;
    }
    Some(match column.data_type() {
        DataType::Int64 => column
            .as_primitive::<Int64Type>()
            .value(row)
            .cmp(&with.parse().unwrap()),
        DataType::Float64 => {
            let (one, other) = (
                column.as_primitive::<Float64Type>().value(row),
                with.parse::<f64>().unwrap(),
            );
            one.partial_cmp(&other)
                .unwrap_or_else(|| one.is_nan().cmp(&other.is_nan()))
        }
        DataType::Utf8 => column
            .as_string::<i32>()
            .value(row)
            .as_bytes()
            .cmp(with.as_bytes()),
        DataType::Decimal128(_, scale) => {
            let (whole, fraction) = with.split_once('.').unwrap_or((with, ""));
            let width = (*scale as usize).max(4);
            let other: i128 = format!("{whole}{fraction:0<width$}").parse().unwrap();
            let one = column.as_primitive::<Decimal128Type>().value(row);
            (one * 10_i128.pow((width - *scale as usize) as u32)).cmp(&other)
        }
        other => panic!("{other}"),
    })
}

fn rows(path: &str, filters: &[Json]) -> (Vec<RecordBatch>, usize) {
    let part = Part {
        file: DataFile {
            path: path.into(),
            input: Input::local(path).unwrap(),
        },
        format: Format::Parquet(Parquet::default()),
        start: 0,
        length: u64::MAX,
        schema: Arc::new(from_json(&ASKED.parse().unwrap()).unwrap()),
        first: None,
        case_sensitive: false,
        batch_rows: 1_000,
        batch_bytes: usize::MAX,
        limit: None,
        filters: filters
            .iter()
            .map(|filter| serde_json::from_value::<Filter>(filter.clone()).unwrap())
            .collect(),
        calendars: None,
    };
    let (batches, groups) = read(part).unwrap();
    (batches.map(Result::unwrap).collect(), groups.skipped)
}

fn ids(batches: &[RecordBatch], filters: &[Json]) -> Vec<i64> {
    let mut found = Vec::new();
    for batch in batches {
        let asked = |row: &usize| {
            filters
                .iter()
                .all(|filter| truth(filter, batch, *row) == Some(true))
        };
        let ids = batch.column(0).as_primitive::<Int64Type>();
        found.extend((0..batch.num_rows()).filter(asked).map(|row| ids.value(row)));
    }
    found
}

#[test]
fn no_row_is_lost() {
    let mut random = Random(20261125);
    let path = std::env::temp_dir().join(format!("headrace-filtered-{}.parquet", std::process::id()));
    let shown = path.to_str().unwrap();
    let (mut skipped, mut lost_by_skipping_all) = (0, 0);
    for round in 0..60 {
        let table = random.table();
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(10))
            .set_statistics_truncate_length(random.one(&[None, Some(1), Some(2)]))
            .set_data_page_row_count_limit(random.one(&[3, 1_000]))
            .set_write_batch_size(1)
            .set_bloom_filter_enabled(round % 3 == 0)
            .set_statistics_enabled(random.one(&[EnabledStatistics::Page, EnabledStatistics::Chunk]))
            .build();
        let file = File::create(&path).unwrap();
        let mut writer = ArrowWriter::try_new(file, table.schema(), Some(properties)).unwrap();
        writer.write(&table).unwrap();
        writer.close().unwrap();
        let (whole, _) = rows(shown, &[]);
        for _ in 0..300 {
            let filters: Vec<_> = (0..=random.below(2)).map(|_| random.filter(2)).collect();
            let meant = ids(&whole, &filters);
            let (batches, less) = rows(shown, &filters);
            assert_eq!(ids(&batches, &filters), meant, "{}", json!(filters));
            skipped += less;
            lost_by_skipping_all += usize::from(!meant.is_empty());
        }
    }
    std::fs::remove_file(&path).unwrap();
    assert!(skipped > 20_000, "{skipped}");
    assert!(lost_by_skipping_all > 5_000, "{lost_by_skipping_all}");
}
