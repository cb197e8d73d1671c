//! Schemas: the types of Arrow that rows are made of, and what is told beside them.

use super::damage::{Damage, Result};
use super::flatbuf::{Bytes, Slot, Table, Writer};

/// How deep types may be nested.
pub const DEPTH: usize = 64;
/// How many fields a schema may have, those within others counted.
pub const FIELDS: usize = 65_536;
/// Names and metadata of a schema may have eight times the bytes of its message, and so many more.
const TOLD_BYTES: usize = 1 << 20;
/// What each of them takes at least.
const LEAST_BYTES: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Second,
    Milli,
    Micro,
    Nano,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    Null,
    Bool,
    Int { bits: u8, signed: bool },
    Float { bits: u8 },
    Utf8,
    LargeUtf8,
    Binary,
    LargeBinary,
    FixedBinary(u32),
    Decimal { precision: i32, scale: i32 },
    Date,
    Timestamp { unit: Unit, zone: Option<String> },
    Duration { unit: Unit },
    List,
    LargeList,
    FixedList(u32),
    Struct,
    Map,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dictionary {
    pub id: i64,
    /// Bits of an index, and whether it has a sign.
    pub bits: u8,
    pub signed: bool,
}

pub type Metadata = Vec<(String, String)>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub ty: Type,
    pub nullable: bool,
    /// Of dictionary-encoded columns; `ty` is then the type of the values.
    pub dictionary: Option<Dictionary>,
    pub children: Vec<Field>,
    pub metadata: Metadata,
}

impl Field {
    pub fn new(name: impl Into<String>, ty: Type) -> Self {
        let (dictionary, children, metadata) = (None, Vec::new(), Vec::new());
        Self {
            name: name.into(),
            ty,
            nullable: true,
            dictionary,
            children,
            metadata,
        }
    }

    pub fn told(&self, key: &str) -> Option<&str> {
        told(&self.metadata, key)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Schema {
    pub big_endian: bool,
    pub fields: Vec<Field>,
    pub metadata: Metadata,
}

impl Schema {
    pub fn told(&self, key: &str) -> Option<&str> {
        told(&self.metadata, key)
    }

    pub fn read(table: Table<'_>) -> Result<Self> {
        let big_endian = match table.i16(0, 0)? {
            0 => false,
            1 => true,
            _ => return Err(table.damage("the byte order is neither little nor big")),
        };
        let mut left = Left {
            fields: FIELDS,
            bytes: TOLD_BYTES + 8 * table.bytes.all.len(),
        };
        let fields = read_fields(table, 1, DEPTH, &mut left)?;
        Ok(Self {
            big_endian,
            fields,
            metadata: read_metadata(table, 2, &mut left)?,
        })
    }

    /// The message's flatbuffer.
    pub fn write(&self) -> Vec<u8> {
        let mut out = Writer::new();
        let message = out.table([
            Slot::I16(super::message::V5),
            Slot::U8(super::message::SCHEMA),
            Slot::Offset,
            Slot::Default,
        ]);
        out.point(message[2], out.next_table(3));
        let metadata = if self.metadata.is_empty() {
            Slot::Default
        } else {
            Slot::Offset
        };
        let schema = out.table([Slot::I16(i16::from(self.big_endian)), Slot::Offset, metadata]);
        write_fields(&mut out, schema[1], &self.fields);
        write_metadata(&mut out, schema[2], &self.metadata);
        out.bytes
    }
}

fn told<'a>(metadata: &'a Metadata, key: &str) -> Option<&'a str> {
    metadata
        .iter()
        .find(|(k, _)| k == key)
        .map(|(_, value)| value.as_str())
}

/// What a schema may have yet: its parts may stand in the message once, and be told of again and again.
struct Left {
    fields: usize,
    bytes: usize,
}

impl Left {
    fn take(&mut self, table: Table<'_>, bytes: usize) -> Result<()> {
        self.bytes = self
            .bytes
            .checked_sub(LEAST_BYTES + bytes)
            .ok_or_else(|| table.damage("the schema tells far more than it has bytes"))?;
        Ok(())
    }
}

fn read_metadata(table: Table<'_>, slot: usize, left: &mut Left) -> Result<Metadata> {
    let mut found = Vec::new();
    for pair in table.tables(slot)? {
        let pair = pair?;
        let (key, value) = (
            pair.string(0)?.unwrap_or_default(),
            pair.string(1)?.unwrap_or_default(),
        );
        left.take(pair, key.len() + value.len())?;
        found.push((key.to_owned(), value.to_owned()));
    }
    Ok(found)
}

fn read_fields(table: Table<'_>, slot: usize, depth: usize, left: &mut Left) -> Result<Vec<Field>> {
    let mut found = Vec::new();
    for field in table.tables(slot)? {
        let field = field?;
        if depth == 0 {
            return Err(field.damage("types are nested too deep"));
        }
        left.fields = left
            .fields
            .checked_sub(1)
            .ok_or_else(|| field.damage("the schema has too many fields"))?;
        let children = read_fields(field, 5, depth - 1, left)?;
        let (ty, wanted) = read_type(field)?;
        if wanted.is_some_and(|wanted| wanted != children.len()) {
            return Err(field.damage("a type has a wrong number of children"));
        }
        let is_entries = |child: &Field| {
            child.ty == Type::Struct && child.children.len() == 2 && child.dictionary.is_none()
        };
        if ty == Type::Map && !is_entries(&children[0]) {
            return Err(field.damage("the entries of a map are not a struct of key and value"));
        }
        let name = field.string(0)?.unwrap_or_default();
        left.take(field, name.len())?;
        found.push(Field {
            name: name.to_owned(),
            nullable: field.u8(1, 0)? != 0,
            dictionary: field.table(4)?.map(read_dictionary).transpose()?,
            ty,
            children,
            metadata: read_metadata(field, 6, left)?,
        });
    }
    Ok(found)
}

fn read_dictionary(table: Table<'_>) -> Result<Dictionary> {
    let (bits, signed) = match table.table(1)? {
        Some(index) => (index.i32(0, 0)?, index.u8(1, 0)? != 0),
        None => (32, true),
    };
    match bits {
        8 | 16 | 32 | 64 => Ok(Dictionary {
            id: table.i64(0, 0)?,
            bits: bits as u8,
            signed,
        }),
        _ => Err(table.damage("the indices of a dictionary are no integers of Arrow")),
    }
}

fn read_unit(table: Table<'_>, default: i16) -> Result<Unit> {
    match table.i16(0, default)? {
        0 => Ok(Unit::Second),
        1 => Ok(Unit::Milli),
        2 => Ok(Unit::Micro),
        3 => Ok(Unit::Nano),
        _ => Err(table.damage("the unit of a time is unknown")),
    }
}

fn read_width(table: Table<'_>) -> Result<u32> {
    u32::try_from(table.i32(0, 0)?).map_err(|_| table.damage("a size is below zero"))
}

/// The type, and how many children it has.
fn read_type(field: Table<'_>) -> Result<(Type, Option<usize>)> {
    let of = || field.needed(3, "a field has no type");
    let leaf = |ty| Ok((ty, Some(0)));
    match field.u8(2, 0)? {
        1 => leaf(Type::Null),
        2 => match of()?.i32(0, 0)? {
            bits @ (8 | 16 | 32 | 64) => leaf(Type::Int {
                bits: bits as u8,
                signed: of()?.u8(1, 0)? != 0,
            }),
            _ => Err(field.damage("an integer has no width of Arrow's")),
        },
        3 => match of()?.i16(0, 0)? {
            0 => leaf(Type::Float { bits: 16 }),
            1 => leaf(Type::Float { bits: 32 }),
            2 => leaf(Type::Float { bits: 64 }),
            _ => Err(field.damage("a float has no precision of Arrow's")),
        },
        4 => leaf(Type::Binary),
        5 => leaf(Type::Utf8),
        6 => leaf(Type::Bool),
        7 if of()?.i32(2, 128)? == 128 => {
            let (precision, scale) = (of()?.i32(0, 0)?, of()?.i32(1, 0)?);
            if !(1..=38).contains(&precision) || !(-1000..=1000).contains(&scale) {
                return Err(field.damage("a decimal has more digits than it has room for"));
            }
            leaf(Type::Decimal { precision, scale })
        }
        8 if of()?.i16(0, 1)? == 0 => leaf(Type::Date),
        10 => {
            let zone = of()?
                .string(1)?
                .filter(|zone| !zone.is_empty())
                .map(str::to_owned);
            leaf(Type::Timestamp {
                unit: read_unit(of()?, 0)?,
                zone,
            })
        }
        12 => Ok((Type::List, Some(1))),
        13 => Ok((Type::Struct, None)),
        15 => leaf(Type::FixedBinary(read_width(of()?)?)),
        16 => Ok((Type::FixedList(read_width(of()?)?), Some(1))),
        17 => Ok((Type::Map, Some(1))),
        18 => leaf(Type::Duration {
            unit: read_unit(of()?, 1)?,
        }),
        19 => leaf(Type::LargeBinary),
        20 => leaf(Type::LargeUtf8),
        21 => Ok((Type::LargeList, Some(1))),
        kind => {
            let name = field.string(0)?.unwrap_or_default();
            let what = match kind {
                7 => "a decimal of another width than 128 bits",
                8 => "a date in milliseconds",
                9 => "a time of day",
                11 => "an interval",
                14 => "a union",
                22 => "run-end encoded",
                23 | 24 => "a view",
                25 | 26 => "a view of lists",
                _ => return Err(field.damage("a type is unknown")),
            };
            let at = field.bytes.at + field.position;
            Err(Damage::unsupported(
                at,
                format!("column {name:?} is {what}, which no rows are read from"),
            ))
        }
    }
}

fn write_metadata(out: &mut Writer, from: usize, metadata: &Metadata) {
    if metadata.is_empty() {
        return;
    }
    let start = out.offsets(from, metadata.len());
    for (n, (key, value)) in metadata.iter().enumerate() {
        out.point(start + 4 * n, out.next_table(2));
        let pair = out.table([Slot::Offset, Slot::Offset]);
        out.string(pair[0], key);
        out.string(pair[1], value);
    }
}

fn write_fields(out: &mut Writer, from: usize, fields: &[Field]) {
    let start = out.offsets(from, fields.len());
    for (n, field) in fields.iter().enumerate() {
        out.point(start + 4 * n, out.next_table(7));
        write_field(out, field);
    }
}

fn write_field(out: &mut Writer, field: &Field) {
    let some = |there| if there { Slot::Offset } else { Slot::Default };
    let slots = out.table([
        Slot::Offset,
        Slot::U8(u8::from(field.nullable)),
        Slot::U8(number(&field.ty)),
        Slot::Offset,
        some(field.dictionary.is_some()),
        Slot::Offset,
        some(!field.metadata.is_empty()),
    ]);
    out.string(slots[0], &field.name);
    write_type(out, slots[3], &field.ty);
    if let Some(dictionary) = &field.dictionary {
        out.point(slots[4], out.next_table(3));
        let table = out.table([Slot::I64(dictionary.id), Slot::Offset, Slot::U8(0)]);
        let index = Type::Int {
            bits: dictionary.bits,
            signed: dictionary.signed,
        };
        write_type(out, table[1], &index);
    }
    write_fields(out, slots[5], &field.children);
    write_metadata(out, slots[6], &field.metadata);
}

fn number(ty: &Type) -> u8 {
    match ty {
        Type::Null => 1,
        Type::Int { .. } => 2,
        Type::Float { .. } => 3,
        Type::Binary => 4,
        Type::Utf8 => 5,
        Type::Bool => 6,
        Type::Decimal { .. } => 7,
        Type::Date => 8,
        Type::Timestamp { .. } => 10,
        Type::List => 12,
        Type::Struct => 13,
        Type::FixedBinary(_) => 15,
        Type::FixedList(_) => 16,
        Type::Map => 17,
        Type::Duration { .. } => 18,
        Type::LargeBinary => 19,
        Type::LargeUtf8 => 20,
        Type::LargeList => 21,
    }
}

fn write_type(out: &mut Writer, from: usize, ty: &Type) {
    let unit = |unit: &Unit| Slot::I16(*unit as i16);
    match ty {
        Type::Timestamp { unit: of, zone } => {
            out.point(from, out.next_table(2));
            let slots = out.table([
                unit(of),
                if zone.is_some() {
                    Slot::Offset
                } else {
                    Slot::Default
                },
            ]);
            if let Some(zone) = zone {
                out.string(slots[1], zone);
            }
        }
        Type::Decimal { precision, scale } => {
            out.point(from, out.next_table(3));
            out.table([Slot::I32(*precision), Slot::I32(*scale), Slot::I32(128)]);
        }
        Type::Int { bits, signed } => {
            out.point(from, out.next_table(2));
            out.table([Slot::I32(i32::from(*bits)), Slot::U8(u8::from(*signed))]);
        }
        Type::Float { bits } => one(
            out,
            from,
            Slot::I16(match bits {
                16 => 0,
                32 => 1,
                _ => 2,
            }),
        ),
        Type::FixedBinary(width) | Type::FixedList(width) => one(out, from, Slot::I32(*width as i32)),
        Type::Duration { unit: of } => one(out, from, unit(of)),
        Type::Date => one(out, from, Slot::I16(0)),
        Type::Map => one(out, from, Slot::U8(0)),
        _ => one(out, from, Slot::Default),
    }
}

fn one(out: &mut Writer, from: usize, slot: Slot) {
    out.point(from, out.next_table(1));
    out.table([slot]);
}

/// The schema in a message's flatbuffer.
pub fn read_schema(bytes: Bytes<'_>) -> Result<Schema> {
    Schema::read(bytes.root()?.needed(2, "a message has no header")?)
}
