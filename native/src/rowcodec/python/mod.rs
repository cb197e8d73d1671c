//! The row codec as Python sees it; `headrace_native.pyi` tells its types.

mod arenas;
mod bound;
mod build;
mod bytes_out;
mod coded;
mod column;
mod decode;
mod dump;
mod encode;
mod encoder;
mod error;
mod fields;
mod known;
mod layout;
mod machine;
mod new_record;
mod numpy;
mod only;
mod pages;
mod plan;
mod push;
mod push_container;
mod record;
mod shape;
mod shared;
mod source;
mod state;
mod time;
mod value;
mod view;
mod write_variant;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyList, PyMemoryView, PyString};

use crate::rowcodec::wire::codec::Codec;
use known::known;
use machine::Tier;
use only::Only;
use source::Source;
use state::State;
use view::View;

static STATE: PyOnceLock<State> = PyOnceLock::new();

fn state(py: Python<'_>) -> &'static State {
    STATE.get_or_init(py, State::default)
}

/// How rows are written.
#[derive(Clone, Copy)]
struct Options {
    allow_pickle: bool,
    codec: Option<Codec>,
    coding: bool,
    direct: bool,
    /// Of rows that are given at once.
    tier: Tier,
    only: Only,
}

impl Options {
    fn new(
        allow_pickle: bool,
        compression: Option<&str>,
        dictionaries: bool,
        direct: Option<bool>,
    ) -> PyResult<Self> {
        let codec = match compression {
            None => None,
            Some("lz4") => Some(Codec::Lz4),
            Some("zstd") => Some(Codec::Zstd),
            Some(other) => {
                let what = format!("compression is {other:?}: give \"lz4\", \"zstd\" or None");
                return Err(error::argument(what));
            }
        };
        let direct = layout::as_expected() && direct != Some(false);
        Ok(Self {
            allow_pickle,
            codec,
            coding: dictionaries,
            direct,
            tier: Tier::Program,
            only: Only::All,
        })
    }
}

/// Rows as bytes. Args: `direct` False has objects read by the C API alone.
#[pyfunction]
#[pyo3(signature = (rows, allow_pickle=true, compression=None, dictionaries=true, direct=None, tier=None, only=None))]
#[expect(clippy::too_many_arguments, reason = "one an option of Python's function")]
fn dump_rows(
    py: Python<'_>,
    rows: &Bound<'_, PyAny>,
    allow_pickle: bool,
    compression: Option<&str>,
    dictionaries: bool,
    direct: Option<bool>,
    tier: Option<&str>,
    only: Option<&str>,
) -> PyResult<Py<PyAny>> {
    let mut options = Options::new(allow_pickle, compression, dictionaries, direct)?;
    options.tier = match tier {
        None => Tier::Either,
        Some("program") => Tier::Program,
        Some("machine") => Tier::Machine,
        Some(other) => {
            let what = format!("tier is {other:?}: give \"program\", \"machine\" or None");
            return Err(error::argument(what));
        }
    };
    options.only = match only {
        None => Only::All,
        Some("alike") => Only::Alike,
        Some("plain") => Only::Plain,
        Some(other) => {
            let what = format!("only is {other:?}: give \"alike\", \"plain\" or None");
            return Err(error::argument(what));
        }
    };
    let (list, tuple) = unsafe {
        let ty = ffi::Py_TYPE(rows.as_ptr());
        (ty == &raw mut ffi::PyList_Type, ty == &raw mut ffi::PyTuple_Type)
    };
    if list {
        return dump::dump(py, &Source::List(rows.as_ptr()), options);
    }
    if tuple {
        return dump::dump(py, &Source::Tuple(rows.as_ptr()), options);
    }
    if are_no_rows(rows) {
        return Err(not_rows(rows));
    }
    let all = PyList::empty(py);
    let Ok(each) = rows.try_iter() else {
        return Err(not_rows(rows));
    };
    for row in each {
        all.append(row?)?;
    }
    dump::dump(py, &Source::List(all.as_ptr()), options)
}

fn not_rows(given: &Bound<'_, PyAny>) -> PyErr {
    let name = given.get_type().name().map(|name| name.to_string());
    error::argument(format!(
        "{} is not rows: give a list of them, or what gives one after the other, such as \
         frame.itertuples(index=False, name=None) or table.to_pylist()",
        name.unwrap_or_default()
    ))
}

/// Whether to iterate over it would give something else, such as the names of its columns.
fn are_no_rows(of: &Bound<'_, PyAny>) -> bool {
    of.is_instance_of::<PyString>()
        || of.is_instance_of::<PyBytes>()
        || of.is_instance_of::<PyByteArray>()
        || of.is_instance_of::<PyDict>()
        || of.is_instance_of::<PyMemoryView>()
        || [c"__arrow_c_stream__", c"__arrow_c_array__"]
            .iter()
            .any(|name| unsafe { ffi::PyObject_HasAttrString(of.as_ptr(), name.as_ptr()) } == 1)
}

/// The rows that bytes hold.
#[pyfunction]
#[pyo3(signature = (buffer, allow_pickle=false))]
fn load_rows(py: Python<'_>, buffer: &Bound<'_, PyAny>, allow_pickle: bool) -> PyResult<Py<PyAny>> {
    let state = state(py);
    let view = View::of(buffer)?;
    let rows = decode::decode(py, known(py)?, state, view.bytes(), allow_pickle)?;
    let count = unsafe { ffi::PyList_Size(rows.as_ptr()) };
    state.count(|counts| {
        counts.rows_read += count as u64;
        counts.bytes_read += view.bytes().len() as u64;
    });
    Ok(rows)
}

/// The columns of the rows that bytes hold, a list for each, and how many rows there are.
#[pyfunction]
fn load_columns(py: Python<'_>, buffer: &Bound<'_, PyAny>) -> PyResult<(Vec<Py<PyAny>>, usize)> {
    let state = state(py);
    let view = View::of(buffer)?;
    let (columns, rows) = decode::decode_columns(py, known(py)?, state, view.bytes())?;
    state.count(|counts| {
        counts.rows_read += rows as u64;
        counts.bytes_read += view.bytes().len() as u64;
    });
    Ok((columns, rows))
}

/// The rows of a batch. Args: `schema` is its message, `array` a capsule of the C data interface.
#[pyfunction]
#[pyo3(signature = (schema, array, allow_pickle=false))]
fn load_batch(
    py: Python<'_>,
    schema: &Bound<'_, PyAny>,
    array: &Bound<'_, PyAny>,
    allow_pickle: bool,
) -> PyResult<Py<PyAny>> {
    let message = View::of(schema)?;
    unsafe {
        let pointer = ffi::PyCapsule_GetPointer(array.as_ptr(), c"arrow_array".as_ptr());
        if pointer.is_null() {
            return Err(PyErr::fetch(py));
        }
        decode::decode_foreign(py, known(py)?, message.bytes(), pointer.cast(), allow_pickle)
            .map_err(|error| error::nowhere(py, error))
    }
}

/// What this process has done.
#[pyfunction]
fn row_stats(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let counts = state(py).counts();
    let told = PyDict::new(py);
    for (name, count) in [
        ("rows_written", counts.rows_written),
        ("rows_read", counts.rows_read),
        ("bytes_written", counts.bytes_written),
        ("bytes_read", counts.bytes_read),
        ("rest_rows", counts.rest_rows),
        ("refused", counts.refused),
        ("compiled", counts.compiled),
        ("reused", counts.reused),
        ("machine_rows", counts.machine_rows),
        ("machine_made", counts.machine_made),
    ] {
        told.set_item(name, count)?;
    }
    told.set_item("machine_bytes", state(py).code_bytes())?;
    told.set_item("direct", layout::as_expected())?;
    Ok(told)
}

/// Add the codec to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("RowError", module.py().get_type::<error::RowError>())?;
    module.add_class::<encoder::RowEncoder>()?;
    module.add_function(wrap_pyfunction!(dump_rows, module)?)?;
    module.add_function(wrap_pyfunction!(load_rows, module)?)?;
    module.add_function(wrap_pyfunction!(load_columns, module)?)?;
    module.add_function(wrap_pyfunction!(load_batch, module)?)?;
    module.add_function(wrap_pyfunction!(row_stats, module)?)
}
