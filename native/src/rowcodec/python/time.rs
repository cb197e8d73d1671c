//! Dates and times, and the zones that Arrow can name.

use std::sync::Arc;

use pyo3::ffi::{self, PyObject};
use pyo3::intern;
use pyo3::prelude::*;

use super::known::{Known, Raised, is_type};
use super::shape::Shape;
use crate::rowcodec::wire::Unit;

const DAY: i64 = 86_400_000_000;
const MINUTE: i64 = 60_000_000;
const FIRST_DAY: i64 = -719_162;
const LAST_DAY: i64 = 2_932_896;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ZoneShape {
    /// `datetime.timezone`, whole minutes east of UTC.
    Offset(i32),
    /// `zoneinfo.ZoneInfo`, by its key.
    Named(Arc<str>),
}

impl ZoneShape {
    /// As Arrow writes it.
    pub fn text(&self) -> String {
        match self {
            ZoneShape::Offset(0) => "UTC".into(),
            ZoneShape::Offset(minutes) => {
                let sign = if *minutes < 0 { '-' } else { '+' };
                let minutes = minutes.abs();
                format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
            }
            ZoneShape::Named(key) => key.to_string(),
        }
    }
}

/// Minutes east of UTC of what is written `+05:30`.
pub fn offset_minutes(text: &str) -> Option<i32> {
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = text[1..].split_once(':')?;
    let number = |digits: &str| (digits.len() == 2).then(|| digits.parse::<u8>().ok()).flatten();
    let (hours, minutes) = (i32::from(number(hours)?), i32::from(number(minutes)?));
    (hours < 24 && minutes < 60).then_some(sign * (60 * hours + minutes))
}

/// Days since 1970-01-01, by Howard Hinnant's algorithm.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year - era * 400;
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn civil(days: i64) -> (i32, i32, i32) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted - era * 146_097;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year as i32, month as i32, day as i32)
}

/// Days since 1970-01-01 of a date, or of a datetime's date.
pub fn date(o: *mut PyObject) -> i32 {
    unsafe {
        let year = i64::from(ffi::PyDateTime_GET_YEAR(o));
        days(
            year,
            i64::from(ffi::PyDateTime_GET_MONTH(o)),
            i64::from(ffi::PyDateTime_GET_DAY(o)),
        ) as i32
    }
}

/// Microseconds since 1970 of a datetime's own clock.
pub fn wall(o: *mut PyObject) -> i64 {
    unsafe {
        let seconds = i64::from(ffi::PyDateTime_DATE_GET_HOUR(o)) * 3600
            + i64::from(ffi::PyDateTime_DATE_GET_MINUTE(o)) * 60
            + i64::from(ffi::PyDateTime_DATE_GET_SECOND(o));
        i64::from(date(o)) * DAY + seconds * 1_000_000 + i64::from(ffi::PyDateTime_DATE_GET_MICROSECOND(o))
    }
}

pub fn fold(o: *mut PyObject) -> bool {
    unsafe { ffi::PyDateTime_DATE_GET_FOLD(o) != 0 }
}

/// Microseconds, where 64 bits can tell them.
pub fn delta(o: *mut PyObject) -> Option<i64> {
    let (days, seconds, micros) = delta_parts(o);
    i64::from(days)
        .checked_mul(DAY)?
        .checked_add(i64::from(seconds) * 1_000_000 + i64::from(micros))
}

pub fn delta_parts(o: *mut PyObject) -> (i32, i32, i32) {
    unsafe {
        (
            ffi::PyDateTime_DELTA_GET_DAYS(o),
            ffi::PyDateTime_DELTA_GET_SECONDS(o),
            ffi::PyDateTime_DELTA_GET_MICROSECONDS(o),
        )
    }
}

/// Offset and name of a `datetime.timezone`.
pub fn timezone_parts(py: Python<'_>, zone: *mut PyObject) -> PyResult<(i64, Option<String>)> {
    let zone = unsafe { Bound::from_borrowed_ptr(py, zone) };
    let given = zone.call_method0(intern!(py, "__getinitargs__"))?;
    let offset = delta(given.get_item(0)?.as_ptr()).unwrap_or(0);
    let name = if given.len()? > 1 {
        Some(given.get_item(1)?.extract()?)
    } else {
        None
    };
    Ok((offset, name))
}

/// The key of a `ZoneInfo` that has one. One of a file may be another zone than its key tells: it cannot be pickled.
pub fn zone_key(py: Python<'_>, zone: *mut PyObject) -> Option<String> {
    let zone = unsafe { Bound::from_borrowed_ptr(py, zone) };
    zone.call_method0(intern!(py, "__reduce__")).ok()?;
    zone.getattr(intern!(py, "key")).ok()?.extract().ok()
}

fn zone_shape(py: Python<'_>, known: &Known, zone: *mut PyObject) -> Option<ZoneShape> {
    if zone == known.utc.as_ptr() {
        return Some(ZoneShape::Offset(0));
    }
    if is_type(zone, &known.zone_info) {
        let key = known
            .zone_key(py, zone)
            .filter(|key| offset_minutes(key).is_none() && !key.is_empty())?;
        return Some(ZoneShape::Named(key));
    }
    if is_type(zone, &known.timezone) {
        let (offset, name) = timezone_parts(py, zone).ok()?;
        if name.is_none() && offset % MINUTE == 0 && offset != 0 {
            return Some(ZoneShape::Offset((offset / MINUTE) as i32));
        }
    }
    None
}

/// The zone and the instant of a datetime with a zone, where they tell all of it.
pub fn instant(py: Python<'_>, known: &Known, o: *mut PyObject) -> Result<Option<(ZoneShape, i64)>, Raised> {
    let zone = unsafe { ffi::PyDateTime_DATE_GET_TZINFO(o) };
    let Some(shape) = zone_shape(py, known, zone) else {
        return Ok(None);
    };
    let instant = match &shape {
        ZoneShape::Offset(minutes) if !fold(o) => wall(o) - i64::from(*minutes) * MINUTE,
        ZoneShape::Offset(_) => return Ok(None),
        ZoneShape::Named(_) => {
            let offset = unsafe { Bound::from_borrowed_ptr(py, o) }
                .call_method0(intern!(py, "utcoffset"))
                .map_err(|error| Raised::set(py, error))?;
            let Some(instant) = delta_of(&offset).map(|offset| wall(o) - offset) else {
                return Ok(None);
            };
            let Some(back) = of_instant(instant, zone, true) else {
                return Ok(None);
            };
            let back = unsafe { Bound::from_owned_ptr_or_opt(py, back) };
            let Some(back) = back else {
                unsafe { ffi::PyErr_Clear() };
                return Ok(None);
            };
            // Some times were never on the clock, and some say without need that they were the second time.
            if wall(back.as_ptr()) != wall(o) || fold(back.as_ptr()) != fold(o) {
                return Ok(None);
            }
            instant
        }
    };
    Ok(Some((shape, instant)))
}

fn delta_of(o: &Bound<'_, PyAny>) -> Option<i64> {
    unsafe { ffi::PyDelta_CheckExact(o.as_ptr()) != 0 }
        .then(|| delta(o.as_ptr()))
        .flatten()
}

pub fn shape(py: Python<'_>, known: &Known, o: *mut PyObject) -> Result<Shape, Raised> {
    if unsafe { ffi::PyDateTime_DATE_GET_TZINFO(o) } == known.none.as_ptr() {
        return Ok(if fold(o) { Shape::Variant } else { Shape::DateTime });
    }
    Ok(instant(py, known, o)?.map_or(Shape::Variant, |(zone, _)| Shape::Zoned(zone)))
}

/// A new date, null with an exception set, or None where Python has no such day.
pub fn new_date(days: i64) -> Option<*mut PyObject> {
    if !(FIRST_DAY..=LAST_DAY).contains(&days) {
        return None;
    }
    let (year, month, day) = civil(days);
    unsafe {
        let api = &*ffi::PyDateTimeAPI();
        Some((api.Date_FromDate)(year, month, day, api.DateType))
    }
}

/// A new datetime by its own clock, null with an exception set, or None where Python has no such day.
pub fn new_datetime(wall: i64, fold: bool, zone: *mut PyObject) -> Option<*mut PyObject> {
    let (day, rest) = (wall.div_euclid(DAY), wall.rem_euclid(DAY));
    if !(FIRST_DAY..=LAST_DAY).contains(&day) {
        return None;
    }
    let (year, month, day) = civil(day);
    let (seconds, micros) = ((rest / 1_000_000) as i32, (rest % 1_000_000) as i32);
    unsafe {
        let api = &*ffi::PyDateTimeAPI();
        Some((api.DateTime_FromDateAndTimeAndFold)(
            year,
            month,
            day,
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60,
            micros,
            zone,
            i32::from(fold),
            api.DateTimeType,
        ))
    }
}

/// What the clock of this process shows at an instant, and the fold, as `datetime.fromtimestamp` finds it: a time is the
/// second of its name where the clock was put back within the day before. None beyond the years of the system.
pub fn local(instant: i64) -> Option<(i64, bool)> {
    let seconds = instant.div_euclid(1_000_000);
    let now = offset_at(seconds)?;
    let put_back = now - offset_at(seconds - 86_400)?;
    let fold = put_back < 0 && offset_at(seconds + put_back)? + put_back == now;
    Some((instant.checked_add(now * 1_000_000)?, fold))
}

/// Seconds east of UTC.
fn offset_at(seconds: i64) -> Option<i64> {
    let mut found = std::mem::MaybeUninit::<libc::tm>::uninit();
    unsafe {
        let made = libc::localtime_r(&seconds, found.as_mut_ptr());
        (!made.is_null()).then(|| (*made).tm_gmtoff)
    }
}

/// A new datetime in a zone at an instant; as above.
pub fn of_instant(instant: i64, zone: *mut PyObject, named: bool) -> Option<*mut PyObject> {
    let utc = new_datetime(instant, false, zone)?;
    if !named || utc.is_null() {
        return Some(utc);
    }
    unsafe {
        let name = ffi::PyUnicode_InternFromString(c"fromutc".as_ptr());
        let found = ffi::PyObject_CallMethodObjArgs(zone, name, utc, std::ptr::null_mut::<PyObject>());
        ffi::Py_DECREF(name);
        ffi::Py_DECREF(utc);
        Some(found)
    }
}

/// Whether a zone raised that its clock would be beyond Python's days; then nothing is raised any more.
pub fn is_beyond() -> bool {
    unsafe {
        let beyond = ffi::PyErr_ExceptionMatches(ffi::PyExc_OverflowError) != 0;
        if beyond {
            ffi::PyErr_Clear();
        }
        beyond
    }
}

pub fn new_delta(micros: i64) -> Option<*mut PyObject> {
    let (days, rest) = (micros.div_euclid(DAY), micros.rem_euclid(DAY));
    Some(delta_of_parts(
        i32::try_from(days).ok()?,
        (rest / 1_000_000) as i32,
        (rest % 1_000_000) as i32,
    ))
}

pub fn delta_of_parts(days: i32, seconds: i32, micros: i32) -> *mut PyObject {
    unsafe {
        let api = &*ffi::PyDateTimeAPI();
        (api.Delta_FromDelta)(days, seconds, micros, 1, api.DeltaType)
    }
}

/// As microseconds, where it is whole ones.
pub fn micros(value: i64, unit: Unit) -> Option<i64> {
    match unit {
        Unit::Second => value.checked_mul(1_000_000),
        Unit::Milli => value.checked_mul(1000),
        Unit::Micro => Some(value),
        Unit::Nano => (value % 1000 == 0).then_some(value / 1000),
    }
}
