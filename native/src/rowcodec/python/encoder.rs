//! Rows one by one, written to a sink a batch at a time.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pyo3::{PyTraverseError, PyVisit};

use super::encode::{BATCH, Encoder, TOLERATED};
use super::error;
use super::known::{Raised, known};
use super::layout::{Access, Api, Direct};
use super::machine::Tier;
use super::only::Only;
use super::push::{Context, MOST_CONTAINERS};
use super::record::Classes;
use super::shape::{Looker, Shape, joined};
use super::{Options, state};

/// After so many rows of a batch it is looked at whether most of them do not fit.
const EARLY: [usize; 4] = [16, 64, 256, 1024];

/// Takes rows; `sink` is called with the bytes of each batch.
#[pyclass(module = "headrace_native")]
pub struct RowEncoder {
    sink: Py<PyAny>,
    options: Options,
    encoder: Option<Encoder>,
    /// The shape of the rows that did not fit the encoder's.
    odd: Option<Shape>,
    classes: Classes,
    out: Vec<u8>,
    rows: usize,
    closed: bool,
    /// What the sink has is not whole: it has raised.
    broken: bool,
}

#[pymethods]
impl RowEncoder {
    #[new]
    #[pyo3(signature = (sink, allow_pickle=true, compression=None, dictionaries=true, direct=None))]
    fn new(
        sink: Py<PyAny>,
        allow_pickle: bool,
        compression: Option<&str>,
        dictionaries: bool,
        direct: Option<bool>,
    ) -> PyResult<Self> {
        let options = Options::new(allow_pickle, compression, dictionaries, direct)?;
        Ok(Self {
            sink,
            options,
            encoder: None,
            odd: None,
            classes: Classes::default(),
            out: Vec::new(),
            rows: 0,
            closed: false,
            broken: false,
        })
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.sink)
    }

    fn __clear__(&mut self, py: Python<'_>) {
        self.sink = py.None();
    }

    /// Take a row as it is now.
    fn append(slf: &Bound<'_, Self>, row: &Bound<'_, PyAny>) -> PyResult<()> {
        let (mut encoder, py) = (Self::free(slf)?, slf.py());
        if encoder.closed {
            return Err(error::argument("the encoder is closed".into()));
        }
        let done = match encoder.options.direct {
            true => unsafe { encoder.push::<Direct>(row) },
            false => unsafe { encoder.push::<Api>(row) },
        };
        if done.map_err(|Raised| PyErr::fetch(py))? {
            encoder.write(py)?;
        }
        Ok(())
    }

    /// Write the rows that were taken.
    fn flush(slf: &Bound<'_, Self>) -> PyResult<()> {
        Self::free(slf)?.write(slf.py())
    }

    /// Write the rows that were taken, and end the stream.
    fn close(slf: &Bound<'_, Self>) -> PyResult<()> {
        let (mut encoder, py) = (Self::free(slf)?, slf.py());
        if std::mem::replace(&mut encoder.closed, true) {
            return Ok(());
        }
        encoder.write(py)?;
        let mut last = encoder
            .encoder
            .take()
            .unwrap_or_else(|| Encoder::new(Shape::empty(), false));
        let codec = encoder.options.codec;
        last.finish(&mut encoder.out, codec);
        state(py).put_encoder(last);
        encoder.send(py)
    }
}

impl RowEncoder {
    /// The encoder, if nobody uses it and what it wrote is whole.
    fn free<'py>(slf: &Bound<'py, Self>) -> PyResult<PyRefMut<'py, Self>> {
        let Ok(encoder) = slf.try_borrow_mut() else {
            let what =
                "the encoder is in use: by another thread, or by what it is called from, such as its sink";
            return Err(error::argument(what.into()));
        };
        if encoder.broken {
            let what =
                "the sink raised an error before, and rows are lost: write all of them anew, to another one";
            return Err(error::argument(what.into()));
        }
        Ok(encoder)
    }

    fn write(&mut self, py: Python<'_>) -> PyResult<()> {
        if let Some(encoder) = &mut self.encoder {
            let (rows, rest) = (encoder.rows, encoder.rest_rows);
            encoder.flush(&mut self.out, self.options.codec);
            self.adapt(rows, rest);
            state(py).count(|counts| {
                counts.rows_written += rows as u64;
                counts.rest_rows += rest as u64;
            });
        }
        self.send(py)
    }

    fn send(&mut self, py: Python<'_>) -> PyResult<()> {
        if self.out.is_empty() {
            return Ok(());
        }
        state(py).count(|counts| counts.bytes_written += self.out.len() as u64);
        let bytes = PyBytes::new(py, &self.out);
        self.out.clear();
        self.broken = true;
        self.sink.call1(py, (bytes,))?;
        self.broken = false;
        Ok(())
    }

    /// Whether a batch is full.
    unsafe fn push<A: Access>(&mut self, row: &Bound<'_, PyAny>) -> Result<bool, Raised> {
        let py = row.py();
        let known = known(py).map_err(|error| Raised::set(py, error))?;
        let Self {
            encoder,
            classes,
            options,
            ..
        } = self;
        if encoder.is_none() {
            let shape = Looker {
                py,
                known,
                classes,
                left: MOST_CONTAINERS,
            }
            .row::<A>(row.as_ptr())?;
            *encoder = Some(state(py).take_encoder(shape, options.coding));
        }
        let Some(encoder) = encoder else { return Ok(false) };
        let mut context = Context {
            py,
            known,
            classes,
            allow_pickle: options.allow_pickle,
            only: Only::All,
            coding: options.coding,
            tier: Tier::Program,
            left: 0,
            full: false,
            beyond: false,
            room: 0,
            retyped: false,
            row: self.rows,
            machine_rows: 0,
        };
        let rest = encoder.rest_rows;
        unsafe { ffi::Py_INCREF(row.as_ptr()) };
        let mut pushed = unsafe { encoder.push::<A>(row.as_ptr(), &mut context) };
        if let Ok(false) = pushed {
            encoder.flush(&mut self.out, options.codec);
            pushed = unsafe { encoder.push::<A>(row.as_ptr(), &mut context) };
        }
        unsafe { ffi::Py_DECREF(row.as_ptr()) };
        encoder.retyped |= context.retyped;
        pushed?;
        self.rows += 1;
        if encoder.rest_rows > rest {
            let shape = Looker {
                py,
                known,
                classes: &mut *context.classes,
                left: MOST_CONTAINERS,
            }
            .row::<A>(row.as_ptr())?;
            self.odd = Some(match self.odd.take() {
                Some(before) => joined(before, shape, &mut false),
                None => shape,
            });
        }
        // The first rows may be the odd ones.
        let wrong = EARLY.contains(&encoder.rows) && encoder.rest_rows * 2 > encoder.rows;
        Ok(wrong || encoder.rows >= BATCH || encoder.rows % 256 == 0 && encoder.is_large())
    }

    /// After a batch in which too many rows did not fit: have the next one's columns fit them, too.
    fn adapt(&mut self, rows: usize, rest: usize) {
        let (Some(odd), Some(encoder)) = (self.odd.take(), &mut self.encoder) else {
            return;
        };
        if rest * TOLERATED <= rows {
            return;
        }
        let shape = match rest * 2 > rows {
            true => odd,
            false => joined(encoder.shape.clone(), odd, &mut false),
        };
        if shape != encoder.shape {
            let mut other = Encoder::new(shape, self.options.coding);
            other.follow(encoder, &mut self.out);
            *encoder = other;
        }
    }
}
