//! Messages: their frames, and the heads of batches.

use std::ops::Range;

use super::codec::{self, Codec};
use super::damage::{Damage, Result};
use super::flatbuf::{Bytes, Slot, Table, Writer};
use super::schema::{Schema, read_schema};

pub const V5: i16 = 4;
pub const SCHEMA: u8 = 1;
const DICTIONARY: u8 = 2;
const BATCH: u8 = 3;
/// How a file begins.
const FILE: &[u8] = b"ARROW1";
const CONTINUED: [u8; 4] = [0xff; 4];

/// What ends a stream.
pub const END: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// The head of a batch, with its body.
#[derive(Clone, Copy)]
pub struct Head<'a> {
    pub rows: usize,
    pub codec: Option<Codec>,
    table: Table<'a>,
    nodes: (usize, usize),
    buffers: (usize, usize),
    body: &'a [u8],
    /// Where the body begins in the input.
    body_at: usize,
}

impl<'a> Head<'a> {
    fn read(table: Table<'a>, body: &'a [u8], body_at: usize) -> Result<Self> {
        let rows =
            usize::try_from(table.i64(0, 0)?).map_err(|_| table.damage("a batch has less than no rows"))?;
        let codec = match table.table(3)? {
            None => None,
            Some(how) => Some(match (how.u8(0, 0)?, how.u8(1, 0)?) {
                (0, 0) => Codec::Lz4,
                (1, 0) => Codec::Zstd,
                _ => return Err(how.damage("a batch is compressed in an unknown way")),
            }),
        };
        let nodes = table.vector(1, 16)?.unwrap_or((0, 0));
        let buffers = table.vector(2, 16)?.unwrap_or((0, 0));
        Ok(Self {
            rows,
            codec,
            table,
            nodes,
            buffers,
            body,
            body_at,
        })
    }

    pub fn damage(&self, what: &str) -> Damage {
        self.table.damage(what)
    }

    /// Values and nulls of the n-th array.
    pub fn node(&self, n: usize) -> Result<(usize, usize)> {
        let (values, nulls) = self.pair(self.nodes, n, "a batch has fewer arrays than its schema")?;
        if nulls > values {
            return Err(self.damage("an array has more nulls than values"));
        }
        Ok((values, nulls))
    }

    /// The n-th buffer as it is stored, and where it begins in the input.
    pub fn buffer(&self, n: usize) -> Result<(&'a [u8], usize)> {
        let (offset, length) = self.pair(self.buffers, n, "a batch has fewer buffers than its schema")?;
        offset
            .checked_add(length)
            .and_then(|end| self.body.get(offset..end))
            .map(|found| (found, self.body_at + offset))
            .ok_or_else(|| self.damage("a buffer leaves its batch"))
    }

    fn pair(&self, (start, length): (usize, usize), n: usize, lacking: &str) -> Result<(usize, usize)> {
        if n >= length {
            return Err(self.damage(lacking));
        }
        let bytes = self.table.bytes;
        let (first, second) = (bytes.i64(start + 16 * n)?, bytes.i64(start + 16 * n + 8)?);
        match (usize::try_from(first), usize::try_from(second)) {
            (Ok(first), Ok(second)) => Ok((first, second)),
            _ => Err(self.damage("a size is below zero")),
        }
    }

    /// Whether all of it was asked for.
    pub fn all_read(&self, nodes: usize, buffers: usize) -> Result<()> {
        if (self.nodes.1, self.buffers.1) != (nodes, buffers) {
            return Err(self.damage("a batch has more arrays or buffers than its schema"));
        }
        Ok(())
    }
}

pub enum Message<'a> {
    Schema(SchemaBytes<'a>),
    Dictionary { id: i64, delta: bool, head: Head<'a> },
    Batch(Head<'a>),
    End,
}

/// A schema that was not looked into yet: many streams have the same.
#[derive(Clone, Copy)]
pub struct SchemaBytes<'a>(Bytes<'a>);

impl<'a> SchemaBytes<'a> {
    pub fn bytes(&self) -> &'a [u8] {
        self.0.all
    }

    pub fn read(&self) -> Result<Schema> {
        read_schema(self.0)
    }
}

/// The messages of a stream, one by one.
pub struct Messages<'a> {
    input: &'a [u8],
    pub at: usize,
}

impl<'a> Messages<'a> {
    pub fn new(input: &'a [u8]) -> Self {
        Self { input, at: 0 }
    }

    pub fn done(&self) -> bool {
        self.at == self.input.len()
    }

    fn take(&mut self, length: usize, what: &str) -> Result<&'a [u8]> {
        let found = self
            .at
            .checked_add(length)
            .and_then(|end| self.input.get(self.at..end));
        let found = found.ok_or_else(|| Damage::new(self.at, format!("the input ends within {what}")))?;
        self.at += length;
        Ok(found)
    }

    pub fn message(&mut self) -> Result<Message<'a>> {
        let begun = self.at;
        let frame = self.take(8, "the frame of a message")?;
        if frame[..4] != CONTINUED {
            return Err(match frame.starts_with(FILE) {
                true => Damage::unsupported(
                    begun,
                    "this is a file of Arrow's, not a stream: read its batches with pyarrow.ipc.open_file",
                ),
                false => Damage::new(begun, "no message of Arrow's stream format begins"),
            });
        }
        let size = i32::from_le_bytes(frame[4..].try_into().unwrap());
        if size == 0 {
            return Ok(Message::End);
        }
        let size =
            usize::try_from(size).map_err(|_| Damage::new(begun + 4, "a message's size is below zero"))?;
        let at = self.at;
        let bytes = Bytes {
            all: self.take(size, "a message")?,
            at,
        };
        let message = bytes.root()?;
        if !(3..=V5).contains(&message.i16(0, 0)?) {
            return Err(Damage::unsupported(
                at,
                "a message is of a version of Arrow that rows are not read from",
            ));
        }
        let length =
            usize::try_from(message.i64(3, 0)?).map_err(|_| message.damage("a body's size is below zero"))?;
        let body_at = self.at;
        let body = self.take(length, "the body of a message")?;
        let header = message.needed(2, "a message has no header")?;
        match message.u8(1, 0)? {
            SCHEMA => Ok(Message::Schema(SchemaBytes(bytes))),
            DICTIONARY => Ok(Message::Dictionary {
                id: header.i64(0, 0)?,
                delta: header.u8(2, 0)? != 0,
                head: Head::read(header.needed(1, "a dictionary has no values")?, body, body_at)?,
            }),
            BATCH => Ok(Message::Batch(Head::read(header, body, body_at)?)),
            _ => Err(message.damage("a message is neither schema, dictionary nor batch")),
        }
    }
}

/// Where bytes are written to.
pub trait Out {
    fn put(&mut self, bytes: &[u8]);

    /// Write bytes, and have them be a multiple of eight.
    fn put_padded(&mut self, bytes: &[u8]) {
        self.put(bytes);
        self.put(&[0; 8][..bytes.len().next_multiple_of(8) - bytes.len()]);
    }
}

impl Out for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Write a flatbuffer in its frame, and give it a multiple of eight bytes.
pub fn put_framed(out: &mut impl Out, flatbuffer: &[u8]) {
    let [a, b, c, d] = (flatbuffer.len().next_multiple_of(8) as i32).to_le_bytes();
    out.put(&[0xff, 0xff, 0xff, 0xff, a, b, c, d]);
    out.put_padded(flatbuffer);
}

/// Room that a batch needs while it is written, kept from one to the next.
#[derive(Default)]
pub struct Room {
    nodes: Vec<[i64; 2]>,
    buffers: Vec<Part<'static>>,
    places: Vec<[i64; 2]>,
    made: Vec<u8>,
    head: Vec<u8>,
}

impl Room {
    /// Bytes that are kept.
    pub fn capacity(&self) -> usize {
        self.made.capacity()
    }
}

/// Gathers the arrays and buffers of a batch. Buffers are borrowed until it is written; those that were made for it
/// alone are kept in its room.
pub struct BatchWriter<'a> {
    buffers: Vec<Part<'a>>,
    room: Room,
}

enum Part<'a> {
    Borrowed(&'a [u8]),
    Made(Range<usize>),
    Compressed(Vec<u8>),
}

impl Part<'_> {
    fn bytes<'b>(&'b self, made: &'b [u8]) -> &'b [u8] {
        match self {
            Part::Borrowed(bytes) => bytes,
            Part::Made(range) => &made[range.clone()],
            Part::Compressed(bytes) => bytes,
        }
    }
}

impl<'a> BatchWriter<'a> {
    pub fn new(mut room: Room) -> Self {
        let buffers = std::mem::take(&mut room.buffers);
        Self { buffers, room }
    }

    pub fn node(&mut self, values: usize, nulls: usize) {
        self.room.nodes.push([values as i64, nulls as i64]);
    }

    pub fn buffer(&mut self, bytes: &'a [u8]) {
        self.buffers.push(Part::Borrowed(bytes));
    }

    /// A buffer that is made now. Args: `make` adds its bytes to those before it.
    pub fn made(&mut self, make: impl FnOnce(&mut Vec<u8>)) {
        let begin = self.room.made.len();
        make(&mut self.room.made);
        self.buffers.push(Part::Made(begin..self.room.made.len()));
    }

    pub fn write_batch(self, out: &mut impl Out, rows: usize, codec: Option<Codec>) -> Room {
        self.write(out, rows, codec, None)
    }

    pub fn write_dictionary(
        self,
        out: &mut impl Out,
        values: usize,
        codec: Option<Codec>,
        id: i64,
        delta: bool,
    ) -> Room {
        self.write(out, values, codec, Some((id, delta)))
    }

    fn write(
        self,
        out: &mut impl Out,
        rows: usize,
        codec: Option<Codec>,
        dictionary: Option<(i64, bool)>,
    ) -> Room {
        let (mut buffers, mut room) = (self.buffers, self.room);
        if let Some(codec) = codec {
            for part in &mut buffers {
                *part = Part::Compressed(codec::compressed(codec, part.bytes(&room.made)));
            }
        }
        let mut at = 0;
        for part in &buffers {
            let length = part.bytes(&room.made).len();
            room.places.push([at, length as i64]);
            at += length.next_multiple_of(8) as i64;
        }
        let mut head = Writer::within(std::mem::take(&mut room.head));
        let kind = if dictionary.is_some() { DICTIONARY } else { BATCH };
        let message = head.table([Slot::I16(V5), Slot::U8(kind), Slot::Offset, Slot::I64(at)]);
        let mut from = message[2];
        if let Some((id, delta)) = dictionary {
            head.point(from, head.next_table(3));
            from = head.table([Slot::I64(id), Slot::Offset, Slot::U8(u8::from(delta))])[1];
        }
        head.point(from, head.next_table(4));
        let squeezed = if codec.is_some() {
            Slot::Offset
        } else {
            Slot::Default
        };
        let batch = head.table([Slot::I64(rows as i64), Slot::Offset, Slot::Offset, squeezed]);
        head.pairs(batch[1], &room.nodes);
        head.pairs(batch[2], &room.places);
        if let Some(codec) = codec {
            head.point(batch[3], head.next_table(2));
            head.table([Slot::U8(codec as u8), Slot::U8(0)]);
        }
        put_framed(out, &head.bytes);
        for part in &buffers {
            out.put_padded(part.bytes(&room.made));
        }
        buffers.clear();
        room.nodes.clear();
        room.places.clear();
        room.made.clear();
        // Without a part in it nothing is borrowed.
        room.buffers = buffers.into_iter().map(|_| unreachable!()).collect();
        room.head = head.bytes;
        room
    }
}
