//! Arrow's own format: record batches as they lie in memory, in a file or a stream.

use std::iter;
use std::ops::Range;

use arrow_array::RecordBatch;
use arrow_buffer::{Buffer, MutableBuffer};
use arrow_ipc::reader::FileDecoder;
use arrow_ipc::{Block, CompressionType, Message, MessageHeader, root_as_message};
use arrow_schema::{DataType, Schema, SchemaRef};

use crate::conform::Columns;
use crate::error::{Error, Result};
use crate::ipc_layout::{Blocks, Layout, message, prefix};
use crate::packed::{self, Bytes};
use crate::read::{Batches, DataFile, Part};

/// Bytes between two columns that are read rather than passed over.
const GAP: u64 = 64 << 10;

/// The columns of a file, as Arrow knows them.
pub fn schema(file: &DataFile) -> Result<Schema> {
    Ok(Layout::of(file)?.schema.as_ref().clone())
}

/// The rows of the batches that begin in the part; those of a stream belong all to its first part.
pub fn read(part: Part) -> Result<Batches> {
    let layout = Layout::of(&part.file)?;
    let columns = Columns::find(&layout.schema, &part)?;
    let roots = columns.roots().to_vec();
    let mut reader = Reader {
        decoder: FileDecoder::new(layout.schema.clone(), layout.version).with_projection(roots.clone()),
        schema: layout.schema,
        roots,
        file: part.file,
    };
    let end = part.start.saturating_add(part.length);
    let batches: Batches = match layout.blocks {
        Blocks::Told {
            dictionaries,
            mut batches,
        } => {
            batches.retain(|block| (part.start..end).contains(&(block.offset() as u64)));
            if !batches.is_empty() && reader.asks_for_dictionaries() {
                for block in dictionaries {
                    reader.dictionary(&block)?;
                }
            }
            Box::new(batches.into_iter().map(move |block| reader.batch(&block)))
        }
        Blocks::Stream(_) if part.start > 0 => Box::new(iter::empty()),
        Blocks::Stream(mut position) => {
            reader.file.input = reader
                .file
                .input
                .planned(|| vec![vec![0..reader.file.input.length()]]);
            Box::new(iter::from_fn(move || {
                reader.next_of_stream(&mut position).transpose()
            }))
        }
    };
    Ok(Box::new(Sliced {
        batches,
        columns,
        rows: part.batch_rows,
        rest: None,
    }))
}

/// The batches of a file, which have as many rows as they have, in batches of so many at most.
struct Sliced {
    batches: Batches,
    columns: Columns,
    rows: usize,
    rest: Option<RecordBatch>,
}

impl Iterator for Sliced {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let whole = loop {
            match self.rest.take() {
                Some(rest) if rest.num_rows() > 0 => break rest,
                _ => match self.batches.next()? {
                    Ok(batch) => self.rest = Some(batch),
                    Err(error) => return Some(Err(error)),
                },
            }
        };
        let rows = whole.num_rows().min(self.rows);
        self.rest = Some(whole.slice(rows, whole.num_rows() - rows));
        Some(self.columns.conform(whole.slice(0, rows)))
    }
}

struct Reader {
    file: DataFile,
    schema: SchemaRef,
    /// The columns that are read.
    roots: Vec<usize>,
    decoder: FileDecoder,
}

impl Reader {
    fn asks_for_dictionaries(&self) -> bool {
        let mut kinds = self.roots.iter().map(|root| self.schema.field(*root).data_type());
        kinds.any(has_dictionary)
    }

    fn dictionary(&mut self, block: &Block) -> Result<()> {
        let buffer = self.block(block, |_| None)?;
        let read = self.decoder.read_dictionary(block, &buffer);
        read.map_err(|why| self.file.corrupt(why))
    }

    fn batch(&self, block: &Block) -> Result<RecordBatch> {
        let buffer = self.block(block, |message| self.asked(message))?;
        let batch = self.decoder.read_record_batch(block, &buffer);
        let batch = batch.map_err(|why| self.file.corrupt(why))?;
        batch.ok_or_else(|| self.file.corrupt("a record batch is not where its footer says"))
    }

    /// The next batch from a position of a stream on, to whose end the position moves.
    fn next_of_stream(&mut self, position: &mut u64) -> Result<Option<RecordBatch>> {
        loop {
            let Some(prefix) = prefix(&self.file, *position)? else {
                return Ok(None);
            };
            let metadata = self.file.bytes(prefix.end, prefix.length)?;
            let message = root_as_message(&metadata).map_err(|why| self.file.corrupt(why))?;
            let length = (prefix.end - *position + prefix.length) as i32;
            let block = Block::new(*position as i64, length, message.bodyLength());
            let kind = message.header_type();
            self.checked(&block)?;
            *position += length as u64 + block.bodyLength() as u64;
            match kind {
                MessageHeader::DictionaryBatch => self.dictionary(&block)?,
                MessageHeader::RecordBatch => return self.batch(&block).map(Some),
                other => {
                    return Err(self
                        .file
                        .corrupt(format!("a message of the kind {other:?} in its midst")));
                }
            }
        }
    }

    /// The bytes of a block: of its body all, or those ranges alone that are picked.
    fn block(&self, block: &Block, pick: impl Fn(&Message) -> Option<Vec<Range<u64>>>) -> Result<Buffer> {
        let (start, head, body) = self.checked(block)?;
        let metadata = self.file.bytes(start, head)?;
        let mut buffer = MutableBuffer::try_from_len_zeroed((head + body) as usize)
            .map_err(|why| self.file.corrupt(why))?;
        buffer[..head as usize].copy_from_slice(&metadata);
        let message = message(&metadata).ok_or_else(|| self.file.corrupt("a message in it is none"))?;
        for range in pick(&message).unwrap_or_else(|| vec![0..body]) {
            let into = buffer.get_mut((head + range.start) as usize..(head + range.end) as usize);
            let into = into.ok_or_else(|| self.file.corrupt("a column reaches beyond its batch"))?;
            let read = self.file.input.read_exact_at(into, start + head + range.start);
            read.map_err(|why| Error::io(&self.file.path, &why))?;
        }
        let damaged = damaged(&message, &buffer[head as usize..]);
        match damaged.or_else(|| self.miscounted(&message)) {
            Some(what) => Err(self.file.corrupt(what)),
            None => Ok(buffer.into()),
        }
    }

    /// What is wrong with the rows that a batch says it has: of all its columns they are as many.
    fn miscounted(&self, message: &Message) -> Option<&'static str> {
        let batch = message.header_as_record_batch()?;
        let nodes = batch.nodes()?;
        let mut place = 0;
        for field in self.schema.fields() {
            let Some(count) = node_count(field.data_type()) else {
                break;
            };
            if place >= nodes.len() || nodes.get(place).length() != batch.length() {
                return Some("its columns have other numbers of rows than the batch that they are of");
            }
            place += count;
        }
        (batch.length() < 0).then_some("it has a batch of less than no rows")
    }

    /// Where a block begins, and how long its metadata and its body are.
    fn checked(&self, block: &Block) -> Result<(u64, u64, u64)> {
        let start = u64::try_from(block.offset()).ok();
        let head = u64::try_from(block.metaDataLength())
            .ok()
            .filter(|head| *head >= 8);
        let body = u64::try_from(block.bodyLength()).ok();
        let found = start
            .zip(head)
            .zip(body)
            .map(|((start, head), body)| (start, head, body));
        let within = |(start, head, body): &(u64, u64, u64)| {
            let end = start.checked_add(*head).and_then(|end| end.checked_add(*body));
            end.is_some_and(|end| end <= self.file.input.length())
        };
        found
            .filter(within)
            .ok_or_else(|| self.file.corrupt("it ends before what it says it holds"))
    }

    /// Where the buffers of the columns lie that are read, neighbouring ones together; none if they cannot be told.
    fn asked(&self, message: &Message) -> Option<Vec<Range<u64>>> {
        let batch = message.header_as_record_batch()?;
        let mut views = batch.variadicBufferCounts().into_iter().flatten();
        let mut buffers = batch.buffers()?.iter();
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for (place, field) in self.schema.fields().iter().enumerate() {
            let count = buffer_count(field.data_type(), &mut views)?;
            for buffer in buffers.by_ref().take(count) {
                let start = u64::try_from(buffer.offset()).ok()?;
                let end = start.checked_add(u64::try_from(buffer.length()).ok()?)?;
                if !self.roots.contains(&place) || start == end {
                    continue;
                }
                match ranges.last_mut() {
                    Some(last) if last.end <= start && start - last.end <= GAP => last.end = end,
                    _ => ranges.push(start..end),
                }
            }
        }
        Some(ranges)
    }
}

/// How many buffers a column takes in a record batch; none of types that are newer than this reader.
fn buffer_count(kind: &DataType, views: &mut impl Iterator<Item = i64>) -> Option<usize> {
    use DataType::*;
    Some(match kind {
        Null => 0,
        Utf8 | Binary | LargeUtf8 | LargeBinary => 3,
        Utf8View | BinaryView => 2 + usize::try_from(views.next()?).ok()?,
        List(item) | LargeList(item) | Map(item, _) => 2 + buffer_count(item.data_type(), views)?,
        FixedSizeList(item, _) => 1 + buffer_count(item.data_type(), views)?,
        ListView(item) | LargeListView(item) => 3 + buffer_count(item.data_type(), views)?,
        Struct(fields) => {
            let mut counts = fields.iter().map(|field| buffer_count(field.data_type(), views));
            counts.try_fold(1, |sum, count| Some(sum + count?))?
        }
        Union(..) | RunEndEncoded(..) => return None,
        _ => 2,
    })
}

/// How many nodes a column takes in a record batch: one for each type in it; none of types that are newer than this reader.
fn node_count(kind: &DataType) -> Option<usize> {
    use DataType::*;
    Some(match kind {
        List(item)
        | LargeList(item)
        | Map(item, _)
        | FixedSizeList(item, _)
        | ListView(item)
        | LargeListView(item) => 1 + node_count(item.data_type())?,
        Struct(fields) => {
            let mut counts = fields.iter().map(|field| node_count(field.data_type()));
            counts.try_fold(1, |sum, count| Some(sum + count?))?
        }
        Union(..) | RunEndEncoded(..) => return None,
        _ => 1,
    })
}

/// What is wrong with the lengths in a message, for which memory would be asked. What has not been read is zeros.
fn damaged(message: &Message, body: &[u8]) -> Option<&'static str> {
    let dictionary = message.header_as_dictionary_batch().and_then(|of| of.data());
    let batch = message.header_as_record_batch().or(dictionary)?;
    let codec = batch.compression()?.codec();
    for buffer in batch.buffers()? {
        let mut bytes = Bytes(body);
        let found = u64::try_from(buffer.offset())
            .ok()
            .zip(u64::try_from(buffer.length()).ok());
        let found = found.and_then(|(offset, length)| {
            bytes.take(offset)?;
            bytes.take(length)
        });
        let Some(found) = found else {
            return Some("a column reaches beyond its batch");
        };
        let mut bytes = Bytes(found);
        let Some(length) = bytes.number(8).map(|length| length as i64) else {
            continue; // empty, or an error of the decoder's
        };
        let packed = bytes.0;
        let most = match codec {
            _ if length <= 0 => continue, // nothing, or as it is
            CompressionType::ZSTD => packed::zstd(packed),
            _ => Some(packed.len() as u64 * packed::LZ4),
        };
        if most.is_none_or(|most| length as u64 > most) {
            return Some("the compressed bytes of a column cannot become as many as they say");
        }
    }
    None
}

fn has_dictionary(kind: &DataType) -> bool {
    use DataType::*;
    match kind {
        Dictionary(..) => true,
        List(item)
        | LargeList(item)
        | Map(item, _)
        | FixedSizeList(item, _)
        | ListView(item)
        | LargeListView(item) => has_dictionary(item.data_type()),
        Struct(fields) => fields.iter().any(|field| has_dictionary(field.data_type())),
        _ => false,
    }
}
