//! What a Parquet file says of its columns at its end, looked at before the library believes it: it asks memory for as
//! many children as a group claims to have, and goes through groups within groups by calls within calls.
//!
//! Source: the compact protocol of Thrift, and `FileMetaData` of parquet-format.

use bytes::Bytes;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};

use crate::error::{Error, Result};
use crate::input::Input;
use crate::packed::Bytes as Front;

/// What Parquet files end with, after the length of the footer.
const MAGIC: &[u8] = b"PAR1";

/// Groups within groups, at most, as types of ORC. A list is two of them.
const DEEPEST: usize = 200;

/// Structs within structs of Thrift, at most: those of a column have three.
const DEEPEST_STRUCT: usize = 16;

const SCHEMA: i64 = 2;
const CHILDREN: i64 = 5;

/// The footer of a file.
///
/// # Errors
/// Corrupt: among others, columns that are damaged, or too deep.
pub fn footer(path: &str, input: &Input) -> Result<ParquetMetaData> {
    let damaged = || Error::corrupt(path, "its footer is damaged");
    let read = |start: Option<u64>, length: u64| -> Result<Bytes> {
        let bytes = input.bytes(start.ok_or_else(damaged)?, length);
        bytes.map_err(|why| Error::io(path, &why))
    };
    let end = input.length().checked_sub(4 + MAGIC.len() as u64);
    let tail = read(end, 4 + MAGIC.len() as u64)?;
    if &tail[4..] != MAGIC {
        return Err(damaged());
    }
    let length = Front(&tail).number(4).ok_or_else(damaged)?;
    let bytes = read(end.and_then(|end| end.checked_sub(length)), length)?;
    if schema_is_sound(&mut Front(&bytes)) != Some(true) {
        return Err(Error::corrupt(path, "its columns are damaged"));
    }
    ParquetMetaDataReader::decode_metadata(&bytes).map_err(|why| Error::corrupt(path, why))
}

/// None where it ends before its columns do.
fn schema_is_sound(bytes: &mut Front) -> Option<bool> {
    let mut field = 0;
    while let Some(kind) = begun(bytes, &mut field)? {
        if field != SCHEMA {
            skip(bytes, kind, 0)?;
            continue;
        }
        let (columns, kind) = list(bytes)?;
        let mut left = Vec::new();
        for _ in 0..columns {
            while left.last() == Some(&0) {
                left.pop();
            }
            if let Some(children) = left.last_mut() {
                *children -= 1;
            }
            let children = children(bytes, kind)?;
            if children > columns {
                return Some(false);
            }
            if children > 0 {
                left.push(children);
                if left.len() > DEEPEST {
                    return Some(false);
                }
            }
        }
        return Some(true);
    }
    Some(true) // it has none, which the library tells
}

/// How many a column says that it has.
fn children(bytes: &mut Front, kind: u8) -> Option<u64> {
    if kind != 12 {
        return None;
    }
    let (mut field, mut children) = (0, 0);
    while let Some(kind) = begun(bytes, &mut field)? {
        if field == CHILDREN && kind == 5 {
            let number = bytes.varint()?;
            // Signs are in the lowest bit: of a negative number there are more than of any column.
            children = if number & 1 == 1 { u64::MAX } else { number >> 1 };
        } else {
            skip(bytes, kind, 0)?;
        }
    }
    Some(children)
}

/// The type of the next field, and its number; a struct ends with none.
fn begun(bytes: &mut Front, field: &mut i64) -> Option<Option<u8>> {
    let head = bytes.number(1)?;
    let (step, kind) = (head >> 4, (head & 0xf) as u8);
    if kind == 0 {
        return Some(None);
    }
    *field = if step == 0 {
        let number = bytes.varint()?;
        (number >> 1) as i64 ^ -((number & 1) as i64)
    } else {
        field.checked_add(step as i64)?
    };
    Some(Some(kind))
}

/// How many a list has, and of which type.
fn list(bytes: &mut Front) -> Option<(u64, u8)> {
    let head = bytes.number(1)?;
    let count = if head >> 4 == 15 {
        bytes.varint()?
    } else {
        head >> 4
    };
    Some((count, (head & 0xf) as u8))
}

fn skip(bytes: &mut Front, kind: u8, depth: usize) -> Option<()> {
    if depth > DEEPEST_STRUCT {
        return None;
    }
    match kind {
        1 | 2 => {}
        3 => drop(bytes.take(1)?),
        4..=6 => drop(bytes.varint()?),
        7 => drop(bytes.take(8)?),
        8 => {
            let length = bytes.varint()?;
            bytes.take(length)?;
        }
        9 | 10 => {
            let (count, kind) = list(bytes)?;
            for _ in 0..count {
                // Of a boolean within a list there is a byte.
                skip(bytes, if kind < 3 { 3 } else { kind }, depth + 1)?;
            }
        }
        11 => {
            let count = bytes.varint()?;
            let kinds = if count == 0 { 0 } else { bytes.number(1)? };
            for _ in 0..count {
                for kind in [kinds >> 4, kinds & 0xf] {
                    skip(bytes, if kind < 3 { 3 } else { kind as u8 }, depth + 1)?;
                }
            }
        }
        12 => {
            let mut field = 0;
            while let Some(kind) = begun(bytes, &mut field)? {
                skip(bytes, kind, depth + 1)?;
            }
        }
        _ => return None,
    }
    Some(())
}
