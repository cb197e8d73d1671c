//! Columns as a schema tells them.

use super::column::{Column, Op, Record};
use super::numpy;
use super::record::Kind;
use super::shape::Sequence;
use super::time::ZoneShape;
use crate::rowcodec::wire::{Dictionary, Field, Schema, Type, Unit};

pub const VERSION: (&str, &str) = ("headrace.rows", "1");
/// What is told of a field beside its type.
pub const PY: &str = "headrace.py";
pub const CLASS: &str = "headrace.class";

impl Column {
    /// As the schema tells it. Args: `ids` counts dictionaries.
    pub fn field(&self, name: &str, ids: &mut i64) -> Field {
        let micro = Unit::Micro;
        let mut told: Vec<(&str, String)> = Vec::new();
        let ty = match &self.op {
            Op::Null => Type::Null,
            Op::Bool => Type::Bool,
            Op::Int => Type::Int {
                bits: 8 * self.width,
                signed: true,
            },
            Op::Float => Type::Float { bits: 64 },
            Op::Str | Op::Coded(_) => Type::Utf8,
            Op::Bytes => Type::Binary,
            Op::ByteArray => {
                told.push((PY, "bytearray".into()));
                Type::Binary
            }
            Op::Variant => {
                told.push((PY, "variant".into()));
                Type::Binary
            }
            Op::Date => Type::Date,
            Op::DateTime => Type::Timestamp {
                unit: micro,
                zone: None,
            },
            Op::Zoned(zone) => {
                if *zone == ZoneShape::Offset(0) {
                    told.push((PY, "timezone".into()));
                }
                Type::Timestamp {
                    unit: micro,
                    zone: Some(zone.text()),
                }
            }
            Op::Delta => Type::Duration { unit: micro },
            Op::Decimal(scale) => Type::Decimal {
                precision: 38,
                scale: i32::from(*scale),
            },
            Op::Uuid => {
                told.push(("ARROW:extension:name", "arrow.uuid".into()));
                told.push(("ARROW:extension:metadata", String::new()));
                Type::FixedBinary(16)
            }
            Op::Numpy(index) => {
                told.push((PY, "numpy".into()));
                numpy::type_of(*index)
            }
            Op::List(sequence) => {
                if *sequence == Sequence::Tuple {
                    told.push((PY, "tuple".into()));
                }
                Type::List
            }
            Op::Map => Type::Map,
            Op::Record(record) => {
                if record.kind != Kind::Dict {
                    told.push((PY, record.kind.word().into()));
                }
                if let (Some(class), true) = (&record.class, record.kind != Kind::Row) {
                    told.push((CLASS, class.path.to_string()));
                }
                Type::Struct
            }
        };
        let mut field = Field::new(name, ty);
        field.metadata = told
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect();
        if let Op::Coded(_) = self.op {
            field.dictionary = Some(Dictionary {
                id: *ids,
                bits: 8 * self.width,
                signed: true,
            });
            *ids += 1;
        }
        field.children = match &self.op {
            Op::List(_) => vec![self.kids[0].field("item", ids)],
            Op::Map => {
                let mut entries = Field::new("entries", Type::Struct);
                entries.children = vec![self.kids[0].field("key", ids), self.kids[1].field("value", ids)];
                entries.nullable = false;
                entries.children[0].nullable = false;
                vec![entries]
            }
            Op::Record(record) => fields(record, &self.kids, ids),
            _ => Vec::new(),
        };
        field
    }
}

/// The schema of rows. Args: `top` is None where a row stands in the only column; `rest` is whether a column of rows
/// that do not fit follows.
pub fn schema(top: Option<&Record>, columns: &[Column], rest: bool) -> Schema {
    let mut ids = 0;
    let mut told = vec![VERSION];
    let mut all = match top {
        Some(record) => {
            if record.kind != Kind::Dict {
                told.push((PY, record.kind.word()));
            }
            if let (Some(class), true) = (&record.class, record.kind != Kind::Row) {
                told.push((CLASS, &class.path));
            }
            fields(record, columns, &mut ids)
        }
        None => {
            told.push((PY, "value"));
            vec![columns[0].field("value", &mut ids)]
        }
    };
    if rest {
        let mut rest = Field::new("headrace.rest", Type::Binary);
        rest.metadata.push((PY.into(), "rest".into()));
        all.push(rest);
    }
    Schema {
        big_endian: false,
        fields: all,
        metadata: told
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect(),
    }
}

/// The fields of a record: those of tuples and lists are named by their places.
fn fields(record: &Record, kids: &[Column], ids: &mut i64) -> Vec<Field> {
    let named = kids.iter().enumerate().map(|(n, kid)| match &record.names {
        Some(names) => kid.field(&names.0[n].text, ids),
        None => kid.field(&format!("_{}", n + 1), ids),
    });
    named.collect()
}
