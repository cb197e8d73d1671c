//! What goes wrong, as Python sees it: `headrace` makes errors of its own of these.

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use crate::rowcodec::wire::Damage;

create_exception!(
    headrace_native,
    RowError,
    PyException,
    "Rows that cannot be written or read."
);

fn new(py: Python<'_>, what: String, kind: &str, offset: Option<usize>) -> PyErr {
    let error = RowError::new_err(what);
    let told = error.value(py);
    let set = told
        .setattr("kind", kind)
        .and_then(|()| told.setattr("offset", offset))
        .and_then(|()| told.setattr("row", py.None()))
        .and_then(|()| told.setattr("column", py.None()));
    match set {
        Ok(()) => error,
        Err(other) => other,
    }
}

/// Say which row could not be read, and which of its columns, where that is known. Args: `error` may be another's.
pub fn at_row(py: Python<'_>, error: PyErr, row: usize, column: Option<&Py<PyAny>>) -> PyErr {
    tell(py, error, |told| {
        told.setattr("row", row)
            .and_then(|()| told.setattr("column", column))
    })
}

/// So many rows were read before those of which an error tells.
pub fn behind_rows(py: Python<'_>, error: PyErr, before: usize) -> PyErr {
    tell(py, error, |told| {
        match told.getattr("row")?.extract::<Option<usize>>()? {
            Some(row) => told.setattr("row", before + row),
            None => Ok(()),
        }
    })
}

/// What was read is not bytes.
pub fn nowhere(py: Python<'_>, error: PyErr) -> PyErr {
    tell(py, error, |told| told.setattr("offset", py.None()))
}

fn tell(
    py: Python<'_>,
    error: PyErr,
    set: impl FnOnce(&Bound<'_, pyo3::exceptions::PyBaseException>) -> PyResult<()>,
) -> PyErr {
    if !error.is_instance_of::<RowError>(py) {
        return error;
    }
    match set(error.value(py)) {
        Ok(()) => error,
        Err(other) => other,
    }
}

/// A value that is not written or read unless it is asked for.
pub fn refused(what: String) -> PyErr {
    Python::attach(|py| new(py, what, "refused", None))
}

/// Pickle cannot carry a value, for a cause that it tells.
pub fn unpicklable(py: Python<'_>, what: String, cause: PyErr) -> PyErr {
    let error = new(py, what, "unsupported", None);
    error.set_cause(py, Some(cause));
    error
}

/// A class of records is not there, or is not what it was.
pub fn no_class(py: Python<'_>, what: String, offset: usize) -> PyErr {
    new(py, what, "class", Some(offset))
}

/// What was given is not what can be taken.
pub fn argument(what: String) -> PyErr {
    Python::attach(|py| new(py, what, "argument", None))
}

pub fn too_large(what: String) -> PyErr {
    Python::attach(|py| new(py, what, "limit", None))
}

pub fn refused_at(py: Python<'_>, what: String, offset: usize) -> PyErr {
    new(py, what, "refused", Some(offset))
}

pub fn damaged(py: Python<'_>, damage: Damage) -> PyErr {
    let kind = if damage.unsupported {
        "unsupported"
    } else {
        "damaged"
    };
    new(py, damage.what, kind, Some(damage.offset))
}
