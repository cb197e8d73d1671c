//! Numbers, as Java reads them.

use super::dialect::Dialect;

/// Powers of ten that a double holds exactly.
const EXACT: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

pub fn boolean(text: &[u8]) -> Option<bool> {
    if text.eq_ignore_ascii_case(b"true") {
        return Some(true);
    }
    text.eq_ignore_ascii_case(b"false").then_some(false)
}

/// A whole number of the type asked for.
#[inline(always)]
pub fn whole<T: TryFrom<i64>>(text: &[u8]) -> Option<T> {
    T::try_from(long(text)?).ok()
}

#[inline(always)]
fn long(text: &[u8]) -> Option<i64> {
    let (negative, digits) = sign(text);
    if digits.is_empty() {
        return None;
    }
    if digits.len() > 18 {
        return digits.iter().try_fold(0_i64, |value, byte| {
            let digit = i64::from(digit(*byte)?);
            let ten = value.checked_mul(10)?;
            if negative {
                ten.checked_sub(digit)
            } else {
                ten.checked_add(digit)
            }
        });
    }
    let mut value = 0;
    for byte in digits {
        value = value * 10 + i64::from(digit(*byte)?);
    }
    Some(if negative { -value } else { value })
}

#[inline(always)]
fn sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    }
}

#[inline(always)]
fn digit(byte: u8) -> Option<u8> {
    let digit = byte.wrapping_sub(b'0');
    (digit < 10).then_some(digit)
}

/// A number in decimal notation: a few digits, and how many of them stand behind the point.
struct Short {
    negative: bool,
    digits: u64,
    scale: usize,
}

/// None if it has an exponent, more digits than a word holds, or is no number at all.
#[inline(always)]
fn short(text: &[u8]) -> Option<Short> {
    let (negative, rest) = sign(text);
    if rest.len() > 19 || rest.is_empty() {
        return None;
    }
    let mut digits = 0_u64;
    let mut point = None;
    for (at, byte) in rest.iter().enumerate() {
        match digit(*byte) {
            Some(digit) => digits = digits * 10 + u64::from(digit),
            None if *byte == b'.' && point.is_none() => point = Some(at),
            None => return None,
        }
    }
    let scale = match point {
        None => 0,
        Some(_) if rest.len() == 1 => return None,
        Some(at) => rest.len() - at - 1,
    };
    Some(Short {
        negative,
        digits,
        scale,
    })
}

pub fn double(text: &[u8], dialect: &Dialect) -> Option<f64> {
    match short(text) {
        // Both are exact, so that one division rounds right.
        Some(Short {
            negative,
            digits,
            scale,
        }) if digits <= 1 << 53 && scale < EXACT.len() => {
            let value = digits as f64 / EXACT[scale];
            Some(if negative { -value } else { value })
        }
        _ => float(text, dialect, hexadecimal),
    }
}

pub fn single(text: &[u8], dialect: &Dialect) -> Option<f32> {
    match short(text) {
        Some(Short {
            negative,
            digits,
            scale,
        }) if digits <= 1 << 24 && scale <= 10 => {
            let value = digits as f32 / EXACT[scale] as f32;
            Some(if negative { -value } else { value })
        }
        // From a double, which has more than twice the bits, hexadecimal digits round as they do at once but for ties.
        _ => float(text, dialect, |text| hexadecimal(text).map(|value| value as f32)),
    }
}

fn float<T: std::str::FromStr>(
    text: &[u8],
    dialect: &Dialect,
    hexadecimal: fn(&[u8]) -> Option<T>,
) -> Option<T> {
    let parsed = |text: &str| text.parse().ok();
    let text = std::str::from_utf8(text).ok()?;
    if text == dialect.nan_value {
        return parsed("NaN");
    }
    if text == dialect.negative_inf {
        return parsed("-inf");
    }
    if text == dialect.positive_inf {
        return parsed("inf");
    }
    let text = text.trim_matches(|c| c <= ' ');
    let (negative, rest) = sign(text.as_bytes());
    match rest {
        b"NaN" => return parsed("NaN"),
        b"Infinity" => return parsed(if negative { "-inf" } else { "inf" }),
        [b'0', b'x' | b'X', ..] => return hexadecimal(text.as_bytes()),
        _ => {}
    }
    let text = text.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(text);
    // Rust knows words, too.
    let plain = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E');
    if text.bytes().all(|byte| plain(&byte)) {
        parsed(text)
    } else {
        None
    }
}

/// As in `-0x1.8p3`: digits to the base of 16, and a power of two.
fn hexadecimal(text: &[u8]) -> Option<f64> {
    let (negative, rest) = sign(text);
    let rest = rest
        .strip_suffix(b"f")
        .or(rest.strip_suffix(b"F"))
        .unwrap_or(rest);
    let rest = rest
        .strip_suffix(b"d")
        .or(rest.strip_suffix(b"D"))
        .unwrap_or(rest);
    let at = rest.iter().position(|byte| matches!(byte, b'p' | b'P'))?;
    let power: i64 = whole(&rest[at + 1..])?;
    let (mut digits, mut behind, mut point, mut any) = (0_u64, 0_i64, false, false);
    for byte in &rest[2..at] {
        if *byte == b'.' && !point {
            point = true;
            continue;
        }
        let digit = u64::from((*byte as char).to_digit(16)?);
        any = true;
        if digits >> 58 == 0 {
            digits = digits << 4 | digit;
            behind += i64::from(point);
        } else {
            // What a double does not hold tells but on which side of a tie it is.
            digits |= u64::from(digit != 0);
            behind -= i64::from(!point);
        }
    }
    let power = i32::try_from(power.saturating_sub(behind * 4).clamp(-5000, 5000)).ok()?;
    // In two steps, as neither may leave the range before the other brings it back.
    let value = digits as f64 * 2_f64.powi(power / 2) * 2_f64.powi(power - power / 2);
    any.then_some(if negative { -value } else { value })
}

/// A decimal with so many digits behind the point, rounded half up; none if it has more digits than `precision`.
pub fn decimal(text: &[u8], precision: u8, scale: i8) -> Option<i128> {
    let scale = i64::from(scale);
    if let Some(found) = short(text)
        && let Ok(more) = u32::try_from(scale - found.scale as i64)
        && let Some(factor) = 10_i128.checked_pow(more)
        && let Some(value) = i128::from(found.digits).checked_mul(factor)
    {
        return within(value, precision).map(|value| if found.negative { -value } else { value });
    }
    let Long {
        negative,
        digits,
        scale: found,
    } = Long::read(text)?;
    let more = scale - found;
    let kept = if more < 0 {
        digits
            .len()
            .saturating_sub(usize::try_from(-more).unwrap_or(usize::MAX))
    } else {
        digits.len()
    };
    if kept > usize::from(precision) {
        return None;
    }
    let mut value = digits[..kept]
        .iter()
        .fold(0_i128, |value, digit| value * 10 + i128::from(*digit));
    if more > 0 && value != 0 {
        value = value.checked_mul(10_i128.checked_pow(u32::try_from(more).ok()?)?)?;
    }
    // The first digit that goes; it is 0 where all go and more would.
    let gone = digits.len() as i64 + more.min(0);
    if more < 0 && gone >= 0 && digits.get(kept).is_some_and(|digit| *digit >= 5) {
        value += 1;
    }
    within(value, precision).map(|value| if negative { -value } else { value })
}

fn within(value: i128, precision: u8) -> Option<i128> {
    (value < 10_i128.checked_pow(u32::from(precision))?).then_some(value)
}

/// A decimal of any length, as Java's `BigDecimal` reads it.
pub struct Long {
    negative: bool,
    /// From 0 to 9, the first no zero.
    digits: Vec<u8>,
    /// How many digits stand behind the point; below 0, how many zeros before it are not written.
    pub scale: i64,
}

impl Long {
    /// Commas between digits are left out, as Spark does.
    pub fn read(text: &[u8]) -> Option<Self> {
        Self::strictly(
            &text
                .iter()
                .copied()
                .filter(|byte| *byte != b',')
                .collect::<Vec<_>>(),
        )
    }

    pub fn strictly(text: &[u8]) -> Option<Self> {
        let (negative, rest) = sign(text);
        let end = rest.iter().position(|byte| matches!(byte, b'e' | b'E'));
        let power = match end {
            None => 0,
            Some(at) => i64::from(whole::<i32>(&rest[at + 1..])?),
        };
        let rest = &rest[..end.unwrap_or(rest.len())];
        let point = rest.iter().position(|byte| *byte == b'.');
        let digits = rest.iter().enumerate().filter(|(at, _)| Some(*at) != point);
        let digits = digits.map(|(_, byte)| digit(*byte)).collect::<Option<Vec<_>>>()?;
        if digits.is_empty() {
            return None;
        }
        let zeros = digits.iter().take_while(|digit| **digit == 0).count();
        let scale = point.map_or(0, |at| (rest.len() - at - 1) as i64) - power;
        i32::try_from(scale).ok()?;
        Some(Long {
            negative,
            digits: digits[zeros..].to_vec(),
            scale,
        })
    }

    /// How many digits it has; that of zero is one.
    pub fn precision(&self) -> usize {
        self.digits.len().max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_of_their_type() {
        assert_eq!(whole::<i64>(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(whole::<i64>(b"9223372036854775808"), None);
        assert_eq!(whole::<i32>(b"00000000000000000000000007"), Some(7));
        assert_eq!(whole::<i8>(b"128"), None);
        for wrong in ["", "-", "+-1", "1 ", "1.0", "0x1", "١"] {
            assert_eq!(whole::<i64>(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn decimals_are_rounded_half_up() {
        assert_eq!(decimal(b"1.005", 5, 2), Some(101));
        assert_eq!(decimal(b"-1.005", 5, 2), Some(-101));
        assert_eq!(decimal(b"0.0049", 5, 2), Some(0));
        assert_eq!(decimal(b"5e-3", 5, 2), Some(1));
        assert_eq!(decimal(b"999.995", 5, 2), None);
        assert_eq!(decimal(b"1,234.5", 10, 1), Some(12_345));
        assert_eq!(decimal(b"0e999", 5, 2), Some(0));
        assert_eq!(decimal(b"1e999", 38, 0), None);
        assert_eq!(
            decimal(b"99999999999999999999999999999999999999", 38, 0),
            Some(10_i128.pow(38) - 1)
        );
    }

    #[test]
    fn hexadecimal_digits_are_those_of_java() {
        assert_eq!(hexadecimal(b"0x1.8p3"), Some(12.0));
        assert_eq!(hexadecimal(b"-0x.8P1"), Some(-1.0));
        assert_eq!(hexadecimal(b"0x1"), None);
        assert_eq!(hexadecimal(b"0xp1"), None);
    }
}
