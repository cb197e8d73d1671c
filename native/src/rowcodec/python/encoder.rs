//! Rows one by one, written to a sink a batch at a time.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::encode::{BATCH, Encoder, TOLERATED};
use super::error;
use super::known::{Raised, known};
use super::layout::{Access, Api, Direct};
use super::machine::Tier;
use super::push::{Context, MOST_CONTAINERS};
use super::record::Classes;
use super::shape::{Looker, Shape, joined};
use super::{Options, state};

/// Takes rows; `sink` is called with the bytes of each batch.
#[pyclass(module = "headrace_native")]
pub struct RowEncoder {
    sink: Py<PyAny>,
    options: Options,
    encoder: Option<Encoder>,
    /// A shape that rows fit into that did not fit the encoder's.
    wider: Option<Shape>,
    classes: Classes,
    out: Vec<u8>,
    rows: usize,
    closed: bool,
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
            wider: None,
            classes: Classes::default(),
            out: Vec::new(),
            rows: 0,
            closed: false,
        })
    }

    /// Take a row as it is now.
    fn append(&mut self, row: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = row.py();
        if self.closed {
            return Err(error::argument("the encoder is closed".into()));
        }
        let done = match self.options.direct {
            true => unsafe { self.push::<Direct>(row) },
            false => unsafe { self.push::<Api>(row) },
        };
        if done.map_err(|Raised| PyErr::fetch(py))? {
            self.flush(py)?;
        }
        Ok(())
    }

    /// Write the rows that were taken.
    fn flush(&mut self, py: Python<'_>) -> PyResult<()> {
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

    /// Write the rows that were taken, and end the stream.
    fn close(&mut self, py: Python<'_>) -> PyResult<()> {
        if std::mem::replace(&mut self.closed, true) {
            return Ok(());
        }
        self.flush(py)?;
        let mut encoder = self
            .encoder
            .take()
            .unwrap_or_else(|| Encoder::new(Shape::empty(), false));
        encoder.finish(&mut self.out, self.options.codec);
        state(py).put_encoder(encoder);
        self.send(py)
    }
}

impl RowEncoder {
    fn send(&mut self, py: Python<'_>) -> PyResult<()> {
        if self.out.is_empty() {
            return Ok(());
        }
        state(py).count(|counts| counts.bytes_written += self.out.len() as u64);
        let bytes = PyBytes::new(py, &self.out);
        self.out.clear();
        self.sink.call1(py, (bytes,)).map(|_| ())
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
            coding: options.coding,
            tier: Tier::Program,
            left: 0,
            full: false,
            retyped: false,
            row: self.rows,
            machine_rows: 0,
        };
        let odd = encoder.rest_rows;
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
        if encoder.rest_rows > odd {
            let shape = Looker {
                py,
                known,
                classes: &mut *context.classes,
                left: MOST_CONTAINERS,
            }
            .row::<A>(row.as_ptr())?;
            let before = self.wider.take().unwrap_or_else(|| encoder.shape.clone());
            self.wider = Some(joined(before, shape, &mut false));
        }
        Ok(encoder.rows >= BATCH || encoder.rows % 256 == 0 && encoder.is_large())
    }

    /// After a batch in which too many rows did not fit: have the next one's columns fit them, too.
    fn adapt(&mut self, rows: usize, rest: usize) {
        let (Some(wider), Some(encoder)) = (self.wider.take(), &mut self.encoder) else {
            return;
        };
        if rest * TOLERATED > rows && wider != encoder.shape {
            let mut other = Encoder::new(wider, self.options.coding);
            other.follow(encoder, &mut self.out);
            *encoder = other;
        }
    }
}
