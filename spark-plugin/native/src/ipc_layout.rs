//! Where in a file of Arrow's own format, or in a stream, its batches lie.

use std::fmt::Display;
use std::sync::Arc;

use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::read_footer_length;
use arrow_ipc::{Block, Message, MetadataVersion, root_as_footer, root_as_message};
use arrow_schema::SchemaRef;

use crate::error::{Error, Result};
use crate::read::DataFile;

const MAGIC: &[u8] = b"ARROW1";

/// What a file ends with: the length of its footer, and the magic.
const TRAILER_BYTES: u64 = 10;

const CONTINUATION: &[u8] = &[0xff; 4];

/// What a file says of itself.
pub struct Layout {
    pub schema: SchemaRef,
    pub version: MetadataVersion,
    pub blocks: Blocks,
}

pub enum Blocks {
    /// Of a file, whose footer tells them all.
    Told {
        dictionaries: Vec<Block>,
        batches: Vec<Block>,
    },
    /// Of a stream, which is gone through from this position on.
    Stream(u64),
}

impl Layout {
    pub fn of(file: &DataFile) -> Result<Self> {
        let length = file.input.length();
        if length >= MAGIC.len() as u64 + TRAILER_BYTES && file.bytes(0, MAGIC.len() as u64)? == MAGIC {
            return footer(file, length);
        }
        let head = file.bytes(0, length.min(4))?;
        if head == b"FEA1".as_slice() {
            return Err(Error::Unsupported(format!(
                "{} is of Feather's first version, which is not read",
                file.path
            )));
        }
        let foreign = || file.corrupt("it is no file of Arrow's, and no stream");
        let prefix = prefix(file, 0).ok().flatten().ok_or_else(foreign)?;
        let metadata = file.bytes(prefix.end, prefix.length)?;
        let message = root_as_message(&metadata).map_err(|_| foreign())?;
        let schema = message.header_as_schema().ok_or_else(foreign)?;
        Ok(Layout {
            schema: known(file, schema)?,
            version: message.version(),
            blocks: Blocks::Stream(prefix.end + prefix.length),
        })
    }
}

fn footer(file: &DataFile, length: u64) -> Result<Layout> {
    let trailer = file.bytes(length - TRAILER_BYTES, TRAILER_BYTES)?;
    let trailer = trailer.as_ref().try_into().map_err(|why| file.corrupt(why))?;
    let footer = read_footer_length(trailer).map_err(|why| file.corrupt(why))? as u64;
    let start = (length - TRAILER_BYTES).checked_sub(footer);
    let bytes = file.bytes(
        start.ok_or_else(|| file.corrupt("its footer is longer than itself"))?,
        footer,
    )?;
    let footer = root_as_footer(&bytes).map_err(|why| file.corrupt(why))?;
    let schema = footer
        .schema()
        .ok_or_else(|| file.corrupt("its footer has no schema"))?;
    Ok(Layout {
        schema: known(file, schema)?,
        version: footer.version(),
        blocks: Blocks::Told {
            dictionaries: footer.dictionaries().iter().flatten().copied().collect(),
            batches: footer.recordBatches().iter().flatten().copied().collect(),
        },
    })
}

fn known(file: &DataFile, schema: arrow_ipc::Schema) -> Result<SchemaRef> {
    if !schema.endianness().equals_to_target_endianness() {
        return Err(Error::Unsupported(format!(
            "the bytes of {} are in the order of other machines",
            file.path
        )));
    }
    Ok(Arc::new(
        try_fb_to_schema(schema).map_err(|why| file.corrupt(why))?,
    ))
}

/// What comes before the metadata of a message.
pub struct Prefix {
    pub end: u64,
    /// Bytes of the metadata.
    pub length: u64,
}

/// None where a stream ends.
pub fn prefix(file: &DataFile, position: u64) -> Result<Option<Prefix>> {
    if position == file.input.length() {
        return Ok(None); // the mark of the end may be left out
    }
    let first = file.bytes(position, 4)?;
    let (end, length) = match first == CONTINUATION {
        true => (position + 8, file.bytes(position + 4, 4)?),
        false => (position + 4, first), // as before Arrow 0.15
    };
    let length = length
        .as_ref()
        .try_into()
        .map(i32::from_le_bytes)
        .map_err(|why| file.corrupt(why))?;
    match u64::try_from(length) {
        Ok(0) => Ok(None),
        Ok(length) => Ok(Some(Prefix { end, length })),
        Err(_) => Err(file.corrupt("a message of a length below 0")),
    }
}

/// The metadata of a block, which has its prefix before it.
pub fn message(metadata: &[u8]) -> Option<Message<'_>> {
    let begin = if metadata.starts_with(CONTINUATION) { 8 } else { 4 };
    root_as_message(metadata.get(begin..)?).ok()
}

impl DataFile {
    pub fn corrupt(&self, why: impl Display) -> Error {
        Error::corrupt(&self.path, why)
    }

    pub fn bytes(&self, start: u64, length: u64) -> Result<bytes::Bytes> {
        self.input
            .bytes(start, length)
            .map_err(|why| Error::io(&self.path, &why))
    }
}
