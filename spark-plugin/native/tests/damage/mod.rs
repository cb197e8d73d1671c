//! Ways to damage files: any bytes, and the numbers that they say of themselves.

use orc_rust::proto::{Footer, PostScript};
use prost::Message;

pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % limit.max(1)
    }

    /// Numbers that are lengths, places or counts where nobody expects them.
    pub fn number(&mut self) -> u64 {
        let one = 1_u64 << self.below(64);
        [
            one,
            one - 1,
            one.wrapping_neg(),
            0,
            u64::MAX,
            self.below(100) as u64,
        ][self.below(6)]
    }
}

/// Damage that looks at nothing: other bytes, other numbers, parts that are gone or come twice.
pub fn bytes(whole: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    for _ in 0..=random.below(3) {
        let place = random.below(bytes.len());
        let end = (place + random.below(40)).min(bytes.len());
        match random.below(12) {
            0 => bytes.truncate(place),
            1 => drop(bytes.drain(place..end)),
            2 => {
                let part = bytes[place..end].to_vec();
                let at = random.below(bytes.len());
                bytes.splice(at..at, part);
            }
            3 | 4 => bytes[place] ^= 1 << random.below(8),
            5 => bytes[place..end].fill(0xff),
            6 => {
                bytes.splice(place..=place, varint(random.number())).count();
            }
            _ => {
                let number = random.number().to_le_bytes();
                let length = [1, 2, 4, 8][random.below(4)].min(bytes.len() - place);
                bytes[place..place + length].copy_from_slice(&number[..length]);
            }
        }
        if bytes.is_empty() {
            break;
        }
    }
    bytes
}

/// A number in the footer of a Parquet file that is another one; the footer is found all the same.
pub fn thrift(whole: &[u8], random: &mut Random) -> Vec<u8> {
    let (body, end) = whole.split_at(whole.len() - 8);
    let length = u32::from_le_bytes(end[..4].try_into().unwrap()) as usize;
    let (body, footer) = body.split_at(body.len() - length);
    let mut footer = footer.to_vec();
    let place = random.below(footer.len());
    footer.splice(place..=place, varint(random.number())).count();
    let length = (footer.len() as u32).to_le_bytes();
    [body, &footer, &length, b"PAR1"].concat()
}

/// A field of an ORC file's footers that is another one; a file that is compressed has one that is not.
pub fn protobuf(whole: &[u8], random: &mut Random) -> Vec<u8> {
    let (body, last) = whole.split_at(whole.len() - 1);
    let (body, postscript) = body.split_at(body.len() - last[0] as usize);
    let told = PostScript::decode(postscript).unwrap();
    let (mut body, footer) = body.split_at(body.len() - told.footer_length() as usize);
    let mut footer = footer.to_vec();
    let mut postscript = postscript.to_vec();
    let mut stripe = Vec::new();
    match random.below(8) {
        0 => postscript = fields(&postscript, random),
        part if told.compression.unwrap_or(0) == 0 => {
            let mut read = Footer::decode(footer.as_slice()).unwrap();
            if part < 4 {
                let found = &mut read.stripes[0];
                let start = (found.offset() + found.index_length() + found.data_length()) as usize;
                stripe = fields(&body[start..start + found.footer_length() as usize], random);
                found.footer_length = Some(stripe.len() as u64);
                body = &body[..start];
                footer = read.encode_to_vec();
            } else {
                footer = fields(&footer, random);
            }
            let told = PostScript {
                footer_length: Some(footer.len() as u64),
                metadata_length: Some(0),
                ..told
            };
            postscript = told.encode_to_vec();
        }
        _ => return bytes(whole, random),
    }
    [body, &stripe, &footer, &postscript, &[postscript.len() as u8]].concat()
}

/// A message of Protocol Buffers of which one field is another one, is gone, or comes twice.
fn fields(message: &[u8], random: &mut Random) -> Vec<u8> {
    let Some(mut found) = split(message).filter(|found| !found.is_empty()) else {
        return bytes(message, random);
    };
    let place = random.below(found.len());
    match (random.below(8), &found[place]) {
        (0, _) => drop(found.remove(place)),
        (1, twice) => found.insert(place, twice.clone()),
        (_, (tag, value)) => {
            let value = match tag & 7 {
                0 => varint(random.number()),
                2 => fields(value, random),
                _ => value.iter().map(|_| random.below(256) as u8).collect(),
            };
            found[place].1 = value;
        }
    }
    let parts = found.iter().flat_map(|(tag, value)| {
        let length = if tag & 7 == 2 {
            varint(value.len() as u64)
        } else {
            Vec::new()
        };
        [varint(*tag), length, value.clone()]
    });
    parts.flatten().collect()
}

/// The fields of a message, by their tags; those of a length without it.
fn split(mut left: &[u8]) -> Option<Vec<(u64, Vec<u8>)>> {
    let mut found = Vec::new();
    while !left.is_empty() {
        let tag = number(&mut left)?;
        let before = left;
        let length = match tag & 7 {
            0 => {
                number(&mut left)?;
                let length = before.len() - left.len();
                left = before;
                length
            }
            1 => 8,
            2 => number(&mut left)? as usize,
            5 => 4,
            _ => return None,
        };
        let (value, rest) = left.split_at_checked(length)?;
        found.push((tag, value.to_vec()));
        left = rest;
    }
    Some(found)
}

fn number(left: &mut &[u8]) -> Option<u64> {
    let length = left.iter().position(|byte| *byte < 0x80)? + 1;
    let (bytes, rest) = left.split_at(length);
    *left = rest;
    let bytes = bytes.iter().rev();
    Some(bytes.fold(0, |number, byte| number << 7 | u64::from(byte & 0x7f)))
}

pub fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}
