//! The pages of Parquet's columns, of which no more values are taken than there can be: the decoders ask for memory for
//! as many as a page says before they look for one.

use std::sync::Arc;

use parquet::arrow::arrow_reader::RowGroups;
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::serialized_reader::SerializedPageReader;

use crate::packed::Bytes;
use crate::parquet_bytes::Pages;

/// Some row groups, one after the other.
#[derive(Clone)]
pub struct Chunks {
    pub pages: Arc<Pages>,
    pub metadata: Arc<ParquetMetaData>,
    pub groups: Vec<usize>,
}

impl RowGroups for Chunks {
    fn num_rows(&self) -> usize {
        self.row_groups().map(|group| group.num_rows() as usize).sum()
    }

    fn column_chunks(&self, leaf: usize) -> Result<Box<dyn PageIterator>> {
        Ok(Box::new(Column {
            groups: self.groups.clone().into_iter(),
            chunks: self.clone(),
            leaf,
        }))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(self.groups.iter().map(|group| self.metadata.row_group(*group)))
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// A column, a row group at a time.
struct Column {
    chunks: Chunks,
    groups: std::vec::IntoIter<usize>,
    leaf: usize,
}

impl Column {
    fn chunk(&self, index: usize) -> Result<Box<dyn PageReader>> {
        let Chunks { pages, metadata, .. } = &self.chunks;
        let group = metadata.row_group(index);
        let column = group.column(self.leaf);
        let places = metadata.page_index();
        let places = places.and_then(|places| places.page_locations(index, self.leaf).cloned());
        let rows = group.num_rows() as usize;
        let leaf = column.column_descr();
        Ok(Box::new(Chunk {
            reader: SerializedPageReader::new(pages.clone(), column, rows, places)?,
            levels: [leaf.max_rep_level(), leaf.max_def_level()],
            left: column.num_values() as u64,
        }))
    }
}

impl Iterator for Column {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        let group = self.groups.next()?;
        Some(self.chunk(group))
    }
}

impl PageIterator for Column {}

struct Chunk {
    reader: SerializedPageReader<Pages>,
    /// How deep it repeats, and how deep it is defined, at most.
    levels: [i16; 2],
    /// Values that its pages have beyond those that were read, nulls among them.
    left: u64,
}

impl Chunk {
    fn checked(&mut self, page: Option<Page>) -> Result<Option<Page>> {
        let damaged = || ParquetError::General("a page says that it has more values than it can".into());
        let Some(page) = page else {
            return Ok(None);
        };
        if !sound(&page, self.levels) {
            return Err(damaged());
        }
        if page.is_data_page() {
            let left = self.left.checked_sub(page.num_values().into());
            self.left = left.ok_or_else(damaged)?;
        }
        Ok(Some(page))
    }
}

impl Iterator for Chunk {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Chunk {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.reader.get_next_page()?;
        self.checked(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.reader.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.reader.skip_next_page()
    }

    fn supports_deferred_dictionary(&self) -> bool {
        self.reader.supports_deferred_dictionary()
    }

    fn take_deferred_dictionary(&mut self) -> Result<Option<Page>> {
        let page = self.reader.take_deferred_dictionary()?;
        self.checked(page)
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.reader.at_record_boundary()
    }
}

/// Whether there can be as many values in a page as it says.
fn sound(page: &Page, levels: [i16; 2]) -> bool {
    let bytes = Bytes(page.buffer());
    let values = u64::from(page.num_values());
    match page {
        // Each takes a byte at least.
        Page::DictionaryPage { .. } => values <= bytes.0.len() as u64,
        Page::DataPage {
            encoding,
            rep_level_encoding,
            def_level_encoding,
            ..
        } => {
            let kinds = [*rep_level_encoding, *def_level_encoding];
            counted(*encoding, values, || after_levels(bytes, values, levels, kinds))
        }
        Page::DataPageV2 {
            encoding,
            rep_levels_byte_len,
            def_levels_byte_len,
            ..
        } => counted(*encoding, values, || {
            let mut bytes = bytes;
            bytes.take(u64::from(*rep_levels_byte_len) + u64::from(*def_levels_byte_len))?;
            Some(bytes)
        }),
    }
}

/// Whether encodings that count their values themselves count no more than the page has.
fn counted<'a>(encoding: Encoding, values: u64, bytes: impl FnOnce() -> Option<Bytes<'a>>) -> bool {
    let lists = match encoding {
        Encoding::DELTA_BINARY_PACKED | Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
        Encoding::DELTA_BYTE_ARRAY => 2,
        _ => return true,
    };
    let Some(mut bytes) = bytes() else {
        return false;
    };
    // Of nulls alone there may be nothing.
    bytes.0.is_empty() || (0..lists).all(|_| deltas(&mut bytes).is_some_and(|count| count <= values))
}

/// What comes after the levels of a page of the first version.
fn after_levels(mut bytes: Bytes, values: u64, levels: [i16; 2], kinds: [Encoding; 2]) -> Option<Bytes> {
    for (most, kind) in levels.into_iter().zip(kinds) {
        if most == 0 {
            continue;
        }
        let length = match kind {
            Encoding::RLE => bytes.number(4)?,
            _ => (values * u64::from(16 - (most as u16).leading_zeros())).div_ceil(8),
        };
        bytes.take(length)?;
    }
    Some(bytes)
}

/// Passes numbers that are written as their distances, and says how many they are.
fn deltas(bytes: &mut Bytes) -> Option<u64> {
    let block = bytes.varint()?;
    let parts = bytes.varint().filter(|parts| (1..=block).contains(parts))?;
    let count = bytes.varint()?;
    bytes.varint()?;
    let mut left = count.saturating_sub(1);
    while left > 0 {
        bytes.varint()?;
        for bits in bytes.take(parts)? {
            if left > 0 {
                let part = block / parts;
                bytes.take(u64::from(*bits).checked_mul(part)?.div_ceil(8))?;
                left = left.saturating_sub(part);
            }
        }
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1, 2 and 3 in blocks of 128, of which a quarter is one part; each is one more than the one before.
    const NUMBERS: [u8; 10] = [0x80, 0x01, 4, 3, 2, 2, 0, 0, 0, 0];

    fn page(encoding: Encoding, bytes: &[u8], values: u32) -> Page {
        Page::DataPage {
            buf: bytes.to_vec().into(),
            num_values: values,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        }
    }

    #[test]
    fn distances_are_no_more_than_the_values_of_their_page() {
        use Encoding::*;
        let read = |encoding, bytes: &[u8], values| sound(&page(encoding, bytes, values), [0, 0]);
        assert!(read(DELTA_BINARY_PACKED, &NUMBERS, 3));
        assert!(!read(DELTA_BINARY_PACKED, &NUMBERS, 2));
        assert!(!read(DELTA_BINARY_PACKED, &NUMBERS[..9], 3));
        assert!(read(DELTA_BINARY_PACKED, &[], 3));
        assert!(read(
            DELTA_LENGTH_BYTE_ARRAY,
            &[&NUMBERS[..], b"122333"].concat(),
            3
        ));
        let twice = [&NUMBERS[..], &NUMBERS[..], b"122333"].concat();
        assert!(read(DELTA_BYTE_ARRAY, &twice, 3));
        let mut damaged = twice;
        damaged[13] = 4;
        assert!(!read(DELTA_BYTE_ARRAY, &damaged, 3));
        assert!(read(PLAIN, b"anything", u32::MAX));
    }

    #[test]
    fn levels_come_before_values() {
        let levels = [2, 0, 0, 0, 6, 1];
        let bytes = [&levels[..], &NUMBERS[..]].concat();
        let page = |values| page(Encoding::DELTA_BINARY_PACKED, &bytes, values);
        assert!(sound(&page(3), [0, 1]));
        assert!(!sound(&page(2), [0, 1]));
        assert!(!sound(&page(3), [1, 1]));
    }

    #[test]
    fn values_of_a_dictionary_take_a_byte_each_at_least() {
        let page = |values| Page::DictionaryPage {
            buf: vec![0; 8].into(),
            num_values: values,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        assert!(sound(&page(8), [0, 0]));
        assert!(!sound(&page(9), [0, 0]));
    }
}
