//! Shapes: of which types values are, so far as columns are made by it.

use std::sync::Arc;

use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;

use super::known::{Known, Raised, is_type};
use super::layout::Access;
use super::record::{Class, Classes, Kind, Name, Names};
use super::time::{self, ZoneShape};
use super::value;
use crate::rowcodec::wire::schema::{DEPTH as LEVELS, FIELDS};

/// Deeper values are pickled whole, or variants.
pub const DEPTH: usize = 32;
/// Records of more fields are sequences.
pub const MOST_FIELDS: usize = 2000;
/// So many fields a tuple within a row may have to be a struct of them.
const MOST_NESTED: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sequence {
    List,
    Tuple,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Of None alone.
    Null,
    Bool,
    Int,
    Float,
    Str,
    Bytes,
    ByteArray,
    Date,
    DateTime,
    Zoned(ZoneShape),
    Delta,
    Decimal(u8),
    Uuid,
    Numpy(u8),
    List(Sequence, Box<Shape>),
    Map(Box<(Shape, Shape)>),
    Record(Box<RecordShape>),
    /// Anything: each value tells its type.
    Variant,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RecordShape {
    pub kind: Kind,
    pub class: Option<Class>,
    /// Of tuples and lists none.
    pub names: Option<Names>,
    pub fields: Vec<Shape>,
}

impl Shape {
    /// Of no rows at all.
    pub fn empty() -> Self {
        record(Kind::Tuple, None, None, Vec::new())
    }

    /// Itself where a schema may have as many fields, and as deep ones; else what any row fits into.
    pub fn bounded(self) -> Self {
        // A column of rows that do not fit may follow.
        if self.fields() < FIELDS && self.levels() <= LEVELS {
            self
        } else {
            Shape::Variant
        }
    }

    /// How many fields a schema has for it, those within others counted.
    pub fn fields(&self) -> usize {
        match self {
            Shape::List(_, items) => 1 + items.fields(),
            // With its entries.
            Shape::Map(pair) => 2 + pair.0.fields() + pair.1.fields(),
            Shape::Record(record) => 1 + record.fields.iter().map(Shape::fields).sum::<usize>(),
            _ => 1,
        }
    }

    /// How deep these are within one another.
    pub fn levels(&self) -> usize {
        match self {
            Shape::List(_, items) => 1 + items.levels(),
            Shape::Map(pair) => 2 + pair.0.levels().max(pair.1.levels()),
            Shape::Record(record) => 1 + record.fields.iter().map(Shape::levels).max().unwrap_or(0),
            _ => 1,
        }
    }
}

/// Whether all of its classes are what they were taken for.
pub fn stands(py: Python<'_>, shape: &Shape, classes: &mut Classes) -> PyResult<bool> {
    match shape {
        Shape::List(_, items) => stands(py, items, classes),
        Shape::Map(pair) => Ok(stands(py, &pair.0, classes)? && stands(py, &pair.1, classes)?),
        Shape::Record(record) => {
            if let Some(class) = &record.class
                && !classes.is_still(py, class, record.names.as_ref())?
            {
                return Ok(false);
            }
            for field in &record.fields {
                if !stands(py, field, classes)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        _ => Ok(true),
    }
}

pub struct Looker<'a, 'py> {
    pub py: Python<'py>,
    pub known: &'a Known,
    pub classes: &'a mut Classes,
    /// So many values are looked into for a row; more are taken as they come.
    pub left: usize,
}

impl Looker<'_, '_> {
    /// The shape of a row: lists are records here, too.
    pub fn row<A: Access>(&mut self, o: *mut PyObject) -> Result<Shape, Raised> {
        let _held = held(self.py, o);
        if unsafe { ffi::Py_TYPE(o) } == &raw mut ffi::PyList_Type {
            let len = unsafe { A::list_len(o) };
            if len <= MOST_FIELDS {
                let fields = unsafe { list_items::<A>(o) }
                    .map(|item| self.shape::<A>(item, DEPTH))
                    .collect::<Result<_, _>>()?;
                return Ok(record(Kind::List, None, None, fields));
            }
        }
        if unsafe { ffi::Py_TYPE(o) } == &raw mut ffi::PyTuple_Type {
            return self.tuple::<A>(o, DEPTH, MOST_FIELDS);
        }
        self.shape::<A>(o, DEPTH)
    }

    /// A shape that the value fits into.
    pub fn shape<A: Access>(&mut self, o: *mut PyObject, depth: usize) -> Result<Shape, Raised> {
        if depth == 0 || self.left == 0 {
            return Ok(Shape::Variant);
        }
        self.left -= 1;
        // Code of others runs where a class is looked at.
        let _held = held(self.py, o);
        let ty = unsafe { ffi::Py_TYPE(o) };
        let int = |fits: bool| if fits { Shape::Int } else { Shape::Variant };
        Ok(if ty == &raw mut ffi::PyUnicode_Type {
            let plain = unsafe { A::ascii(o).is_some() || A::utf8(o, &mut Vec::new()) };
            if plain { Shape::Str } else { Shape::Variant }
        } else if ty == &raw mut ffi::PyLong_Type {
            int(unsafe { A::int(o) }.is_some())
        } else if ty == &raw mut ffi::PyFloat_Type {
            Shape::Float
        } else if o == self.known.none.as_ptr() {
            Shape::Null
        } else if ty == &raw mut ffi::PyBool_Type {
            Shape::Bool
        } else if ty == &raw mut ffi::PyBytes_Type {
            Shape::Bytes
        } else if ty == &raw mut ffi::PyTuple_Type {
            return self.tuple::<A>(o, depth, MOST_NESTED);
        } else if ty == &raw mut ffi::PyList_Type {
            let items = unsafe { list_items::<A>(o) };
            Shape::List(Sequence::List, Box::new(self.all::<A>(items, depth - 1)?))
        } else if ty == &raw mut ffi::PyDict_Type {
            return self.dict::<A>(o, depth);
        } else if ty == &raw mut ffi::PyByteArray_Type {
            Shape::ByteArray
        } else {
            return self.other::<A>(o, depth);
        })
    }

    fn other<A: Access>(&mut self, o: *mut PyObject, depth: usize) -> Result<Shape, Raised> {
        unsafe {
            if ffi::PyDateTime_CheckExact(o) != 0 {
                return time::shape(self.py, self.known, o);
            } else if ffi::PyDate_CheckExact(o) != 0 {
                return Ok(Shape::Date);
            } else if ffi::PyDelta_CheckExact(o) != 0 {
                return Ok(if time::delta(o).is_some() {
                    Shape::Delta
                } else {
                    Shape::Variant
                });
            } else if is_type(o, &self.known.decimal) {
                return Ok(value::decimal(o)?.map_or(Shape::Variant, |found| Shape::Decimal(found.scale)));
            } else if is_type(o, &self.known.uuid) {
                return Ok(if value::uuid(self.py, self.known, o)?.is_some() {
                    Shape::Uuid
                } else {
                    Shape::Variant
                });
            }
        }
        if let Some(index) = self.known.numpy_index(self.py, o) {
            return Ok(Shape::Numpy(index));
        }
        let described = self
            .classes
            .describe(self.py, o)
            .map_err(|error| Raised::set(self.py, error))?;
        let Some(described) = described else {
            return Ok(Shape::Variant);
        };
        let names = match (described.kind, described.names) {
            (Kind::Row, _) => match value::row_names(self.py, o)? {
                Some(names) => names,
                None => return Ok(Shape::Variant),
            },
            (_, Some(names)) => names,
            (_, None) => return Ok(Shape::Variant),
        };
        let values: Vec<_> = match described.kind {
            Kind::Data => match value::state(self.py, o, &names)? {
                Some(values) => values.into_iter().map(|value| held(self.py, value)).collect(),
                None => return Ok(Shape::Variant),
            },
            _ => {
                let len = unsafe { A::tuple_len(o) };
                if len != names.0.len() {
                    return Ok(Shape::Variant);
                }
                (0..len)
                    .map(|n| held(self.py, unsafe { A::tuple_item(o, n) }))
                    .collect()
            }
        };
        let fields = values
            .into_iter()
            .map(|value| self.shape::<A>(value.as_ptr(), depth - 1))
            .collect::<Result<_, _>>()?;
        Ok(record(described.kind, Some(described.class), Some(names), fields))
    }

    fn tuple<A: Access>(&mut self, o: *mut PyObject, depth: usize, most: usize) -> Result<Shape, Raised> {
        let len = unsafe { A::tuple_len(o) };
        let mut items = (0..len).map(|n| unsafe { A::tuple_item(o, n) });
        if len > most {
            return Ok(Shape::List(
                Sequence::Tuple,
                Box::new(self.all::<A>(items, depth - 1)?),
            ));
        }
        let fields = items.try_fold(Vec::with_capacity(len), |mut fields, item| {
            fields.push(self.shape::<A>(item, depth - 1)?);
            Ok(fields)
        })?;
        Ok(record(Kind::Tuple, None, None, fields))
    }

    fn dict<A: Access>(&mut self, o: *mut PyObject, depth: usize) -> Result<Shape, Raised> {
        let pairs = pairs(self.py, o);
        let texts = pairs
            .iter()
            .all(|(key, _)| unsafe { ffi::Py_TYPE(key.as_ptr()) } == &raw mut ffi::PyUnicode_Type);
        if texts && pairs.len() <= MOST_FIELDS {
            let names: Option<Arc<[Name]>> = pairs
                .iter()
                .map(|(key, _)| Name::of(self.py, key.as_ptr()))
                .collect();
            if let Some(names) = names {
                let fields = pairs
                    .iter()
                    .map(|(_, value)| self.shape::<A>(value.as_ptr(), depth - 1))
                    .collect::<Result<_, _>>()?;
                return Ok(record(Kind::Dict, None, Some(Names(names)), fields));
            }
        }
        let none = self.known.none.as_ptr();
        let keys = self.all::<A>(pairs.iter().map(|(key, _)| key.as_ptr()), depth - 1)?;
        if matches!(keys, Shape::Variant | Shape::Null) || pairs.iter().any(|(key, _)| key.as_ptr() == none) {
            return Ok(Shape::Variant);
        }
        let values = self.all::<A>(pairs.iter().map(|(_, value)| value.as_ptr()), depth - 1)?;
        Ok(Shape::Map(Box::new((keys, values))))
    }

    fn all<A: Access>(
        &mut self,
        values: impl Iterator<Item = *mut PyObject>,
        depth: usize,
    ) -> Result<Shape, Raised> {
        let mut found = Shape::Null;
        let mut before = std::ptr::null_mut();
        for value in values {
            // Of values of one simple type, the first tells.
            let ty = unsafe { ffi::Py_TYPE(value) };
            if ty == before && matches!(found, Shape::Float | Shape::Bool | Shape::Bytes | Shape::Variant) {
                continue;
            }
            before = ty;
            found = joined(found, self.shape::<A>(value, depth)?, &mut false);
        }
        Ok(found)
    }
}

/// Whether a row has exactly this shape, as far as that can be told at a glance.
pub unsafe fn is_row_of<A: Access>(shape: &Shape, o: *mut PyObject, known: &Known) -> bool {
    let ty = unsafe { ffi::Py_TYPE(o) };
    let Shape::Record(record) = shape else {
        return unsafe { is_of::<A>(shape, o, known) };
    };
    let fields = &record.fields;
    let items: unsafe fn(*mut PyObject, usize) -> *mut PyObject = match record.kind {
        Kind::Tuple if ty == &raw mut ffi::PyTuple_Type && unsafe { A::tuple_len(o) } == fields.len() => {
            A::tuple_item
        }
        Kind::List if ty == &raw mut ffi::PyList_Type && unsafe { A::list_len(o) } == fields.len() => {
            A::list_item
        }
        Kind::Dict if ty == &raw mut ffi::PyDict_Type => {
            let values = record.names.as_ref().and_then(|names| value::fields_of(o, names));
            return values.is_some_and(|values| {
                fields
                    .iter()
                    .zip(values)
                    .all(|(field, value)| unsafe { is_of::<A>(field, value, known) })
            });
        }
        _ => return false,
    };
    fields
        .iter()
        .enumerate()
        .all(|(n, field)| unsafe { is_of::<A>(field, items(o, n), known) })
}

unsafe fn is_of<A: Access>(shape: &Shape, o: *mut PyObject, known: &Known) -> bool {
    let ty = unsafe { ffi::Py_TYPE(o) };
    unsafe {
        match shape {
            Shape::Str => ty == &raw mut ffi::PyUnicode_Type && A::ascii(o).is_some(),
            Shape::Int => ty == &raw mut ffi::PyLong_Type && A::int(o).is_some(),
            Shape::Float => ty == &raw mut ffi::PyFloat_Type,
            Shape::Bool => ty == &raw mut ffi::PyBool_Type,
            Shape::Bytes => ty == &raw mut ffi::PyBytes_Type,
            Shape::Null => o == known.none.as_ptr(),
            _ => false,
        }
    }
}

fn held(py: Python<'_>, o: *mut PyObject) -> Py<PyAny> {
    unsafe { Bound::from_borrowed_ptr(py, o) }.unbind()
}

/// The items of a list, borrowed; no more than it has by then.
unsafe fn list_items<A: Access>(o: *mut PyObject) -> impl Iterator<Item = *mut PyObject> {
    (0..unsafe { A::list_len(o) })
        .map_while(move |n| unsafe { (n < A::list_len(o)).then(|| A::list_item(o, n)) })
}

/// The keys and values of a dict.
pub fn pairs(py: Python<'_>, o: *mut PyObject) -> Vec<(Py<PyAny>, Py<PyAny>)> {
    let mut found = Vec::new();
    let (mut position, mut key, mut value) = (0, std::ptr::null_mut(), std::ptr::null_mut());
    while unsafe { ffi::PyDict_Next(o, &mut position, &mut key, &mut value) } != 0 {
        found.push((held(py, key), held(py, value)));
    }
    found
}

fn record(kind: Kind, class: Option<Class>, names: Option<Names>, fields: Vec<Shape>) -> Shape {
    Shape::Record(Box::new(RecordShape {
        kind,
        class,
        names,
        fields,
    }))
}

/// The shape that values of both fit into. `lost` becomes true where one of them was told more exactly.
pub fn joined(a: Shape, b: Shape, lost: &mut bool) -> Shape {
    if a == b {
        return a;
    }
    match (a, b) {
        (Shape::Null, other) | (other, Shape::Null) => other,
        (Shape::List(x, a), Shape::List(y, b)) if x == y => Shape::List(x, Box::new(joined(*a, *b, lost))),
        (Shape::Record(a), Shape::Record(b)) => join_records(*a, *b, lost),
        (Shape::Map(a), Shape::Map(b)) => map(joined(a.0, b.0, lost), joined(a.1, b.1, lost), lost),
        (Shape::Map(a), Shape::Record(b)) | (Shape::Record(b), Shape::Map(a)) if b.kind == Kind::Dict => {
            *lost = true;
            let keys = if b.fields.is_empty() {
                a.0
            } else {
                joined(a.0, Shape::Str, lost)
            };
            map(
                keys,
                b.fields
                    .into_iter()
                    .fold(a.1, |all, field| joined(all, field, lost)),
                lost,
            )
        }
        (Shape::List(sequence, a), Shape::Record(b)) | (Shape::Record(b), Shape::List(sequence, a))
            if sequence_of(b.kind) == Some(sequence) =>
        {
            *lost = true;
            Shape::List(
                sequence,
                Box::new(
                    b.fields
                        .into_iter()
                        .fold(*a, |all, field| joined(all, field, lost)),
                ),
            )
        }
        _ => {
            *lost = true;
            Shape::Variant
        }
    }
}

fn map(keys: Shape, values: Shape, lost: &mut bool) -> Shape {
    if matches!(keys, Shape::Variant | Shape::Null) {
        *lost = true;
        return Shape::Variant;
    }
    Shape::Map(Box::new((keys, values)))
}

fn sequence_of(kind: Kind) -> Option<Sequence> {
    match kind {
        Kind::Tuple => Some(Sequence::Tuple),
        Kind::List => Some(Sequence::List),
        _ => None,
    }
}

fn join_records(a: RecordShape, b: RecordShape, lost: &mut bool) -> Shape {
    let same = a.kind == b.kind && a.class == b.class;
    if same && a.names == b.names && a.fields.len() == b.fields.len() {
        let fields = a
            .fields
            .into_iter()
            .zip(b.fields)
            .map(|(a, b)| joined(a, b, lost))
            .collect();
        return record(a.kind, a.class, a.names, fields);
    }
    *lost = true;
    let sequence = sequence_of(a.kind);
    if !same || sequence.is_none() && a.kind != Kind::Dict {
        return Shape::Variant;
    }
    let fields = a.fields.into_iter().chain(b.fields);
    let all = fields.fold(Shape::Null, |all, field| joined(all, field, lost));
    match sequence {
        Some(sequence) => Shape::List(sequence, Box::new(all)),
        None => Shape::Map(Box::new((Shape::Str, all))),
    }
}
