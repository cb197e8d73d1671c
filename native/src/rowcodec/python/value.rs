//! What is read from objects that have no layout to rely on.

use std::sync::Arc;

use pyo3::ffi::{self, PyObject};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::known::{Known, Raised};
use super::record::{Name, Names};

pub struct Decimal {
    pub value: i128,
    pub scale: u8,
}

const DIGITS: usize = 38;

/// None where Arrow's decimals of 128 bits cannot tell it exactly, zeros at the end and sign of zero included.
pub fn decimal(o: *mut PyObject) -> Result<Option<Decimal>, Raised> {
    let text = text(o)?;
    Ok(parsed(&text))
}

/// What `str()` gives.
pub fn text(o: *mut PyObject) -> Result<String, Raised> {
    unsafe {
        let text = ffi::PyObject_Str(o);
        if text.is_null() {
            return Err(Raised);
        }
        let mut length = 0;
        let start = ffi::PyUnicode_AsUTF8AndSize(text, &mut length);
        if start.is_null() {
            ffi::Py_DECREF(text);
            return Err(Raised);
        }
        let bytes = std::slice::from_raw_parts(start.cast::<u8>(), length as usize);
        let found = String::from_utf8_lossy(bytes).into_owned();
        ffi::Py_DECREF(text);
        Ok(found)
    }
}

fn parsed(text: &str) -> Option<Decimal> {
    let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (digits, exponent) = match rest.split_once('E') {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
        None => (rest, 0),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let scale = i32::try_from(part.len()).ok()?.checked_sub(exponent)?;
    let mut value: i128 = 0;
    let mut seen = 0;
    for digit in whole.bytes().chain(part.bytes()) {
        if !digit.is_ascii_digit() {
            return None;
        }
        seen += usize::from(seen > 0 || digit != b'0');
        if seen > DIGITS {
            return None;
        }
        value = value * 10 + i128::from(digit - b'0');
    }
    let sound = (0..=DIGITS as i32).contains(&scale) && !(negative && value == 0) && !digits.is_empty();
    sound.then_some(Decimal {
        value: if negative { -value } else { value },
        scale: scale as u8,
    })
}

/// Its sixteen bytes; None where it tells more than these.
pub fn uuid(py: Python<'_>, known: &Known, o: *mut PyObject) -> Result<Option<[u8; 16]>, Raised> {
    let found = || -> PyResult<Option<[u8; 16]>> {
        let o = unsafe { Bound::from_borrowed_ptr(py, o) };
        if !o.getattr(intern!(py, "is_safe"))?.is(known.safe_unknown.bind(py)) {
            return Ok(None);
        }
        let value: u128 = o.getattr(intern!(py, "int"))?.extract()?;
        Ok(Some(value.to_be_bytes()))
    };
    found().map_err(|error| Raised::set(py, error))
}

/// Append the bytes of a scalar of numpy.
pub fn numpy(o: *mut PyObject, out: &mut Vec<u8>) -> Result<(), Raised> {
    unsafe {
        let mut view = std::mem::zeroed::<ffi::Py_buffer>();
        if ffi::PyObject_GetBuffer(o, &mut view, ffi::PyBUF_SIMPLE) != 0 {
            return Err(Raised);
        }
        out.extend_from_slice(std::slice::from_raw_parts(
            view.buf.cast::<u8>(),
            view.len as usize,
        ));
        ffi::PyBuffer_Release(&mut view);
        Ok(())
    }
}

/// Two's complement, little-endian, without more bytes than needed.
pub fn int_bytes(py: Python<'_>, o: *mut PyObject) -> Result<Vec<u8>, Raised> {
    let found = || -> PyResult<Vec<u8>> {
        let o = unsafe { Bound::from_borrowed_ptr(py, o) };
        let bits: usize = o.call_method0(intern!(py, "bit_length"))?.extract()?;
        let options = pyo3::types::PyDict::new(py);
        options.set_item(intern!(py, "signed"), true)?;
        let bytes = o.call_method(
            intern!(py, "to_bytes"),
            (bits / 8 + 1, intern!(py, "little")),
            Some(&options),
        )?;
        Ok(bytes.cast::<PyBytes>()?.as_bytes().to_vec())
    };
    found().map_err(|error| Raised::set(py, error))
}

/// Whether an object is a text that is this name.
pub fn is_name(o: *mut PyObject, name: &Name) -> bool {
    let there = name.object.as_ptr();
    o == there
        || unsafe { ffi::Py_TYPE(o) == &raw mut ffi::PyUnicode_Type && ffi::PyUnicode_Compare(o, there) == 0 }
}

/// The `__dict__` of an instance, borrowed from it. It is only read while the instance is held.
pub fn instance_dict(o: *mut PyObject) -> Option<*mut PyObject> {
    unsafe {
        let dict = ffi::PyObject_GenericGetDict(o, std::ptr::null_mut());
        if dict.is_null() {
            ffi::PyErr_Clear();
            return None;
        }
        ffi::Py_DECREF(dict);
        Some(dict)
    }
}

/// The values of a dict whose keys are these names, in this order.
pub fn fields_of(dict: *mut PyObject, names: &Names) -> Option<Vec<*mut PyObject>> {
    let mut values = Vec::with_capacity(names.0.len());
    let (mut position, mut key, mut value) = (0, std::ptr::null_mut(), std::ptr::null_mut());
    unsafe {
        if ffi::PyDict_Size(dict) as usize != names.0.len() {
            return None;
        }
        for name in &*names.0 {
            if ffi::PyDict_Next(dict, &mut position, &mut key, &mut value) == 0 || !is_name(key, name) {
                return None;
            }
            values.push(value);
        }
    }
    Some(values)
}

/// The values of a dataclass's instance that has its fields, in their order, and nothing else.
pub fn state(_: Python<'_>, o: *mut PyObject, names: &Names) -> Result<Option<Vec<*mut PyObject>>, Raised> {
    Ok(instance_dict(o).and_then(|dict| fields_of(dict, names)))
}

/// The list of names that a `Row` has, borrowed, if it has that and nothing else.
pub fn row_fields(o: *mut PyObject) -> Option<*mut PyObject> {
    let dict = instance_dict(o)?;
    let (mut position, mut key, mut value) = (0, std::ptr::null_mut(), std::ptr::null_mut());
    unsafe {
        if ffi::PyDict_Size(dict) != 1 || ffi::PyDict_Next(dict, &mut position, &mut key, &mut value) == 0 {
            return None;
        }
        let named = ffi::Py_TYPE(key) == &raw mut ffi::PyUnicode_Type
            && ffi::PyUnicode_CompareWithASCIIString(key, c"__fields__".as_ptr()) == 0;
        (named && ffi::Py_TYPE(value) == &raw mut ffi::PyList_Type).then_some(value)
    }
}

pub fn row_names(py: Python<'_>, o: *mut PyObject) -> Result<Option<Names>, Raised> {
    let Some(list) = row_fields(o) else {
        return Ok(None);
    };
    let names: Option<Arc<[Name]>> = (0..unsafe { ffi::PyList_Size(list) })
        .map(|n| Name::of(py, unsafe { ffi::PyList_GetItem(list, n) }))
        .collect();
    Ok(names.map(Names))
}

/// What `Decimal` reads.
pub fn decimal_text(value: i128, scale: i32) -> String {
    if scale <= 0 {
        return if scale == 0 {
            value.to_string()
        } else {
            format!("{value}E{}", -scale)
        };
    }
    let scale = scale as usize;
    let digits = format!("{:0>width$}", value.unsigned_abs(), width = scale + 1);
    let (whole, part) = digits.split_at(digits.len() - scale);
    format!("{}{whole}.{part}", if value < 0 { "-" } else { "" })
}

/// A float of 16 bits.
pub fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
    }
}
