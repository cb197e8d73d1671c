//! CSV: the rows of one part of a file, in the types that Spark asked for.
//!
//! A text is cut into rows ([`rows`]) at the bytes that give it its structure ([`marks`]); values without quotes, and
//! simple ones in quotes, stay where they lie, and all others are made out byte by byte ([`record`]). A column at a time,
//! they are read into buffers of Arrow ([`column`]).

mod column;
mod dialect;
mod infer;
mod marks;
mod number;
mod record;
mod rows;
mod split;
mod text;
mod time;
mod zone;

use std::borrow::Cow;
use std::iter;

use arrow_array::{BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, SchemaRef};
use arrow_select::filter::filter_record_batch;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::read::{Batches, DataFile, Part};
use crate::schema::type_name;
use column::{Column, Given};
pub use dialect::{Dialect, Mode};
use infer::Kind;
use record::{LineEnd, Record};
use rows::{ROWS, Rows};
use split::{Asked, Splitter};
use text::Text;
use time::Wrong;

/// A batch ends when one of its columns of text is so large.
const COLUMN_BYTES: usize = 64 * 1024 * 1024;

/// How the rows of a file are written, and which of their values are asked for.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Csv {
    #[serde(flatten)]
    dialect: Dialect,
    /// How many values a row has.
    columns: usize,
    /// By column that is asked for: its place in the row; none for the one of malformed rows.
    places: Vec<Option<usize>>,
    /// Whether a row is malformed that has more values, or fewer.
    counted: bool,
    /// By part of the files: what the values of each column are. All are strings where nobody has looked.
    #[serde(default)]
    kinds: Vec<Vec<Kind>>,
}

/// The columns of a file: their names are in its first row, their types in [`Csv::kinds`].
pub fn schema(file: &DataFile, csv: &Csv) -> Result<Value> {
    let dialect = Dialect {
        header: false,
        ..csv.dialect.clone()
    };
    let text = Text::open(file, 0, u64::MAX, !dialect.multi_line)?;
    let asked = Asked {
        columns: 0,
        places: Vec::new(),
        counted: true,
    };
    let mut rows = Rows::default();
    let mut splitter = Splitter::new(dialect, asked, text, false);
    let names = match splitter.next(1, &mut rows)? {
        true => infer::names(&splitter.values(&rows), &csv.dialect),
        false => Vec::new(),
    };
    let fields = names.iter().enumerate().map(|(place, name)| {
        let of_part = |kinds: &Vec<Kind>| kinds.get(place).copied().unwrap_or(Kind::Unknown);
        let kind = csv.kinds.iter().map(of_part).fold(Kind::Unknown, Kind::with);
        json!({"name": name, "type": kind.name(), "nullable": true, "metadata": {}})
    });
    Ok(json!({"type": "struct", "fields": fields.collect::<Vec<_>>()}))
}

/// What the values of each column of a part are.
pub fn kinds(file: &DataFile, start: u64, length: u64, csv: &Csv) -> Result<Vec<Kind>> {
    let text = Text::open(file, start, length, !csv.dialect.multi_line)?;
    let header = csv.dialect.header && start == 0;
    let asked = Asked {
        columns: csv.columns,
        places: (0..csv.columns).collect(),
        counted: false,
    };
    let mut splitter = Splitter::new(csv.dialect.clone(), asked, text, header);
    let mut rows = Rows::default();
    let mut kinds = vec![Kind::Unknown; csv.columns];
    let null = csv.dialect.null_value.as_bytes();
    while splitter.next(ROWS, &mut rows)? {
        let text = splitter.text().bytes();
        for (column, kind) in kinds.iter_mut().enumerate() {
            let values = (0..rows.len()).filter_map(|row| rows.value(text, row, column));
            let values = values.filter(|value| !value.is_empty() && *value != null);
            *kind = values.fold(*kind, |kind, value| kind.and(value, &csv.dialect));
        }
    }
    Ok(kinds)
}

pub fn read(part: &Part, csv: &Csv) -> Result<Batches> {
    let mut reader = Reader::open(part, csv)?;
    Ok(Box::new(iter::from_fn(move || reader.next().transpose())))
}

struct Reader {
    path: String,
    dialect: Dialect,
    schema: SchemaRef,
    columns: Vec<Column>,
    /// By column: its place among the values that are asked for; none for the one of malformed rows.
    slots: Vec<Option<usize>>,
    splitter: Splitter,
    rows: Rows,
    /// Whether bytes that are no UTF-8 would show.
    checked: bool,
    batch_rows: usize,
    batch_bytes: usize,
    /// Rows that are still wanted.
    left: usize,
}

impl Reader {
    fn open(part: &Part, csv: &Csv) -> Result<Self> {
        let Part {
            file: DataFile { path, .. },
            schema,
            batch_bytes,
            ..
        } = part;
        let columns = schema.fields().iter().map(|field| {
            Column::new(field.data_type()).ok_or_else(|| {
                let (name, kind) = (field.name(), type_name(field.data_type()));
                Error::Unsupported(format!(
                    "the column '{name}' of {path} is of the type {kind}, which CSV has not"
                ))
            })
        });
        let columns = columns.collect::<Result<_>>()?;
        let mut places = Vec::new();
        let slot = |place: &Option<usize>| place.map(|place| (places.push(place), places.len() - 1).1);
        let slots = csv.places.iter().map(slot).collect();
        let asked = Asked {
            columns: csv.columns,
            places,
            counted: csv.counted,
        };
        let text = Text::open(&part.file, part.start, part.length, !csv.dialect.multi_line)?;
        let header = csv.dialect.header && part.start == 0;
        let width: usize = schema
            .fields()
            .iter()
            .filter_map(|field| field.data_type().primitive_width())
            .sum();
        let checked = schema
            .fields()
            .iter()
            .any(|field| *field.data_type() == DataType::Utf8);
        Ok(Reader {
            path: path.clone(),
            schema: schema.clone(),
            columns,
            slots,
            splitter: Splitter::new(csv.dialect.clone(), asked, text, header),
            dialect: csv.dialect.clone(),
            rows: Rows::default(),
            checked,
            batch_rows: part.batch_rows.min(batch_bytes / width.max(1)).max(1),
            batch_bytes: COLUMN_BYTES.min(*batch_bytes),
            left: part.limit.unwrap_or(usize::MAX),
        })
    }

    fn next(&mut self) -> Result<Option<RecordBatch>> {
        let mut sound = Vec::new();
        let rows = self.batch_rows.min(self.left);
        let bytes = self.batch_bytes;
        let full = |columns: &[Column]| columns.iter().any(|column| column.bytes() >= bytes);
        while sound.len() < rows && !full(&self.columns) {
            let most = ROWS.min(rows - sound.len());
            if !self.splitter.next(most, &mut self.rows)? {
                break;
            }
            self.add(&mut sound)?;
        }
        if sound.is_empty() {
            return Ok(None);
        }
        let columns = self.columns.iter_mut().map(Column::finish).collect();
        let count = RecordBatchOptions::new().with_row_count(Some(sound.len()));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), columns, &count);
        let batch = batch.map_err(|why| Error::corrupt(&self.path, why))?;
        if self.dialect.mode == Mode::DropMalformed && sound.contains(&false) {
            let kept = filter_record_batch(&batch, &BooleanArray::from(sound));
            let kept = kept.map_err(|why| Error::corrupt(&self.path, why))?;
            self.left -= kept.num_rows();
            return Ok(Some(kept));
        }
        self.left -= batch.num_rows();
        Ok(Some(batch))
    }

    /// Adds rows to the columns, and to `sound` whether they are.
    fn add(&mut self, sound: &mut Vec<bool>) -> Result<()> {
        let (rows, text) = (&self.rows, self.splitter.text());
        let whole = rows.begin(0)..rows.begin(0) + rows.span();
        let utf8 = self.checked && std::str::from_utf8(&text.bytes()[whole]).is_ok();
        let given = Given {
            rows,
            text: text.bytes(),
            utf8,
            dialect: &self.dialect,
        };
        let before = sound.len();
        sound.resize(before + rows.len(), true);
        for row in rows.ragged.iter() {
            sound[before + *row as usize] = false;
        }
        let mut first = rows.ragged.first().map(|row| (*row as usize, None));
        for (index, column) in self.columns.iter_mut().enumerate() {
            let Some(slot) = self.slots[index] else {
                continue;
            };
            for fault in column.extend(&given, slot) {
                sound[before + fault.row] = false;
                if fault.wrong == Wrong::NamedZone {
                    return Err(Error::Unsupported(self.told(fault.row, Some(index), fault.wrong)));
                }
                if first.is_none_or(|(row, _)| row > fault.row) {
                    first = Some((fault.row, Some(index)));
                }
            }
        }
        if let (Mode::FailFast, Some((row, column))) = (self.dialect.mode, first) {
            return Err(Error::Corrupt(self.told(row, column, Wrong::Malformed)));
        }
        if let Some(place) = self.slots.iter().position(Option::is_none) {
            for row in 0..rows.len() {
                let line = || String::from_utf8_lossy(rows.line(text.bytes(), row));
                self.columns[place].push((!sound[before + row]).then(line));
            }
        }
        Ok(())
    }

    /// What is wrong with a row, or with its value in a column.
    fn told(&self, row: usize, column: Option<usize>, wrong: Wrong) -> String {
        let text = self.splitter.text();
        let line = text.place(self.rows.begin(row));
        let Some(column) = column else {
            let record = self.rows.line(text.bytes(), row);
            let (record, ..) = Record::read(&self.dialect, LineEnd::of(record), record);
            let (found, expected) = (record.tokens.len(), self.splitter.columns());
            return format!(
                "{}: {line} has {found} values, and the schema has {expected}",
                self.path
            );
        };
        let slot = self.slots[column].unwrap_or_default();
        let value = self
            .rows
            .value(text.bytes(), row, slot)
            .map_or(Cow::Borrowed(""), String::from_utf8_lossy);
        let field = self.schema.field(column);
        let (name, kind) = (field.name(), type_name(field.data_type()));
        match wrong {
            Wrong::Malformed => format!("{}: {line}, column '{name}': '{value}' is no {kind}", self.path),
            Wrong::NamedZone => format!(
                "{}: {line}, column '{name}': '{value}' names a time zone, of which offsets such as +01:00 are read alone",
                self.path
            ),
        }
    }
}
