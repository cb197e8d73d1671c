//! Columns as they are filled, and how they go onto the wire.

use super::coded::Coded;
use super::numpy;
use super::record::{Class, Kind, Names};
use super::shape::{Sequence, Shape};
use super::time::ZoneShape;
use crate::rowcodec::wire::BatchWriter;

#[cfg(not(target_endian = "little"))]
compile_error!("columns are filled in the byte order of the wire, which is little-endian");

/// Of a batch whose texts have more bytes no dictionary is given up.
const MOST_PLAIN: usize = 64 << 20;

/// What a value of a column is, and how it is filled.
#[derive(Clone)]
pub enum Op {
    Null,
    Bool,
    Int,
    Float,
    Str,
    /// Text by its place in a dictionary.
    Coded(Box<Coded>),
    Bytes,
    ByteArray,
    Date,
    DateTime,
    Zoned(ZoneShape),
    Delta,
    Decimal(u8),
    Uuid,
    /// Which of `known::NUMPY`.
    Numpy(u8),
    List(Sequence),
    Map,
    Record(Box<Record>),
    Variant,
}

#[derive(Clone)]
pub struct Record {
    pub kind: Kind,
    pub class: Option<Class>,
    pub names: Option<Names>,
}

/// What every value touches stands together.
#[derive(Clone)]
#[repr(C)]
pub struct Column {
    pub op: Op,
    /// How many others it is within.
    pub around: usize,
    pub len: usize,
    /// The bits that integers need, all of them together, without the sign's.
    pub bits: u64,
    /// Of numbers and times.
    pub longs: Vec<i64>,
    /// Of what has a size of its own: one more than values.
    pub offsets: Vec<i32>,
    pub bytes: Vec<u8>,
    pub nulls: usize,
    /// One bit a value, zero where it is null; values beyond are there.
    pub valid: Vec<u8>,
    pub kids: Vec<Column>,
    /// A dictionary that was given up, for its room.
    spare: Option<Box<Coded>>,
    /// Bytes of an integer, or of an index, in the stream that is being written; at least.
    pub width: u8,
}

impl Column {
    /// Args: `coding` is whether texts begin with a dictionary.
    pub fn new(shape: &Shape, coding: bool) -> Self {
        Self::within(shape, coding, 0)
    }

    /// Args: `around` is how many others it is within, as a schema has them.
    pub fn within(shape: &Shape, coding: bool, around: usize) -> Self {
        let mut kids = Vec::new();
        let op = match shape {
            Shape::Null => Op::Null,
            Shape::Bool => Op::Bool,
            Shape::Int => Op::Int,
            Shape::Float => Op::Float,
            Shape::Str if coding => Op::Coded(Box::default()),
            Shape::Str => Op::Str,
            Shape::Bytes => Op::Bytes,
            Shape::ByteArray => Op::ByteArray,
            Shape::Date => Op::Date,
            Shape::DateTime => Op::DateTime,
            Shape::Zoned(zone) => Op::Zoned(zone.clone()),
            Shape::Delta => Op::Delta,
            Shape::Decimal(scale) => Op::Decimal(*scale),
            Shape::Uuid => Op::Uuid,
            Shape::Numpy(index) => Op::Numpy(*index),
            Shape::Variant => Op::Variant,
            Shape::List(sequence, of) => {
                kids.push(Column::within(of, coding, around + 1));
                Op::List(*sequence)
            }
            Shape::Map(of) => {
                kids.extend([&of.0, &of.1].map(|of| Column::within(of, coding, around + 2)));
                Op::Map
            }
            Shape::Record(of) => {
                kids.extend(
                    of.fields
                        .iter()
                        .map(|field| Column::within(field, coding, around + 1)),
                );
                let (class, names) = (of.class.clone(), of.names.clone());
                Op::Record(Box::new(Record {
                    kind: of.kind,
                    class,
                    names,
                }))
            }
        };
        let (valid, longs, bytes) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            op,
            around,
            len: 0,
            nulls: 0,
            valid,
            longs,
            offsets: vec![0],
            bytes,
            bits: 0,
            kids,
            spare: None,
            width: 0,
        }
    }

    /// Bytes of a value in `bytes`, where all have the same.
    pub fn fixed_width(&self) -> usize {
        match self.op {
            Op::Bool => 1,
            Op::Decimal(_) | Op::Uuid => 16,
            Op::Numpy(index) => numpy::width(index),
            _ => 0,
        }
    }

    fn has_longs(&self) -> bool {
        matches!(
            self.op,
            Op::Int | Op::Float | Op::Date | Op::DateTime | Op::Zoned(_) | Op::Delta
        )
    }

    fn has_offsets(&self) -> bool {
        matches!(
            self.op,
            Op::Str | Op::Bytes | Op::ByteArray | Op::Variant | Op::List(_) | Op::Map
        )
    }

    #[cold]
    pub fn push_null(&mut self) {
        let at = self.len;
        if !matches!(self.op, Op::Null) {
            if self.valid.len() <= at / 8 {
                self.valid.resize((at / 8 + 1).max(64), 0xff);
            }
            self.valid[at / 8] &= !(1 << (at % 8));
        }
        if self.has_longs() {
            self.longs.push(0);
        } else if self.has_offsets() {
            self.offsets.push(self.offsets[at]);
        } else if let Op::Coded(coded) = &mut self.op {
            coded.codes.push(0);
        } else if let Op::Record(_) = self.op {
            self.kids.iter_mut().for_each(Column::push_null);
        } else {
            self.bytes.resize(self.bytes.len() + self.fixed_width(), 0);
        }
        self.len += 1;
        self.nulls += 1;
    }

    /// Forget the values from the n-th on, also those that were half written.
    #[cold]
    pub fn truncate(&mut self, n: usize) {
        for at in n..self.len.min(self.valid.len() * 8) {
            self.nulls -= usize::from(self.valid[at / 8] >> (at % 8) & 1 == 0);
            self.valid[at / 8] |= 1 << (at % 8);
        }
        let width = self.fixed_width();
        match &mut self.op {
            Op::Null => self.nulls = n,
            Op::Coded(coded) => coded.truncate(n),
            Op::Str | Op::Bytes | Op::ByteArray | Op::Variant => {
                self.offsets.truncate(n + 1);
                self.bytes.truncate(self.offsets[n] as usize);
            }
            Op::List(_) | Op::Map => {
                self.offsets.truncate(n + 1);
                let end = self.offsets[n] as usize;
                self.kids.iter_mut().for_each(|kid| kid.truncate(end));
            }
            Op::Record(_) => self.kids.iter_mut().for_each(|kid| kid.truncate(n)),
            _ => {
                self.longs.truncate(n);
                self.bytes.truncate(n * width);
            }
        }
        self.len = n;
    }

    /// Forget all values, and keep the room and the dictionaries.
    pub fn clear(&mut self) {
        self.len = 0;
        self.nulls = 0;
        self.bits = 0;
        self.valid.clear();
        self.longs.clear();
        self.offsets.truncate(1);
        self.bytes.clear();
        if let Op::Coded(coded) = &mut self.op {
            coded.next_batch();
        }
        self.kids.iter_mut().for_each(Column::clear);
    }

    /// Bytes that the values take; texts of a dictionary as many as by themselves.
    pub fn size(&mut self) -> usize {
        let own = self.longs.len() * 8 + self.offsets.len() * 4 + self.bytes.len();
        let coded = match &mut self.op {
            Op::Coded(coded) => coded.plain(&self.valid),
            _ => 0,
        };
        own + coded + self.kids.iter_mut().map(Column::size).sum::<usize>()
    }

    /// About how many bytes its arrays have, once it is settled.
    pub fn wire_size(&self) -> usize {
        let own = match &self.op {
            Op::Int => self.len * usize::from(self.width),
            Op::Coded(coded) => self.len * usize::from(self.width) + coded.size(),
            Op::Bool => self.len / 8,
            _ => self.longs.len() * 8 + self.offsets.len() * 4 + self.bytes.len(),
        };
        let valid = if self.nulls > 0 { self.len / 8 } else { 0 };
        own + valid + self.kids.iter().map(Column::wire_size).sum::<usize>()
    }

    /// Bytes that are kept for values to come.
    pub fn capacity(&self) -> usize {
        let coded = match &self.op {
            Op::Coded(coded) => coded.capacity(),
            _ => self.spare.as_ref().map_or(0, |coded| coded.capacity()),
        };
        let own = self.longs.capacity() * 8 + self.offsets.capacity() * 4 + self.bytes.capacity();
        own + coded + self.kids.iter().map(Column::capacity).sum::<usize>()
    }

    /// Make ready to be written: dictionaries that do not pay become texts, and the widths of the stream rise where
    /// they must. What the schema depends on goes into `signature`.
    pub fn settle(&mut self, signature: &mut Vec<u8>) {
        if self.nulls > 0 {
            self.valid.resize(self.len.div_ceil(8), 0xff);
        }
        let pays = match &self.op {
            Op::Coded(coded) => coded.pays(self.nulls),
            _ => true,
        };
        if !pays && !self.is_long() {
            self.make_plain();
        }
        let needed = match &self.op {
            Op::Int => int_width(self.bits),
            Op::Coded(coded) => coded.index_width(),
            Op::Null => 100,
            Op::Str => 101,
            _ => 0,
        };
        self.width = self.width.max(needed);
        signature.push(self.width);
        self.kids.iter_mut().for_each(|kid| kid.settle(signature));
    }

    /// The next stream needs all of each dictionary.
    pub fn begin_stream(&mut self) {
        if let Op::Coded(coded) = &mut self.op {
            coded.sent = None;
        }
        self.kids.iter_mut().for_each(Column::begin_stream);
    }

    /// Forget the values, and the dictionaries; their types and widths stay.
    pub fn restart(&mut self) {
        if let Op::Coded(coded) = &mut self.op {
            coded.reset();
        }
        self.kids.iter_mut().for_each(Column::restart);
    }

    /// Have integers be as wide as those of another column.
    pub fn expect(&mut self, other: &Column) {
        if let (Op::Int, Op::Int) = (&self.op, &other.op) {
            self.width = self.width.max(int_width(other.bits));
        }
        let pairs = self.kids.iter_mut().zip(&other.kids);
        pairs.for_each(|(kid, other)| kid.expect(other));
    }

    /// As it was when it was new, with the room that it had.
    pub fn reset(&mut self, coding: bool) {
        self.clear();
        self.width = 0;
        match &mut self.op {
            Op::Coded(coded) if coding => coded.reset(),
            Op::Coded(_) => self.op = Op::Str,
            Op::Str if coding => {
                let mut coded = self.spare.take().unwrap_or_default();
                coded.reset();
                self.op = Op::Coded(coded);
            }
            _ => {}
        }
        self.kids.iter_mut().for_each(|kid| kid.reset(coding));
    }

    /// Whether its texts have more bytes than a dictionary is given up for: the batch is written with it.
    pub fn is_long(&mut self) -> bool {
        self.size() > MOST_PLAIN
    }

    /// Have texts stand for themselves from now on.
    #[cold]
    pub fn make_plain(&mut self) {
        let Op::Coded(coded) = std::mem::replace(&mut self.op, Op::Str) else {
            return;
        };
        self.width = 0;
        self.offsets.truncate(1);
        self.bytes.clear();
        for (n, code) in coded.codes.iter().enumerate() {
            let there = self.valid.get(n / 8).is_none_or(|bits| bits >> (n % 8) & 1 == 1);
            if there {
                self.bytes.extend_from_slice(coded.text(*code));
            }
            self.offsets.push(self.bytes.len() as i32);
        }
        self.spare = Some(coded);
    }

    /// So many values are all that there will be.
    pub fn expect_values(&mut self, values: usize) {
        match &mut self.op {
            Op::Coded(coded) => coded.expect(values),
            Op::Record(_) => self.kids.iter_mut().for_each(|kid| kid.expect_values(values)),
            _ => {}
        }
    }

    /// Hand its arrays to a batch.
    pub fn arrays<'a>(&'a self, batch: &mut BatchWriter<'a>) {
        batch.node(self.len, self.nulls);
        if let Op::Null = self.op {
            return;
        }
        batch.buffer(if self.nulls > 0 { &self.valid } else { &[] });
        match &self.op {
            Op::Null => {}
            Op::Bool => batch.made(|out| bits(&self.bytes, out)),
            Op::Int => match self.width {
                8 => batch.buffer(raw(&self.longs)),
                4 => batch.made(|out| narrowed(&self.longs, |long| (long as i32).to_le_bytes(), out)),
                2 => batch.made(|out| narrowed(&self.longs, |long| (long as i16).to_le_bytes(), out)),
                _ => batch.made(|out| narrowed(&self.longs, |long| (long as i8).to_le_bytes(), out)),
            },
            Op::Date => batch.made(|out| narrowed(&self.longs, |long| (long as i32).to_le_bytes(), out)),
            Op::Float | Op::DateTime | Op::Zoned(_) | Op::Delta => batch.buffer(raw(&self.longs)),
            Op::Coded(coded) => match self.width {
                1 => batch.made(|out| out.extend(coded.codes.iter().map(|code| *code as u8))),
                _ => batch.buffer(raw(&coded.codes)),
            },
            Op::Str | Op::Bytes | Op::ByteArray | Op::Variant => {
                batch.buffer(raw(&self.offsets));
                batch.buffer(&self.bytes);
            }
            Op::Decimal(_) | Op::Uuid => batch.buffer(&self.bytes),
            Op::Numpy(0) => batch.made(|out| bits(&self.bytes, out)),
            Op::Numpy(_) => batch.buffer(&self.bytes),
            Op::List(_) => {
                batch.buffer(raw(&self.offsets));
                self.kids[0].arrays(batch);
            }
            Op::Map => {
                batch.buffer(raw(&self.offsets));
                batch.node(self.kids[0].len, 0);
                batch.buffer(&[]);
                self.kids.iter().for_each(|kid| kid.arrays(batch));
            }
            Op::Record(_) => self.kids.iter().for_each(|kid| kid.arrays(batch)),
        }
    }

    /// Each dictionary in it, in the order of their ids.
    pub fn dictionaries<'a>(&'a mut self, each: &mut dyn FnMut(&'a mut Coded)) {
        if let Op::Coded(coded) = &mut self.op {
            each(coded);
        }
        for kid in &mut self.kids {
            kid.dictionaries(each);
        }
    }
}

fn int_width(bits: u64) -> u8 {
    match 64 - bits.leading_zeros() {
        0..=7 => 1,
        8..=15 => 2,
        16..=31 => 4,
        _ => 8,
    }
}

/// Numbers as their bytes.
fn raw<T: Copy>(numbers: &[T]) -> &[u8] {
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) }
}

fn narrowed<const N: usize>(longs: &[i64], narrow: impl Fn(i64) -> [u8; N], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + longs.len() * N, 0);
    for (long, place) in longs.iter().zip(out[start..].chunks_exact_mut(N)) {
        place.copy_from_slice(&narrow(*long));
    }
}

fn bits(bytes: &[u8], out: &mut Vec<u8>) {
    let all = |eight: &[u8]| {
        eight
            .iter()
            .enumerate()
            .fold(0, |all, (n, byte)| all | (byte & 1) << n)
    };
    out.extend(bytes.chunks(8).map(all));
}
