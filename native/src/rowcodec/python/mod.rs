//! The row codec as Python sees it; `headrace_native.pyi` tells its types.

mod bound;
mod build;
mod bytes_out;
mod coded;
mod column;
mod decode;
mod encode;
mod encoder;
mod error;
mod fields;
mod known;
mod layout;
mod machine;
mod new_record;
mod numpy;
mod plan;
mod push;
mod push_container;
mod record;
mod shape;
mod source;
mod state;
mod time;
mod value;
mod view;
mod write_variant;

use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList};

use crate::rowcodec::wire::codec::Codec;
use bytes_out::BytesOut;
use encode::{Encoder, TOLERATED};
use known::{Raised, known};
use layout::{Access, Api, Direct};
use machine::Tier;
use push::{Context, MOST_CONTAINERS};
use shape::{Looker, Shape, is_row_of, joined};
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
                return Err(PyValueError::new_err(what));
            }
        };
        let direct = layout::as_expected() && direct != Some(false);
        Ok(Self {
            allow_pickle,
            codec,
            coding: dictionaries,
            direct,
            tier: Tier::Program,
        })
    }
}

/// Rows as bytes. Args: `direct` False has objects read by the C API alone.
#[pyfunction]
#[pyo3(signature = (rows, allow_pickle=true, compression=None, dictionaries=true, direct=None, tier=None))]
fn dump_rows(
    py: Python<'_>,
    rows: &Bound<'_, PyAny>,
    allow_pickle: bool,
    compression: Option<&str>,
    dictionaries: bool,
    direct: Option<bool>,
    tier: Option<&str>,
) -> PyResult<Py<PyAny>> {
    let mut options = Options::new(allow_pickle, compression, dictionaries, direct)?;
    options.tier = match tier {
        None => Tier::Either,
        Some("program") => Tier::Program,
        Some("machine") => Tier::Machine,
        Some(other) => {
            let what = format!("tier is {other:?}: give \"program\", \"machine\" or None");
            return Err(PyValueError::new_err(what));
        }
    };
    let (list, tuple) = unsafe {
        let ty = ffi::Py_TYPE(rows.as_ptr());
        (ty == &raw mut ffi::PyList_Type, ty == &raw mut ffi::PyTuple_Type)
    };
    if list {
        return dump(py, Source::List(rows.as_ptr()), options);
    }
    if tuple {
        return dump(py, Source::Tuple(rows.as_ptr()), options);
    }
    let all = PyList::empty(py);
    for row in rows.try_iter()? {
        all.append(row?)?;
    }
    dump(py, Source::List(all.as_ptr()), options)
}

fn dump(py: Python<'_>, source: Source, options: Options) -> PyResult<Py<PyAny>> {
    match options.direct {
        true => dump_by::<Direct>(py, source, options),
        false => dump_by::<Api>(py, source, options),
    }
}

fn dump_by<A: Access>(py: Python<'_>, source: Source, options: Options) -> PyResult<Py<PyAny>> {
    let state = state(py);
    let known = known(py)?;
    let (mut classes, last) = state.begin();
    let mut context = Context {
        py,
        known,
        classes: &mut classes,
        allow_pickle: options.allow_pickle,
        coding: options.coding,
        tier: options.tier,
        left: 0,
        full: false,
        retyped: false,
        row: 0,
        machine_rows: 0,
    };
    let written = unsafe { write_all::<A>(&source, &mut context, options, last) };
    let (encoder, out, rest) = match written {
        Ok(Written { encoder, out, rest }) => (Some(encoder), Ok(out), rest),
        Err(Raised) => (None, Err(PyErr::fetch(py)), 0),
    };
    let (rows, machine_rows) = (context.row, context.machine_rows);
    let bytes = out.as_ref().map_or(0, BytesOut::len);
    state.end(classes, encoder.filter(|encoder| !encoder.retyped), |counts| {
        counts.rows_written += rows as u64;
        counts.bytes_written += bytes as u64;
        counts.rest_rows += rest as u64;
        counts.machine_rows += machine_rows as u64;
    });
    out?.done(py)
}

struct Written {
    encoder: Encoder,
    out: BytesOut,
    /// Rows that did not fit.
    rest: usize,
}

/// Args: `last` is the encoder that was used before, which may do.
unsafe fn write_all<A: Access>(
    source: &Source,
    context: &mut Context<'_, '_>,
    options: Options,
    last: Option<Encoder>,
) -> Result<Written, Raised> {
    let state = state(context.py);
    let len = unsafe { source.len::<A>() };
    // Of few rows a dictionary has no chance to pay.
    let coding = options.coding && len >= coded::FEWEST;
    let alike = last.as_ref().is_some_and(|last| {
        places(0, len, false)
            .all(|n| unsafe { is_row_of::<A>(&last.shape, source.item::<A>(n), context.known) })
    });
    let mut encoder = match last
        .filter(|_| alike && len > 0)
        .and_then(|last| last.reset(coding))
    {
        Some(last) => {
            state.count(|counts| counts.reused += 1);
            last
        }
        None => state.take_encoder(unsafe { sample::<A>(source, 0, len, context, false) }?, coding),
    };
    let mut out = BytesOut::new(4096);
    let (mut next, mut rest) = (0, 0);
    while next < unsafe { source.len::<A>() } {
        let from = next;
        next = unsafe { encoder.take::<A>(source, from, context) }?;
        if encoder.rest_rows * TOLERATED > encoder.rows {
            let shape = unsafe { sample::<A>(source, from, next, context, true) }?;
            if shape != encoder.shape {
                let mut other = state.take_encoder(shape, coding);
                other.follow(&encoder, &mut out);
                encoder = other;
                context.row = from;
                next = unsafe { encoder.take::<A>(source, from, context) }?;
            }
        }
        encoder.retyped |= context.retyped;
        rest += encoder.rest_rows;
        encoder.flush(&mut out, options.codec);
        if from == 0 && next < len {
            // As much as the first batch took, for each of the others.
            out.reserve(out.len() * len.div_ceil(next) + out.len() / 16);
        }
    }
    encoder.finish(&mut out, options.codec);
    Ok(Written { encoder, out, rest })
}

/// The rows whose shapes are looked at.
fn places(from: usize, to: usize, all: bool) -> impl Iterator<Item = usize> {
    let rows = to - from;
    let count = if all {
        rows
    } else {
        rows.min(32 + rows / 64).min(256)
    };
    (0..count).map(move |n| from + n * rows / count)
}

/// A shape for some of the rows, or for all of them. That of some leaves out what too few rows need.
unsafe fn sample<A: Access>(
    source: &Source,
    from: usize,
    to: usize,
    context: &mut Context<'_, '_>,
    all: bool,
) -> Result<Shape, Raised> {
    let mut found: Option<Shape> = None;
    let (mut whole, mut odd, mut count) = (Shape::Null, 0, 0);
    for at in places(from, to, all) {
        count += 1;
        if at >= unsafe { source.len::<A>() } {
            break;
        }
        let mut looker = Looker {
            py: context.py,
            known: context.known,
            classes: &mut *context.classes,
            left: MOST_CONTAINERS,
        };
        let shape = looker.row::<A>(unsafe { source.item::<A>(at) })?;
        let Some(before) = found.take() else {
            found = Some(shape);
            continue;
        };
        if before == shape {
            found = Some(before);
            continue;
        }
        let mut lost = false;
        let both = joined(before.clone(), shape.clone(), &mut lost);
        found = Some(if lost && !all {
            odd += 1;
            whole = joined(whole, shape, &mut lost);
            before
        } else {
            both
        });
    }
    let found = found.unwrap_or_else(Shape::empty);
    Ok(if odd * TOLERATED > count {
        joined(found, whole, &mut false)
    } else {
        found
    })
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
    module.add_function(wrap_pyfunction!(load_batch, module)?)?;
    module.add_function(wrap_pyfunction!(row_stats, module)?)
}
