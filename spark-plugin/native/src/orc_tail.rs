//! What an ORC file says of itself at its end, looked at before `orc-rust` believes it.

use std::io::Read;

use bytes::Bytes;
use orc_rust::compression::{Compression, Decompressor};
use orc_rust::proto::r#type::Kind;
use orc_rust::proto::{CompressionKind, Footer, PostScript, Type};
use orc_rust::reader::metadata::{FileMetadata, read_metadata};
use prost::Message;

use crate::error::{Error, Result};
use crate::packed::{self, Bytes as Front};
use crate::read::DataFile;

/// Types within types, at most: each takes a call of its own wherever they are gone through.
const DEEPEST: usize = 100;

/// What a chunk's three bytes of length can say, and so what its bytes can become, as all writers have it.
const LARGEST_CHUNK: u64 = 1 << 23;

const DEFAULT_CHUNK: u64 = 256 << 10;

/// In so many blocks more than it needs a chunk of zstd may be split.
const SPLIT: u64 = 512;

pub struct Tail {
    pub footer: Footer,
    /// The same, as `orc-rust` has it.
    pub metadata: FileMetadata,
    pub packing: Packing,
}

/// How the chunks of a file are compressed.
#[derive(Clone, Copy)]
pub struct Packing {
    kind: CompressionKind,
    /// What a chunk becomes at most.
    chunk: u64,
}

impl Tail {
    /// # Errors
    /// Corrupt: among others, types that are within themselves, or too deep.
    pub fn read(file: &DataFile) -> Result<Self> {
        let damaged = || Error::corrupt(&file.path, "its footer is damaged");
        let read = |start: Option<u64>, length: u64| {
            let bytes = file.input.bytes(start.ok_or_else(damaged)?, length);
            bytes.map_err(|why| Error::io(&file.path, &why))
        };
        let last = file.input.length().checked_sub(1);
        let length = u64::from(read(last, 1)?[0]);
        let start = last.and_then(|last| last.checked_sub(length));
        let postscript = PostScript::decode(read(start, length)?).map_err(|_| damaged())?;
        let packing = Packing::of(&postscript).ok_or_else(damaged)?;
        let length = postscript.footer_length();
        let packed = read(start.and_then(|start| start.checked_sub(length)), length)?;
        packing
            .check(&packed)
            .map_err(|why| Error::corrupt(&file.path, why))?;
        let footer = unpacked(
            packed.clone(),
            packing.compression(&postscript).ok_or_else(damaged)?,
        );
        let footer = Footer::decode(footer.ok_or_else(damaged)?.as_slice()).map_err(|_| damaged())?;
        if !is_tree(&footer.types) {
            return Err(Error::corrupt(&file.path, "its types are damaged"));
        }
        let rows = footer
            .stripes
            .iter()
            .try_fold(0, |sum: u64, stripe| sum.checked_add(stripe.number_of_rows()));
        if rows != Some(footer.number_of_rows()) {
            return Err(Error::corrupt(
                &file.path,
                "its stripes have other rows than it says",
            ));
        }
        Ok(Tail {
            metadata: metadata(&postscript, &packed).ok_or_else(damaged)?,
            footer,
            packing,
        })
    }
}

impl Packing {
    fn of(postscript: &PostScript) -> Option<Self> {
        let kind = CompressionKind::try_from(postscript.compression.unwrap_or(0)).ok()?;
        let chunk = postscript.compression_block_size.unwrap_or(DEFAULT_CHUNK);
        (kind == CompressionKind::None || chunk <= LARGEST_CHUNK).then_some(Packing { kind, chunk })
    }

    /// What `orc-rust` calls it, which it tells of whole files alone: of one without columns.
    fn compression(self, postscript: &PostScript) -> Option<Option<Compression>> {
        let footer = Footer {
            types: vec![Type {
                kind: Some(Kind::Struct as i32),
                ..Type::default()
            }],
            ..Footer::default()
        };
        let mut packed = Vec::new();
        let bytes = footer.encode_to_vec();
        if self.kind != CompressionKind::None {
            // As it is, says the lowest bit.
            packed.extend_from_slice(&((bytes.len() as u32) << 1 | 1).to_le_bytes()[..3]);
        }
        packed.extend_from_slice(&bytes);
        Some(metadata(postscript, &packed)?.compression())
    }

    /// How many bytes a stream becomes at most.
    ///
    /// # Errors
    /// What is wrong with the lengths of its chunks, for which memory would be asked.
    pub fn check(self, stream: &[u8]) -> std::result::Result<u64, &'static str> {
        if self.kind == CompressionKind::None {
            return Ok(stream.len() as u64);
        }
        let mut left = Front(stream);
        let mut sum = 0;
        while !left.0.is_empty() {
            let Some(header) = left.number(3) else {
                return Err("a chunk ends before it begins");
            };
            let Some(bytes) = left.take(header >> 1) else {
                return Err("a chunk reaches beyond its stream");
            };
            let length = bytes.len() as u64;
            let most = match self.kind {
                _ if header & 1 == 1 => Some(length),
                CompressionKind::Snappy => Front(bytes).varint(),
                CompressionKind::Zstd => packed::zstd(bytes),
                CompressionKind::Zlib => Some(length * packed::DEFLATE),
                _ => Some(length * packed::LZ4),
            };
            let told = match self.kind {
                CompressionKind::Snappy => most,
                CompressionKind::Zstd => most.map(|most| most / SPLIT),
                _ => Some(length),
            };
            if told.is_none_or(|told| told > self.chunk) {
                return Err("a chunk is larger than chunks of it can be");
            }
            sum += most.unwrap_or(0).min(self.chunk);
        }
        Ok(sum)
    }
}

/// Whether each type but the first lies within just one other, which comes before it, and none too deep.
fn is_tree(types: &[Type]) -> bool {
    let mut depths = vec![None; types.len()];
    if let Some(root) = depths.first_mut() {
        *root = Some(0);
    }
    for (place, found) in types.iter().enumerate() {
        for child in &found.subtypes {
            let child = *child as usize;
            let Some(depth) = depths[place].map(|depth: usize| depth + 1) else {
                return false;
            };
            if child <= place || child >= types.len() || depths[child].is_some() || depth >= DEEPEST {
                return false;
            }
            depths[child] = Some(depth);
        }
    }
    !types.is_empty()
}

/// Bytes whose chunks have been looked at; none if they are damaged.
pub fn unpacked(packed: Bytes, compression: Option<Compression>) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut decompressor = Decompressor::new(packed, compression, Vec::new());
    decompressor.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// What `orc-rust` knows of a file with this footer. The bounds of columns in stripes are left out: nobody asks for them.
fn metadata(postscript: &PostScript, footer: &[u8]) -> Option<FileMetadata> {
    let postscript = PostScript {
        footer_length: Some(footer.len() as u64),
        metadata_length: Some(0),
        ..postscript.clone()
    };
    let postscript = postscript.encode_to_vec();
    let mut tail = [footer, &postscript].concat();
    tail.push(u8::try_from(postscript.len()).ok()?);
    read_metadata(&mut Bytes::from(tail)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types(children: &[&[u32]]) -> Vec<Type> {
        let one = |children: &&[u32]| Type {
            subtypes: children.to_vec(),
            ..Type::default()
        };
        children.iter().map(one).collect()
    }

    #[test]
    fn types_are_a_tree() {
        assert!(is_tree(&types(&[&[]])));
        assert!(is_tree(&types(&[&[1, 3], &[2], &[], &[]])));
        assert!(!is_tree(&[]));
        assert!(!is_tree(&types(&[&[0]])));
        assert!(!is_tree(&types(&[&[1], &[0]])));
        assert!(!is_tree(&types(&[&[1], &[2], &[1]])));
        assert!(!is_tree(&types(&[&[1, 1], &[]])));
        assert!(!is_tree(&types(&[&[2], &[], &[1]])));
        assert!(!is_tree(&types(&[&[1]])));
        assert!(!is_tree(&types(&[&[], &[2], &[]])));
        let chain = |length: u32| -> Vec<Type> {
            let children: Vec<_> = (1..=length).map(|place| vec![place]).collect();
            let mut all: Vec<_> = children.iter().map(Vec::as_slice).collect();
            all.pop();
            all.push(&[]);
            types(&all)
        };
        assert!(is_tree(&chain(100)));
        assert!(!is_tree(&chain(101)));
    }

    #[test]
    fn chunks_are_no_larger_than_the_file_says() {
        let check = |kind, stream: &[u8]| Packing { kind, chunk: 64 }.check(stream);
        use CompressionKind::*;
        assert!(check(None, &[9]).is_ok());
        assert!(check(Zlib, &[5, 0, 0, 1, 2, 4, 0, 0, 1, 2]).is_ok());
        assert!(check(Zlib, &[5, 0, 0, 1]).is_err());
        assert!(check(Zlib, &[5, 0]).is_err());
        assert!(check(Zlib, &[&[130, 0, 0][..], &[0; 65]].concat()).is_err());
        assert!(check(Snappy, &[4, 0, 0, 64, 0]).is_ok());
        assert!(check(Snappy, &[4, 0, 0, 65, 0]).is_err());
        assert!(check(Snappy, &[12, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f, 0]).is_err());
        assert!(check(Zstd, &[4, 0, 0, 1, 2]).is_err());
    }
}
