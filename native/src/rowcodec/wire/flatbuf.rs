//! Flatbuffers, as far as Arrow's messages need them.

use super::damage::{Damage, Result};

/// The bytes of one flatbuffer, and where they lie in the input.
#[derive(Clone, Copy)]
pub struct Bytes<'a> {
    pub all: &'a [u8],
    pub at: usize,
}

impl<'a> Bytes<'a> {
    pub fn damage(&self, position: usize, what: &str) -> Damage {
        Damage::new(self.at.saturating_add(position), what)
    }

    fn get<const N: usize>(&self, position: usize) -> Result<[u8; N]> {
        position
            .checked_add(N)
            .and_then(|end| self.all.get(position..end))
            .map(|found| found.try_into().unwrap())
            .ok_or_else(|| self.damage(position, "an offset leaves the message"))
    }

    pub fn i64(&self, position: usize) -> Result<i64> {
        self.get(position).map(i64::from_le_bytes)
    }

    fn u32(&self, position: usize) -> Result<usize> {
        self.get(position).map(|found| u32::from_le_bytes(found) as usize)
    }

    /// Where an offset that stands at a position points to.
    fn target(&self, position: usize) -> Result<usize> {
        Ok(position + self.u32(position)?)
    }

    pub fn root(self) -> Result<Table<'a>> {
        Table::at(self, self.target(0)?)
    }
}

/// A table; slots that it lacks have their default.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    pub bytes: Bytes<'a>,
    pub position: usize,
    vtable: usize,
    slots: usize,
}

impl<'a> Table<'a> {
    fn at(bytes: Bytes<'a>, position: usize) -> Result<Self> {
        let back = i32::from_le_bytes(bytes.get(position)?) as i64;
        let vtable = usize::try_from(position as i64 - back)
            .map_err(|_| bytes.damage(position, "a table has its layout before the message"))?;
        let size = u16::from_le_bytes(bytes.get(vtable)?) as usize;
        Ok(Self {
            bytes,
            position,
            vtable,
            slots: size.saturating_sub(4) / 2,
        })
    }

    pub fn damage(&self, what: &str) -> Damage {
        self.bytes.damage(self.position, what)
    }

    fn slot(&self, slot: usize) -> Result<Option<usize>> {
        if slot >= self.slots {
            return Ok(None);
        }
        let offset = u16::from_le_bytes(self.bytes.get(self.vtable + 4 + 2 * slot)?) as usize;
        Ok((offset != 0).then_some(self.position + offset))
    }

    pub fn u8(&self, slot: usize, default: u8) -> Result<u8> {
        self.slot(slot)?
            .map_or(Ok(default), |at| self.bytes.get::<1>(at).map(|found| found[0]))
    }

    pub fn i16(&self, slot: usize, default: i16) -> Result<i16> {
        self.slot(slot)?
            .map_or(Ok(default), |at| self.bytes.get(at).map(i16::from_le_bytes))
    }

    pub fn i32(&self, slot: usize, default: i32) -> Result<i32> {
        self.slot(slot)?
            .map_or(Ok(default), |at| self.bytes.get(at).map(i32::from_le_bytes))
    }

    pub fn i64(&self, slot: usize, default: i64) -> Result<i64> {
        self.slot(slot)?.map_or(Ok(default), |at| self.bytes.i64(at))
    }

    pub fn table(&self, slot: usize) -> Result<Option<Table<'a>>> {
        self.slot(slot)?
            .map(|at| Table::at(self.bytes, self.bytes.target(at)?))
            .transpose()
    }

    pub fn needed(&self, slot: usize, what: &str) -> Result<Table<'a>> {
        self.table(slot)?.ok_or_else(|| self.damage(what))
    }

    pub fn string(&self, slot: usize) -> Result<Option<&'a str>> {
        let Some((at, length)) = self.vector(slot, 1)? else {
            return Ok(None);
        };
        std::str::from_utf8(&self.bytes.all[at..at + length])
            .map(Some)
            .map_err(|_| self.bytes.damage(at, "a name is not UTF-8"))
    }

    /// Where the elements of a vector stand, and how many they are; all of them are within the message.
    pub fn vector(&self, slot: usize, size: usize) -> Result<Option<(usize, usize)>> {
        let Some(at) = self.slot(slot)? else {
            return Ok(None);
        };
        let start = self.bytes.target(at)?;
        let length = self.bytes.u32(start)?;
        if length
            .checked_mul(size)
            .is_none_or(|bytes| bytes > self.bytes.all.len() - start - 4)
        {
            return Err(self.bytes.damage(start, "a vector leaves the message"));
        }
        Ok(Some((start + 4, length)))
    }

    pub fn tables(&self, slot: usize) -> Result<impl Iterator<Item = Result<Table<'a>>> + use<'a>> {
        let (start, length) = self.vector(slot, 4)?.unwrap_or((0, 0));
        let bytes = self.bytes;
        Ok((0..length).map(move |n| Table::at(bytes, bytes.target(start + 4 * n)?)))
    }
}

/// A value of a slot that is written.
#[derive(Clone, Copy)]
pub enum Slot {
    Default,
    U8(u8),
    I16(i16),
    I32(i32),
    I64(i64),
    /// What `Writer::point` will make point to something.
    Offset,
}

/// Writes a flatbuffer from front to back: what a table points to follows it.
#[derive(Default)]
pub struct Writer {
    pub bytes: Vec<u8>,
}

impl Writer {
    /// Begin a flatbuffer; the first table to be written is its root.
    pub fn new() -> Self {
        Self::within(Vec::with_capacity(1024))
    }

    /// Begin one in the room of bytes that are not needed any more.
    pub fn within(mut bytes: Vec<u8>) -> Self {
        bytes.clear();
        bytes.extend([0; 4]);
        Self { bytes }
    }

    fn pad(&mut self, alignment: usize, ahead: usize) {
        while !(self.bytes.len() + ahead).is_multiple_of(alignment) {
            self.bytes.push(0);
        }
    }

    /// Write a table; gives where its offsets stand, slot by slot.
    pub fn table<const N: usize>(&mut self, slots: [Slot; N]) -> [usize; N] {
        self.pad(2, 0);
        let vtable = self.bytes.len();
        self.bytes.resize(vtable + 4 + 2 * N, 0);
        // The layout of a table is at a multiple of eight, so that each slot can be aligned within it.
        self.pad(8, 0);
        let table = self.bytes.len();
        self.bytes.extend(((table - vtable) as i32).to_le_bytes());
        let mut at = [0; N];
        for (slot, value) in slots.into_iter().enumerate() {
            let (raw, size) = match value {
                Slot::Default => continue,
                Slot::U8(value) => (u64::from(value), 1),
                Slot::I16(value) => (value as u64, 2),
                Slot::I32(value) => (value as u64, 4),
                Slot::I64(value) => (value as u64, 8),
                Slot::Offset => (0, 4),
            };
            self.pad(size, 0);
            at[slot] = self.bytes.len();
            let offset = (at[slot] - table) as u16;
            self.bytes[vtable + 4 + 2 * slot..][..2].copy_from_slice(&offset.to_le_bytes());
            self.bytes.extend(&raw.to_le_bytes()[..size]);
        }
        let (layout, size) = ((4 + 2 * N) as u16, (self.bytes.len() - table) as u16);
        self.bytes[vtable..][..2].copy_from_slice(&layout.to_le_bytes());
        self.bytes[vtable + 2..][..2].copy_from_slice(&size.to_le_bytes());
        if self.bytes[..4] == [0; 4] {
            self.bytes[..4].copy_from_slice(&(table as u32).to_le_bytes());
        }
        at
    }

    /// Have the offset at a position point to the table whose first slot stands there.
    pub fn point(&mut self, from: usize, to: usize) {
        let offset = (to - from) as u32;
        self.bytes[from..][..4].copy_from_slice(&offset.to_le_bytes());
    }

    /// Where the table begins that is written next with so many slots.
    pub fn next_table(&self, slots: usize) -> usize {
        (self.bytes.len().next_multiple_of(2) + 4 + 2 * slots).next_multiple_of(8)
    }

    pub fn string(&mut self, from: usize, text: &str) {
        self.pad(4, 0);
        self.point(from, self.bytes.len());
        self.bytes.extend((text.len() as u32).to_le_bytes());
        self.bytes.extend(text.as_bytes());
        self.bytes.push(0);
    }

    /// Write a vector of offsets; gives where they stand.
    pub fn offsets(&mut self, from: usize, length: usize) -> usize {
        self.pad(4, 0);
        self.point(from, self.bytes.len());
        self.bytes.extend((length as u32).to_le_bytes());
        let start = self.bytes.len();
        self.bytes.resize(start + 4 * length, 0);
        start
    }

    /// Write a vector of structs of two longs.
    pub fn pairs(&mut self, from: usize, pairs: &[[i64; 2]]) {
        self.pad(8, 4);
        self.point(from, self.bytes.len());
        self.bytes.extend((pairs.len() as u32).to_le_bytes());
        let start = self.bytes.len();
        self.bytes.resize(start + 16 * pairs.len(), 0);
        let places = self.bytes[start..].chunks_exact_mut(8);
        for (long, place) in pairs.as_flattened().iter().zip(places) {
            place.copy_from_slice(&long.to_le_bytes());
        }
    }
}
