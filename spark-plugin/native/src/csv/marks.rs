//! Where the bytes lie that give text its structure, found many at a time.

/// Bytes that are looked at together: a bit of a word for each.
const BLOCK: usize = 64;

/// Adds the places, from `from` on, of the bytes of `text` that are one of `wanted`.
pub fn find(text: &[u8], from: usize, wanted: [u8; 4], marks: &mut Vec<u32>) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") {
        // SAFETY: the processor has what the function was compiled for.
        return unsafe { find_avx2(text, from, wanted, marks) };
    }
    blocks(text, from, marks, |block| mask(block, wanted));
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1")]
fn find_avx2(text: &[u8], from: usize, wanted: [u8; 4], marks: &mut Vec<u32>) {
    use std::arch::x86_64::*;
    let [a, b, c, d] = wanted.map(|byte| _mm256_set1_epi8(byte as i8));
    let half = |half: &[u8; BLOCK / 2]| {
        // SAFETY: the array has the 32 bytes that are read.
        let bytes = unsafe { _mm256_loadu_si256(half.as_ptr().cast()) };
        let one = _mm256_or_si256(_mm256_cmpeq_epi8(bytes, a), _mm256_cmpeq_epi8(bytes, b));
        let other = _mm256_or_si256(_mm256_cmpeq_epi8(bytes, c), _mm256_cmpeq_epi8(bytes, d));
        u64::from(_mm256_movemask_epi8(_mm256_or_si256(one, other)) as u32)
    };
    blocks(text, from, marks, |block| {
        let (low, high) = block.split_at(BLOCK / 2);
        half(low.try_into().unwrap()) | half(high.try_into().unwrap()) << 32
    });
}

/// Which bytes of a block are wanted, the first in the lowest bit.
fn mask(block: &[u8; BLOCK], wanted: [u8; 4]) -> u64 {
    let is = |byte: &u8| u64::from(wanted.contains(byte));
    block.iter().rev().fold(0, |mask, byte| mask << 1 | is(byte))
}

#[inline(always)]
fn blocks(text: &[u8], from: usize, marks: &mut Vec<u32>, mask: impl Fn(&[u8; BLOCK]) -> u64) {
    let mut at = from;
    let (whole, rest) = text[from..].as_chunks::<BLOCK>();
    for block in whole {
        add(mask(block), at, marks);
        at += BLOCK;
    }
    let mut last = [0; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    let within = (1_u64 << rest.len()) - 1;
    add(mask(&last) & within, at, marks);
}

#[inline(always)]
fn add(mut mask: u64, at: usize, marks: &mut Vec<u32>) {
    marks.reserve(BLOCK);
    while mask != 0 {
        marks.push((at + mask.trailing_zeros() as usize) as u32);
        mask &= mask - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_found() {
        let mut seed = 7_u32;
        for length in 0..300 {
            let random = |_| {
                seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
                b",\n\r\"ab\0\xff"[(seed >> 24) as usize % 8]
            };
            let text: Vec<u8> = (0..length).map(random).collect();
            let wanted = *b",\n\r\"";
            for from in [0, length / 3] {
                let expected: Vec<_> = (from..length)
                    .filter(|at| wanted.contains(&text[*at]))
                    .map(|at| at as u32)
                    .collect();
                let mut found = Vec::new();
                find(&text, from, wanted, &mut found);
                assert_eq!(found, expected);
                let mut plain = Vec::new();
                blocks(&text, from, &mut plain, |block| mask(block, wanted));
                assert_eq!(plain, expected);
            }
        }
    }
}
