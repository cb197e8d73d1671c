//! Values into columns.

use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;

use super::column::{Column, Op};
use super::known::{Known, NUMPY, Raised, is_type};
use super::layout::Access;
use super::machine::Tier;
use super::only::Only;
use super::push_container::push_container;
use super::record::Classes;
use super::shape::{DEPTH, Looker, Shape};
use super::write_variant::{self, Written};
use super::{time, value};
use crate::rowcodec::wire::column::MOST_WITHOUT_BUFFER;
use crate::rowcodec::wire::schema::DEPTH as LEVELS;

/// Whether the value is in the column now; if not, the row is to be taken back.
pub type Fits = Result<bool, Raised>;

/// What one batch can hold of one column.
pub const MOST: usize = i32::MAX as usize;
/// Containers within one row. One that holds the same list again and again is pickled, which tells it once.
pub const MOST_CONTAINERS: usize = 1 << 22;

pub struct Context<'a, 'py> {
    pub py: Python<'py>,
    pub known: &'a Known,
    pub classes: &'a mut Classes,
    pub allow_pickle: bool,
    pub only: Only,
    /// Texts of new columns begin with a dictionary.
    pub coding: bool,
    pub tier: Tier,
    /// Containers that the row may have yet.
    pub left: usize,
    /// A column has no more room in this batch.
    pub full: bool,
    /// Nor would it have in a batch of its own.
    pub beyond: bool,
    /// Fields that the schema may have yet.
    pub room: usize,
    /// A column had no type before, and has one now.
    pub retyped: bool,
    /// The number of the row, for messages.
    pub row: usize,
    /// Rows that machine code took.
    pub machine_rows: usize,
}

#[inline(always)]
pub unsafe fn push<A: Access>(column: &mut Column, o: *mut PyObject, context: &mut Context<'_, '_>) -> Fits {
    let ty = unsafe { ffi::Py_TYPE(o) };
    match &mut column.op {
        Op::Int if ty == &raw mut ffi::PyLong_Type => {
            let Some(value) = (unsafe { A::int(o) }) else {
                return Ok(false);
            };
            column.bits |= (value ^ (value >> 63)) as u64;
            column.longs.push(value);
            column.len += 1;
            return Ok(true);
        }
        Op::Float if ty == &raw mut ffi::PyFloat_Type => {
            column.longs.push(unsafe { A::float(o) }.to_bits() as i64);
            column.len += 1;
            return Ok(true);
        }
        Op::Str if ty == &raw mut ffi::PyUnicode_Type => {
            match unsafe { A::ascii(o) } {
                Some(text) => copy(text, &mut column.bytes),
                None => {
                    if !unsafe { A::utf8(o, &mut column.bytes) } {
                        return Ok(false);
                    }
                }
            }
            return Ok(ended(column, context));
        }
        Op::Coded(coded) if ty == &raw mut ffi::PyUnicode_Type => {
            let done = match unsafe { A::ascii(o) } {
                Some(text) => coded.push(text),
                None => {
                    column.bytes.clear();
                    if !unsafe { A::utf8(o, &mut column.bytes) } {
                        return Ok(false);
                    }
                    coded.push(&column.bytes)
                }
            };
            if done {
                column.len += 1;
                return Ok(true);
            }
            if column.is_long() {
                context.full = true;
                return Ok(false);
            }
            column.make_plain();
            return unsafe { push_slowly::<A>(column, o, context) };
        }
        _ => {}
    }
    unsafe { push_slowly::<A>(column, o, context) }
}

/// Texts of rows are short, and of any length: to copy more than there is takes less than to ask how much it is. What
/// is read beyond a text's end lies within its page, so that it can be read, and is written over by the next one.
#[inline(always)]
pub fn copy(text: &[u8], out: &mut Vec<u8>) {
    const BLOCK: usize = 48;
    const PAGE: usize = 4096;
    let (length, end) = (text.len(), out.len());
    out.reserve(length.max(BLOCK));
    unsafe {
        let (from, to) = (text.as_ptr(), out.as_mut_ptr().add(end));
        if length <= BLOCK && from.addr() % PAGE <= PAGE - BLOCK {
            for at in [0, 16, 32] {
                to.add(at)
                    .cast::<[u8; 16]>()
                    .write(from.add(at).cast::<[u8; 16]>().read());
            }
        } else {
            std::ptr::copy_nonoverlapping(from, to, length);
        }
        out.set_len(end + length);
    }
}

/// The value's bytes are there: note where they end.
#[inline(always)]
fn ended(column: &mut Column, context: &mut Context<'_, '_>) -> bool {
    let end = column.bytes.len();
    if end > MOST {
        (context.full, context.beyond) = (true, true);
        return false;
    }
    column.offsets.push(end as i32);
    column.len += 1;
    true
}

/// Values that are not simple; also whatever a column of simple ones has no place for.
#[inline(never)]
pub unsafe fn push_slowly<A: Access>(
    column: &mut Column,
    o: *mut PyObject,
    context: &mut Context<'_, '_>,
) -> Fits {
    if o == context.known.none.as_ptr() {
        if let Op::Null = column.op
            && column.len >= MOST_WITHOUT_BUFFER
        {
            context.full = true;
            return Ok(false);
        }
        column.push_null();
        return Ok(true);
    }
    // Code of others may run before the value is done with.
    let _held: Py<PyAny> = unsafe { Bound::from_borrowed_ptr(context.py, o) }.unbind();
    let ty = unsafe { ffi::Py_TYPE(o) };
    let (py, known) = (context.py, context.known);
    match &column.op {
        Op::Null => return unsafe { retype::<A>(column, o, context) },
        Op::Str => {
            if ty != &raw mut ffi::PyUnicode_Type || !unsafe { A::utf8(o, &mut column.bytes) } {
                return Ok(false);
            }
            return Ok(ended(column, context));
        }
        Op::Int | Op::Float | Op::Coded(_) => return Ok(false),
        Op::Bool => {
            if ty != &raw mut ffi::PyBool_Type {
                return Ok(false);
            }
            column.bytes.push(u8::from(o == unsafe { ffi::Py_True() }));
        }
        Op::Bytes => {
            if ty != &raw mut ffi::PyBytes_Type {
                return Ok(false);
            }
            let (start, length) = unsafe { (ffi::PyBytes_AsString(o), ffi::PyBytes_Size(o)) };
            copy(
                unsafe { std::slice::from_raw_parts(start.cast(), length as usize) },
                &mut column.bytes,
            );
            return Ok(ended(column, context));
        }
        Op::ByteArray => {
            if ty != &raw mut ffi::PyByteArray_Type {
                return Ok(false);
            }
            let (start, length) = unsafe { (ffi::PyByteArray_AsString(o), ffi::PyByteArray_Size(o)) };
            copy(
                unsafe { std::slice::from_raw_parts(start.cast(), length as usize) },
                &mut column.bytes,
            );
            return Ok(ended(column, context));
        }
        Op::Date => {
            if unsafe { ffi::PyDate_CheckExact(o) } == 0 {
                return Ok(false);
            }
            column.longs.push(i64::from(time::date(o)));
        }
        Op::DateTime => {
            let naive = unsafe {
                ffi::PyDateTime_CheckExact(o) != 0
                    && ffi::PyDateTime_DATE_GET_TZINFO(o) == known.none.as_ptr()
            };
            if !naive || time::fold(o) {
                return Ok(false);
            }
            column.longs.push(time::wall(o));
        }
        Op::Zoned(zone) => {
            if unsafe { ffi::PyDateTime_CheckExact(o) } == 0 {
                return Ok(false);
            }
            match time::instant(py, known, o)? {
                Some((found, instant)) if found == *zone => column.longs.push(instant),
                _ => return Ok(false),
            }
        }
        Op::Delta => {
            let micros = unsafe { ffi::PyDelta_CheckExact(o) != 0 }
                .then(|| time::delta(o))
                .flatten();
            let Some(micros) = micros else { return Ok(false) };
            column.longs.push(micros);
        }
        Op::Decimal(scale) => {
            if !is_type(o, &known.decimal) {
                return Ok(false);
            }
            match value::decimal(o)? {
                Some(found) if found.scale == *scale => column.bytes.extend(found.value.to_le_bytes()),
                _ => return Ok(false),
            }
        }
        Op::Uuid => {
            if !is_type(o, &known.uuid) {
                return Ok(false);
            }
            let Some(bytes) = value::uuid(py, known, o)? else {
                return Ok(false);
            };
            column.bytes.extend(bytes);
        }
        Op::Numpy(index) => {
            debug_assert!(usize::from(*index) < NUMPY.len());
            if known.numpy_index(py, o) != Some(*index) {
                return Ok(false);
            }
            value::numpy(o, &mut column.bytes)?;
        }
        Op::Variant => {
            let mut bytes = std::mem::take(&mut column.bytes);
            let written = write_variant::write::<A>(context, o, &mut bytes);
            column.bytes = bytes;
            match written? {
                Written::Whole => return Ok(ended(column, context)),
                Written::Not => return Ok(false),
            }
        }
        Op::List(_) | Op::Map | Op::Record(_) => {
            if let Op::Record(_) = column.op
                && column.kids.is_empty()
                && column.len >= MOST_WITHOUT_BUFFER
            {
                context.full = true;
                return Ok(false);
            }
            if context.left == 0 {
                return Ok(false);
            }
            context.left -= 1;
            if !unsafe { push_container::<A>(column, o, context) }? {
                return Ok(false);
            }
        }
    }
    column.len += 1;
    Ok(true)
}

/// The first value of a column that had none but None.
#[cold]
unsafe fn retype<A: Access>(column: &mut Column, o: *mut PyObject, context: &mut Context<'_, '_>) -> Fits {
    let (py, known, left) = (context.py, context.known, context.left);
    let mut looker = Looker {
        py,
        known,
        classes: &mut *context.classes,
        left,
    };
    let mut shape = looker.shape::<A>(o, DEPTH)?;
    let fields = shape.fields() - 1;
    if fields > context.room || column.around + shape.levels() > LEVELS {
        shape = Shape::Variant;
    } else {
        context.room -= fields;
    }
    if !shape.is_of(context.only) {
        return Ok(false);
    }
    let mut typed = Column::within(&shape, context.coding, column.around);
    for _ in 0..column.len {
        typed.push_null();
    }
    *column = typed;
    context.retyped = true;
    unsafe { push::<A>(column, o, context) }
}
