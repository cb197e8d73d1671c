//! Streams that follow one another, with their dictionaries counted: what a reader of rows goes through.

use std::collections::HashMap;

use super::column::{Column, Columns};
use super::damage::Damage;
use super::message::{Message, Messages, SchemaBytes};
use super::schema::{Field, Schema, Type};

/// What a reader is told of, in this order: a schema, then dictionaries and batches, then the next schema.
pub trait Rows {
    type Schema: AsRef<Schema>;
    type Error: From<Damage>;

    /// A stream begins. Gives its schema, which may have been read before from the same bytes.
    fn schema(&mut self, bytes: SchemaBytes<'_>, at: usize) -> Result<Self::Schema, Self::Error>;
    fn dictionary(&mut self, told: Told<'_>, id: i64, delta: bool) -> Result<(), Self::Error>;
    fn batch(&mut self, columns: &[Column<'_>], rows: usize, at: usize) -> Result<(), Self::Error>;
}

/// The values of a dictionary.
pub struct Told<'a> {
    pub field: &'a Field,
    pub values: &'a Column<'a>,
    pub at: usize,
}

/// Go through streams up to the end of the input, which must be the end of a stream.
pub fn read<R: Rows>(input: &[u8], rows: &mut R) -> Result<(), R::Error> {
    let mut messages = Messages::new(input);
    if messages.done() {
        return Err(Damage::new(0, "there is no stream").into());
    }
    while !messages.done() {
        let at = messages.at;
        let Message::Schema(bytes) = messages.message()? else {
            return Err(Damage::new(at, "a stream does not begin with its schema").into());
        };
        let schema = rows.schema(bytes, at)?;
        read_stream(&mut messages, schema.as_ref(), rows)?;
    }
    Ok(())
}

fn read_stream<R: Rows>(messages: &mut Messages<'_>, schema: &Schema, rows: &mut R) -> Result<(), R::Error> {
    let mut sizes = HashMap::new();
    let mut coded = None;
    loop {
        let at = messages.at;
        match messages.message()? {
            Message::End => return Ok(()),
            Message::Schema(_) => return Err(Damage::new(at, "a schema stands within a stream").into()),
            Message::Dictionary { id, delta, head } => {
                let field = coded
                    .get_or_insert_with(|| dictionaries(schema))
                    .get(&id)
                    .ok_or_else(|| Damage::new(at, "a dictionary belongs to no column"))?;
                let columns = Columns::read(head, std::slice::from_ref(field), schema.big_endian, &sizes)?;
                rows.dictionary(
                    Told {
                        field,
                        values: &columns[0],
                        at,
                    },
                    id,
                    delta,
                )?;
                let size = sizes.entry(id).or_insert(0);
                *size = columns[0].len + if delta { *size } else { 0 };
            }
            Message::Batch(head) => {
                let columns = Columns::read(head, &schema.fields, schema.big_endian, &sizes)?;
                rows.batch(&columns, head.rows, at)?;
            }
        }
    }
}

/// The values of each dictionary, as fields.
fn dictionaries(schema: &Schema) -> HashMap<i64, Field> {
    let mut found = HashMap::new();
    gather(&schema.fields, &mut found);
    found
}

fn gather(fields: &[Field], found: &mut HashMap<i64, Field>) {
    for field in fields {
        if let Some(dictionary) = &field.dictionary {
            let values = Field {
                dictionary: None,
                ..field.clone()
            };
            found.insert(dictionary.id, values);
        } else {
            gather(&field.children, found);
        }
    }
}

/// Whether values of a type can be shared between rows: none of them can be changed.
pub fn can_be_shared(ty: &Type) -> bool {
    !matches!(
        ty,
        Type::List | Type::LargeList | Type::FixedList(_) | Type::Struct | Type::Map
    )
}
