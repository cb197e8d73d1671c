//! Columns of one batch as values of Python.

use std::collections::HashMap;

use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::build::Builder;
use super::error;
use super::known::{Known, NUMPY};
use super::plan::{Make, Node, RecordPlan};
use super::record::Kind;
use super::time;
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
    fn fail(&mut self, what: &str) -> *mut PyObject {
        self.damage = Some(Damage::new(self.at, what));
        std::ptr::null_mut()
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
            bound.array = Some(array(*index, column, context)?);
        }
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
            if let Some(dictionary) = self.dictionary {
                let index = match self.width {
                    1 => usize::from(u8::from_le_bytes(self.read(n))),
                    2 => usize::from(u16::from_le_bytes(self.read(n))),
                    4 => u32::from_le_bytes(self.read(n)) as usize,
                    _ => u64::from_le_bytes(self.read(n)) as usize,
                };
                return ffi::Py_NewRef(dictionary.get_unchecked(index).as_ptr());
            }
            match &self.node.make {
                Make::Str => self.text(n, context),
                Make::Int {
                    width: 8,
                    signed: true,
                } => ffi::PyLong_FromLongLong(i64::from_le_bytes(self.read(n))),
                Make::Int {
                    width: 4,
                    signed: true,
                } => ffi::PyLong_FromLong(i32::from_le_bytes(self.read(n)).into()),
                Make::Int {
                    width: 2,
                    signed: true,
                } => ffi::PyLong_FromLong(i16::from_le_bytes(self.read(n)).into()),
                Make::Int {
                    width: 1,
                    signed: true,
                } => ffi::PyLong_FromLong(i8::from_le_bytes(self.read(n)).into()),
                Make::Float { width: 8 } => ffi::PyFloat_FromDouble(f64::from_le_bytes(self.read(n))),
                _ => self.other(n, context),
            }
        }
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
                Make::Float { width: 2 } => ffi::PyFloat_FromDouble(half(u16::from_le_bytes(self.read(n)))),
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
                    found.unwrap_or_else(|| context.fail("a date is beyond those of Python"))
                }
                Make::DateTime { unit } => {
                    let Some(micros) = micros(i64::from_le_bytes(self.read(n)), *unit) else {
                        return context.fail("a time is beyond microseconds");
                    };
                    let none = context.known.none.as_ptr();
                    let found = time::new_datetime(micros, false, none);
                    found.unwrap_or_else(|| context.fail("a time is beyond those of Python"))
                }
                Make::Zoned { unit, zone, minutes } => {
                    let Some(micros) = micros(i64::from_le_bytes(self.read(n)), *unit) else {
                        return context.fail("a time is beyond microseconds");
                    };
                    let shift = i64::from(minutes.unwrap_or(0)) * 60_000_000;
                    let wall = micros.saturating_add(shift);
                    let found = time::of_instant(wall, zone.as_ptr(), minutes.is_none());
                    found.unwrap_or_else(|| context.fail("a time is beyond those of Python"))
                }
                Make::Delta { unit } => {
                    let micros = micros(i64::from_le_bytes(self.read(n)), *unit);
                    match micros.and_then(time::new_delta) {
                        Some(found) => found,
                        None => context.fail("a duration is beyond microseconds"),
                    }
                }
                Make::Decimal { scale } => {
                    let text = decimal_text(i128::from_le_bytes(self.read(n)), *scale);
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
                Make::List => {
                    let (start, end) = self.range(n);
                    let list = ffi::PyList_New((end - start) as isize);
                    for (place, at) in (start..end).enumerate() {
                        if list.is_null() {
                            return list;
                        }
                        let item = self.children[0].value(at, context);
                        if item.is_null() {
                            ffi::Py_DECREF(list);
                            return item;
                        }
                        ffi::PyList_SET_ITEM(list, place as isize, item);
                    }
                    list
                }
                Make::TupleList => {
                    let (start, end) = self.range(n);
                    let tuple = ffi::PyTuple_New((end - start) as isize);
                    for (place, at) in (start..end).enumerate() {
                        if tuple.is_null() {
                            return tuple;
                        }
                        let item = self.children[0].value(at, context);
                        if item.is_null() {
                            ffi::Py_DECREF(tuple);
                            return item;
                        }
                        ffi::PyTuple_SET_ITEM(tuple, place as isize, item);
                    }
                    tuple
                }
                Make::Map => self.dict(n, context),
                Make::Record(record) => new_record(record, &self.children, n, context),
                Make::Str => self.text(n, context),
            }
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

/// A new record of the n-th values; null as above.
///
/// Safety: n is below the columns' length.
#[inline(always)]
pub unsafe fn new_record(
    plan: &RecordPlan,
    columns: &[Bound_<'_>],
    n: usize,
    context: &mut Context<'_, '_>,
) -> *mut PyObject {
    unsafe {
        match plan.kind {
            Kind::Tuple => {
                let tuple = ffi::PyTuple_New(columns.len() as isize);
                if !tuple.is_null() && !fill_tuple(tuple, columns, n, context) {
                    ffi::Py_DECREF(tuple);
                    return std::ptr::null_mut();
                }
                tuple
            }
            Kind::List => {
                let list = ffi::PyList_New(columns.len() as isize);
                for (place, column) in columns.iter().enumerate() {
                    if list.is_null() {
                        return list;
                    }
                    let item = column.value(n, context);
                    if item.is_null() {
                        ffi::Py_DECREF(list);
                        return item;
                    }
                    ffi::PyList_SET_ITEM(list, place as isize, item);
                }
                list
            }
            Kind::Dict => {
                let dict = ffi::PyDict_New();
                if !dict.is_null() && !fill_dict(dict, plan, columns, n, context) {
                    ffi::Py_DECREF(dict);
                    return std::ptr::null_mut();
                }
                dict
            }
            Kind::Named | Kind::Data | Kind::Row => new_instance(plan, columns, n, context),
        }
    }
}

unsafe fn fill_tuple(
    tuple: *mut PyObject,
    columns: &[Bound_<'_>],
    n: usize,
    context: &mut Context<'_, '_>,
) -> bool {
    for (place, column) in columns.iter().enumerate() {
        unsafe {
            let item = column.value(n, context);
            if item.is_null() {
                return false;
            }
            ffi::PyTuple_SET_ITEM(tuple, place as isize, item);
        }
    }
    true
}

unsafe fn fill_dict(
    dict: *mut PyObject,
    plan: &RecordPlan,
    columns: &[Bound_<'_>],
    n: usize,
    context: &mut Context<'_, '_>,
) -> bool {
    for (name, column) in plan.names.iter().zip(columns) {
        unsafe {
            let value = column.value(n, context);
            if value.is_null() {
                return false;
            }
            let set = ffi::PyDict_SetItem(dict, name.as_ptr(), value);
            ffi::Py_DECREF(value);
            if set != 0 {
                return false;
            }
        }
    }
    true
}

/// Neither `__new__` nor `__init__` of the class is called, as unpickling would not call the latter.
#[inline(never)]
unsafe fn new_instance(
    plan: &RecordPlan,
    columns: &[Bound_<'_>],
    n: usize,
    context: &mut Context<'_, '_>,
) -> *mut PyObject {
    unsafe {
        let Some(class) = &plan.class else {
            return context.fail("a record has no class");
        };
        if plan.kind == Kind::Data {
            let Some(new) = ffi::PyBaseObject_Type.tp_new else {
                return std::ptr::null_mut();
            };
            let instance = new(
                class.as_ptr().cast(),
                context.known.empty.as_ptr(),
                std::ptr::null_mut(),
            );
            if instance.is_null() {
                return instance;
            }
            let dict = ffi::PyObject_GenericGetDict(instance, std::ptr::null_mut());
            let filled = !dict.is_null() && fill_dict(dict, plan, columns, n, context);
            ffi::Py_XDECREF(dict);
            if !filled {
                ffi::Py_DECREF(instance);
                return std::ptr::null_mut();
            }
            return instance;
        }
        let Some(allocate) = (*class.as_ptr().cast::<ffi::PyTypeObject>()).tp_alloc else {
            return std::ptr::null_mut();
        };
        let tuple = allocate(class.as_ptr().cast(), columns.len() as isize);
        if tuple.is_null() {
            return tuple;
        }
        let mut filled = fill_tuple(tuple, columns, n, context);
        if let (true, Some(names)) = (filled, &plan.list) {
            filled = ffi::PyObject_SetAttrString(tuple, c"__fields__".as_ptr(), names.as_ptr()) == 0;
        }
        if !filled {
            ffi::Py_DECREF(tuple);
            return std::ptr::null_mut();
        }
        tuple
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

fn array(index: u8, column: &Column<'_>, context: &Context<'_, '_>) -> PyResult<Py<PyAny>> {
    let py = context.py;
    let numpy = context.known.numpy(py)?;
    let bytes = match &column.data {
        Data::Bits(bits) => (0..column.len).map(|n| bits[n / 8] >> (n % 8) & 1).collect(),
        Data::Fixed { width, bytes } => bytes[..width * column.len].to_vec(),
        _ => Vec::new(),
    };
    debug_assert!(usize::from(index) < NUMPY.len());
    numpy.frombuffer.call1(
        py,
        (
            PyBytes::new(py, &bytes),
            numpy.dtypes[usize::from(index)].clone_ref(py),
        ),
    )
}

fn micros(value: i64, unit: Unit) -> Option<i64> {
    match unit {
        Unit::Second => value.checked_mul(1_000_000),
        Unit::Milli => value.checked_mul(1000),
        Unit::Micro => Some(value),
        Unit::Nano => (value % 1000 == 0).then_some(value / 1000),
    }
}

fn decimal_text(value: i128, scale: i32) -> String {
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

fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
    }
}
