//! How long the lists of an ORC stripe say that they are: no longer than there can be values for, since `orc-rust` asks
//! for memory for as many before it reads one.

use std::collections::HashMap;

use orc_rust::proto::column_encoding::Kind as Encoding;
use orc_rust::proto::stream::Kind as Streams;
use orc_rust::proto::r#type::Kind;
use orc_rust::proto::{Stream, StripeFooter, Type};

use crate::packed::Bytes;

/// Values that are written in a byte, at most: bits, of which two bytes repeat eight up to 130 times.
const DENSEST: u64 = 520;

/// The streams of a stripe, by what they say of themselves.
pub struct Lengths<'a> {
    types: &'a [Type],
    footer: &'a StripeFooter,
    /// By type, how many bytes all its streams become at most.
    bytes: HashMap<usize, u64>,
    /// By list or map, its lengths.
    lengths: HashMap<usize, Vec<u8>>,
}

impl<'a> Lengths<'a> {
    pub fn new(types: &'a [Type], footer: &'a StripeFooter) -> Self {
        Lengths {
            types,
            footer,
            bytes: HashMap::new(),
            lengths: HashMap::new(),
        }
    }

    /// Adds a stream, which becomes so many bytes at most.
    pub fn add(&mut self, stream: &Stream, most: u64, unpacked: impl FnOnce() -> Option<Vec<u8>>) {
        let place = stream.column() as usize;
        *self.bytes.entry(place).or_insert(0) += most;
        let kind = self.types.get(place).map(Type::kind);
        if stream.kind() == Streams::Length && matches!(kind, Some(Kind::List | Kind::Map)) {
            self.lengths.insert(place, unpacked().unwrap_or_default());
        }
    }

    /// # Errors
    /// What is wrong with the lengths within a type.
    pub fn check(&self, place: usize) -> Result<(), &'static str> {
        let found = &self.types[place];
        let encoding = self
            .footer
            .columns
            .get(place)
            .ok_or("its encodings are damaged")?;
        match found.kind() {
            Kind::List | Kind::Map => {
                let values = found.subtypes.iter().map(|child| self.values(*child as usize));
                let most = values.min().unwrap_or(0);
                let bytes = self.lengths.get(&place).map_or(&[][..], Vec::as_slice);
                let second = matches!(encoding.kind(), Encoding::DirectV2 | Encoding::DictionaryV2);
                if sum(bytes, second, most).is_none_or(|sum| sum > most) {
                    return Err("its lists are longer than it has values for");
                }
            }
            Kind::String | Kind::Varchar | Kind::Char
                if u64::from(encoding.dictionary_size()) > self.values(place) =>
            {
                return Err("its dictionary is larger than it has values for");
            }
            _ => {}
        }
        let mut children = found.subtypes.iter();
        children.try_for_each(|child| self.check(*child as usize))
    }

    /// How many values of a type there can be.
    fn values(&self, place: usize) -> u64 {
        let found = &self.types[place];
        if found.kind() == Kind::Struct && found.subtypes.is_empty() {
            return u64::MAX; // which take no memory
        }
        let own = self
            .bytes
            .get(&place)
            .copied()
            .unwrap_or(0)
            .saturating_mul(DENSEST);
        let within = found.subtypes.iter().map(|child| self.values(*child as usize));
        match found.kind() {
            Kind::Struct => within.fold(own, u64::max),
            _ => own,
        }
    }
}

/// The sum of numbers of 0 or more, in the first or second of ORC's run-length encodings; none if they are damaged, or any
/// is beyond the largest.
fn sum(bytes: &[u8], second: bool, largest: u64) -> Option<u64> {
    let mut runs = Runs {
        bytes: Bytes(bytes),
        sum: 0,
        largest: largest.into(),
    };
    while !runs.bytes.0.is_empty() {
        if second { runs.second()? } else { runs.first()? }
    }
    u64::try_from(runs.sum).ok()
}

struct Runs<'a> {
    bytes: Bytes<'a>,
    sum: i128,
    largest: i128,
}

impl Runs<'_> {
    fn add(&mut self, number: i128) -> Option<()> {
        self.sum += number;
        (0..=self.largest).contains(&number).then_some(())
    }

    fn first(&mut self) -> Option<()> {
        let control = self.bytes.number(1)?;
        if control >= 0x80 {
            for _ in control..0x100 {
                let number = self.bytes.varint()?;
                self.add(number.into())?;
            }
            return Some(());
        }
        let step = self.bytes.number(1)? as u8 as i8;
        let base = i128::from(self.bytes.varint()?);
        (0..i128::from(control) + 3).try_for_each(|place| self.add(base + place * i128::from(step)))
    }

    fn second(&mut self) -> Option<()> {
        let head = self.bytes.number(1)?;
        if head >> 6 == 0 {
            let number = big(self.bytes.take((head >> 3 & 7) + 1)?);
            return (0..(head & 7) + 3).try_for_each(|_| self.add(number));
        }
        let code = head >> 1 & 0x1f;
        let count = ((head & 1) << 8 | self.bytes.number(1)?) + 1;
        match head >> 6 {
            1 => self
                .bits(count, width(code))?
                .into_iter()
                .try_for_each(|number| self.add(number)),
            2 => self.patched(count, width(code)),
            _ => self.steps(count, if code == 0 { 0 } else { width(code) }),
        }
    }

    /// Numbers above a base, some of which are larger than so many bits.
    fn patched(&mut self, count: u64, bits: u32) -> Option<()> {
        let (third, fourth) = (self.bytes.number(1)?, self.bytes.number(1)?);
        let (gap_bits, patches) = ((fourth >> 5) as u32 + 1, fourth & 0x1f);
        let patch_bits = width(third & 0x1f);
        let bytes = (third >> 5) + 1;
        let base = big(self.bytes.take(bytes)?);
        let sign = 1 << (8 * bytes - 1);
        let base = if base & sign == 0 { base } else { -(base ^ sign) };
        let mut numbers = self.bits(count, bits)?;
        let mut place = 0;
        for patch in self.bits(patches, fixed(gap_bits + patch_bits))? {
            place += usize::try_from(patch >> patch_bits).ok()?;
            let high = patch & ((1 << patch_bits) - 1);
            *numbers.get_mut(place)? |= high.checked_shl(bits).filter(|_| bits + patch_bits < 127)?;
        }
        numbers.into_iter().try_for_each(|number| self.add(base + number))
    }

    /// Numbers of which each is one step from the one before, all steps to the same side.
    fn steps(&mut self, count: u64, bits: u32) -> Option<()> {
        let mut number = i128::from(self.bytes.varint()?);
        let step = self.bytes.varint()?;
        let step = i128::from((step >> 1) as i64 ^ -((step & 1) as i64));
        self.add(number)?;
        let mut more = vec![step.abs()];
        match bits {
            0 => more.resize(count as usize, step.abs()),
            _ => more.extend(self.bits(count.saturating_sub(2), bits)?),
        }
        more.truncate(count as usize - 1);
        more.into_iter().try_for_each(|by| {
            number += if step < 0 { -by } else { by };
            self.add(number)
        })
    }

    /// So many numbers of so many bits each, the highest bit first, up to the end of a byte.
    fn bits(&mut self, count: u64, bits: u32) -> Option<Vec<i128>> {
        let bytes = self.bytes.take((count * u64::from(bits)).div_ceil(8))?;
        let number = |place: u64| {
            let (begin, end) = (place * u64::from(bits), (place + 1) * u64::from(bits));
            let within = &bytes[(begin / 8) as usize..end.div_ceil(8) as usize];
            let unused = end.next_multiple_of(8) - end;
            big(within) >> unused & ((1 << bits) - 1)
        };
        Some((0..count).map(number).collect())
    }
}

/// The number of some bytes, the highest one first.
fn big(bytes: &[u8]) -> i128 {
    bytes
        .iter()
        .fold(0, |number, byte| number << 8 | i128::from(*byte))
}

/// How many bits a code of five bits stands for.
fn width(code: u64) -> u32 {
    match code {
        0..24 => code as u32 + 1,
        24..28 => 26 + 2 * (code as u32 - 24),
        _ => 40 + 8 * (code as u32 - 28),
    }
}

/// The next of those widths.
fn fixed(bits: u32) -> u32 {
    (0..32).map(width).find(|width| *width >= bits).unwrap_or(64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(bytes: &[u8]) -> Option<u64> {
        sum(bytes, true, u64::MAX)
    }

    // The examples of the specification of ORC.

    #[test]
    fn numbers_of_the_first_encoding() {
        assert_eq!(sum(&[0x61, 0x00, 0x07], false, 7), Some(700));
        assert_eq!(sum(&[0x61, 0xff, 0x64], false, 100), Some(5_050));
        assert_eq!(sum(&[0xfb, 0x02, 0x03, 0x06, 0x07, 0x0b], false, 11), Some(29));
        assert_eq!(sum(&[0xfb, 0x02, 0x03, 0x06, 0x07, 0x0b], false, 10), None);
        assert_eq!(sum(&[0x61, 0xff, 0x62], false, 100), None); // down to -1
        assert_eq!(sum(&[0xfb, 0x02], false, 100), None);
    }

    #[test]
    fn numbers_of_the_second_encoding() {
        assert_eq!(second(&[0x0a, 0x27, 0x10]), Some(50_000));
        let direct = [0x5e, 0x03, 0x5c, 0xa1, 0xab, 0x1e, 0xde, 0xad, 0xbe, 0xef];
        assert_eq!(second(&direct), Some(23_713 + 43_806 + 57_005 + 48_879));
        assert_eq!(second(&direct[..9]), None);
        let patched = [
            0x8e, 0x13, 0x2b, 0x21, 0x07, 0xd0, 0x1e, 0x00, 0x14, 0x70, 0x28, 0x32, 0x3c, 0x46, 0x50, 0x5a,
            0x64, 0x6e, 0x78, 0x82, 0x8c, 0x96, 0xa0, 0xaa, 0xb4, 0xbe, 0xfc, 0xe8,
        ];
        let numbers = [2030, 2000, 2020, 1_000_000];
        let others = (0..16).map(|i| 2040 + 10 * i);
        assert_eq!(second(&patched), Some(numbers.into_iter().chain(others).sum()));
        let delta = [0xc6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46];
        assert_eq!(
            second(&delta),
            Some([2, 3, 5, 7, 11, 13, 17, 19, 23, 29].iter().sum())
        );
        // 512 numbers that are 3.
        assert_eq!(second(&[0xc1, 0xff, 0x03, 0x00]), Some(512 * 3));
        assert_eq!(
            sum(
                &[0x3f, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
                true,
                1_000
            ),
            None
        );
    }
}
