//! The bytes of an object, which stay what and where they are while they are looked at.

use std::pin::Pin;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};

use super::error;

pub struct View {
    buffer: Pin<Box<ffi::Py_buffer>>,
    /// Of an object that others may write to: what was checked must not become something else.
    copied: Option<Vec<u8>>,
}

impl View {
    /// An argument error where the object has no bytes, one after the other.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        // What it is filled with may point to itself.
        let mut buffer = Box::pin(unsafe { std::mem::zeroed::<ffi::Py_buffer>() });
        if unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), &mut *buffer, ffi::PyBUF_SIMPLE) } != 0 {
            drop(PyErr::take(object.py()));
            let name = object.get_type().name()?;
            let what = format!(
                "{name} is not bytes that lie one after the other: of a file, give what read() gives"
            );
            return Err(error::argument(what));
        }
        let mut view = Self { buffer, copied: None };
        if !is_lasting(object)? {
            view.copied = Some(view.bytes().to_vec());
        }
        Ok(view)
    }

    pub fn bytes(&self) -> &[u8] {
        if let Some(copied) = &self.copied {
            return copied;
        }
        if self.buffer.len == 0 {
            return &[];
        }
        unsafe { std::slice::from_raw_parts(self.buffer.buf.cast(), self.buffer.len as usize) }
    }
}

/// Whether nobody can write to its bytes: a view to be read alone may be one of what is written to elsewhere.
fn is_lasting(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let viewed = object.is_exact_instance_of::<PyMemoryView>();
    Ok(object.is_exact_instance_of::<PyBytes>()
        || viewed && object.getattr("obj")?.is_exact_instance_of::<PyBytes>())
}

impl Drop for View {
    fn drop(&mut self) {
        unsafe { ffi::PyBuffer_Release(&mut *self.buffer) };
    }
}
