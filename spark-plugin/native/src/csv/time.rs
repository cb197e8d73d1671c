//! Dates and times, in the forms that Spark reads where no pattern is given.

use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::time::{SystemTime, UNIX_EPOCH};

use super::zone::Zone;

const MICROS: i64 = 1_000_000;
const DAY_SECONDS: i64 = 86_400;

/// Why a text is no time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrong {
    Malformed,
    /// It is one, of a zone that it names: when clocks of zones by name change is not known here.
    NamedZone,
}

/// Days since 1970.
pub fn date(text: &[u8]) -> Option<i32> {
    if let Some(days) = iso_date(text) {
        return Some(days);
    }
    day(trimmed(&without_gmt(text)), 7).map(|(days, _)| days)
}

/// Of the form 2013-01-31.
pub fn iso_date(text: &[u8]) -> Option<i32> {
    let &[a, b, c, d, b'-', e, f, b'-', g, h] = text else {
        return None;
    };
    let year = number(&[a, b, c, d])?;
    days(i64::from(year), number(&[e, f])?, number(&[g, h])?)
}

fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then(|| value * 10 + u32::from(digit))
    })
}

fn days(year: i64, month: u32, day: u32) -> Option<i32> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(leap),
        _ => return None,
    };
    if day == 0 || day > last {
        return None;
    }
    // Years that begin in March have their odd day at the end.
    let year = year - i64::from(month < 3);
    let (cycle, of_cycle) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = i64::from((153 * ((month + 9) % 12) + 2) / 5 + day - 1);
    let found = cycle * 146_097 + of_cycle * 365 + of_cycle / 4 - of_cycle / 100 + of_year - 719_468;
    i32::try_from(found).ok()
}

/// What Spark leaves out before it gives up.
fn without_gmt(text: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, others)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(b"GMT") {
            rest = after;
        } else {
            kept.push(*first);
            rest = others;
        }
    }
    kept
}

fn trimmed(text: &[u8]) -> &[u8] {
    let blank = |byte: &u8| *byte <= b' ' || *byte == 0x7f;
    let begin = text.iter().position(|byte| !blank(byte)).unwrap_or(text.len());
    let end = text
        .iter()
        .rposition(|byte| !blank(byte))
        .map_or(begin, |last| last + 1);
    &text[begin..end]
}

/// A sign, and what comes after.
fn sign(text: &[u8]) -> (i64, Option<u8>, &[u8]) {
    match text {
        [b'-', rest @ ..] => (-1, Some(b'-'), rest),
        [b'+', rest @ ..] => (1, Some(b'+'), rest),
        _ => (1, None, text),
    }
}

/// Up to three numbers, and what comes after the third: the first has so many digits, the others have one or two.
fn fields(
    text: &[u8],
    separator: u8,
    first: RangeInclusive<usize>,
    mut found: [u32; 3],
) -> Option<([u32; 3], &[u8])> {
    let mut rest = text;
    for (place, field) in found.iter_mut().enumerate() {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let fits = if place == 0 {
            first.contains(&digits)
        } else {
            (1..=2).contains(&digits)
        };
        if !fits {
            return None;
        }
        *field = number(&rest[..digits])?;
        rest = &rest[digits..];
        match rest.strip_prefix(&[separator]) {
            Some(after) if place < 2 => rest = after,
            _ if place == 2 || rest.is_empty() => break,
            _ => return None,
        }
    }
    Some((found, rest))
}

/// A year; a year and a month; or a whole date: the days since 1970, and what comes after a blank or a `T`.
fn day(text: &[u8], longest_year: usize) -> Option<(i32, Option<&[u8]>)> {
    let (direction, _, rest) = sign(text);
    let ([year, month, day], rest) = fields(rest, b'-', 4..=longest_year, [1, 1, 1])?;
    let days = days(direction * i64::from(year), month, day)?;
    match rest {
        [] => Some((days, None)),
        [b' ' | b'T', rest @ ..] => Some((days, Some(rest))),
        _ => None,
    }
}

/// What a text says of a time.
struct Parts<'a> {
    /// None where it says a time of day alone.
    days: Option<i32>,
    second: i64,
    micros: i64,
    zone: Option<&'a [u8]>,
}

/// Microseconds since 1970 in UTC, of a text that may name one of the zones `named`.
pub fn moment(text: &[u8], zone: &Zone, named: &HashSet<String>) -> Result<i64, Wrong> {
    match strict_moment(text, zone, named) {
        Err(Wrong::Malformed) if text.windows(3).any(|part| part == b"GMT") => {
            strict_moment(&without_gmt(text), zone, named)
        }
        found => found,
    }
}

/// The same, with nothing left out.
pub fn strict_moment(text: &[u8], zone: &Zone, named: &HashSet<String>) -> Result<i64, Wrong> {
    let parts = parts(text).ok_or(Wrong::Malformed)?;
    let ahead = parts.zone.map(|text| offset(text, named)).transpose()?;
    let to_utc = |clock: i64| match ahead {
        Some(seconds) => Some(clock - seconds),
        None => zone.moment(clock),
    };
    let day = match parts.days {
        Some(day) => i64::from(day),
        None => today(ahead, zone),
    };
    let seconds = to_utc(day * DAY_SECONDS + parts.second);
    let found = seconds.and_then(|seconds| seconds.checked_mul(MICROS)?.checked_add(parts.micros));
    found.ok_or(Wrong::Malformed)
}

/// Microseconds since 1970, on a clock of no zone. One that says its zone is none.
pub fn clock(text: &[u8]) -> Option<i64> {
    let parts = parts(text).filter(|parts| parts.zone.is_none())?;
    let seconds = i64::from(parts.days?) * DAY_SECONDS + parts.second;
    seconds.checked_mul(MICROS)?.checked_add(parts.micros)
}

/// The day that it is there now.
fn today(ahead: Option<i64>, zone: &Zone) -> i64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs() as i64);
    (now + ahead.unwrap_or_else(|| zone.ahead(now))).div_euclid(DAY_SECONDS)
}

fn parts(text: &[u8]) -> Option<Parts<'_>> {
    if let Some(found) = whole_parts(text) {
        return Some(found);
    }
    let text = trimmed(text);
    let (_, signed, rest) = sign(text);
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if signed.is_none() && (rest.first() == Some(&b'T') || rest.get(digits) == Some(&b':')) {
        let (second, micros, zone) = time_of_day(rest.strip_prefix(b"T").unwrap_or(rest))?;
        return Some(Parts {
            days: None,
            second,
            micros,
            zone,
        });
    }
    let (days, rest) = day(text, 6)?;
    let (second, micros, zone) = rest.map_or(Some((0, 0, None)), time_of_day)?;
    Some(Parts {
        days: Some(days),
        second,
        micros,
        zone,
    })
}

/// Of the form 2013-01-31 12:34:56, by far the most common.
fn whole_parts(text: &[u8]) -> Option<Parts<'_>> {
    let (day, rest) = text.split_at_checked(10)?;
    let &[b' ' | b'T', a, b, b':', c, d, b':', e, f] = rest else {
        return None;
    };
    let (hour, minute, second) = (number(&[a, b])?, number(&[c, d])?, number(&[e, f])?);
    let days = iso_date(day)?;
    Some(Parts {
        days: Some(days),
        second: seconds(hour, minute, second)?,
        micros: 0,
        zone: None,
    })
}

fn seconds(hour: u32, minute: u32, second: u32) -> Option<i64> {
    (hour < 24 && minute < 60 && second < 60).then(|| i64::from(hour * 3600 + minute * 60 + second))
}

/// Hours, and what else there is of minutes, seconds, a fraction of them, and a zone.
fn time_of_day(text: &[u8]) -> Option<(i64, i64, Option<&[u8]>)> {
    let ([hour, minute, second], mut rest) = fields(text, b':', 1..=2, [0, 0, 0])?;
    let mut micros = 0;
    if let Some(after) = rest.strip_prefix(b".") {
        let digits = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let kept = digits.min(6);
        micros = i64::from(number(&after[..kept])? * 10_u32.pow(6 - kept as u32));
        rest = &after[digits..];
    }
    let zone = (!rest.is_empty()).then_some(rest);
    Some((seconds(hour, minute, second)?, micros, zone))
}

/// Seconds that clocks are ahead of UTC, from what names a zone.
fn offset(text: &[u8], named: &HashSet<String>) -> Result<i64, Wrong> {
    let text = text.trim_ascii();
    match text {
        b"Z" | b"UTC" | b"GMT" | b"UT" => return Ok(0),
        [b'+' | b'-', ..] => return fixed(text).ok_or(Wrong::Malformed),
        _ => {}
    }
    for name in ["UTC", "GMT", "UT"] {
        if let Some(rest) = text.strip_prefix(name.as_bytes())
            && matches!(rest, [b'+' | b'-', ..])
        {
            return fixed(rest).ok_or(Wrong::Malformed);
        }
    }
    match std::str::from_utf8(text) {
        Ok(name) if named.contains(name) => Err(Wrong::NamedZone),
        _ => Err(Wrong::Malformed),
    }
}

/// As in +1, +01, +0130, +1:30, +01:30, +013045 and +01:30:45.
fn fixed(text: &[u8]) -> Option<i64> {
    let (direction, _, rest) = sign(text);
    let (hour, minute, second) = match *rest {
        [h] => (number(&[h])?, 0, 0),
        [h, k] => (number(&[h, k])?, 0, 0),
        [h, b':', m, n] => (number(&[h])?, number(&[m, n])?, 0),
        [h, b':', m] => (number(&[h])?, number(&[m])?, 0),
        [h, k, b':', m] => (number(&[h, k])?, number(&[m])?, 0),
        [h, k, m, n] | [h, k, b':', m, n] => (number(&[h, k])?, number(&[m, n])?, 0),
        [h, b':', m, n, b':', s, t] => (number(&[h])?, number(&[m, n])?, number(&[s, t])?),
        [h, k, m, n, s, t] | [h, k, b':', m, n, b':', s, t] => {
            (number(&[h, k])?, number(&[m, n])?, number(&[s, t])?)
        }
        _ => return None,
    };
    let seconds = i64::from(hour * 3600 + minute * 60 + second);
    (minute < 60 && second < 60 && seconds <= 18 * 3600).then_some(direction * seconds)
}
