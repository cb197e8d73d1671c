//! Bytes of Python that are written to.

use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;

use super::pages;
use crate::rowcodec::wire::message::Out;

unsafe extern "C" {
    // Of CPython's documented API; PyO3 does not declare it.
    fn _PyBytes_Resize(bytes: *mut *mut PyObject, size: isize) -> std::ffi::c_int;
}

/// A bytes object that grows as it is written to.
pub struct BytesOut {
    object: *mut PyObject,
    /// Of its bytes.
    start: *mut u8,
    len: usize,
    room: usize,
    /// Up to where pages are there.
    mapped: usize,
}

/// Of so many bytes pages are mapped ahead, some of them at a time.
const LARGE: usize = 4 << 20;
const AHEAD: usize = 1 << 19;

impl BytesOut {
    pub fn new(room: usize) -> Self {
        let object = unsafe { ffi::PyBytes_FromStringAndSize(std::ptr::null(), room as isize) };
        let mut out = Self {
            object,
            start: std::ptr::null_mut(),
            len: 0,
            room,
            mapped: usize::MAX,
        };
        out.find();
        out
    }

    fn find(&mut self) {
        if !self.object.is_null() {
            self.start = unsafe { ffi::PyBytes_AsString(self.object) }.cast();
        }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Forget the bytes, and keep the room.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Have room for so many bytes in all.
    pub fn reserve(&mut self, room: usize) {
        if room > self.room && !self.object.is_null() {
            unsafe { _PyBytes_Resize(&mut self.object, room as isize) };
            self.room = room;
            self.find();
            // It may lie elsewhere now.
            self.mapped = if room < LARGE { usize::MAX } else { self.len };
        }
    }

    /// Have pages for what is written next.
    #[cold]
    fn map_ahead(&mut self, end: usize) {
        let before = self.mapped.max(self.len);
        self.mapped = self.room.min(end.next_multiple_of(AHEAD) + AHEAD);
        if !self.object.is_null() {
            pages::make(unsafe { self.start.add(before) }, self.mapped - before);
        }
    }

    pub fn done(mut self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        if !self.object.is_null() && self.len != self.room {
            unsafe { _PyBytes_Resize(&mut self.object, self.len as isize) };
        }
        let object = std::mem::replace(&mut self.object, std::ptr::null_mut());
        unsafe { Bound::from_owned_ptr_or_err(py, object) }.map(Bound::unbind)
    }
}

impl Out for BytesOut {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        if self.len + bytes.len() > self.room {
            self.reserve((self.len + bytes.len()).max(self.room + self.room / 2));
        }
        if self.len + bytes.len() > self.mapped {
            self.map_ahead(self.len + bytes.len());
        }
        // Without memory there is no object any more, and a MemoryError is set.
        if self.object.is_null() {
            return;
        }
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.add(self.len), bytes.len());
        }
        self.len += bytes.len();
    }
}

impl Drop for BytesOut {
    fn drop(&mut self) {
        unsafe { ffi::Py_XDECREF(self.object) };
    }
}
