//! The bytes of an object, which stay where they are while they are looked at.

use std::pin::Pin;

use pyo3::ffi;
use pyo3::prelude::*;

pub struct View(Pin<Box<ffi::Py_buffer>>);

impl View {
    /// Raises a BufferError, or a TypeError, where the object has no bytes one after the other.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        // What it is filled with may point to itself.
        let mut view = Box::pin(unsafe { std::mem::zeroed::<ffi::Py_buffer>() });
        if unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), &mut *view, ffi::PyBUF_SIMPLE) } != 0 {
            return Err(PyErr::fetch(object.py()));
        }
        Ok(Self(view))
    }

    pub fn bytes(&self) -> &[u8] {
        if self.0.len == 0 {
            return &[];
        }
        unsafe { std::slice::from_raw_parts(self.0.buf.cast(), self.0.len as usize) }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        unsafe { ffi::PyBuffer_Release(&mut *self.0) };
    }
}
