//! Values that hold others into columns.

use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;

use super::column::{Column, Op, Record};
use super::layout::Access;
use super::push::{Context, Fits, MOST, push};
use super::record::Kind;
use super::shape::Sequence;
use super::value;

pub unsafe fn push_container<A: Access>(
    column: &mut Column,
    o: *mut PyObject,
    context: &mut Context<'_, '_>,
) -> Fits {
    let ty = unsafe { ffi::Py_TYPE(o) };
    match &column.op {
        Op::List(Sequence::List) => {
            if ty != &raw mut ffi::PyList_Type {
                return Ok(false);
            }
            // It may change while code of others runs.
            let mut n = 0;
            while n < unsafe { A::list_len(o) } {
                if !unsafe { push::<A>(&mut column.kids[0], A::list_item(o, n), context) }? {
                    return Ok(false);
                }
                n += 1;
            }
        }
        Op::List(Sequence::Tuple) => {
            if ty != &raw mut ffi::PyTuple_Type {
                return Ok(false);
            }
            for n in 0..unsafe { A::tuple_len(o) } {
                if !unsafe { push::<A>(&mut column.kids[0], A::tuple_item(o, n), context) }? {
                    return Ok(false);
                }
            }
        }
        Op::Map => {
            if ty != &raw mut ffi::PyDict_Type {
                return Ok(false);
            }
            let (mut position, mut key, mut value) = (0, std::ptr::null_mut(), std::ptr::null_mut());
            while unsafe { ffi::PyDict_Next(o, &mut position, &mut key, &mut value) } != 0 {
                let _held: Py<PyAny> = unsafe { Bound::from_borrowed_ptr(context.py, value) }.unbind();
                let fits = key != context.known.none.as_ptr()
                    && unsafe { push::<A>(&mut column.kids[0], key, context) }?
                    && unsafe { push::<A>(&mut column.kids[1], value, context) }?;
                if !fits {
                    return Ok(false);
                }
            }
        }
        Op::Record(_) => {
            let Column {
                op: Op::Record(record),
                kids,
                ..
            } = column
            else {
                unreachable!()
            };
            return unsafe { push_record::<A>(record, kids, o, context) };
        }
        _ => unreachable!("only containers come here"),
    }
    let end = column.kids[0].len;
    if end > MOST {
        (context.full, context.beyond) = (true, true);
        return Ok(false);
    }
    column.offsets.push(end as i32);
    Ok(true)
}

/// The fields of a record, one into each column.
pub unsafe fn push_record<A: Access>(
    record: &Record,
    columns: &mut [Column],
    o: *mut PyObject,
    context: &mut Context<'_, '_>,
) -> Fits {
    let ty = unsafe { ffi::Py_TYPE(o) };
    match record.kind {
        Kind::List => {
            if ty != &raw mut ffi::PyList_Type {
                return Ok(false);
            }
            for (n, column) in columns.iter_mut().enumerate() {
                let there = n < unsafe { A::list_len(o) };
                if !there || !unsafe { push::<A>(column, A::list_item(o, n), context) }? {
                    return Ok(false);
                }
            }
            return Ok(unsafe { A::list_len(o) } == columns.len());
        }
        Kind::Dict => {
            if ty != &raw mut ffi::PyDict_Type {
                return Ok(false);
            }
            return unsafe { push_named::<A>(record, columns, o, context) };
        }
        Kind::Tuple => {
            if ty != &raw mut ffi::PyTuple_Type {
                return Ok(false);
            }
        }
        Kind::Named | Kind::Data | Kind::Row => {
            if !record.class.as_ref().is_some_and(|class| class.is_of(o)) {
                return Ok(false);
            }
            if record.kind == Kind::Data {
                let Some(dict) = value::instance_dict(o) else {
                    return Ok(false);
                };
                let _held: Py<PyAny> = unsafe { Bound::from_borrowed_ptr(context.py, dict) }.unbind();
                return unsafe { push_named::<A>(record, columns, dict, context) };
            }
            if record.kind == Kind::Row && !has_names(record, o) {
                return Ok(false);
            }
        }
    }
    if unsafe { A::tuple_len(o) } != columns.len() {
        return Ok(false);
    }
    for (n, column) in columns.iter_mut().enumerate() {
        if !unsafe { push::<A>(column, A::tuple_item(o, n), context) }? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn has_names(record: &Record, o: *mut PyObject) -> bool {
    let (Some(list), Some(names)) = (value::row_fields(o), &record.names) else {
        return false;
    };
    let len = unsafe { ffi::PyList_Size(list) as usize };
    len == names.0.len()
        && names
            .0
            .iter()
            .enumerate()
            .all(|(n, name)| value::is_name(unsafe { ffi::PyList_GetItem(list, n as isize) }, name))
}

/// The values of a dict that has the record's keys, in its order.
unsafe fn push_named<A: Access>(
    record: &Record,
    columns: &mut [Column],
    dict: *mut PyObject,
    context: &mut Context<'_, '_>,
) -> Fits {
    let Some(names) = &record.names else {
        return Ok(false);
    };
    let (mut position, mut key, mut value) = (0, std::ptr::null_mut(), std::ptr::null_mut());
    unsafe {
        if ffi::PyDict_Size(dict) as usize != columns.len() {
            return Ok(false);
        }
        for (column, name) in columns.iter_mut().zip(&*names.0) {
            if ffi::PyDict_Next(dict, &mut position, &mut key, &mut value) == 0
                || !value::is_name(key, name)
                || !push::<A>(column, value, context)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
