//! Reads streams to their ends, and makes nothing of them: what a fuzzer, and a test without Python, can run.

use std::sync::Arc;

use super::variant::{self, Checked};
use super::wire::message::SchemaBytes;
use super::wire::stream::{Rows, Told, read};
use super::wire::{Column, Damage, Data, Schema, Type};

struct Reading {
    schema: Shared,
    rows: usize,
}

#[derive(Clone, Default)]
struct Shared(Arc<Schema>);

impl AsRef<Schema> for Shared {
    fn as_ref(&self) -> &Schema {
        &self.0
    }
}

impl Rows for Reading {
    type Schema = Shared;
    type Error = Damage;

    fn schema(&mut self, bytes: SchemaBytes<'_>, _: usize) -> Result<Shared, Damage> {
        let schema = bytes.read()?;
        // What is read can be written, and is then the same.
        let written = schema.write();
        let again = super::wire::schema::read_schema(super::wire::flatbuf::Bytes { all: &written, at: 0 })?;
        assert_eq!(again, schema);
        self.schema = Shared(Arc::new(schema));
        Ok(self.schema.clone())
    }

    fn dictionary(&mut self, told: Told<'_>, _: i64, _: bool) -> Result<(), Damage> {
        touch(told.values);
        Ok(())
    }

    fn batch(&mut self, columns: &[Column<'_>], rows: usize, at: usize) -> Result<(), Damage> {
        for (field, column) in self.schema.0.fields.iter().zip(columns) {
            touch(column);
            if let (Type::Binary, Some("variant" | "rest"), Data::Bytes { .. }) =
                (&field.ty, field.told("headrace.py"), &column.data)
            {
                for n in (0..column.len).filter(|n| !column.is_null(*n)) {
                    variant::read(column.bytes(n), at, &mut Checked)?;
                }
            }
        }
        self.rows += rows;
        Ok(())
    }
}

/// Look at every value, as a reader would.
fn touch(column: &Column<'_>) {
    let mut seen = 0_usize;
    for n in 0..column.len {
        if column.is_null(n) {
            continue;
        }
        seen += match &column.data {
            Data::Bytes { .. } => column.bytes(n).len(),
            Data::Fixed { width, bytes } => bytes[n * width..(n + 1) * width].len(),
            Data::Indices { width, bytes } => bytes[n * width..(n + 1) * width].len(),
            Data::Bits(bits) => usize::from(bits[n / 8] >> (n % 8) & 1),
            _ => 0,
        };
    }
    std::hint::black_box(seen);
    match &column.data {
        Data::List { child, .. } | Data::FixedList { child, .. } => touch(child),
        Data::Struct(children) => children.iter().for_each(touch),
        _ => {}
    }
}

/// How many rows the streams have, after a look at all of them.
pub fn check(input: &[u8]) -> Result<usize, Damage> {
    let mut reading = Reading {
        schema: Shared::default(),
        rows: 0,
    };
    read(input, &mut reading)?;
    Ok(reading.rows)
}
