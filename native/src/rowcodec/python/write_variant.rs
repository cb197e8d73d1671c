//! Values that tell their own type, written: see `crate::rowcodec::variant`.

use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::error;
use super::known::{NUMPY, Raised, is_type};
use super::layout::Access;
use super::only::Only;
use super::push::{Context, MOST};
use super::record::Kind;
use super::shape::pairs;
use super::{time, value};
use crate::rowcodec::variant::{DEPTH, tag};

const PROTOCOL: i32 = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    Whole,
    /// It is nested too deep, perhaps within itself, or too large: only pickle can tell it.
    Not,
}

/// Append a value; where it cannot be written, what was appended means nothing.
pub fn write<A: Access>(
    context: &mut Context<'_, '_>,
    o: *mut PyObject,
    out: &mut Vec<u8>,
) -> Result<Written, Raised> {
    nested::<A>(context, o, out, DEPTH - 1)
}

/// Append a whole row, by pickle if need be.
pub fn write_row<A: Access>(
    context: &mut Context<'_, '_>,
    o: *mut PyObject,
    out: &mut Vec<u8>,
) -> Result<(), Raised> {
    let start = out.len();
    if write::<A>(context, o, out)? == Written::Not {
        out.truncate(start);
        context.full = false;
        pickle(context, o, out)?;
    }
    Ok(())
}

fn put_size(out: &mut Vec<u8>, mut size: usize) {
    while size >= 0x80 {
        out.push(size as u8 | 0x80);
        size >>= 7;
    }
    out.push(size as u8);
}

fn put_sized(out: &mut Vec<u8>, bytes: &[u8]) {
    put_size(out, bytes.len());
    out.extend_from_slice(bytes);
}

fn put_raw(out: &mut Vec<u8>, kind: u8, start: *const std::ffi::c_char, length: isize) {
    out.push(kind);
    put_sized(out, unsafe {
        std::slice::from_raw_parts(start.cast(), length as usize)
    });
}

fn nested<A: Access>(
    context: &mut Context<'_, '_>,
    o: *mut PyObject,
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<Written, Raised> {
    if depth == 0 {
        return Ok(Written::Not);
    }
    // No column holds more, and a list may hold one text so often that no memory does.
    if out.len() > MOST {
        context.full = true;
        return Ok(Written::Not);
    }
    let (py, known) = (context.py, context.known);
    let _held: Py<PyAny> = unsafe { Bound::from_borrowed_ptr(py, o) }.unbind();
    let ty = unsafe { ffi::Py_TYPE(o) };
    unsafe {
        if o == known.none.as_ptr() {
            out.push(tag::NONE);
        } else if ty == &raw mut ffi::PyUnicode_Type {
            text::<A>(o, out)?;
        } else if ty == &raw mut ffi::PyLong_Type {
            out.push(tag::INT);
            match A::int(o) {
                Some(value) => put_int(out, value),
                None => put_sized(out, &value::int_bytes(py, o)?),
            }
        } else if ty == &raw mut ffi::PyFloat_Type {
            out.push(tag::FLOAT);
            out.extend(A::float(o).to_le_bytes());
        } else if ty == &raw mut ffi::PyBool_Type {
            out.push(if o == ffi::Py_True() {
                tag::TRUE
            } else {
                tag::FALSE
            });
        } else if ty == &raw mut ffi::PyBytes_Type {
            put_raw(out, tag::BYTES, ffi::PyBytes_AsString(o), ffi::PyBytes_Size(o));
        } else if ty == &raw mut ffi::PyByteArray_Type {
            put_raw(
                out,
                tag::BYTEARRAY,
                ffi::PyByteArray_AsString(o),
                ffi::PyByteArray_Size(o),
            );
        } else if ty == &raw mut ffi::PyList_Type {
            return sequence::<A>(context, tag::LIST, o, out, depth);
        } else if ty == &raw mut ffi::PyTuple_Type {
            return sequence::<A>(context, tag::TUPLE, o, out, depth);
        } else if ty == &raw mut ffi::PyDict_Type {
            return dict::<A>(context, o, out, depth);
        } else {
            return other::<A>(context, o, out, depth);
        }
    }
    Ok(Written::Whole)
}

fn text<A: Access>(o: *mut PyObject, out: &mut Vec<u8>) -> Result<(), Raised> {
    out.push(tag::STR);
    if let Some(text) = unsafe { A::ascii(o) } {
        put_sized(out, text);
        return Ok(());
    }
    unsafe {
        let bytes = ffi::PyUnicode_AsEncodedString(o, c"utf-8".as_ptr(), c"surrogatepass".as_ptr());
        if bytes.is_null() {
            return Err(Raised);
        }
        let found = std::slice::from_raw_parts(
            ffi::PyBytes_AsString(bytes).cast::<u8>(),
            ffi::PyBytes_Size(bytes) as usize,
        );
        put_sized(out, found);
        ffi::Py_DECREF(bytes);
    }
    Ok(())
}

fn put_int(out: &mut Vec<u8>, value: i64) {
    let bits = 65 - (value ^ (value >> 63)).leading_zeros() as usize;
    let size = bits.div_ceil(8);
    put_sized(out, &value.to_le_bytes()[..size]);
}

fn sequence<A: Access>(
    context: &mut Context<'_, '_>,
    kind: u8,
    o: *mut PyObject,
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<Written, Raised> {
    let Some(left) = context.left.checked_sub(1) else {
        return Ok(Written::Not);
    };
    context.left = left;
    // A list may change while code of others runs: its elements are taken before.
    let items: Vec<Py<PyAny>> = unsafe {
        let (len, item): (usize, unsafe fn(*mut PyObject, usize) -> *mut PyObject) = match kind {
            tag::LIST => (A::list_len(o), A::list_item),
            _ => (A::tuple_len(o), A::tuple_item),
        };
        (0..len)
            .map(|n| Bound::from_borrowed_ptr(context.py, item(o, n)).unbind())
            .collect()
    };
    out.push(kind);
    put_size(out, items.len());
    for item in items {
        if nested::<A>(context, item.as_ptr(), out, depth - 1)? == Written::Not {
            return Ok(Written::Not);
        }
    }
    Ok(Written::Whole)
}

fn dict<A: Access>(
    context: &mut Context<'_, '_>,
    o: *mut PyObject,
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<Written, Raised> {
    let Some(left) = context.left.checked_sub(1) else {
        return Ok(Written::Not);
    };
    context.left = left;
    let pairs = pairs(context.py, o);
    out.push(tag::DICT);
    put_size(out, pairs.len());
    for (key, value) in pairs {
        for each in [key, value] {
            if nested::<A>(context, each.as_ptr(), out, depth - 1)? == Written::Not {
                return Ok(Written::Not);
            }
        }
    }
    Ok(Written::Whole)
}

fn other<A: Access>(
    context: &mut Context<'_, '_>,
    o: *mut PyObject,
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<Written, Raised> {
    let (py, known) = (context.py, context.known);
    let raised = |error: PyErr| Raised::set(py, error);
    unsafe {
        if ffi::PyDateTime_CheckExact(o) != 0 {
            if datetime(context, o, out)? {
                return Ok(Written::Whole);
            }
        } else if ffi::PyDate_CheckExact(o) != 0 {
            out.push(tag::DATE);
            out.extend(time::date(o).to_le_bytes());
            return Ok(Written::Whole);
        } else if ffi::PyDelta_CheckExact(o) != 0 {
            let (days, seconds, micros) = time::delta_parts(o);
            out.push(tag::TIMEDELTA);
            [days, seconds, micros]
                .iter()
                .for_each(|part| out.extend(part.to_le_bytes()));
            return Ok(Written::Whole);
        }
    }
    if is_type(o, &known.decimal) {
        out.push(tag::DECIMAL);
        put_sized(out, value::text(o)?.as_bytes());
        return Ok(Written::Whole);
    }
    if is_type(o, &known.uuid)
        && let Some(bytes) = value::uuid(py, known, o)?
    {
        out.push(tag::UUID);
        out.extend(bytes);
        return Ok(Written::Whole);
    }
    if let Some(index) = known.numpy_index(py, o) {
        let mut bytes = Vec::new();
        value::numpy(o, &mut bytes)?;
        out.push(tag::NUMPY);
        put_sized(out, NUMPY[usize::from(index)].as_bytes());
        put_sized(out, &bytes);
        return Ok(Written::Whole);
    }
    if let Some(described) = context.classes.describe(py, o).map_err(raised)? {
        let names = match described.kind {
            Kind::Row => value::row_names(py, o)?,
            _ if context.only != Only::All => None,
            _ => described.names,
        };
        let values = match (&names, described.kind) {
            (Some(names), Kind::Data) => value::state(py, o, names)?,
            (Some(names), _) if unsafe { A::tuple_len(o) } == names.0.len() => Some(
                (0..names.0.len())
                    .map(|n| unsafe { A::tuple_item(o, n) })
                    .collect(),
            ),
            _ => None,
        };
        if let (Some(names), Some(values)) = (names, values) {
            let Some(left) = context.left.checked_sub(1) else {
                return Ok(Written::Not);
            };
            context.left = left;
            let values: Vec<Py<PyAny>> = values
                .into_iter()
                .map(|value| unsafe { Bound::from_borrowed_ptr(py, value) }.unbind())
                .collect();
            out.push(tag::RECORD);
            put_sized(out, described.kind.word().as_bytes());
            put_sized(out, described.class.path.as_bytes());
            put_size(out, values.len());
            for (name, value) in names.0.iter().zip(values) {
                put_sized(out, name.text.as_bytes());
                if nested::<A>(context, value.as_ptr(), out, depth - 1)? == Written::Not {
                    return Ok(Written::Not);
                }
            }
            return Ok(Written::Whole);
        }
    }
    pickle(context, o, out)?;
    Ok(Written::Whole)
}

/// False where its zone is none that can be told.
fn datetime(context: &Context<'_, '_>, o: *mut PyObject, out: &mut Vec<u8>) -> Result<bool, Raised> {
    let (py, known) = (context.py, context.known);
    let zone = unsafe { ffi::PyDateTime_DATE_GET_TZINFO(o) };
    let mut told = Vec::new();
    if zone == known.none.as_ptr() {
        told.push(tag::NO_ZONE);
    } else if is_type(zone, &known.timezone) {
        match time::timezone_parts(py, zone) {
            Err(_) => return Ok(false),
            Ok((offset, None)) => {
                told.push(tag::OFFSET);
                told.extend(offset.to_le_bytes());
            }
            Ok((offset, Some(name))) => {
                told.push(tag::NAMED_OFFSET);
                told.extend(offset.to_le_bytes());
                put_sized(&mut told, name.as_bytes());
            }
        }
    } else if is_type(zone, &known.zone_info) {
        let Some(key) = known.zone_key(py, zone) else {
            return Ok(false);
        };
        told.push(tag::NAMED_ZONE);
        put_sized(&mut told, key.as_bytes());
    } else {
        return Ok(false);
    }
    out.push(tag::DATETIME);
    out.extend(time::wall(o).to_le_bytes());
    out.push(u8::from(time::fold(o)));
    out.extend(told);
    Ok(true)
}

fn pickle(context: &Context<'_, '_>, o: *mut PyObject, out: &mut Vec<u8>) -> Result<(), Raised> {
    let py = context.py;
    let raised = |error: PyErr| Raised::set(py, error);
    let object = unsafe { Bound::from_borrowed_ptr(py, o) };
    let holds = || {
        let name = object.get_type().qualname().map(|name| name.to_string());
        format!(
            "row {} holds a value of the class {}",
            context.row,
            name.unwrap_or_default()
        )
    };
    if !context.allow_pickle {
        return Err(raised(error::refused(format!(
            "{} that only pickle can carry",
            holds()
        ))));
    }
    let bytes = context
        .known
        .pickle
        .call1(py, (&object, PROTOCOL))
        .map_err(|cause| match context.known.is_unpicklable(py, &cause) {
            true => raised(error::unpicklable(
                py,
                format!("{} that pickle cannot carry: {cause}", holds()),
                cause,
            )),
            false => raised(cause),
        })?;
    let bytes = bytes
        .bind(py)
        .cast::<PyBytes>()
        .map_err(|error| raised(error.into()))?;
    out.push(tag::PICKLE);
    put_sized(out, bytes.as_bytes());
    Ok(())
}
