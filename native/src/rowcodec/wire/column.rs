//! Columns of a batch: their buffers, of which every size and offset has been checked.

use std::borrow::Cow;
use std::collections::HashMap;

use super::codec;
use super::damage::{Damage, Result};
use super::message::Head;
use super::schema::{Field, Type};

pub type Buffer<'a> = Cow<'a, [u8]>;

/// Values without a buffer take no room on the wire: so many of them may be in one array.
pub const MOST_WITHOUT_BUFFER: usize = 1 << 20;
/// What one buffer may hold: offsets have 32 bits.
const MOST_BYTES: usize = i32::MAX as usize;
const MOST_VALUES: usize = i32::MAX as usize;

#[derive(Debug)]
pub struct Column<'a> {
    pub len: usize,
    /// One bit a value, none where all are there.
    pub validity: Option<Buffer<'a>>,
    pub data: Data<'a>,
}

/// All numbers are little-endian, whatever they were in the stream.
#[derive(Debug)]
pub enum Data<'a> {
    Null,
    /// One bit a value.
    Bits(Buffer<'a>),
    /// Values of the same number of bytes.
    Fixed {
        width: usize,
        bytes: Buffer<'a>,
    },
    /// Offsets of 32 bits, one more than there are values: they rise, and stay within the bytes.
    Bytes {
        offsets: Buffer<'a>,
        bytes: Buffer<'a>,
    },
    /// Offsets as above, into the child; those of a map into a struct of keys and values.
    List {
        offsets: Buffer<'a>,
        child: Box<Column<'a>>,
    },
    FixedList {
        size: usize,
        child: Box<Column<'a>>,
    },
    Struct(Vec<Column<'a>>),
    /// Indices of one, two, four or eight bytes; those of values that are there are below the dictionary's size.
    Indices {
        width: usize,
        bytes: Buffer<'a>,
    },
}

impl Column<'_> {
    pub fn is_null(&self, n: usize) -> bool {
        matches!(self.data, Data::Null)
            || self
                .validity
                .as_ref()
                .is_some_and(|bits| bits[n / 8] >> (n % 8) & 1 == 0)
    }
}

impl Column<'_> {
    /// The bytes of the n-th value of a column of them.
    pub fn bytes(&self, n: usize) -> &[u8] {
        match &self.data {
            Data::Bytes { offsets, bytes } => &bytes[offset(offsets, n)..offset(offsets, n + 1)],
            _ => &[],
        }
    }
}

/// Offset n of a buffer of offsets.
pub fn offset(offsets: &[u8], n: usize) -> usize {
    u32::from_le_bytes(offsets[4 * n..4 * n + 4].try_into().unwrap()) as usize
}

/// Reads the columns of a batch one after the other.
pub struct Columns<'a, 'd> {
    head: Head<'a>,
    big_endian: bool,
    dictionaries: &'d HashMap<i64, usize>,
    nodes: usize,
    buffers: usize,
}

impl<'a, 'd> Columns<'a, 'd> {
    /// Args: `dictionaries` are the sizes of those that were read so far.
    pub fn read(
        head: Head<'a>,
        fields: &[Field],
        big_endian: bool,
        dictionaries: &'d HashMap<i64, usize>,
    ) -> Result<Vec<Column<'a>>> {
        let mut columns = Self {
            head,
            big_endian,
            dictionaries,
            nodes: 0,
            buffers: 0,
        };
        if fields.is_empty() && head.rows > MOST_WITHOUT_BUFFER {
            return Err(head.damage("a batch without columns has too many rows"));
        }
        let found = fields
            .iter()
            .map(|field| columns.column(field, Some(head.rows)))
            .collect::<Result<Vec<_>>>()?;
        head.all_read(columns.nodes, columns.buffers)?;
        Ok(found)
    }

    /// Args: `len` is what it must be, where its parent tells.
    fn column(&mut self, field: &Field, len: Option<usize>) -> Result<Column<'a>> {
        let (found, nulls) = self.head.node(self.nodes)?;
        self.nodes += 1;
        if len.is_some_and(|len| found != len) || found > MOST_VALUES {
            return Err(self.damage(field, "has another number of values than its parent"));
        }
        let len = found;
        if field.ty == Type::Null && field.dictionary.is_none() {
            self.bounded(field, len)?;
            return Ok(Column {
                len,
                validity: None,
                data: Data::Null,
            });
        }
        let validity = self.buffer(len.div_ceil(8))?;
        if nulls > 0 && validity.len() < len.div_ceil(8) {
            return Err(self.damage(field, "has nulls, and does not tell which"));
        }
        let validity = (nulls > 0).then_some(validity);
        let data = match &field.dictionary {
            Some(dictionary) => {
                let width = usize::from(dictionary.bits / 8);
                let bytes = self.fixed(field, len, width, width)?;
                let size = self.dictionaries.get(&dictionary.id).copied();
                check_indices(&bytes, width, len, validity.as_deref(), size.unwrap_or(0))
                    .ok_or_else(|| self.damage(field, "has an index beyond its dictionary"))?;
                Data::Indices { width, bytes }
            }
            None => self.data(field, len)?,
        };
        Ok(Column { len, validity, data })
    }

    fn data(&mut self, field: &Field, len: usize) -> Result<Data<'a>> {
        let fixed = |width: usize, element: usize| (width, element);
        let (width, element) = match &field.ty {
            Type::Null => return Ok(Data::Null),
            Type::Bool => {
                let bits = self.buffer(len.div_ceil(8))?;
                if bits.len() < len.div_ceil(8) {
                    return Err(self.damage(field, "has fewer bits than values"));
                }
                return Ok(Data::Bits(bits));
            }
            Type::Int { bits, .. } | Type::Float { bits } => {
                fixed(usize::from(bits / 8), usize::from(bits / 8))
            }
            Type::Date => fixed(4, 4),
            Type::Timestamp { .. } | Type::Duration { .. } => fixed(8, 8),
            Type::Decimal { .. } => fixed(16, 16),
            Type::FixedBinary(width) => fixed(*width as usize, 1),
            Type::Utf8 | Type::Binary | Type::LargeUtf8 | Type::LargeBinary => {
                let large = matches!(field.ty, Type::LargeUtf8 | Type::LargeBinary);
                let offsets = self.offsets(field, len, large)?;
                let bytes = self.buffer(MOST_BYTES)?;
                if offset(&offsets, len) > bytes.len() {
                    return Err(self.damage(field, "has an offset beyond its bytes"));
                }
                return Ok(Data::Bytes { offsets, bytes });
            }
            Type::List | Type::LargeList | Type::Map => {
                let offsets = self.offsets(field, len, field.ty == Type::LargeList)?;
                let child = Box::new(self.column(&field.children[0], None)?);
                if offset(&offsets, len) > child.len {
                    return Err(self.damage(field, "has an offset beyond its values"));
                }
                return Ok(Data::List { offsets, child });
            }
            Type::FixedList(size) => {
                let size = *size as usize;
                let values = len
                    .checked_mul(size)
                    .ok_or_else(|| self.damage(field, "has too many values"))?;
                self.bounded(field, if size == 0 { len } else { 0 })?;
                let child = Box::new(self.column(&field.children[0], Some(values))?);
                return Ok(Data::FixedList { size, child });
            }
            Type::Struct => {
                self.bounded(field, if field.children.is_empty() { len } else { 0 })?;
                let children = field.children.iter().map(|child| self.column(child, Some(len)));
                return Ok(Data::Struct(children.collect::<Result<_>>()?));
            }
        };
        if width == 0 {
            self.bounded(field, len)?;
        }
        Ok(Data::Fixed {
            width,
            bytes: self.fixed(field, len, width, element)?,
        })
    }

    fn damage(&self, field: &Field, what: &str) -> Damage {
        self.head.damage(&format!("column {:?} {what}", field.name))
    }

    fn bounded(&self, field: &Field, len: usize) -> Result<()> {
        if len > MOST_WITHOUT_BUFFER {
            return Err(self.damage(field, "has too many values that take no room"));
        }
        Ok(())
    }

    fn buffer(&mut self, most: usize) -> Result<Buffer<'a>> {
        let (stored, at) = self.head.buffer(self.buffers)?;
        self.buffers += 1;
        match self.head.codec {
            // Writers may pad before they compress.
            Some(codec) => codec::plain(codec, stored, at, most.saturating_add(64)),
            None => Ok(Cow::Borrowed(stored)),
        }
    }

    fn fixed(&mut self, field: &Field, len: usize, width: usize, element: usize) -> Result<Buffer<'a>> {
        let needed = len
            .checked_mul(width)
            .ok_or_else(|| self.damage(field, "has too many values"))?;
        let mut bytes = self.buffer(needed)?;
        if bytes.len() < needed {
            return Err(self.damage(field, "has fewer bytes than values"));
        }
        self.turn(&mut bytes, needed, element);
        Ok(bytes)
    }

    /// From the stream's byte order to little-endian.
    fn turn(&self, bytes: &mut Buffer<'a>, needed: usize, element: usize) {
        if self.big_endian && element > 1 {
            let mut turned = bytes[..needed].to_vec();
            turned.chunks_exact_mut(element).for_each(<[u8]>::reverse);
            *bytes = Cow::Owned(turned);
        }
    }

    /// Offsets of 32 bits, one more than values.
    fn offsets(&mut self, field: &Field, len: usize, large: bool) -> Result<Buffer<'a>> {
        let width = if large { 8 } else { 4 };
        let mut found = self.buffer((len + 1) * width)?;
        if len == 0 && found.is_empty() {
            return Ok(Cow::Borrowed(&[0; 4]));
        }
        if found.len() < (len + 1) * width {
            return Err(self.damage(field, "has fewer offsets than values"));
        }
        self.turn(&mut found, (len + 1) * width, width);
        if large {
            let narrow = found[..(len + 1) * 8].chunks_exact(8).map(|eight| {
                u32::try_from(u64::from_le_bytes(eight.try_into().unwrap())).unwrap_or(u32::MAX)
            });
            found = Cow::Owned(narrow.flat_map(u32::to_le_bytes).collect());
        }
        if !rises(&found[..(len + 1) * 4]) {
            return Err(self.damage(
                field,
                "has offsets that do not rise, or leave what 32 bits can tell",
            ));
        }
        Ok(found)
    }
}

/// Whether offsets rise from zero or more, and stay below 2^31.
fn rises(offsets: &[u8]) -> bool {
    let (mut before, mut fine) = (0, true);
    for four in offsets.chunks_exact(4) {
        let now = u32::from_le_bytes(four.try_into().unwrap());
        fine &= now >= before;
        before = now;
    }
    fine && before <= i32::MAX as u32
}

/// None where an index of a value that is there is not below `size`.
fn check_indices(bytes: &[u8], width: usize, len: usize, validity: Option<&[u8]>, size: usize) -> Option<()> {
    let there = |n: usize| validity.is_none_or(|bits| bits[n / 8] >> (n % 8) & 1 == 1);
    let mut fine = true;
    for (n, raw) in bytes[..len * width].chunks_exact(width).enumerate() {
        let mut eight = [0; 8];
        eight[..width].copy_from_slice(raw);
        // An index below zero is a large one, too.
        fine &= (u64::from_le_bytes(eight) < size as u64) | !there(n);
    }
    fine.then_some(())
}
