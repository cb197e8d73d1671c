//! Streams into rows.

use std::sync::Arc;

use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::arenas::Filled;
use super::bound::{Bound_, Context, Dictionaries};
use super::build::{Builder, Failed};
use super::error;
use super::known::Known;
use super::new_record::new_record;
use super::plan::{Node, Plan, Planner, Top};
use super::record::Kind;
use super::state::State;
use crate::rowcodec::wire::foreign::{self, ForeignArray};
use crate::rowcodec::wire::message::SchemaBytes;
use crate::rowcodec::wire::stream::{Rows, Told, read};
use crate::rowcodec::wire::{Column, Damage, Message, Messages, Schema};

/// A schema, and what is made of its columns.
pub struct Parsed {
    pub schema: Schema,
    pub plan: Plan,
}

impl AsRef<Schema> for Parsed {
    fn as_ref(&self) -> &Schema {
        &self.schema
    }
}

/// Shared, because streams of one schema follow one another.
#[derive(Clone)]
pub struct SharedPlan(pub Arc<Parsed>);

impl AsRef<Schema> for SharedPlan {
    fn as_ref(&self) -> &Schema {
        &self.0.schema
    }
}

/// All rows of the streams that a buffer holds.
pub fn decode(
    py: Python<'_>,
    known: &Known,
    state: &State,
    input: &[u8],
    allow_pickle: bool,
) -> PyResult<Py<PyAny>> {
    let _quiet = NoCollection::new();
    let mut decoder = Decoder::new(py, known, state, allow_pickle, Made::Rows(None));
    read(input, &mut decoder).map_err(|error| error.0)?;
    match decoder.made {
        Made::Rows(Some(rows)) => Ok(rows.into_any().unbind()),
        _ => Ok(PyList::empty(py).into_any().unbind()),
    }
}

/// A list for each column of rows all of which fit into the columns, and how many rows there are.
pub fn decode_columns(
    py: Python<'_>,
    known: &Known,
    state: &State,
    input: &[u8],
) -> PyResult<(Vec<Py<PyAny>>, usize)> {
    let _quiet = NoCollection::new();
    let mut decoder = Decoder::new(py, known, state, false, Made::Columns(Vec::new(), 0));
    read(input, &mut decoder).map_err(|error| error.0)?;
    match decoder.made {
        Made::Columns(columns, rows) => {
            let columns = columns.into_iter().map(|column| column.into_any().unbind());
            Ok((columns.collect(), rows))
        }
        Made::Rows(_) => Ok((Vec::new(), 0)),
    }
}

/// What is made of batches, one after the other.
enum Made<'py> {
    Rows(Option<Bound<'py, PyList>>),
    Columns(Vec<Bound<'py, PyList>>, usize),
}

/// Put the items of a list behind those of another one.
fn extend(list: &Bound<'_, PyList>, more: &Bound<'_, PyList>) -> Result<(), Failed> {
    let end = list.len() as isize;
    match unsafe { ffi::PyList_SetSlice(list.as_ptr(), end, end, more.as_ptr()) } {
        0 => Ok(()),
        _ => Err(PyErr::fetch(list.py()).into()),
    }
}

struct Decoder<'a, 'py> {
    py: Python<'py>,
    known: &'a Known,
    state: &'a State,
    allow_pickle: bool,
    parsed: Option<SharedPlan>,
    dictionaries: Dictionaries,
    made: Made<'py>,
}

impl<'a, 'py> Decoder<'a, 'py> {
    fn new(py: Python<'py>, known: &'a Known, state: &'a State, allow_pickle: bool, made: Made<'py>) -> Self {
        Self {
            py,
            known,
            state,
            allow_pickle,
            parsed: None,
            dictionaries: Dictionaries::new(),
            made,
        }
    }

    fn context(&self, at: usize) -> Context<'a, 'py> {
        let builder = Builder {
            py: self.py,
            known: self.known,
            allow_pickle: self.allow_pickle,
        };
        Context {
            py: self.py,
            known: self.known,
            builder,
            at,
            damage: None,
        }
    }

    fn parse(&self, bytes: SchemaBytes<'_>, at: usize) -> Result<SharedPlan, Failed> {
        let schema = bytes.read()?;
        let planner = Planner {
            py: self.py,
            known: self.known,
            allow_pickle: self.allow_pickle,
            at,
        };
        let plan = planner.plan(&schema)?;
        Ok(SharedPlan(Arc::new(Parsed { schema, plan })))
    }
}

impl Rows for Decoder<'_, '_> {
    type Schema = SharedPlan;
    type Error = Failed;

    fn schema(&mut self, bytes: SchemaBytes<'_>, at: usize) -> Result<SharedPlan, Failed> {
        self.dictionaries.clear();
        let found = match self.state.plan(bytes.bytes()) {
            Some(found) => found,
            None => {
                let parsed = self.parse(bytes, at)?;
                if parsed.0.plan.can_be_kept() {
                    self.state.keep_plan(bytes.bytes(), &parsed);
                }
                parsed
            }
        };
        self.parsed = Some(found.clone());
        Ok(found)
    }

    fn dictionary(&mut self, told: Told<'_>, id: i64, delta: bool) -> Result<(), Failed> {
        let planner = Planner {
            py: self.py,
            known: self.known,
            allow_pickle: self.allow_pickle,
            at: told.at,
        };
        let node = planner.values(told.field)?;
        let mut context = self.context(told.at);
        let none = Dictionaries::new();
        let bound = Bound_::new(&node, told.values, &none, &context)?;
        let values = unsafe { values_of(&bound, told.values.len, &mut context) }?;
        let known = self.dictionaries.entry(id).or_default();
        if !delta {
            known.clear();
        }
        known.extend(values);
        Ok(())
    }

    fn batch(&mut self, columns: &[Column<'_>], rows: usize, at: usize) -> Result<(), Failed> {
        let Some(SharedPlan(parsed)) = self.parsed.clone() else {
            return Ok(());
        };
        let mut context = self.context(at);
        match &mut self.made {
            Made::Rows(all) => {
                let before = all.as_ref().map_or(0, |all| all.len());
                let list = rows_of(&parsed.plan, columns, rows, &self.dictionaries, &mut context)
                    .map_err(|error| error::behind_rows(self.py, error, before))?;
                match all {
                    None => *all = Some(list),
                    Some(all) => extend(all, &list)?,
                }
            }
            Made::Columns(all, count) => {
                let found = columns_of(&parsed.plan, columns, &self.dictionaries, &mut context)?;
                if *count == 0 {
                    *all = found;
                } else if all.len() != found.len() {
                    return Err(
                        error::argument("the rows have not the same columns throughout".into()).into(),
                    );
                } else {
                    for (all, column) in all.iter().zip(&found) {
                        extend(all, column)?;
                    }
                }
                *count += rows;
            }
        }
        Ok(())
    }
}

/// The rows of a batch whose columns lie in Python's process. Args: `message` is its schema's.
///
/// Safety: as `foreign::columns` asks.
pub unsafe fn decode_foreign(
    py: Python<'_>,
    known: &Known,
    message: &[u8],
    array: *const ForeignArray,
    allow_pickle: bool,
) -> PyResult<Py<PyAny>> {
    let damaged = |damage| error::damaged(py, damage);
    let schema = match Messages::new(message).message().map_err(damaged)? {
        Message::Schema(bytes) => bytes.read().map_err(damaged)?,
        _ => return Err(damaged(Damage::new(0, "a message is no schema"))),
    };
    let planner = Planner {
        py,
        known,
        allow_pickle,
        at: 0,
    };
    let plan = planner.plan(&schema)?;
    let mut context = Context {
        py,
        known,
        builder: Builder {
            py,
            known,
            allow_pickle,
        },
        at: 0,
        damage: None,
    };
    let (mut dictionaries, none, mut told) = (Dictionaries::new(), Dictionaries::new(), Vec::new());
    unsafe { foreign::dictionaries(array, &schema.fields, &mut told) }.map_err(damaged)?;
    for (field, column) in &told {
        let node = planner.values(field)?;
        let bound = Bound_::new(&node, column, &none, &context)?;
        let values = unsafe { values_of(&bound, column.len, &mut context) }?;
        dictionaries.insert(node.dictionary.unwrap_or(-1), values);
    }
    let (columns, rows) = unsafe { foreign::columns(array, &schema.fields) }.map_err(damaged)?;
    let list = rows_of(&plan, &columns, rows, &dictionaries, &mut context)?;
    Ok(list.into_any().unbind())
}

/// Safety: the column has so many values.
unsafe fn values_of(
    bound: &Bound_<'_>,
    len: usize,
    context: &mut Context<'_, '_>,
) -> PyResult<Vec<Py<PyAny>>> {
    let mut values = Vec::with_capacity(len);
    for n in 0..len {
        let value = unsafe { bound.value(n, context) };
        if value.is_null() {
            return Err(context.failure());
        }
        values.push(unsafe { Bound::from_owned_ptr(context.py, value) }.unbind());
    }
    Ok(values)
}

/// The columns of a batch, each as a new list.
fn columns_of<'py>(
    plan: &Plan,
    columns: &[Column<'_>],
    dictionaries: &Dictionaries,
    context: &mut Context<'_, 'py>,
) -> PyResult<Vec<Bound<'py, PyList>>> {
    let py = context.py;
    if plan.rest {
        return Err(error::argument(
            "some rows do not fit into the columns: load them as rows".into(),
        ));
    }
    let mut lists = Vec::with_capacity(columns.len());
    for (node, column) in plan.columns.iter().zip(columns) {
        let _filled = Filled::by(column.len);
        let bound = Bound_::new(node, column, dictionaries, context)?;
        unsafe {
            let list = Bound::from_owned_ptr_or_err(py, ffi::PyList_New(column.len as isize))?;
            for n in 0..column.len {
                let value = bound.value(n, context);
                if value.is_null() {
                    return Err(context.failure());
                }
                ffi::PyList_SET_ITEM(list.as_ptr(), n as isize, value);
            }
            lists.push(list.cast_into::<PyList>().map_err(PyErr::from)?);
        }
    }
    Ok(lists)
}

static REST: Node = Node {
    make: super::plan::Make::Variant,
    dictionary: None,
    children: Vec::new(),
};

/// The rows of a batch, as a new list.
pub fn rows_of<'py>(
    plan: &Plan,
    columns: &[Column<'_>],
    rows: usize,
    dictionaries: &Dictionaries,
    context: &mut Context<'_, 'py>,
) -> PyResult<Bound<'py, PyList>> {
    let py = context.py;
    let _filled = Filled::by(rows * (columns.len() + 1));
    let fits = &columns[..plan.columns.len()];
    let bound = plan.columns.iter().zip(fits);
    let bound = bound
        .map(|(node, column)| Bound_::new(node, column, dictionaries, context))
        .collect::<PyResult<Vec<_>>>()?;
    let rest = match plan.rest {
        true => Some((
            &columns[fits.len()],
            Bound_::new(&REST, &columns[fits.len()], dictionaries, context)?,
        )),
        false => None,
    };
    unsafe {
        let list = Bound::from_owned_ptr_or_err(py, ffi::PyList_New(rows as isize))?;
        for n in 0..rows {
            let row = match &rest {
                Some((column, rest)) if !column.is_null(n) => rest.value(n, context),
                _ => new_row(plan, &bound, n, context),
            };
            if row.is_null() {
                let error = context.failure();
                let column = match &rest {
                    Some((column, _)) if !column.is_null(n) => None,
                    _ => failing(plan, &bound, n, context),
                };
                return Err(error::at_row(py, error, n, column));
            }
            ffi::PyList_SET_ITEM(list.as_ptr(), n as isize, row);
        }
        list.cast_into::<PyList>().map_err(PyErr::from)
    }
}

/// The name of the first column that gives no value, which are made once more; not where that could run code.
unsafe fn failing<'a>(
    plan: &'a Plan,
    bound: &[Bound_<'_>],
    n: usize,
    context: &mut Context<'_, '_>,
) -> Option<&'a Py<PyAny>> {
    let Top::Record(record) = &plan.top else {
        return None;
    };
    if context.builder.allow_pickle {
        return None;
    }
    record.names.iter().zip(bound).find_map(|(name, column)| {
        let value = unsafe { column.value(n, context) };
        if value.is_null() {
            drop(context.failure());
            return Some(name);
        }
        unsafe { ffi::Py_DECREF(value) };
        None
    })
}

#[inline(always)]
unsafe fn new_row(
    plan: &Plan,
    bound: &[Bound_<'_>],
    n: usize,
    context: &mut Context<'_, '_>,
) -> *mut PyObject {
    unsafe {
        match &plan.top {
            Top::Value => bound[0].value(n, context),
            Top::Record(record) => {
                let row = new_record(record, bound, n, context);
                if plan.atoms && record.kind == Kind::Tuple && !row.is_null() && !bound.is_empty() {
                    ffi::PyObject_GC_UnTrack(row.cast());
                }
                row
            }
        }
    }
}

/// Makes the garbage collector wait: what is made here has no cycles yet.
struct NoCollection(bool);

impl NoCollection {
    fn new() -> Self {
        Self(unsafe { ffi::PyGC_Disable() } != 0)
    }
}

impl Drop for NoCollection {
    fn drop(&mut self) {
        if self.0 {
            unsafe { ffi::PyGC_Enable() };
        }
    }
}
