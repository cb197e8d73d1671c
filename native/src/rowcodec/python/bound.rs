//! Columns of one batch as values of Python.

use std::collections::HashMap;

use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;

use super::build::Builder;
use super::error;
use super::known::Known;
use super::new_record::new_record;
use super::numpy;
use super::plan::{Make, Node};
use super::{time, value};
use crate::rowcodec::wire::column::offset;
use crate::rowcodec::wire::{Column, Damage, Data, Unit};

/// The values of dictionaries, by their ids.
pub type Dictionaries = HashMap<i64, Vec<Py<PyAny>>>;

pub struct Context<'a, 'py> {
    pub py: Python<'py>,
    pub known: &'a Known,
    pub builder: Builder<'a, 'py>,
    /// Where the batch begins in the input.
    pub at: usize,
    /// Why a value could not be made, unless an exception is set.
    pub damage: Option<Damage>,
}

impl Context<'_, '_> {
    pub fn fail(&mut self, what: &str) -> *mut PyObject {
        self.damage = Some(Damage::new(self.at, what));
        std::ptr::null_mut()
    }

    /// What Arrow has, and Python has not.
    fn beyond(&mut self, what: &str) -> *mut PyObject {
        self.damage = Some(Damage::unsupported(self.at, what));
        std::ptr::null_mut()
    }

    fn beyond_micros(&mut self, unit: Unit) -> *mut PyObject {
        self.beyond(match unit {
            Unit::Nano => {
                "a value has nanoseconds, which Python's times have not: cast the column to microseconds"
            }
            _ => "a value is beyond Python's times",
        })
    }

    pub fn failure(&mut self) -> PyErr {
        match self.damage.take() {
            Some(damage) => error::damaged(self.py, damage),
            None => PyErr::fetch(self.py),
        }
    }
}

/// A column with what is made of it. Sizes and offsets were checked when the column was read.
pub struct Bound_<'a> {
    pub node: &'a Node,
    validity: *const u8,
    /// Values, or offsets.
    values: *const u8,
    bytes: *const u8,
    /// Bytes of a value, or values of a list.
    width: usize,
    /// All texts are ASCII.
    ascii: bool,
    dictionary: Option<&'a [Py<PyAny>]>,
    /// A view of it by numpy, where values are its scalars.
    array: Option<Py<PyAny>>,
    children: Vec<Bound_<'a>>,
    how: How,
}

/// How a value is made, where that is simple.
#[derive(Clone, Copy)]
enum How {
    Text,
    Int1,
    Int2,
    Int4,
    Int8,
    Float,
    Code1,
    Code2,
    /// As the node and the data tell.
    Other,
}

impl How {
    fn of(bound: &Bound_<'_>) -> Self {
        match (bound.dictionary, &bound.node.make) {
            (Some(_), _) if bound.width == 1 => Self::Code1,
            (Some(_), _) if bound.width == 2 => Self::Code2,
            (Some(_), _) => Self::Other,
            (None, Make::Str) => Self::Text,
            (
                None,
                Make::Int {
                    width: 1,
                    signed: true,
                },
            ) => Self::Int1,
            (
                None,
                Make::Int {
                    width: 2,
                    signed: true,
                },
            ) => Self::Int2,
            (
                None,
                Make::Int {
                    width: 4,
                    signed: true,
                },
            ) => Self::Int4,
            (
                None,
                Make::Int {
                    width: 8,
                    signed: true,
                },
            ) => Self::Int8,
            (None, Make::Float { width: 8 }) => Self::Float,
            _ => Self::Other,
        }
    }
}

impl<'a> Bound_<'a> {
    pub fn new(
        node: &'a Node,
        column: &'a Column<'_>,
        dictionaries: &'a Dictionaries,
        context: &Context<'_, '_>,
    ) -> PyResult<Self> {
        let mut bound = Self {
            node,
            validity: column
                .validity
                .as_ref()
                .map_or(std::ptr::null(), |bits| bits.as_ptr()),
            values: std::ptr::null(),
            bytes: std::ptr::null(),
            width: 0,
            ascii: false,
            dictionary: None,
            array: None,
            children: Vec::new(),
            how: How::Other,
        };
        match &column.data {
            Data::Null => {}
            Data::Bits(bits) => bound.values = bits.as_ptr(),
            Data::Fixed { width, bytes } => (bound.values, bound.width) = (bytes.as_ptr(), *width),
            Data::Bytes { offsets, bytes } => {
                (bound.values, bound.bytes) = (offsets.as_ptr(), bytes.as_ptr());
                let (start, end) = (offset(offsets, 0), offset(offsets, column.len));
                bound.ascii = matches!(node.make, Make::Str) && bytes[start..end].is_ascii();
            }
            Data::List { offsets, child } => {
                bound.values = offsets.as_ptr();
                match (&node.make, &child.data) {
                    (Make::Map, Data::Struct(entries)) => {
                        for (node, column) in node.children.iter().zip(entries) {
                            bound
                                .children
                                .push(Self::new(node, column, dictionaries, context)?);
                        }
                    }
                    _ => bound
                        .children
                        .push(Self::new(&node.children[0], child, dictionaries, context)?),
                }
            }
            Data::FixedList { size, child } => {
                bound.width = *size;
                bound
                    .children
                    .push(Self::new(&node.children[0], child, dictionaries, context)?);
            }
            Data::Struct(children) => {
                for (node, column) in node.children.iter().zip(children) {
                    bound
                        .children
                        .push(Self::new(node, column, dictionaries, context)?);
                }
            }
            Data::Indices { width, bytes } => {
                (bound.values, bound.width) = (bytes.as_ptr(), *width);
                let id = node.dictionary.unwrap_or(-1);
                bound.dictionary = Some(dictionaries.get(&id).map_or(&[], Vec::as_slice));
            }
        }
        if let (Make::Numpy(index), None) = (&node.make, bound.dictionary) {
            bound.array = Some(numpy::array(context.py, context.known, *index, column)?);
        }
        bound.how = How::of(&bound);
        Ok(bound)
    }

    unsafe fn read<const N: usize>(&self, n: usize) -> [u8; N] {
        unsafe { self.values.add(N * n).cast::<[u8; N]>().read() }
    }

    unsafe fn range(&self, n: usize) -> (usize, usize) {
        unsafe {
            if self.values.is_null() {
                return (self.width * n, self.width * (n + 1));
            }
            let at = |n| u32::from_le_bytes(self.read::<4>(n)) as usize;
            (at(n), at(n + 1))
        }
    }

    unsafe fn slice(&self, n: usize) -> &[u8] {
        unsafe {
            if self.bytes.is_null() {
                return std::slice::from_raw_parts(self.values.add(self.width * n), self.width);
            }
            let (start, end) = self.range(n);
            std::slice::from_raw_parts(self.bytes.add(start), end - start)
        }
    }

    #[inline(always)]
    unsafe fn is_null(&self, n: usize) -> bool {
        unsafe { !self.validity.is_null() && *self.validity.add(n / 8) >> (n % 8) & 1 == 0 }
    }

    /// The n-th value, new; null where it cannot be made, and the context or an exception tells why.
    ///
    /// Safety: n is below the column's length.
    #[inline(always)]
    pub unsafe fn value(&self, n: usize, context: &mut Context<'_, '_>) -> *mut PyObject {
        unsafe {
            if self.is_null(n) {
                return ffi::Py_NewRef(ffi::Py_None());
            }
            match self.how {
                How::Text => self.text(n, context),
                How::Int1 => ffi::PyLong_FromLong(i8::from_le_bytes(self.read(n)).into()),
                How::Int2 => ffi::PyLong_FromLong(i16::from_le_bytes(self.read(n)).into()),
                How::Int4 => ffi::PyLong_FromLong(i32::from_le_bytes(self.read(n)).into()),
                How::Int8 => ffi::PyLong_FromLongLong(i64::from_le_bytes(self.read(n))),
                How::Float => ffi::PyFloat_FromDouble(f64::from_le_bytes(self.read(n))),
                How::Code1 => self.coded(u8::from_le_bytes(self.read(n)).into()),
                How::Code2 => self.coded(u16::from_le_bytes(self.read(n)).into()),
                How::Other => self.other(n, context),
            }
        }
    }

    #[inline(always)]
    unsafe fn coded(&self, index: usize) -> *mut PyObject {
        unsafe { ffi::Py_NewRef(self.dictionary.unwrap_unchecked().get_unchecked(index).as_ptr()) }
    }

    #[inline(always)]
    unsafe fn text(&self, n: usize, context: &mut Context<'_, '_>) -> *mut PyObject {
        unsafe {
            let text = self.slice(n);
            // Empty texts, and those of one character, are shared by the interpreter.
            if text.len() > 1 && (self.ascii || text.is_ascii()) {
                let new = ffi::PyUnicode_New(text.len() as isize, 127);
                if !new.is_null() {
                    let start = new.cast::<u8>().add(size_of::<ffi::PyASCIIObject>());
                    fill(start, text);
                }
                return new;
            }
            let new = ffi::PyUnicode_DecodeUTF8(text.as_ptr().cast(), text.len() as isize, std::ptr::null());
            if new.is_null() && ffi::PyErr_ExceptionMatches(ffi::PyExc_UnicodeDecodeError) != 0 {
                ffi::PyErr_Clear();
                return context.fail("a text is not UTF-8");
            }
            new
        }
    }

    #[inline(never)]
    unsafe fn other(&self, n: usize, context: &mut Context<'_, '_>) -> *mut PyObject {
        unsafe {
            if self.dictionary.is_some() {
                return self.coded(match self.width {
                    4 => u32::from_le_bytes(self.read(n)) as usize,
                    _ => u64::from_le_bytes(self.read(n)) as usize,
                });
            }
            match &self.node.make {
                Make::None => ffi::Py_NewRef(ffi::Py_None()),
                Make::Bool => ffi::PyBool_FromLong((*self.values.add(n / 8) >> (n % 8) & 1).into()),
                Make::Int { width, .. } => ffi::PyLong_FromUnsignedLongLong(match width {
                    1 => u8::from_le_bytes(self.read(n)).into(),
                    2 => u16::from_le_bytes(self.read(n)).into(),
                    4 => u32::from_le_bytes(self.read(n)).into(),
                    _ => u64::from_le_bytes(self.read(n)),
                }),
                Make::Float { width: 4 } => ffi::PyFloat_FromDouble(f32::from_le_bytes(self.read(n)).into()),
                Make::Float { width: 2 } => {
                    ffi::PyFloat_FromDouble(value::half(u16::from_le_bytes(self.read(n))))
                }
                Make::Float { .. } => ffi::PyFloat_FromDouble(f64::from_le_bytes(self.read(n))),
                Make::Bytes => {
                    let bytes = self.slice(n);
                    ffi::PyBytes_FromStringAndSize(bytes.as_ptr().cast(), bytes.len() as isize)
                }
                Make::ByteArray => {
                    let bytes = self.slice(n);
                    ffi::PyByteArray_FromStringAndSize(bytes.as_ptr().cast(), bytes.len() as isize)
                }
                Make::Date => {
                    let found = time::new_date(i32::from_le_bytes(self.read(n)).into());
                    found.unwrap_or_else(|| context.beyond("a date is beyond those of Python"))
                }
                Make::DateTime { unit } => {
                    let Some(micros) = time::micros(i64::from_le_bytes(self.read(n)), *unit) else {
                        return context.beyond_micros(*unit);
                    };
                    let none = context.known.none.as_ptr();
                    let found = time::new_datetime(micros, false, none);
                    found.unwrap_or_else(|| context.beyond("a time is beyond those of Python"))
                }
                Make::Local { unit } => {
                    let Some(micros) = time::micros(i64::from_le_bytes(self.read(n)), *unit) else {
                        return context.beyond_micros(*unit);
                    };
                    let found = time::local(micros)
                        .and_then(|(wall, fold)| time::new_datetime(wall, fold, context.known.none.as_ptr()));
                    found.unwrap_or_else(|| context.beyond("a time is beyond those of Python"))
                }
                Make::Zoned { unit, zone, minutes } => {
                    let Some(micros) = time::micros(i64::from_le_bytes(self.read(n)), *unit) else {
                        return context.beyond_micros(*unit);
                    };
                    let shift = i64::from(minutes.unwrap_or(0)) * 60_000_000;
                    let wall = micros.saturating_add(shift);
                    let found = time::of_instant(wall, zone.as_ptr(), minutes.is_none());
                    let beyond = found.is_none_or(|found| found.is_null() && time::is_beyond());
                    match found {
                        Some(found) if !beyond => found,
                        _ => context.beyond("a time is beyond those of Python"),
                    }
                }
                Make::Delta { unit } => {
                    let micros = time::micros(i64::from_le_bytes(self.read(n)), *unit);
                    match micros.and_then(time::new_delta) {
                        Some(found) => found,
                        None => context.beyond_micros(*unit),
                    }
                }
                Make::Decimal { scale } => {
                    let text = value::decimal_text(i128::from_le_bytes(self.read(n)), *scale);
                    match context.known.decimal.call1(context.py, (text,)) {
                        Ok(found) => found.into_ptr(),
                        Err(error) => raised(context.py, error),
                    }
                }
                Make::Uuid => {
                    let bytes = self.read::<16>(n);
                    let found = context.builder.new_uuid(&bytes);
                    found.unwrap_or_else(|error| raised(context.py, error))
                }
                Make::Numpy(_) => match &self.array {
                    Some(array) => ffi::PySequence_GetItem(array.as_ptr(), n as isize),
                    None => context.fail("a scalar of numpy has no array"),
                },
                Make::Variant => {
                    let bytes = self.slice(n);
                    let found = crate::rowcodec::variant::read(bytes, context.at, &mut context.builder);
                    match found {
                        Ok(found) => found.into_ptr(),
                        Err(error) => raised(context.py, error.0),
                    }
                }
                Make::List => self.sequence(n, ffi::PyList_New, ffi::PyList_SET_ITEM, context),
                Make::TupleList => self.sequence(n, ffi::PyTuple_New, ffi::PyTuple_SET_ITEM, context),
                Make::Map => self.dict(n, context),
                Make::Record(record) => new_record(record, &self.children, n, context),
                Make::Str => self.text(n, context),
            }
        }
    }

    /// A list, or a tuple. Args: `new` makes one, and `set` puts a value into it that it takes.
    #[inline(always)]
    unsafe fn sequence(
        &self,
        n: usize,
        new: unsafe extern "C" fn(isize) -> *mut PyObject,
        set: unsafe fn(*mut PyObject, isize, *mut PyObject),
        context: &mut Context<'_, '_>,
    ) -> *mut PyObject {
        unsafe {
            let (start, end) = self.range(n);
            let sequence = new((end - start) as isize);
            if sequence.is_null() {
                return sequence;
            }
            for (place, at) in (start..end).enumerate() {
                let item = self.children[0].value(at, context);
                if item.is_null() {
                    ffi::Py_DECREF(sequence);
                    return item;
                }
                set(sequence, place as isize, item);
            }
            sequence
        }
    }

    unsafe fn dict(&self, n: usize, context: &mut Context<'_, '_>) -> *mut PyObject {
        unsafe {
            let (start, end) = self.range(n);
            let dict = ffi::PyDict_New();
            for at in start..end {
                if dict.is_null() {
                    return dict;
                }
                let key = self.children[0].value(at, context);
                let value = if key.is_null() {
                    key
                } else {
                    self.children[1].value(at, context)
                };
                let set = !value.is_null() && ffi::PyDict_SetItem(dict, key, value) == 0;
                ffi::Py_XDECREF(key);
                ffi::Py_XDECREF(value);
                if !set {
                    ffi::Py_DECREF(dict);
                    if context.damage.is_none() && ffi::PyErr_ExceptionMatches(ffi::PyExc_TypeError) != 0 {
                        ffi::PyErr_Clear();
                        return context.fail("the key of a map can be none of a dict");
                    }
                    return std::ptr::null_mut();
                }
            }
            dict
        }
    }
}

fn raised(py: Python<'_>, error: PyErr) -> *mut PyObject {
    error.restore(py);
    std::ptr::null_mut()
}

/// Copy a text of two bytes or more.
#[inline(always)]
unsafe fn fill(to: *mut u8, text: &[u8]) {
    let (from, length) = (text.as_ptr(), text.len());
    unsafe {
        match length {
            16..=32 => {
                to.cast::<[u8; 16]>().write(from.cast::<[u8; 16]>().read());
                to.add(length - 16)
                    .cast::<[u8; 16]>()
                    .write(from.add(length - 16).cast::<[u8; 16]>().read());
            }
            8..16 => {
                to.cast::<[u8; 8]>().write(from.cast::<[u8; 8]>().read());
                to.add(length - 8)
                    .cast::<[u8; 8]>()
                    .write(from.add(length - 8).cast::<[u8; 8]>().read());
            }
            4..8 => {
                to.cast::<[u8; 4]>().write(from.cast::<[u8; 4]>().read());
                to.add(length - 4)
                    .cast::<[u8; 4]>()
                    .write(from.add(length - 4).cast::<[u8; 4]>().read());
            }
            _ => std::ptr::copy_nonoverlapping(from, to, length),
        }
    }
}
