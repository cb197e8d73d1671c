//! Buffers that are compressed: eight bytes that tell the size, then a frame of LZ4 or Zstandard.

use std::borrow::Cow;
use std::io::{Read, Write};

use super::damage::{Damage, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    Lz4 = 0,
    Zstd = 1,
}

/// What stands in the size's place where a buffer would not have become smaller.
const AS_IT_IS: i64 = -1;
const LEVEL: i32 = 1;

pub fn compressed(codec: Codec, bytes: &[u8]) -> Vec<u8> {
    if bytes.is_empty() {
        return Vec::new();
    }
    let mut out = (bytes.len() as i64).to_le_bytes().to_vec();
    match codec {
        Codec::Lz4 => {
            let mut frame = lz4_flex::frame::FrameEncoder::new(out);
            // Writing to memory fails only without memory, which ends the process anyway.
            frame.write_all(bytes).expect("memory can be written");
            out = frame.finish().expect("memory can be written");
        }
        Codec::Zstd => {
            let frame = zstd::bulk::compress(bytes, LEVEL).expect("memory can be written");
            out.extend_from_slice(&frame);
        }
    }
    if out.len() >= bytes.len() + 8 {
        out.clear();
        out.extend(AS_IT_IS.to_le_bytes());
        out.extend_from_slice(bytes);
    }
    out
}

/// The bytes of a buffer, `most` of them at most: what its array cannot need is not unpacked, such as the offsets that
/// pyarrow writes for no rows of a batch of many.
pub fn plain<'a>(codec: Codec, stored: &'a [u8], at: usize, most: usize) -> Result<Cow<'a, [u8]>> {
    if stored.is_empty() {
        return Ok(Cow::Borrowed(stored));
    }
    let Some((size, frame)) = stored.split_first_chunk::<8>() else {
        return Err(Damage::new(at, "a compressed buffer does not tell its size"));
    };
    let size = i64::from_le_bytes(*size);
    if size == AS_IT_IS {
        return Ok(Cow::Borrowed(frame));
    }
    let size = usize::try_from(size)
        .map_err(|_| Damage::new(at, "a compressed buffer tells a size that is out of range"))?;
    let needed = size.min(most);
    let mut out = Vec::new();
    // One more byte, if there were one, would be damage.
    let limit = needed as u64 + u64::from(needed == size);
    let read = match codec {
        Codec::Lz4 => lz4_flex::frame::FrameDecoder::new(frame)
            .take(limit)
            .read_to_end(&mut out),
        Codec::Zstd => zstd::stream::read::Decoder::with_buffer(frame)
            .and_then(|mut decoder| decoder.window_log_max(27).map(|()| decoder))
            .and_then(|decoder| decoder.take(limit).read_to_end(&mut out)),
    };
    match read {
        Ok(read) if read == needed => Ok(Cow::Owned(out)),
        _ => Err(Damage::new(at, "a compressed buffer cannot be unpacked")),
    }
}
