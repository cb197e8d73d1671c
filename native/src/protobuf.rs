//! As much of protobuf as the headers of Hadoop's RPC need.

use std::fmt;
use std::io;
use std::ops::Range;

use bytes::{BufMut, BytesMut};

/// What cannot be a frame of Hadoop's RPC.
#[derive(Debug, PartialEq)]
pub struct Malformed;

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what came is no frame of Hadoop's RPC")
    }
}

impl From<Malformed> for io::Error {
    fn from(malformed: Malformed) -> Self {
        io::Error::new(io::ErrorKind::InvalidData, malformed.to_string())
    }
}

pub enum Value {
    Number(u64),
    Bytes(Range<usize>),
    Fixed,
}

/// Reads the fields of a message one after the other, and messages that bring their length.
pub struct Reader<'a> {
    bytes: &'a [u8],
    pub at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    fn varint(&mut self) -> Result<u64, Malformed> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.at).ok_or(Malformed)?;
            self.at += 1;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Malformed)
    }

    fn skip(&mut self, length: u64) -> Result<Range<usize>, Malformed> {
        let begin = self.at;
        let end = usize::try_from(length)
            .ok()
            .and_then(|length| begin.checked_add(length))
            .filter(|end| *end <= self.bytes.len())
            .ok_or(Malformed)?;
        self.at = end;
        Ok(begin..end)
    }

    pub fn message(&mut self) -> Result<Range<usize>, Malformed> {
        let length = self.varint()?;
        self.skip(length)
    }

    pub fn field(&mut self) -> Result<Option<(u64, Value)>, Malformed> {
        if self.at == self.bytes.len() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => Value::Number(self.varint()?),
            1 => self.skip(8).map(|_| Value::Fixed)?,
            2 => Value::Bytes(self.message()?),
            5 => self.skip(4).map(|_| Value::Fixed)?,
            _ => return Err(Malformed),
        };
        Ok(Some((tag >> 3, value)))
    }
}

pub fn from_zigzag(number: u64) -> i32 {
    let number = number as u32;
    (number >> 1) as i32 ^ -((number & 1) as i32)
}

pub fn to_zigzag(number: i32) -> u64 {
    u64::from(((number << 1) ^ (number >> 31)) as u32)
}

pub fn put_varint(buffer: &mut BytesMut, mut number: u64) {
    while number >= 0x80 {
        buffer.put_u8(number as u8 | 0x80);
        number >>= 7;
    }
    buffer.put_u8(number as u8);
}

pub fn put_number(buffer: &mut BytesMut, field: u64, number: u64) {
    put_varint(buffer, field << 3);
    put_varint(buffer, number);
}

pub fn put_bytes(buffer: &mut BytesMut, field: u64, bytes: &[u8]) {
    put_varint(buffer, field << 3 | 2);
    put_varint(buffer, bytes.len() as u64);
    buffer.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_as_they_were_written() {
        for number in [0, 1, -1, -3, -33, i32::MAX, i32::MIN] {
            assert_eq!(from_zigzag(to_zigzag(number)), number);
        }
        for number in [0, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut buffer = BytesMut::new();
            put_number(&mut buffer, 5, number);
            let mut reader = Reader::new(&buffer, 0);
            assert!(matches!(reader.field(), Ok(Some((5, Value::Number(read)))) if read == number));
            assert!(matches!(reader.field(), Ok(None)));
        }
    }

    #[test]
    fn what_is_not_needed_is_skipped() {
        let mut reader = Reader::new(b"\x09AAAAAAAA\x15BBBB\x1a\x02CC\x20\x01", 0);
        assert!(matches!(reader.field(), Ok(Some((1, Value::Fixed)))));
        assert!(matches!(reader.field(), Ok(Some((2, Value::Fixed)))));
        assert!(matches!(reader.field(), Ok(Some((3, Value::Bytes(range)))) if range == (16..18)));
        assert!(matches!(reader.field(), Ok(Some((4, Value::Number(1))))));
    }

    #[test]
    fn what_promises_more_than_there_is_is_malformed() {
        for bytes in [
            &b"\x0a\x05ABC"[..],
            b"\x09AAA",
            b"\x08",
            b"\x0b",
            b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        ] {
            assert_eq!(Reader::new(bytes, 0).field().err(), Some(Malformed));
        }
        assert_eq!(
            Reader::new(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01A", 0).message(),
            Err(Malformed)
        );
    }
}
