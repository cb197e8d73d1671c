//! The bytes of a Parquet file, in which lengths that cannot be true are found before memory is asked for them.

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::ops::Range;

use bytes::Bytes;
use parquet::basic::Compression;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::reader::{ChunkReader, Length};

use crate::input::{At, Input};
use crate::packed::{self, Bytes as Front};

/// The pages of some row groups.
pub struct Pages {
    input: Input,
    /// Where the chunks of columns lie, in order, and how many bytes become of one at most.
    chunks: Vec<(Range<u64>, u64)>,
    /// Where pages begin that are read as a whole, header and all.
    starts: HashSet<u64>,
}

impl Pages {
    pub fn new(input: Input, metadata: &ParquetMetaData, groups: &[usize]) -> Self {
        let mut chunks = Vec::new();
        let mut starts = HashSet::new();
        for group in groups {
            for (leaf, column) in metadata.row_group(*group).columns().iter().enumerate() {
                let (start, length) = column.byte_range();
                chunks.push((start..start.saturating_add(length), most(column)));
                let pages = metadata.page_index();
                if let Some(pages) = pages.and_then(|pages| pages.offset_index(*group, leaf)) {
                    starts.insert(start);
                    starts.extend(pages.page_locations().iter().map(|page| page.offset as u64));
                }
            }
        }
        chunks.sort_unstable_by_key(|(range, _)| range.start);
        Pages {
            input,
            chunks,
            starts,
        }
    }

    /// An error if a page begins here whose bytes cannot become as many as its header says.
    fn check(&self, start: u64, header: &[u8]) -> Result<()> {
        let chunk = self.chunks.partition_point(|(range, _)| range.start <= start);
        let chunk = chunk.checked_sub(1).map(|chunk| &self.chunks[chunk]);
        let Some((_, most)) = chunk.filter(|(range, _)| range.contains(&start)) else {
            return Ok(());
        };
        match sizes(header) {
            Some((whole, packed)) if whole > packed.saturating_mul(*most).saturating_add(SLACK) => {
                Err(damaged(format!(
                    "the page at byte {start} is of {packed} bytes, which cannot become {whole}"
                )))
            }
            _ => Ok(()), // what is no header is the decoder's to tell
        }
    }
}

fn damaged(what: impl Into<String>) -> ParquetError {
    ParquetError::General(what.into())
}

/// Of small pages the frames of some codecs are longer than what is in them.
const SLACK: u64 = 1 << 16;

/// How many bytes become of one at most.
fn most(column: &ColumnChunkMetaData) -> u64 {
    match column.compression() {
        Compression::UNCOMPRESSED => 1,
        Compression::SNAPPY => packed::SNAPPY,
        Compression::LZ4 | Compression::LZ4_RAW => packed::LZ4,
        Compression::GZIP(_) => packed::DEFLATE,
        _ => packed::ZSTD,
    }
}

/// How long a page is, by its header, and how long it is in the file: the second and third numbers of it.
fn sizes(header: &[u8]) -> Option<(u64, u64)> {
    let mut bytes = Front(header);
    // The next field, which is an integer of 32 bits; zigzag, and none below 0 is let pass by the decoder.
    let mut number = || {
        bytes.number(1).filter(|field| *field == 0x15)?;
        Some(bytes.varint()? >> 1)
    };
    let (_, whole, packed) = (number()?, number()?, number()?);
    Some((whole, packed))
}

impl Length for Pages {
    fn len(&self) -> u64 {
        self.input.length()
    }
}

impl ChunkReader for Pages {
    type T = BufReader<At>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        let mut read = self.input.get_read(start)?;
        self.check(start, read.fill_buf()?)?;
        Ok(read)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let bytes = self.input.get_bytes(start, length)?;
        if self.starts.contains(&start) {
            self.check(start, &bytes)?;
        }
        Ok(bytes)
    }
}

/// What a file says of its pages, beside its footer.
pub struct Indexes {
    input: Input,
    /// Where lists of the places of pages lie.
    lists: Vec<Range<u64>>,
}

impl Indexes {
    pub fn new(input: Input, metadata: &ParquetMetaData) -> Self {
        let columns = metadata.row_groups().iter().flat_map(|group| group.columns());
        Indexes {
            input,
            lists: columns.filter_map(|column| column.offset_index_range()).collect(),
        }
    }
}

impl Length for Indexes {
    fn len(&self) -> u64 {
        self.input.length()
    }
}

impl ChunkReader for Indexes {
    type T = BufReader<At>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        self.input.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let bytes = self.input.get_bytes(start, length)?;
        for list in &self.lists {
            let within = list
                .start
                .checked_sub(start)
                .and_then(|at| bytes.get(at as usize..));
            if let Some(count) = within.and_then(items)
                && count > list.end - list.start
            {
                return Err(ParquetError::General(format!(
                    "the list at byte {} cannot be of {count} items",
                    list.start
                )));
            }
        }
        Ok(bytes)
    }
}

/// How many items the list has that is the first field of a struct.
fn items(bytes: &[u8]) -> Option<u64> {
    let mut bytes = Front(bytes);
    bytes.number(1).filter(|field| *field == LIST)?;
    match bytes.number(1)? >> 4 {
        15 => bytes.varint(),
        few => Some(few),
    }
}

/// What Thrift has before the first field, if it is a list.
const LIST: u64 = 0x19;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_pages_are_in_their_headers() {
        // A data page of 300 bytes, which are 200 in the file.
        assert_eq!(
            sizes(&[0x15, 0, 0x15, 0xd8, 0x04, 0x15, 0x90, 0x03, 0x2c]),
            Some((300, 200))
        );
        assert_eq!(sizes(&[0x15, 0, 0x15, 0xd8]), None);
        assert_eq!(sizes(b"no header at all"), None);
    }

    #[test]
    fn lists_say_how_many_items_they_have() {
        assert_eq!(items(&[0x19, 0x3c, 0x16]), Some(3));
        assert_eq!(items(&[0x19, 0xfc, 0x80, 0x01, 0x16]), Some(128));
        assert_eq!(items(&[0x15, 0xfc, 0x80, 0x01]), None);
    }
}
