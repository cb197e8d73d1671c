//! What compressed bytes can become: a length beyond that is damage, for which no memory is asked.

/// Bytes that LZ4 makes of one, at most.
pub const LZ4: u64 = 255;

/// Bytes that deflate makes of one, at most.
pub const DEFLATE: u64 = 1_032;

/// Bytes that snappy makes of one, at most: 64 of three.
pub const SNAPPY: u64 = 22;

/// Bytes that zstd makes of one, at most: a block of four.
pub const ZSTD: u64 = BLOCK / 4;

/// What a block of zstd holds at most.
const BLOCK: u64 = 128 << 10;

const FRAME: u32 = 0xfd2f_b528;

/// Frames whose bytes are for others; the last four bits differ.
const FOREIGN: u32 = 0x184d_2a50;

/// How many bytes frames of zstd become at most, by their blocks; none if they are damaged.
pub fn zstd(bytes: &[u8]) -> Option<u64> {
    let mut bytes = Bytes(bytes);
    let mut sum = 0;
    while !bytes.0.is_empty() {
        let magic = bytes.number(4)? as u32;
        if magic & !0xf == FOREIGN {
            let length = bytes.number(4)?;
            bytes.take(length)?;
            continue;
        }
        if magic != FRAME {
            return None;
        }
        let told = bytes.number(1)?;
        let whole = told >> 5 & 1;
        let window = 1 - whole;
        let dictionary = [0, 1, 2, 4][(told & 3) as usize];
        let content = if told >> 6 == 0 { whole } else { 1 << (told >> 6) };
        bytes.take(window + dictionary + content)?;
        loop {
            let block = bytes.number(3)?;
            let size = block >> 3;
            let (held, becomes) = match block >> 1 & 3 {
                0 => (size, size),
                1 => (1, size),
                2 => (size, BLOCK),
                _ => return None,
            };
            bytes.take(held)?;
            sum += becomes.min(BLOCK);
            if block & 1 == 1 {
                break;
            }
        }
        let checksum = if told & 4 == 4 { 4 } else { 0 };
        bytes.take(checksum)?;
    }
    Some(sum)
}

/// Bytes that are taken from the front.
#[derive(Clone, Copy)]
pub struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    pub fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let (taken, left) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = left;
        Some(taken)
    }

    /// A number of so many bytes, 8 at most, the lowest one first.
    pub fn number(&mut self, length: u64) -> Option<u64> {
        let bytes = self.take(length)?.iter().rev();
        Some(bytes.fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// A number of seven bits a byte, the lowest ones first.
    pub fn varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.number(1)?;
            number |= (byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame of one block of each kind: `ab`, six times `x`, and one that is compressed to two bytes.
    const BLOCKS: [u8; 19] = [
        0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58, 0x10, 0, 0, b'a', b'b', 0x32, 0, 0, b'x', 0x15, 0, 0, 1,
    ];

    #[test]
    fn frames_become_what_their_blocks_do() {
        let mut frame = BLOCKS.to_vec();
        assert_eq!(zstd(&frame), None); // cut short
        frame.push(2);
        assert_eq!(zstd(&frame), Some(2 + 6 + BLOCK));
        assert_eq!(
            zstd(&[&frame[..], &frame[..]].concat()),
            Some(2 * (2 + 6 + BLOCK))
        );
        let foreign = [0x51, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 1, 2];
        assert_eq!(zstd(&[&foreign[..], &frame[..]].concat()), Some(2 + 6 + BLOCK));
        assert_eq!(zstd(b"no frame"), None);
    }

    #[test]
    fn numbers_have_their_lowest_bits_first() {
        assert_eq!(Bytes(&[0x02, 0x01]).number(2), Some(0x102));
        assert_eq!(Bytes(&[0x81, 0x01]).varint(), Some(0x81));
        assert_eq!(Bytes(&[0x81]).varint(), None);
        assert_eq!(Bytes(&[0xff; 12]).varint(), None);
    }
}
